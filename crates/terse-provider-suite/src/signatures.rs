//! Verification of signatures is tested with each algorithm.

use alloc::vec;
use alloc::vec::Vec;

use pki_types::{AlgorithmIdentifier, SignatureVerificationAlgorithm, alg_id};
use terse_tls::SignatureScheme;
use terse_tls::crypto::CryptoProvider;

use super::{der, hex, public_key, subject_public_key};

/// The public key of RFC 6979, A.2.5.
pub(super) const P256_POINT: &str = "
    04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
       7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299";
/// The numbers r and s of RFC 6979, A.2.5, over `sample`.
pub const P256_SHA256: [&str; 2] = [
    "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
    "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
];
const P256_SHA384: [&str; 2] = [
    "0EAFEA039B20E9B42309FB1D89E213057CBF973DC0CFC8F129EDDDC800EF7719",
    "4861F0491E6998B9455193E34E7B0D284DDD7149A74B95B9261F13ABDE940954",
];

/// The public key of RFC 6979, A.2.6.
pub(super) const P384_POINT: &str = "
    04 EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64DEF8F0EA9055866064A254515480BC13
       8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1288B231C3AE0D4FE7344FD2533264720";
const P384_SHA256: [&str; 2] = [
    "21B13D1E013C7FA1392D03C5F99AF8B30C570C6F98D4EA8E354B63A21D3DAA33BDE1E888E63355D92FA2B3C36D8FB2CD",
    "F3AA443FB107745BF4BD77CB3891674632068A10CA67E3D45DB2266FA7D1FEEBEFDC63ECCD1AC42EC0CB8668A4FA0AB0",
];
/// The numbers r and s of RFC 6979, A.2.6, over `sample`.
pub const P384_SHA384: [&str; 2] = [
    "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46",
    "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8",
];

const P256_ORDER: &str = "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551";

/// The public key of RFC 8032, 7.1, test 3.
const ED25519_POINT: &str = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
const ED25519_MESSAGE: &str = "af82";
const ED25519_SIGNATURE: &str = "
    6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
    18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";

const RSA_2048: &str = include_str!("data/rsa2048.spki.pem");

/// A signature that verifies.
struct Case {
    public_key: AlgorithmIdentifier,
    algorithm: AlgorithmIdentifier,
    key: Vec<u8>,
    message: Vec<u8>,
    signature: Vec<u8>,
}

/// Returns a case for each algorithm.
fn cases() -> Vec<Case> {
    let ecdsa = |public_key, algorithm, key, signature| Case {
        public_key,
        algorithm,
        key: hex(key),
        message: b"sample".to_vec(),
        signature: ecdsa_signature(signature),
    };
    let rsa = |algorithm, signature| Case {
        public_key: alg_id::RSA_ENCRYPTION,
        algorithm,
        key: subject_public_key(&public_key(RSA_2048)).to_vec(),
        message: b"sample".to_vec(),
        signature: hex(signature),
    };
    vec![
        ecdsa(alg_id::ECDSA_P256, alg_id::ECDSA_SHA256, P256_POINT, P256_SHA256),
        ecdsa(alg_id::ECDSA_P256, alg_id::ECDSA_SHA384, P256_POINT, P256_SHA384),
        ecdsa(alg_id::ECDSA_P384, alg_id::ECDSA_SHA256, P384_POINT, P384_SHA256),
        ecdsa(alg_id::ECDSA_P384, alg_id::ECDSA_SHA384, P384_POINT, P384_SHA384),
        Case {
            public_key: alg_id::ED25519,
            algorithm: alg_id::ED25519,
            key: hex(ED25519_POINT),
            message: hex(ED25519_MESSAGE),
            signature: hex(ED25519_SIGNATURE),
        },
        rsa(alg_id::RSA_PKCS1_SHA256, include_str!("data/rsa2048.pkcs1.sha256.hex")),
        rsa(alg_id::RSA_PKCS1_SHA384, include_str!("data/rsa2048.pkcs1.sha384.hex")),
        rsa(alg_id::RSA_PKCS1_SHA512, include_str!("data/rsa2048.pkcs1.sha512.hex")),
        rsa(alg_id::RSA_PSS_SHA256, include_str!("data/rsa2048.pss.sha256.hex")),
        rsa(alg_id::RSA_PSS_SHA384, include_str!("data/rsa2048.pss.sha384.hex")),
        rsa(alg_id::RSA_PSS_SHA512, include_str!("data/rsa2048.pss.sha512.hex")),
    ]
}

/// Each scheme of [`CryptoProvider::signatures`] verifies its signatures; and for an ECDSA key of either curve there is
/// an algorithm with either hash, which TLS 1.2 may need (RFC 9846, 4.3.3).
pub fn every_scheme_verifies(provider: &CryptoProvider) {
    for (scheme, algorithms) in provider.signatures.by_scheme {
        let same = |case: &&Case| {
            algorithms.iter().all(|algorithm| {
                algorithm.public_key_alg_id() == case.public_key && algorithm.signature_alg_id() == case.algorithm
            })
        };
        let cases = cases();
        let case = cases.iter().find(same).unwrap_or_else(|| panic!("no signature of {scheme}"));
        let result = by_scheme(provider, *scheme).verify_signature(&case.key, &case.message, &case.signature);
        assert!(result.is_ok(), "{scheme}");
    }
    for curve in [alg_id::ECDSA_P256, alg_id::ECDSA_P384] {
        for hash in [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384] {
            let mut all = provider.signatures.all.iter();
            assert!(all.any(|found| found.public_key_alg_id() == curve && found.signature_alg_id() == hash));
        }
    }
}

/// The signatures of RFC 6979 on two curves, with two hashes each, verify.
pub fn ecdsa_vectors(provider: &CryptoProvider) {
    verify_all(provider, 0..4);
}

/// The signatures of RFC 8032 verify.
pub fn ed25519_vectors(provider: &CryptoProvider) {
    verify_all(provider, 4..5);
}

/// OpenSSL's signatures verify.
pub fn rsa_vectors(provider: &CryptoProvider) {
    verify_all(provider, 5..11);
    let key = public_key(include_str!("data/rsa4096.spki.pem"));
    let signature = hex(include_str!("data/rsa4096.pss.sha256.hex"));
    let pss = by_scheme(provider, SignatureScheme::RSA_PSS_RSAE_SHA256);
    pss.verify_signature(subject_public_key(&key), b"sample", &signature).expect("4,096 bits are not too many");
}

fn verify_all(provider: &CryptoProvider, range: core::ops::Range<usize>) {
    for case in &cases()[range] {
        let algorithm = algorithm(provider, case);
        algorithm
            .verify_signature(&case.key, &case.message, &case.signature)
            .unwrap_or_else(|_| panic!("{algorithm:?}"));
    }
}

/// A change to any byte of message or signature, and any shorter or longer signature, fails.
pub fn tampering(provider: &CryptoProvider) {
    for case in cases() {
        let algorithm = algorithm(provider, &case);
        let fails = |message: &[u8], signature: &[u8]| {
            assert!(algorithm.verify_signature(&case.key, message, signature).is_err(), "{algorithm:?}");
        };
        for position in 0..case.message.len() {
            let mut message = case.message.clone();
            message[position] ^= 1 << (position % 8);
            fails(&message, &case.signature);
        }
        fails(b"", &case.signature);
        for position in 0..case.signature.len() {
            let mut signature = case.signature.clone();
            signature[position] ^= 1 << (position % 8);
            fails(&case.message, &signature);
        }
        for len in 0..case.signature.len() {
            fails(&case.message, &case.signature[..len]);
        }
        fails(&case.message, &[&case.signature[..], &[0]].concat());
        fails(&case.message, &[&[0], &case.signature[..]].concat());
        fails(&case.message, &vec![0; case.signature.len()]);
        fails(&case.message, &vec![0xff; case.signature.len()]);
    }
}

/// No signature verifies under another algorithm, and a key that was changed, cut or extended is malformed or another
/// key.
pub fn wrong_keys(provider: &CryptoProvider) {
    for case in cases() {
        for other in provider.signatures.all {
            let same = other.public_key_alg_id() == case.public_key && other.signature_alg_id() == case.algorithm;
            let result = other.verify_signature(&case.key, &case.message, &case.signature);
            assert_eq!(result.is_ok(), same, "{other:?}");
        }
        let algorithm = algorithm(provider, &case);
        let fails = |key: &[u8]| {
            assert!(algorithm.verify_signature(key, &case.message, &case.signature).is_err(), "{algorithm:?}");
        };
        for position in 0..case.key.len() {
            let mut key = case.key.clone();
            key[position] ^= 1 << (position % 8);
            fails(&key);
        }
        for len in 0..case.key.len() {
            fails(&case.key[..len]);
        }
        fails(&[&case.key[..], &[0]].concat());
        fails(&vec![0; case.key.len()]);
    }
}

/// RFC 5480, 2.2: points are uncompressed or compressed; neither at infinity nor in the hybrid form.
pub fn wrong_points(provider: &CryptoProvider) {
    for case in &cases()[..4] {
        let algorithm = algorithm(provider, case);
        let verifies = |key: &[u8]| algorithm.verify_signature(key, &case.message, &case.signature).is_ok();
        let (x, y) = case.key[1..].split_at(case.key.len() / 2);
        let parity = y[y.len() - 1] & 1;
        assert!(verifies(&[&[0x02 | parity], x].concat()));
        assert!(!verifies(&[&[0x03 ^ parity], x].concat()));
        for format in (0..=0xff).filter(|format| *format != 0x04) {
            assert!(!verifies(&[&[format], x, y].concat()), "{format:#04x}");
        }
        for format in (0..=0xff).filter(|format| *format != 0x02 | parity) {
            assert!(!verifies(&[&[format], x].concat()), "{format:#04x}");
        }
        assert!(!verifies(&[0x00]));
    }
}

/// Signatures must be DER, with 0 < r, s < n.
pub fn wrong_ecdsa_encodings(provider: &CryptoProvider) {
    let algorithm = by_scheme(provider, SignatureScheme::ECDSA_SECP256R1_SHA256);
    let verifies = |signature: &[u8]| algorithm.verify_signature(&hex(P256_POINT), b"sample", signature).is_ok();
    let [r, s] = P256_SHA256.map(hex);
    let int = |content: &[u8]| der(0x02, content);
    let (r_int, s_int) = (unsigned(&r), unsigned(&s));
    assert!(verifies(&der(0x30, &[r_int.clone(), s_int.clone()].concat())));
    let wrong_numbers = [vec![0], vec![], unsigned_content(&hex(P256_ORDER)), [vec![0], vec![0xff; 32]].concat()];
    for wrong in &wrong_numbers {
        assert!(!verifies(&der(0x30, &[int(wrong), s_int.clone()].concat())), "r = {wrong:02x?}");
        assert!(!verifies(&der(0x30, &[r_int.clone(), int(wrong)].concat())), "s = {wrong:02x?}");
    }
    // A negative number, and a superfluous zero.
    assert!(!verifies(&der(0x30, &[int(&r), s_int.clone()].concat())));
    assert!(!verifies(&der(0x30, &[int(&[&[0, 0], &r[..]].concat()), s_int.clone()].concat())));
    // More, or fewer, than two integers.
    assert!(!verifies(&der(0x30, &r_int)));
    assert!(!verifies(&der(0x30, &[r_int.clone(), s_int.clone(), int(&[1])].concat())));
    // The fixed-length form of other protocols, another tag, and a length in BER.
    assert!(!verifies(&[r, s].concat()));
    assert!(!verifies(&der(0x31, &[r_int.clone(), s_int.clone()].concat())));
    let content = [r_int, s_int].concat();
    assert!(!verifies(&[&[0x30, 0x81, content.len() as u8], &content[..]].concat()));
    assert!(!verifies(&[&[0x30, 0x80], &content[..], &[0, 0]].concat()));
}

/// RFC 8032, 5.1.7: a signature whose S has L added is invalid.
pub fn ed25519_malleability(provider: &CryptoProvider) {
    let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut signature = hex(ED25519_SIGNATURE);
    let mut carry = 0;
    for (byte, addend) in signature[32..].iter_mut().zip(order) {
        carry += u16::from(*byte) + u16::from(addend);
        *byte = carry as u8;
        carry >>= 8;
    }
    assert_eq!(carry, 0);
    let algorithm = by_scheme(provider, SignatureScheme::ED25519);
    assert!(algorithm.verify_signature(&hex(ED25519_POINT), &hex(ED25519_MESSAGE), &signature).is_err());
}

/// A modulus of 1,024 bits is too short, a PSS salt must be as long as the hash (RFC 9846, 4.3.3), and an exponent of 1
/// would let anybody sign.
pub fn rsa_limits(provider: &CryptoProvider) {
    let pkcs1 = by_scheme(provider, SignatureScheme::RSA_PKCS1_SHA256);
    let key = public_key(include_str!("data/rsa1024.spki.pem"));
    let signature = hex(include_str!("data/rsa1024.pkcs1.sha256.hex"));
    assert!(pkcs1.verify_signature(subject_public_key(&key), b"sample", &signature).is_err());

    let pss = by_scheme(provider, SignatureScheme::RSA_PSS_RSAE_SHA256);
    let key = public_key(RSA_2048);
    let key = subject_public_key(&key);
    let signature = hex(include_str!("data/rsa2048.pss-salt20.sha256.hex"));
    assert!(pss.verify_signature(key, b"sample", &signature).is_err());

    // The encoded message of RFC 8017, 9.2, which a signature gives when it is raised to the exponent.
    let digest_info = hex("3031300d060960864801650304020105000420");
    let digest = provider.sha256.hash(&[b"sample"]);
    let encoded = [&[0x00, 0x01], &[0xff; 202][..], &[0x00], &digest_info, digest.as_ref()].concat();
    assert_eq!(encoded.len(), 256);
    // The exponent, 65537, is at the end.
    let (modulus, exponent) = key[4..].split_at(key.len() - 4 - 5);
    assert_eq!(exponent, [0x02, 0x03, 0x01, 0x00, 0x01]);
    for exponent in [&[0x00][..], &[0x01], &[0x02], &[0x80], &[0x01, 0x00, 0x00], &[0x7f; 16]] {
        let content = [modulus, &der(0x02, exponent)].concat();
        let key = [&[0x30, 0x82, (content.len() >> 8) as u8, content.len() as u8], &content[..]].concat();
        assert!(pkcs1.verify_signature(&key, b"sample", &encoded).is_err(), "{exponent:02x?}");
    }
}

/// Returns the algorithm for a TLS scheme.
pub(super) fn by_scheme(
    provider: &CryptoProvider,
    scheme: SignatureScheme,
) -> &'static dyn SignatureVerificationAlgorithm {
    let (_, algorithms) =
        provider.signatures.by_scheme.iter().find(|(found, _)| *found == scheme).expect("a full provider");
    algorithms[0]
}

fn algorithm(provider: &CryptoProvider, case: &Case) -> &'static dyn SignatureVerificationAlgorithm {
    let matches = |algorithm: &&&dyn SignatureVerificationAlgorithm| {
        algorithm.public_key_alg_id() == case.public_key && algorithm.signature_alg_id() == case.algorithm
    };
    *provider.signatures.all.iter().find(matches).expect("a full provider")
}

/// Returns an `Ecdsa-Sig-Value` (RFC 3279, 2.2.3).
pub fn ecdsa_signature(numbers: [&str; 2]) -> Vec<u8> {
    der(0x30, &numbers.map(|number| unsigned(&hex(number))).concat())
}

/// Returns a DER integer.
fn unsigned(number: &[u8]) -> Vec<u8> {
    der(0x02, &unsigned_content(number))
}

fn unsigned_content(number: &[u8]) -> Vec<u8> {
    let start = number.iter().position(|byte| *byte != 0).expect("not zero");
    let sign: &[u8] = if number[start] < 0x80 { &[] } else { &[0] };
    [sign, &number[start..]].concat()
}
