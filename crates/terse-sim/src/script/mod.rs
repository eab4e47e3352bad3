//! Scripts replay a handshake by the sizes of its messages and the time that it computes, without cryptography: what another
//! implementation was measured to send, on the simulator's network. The time is virtual, the bytes are real.
//!
//! A [`Handshake`] is data, for example from TOML: the list of what both sides do, in order. A [`Peer`] is the program of a
//! host that does one side of it, over TCP ([`StreamPeer`]) or over UDP ([`DatagramPeer`]).
//!
//! ```toml
//! transport = "datagrams"
//! steps = [
//!     { client = "ClientHello", bytes = 100 },
//!     { server = "HelloVerifyRequest", bytes = 60, stateless = true },
//!     { client = "ClientHello with cookie", bytes = 132 },
//!     { server = "ServerHello to ServerHelloDone", bytes = [525, 318] },
//!     { computes = "client", seconds = 2.1 },
//!     { client = "Certificate to Finished", bytes = [525, 173] },
//!     { server = "ChangeCipherSpec, Finished", bytes = 75 },
//! ]
//! ```
//!
//! Over a stream each number of bytes is a record, and a write of its own. Over datagrams a message is a flight, and each
//! number is a datagram of it. Records and datagrams begin with the header that TLS 1.2 or DTLS 1.2 has for application data,
//! so that a capture can be read; the rest is filler.
//!
//! What must always hold: both sides follow the same list, so that neither waits for what the other does not send; a peer
//! that sends something else has failed.

pub(crate) mod conversations;
mod datagram;
mod outcome;
mod peer;
mod step;
mod stream;
#[cfg(test)]
mod tests;

pub use crate::probe::Party;
pub use datagram::{DatagramPeer, Timers};
pub use outcome::Outcome;
pub use peer::Peer;
pub use step::{Action, Handshake, Message, Step, Transport};
pub use stream::StreamPeer;
