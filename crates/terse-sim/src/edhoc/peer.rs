//! Either side, for hosts of one kind.

use core::time::Duration;

use super::{Client, Server};
use crate::Time;
use crate::host::{Application, SocketEvent, Sockets};
use crate::script::Outcome;

/// A side of EDHOC as the program of a host.
#[derive(Debug)]
pub enum Peer {
    /// The client.
    Client(Box<Client>),
    /// The server.
    Server(Box<Server>),
}

impl Peer {
    /// Returns how far the exchange has come; at a server, with the first of its clients.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Client(client) => Some(client.outcome()),
            Self::Server(server) => server.outcomes().next(),
        }
    }
}

impl Peer {
    /// Returns how long the device has computed.
    pub fn computing(&self) -> Duration {
        match self {
            Self::Client(client) => client.computed().1,
            Self::Server(server) => server.computed().1,
        }
    }
}

impl Application for Peer {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        match self {
            Self::Client(client) => client.start(now, sockets),
            Self::Server(server) => server.start(now, sockets),
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match self {
            Self::Client(client) => client.handle_event(now, event, sockets),
            Self::Server(server) => server.handle_event(now, event, sockets),
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Client(client) => client.poll_timeout(),
            Self::Server(_) => None,
        }
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Self::Client(client) = self {
            client.handle_timeout(now, sockets);
        }
    }
}
