//! Private keys are loaded in all encodings, and sign.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, CryptoProvider, KeyError, Signing, SigningKey};

use super::signatures::{P256_POINT, P384_POINT, by_scheme};
use super::{ConstantRng, FixedRng, SeededRng, der, hex, private_key, public_key, subject_public_key};

const P256_PKCS8: &str = include_str!("data/p256.pkcs8.pem");
const P384_PKCS8: &str = include_str!("data/p384.pkcs8.pem");
const ED25519_PKCS8: &str = include_str!("data/ed25519.pkcs8.pem");
const ED25519_V2: &str = include_str!("data/ed25519.rfc8410.v2.pem");

/// Keys that every provider signs with: private key and SubjectPublicKeyInfo.
pub const KEYS: [(&str, &str); 6] = [
    (P256_PKCS8, include_str!("data/p256.spki.pem")),
    (include_str!("data/p256.sec1.pem"), include_str!("data/p256.spki.pem")),
    (include_str!("data/p256.no-public.sec1.pem"), include_str!("data/p256.spki.pem")),
    (P384_PKCS8, include_str!("data/p384.spki.pem")),
    (include_str!("data/p384.sec1.pem"), include_str!("data/p384.spki.pem")),
    (ED25519_PKCS8, include_str!("data/ed25519.spki.pem")),
];

/// An RSA key of 2,048 bits, in PKCS#8.
pub const RSA_PKCS8: &str = include_str!("data/rsa2048.pkcs8.pem");
const RSA_PKCS1: &str = include_str!("data/rsa2048.pkcs1.pem");

/// The private key of RFC 6979, A.2.5.
pub const P256_SCALAR: &str = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721";
/// The private key of RFC 6979, A.2.6.
pub const P384_SCALAR: &str = "
    6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5";

/// The public key is the same for every encoding of the private key.
pub fn every_encoding(provider: &CryptoProvider) {
    for (pem, info) in KEYS {
        let key = load(provider, pem);
        assert_eq!(key.public_key(), public_key(info));
    }
}

/// The public keys are those of published private keys: bare SEC1 of RFC 6979, PKCS#8 in both versions of RFC 8410,
/// 10.3.
pub fn vectors(provider: &CryptoProvider) {
    for (scalar, point) in [(P256_SCALAR, P256_POINT), (P384_SCALAR, P384_POINT)] {
        let key = provider.load_key(&sec1(&hex(scalar), &[])).expect("a scalar alone is a key");
        assert_eq!(subject_public_key(&key.public_key()), hex(point));
    }
    for pem in [include_str!("data/ed25519.rfc8410.pkcs8.pem"), ED25519_V2] {
        let public = subject_public_key(&load(provider, pem).public_key()).to_vec();
        assert_eq!(public, hex("19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"));
    }
}

/// The public key verifies a message that the key signs, and no other message.
pub fn sign_and_verify(provider: &CryptoProvider) {
    for (pem, _) in KEYS {
        let key = load(provider, pem);
        let expected = match subject_public_key(&key.public_key()).len() {
            65 => SignatureScheme::ECDSA_SECP256R1_SHA256,
            97 => SignatureScheme::ECDSA_SECP384R1_SHA384,
            _ => SignatureScheme::ED25519,
        };
        assert_eq!(key.schemes(), [expected]);
        signatures_verify(provider, &*key);
    }
}

/// RSA keys sign with PSS and, for TLS 1.2, with PKCS#1; or they are refused with a named error.
pub fn rsa_signing(provider: &CryptoProvider) {
    let sizes = [
        (RSA_PKCS8, include_str!("data/rsa2048.spki.pem")),
        (RSA_PKCS1, include_str!("data/rsa2048.spki.pem")),
        (include_str!("data/rsa4096.pkcs8.pem"), include_str!("data/rsa4096.spki.pem")),
    ];
    for (pem, info) in sizes {
        match provider.load_key(&private_key(pem)) {
            Err(error) => assert_eq!(error, KeyError::RsaSigningDisabled),
            Ok(key) => {
                assert_eq!(key.public_key(), public_key(info));
                let schemes = [
                    SignatureScheme::RSA_PSS_RSAE_SHA256,
                    SignatureScheme::RSA_PSS_RSAE_SHA384,
                    SignatureScheme::RSA_PSS_RSAE_SHA512,
                    SignatureScheme::RSA_PKCS1_SHA256,
                    SignatureScheme::RSA_PKCS1_SHA384,
                    SignatureScheme::RSA_PKCS1_SHA512,
                ];
                assert_eq!(key.schemes(), schemes);
                signatures_verify(provider, &*key);
            }
        }
    }
    for pem in [include_str!("data/rsa1024.pkcs8.pem"), include_str!("data/rsa4104.pkcs8.pem")] {
        let error = provider.load_key(&private_key(pem)).err();
        assert!(matches!(error, Some(KeyError::UnsupportedRsaSize | KeyError::RsaSigningDisabled)), "{error:?}");
    }
}

/// PKCS#1 v1.5 is deterministic: the signatures equal OpenSSL's.
pub fn rsa_known_answers(provider: &CryptoProvider) {
    let Ok(key) = provider.load_key(&private_key(RSA_PKCS8)) else { return };
    for (scheme, expected) in [
        (SignatureScheme::RSA_PKCS1_SHA256, include_str!("data/rsa2048.pkcs1.sha256.hex")),
        (SignatureScheme::RSA_PKCS1_SHA384, include_str!("data/rsa2048.pkcs1.sha384.hex")),
        (SignatureScheme::RSA_PKCS1_SHA512, include_str!("data/rsa2048.pkcs1.sha512.hex")),
    ] {
        assert_eq!(key.sign(scheme, b"sample", &mut SeededRng(4)), Ok(Signing::Done(hex(expected))), "{scheme}");
    }
}

/// A key signs with its own schemes only.
pub fn wrong_schemes(provider: &CryptoProvider) {
    for pem in [P256_PKCS8, P384_PKCS8, ED25519_PKCS8, RSA_PKCS8] {
        let Ok(key) = provider.load_key(&private_key(pem)) else {
            assert_eq!(pem, RSA_PKCS8, "only RSA may be off");
            continue;
        };
        let others = provider.signatures.by_scheme.iter().map(|(scheme, _)| *scheme).chain([SignatureScheme(0)]);
        for scheme in others.filter(|scheme| !key.schemes().contains(scheme)) {
            let result = key.sign(scheme, b"message", &mut SeededRng(1));
            assert_eq!(result, Err(CryptoError::UnsupportedScheme), "{scheme}");
        }
    }
}

/// A public key, or a second statement of the curve, must agree with the rest of the file.
pub fn contradictions(provider: &CryptoProvider) {
    for pem in [P256_PKCS8, P384_PKCS8, include_str!("data/p256.sec1.pem"), ED25519_V2] {
        let key = private_key(pem);
        assert!(provider.load_key(&key).is_ok());
        // The public key is at the end.
        let mut changed = key.secret_der().to_vec();
        *changed.last_mut().expect("not empty") ^= 1;
        assert_eq!(provider.load_key(&like(&key, changed)).err(), Some(KeyError::Malformed));
    }
    let p256 = der(0xa0, &der(0x06, &hex("2a8648ce3d030107")));
    let p384 = der(0xa0, &der(0x06, &hex("2b81040022")));
    assert!(provider.load_key(&sec1(&hex(P256_SCALAR), &p256)).is_ok());
    assert_eq!(provider.load_key(&sec1(&hex(P256_SCALAR), &p384)).err(), Some(KeyError::Malformed));
    let inner = |parameters: &[u8]| {
        let algorithm = [der(0x06, &hex("2a8648ce3d0201")), der(0x06, &hex("2a8648ce3d030107"))].concat();
        let key = sec1(&hex(P256_SCALAR), parameters).secret_der().to_vec();
        let info = [der(0x02, &[0]), der(0x30, &algorithm), der(0x04, &key)].concat();
        provider.load_key(&PrivatePkcs8KeyDer::from(der(0x30, &info)).into())
    };
    assert!(inner(&[]).is_ok());
    assert!(inner(&p256).is_ok());
    assert_eq!(inner(&p384).err(), Some(KeyError::Malformed));
}

/// Known but unsupported kinds of keys have their own error.
pub fn unsupported(provider: &CryptoProvider) {
    let keys = [
        include_str!("data/p521.sec1.pem"),
        include_str!("data/ed448.pkcs8.pem"),
        include_str!("data/rsa2048.pss-only.pem"),
    ];
    for pem in keys {
        assert_eq!(provider.load_key(&private_key(pem)).err(), Some(KeyError::UnsupportedAlgorithm));
    }
}

/// Keys that are cut, extended, empty, out of range or changed anywhere are an error or another key, never a panic.
pub fn malformed(provider: &CryptoProvider) {
    for pem in [P256_PKCS8, include_str!("data/p384.sec1.pem"), ED25519_V2, RSA_PKCS8, RSA_PKCS1] {
        let key = private_key(pem);
        let bytes = key.secret_der();
        let disabled = matches!(provider.load_key(&key), Err(KeyError::RsaSigningDisabled));
        let refused = |bytes: Vec<u8>| {
            let error = provider.load_key(&like(&key, bytes)).err();
            assert!(error == Some(KeyError::Malformed) || disabled && error.is_some(), "{error:?}");
        };
        for len in 0..bytes.len() {
            refused(bytes[..len].to_vec());
        }
        refused([bytes, &[0]].concat());
        // Only some positions are tried, as checking an RSA key takes time.
        for position in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
            let mut changed = bytes.to_vec();
            changed[position] ^= 1 << (position % 8);
            if let Ok(key) = provider.load_key(&like(&key, changed)) {
                let _ = key.sign(key.schemes()[0], b"message", &mut SeededRng(2));
            }
        }
    }
    let order = hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551");
    for scalar in [vec![0; 32], order, vec![0xff; 32], vec![0; 48], vec![0xff; 48]] {
        assert_eq!(provider.load_key(&sec1(&scalar, &[])).err(), Some(KeyError::Malformed), "{scalar:02x?}");
    }
    let p256 = der(0xa0, &der(0x06, &hex("2a8648ce3d030107")));
    for len in [0, 1, 31, 33, 48] {
        assert_eq!(provider.load_key(&sec1(&vec![1; len], &p256)).err(), Some(KeyError::Malformed), "{len}");
    }
}

/// Without randomness there is a right signature, or none.
pub fn broken_randomness(provider: &CryptoProvider) {
    for pem in [P256_PKCS8, P384_PKCS8, ED25519_PKCS8, RSA_PKCS8] {
        let Ok(key) = provider.load_key(&private_key(pem)) else {
            assert_eq!(pem, RSA_PKCS8, "only RSA may be off");
            continue;
        };
        let scheme = key.schemes()[0];
        let check = |result: Result<Signing, CryptoError>| match result {
            Ok(Signing::Done(signature)) => {
                verify(provider, &*key, scheme, b"message", &signature).expect("a right signature");
            }
            Ok(Signing::Pending) => panic!("a key in memory signs at once"),
            Err(error) => assert_eq!(error, CryptoError::RandomFailed),
        };
        for available in [0, 31, 32, 33, 100] {
            check(key.sign(scheme, b"message", &mut FixedRng(vec![0x5a; available])));
        }
        check(key.sign(scheme, b"message", &mut ConstantRng(0x00)));
        check(key.sign(scheme, b"message", &mut ConstantRng(0xff)));
    }
}

fn load(provider: &CryptoProvider, pem: &str) -> Arc<dyn SigningKey> {
    provider.load_key(&private_key(pem)).unwrap_or_else(|error| panic!("{error}: {pem}"))
}

/// Asserts that signatures with every scheme of the key verify, on short and long messages.
fn signatures_verify(provider: &CryptoProvider, key: &dyn SigningKey) {
    for scheme in key.schemes() {
        for message in [&b""[..], b"message", &[0x20; 5_000]] {
            let signature =
                key.sign(*scheme, message, &mut SeededRng(3)).expect("good randomness").done().expect("at once");
            verify(provider, key, *scheme, message, &signature).expect("what was signed");
            verify(provider, key, *scheme, b"another message", &signature).expect_err("what was not signed");
        }
    }
}

pub(super) fn verify(
    provider: &CryptoProvider,
    key: &dyn SigningKey,
    scheme: SignatureScheme,
    message: &[u8],
    signature: &[u8],
) -> Result<(), pki_types::InvalidSignature> {
    let public_key = key.public_key();
    by_scheme(provider, scheme).verify_signature(subject_public_key(&public_key), message, signature)
}

/// Returns an `ECPrivateKey` (RFC 5915, 3) with these optional fields.
pub fn sec1(scalar: &[u8], optional: &[u8]) -> PrivateKeyDer<'static> {
    let content = [&der(0x02, &[1])[..], &der(0x04, scalar), optional].concat();
    PrivateSec1KeyDer::from(der(0x30, &content)).into()
}

/// Returns a key with other bytes, in the format of `key`.
fn like(key: &PrivateKeyDer<'_>, bytes: Vec<u8>) -> PrivateKeyDer<'static> {
    match key {
        PrivateKeyDer::Pkcs8(_) => PrivatePkcs8KeyDer::from(bytes).into(),
        PrivateKeyDer::Sec1(_) => PrivateSec1KeyDer::from(bytes).into(),
        _ => pki_types::PrivatePkcs1KeyDer::from(bytes).into(),
    }
}
