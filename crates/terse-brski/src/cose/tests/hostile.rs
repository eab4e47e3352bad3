//! A COSE_Sign1 that is wrong in one place is refused.

use proptest::prelude::*;

use super::forge::*;
use super::*;
use crate::voucher::MAX_LEN;

#[test]
fn the_structure_is_that_of_the_draft() {
    let malformed = SignatureRefused::from(Malformed::Cbor);
    // Untagged, another tag, that of CWT around it, three fields, five, a map, a byte string.
    for head in
        [&[0x84][..], &[0xd1, 0x84], &[0xd8, 0x3d, 0xd2, 0x84], &[0xd2, 0x83], &[0xd2, 0x85], &[0xd2, 0xa2], &[0x58, 9]]
    {
        assert_eq!(refusal(&Forgery::with(|forgery| forgery.head = head.to_vec())), malformed, "{head:x?}");
    }
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.tail = vec![0])), malformed);
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.unprotected = vec![0x40])), malformed);
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.unprotected = vec![0xf6])), malformed);
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.protected.push(0))), malformed);
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.protected = vec![0x80])), malformed);
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.payload = vec![0xa0])), malformed);
    let detached = Forgery::with(|forgery| forgery.payload = vec![0xf6]);
    assert_eq!(refusal(&detached), Malformed::Missing("payload").into());
}

#[test]
fn lengths_may_be_indefinite() {
    let cose = Forgery::with(|forgery| {
        forgery.head = vec![0xd2, 0x9f];
        forgery.payload = [&[0x5f][..], &bytes(&CONTENT[..4]), &bytes(&CONTENT[4..]), &[0xff]].concat();
        forgery.tail = vec![0xff];
    });
    assert_eq!(verify(&cose, &[]).unwrap().content, CONTENT);
    assert_eq!(refusal(&cose[..cose.len() - 1]), Malformed::Cbor.into());
}

#[test]
fn what_is_signed_is_this_and_nothing_else() {
    for cose in [
        Forgery::with(|forgery| forgery.external_aad = vec![1]),
        Forgery::with(|forgery| forgery.context = "Signature"),
        Forgery::with(|forgery| forgery.content = CONTENT[1..].to_vec()),
    ] {
        assert_eq!(refusal(&cose), SignatureRefused::Signature);
    }
}

/// A signature over the content is none with another protected header that says the same.
#[test]
fn the_protected_header_is_signed_as_it_is() {
    let cose = P256.sign(CONTENT);
    let changed = [&[0xd2, 0x84, 0x44, 0xa1, 0x18, 0x01, 0x26], &cose[6..]].concat();
    assert_eq!(refusal(&changed), SignatureRefused::Signature);
}

#[test]
fn the_signer_is_one_that_can_be() {
    let cose = P256.sign(CONTENT);
    assert_eq!(verify(&cose, &[]).unwrap_err(), SignatureRefused::NoSigner);
    assert_eq!(verify(&cose, &P256.chain[1..]).unwrap_err(), SignatureRefused::Signature);
    assert_eq!(verify(&cose, &P384.chain).unwrap_err(), SignatureRefused::Algorithm);
    assert_eq!(verify(&cose, &RSA.chain).unwrap_err(), SignatureRefused::Algorithm);
    let no_certificate = CertificateDer::from(&[0x30, 0][..]);
    let refused = verify(&cose, core::slice::from_ref(&no_certificate)).unwrap_err();
    assert_eq!(refused, Malformed::Der("certificate").into());
    // Whatever the others are.
    for others in [&P384.chain[..], &P256.chain[1..], &RSA.chain, &[no_certificate]] {
        let mut signers = others.to_vec();
        signers.push(P256.chain[0].clone());
        assert_eq!(verify(&cose, &signers).unwrap().chain, P256.chain[..1]);
    }
}

/// A registrar must ignore what comes with the request of a pledge.
#[test]
fn a_certificate_that_came_along_is_not_the_pledges() {
    let cose = P256.sign_with_chain(CONTENT);
    assert!(verify(&cose, &P384.chain).is_ok());
    assert_eq!(Signed::verify_by(&PROVIDER, &cose, &P384.chain).unwrap_err(), SignatureRefused::Algorithm);
    assert_eq!(Signed::verify_by(&PROVIDER, &cose, &[]).unwrap_err(), SignatureRefused::NoSigner);
    assert_eq!(Signed::verify_by(&PROVIDER, &cose, &P256.chain).unwrap().chain, P256.chain[..1]);
}

#[test]
fn a_cose_sign1_is_bounded() {
    let len = |content: usize| P256.sign(&vec![0; content]).len();
    let most = MAX_LEN - (len(1000) - 1000);
    assert!(verify(&P256.sign(&vec![0; most]), &P256.chain[..1]).is_ok());
    assert_eq!(refusal(&P256.sign(&vec![0; most + 1])), Malformed::TooLong(MAX_LEN).into());
}

#[test]
fn a_provider_may_lack_an_algorithm() {
    static NONE: terse_tls::crypto::SignatureAlgorithms = terse_tls::crypto::SignatureAlgorithms::new(&[], &[]);
    let mut provider = PROVIDER;
    provider.signatures = NONE;
    let refused = Signed::verify(&provider, &P256.sign_with_chain(CONTENT), &[]).unwrap_err();
    assert_eq!(refused, SignatureRefused::Algorithm);
}

/// Every bit is signed, or is in the header that is not.
#[test]
fn every_bit_counts() {
    for signer in all() {
        let encoded = signer.sign_with_chain(CONTENT);
        let end = encoded.windows(CONTENT.len()).position(|window| window == CONTENT).unwrap() - 1;
        let start = encoded.windows(2).position(|window| window == [0x18, 0x20]).unwrap() - 1;
        let mut changed = encoded.clone();
        for place in 0..encoded.len() {
            // Of the certificates, and with the slower algorithms, some bits are enough.
            let every = signer.scheme == P256.scheme && !(start..end).contains(&place);
            for bit in (0..8).filter(|bit| every || place % 8 == *bit) {
                changed[place] ^= 1 << bit;
                if let Ok(signed) = Signed::verify(&PROVIDER, &changed, &[]) {
                    assert!((start..end).contains(&place), "{place}");
                    assert_eq!(signed.content, CONTENT);
                    let key =
                        |chain: &[CertificateDer<'_>]| crate::certificate::public_key(&chain[0]).unwrap().to_vec();
                    assert_eq!(key(&signed.chain), key(&signer.chain));
                }
                changed[place] = encoded[place];
            }
        }
        for len in 0..encoded.len() {
            assert!(Signed::verify(&PROVIDER, &encoded[..len], &signer.chain).is_err(), "{len}");
        }
        assert!(Signed::verify(&PROVIDER, &[&encoded[..], &[0]].concat(), &signer.chain).is_err());
    }
}

proptest! {
    #[test]
    fn no_change_is_a_panic(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6)) {
        let mut encoded = P256.sign_with_chain(CONTENT);
        for (place, byte) in changes {
            let place = place.index(encoded.len());
            encoded[place] = byte;
        }
        if let Ok(signed) = Signed::verify(&PROVIDER, &encoded, &[]) {
            prop_assert_eq!(signed.content, CONTENT);
        }
        let _ = without_certificates(&encoded);
    }

    #[test]
    fn no_input_is_a_panic(rest in prop::collection::vec(any::<u8>(), 0..300)) {
        for head in [&[][..], &[0xd2, 0x84], &[0xd2, 0x84, 0x43, 0xa1, 0x01, 0x26], &[0xd2, 0x84, 0x43, 0xa1, 0x01, 0x26, 0xa1, 0x18, 0x20]] {
            let encoded = [head, &rest].concat();
            let _ = (Signed::verify(&PROVIDER, &encoded, &P256.chain), without_certificates(&encoded));
        }
    }
}
