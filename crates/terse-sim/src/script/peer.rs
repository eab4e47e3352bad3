//! A scripted peer as the program of a host, over either transport.

use std::net::SocketAddr;

use super::{DatagramPeer, Handshake, Outcome, StreamPeer, Timers, Transport};
use crate::host::{Application, SocketEvent, Sockets};
use crate::{Time, tcp};

/// A program that does one side of a handshake. A server does its side with every client that comes.
#[derive(Debug)]
pub enum Peer {
    /// Over TCP.
    Stream(StreamPeer),
    /// Over UDP.
    Datagrams(DatagramPeer),
}

impl Peer {
    /// Creates a client that does its side of `handshake` with `remote`, over TCP with this configuration, or over UDP with
    /// these timers.
    pub fn client(handshake: &Handshake, remote: SocketAddr, tcp: &tcp::Config, timers: Timers) -> Self {
        match handshake.transport() {
            Transport::Stream => Self::Stream(StreamPeer::client(handshake, remote, tcp.clone())),
            Transport::Datagrams => Self::Datagrams(DatagramPeer::client(handshake, remote, timers)),
        }
    }

    /// Creates a server at `port`.
    pub fn server(handshake: &Handshake, port: u16, tcp: &tcp::Config, timers: Timers) -> Self {
        match handshake.transport() {
            Transport::Stream => Self::Stream(StreamPeer::server(handshake, port, tcp.clone())),
            Transport::Datagrams => Self::Datagrams(DatagramPeer::server(handshake, port, timers)),
        }
    }

    /// Returns how far the handshake with each peer has come. A client has one once it has started; a server remembers up to
    /// 4,096.
    pub fn outcomes(&self) -> Box<dyn Iterator<Item = &Outcome> + '_> {
        match self {
            Self::Stream(peer) => Box::new(peer.outcomes()),
            Self::Datagrams(peer) => Box::new(peer.outcomes()),
        }
    }

    /// Returns how far a client has come, or a server with the first of its peers.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcomes().next()
    }

    /// Returns when the first handshake was complete on this side.
    pub fn connected(&self) -> Option<Time> {
        self.outcome()?.connected
    }

    /// Returns why this side failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.outcomes().find_map(|outcome| outcome.failure.as_deref())
    }

    fn application(&mut self) -> &mut dyn Application {
        match self {
            Self::Stream(peer) => peer,
            Self::Datagrams(peer) => peer,
        }
    }
}

impl Application for Peer {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.application().start(now, sockets);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        self.application().handle_event(now, event, sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Stream(peer) => peer.poll_timeout(),
            Self::Datagrams(peer) => peer.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.application().handle_timeout(now, sockets);
    }
}
