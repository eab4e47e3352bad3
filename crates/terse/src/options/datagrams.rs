//! The options of DTLS, and of its behaviour on a network.
//!
//! What must always hold: an option that has no meaning over datagrams is refused, with a remedy.

use core::net::IpAddr;
use core::time::Duration;

use clap::Args;
use terse_net::max_datagram;
use terse_tls::Datagrams;

use crate::failure::Failure;

/// DTLS.
#[derive(Args, Debug)]
#[command(next_help_heading = "Datagrams")]
pub(crate) struct DatagramOptions {
    /// Run over UDP: DTLS 1.3, or DTLS 1.2
    #[arg(long)]
    dtls: bool,
    /// Send IP packets of at most N bytes; those that come in may have any size [default: 1280]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(100..), requires = "dtls")]
    mtu: Option<u16>,
    /// Timers for slow networks: 9 s before the first flight is sent again, and two minutes for all of --timeout (RFC 7925)
    #[arg(long, requires = "dtls")]
    constrained: bool,
    /// Before the first flight is sent again; doubled each time [default: 1000]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(10..=600_000), requires = "dtls")]
    initial_timeout: Option<u32>,
    /// Use connection IDs (RFC 9146), with one of N bytes for what comes here; 0: only the other side may want one. A peer whose
    /// address changes is asked whether it is there (RFC 9853)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=20), requires = "dtls")]
    connection_id: Option<u8>,
}

impl DatagramOptions {
    /// Whether to run over datagrams.
    pub(crate) const fn is_given(&self) -> bool {
        self.dtls
    }

    /// Returns the default time limit for the peer, in seconds.
    pub(crate) const fn default_timeout(&self) -> u32 {
        if self.constrained { 120 } else { 30 }
    }

    /// Refuses the first of the options that is given, with its reason.
    pub(crate) fn refuse(&self, options: &[(bool, &str, &str)]) -> Result<(), Failure> {
        match options.iter().find(|(is_given, ..)| self.dtls && *is_given) {
            Some((_, option, reason)) => Err(Failure::Usage(format!("{option} with --dtls: it {reason}"))),
            None => Ok(()),
        }
    }

    /// Returns the configuration of connections to or from `address` with this `time_limit` in all, or `None` over a
    /// stream.
    pub(crate) fn datagrams(&self, address: IpAddr, time_limit: Duration) -> Option<Datagrams> {
        if !self.dtls {
            return None;
        }
        let mut datagrams = if self.constrained { Datagrams::constrained() } else { Datagrams::default() };
        if let Some(mtu) = self.mtu {
            datagrams.max_datagram = max_datagram(mtu.into(), address);
        }
        if let Some(initial) = self.initial_timeout.map(u64::from) {
            datagrams.initial_timeout = initial;
            datagrams.min_timeout = datagrams.min_timeout.min(initial);
            datagrams.max_timeout = datagrams.max_timeout.max(initial);
        }
        datagrams.max_retransmissions = retransmissions_within(time_limit, &datagrams);
        datagrams.connection_id = self.connection_id;
        Some(datagrams)
    }
}

/// Returns how often a flight is retransmitted so that it is given up at the end of `time_limit`, or at the first
/// timeout after that.
fn retransmissions_within(time_limit: Duration, datagrams: &Datagrams) -> u8 {
    let mut timeout = datagrams.initial_timeout;
    let mut waited = u128::from(timeout);
    let mut count = 0;
    while waited < time_limit.as_millis() && count < u8::MAX {
        timeout = timeout.saturating_mul(2).min(datagrams.max_timeout);
        waited += u128::from(timeout);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
