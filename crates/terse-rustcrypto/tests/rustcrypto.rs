//! What this provider promises beyond the provider suite: replay, deterministic ECDSA, strict Ed25519, RSA limits.

use pki_types::PrivateKeyDer;
use terse_rustcrypto::{PROVIDER, RSA_SIGNING, sign, verify};
use terse_testkit::provider_suite::keys::{KEYS, P256_SCALAR, P384_SCALAR, RSA_PKCS8, sec1};
use terse_testkit::provider_suite::signatures::{P256_SHA256, P384_SHA384, ecdsa_signature};
use terse_testkit::provider_suite::{FixedRng, SeededRng, hex, private_key, public_key, subject_public_key};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, KeyError, Signing};

#[test]
fn key_exchange_can_be_replayed() {
    for group in PROVIDER.groups {
        let run = |seed| {
            let mut rng = SeededRng(seed);
            let client = group.start(&mut rng).expect("good randomness");
            let client_share = client.key_share().to_vec();
            let (server_share, secret) = group.respond(&mut rng, &client_share).expect("a valid share");
            (client_share, server_share, secret.as_ref().to_vec())
        };
        assert_eq!(run(1), run(1), "{}", group.name());
        assert_ne!(run(1), run(2), "{}", group.name());
    }
}

/// The signatures are those of RFC 6979, A.2.5 and A.2.6; no randomness is drawn.
#[test]
fn ecdsa_is_deterministic() {
    let cases = [
        (P256_SCALAR, SignatureScheme::ECDSA_SECP256R1_SHA256, P256_SHA256),
        (P384_SCALAR, SignatureScheme::ECDSA_SECP384R1_SHA384, P384_SHA384),
    ];
    for (scalar, scheme, signature) in cases {
        let key = sign::load_key(&sec1(&hex(scalar), &[])).expect("a valid scalar");
        let signed = key.sign(scheme, b"sample", &mut FixedRng(vec![]));
        assert_eq!(signed, Ok(Signing::Done(ecdsa_signature(signature))));
    }
}

/// With a key and a commitment of order 1, and S = 0, the equation holds for every message.
#[test]
fn ed25519_is_strict() {
    let identity = hex("0100000000000000000000000000000000000000000000000000000000000000");
    let signature = [&identity[..], &[0; 32]].concat();
    assert!(verify::ED25519.verify_signature(&identity, b"message", &signature).is_err());
}

#[test]
fn long_rsa_moduli_are_refused() {
    let key = public_key(include_str!("../../terse-provider-suite/src/data/rsa4104.spki.pem"));
    let signature = hex(include_str!("../../terse-provider-suite/src/data/rsa4104.pkcs1.sha256.hex"));
    assert!(verify::RSA_PKCS1_SHA256.verify_signature(subject_public_key(&key), b"sample", &signature).is_err());
}

/// A loader for one kind of key takes that kind and no other.
#[test]
fn loaders_for_one_kind() {
    let loaders = [
        (sign::load_p256_key as fn(&PrivateKeyDer<'_>) -> _, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (sign::load_p384_key, SignatureScheme::ECDSA_SECP384R1_SHA384),
        (sign::load_ed25519_key, SignatureScheme::ED25519),
    ];
    for (load, scheme) in loaders {
        for (pem, _) in KEYS {
            let any = sign::load_key(&private_key(pem)).expect("a supported key");
            let one = load(&private_key(pem));
            if any.schemes() == [scheme] {
                assert_eq!(one.expect("its own kind").public_key(), any.public_key());
            } else {
                assert_eq!(one.err(), Some(KeyError::UnsupportedAlgorithm));
            }
        }
        assert_eq!(load(&private_key(RSA_PKCS8)).err(), Some(KeyError::UnsupportedAlgorithm));
    }
}

#[test]
fn rsa_keys_sign_only_with_the_provider_that_is_for_it() {
    let key = private_key(RSA_PKCS8);
    assert_eq!(PROVIDER.load_key(&key).err(), Some(KeyError::RsaSigningDisabled));
    assert_eq!(sign::load_key(&key).err(), Some(KeyError::RsaSigningDisabled));
    assert!(RSA_SIGNING.load_key(&key).is_ok());
}

/// The salt and the blinding come from the argument: without it there is no signature.
#[test]
fn rsa_signatures_can_be_replayed() {
    let key = sign::load_rsa_key(&private_key(RSA_PKCS8)).expect("2,048 bits");
    let run = |seed| key.sign(SignatureScheme::RSA_PSS_RSAE_SHA256, b"sample", &mut SeededRng(seed));
    assert!(run(1).is_ok());
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    // There is enough randomness for the salt, but not for the blinding.
    let result = key.sign(SignatureScheme::RSA_PSS_RSAE_SHA256, b"sample", &mut FixedRng(vec![1; 32]));
    assert_eq!(result, Err(CryptoError::RandomFailed));
    let result = key.sign(SignatureScheme::RSA_PKCS1_SHA256, b"sample", &mut FixedRng(vec![]));
    assert_eq!(result, Err(CryptoError::RandomFailed));
    assert_eq!(sign::load_rsa_key(&private_key(KEYS[0].0)).err(), Some(KeyError::UnsupportedAlgorithm));
}
