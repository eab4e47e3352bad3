//! The link over datagrams (RFC 6347): puts messages in order, fragments and reassembles them, sends flights again
//! until they are answered, packs them into as few datagrams as possible. ChangeCipherSpec is made and understood here.
//!
//! What must always hold: what cannot be verified changes nothing, and is dropped as if it had been lost; a message is
//! handed on once, in its place, and only if it came under the keys that are due; what is kept is bounded.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Halves;
use crate::config::{Common, Datagrams};
use crate::endpoint::MAX_DATAGRAMS;
use crate::handshake::tls13::server::Retried;
use crate::wire::ProtocolVersion;

mod ack;
pub(crate) mod connection_ids;
pub(crate) mod cookie;
mod flight;
pub(crate) mod fragment;
mod outstanding;
mod queue;
mod receiver;
pub(crate) mod retransmit;
mod sender;

use receiver::Receiver;
use sender::Sender;

/// How many bytes of heap it takes at most to know what was sent in which records, and what came in which.
pub(crate) const ACKS: usize = outstanding::MAX_HEAP + ack::MAX_HEAP;

/// Both halves. `cid` is this side's connection ID, which is offered or answered.
pub(crate) fn halves(common: &Common, settings: &Datagrams, cid: Option<Box<[u8]>>) -> Halves {
    let (receiver, sender) = both(common, settings, cid);
    (Box::new(receiver), Box::new(sender))
}

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
    /// It came with a cookie that says what was asked for in a HelloRetryRequest.
    pub(crate) retried: Option<(Retried, Vec<u8>)>,
}

/// Both halves of a server to which `hello` came. Its own records begin with the number of the ClientHello's (RFC 6347,
/// 4.2.1), or after those of a HelloRetryRequest, and its messages with that of the ClientHello (4.2.2).
pub(crate) fn accept(common: &Common, settings: &Datagrams, cid: Option<Box<[u8]>>, hello: &FirstMessage) -> Halves {
    let (mut receiver, sender) = both(common, settings, cid);
    receiver.begin_with(hello);
    let number = if hello.retried.is_some() { hello.number + MAX_DATAGRAMS } else { hello.number };
    (Box::new(receiver), Box::new(sender.begin_at(hello.message_seq, number)))
}

fn both(common: &Common, settings: &Datagrams, cid: Option<Box<[u8]>>) -> (Receiver, Sender) {
    let receiver = Receiver::new(common.max_handshake_message, common.max_record, settings, cid.clone())
        .with_dtls13(common.enables(ProtocolVersion::TLS_1_3));
    let sender = Sender::new(settings, cid);
    #[cfg(feature = "testing")]
    let sender = sender.with_fault(common.fault.clone());
    (receiver, sender)
}
