//! What `tls13-psk` takes without an engine.
#![no_std]
#![no_main]

use terse_rustcrypto::{group, hash, suites};
use terse_tls::crypto::{CryptoProvider, SignatureAlgorithms};

static PROVIDER: CryptoProvider =
    CryptoProvider::new("bare", SignatureAlgorithms::new(&[], &[]), hash::SHA256, terse_lean::no_key_files)
        .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
        .groups(&[group::X25519]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_lean::start_bare(&PROVIDER, None)
}
