//! The vectors of project Wycheproof run through the traits that the engine uses, with both providers, by the checks of
//! `terse_provider_suite::wycheproof`.

use alloc::format;
use alloc::vec;

use pki_types::{AlgorithmIdentifier, alg_id};
use terse_board::println;
use terse_provider_suite::wycheproof::{Outcome, SealedRecord, Tally, agree, open, scalar, verify};
use terse_tls::crypto::{CryptoProvider, NONCE_LEN};
use terse_tls::{CipherSuite, NamedGroup};

use crate::vectors::vectors;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

pub(crate) fn run(providers: [&CryptoProvider; 2]) {
    let p256 = (alg_id::ECDSA_P256, alg_id::ECDSA_SHA256);
    let ed25519 = (alg_id::ED25519, alg_id::ED25519);
    with_both(providers, "ECDSA P-256 SHA-256", |provider| signatures(provider, p256, file!("ecdsa-p256-sha256")));
    with_both(providers, "ECDH secp256r1", |provider| {
        agreements(provider, NamedGroup::SECP256R1, file!("ecdh-secp256r1"))
    });
    with_both(providers, "Ed25519", |provider| signatures(provider, ed25519, file!("ed25519")));
    with_both(providers, "x25519", |provider| agreements(provider, NamedGroup::X25519, file!("x25519")));
    with_both(providers, "AES-128-GCM", |provider| {
        records(provider, CipherSuite::TLS_AES_128_GCM_SHA256, file!("aes-gcm"))
    });
    with_both(providers, "AES-128-CCM", |provider| {
        records(provider, CipherSuite::TLS_AES_128_CCM_SHA256, file!("aes-ccm"))
    });
    with_both(providers, "ChaCha20-Poly1305", |provider| {
        records(provider, CipherSuite::TLS_CHACHA20_POLY1305_SHA256, file!("chacha20-poly1305"))
    });
    with_both(providers, "HMAC SHA-256", hmac);
    with_both(providers, "HKDF SHA-256", hkdf);
}

/// Runs `check` with both providers, which must agree. Some vectors must be accepted, and some refused.
fn with_both(providers: [&CryptoProvider; 2], name: &str, check: impl Fn(&CryptoProvider) -> Tally) {
    let [first, second] = providers.map(check);
    assert_eq!(first, second, "{name}");
    let Tally { accepted, refused, skipped } = &first;
    println!("  {}: {} accepted, {} refused, with each; skipped: {:?}", name, accepted, refused, skipped);
    assert!(*accepted > 0 && *refused > 0, "{name}: no vectors of a kind ran");
}

fn signatures(
    provider: &CryptoProvider,
    algorithm: (AlgorithmIdentifier, AlgorithmIdentifier),
    file: &'static [u8],
) -> Tally {
    let mut tally = Tally::default();
    for vector in vectors(file) {
        let [info, message, signature] = vector.fields;
        let accepted = verify(provider, algorithm, info, message, signature);
        tally.check(vector.outcome, false, accepted, &format!("{}: {algorithm:?}, {}", provider.name, vector.number));
    }
    tally
}

/// The acceptable vectors of secp256r1 have compressed points, which TLS does not have. Those of x25519 have unusual points;
/// RFC 9846, 7.4.2 refuses those whose secret is zero.
fn agreements(provider: &CryptoProvider, group: NamedGroup, file: &'static [u8]) -> Tally {
    let mut tally = Tally::default();
    for vector in vectors(file) {
        let [private, share, expected] = vector.fields;
        let private = if group == NamedGroup::X25519 { private.to_vec() } else { scalar(private, 32) };
        let secret = agree(provider, group, &private, share);
        let context = format!("{}: {group}, {}", provider.name, vector.number);
        if let Some(secret) = &secret {
            assert_eq!(secret[..], *expected, "{context}");
        }
        let acceptable = group == NamedGroup::X25519 && expected.iter().any(|byte| *byte != 0);
        tally.check(vector.outcome, acceptable, secret.is_some(), &context);
    }
    tally
}

fn records(provider: &CryptoProvider, suite: CipherSuite, file: &'static [u8]) -> Tally {
    let mut tally = Tally::default();
    let aead = provider.tls13_suite(suite).expect("a full provider").aead;
    for vector in vectors(file) {
        let [key, nonce, aad, plaintext, ciphertext, tag] = vector.fields;
        if key.len() != aead.key_len() {
            tally.skip("key size");
        } else if nonce.len() != NONCE_LEN {
            tally.skip("nonce size");
        } else if tag.len() != aead.tag_len() {
            tally.skip("tag size");
        } else {
            let record = SealedRecord { key, nonce, aad, plaintext, ciphertext, tag };
            let context = format!("{}: {suite}, {}", provider.name, vector.number);
            tally.check(vector.outcome, false, open(aead, &record), &context);
        }
    }
    tally
}

fn hmac(provider: &CryptoProvider) -> Tally {
    let mut tally = Tally::default();
    for vector in vectors(file!("hmac-sha256")) {
        let [key, message, tag] = vector.fields;
        if tag.len() != provider.sha256.output_len() {
            tally.skip("truncated tag");
            continue;
        }
        let is_same = provider.sha256.hmac(key, &[message]).as_ref() == tag;
        tally.check(vector.outcome, false, is_same, &format!("{}: HMAC, {}", provider.name, vector.number));
    }
    tally
}

/// The invalid vectors want more than HKDF can give, and say nothing else.
fn hkdf(provider: &CryptoProvider) -> Tally {
    let mut tally = Tally::default();
    for vector in vectors(file!("hkdf-sha256")) {
        let [ikm, salt, info, okm] = vector.fields;
        let len = if vector.outcome == Outcome::Invalid { 255 * provider.sha256.output_len() + 1 } else { okm.len() };
        let mut out = vec![0; len];
        let key = provider.sha256.hkdf_extract(salt, ikm);
        let is_expanded = provider.sha256.hkdf_expand(key.as_ref(), &[info], &mut out).is_ok();
        let is_same = is_expanded && out == okm;
        tally.check(vector.outcome, false, is_same, &format!("{}: HKDF, {}", provider.name, vector.number));
    }
    tally
}
