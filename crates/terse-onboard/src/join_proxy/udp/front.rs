//! The socket to which pledges send.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use terse_net::is_of_network;
use tokio::net::UdpSocket;

/// The socket to which pledges send.
pub(super) struct Front {
    socket: UdpSocket,
    pub(super) address: SocketAddr,
}

impl Front {
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        let address = socket.local_addr()?;
        if address.ip().to_canonical().is_unspecified() {
            let problem = format!("{address}: {ADDRESS_OF_LINK}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { socket, address })
    }

    /// Waits for a datagram. If it is longer than the buffer, the rest is cut off. Dropping the future loses nothing.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> (usize, SocketAddr) {
        loop {
            match self.socket.recv_from(buffer).await {
                Ok(received) => return received,
                // Some systems report that an earlier answer did not arrive.
                Err(error) if is_of_network(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "nothing can be received from devices");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Sends an answer to a pledge. Returns false if the socket does not take it at once.
    pub(super) fn send(&self, content: &[u8], pledge: SocketAddr) -> bool {
        let pledge = match (self.address, pledge) {
            // A socket of IPv6 that receives IPv4, too, has mapped addresses.
            (SocketAddr::V6(_), SocketAddr::V4(pledge)) => {
                SocketAddr::new(pledge.ip().to_ipv6_mapped().into(), pledge.port())
            }
            _ => pledge,
        };
        self.socket.try_send_to(content, pledge).is_ok()
    }
}

/// What to do where the address is every one of the host.
pub(super) const ADDRESS_OF_LINK: &str =
    "devices must know the address that answers come from; give that of their link, as in [fe80::1%eth0]:5684";

/// The pause after the socket has failed.
const PAUSE: Duration = Duration::from_millis(100);
