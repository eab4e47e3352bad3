//! What became of a handshake on one side.

use std::net::SocketAddr;

use crate::Time;

/// How far a side has come in a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The other side.
    pub peer: SocketAddr,
    /// When the handshake began: at the client when its SYN or its first datagram was sent, at the server when the connection
    /// was accepted or state was created.
    pub began: Option<Time>,
    /// When this side had done all its steps: at the client when it has the server's last message.
    pub connected: Option<Time>,
    /// Why the handshake failed, if it did.
    pub failure: Option<String>,
    /// How often this side sent a whole flight again: after a timeout, or because the other side repeated its own.
    pub repeated_flights: u32,
}

impl Outcome {
    pub(crate) const fn new(peer: SocketAddr) -> Self {
        Self { peer, began: None, connected: None, failure: None, repeated_flights: 0 }
    }

    /// Whether nothing more will happen, but for answers to a peer that repeats itself.
    pub const fn is_over(&self) -> bool {
        self.connected.is_some() || self.failure.is_some()
    }

    pub(crate) fn fail(&mut self, cause: impl Into<String>) {
        if !self.is_over() {
            self.failure = Some(cause.into());
        }
    }
}
