//! TLS 1.3 with a pre-shared key and X25519.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;

use terse_device::known::Device;
use terse_rustcrypto::{group, hash, suites};
use terse_tls::crypto::{CryptoProvider, SignatureAlgorithms};
use terse_tls::resume::ExternalPsk;
use terse_tls::{ClientConfig, ClientParts};

static PROVIDER: CryptoProvider =
    CryptoProvider::new("lean", SignatureAlgorithms::new(&[], &[]), hash::SHA256, terse_lean::no_key_files)
        .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
        .groups(&[group::X25519]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_lean::start(configure, 1)
}

fn configure(device: &Device) -> Option<ClientConfig> {
    let mut config = ClientConfig::builder_of(&PROVIDER, ClientParts::NONE.tls13().streams());
    config.psks(vec![ExternalPsk::new(&device.psk.0, &device.psk.1).ok()?]);
    config.record_size_limit(1_024).max_record(1_024).max_handshake_message(2_048).max_send_buffer(1_024);
    config.into_config().ok()
}
