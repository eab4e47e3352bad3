//! A scripted peer over UDP: flights of datagrams, sent again as Mbed TLS sends them again.
//!
//! The rules are those of RFC 6347, 4.2.4, where they leave a choice as Mbed TLS 2.24 has them:
//!
//! - The timer starts when a flight was sent, at its least value, and is doubled when it expires. If it expires at its
//!   greatest value, the handshake has failed. The last flight has no timer.
//! - Datagrams of a flight that came are kept; only the others are still needed of a repetition.
//! - A peer that repeats the flight before is answered by this side's flight again, when the last datagram of the repetition
//!   comes, and the timer starts anew at its present value. So the sender of the last flight answers for ever, and its
//!   receiver does not. A server that has no state is not answered so.
//! - A datagram that comes twice is dropped (RFC 6347, 4.1.2.6).
//!
//! What Mbed TLS does and this does not: from the second repetition on it cuts datagrams to 508 bytes.
//!
//! What must always hold: a server keeps nothing for a client whose first flight it answers statelessly, and has no timer
//! for that answer.

mod conversation;
mod header;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::net::SocketAddr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::conversations::Conversations;
use super::{Action, Handshake, Message, Outcome, Party};
use crate::Time;
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use conversation::{Conversation, Wire};
use header::Header;

/// The retransmission timer of a peer. In TOML both are seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timers {
    /// The timeout of a flight that was sent once.
    #[serde(deserialize_with = "seconds")]
    pub initial: Duration,
    /// The greatest timeout.
    #[serde(deserialize_with = "seconds")]
    pub maximum: Duration,
}

/// A program that does one side of a handshake over UDP.
#[derive(Debug)]
pub struct DatagramPeer {
    script: Vec<Action>,
    role: Role,
    timers: Timers,
    socket: Option<SocketId>,
    conversations: Conversations<SocketAddr, Conversation>,
    /// The outcome of a program that got no socket.
    without_socket: Option<Outcome>,
}

#[derive(Debug)]
enum Role {
    Client {
        remote: SocketAddr,
    },
    Server {
        port: u16,
        /// The first flight of a client, and the answer to it, if that needs no state.
        stateless: Option<(Message, Message)>,
    },
}

impl DatagramPeer {
    /// Creates a client of the server at `remote`.
    pub fn client(handshake: &Handshake, remote: SocketAddr, timers: Timers) -> Self {
        Self::new(handshake.actions(Party::Client), Role::Client { remote }, timers)
    }

    /// Creates a server at `port`.
    pub fn server(handshake: &Handshake, port: u16, timers: Timers) -> Self {
        let mut script = handshake.actions(Party::Server);
        let stateless = match script.first_chunk() {
            Some([Action::Await(first), Action::Send(answer)]) if answer.stateless => {
                Some((first.clone(), answer.clone()))
            }
            _ => None,
        };
        if stateless.is_some() {
            script.drain(..2);
        }
        Self::new(script, Role::Server { port, stateless }, timers)
    }

    /// Returns how far the handshake with each peer has come.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.without_socket.iter().chain(self.conversations.outcomes())
    }

    const fn new(script: Vec<Action>, role: Role, timers: Timers) -> Self {
        Self { script, role, timers, socket: None, conversations: Conversations::new(), without_socket: None }
    }

    fn begin(&mut self, peer: SocketAddr, now: Time) -> bool {
        self.conversations.add(peer, Conversation::new(self.script.clone(), self.timers, peer, now))
    }

    /// Takes the datagrams that came. While the program computes, they wait in the socket's queue.
    fn receive(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.socket else { return };
        while sockets.idle_at() <= now
            && let Some((from, datagram)) = sockets.recv_from(socket)
        {
            if let Some(header) = Header::parse(&datagram) {
                self.take(now, from, header, &mut Wire { socket, sockets });
            }
        }
    }

    fn take(&mut self, now: Time, from: SocketAddr, header: Header, wire: &mut Wire<'_, '_>) {
        if !self.conversations.contains(from) {
            let Role::Server { stateless, .. } = &self.role else { return };
            match (stateless, self.script.first()) {
                (Some((first, answer)), _) if header.flight == first.number => return wire.send(from, answer, 0),
                (_, Some(Action::Await(first))) if header.flight == first.number => {}
                _ => return,
            }
            if !self.begin(from, now) {
                return;
            }
        }
        self.conversations.with(from, |conversation| conversation.take(now, header, wire));
    }
}

impl Application for DatagramPeer {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        let (port, peer) = match self.role {
            Role::Client { remote } => (0, remote),
            Role::Server { port, .. } => (port, SocketAddr::new(sockets.address(), port)),
        };
        self.socket = sockets.bind(port);
        let Some(socket) = self.socket else { return self.without_socket.insert(Outcome::new(peer)).fail("no socket") };
        if let Role::Client { remote } = self.role {
            let now = sockets.idle_at();
            self.begin(remote, now);
            let mut wire = Wire { socket, sockets };
            self.conversations.with(remote, |conversation| conversation.advance(now, &mut wire));
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        if matches!(event, SocketEvent::Readable(_)) {
            self.receive(now, sockets);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.conversations.deadline()
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.socket else { return };
        for peer in self.conversations.due(now) {
            let mut wire = Wire { socket, sockets };
            self.conversations.with(peer, |conversation| conversation.expire(now, &mut wire));
        }
        self.receive(now, sockets);
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| D::Error::custom("a timeout is a number of seconds, more than 0"))
}
