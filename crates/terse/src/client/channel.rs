//! A client's channel is a stream, or datagrams.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream, UdpSocket};

use terse_net::{DatagramClient, NetError, Stream, Timed};
use terse_tls::Connection;

/// A connection and its transport.
pub(super) enum Channel {
    Stream(Box<Stream<Timed>>),
    Datagrams(Box<DatagramClient>),
}

impl Channel {
    pub(super) fn connection(&self) -> &Connection {
        match self {
            Self::Stream(stream) => stream.connection(),
            Self::Datagrams(client) => client.connection(),
        }
    }

    /// Returns the address of the server over datagrams.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Stream(_) => None,
            Self::Datagrams(client) => client.socket().peer_addr().ok(),
        }
    }

    /// Sets a time limit: calls fail once `limit` has passed from now on.
    pub(super) fn set_limit(&mut self, limit: Duration) {
        match self {
            Self::Stream(stream) => stream.transport_mut().set_limit(limit),
            Self::Datagrams(client) => client.set_limit(limit),
        }
    }

    /// Sends early data. Returns how many bytes were taken; over datagrams these are all or none.
    pub(super) fn send_early_data(&mut self, data: &[u8]) -> Result<usize, NetError> {
        match self {
            Self::Stream(stream) => stream.send_early_data(data),
            Self::Datagrams(client) => client.send_early_data(data),
        }
    }

    /// Completes the handshake and sends `data`; over a stream the data goes with the last flight, if that is the
    /// client's.
    pub(super) fn handshake_sending(&mut self, data: &[u8]) -> Result<(), NetError> {
        match self {
            Self::Stream(stream) => stream.handshake_sending(data),
            Self::Datagrams(client) => {
                client.handshake()?;
                self.send(data)
            }
        }
    }

    /// Sends `data`. Over datagrams it is one datagram, and none if it is empty.
    pub(super) fn send(&mut self, data: &[u8]) -> Result<(), NetError> {
        match self {
            Self::Stream(stream) => stream.send(data),
            Self::Datagrams(_) if data.is_empty() => Ok(()),
            Self::Datagrams(client) => client.send(data),
        }
    }

    pub(super) fn receive(&mut self, out: &mut [u8]) -> Result<usize, NetError> {
        match self {
            Self::Stream(stream) => stream.receive(out),
            Self::Datagrams(client) => client.receive(out),
        }
    }

    pub(super) fn update_keys(&mut self) -> Result<(), NetError> {
        match self {
            Self::Stream(stream) => stream.update_keys(true),
            Self::Datagrams(client) => client.update_keys(true),
        }
    }

    pub(super) fn close(&mut self) -> Result<(), NetError> {
        match self {
            Self::Stream(stream) => stream.close(),
            Self::Datagrams(client) => client.close(),
        }
    }

    pub(super) fn give_up(&mut self) {
        match self {
            Self::Stream(stream) => stream.give_up(),
            Self::Datagrams(client) => client.give_up(),
        }
    }

    /// Gives an alert on a stream time to arrive. Over datagrams nothing more can be done.
    pub(super) fn linger(&mut self, limit: Duration) {
        if let Self::Stream(stream) = self {
            stream.transport_mut().linger(limit);
        }
    }
}

/// Connects to the first address that answers.
pub(super) fn connect_tcp(addresses: &[SocketAddr], limit: Duration) -> io::Result<TcpStream> {
    first(addresses, |address| TcpStream::connect_timeout(&address, limit))
}

/// Connects a socket to the first address that has a route. Nothing is sent yet.
pub(super) fn connect_udp(addresses: &[SocketAddr]) -> io::Result<(UdpSocket, SocketAddr)> {
    first(addresses, |address| {
        let socket = match address {
            SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
        }?;
        socket.connect(address)?;
        Ok((socket, address))
    })
}

fn first<T>(addresses: &[SocketAddr], connect: impl Fn(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match connect(*address) {
            Ok(connected) => return Ok(connected),
            Err(error) => last = error,
        }
    }
    Err(last)
}
