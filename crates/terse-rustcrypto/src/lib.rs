//! A [`CryptoProvider`] for devices: RustCrypto and dalek crates, `no_std`, no unsafe code of its own.
//!
//! [`PROVIDER`] names everything. A firmware that needs less writes its own [`CryptoProvider`] from the statics of
//! [`suites`], [`group`], [`verify`] and [`sign`], and its linker drops what is not named:
//!
//! ```
//! use terse_rustcrypto::{group, hash, sign, suites, verify};
//! use terse_tls::crypto::CryptoProvider;
//!
//! static SENSOR: CryptoProvider = CryptoProvider::new("sensor", verify::P256, hash::SHA256, sign::load_p256_key)
//!     .tls13_suites(&[&suites::TLS_AES_128_CCM_8_SHA256])
//!     .groups(&[group::X25519]);
//! ```
//!
//! Randomness comes from the `rng` arguments only, so that a run can be replayed byte for byte. A source that fails, or
//! that keeps returning what no algorithm can use (all zeros, say), gives [`CryptoError::RandomFailed`] after a bounded
//! number of draws.
//!
//! # RSA
//!
//! RSA signatures are verified, with a modulus of 2,048 to 4,096 bits. [`PROVIDER`] does not *sign* with RSA keys: the
//! private-key operation of the `rsa` crate is not constant-time, which a remote peer that can ask for many signatures may be
//! able to measure (the Marvin attack, RUSTSEC-2023-0071). A program that needs it all the same names [`RSA_SIGNING`] instead.
//! The operation is blinded there, which makes the attack harder and does not rule it out. Better: an ECDSA or Ed25519 key on
//! a device, and the `terse-aws-lc` provider on a server. No Cargo feature turns this on, since a dependency could.
//!
//! [`CryptoProvider`]: terse_tls::crypto::CryptoProvider
//! [`CryptoError::RandomFailed`]: terse_tls::crypto::CryptoError::RandomFailed
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

extern crate alloc;

use terse_tls::crypto::{CryptoProvider, LoadKey};

pub mod aead;
pub mod group;
pub mod hash;
pub mod private_key;
pub mod record_number;
mod rng;
pub mod sign;
pub mod suites;
pub mod verify;

/// The provider with everything that this crate offers, in its order of preference, except signing with RSA keys.
pub static PROVIDER: CryptoProvider = provider(sign::load_key);

/// [`PROVIDER`], which also signs with RSA keys. Read [first](crate#rsa) why that is not the default.
pub static RSA_SIGNING: CryptoProvider = provider(sign::load_key_or_rsa);

const fn provider(load_key: LoadKey) -> CryptoProvider {
    CryptoProvider::new("rustcrypto", verify::ALL, hash::SHA256, load_key)
        .tls13_suites(suites::ALL_TLS13)
        .tls12_suites(suites::ALL_TLS12)
        .groups(group::ALL)
        .sha1(Some(hash::sha1))
        .sha512(Some(hash::sha512))
}
