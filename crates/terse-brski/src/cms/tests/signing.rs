//! Signing: the structure, keys that answer later, and what cannot be signed.

use pki_types::SubjectPublicKeyInfoDer;
use proptest::prelude::*;
use terse_tls::crypto::{CryptoError, Rng, Signing};

use super::*;
use crate::asn1::{CONTEXT_0, Element, SET};

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

fn signature(signer: &Signer, message: &[u8]) -> std::vec::Vec<u8> {
    match signer.key.sign(signer.scheme, message, &mut SeededRng::new(1)).unwrap() {
        Signing::Done(signature) => signature,
        Signing::Pending => unreachable!("the key is in memory"),
    }
}

#[test]
fn a_signature_can_come_later() {
    for signer in [&P256, &P384, &RSA, &ED25519_SIGNER] {
        let unsigned = signer.unsigned(CONTENT, None).unwrap();
        assert_eq!(unsigned.scheme(), signer.scheme);
        let signature = signature(signer, unsigned.message());
        let signed = verify(&unsigned.signed(&signature));
        assert_eq!(signed.content, CONTENT);
        assert_eq!(signed.signing_time, None);
        assert_eq!(signed.chain, signer.chain);
    }
    let unsigned = P256.unsigned(CONTENT, None).unwrap();
    assert_eq!(
        unsigned.sign(&Slow(P256.key.clone()), &mut SeededRng::new(1)),
        Err(SignatureRefused::Crypto(CryptoError::SigningFailed))
    );
    let slow = Slow(P256.key.clone());
    assert_eq!(
        sign(&PROVIDER, CONTENT, &P256.chain, None, &slow, P256.scheme, &mut SeededRng::new(1)),
        Err(SignatureRefused::Crypto(CryptoError::SigningFailed))
    );
}

#[test]
fn what_is_no_voucher_is_of_type_id_data() {
    for signer in [&P256, &P384, &RSA, &ED25519_SIGNER] {
        let time = UnixTime::since_unix_epoch(core::time::Duration::from_secs(1_795_699_684));
        let unsigned = Unsigned::data(&PROVIDER, CONTENT, &signer.chain, signer.scheme, Some(time)).unwrap();
        let signature = signature(signer, unsigned.message());
        let der = unsigned.signed(&signature);
        let parsed = parse::SignedData::read(&der, der::EncodingRules::Der).unwrap();
        assert!(parsed.content_type.is(oid::DATA));
        // RFC 5652, 5.1: of id-data, issuer and serial number, the version is 1.
        assert_eq!(der.windows(4).filter(|bytes| *bytes == [2, 1, 1, 0x31]).count(), 1);
        let signed = verify(&der);
        assert_eq!((&*signed.content, signed.signing_time), (CONTENT, Some(time)));
        assert_eq!(signed.chain, signer.chain);
    }
}

#[test]
fn a_wrong_signature_does_not_verify() {
    let unsigned = P256.unsigned(CONTENT, None).unwrap();
    let signature = signature(&P256, CONTENT);
    assert_eq!(refusal(&unsigned.signed(&signature)), SignatureRefused::Signature);
}

#[test]
fn what_cannot_be_signed_is_refused() {
    let new = |chain: &[CertificateDer<'_>], scheme| Unsigned::new(&PROVIDER, CONTENT, chain, scheme, None).err();
    let p256 = SignatureScheme::ECDSA_SECP256R1_SHA256;
    assert_eq!(new(&[], p256), Some(SignatureRefused::NoSigner));
    assert_eq!(new(&P256.chain, SignatureScheme::ECDSA_SECP384R1_SHA384), Some(SignatureRefused::Algorithm));
    assert_eq!(new(&P384.chain, p256), Some(SignatureRefused::Algorithm));
    assert_eq!(new(&P256.chain, SignatureScheme::ED25519), Some(SignatureRefused::Algorithm));
    assert_eq!(new(&RSA.chain, SignatureScheme::RSA_PSS_RSAE_SHA256), Some(SignatureRefused::Algorithm));
    let many = vec![P256.chain[0].clone(); 17];
    assert_eq!(new(&many, p256), Some(SignatureRefused::Malformed(Malformed::TooMany("certificates"))));
    assert_eq!(new(&many[..16], p256), None);
    let no_certificate = [CertificateDer::from(&[0x30, 0][..])];
    assert_eq!(new(&no_certificate, p256), Some(SignatureRefused::Malformed(Malformed::Der("certificate"))));
    // The key of another certificate, which cannot sign with this scheme.
    let unsigned = P256.unsigned(CONTENT, None).unwrap();
    let error = unsigned.sign(&*P384.key, &mut SeededRng::new(1)).unwrap_err();
    assert!(matches!(error, SignatureRefused::Crypto(_)), "{error}");
}

#[test]
fn times_have_two_forms() {
    for (seconds, tag) in [(0, 0x17), (2_524_607_999, 0x17), (2_524_608_000, 0x18), (253_402_300_799, 0x18)] {
        let unsigned = P256.unsigned(CONTENT, Some(time(seconds))).unwrap();
        // The type of id-signingTime is followed by the SET with the time.
        let attr_type = [oid::SIGNING_TIME.as_bytes(), &[SET]].concat();
        let place = unsigned.message().windows(attr_type.len()).position(|window| window == attr_type).unwrap();
        assert_eq!(unsigned.message()[place + attr_type.len() + 1], tag);
        let signature = signature(&P256, unsigned.message());
        assert_eq!(verify(&unsigned.signed(&signature)).signing_time, Some(time(seconds)));
    }
    let too_late = P256.unsigned(CONTENT, Some(time(253_402_300_800))).err();
    assert_eq!(too_late, Some(SignatureRefused::Malformed(Malformed::Invalid("signingTime"))));
}

/// X.690, 11.6: the elements of a SET OF are in order, and no chain changes that.
#[test]
fn sets_are_in_order() {
    let in_order = |set: Element<'_>| {
        let elements: std::vec::Vec<_> = set.elements("").unwrap().map(|element| element.unwrap().encoded).collect();
        assert!(elements.len() >= 2 && elements.is_sorted(), "{elements:x?}");
    };
    for signer in [&P256, &P384, &ED25519_SIGNER] {
        for time in [None, Some(time(NOW)), Some(time(4_000_000_000))] {
            let unsigned = signer.unsigned(CONTENT, time).unwrap();
            let message = unsigned.message().to_vec();
            assert_eq!(message[0], SET);
            in_order(Element::from_der(&message, "").unwrap());
            let encoded = unsigned.signed(&[7; 72]);
            let signed_data = parse::SignedData::read(&encoded, EncodingRules::Der).unwrap();
            assert!(signed_data.certificates.is_sorted());
            assert_eq!(signed_data.certificates.len(), 2);
            assert_eq!(signed_data.signer.signed_attrs, [&[CONTEXT_0], &message[1..]].concat());
        }
    }
}

#[test]
fn the_order_of_a_chain_is_not_that_of_its_certificates() {
    let encoded = P256.sign(CONTENT);
    let mut reversed = Signer { chain: P256.chain.clone(), key: P256.key.clone(), scheme: P256.scheme };
    reversed.chain.push(P384.chain[1].clone());
    reversed.chain[1..].reverse();
    assert_eq!(verify(&encoded).chain, P256.chain);
    assert_eq!(verify(&reversed.sign(CONTENT)).chain[0], P256.chain[0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the lengths are, the structure is DER.
    #[test]
    fn what_is_signed_is_read(content in prop::collection::vec(any::<u8>(), 0..14_000), cut in 0_usize..300) {
        for content in [&content[..], &content[..cut.min(content.len())]] {
            prop_assert_eq!(verify(&P256.sign(content)).content, content);
        }
    }

    #[test]
    fn any_signature_has_room(signature in prop::collection::vec(any::<u8>(), 0..600)) {
        let encoded = P256.unsigned(CONTENT, None).unwrap().signed(&signature);
        let read = parse::SignedData::read(&encoded, EncodingRules::Der).unwrap();
        prop_assert_eq!(read.signer.signature, signature);
        prop_assert_eq!(&read.content[..], CONTENT);
    }
}
