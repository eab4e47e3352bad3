//! Cipher suites of TLS 1.2: those with an AEAD and, but for the last, with forward secrecy.
//!
//! All use the PRF with the hash that they name, or SHA-256 where they name none (RFC 5246, 5).
//! AES-CCM comes from `terse-rustcrypto`.

use terse_rustcrypto::aead::{AES_128_CCM, AES_128_CCM_8};
use terse_rustcrypto::suites::{AES_CCM_LIMIT, AES_GCM_LIMIT, CHACHA20_POLY1305_LIMIT};
use terse_tls::CipherSuite;
use terse_tls::crypto::{Tls12KeyExchange, Tls12Nonce, Tls12Suite};

use crate::{aead, hash};

/// All suites of TLS 1.2, preferred first: the ciphers in the order of TLS 1.3, those for pre-shared keys last.
pub static ALL_TLS12: &[&Tls12Suite] = &[
    &TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    &TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    &TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    &TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    &TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    &TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    &TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
    &TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
    &TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256,
    &TLS_PSK_WITH_AES_128_CCM_8,
];

/// AES-128-GCM, for an ECDSA or EdDSA key (RFC 5289, 3.2).
pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    key_exchange: Tls12KeyExchange::EcdheEcdsa,
    hash: hash::SHA256,
    aead: aead::AES_128_GCM,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_GCM_LIMIT,
};

/// AES-128-GCM, for an RSA key (RFC 5289, 3.2).
pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    key_exchange: Tls12KeyExchange::EcdheRsa,
    hash: hash::SHA256,
    aead: aead::AES_128_GCM,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_GCM_LIMIT,
};

/// AES-256-GCM, for an ECDSA or EdDSA key (RFC 5289, 3.2).
pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    key_exchange: Tls12KeyExchange::EcdheEcdsa,
    hash: hash::SHA384,
    aead: aead::AES_256_GCM,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_GCM_LIMIT,
};

/// AES-256-GCM, for an RSA key (RFC 5289, 3.2).
pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    key_exchange: Tls12KeyExchange::EcdheRsa,
    hash: hash::SHA384,
    aead: aead::AES_256_GCM,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_GCM_LIMIT,
};

/// ChaCha20-Poly1305, for an ECDSA or EdDSA key (RFC 7905, 3).
pub static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    key_exchange: Tls12KeyExchange::EcdheEcdsa,
    hash: hash::SHA256,
    aead: aead::CHACHA20_POLY1305,
    nonce: Tls12Nonce::Implicit,
    confidentiality_limit: CHACHA20_POLY1305_LIMIT,
};

/// ChaCha20-Poly1305, for an RSA key (RFC 7905, 3).
pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    key_exchange: Tls12KeyExchange::EcdheRsa,
    hash: hash::SHA256,
    aead: aead::CHACHA20_POLY1305,
    nonce: Tls12Nonce::Implicit,
    confidentiality_limit: CHACHA20_POLY1305_LIMIT,
};

/// AES-128-CCM, for an ECDSA or EdDSA key (RFC 7251, 2).
pub static TLS_ECDHE_ECDSA_WITH_AES_128_CCM: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
    key_exchange: Tls12KeyExchange::EcdheEcdsa,
    hash: hash::SHA256,
    aead: AES_128_CCM,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_CCM_LIMIT,
};

/// AES-128-CCM with an 8-byte tag, for an ECDSA or EdDSA key (RFC 7251, 2).
pub static TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
    key_exchange: Tls12KeyExchange::EcdheEcdsa,
    hash: hash::SHA256,
    aead: AES_128_CCM_8,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_CCM_LIMIT,
};

/// AES-128-CCM with an 8-byte tag, for a pre-shared key with forward secrecy (RFC 8442, 3).
pub static TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256,
    key_exchange: Tls12KeyExchange::EcdhePsk,
    hash: hash::SHA256,
    aead: AES_128_CCM_8,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_CCM_LIMIT,
};

/// AES-128-CCM with an 8-byte tag, for a pre-shared key and nothing else (RFC 6655, 5): small, but
/// who learns the key reads everything that was ever sent.
pub static TLS_PSK_WITH_AES_128_CCM_8: Tls12Suite = Tls12Suite {
    id: CipherSuite::TLS_PSK_WITH_AES_128_CCM_8,
    key_exchange: Tls12KeyExchange::Psk,
    hash: hash::SHA256,
    aead: AES_128_CCM_8,
    nonce: Tls12Nonce::Explicit,
    confidentiality_limit: AES_CCM_LIMIT,
};
