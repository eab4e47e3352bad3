//! A device of constrained BRSKI with P-256 in assembly, and RustCrypto for the rest.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use terse_board::ethernet::Datagrams;
use terse_board::heap::Heap;
use terse_cortex_m4::{group, hash, sign, suites, verify};
use terse_pledge::coaps::CoapsExchange;
use terse_tls::crypto::CryptoProvider;

#[global_allocator]
static HEAP: Heap<65_536> = Heap::new();

static PROVIDER: CryptoProvider = CryptoProvider::new("cortex-m4", verify::P256, hash::SHA256, sign::load_p256_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(&[group::SECP256R1]);

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_onboard_image::start::<CoapsExchange, Datagrams, _>(&PROVIDER, |secret| sign::p256_key(secret).ok(), &HEAP)
}

#[panic_handler]
fn panic(panic: &PanicInfo<'_>) -> ! {
    terse_board::end::report(panic)
}
