//! The protection of TLS 1.3 records (RFC 9846, 5.2). The content type is encrypted.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::nonce;
use super::stream::{HEADER_LEN, Header};
use crate::crypto::{AeadKey, CryptoError, NONCE_LEN};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::schedule::tls13::TrafficSecret;
use crate::wire::ContentType;

#[cfg(test)]
mod tests;

/// The most bytes that an AEAD may add to a record (RFC 9846, 5.2).
pub(super) const MAX_EXPANSION: usize = 255;

/// The protection of one direction under one key.
pub(super) struct Protection {
    key: Box<dyn AeadKey>,
    iv: Zeroizing<[u8; NONCE_LEN]>,
    tag_len: usize,
}

impl Protection {
    pub(super) fn new(secret: &TrafficSecret) -> Result<Self, CryptoError> {
        let suite = secret.suite();
        let mut key = Zeroizing::new(vec![0; suite.aead.key_len()]);
        secret.write_key(&mut key)?;
        Ok(Self { key: suite.aead.key(&key)?, iv: Zeroizing::new(secret.write_iv()?), tag_len: suite.aead.tag_len() })
    }

    /// Makes a record of the end of `out`, which has space for the header at `start`, and then the content.
    pub(super) fn seal(
        &self,
        number: u64,
        content_type: ContentType,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), CryptoError> {
        out.push(content_type.0);
        let tag_start = out.len() - start;
        out.resize(out.len() + self.tag_len, 0);
        let record = &mut out[start..];
        let len = record.len() - HEADER_LEN;
        let header = Header { content_type: ContentType::APPLICATION_DATA, len }.bytes();
        let (sealed, tag) = record.split_at_mut(tag_start);
        let (head, inner) = sealed.split_at_mut(HEADER_LEN);
        head.copy_from_slice(&header);
        self.key.seal(&nonce(&self.iv, number), &header, inner, tag)
    }

    /// Decrypts `record`, header included, in place. Returns the inner content type and the content, which have at most
    /// `limit` bytes together with the padding.
    pub(super) fn open<'a>(
        &self,
        number: u64,
        record: &'a mut [u8],
        limit: usize,
    ) -> Result<(ContentType, &'a [u8]), Error> {
        let (header, body) = record.split_at_mut(HEADER_LEN.min(record.len()));
        let opened = self.key.open(&nonce(&self.iv, number), header, body);
        let inner_len = opened.map_err(|_| CryptoError::DecryptFailed)?;
        let inner = body.get(..inner_len).ok_or(CryptoError::DecryptFailed)?;
        if inner.len() > limit {
            return Err(InvalidMessage::RecordTooLarge.into());
        }
        // TLSInnerPlaintext: content, type, zeros.
        let end = inner.iter().rposition(|byte| *byte != 0);
        let end = end.ok_or(PeerMisbehaved::UnexpectedRecord(ContentType(0)))?;
        Ok((ContentType(inner[end]), &inner[..end]))
    }
}
