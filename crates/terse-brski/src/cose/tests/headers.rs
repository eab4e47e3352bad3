//! Header parameters: what is known, what is critical, and what is there twice.

use pki_types::PrivatePkcs8KeyDer;

use super::forge::*;
use super::*;

const ALG_ES256: &[u8] = &[0x26];

fn with_protected(parameters: &[(i64, &[u8])]) -> Vec<u8> {
    Forgery::with(|forgery| forgery.protected = header(parameters))
}

fn with_unprotected(parameters: &[(i64, &[u8])]) -> Vec<u8> {
    Forgery::with(|forgery| forgery.unprotected = header(parameters))
}

fn in_both(label: i64, value: &[u8]) -> Vec<u8> {
    Forgery::with(|forgery| {
        forgery.protected = header(&[(1, ALG_ES256), (label, value)]);
        forgery.unprotected = header(&[(label, value)]);
    })
}

#[test]
fn a_forgery_without_a_change_is_right() {
    let signed = verify(&Forgery::new().encode(), &[]).unwrap();
    assert_eq!(signed.content, CONTENT);
    assert_eq!(signed.chain, P256.chain);
    // All but the signature, which is random, is what is written.
    let [forged, signed] = [Forgery::new().encode(), P256.sign_with_chain(CONTENT)];
    assert_eq!(forged[..forged.len() - 64], signed[..signed.len() - 64]);
}

#[test]
fn the_algorithm_is_protected() {
    for cose in [
        Forgery::with(|forgery| forgery.protected.clear()),
        with_protected(&[]),
        Forgery::with(|forgery| {
            forgery.protected = header(&[]);
            forgery.unprotected = header(&[(1, ALG_ES256)]);
        }),
    ] {
        assert_eq!(refusal(&cose), Malformed::Missing("alg").into());
    }
    assert_eq!(refusal(&with_unprotected(&[(1, ALG_ES256)])), Malformed::Duplicate("alg").into());
}

#[test]
fn other_algorithms_are_refused() {
    // ES512, ES256K, HS256, PS256, 0, `"ES256"`, null, bytes.
    for value in [&[0x38, 0x23][..], &[0x38, 0x2e], &[0x05], &[0x38, 0x24], &[0], b"\x65ES256", &[0xf6], &[0x40]] {
        assert_eq!(refusal(&with_protected(&[(1, value)])), SignatureRefused::Algorithm, "{value:x?}");
    }
    // An algorithm that the key has not.
    for value in [&[0x27][..], &[0x38, 0x22]] {
        let refused = refusal(&with_protected(&[(1, value)]));
        assert!(matches!(refused, SignatureRefused::Algorithm | SignatureRefused::Signature), "{refused}");
    }
}

#[test]
fn no_parameter_is_there_twice() {
    let certificate = bytes(&P256.chain[0]);
    let twice = |label: i64, value: &[u8], name: &'static str| {
        let refused = SignatureRefused::from(Malformed::Duplicate(name));
        assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (label, value), (label, value)])), refused);
        assert_eq!(refusal(&with_unprotected(&[(label, value), (label, value)])), refused);
        let both = in_both(label, value);
        match label {
            32 | 33 => assert_eq!(verify(&both, &[]).unwrap().chain, P256.chain[..1]),
            _ => assert_eq!(refusal(&both), refused),
        }
    };
    twice(32, &certificate, "x5bag");
    twice(33, &certificate, "x5chain");
    twice(4, b"\x41a", "a header parameter");
    twice(-70_000, b"\xf6", "a header parameter");
    assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (1, ALG_ES256)])), Malformed::Duplicate("alg").into());
    // However it is written.
    let longer = Forgery::with(|forgery| forgery.protected = b"\xa2\x01\x26\x18\x01\x26".to_vec());
    assert_eq!(refusal(&longer), Malformed::Duplicate("alg").into());
    let in_chunks = Forgery::with(|forgery| forgery.unprotected = b"\xa2\x62ab\xf6\x7f\x61a\x61b\xff\xf6".to_vec());
    assert_eq!(refusal(&in_chunks), Malformed::Duplicate("a header parameter").into());
}

#[test]
fn what_is_critical_is_known_and_protected() {
    let certificate = bytes(&P256.chain[0]);
    let good = with_protected(&[(1, ALG_ES256), (2, &[0x81, 0x18, 0x20]), (32, &certificate)]);
    assert_eq!(verify(&good, &[]).unwrap().chain, P256.chain);
    let good = Forgery::with(|forgery| {
        forgery.protected = header(&[(1, ALG_ES256), (2, &[0x82, 0x01, 0x18, 0x20]), (32, &certificate)]);
        forgery.unprotected = vec![0xa0];
    });
    assert_eq!(verify(&good, &[]).unwrap().chain, P256.chain[..1]);

    let refused = SignatureRefused::from(Malformed::Invalid("crit"));
    let unknown = with_protected(&[(1, ALG_ES256), (2, &[0x81, 0x04]), (4, b"\x41a")]);
    assert_eq!(refusal(&unknown), refused);
    let unknown = with_protected(&[(1, ALG_ES256), (2, b"\x81\x61x")]);
    assert_eq!(refusal(&unknown), refused);
    // Known, and not there, or not protected.
    assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (2, &[0x81, 0x18, 0x21])])), refused);
    assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (2, &[0x81, 0x18, 0x20])])), refused);
    // Empty, and where it must not be.
    assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (2, &[0x80])])), refused);
    assert_eq!(refusal(&with_unprotected(&[(2, &[0x81, 0x01])])), refused);
    assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (2, &[0x01])])), Malformed::Cbor.into());
    let many = [&[0x91][..], &[0x01; 17]].concat();
    assert_eq!(refusal(&with_protected(&[(1, ALG_ES256), (2, &many)])), Malformed::TooMany("header parameters").into());
}

#[test]
fn other_parameters_are_ignored() {
    let cose = Forgery::with(|forgery| {
        forgery.protected = header(&[(3, b"\x19\x03\x44"), (1, ALG_ES256), (15, b"\xa1\x01\x81\xf6")]);
        forgery.unprotected =
            [&b"\xbf\x04\x41a\x67example\x9f\xff\x18\x21"[..], &certificates(&P256.chain), b"\xff"].concat();
    });
    assert_eq!(verify(&cose, &[]).unwrap().chain, P256.chain);
    let many: Vec<(i64, &[u8])> = (100..116).map(|label| (label, &b"\xf6"[..])).collect();
    assert_eq!(refusal(&with_unprotected(&many)), Malformed::TooMany("header parameters").into());
    assert!(verify(&with_unprotected(&many[..15]), &P256.chain[..1]).is_ok());
}

#[test]
fn certificates_are_in_either_header_and_bounded() {
    let [leaf, ca] = [&P256.chain[0], &P256.chain[1]].map(|certificate| bytes(certificate));
    let cose = Forgery::with(|forgery| {
        forgery.protected = header(&[(1, ALG_ES256), (32, &ca)]);
        forgery.unprotected = header(&[(33, &leaf)]);
    });
    assert_eq!(verify(&cose, &[]).unwrap().chain, P256.chain[..2]);
    // Of x5chain the first is the signer's; x5bag has no order.
    let backwards: Vec<_> = P256.chain[..2].iter().rev().cloned().collect();
    let chain = with_unprotected(&[(33, &certificates(&backwards))]);
    assert_eq!(verify(&chain, &[]).unwrap_err(), SignatureRefused::Signature);
    let bag = with_unprotected(&[(32, &certificates(&backwards))]);
    assert_eq!(verify(&bag, &[]).unwrap().chain, P256.chain[..2]);

    let many = vec![P256.chain[1].clone(); 16];
    let most = with_unprotected(&[(32, &certificates(&many))]);
    assert_eq!(verify(&most, &P256.chain[..1]).unwrap().chain, P256.chain[..2], "each certificate is there once");
    let refused = SignatureRefused::from(Malformed::TooMany("certificates"));
    assert_eq!(refusal(&with_unprotected(&[(32, &certificates(&many)), (33, &leaf)])), refused);
    let nine = certificates(&many[..9]);
    assert_eq!(refusal(&in_both(32, &nine)), refused);
    assert_eq!(refusal(&in_both(33, &nine)), refused);
    let more = with_unprotected(&[(32, &certificates(&[&many[..], &many[..1]].concat()))]);
    assert_eq!(refusal(&more), refused);
    assert_eq!(refusal(&with_unprotected(&[(32, &[0x80])])), Malformed::Invalid("x5bag").into());
    assert_eq!(refusal(&with_unprotected(&[(33, &[0x80])])), Malformed::Invalid("x5chain").into());
    assert_eq!(refusal(&with_unprotected(&[(32, &[0xf6])])), Malformed::Cbor.into());
    assert_eq!(refusal(&with_unprotected(&[(32, &[0x81, 0x81, 0x40])])), Malformed::Cbor.into());
}

#[test]
fn the_first_of_each_x5chain_can_be_the_signer_s() {
    let [leaf, ca] = [&P256.chain[0], &P256.chain[1]].map(|certificate| bytes(certificate));
    for (protected, other) in [(&leaf, &ca), (&ca, &leaf)] {
        let cose = Forgery::with(|forgery| {
            forgery.protected = header(&[(1, ALG_ES256), (33, protected)]);
            forgery.unprotected = header(&[(33, other)]);
        });
        assert_eq!(verify(&cose, &[]).unwrap().chain, P256.chain[..2]);
    }
}

/// Checks that each function that takes a COSE_Sign1 refuses this one, which is signed, for this reason.
fn refused_by_all(cose: &[u8], malformed: Malformed) {
    let refused = SignatureRefused::from(malformed);
    assert_eq!(refusal(cose), refused, "{cose:x?}");
    assert_eq!(Signed::verify_by(&PROVIDER, cose, &P256.chain[..1]).unwrap_err(), refused, "{cose:x?}");
    assert_eq!(without_certificates(cose), Err(malformed), "{cose:x?}");
}

/// A registrar ignores the certificates in a pledge's request, but not that their parameter is malformed.
#[test]
fn readers_agree_on_malformed_certificates() {
    let many = certificates(&vec![P256.chain[1].clone(); 17]);
    for (label, name) in [(32, "x5bag"), (33, "x5chain")] {
        for (value, malformed) in [
            (&[0x80][..], Malformed::Invalid(name)),
            (&[0xf6], Malformed::Cbor),
            (b"\x61a", Malformed::Cbor),
            (&many, Malformed::TooMany("certificates")),
        ] {
            refused_by_all(&with_protected(&[(1, ALG_ES256), (label, value)]), malformed);
            refused_by_all(&with_unprotected(&[(label, value)]), malformed);
            refused_by_all(&in_both(label, value), malformed);
        }
        let certificate = bytes(&P256.chain[0]);
        let twice = with_unprotected(&[(label, &certificate), (label, &certificate)]);
        refused_by_all(&twice, Malformed::Duplicate(name));
    }
    // A text as an x5bag, which is even critical, in a structure of indefinite length. Fuzzing has found it.
    let critical = Forgery::with(|forgery| {
        forgery.head = vec![0xd2, 0x9f];
        forgery.protected = header(&[(1, ALG_ES256), (2, &[0x81, 0x18, 0x20]), (32, b"\x61c")]);
        forgery.unprotected = b"\xbf\x04\x41k\x61x\xd2\xa1\x01\x80\xff".to_vec();
        forgery.tail = vec![0xff];
    });
    refused_by_all(&critical, Malformed::Cbor);
}

#[test]
fn readers_agree_on_other_malformed_parameters() {
    refused_by_all(&Forgery::with(|forgery| forgery.protected.clear()), Malformed::Missing("alg"));
    refused_by_all(&with_protected(&[(1, ALG_ES256), (2, &[0x80])]), Malformed::Invalid("crit"));
    refused_by_all(&with_unprotected(&[(2, &[0x81, 0x01])]), Malformed::Invalid("crit"));
    refused_by_all(&with_unprotected(&[(1, ALG_ES256)]), Malformed::Duplicate("alg"));
    refused_by_all(&with_unprotected(&[(4, b"\x41a"), (4, b"\x41a")]), Malformed::Duplicate("a header parameter"));
    refused_by_all(&Forgery::with(|forgery| forgery.unprotected = vec![0xf6]), Malformed::Cbor);
    let many: Vec<(i64, &[u8])> = (100..116).map(|label| (label, &b"\xf6"[..])).collect();
    refused_by_all(&with_unprotected(&many), Malformed::TooMany("header parameters"));
}

/// An algorithm that is not known is not malformed: a registrar can forward what only a pledge can verify.
#[test]
fn other_algorithms_are_stripped() {
    for value in [&[0x38, 0x23][..], b"\x65ES256", &[0xf6]] {
        assert!(without_certificates(&with_protected(&[(1, value)])).is_ok(), "{value:x?}");
    }
}

#[test]
fn all_certificates_of_the_key_are_possible_signers() {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = |name: &str| {
        let parameters = rcgen::CertificateParams::new([name.into()]).unwrap();
        parameters.self_signed(&key).unwrap().der().clone()
    };
    let (first, second, other) = (certificate("first"), certificate("second"), P256.chain[0].clone());
    let no_certificate = CertificateDer::from(&[0x30, 0][..]);
    let bag = [other, second.clone(), no_certificate, first.clone()];
    let unsigned = Unsigned::new(CONTENT, &first, &bag, P256.scheme).unwrap();
    let key = terse_aws_lc::PROVIDER.load_key(&PrivatePkcs8KeyDer::from(key.serialize_der()).into()).unwrap();
    let signed = verify(&unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap(), &[]).unwrap();
    assert_eq!(signed.chain.len(), 4);
    assert_eq!(signed.signers().collect::<Vec<_>>(), [&second, &first]);
}
