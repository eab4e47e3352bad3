//! A client whose cryptography is RustCrypto's.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::CryptoProvider;

static PROVIDER: CryptoProvider = CryptoProvider::new("rustcrypto", verify::P256, hash::SHA256, sign::load_p256_key)
    .tls13_suites(&[&suites::TLS_AES_128_GCM_SHA256, &suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1, group::X25519]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_client::start(&PROVIDER)
}

#[panic_handler]
fn panic(panic: &PanicInfo<'_>) -> ! {
    terse_board::end::report(panic)
}
