//! Cipher suites of TLS 1.3 (RFC 9846, B.4) and of TLS 1.2. How many records a key may protect stands in `terse_rustcrypto::suites`.

use terse_rustcrypto::aead::{AES_128_CCM, AES_128_CCM_8};
use terse_rustcrypto::suites::{
    AES_CCM_8_FORGERIES, AES_CCM_FORGERIES, AES_CCM_LIMIT, AES_GCM_LIMIT, CHACHA20_POLY1305_LIMIT, FORGERIES,
};
use terse_tls::CipherSuite;
use terse_tls::crypto::Tls13Suite;

use crate::{aead, hash, record_number};

mod tls12;
pub use tls12::*;

/// All suites of TLS 1.3, preferred first.
pub static ALL_TLS13: &[&Tls13Suite] = &[
    &TLS_AES_128_GCM_SHA256,
    &TLS_AES_256_GCM_SHA384,
    &TLS_CHACHA20_POLY1305_SHA256,
    &TLS_AES_128_CCM_SHA256,
    &TLS_AES_128_CCM_8_SHA256,
];

/// AES-128-GCM with SHA-256: the suite that every implementation has.
pub static TLS_AES_128_GCM_SHA256: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_128_GCM_SHA256,
    hash: hash::SHA256,
    aead: aead::AES_128_GCM,
    record_numbers: record_number::AES_128,
    confidentiality_limit: AES_GCM_LIMIT,
    integrity_limit: FORGERIES,
};

/// AES-256-GCM with SHA-384.
pub static TLS_AES_256_GCM_SHA384: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_256_GCM_SHA384,
    hash: hash::SHA384,
    aead: aead::AES_256_GCM,
    record_numbers: record_number::AES_256,
    confidentiality_limit: AES_GCM_LIMIT,
    integrity_limit: FORGERIES,
};

/// ChaCha20-Poly1305 with SHA-256: the fastest without AES instructions.
pub static TLS_CHACHA20_POLY1305_SHA256: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    hash: hash::SHA256,
    aead: aead::CHACHA20_POLY1305,
    record_numbers: record_number::CHACHA20,
    confidentiality_limit: CHACHA20_POLY1305_LIMIT,
    integrity_limit: FORGERIES,
};

/// AES-128-CCM with SHA-256. The AEAD is RustCrypto's.
pub static TLS_AES_128_CCM_SHA256: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_128_CCM_SHA256,
    hash: hash::SHA256,
    aead: AES_128_CCM,
    record_numbers: record_number::AES_128,
    confidentiality_limit: AES_CCM_LIMIT,
    integrity_limit: AES_CCM_FORGERIES,
};

/// AES-128-CCM with SHA-256 and an 8-byte tag. The AEAD is RustCrypto's. Not for DTLS (RFC 9147, 4.5.3).
pub static TLS_AES_128_CCM_8_SHA256: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_128_CCM_8_SHA256,
    hash: hash::SHA256,
    aead: AES_128_CCM_8,
    record_numbers: record_number::AES_128,
    confidentiality_limit: AES_CCM_LIMIT,
    integrity_limit: AES_CCM_8_FORGERIES,
};
