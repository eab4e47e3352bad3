//! A [`CryptoProvider`] for servers and gateways: AWS-LC by way of `aws-lc-rs`.
//!
//! [`PROVIDER`] has the same suites, groups and signature schemes as `terse-rustcrypto`, in the same order, and signs
//! with RSA keys too. AES-CCM, which `aws-lc-rs` does not have, comes from `terse-rustcrypto`.
//!
//! # Randomness
//!
//! Secrets come from AWS-LC's own generator. With [`EXTERNAL_RANDOMNESS`] the `rng` arguments feed those of x25519,
//! secp256r1 and secp384r1; for ML-KEM, ECDSA and RSA-PSS `aws-lc-rs` takes no other generator than its own. A run can
//! therefore be replayed byte for byte on `terse-rustcrypto` only.
//!
//! # RSA
//!
//! Signatures are verified with a modulus of 2,048 to 8,192 bits, which is AWS-LC's range. Keys sign with 2,048 to
//! 4,096 bits.
//!
//! [`CryptoProvider`]: terse_tls::crypto::CryptoProvider
#![forbid(unsafe_code)]

extern crate alloc;

use terse_tls::crypto::CryptoProvider;

pub mod aead;
pub mod group;
pub mod hash;
pub mod record_number;
pub mod sign;
pub mod suites;
pub mod verify;

/// The provider with everything that this crate offers, in its order of preference.
pub static PROVIDER: CryptoProvider = provider();

const fn provider() -> CryptoProvider {
    CryptoProvider::new("aws-lc", verify::ALL, hash::SHA256, sign::load_key)
        .tls13_suites(suites::ALL_TLS13)
        .tls12_suites(suites::ALL_TLS12)
        .groups(group::ALL)
        .sha1(Some(hash::sha1))
        .sha512(Some(hash::sha512))
}

/// The provider with ephemeral secrets that are made of the `rng` arguments, otherwise equal to [`PROVIDER`]: for
/// machines whose randomness must come from a source of their own. A handshake with a NIST curve takes one more
/// multiplication on each side.
pub static EXTERNAL_RANDOMNESS: CryptoProvider = provider().groups(group::external_randomness::ALL);
