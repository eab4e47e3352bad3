//! The receiving half of a link over datagrams: decrypts records, which arrive in any order, and reassembles messages
//! from their fragments.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::FirstMessage;
use super::ack::{self, Arrived};
use super::connection_ids::OwnIds;
use super::defences::Defences;
use super::fragment::{DropCause, FragmentHeader, HEADER_LEN, Inserted, Reassembler};
use crate::config::Datagrams;
use crate::crypto::{CryptoError, MASK_SAMPLE_LEN};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::link::plaintext::Plaintext;
use crate::link::{Incoming, Newest, Received, Record};
use crate::record::datagram::RecordNumber;
use crate::record::datagram12::{HEADER_LEN as RECORD_HEADER_LEN, Header, MAX_FRAGMENT, Refused};
use crate::record::datagram13;
use crate::schedule::EpochKeys;
use crate::schedule::tls13::epoch::{APPLICATION, EARLY_DATA, HANDSHAKE};
use crate::summary::Dropped;
use crate::time::Instant;
use crate::wire::{Alert, AlertDescription, ContentType, Parse, ReturnRoutabilityCheck};

mod epochs;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests13;

use epochs::Epochs;

/// How many bytes of records are kept that overtook those before a change of keys.
pub(super) const MAX_HELD: usize = 1_500;

/// How many bytes of heap these records take at most: each has a header at least, and where they are moves as it grows.
pub(super) const MAX_HEAP: usize = MAX_HELD + 3 * (MAX_HELD / RECORD_HEADER_LEN + 1) * size_of::<Box<[u8]>>();

/// The receiving half of a link over datagrams.
pub(crate) struct Receiver {
    epochs: Epochs,
    /// The message_seq after that of the last message that this side has answered.
    answered: Option<u16>,
    /// Records of an epoch whose keys are not known yet.
    held: VecDeque<Box<[u8]>>,
    /// How many records of `held` can be decrypted now.
    held_due: usize,
    messages: Reassembler,
    /// The records that this side may have to acknowledge.
    arrived: Arrived,
    plaintext: Plaintext,
    /// The connection IDs that protected records to this side must have.
    own_ids: OwnIds,
    expects_cid: bool,
    /// The longest content of a protected record; in DTLS 1.3 it includes the content type.
    limit: Option<usize>,
    max_message: usize,
    max_record: usize,
    /// Whether DTLS 1.3 may be negotiated.
    may_be_dtls13: bool,
    unprotected_alert: Option<AlertDescription>,
    saw_too_large: bool,
    last_record_len: usize,
    dropped: Drops,
    believes_unprotected_alerts: bool,
    defences: Defences,
}

impl Receiver {
    /// Creates a receiver for messages and records of at most so many bytes of content. `cid` is the connection ID that
    /// may be negotiated.
    pub(super) fn new(max_message: usize, max_record: usize, settings: &Datagrams, cid: Option<Box<[u8]>>) -> Self {
        Self {
            epochs: Epochs::new(),
            answered: None,
            held: VecDeque::new(),
            held_due: 0,
            messages: Reassembler::new(max_message, 0),
            arrived: Arrived::default(),
            plaintext: Plaintext::new(),
            own_ids: OwnIds::new(cid),
            expects_cid: false,
            limit: None,
            max_message,
            max_record,
            may_be_dtls13: true,
            unprotected_alert: None,
            saw_too_large: false,
            last_record_len: 0,
            dropped: Drops::default(),
            believes_unprotected_alerts: settings.believe_unprotected_alerts,
            defences: settings.defences(),
        }
    }

    /// Sets whether DTLS 1.3 may be negotiated. If not, its records are dropped.
    pub(super) fn with_dtls13(self, may_be_dtls13: bool) -> Self {
        Self { may_be_dtls13, ..self }
    }

    /// The first message was received already: [`Incoming::message`] has it.
    pub(super) fn begin_with(&mut self, first: &FirstMessage) {
        let Some((header, body)) = first.message.split_first_chunk() else { return };
        self.messages.set_next_seq(first.message_seq);
        self.messages.insert(FragmentHeader::parse(header), body);
    }

    /// Handles the first record of `input`. Returns its length; if it has no valid header, the length of all of
    /// `input`, since the start of the next record is unknown.
    fn next_record(&mut self, input: &mut [u8]) -> Result<(usize, Received), Error> {
        if self.may_be_dtls13 && input.first().is_some_and(|first| datagram13::Header::is_one(*first)) {
            let Some(header) = datagram13::Header::parse(input, self.own_ids.id_len()) else {
                return Ok((input.len(), self.dropped.count(|dropped| &mut dropped.malformed)));
            };
            self.last_record_len = header.record_len();
            return Ok((header.record_len(), self.unified(&header, input)?));
        }
        let Some(header) = Header::parse(input, self.own_ids.id_len()) else {
            self.defences.drop_instead_of(InvalidMessage::UnknownContentType)?;
            return Ok((input.len(), self.dropped.count(|dropped| &mut dropped.malformed))); // where the next one begins is not known
        };
        self.last_record_len = header.record_len();
        Ok((header.record_len(), self.record(&header, input)?))
    }

    /// Handles a protected record of DTLS 1.3.
    fn unified(&mut self, header: &datagram13::Header, record: &mut [u8]) -> Result<Received, Error> {
        let Some((place, epoch)) = self.epochs.of(header) else {
            if self.epochs.may_come(header.epoch_bits) {
                if header.len < MASK_SAMPLE_LEN {
                    return Ok(self.dropped.count(|dropped| &mut dropped.not_authentic)); // RFC 9147, 4.2.3
                }
                // The record may be forged, but if the flight does not continue, an empty ACK is sent (RFC 9147, 7.1).
                self.arrived.lacks_keys = true;
                self.hold(&record[..header.record_len()]);
                return Ok(Received::Nothing);
            }
            return Ok(self.dropped.count(|dropped| &mut dropped.wrong_epoch));
        };
        let number = epoch.epoch();
        let due = self.expects_cid && self.own_ids.id_len() > 0 && number != EARLY_DATA;
        let id = header.cid(record).filter(|_| self.expects_cid).and_then(|id| self.own_ids.place(id));
        let has_other = id.is_none() && (due || header.cid(record).is_some());
        if self.defences.refuse_connection_id(has_other) {
            return Ok(self.dropped.count(|dropped| &mut dropped.connection_id)); // RFC 9147, 9
        }
        let limit = self.limit.unwrap_or(MAX_FRAGMENT + 1).min(self.max_record.saturating_add(1));
        let opened = match self.defences.open_once13(epoch, header, record, limit) {
            Ok(opened) => opened,
            Err(_) if place.is_in_force() && epoch.is_exhausted() => {
                return Err(CryptoError::DecryptFailed.into()); // RFC 9147, 4.5.3
            }
            Err(refused) => return self.refused(refused),
        };
        if let Some(id) = id {
            self.own_ids.used(id);
        }
        let record_number = RecordNumber { epoch: number, sequence_number: opened.number };
        let is_due = self.defences.take_messages(place.is_in_force() || number >= APPLICATION);
        let received = match opened.content_type {
            ContentType::HANDSHAKE if number == EARLY_DATA => self.dropped.count(|dropped| &mut dropped.not_due),
            ContentType::HANDSHAKE => self.handshake(opened.content, record_number, is_due)?,
            ContentType::ACK => match ack::parse(opened.content) {
                Some(numbers) => Received::Ack { numbers, is_protected: true },
                None => self.dropped.count(|dropped| &mut dropped.malformed),
            },
            ContentType::ALERT => self.alert(opened.content, true),
            ContentType::APPLICATION_DATA if number == HANDSHAKE => self.dropped.count(|dropped| &mut dropped.not_due),
            ContentType::APPLICATION_DATA => {
                self.plaintext.set(opened.content);
                if opened.content.is_empty() { Received::Nothing } else { Received::ApplicationData }
            }
            ContentType::RETURN_ROUTABILITY_CHECK if number >= APPLICATION => check(opened.content, &mut self.dropped),
            _ => self.dropped.count(|dropped| &mut dropped.not_due),
        };
        self.epochs.used(place);
        Ok(received)
    }

    /// Handles a record of DTLS 1.2, or an unprotected one.
    fn record(&mut self, header: &Header, record: &mut [u8]) -> Result<Received, Error> {
        if u64::from(header.epoch) == self.epochs.in_force().epoch() && !self.epochs.in_force().is_dtls13() {
            return self.current(header, record);
        }
        if header.epoch == 1 && !self.epochs.in_force().is_protected() {
            self.hold(&record[..header.record_len()]);
            return Ok(Received::Nothing);
        }
        // The peer retransmits an unprotected flight if the answer to it was lost.
        let Some(before) = self.epochs.unprotected().filter(|_| header.epoch == 0) else {
            return Ok(self.dropped.count(|dropped| &mut dropped.wrong_epoch));
        };
        match before.open(header, record, MAX_FRAGMENT) {
            Ok((ContentType::HANDSHAKE, content)) => self.past_handshake(content, header.number),
            Ok((ContentType::CHANGE_CIPHER_SPEC, _)) => Ok(Received::Nothing),
            // An alert about a message that arrived before the peer changed its own keys is unprotected.
            Ok((ContentType::ALERT, content)) => Ok(self.alert(content, false)),
            Ok((ContentType::ACK, content)) => Ok(self.unprotected_ack(content)),
            Ok(_) => Ok(self.dropped.count(|dropped| &mut dropped.wrong_epoch)),
            Err(refused) => self.refused(refused),
        }
    }

    /// Handles a record of the epoch in force, which is not one of DTLS 1.3.
    fn current(&mut self, header: &Header, record: &mut [u8]) -> Result<Received, Error> {
        let is_protected = self.epochs.in_force().is_protected();
        let has_cid = header.content_type == ContentType::TLS12_CID;
        let due = self.expects_cid && is_protected && self.own_ids.id_len() > 0;
        let has_other = has_cid != due || (due && self.own_ids.place(header.cid(record)).is_none());
        if self.defences.refuse_connection_id(has_other) {
            return Ok(self.dropped.count(|dropped| &mut dropped.connection_id)); // RFC 9146, 3
        }
        // Fragments of messages are copied from where they came: they take no room for a record.
        let limit = if is_protected { self.limit.unwrap_or(MAX_FRAGMENT).min(self.max_record) } else { MAX_FRAGMENT };
        let Some(epoch) = self.epochs.dtls12() else { return Ok(Received::Nothing) };
        let (content_type, content) = match self.defences.open_once12(epoch, header, record, limit) {
            Ok(opened) => opened,
            Err(_) if epoch.is_exhausted() => return Err(CryptoError::DecryptFailed.into()), // RFC 9147, 4.5.3
            Err(refused) => return self.refused(refused),
        };
        match content_type {
            ContentType::HANDSHAKE => {
                let number = RecordNumber { epoch: header.epoch.into(), sequence_number: header.number };
                self.handshake(content, number, true)
            }
            ContentType::CHANGE_CIPHER_SPEC if !is_protected => {
                let ignored = self.defences.ignore_change_cipher_spec(PeerMisbehaved::BadChangeCipherSpec);
                ignored.map(|()| Received::Nothing)
            }
            ContentType::ALERT => Ok(self.alert(content, is_protected)),
            ContentType::ACK if !is_protected => Ok(self.unprotected_ack(content)),
            ContentType::APPLICATION_DATA if is_protected => {
                self.plaintext.set(content);
                Ok(if content.is_empty() { Received::Nothing } else { Received::ApplicationData })
            }
            ContentType::RETURN_ROUTABILITY_CHECK if is_protected => Ok(check(content, &mut self.dropped)),
            _ => Ok(self.dropped.count(|dropped| &mut dropped.not_due)),
        }
    }

    /// The fragments in a record of epoch 0, which is over: they can but show that the peer did not get the answer.
    fn past_handshake(&mut self, content: &[u8], sequence_number: u64) -> Result<Received, Error> {
        if self.defences.take_messages(false) {
            return self.handshake(content, RecordNumber { epoch: 0, sequence_number }, true);
        }
        let is_end = |header: &FragmentHeader| {
            header.fragment_offset + header.fragment_length == header.length && self.is_answered(header.message_seq)
        };
        let repeats = fragments(content).flatten().any(|(header, _)| is_end(&header));
        Ok(if repeats { Received::Repeated } else { Received::Nothing })
    }

    /// The fragments in the record of this number. `is_due`: the epoch is one that messages come under now.
    fn handshake(&mut self, content: &[u8], number: RecordNumber, is_due: bool) -> Result<Received, Error> {
        let mut received = Received::Nothing;
        // A record is acknowledged only if its messages were handled or are kept, and no flight of this side answers
        // them (RFC 9147, 7 and 7.1).
        let (mut is_kept, mut is_answered, mut is_whole) = (true, true, false);
        let (mut is_ahead, mut is_later) = (false, false);
        for fragment in fragments(content) {
            let Some((header, body)) = fragment else {
                self.dropped.count(|dropped| &mut dropped.malformed);
                is_kept = false;
                break;
            };
            is_answered &= self.answered.is_some_and(|answered| header.message_seq < answered);
            if !is_due && header.message_seq >= self.messages.next_seq() {
                return Err(PeerMisbehaved::MessageCrossesKeyChange.into()); // RFC 9846, 5.1
            }
            is_ahead |= self.messages.is_ahead(&header);
            is_later |= header.message_seq > self.messages.next_seq();
            match self.messages.insert(header, body) {
                Inserted::Accepted => {
                    self.unprotected_alert = None; // the handshake continues
                    received = Received::Handshake;
                    is_whole = self.messages.is_whole();
                }
                Inserted::Repeated { message_seq, whole_or_last } => {
                    let next_seq = self.messages.next_seq();
                    is_whole = whole_or_last && message_seq.wrapping_add(1) == next_seq && self.messages.is_whole();
                    if whole_or_last && self.is_answered(message_seq) && received == Received::Nothing {
                        received = Received::Repeated;
                    }
                }
                Inserted::Dropped(cause) => {
                    is_kept = false;
                    self.saw_too_large |= cause == DropCause::TooLarge;
                    self.dropped.count(|dropped| &mut dropped.bad_fragment);
                }
            }
        }
        let is_dtls12 = self.epochs.in_force().is_protected() && !self.epochs.in_force().is_dtls13();
        // A KeyUpdate that waits for an earlier message has not changed the keys yet: an ACK would let its sender use
        // the new ones.
        let must_wait = is_later && self.epochs.in_force().epoch() >= APPLICATION && self.messages.has_gap();
        if is_kept && !must_wait && !is_answered && !is_dtls12 {
            self.arrived.numbers.push(number);
            self.arrived.has_gap |= is_ahead;
            self.arrived.is_whole = is_whole;
        }
        Ok(received)
    }

    /// Whether the message with this number ends a flight that was answered, and no message was handled since. If the
    /// peer retransmits it, the peer did not receive the answer; a retransmission of a later message means that another
    /// message was lost.
    fn is_answered(&self, message_seq: u16) -> bool {
        let next = Some(message_seq.wrapping_add(1));
        next == self.answered && next == Some(self.messages.next_seq())
    }

    fn alert(&mut self, content: &[u8], is_protected: bool) -> Received {
        match Alert::parse_all(content) {
            Ok(alert) if is_protected || self.believes_unprotected_alerts => Received::Alert(alert),
            Ok(alert) => {
                if alert.level != Alert::WARNING {
                    self.unprotected_alert = Some(alert.description);
                }
                self.dropped.count(|dropped| &mut dropped.unprotected_alert)
            }
            Err(_) => self.dropped.count(|dropped| &mut dropped.malformed),
        }
    }

    /// Handles an unprotected ACK, which can acknowledge only unprotected records (RFC 9147, 7).
    fn unprotected_ack(&mut self, content: &[u8]) -> Received {
        let numbers = ack::parse(content).filter(|_| content.len() <= ack::MAX_UNPROTECTED);
        let Some(mut numbers) = numbers else { return self.dropped.count(|dropped| &mut dropped.malformed) };
        let is_empty = numbers.is_empty();
        numbers.retain(|number| number.epoch == 0);
        if numbers.is_empty() && !is_empty {
            return self.dropped.count(|dropped| &mut dropped.malformed);
        }
        Received::Ack { numbers, is_protected: false }
    }

    fn refused(&mut self, refused: Refused) -> Result<Received, Error> {
        if refused == Refused::NotAuthentic {
            self.defences.drop_instead_of(CryptoError::DecryptFailed)?;
        }
        Ok(self.dropped.count(|dropped| match refused {
            Refused::Replayed => &mut dropped.replayed,
            Refused::NotAuthentic => &mut dropped.not_authentic,
            Refused::Malformed => &mut dropped.malformed,
        }))
    }

    fn hold(&mut self, record: &[u8]) {
        let held: usize = self.held.iter().map(|record| record.len()).sum();
        if self.defences.may_hold(held + record.len()) {
            self.held.push_back(record.into());
        } else {
            self.dropped.count(|dropped| &mut dropped.wrong_epoch);
        }
    }
}

/// Returns the fragments of handshake messages in a record; the last one is `None` if it is malformed.
fn fragments(mut content: &[u8]) -> impl Iterator<Item = Option<(FragmentHeader, &[u8])>> {
    core::iter::from_fn(move || {
        if content.is_empty() {
            return None;
        }
        let split = content.split_first_chunk::<HEADER_LEN>().and_then(|(header, rest)| {
            let header = FragmentHeader::parse(header);
            let (body, rest) = rest.split_at_checked(header.fragment_length)?;
            Some((header, body, rest))
        });
        content = split.map_or(&[], |(_, _, rest)| rest);
        Some(split.map(|(header, body, _)| (header, body)))
    })
}

/// Parses a return routability check message. One of an unknown type is ignored (RFC 9853, 4).
fn check(content: &[u8], dropped: &mut Drops) -> Received {
    let check = ReturnRoutabilityCheck::parse_all(content).map(Received::ReturnRoutabilityCheck);
    check.unwrap_or_else(|_| dropped.count(|dropped| &mut dropped.malformed))
}

/// Counts records and fragments that were dropped, as if they had been lost.
#[derive(Default)]
struct Drops {
    counters: Dropped,
    /// Whether a part of the last record was dropped.
    of_record: bool,
}

impl Drops {
    fn count(&mut self, counter: impl FnOnce(&mut Dropped) -> &mut u32) -> Received {
        let counter = counter(&mut self.counters);
        *counter = counter.saturating_add(1);
        self.of_record = true;
        Received::Nothing
    }
}

impl Receiver {
    /// Handles the next record: one that was put aside, or the first one of the input.
    fn next(&mut self, input: &mut [u8]) -> Result<(usize, Received), Error> {
        if self.has_waiting() {
            self.held_due -= 1;
            let Some(mut record) = self.held.pop_front() else { return Ok((0, Received::Nothing)) };
            return Ok((0, self.next_record(&mut record)?.1));
        }
        self.next_record(input)
    }

    /// Returns when [`Self::forget`] frees keys.
    pub(crate) fn forgets_at(&self) -> Option<Instant> {
        self.epochs.forgets_at()
    }

    /// Forgets the keys of epochs whose time has passed.
    pub(super) fn forget(&mut self, now: Instant) {
        self.epochs.expire(now);
    }

    /// Notes that a flight of this side answers all messages that were handled so far.
    pub(super) fn answered(&mut self) {
        self.answered = Some(self.messages.next_seq());
        if self.epochs.in_force().epoch() == 0 {
            // Messages that arrived ahead came before the peer could have sent them: they are of an earlier connection,
            // or forged, and the peer's next flight would contradict them.
            self.messages = Reassembler::new(self.max_message, self.messages.next_seq());
        }
        self.arrived = Arrived::default();
    }

    /// Returns the records that came since the last call and may have to be acknowledged.
    pub(crate) fn arrived(&mut self) -> Option<Arrived> {
        let is_new = self.arrived.lacks_keys || !self.arrived.numbers.is_empty();
        is_new.then(|| core::mem::take(&mut self.arrived))
    }

    /// Forgets the handshake keys: the peer has this side's last flight, so it will not retransmit its own.
    pub(super) fn last_flight_arrived(&mut self) {
        self.epochs.forget_handshake();
    }

    /// Whether the peer should be asked to update its keys because of forgeries. Returns true once for each key.
    pub(crate) fn key_has_many_forgeries(&mut self) -> bool {
        self.epochs.in_force_has_many_forgeries()
    }

    /// Expects this side's connection ID in protected records from now on.
    pub(crate) const fn expect_connection_id(&mut self) {
        self.expects_cid = true;
    }

    /// Returns this side's connection IDs.
    pub(crate) const fn own_ids(&self) -> &OwnIds {
        &self.own_ids
    }

    /// Returns this side's connection IDs.
    pub(crate) const fn own_ids_mut(&mut self) -> &mut OwnIds {
        &mut self.own_ids
    }

    /// Whether a message came that is longer than this side accepts. It was dropped, so the peer will retransmit it.
    pub(crate) const fn saw_too_large(&self) -> bool {
        self.saw_too_large
    }

    /// Returns the last unprotected fatal alert, if the handshake has not continued since.
    pub(crate) const fn unprotected_alert(&self) -> Option<AlertDescription> {
        self.unprotected_alert
    }

    /// Returns how much was dropped so far, and why.
    pub(crate) const fn dropped(&self) -> Dropped {
        self.dropped.counters
    }
}

impl Incoming for Receiver {
    fn receive(&mut self, now: Instant, input: &mut [u8]) -> Result<Record, Error> {
        let mut record = Record { taken: 0, received: Received::Nothing, len: 0, is_dropped: false, newest: None };
        if !self.plaintext.is_empty() {
            return Ok(record);
        }
        self.epochs.expire(now);
        self.dropped.of_record = false;
        let (newest, id_changes) = (self.epochs.newest(), self.own_ids.changes());
        (record.taken, record.received) = self.next(input)?;
        if self.epochs.newest() > newest {
            record.newest = Some(Newest { has_new_id: self.own_ids.changes() > id_changes });
        }
        (record.len, record.is_dropped) = (self.last_record_len, self.dropped.of_record);
        Ok(record)
    }

    fn has_waiting(&self) -> bool {
        self.held_due > 0
    }

    fn message(&self) -> Result<Option<&[u8]>, Error> {
        Ok(self.messages.message())
    }

    fn consume(&mut self, len: usize) {
        if len > 0 {
            self.messages.consume();
            self.epochs.forget_unprotected(); // all its messages were handled
        }
    }

    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        let before = self.epochs.in_force();
        let (is_first, was_dtls13) = (before.epoch() < APPLICATION, before.is_dtls13());
        self.epochs.push(keys)?;
        if is_first && was_dtls13 && !self.messages.is_empty() {
            return Err(PeerMisbehaved::MessageCrossesKeyChange.into()); // RFC 9846, 5.1
        }
        if is_first && !self.defences.take_messages(false) {
            // Whatever came ahead was not protected: anybody may have sent it.
            self.messages = Reassembler::new(self.max_message, self.messages.next_seq());
        }
        self.held_due = self.held.len();
        Ok(())
    }

    fn early_data_keys(&mut self, keys: &EpochKeys) -> Result<bool, Error> {
        self.epochs.push_early_data(keys)?;
        Ok(false)
    }

    fn limit_records(&mut self, bytes: usize) {
        self.limit = Some(bytes.min(MAX_FRAGMENT + 1));
    }

    fn skip_early_data(&mut self, _: usize) {}

    fn ignore_change_cipher_spec(&mut self, _: bool) {}

    fn plaintext(&self) -> &Plaintext {
        &self.plaintext
    }

    fn plaintext_mut(&mut self) -> &mut Plaintext {
        &mut self.plaintext
    }

    fn ignored(&mut self) -> Result<(), Error> {
        Ok(()) // anybody can send datagrams that bring nothing
    }

    fn not_due(&mut self, _: ContentType) -> Result<(), Error> {
        self.plaintext.discard();
        self.dropped.count(|dropped| &mut dropped.not_due);
        Ok(())
    }
}
