//! TLS 1.3 with an identity key on ristretto255 (docs/identity.md).
#![no_std]
#![no_main]

use terse_device::known::Device;
use terse_ibc::files::{AnyKey, KeyFile};
use terse_rustcrypto::{hash, suites};
use terse_tls::crypto::{CryptoProvider, SignatureAlgorithms};
use terse_tls::{ClientConfig, ClientIdentity, ClientParts};

static PROVIDER: CryptoProvider =
    CryptoProvider::new("lean", SignatureAlgorithms::new(&[], &[]), hash::SHA256, terse_lean::no_key_files)
        .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_lean::start(configure, 1)
}

fn configure(device: &Device) -> Option<ClientConfig> {
    let mut config = ClientConfig::builder_of(&PROVIDER, ClientParts::NONE.tls13().streams());
    config.identity(ClientIdentity::new(KeyFile::<AnyKey>::from_bytes(&device.identity).ok()?.key.into_key()));
    config.record_size_limit(1_024).max_record(1_024).max_handshake_message(2_048).max_send_buffer(1_024);
    config.into_config().ok()
}
