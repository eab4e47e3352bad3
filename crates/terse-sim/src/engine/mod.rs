//! The real engine as the program of a host: what the two sides of an exchange do, whatever carries their bytes.
//!
//! What must always hold: the engine runs unmodified, with the time of the simulation and a random stream of its own; a
//! failure of either side ends the run with its cause; what is computed takes the time of the host's device, if it has one.

use core::net::SocketAddr;

use terse_tls::summary::Traffic;
use terse_tls::{Connection, Error, Instant, Now};

mod client;
pub(crate) mod device;
pub(crate) mod many;
mod message;
mod processor;
mod program;
mod server;

use client::Client;
pub(crate) use processor::{Processor, Watcher};
pub(crate) use program::{Clock, Program, Role};
use server::{DatagramServer, StreamServer};

/// What is said on a connection: a message each way, then goodbye (BiTHaC, V-A). Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The size of the client's message.
    pub request: usize,
    /// The size of the server's answer.
    pub reply: usize,
    /// Whether the client sends its message as early data, with its first flight, if the handshake has that.
    pub early_data: bool,
}

impl Exchange {
    /// What a client has to say on a connection that is a handshake and nothing more: it waits for ever, and closes nothing. What
    /// arrives is left to whoever has the connection.
    pub(crate) const OF_SILENT_CLIENT: Self = Self { request: 0, reply: usize::MAX, early_data: false };

    /// What its server has to say.
    pub(crate) const OF_SILENT_SERVER: Self = Self { request: usize::MAX, reply: 0, early_data: false };
}

impl Default for Exchange {
    /// wolfSSL's example programs send messages of this size; the paper gives none.
    fn default() -> Self {
        Self { request: 14, reply: 22, early_data: false }
    }
}

/// Sends `len` bytes, over datagrams in as few records as possible.
fn say(connection: &mut Connection, letter: u8, len: usize) -> Result<(), Error> {
    for part in vec![letter; len].chunks(connection.max_message().max(1)) {
        connection.send(part)?;
    }
    Ok(())
}

/// How far a side has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// Whether its handshake is complete.
    pub(crate) connected: bool,
    /// Whether the application of a server has the request, which may be early data.
    pub(crate) requested: bool,
    /// Whether it has the message of the other side, and a server has answered it.
    pub(crate) answered: bool,
    /// Whether it has nothing more to say once its output is sent: a stream may then be closed.
    pub(crate) end: bool,
}

/// One side of an exchange, above its transport.
pub(crate) trait Side {
    /// Takes a stretch of a stream, or a datagram.
    fn input(&mut self, now: Now, from: SocketAddr, bytes: &mut [u8]) -> Result<(), Error>;

    /// Takes the end of the stream.
    fn end_of_input(&mut self, now: Now) -> Result<(), Error>;

    /// Returns the length of the next output, and its destination if that is not the only peer.
    fn output(&mut self, now: Now, out: &mut [u8]) -> Option<(Option<SocketAddr>, usize)>;

    /// Sends the application's answer. This is called once the transport has everything that the engine had to send: a
    /// server that waits for a request has written its last flight, and its tickets, before it reads one.
    fn answer(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns when [`Self::expire`] is due.
    fn deadline(&self) -> Option<Instant>;

    /// Handles the timeout that [`Self::deadline`] gave.
    fn expire(&mut self, now: Now) -> Result<(), Error>;

    /// Returns how far this side has come.
    fn reached(&self) -> Reached;

    /// Returns the connection; a server has one once a client came.
    fn connection(&mut self) -> Option<&mut Connection>;

    /// What this side sent in handshakes before it had a connection, and which no [`terse_tls::Summary`] knows: the
    /// HelloVerifyRequests and HelloRetryRequests of a server that keeps nothing of a client until it came again.
    fn sent_without_connection(&self) -> Traffic {
        Traffic::default()
    }
}
