//! Sizes of datagrams, and what a socket says of them.

use core::net::IpAddr;
use core::time::Duration;
use std::io::{self, ErrorKind};

mod client;
mod server;

pub use client::DatagramClient;
pub use server::{DatagramEvent, DatagramServer, Watch};

/// How many bytes of UDP an IP packet of `mtu` bytes carries to or from `address`: 28 less with IPv4, 48 less with IPv6.
/// That is what [`terse_tls::Datagrams::max_datagram`] wants to know.
pub fn max_datagram(mtu: usize, address: IpAddr) -> usize {
    let ip_header = match address.to_canonical() {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    };
    mtu.saturating_sub(ip_header + UDP_HEADER)
}

const UDP_HEADER: usize = 8;

/// Room for any datagram.
const BUFFER_LEN: usize = 0x1_0000;

/// How many datagrams are read although a timer is due: what came while this side was busy may be what the timer is
/// waiting for. More would let a flood stop the clock.
const MAX_OVERDUE: usize = 64;

/// A time limit that lets a call take what is there, and hardly wait.
const AT_ONCE: Duration = Duration::from_micros(1);

/// A call on a socket ran into its time limit, or a signal came.
fn is_interruption(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The network says that what was sent did not arrive. That may change, and anybody may have said it (ICMP is not
/// protected), so it counts as a loss.
fn is_of_network(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}

#[cfg(test)]
mod tests;
