//! The protection of TLS 1.2 records with an AEAD (RFC 5246, 6.2.3.3). The content type is not encrypted.
//!
//! What must always hold: no number is used twice under one key, since the nonce is made of it. The number is the
//! sequence number on a stream, and the epoch with the sequence number over datagrams.

use alloc::boxed::Box;

use zeroize::Zeroizing;

use super::nonce;
use crate::crypto::{AeadKey, CryptoError, NONCE_LEN, Tls12Nonce};
use crate::error::{Error, InvalidMessage};
use crate::schedule::tls12::RecordKeys;

#[cfg(test)]
mod tests;

/// The type and version in the header of a record.
pub(super) type Kind = [u8; 3];

/// The protection of one direction under one key.
pub(super) struct Protection {
    key: Box<dyn AeadKey>,
    iv: Zeroizing<[u8; NONCE_LEN]>,
    explicit_len: usize,
    tag_len: usize,
}

impl Protection {
    pub(super) fn new(keys: &RecordKeys) -> Result<Self, CryptoError> {
        let suite = keys.suite();
        Ok(Self {
            key: suite.aead.key(keys.write_key())?,
            iv: Zeroizing::new(*keys.write_iv()),
            explicit_len: match suite.nonce {
                Tls12Nonce::Explicit => 8,
                Tls12Nonce::Implicit => 0,
            },
            tag_len: suite.aead.tag_len(),
        })
    }

    /// Returns how many bytes protection adds to the content.
    pub(super) const fn expansion(&self) -> usize {
        self.explicit_len + self.tag_len
    }

    /// Returns how many bytes of explicit nonce precede the content (RFC 5288, 3; RFC 6655, 3).
    pub(super) const fn explicit_len(&self) -> usize {
        self.explicit_len
    }

    /// Returns how many bytes follow the content.
    pub(super) const fn tag_len(&self) -> usize {
        self.tag_len
    }

    /// Makes `GenericAEADCipher` in place. `fragment` has space for the explicit nonce, the content, and space for the
    /// tag.
    pub(super) fn seal(&self, number: u64, binding: &Binding<'_>, fragment: &mut [u8]) -> Result<(), CryptoError> {
        let (explicit, sealed) = fragment.split_at_mut_checked(self.explicit_len).ok_or(CryptoError::InvalidLength)?;
        let len = sealed.len().checked_sub(self.tag_len).ok_or(CryptoError::InvalidLength)?;
        let (content, tag) = sealed.split_at_mut(len);
        explicit.copy_from_slice(&number.to_be_bytes()[..self.explicit_len]);
        binding.with(number, len, |data| self.key.seal(&nonce(&self.iv, number), data, content, tag))
    }

    /// Decrypts `GenericAEADCipher` in place and returns the content, of at most `limit` bytes.
    pub(super) fn open<'a>(
        &self,
        number: u64,
        binding: &Binding<'_>,
        sealed: &'a mut [u8],
        limit: usize,
    ) -> Result<&'a [u8], Unopened> {
        let (explicit, ciphertext) = sealed.split_at_mut_checked(self.explicit_len).ok_or(Unopened::NotAuthentic)?;
        let len = ciphertext.len().checked_sub(self.tag_len).ok_or(Unopened::NotAuthentic)?;
        if len > limit {
            return Err(Unopened::TooLong);
        }
        let nonce = nonce(&self.iv, <[u8; 8]>::try_from(&*explicit).map_or(number, u64::from_be_bytes));
        let opened = binding.with(number, len, |data| self.key.open(&nonce, data, ciphertext));
        opened.map_err(|_| Unopened::NotAuthentic)?;
        Ok(&ciphertext[..len]) // it had the tag's length more
    }
}

/// Why a record cannot be opened: it ends a stream, and is dropped over datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    /// It has more content than is taken.
    TooLong,
    /// It cannot be decrypted.
    NotAuthentic,
}

impl From<Unopened> for Error {
    fn from(unopened: Unopened) -> Self {
        match unopened {
            Unopened::TooLong => InvalidMessage::RecordTooLarge.into(),
            Unopened::NotAuthentic => CryptoError::DecryptFailed.into(),
        }
    }
}

/// What a record is bound to beside its number and length.
pub(super) enum Binding<'a> {
    /// The record's type and version (RFC 5246, 6.2.3.3).
    Kind(Kind),
    /// The record's type, which is `tls12_cid`, its version and its connection ID (RFC 9146, 5.3).
    ConnectionId(Kind, &'a [u8]),
}

impl Binding<'_> {
    /// Calls `use_it` with the additional data of a record with `len` bytes of content.
    fn with<T>(&self, number: u64, len: usize, use_it: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Kind(kind) => use_it(&additional_data(number, *kind, len)),
            Self::ConnectionId(kind, cid) => {
                let mut data = [0xff; 8 + 2 + 3 + 8 + 255 + 2]; // begins with seq_num_placeholder
                let [content_type, version @ ..] = *kind;
                let cid = &cid[..cid.len().min(255)]; // its own field has one byte for the length
                let parts: [&[u8]; 5] = [
                    &[content_type, cid.len() as u8, content_type],
                    &version,
                    &number.to_be_bytes(),
                    cid,
                    &(len as u16).to_be_bytes(),
                ];
                let mut end = 8;
                for part in parts {
                    data[end..end + part.len()].copy_from_slice(part);
                    end += part.len();
                }
                use_it(&data[..end])
            }
        }
    }
}

/// `seq_num + TLSCompressed.type + TLSCompressed.version + TLSCompressed.length`
fn additional_data(number: u64, [content_type, major, minor]: Kind, len: usize) -> [u8; 13] {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    let [high, low] = (len as u16).to_be_bytes(); // content is at most 2^14 bytes long
    [a, b, c, d, e, f, g, h, content_type, major, minor, high, low]
}
