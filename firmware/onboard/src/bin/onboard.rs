//! A device of constrained BRSKI whose cryptography is RustCrypto's.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use terse_board::ethernet::Datagrams;
use terse_board::heap::Heap;
use terse_pledge::coaps::CoapsExchange;
use terse_pledge::keys;
use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::CryptoProvider;

#[global_allocator]
static HEAP: Heap<65_536> = Heap::new();

static PROVIDER: CryptoProvider = CryptoProvider::new("rustcrypto", verify::P256, hash::SHA256, sign::load_p256_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_onboard_image::start::<CoapsExchange, Datagrams, _>(&PROVIDER, keys::p256, &HEAP)
}

#[panic_handler]
fn panic(panic: &PanicInfo<'_>) -> ! {
    terse_board::end::report(panic)
}
