use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use terse_pki::{Authority, AuthorityOptions, CertificationRequest, ExtensionPolicy, KeyAlgorithm, LdevidPolicy};
use terse_pki::{NameAttribute, NamePolicy, Subject, SubjectPolicy, Validity};
use terse_testkit::rng::SeededRng;
use terse_tls::SignatureScheme;

use super::*;
use crate::asn1::{OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET, encode};
use crate::est::UnsignedRequest;
use crate::est::request::tests::{key, subject, subject_alt_name};

/// Returns a request as a pledge makes it that follows `asked`, and whose own subject is [`subject`].
fn request(asked: &CsrAttributes) -> Vec<u8> {
    let key = key(KeyAlgorithm::P256);
    let name = asked.subject_for(subject().der()).unwrap();
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let request = UnsignedRequest::new(&name, &*key, scheme, &asked.extensions).unwrap();
    request.sign(&*key, &mut SeededRng::new(7)).unwrap()
}

fn extension(id: u8, critical: &[u8], value: &[u8]) -> Vec<u8> {
    let oid = encode(OBJECT_IDENTIFIER, &[&[0x55, 0x1d, id]]);
    encode(SEQUENCE, &[&oid, critical, &encode(OCTET_STRING, &[value])])
}

fn asked(extensions: Vec<Vec<u8>>, subject: Option<&[u8]>) -> CsrAttributes {
    CsrAttributes { extensions, subject: subject.map(Into::into) }
}

#[test]
fn who_follows_gets_a_certificate() {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(1_767_225_600));
    let authority = Authority::new(&options).unwrap();
    let given = Subject::empty().with(NameAttribute::CommonName, "sensor-17").unwrap();
    let sent = asked(vec![subject_alt_name(b"sensor-17.plant.example")], Some(given.der()));
    // As it goes over the wire.
    let received = CsrAttributes::from_der(&sent.to_der()).unwrap();
    let request = request(&received);
    assert_eq!(sent.check(&request), Ok(()));
    let policy = LdevidPolicy {
        subject: SubjectPolicy::Required(given.clone()),
        names: NamePolicy::Required(vec!["sensor-17.plant.example".into()]),
        extensions: ExtensionPolicy::Refuse,
        ..LdevidPolicy::new(given.clone(), Validity::days(1_767_225_600, 365))
    };
    let ldevid = authority.issue_ldevid(&CertificationRequest::from_der(&request).unwrap(), &policy).unwrap();
    assert_eq!(crate::certificate::subject(&ldevid[0]).unwrap(), given.der());
    let certs_only = crate::est::encode_certs_only(&ldevid[..1]);
    assert_eq!(crate::est::decode_certs_only(&certs_only).unwrap(), ldevid[..1]);
}

#[test]
fn an_extension_that_is_missing_or_other_is_told() {
    let [name, other] = [&b"a.example"[..], b"b.example"].map(subject_alt_name);
    let usage = extension(15, &[1, 1, 0xff], &[3, 2, 7, 0x80]);
    let both = asked(vec![name.clone(), usage.clone()], None);
    assert_eq!(both.check(&request(&both)), Ok(()));
    let missing = |extensions| both.check(&request(&asked(extensions, None)));
    let oid = |oid| Err(NotAsAsked::Extension(ObjectIdentifier::new_unwrap(oid)));
    assert_eq!(missing(vec![]), oid("2.5.29.17"));
    assert_eq!(missing(vec![usage.clone()]), oid("2.5.29.17"));
    assert_eq!(missing(vec![other, usage.clone()]), oid("2.5.29.17"));
    assert_eq!(missing(vec![name.clone()]), oid("2.5.29.15"));
    // More is no harm, and the CA decides what is critical.
    let more = extension(37, &[], &[0x30, 0]);
    assert_eq!(missing(vec![more, name, extension(15, &[], &[3, 2, 7, 0x80])]), Ok(()));
    let told = missing(vec![usage]).unwrap_err().to_string();
    assert!(told.starts_with("the extension 2.5.29.17 is missing"), "{told}");
}

#[test]
fn another_subject_is_told() {
    let own = subject();
    let anything = request(&CsrAttributes::default());
    assert_eq!(CsrAttributes::default().check(&anything), Ok(()));
    assert_eq!(asked(vec![], Some(own.der())).check(&anything), Ok(()));
    // O=Maker, serialNumber=WI-3005 with other types of strings, without values, and otherwise.
    let attribute = |id: u8, value: &[u8]| {
        encode(SET, &[&encode(SEQUENCE, &[&encode(OBJECT_IDENTIFIER, &[&[0x55, 4, id]]), value])])
    };
    let name = |parts: &[Vec<u8>]| encode(SEQUENCE, &[&parts.concat()]);
    let (organization, serial) = (b"\x0c\x05Maker", b"\x13\x07WI-3005");
    let check = |parts: &[Vec<u8>]| asked(vec![], Some(&name(parts))).check(&anything);
    assert_eq!(check(&[attribute(10, b"\x13\x05Maker"), attribute(5, b"\x0c\x07WI-3005")]), Ok(()));
    assert_eq!(check(&[attribute(10, b""), attribute(5, serial)]), Ok(()));
    for other in [
        &[attribute(10, organization)][..],
        &[attribute(5, serial), attribute(10, organization)],
        &[attribute(10, organization), attribute(5, b"\x13\x07WI-3006")],
        &[attribute(10, b"\x04\x05Maker"), attribute(5, serial)],
        &[attribute(11, b""), attribute(5, serial)],
        &[attribute(10, organization), attribute(5, serial), attribute(3, b"")],
        &[],
    ] {
        assert_eq!(check(other), Err(NotAsAsked::Subject), "{other:?}");
    }
}

#[test]
fn a_request_cut_anywhere_is_refused() {
    let all = asked(vec![subject_alt_name(b"a.example")], Some(subject().der()));
    let der = request(&all);
    for len in 0..der.len() {
        assert!(matches!(all.check(&der[..len]), Err(NotAsAsked::Malformed(_))), "{len}");
    }
    let long = vec![0x30; crate::est::MAX_BODY_LEN + 1];
    let refused = all.check(&long).unwrap_err();
    assert_eq!(refused, NotAsAsked::Malformed(Malformed::TooLong(crate::est::MAX_BODY_LEN)));
    assert_eq!(refused.to_string(), "the certification request: it is longer than 32768 bytes");
}
