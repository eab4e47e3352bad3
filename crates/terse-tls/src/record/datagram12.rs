//! Records of DTLS 1.2 (RFC 6347, 4.1), with and without a connection ID (RFC 9146, 4): the header, and the record
//! numbers and protection of an epoch in one direction.
//!
//! What must always hold: under one key each number is used once; a number counts as seen only after its record was
//! authenticated; an unprotected epoch drops no record for its number.

use super::replay::Window;
use super::tls12::{Binding, Protection, Unopened};
use crate::crypto::CryptoError;
use crate::schedule::tls12::RecordKeys;
use crate::wire::ContentType;

/// The length in bytes of a header without a connection ID: type, version, epoch, sequence number, length.
pub const HEADER_LEN: usize = 13;

/// The longest `DTLSPlaintext.fragment` in bytes (RFC 6347, 4.1).
pub(crate) const MAX_FRAGMENT: usize = 0x4000;

/// `DTLSCiphertext.version` of DTLS 1.2.
const VERSION: [u8; 2] = [254, 253];

/// The highest `sequence_number`.
const MAX_NUMBER: u64 = (1 << 48) - 1;

/// How many records with a wrong tag are tolerated under one key. With more, a forgery would succeed with a probability
/// of more than 2^-57 in the suites that have a limit in DTLS 1.3 (RFC 9147, 4.5.3), and of 2^-41 with AES_128_CCM_8,
/// for which the limit of DTLS 1.3 would let anybody end a connection with 128 datagrams.
const INTEGRITY_LIMIT: u64 = 11_863_283;

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) content_type: ContentType,
    version: [u8; 2],
    pub(crate) epoch: u16,
    pub(crate) number: u64,
    cid_len: usize,
    /// The length of the fragment that follows the header.
    pub(crate) len: usize,
}

impl Header {
    /// Parses the header of a record. If its type is `tls12_cid`, it has a connection ID of `cid_len` bytes. Returns
    /// `None` if it is no header of DTLS, or the record is truncated.
    pub(crate) fn parse(record: &[u8], cid_len: usize) -> Option<Self> {
        let (fixed, rest) = record.split_first_chunk::<11>()?;
        let [content_type, major, minor, e0, e1, number @ ..] = *fixed;
        let [a, b, c, d, e, f] = number;
        let content_type = ContentType(content_type);
        let cid_len = if content_type == ContentType::TLS12_CID { cid_len } else { 0 };
        let (len, rest) = rest.get(cid_len..)?.split_first_chunk::<2>()?;
        let len = usize::from(u16::from_be_bytes(*len));
        (major == 254 && len <= rest.len()).then_some(Self {
            content_type,
            version: [major, minor],
            epoch: u16::from_be_bytes([e0, e1]),
            number: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
            cid_len,
            len,
        })
    }

    /// Returns the length of the header in bytes.
    pub(crate) const fn header_len(&self) -> usize {
        HEADER_LEN + self.cid_len
    }

    /// Returns the length of the record in bytes, header included.
    pub(crate) const fn record_len(&self) -> usize {
        self.header_len() + self.len
    }

    /// Returns the connection ID in `record`, whose header this is.
    pub(crate) fn cid<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        record.get(11..11 + self.cid_len).unwrap_or_default()
    }
}

/// Returns the number for nonce and additional data, which consists of epoch and sequence number.
const fn full_number(epoch: u16, number: u64) -> u64 {
    (epoch as u64) << 48 | number
}

/// Sends the records of one epoch.
pub(crate) struct WriteEpoch {
    epoch: u16,
    protection: Option<Protection>,
    next: u64,
    /// How many records may be protected.
    limit: u64,
}

impl WriteEpoch {
    /// Returns epoch 0, which is unprotected. Its first record has the number `next`.
    pub(crate) const fn unprotected(next: u64) -> Self {
        Self { epoch: 0, protection: None, next, limit: MAX_NUMBER }
    }

    pub(crate) fn new(epoch: u16, keys: &RecordKeys) -> Result<Self, CryptoError> {
        let limit = keys.suite().confidentiality_limit.min(MAX_NUMBER);
        Ok(Self { epoch, protection: Some(Protection::new(keys)?), next: 0, limit })
    }

    pub(crate) const fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Returns the number of the next record.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns how many bytes precede the content: the header with `cid`, and the explicit part of the nonce.
    pub(crate) fn head_len(&self, cid: &[u8]) -> usize {
        match &self.protection {
            Some(protection) => HEADER_LEN + cid.len() + protection.explicit_len(),
            None => HEADER_LEN,
        }
    }

    /// Returns how many bytes follow the content: the content type if there is a connection ID, and the tag.
    pub(crate) fn tail_len(&self, cid: &[u8]) -> usize {
        self.protection.as_ref().map_or(0, |protection| usize::from(!cid.is_empty()) + protection.tag_len())
    }

    pub(crate) const fn is_protected(&self) -> bool {
        self.protection.is_some()
    }

    /// Whether no more application data may be sent: the key cannot be replaced.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.protection.is_some() && self.next >= self.limit.saturating_sub(RESERVED)
    }

    /// Makes a record in place. `record` has space for the head, the content, and space for the tail.
    pub(crate) fn seal(&mut self, content_type: ContentType, cid: &[u8], record: &mut [u8]) -> Result<(), CryptoError> {
        const TOO_SHORT: CryptoError = CryptoError::InvalidLength;
        let cid = if self.protection.is_some() { cid } else { &[] };
        let number = self.next;
        if number > MAX_NUMBER {
            return Err(TOO_SHORT);
        }
        self.next += 1;
        let header_len = HEADER_LEN + cid.len();
        let len = record.len().checked_sub(header_len).and_then(|len| u16::try_from(len).ok()).ok_or(TOO_SHORT)?;
        let shown = if cid.is_empty() { content_type } else { ContentType::TLS12_CID };
        let number = full_number(self.epoch, number);
        let (header, fragment) = record.split_at_mut(header_len);
        header[0] = shown.0;
        header[1..3].copy_from_slice(&VERSION);
        header[3..11].copy_from_slice(&number.to_be_bytes());
        header[11..header_len - 2].copy_from_slice(cid);
        header[header_len - 2..].copy_from_slice(&len.to_be_bytes());
        let Some(protection) = &self.protection else { return Ok(()) };
        let kind = [shown.0, VERSION[0], VERSION[1]];
        if cid.is_empty() {
            return protection.seal(number, &Binding::Kind(kind), fragment);
        }
        let place = fragment.len().checked_sub(protection.tag_len() + 1).ok_or(TOO_SHORT)?;
        fragment[place] = content_type.0;
        protection.seal(number, &Binding::ConnectionId(kind, cid), fragment)
    }
}

/// How many records are reserved for a close_notify and for retransmissions.
const RESERVED: u64 = 64;

/// Receives the records of one epoch.
pub(crate) struct ReadEpoch {
    epoch: u16,
    protection: Option<Protection>,
    seen: Window,
    forged: u64,
}

/// Why a record was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A record with this number came before, or the number is too old to tell.
    Replayed,
    /// The record cannot be decrypted.
    NotAuthentic,
    /// The record is authentic, but its content is malformed, or too long.
    Malformed,
}

impl ReadEpoch {
    /// Returns epoch 0, which is unprotected.
    pub(crate) fn unprotected() -> Self {
        Self { epoch: 0, protection: None, seen: Window::default(), forged: 0 }
    }

    pub(crate) fn new(epoch: u16, keys: &RecordKeys) -> Result<Self, CryptoError> {
        Ok(Self { epoch, protection: Some(Protection::new(keys)?), seen: Window::default(), forged: 0 })
    }

    pub(crate) const fn epoch(&self) -> u16 {
        self.epoch
    }

    pub(crate) const fn is_protected(&self) -> bool {
        self.protection.is_some()
    }

    /// Returns the highest number of an authentic record, or of any record if the epoch is unprotected.
    pub(crate) const fn newest(&self) -> Option<u64> {
        self.seen.newest()
    }

    /// Whether so many records failed authentication that the key must not be used any more.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.forged > INTEGRITY_LIMIT
    }

    /// Forgets which records came, for tests that show the need for replay protection.
    #[cfg(terse_testing)]
    pub(crate) fn forget(&mut self) {
        self.seen = Window::default();
    }

    /// Decrypts `record`, which begins with `header`, in place. Returns its type and content, of at most `limit` bytes.
    pub(crate) fn open<'a>(
        &mut self,
        header: &Header,
        record: &'a mut [u8],
        limit: usize,
    ) -> Result<(ContentType, &'a [u8]), Refused> {
        // The number of an unprotected record may be forged: the highest number would make all other records look old.
        if self.protection.is_some() && !self.seen.accepts(header.number) {
            return Err(Refused::Replayed);
        }
        let record = record.get_mut(..header.record_len()).ok_or(Refused::Malformed)?;
        let (head, fragment) = record.split_at_mut(header.header_len());
        let Some(protection) = &self.protection else {
            if fragment.len() > limit {
                return Err(Refused::Malformed);
            }
            self.seen.note(header.number);
            return Ok((header.content_type, fragment));
        };
        let kind = [header.content_type.0, header.version[0], header.version[1]];
        let number = full_number(header.epoch, header.number);
        let with_cid = header.content_type == ContentType::TLS12_CID;
        let binding = if with_cid { Binding::ConnectionId(kind, header.cid(head)) } else { Binding::Kind(kind) };
        let opened = protection.open(number, &binding, fragment, limit + usize::from(with_cid));
        let content = match opened {
            Ok(content) => content,
            Err(Unopened::NotAuthentic) => {
                self.forged += 1;
                return Err(Refused::NotAuthentic);
            }
            Err(Unopened::TooLong) => return Err(Refused::Malformed),
        };
        self.seen.note(header.number);
        if !with_cid {
            return Ok((header.content_type, content));
        }
        // DTLSInnerPlaintext: content, its type, and zeros (RFC 9146, 4).
        let end = content.iter().rposition(|byte| *byte != 0).ok_or(Refused::Malformed)?;
        Ok((ContentType(content[end]), &content[..end]))
    }
}
