use core::time::Duration;

use pki_types::UnixTime;
use webpki::{
    ALL_VERIFICATION_ALGS, BorrowedCertRevocationList, CertRevocationList, EndEntityCert, KeyUsage,
    RevocationOptionsBuilder,
};

use super::*;
use crate::authority::tests::{NOW, options};
use crate::{Credential, LeafOptions};

/// Validates the chain against a CRL of each CA, where status unknown is an error.
fn verify(authority: &Authority, credential: &Credential, revoked: [&[Revocation]; 2]) -> Result<(), webpki::Error> {
    let validity = Validity::days(NOW, 7);
    let crls = [0, 1].map(|issuer| authority.crl(issuer, revoked[issuer], validity).unwrap());
    let crls = crls.each_ref().map(|crl| CertRevocationList::from(BorrowedCertRevocationList::from_der(crl).unwrap()));
    let crls = crls.each_ref();
    let revocation = RevocationOptionsBuilder::new(&crls).unwrap().build();

    let anchors = [webpki::anchor_from_trusted_cert(authority.root()).unwrap()];
    let time = UnixTime::since_unix_epoch(Duration::from_secs(NOW));
    let (usage, revocation) = (KeyUsage::server_auth(), Some(revocation));
    EndEntityCert::try_from(credential.leaf())?
        .verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, &credential.chain()[1..], time, usage, revocation, None)
        .map(|_| ())
}

#[test]
fn leaves_and_intermediates_are_revoked_by_their_own_issuer() {
    let authority = Authority::new(&options("p256x3")).unwrap();
    let credential = authority.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
    let [leaf, intermediate] = [0, 1].map(|at| Revocation::new(&credential.chain()[at], NOW).unwrap());
    assert_eq!(authority.issuer_of(&credential.chain()[0]).unwrap(), 1);
    assert_eq!(authority.issuer_of(&credential.chain()[1]).unwrap(), 0);

    verify(&authority, &credential, [&[], &[]]).unwrap();
    assert_eq!(verify(&authority, &credential, [&[], &[leaf]]), Err(webpki::Error::CertRevoked));
    assert_eq!(
        verify(&authority, &credential, [core::slice::from_ref(&intermediate), &[]]),
        Err(webpki::Error::CertRevoked)
    );
    verify(&authority, &credential, [&[], &[intermediate]]).unwrap(); // the serial of another issuer
}

#[test]
fn a_crl_is_read_back() {
    let authority = Authority::new(&options("p256x3")).unwrap();
    let revoked = [1u64, 0x80, 0x1234_5678_9abc].map(|serial| {
        let options = LeafOptions { serial: Some(serial), ..LeafOptions::new("a.example", Validity::days(NOW, 9)) };
        Revocation::new(authority.issue(&options).unwrap().leaf(), NOW + serial % 10).unwrap()
    });
    let crl = authority.crl(1, &revoked, Validity::days(NOW, 7)).unwrap();
    assert_eq!(authority.read_crl(&crl).unwrap(), (1, revoked.to_vec()));

    let mut other = options("p256x2");
    other.name = "Another CA".into();
    let other = Authority::new(&other).unwrap();
    assert!(matches!(other.read_crl(&crl), Err(Error::ForeignIssuer)));
    assert!(matches!(other.crl(1, &[], Validity::days(NOW, 7)), Err(Error::ForeignIssuer)));
}

#[test]
fn a_crl_has_the_number_and_the_reasons_that_are_given() {
    let authority = Authority::new(&options("p256x2")).unwrap();
    let reasons = RevocationReason::ALL.into_iter().map(Some).chain([None]);
    let revoked: Vec<_> = (1..)
        .zip(reasons)
        .map(|(serial, reason)| Revocation::of_serial_number(&[serial], NOW).with_reason(reason))
        .collect();
    let crl = authority.numbered_crl(0, &revoked, Validity::days(NOW, 7), u64::MAX).unwrap();
    assert_eq!(authority.read_crl(&crl).unwrap(), (0, revoked));
    let (_, list) = x509_parser::parse_x509_crl(&crl).unwrap();
    assert_eq!(list.crl_number().unwrap().to_string(), u64::MAX.to_string());
    for reason in RevocationReason::ALL {
        assert_eq!(reason.to_string().parse::<RevocationReason>().unwrap(), reason);
        assert_eq!(RevocationReason::from_code(reason.code()), Some(reason));
    }
    // RFC 5280, 5.3.1: unspecified, certificateHold, 7 is not used, and removeFromCRL.
    assert!([0, 6, 7, 8, 11].into_iter().all(|code| RevocationReason::from_code(code).is_none()));
    assert!(matches!("unspecified".parse::<RevocationReason>(), Err(Error::UnknownReason(_))));
}
