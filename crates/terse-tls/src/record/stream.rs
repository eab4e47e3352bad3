//! Records of TLS over a stream (RFC 9846, 5; RFC 5246, 6.2): the header, and the common part of protection in both
//! versions.
//!
//! What must always hold: under one key, each sequence number is used once.

use alloc::vec::Vec;

use super::tls12::Binding;
use super::{tls12, tls13};
use crate::crypto::{CryptoError, MAX_TAG_LEN};
use crate::error::{Error, InvalidMessage};
use crate::schedule::EpochKeys;
use crate::wire::ContentType;

#[cfg(test)]
mod tests;

/// The length of a record header in bytes: type, version, length.
pub(crate) const HEADER_LEN: usize = 5;

/// The longest `TLSPlaintext.fragment` in bytes (RFC 9846, 5.1).
pub(crate) const MAX_FRAGMENT: usize = 0x4000;

/// The longest `TLSCiphertext.encrypted_record` of TLS 1.3 in bytes (RFC 9846, 5.2).
pub(crate) const MAX_ENCRYPTED: usize = MAX_FRAGMENT + 256;

/// A record's header. Its version is ignored, so that a server can read any ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) content_type: ContentType,
    pub(crate) len: usize,
}

impl Header {
    pub(crate) const fn parse(bytes: [u8; HEADER_LEN]) -> Self {
        let [content_type, _, _, high, low] = bytes;
        Self { content_type: ContentType(content_type), len: u16::from_be_bytes([high, low]) as usize }
    }

    pub(super) const fn bytes(self) -> [u8; HEADER_LEN] {
        let [high, low] = (self.len as u16).to_be_bytes();
        [self.content_type.0, 3, 3, high, low]
    }

    /// Refuses a header whose content type is unknown, or whose body has more than `max` bytes.
    pub(crate) const fn check(self, max: usize) -> Result<(), InvalidMessage> {
        match self.content_type {
            ContentType::CHANGE_CIPHER_SPEC
            | ContentType::ALERT
            | ContentType::HANDSHAKE
            | ContentType::APPLICATION_DATA => {}
            _ => return Err(InvalidMessage::UnknownContentType),
        }
        if self.len > max { Err(InvalidMessage::RecordTooLarge) } else { Ok(()) }
    }
}

/// Makes an unprotected record in place. `record` has space for the header, and the content.
pub(crate) fn write_header(content_type: ContentType, record: &mut [u8]) {
    let len = record.len().saturating_sub(HEADER_LEN);
    if let Some(header) = record.first_chunk_mut() {
        *header = Header { content_type, len }.bytes();
    }
}

/// Appends an unprotected record to `out`.
pub(crate) fn write_plaintext(content_type: ContentType, fragment: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&Header { content_type, len: fragment.len() }.bytes());
    out.extend_from_slice(fragment);
}

/// The protection of records in one direction under one key.
pub(crate) struct RecordKey {
    protection: Protection,
    sequence_number: u64,
    /// How many records may be protected (RFC 9846, 5.5).
    limit: u64,
}

enum Protection {
    Tls12(tls12::Protection),
    Tls13(tls13::Protection),
}

impl RecordKey {
    pub(crate) fn new(keys: &EpochKeys) -> Result<Self, CryptoError> {
        let (protection, limit) = match keys {
            EpochKeys::Tls12(keys) => {
                (Protection::Tls12(tls12::Protection::new(keys)?), keys.suite().confidentiality_limit)
            }
            EpochKeys::Tls13(secret) => {
                (Protection::Tls13(tls13::Protection::new(secret)?), secret.suite().confidentiality_limit)
            }
        };
        Ok(Self { protection, sequence_number: 0, limit })
    }

    /// Whether the key is close to its limit and should be updated (RFC 9846, 5.5), which TLS 1.2 cannot do.
    pub(crate) const fn nears_limit(&self) -> bool {
        // Half the limit leaves room for the records until the update.
        matches!(self.protection, Protection::Tls13(_)) && self.sequence_number >= self.limit / 2
    }

    /// Whether, in TLS 1.2, no more application data may be protected. Some records are reserved for alerts.
    pub(crate) const fn is_exhausted(&self) -> bool {
        matches!(self.protection, Protection::Tls12(_))
            && self.sequence_number >= self.limit.saturating_sub(RESERVED_FOR_ALERTS)
    }

    /// Whether a record with this type in its header is protected under this key. In TLS 1.3 the header of a protected
    /// record always has the type application_data.
    pub(crate) fn covers(&self, content_type: ContentType) -> bool {
        match self.protection {
            Protection::Tls12(_) => true,
            Protection::Tls13(_) => content_type == ContentType::APPLICATION_DATA,
        }
    }

    /// Returns the longest body of a record whose content obeys `limit` (see [`RecordKey::deprotect`]).
    pub(crate) fn max_len(&self, limit: usize) -> usize {
        match &self.protection {
            Protection::Tls12(protection) => limit.min(MAX_FRAGMENT) + protection.expansion(),
            Protection::Tls13(_) => limit.min(MAX_FRAGMENT + 1) + tls13::MAX_EXPANSION,
        }
    }

    /// Returns how many bytes precede the content of a record: the header, and in TLS 1.2 the explicit part of the
    /// nonce.
    pub(crate) const fn head_len(&self) -> usize {
        match &self.protection {
            Protection::Tls12(protection) => HEADER_LEN + protection.explicit_len(),
            Protection::Tls13(_) => HEADER_LEN,
        }
    }

    /// Makes a record of the end of `out`, which has space for [`Self::head_len`] bytes at `start`, and then the
    /// content. If this fails, the content is removed, since no plaintext may be sent.
    pub(crate) fn protect(
        &mut self,
        content_type: ContentType,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), CryptoError> {
        self.seal(content_type, out, start).inspect_err(|_| out.truncate(start))
    }

    fn seal(&mut self, content_type: ContentType, out: &mut Vec<u8>, start: usize) -> Result<(), CryptoError> {
        let len = out.len().checked_sub(start + self.head_len()).ok_or(CryptoError::InvalidLength)?;
        if len > MAX_FRAGMENT {
            return Err(CryptoError::InvalidLength);
        }
        let number = self.sequence_number;
        self.sequence_number = number.checked_add(1).ok_or(CryptoError::InvalidLength)?;
        match &self.protection {
            Protection::Tls12(protection) => {
                out.resize(out.len() + protection.expansion() - protection.explicit_len(), 0);
                let record = &mut out[start..];
                write_header(content_type, record);
                let (header, fragment) = record.split_first_chunk_mut().ok_or(CryptoError::InvalidLength)?;
                let [kind @ .., _, _]: [u8; HEADER_LEN] = *header;
                protection.seal(number, &Binding::Kind(kind), fragment)
            }
            Protection::Tls13(protection) => protection.seal(number, content_type, out, start),
        }
    }

    /// Decrypts `record`, header included, in place. Returns the content type and the content, of at most `limit`
    /// bytes, which TLS 1.3 counts with the type and the padding (RFC 8449, 4).
    pub(crate) fn deprotect<'a>(
        &mut self,
        record: &'a mut [u8],
        limit: usize,
    ) -> Result<(ContentType, &'a [u8]), Error> {
        let number = self.sequence_number;
        let next = number.checked_add(1).ok_or(CryptoError::InvalidLength)?;
        let opened = match &self.protection {
            Protection::Tls12(protection) => {
                let (header, sealed) = record.split_first_chunk_mut().ok_or(CryptoError::DecryptFailed)?;
                let [kind @ .., _, _]: [u8; HEADER_LEN] = *header;
                let content = protection.open(number, &Binding::Kind(kind), sealed, limit.min(MAX_FRAGMENT))?;
                (ContentType(kind[0]), content)
            }
            Protection::Tls13(protection) => protection.open(number, record, limit)?,
        };
        self.sequence_number = next; // skipped early data, which cannot be decrypted, does not count
        Ok(opened)
    }
}

/// The most bytes that follow the content of a record: in TLS 1.3 its type, and the tag.
pub(crate) const MAX_TAIL: usize = 1 + MAX_TAG_LEN;

/// How many records are reserved for a close_notify, and for the alerts that refuse renegotiations before it.
const RESERVED_FOR_ALERTS: u64 = 64;
