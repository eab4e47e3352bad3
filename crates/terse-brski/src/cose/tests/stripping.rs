//! The certificates of a voucher are removed before it is forwarded.

use super::forge::*;
use super::*;

#[test]
fn certificates_are_removed_and_the_signature_stays() {
    for signer in all() {
        let stripped = without_certificates(&signer.sign_with_chain(CONTENT)).unwrap();
        assert_eq!(verify(&stripped, &[]).unwrap_err(), SignatureRefused::NoSigner);
        let signed = verify(&stripped, &signer.chain[..1]).unwrap();
        assert_eq!((&signed.content[..], &signed.chain[..]), (CONTENT, &signer.chain[..1]));
        // It is what a signer without certificates writes, and has none to remove.
        assert_eq!(without_certificates(&stripped).unwrap(), stripped);
        if signer.scheme == SignatureScheme::ED25519 {
            assert_eq!(stripped, signer.sign(CONTENT));
        } else {
            assert_eq!(stripped.len(), signer.sign(CONTENT).len());
        }
    }
}

#[test]
fn other_parameters_are_kept_as_they_are() {
    let certificate = bytes(&P256.chain[0]);
    let kept = [&b"\x04\x5f\x41a\xff\x18\x64\xa1\x01\x80"[..], b"\x65claim\x1b\x00\x00\x00\x00\x00\x00\x00\x01"];
    let chains = [[&[0x18, 0x21][..], &certificate].concat(), [&[0x18, 0x20][..], &certificate].concat()];
    for (begin, end) in [(&[0xa5][..], &[][..]), (&[0xbf], &[0xff])] {
        let cose = Forgery::with(|forgery| {
            forgery.unprotected = [begin, kept[0], &chains[0], kept[1], &chains[1], end].concat();
        });
        let stripped = without_certificates(&cose).unwrap();
        assert_eq!(stripped[..7], [0xd2, 0x84, 0x43, 0xa1, 0x01, 0x26, 0xa3]);
        assert!(stripped[7..].starts_with(&kept.concat()));
        assert_eq!(verify(&stripped, &P256.chain[..1]).unwrap().chain, P256.chain[..1]);
    }
}

/// A MASA whose key the pledge does not have puts its chain into the protected header for it, and into the other one for the
/// registrar. The pledge gets the one that is protected.
#[test]
fn what_is_protected_stays() {
    let cose = Forgery::with(|forgery| {
        forgery.protected = header(&[(1, &[0x26]), (32, &certificates(&P256.chain))]);
    });
    assert_eq!(verify(&cose, &[]).unwrap().chain, P256.chain, "the registrar has both, and each certificate once");
    let stripped = without_certificates(&cose).unwrap();
    assert_eq!(verify(&stripped, &[]).unwrap().chain, P256.chain);
}

#[test]
fn what_is_no_cose_sign1_is_not_stripped() {
    let cose = P256.sign_with_chain(CONTENT);
    for len in 0..cose.len() {
        assert_eq!(without_certificates(&cose[..len]), Err(Malformed::Cbor), "{len}");
    }
    let long = vec![0; crate::voucher::MAX_LEN + 1];
    assert_eq!(without_certificates(&long), Err(Malformed::TooLong(crate::voucher::MAX_LEN)));
    let many: Vec<(i64, &[u8])> = (100..117).map(|label| (label, &b"\xf6"[..])).collect();
    let many = Forgery::with(|forgery| forgery.unprotected = header(&many));
    assert_eq!(without_certificates(&many), Err(Malformed::TooMany("header parameters")));
}
