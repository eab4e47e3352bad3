//! The sending half of a link over datagrams: packs flights into datagrams, and retransmits them until they are
//! answered or acknowledged.
//!
//! A flight is kept as messages, each with its epoch. A retransmission is fragmented and protected again, with new
//! record numbers.

use alloc::boxed::Box;

use super::ack::Acks;
use super::driver::Sent;
use super::flight::{Flight, Piece};
use super::fragment::HEADER_LEN;
use super::path_mtu::PathMtu;
use super::queue::Queue;
use super::retransmit::{Settings, Timer};
use crate::config::Datagrams;
use crate::error::{ApiMisuse, Error};
use crate::link::{Link, Outgoing, RecordLimits};
use crate::record::datagram::WriteEpoch;
use crate::record::datagram12::MAX_FRAGMENT;
use crate::schedule::EpochKeys;
use crate::schedule::tls13::epoch::HANDSHAKE;
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Encode, HandshakeType, Transport, Writer};

mod epochs;
mod flights;
mod packing;
#[cfg(test)]
mod tests;

use epochs::{EpochPosition, Epochs};

/// The sending half of a link over datagrams.
pub(crate) struct Sender {
    path_mtu: PathMtu,
    own_cid: Option<Box<[u8]>>,
    checks_routability: bool,
    epochs: Epochs,
    next_seq: u16,
    flight: Flight,
    /// The received records that are to be acknowledged.
    acks: Acks,
    /// Records of application data and alerts, each for a datagram of its own.
    queue: Queue,
    timer: Timer,
    /// How often the peer can cause the retransmission of a flight, beside the timer.
    max_repeats: u32,
    /// Whether a part of a flight is acknowledged, and such ACKs are acted upon.
    has_partial_acks: bool,
    produced: u64,
    sent: Sent,
    /// Whether the handshake is over (DTLS 1.3 only).
    is_finished: bool,
    /// Whether the next ACK is the last record of the handshake.
    owes_last_ack: bool,
    /// Whether a closing alert was sent: close_notify or a fatal one.
    closed: bool,
    #[cfg(terse_testing)]
    fault: Option<alloc::sync::Arc<dyn crate::Fault>>,
}

impl Sender {
    pub(super) fn new(settings: &Datagrams, cid: Option<Box<[u8]>>) -> Self {
        Self {
            path_mtu: PathMtu::new(settings.max_datagram),
            own_cid: cid,
            checks_routability: settings.return_routability_check,
            epochs: Epochs::new(0),
            next_seq: 0,
            flight: Flight::default(),
            acks: Acks::default(),
            queue: Queue::default(),
            timer: Timer::new(Settings {
                initial: settings.initial_timeout,
                min: settings.min_timeout,
                max: settings.max_timeout,
                max_retransmissions: settings.max_retransmissions,
            }),
            max_repeats: settings.defences().max_repeats(settings.max_retransmissions),
            has_partial_acks: settings.defences().acknowledge_parts(),
            produced: 0,
            sent: Sent::default(),
            is_finished: false,
            owes_last_ack: false,
            closed: false,
            #[cfg(terse_testing)]
            fault: None,
        }
    }

    #[cfg(terse_testing)]
    pub(super) fn with_fault(self, fault: Option<alloc::sync::Arc<dyn crate::Fault>>) -> Self {
        Self { fault, ..self }
    }

    /// Begins with these numbers: `message_seq` for the first message, `number` for the first record.
    pub(super) fn begin_at(mut self, message_seq: u16, number: u64) -> Self {
        self.next_seq = message_seq;
        self.epochs = Epochs::new(number);
        self
    }

    /// Queues one record, which is a datagram of its own.
    fn record_under(&mut self, place: EpochPosition, content_type: ContentType, fragment: &[u8]) -> Result<(), Error> {
        if self.closed {
            return Ok(());
        }
        let (head, tail) = self.epochs.frame(place, fragment.len());
        let Self { queue, epochs, .. } = self;
        let seal = |record: &mut [u8]| epochs.seal(place, content_type, true, fragment.len(), record);
        queue.push((head, fragment, tail), seal)?;
        self.produced += (head + fragment.len() + tail) as u64;
        Ok(())
    }

    /// Returns an error if a datagram has no room for one byte of a fragment in the epoch in force.
    fn check_room(&self) -> Result<(), ApiMisuse> {
        let (head, tail) = self.epochs.frame(self.epochs.in_force(), MAX_FRAGMENT);
        if head + HEADER_LEN + 1 + tail > self.path_mtu.max_datagram() {
            Err(ApiMisuse::DatagramOutOfRange)
        } else {
            Ok(())
        }
    }

    /// Alters a message as a hostile peer would. A [`crate::Fault`] expects messages with the header of TLS.
    #[cfg(terse_testing)]
    fn alter(&mut self, kind: HandshakeType, start: usize) {
        let Some(fault) = &self.fault else { return };
        let message = self.flight.bytes.split_off(start);
        let mut altered = [&message[..4], &message[HEADER_LEN..]].concat();
        fault.message(kind, &mut altered);
        let Some((&[kind, a, b, c], body)) = altered.split_first_chunk() else { return };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let mut header = super::fragment::FragmentHeader::whole(HandshakeType(kind), self.next_seq, length);
        header.fragment_length = body.len();
        self.flight.bytes.extend_from_slice(&header.bytes());
        self.flight.bytes.extend_from_slice(body);
    }

    /// Returns the peer's connection ID, which may be empty.
    pub(crate) fn peer_id(&self) -> &[u8] {
        self.epochs.peer_cid()
    }

    /// Replaces the peer's connection ID. Returns an error, and keeps the old one, if datagrams would have no room for
    /// content.
    pub(crate) fn change_peer_id(&mut self, id: Box<[u8]>) -> Result<(), Error> {
        let before = self.peer_id().to_vec();
        self.use_connection_id(&id);
        let has_room = self.check_room();
        if has_room.is_err() {
            self.epochs.set_peer_cid(&before);
        }
        Ok(has_room?)
    }

    /// Whether a message of this kind is not acknowledged yet.
    pub(crate) fn is_under_way(&self, kind: HandshakeType) -> bool {
        let is_one = |piece: &Piece| self.flight.bytes.get(piece.start) == Some(&kind.0);
        let is_message = |piece: &Piece| piece.content_type == ContentType::HANDSHAKE;
        self.flight.pieces.iter().any(|piece| !piece.is_acknowledged && is_message(piece) && is_one(piece))
    }

    /// Makes one record in `out`, which is sent apart from all queued ones. Returns its length; `None` if it does not
    /// fit, or if nothing more may be sent.
    pub(crate) fn record_apart(&mut self, content_type: ContentType, content: &[u8], out: &mut [u8]) -> Option<usize> {
        if self.closed || self.key_is_exhausted() {
            return None;
        }
        let place = self.epochs.in_force();
        let (head, tail) = self.epochs.frame(place, content.len());
        let record = out.get_mut(..head + content.len() + tail)?;
        record[head..head + content.len()].copy_from_slice(content);
        self.epochs.seal(place, content_type, true, content.len(), record).ok()?;
        self.produced += record.len() as u64;
        Some(record.len())
    }

    /// Returns when to call [`Self::expired`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timer.deadline().into_iter().chain(self.acks.deadline()).min()
    }

    /// Returns how long an answer is expected to take at most, in milliseconds, if nothing is lost.
    pub(crate) fn answer_timeout(&self) -> u64 {
        self.timer.undoubled()
    }

    /// Returns when the current flight was last sent.
    pub(crate) const fn last_sent(&self) -> Option<Instant> {
        self.flight.last_sent
    }
}

impl Outgoing for Sender {
    fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize {
        if self.flight.todo.is_empty() && !self.acks.is_due() {
            self.forget(now);
            return self.queue.pop(out);
        }
        let has_flight = !self.flight.todo.is_empty();
        let limit = out.len().min(self.path_mtu.max_datagram());
        let sent = self.send_flight(now, &mut out[..limit]);
        let len = *sent.as_ref().unwrap_or(&0); // fails only if all record numbers are used
        self.produced += len as u64;
        self.flight.is_fresh &= len == 0;
        self.flight.largest = self.flight.largest.max(len);
        if has_flight && (self.flight.todo.is_empty() || sent.is_err() || len == 0) {
            self.flight.todo.clear();
            self.flight.last_sent = Some(now);
            if !self.flight.is_last {
                self.timer.sent(now);
            }
        }
        len
    }

    fn produced(&self) -> u64 {
        self.produced
    }

    fn key_nears_limit(&self) -> bool {
        self.epochs.of(self.epochs.in_force()).nears_limit()
    }

    fn key_is_exhausted(&self) -> bool {
        self.epochs.of(self.epochs.in_force()).is_exhausted()
    }

    fn max_fragment(&self) -> usize {
        let place = self.epochs.for_data();
        let room = self.path_mtu.max_datagram().saturating_sub(self.epochs.max_expansion(place));
        room.min(self.epochs.max_content(place))
    }

    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error> {
        let place = match content_type {
            ContentType::APPLICATION_DATA => self.epochs.for_data(),
            _ => self.epochs.for_control(),
        };
        self.record_under(place, content_type, fragment)
    }

    fn last_alert(&mut self, alert: Alert) -> Result<(), Error> {
        self.alert(alert)?;
        self.closed = true;
        if !self.is_finished {
            self.acks.answered(); // an ACK would say that the messages were accepted
        }
        Ok(())
    }
}

/// The number after which no KeyUpdate is sent: message numbers do not wrap around, and the last ones are reserved.
const LAST_SEQ: u16 = u16::MAX - 8;

impl Link for Sender {
    fn transport(&self) -> Transport {
        Transport::Datagram
    }

    fn connection_id(&self) -> Option<(&[u8], bool)> {
        self.own_cid.as_deref().map(|cid| (cid, self.checks_routability))
    }

    fn use_connection_id(&mut self, cid: &[u8]) {
        self.epochs.set_peer_cid(cid);
        self.path_mtu.make_room(self.least_datagram());
    }

    fn pending(&self) -> usize {
        let flight = if self.flight.todo.is_empty() { 0 } else { self.flight.bytes.len() };
        self.queue.len() + flight // an ACK does not count
    }

    fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error> {
        self.begin_flight();
        let next_seq = self.next_seq.checked_add(1).ok_or(ApiMisuse::KeyExhausted)?;
        let start = self.flight.encode(kind, self.next_seq, body)?;
        #[cfg(terse_testing)]
        self.alter(kind, start);
        self.next_seq = next_seq;
        let (epoch, end) = (self.epochs.epoch(), self.flight.bytes.len());
        let content_type = ContentType::HANDSHAKE;
        self.flight.pieces.push(Piece { epoch, content_type, start, end, is_acknowledged: false });
        Ok(&self.flight.bytes[start..])
    }

    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        let epoch = self.epochs.epoch();
        match keys {
            EpochKeys::Tls12(_) => {
                self.begin_flight();
                let start = self.flight.bytes.len();
                self.flight.bytes.push(1);
                let (content_type, end) = (ContentType::CHANGE_CIPHER_SPEC, start + 1);
                self.flight.pieces.push(Piece { epoch, content_type, start, end, is_acknowledged: false });
                self.epochs.push(WriteEpoch::new(keys, epoch as u16 + 1)?); // DTLS 1.2 changes keys once
            }
            EpochKeys::Tls13(secret) if self.epochs.is_dtls13() && secret.epoch() == epoch => {} // in force already
            EpochKeys::Tls13(_) if self.is_finished => {
                self.end_of_flight()?;
                self.epochs.put_off(WriteEpoch::new(keys, 0)?);
            }
            EpochKeys::Tls13(secret) => {
                if secret.epoch() > HANDSHAKE {
                    self.abandon_early_data();
                }
                self.epochs.push(WriteEpoch::new(keys, 0)?);
            }
        }
        Ok(self.check_room()?)
    }

    fn new_keys_beside_early_data(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        self.new_keys(keys) // records carry their epoch
    }

    fn abandon_early_data(&mut self) {
        self.epochs.abandon_early_data();
    }

    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error> {
        Ok(None)
    }

    fn limits(&mut self) -> &mut RecordLimits {
        self.epochs.limits_mut()
    }

    fn alert(&mut self, alert: Alert) -> Result<(), Error> {
        let mut place = self.epochs.for_control();
        if !self.flight.is_complete && !self.flight.pieces.is_empty() {
            // The incomplete flight is dropped. The peer needs it to derive the newest keys, so the alert is sent in
            // the flight's first epoch.
            place = self.epochs.position(self.flight.pieces[0].epoch);
            self.flight = Flight::default();
        }
        let mut bytes = [0; 2];
        alert.encode(&mut Writer::new(&mut bytes));
        self.record_under(place, ContentType::ALERT, &bytes)
    }

    fn compatibility_mode(&mut self) {}

    fn compatibility_point(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn can_update_keys(&self) -> bool {
        let is_free = || !self.epochs.has_next() && !self.has_last_flight() && self.next_seq < LAST_SEQ;
        !self.epochs.is_dtls13() || (!self.closed && is_free())
    }

    fn end_of_flight(&mut self) -> Result<(), Error> {
        if !self.flight.is_complete && !self.flight.pieces.is_empty() {
            self.flight.complete();
        }
        Ok(())
    }
}
