//! Cipher suites of TLS 1.3 (RFC 9846, B.4), and of TLS 1.2: those with an AEAD and, but for the last, with forward
//! secrecy. Those of TLS 1.2 use the PRF with the hash that they name, or SHA-256 where they name none (RFC 5246, 5).
//! AES-CCM is RustCrypto's.

use crate::{hash, record_number};

/// The AEADs of all suites.
mod aead {
    pub(super) use terse_rustcrypto::aead::{AES_128_CCM, AES_128_CCM_8};

    pub(super) use crate::aead::{AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305};
}

terse_tls::define_cipher_suites!();
