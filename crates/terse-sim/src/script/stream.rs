//! A scripted peer over TCP: it writes and reads records as a blocking library does, one after the other.
//!
//! What must always hold: each record is a write of its own, made when everything before it is done; nothing is read before
//! the script waits for it, so that the receive window is that of a library without a buffer of its own.

use alloc::sync::Arc;
use std::net::SocketAddr;

use super::conversations::{self, Conversations};
use super::{Action, Handshake, Outcome, Party};
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::{Time, tcp};

/// A program that does one side of a handshake over TCP.
#[derive(Debug)]
pub struct StreamPeer {
    script: Arc<[Move]>,
    role: Role,
    config: tcp::Config,
    conversations: Conversations<SocketId, Conversation>,
    /// The outcome of a program that got no socket.
    without_socket: Option<Outcome>,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Client { remote: SocketAddr },
    Server { port: u16 },
}

/// What is next, record by record.
#[derive(Clone, Debug)]
enum Move {
    Write(Vec<u8>),
    /// Waits for a record of so many bytes; the text is its name.
    Read(usize, String),
    Compute(core::time::Duration),
}

impl StreamPeer {
    /// Creates a client that connects to `remote`.
    pub fn client(handshake: &Handshake, remote: SocketAddr, config: tcp::Config) -> Self {
        Self::new(handshake.actions(Party::Client), Role::Client { remote }, config)
    }

    /// Creates a server at `port`.
    pub fn server(handshake: &Handshake, port: u16, config: tcp::Config) -> Self {
        Self::new(handshake.actions(Party::Server), Role::Server { port }, config)
    }

    /// Returns how far the handshake with each peer has come.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.without_socket.iter().chain(self.conversations.outcomes())
    }

    fn new(actions: Vec<Action>, role: Role, config: tcp::Config) -> Self {
        let moves = actions.into_iter().flat_map(|action| match action {
            Action::Send(message) => {
                message.parts.iter().map(|bytes| Move::Write(record(message.number, *bytes))).collect()
            }
            Action::Await(message) => {
                message.parts.iter().map(|bytes| Move::Read(*bytes, message.name.to_string())).collect()
            }
            Action::Compute(time) => vec![Move::Compute(time)],
        });
        let script = moves.collect();
        Self { script, role, config, conversations: Conversations::new(), without_socket: None }
    }

    fn begin(&mut self, now: Time, socket: SocketId, peer: SocketAddr) -> bool {
        let outcome = Outcome { began: Some(now), ..Outcome::new(peer) };
        let script = self.script.clone();
        let conversation =
            Conversation { script, next: 0, unsent: Vec::new(), read: Vec::new(), done_at: None, outcome };
        self.conversations.add(socket, conversation)
    }

    fn advance(&mut self, now: Time, socket: SocketId, sockets: &mut Sockets<'_>) {
        self.conversations.with(socket, |conversation| conversation.advance(now, socket, sockets));
    }

    fn fail(&mut self, socket: SocketId, cause: &str) {
        self.conversations.with(socket, |conversation| {
            conversation.outcome.fail(cause);
            conversation.done_at = None;
        });
    }
}

impl Application for StreamPeer {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        let (socket, peer) = match self.role {
            Role::Client { remote } => (sockets.connect(remote, self.config.clone()), remote),
            Role::Server { port } => {
                (sockets.listen(port, self.config.clone()), SocketAddr::new(sockets.address(), port))
            }
        };
        match (socket, self.role) {
            (Some(socket), Role::Client { .. }) => drop(self.begin(sockets.idle_at(), socket, peer)),
            (Some(_), Role::Server { .. }) => {}
            (None, _) => self.without_socket.insert(Outcome::new(peer)).fail("no socket"),
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Accepted { socket, remote, .. } => {
                if self.begin(now, socket, remote) {
                    self.advance(now, socket, sockets);
                } else {
                    sockets.abort(socket);
                }
            }
            SocketEvent::Connected(socket) | SocketEvent::Readable(socket) | SocketEvent::Writable(socket) => {
                self.advance(now, socket, sockets);
            }
            SocketEvent::PeerFinished(socket) => {
                self.advance(now, socket, sockets);
                self.fail(socket, "the peer closed the connection");
                sockets.close(socket);
            }
            SocketEvent::Closed(socket) => self.fail(socket, "the connection was closed"),
            SocketEvent::Failed(socket, failure) => {
                self.advance(now, socket, sockets);
                self.fail(socket, &format!("TCP: {failure}"));
            }
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.conversations.deadline()
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        for socket in self.conversations.due(now) {
            self.advance(now, socket, sockets);
        }
    }
}

/// A handshake with one peer.
#[derive(Debug)]
struct Conversation {
    script: Arc<[Move]>,
    /// The next step.
    next: usize,
    /// The part of a record that TCP did not take yet.
    unsent: Vec<u8>,
    /// The part of the record that is waited for which has arrived.
    read: Vec<u8>,
    /// When the present computation is done.
    done_at: Option<Time>,
    outcome: Outcome,
}

impl Conversation {
    /// Does all steps that can be done.
    fn advance(&mut self, now: Time, socket: SocketId, sockets: &mut Sockets<'_>) {
        let script = self.script.clone();
        while !self.outcome.is_over() {
            if self.done_at.is_some_and(|at| at > now) {
                return;
            }
            self.done_at = None;
            let taken = sockets.send(socket, &self.unsent);
            self.unsent.drain(..taken.min(self.unsent.len()));
            if !self.unsent.is_empty() {
                return; // Writable follows
            }
            match script.get(self.next) {
                Some(Move::Write(record)) => self.unsent.clone_from(record),
                Some(Move::Compute(time)) => {
                    sockets.busy(*time);
                    self.done_at = Some(sockets.idle_at());
                }
                Some(Move::Read(len, name)) => match self.read(*len, socket, sockets) {
                    Ok(true) => self.read.clear(),
                    Ok(false) => return, // Readable follows
                    Err(len_of_peer) => {
                        return self
                            .outcome
                            .fail(format!("the peer sent {len_of_peer} bytes in the place of {name}, {len} bytes"));
                    }
                },
                None => return self.outcome.connected = Some(sockets.idle_at()),
            }
            self.next += 1;
        }
    }

    /// Reads on in a record of `len` bytes. Returns whether all of it has come, or how long the peer's record is instead.
    fn read(&mut self, len: usize, socket: SocketId, sockets: &mut Sockets<'_>) -> Result<bool, usize> {
        let had = self.read.len();
        self.read.resize(len, 0);
        let came = sockets.recv(socket, &mut self.read[had..]);
        self.read.truncate(had + came);
        match self.read.first_chunk::<HEADER_LEN>() {
            Some([_, _, _, high, low]) => {
                let len_of_peer = HEADER_LEN + usize::from(u16::from_be_bytes([*high, *low]));
                if len_of_peer == len { Ok(self.read.len() == len) } else { Err(len_of_peer) }
            }
            None => Ok(false),
        }
    }
}

impl conversations::Conversation for Conversation {
    fn deadline(&self) -> Option<Time> {
        self.done_at
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// Returns a record of `len` bytes: the header of application data in TLS 1.2 (RFC 5246, 6.2.1), and filler.
fn record(number: u8, len: usize) -> Vec<u8> {
    let mut record = vec![number; len];
    // A handshake has no record that is longer than this or shorter than its header (`Handshake::new`).
    let content = u16::try_from(len.saturating_sub(HEADER_LEN)).unwrap_or(u16::MAX);
    let [high, low] = content.to_be_bytes();
    for (byte, of_header) in record.iter_mut().zip([APPLICATION_DATA, 3, 3, high, low]) {
        *byte = of_header;
    }
    record
}

/// The length of a record's header in TLS 1.2.
const HEADER_LEN: usize = 5;
/// The content type of application data: what is in such a record, no dissector looks into.
pub(super) const APPLICATION_DATA: u8 = 23;
