//! The sizes of datagrams, and the errors of their sockets.

use core::net::IpAddr;
use core::time::Duration;
use std::io::{self, ErrorKind};

mod client;
mod effort;
mod event;
mod idle;
mod server;

pub use client::DatagramClient;
#[cfg(feature = "tokio")]
pub(crate) use effort::{Effort, heard};
#[cfg(feature = "tokio")]
pub(crate) use event::Demand;
pub use event::{DatagramEvent, Watch};
#[cfg(feature = "tokio")]
pub(crate) use idle::Idle;
pub use server::DatagramServer;

/// Returns how many bytes of UDP payload an IP packet of `mtu` bytes carries to or from `address`: 28 less with IPv4,
/// 48 less with IPv6. This is the value for [`terse_tls::Datagrams::max_datagram`].
pub fn max_datagram(mtu: usize, address: IpAddr) -> usize {
    let ip_header = match address.to_canonical() {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    };
    mtu.saturating_sub(ip_header + UDP_HEADER)
}

const UDP_HEADER: usize = 8;

/// The length of a buffer for any datagram.
pub(crate) const BUFFER_LEN: usize = 0x1_0000;

/// The most datagrams that are read although a timer is due: the timer may be waiting for a datagram that arrived while
/// this side was busy. With a higher limit, a flood could hold the timers up.
pub(crate) const MAX_OVERDUE: usize = 64;

/// A time limit that lets a call take what has arrived, and hardly wait.
const AT_ONCE: Duration = Duration::from_micros(1);

/// Whether a call on a socket ran into its time limit, or was interrupted by a signal.
pub(crate) fn is_interruption(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Whether an error of a socket for datagrams is a report of the network that one did not arrive (ICMP), and no failure of the
/// socket. It counts as a loss: the reason may pass, and anybody may have sent the report, as ICMP is not protected.
pub fn is_of_network(error: &io::Error) -> bool {
    #[cfg(target_os = "linux")]
    let is_report = rustix::io::Errno::from_io_error(error).is_some_and(|errno| REPORTS.contains(&errno));
    #[cfg(not(target_os = "linux"))]
    let is_report = false;
    is_report
        || matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NetworkDown
                | ErrorKind::PermissionDenied
        )
}

/// What other messages of ICMP and ICMPv6 become.
#[cfg(target_os = "linux")]
const REPORTS: [rustix::io::Errno; 4] =
    [rustix::io::Errno::PROTO, rustix::io::Errno::HOSTDOWN, rustix::io::Errno::NONET, rustix::io::Errno::NOPROTOOPT];

#[cfg(test)]
mod tests;
