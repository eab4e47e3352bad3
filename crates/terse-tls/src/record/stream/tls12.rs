//! Protection of records in TLS 1.2 (RFC 5246, 6.2.3.3), with nonces of both kinds.

use alloc::vec::Vec;

use super::{Format, HEADER_LEN, Header, MAX_FRAGMENT, RecordKey};
use crate::crypto::{CryptoError, MAX_TAG_LEN, NONCE_LEN, Tls12Nonce};
use crate::error::{Error, InvalidMessage};
use crate::schedule::tls12::RecordKeys;
use crate::wire::ContentType;

/// Length of the part of a nonce that is sent with the record (RFC 5288, 3; RFC 6655, 3).
const EXPLICIT_LEN: usize = 8;

impl RecordKey {
    pub(super) fn tls12(keys: &RecordKeys) -> Result<Self, CryptoError> {
        let suite = keys.suite;
        Ok(Self {
            format: Format::Tls12(suite.nonce),
            key: suite.aead.key(&keys.key)?,
            iv: keys.iv,
            sequence_number: 0,
            tag_len: suite.aead.tag_len(),
            limit: suite.confidentiality_limit,
        })
    }

    pub(super) fn protect12(
        &mut self,
        kind: Tls12Nonce,
        content_type: ContentType,
        fragment: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        let explicit = self.sequence_number.to_be_bytes(); // unique under this key, as it must be
        let explicit = &explicit[..explicit_len(kind)];
        let aad = additional_data(self.sequence_number, content_type, fragment.len());
        let nonce = self.nonce12(kind, explicit);
        self.count()?;
        let len = explicit.len() + fragment.len() + self.tag_len;
        out.extend_from_slice(&Header { content_type, len }.bytes());
        out.extend_from_slice(explicit);
        let start = out.len();
        out.extend_from_slice(fragment);
        let mut tag = [0; MAX_TAG_LEN];
        let tag = &mut tag[..self.tag_len];
        self.key.seal(&nonce, &aad, &mut out[start..], tag)?;
        out.extend_from_slice(tag);
        Ok(())
    }

    /// As [`RecordKey::deprotect`].
    pub(super) fn deprotect12(
        &mut self,
        kind: Tls12Nonce,
        record: &mut [u8],
        max_content: usize,
    ) -> Result<(ContentType, usize), Error> {
        let (header, body) = record.split_at_mut(HEADER_LEN.min(record.len()));
        let content_type = ContentType(header.first().copied().unwrap_or_default());
        let overhead = explicit_len(kind) + self.tag_len;
        let len = body.len().checked_sub(overhead).ok_or(CryptoError::DecryptFailed)?;
        let (explicit, sealed) = body.split_at_mut(explicit_len(kind));
        let aad = additional_data(self.sequence_number, content_type, len);
        let nonce = self.nonce12(kind, explicit);
        self.count()?;
        let opened = self.key.open(&nonce, &aad, sealed)?;
        if opened > max_content.min(MAX_FRAGMENT) {
            return Err(InvalidMessage::RecordTooLarge.into());
        }
        body.copy_within(explicit_len(kind)..explicit_len(kind) + opened, 0);
        Ok((content_type, opened))
    }

    /// The implicit part, and the explicit one or the sequence number (RFC 7905, 2).
    fn nonce12(&self, kind: Tls12Nonce, explicit: &[u8]) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        let tail = &mut nonce[NONCE_LEN - EXPLICIT_LEN..];
        match kind {
            Tls12Nonce::Explicit => tail.copy_from_slice(explicit),
            Tls12Nonce::Implicit => {
                let sequence_number = self.sequence_number.to_be_bytes();
                tail.iter_mut().zip(sequence_number).for_each(|(byte, sequence)| *byte ^= sequence);
            }
        }
        nonce
    }

    fn count(&mut self) -> Result<(), CryptoError> {
        self.sequence_number = self.sequence_number.checked_add(1).ok_or(CryptoError::InvalidLength)?;
        Ok(())
    }
}

const fn explicit_len(kind: Tls12Nonce) -> usize {
    match kind {
        Tls12Nonce::Explicit => EXPLICIT_LEN,
        Tls12Nonce::Implicit => 0,
    }
}

/// `seq_num + TLSCompressed.type + TLSCompressed.version + TLSCompressed.length`
fn additional_data(sequence_number: u64, content_type: ContentType, len: usize) -> [u8; 13] {
    let mut data = [0; 13];
    data[..8].copy_from_slice(&sequence_number.to_be_bytes());
    data[8..11].copy_from_slice(&[content_type.0, 3, 3]);
    data[11..].copy_from_slice(&(len as u16).to_be_bytes()); // it came from, or goes into, a field of 16 bits
    data
}
