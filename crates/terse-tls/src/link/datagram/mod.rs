//! The link over datagrams (RFC 6347): puts messages in order, fragments and reassembles them, sends flights again until
//! they are answered, packs them into as few datagrams as possible. ChangeCipherSpec is made and understood here.
//!
//! What must always hold: what cannot be verified changes nothing, and is dropped as if it had been lost; a message is
//! handed on once, in its place, and only if it came under the keys that are due; what is kept is bounded.

use alloc::boxed::Box;

use super::Halves;
use crate::config::{Common, Datagrams};

pub(crate) mod cookie;
pub(crate) mod fragment;
mod receiver;
pub(crate) mod retransmit;
mod sender;

use receiver::Receiver;
use sender::Sender;

/// Both halves. `cid` is this side's connection ID, which is offered or answered.
pub(crate) fn halves(common: &Common, settings: &Datagrams, cid: Option<Box<[u8]>>) -> Halves {
    let (receiver, sender) = both(common, settings, cid);
    (Box::new(receiver), Box::new(sender))
}

/// Both halves of a server to which `hello` came, a ClientHello as if it had not been fragmented, in records up to
/// `number`: the server's own begin with that (RFC 6347, 4.2.1), and its messages with the ClientHello's number (4.2.2).
pub(crate) fn accept(
    common: &Common,
    settings: &Datagrams,
    cid: Option<Box<[u8]>>,
    hello: &[u8],
    number: u64,
) -> Halves {
    let (mut receiver, sender) = both(common, settings, cid);
    let message_seq = receiver.begin_with(hello);
    (Box::new(receiver), Box::new(sender.begin_at(message_seq, number)))
}

fn both(common: &Common, settings: &Datagrams, cid: Option<Box<[u8]>>) -> (Receiver, Sender) {
    let receiver = Receiver::new(common.max_handshake_message, common.max_record, settings, cid.clone());
    let sender = Sender::new(settings, cid);
    #[cfg(feature = "testing")]
    let sender = sender.with_fault(common.fault.clone());
    (receiver, sender)
}
