//! Probe.
#![no_std]
#![no_main]
extern crate alloc;
use terse_minimal::*;
use terse_rustcrypto::{group, hash, suites};
use terse_tls::crypto::{CryptoProvider, SignatureAlgorithms};
use terse_tls::*;
static SIGNATURES: SignatureAlgorithms = SignatureAlgorithms::new(
    &[], &[],
);
static PROVIDER: CryptoProvider = CryptoProvider::new("min", SIGNATURES, hash::SHA256, no_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::X25519]);
fn no_key(_: &pki_types::PrivateKeyDer<'_>) -> Result<alloc::sync::Arc<dyn terse_tls::crypto::SigningKey>, terse_tls::crypto::KeyError> { panic!() }
#[cortex_m_rt::entry]
fn main() -> ! {
    begin();
    let mut place = 0;
    let mut config = ClientConfig::builder_of(&PROVIDER, ClientParts::NONE.tls13().streams());
    let (identity, key) = (item(&mut place), item(&mut place));
    config.psks([resume::ExternalPsk::new(&identity, &key).ok().unwrap()]);
    config.record_size_limit(1024).max_record(1024).max_handshake_message(2048).max_send_buffer(1024);
    run(config.build().ok().unwrap())
}
