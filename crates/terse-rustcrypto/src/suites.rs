//! Cipher suites of TLS 1.3 (RFC 9846, B.4) and of TLS 1.2, and how many records a key may protect.

use terse_tls::CipherSuite;
use terse_tls::crypto::Tls13Suite;

use crate::{aead, hash, record_number};

mod tls12;
pub use tls12::*;

/// All suites of TLS 1.3, preferred first: hardware for AES-GCM is common, CCM trades speed for the bytes of its tag.
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

/// AES-128-CCM with SHA-256.
pub static TLS_AES_128_CCM_SHA256: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_128_CCM_SHA256,
    hash: hash::SHA256,
    aead: aead::AES_128_CCM,
    record_numbers: record_number::AES_128,
    confidentiality_limit: AES_CCM_LIMIT,
    integrity_limit: AES_CCM_FORGERIES,
};

/// AES-128-CCM with SHA-256 and an 8-byte tag, which saves 8 bytes a record. Not for DTLS, which tolerates forgeries
/// (RFC 9147, 4.5.3).
pub static TLS_AES_128_CCM_8_SHA256: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_128_CCM_8_SHA256,
    hash: hash::SHA256,
    aead: aead::AES_128_CCM_8,
    record_numbers: record_number::AES_128,
    confidentiality_limit: AES_CCM_LIMIT,
    integrity_limit: AES_CCM_8_FORGERIES,
};

/// 2^24.5 full-size records (RFC 9846, 5.5).
pub const AES_GCM_LIMIT: u64 = 23_726_566;

/// The record sequence number wraps before the limit is reached (RFC 9846, 5.5).
pub const CHACHA20_POLY1305_LIMIT: u64 = u64::MAX;

/// 2^36 records (RFC 9147, 4.5.3).
pub const FORGERIES: u64 = 1 << 36;

/// 2^23.5 records (RFC 9147, 4.5.3 and Appendix B.2).
pub const AES_CCM_FORGERIES: u64 = 11_863_283;

/// 2^7 records (RFC 9147, Appendix B.3): with a tag of 8 bytes, more would give a forger better chances than with the other
/// suites.
pub const AES_CCM_8_FORGERIES: u64 = 1 << 7;

/// 2^23 records (RFC 9147, 4.5.3 and Appendix B.1; TLS states none). The tag's length does not enter.
pub const AES_CCM_LIMIT: u64 = 1 << 23;
