//! The sending half of a link over datagrams: packs flights into datagrams, and retransmits them until they are
//! answered or acknowledged.
//!
//! A flight is kept as messages, each with its epoch. A retransmission is fragmented and protected again, with new
//! record numbers.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::ack::{Acks, Arrived};
use super::driver::{Acknowledged, Sent};
use super::flight::{Filled, Flight, Piece};
use super::fragment::HEADER_LEN;
use super::queue::Queue;
use super::retransmit::{Expired, Settings, Timer};
use crate::config::Datagrams;
use crate::crypto::CryptoError;
use crate::error::{ApiMisuse, Error};
use crate::link::{Link, Outgoing, RecordLimits};
use crate::record::datagram::{RecordNumber, WriteEpoch};
use crate::record::datagram12::{HEADER_LEN as RECORD_HEADER_LEN, MAX_FRAGMENT};
use crate::schedule::EpochKeys;
use crate::schedule::tls13::epoch::{EARLY_DATA, HANDSHAKE};
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Encode, HandshakeType, Transport, Writer};

mod flights;
#[cfg(test)]
mod tests;

/// The sending half of a link over datagrams.
pub(crate) struct Sender {
    /// The largest datagram, which becomes smaller after losses.
    max_datagram: usize,
    /// The configured size of the largest datagram.
    configured: usize,
    own_cid: Option<Box<[u8]>>,
    checks_routability: bool,
    peer_cid: Box<[u8]>,
    /// The epochs that may still be sent in; the last one is in force.
    epochs: Vec<WriteEpoch>,
    /// The epoch that comes into force when the KeyUpdate is acknowledged (RFC 9147, 8).
    next_epoch: Option<WriteEpoch>,
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
    limits: RecordLimits,
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
            max_datagram: settings.max_datagram,
            configured: settings.max_datagram,
            own_cid: cid,
            checks_routability: settings.return_routability_check,
            peer_cid: Box::default(),
            epochs: vec![WriteEpoch::unprotected(0)],
            next_epoch: None,
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
            limits: RecordLimits::DEFAULT,
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
        self.epochs = vec![WriteEpoch::unprotected(number)];
        self
    }

    /// Returns the index of an epoch in `epochs`; that of the epoch in force, if the epoch is forgotten.
    fn place(&self, epoch: u64) -> usize {
        self.epochs.iter().rposition(|other| other.next().epoch == epoch).unwrap_or_else(|| self.in_force())
    }

    /// Returns the index of the epoch in force.
    fn in_force(&self) -> usize {
        self.epochs.len() - 1 // there is always one
    }

    fn is_dtls13(&self) -> bool {
        self.epochs[self.in_force()].is_dtls13()
    }

    /// Returns the connection ID for the records of an epoch.
    fn cid(&self, epoch: usize) -> &[u8] {
        if self.epochs[epoch].is_protected() { &self.peer_cid } else { &[] }
    }

    /// Returns the most bytes of content that a record of an epoch may have.
    fn max_content(&self, epoch: usize) -> usize {
        self.limits.of(self.epochs[epoch].is_protected())
    }

    /// Returns the number of the epoch in force.
    fn epoch(&self) -> u64 {
        self.epochs[self.in_force()].next().epoch
    }

    /// Whether the flight may belong to DTLS 1.3, whose flights have at most one unprotected message.
    fn may_be_dtls13(&self) -> bool {
        self.flight.pieces.get(1).is_none_or(|piece| piece.epoch > 0)
    }

    /// Returns the epoch for ACKs and alerts. It is not that of early data, whose keys the server may not have.
    fn control_epoch(&self) -> usize {
        if self.is_dtls13() && self.epoch() == EARLY_DATA { self.place(0) } else { self.in_force() }
    }

    /// Returns the epoch for application data: that of early data while there is one, otherwise the one in force.
    fn data_epoch(&self) -> usize {
        let early = self.epochs.iter().position(|epoch| epoch.is_dtls13() && epoch.next().epoch == EARLY_DATA);
        early.unwrap_or_else(|| self.in_force())
    }

    /// Makes the next datagram, of at most `out.len()` bytes: an ACK if one is due, and the next parts of the flight.
    /// Returns its length.
    fn send_flight(&mut self, now: Instant, out: &mut [u8]) -> Result<usize, CryptoError> {
        let mut len = self.send_ack(now, out)?;
        let (acks, mut filled, mut is_again) = (len, Filled::default(), false);
        while let Some((epoch, _)) = self.flight.least_next() {
            let place = self.place(epoch);
            let (short, tail) = self.frame(place, MAX_FRAGMENT);
            let start = len + short;
            let room = out.len().saturating_sub(start + tail).min(self.max_content(place));
            let content_type = self.flight.todo.front().map(|part| self.flight.pieces[part.piece()].content_type);
            filled.parts.clear();
            let room = out.get_mut(start..start + room).unwrap_or_default();
            let ends_with_part = !self.epochs[place].is_dtls13();
            let content = self.flight.fill(room, len == 0, ends_with_part, &mut filled, &mut self.sent);
            let (Some(content_type), true) = (content_type, content > 0) else { break };
            is_again |= filled.parts.iter().any(|part| part.is_again);
            let record = self.epochs[place].next();
            len = self.seal(place, content_type, content, len, out)?;
            for part in &filled.parts {
                self.flight.outstanding.note_piece(part.piece());
            }
            if self.epochs[place].is_dtls13() || (epoch == 0 && self.may_be_dtls13()) {
                self.flight.outstanding.sent(record, &filled.parts, now);
            }
        }
        if len > 0 {
            let flight = len - acks;
            self.sent.datagrams += 1;
            self.sent.retransmissions += u32::from(is_again);
            let is_after = self.is_finished && self.is_dtls13() && !self.owes_last_ack && !self.has_last_flight();
            let counted = if is_after { &mut self.sent.post_handshake_bytes } else { &mut self.sent.record_bytes };
            *counted += (flight - filled.tickets) as u64 + acks as u64;
            if acks > 0 && !self.acks.is_due() {
                self.owes_last_ack = false;
            }
        }
        Ok(len)
    }

    /// Makes a record with an ACK, if one is due and fits. Returns its length.
    fn send_ack(&mut self, now: Instant, out: &mut [u8]) -> Result<usize, CryptoError> {
        if !self.acks.is_due() {
            return Ok(0);
        }
        let place = self.control_epoch();
        let (short, tail) = self.frame(place, MAX_FRAGMENT);
        let room = out.len().saturating_sub(short + tail).min(self.max_content(place));
        let content = self.acks.fill(now, out.get_mut(short..short + room).unwrap_or_default());
        if content == 0 {
            return Ok(0);
        }
        self.seal(place, ContentType::ACK, content, 0, out)
    }

    /// Returns how many bytes precede and follow `content` bytes of content, in the last record of a datagram.
    fn frame(&self, place: usize, content: usize) -> (usize, usize) {
        let (epoch, cid) = (&self.epochs[place], self.cid(place));
        (epoch.head_len(cid, true), epoch.tail_len(cid, content))
    }

    /// Makes a record that begins at `start`. Its content is already in the place for the last record of a datagram; if
    /// another record can follow, the content is moved to make space for a length. Returns the end of the record.
    fn seal(
        &mut self,
        place: usize,
        content_type: ContentType,
        content: usize,
        start: usize,
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let cid = if self.epochs[place].is_protected() { &*self.peer_cid } else { &[] };
        let (short, long) = (self.epochs[place].head_len(cid, true), self.epochs[place].head_len(cid, false));
        let tail = self.epochs[place].tail_len(cid, content);
        let follows = self.flight.least_next().is_some_and(|(epoch, least)| {
            let next = self.place(epoch);
            let (head, tail_of_next) = self.frame(next, least);
            start + long + content + tail + head + least + tail_of_next <= out.len()
        });
        let head = if follows { long } else { short };
        if head > short {
            out.copy_within(start + short..start + short + content, start + head);
        }
        let end = start + head + content + tail;
        let record = out.get_mut(start..end).ok_or(CryptoError::InvalidLength)?;
        self.epochs[place].seal(content_type, cid, !follows, content, record)?;
        Ok(end)
    }

    /// Retransmits everything that is not acknowledged; after losses in smaller datagrams.
    fn send_again(&mut self) {
        // The loss of small datagrams says little about the path. But during the handshake the size serves the next
        // flight as well.
        let largest = if self.is_finished { self.flight.largest } else { usize::MAX };
        let sizes = self.least_datagram()..self.max_datagram.min(largest);
        self.flight.losses = self.flight.losses.saturating_add(1);
        if self.flight.losses >= LOSSES
            && let Some(smaller) = SMALLER.into_iter().find(|size| sizes.contains(size))
        {
            self.max_datagram = smaller;
        }
        self.flight.outstanding.forget_claims();
        self.flight.send_again();
    }

    /// Returns the size of a datagram that has room for any record with one byte of a fragment.
    fn least_datagram(&self) -> usize {
        RECORD_HEADER_LEN + self.peer_cid.len() + MAX_EXPANSION + HEADER_LEN + 1
    }

    /// Queues one record, which is a datagram of its own.
    fn record_under(&mut self, place: usize, content_type: ContentType, fragment: &[u8]) -> Result<(), Error> {
        if self.closed {
            return Ok(());
        }
        let (head, tail) = self.frame(place, fragment.len());
        let Self { queue, epochs, peer_cid, .. } = self;
        let seal = |record: &mut [u8]| epochs[place].seal(content_type, peer_cid, true, fragment.len(), record);
        queue.push((head, fragment, tail), seal)?;
        self.produced += (head + fragment.len() + tail) as u64;
        Ok(())
    }

    /// Returns an error if a datagram has no room for one byte of a fragment in the epoch in force.
    fn check_room(&self) -> Result<(), ApiMisuse> {
        let (head, tail) = self.frame(self.in_force(), MAX_FRAGMENT);
        if head + HEADER_LEN + 1 + tail > self.max_datagram { Err(ApiMisuse::DatagramOutOfRange) } else { Ok(()) }
    }

    /// Begins the next flight; after the handshake a message is added to those that are not acknowledged yet.
    fn begin_flight(&mut self) {
        if self.is_finished && self.is_dtls13() {
            self.flight.is_complete = false;
            self.timer.renew();
        } else if self.flight.is_complete {
            self.flight = Flight::default();
        }
    }

    /// Whether the client's last flight of DTLS 1.3 is not acknowledged yet.
    fn has_last_flight(&self) -> bool {
        self.flight.pieces.iter().any(|piece| piece.epoch == HANDSHAKE && !piece.is_acknowledged)
    }

    /// Forgets the epochs that are not needed for sending any more.
    fn forget_epochs(&mut self) {
        let last = self.in_force();
        let mut place = 0;
        let pieces = &self.flight.pieces;
        self.epochs.retain(|epoch| {
            let number = epoch.next().epoch;
            let is_used = pieces.iter().any(|piece| piece.epoch == number && !piece.is_acknowledged);
            place += 1;
            is_used || place > last
        });
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
}

/// The sizes of datagrams after repeated losses, whose cause may be a path with a smaller MTU than was configured (RFC
/// 6347, 4.1.1.1). They fit into packets of 1,280 bytes, the smallest MTU of IPv6, of 576 bytes, which every IPv4 host
/// accepts, and of 256 bytes.
const SMALLER: [usize; 3] = [1_232, 528, 208];

/// After how many retransmissions datagrams become smaller.
const LOSSES: u8 = 2;

/// The most bytes that protection adds: the explicit part of a nonce, the content type of a record with a connection
/// ID, and a tag.
const MAX_EXPANSION: usize = 8 + 1 + 16;

/// How long the last flight is kept in case it was lost: twice the maximum segment lifetime (RFC 6347, 4.2.4), in
/// milliseconds.
const KEPT: u64 = 240_000;

impl Sender {
    /// Returns when [`Self::forget`] frees the last flight.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        let sent = self.flight.last_sent.filter(|_| self.flight.is_last && self.flight.todo.is_empty())?;
        Some(Instant(sent.0.saturating_add(KEPT + 1)))
    }

    /// Forgets the last flight, if the peer cannot ask for it any more.
    pub(super) fn forget(&mut self, now: Instant) {
        if self.forgets_at().is_some_and(|time| time <= now) {
            self.flight = Flight { is_complete: true, ..Flight::default() };
            self.forget_epochs();
        }
    }

    /// Returns the peer's connection ID, which may be empty.
    pub(crate) fn peer_id(&self) -> &[u8] {
        &self.peer_cid
    }

    /// Replaces the peer's connection ID. Returns an error, and keeps the old one, if datagrams would have no room for
    /// content.
    pub(crate) fn change_peer_id(&mut self, id: Box<[u8]>) -> Result<(), Error> {
        let before = self.peer_cid.clone();
        self.use_connection_id(&id);
        let has_room = self.check_room();
        if has_room.is_err() {
            self.peer_cid = before;
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
        let place = self.in_force();
        let (head, tail) = self.frame(place, content.len());
        let record = out.get_mut(..head + content.len() + tail)?;
        record[head..head + content.len()].copy_from_slice(content);
        self.epochs[place].seal(content_type, &self.peer_cid, true, content.len(), record).ok()?;
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
        let limit = out.len().min(self.max_datagram);
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
        self.epochs[self.in_force()].nears_limit()
    }

    fn key_is_exhausted(&self) -> bool {
        self.epochs[self.in_force()].is_exhausted()
    }

    fn max_fragment(&self) -> usize {
        let place = self.data_epoch();
        let expansion = self.epochs[place].max_expansion(self.cid(place));
        self.max_datagram.saturating_sub(expansion).min(self.max_content(place))
    }

    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error> {
        let place =
            if content_type == ContentType::APPLICATION_DATA { self.data_epoch() } else { self.control_epoch() };
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
        self.peer_cid = cid.into();
        if self.max_datagram < self.least_datagram() {
            self.max_datagram = self.configured; // the smaller size is too small for the new ID
        }
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
        let (epoch, end) = (self.epoch(), self.flight.bytes.len());
        let content_type = ContentType::HANDSHAKE;
        self.flight.pieces.push(Piece { epoch, content_type, start, end, is_acknowledged: false });
        Ok(&self.flight.bytes[start..])
    }

    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        let epoch = self.epoch();
        match keys {
            EpochKeys::Tls12(_) => {
                self.begin_flight();
                let start = self.flight.bytes.len();
                self.flight.bytes.push(1);
                let (content_type, end) = (ContentType::CHANGE_CIPHER_SPEC, start + 1);
                self.flight.pieces.push(Piece { epoch, content_type, start, end, is_acknowledged: false });
                self.epochs.push(WriteEpoch::new(keys, epoch as u16 + 1)?); // DTLS 1.2 changes keys once
            }
            EpochKeys::Tls13(secret) if self.is_dtls13() && secret.epoch() == epoch => {} // in force already
            EpochKeys::Tls13(_) if self.is_finished => {
                self.end_of_flight()?;
                self.next_epoch = Some(WriteEpoch::new(keys, 0)?);
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
        let is_early = |epoch: &WriteEpoch| epoch.is_dtls13() && epoch.next().epoch == EARLY_DATA;
        self.epochs.retain(|epoch| !is_early(epoch)); // the epoch before it stays
    }

    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error> {
        Ok(None)
    }

    fn limits(&mut self) -> &mut RecordLimits {
        &mut self.limits
    }

    fn alert(&mut self, alert: Alert) -> Result<(), Error> {
        let mut place = self.control_epoch();
        if !self.flight.is_complete && !self.flight.pieces.is_empty() {
            // The incomplete flight is dropped. The peer needs it to derive the newest keys, so the alert is sent in
            // the flight's first epoch.
            place = self.place(self.flight.pieces[0].epoch);
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
        let is_free = || self.next_epoch.is_none() && !self.has_last_flight() && self.next_seq < LAST_SEQ;
        !self.is_dtls13() || (!self.closed && is_free())
    }

    fn end_of_flight(&mut self) -> Result<(), Error> {
        if !self.flight.is_complete && !self.flight.pieces.is_empty() {
            self.flight.complete();
        }
        Ok(())
    }
}
