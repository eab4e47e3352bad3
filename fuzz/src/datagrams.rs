//! Datagrams are forged as by a peer that has the keys of [`crate::provider::transparent`]: an [`Operation`] becomes
//! one or two of them.
//!
//! The lower half of a shape is a [`Shape`] and [`WITH_CID`], or [`UNIFIED`]; the upper half says how the datagrams
//! differ from those of an honest peer: [`HELD`], [`IN_FRAGMENTS`], [`REPEATED`], [`TWICE`]. In DTLS 1.3 protected
//! records have unified headers and the epoch of an honest peer, but for [`UNIFIED`], whose body decides all of that.
//! The body of an ACK says which numbers it has: [`ack`].
//!
//! What must always hold: the numbers of records and messages are assigned here, so that a change of a body changes
//! just that.

use std::collections::BTreeMap;

use terse_tls::crypto::{CryptoProvider, Tls12Nonce};
use terse_tls::{CipherSuite, ContentType, HandshakeType};

use crate::input::{Operation, Shape};
use crate::provider::TAG;

mod record;
mod recorded;

use record::{CID, LENGTH, plain, with_cid};
pub use record::{Record, closest, epoch_near, records, server_hello};
pub use recorded::operations;

/// The protected record has the receiver's connection ID.
pub const WITH_CID: u8 = 0x08;

/// The record has type `kind` and a unified header (RFC 9147, 4); this replaces a [`Shape`]. The lower five bits of the
/// body's first byte are those of the header, the others are [`FORGED`], [`WRONG_LENGTH`] and [`ABSOLUTE`]; the second
/// byte is the number, relative to the next one.
pub const UNIFIED: u8 = 0x07;

/// A bit in the first byte of a [`UNIFIED`] body: the record is not authentic.
pub const FORGED: u8 = 0x20;

/// A bit in the first byte of a [`UNIFIED`] body: the length in the header, if there is one, is wrong.
pub const WRONG_LENGTH: u8 = 0x40;

/// A bit in the first byte of a [`UNIFIED`] body: the second byte is the number itself.
pub const ABSOLUTE: u8 = 0x80;

/// The record goes into the datagram of the next operation.
pub const HELD: u8 = 0x10;

/// The message is sent in two fragments, the second one first.
pub const IN_FRAGMENTS: u8 = 0x20;

/// The message has the number of the message before; any other record has the number of the record before.
pub const REPEATED: u8 = 0x40;

/// The datagram is sent twice.
pub const TWICE: u8 = 0x80;

/// The content type of ACKs (RFC 9147, 7).
pub const ACK: ContentType = ContentType(26);

/// The content type of return routability checks (RFC 9853, 4).
pub const RETURN_ROUTABILITY_CHECK: ContentType = ContentType(27);

/// The protection of a connection's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    is_dtls13: bool,
    is_known: bool,
    tag_len: usize,
    explicit_len: usize,
    /// The connection ID of the receiver.
    pub cid: Vec<u8>,
}

impl Protection {
    /// Returns the protection of `suite`, or any protection without a suite.
    pub fn of(provider: &CryptoProvider, suite: Option<CipherSuite>, cid: Vec<u8>) -> Self {
        if let Some(suite) = suite.and_then(|suite| provider.tls13_suite(suite)) {
            return Self { is_dtls13: true, is_known: true, tag_len: suite.aead.tag_len(), explicit_len: 0, cid };
        }
        let suite = suite.and_then(|suite| provider.tls12_suite(suite));
        let is_explicit = suite.is_none_or(|suite| suite.nonce == Tls12Nonce::Explicit);
        Self {
            is_dtls13: false,
            is_known: suite.is_some(),
            tag_len: suite.map_or(16, |suite| suite.aead.tag_len()),
            explicit_len: if is_explicit { 8 } else { 0 },
            cid,
        }
    }

    /// Whether it is the protection of a suite.
    pub const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Returns the type and content of a protected record, if it is authentic.
    pub fn authentic<'a>(&self, record: &Record<'a>) -> Option<(ContentType, &'a [u8])> {
        let is_protected = record.content_type.is_none() || record.epoch > 0;
        self.open(record).filter(|_| is_protected && record.body.ends_with(&vec![TAG; self.tag_len]))
    }

    /// Returns the type and content of a protected record. Nothing but padding is content of type 0.
    pub fn open<'a>(&self, record: &Record<'a>) -> Option<(ContentType, &'a [u8])> {
        let explicit_len = if record.content_type.is_some() { self.explicit_len } else { 0 };
        let content = record.body.get(explicit_len..record.body.len().checked_sub(self.tag_len)?)?;
        match record.content_type {
            Some(content_type) if record.cid.is_none() => Some((content_type, content)),
            _ => {
                let end = content.iter().rposition(|byte| *byte != 0);
                Some(end.map_or((ContentType(0), &[]), |end| (ContentType(content[end]), &content[..end])))
            }
        }
    }
}

/// The forge makes the datagrams of one peer.
#[derive(Debug, Default)]
pub struct Forge {
    /// The next record number in each epoch.
    numbers: BTreeMap<u64, u64>,
    /// In DTLS 1.3, the number of key changes since the handshake's keys.
    changes: u64,
    next_seq: u16,
    held: Vec<u8>,
}

impl Forge {
    /// Returns the datagrams of `operation`; none if it is a call.
    pub fn datagrams(&mut self, operation: &Operation, protection: &Protection) -> Vec<Vec<u8>> {
        let Operation { shape, kind, body } = operation;
        let content_type = ContentType(*kind);
        let with = |tag| Sealing { protection, shape: *shape, tag };
        let is_again = shape & REPEATED != 0;
        let content = if content_type == ACK { ack(body) } else { body.clone() };
        let records = match shape_of(*shape) {
            Some(Shape::Raw) => vec![body.clone()],
            None => vec![self.unified(content_type, body, &with(TAG))],
            Some(Shape::Record) => vec![plain(content_type, (0, self.number(0, is_again)), &content)],
            Some(Shape::Sealed) => vec![self.sealed(content_type, &content, &with(TAG), is_again)],
            Some(Shape::Forged) => vec![self.sealed(content_type, &content, &with(!TAG), is_again)],
            Some(Shape::Message) => {
                if content_type.0 == HandshakeType::CLIENT_HELLO.0 {
                    self.changes = 0; // they were of another connection
                }
                let parts = self.fragments(*shape, *kind, body);
                parts.iter().map(|part| plain(ContentType::HANDSHAKE, (0, self.number(0, false)), part)).collect()
            }
            Some(Shape::SealedMessage) => {
                let parts = self.fragments(*shape, *kind, body);
                let seal = |part: &Vec<u8>| self.sealed(ContentType::HANDSHAKE, part, &with(TAG), false);
                let records = parts.iter().map(seal).collect();
                let is_first = self.changes == 0;
                self.changes += u64::from(match HandshakeType(*kind) {
                    HandshakeType::FINISHED => is_first,
                    HandshakeType::KEY_UPDATE => !is_first && !is_again,
                    _ => false,
                });
                records
            }
            Some(Shape::Call) => return Vec::new(),
        };
        if shape & HELD != 0 {
            self.held.extend(records.concat());
            return Vec::new();
        }
        let mut datagrams = records;
        datagrams[0].splice(..0, core::mem::take(&mut self.held));
        if shape & TWICE != 0 {
            datagrams.extend(datagrams.clone());
        }
        datagrams
    }

    /// Returns the epoch in which an honest peer would protect a record of DTLS 1.3.
    pub const fn epoch(&self) -> u64 {
        HANDSHAKE_EPOCH + self.changes
    }

    /// Returns the number of the next message.
    pub const fn next_seq(&self) -> u16 {
        self.next_seq
    }

    fn number(&mut self, epoch: u64, is_again: bool) -> u64 {
        let next = self.numbers.entry(epoch).or_default();
        if is_again {
            return next.saturating_sub(1);
        }
        *next += 1;
        *next - 1
    }

    fn sealed(&mut self, content_type: ContentType, content: &[u8], with: &Sealing<'_>, is_again: bool) -> Vec<u8> {
        if !with.protection.is_dtls13 {
            let number = self.number(1, is_again);
            return with.sealed12(number, content_type, content);
        }
        let number = self.number(self.epoch(), is_again);
        let cid = if with.shape & WITH_CID != 0 { CID } else { 0 };
        let length = if with.shape & HELD != 0 { LENGTH } else { 0 };
        with.unified(cid | length | (self.epoch() % 4) as u8, number, content_type, content)
    }

    /// Returns the record of a [`UNIFIED`] operation.
    fn unified(&mut self, content_type: ContentType, body: &[u8], with: &Sealing<'_>) -> Vec<u8> {
        let (header, content) = body.split_at(body.len().min(2));
        let [first, number] = [0, 1].map(|at| header.get(at).copied().unwrap_or_default());
        let epoch = epoch_near(self.epoch(), u64::from(first) % 4);
        let next = self.numbers.entry(epoch).or_default();
        let delta = number as i8;
        let number = if first & ABSOLUTE != 0 { number.into() } else { next.saturating_add_signed(delta.into()) };
        *next = (*next).max(number + 1);
        let tag = if first & FORGED != 0 { !with.tag } else { with.tag };
        Sealing { tag, ..*with }.unified(first, number, content_type, content)
    }

    fn fragments(&mut self, shape: u8, kind: u8, body: &[u8]) -> Vec<Vec<u8>> {
        let seq = if shape & REPEATED == 0 { self.next_seq } else { self.next_seq.wrapping_sub(1) };
        self.next_seq = seq.wrapping_add(1);
        let whole = 0..body.len();
        if shape & IN_FRAGMENTS == 0 {
            return vec![fragment(kind, seq, body, whole)];
        }
        let middle = body.len() / 2;
        vec![fragment(kind, seq, body, middle..body.len()), fragment(kind, seq, body, 0..middle)]
    }
}

/// The protection of a record.
#[derive(Clone, Copy)]
struct Sealing<'a> {
    protection: &'a Protection,
    shape: u8,
    tag: u8,
}

impl Sealing<'_> {
    fn tag(&self) -> Vec<u8> {
        vec![self.tag; self.protection.tag_len]
    }

    fn sealed12(&self, number: u64, content_type: ContentType, content: &[u8]) -> Vec<u8> {
        let (number, explicit) = ((1, number), vec![0; self.protection.explicit_len]);
        if self.shape & WITH_CID == 0 {
            return plain(content_type, number, &[&explicit, content, &self.tag()].concat());
        }
        let body = [&explicit, content, &[content_type.0], &self.tag()].concat();
        with_cid(number, &self.protection.cid, &body)
    }

    /// Returns a record with a unified header, as [`record::unified`] does.
    fn unified(&self, first: u8, number: u64, content_type: ContentType, content: &[u8]) -> Vec<u8> {
        let tag = self.tag();
        let mut body = [content, &[content_type.0]].concat();
        body.resize(body.len().max(record::SAMPLE_LEN - tag.len()), 0); // RFC 9147, 4.2.3
        body.extend(tag);
        record::unified(first, &self.protection.cid, number, &body)
    }
}

/// Returns the shape in the lower bits of an operation's shape, or `None` for [`UNIFIED`].
pub const fn shape_of(shape: u8) -> Option<Shape> {
    match shape & 7 {
        UNIFIED => None,
        shape => Some(Shape::of(shape)),
    }
}

/// Returns the content of an ACK. Of each three bytes of `body` the first is an epoch, the second a number in it, and
/// the third the count of numbers after that. The remaining bytes are appended, without being counted by the length.
pub fn ack(body: &[u8]) -> Vec<u8> {
    let (ranges, rest) = body.as_chunks();
    let mut numbers = Vec::new();
    for &[epoch, first, more] in &ranges[..ranges.len().min(MAX_RANGES)] {
        for number in u64::from(first)..=u64::from(first) + u64::from(more) {
            numbers.extend([u64::from(epoch).to_be_bytes(), number.to_be_bytes()].as_flattened());
        }
    }
    [&(numbers.len() as u16).to_be_bytes(), &numbers[..], rest].concat()
}

/// The most ranges: with them an ACK has less than 2^16 bytes.
const MAX_RANGES: usize = 15;

/// Returns a fragment of a handshake message, with its header.
fn fragment(kind: u8, seq: u16, body: &[u8], range: core::ops::Range<usize>) -> Vec<u8> {
    let u24 = |value: usize| (value as u32).to_be_bytes()[1..].to_vec();
    let (offset, len) = (range.start, range.len());
    [&[kind], &u24(body.len())[..], &seq.to_be_bytes(), &u24(offset), &u24(len), &body[range]].concat()
}

/// The length of a fragment's header.
pub const FRAGMENT_HEADER_LEN: usize = 12;

/// The first epoch of DTLS 1.3 that has messages (RFC 9147, 6.1).
const HANDSHAKE_EPOCH: u64 = 2;
