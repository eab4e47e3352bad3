//! The driver of a link over datagrams: it connects both halves for the retransmission of flights, ACKs and timers.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{FirstMessage, Receiver, Sender};
use crate::config::{Common, Datagrams};
use crate::link::Received;
use crate::record::datagram::RecordNumber;
use crate::time::Instant;
use crate::wire::{HandshakeType, ProtocolVersion};

/// Both halves of a link over datagrams. It tells each half what it must know about the other.
pub(crate) struct Driver {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

/// What the peer has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// Nothing that was sent and is not yet acknowledged.
    Nothing,
    /// A part of the sent records, or all of those that are not the last flight.
    Something,
    /// The whole last flight of the handshake: the peer has verified this side's Finished.
    LastFlight,
}

/// Counts what a link sent of flights and ACKs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes of handshake messages beyond those that were pushed: retransmissions, and headers of further fragments.
    pub(crate) more: Vec<(HandshakeType, usize)>,
    /// Bytes of datagrams of the handshake, without tickets, which are counted separately.
    pub(crate) record_bytes: u64,
    /// Bytes of datagrams after the handshake, without tickets.
    pub(crate) post_handshake_bytes: u64,
    /// How many datagrams were sent.
    pub(crate) datagrams: u32,
    /// How many of the datagrams carried a retransmission.
    pub(crate) retransmissions: u32,
}

impl Driver {
    /// Creates both halves. `cid` is this side's connection ID, which is negotiated with the peer.
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

    /// Handles the arrival of a record with this content. `has_acks` says that the connection is DTLS 1.3, or may still
    /// become so, and records may be acknowledged.
    pub(crate) fn came(&mut self, now: Instant, received: &Received, has_acks: bool) {
        if *received != Received::Nothing {
            self.sender.peer_is_there();
        }
        if let Some(arrived) = self.receiver.arrived().filter(|_| has_acks) {
            self.sender.arrived(now, arrived);
        }
    }

    /// Notes that a message was handled; with `is_finished` it was the last one of the handshake. `has_acks` is as in
    /// [`Self::came`].
    pub(crate) fn handled(&mut self, now: Instant, is_finished: bool, has_acks: bool) {
        if !has_acks {
            self.sender.peer_has_no_acks();
        }
        if self.sender.handled(now, is_finished) {
            self.receiver.answered();
        }
    }

    /// Handles an ACK of these records.
    pub(crate) fn acknowledged(&mut self, now: Instant, numbers: &[RecordNumber], is_protected: bool) -> Acknowledged {
        let acknowledged = self.sender.acknowledged(now, numbers, is_protected);
        if acknowledged == Acknowledged::LastFlight {
            self.receiver.last_flight_arrived();
        }
        acknowledged
    }

    /// Returns when [`Self::forget`] frees something.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        self.receiver.forgets_at().into_iter().chain(self.sender.forgets_at()).min()
    }

    /// Forgets the last flight, and the keys of earlier epochs, once they are not needed any more.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.receiver.forget(now);
        self.sender.forget(now);
    }
}
