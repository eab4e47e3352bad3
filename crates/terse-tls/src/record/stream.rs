//! Records of TLS over a stream (RFC 9846, 5; RFC 5246, 6.2): their header, and their protection.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use zeroize::{Zeroize, Zeroizing};

use crate::crypto::{AeadKey, CryptoError, MAX_TAG_LEN, NONCE_LEN, Tls12Nonce};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::schedule::EpochKeys;
use crate::schedule::tls13::TrafficSecret;
use crate::wire::ContentType;

mod tls12;

#[cfg(test)]
mod tests;

/// Length of a record header in bytes: type, version, length.
pub(crate) const HEADER_LEN: usize = 5;

/// The longest `TLSPlaintext.fragment` in bytes (RFC 9846, 5.1).
pub(crate) const MAX_FRAGMENT: usize = 0x4000;

/// The longest `TLSCiphertext.encrypted_record` in bytes (RFC 9846, 5.2).
const MAX_ENCRYPTED: usize = MAX_FRAGMENT + 256;

/// A record's header. The version says nothing and is not looked at, so that a server can read any ClientHello.
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

    const fn bytes(self) -> [u8; HEADER_LEN] {
        let [high, low] = (self.len as u16).to_be_bytes();
        [self.content_type.0, 3, 3, high, low]
    }

    /// Refuses what cannot be the start of a record that this side would accept.
    pub(crate) fn check(self, protected: bool) -> Result<(), InvalidMessage> {
        match self.content_type {
            ContentType::CHANGE_CIPHER_SPEC
            | ContentType::ALERT
            | ContentType::HANDSHAKE
            | ContentType::APPLICATION_DATA => {}
            _ => return Err(InvalidMessage::UnknownContentType),
        }
        let max = if protected { MAX_ENCRYPTED } else { MAX_FRAGMENT };
        if self.len > max { Err(InvalidMessage::RecordTooLarge) } else { Ok(()) }
    }
}

/// Appends an unprotected record to `out`.
pub(crate) fn write_plaintext(content_type: ContentType, fragment: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&Header { content_type, len: fragment.len() }.bytes());
    out.extend_from_slice(fragment);
}

/// The protection of records in one direction under one key (RFC 9846, 5.2; RFC 5246, 6.2.3.3).
pub(crate) struct RecordKey {
    format: Format,
    key: Box<dyn AeadKey>,
    iv: [u8; NONCE_LEN],
    sequence_number: u64,
    tag_len: usize,
    limit: u64,
}

/// What a protected record looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The content type outside, and maybe a part of the nonce.
    Tls12(Tls12Nonce),
    /// The content type inside.
    Tls13,
}

impl RecordKey {
    pub(crate) fn of(keys: &EpochKeys) -> Result<Self, CryptoError> {
        match keys {
            EpochKeys::Tls12(keys) => Self::tls12(keys),
            EpochKeys::Tls13(secret) => Self::new(secret),
        }
    }

    pub(crate) fn new(secret: &TrafficSecret) -> Result<Self, CryptoError> {
        let suite = secret.suite();
        let mut key = Zeroizing::new(vec![0; suite.aead.key_len()]);
        secret.write_key(&mut key)?;
        Ok(Self {
            format: Format::Tls13,
            key: suite.aead.key(&key)?,
            iv: secret.write_iv()?,
            sequence_number: 0,
            tag_len: suite.aead.tag_len(),
            limit: suite.confidentiality_limit,
        })
    }

    /// Whether records look like those of TLS 1.2, in which every content type is protected.
    pub(crate) const fn is_tls12(&self) -> bool {
        matches!(self.format, Format::Tls12(_))
    }

    /// Whether nothing more may be protected. Only a key of TLS 1.2 gets there: it cannot be replaced.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.is_tls12() && self.sequence_number >= self.limit
    }

    /// Whether the key must be replaced before more is protected under it (RFC 9846, 5.5).
    pub(crate) const fn is_worn(&self) -> bool {
        // Half the limit, which leaves room for what is already on its way.
        self.sequence_number >= self.limit / 2
    }

    /// Appends a protected record to `out`.
    pub(crate) fn protect(
        &mut self,
        content_type: ContentType,
        fragment: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        if fragment.len() > MAX_FRAGMENT {
            return Err(CryptoError::InvalidLength);
        }
        if let Format::Tls12(nonce) = self.format {
            return self.protect12(nonce, content_type, fragment, out);
        }
        let inner_len = fragment.len() + 1;
        let header = Header { content_type: ContentType::APPLICATION_DATA, len: inner_len + self.tag_len }.bytes();
        let nonce = self.next_nonce()?;
        out.extend_from_slice(&header);
        let start = out.len();
        out.extend_from_slice(fragment);
        out.push(content_type.0);
        let mut tag = [0; MAX_TAG_LEN];
        let tag = &mut tag[..self.tag_len];
        self.key.seal(&nonce, &header, &mut out[start..], tag)?;
        out.extend_from_slice(tag);
        Ok(())
    }

    /// Decrypts `record`, header included, in place. Returns the inner content type and the length of the content,
    /// which stands right after the header.
    pub(crate) fn deprotect(&mut self, record: &mut [u8], max_inner: usize) -> Result<(ContentType, usize), Error> {
        if let Format::Tls12(nonce) = self.format {
            return self.deprotect12(nonce, record, max_inner);
        }
        let nonce = self.next_nonce()?;
        let (header, body) = record.split_at_mut(HEADER_LEN.min(record.len()));
        let Ok(inner_len) = self.key.open(&nonce, header, body) else {
            self.sequence_number -= 1; // of early data that is skipped, no record counts
            return Err(CryptoError::DecryptFailed.into());
        };
        let inner = body.get(..inner_len).ok_or(CryptoError::DecryptFailed)?;
        if inner.len() > max_inner {
            return Err(InvalidMessage::RecordTooLarge.into());
        }
        // TLSInnerPlaintext: content, type, zeros.
        let end = inner.iter().rposition(|byte| *byte != 0);
        let end = end.ok_or(PeerMisbehaved::UnexpectedRecord(ContentType(0)))?;
        Ok((ContentType(inner[end]), end))
    }

    /// The per-record nonce (RFC 9846, 5.3).
    fn next_nonce(&mut self) -> Result<[u8; NONCE_LEN], CryptoError> {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[NONCE_LEN - 8..].iter_mut().zip(self.sequence_number.to_be_bytes()) {
            *byte ^= sequence;
        }
        self.sequence_number = self.sequence_number.checked_add(1).ok_or(CryptoError::InvalidLength)?;
        Ok(nonce)
    }
}

impl Drop for RecordKey {
    fn drop(&mut self) {
        self.iv.zeroize(); // the key wipes itself
    }
}
