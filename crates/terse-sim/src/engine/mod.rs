//! The real engine as the program of a host: what the two sides of an exchange do, whatever carries their bytes.
//!
//! What must always hold: the engine runs unmodified, with the time of the simulation and a random stream of its own; a
//! failure of either side ends the run with its cause.

use core::net::SocketAddr;

use terse_tls::summary::Traffic;
use terse_tls::{Connection, Error, Instant, Now};

mod client;
mod program;
mod server;

use client::Client;
pub(crate) use program::{Clock, Program, Role, Watcher};
use server::{DatagramServer, StreamServer};

/// What is said on a connection: a message each way, then goodbye (paper 000, V-A). Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The client's message.
    pub request: usize,
    /// The server's answer.
    pub reply: usize,
}

impl Default for Exchange {
    /// The messages of wolfSSL's example programs are of this size; the paper gives none.
    fn default() -> Self {
        Self { request: 14, reply: 22 }
    }
}

/// Sends `len` bytes, over datagrams in as few as hold them.
fn say(connection: &mut Connection, letter: u8, len: usize) -> Result<(), Error> {
    for part in vec![letter; len].chunks(connection.max_message().max(1)) {
        connection.send(part)?;
    }
    Ok(())
}

/// How far a side is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// Its handshake is complete.
    pub(crate) connected: bool,
    /// It has the message of the other side.
    pub(crate) answered: bool,
    /// It has nothing more to say, once its output is sent: a stream may be closed.
    pub(crate) end: bool,
}

/// One side of an exchange, above its transport.
pub(crate) trait Side {
    /// A stretch of a stream, or a datagram.
    fn input(&mut self, now: Now, from: SocketAddr, bytes: &mut [u8]) -> Result<(), Error>;

    /// The stream ended.
    fn end_of_input(&mut self, now: Now) -> Result<(), Error>;

    /// What is to be sent next, and to whom, if not to the only peer.
    fn output(&mut self, now: Now, out: &mut [u8]) -> Option<(Option<SocketAddr>, usize)>;

    /// What the application answers, once everything that the engine had to send is with the transport: a server that waits
    /// for a request has written its last flight, and its tickets, before it reads one.
    fn answer(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// When [`Self::expire`] is due.
    fn deadline(&self) -> Option<Instant>;

    /// Time has passed.
    fn expire(&mut self, now: Now) -> Result<(), Error>;

    /// How far it is.
    fn reached(&self) -> Reached;

    /// The connection, which a server has once a client came.
    fn connection(&mut self) -> Option<&mut Connection>;

    /// What this side sent in handshakes before it had a connection, and which no [`terse_tls::Summary`] knows: the
    /// HelloVerifyRequests and HelloRetryRequests of a server that keeps nothing of a client until it came again.
    fn sent_without_connection(&self) -> Traffic {
        Traffic::default()
    }
}
