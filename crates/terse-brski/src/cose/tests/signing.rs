//! Signing: the structure, keys that answer later, and what cannot be signed.

use pki_types::SubjectPublicKeyInfoDer;
use proptest::prelude::*;
use terse_tls::crypto::{CryptoError, Rng, Signing};

use super::*;

/// A key in a secure element, which answers later.
struct Slow(Arc<dyn SigningKey>);

impl SigningKey for Slow {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

#[test]
fn a_signature_can_come_later() {
    for signer in all() {
        let unsigned = signer.unsigned(CONTENT, &signer.chain);
        assert_eq!(unsigned.scheme(), signer.scheme);
        let Signing::Done(signature) =
            signer.key.sign(signer.scheme, unsigned.message(), &mut SeededRng::new(1)).unwrap()
        else {
            unreachable!("the key is in memory")
        };
        let signed = verify(&unsigned.signed(&signature).unwrap(), &[]).unwrap();
        assert_eq!(signed.content, CONTENT);
        assert_eq!(signed.chain, signer.chain);
    }
    let slow = Slow(P256.key.clone());
    assert_eq!(
        P256.unsigned(CONTENT, &[]).sign(&slow, &mut SeededRng::new(1)),
        Err(SignatureRefused::Crypto(CryptoError::SigningFailed))
    );
}

/// RFC 9052, 4.4: `["Signature1", {1: -7}, h'', payload]`.
#[test]
fn what_is_signed_is_the_sig_structure() {
    let unsigned = P256.unsigned(CONTENT, &P256.chain);
    assert_eq!(unsigned.message(), [b"\x84\x6aSignature1\x43\xa1\x01\x26\x40\x4a", CONTENT].concat());
}

#[test]
fn a_pledge_sends_nothing_but_content_and_signature() {
    let cose = P256.sign(CONTENT);
    assert!(cose.starts_with(&[b"\xd2\x84\x43\xa1\x01\x26\xa0\x4a", CONTENT, b"\x58\x40"].concat()));
    assert_eq!(cose.len(), 7 + 1 + CONTENT.len() + 2 + 64);
    assert_eq!(cose.len(), cose.capacity());
}

/// RFC 9360, 2: a COSE_X509 is a byte string, or an array of at least two.
#[test]
fn one_certificate_is_not_in_an_array() {
    let one = P256.unsigned(CONTENT, &P256.chain[..1]).sign(&*P256.key, &mut SeededRng::new(1)).unwrap();
    assert!(one.starts_with(b"\xd2\x84\x43\xa1\x01\x26\xa1\x18\x20\x59"));
    assert_eq!(verify(&one, &[]).unwrap().chain, P256.chain[..1]);
    let two = P256.unsigned(CONTENT, &P256.chain[..2]).sign(&*P256.key, &mut SeededRng::new(1)).unwrap();
    assert!(two.starts_with(b"\xd2\x84\x43\xa1\x01\x26\xa1\x18\x20\x82\x59"));
    assert_eq!(verify(&two, &[]).unwrap().chain, P256.chain[..2]);
}

#[test]
fn a_wrong_signature_does_not_verify() {
    let Signing::Done(signature) = P256.key.sign(P256.scheme, CONTENT, &mut SeededRng::new(1)).unwrap() else {
        unreachable!("the key is in memory")
    };
    let cose = P256.unsigned(CONTENT, &[]).signed(&signature).unwrap();
    assert_eq!(refusal(&cose), SignatureRefused::Signature);
    for no_signature in [&signature[1..], &[], &[0x30, 0], &[7; 64]] {
        assert_eq!(P256.unsigned(CONTENT, &[]).signed(no_signature), Err(SignatureRefused::Signature));
    }
    assert_eq!(ED25519.unsigned(CONTENT, &[]).signed(&[7; 63]), Err(SignatureRefused::Signature));
}

#[test]
fn what_cannot_be_signed_is_refused() {
    let new = |signer: &CertificateDer<'_>, bag: &[CertificateDer<'_>], scheme| {
        Unsigned::new(CONTENT, signer, bag, scheme).err()
    };
    let (p256, leaf) = (P256.scheme, &P256.chain[0]);
    assert_eq!(new(leaf, &[], SignatureScheme::ECDSA_SECP384R1_SHA384), Some(SignatureRefused::Algorithm));
    assert_eq!(new(leaf, &[], SignatureScheme::ED25519), Some(SignatureRefused::Algorithm));
    assert_eq!(new(&P384.chain[0], &[], p256), Some(SignatureRefused::Algorithm));
    assert_eq!(new(&RSA.chain[0], &[], RSA.scheme), Some(SignatureRefused::Algorithm));
    let many = vec![leaf.clone(); 17];
    assert_eq!(new(leaf, &many, p256), Some(Malformed::TooMany("certificates").into()));
    assert_eq!(new(leaf, &many[..16], p256), None);
    let no_certificate = CertificateDer::from(&[0x30, 0][..]);
    assert_eq!(new(&no_certificate, &[], p256), Some(Malformed::Der("certificate").into()));
}

proptest! {
    #[test]
    fn what_is_signed_is_verified(content in prop::collection::vec(any::<u8>(), 0..700), certificates in 0..4_usize) {
        for signer in all() {
            let twice = [&signer.chain[..], &signer.chain].concat();
            let bag = &twice[..certificates];
            let cose = signer.unsigned(&content, bag).sign(&*signer.key, &mut SeededRng::new(1)).unwrap();
            prop_assert_eq!(cose.len(), cose.capacity());
            let signed = verify(&cose, &signer.chain[..1]).unwrap();
            prop_assert_eq!(&signed.content, &content);
            prop_assert_eq!(&signed.chain[0], &signer.chain[0]);
            let alone = Signed::verify_by(&PROVIDER, &cose, &signer.chain[..1]).unwrap();
            prop_assert_eq!(alone.content, content.clone());
            prop_assert_eq!(alone.chain, &signer.chain[..1]);
        }
    }
}
