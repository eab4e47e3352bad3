//! What the provider with assembly promises beyond the suite for providers: it computes what RustCrypto computes, byte for
//! byte, and leaves no secret on the stack or in the registers of the FPU.

use alloc::vec::Vec;

use terse_board::println;
use terse_board::registers::float_registers;
use terse_board::stack::inspect;
use terse_cortex_m4::{group, sign, verify};
use terse_provider_suite::keys::{P256_SCALAR, sec1};
use terse_provider_suite::signatures::{P256_SHA256, ecdsa_signature};
use terse_provider_suite::{FixedRng, SeededRng, hex, subject_public_key};
use terse_rustcrypto as rustcrypto;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Group, KeyError, Signing, SigningKey};

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

pub(crate) fn run() {
    let tests: [(&str, fn()); 8] = [
        ("signatures_are_those_of_rfc_6979", signatures_are_those_of_rfc_6979),
        ("signatures_are_those_of_rustcrypto", signatures_are_those_of_rustcrypto),
        ("secrets_are_those_of_rustcrypto", secrets_are_those_of_rustcrypto),
        ("wrong_signatures_are_refused", wrong_signatures_are_refused),
        ("private_keys_are_in_range", private_keys_are_in_range),
        ("no_secret_stays_on_the_stack", no_secret_stays_on_the_stack),
        ("the_stack_is_overwritten_to_its_end", the_stack_is_overwritten_to_its_end),
        ("the_registers_of_the_fpu_are_cleared", the_registers_of_the_fpu_are_cleared),
    ];
    for (name, test) in tests {
        println!("  {}", name);
        test();
    }
}

fn signed(key: &dyn SigningKey, message: &[u8]) -> Vec<u8> {
    // No randomness is drawn.
    let signing = key.sign(SCHEME, message, &mut FixedRng(Vec::new())).expect("no randomness is needed");
    signing.done().expect("a key in memory signs at once")
}

/// RFC 6979, A.2.5.
fn signatures_are_those_of_rfc_6979() {
    let key = sign::load_p256_key(&sec1(&hex(P256_SCALAR), &[])).expect("a valid scalar");
    assert_eq!(signed(&*key, b"sample"), ecdsa_signature(P256_SHA256));
}

/// Keys at the ends of the range are among those that sign.
fn signatures_are_those_of_rustcrypto() {
    let mut one = [0; 32];
    one[31] = 1;
    let mut last = hex(ORDER);
    last[31] -= 1;
    let mut scalars = [one.to_vec(), last].to_vec();
    let mut rng = SeededRng(6);
    for _ in 0..14 {
        let mut scalar = [0; 32];
        terse_tls::crypto::Rng::fill(&mut rng, &mut scalar).expect("it never fails");
        scalars.push(scalar.to_vec());
    }
    for scalar in &scalars {
        let ours = sign::load_key(&sec1(scalar, &[])).expect("a valid scalar");
        let theirs = rustcrypto::sign::load_key(&sec1(scalar, &[])).expect("a valid scalar");
        assert_eq!(ours.public_key(), theirs.public_key());
        for message in [&b""[..], b"message", &[0x20; 500]] {
            let signature = signed(&*ours, message);
            assert_eq!(signature, signed(&*theirs, message), "{scalar:02x?}");
            let public = ours.public_key();
            let public = subject_public_key(&public);
            assert!(verify::ECDSA_P256_SHA256.verify_signature(public, message, &signature).is_ok());
        }
    }
}

fn secrets_are_those_of_rustcrypto() {
    for seed in 0..16 {
        let run = |client: &dyn Group, server: &dyn Group| {
            let mut rng = SeededRng(seed);
            let exchange = client.start(&mut rng).expect("good randomness");
            let share = exchange.key_share().to_vec();
            let (answer, secret) = server.respond(&mut rng, &share).expect("a valid share");
            assert_eq!(exchange.complete(&answer).expect("a valid share").as_ref(), secret.as_ref(), "seed {seed}");
            (share, answer, secret.as_ref().to_vec())
        };
        let ours = run(group::SECP256R1, group::SECP256R1);
        assert_eq!(ours, run(rustcrypto::group::SECP256R1, rustcrypto::group::SECP256R1), "seed {seed}");
        assert_eq!(ours, run(group::SECP256R1, rustcrypto::group::SECP256R1), "seed {seed}");
    }
}

/// A signature with each bit changed, of another message, and of another key.
fn wrong_signatures_are_refused() {
    let key = sign::load_p256_key(&sec1(&hex(P256_SCALAR), &[])).expect("a valid scalar");
    let other = sign::load_p256_key(&sec1(&[7; 32], &[])).expect("a valid scalar");
    let public = key.public_key();
    let public = subject_public_key(&public);
    let verifies = |message: &[u8], signature: &[u8]| {
        verify::ECDSA_P256_SHA256.verify_signature(public, message, signature).is_ok()
    };
    let signature = signed(&*key, b"message");
    assert!(verifies(b"message", &signature));
    assert!(!verifies(b"massage", &signature));
    assert!(!verifies(b"message", &signed(&*other, b"message")));
    for bit in 0..8 * signature.len() {
        let mut wrong = signature.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifies(b"message", &wrong), "bit {bit}");
    }
}

/// 0, the order of the curve, and more are no private keys: not of a file, and not in an exchange.
fn private_keys_are_in_range() {
    let mut more = hex(ORDER);
    more[31] += 1;
    for scalar in [[0; 32].to_vec(), hex(ORDER), more, [0xff; 32].to_vec()] {
        assert_eq!(sign::load_p256_key(&sec1(&scalar, &[])).err(), Some(KeyError::Malformed), "{scalar:02x?}");
        assert_eq!(
            group::SECP256R1.start(&mut FixedRng(scalar.clone())).err(),
            Some(CryptoError::RandomFailed),
            "{scalar:02x?}"
        );
        // Another draw gives a key.
        let exchange =
            group::SECP256R1.start(&mut FixedRng([scalar, [1; 32].to_vec()].concat())).expect("a valid draw");
        let expected = group::SECP256R1.start(&mut FixedRng([1; 32].to_vec())).expect("a valid draw");
        assert_eq!(exchange.key_share(), expected.key_share());
    }
}

/// The order of the curve (SP 800-186, 3.2.1.3).
const ORDER: &str = "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551";

/// After a signature or an exchange there is no half of a private key or of a nonce (that of RFC 6979, A.2.5) on the stack,
/// neither in bytes nor in words.
fn no_secret_stays_on_the_stack() {
    let private = hex(P256_SCALAR);
    let nonce = hex("A6E3C57DD01ABE90086538398355DD4C3B17AA873382B0F24D6129493D8AAD60");
    // The search finds what is there.
    assert!(is_left(&private, || {
        let copy: [u8; 32] = private[..].try_into().expect("32 bytes");
        core::hint::black_box(&copy);
    }));
    let key = sign::load_p256_key(&sec1(&private, &[])).expect("a valid scalar");
    for secret in [&private, &nonce] {
        let mut result = None;
        assert!(!is_left(secret, || result = Some(key.sign(SCHEME, b"sample", &mut FixedRng(Vec::new())))));
        assert_eq!(result, Some(Ok(Signing::Done(ecdsa_signature(P256_SHA256)))));
    }
    let share = group::SECP256R1.start(&mut SeededRng(9)).expect("good randomness").key_share().to_vec();
    let mut rng = FixedRng(private.clone());
    assert!(!is_left(&private, || drop(group::SECP256R1.respond(&mut rng, &share))));
}

/// What is overwritten reaches as deep as the computation: the lowest words are zeros, but for the few of what overwrites.
fn the_stack_is_overwritten_to_its_end() {
    let is_zero = |run: &mut dyn FnMut()| {
        let mut is_zero = false;
        inspect(run, |stack| is_zero = stack.skip(16).take(64).all(|word| word == 0));
        is_zero
    };
    let private = hex(P256_SCALAR);
    let encoded = sec1(&private, &[]);
    let key = sign::load_p256_key(&encoded).expect("a valid scalar");
    let share = group::SECP256R1.start(&mut SeededRng(9)).expect("good randomness").key_share().to_vec();
    let mut exchange = group::SECP256R1.start(&mut SeededRng(10)).ok();
    // The search finds what another provider leaves.
    assert!(!is_zero(&mut || drop(rustcrypto::group::SECP256R1.start(&mut SeededRng(11)))));
    assert!(is_zero(&mut || drop(sign::load_p256_key(&encoded))), "load");
    assert!(is_zero(&mut || drop(key.sign(SCHEME, b"sample", &mut FixedRng(Vec::new())))), "sign");
    assert!(is_zero(&mut || drop(group::SECP256R1.start(&mut SeededRng(11)))), "start");
    assert!(is_zero(&mut || drop(group::SECP256R1.respond(&mut SeededRng(12), &share))), "respond");
    assert!(is_zero(&mut || drop(exchange.take().expect("one").complete(&share))), "complete");
}

/// The assembly has intermediate values in the registers of the FPU. After a computation with a secret there are none.
fn the_registers_of_the_fpu_are_cleared() {
    let is_clear = |run: &mut dyn FnMut()| {
        run();
        float_registers() == [0; 16]
    };
    let encoded = sec1(&hex(P256_SCALAR), &[]);
    let key = sign::load_p256_key(&encoded).expect("a valid scalar");
    let public = key.public_key();
    let public = subject_public_key(&public);
    let signature = ecdsa_signature(P256_SHA256);
    let share = group::SECP256R1.start(&mut SeededRng(9)).expect("good randomness").key_share().to_vec();
    let mut exchange = group::SECP256R1.start(&mut SeededRng(10)).ok();
    // A verification has no secret, and shows that the assembly uses them.
    let mut verify = || {
        let verified = verify::ECDSA_P256_SHA256.verify_signature(public, b"sample", &signature);
        assert!(verified.is_ok());
    };
    for (name, run) in [
        ("load", &mut (|| drop(sign::load_p256_key(&encoded))) as &mut dyn FnMut()),
        ("sign", &mut || drop(key.sign(SCHEME, b"sample", &mut FixedRng(Vec::new())))),
        ("start", &mut || drop(group::SECP256R1.start(&mut SeededRng(11)))),
        ("respond", &mut || drop(group::SECP256R1.respond(&mut SeededRng(12), &share))),
        ("complete", &mut || drop(exchange.take().expect("one").complete(&share))),
    ] {
        assert!(!is_clear(&mut verify), "before {name}");
        assert!(is_clear(run), "{name}");
    }
}

/// Whether four words in a row of `secret` are on the stack below this after `run`.
fn is_left(secret: &[u8], run: impl FnOnce()) -> bool {
    let (chunks, _) = secret.as_chunks();
    let bytes: Vec<u32> = chunks.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let words: Vec<u32> = chunks.iter().rev().map(|word| u32::from_be_bytes(*word)).collect();
    let mut left = Vec::with_capacity(4_096);
    inspect(run, |stack| left.extend(stack.take(4_096)));
    let is_in = |half: &[u32]| left.windows(4).any(|found| found == half);
    [bytes, words].iter().any(|form| is_in(&form[..4]) || is_in(&form[4..]))
}
