//! Signed data that is wrong in one place is refused, and each time for that.

use std::vec::Vec;

use proptest::prelude::*;

use super::forge::*;
use super::*;
use crate::asn1::{CONTEXT_0, Element, OCTET_STRING, SEQUENCE, SET, encode};
use crate::certificate::Fields;
use crate::voucher::MAX_LEN;

/// 1.2.840.113549.1.9.16.1.4, a timestamp.
const ANOTHER_TYPE: der::asn1::ObjectIdentifier = der::asn1::ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");

#[test]
fn a_forgery_without_a_change_is_right() {
    let signed = verify(&Forgery::new().encode());
    assert_eq!(signed.content, CONTENT);
    assert_eq!(signed.chain, P256.chain);
    assert_eq!(signed.signing_time, None);
}

#[test]
fn there_is_one_signer() {
    let two = Forgery::with(|forgery| forgery.signers.push(forgery.signers[0].clone()));
    assert_eq!(refusal(&two), SignatureRefused::Signers);
    assert_eq!(refusal(&Forgery::with(|forgery| forgery.signers.clear())), SignatureRefused::Signers);
}

#[test]
fn signed_attributes_are_required() {
    let without = Forgery::with_signer(|signer| {
        signer.signed_attrs.clear();
        signer.signature = Signature::Of(CONTENT.to_vec());
    });
    assert_eq!(refusal(&without), SignatureRefused::SignedAttributes("signedAttrs"));
    let empty = encode(CONTEXT_0, &[]);
    assert_eq!(parse::SignedAttributes::read(&empty).err(), Some(SignatureRefused::SignedAttributes("contentType")));
}

/// Whoever sees a signature could else present what was signed, the attributes, as content without attributes.
#[test]
fn signed_attributes_are_no_content() {
    let signed_attrs = encode(SET, &[&Forgery::new().signers[0].signed_attrs.concat()]);
    let confused = Forgery::with(|forgery| {
        forgery.econtent = encode(CONTEXT_0, &[&encode(OCTET_STRING, &[&signed_attrs])]);
        forgery.signers[0].signature = Signature::Of(signed_attrs);
        forgery.signers[0].signed_attrs.clear();
    });
    assert_eq!(refusal(&confused), SignatureRefused::SignedAttributes("signedAttrs"));
}

#[test]
fn an_attribute_is_there_once() {
    let time = attribute(oid::SIGNING_TIME, &[encode(0x17, &[b"260101000000Z"])]);
    let good = Forgery::with_signer(|signer| signer.signed_attrs.push(time.clone()));
    assert_eq!(verify(&good).signing_time, Some(super::time(NOW)));
    for (place, name) in [(0, "contentType"), (1, "messageDigest"), (2, "signingTime")] {
        let changed = |change: fn(Vec<u8>) -> Vec<Vec<u8>>| {
            refusal(&Forgery::with_signer(|signer| {
                signer.signed_attrs.push(time.clone());
                let attribute = signer.signed_attrs.remove(place);
                signer.signed_attrs.extend(change(attribute));
            }))
        };
        let refused = SignatureRefused::SignedAttributes(name);
        assert_eq!(changed(|attribute| vec![attribute; 2]), refused);
        // One without a value, and with two.
        assert_eq!(changed(|attribute| vec![with_values(&attribute, 0)]), refused);
        assert_eq!(changed(|attribute| vec![with_values(&attribute, 2)]), refused);
        if name != "signingTime" {
            assert_eq!(changed(|_| vec![]), refused);
        }
    }
}

/// Returns the attribute with `count` times its value.
fn with_values(attribute: &[u8], count: usize) -> Vec<u8> {
    let mut fields = Element::from_der(attribute, "").unwrap().sequence("").unwrap();
    let (attr_type, values) = (fields.read().unwrap(), fields.read().unwrap());
    encode(SEQUENCE, &[attr_type.encoded, &encode(SET, &vec![values.contents; count])])
}

#[test]
fn other_attributes_are_ignored() {
    let other = attribute(ANOTHER_TYPE, &[vec![5, 0], vec![2, 1, 7]]);
    let forgery = Forgery::with_signer(|signer| {
        signer.signed_attrs.extend([other.clone(), other.clone()]);
        signer.unsigned_attrs = encode(0xa1, &[&other]);
    });
    assert_eq!(verify(&forgery).content, CONTENT);
    let crls = Forgery::with(|forgery| forgery.crls = encode(0xa1, &[&[0x30, 0]]));
    assert_eq!(verify(&crls).content, CONTENT);
}

#[test]
fn types_of_content_agree() {
    let with_types = |econtent_type, attr| {
        Forgery::with(|forgery| {
            forgery.econtent_type = econtent_type;
            forgery.signers[0].signed_attrs[0] = attribute(oid::CONTENT_TYPE, &[object_identifier(attr)]);
        })
    };
    assert_eq!(verify(&with_types(oid::DATA, oid::DATA)).content, CONTENT); // RFC 8366, 5.4: PKCS #7
    let differ = SignatureRefused::SignedAttributes("contentType");
    assert_eq!(refusal(&with_types(oid::DATA, oid::ANIMA_JSON_VOUCHER)), differ);
    assert_eq!(refusal(&with_types(oid::ANIMA_JSON_VOUCHER, oid::DATA)), differ);
    let another = SignatureRefused::Malformed(Malformed::Invalid("eContentType"));
    assert_eq!(refusal(&with_types(ANOTHER_TYPE, ANOTHER_TYPE)), another);
    let no_signed_data = Forgery::with(|forgery| forgery.content_type = oid::DATA);
    assert_eq!(refusal(&no_signed_data), SignatureRefused::Malformed(Malformed::Invalid("contentType")));
}

#[test]
fn content_is_there() {
    let detached = Forgery::with(|forgery| forgery.econtent.clear());
    assert_eq!(refusal(&detached), SignatureRefused::Malformed(Malformed::Missing("eContent")));
    let of_another_type = Forgery::with(|forgery| forgery.econtent = encode(CONTEXT_0, &[&encode(0x0c, &[CONTENT])]));
    assert_eq!(refusal(&of_another_type), SignatureRefused::Malformed(Malformed::Der("eContent")));
}

#[test]
fn the_digest_is_that_of_the_content() {
    let changed = Forgery::with(|forgery| forgery.econtent = encode(CONTEXT_0, &[&encode(OCTET_STRING, &[b"{}"])]));
    assert_eq!(refusal(&changed), SignatureRefused::Digest);
    for digest in [&[][..], &[0; 31], &[0; 32]] {
        let digest = attribute(oid::MESSAGE_DIGEST, &[encode(OCTET_STRING, &[digest])]);
        let forgery = Forgery::with_signer(|signer| signer.signed_attrs[1] = digest);
        assert_eq!(refusal(&forgery), SignatureRefused::Digest);
    }
}

#[test]
fn the_signature_is_that_of_the_attributes_as_a_set() {
    let attributes = Forgery::new().signers[0].signed_attrs.concat();
    for signed in [
        CONTENT.to_vec(),
        encode(CONTEXT_0, &[&attributes]), // as they stand there
        encode(SEQUENCE, &[&attributes]),
        attributes,
    ] {
        let forgery = Forgery::with_signer(|signer| signer.signature = Signature::Of(signed));
        assert_eq!(refusal(&forgery), SignatureRefused::Signature);
    }
    for signature in [vec![], vec![0; 72], vec![0x30, 6, 2, 1, 1, 2, 1, 1], vec![0x30, 6, 2, 1, 0, 2, 1, 0]] {
        let forgery = Forgery::with_signer(|signer| signer.signature = Signature::Ready(signature));
        assert_eq!(refusal(&forgery), SignatureRefused::Signature);
    }
}

#[test]
fn the_signer_has_a_certificate() {
    let without = Forgery::with(|forgery| forgery.certificates.clear());
    assert_eq!(refusal(&without), SignatureRefused::NoSigner);
    let signed = Signed::verify(&PROVIDER, &without, &P256.chain).unwrap();
    assert_eq!(signed.chain, P256.chain[..1]);
    let of_another = Forgery::with(|forgery| forgery.certificates = vec![P384.chain[0].to_vec()]);
    assert_eq!(refusal(&of_another), SignatureRefused::NoSigner);
    let signed = Signed::verify(&PROVIDER, &of_another, &P256.chain[..1]).unwrap();
    assert_eq!(signed.chain, [P256.chain[0].clone(), P384.chain[0].clone()]);

    let issuer = Fields::read(&P256.chain[0]).unwrap().issuer;
    for sid in [encode(SEQUENCE, &[issuer.encoded, &[2, 1, 1]]), encode(SEQUENCE, &[issuer.encoded]), vec![0x30, 0]] {
        assert_eq!(refusal(&Forgery::with_signer(|signer| signer.sid = sid)), SignatureRefused::NoSigner);
    }
}

#[test]
fn the_signer_comes_first_in_the_chain() {
    let reversed = Forgery::with(|forgery| forgery.certificates.reverse());
    assert_eq!(verify(&reversed).chain, P256.chain);
    // What is no certificate of X.509 is kept for those who ask, and is nobody's.
    let noise = Forgery::with(|forgery| forgery.certificates.insert(0, vec![0x30, 0]));
    assert_eq!(verify(&noise).chain.len(), 3);
}

#[test]
fn a_signer_is_known_by_its_key_identifier() {
    let identifier = Fields::read(&P256.chain[0]).unwrap().subject_key_identifier().unwrap().unwrap();
    let forge = |version, identifier: &[u8]| {
        Forgery::with_signer(|signer| {
            signer.version = version;
            signer.sid = encode(0x80, &[identifier]);
        })
    };
    assert_eq!(verify(&forge(3, identifier)).chain, P256.chain);
    assert_eq!(refusal(&forge(3, &identifier[1..])), SignatureRefused::NoSigner);
    assert_eq!(refusal(&forge(3, &[])), SignatureRefused::NoSigner);
    // RFC 5652, 5.3: the version says which identifier there is.
    let mismatch = SignatureRefused::Malformed(Malformed::Der("SignerIdentifier"));
    assert_eq!(refusal(&forge(1, identifier)), mismatch);
    assert_eq!(refusal(&Forgery::with_signer(|signer| signer.version = 3)), mismatch);
}

#[test]
fn versions_are_known() {
    let invalid = SignatureRefused::Malformed(Malformed::Invalid("version"));
    for version in 0..=6 {
        let forgery = Forgery::with(|forgery| forgery.version = version);
        if [1, 3].contains(&version) {
            assert_eq!(verify(&forgery).content, CONTENT);
        } else {
            assert_eq!(refusal(&forgery), invalid);
            assert_eq!(refusal(&Forgery::with_signer(|signer| signer.version = version)), invalid);
        }
    }
}

#[test]
fn certificates_are_bounded() {
    let with_more = |more: usize| Forgery::with(|forgery| forgery.certificates.extend(vec![vec![0x30, 0]; more]));
    assert_eq!(verify(&with_more(14)).chain.len(), 16);
    assert_eq!(refusal(&with_more(15)), SignatureRefused::Malformed(Malformed::TooMany("certificates")));
    let attribute_certificate = Forgery::with(|forgery| forgery.certificates.push(vec![0xa2, 0]));
    assert_eq!(refusal(&attribute_certificate), SignatureRefused::Malformed(Malformed::Der("certificates")));
}

#[test]
fn a_signing_time_is_a_time() {
    let with_time =
        |time: Vec<u8>| Forgery::with_signer(|signer| signer.signed_attrs.push(attribute(oid::SIGNING_TIME, &[time])));
    let read = |tag, text: &[u8]| verify(&with_time(encode(tag, &[text]))).signing_time.unwrap().as_secs();
    assert_eq!(read(0x17, b"260101000000Z"), NOW);
    assert_eq!(read(0x18, b"20260101000000Z"), NOW);
    for time in [
        encode(0x17, &[b"260101000000+0100"]),
        encode(0x17, &[b"2601010000Z"]),
        encode(0x17, &[b"261301000000Z"]),
        encode(0x18, &[b"260101000000Z"]),
        encode(0x0c, &[b"20260101000000Z"]),
        vec![5, 0],
    ] {
        assert_eq!(refusal(&with_time(time)), SignatureRefused::Malformed(Malformed::Invalid("signingTime")));
    }
}

#[test]
fn what_is_longer_is_not_read() {
    let mut forgery = Forgery::new();
    // One signature for all, since its length varies.
    let signed_attrs = encode(SET, &[&forgery.signers[0].signed_attrs.concat()]);
    forgery.signers[0].signature = Signature::Ready(sign_as(&P256, &signed_attrs));
    let mut of_len = |len: usize| {
        let mut with_padding = |padding| {
            forgery.certificates.truncate(2);
            forgery.certificates.push(encode(SEQUENCE, &[&vec![0; padding]]));
            forgery.encode()
        };
        let rest = len - with_padding(MAX_LEN / 2).len();
        with_padding(MAX_LEN / 2 + rest)
    };
    let (long, longer) = (of_len(MAX_LEN), of_len(MAX_LEN + 1));
    assert_eq!((long.len(), longer.len()), (MAX_LEN, MAX_LEN + 1));
    assert_eq!(verify(&long).content, CONTENT);
    assert_eq!(refusal(&longer), SignatureRefused::Malformed(Malformed::TooLong(MAX_LEN)));
    assert_eq!(refusal(&vec![0x30; 1 << 20]), SignatureRefused::Malformed(Malformed::TooLong(MAX_LEN)));
}

#[test]
fn it_ends_where_it_ends() {
    let signed = P256.sign(CONTENT);
    for len in 0..signed.len() {
        refusal(&signed[..len]);
    }
    assert_eq!(refusal(&[&signed[..], &[0]].concat()), SignatureRefused::Malformed(Malformed::Der("ContentInfo")));
    refusal(&signed.repeat(2));
}

/// A field that a structure does not have, at the end of each.
#[test]
fn structures_have_no_more_fields() {
    let changes: [fn(&mut Forgery); 7] = [
        |forgery| forgery.econtent.extend([5, 0]),
        |forgery| forgery.econtent = encode(CONTEXT_0, &[&encode(OCTET_STRING, &[CONTENT]), &[5, 0]]),
        |forgery| forgery.signers[0].unsigned_attrs = vec![5, 0],
        |forgery| forgery.crls = vec![0xa2, 0],
        |forgery| forgery.signers[0].signed_attrs.push(vec![5, 0]),
        |forgery| forgery.signers[0].signed_attrs.push(encode(SEQUENCE, &[&object_identifier(ANOTHER_TYPE)])),
        |forgery| forgery.signers[0].sid.extend([5, 0]),
    ];
    for change in changes {
        let refused = refusal(&Forgery::with(change));
        assert!(matches!(refused, SignatureRefused::Malformed(Malformed::Der(_))), "{refused}");
    }
}

/// Every byte is protected by the signature, or says nothing about the content or the signer's key: the version, the list
/// of digest algorithms, and the certificates, whose own signatures the caller verifies.
#[test]
fn every_bit_counts() {
    let encoded = P256.sign(CONTENT);
    let original = verify(&encoded);
    let find = |part: &[u8]| encoded.windows(part.len()).position(|window| window == part).unwrap();
    let version = find(&[2, 1, 3, SET]) + 2;
    let digest_algorithms = find(&[&[SET, 13], SHA256].concat());
    let certificates = P256.chain.iter().map(|certificate| find(certificate)).min().unwrap() - 4;
    let certificates_len: usize = P256.chain.iter().map(|certificate| certificate.len()).sum();
    let unprotected = [
        version..version + 1,
        digest_algorithms..digest_algorithms + 15,
        certificates..certificates + 4 + certificates_len,
    ];
    let mut changed = encoded.clone();
    for place in 0..encoded.len() {
        for bit in 0..8 {
            changed[place] ^= 1 << bit;
            if let Ok(signed) = Signed::verify(&PROVIDER, &changed, &[]) {
                assert!(unprotected.iter().any(|range| range.contains(&place)), "{place}");
                assert_eq!(signed.content, original.content);
                let key = |signed: &Signed| crate::certificate::public_key(&signed.chain[0]).unwrap().to_vec();
                assert_eq!(key(&signed), key(&original));
            }
            changed[place] = encoded[place];
        }
    }
}

proptest! {
    #[test]
    fn no_change_is_a_panic(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6)) {
        let mut encoded = P256.sign(CONTENT);
        for (place, byte) in changes {
            let place = place.index(encoded.len());
            encoded[place] = byte;
        }
        // What strict readers take, others take for the same.
        if let Ok(signed) = Signed::verify(&PROVIDER, &encoded, &[]) {
            prop_assert_eq!(signed.content, CONTENT);
            prop_assert_eq!(Signed::verify_ber(&PROVIDER, &encoded, &[]).unwrap().content, CONTENT);
        }
        let _ = Signed::verify_ber(&PROVIDER, &encoded, &[]);
    }

    #[test]
    fn no_input_is_a_panic(encoded in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (Signed::verify(&PROVIDER, &encoded, &[]), Signed::verify_ber(&PROVIDER, &encoded, &[]));
    }
}
