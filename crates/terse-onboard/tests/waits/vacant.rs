//! Addresses at which nobody is, and that nobody else gets meanwhile: the port of a socket that was closed may be given to any
//! other one, such as that of a test that runs at the same time.
#![allow(dead_code)] // each of those who include this file uses a part

use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// A port of TCP where connections are refused as long as nobody else listens there, which is possible.
pub(crate) struct Vacant {
    _bound: Socket,
    pub(crate) address: SocketAddr,
}

impl Vacant {
    pub(crate) fn new() -> Self {
        let bound = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        bound.set_reuse_address(true).unwrap(); // so that others who say so can listen
        bound.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = bound.local_addr().unwrap().as_socket().unwrap();
        Self { _bound: bound, address }
    }
}

/// A port of UDP at which nothing arrives: a socket that is connected to itself hears nobody else, so that others are told that
/// the port is unreachable. As long as it stays, only [`occupied_udp`] takes the port.
pub(crate) fn vacant_udp() -> (UdpSocket, SocketAddr) {
    let socket = occupied_udp(([127, 0, 0, 1], 0).into());
    let address = socket.local_addr().unwrap();
    socket.connect(address).unwrap();
    (socket, address)
}

/// A socket at a vacant address, which from here on hears all others.
pub(crate) fn occupied_udp(address: SocketAddr) -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    rustix::net::sockopt::set_socket_reuseport(&socket, true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket.into()
}
