//! The smallest pledge of constrained BRSKI: DTLS 1.3 with one suite, P-256 alone, requests that name the registrar by the hash
//! of its key.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use embedded_alloc::LlffHeap;
use terse_pledge::coaps::CoapsExchange;
use terse_pledge::keys;
use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::Trust;
use terse_tls::crypto::CryptoProvider;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

static PROVIDER: CryptoProvider = CryptoProvider::new("min", verify::P256, hash::SHA256, sign::load_p256_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_pledge::start::<CoapsExchange>(&HEAP, &PROVIDER, keys::p256, Trust::without_path_building)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    terse_pledge::stop()
}
