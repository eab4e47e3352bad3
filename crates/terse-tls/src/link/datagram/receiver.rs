//! What comes in: datagrams of records, which bring fragments of messages, in any order.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::FirstMessage;
use super::fragment::{DropCause, FragmentHeader, HEADER_LEN, Inserted, Reassembler};
use crate::config::{Datagrams, Defence};
use crate::crypto::CryptoError;
use crate::error::{ApiMisuse, Error, InvalidMessage, PeerMisbehaved};
use crate::link::plaintext::Plaintext;
use crate::link::{Incoming, Received};
use crate::record::datagram12::{Header, MAX_FRAGMENT, ReadEpoch, Refused};
use crate::schedule::EpochKeys;
use crate::summary::Dropped;
use crate::wire::{Alert, AlertDescription, ContentType, Parse, ReturnRoutabilityCheck};

#[cfg(test)]
mod tests;

/// How many bytes of records are kept that overtook those before a change of keys.
const MAX_HELD: usize = 1_500;

/// The receiving half.
pub(super) struct Receiver {
    epoch: ReadEpoch,
    /// The one before, until something came under the new keys: the peer may send its last flight again.
    before: Option<ReadEpoch>,
    /// The number after that of the message which this side answered last.
    answered: Option<u16>,
    /// Records of the next epoch, whose keys are not there yet. Keys change once.
    held: VecDeque<Box<[u8]>>,
    /// How many of them can be opened now.
    held_due: usize,
    /// The first message was there from the beginning, and is still to be handled.
    has_first: bool,
    messages: Reassembler,
    plaintext: Plaintext,
    /// What protected records to this side are to carry.
    cid: Box<[u8]>,
    expects_cid: bool,
    /// Longest content of a protected record.
    limit: usize,
    max_message: usize,
    max_record: usize,
    unprotected_alert: Option<AlertDescription>,
    saw_too_large: bool,
    last_record_len: usize,
    dropped: Dropped,
    settings: Datagrams,
}

impl Receiver {
    /// For messages and records of at most so many bytes of content. `cid` is what the peer may be asked to put into them.
    pub(super) fn new(max_message: usize, max_record: usize, settings: &Datagrams, cid: Option<Box<[u8]>>) -> Self {
        Self {
            epoch: ReadEpoch::unprotected(),
            before: None,
            answered: None,
            held: VecDeque::new(),
            held_due: 0,
            has_first: false,
            messages: Reassembler::new(max_message, 0),
            plaintext: Plaintext::new(),
            cid: cid.unwrap_or_default(),
            expects_cid: false,
            limit: MAX_FRAGMENT,
            max_message,
            max_record,
            unprotected_alert: None,
            saw_too_large: false,
            last_record_len: 0,
            dropped: Dropped::default(),
            settings: *settings,
        }
    }

    /// The first message was received already.
    pub(super) fn begin_with(&mut self, first: &FirstMessage) {
        let Some((header, body)) = first.message.split_first_chunk() else { return };
        self.messages.set_next_seq(first.message_seq);
        self.messages.insert(FragmentHeader::parse(header), body);
        self.has_first = true;
    }

    /// Handles a whole record.
    fn record(&mut self, header: &Header, record: &mut [u8]) -> Result<Received, Error> {
        self.last_record_len = header.record_len();
        if header.epoch == self.epoch.epoch() {
            return self.current(header, record);
        }
        if header.epoch == self.epoch.epoch().wrapping_add(1) && !self.epoch.is_protected() {
            self.hold(&record[..header.record_len()]);
            return Ok(Received::Nothing);
        }
        // A flight that was handled under the keys before comes again, if its answer was lost.
        let Some(before) = self.before.as_mut().filter(|before| before.epoch() == header.epoch) else {
            return Ok(drop_as(&mut self.dropped.wrong_epoch));
        };
        match before.open(header, record, MAX_FRAGMENT) {
            Ok((ContentType::HANDSHAKE, content)) if self.settings.lacks(Defence::Epochs) => {
                Ok(self.handshake(content))
            }
            Ok((ContentType::HANDSHAKE, content)) => {
                let is_end = |(header, _): &(FragmentHeader, &[u8])| {
                    header.fragment_offset + header.fragment_length == header.length
                        && self.is_answered(header.message_seq)
                };
                let repeats = fragments(content).flatten().any(|fragment| is_end(&fragment));
                Ok(if repeats { Received::Repeated } else { Received::Nothing })
            }
            Ok((ContentType::CHANGE_CIPHER_SPEC, _)) => Ok(Received::Nothing),
            // Who refuses what came before its own change of keys has none to protect the alert with.
            Ok((ContentType::ALERT, content)) => Ok(self.alert(content, false)),
            Ok(_) => Ok(drop_as(&mut self.dropped.wrong_epoch)),
            Err(refused) => Ok(self.refused(refused)),
        }
    }

    /// A record of the epoch that is in force.
    fn current(&mut self, header: &Header, record: &mut [u8]) -> Result<Received, Error> {
        let has_cid = header.content_type == ContentType::TLS12_CID;
        let due = self.expects_cid && self.epoch.is_protected() && !self.cid.is_empty();
        let has_other = has_cid != due || (due && header.cid(record) != &*self.cid);
        if has_other && !self.settings.lacks(Defence::ConnectionIds) {
            return Ok(drop_as(&mut self.dropped.connection_id)); // RFC 9146, 3
        }
        let is_protected = self.epoch.is_protected();
        #[cfg(feature = "testing")]
        if self.settings.lacks(Defence::ReplayProtection) {
            self.epoch.forget();
        } else if self.settings.lacks(Defence::UnverifiedNumbers)
            && !is_protected
            && self.epoch.newest().is_some_and(|newest| header.number <= newest)
        {
            return Ok(drop_as(&mut self.dropped.replayed));
        }
        // Fragments of messages are copied from where they came: they take no room for a record.
        let limit = if is_protected { self.limit.min(self.max_record) } else { MAX_FRAGMENT };
        let (content_type, content) = match self.epoch.open(header, record, limit) {
            Ok(opened) => opened,
            Err(_) if self.epoch.is_worn() => return Err(CryptoError::DecryptFailed.into()), // RFC 9147, 4.5.3
            Err(Refused::NotAuthentic) if self.settings.lacks(Defence::Dropping) => {
                return Err(CryptoError::DecryptFailed.into());
            }
            Err(refused) => return Ok(self.refused(refused)),
        };
        match content_type {
            ContentType::HANDSHAKE => Ok(self.handshake(content)),
            ContentType::CHANGE_CIPHER_SPEC if self.settings.lacks(Defence::ChangeCipherSpec) => {
                Err(PeerMisbehaved::BadChangeCipherSpec.into())
            }
            ContentType::CHANGE_CIPHER_SPEC if !is_protected => Ok(Received::Nothing), // the epoch tells
            ContentType::ALERT => Ok(self.alert(content, is_protected)),
            ContentType::APPLICATION_DATA if is_protected => {
                self.plaintext.set(content);
                Ok(if content.is_empty() { Received::Nothing } else { Received::ApplicationData })
            }
            ContentType::RETURN_ROUTABILITY_CHECK if is_protected => {
                let check = ReturnRoutabilityCheck::parse_all(content).map(Received::ReturnRoutabilityCheck);
                Ok(check.unwrap_or_else(|_| drop_as(&mut self.dropped.malformed))) // RFC 9853, 4: or of another type
            }
            _ => Ok(drop_as(&mut self.dropped.not_due)),
        }
    }

    fn handshake(&mut self, content: &[u8]) -> Received {
        let mut received = Received::Nothing;
        for fragment in fragments(content) {
            let Some((header, body)) = fragment else {
                drop_as(&mut self.dropped.malformed);
                break;
            };
            match self.messages.insert(header, body) {
                Inserted::Accepted => {
                    self.unprotected_alert = None; // somebody goes on
                    received = Received::Handshake;
                }
                Inserted::Repeated { message_seq, whole_or_last } => {
                    if whole_or_last && self.is_answered(message_seq) && received == Received::Nothing {
                        received = Received::Repeated;
                    }
                }
                Inserted::Dropped(cause) => {
                    self.saw_too_large |= cause == DropCause::TooLarge;
                    drop_as(&mut self.dropped.bad_fragment);
                }
            }
        }
        received
    }

    /// Whether the message with this number ends a flight that was answered, and nothing was handled since. If the peer
    /// repeats it, it did not get the answer; if it repeats what came since, another message was lost.
    fn is_answered(&self, message_seq: u16) -> bool {
        let next = Some(message_seq.wrapping_add(1));
        next == self.answered && next == Some(self.messages.next_seq())
    }

    fn alert(&mut self, content: &[u8], is_protected: bool) -> Received {
        match Alert::parse_all(content) {
            Ok(alert) if is_protected || self.settings.believe_unprotected_alerts => Received::Alert(alert),
            Ok(alert) => {
                if alert.level != Alert::WARNING {
                    self.unprotected_alert = Some(alert.description);
                }
                drop_as(&mut self.dropped.unprotected_alert)
            }
            Err(_) => drop_as(&mut self.dropped.malformed),
        }
    }

    fn refused(&mut self, refused: Refused) -> Received {
        drop_as(match refused {
            Refused::Replayed => &mut self.dropped.replayed,
            Refused::NotAuthentic => &mut self.dropped.not_authentic,
            Refused::Malformed => &mut self.dropped.malformed,
        })
    }

    fn hold(&mut self, record: &[u8]) {
        let held: usize = self.held.iter().map(|record| record.len()).sum();
        if held + record.len() > MAX_HELD && !self.settings.lacks(Defence::HeldBound) {
            drop_as(&mut self.dropped.wrong_epoch);
        } else {
            self.held.push_back(record.into());
        }
    }

    /// How long the connection ID of a record is that has one.
    fn cid_len(&self) -> usize {
        self.cid.len()
    }
}

/// The fragments of handshake messages in a record; `None` for what is none.
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

fn drop_as(count: &mut u32) -> Received {
    *count = count.saturating_add(1);
    Received::Nothing
}

impl Incoming for Receiver {
    fn receive(&mut self, input: &mut [u8]) -> Result<(usize, Received), Error> {
        if self.has_plaintext() {
            return Ok((0, Received::Nothing));
        }
        if core::mem::take(&mut self.has_first) {
            return Ok((0, Received::Handshake));
        }
        if self.has_waiting() {
            self.held_due -= 1;
            let Some(mut record) = self.held.pop_front() else { return Ok((0, Received::Nothing)) };
            let Some(header) = Header::parse(&record, self.cid_len()) else { return Ok((0, Received::Nothing)) };
            return Ok((0, self.record(&header, &mut record)?));
        }
        let Some(header) = Header::parse(input, self.cid_len()) else {
            if self.settings.lacks(Defence::Dropping) {
                return Err(InvalidMessage::UnknownContentType.into());
            }
            return Ok((input.len(), drop_as(&mut self.dropped.malformed))); // where the next one begins is not known
        };
        Ok((header.record_len(), self.record(&header, input)?))
    }

    fn has_waiting(&self) -> bool {
        self.has_first || self.held_due > 0
    }

    fn message(&self) -> Result<Option<&[u8]>, Error> {
        Ok(self.messages.message())
    }

    fn consume(&mut self, len: usize) {
        if len > 0 {
            self.messages.consume();
            self.before = None; // whose messages all were handled
        }
    }

    fn answered(&mut self) {
        self.answered = Some(self.messages.next_seq());
    }

    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        let EpochKeys::Tls12(keys) = keys else { return Err(ApiMisuse::Unsupported("protocol version").into()) };
        let epoch = ReadEpoch::new(self.epoch.epoch() + 1, keys)?;
        self.before = Some(core::mem::replace(&mut self.epoch, epoch));
        if !self.settings.lacks(Defence::Epochs) {
            // Whatever came ahead was not protected by these.
            self.messages = Reassembler::new(self.max_message, self.messages.next_seq());
        }
        self.held_due = self.held.len();
        Ok(())
    }

    fn limit_records(&mut self, bytes: usize) {
        self.limit = bytes.min(MAX_FRAGMENT);
    }

    fn skip_early_data(&mut self, _: usize) {}

    fn ignore_change_cipher_spec(&mut self, _: bool) {}

    fn expect_connection_id(&mut self) {
        self.expects_cid = true;
    }

    fn plaintext_len(&self) -> usize {
        self.plaintext.len()
    }

    fn read(&mut self, out: &mut [u8]) -> usize {
        self.plaintext.read(out)
    }

    fn take(&mut self) -> Vec<u8> {
        self.plaintext.take()
    }

    fn discard(&mut self) {
        self.plaintext.discard();
    }

    fn last_record_len(&self) -> usize {
        self.last_record_len
    }

    fn ignored(&mut self) -> Result<(), Error> {
        Ok(()) // anybody can send datagrams that bring nothing
    }

    fn not_due(&mut self, _: ContentType) -> Result<(), Error> {
        self.discard();
        drop_as(&mut self.dropped.not_due);
        Ok(())
    }

    fn saw_too_large(&self) -> bool {
        self.saw_too_large
    }

    fn unprotected_alert(&self) -> Option<AlertDescription> {
        self.unprotected_alert
    }

    fn newest(&self) -> Option<(u16, u64)> {
        let newest = if self.epoch.is_protected() { self.epoch.newest() } else { None };
        newest.map(|number| (self.epoch.epoch(), number))
    }

    fn dropped(&self) -> Dropped {
        self.dropped
    }
}
