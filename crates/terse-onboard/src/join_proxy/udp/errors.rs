//! The errors of sockets, of which none ends anything: whoever sends the proxy an ICMP message can cause one.

use core::time::Duration;
use std::io;

use rustix::io::Errno;
use tokio::net::UdpSocket;

/// Whether an error of a socket is a report of the network about a peer (ICMP), and not a failure of the socket.
pub(crate) fn is_of_network(error: &io::Error) -> bool {
    let is_named = matches!(Errno::from_io_error(error), Some(errno) if OF_NETWORK.contains(&errno));
    is_named || matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::PermissionDenied)
}

/// Whether the network, or the socket, reports that a datagram was too long.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::MSGSIZE)
}

/// Whether an error of making a socket is about the address it is for, and not about the sockets of the machine.
pub(super) fn is_of_address(error: &io::Error) -> bool {
    is_of_network(error) || matches!(Errno::from_io_error(error), Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT))
}

/// Waits for an answer. After an error that nothing is known about, it waits a little, so that a socket that only fails costs
/// little. Dropping the future loses nothing but an error.
pub(super) async fn receive(socket: &UdpSocket, answer: &mut [u8]) -> io::Result<usize> {
    let received = socket.recv(answer).await;
    if let Err(error) = &received
        && !is_of_network(error)
        && !is_too_long(error)
    {
        tracing::debug!(%error, "a socket to the registrar has failed");
        tokio::time::sleep(PAUSE).await;
    }
    received
}

/// What ICMP and ICMPv6 messages become.
const OF_NETWORK: [Errno; 8] = [
    Errno::CONNREFUSED,
    Errno::HOSTUNREACH,
    Errno::NETUNREACH,
    Errno::NETDOWN,
    Errno::PROTO,
    Errno::HOSTDOWN,
    Errno::NONET,
    Errno::NOPROTOOPT,
];

/// The pause after a socket has failed.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
