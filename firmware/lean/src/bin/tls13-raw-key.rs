//! TLS 1.3 with raw public keys on P-256 on both sides (RFC 7250).
#![no_std]
#![no_main]

use pki_types::SubjectPublicKeyInfoDer;
use terse_device::known::Device;
use terse_lean::crypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{ClientConfig, ClientParts, Credential, Trust};

static PROVIDER: CryptoProvider = CryptoProvider::new("lean", verify::P256, hash::SHA256, terse_lean::no_key_files)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_lean::start(configure, 1)
}

fn configure(device: &Device) -> Option<ClientConfig> {
    let mut config = ClientConfig::builder_of(&PROVIDER, ClientParts::NONE.tls13().streams());
    let server = device.anchors.first()?; // the file has its public key in the place of an anchor
    config.trust(Trust::raw_public_keys(&[SubjectPublicKeyInfoDer::from(&server[..])]).ok()?);
    let key = sign::p256_key(device.key[..].first_chunk()?).ok()?;
    config.credential(Credential::raw_public_key(key).ok()?);
    config.record_size_limit(1_024).max_record(1_024).max_handshake_message(2_048).max_send_buffer(1_024);
    config.into_config().ok()
}
