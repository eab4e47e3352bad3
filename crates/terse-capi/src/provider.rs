//! The cryptography of small devices, a part of [`terse_rustcrypto::PROVIDER`].

use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::CryptoProvider;

/// Keys and certificates on P-256, and two ciphers of version 1.3 with SHA-256.
pub(crate) static P256: CryptoProvider =
    CryptoProvider::new("rustcrypto-p256", verify::P256, hash::SHA256, sign::load_p256_key)
        .tls13_suites(&[&suites::TLS_AES_128_GCM_SHA256, &suites::TLS_AES_128_CCM_SHA256])
        .groups(&[group::X25519, group::SECP256R1]);
