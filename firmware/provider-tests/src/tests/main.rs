//! Tests the providers for devices on a Cortex-M4F: the suite for providers, the vectors of project Wycheproof, what only
//! the provider with assembly promises, and the functions for memory that all images have. Both providers go through the same tests. A check that fails panics, and ends the run
//! with exit code 1.
#![no_std]
#![no_main]

extern crate alloc;

use core::panic::PanicInfo;

use terse_board::heap::Heap;
use terse_board::{end, println};
use terse_tls::crypto::CryptoProvider;

mod memory;
mod p256;
mod vectors;
mod wycheproof;

#[global_allocator]
static HEAP: Heap<0x28_0000> = Heap::new();

static PROVIDERS: [&CryptoProvider; 2] = [&terse_cortex_m4::PROVIDER, &terse_rustcrypto::PROVIDER];

#[cortex_m_rt::entry]
fn main() -> ! {
    HEAP.begin();
    for provider in PROVIDERS {
        println!("the suite for providers, with {}", provider.name);
        for (name, check) in terse_provider_suite::CHECKS {
            println!("  {}", name);
            check(provider);
        }
    }
    println!("the vectors of project Wycheproof");
    wycheproof::run(PROVIDERS);
    println!("memory");
    memory::run();
    println!("P-256 in assembly");
    p256::run();
    println!("all tests passed");
    end::succeed()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    end::report(info)
}
