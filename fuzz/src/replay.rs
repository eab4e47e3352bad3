//! The fuzz target `replay` compares the replay window, for record numbers in any order, with a set of all numbers, and
//! repeats and changes real records.
//!
//! ```text
//! what(1) script
//! ```

use terse_tls::CipherSuite;
use terse_tls::fuzzing::{Keys, repeated, window};

use crate::provider;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((what, script)) = data.split_first() else { return };
    if what & 1 == 0 {
        return window(script);
    }
    let suite = SUITES[usize::from(what >> 1) % SUITES.len()];
    let keys = Keys::new(&provider::binding(), suite).expect("the provider has these suites");
    repeated(&keys, &[7; 255][..usize::from(what >> 3)], script);
}

/// The suites have both tag lengths and both kinds of nonce.
const SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_PSK_WITH_AES_128_CCM_8,
];
