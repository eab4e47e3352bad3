//! Signatures are verified once, outside of path building, and nothing is believed that is not true.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

use pki_types::ServerName;
use terse_testkit::pki::{Pki, SERVER_NAME, unix_time, validity};

use super::super::tests::provider;
use super::super::{PeerRole, Trust};
use super::*;

/// An algorithm that counts what it verifies.
#[derive(Debug)]
struct Counting {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    count: Arc<AtomicUsize>,
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
        self.algorithm.verify_signature(key, message, signature)
    }
}

/// The outcome, with the number of certificate signatures in the path, and how many signatures were verified for it.
fn verify(trust: &Trust, chain: &[CertificateDer<'_>]) -> (Result<u8, CertificateError>, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let algorithms: Vec<_> = (provider().signatures.all.iter())
        .map(|algorithm| Counting { algorithm: *algorithm, count: count.clone() })
        .collect();
    let algorithms: Vec<_> =
        algorithms.iter().map(|algorithm| algorithm as &dyn SignatureVerificationAlgorithm).collect();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let result = trust.verify(chain, PeerRole::Server(&name), &algorithms, Some(unix_time(0)));
    (result.map(|(peer, _)| peer.signatures), count.load(Ordering::Relaxed))
}

fn trust(pki: &Pki) -> Trust {
    Trust::new(&provider(), &[pki.root()]).unwrap()
}

#[test]
fn each_signature_is_verified_once() {
    let pki = Pki::shared("p256x3");
    assert_eq!(verify(&trust(&pki), pki.server.chain()), (Ok(2), 2));

    // Path building asks twice, and for the signature of the CRL as well.
    let crl = pki.authority.crl(1, &[], validity()).unwrap();
    let checked = trust(&pki).with_crls(&provider(), &[crl]).unwrap();
    let (result, count) = verify(&checked, pki.server.chain());
    assert_eq!(result, Ok(2));
    assert_eq!(count, 2 + 2, "those of the chain once, that of the CRL in both runs");
}

/// An issuer with the right name and another key comes first.
#[test]
fn what_was_believed_and_is_wrong_is_not_believed_again() {
    let (pki, other) = (Pki::shared("p256x3"), Pki::new("p256x3"));
    let [leaf, issuer] = pki.server.chain() else { panic!("leaf and issuer") };
    let [_, impostor] = other.server.chain() else { panic!("leaf and issuer") };
    let chain = [leaf.clone(), impostor.clone(), issuer.clone()];
    // The impostor's own signature and the leaf's by it are wrong; then the two right ones.
    assert_eq!(verify(&trust(&pki), &chain), (Ok(2), 4));

    let chain = [leaf.clone(), impostor.clone()];
    let (result, count) = verify(&trust(&pki), &chain);
    assert_eq!((result, count), (Err(CertificateError::BadSignature), 2));
    let (result, _) = verify(&trust(&other), &[leaf.clone(), impostor.clone()]);
    assert_eq!(result, Err(CertificateError::BadSignature), "the leaf is by another CA of the same name");
}

/// However many issuers of one name a peer sends.
#[test]
fn the_work_for_one_chain_is_bounded() {
    let pki = Pki::shared("p256x3");
    let impostors: Vec<_> = (0..20).map(|_| Pki::new("p256x3").server.chain()[1].clone()).collect();
    let chain = [&pki.server.chain()[..1], &impostors].concat();
    let (result, count) = verify(&trust(&pki), &chain);
    assert!(result.is_err());
    assert!((1..=MAX_QUESTIONS).contains(&count), "{count} signatures");
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
