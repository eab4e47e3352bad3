//! What `tls13-x509` and `tls13-raw-key` take without an engine.
#![no_std]
#![no_main]

use terse_lean::crypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::CryptoProvider;

static PROVIDER: CryptoProvider = CryptoProvider::new("bare", verify::P256, hash::SHA256, terse_lean::no_key_files)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_lean::start_bare(&PROVIDER, Some(|device| sign::p256_key(device.key[..].first_chunk()?).ok()))
}
