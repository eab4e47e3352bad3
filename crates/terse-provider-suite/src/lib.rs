//! One test suite serves every crypto provider: the promises of `terse_tls::crypto` are checked with the RFCs' vectors.
//!
//! [`CHECKS`] lists all of it, for a provider that offers everything; the macro [`provider_suite!`] makes one `#[test]`
//! of each check. ECDHE secrets must come from the `rng` argument, because the vectors are passed
//! in that way.
//!
//! The suite needs an allocator but no standard library, so that it also runs on the devices that a provider is for.
//!
//! - `offers`: which suites, groups and schemes there are, in which order
//! - `hash`: SHA-2, HMAC, HKDF
//! - `aead`: sealing, opening, tampering
//! - `record_numbers`: their encryption
//! - `groups`: key exchange, invalid shares, bad sources of randomness
//! - `signatures`: verification
//! - `keys`: private keys in all encodings, and signing
//!
//! `interop` runs two providers with each other, and `wycheproof` compares a provider with the vectors of that project.
#![no_std]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;

use pki_types::pem::PemObject;
use pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng};

pub mod aead;
pub mod groups;
pub mod hash;
pub mod interop;
pub mod keys;
pub mod offers;
pub mod record_numbers;
pub mod signatures;
pub mod wycheproof;

macro_rules! checks {
    ($($topic:ident { $($check:ident,)* })*) => {
        /// Every check with its name. A check panics when it fails.
        pub const CHECKS: &[(&str, fn(&CryptoProvider))] =
            &[$($((concat!(stringify!($topic), "::", stringify!($check)), $topic::$check),)*)*];

        /// Expands to one `#[test]` for each check of [`CHECKS`].
        #[macro_export]
        macro_rules! provider_suite {
            ($provider:expr) => {
                $(mod $topic {
                    $(#[test]
                    fn $check() {
                        $crate::$topic::$check(&$provider);
                    })*
                })*
            };
        }
    };
}

checks! {
    offers { everything, consistent_suites, consistent_tls12_suites, }
    hash { sha1, sha2, sha512, hmac, hmac_by_definition, hkdf_vectors, hkdf_by_definition, hkdf_wrong_lengths, pieces_and_forks, }
    aead { known_answers, round_trips, tampering, wrong_lengths, }
    record_numbers { known_answers, wrong_lengths, }
    groups {
        known_answers, round_trips, wrong_lengths, invalid_points, low_order_points, invalid_encapsulation_keys,
        forged_ciphertexts, broken_randomness,
    }
    signatures {
        every_scheme_verifies, ecdsa_vectors, ed25519_vectors, rsa_vectors, tampering, wrong_keys, wrong_points, wrong_ecdsa_encodings,
        ed25519_malleability, rsa_limits,
    }
    keys {
        every_encoding, vectors, sign_and_verify, rsa_signing, rsa_known_answers, wrong_schemes, contradictions, unsupported, malformed,
        broken_randomness,
    }
}

/// Decodes hexadecimal digits, with spaces and line ends anywhere.
pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        digits.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).expect("a hex digit") as u8).collect();
    assert!(digits.len().is_multiple_of(2));
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Decodes a private key from PEM.
pub fn private_key(pem: &str) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).expect("the test data is well-formed")
}

/// Decodes a SubjectPublicKeyInfo from PEM.
pub fn public_key(pem: &str) -> SubjectPublicKeyInfoDer<'static> {
    SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes()).expect("the test data is well-formed")
}

/// Returns the `subjectPublicKey` within a SubjectPublicKeyInfo, as verification takes it.
pub fn subject_public_key(info: &[u8]) -> &[u8] {
    let (content, rest) = element(0x30, info);
    assert!(rest.is_empty());
    let (_algorithm, rest) = element(0x30, content);
    let (bits, rest) = element(0x03, rest);
    assert!(rest.is_empty() && bits[0] == 0);
    &bits[1..]
}

/// Returns the content of a DER element, and the bytes that follow it.
fn element(tag: u8, der: &[u8]) -> (&[u8], &[u8]) {
    assert_eq!(der[0], tag);
    let (start, len) = match der[1] {
        len @ 0..=0x7f => (2, len.into()),
        0x81 => (3, der[2].into()),
        0x82 => (4, usize::from(der[2]) << 8 | usize::from(der[3])),
        _ => panic!("not in the test data"),
    };
    der[start..].split_at(len)
}

/// Returns a DER element.
pub fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    assert!(content.len() < 0x100, "not needed for the test data");
    let len = content.len() as u8;
    let header = if len < 0x80 { vec![tag, len] } else { vec![tag, 0x81, len] };
    [header, content.to_vec()].concat()
}

/// A repeatable source of randomness (SplitMix64).
pub struct SeededRng(pub u64);

impl Rng for SeededRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        for byte in out {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (z ^ (z >> 31)) as u8;
        }
        Ok(())
    }
}

/// A source that gives these bytes, and then fails.
pub struct FixedRng(pub Vec<u8>);

impl Rng for FixedRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        if out.len() > self.0.len() {
            return Err(CryptoError::RandomFailed);
        }
        out.copy_from_slice(&self.0[..out.len()]);
        self.0.drain(..out.len());
        Ok(())
    }
}

/// A broken source that only ever gives this byte.
pub struct ConstantRng(pub u8);

impl Rng for ConstantRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        out.fill(self.0);
        Ok(())
    }
}
