//! What operations on P-256 cost on a Cortex-M4F, with both providers side by side: instructions, and bytes of stack and heap.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::panic::PanicInfo;

use terse_board::heap::Heap;
use terse_board::{end, instructions, println, stack};
use terse_provider_suite::keys::{P256_SCALAR, sec1};
use terse_provider_suite::{FixedRng, SeededRng, hex, subject_public_key};
use terse_tls::crypto::{CryptoProvider, KeyExchange, SigningKey};
use terse_tls::{NamedGroup, SignatureScheme};

#[global_allocator]
static HEAP: Heap<0x8000> = Heap::new();

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

#[cortex_m_rt::entry]
fn main() -> ! {
    HEAP.begin();
    let [ours, theirs] = [&terse_cortex_m4::PROVIDER, &terse_rustcrypto::PROVIDER].map(costs);
    println!(
        "| operation | instructions, assembly | RustCrypto | ratio | stack B, assembly | RustCrypto | heap B, assembly | RustCrypto |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, ours, theirs) in ours.iter().zip(&theirs).map(|((name, ours), (_, theirs))| (name, ours, theirs)) {
        let tenths = theirs.instructions * 10 / ours.instructions;
        println!(
            "| {} | {} | {} | {}.{} | {} | {} | {} | {} |",
            name,
            ours.instructions,
            theirs.instructions,
            tenths / 10,
            tenths % 10,
            ours.stack,
            theirs.stack,
            ours.heap,
            theirs.heap
        );
        assert!(ours.instructions < theirs.instructions, "{name}: the assembly is no faster");
    }
    end::succeed()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    end::report(info)
}

struct Cost {
    instructions: u32,
    stack: usize,
    heap: usize,
}

/// Measures `run` three times, each time with another instrument. All runs must do the same.
fn cost(mut run: impl FnMut()) -> Cost {
    let ((), instructions) = instructions::measure(&mut run);
    let ((), stack) = stack::measure(&mut run);
    let ((), heap) = HEAP.measure(&mut run);
    Cost { instructions, stack, heap }
}

/// Returns what each operation costs.
fn costs(provider: &CryptoProvider) -> [(&'static str, Cost); 5] {
    let group = provider.group(NamedGroup::SECP256R1).expect("a full provider");
    let start = || group.start(&mut SeededRng(1)).expect("good randomness");
    let peer = group.start(&mut SeededRng(2)).expect("good randomness").key_share().to_vec();
    let (_, algorithms) =
        provider.signatures.by_scheme.iter().find(|(scheme, _)| *scheme == SCHEME).expect("a full provider");
    let pem = sec1(&hex(P256_SCALAR), &[]);
    let load = || provider.load_key(&pem).expect("a valid key");
    let key = load();
    let public = key.public_key();
    let public = subject_public_key(&public);
    let signature = sign(&key);
    let mut exchanges: Vec<Box<dyn KeyExchange>> = (0..3).map(|_| start()).collect();
    [
        ("load a key", cost(|| drop(load()))),
        ("sign", cost(|| drop(sign(&key)))),
        ("verify", cost(|| algorithms[0].verify_signature(public, MESSAGE, &signature).expect("a right signature"))),
        ("ECDH: key pair", cost(|| drop(start()))),
        (
            "ECDH: secret",
            cost(|| drop(exchanges.pop().expect("one each time").complete(&peer).expect("a valid share"))),
        ),
    ]
}

const MESSAGE: &[u8] = &[0x20; 130]; // as long as what CertificateVerify signs (RFC 9846, 4.5.2)

fn sign(key: &Arc<dyn SigningKey>) -> Vec<u8> {
    key.sign(SCHEME, MESSAGE, &mut FixedRng(Vec::new())).expect("no randomness is needed").done().expect("at once")
}
