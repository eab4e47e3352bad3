//! A pledge of BRSKI over HTTPS: TLS 1.3 with two suites, X25519 and P-256, ECDSA, CMS and JSON.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embedded_alloc::LlffHeap;
use terse_pledge::https::HttpsExchange;
use terse_pledge::keys;
use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::Trust;
use terse_tls::crypto::CryptoProvider;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

static PROVIDER: CryptoProvider = CryptoProvider::new("https", verify::P256, hash::SHA256, sign::load_p256_key)
    .tls13_suites(&[&suites::TLS_AES_128_GCM_SHA256, &suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1])
    .sha1(Some(hash::sha1));

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_pledge::start::<HttpsExchange>(&HEAP, &PROVIDER, keys::p256, Trust::without_path_building)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    terse_pledge::stop()
}
