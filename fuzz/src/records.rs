//! The fuzz target `records` runs the record layer and the stream link, with any bytes cut anywhere, and with the
//! records that one side sends to the other.
//!
//! ```text
//! what(1) suite(1) parameters(2) cuts(8) stream
//! ```

use terse_tls::CipherSuite;
use terse_tls::fuzzing::{Keys, loopback, receive};

use crate::provider;

/// The length of what comes before the stream.
pub const HEADER_LEN: usize = 12;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(([what, suite, parameters @ .., _, _, _, _, _, _, _, _], stream)) = data.split_first_chunk::<HEADER_LEN>()
    else {
        return;
    };
    let [first, second] = *parameters;
    let provider = if what & 1 == 0 { provider::transparent() } else { provider::binding() };
    let keys = Keys::new(&provider, SUITES[usize::from(*suite) % SUITES.len()]).expect("the provider has these suites");
    if what & 2 == 0 {
        let cuts = &data[4..HEADER_LEN];
        receive((what & 4 == 0).then_some(&keys), first, cuts, stream);
    } else {
        // There are few enough records for every key.
        let damage = (what & 4 != 0).then_some((usize::from(first) * 4, second));
        loopback(&keys, &stream[..stream.len().min(30)], damage);
    }
}

/// The suites have both tag lengths and both kinds of nonce.
pub const SUITES: [CipherSuite; 5] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_128_CCM_8_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_PSK_WITH_AES_128_CCM_8,
];
