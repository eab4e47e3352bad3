//! The errors of sockets, of which none ends anything: whoever sends the proxy an ICMP message can cause one.

use core::time::Duration;
use std::io;

use rustix::io::Errno;
use terse_net::is_of_network;
use tokio::net::UdpSocket;

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

/// The pause after a socket has failed.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
