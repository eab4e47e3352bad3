//! Tests that signatures are verified once, outside of path building, and that bad ones are not accepted.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

use pki_types::ServerName;
use terse_pki::Revocation;
use terse_testkit::pki::{Pki, SERVER_NAME, unix_time, validity};

use super::super::tests::provider;
use super::super::{Expect, Trust};
use super::*;

/// An algorithm that counts the signatures that it verifies.
#[derive(Debug)]
struct Counting {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    count: Arc<AtomicUsize>,
    /// The number of bytes that were signed.
    bytes: Arc<AtomicUsize>,
}

impl SignatureVerificationAlgorithm for Counting {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(message.len(), Ordering::Relaxed);
        self.algorithm.verify_signature(key, message, signature)
    }
}

/// Verifies a chain. Returns the number of certificate signatures in the path, and how many signatures were verified.
fn verify(trust: &Trust, chain: &[CertificateDer<'_>]) -> (Result<u8, CertificateError>, usize) {
    let (result, count, _) = verify_counting_bytes(trust, chain);
    (result, count)
}

/// Verifies a chain as [`verify`] does, and also returns how many bytes were hashed for the signatures.
fn verify_counting_bytes(trust: &Trust, chain: &[CertificateDer<'_>]) -> (Result<u8, CertificateError>, usize, usize) {
    let (count, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let algorithms: Vec<_> = (provider().signatures.all.iter())
        .map(|algorithm| Counting { algorithm: *algorithm, count: count.clone(), bytes: bytes.clone() })
        .collect();
    let algorithms: Vec<_> =
        algorithms.iter().map(|algorithm| algorithm as &dyn SignatureVerificationAlgorithm).collect();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let result = trust.verify(chain, Expect::Server(&name), &algorithms, Some(unix_time(0)));
    (result.map(|checked| checked.peer.signatures), count.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
}

fn trust(pki: &Pki) -> Trust {
    Trust::new(&[pki.root()]).unwrap()
}

#[test]
fn each_signature_is_verified_once() {
    let pki = Pki::shared("p256x3");
    assert_eq!(verify(&trust(&pki), pki.server.chain()), (Ok(2), 2));

    let crl = pki.authority.crl(1, &[], validity()).unwrap();
    let checked = trust(&pki).with_crls(&[crl]).unwrap();
    assert_eq!(verify(&checked, pki.server.chain()), (Ok(2), 2 + 1), "those of the chain, and that of the CRL");
    assert_eq!(verify(&checked, pki.server.chain()), (Ok(2), 2), "which is known from then on");
}

/// The chain first has an issuer with the right name and another key.
#[test]
fn what_was_believed_and_is_wrong_is_not_believed_again() {
    let (pki, other) = (Pki::shared("p256x3"), Pki::new("p256x3"));
    let [leaf, issuer] = pki.server.chain() else { panic!("leaf and issuer") };
    let [_, impostor] = other.server.chain() else { panic!("leaf and issuer") };
    let chain = [leaf.clone(), impostor.clone(), issuer.clone()];
    // The impostor's own signature and the leaf's by it are bad; the next two are right.
    assert_eq!(verify(&trust(&pki), &chain), (Ok(2), 4));

    let chain = [leaf.clone(), impostor.clone()];
    let (result, count) = verify(&trust(&pki), &chain);
    assert_eq!((result, count), (Err(CertificateError::BadSignature), 2));
    let (result, _) = verify(&trust(&other), &[leaf.clone(), impostor.clone()]);
    assert_eq!(result, Err(CertificateError::BadSignature), "the leaf is by another CA of the same name");
}

/// A peer may send many issuers with the same name.
#[test]
fn the_work_for_one_chain_is_bounded() {
    let pki = Pki::shared("p256x3");
    let impostors: Vec<_> = (0..20).map(|_| Pki::new("p256x3").server.chain()[1].clone()).collect();
    let chain = [&pki.server.chain()[..1], &impostors].concat();
    let (result, count) = verify(&trust(&pki), &chain);
    assert!(result.is_err());
    assert!((1..=MAX_QUESTIONS).contains(&count), "{count} signatures");
}

/// Anybody can send a certificate with the name of a public issuer and a revoked serialNumber.
#[test]
fn for_a_forged_chain_no_list_is_looked_at() {
    let pki = Pki::shared("p256x3");
    let leaf = &pki.server.chain()[0];
    let others = (0..2_000_u32).map(|serial| Revocation::of_serial_number(&(serial + 1).to_be_bytes(), 1));
    let of_leaf = Revocation::new(leaf, 1).unwrap();
    let list = pki.authority.crl(1, &others.chain([of_leaf]).collect::<Vec<_>>(), validity()).unwrap();
    let len = list.len();
    let checked = trust(&pki).with_crls(&[list]).unwrap();
    let mut forged = leaf.to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let issuer = &pki.server.chain()[1];
    let chain: Vec<_> = [CertificateDer::from(forged)].into_iter().chain((0..64).map(|_| issuer.clone())).collect();
    let (result, count, bytes) = verify_counting_bytes(&checked, &chain);
    assert!(result.is_err(), "{result:?}");
    assert!(count <= MAX_QUESTIONS && bytes < len / 10, "{count} signatures over {bytes} B, beside a list of {len} B");
    // The real certificate is searched in the list, whose signature is verified once for all handshakes.
    let (result, _, bytes) = verify_counting_bytes(&checked, pki.server.chain());
    assert!(result == Err(CertificateError::Revoked) && bytes > len - 200, "{result:?}, {bytes} B");
    let (result, _, bytes) = verify_counting_bytes(&checked, pki.server.chain());
    assert!(result == Err(CertificateError::Revoked) && bytes < len / 10, "{result:?}, {bytes} B");
}

#[test]
fn a_part_is_found_where_it_stands() {
    let whole = *b"certificate and certificate";
    assert_eq!(position(&whole, &whole[4..7]), Some(4..7));
    assert_eq!(position(&whole, &whole), Some(0..whole.len()));
    assert_eq!(position(&whole[..8], &whole[4..12]), None, "beyond its end");
    assert_eq!(position(&whole[8..], &whole[4..12]), None, "before its beginning");
    let equal = whole[16..].to_vec();
    assert_eq!(position(&whole, &equal), None, "equal, and somewhere else");
}
