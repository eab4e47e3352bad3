//! The receiving half of a link over datagrams: decrypts records, which arrive in any order, and reassembles messages
//! from their fragments.

use alloc::boxed::Box;

use super::FirstMessage;
use super::ack::{self, Arrived};
use super::connection_ids::OwnIds;
use super::defences::Defences;
use super::fragment::FragmentHeader;
use crate::config::Datagrams;
use crate::crypto::{CryptoError, MASK_SAMPLE_LEN};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::link::plaintext::Plaintext;
use crate::link::{Incoming, Newest, Received, Record};
use crate::record::datagram::RecordNumber;
use crate::record::datagram12::{Header, MAX_FRAGMENT, Refused};
use crate::record::datagram13;
use crate::schedule::EpochKeys;
use crate::schedule::tls13::epoch::{APPLICATION, EARLY_DATA, HANDSHAKE};
use crate::summary::Dropped;
use crate::time::Instant;
use crate::wire::{Alert, AlertDescription, ContentType, Parse, ReturnRoutabilityCheck};

mod drops;
mod epochs;
mod held;
mod messages;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests13;

use drops::Drops;
use epochs::Epochs;
use held::HeldRecords;
pub(super) use held::{MAX_HEAP, MAX_HELD};
use messages::Messages;

/// The receiving half of a link over datagrams.
pub(crate) struct Receiver {
    epochs: Epochs,
    messages: Messages,
    held: HeldRecords,
    plaintext: Plaintext,
    /// The connection IDs that protected records to this side must have.
    own_ids: OwnIds,
    expects_cid: bool,
    /// The longest content of a protected record; in DTLS 1.3 it includes the content type.
    limit: Option<usize>,
    max_record: usize,
    /// Whether DTLS 1.3 may be negotiated.
    may_be_dtls13: bool,
    unprotected_alert: Option<AlertDescription>,
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
            messages: Messages::new(max_message),
            held: HeldRecords::default(),
            plaintext: Plaintext::new(),
            own_ids: OwnIds::new(cid),
            expects_cid: false,
            limit: None,
            max_record,
            may_be_dtls13: true,
            unprotected_alert: None,
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
        self.messages.begin_with(FragmentHeader::parse(header), body);
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
                self.messages.lack_keys();
                self.hold(&record[..header.record_len()]);
                return Ok(Received::Nothing);
            }
            return Ok(self.dropped.count(|dropped| &mut dropped.wrong_epoch));
        };
        let number = epoch.epoch();
        let due = self.expects_cid && self.own_ids.id_len() > 0 && number != EARLY_DATA;
        let id = header.cid(record).filter(|_| self.expects_cid).and_then(|id| self.own_ids.index_of(id));
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
        let has_other = has_cid != due || (due && self.own_ids.index_of(header.cid(record)).is_none());
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
        Ok(if self.messages.repeats_answered(content) { Received::Repeated } else { Received::Nothing })
    }

    /// Handles the fragments in a record with this number. `is_due` says that messages may come in its epoch now.
    fn handshake(&mut self, content: &[u8], number: RecordNumber, is_due: bool) -> Result<Received, Error> {
        let received = self.messages.insert(content, number, is_due, self.epochs.in_force(), &mut self.dropped)?;
        if received == Received::Handshake {
            self.unprotected_alert = None; // the handshake continues
        }
        Ok(received)
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

    /// Handles a record that could not be opened.
    fn refused(&mut self, refused: Refused) -> Result<Received, Error> {
        if refused == Refused::NotAuthentic {
            self.defences.drop_instead_of(CryptoError::DecryptFailed)?;
        }
        Ok(self.dropped.refused(refused))
    }

    /// Keeps a record until the keys of its epoch are known.
    fn hold(&mut self, record: &[u8]) {
        if !self.held.hold(record, self.defences) {
            self.dropped.count(|dropped| &mut dropped.wrong_epoch);
        }
    }
}

/// Parses a return routability check message. One of an unknown type is ignored (RFC 9853, 4).
fn check(content: &[u8], dropped: &mut Drops) -> Received {
    let check = ReturnRoutabilityCheck::parse_all(content).map(Received::ReturnRoutabilityCheck);
    check.unwrap_or_else(|_| dropped.count(|dropped| &mut dropped.malformed))
}

impl Receiver {
    /// Handles the next record: one that was put aside, or the first one of the input.
    fn next(&mut self, input: &mut [u8]) -> Result<(usize, Received), Error> {
        if let Some(mut record) = self.held.next_due() {
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
        self.messages.answered();
        if self.epochs.in_force().epoch() == 0 {
            // Messages that arrived ahead came before the peer could have sent them: they are of an earlier connection,
            // or forged, and the peer's next flight would contradict them.
            self.messages.forget_ahead();
        }
    }

    /// Returns the records that came since the last call and may have to be acknowledged.
    pub(crate) fn arrived(&mut self) -> Option<Arrived> {
        self.messages.take_arrived()
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
        self.messages.saw_too_large()
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
        self.held.has_due()
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
            // Messages that arrived ahead were not protected, and may be forged.
            self.messages.forget_ahead();
        }
        self.held.keys_are_known();
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
