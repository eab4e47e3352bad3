//! Algorithms go together, or are refused.

use pki_types::SignatureVerificationAlgorithm;
use terse_tls::crypto::SignatureAlgorithms;

use super::forge::*;
use super::*;
use crate::asn1::{OCTET_STRING, SEQUENCE, SET, encode};
use crate::certificate::Fields;

const SHA384: &[u8] = &[0x30, 0x0b, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2];
const SHA512: &[u8] = &[0x30, 0x0b, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];
const ECDSA_WITH_SHA384: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
const ED25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x70];
const RSA_ENCRYPTION: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const SHA256_WITH_RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];

const ONLY_RSA: &[&dyn SignatureVerificationAlgorithm] = &[terse_rustcrypto::verify::RSA_PKCS1_SHA256];

#[test]
fn each_algorithm_verifies_with_each_provider() {
    for signer in [&P256, &P384, &RSA, &ED25519_SIGNER] {
        let encoded = signer.sign(CONTENT);
        for provider in [&PROVIDER, &terse_aws_lc::PROVIDER] {
            let signed = Signed::verify(provider, &encoded, &[]).unwrap();
            assert_eq!(signed.content, CONTENT);
            assert_eq!(signed.signing_time, Some(time(NOW)));
            assert_eq!(signed.chain[0], signer.chain[0]);
            let mut wrong = encoded.clone();
            *wrong.last_mut().unwrap() ^= 1;
            assert_eq!(Signed::verify(provider, &wrong, &[]).unwrap_err(), SignatureRefused::Signature);
        }
    }
}

#[test]
fn hash_and_signature_go_together() {
    for (digest, signature) in [
        (SHA384, ECDSA_WITH_SHA256),
        (SHA256, ECDSA_WITH_SHA384),
        (SHA512, ECDSA_WITH_SHA256),
        (SHA256, ED25519),
        (SHA384, ED25519),
        (SHA512, ED25519),        // the key is on P-256
        (SHA256, RSA_ENCRYPTION), // the key is on P-256
        (SHA256, SHA256_WITH_RSA),
    ] {
        let algorithm = match digest {
            SHA384 => algorithm::DigestAlgorithm::Sha384,
            SHA512 => algorithm::DigestAlgorithm::Sha512,
            _ => algorithm::DigestAlgorithm::Sha256,
        };
        let digest_of_content = encode(OCTET_STRING, &[algorithm.digest(&PROVIDER, CONTENT).unwrap().as_ref()]);
        let forgery = Forgery::with_signer(|signer| {
            signer.digest_algorithm = digest.to_vec();
            signer.signed_attrs[1] = attribute(oid::MESSAGE_DIGEST, &[digest_of_content]);
            signer.signature_algorithm = encode(SEQUENCE, &[signature]);
        });
        assert_eq!(refusal(&forgery), SignatureRefused::Algorithm);
    }
}

/// RFC 8419, 3.1: the digest is that of SHA-512, and no other's, however well it fits the content.
#[test]
fn ed25519_goes_with_sha_512_alone() {
    let signed = |identifier: &[u8], digest: algorithm::DigestAlgorithm| {
        let leaf = Fields::read(&ED25519_SIGNER.chain[0]).unwrap();
        let digest_of_content = digest.digest(&PROVIDER, CONTENT).unwrap();
        let attributes = std::vec![
            attribute(oid::CONTENT_TYPE, &[object_identifier(oid::ANIMA_JSON_VOUCHER)]),
            attribute(oid::MESSAGE_DIGEST, &[encode(OCTET_STRING, &[digest_of_content.as_ref()])]),
        ];
        Forgery::with(|forgery| {
            forgery.digest_algorithms = std::vec![identifier.to_vec()];
            forgery.certificates = ED25519_SIGNER.chain.iter().map(|certificate| certificate.to_vec()).collect();
            let signer = &mut forgery.signers[0];
            signer.sid = encode(SEQUENCE, &[leaf.issuer.encoded, leaf.serial_number.encoded]);
            signer.digest_algorithm = identifier.to_vec();
            signer.signature = Signature::Ready(sign_as(&ED25519_SIGNER, &encode(SET, &[&attributes.concat()])));
            signer.signed_attrs = attributes;
            signer.signature_algorithm = encode(SEQUENCE, &[ED25519]);
        })
    };
    assert_eq!(verify(&signed(SHA512, algorithm::DigestAlgorithm::Sha512)).content, CONTENT);
    for (identifier, digest) in
        [(SHA256, algorithm::DigestAlgorithm::Sha256), (SHA384, algorithm::DigestAlgorithm::Sha384)]
    {
        assert_eq!(refusal(&signed(identifier, digest)), SignatureRefused::Algorithm);
    }
}

/// RFC 5754, 2 and 3: parameters are absent or NULL.
#[test]
fn parameters_mean_nothing() {
    let with_parameters = |parameters: &[u8]| {
        Forgery::with_signer(|signer| {
            signer.digest_algorithm = encode(SEQUENCE, &[&SHA256[2..], parameters]);
            signer.signature_algorithm = encode(SEQUENCE, &[ECDSA_WITH_SHA256, parameters]);
        })
    };
    assert_eq!(verify(&with_parameters(&[])).content, CONTENT);
    assert_eq!(verify(&with_parameters(&[5, 0])).content, CONTENT);
    for parameters in [&[2, 1, 1][..], &[5, 1, 0], &[5, 0, 5, 0], &[0x30, 0]] {
        assert_eq!(
            refusal(&with_parameters(parameters)),
            SignatureRefused::Malformed(Malformed::Der("digestAlgorithm")),
            "{parameters:?}"
        );
    }
}

/// RFC 5754, 3.2: the identifier of the key serves for the signature, too.
#[test]
fn an_rsa_signature_is_known_by_its_key() {
    let encoded = RSA.sign(CONTENT);
    let long = encode(SEQUENCE, &[SHA256_WITH_RSA, &[5, 0]]);
    let at = encoded.windows(long.len()).rposition(|window| window == long).unwrap();
    let mut short = encoded.clone();
    short[at + 2..at + 2 + RSA_ENCRYPTION.len()].copy_from_slice(RSA_ENCRYPTION);
    assert_ne!(short, encoded);
    assert_eq!(verify(&short).content, CONTENT);
}

#[test]
fn a_provider_verifies_what_it_has() {
    let only_rsa = PROVIDER.signatures(SignatureAlgorithms::new(ONLY_RSA, &[]));
    let refused = Signed::verify(&only_rsa, &P256.sign(CONTENT), &[]).unwrap_err();
    assert_eq!(refused, SignatureRefused::Algorithm);
    assert_eq!(Signed::verify(&only_rsa, &RSA.sign(CONTENT), &[]).unwrap().content, CONTENT);
    // SHA-384 comes with a cipher suite.
    let without_suites: CryptoProvider = PROVIDER.tls13_suites(&[]).tls12_suites(&[]);
    assert_eq!(Signed::verify(&without_suites, &P384.sign(CONTENT), &[]).unwrap_err(), SignatureRefused::Algorithm);
    assert_eq!(Signed::verify(&without_suites, &P256.sign(CONTENT), &[]).unwrap().content, CONTENT);
    let unsigned = Unsigned::new(&without_suites, CONTENT, &P384.chain, P384.scheme, None);
    assert_eq!(unsigned.err(), Some(SignatureRefused::Algorithm));
    // Ed25519 goes with SHA-512.
    let without_sha512 = PROVIDER.sha512(None);
    let encoded = ED25519_SIGNER.sign(CONTENT);
    assert_eq!(Signed::verify(&without_sha512, &encoded, &[]).unwrap_err(), SignatureRefused::Algorithm);
    let unsigned = Unsigned::new(&without_sha512, CONTENT, &ED25519_SIGNER.chain, SignatureScheme::ED25519, None);
    assert_eq!(unsigned.err(), Some(SignatureRefused::Algorithm));
}
