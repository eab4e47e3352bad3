//! A connection of TLS over TCP, with the messages of HTTP in it.

use pki_types::CertificateDer;
use terse_tls::crypto::Rng;
use terse_tls::{Connection, Error, Event, Now};

use super::message::{Malformed, Message};
use crate::direction::Direction;
use crate::host::{SocketId, Sockets};
use crate::onboarding::journal::Journal;

/// A connection.
pub(super) struct Stream {
    pub(super) socket: SocketId,
    /// The direction of what this side sends.
    direction: Direction,
    connection: Connection,
    received: Vec<u8>,
    /// Application data that the engine did not take yet, and output that TCP did not take yet.
    waiting: Vec<u8>,
    unsent: Vec<u8>,
}

/// What comes of input.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// The certificates of the peer, when the handshake is complete.
    pub(super) connected: Option<Vec<CertificateDer<'static>>>,
    pub(super) messages: Vec<Message>,
    /// Why the connection is over, if it is.
    pub(super) over: Option<String>,
}

impl Stream {
    pub(super) const fn new(socket: SocketId, direction: Direction, connection: Connection) -> Self {
        Self { socket, direction, connection, received: Vec::new(), waiting: Vec::new(), unsent: Vec::new() }
    }

    /// Reads what TCP has.
    pub(super) fn receive(&mut self, now: Now, rng: &mut dyn Rng, sockets: &mut Sockets<'_>) -> Came {
        let (mut came, mut buffer) = (Came::default(), [0; 4_096]);
        loop {
            let len = sockets.recv(self.socket, &mut buffer);
            if len == 0 {
                break;
            }
            if let Err(error) = self.input(now, rng, &mut buffer[..len]) {
                came.over = Some(error.to_string());
            }
        }
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    let chain = self.connection.presented().into_iter().flat_map(|peer| peer.chain());
                    came.connected = Some(chain.map(CertificateDer::into_owned).collect());
                }
                Event::PeerClosed => drop(came.over.get_or_insert_with(|| "the peer closed the connection".into())),
                _ => {}
            }
        }
        loop {
            match Message::take(&mut self.received) {
                Ok(Some(message)) => came.messages.push(message),
                Ok(None) => return came,
                Err(Malformed) => {
                    came.over.get_or_insert_with(|| "what came is no message of HTTP".into());
                    return came;
                }
            }
        }
    }

    fn input(&mut self, now: Now, rng: &mut dyn Rng, mut bytes: &mut [u8]) -> Result<(), Error> {
        let mut buffer = [0; 4_096];
        loop {
            let taken = self.connection.handle_input(now, rng, bytes)?;
            loop {
                match self.connection.recv(&mut buffer) {
                    0 => break,
                    len => self.received.extend_from_slice(&buffer[..len]),
                }
            }
            match bytes.get_mut(taken..) {
                Some(rest) if !rest.is_empty() && taken > 0 => bytes = rest,
                _ => return Ok(()),
            }
        }
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Message) {
        self.waiting.extend(message.encode());
    }

    /// Tells the peer that nothing follows.
    pub(super) fn close(&mut self) {
        self.connection.close();
    }

    /// Gives TCP what it takes, and notes the bytes of records among them.
    pub(super) fn flush(&mut self, now: Now, sockets: &mut Sockets<'_>, journal: &mut Journal) {
        let mut buffer = vec![0; LONGEST_OUTPUT];
        loop {
            if !self.waiting.is_empty() {
                // An error is that of a connection that is over.
                let taken = self.connection.send(&self.waiting).unwrap_or(self.waiting.len());
                self.waiting.drain(..taken);
            }
            let Some(len) = self.connection.poll_transmit(now, &mut buffer) else { break };
            self.unsent.extend_from_slice(&buffer[..len]);
            journal.note_records(self.direction, &buffer[..len]);
        }
        let taken = sockets.send(self.socket, &self.unsent);
        self.unsent.drain(..taken);
    }
}

/// The longest output that an engine makes at a time.
const LONGEST_OUTPUT: usize = 1 << 16;
