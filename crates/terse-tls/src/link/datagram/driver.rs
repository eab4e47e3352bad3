//! What there is over datagrams beside the core of a link: flights that are sent again until they are answered or
//! acknowledged, and the timer for that.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{FirstMessage, Receiver, Sender};
use crate::config::{Common, Datagrams};
use crate::link::Received;
use crate::record::datagram::RecordNumber;
use crate::time::Instant;
use crate::wire::{HandshakeType, ProtocolVersion};

/// Both halves of a link over datagrams, and what one of them has to know of the other.
pub(crate) struct Driver {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// Nothing.
    Nothing,
    /// Something of what was sent arrived.
    Something,
    /// All of the last flight of the handshake did: the peer has verified this side's Finished.
    LastFlight,
}

/// What a link sent of flights.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes of handshake messages beyond those that were pushed: sent again, or further headers of fragments.
    pub(crate) more: Vec<(HandshakeType, usize)>,
    /// Bytes of datagrams, but for tickets, which count apart.
    pub(crate) record_bytes: u64,
    /// The same of those after the handshake.
    pub(crate) post_handshake_bytes: u64,
    /// Datagrams.
    pub(crate) datagrams: u32,
    /// Those of them that were sent again.
    pub(crate) retransmissions: u32,
}

impl Driver {
    /// `cid` is this side's connection ID, which is offered or answered.
    pub(crate) fn new(common: &Common, settings: &Datagrams, cid: Option<Box<[u8]>>) -> Self {
        let receiver = Receiver::new(common.max_handshake_message, common.max_record, settings, cid.clone())
            .with_dtls13(common.enables(ProtocolVersion::TLS_1_3));
        let sender = Sender::new(settings, cid);
        #[cfg(terse_testing)]
        let sender = sender.with_fault(common.fault.clone());
        Self { receiver, sender }
    }

    /// Of a server to which `hello` came, which is to be handled. Its own records begin with `number` (RFC 6347, 4.2.1), and
    /// its messages with that of the ClientHello (4.2.2).
    pub(crate) fn accept(
        common: &Common,
        settings: &Datagrams,
        cid: Option<Box<[u8]>>,
        hello: &FirstMessage,
        number: u64,
    ) -> Self {
        let Self { mut receiver, sender } = Self::new(common, settings, cid);
        receiver.begin_with(hello);
        Self { receiver, sender: sender.begin_at(hello.message_seq, number) }
    }

    /// A record came that brought this. `has_acks`: those of the peer's records are acknowledged, or may be.
    pub(crate) fn came(&mut self, now: Instant, received: &Received, has_acks: bool) {
        if *received != Received::Nothing {
            self.sender.peer_is_there();
        }
        if let Some(arrived) = self.receiver.arrived().filter(|_| has_acks) {
            self.sender.arrived(now, arrived);
        }
    }

    /// A message was handled; with `is_finished` it was the last one of the handshake. `has_acks` as in [`Self::came`].
    pub(crate) fn handled(&mut self, now: Instant, is_finished: bool, has_acks: bool) {
        if !has_acks {
            self.sender.peer_has_no_acks();
        }
        if self.sender.handled(now, is_finished) {
            self.receiver.answered();
        }
    }

    /// The peer has these records.
    pub(crate) fn acknowledged(&mut self, now: Instant, numbers: &[RecordNumber], is_protected: bool) -> Acknowledged {
        let acknowledged = self.sender.acknowledged(now, numbers, is_protected);
        if acknowledged == Acknowledged::LastFlight {
            self.receiver.last_flight_arrived();
        }
        acknowledged
    }

    /// When [`Self::forget`] frees something.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        self.receiver.forgets_at().into_iter().chain(self.sender.forgets_at()).min()
    }

    /// Forgets the last flight, and the keys of what came before, once they are of no use.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.receiver.forget(now);
        self.sender.forget(now);
    }
}
