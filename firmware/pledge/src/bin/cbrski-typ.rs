//! A pledge of constrained BRSKI as it is typical: DTLS 1.3 with three suites, X25519 and P-256, Ed25519 and ECDSA.
#![no_std]
#![no_main]

use alloc::sync::Arc;
use core::panic::PanicInfo;

use embedded_alloc::LlffHeap;
use pki_types::PrivateKeyDer;
use terse_pledge::coaps::CoapsExchange;
use terse_pledge::keys;
use terse_rustcrypto::{group, hash, sign, suites, verify};
use terse_tls::crypto::{CryptoProvider, KeyError, SignatureAlgorithms, SigningKey};
use terse_tls::{SignatureScheme, Trust};

extern crate alloc;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

static SIGNATURES: SignatureAlgorithms = SignatureAlgorithms::new(
    &[verify::ED25519, verify::ECDSA_P256_SHA256],
    &[
        (SignatureScheme::ED25519, &[verify::ED25519]),
        (SignatureScheme::ECDSA_SECP256R1_SHA256, &[verify::ECDSA_P256_SHA256]),
    ],
);

static PROVIDER: CryptoProvider = CryptoProvider::new("typ", SIGNATURES, hash::SHA256, load_key)
    .tls13_suites(&[
        &suites::TLS_AES_128_CCM_SHA256,
        &suites::TLS_AES_128_GCM_SHA256,
        &suites::TLS_CHACHA20_POLY1305_SHA256,
    ])
    .groups(&[group::X25519, group::SECP256R1]);

fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    sign::load_ed25519_key(key).or_else(|_| sign::load_p256_key(key))
}

#[cortex_m_rt::entry]
fn main() -> ! {
    terse_pledge::start::<CoapsExchange>(&HEAP, &PROVIDER, keys::ed25519, Trust::new)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    terse_pledge::stop()
}
