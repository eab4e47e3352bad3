//! What is known of a peer that does not answer over datagrams: nothing for certain, so everything that was seen.

use core::fmt;
use core::time::Duration;
use std::io::ErrorKind;

use terse_tls::AlertDescription;

/// A peer that does not answer over datagrams. Displays as what the peer did: `did not answer, asked 5 times in 31 s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// Before the handshake was complete.
    pub in_handshake: bool,
    /// Whether it answered before, with any message of the handshake.
    pub heard: bool,
    /// How often it was asked the same, the first time included.
    pub asked: u32,
    /// How long it was waited for.
    pub waited: Duration,
    /// It refused with this alert, which is not protected, and did not think better of it. Anybody may have sent that.
    pub alert: Option<AlertDescription>,
    /// What the network said of what was sent (ICMP). Anybody may have said that, too.
    pub network: Option<ErrorKind>,
    /// How many records came that were dropped.
    pub dropped: u32,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.alert, self.in_handshake, self.heard) {
            (Some(alert), ..) => {
                write!(f, "refused the connection with the alert {alert} (not protected, but nothing came after it)")?;
            }
            (None, false, _) => f.write_str("sent nothing")?,
            (None, true, false) => f.write_str("did not answer")?,
            (None, true, true) => f.write_str("stopped answering in the handshake")?,
        }
        let waited = Seconds(self.waited.as_secs_f64());
        match self.asked {
            _ if self.alert.is_some() => {}
            0 | 1 => write!(f, ", waited for {waited}")?,
            asked => write!(f, ", asked {asked} times in {waited}")?,
        }
        if let Some(network) = self.network {
            write!(f, " (the network says: {network})")?;
        }
        match self.dropped {
            _ if self.alert.is_some() => Ok(()),
            0 => Ok(()),
            1 => f.write_str(" (1 record came that was dropped)"),
            dropped => write!(f, " ({dropped} records came that were dropped)"),
        }
    }
}

struct Seconds(f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds if seconds < 10.0 => write!(f, "{seconds:.1} s"),
            seconds => write!(f, "{seconds:.0} s"),
        }
    }
}
