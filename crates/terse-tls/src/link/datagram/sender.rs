//! What goes out: flights of messages, cut to datagrams when they are sent, and sent again until they are answered.
//!
//! A flight is kept as messages, each with the epoch that it belongs to: what is sent again is fragmented and protected
//! afresh, under new numbers.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::flight::{Flight, Piece, Place};
use super::fragment::HEADER_LEN;
use super::queue::Queue;
use super::retransmit::{Expired, Settings, Timer};
use crate::config::{Datagrams, Defence};
use crate::crypto::CryptoError;
use crate::error::{ApiMisuse, Error};
use crate::link::{Flights, Link, Outgoing, Sent};
use crate::record::datagram12::{HEADER_LEN as RECORD_HEADER_LEN, MAX_FRAGMENT, WriteEpoch};
use crate::schedule::EpochKeys;
use crate::time::Instant;
use crate::wire::{Alert, AlertDescription, ContentType, Encode, HandshakeType, Protocol, Writer};

#[cfg(test)]
mod tests;

/// The sending half.
pub(super) struct Sender {
    /// The largest datagram; smaller after losses.
    max_datagram: usize,
    /// The same before any.
    configured: usize,
    own_cid: Option<Box<[u8]>>,
    checks_routability: bool,
    peer_cid: Box<[u8]>,
    /// By number.
    epochs: Vec<WriteEpoch>,
    next_seq: u16,
    flight: Flight,
    /// Records of application data and alerts, a datagram each.
    queue: Queue,
    timer: Timer,
    /// How often the peer has a flight sent again, beyond what the timer does.
    max_repeats: u32,
    max_fragment: usize,
    /// As `max_fragment`, for protected records.
    max_protected: usize,
    produced: u64,
    sent: Sent,
    /// The last alert was sent: `close_notify` or a fatal one.
    closed: bool,
    #[cfg(feature = "testing")]
    fault: Option<alloc::sync::Arc<dyn crate::Fault>>,
}

impl Sender {
    pub(super) fn new(settings: &Datagrams, cid: Option<Box<[u8]>>) -> Self {
        Self {
            max_datagram: settings.max_datagram,
            configured: settings.max_datagram,
            own_cid: cid,
            checks_routability: settings.return_routability_check,
            peer_cid: Box::default(),
            epochs: vec![WriteEpoch::unprotected(0)],
            next_seq: 0,
            flight: Flight::default(),
            queue: Queue::default(),
            timer: Timer::new(Settings {
                initial: settings.initial_timeout,
                min: settings.min_timeout,
                max: settings.max_timeout,
                max_retransmissions: settings.max_retransmissions,
            }),
            max_repeats: if settings.lacks(Defence::RepeatBound) {
                u32::MAX
            } else {
                settings.max_retransmissions.into()
            },
            max_fragment: MAX_FRAGMENT,
            max_protected: MAX_FRAGMENT,
            produced: 0,
            sent: Sent::default(),
            closed: false,
            #[cfg(feature = "testing")]
            fault: None,
        }
    }

    #[cfg(feature = "testing")]
    pub(super) fn with_fault(self, fault: Option<alloc::sync::Arc<dyn crate::Fault>>) -> Self {
        Self { fault, ..self }
    }

    /// The first message has this number, the first record that one.
    pub(super) fn begin_at(mut self, message_seq: u16, number: u64) -> Self {
        self.next_seq = message_seq;
        self.epochs = vec![WriteEpoch::unprotected(number)];
        self
    }

    /// What goes before and after the content of a record of `epoch`, and the most content it may have.
    fn room(&self, epoch: usize) -> (usize, usize, usize) {
        let epoch = &self.epochs[epoch]; // pieces are of epochs that exist
        let cid = if epoch.is_protected() { &*self.peer_cid } else { &[] };
        let max = if epoch.is_protected() { self.max_fragment.min(self.max_protected) } else { self.max_fragment };
        (epoch.head_len(cid), epoch.tail_len(cid), max)
    }

    /// The number of the epoch that is in force.
    fn epoch(&self) -> usize {
        self.epochs.len() - 1 // there is always one
    }

    fn seal(&mut self, epoch: usize, content_type: ContentType, record: &mut [u8]) -> Result<(), CryptoError> {
        self.epochs[epoch].seal(content_type, &self.peer_cid, record)
    }

    /// Makes the next datagram of the flight, of at most `out.len()` bytes. Returns its length.
    fn send_flight(&mut self, out: &mut [u8]) -> Result<usize, CryptoError> {
        let (mut len, mut tickets) = (0, 0);
        while let Some(place) = self.flight.next
            && let Some(piece) = self.flight.pieces.get(place.piece)
        {
            let (epoch, content_type) = (piece.epoch, piece.content_type);
            let (head, tail, max) = self.room(epoch);
            let start = len + head;
            let room = out.len().saturating_sub(start + tail).min(max);
            let room = out.get_mut(start..start + room).unwrap_or_default();
            let content = self.flight.fill(room, len == 0, &mut self.sent, &mut tickets);
            if content == 0 {
                break;
            }
            let end = start + content + tail;
            self.seal(epoch, content_type, &mut out[len..end])?;
            len = end;
        }
        if len > 0 {
            self.sent.datagrams += 1;
            self.sent.retransmissions += u32::from(self.flight.is_repeated());
            self.sent.record_bytes += (len - tickets) as u64;
        }
        Ok(len)
    }

    /// The flight, from its beginning; after losses in smaller datagrams.
    fn send_again(&mut self) {
        let sizes = self.least_datagram()..self.max_datagram;
        self.flight.losses = self.flight.losses.saturating_add(1);
        if self.flight.losses >= LOSSES
            && let Some(smaller) = SMALLER.into_iter().find(|size| sizes.contains(size))
        {
            self.max_datagram = smaller;
        }
        self.flight.next = Some(Place { piece: 0, offset: 0 });
    }

    /// What any record of a flight needs: the longest head and tail, and a byte of a fragment.
    fn least_datagram(&self) -> usize {
        RECORD_HEADER_LEN + self.peer_cid.len() + MAX_EXPANSION + HEADER_LEN + 1
    }

    /// Refuses datagrams that cannot hold even a byte of a fragment under this epoch.
    fn check_room(&self) -> Result<(), ApiMisuse> {
        let (head, tail, _) = self.room(self.epoch());
        if head + HEADER_LEN + 1 + tail > self.max_datagram { Err(ApiMisuse::DatagramOutOfRange) } else { Ok(()) }
    }

    fn begin_flight(&mut self) {
        if self.flight.is_complete {
            self.flight = Flight::default();
        }
    }

    /// What a hostile peer would send instead. A [`crate::Fault`] knows messages with the header of TLS.
    #[cfg(feature = "testing")]
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
}

/// What datagrams become when flights are lost again and again: a path with a smaller MTU than was configured may be the
/// cause (RFC 6347, 4.1.1.1). The sizes are for packets of 1,280 bytes, the least MTU of IPv6, of 576 bytes, which every host
/// on IPv4 takes, and of 256.
const SMALLER: [usize; 3] = [1_232, 528, 208];

/// After how many attempts in vain datagrams become smaller.
const LOSSES: u8 = 2;

/// The explicit part of a nonce, the type that goes with a connection ID, and a tag.
const MAX_EXPANSION: usize = 8 + 1 + 16;

/// How long the last flight is kept in case that it was lost: twice the longest life of a segment (RFC 6347, 4.2.4), in
/// milliseconds.
const KEPT: u64 = 240_000;

impl Outgoing for Sender {
    fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize {
        if self.flight.next.is_none() {
            if self.flight.is_last && self.flight.last_sent.is_some_and(|sent| now.since(sent) > KEPT) {
                self.flight = Flight { is_complete: true, ..Flight::default() };
            }
            return self.queue.pop(out);
        }
        let limit = out.len().min(self.max_datagram);
        let len = self.send_flight(&mut out[..limit]).unwrap_or(0); // only if all numbers are used up
        self.produced += len as u64;
        let is_sent = self.flight.next.is_none_or(|place| place.piece >= self.flight.pieces.len());
        if is_sent || len == 0 {
            self.flight.next = None;
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

    fn key_is_worn(&self) -> bool {
        false
    }

    fn key_is_exhausted(&self) -> bool {
        self.epochs[self.epoch()].is_exhausted()
    }

    fn max_fragment(&self) -> usize {
        let (head, tail, max) = self.room(self.epoch());
        self.max_datagram.saturating_sub(head + tail).min(max)
    }

    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error> {
        if self.closed {
            return Ok(());
        }
        let epoch = self.epoch();
        let (head, tail, _) = self.room(epoch);
        let Self { queue, epochs, peer_cid, .. } = self;
        queue.push((head, fragment, tail), |record| epochs[epoch].seal(content_type, peer_cid, record))?;
        self.produced += (head + fragment.len() + tail) as u64;
        Ok(())
    }

    fn record_apart(&mut self, content_type: ContentType, content: &[u8], out: &mut [u8]) -> Option<usize> {
        if self.closed || self.key_is_exhausted() {
            return None;
        }
        let epoch = self.epoch();
        let (head, tail, _) = self.room(epoch);
        let record = out.get_mut(..head + content.len() + tail)?;
        record[head..head + content.len()].copy_from_slice(content);
        self.seal(epoch, content_type, record).ok()?;
        self.produced += record.len() as u64;
        Some(record.len())
    }

    fn alert(&mut self, alert: Alert) -> Result<(), Error> {
        if !self.flight.is_complete {
            self.flight = Flight::default();
        }
        let mut bytes = [0; 2];
        alert.encode(&mut Writer::new(&mut bytes));
        self.record(ContentType::ALERT, &bytes)
    }

    fn last_alert(&mut self, alert: Alert) -> Result<(), Error> {
        self.alert(alert)?;
        self.closed = true;
        Ok(())
    }

    fn flights(&mut self) -> Option<&mut dyn Flights> {
        Some(self)
    }

    fn deadline(&self) -> Option<Instant> {
        self.timer.deadline()
    }

    fn patience(&self) -> u64 {
        self.timer.undoubled()
    }

    fn last_sent(&self) -> Option<Instant> {
        self.flight.last_sent
    }
}

impl Flights for Sender {
    fn heard(&mut self, now: Instant) {
        if self.flight.is_complete && self.flight.next.is_none() && !self.flight.is_last {
            self.timer.progress(now);
        }
    }

    fn handled(&mut self, now: Instant, finished: bool) -> bool {
        let is_new = self.flight.next.is_some() && !self.flight.is_repeated();
        if is_new {
            self.timer.answered(now);
            self.flight.is_last = finished;
        } else if finished && !self.flight.is_last {
            self.timer.answered(now);
            self.flight = Flight { is_complete: true, ..Flight::default() };
        } else if !self.flight.is_complete {
            self.timer.answered(now); // the next flight is in the making
        }
        is_new
    }

    fn repeat(&mut self, now: Instant) {
        let flight = &self.flight;
        // Duplicates, and what crosses an answer on its way, are not worth another one. After losses the next attempt of
        // this side is early enough; for the last flight there is none, and the peer's may be due much earlier.
        let (value, undoubled) = (self.timer.value(), self.timer.undoubled());
        let least = if value > undoubled && !flight.is_last { value } else { undoubled / 4 };
        let is_soon = flight.last_sent.is_some_and(|sent| now.since(sent) < least);
        let is_old = flight.is_last && flight.last_sent.is_some_and(|sent| now.since(sent) > KEPT);
        // Nor is anybody who asks without end.
        let is_too_often = flight.repeats >= self.max_repeats;
        let is_there = flight.is_complete && !flight.pieces.is_empty() && flight.next.is_none();
        if !is_there || is_soon || is_old || is_too_often {
            return;
        }
        self.flight.repeats += 1; // it was less than another u32
        self.timer.repeated();
        self.send_again();
    }

    fn expired(&mut self, now: Instant) -> bool {
        match self.timer.expired(now) {
            Expired::NotDue => false,
            Expired::GiveUp => true,
            Expired::Retransmit => {
                self.send_again();
                false
            }
        }
    }

    fn take_sent(&mut self) -> Sent {
        core::mem::take(&mut self.sent)
    }
}

impl Link for Sender {
    fn label_prefix(&self) -> &'static [u8] {
        b"dtls13"
    }

    fn protocol(&self) -> Protocol {
        Protocol::Dtls
    }

    fn connection_id(&self) -> Option<&[u8]> {
        self.own_cid.as_deref()
    }

    fn checks_routability(&self) -> bool {
        self.checks_routability
    }

    fn use_connection_id(&mut self, cid: &[u8]) {
        self.peer_cid = cid.into();
        if self.max_datagram < self.least_datagram() {
            self.max_datagram = self.configured; // if it became smaller, that was too small
        }
    }

    fn pending(&self) -> usize {
        self.queue.len() + self.flight.next.map_or(0, |_| self.flight.bytes.len())
    }

    fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error> {
        self.begin_flight();
        let start = self.flight.encode(kind, self.next_seq, body)?;
        #[cfg(feature = "testing")]
        self.alter(kind, start);
        self.next_seq = self.next_seq.saturating_add(1); // a handshake has some ten messages
        let (epoch, end) = (self.epoch(), self.flight.bytes.len());
        self.flight.pieces.push(Piece { epoch, content_type: ContentType::HANDSHAKE, start, end });
        Ok(&self.flight.bytes[start..])
    }

    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        let EpochKeys::Tls12(keys) = keys else { return Err(ApiMisuse::Unsupported("protocol version").into()) };
        self.begin_flight();
        let (epoch, start) = (self.epoch(), self.flight.bytes.len());
        self.flight.bytes.push(1);
        let content_type = ContentType::CHANGE_CIPHER_SPEC;
        self.flight.pieces.push(Piece { epoch, content_type, start, end: start + 1 });
        self.epochs.push(WriteEpoch::new(epoch as u16 + 1, keys)?);
        Ok(self.check_room()?)
    }

    fn abandon_early_data(&mut self) {}

    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error> {
        Ok(None)
    }

    fn record_limit(&self) -> usize {
        self.max_fragment.min(self.max_protected)
    }

    fn warn(&mut self, description: AlertDescription) -> Result<(), Error> {
        self.alert(Alert { level: Alert::WARNING, description })
    }

    fn limit_records(&mut self, bytes: usize) {
        self.max_fragment = bytes.min(MAX_FRAGMENT);
    }

    fn limit_protected_records(&mut self, bytes: usize) {
        self.max_protected = bytes.min(MAX_FRAGMENT);
    }

    fn compatibility_mode(&mut self) {}

    fn compatibility_point(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn end_of_flight(&mut self) -> Result<(), Error> {
        if !self.flight.is_complete && !self.flight.pieces.is_empty() {
            self.flight.is_complete = true;
            self.flight.next = Some(Place { piece: 0, offset: 0 });
        }
        Ok(())
    }
}
