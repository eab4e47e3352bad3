//! The driver of a link over datagrams: it connects both halves for the retransmission of flights, ACKs and timers.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::connection_ids::OwnIds;
use super::{FirstMessage, Receiver, Sender};
use crate::config::{Common, Datagrams};
use crate::error::Error;
use crate::link::{DatagramLink, Halves, Incoming, Outgoing, Received};
use crate::record::datagram::RecordNumber;
use crate::summary::Dropped;
use crate::time::Instant;
use crate::wire::{AlertDescription, ContentType, HandshakeType, ProtocolVersion};

/// Both halves of a link over datagrams. It tells each half what it must know about the other.
pub(crate) struct Driver {
    receiver: Receiver,
    sender: Sender,
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
}

impl DatagramLink for Driver {
    fn came(&mut self, now: Instant, received: &Received, has_acks: bool) {
        if *received != Received::Nothing {
            self.sender.peer_is_there();
        }
        if let Some(arrived) = self.receiver.arrived().filter(|_| has_acks) {
            self.sender.arrived(now, arrived);
        }
    }

    fn handled(&mut self, now: Instant, is_finished: bool, has_acks: bool) {
        if !has_acks {
            self.sender.peer_has_no_acks();
        }
        if self.sender.handled(now, is_finished) {
            self.receiver.answered();
        }
    }

    fn acknowledged(&mut self, now: Instant, numbers: &[RecordNumber], is_protected: bool) -> Acknowledged {
        let acknowledged = self.sender.acknowledged(now, numbers, is_protected);
        if acknowledged == Acknowledged::LastFlight {
            self.receiver.last_flight_arrived();
        }
        acknowledged
    }

    fn forgets_at(&self) -> Option<Instant> {
        self.receiver.forgets_at().into_iter().chain(self.sender.forgets_at()).min()
    }

    fn forget(&mut self, now: Instant) {
        self.receiver.forget(now);
        self.sender.forget(now);
    }

    fn ignored(&mut self) {
        self.receiver.arrived(); // nor is it acknowledged
    }

    fn heard(&mut self, now: Instant) {
        self.sender.heard(now);
    }

    fn repeat(&mut self, now: Instant) {
        self.sender.repeat(now);
    }

    fn take_sent(&mut self) -> Option<Sent> {
        self.sender.take_sent()
    }

    fn dropped(&self) -> Dropped {
        self.receiver.dropped()
    }

    fn deadline(&self) -> Option<Instant> {
        self.sender.deadline()
    }

    fn retransmission_is_due(&self, now: Instant) -> bool {
        self.sender.retransmission_is_due(now)
    }

    fn expired(&mut self, now: Instant) -> bool {
        self.sender.expired(now)
    }

    fn last_sent(&self) -> Option<Instant> {
        self.sender.last_sent()
    }

    fn answer_timeout(&self) -> u64 {
        self.sender.answer_timeout()
    }

    fn unprotected_alert(&self) -> Option<AlertDescription> {
        self.receiver.unprotected_alert()
    }

    fn saw_too_large(&self) -> bool {
        self.receiver.saw_too_large()
    }

    fn key_has_many_forgeries(&mut self) -> bool {
        self.receiver.key_has_many_forgeries()
    }

    fn expect_connection_id(&mut self) {
        self.receiver.expect_connection_id();
    }

    fn own_ids(&self) -> &OwnIds {
        self.receiver.own_ids()
    }

    fn own_ids_mut(&mut self) -> &mut OwnIds {
        self.receiver.own_ids_mut()
    }

    fn peer_id(&self) -> &[u8] {
        self.sender.peer_id()
    }

    fn change_peer_id(&mut self, id: Box<[u8]>) -> Result<(), Error> {
        self.sender.change_peer_id(id)
    }

    fn is_under_way(&self, kind: HandshakeType) -> bool {
        self.sender.is_under_way(kind)
    }

    fn record_apart(&mut self, content_type: ContentType, content: &[u8], out: &mut [u8]) -> Option<usize> {
        self.sender.record_apart(content_type, content, out)
    }
}

impl Halves for Driver {
    fn receiver(&self) -> &dyn Incoming {
        &self.receiver
    }

    fn sender(&self) -> &dyn Outgoing {
        &self.sender
    }

    fn both_mut(&mut self) -> (&mut dyn Incoming, &mut dyn Outgoing) {
        (&mut self.receiver, &mut self.sender)
    }

    fn datagrams(&self) -> Option<&dyn DatagramLink> {
        Some(self)
    }

    fn datagrams_mut(&mut self) -> Option<&mut dyn DatagramLink> {
        Some(self)
    }
}
