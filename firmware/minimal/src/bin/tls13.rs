//! Probe.
#![no_std]
#![no_main]
extern crate alloc;
use pki_types::CertificateDer;
use terse_minimal::*;
use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::{CryptoProvider, SignatureAlgorithms};
use terse_tls::*;
static SIGNATURES: SignatureAlgorithms = SignatureAlgorithms::new(
    &[verify::ECDSA_P256_SHA256],
    &[(SignatureScheme::ECDSA_SECP256R1_SHA256, &[verify::ECDSA_P256_SHA256])],
);
static PROVIDER: CryptoProvider = CryptoProvider::new("min", SIGNATURES, hash::SHA256, sign::load_p256_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1]);
#[cortex_m_rt::entry]
fn main() -> ! {
    begin();
    let mut place = 0;
    let mut config = ClientConfig::builder_of(&PROVIDER, ClientParts::NONE.tls13().streams());
    let ca = CertificateDer::from(item(&mut place));
    config.trust(Trust::without_path_building(&[ca]).ok().unwrap()).credential(credential(&PROVIDER, &mut place));
    config.record_size_limit(1024).max_record(1024).max_handshake_message(2048).max_send_buffer(1024);
    run(config.build().ok().unwrap())
}
