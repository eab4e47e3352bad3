//! Record numbers are encrypted (RFC 9147, 4.2.3) as by QUIC's header protection, for which RFC 9001 has vectors.

use alloc::vec;

use terse_tls::CipherSuite;
use terse_tls::crypto::{CryptoError, CryptoProvider, RecordNumberCipher};

use super::hex;

fn cipher(provider: &CryptoProvider, id: CipherSuite) -> &'static dyn RecordNumberCipher {
    provider.tls13_suite(id).expect("the provider has all suites").record_numbers
}

/// The vectors are those of RFC 9001, A.2 and A.5; for AES-256, of FIPS 197, C.3.
pub fn known_answers(provider: &CryptoProvider) {
    for (suites, sn_key, ciphertext, mask) in [
        (
            &[
                CipherSuite::TLS_AES_128_GCM_SHA256,
                CipherSuite::TLS_AES_128_CCM_SHA256,
                CipherSuite::TLS_AES_128_CCM_8_SHA256,
            ][..],
            "9f50449e04a0e810283a1e9933adedd2",
            "d1b1c98dd7689fb8ec11d242b123dc9b",
            "437b",
        ),
        (
            &[CipherSuite::TLS_AES_256_GCM_SHA384],
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "00112233445566778899aabbccddeeff",
            "8ea2",
        ),
        (
            &[CipherSuite::TLS_CHACHA20_POLY1305_SHA256],
            "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
            "5e5cd55c41f69080575d7999c25a5bfb",
            "aefe",
        ),
    ] {
        for suite in suites {
            let key = cipher(provider, *suite).key(&hex(sn_key)).expect("a key of the right length");
            let ciphertext = hex(ciphertext).try_into().expect("16 bytes");
            assert_eq!(key.mask(&ciphertext).as_slice(), hex(mask), "{suite}");
        }
    }
}

/// Keys have the length of the AEAD's keys, and any other length is refused.
pub fn wrong_lengths(provider: &CryptoProvider) {
    for suite in provider.tls13_suites {
        for len in 0..65 {
            let key = suite.record_numbers.key(&vec![7; len]);
            let expected = if len == suite.aead.key_len() { None } else { Some(CryptoError::InvalidLength) };
            assert_eq!(key.err(), expected, "{} with {len} bytes", suite.id);
        }
    }
}
