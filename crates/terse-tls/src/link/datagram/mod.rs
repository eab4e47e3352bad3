//! The link over datagrams (RFC 6347, RFC 9147): orders, fragments and reassembles messages, retransmits flights until
//! they are answered, and packs them into as few datagrams as possible. ChangeCipherSpec is made and understood here.
//!
//! What must always hold: a record that cannot be verified changes nothing, and is dropped as if it had been lost; a
//! message is delivered once, in order, and only if it came in the expected epoch; the memory is bounded.

use alloc::vec::Vec;

mod ack;
pub(crate) mod connection_ids;
pub(crate) mod cookie;
mod defences;
mod driver;
mod flight;
pub(crate) mod fragment;
mod outstanding;
mod path_mtu;
mod queue;
mod receiver;
pub(crate) mod retransmit;
mod sender;

pub(crate) use driver::{Acknowledged, Driver, Sent};
pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;

/// How many bytes of heap this takes at most beside messages, flights and records of application data: what was sent in
/// which records, and what came in which; which parts of messages came; and records that came ahead of their keys.
pub(crate) const MAX_HEAP: usize =
    outstanding::MAX_HEAP + ack::MAX_HEAP + fragment::MAX_HEAP_BESIDE_BODIES + receiver::MAX_HEAP;

/// A ClientHello that was received before there was a connection.
pub(crate) struct FirstMessage {
    /// The message with its header, as if it were not fragmented.
    pub(crate) message: Vec<u8>,
    pub(crate) message_seq: u16,
    /// The sequence number of the last record that carried a part of the message.
    pub(crate) number: u64,
    /// How many datagrams carried parts of the message.
    pub(crate) datagrams: u32,
    /// How many bytes those records have that carried something new, each counted once: the server may send three times
    /// as many back before it has validated the address.
    pub(crate) bytes: usize,
}
