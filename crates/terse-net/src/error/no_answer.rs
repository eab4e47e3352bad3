//! A peer that does not answer over datagrams: nothing is certain about it, so that the error holds everything that was
//! seen.

use core::fmt;
use core::time::Duration;
use std::io::ErrorKind;

use terse_tls::AlertDescription;

/// A peer that does not answer over datagrams. Displays as what the peer did: `did not answer, asked 5 times in 31 s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// Whether the handshake was not complete yet.
    pub in_handshake: bool,
    /// Whether the peer answered before, with any handshake message.
    pub heard: bool,
    /// How often the flight was sent, the first time included.
    pub asked: u32,
    /// How long this side waited for an answer.
    pub waited: Duration,
    /// The alert of an unprotected refusal, if one came and no answer followed. Anybody may have sent it.
    pub alert: Option<AlertDescription>,
    /// The network's report about a datagram (ICMP), if one came. Anybody may have sent it.
    pub network: Option<ErrorKind>,
    /// The number of records that were dropped.
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
