//! The sockets of both sides. Each is bound to one address or one interface, so that what it sends comes from where the other
//! side expects it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use core::time::Duration;
use std::io;

use socket2::{Domain, Protocol, Socket, Type};
use terse_net::is_of_network;
use tokio::net::UdpSocket;

use super::{GROUP, Link};

/// Returns a socket with this address.
pub(super) fn bound(address: SocketAddr) -> io::Result<UdpSocket> {
    into_tokio(new(address, false)?)
}

/// Returns a socket that receives what is sent to the group on a link. Several services of a host can have one.
pub(super) fn of_group(link: &Link, port: u16) -> io::Result<UdpSocket> {
    let socket = new(SocketAddrV6::new(GROUP, port, 0, link.index()).into(), true)?;
    socket.join_multicast_v6(&GROUP, link.index())?;
    into_tokio(socket)
}

/// Returns a socket that sends to the group on a link, from this host's link-local address there.
pub(super) fn asking(link: &Link) -> io::Result<UdpSocket> {
    let socket = new(link.address(0), false)?;
    socket.set_multicast_if_v6(link.index())?;
    into_tokio(socket)
}

/// Returns a socket that sends to a peer, and receives from it alone.
pub(super) fn connected(peer: SocketAddr) -> io::Result<UdpSocket> {
    let unspecified = match peer {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = new(SocketAddr::new(unspecified, 0), false)?;
    socket.connect(&peer.into())?;
    into_tokio(socket)
}

/// Waits for a datagram. What the network reports about earlier ones is no failure of the socket. Dropping the future loses
/// nothing.
pub(super) async fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer).await {
            Ok(received) => return received,
            Err(error) if is_of_network(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no question can be received");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn new(address: SocketAddr, is_shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if is_shared {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

fn into_tokio(socket: Socket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket.into())
}

/// The pause after a socket has failed.
const PAUSE: Duration = Duration::from_millis(100);
