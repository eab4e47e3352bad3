//! The link over datagrams (RFC 6347): puts messages in order, fragments and reassembles them, sends flights again
//! until they are answered, packs them into as few datagrams as possible. ChangeCipherSpec is made and understood here.
//!
//! What must always hold: what cannot be verified changes nothing, and is dropped as if it had been lost; a message is
//! handed on once, in its place, and only if it came under the keys that are due; what is kept is bounded.

use alloc::vec::Vec;

mod ack;
pub(crate) mod connection_ids;
pub(crate) mod cookie;
mod defences;
mod driver;
mod flight;
pub(crate) mod fragment;
mod outstanding;
mod queue;
mod receiver;
pub(crate) mod retransmit;
mod sender;

pub(crate) use driver::{Acknowledged, Driver, Sent};
pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;

/// How many bytes of heap it takes at most to know what was sent in which records, and what came in which.
pub(crate) const ACKS: usize = outstanding::MAX_HEAP + ack::MAX_HEAP;

/// A ClientHello that came before there was a connection.
pub(crate) struct FirstMessage {
    /// With its header, as if it had come in one piece.
    pub(crate) message: Vec<u8>,
    pub(crate) message_seq: u16,
    /// Of the last record of it.
    pub(crate) number: u64,
    /// Datagrams that it came in, and how many bytes of them were records of it: each once, and only what brought
    /// something new, since three times as much may be sent back.
    pub(crate) datagrams: u32,
    pub(crate) bytes: usize,
}
