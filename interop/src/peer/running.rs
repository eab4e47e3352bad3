//! A peer's program while it runs.

use std::net::TcpListener;

use super::Role;
use crate::process::{Process, connect};
use crate::tap::Wire;

/// A program that has been started, and how to meet it.
pub(super) struct Running {
    pub(super) process: Process,
    pub(super) way: Way,
}

/// How a side is met.
#[derive(Debug)]
pub enum Way {
    /// It listens on a port.
    To(u16),
    /// It connects to us.
    From(TcpListener),
    /// It sends datagrams to a port.
    Datagrams(u16),
}

impl Way {
    /// Returns the port that one side listens on.
    pub fn port(&self) -> u16 {
        match self {
            Self::To(port) | Self::Datagrams(port) => *port,
            Self::From(listener) => listener.local_addr().expect("it listens").port(),
        }
    }
}

impl Running {
    /// Returns the role of our side.
    pub(super) const fn role(&self) -> Role {
        match self.way {
            Way::To(_) => Role::Client,
            Way::From(_) | Way::Datagrams(_) => Role::Server,
        }
    }

    /// Returns the wire of a connection over TCP.
    pub(super) fn meet(&mut self) -> Box<dyn Wire> {
        Box::new(match &self.way {
            Way::To(port) => connect(*port),
            Way::From(listener) => self.process.accept(listener),
            Way::Datagrams(_) => panic!("datagrams go through a relay"),
        })
    }
}
