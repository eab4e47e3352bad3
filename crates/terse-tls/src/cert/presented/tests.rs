//! Tests of what is kept of peers that are taken unverified.

use alloc::vec;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use proptest::prelude::*;
use terse_testkit::pki::Pki;

use super::*;
use crate::cert::tests::key_of;

#[test]
fn a_chain_comes_back_as_it_was_sent() {
    let pki = Pki::shared("p256x3");
    let presented = PresentedPeer::of_chain(pki.server.chain()).unwrap();
    assert!(presented.chain().eq(pki.server.chain().iter().cloned()));
    assert_eq!(presented.certificate_type(), CertificateType::X509);
    assert_eq!(presented.public_key(), key_of(pki.server.leaf()));
    let key = key_of(pki.server.leaf());
    let raw = PresentedPeer::of_raw_public_key(&key).unwrap();
    assert_eq!((raw.chain().count(), raw.public_key()), (0, key));
    assert_ne!(raw, presented);
}

/// A name in an unverified certificate can be anything, such as the commands of a terminal.
#[test]
fn debugging_prints_no_name() {
    let pki = Pki::shared("p256x3");
    let printed = std::format!("{:?}", PresentedPeer::of_chain(pki.server.chain()).unwrap());
    assert!(!printed.contains("plant"), "{printed}");
    assert!(printed.contains("certificates: 2"), "{printed}");
}

#[test]
fn what_cannot_sign_is_refused() {
    let short = Pki::shared("rsa2048x2");
    assert_eq!(PresentedPeer::of_chain(&[]).err(), Some(CertificateError::Malformed));
    assert_eq!(PresentedPeer::of_raw_public_key(&[]).err(), Some(CertificateError::Malformed));
    assert_eq!(PresentedPeer::of_chain(&[short.root()]).err(), Some(CertificateError::WrongUsage));
    let leaf = short.server.leaf();
    for len in 0..leaf.len() {
        let cut = CertificateDer::from(&leaf[..len]);
        assert_eq!(PresentedPeer::of_chain(&[cut]).err(), Some(CertificateError::Malformed), "{len}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Whatever the other certificates are, no more memory is taken than they take in a Certificate message.
    #[test]
    fn as_much_is_kept_as_was_sent(others in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..200)) {
        let pki = Pki::shared("p256x3");
        let mut chain = vec![pki.server.leaf().clone()];
        chain.extend(others.into_iter().map(CertificateDer::from));
        let presented = PresentedPeer::of_chain(&chain).unwrap();
        prop_assert!(presented.chain().eq(chain.iter().cloned()));
        let sent: Vec<usize> = chain.iter().map(|certificate| 3 + certificate.len()).collect();
        prop_assert_eq!(presented.certificates.len(), sent.iter().sum());
    }
}
