//! Protected records of DTLS 1.3 (RFC 9147, 4): the unified header, record number encryption, and the protection of an
//! epoch in one direction.
//!
//! ```text
//! 001CSLEE  [connection ID]  number (8 or 16 bits)  [length]  encrypted_record
//! ```
//!
//! What must always hold: under one key each number is used once; a number counts as seen only after its record was
//! authenticated; the time that an authentic record takes reveals nothing about its number.

use alloc::boxed::Box;
use alloc::vec;

use zeroize::Zeroizing;

use super::datagram12::Refused;
use super::nonce;
use super::replay::Window;
use crate::crypto::{AeadKey, CryptoError, MASK_SAMPLE_LEN, NONCE_LEN, RecordNumberKey};
use crate::schedule::tls13::TrafficSecret;
use crate::wire::ContentType;

#[cfg(test)]
mod tests;

/// The value of the three bits that every unified header begins with.
const FIXED: u8 = 0b0010_0000;
const FIXED_MASK: u8 = 0b1110_0000;
const CID: u8 = 0b0001_0000;
const LONG_NUMBER: u8 = 0b0000_1000;
const LENGTH: u8 = 0b0000_0100;
const EPOCH: u8 = 0b0000_0011;

/// A record's header, as far as it can be read without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The two low bits of the epoch.
    pub(crate) epoch_bits: u8,
    has_cid: bool,
    cid_len: usize,
    number_len: usize,
    has_length: bool,
    /// The length of `encrypted_record`.
    pub(crate) len: usize,
}

impl Header {
    /// Whether a datagram's record that begins with this byte has a unified header (RFC 9147, 4.1).
    pub(crate) const fn is_one(first: u8) -> bool {
        first & FIXED_MASK == FIXED
    }

    /// Parses the header of a record, whose connection ID, if present, has `cid_len` bytes. Returns `None` if it is no
    /// unified header, the record is truncated, or it has a connection ID although `cid_len` is 0.
    pub(crate) fn parse(record: &[u8], cid_len: usize) -> Option<Self> {
        let first = *record.first().filter(|first| Self::is_one(**first))?;
        let has_cid = first & CID != 0;
        if has_cid && cid_len == 0 {
            return None;
        }
        let mut header = Self {
            epoch_bits: first & EPOCH,
            has_cid,
            cid_len: if has_cid { cid_len } else { 0 },
            number_len: if first & LONG_NUMBER != 0 { 2 } else { 1 },
            has_length: first & LENGTH != 0,
            len: 0,
        };
        let rest = record.get(header.header_len()..)?;
        header.len = rest.len();
        if header.has_length {
            let len = record.get(header.header_len() - 2..)?.first_chunk::<2>()?;
            header.len = u16::from_be_bytes(*len).into();
        }
        (header.len <= rest.len()).then_some(header)
    }

    /// Returns the length of the header in bytes.
    pub(crate) const fn header_len(&self) -> usize {
        self.number_at() + self.number_len + if self.has_length { 2 } else { 0 }
    }

    /// Returns the length of the record in bytes, header included.
    pub(crate) const fn record_len(&self) -> usize {
        self.header_len() + self.len
    }

    /// Returns the connection ID in `record`, whose header this is; `None` if it has none.
    pub(crate) fn cid<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(1..1 + self.cid_len).filter(|_| self.has_cid)
    }

    const fn number_at(&self) -> usize {
        1 + self.cid_len
    }
}

/// The keys of one epoch in one direction.
struct Protection {
    key: Box<dyn AeadKey>,
    iv: Zeroizing<[u8; NONCE_LEN]>,
    numbers: Box<dyn RecordNumberKey>,
    tag_len: usize,
}

impl Protection {
    fn new(secret: &TrafficSecret) -> Result<Self, CryptoError> {
        let suite = secret.suite();
        let mut key = Zeroizing::new(vec![0; suite.aead.key_len()]);
        secret.sn_key(&mut key)?;
        let numbers = suite.record_numbers.key(&key)?;
        secret.write_key(&mut key)?;
        let iv = Zeroizing::new(secret.write_iv()?);
        Ok(Self { key: suite.aead.key(&key)?, iv, numbers, tag_len: suite.aead.tag_len() })
    }

    /// Encrypts or decrypts the number in the header of a record. Returns `None` if the record is too short.
    fn mask(&self, number: &mut [u8], encrypted_record: &[u8]) -> Option<()> {
        let mask = self.numbers.mask(encrypted_record.first_chunk::<MASK_SAMPLE_LEN>()?);
        for (byte, mask) in number.iter_mut().zip(mask) {
            *byte ^= mask;
        }
        Some(())
    }
}

/// Sends the records of one epoch.
pub(crate) struct WriteEpoch {
    epoch: u64,
    protection: Protection,
    next: u64,
    /// The number that was next when the last authentic record came from the peer.
    heard: u64,
    /// How many records may be protected.
    limit: u64,
}

impl WriteEpoch {
    pub(crate) fn new(secret: &TrafficSecret) -> Result<Self, CryptoError> {
        let limit = secret.suite().confidentiality_limit.min(MAX_NUMBER);
        Ok(Self { epoch: secret.epoch(), protection: Protection::new(secret)?, next: 0, heard: 0, limit })
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the number of the next record.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Notes that an authentic record came from the peer.
    pub(crate) const fn peer_is_there(&mut self) {
        self.heard = self.next;
    }

    /// Whether the next number is sent with 16 bits instead of 8. A receiver that missed 128 records could not
    /// reconstruct any number of 8 bits again. So 16 bits are used while the peer is silent; and also in every 32nd
    /// record, so that the receiver can resynchronise if only its direction is disturbed.
    const fn has_long_number(&self) -> bool {
        self.next - self.heard >= MAX_SHORT || self.next % LONG_EVERY == LONG_EVERY - 1
    }

    /// Returns how many bytes precede the content of the next record.
    pub(crate) const fn head_len(&self, cid: &[u8], with_length: bool) -> usize {
        let number_len = if self.has_long_number() { 2 } else { 1 };
        1 + cid.len() + number_len + if with_length { 2 } else { 0 }
    }

    /// Returns how many bytes follow `content` bytes of content: the content type, padding if the tag is short, and the
    /// tag.
    pub(crate) const fn tail_len(&self, content: usize) -> usize {
        let least = MASK_SAMPLE_LEN.saturating_sub(1 + self.protection.tag_len);
        1 + least.saturating_sub(content) + self.protection.tag_len
    }

    /// Returns the most bytes that a record without a length field has beside its content.
    pub(crate) const fn max_expansion(&self, cid: &[u8]) -> usize {
        1 + cid.len() + 2 + self.tail_len(MASK_SAMPLE_LEN)
    }

    /// Whether the key has protected half of the records that it may, and should be updated.
    pub(crate) const fn nears_limit(&self) -> bool {
        self.next >= self.limit / 2
    }

    /// Whether no more application data may be sent.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.next >= self.limit.saturating_sub(RESERVED)
    }

    /// Makes a record in place. `record` has space for the head, `content` bytes of content, and space for the tail.
    pub(crate) fn seal(
        &mut self,
        content_type: ContentType,
        cid: &[u8],
        with_length: bool,
        content: usize,
        record: &mut [u8],
    ) -> Result<(), CryptoError> {
        const WRONG: CryptoError = CryptoError::InvalidLength;
        if self.next >= self.limit {
            return Err(WRONG);
        }
        let head_len = self.head_len(cid, with_length);
        let (header, body) = record.split_at_mut_checked(head_len).ok_or(WRONG)?;
        let len = body.len();
        let tag_at = len.checked_sub(self.protection.tag_len).filter(|tag| content < *tag).ok_or(WRONG)?;
        let [.., high, low] = self.next.to_be_bytes();
        let number_at = 1 + cid.len();
        let number_len = if self.has_long_number() { 2 } else { 1 };
        header[0] = FIXED
            | if cid.is_empty() { 0 } else { CID }
            | if number_len == 2 { LONG_NUMBER } else { 0 }
            | if with_length { LENGTH } else { 0 }
            | self.epoch as u8 & EPOCH;
        header[1..number_at].copy_from_slice(cid);
        header[number_at..number_at + number_len].copy_from_slice(&[high, low][2 - number_len..]);
        if with_length {
            let len = u16::try_from(len).map_err(|_| WRONG)?;
            header[number_at + number_len..].copy_from_slice(&len.to_be_bytes());
        }
        let (inner, tag) = body.split_at_mut(tag_at);
        inner[content] = content_type.0;
        inner[content + 1..].fill(0);
        self.protection.key.seal(&nonce(&self.protection.iv, self.next), header, inner, tag)?;
        self.next += 1;
        self.protection.mask(&mut header[number_at..number_at + number_len], body).ok_or(WRONG)
    }
}

/// How many records are sent with 8-bit numbers since the last authentic record of the peer.
const MAX_SHORT: u64 = 64;

/// The last of so many consecutive numbers is always sent with 16 bits.
const LONG_EVERY: u64 = 32;

/// A bound far below the highest `sequence_number`, which no connection reaches.
const MAX_NUMBER: u64 = 1 << 60;

/// How many records are reserved for a close_notify and for retransmissions.
const RESERVED: u64 = 64;

/// Receives the records of one epoch.
pub(crate) struct ReadEpoch {
    epoch: u64,
    protection: Protection,
    seen: Window,
    forged: u64,
    integrity_limit: u64,
}

/// The content of a record that was decrypted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened<'a> {
    pub(crate) content_type: ContentType,
    pub(crate) content: &'a [u8],
    pub(crate) number: u64,
}

impl ReadEpoch {
    pub(crate) fn new(secret: &TrafficSecret) -> Result<Self, CryptoError> {
        let (protection, integrity_limit) = (Protection::new(secret)?, secret.suite().integrity_limit);
        Ok(Self { epoch: secret.epoch(), protection, seen: Window::default(), forged: 0, integrity_limit })
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether a record with this header may belong to this epoch.
    pub(crate) const fn matches(&self, header: &Header) -> bool {
        self.epoch as u8 & EPOCH == header.epoch_bits
    }

    /// Returns the highest number of an authentic record.
    pub(crate) const fn newest(&self) -> Option<u64> {
        self.seen.newest()
    }

    /// Whether so many records failed authentication that the peer should be asked to update its key (RFC 9147, 4.5.3).
    pub(crate) const fn has_many_forgeries(&self) -> bool {
        self.forged >= self.integrity_limit / 2
    }

    /// Whether so many records failed authentication that the key must not be used any more.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.forged >= self.integrity_limit
    }

    /// Forgets which records came, for tests that show the need for replay protection.
    #[cfg(terse_testing)]
    pub(crate) fn forget(&mut self) {
        self.seen = Window::default();
    }

    /// Decrypts `record`, which begins with `header`, in place. The content, its type and the padding have at most
    /// `limit` bytes.
    pub(crate) fn open<'a>(
        &mut self,
        header: &Header,
        record: &'a mut [u8],
        limit: usize,
    ) -> Result<Opened<'a>, Refused> {
        if self.is_exhausted() {
            return Err(Refused::NotAuthentic);
        }
        let record = record.get_mut(..header.record_len()).ok_or(Refused::Malformed)?;
        let (head, body) = record.split_at_mut(header.header_len());
        let number = &mut head[header.number_at()..][..header.number_len];
        self.protection.mask(number, body).ok_or(Refused::NotAuthentic)?; // not counted as a forgery
        let number = self.reconstruct(number);
        let Ok(len) = self.protection.key.open(&nonce(&self.protection.iv, number), head, body) else {
            self.forged += 1; // below the limit before
            return Err(Refused::NotAuthentic);
        };
        // The window is tested only after decryption: otherwise the timing would reveal the number (RFC 9147, 4.5.1).
        if !self.seen.accepts(number) {
            return Err(Refused::Replayed);
        }
        self.seen.note(number);
        let inner = body.get(..len).filter(|inner| inner.len() <= limit).ok_or(Refused::Malformed)?;
        let end = inner.iter().rposition(|byte| *byte != 0).ok_or(Refused::Malformed)?;
        Ok(Opened { content_type: ContentType(inner[end]), content: &inner[..end], number })
    }

    /// Returns the number that ends with `low` and is closest to the one after the highest so far (RFC 9147, 4.2.2).
    fn reconstruct(&self, low: &[u8]) -> u64 {
        let (size, low) = match *low {
            [low] => (1 << 8, u64::from(low)),
            [high, low] => (1 << 16, u64::from(u16::from_be_bytes([high, low]))),
            _ => return 0, // no other length exists
        };
        let expected = self.seen.newest().map_or(0, |newest| newest.saturating_add(1));
        let number = (expected & !(size - 1)) | low;
        if number.saturating_add(size / 2) < expected {
            number.saturating_add(size)
        } else if number > expected.saturating_add(size / 2) && number >= size {
            number - size
        } else {
            number
        }
    }
}
