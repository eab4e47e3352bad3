//! The work that a stranger's certificates cause: the signatures that are verified are counted, and are few.

use std::cell::Cell;

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints,
    SanType,
};
use terse_brski::masa::{Masa, Policy, Refusal};
use terse_rustcrypto::{PROVIDER, verify};
use terse_tls::CertificateError;
use terse_tls::crypto::{CryptoProvider, SignatureAlgorithms};

use super::paths::{Odd, cmc_ra};
use super::scene::{Scene, now, posted};

thread_local! {
    static VERIFIED: Cell<usize> = const { Cell::new(0) };
}

/// ECDSA on P-256, which counts.
#[derive(Debug)]
struct Counting;

impl SignatureVerificationAlgorithm for Counting {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        verify::ECDSA_P256_SHA256.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        verify::ECDSA_P256_SHA256.signature_alg_id()
    }

    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        VERIFIED.set(VERIFIED.get() + 1);
        verify::ECDSA_P256_SHA256.verify_signature(key, message, signature)
    }
}

static COUNTING: CryptoProvider = PROVIDER.signatures(SignatureAlgorithms::new(&[&Counting], &[]));

/// The most signatures of certificates that are verified to find a path.
const MAX: usize = 36;

/// Reads a request that `registrar` signs, with these certificates above its own. Returns how long the path is, and how many
/// signatures of certificates were verified.
fn read(registrar: &Odd, others: &[&Odd]) -> (Result<usize, Refusal>, usize) {
    let scene = Scene::new();
    let masa = Masa::new(&COUNTING, &[scene.maker.root().clone()], Policy::default()).unwrap();
    let mut chain = vec![registrar.der.clone()];
    chain.extend(others.iter().map(|other| other.der.clone()));
    // Without the request of the pledge, whose certificates are counted in no path.
    let request = registrar.sign(&chain, &scene.registrar_fields(None));
    VERIFIED.set(0);
    let read = masa.read_voucher_request(&posted(&request), now());
    (read.map(|request| request.path().certificates().len()), VERIFIED.get() - 1) // one is the registrar's own
}

/// A CA, of its own or under another. Its certificate is longer than others, so that it comes after them in a SET OF (X.690,
/// 11.6), in which a registrar sends its certificates.
fn ca(name: &str, issuer: Option<&Odd>) -> Odd {
    Odd::new(name, issuer, |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 32473, 1], vec![5; 64])];
    })
}

/// A registrar, and this many CAs above it, the lowest first.
fn domain(cas: usize) -> (Odd, Vec<Odd>) {
    let mut above = vec![ca("CA 1", None)];
    for number in 2..=cas {
        above.push(ca(&format!("CA {number}"), above.last()));
    }
    above.reverse();
    let registrar = Odd::new("registrar", above.first(), |params| {
        cmc_ra(params);
        params.subject_alt_names = vec![SanType::DnsName("registrar.plant.example".try_into().unwrap())];
    });
    (registrar, above)
}

#[test]
fn the_longest_path_is_within_the_budget() {
    for (cas, verifications) in [(1, 1), (2, 3), (3, 6), (6, 21)] {
        let (registrar, above) = domain(cas);
        assert_eq!(read(&registrar, &above.iter().collect::<Vec<_>>()), (Ok(cas + 1), verifications));
    }
}

#[test]
fn namesakes_cost_one_verification_each() {
    let (registrar, above) = domain(1);
    let namesakes: Vec<_> = (0..14).map(|_| Odd::ca("CA 1")).collect();
    let mut others: Vec<_> = namesakes.iter().collect();
    let unsigned = read(&registrar, &others);
    assert_eq!(unsigned, (Err(Refusal::Registrar(CertificateError::BadSignature)), 14));
    others.push(&above[0]);
    assert_eq!(read(&registrar, &others), (Ok(2), 16));
}

#[test]
fn namesakes_of_all_cas_are_within_the_budget() {
    // Each CA has a namesake, which is tried first; the one below the root has several.
    let (registrar, above) = domain(6);
    let names = ["CA 6", "CA 5", "CA 4", "CA 3", "CA 2", "CA 1", "CA 1", "CA 1", "CA 1"];
    let namesakes: Vec<_> = names.iter().map(|name| Odd::ca(name)).collect();
    let others: Vec<_> = namesakes.iter().chain(&above).collect();
    let (read, verified) = read(&registrar, &others);
    assert_eq!(read, Ok(7));
    assert!((33..=MAX).contains(&verified), "{verified}");
}

#[test]
fn a_request_that_would_cost_more_is_refused() {
    // CAs that have signed, and are none for the registrar. The same key under the same name, again and again: each signature is right, and no path is.
    let (registrar, above) = domain(5);
    let elsewhere = |params: &mut CertificateParams| {
        let permitted_subtrees = vec![GeneralSubtree::DnsName("elsewhere.example".into())];
        params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    };
    let copies: Vec<_> = (0..10).map(|_| above[4].copy(elsewhere)).collect();
    let others: Vec<_> = above[..4].iter().chain(&copies).collect();
    let (refused, verified) = read(&registrar, &others);
    assert_eq!(refused, Err(Refusal::TooManyCertificates));
    assert!((21..=MAX).contains(&verified), "{verified}");
    assert_eq!(Refusal::TooManyCertificates.status(), 403);
    assert!(Refusal::TooManyCertificates.to_string().contains("send the registrar's certificate"));
}

#[test]
fn cas_that_have_issued_each_other_make_no_endless_path() {
    let first = Odd::ca("A");
    let second = ca("B", Some(&first));
    let again = first.copy_under(&second);
    let registrar = Odd::new("registrar", Some(&first), cmc_ra);
    // registrar <- A <- B, and B's issuer A is on the path already.
    assert_eq!(read(&registrar, &[&again, &second]), (Ok(3), 3));
}
