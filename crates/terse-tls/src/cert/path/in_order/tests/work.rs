//! What a chain costs: signatures are verified when everything else is right, and each at most once.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, ServerName, SignatureVerificationAlgorithm, alg_id,
};
use rcgen::date_time_ymd;
use terse_testkit::pki::{SERVER_NAME, unix_time};

use super::ca::{Holder, good};
use super::der::Element;
use crate::cert::tests::provider;
use crate::cert::{Expect, Trust};
use crate::error::CertificateError;

/// Ed25519, and how many signatures were verified with it.
#[derive(Debug)]
struct Counting<'a>(&'a AtomicUsize);

impl SignatureVerificationAlgorithm for Counting<'_> {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let all = provider().signatures.all;
        let ed25519 = all.iter().find(|algorithm| algorithm.signature_alg_id() == alg_id::ED25519);
        ed25519.unwrap().verify_signature(key, message, signature)
    }
}

/// Returns the result without path building, and how many signatures were verified.
fn cost(anchors: &[&[u8]], chain: &[Vec<u8>], name: &str) -> (Result<u8, CertificateError>, usize) {
    let count = AtomicUsize::new(0);
    let anchors: Vec<_> = anchors.iter().map(|der| CertificateDer::from(*der)).collect();
    let chain: Vec<_> = chain.iter().map(|der| CertificateDer::from(&der[..])).collect();
    let name = ServerName::try_from(name).unwrap();
    let trust = Trust::without_path_building(&anchors).unwrap();
    let result = trust.verify(&chain, Expect::Server(&name), &[&Counting(&count)], Some(unix_time(0)));
    (result.map(|checked| checked.peer.signatures), count.into_inner())
}

/// Returns a root, and a chain of `len` certificates under it.
fn of_len(len: usize) -> (Holder, Vec<Vec<u8>>) {
    let root = Holder::root("Root");
    let mut chain = Vec::new();
    let mut last = None;
    for number in 1..len {
        let name = alloc::format!("CA {number}");
        let ca = last.as_ref().unwrap_or(&root).sub(&name, good);
        chain.insert(0, ca.der.clone());
        last = Some(ca);
    }
    chain.insert(0, last.as_ref().unwrap_or(&root).server(good).der);
    (root, chain)
}

#[test]
fn each_certificate_costs_one_signature() {
    for len in 1..=7 {
        let (root, chain) = of_len(len);
        assert_eq!(cost(&[&root.der], &chain, SERVER_NAME), (Ok(len as u8), len));
    }
    let (root, chain) = of_len(8);
    assert_eq!(cost(&[&root.der], &chain, SERVER_NAME), (Err(CertificateError::Invalid), 0));
}

#[test]
fn what_is_wrong_is_noticed_before_signatures() {
    let (root, chain) = of_len(4);
    let refused = |chain: &[Vec<u8>], name: &str, error| {
        assert_eq!(cost(&[&root.der], chain, name), (Err(error), 0));
    };
    refused(&chain, "other.plant.example", CertificateError::WrongName);
    refused(&chain[..3], SERVER_NAME, CertificateError::UnknownIssuer);
    refused(&chain[1..], SERVER_NAME, CertificateError::WrongUsage);
    let (_, stranger) = of_len(4);
    let half = [&chain[..2], &stranger[2..]].concat();
    // Its names are right, and its signatures are not: one is verified.
    assert_eq!(cost(&[&root.der], &stranger, SERVER_NAME), (Err(CertificateError::BadSignature), 1));
    assert_eq!(cost(&[&root.der], &half, SERVER_NAME), (Err(CertificateError::BadSignature), 1));

    let leaf = |change: fn(&mut rcgen::CertificateParams)| [root.server(change).der];
    let ended = leaf(|params| params.not_after = date_time_ymd(2025, 8, 1));
    assert!(matches!(cost(&[&root.der], &ended, SERVER_NAME), (Err(CertificateError::Expired { .. }), 0)));
    let other_usage = leaf(|params| params.extended_key_usages = [rcgen::ExtendedKeyUsagePurpose::ClientAuth].into());
    refused(&other_usage, SERVER_NAME, CertificateError::WrongUsage);
    let no_signing = leaf(|params| params.key_usages = [rcgen::KeyUsagePurpose::KeyAgreement].into());
    refused(&no_signing, SERVER_NAME, CertificateError::WrongUsage);

    // An algorithm that is not known, of the leaf.
    let mut unknown = Element::parse(&chain[0]).unwrap();
    let algorithm = Element::constructed(0x30, &[Element::primitive(6, &[0x2a, 3, 4])]);
    unknown.children()[1] = algorithm.clone();
    unknown.children()[0].children()[2] = algorithm;
    let unknown = [&[unknown.encode()], &chain[1..]].concat();
    refused(&unknown, SERVER_NAME, CertificateError::UnsupportedAlgorithm);
}

#[test]
fn a_wrong_signature_anywhere_is_found() {
    let (root, chain) = of_len(5);
    for depth in 0..5 {
        let mut forged = chain.clone();
        *forged[depth].last_mut().unwrap() ^= 1;
        let expected = (Err(CertificateError::BadSignature), 5 - depth);
        assert_eq!(cost(&[&root.der], &forged, SERVER_NAME), expected, "from the trust anchor down to {depth}");
    }
}

/// Of several trust anchors with the issuer's name each may cost a signature: the configuration bounds them.
#[test]
fn trust_anchors_with_one_name() {
    let (root, chain) = of_len(2);
    let others = [Holder::root("Root"), Holder::root("Root")];
    let anchors = [&others[0].der[..], &others[1].der, &root.der];
    let (result, count) = cost(&anchors, &chain, SERVER_NAME);
    assert_eq!(result, Ok(2));
    assert!((2..=4).contains(&count), "{count}");
}
