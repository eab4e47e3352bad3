//! What certificates may look like (RFC 5280, 4.1 and 4.2).

use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::ca::{Holder, good, judge, judge_alike};
use super::der::Element;
use crate::cert::Trust;
use crate::error::{ApiMisuse, CertificateError};

/// The fields of a TBSCertificate.
const SERIAL_NUMBER: usize = 1;
const ISSUER: usize = 3;
const SUBJECT: usize = 5;
const SUBJECT_PUBLIC_KEY_INFO: usize = 6;
const EXTENSIONS: usize = 7;

/// Changes a good server's certificate and judges it.
fn changed(change: impl FnOnce(&mut Vec<Element>)) -> Result<(), CertificateError> {
    let root = Holder::root("Root");
    let server = root.resigned(&root.server(good).der, change);
    judge(&[&root.der], &[&server]).map(|_| ())
}

/// Adds an extension to a good server's certificate.
fn with(extension: Element) -> Result<(), CertificateError> {
    changed(|fields| fields[EXTENSIONS].children()[0].children().push(extension))
}

/// Replaces the basicConstraints of a CA that has issued a server's certificate.
fn with_basic_constraints(value: &[u8]) -> Result<(), CertificateError> {
    let root = Holder::root("Root");
    let ca = root.sub("CA", good);
    let changed = root.resigned(&ca.der, |fields| {
        let extensions = fields[EXTENSIONS].children()[0].children();
        extensions.retain(|extension| !extension.encode().windows(3).any(|bytes| bytes == [0x55, 0x1d, 19]));
        extensions.push(Element::extension(19, true, value));
    });
    judge(&[&root.der], &[&ca.server(good).der, &changed]).map(|_| ())
}

const MALFORMED: Result<(), CertificateError> = Err(CertificateError::Malformed);

#[test]
fn serial_numbers() {
    let most = [&[0x7f][..], &[0xff; 19]].concat();
    let with_zero = [&[0, 0xff][..], &[0xff; 18]].concat();
    let long = [&[0, 0xff][..], &[0xff; 19]].concat();
    for (serial_number, expected) in [
        (&[1][..], Ok(())),
        (&[0, 0x80], Ok(())),
        (&most, Ok(())),
        (&with_zero, Ok(())),
        (&long, MALFORMED),
        (&[], MALFORMED),
        (&[0], MALFORMED),
        (&[0, 1], MALFORMED),
        (&[0, 0], MALFORMED),
        (&[0x80], MALFORMED),
        (&[0xff], MALFORMED),
    ] {
        let judged = changed(|fields| fields[SERIAL_NUMBER] = Element::primitive(2, serial_number));
        assert_eq!(judged, expected, "{serial_number:x?}");
    }
}

#[test]
fn an_extension_comes_once() {
    let known = |id| with(Element::extension(id, false, &[0x30, 0]));
    assert_eq!(known(99), Ok(()), "nobody knows it, and it is not critical");
    let twice = changed(|fields| {
        let unknown = Element::extension(99, false, &[5, 0]);
        fields[EXTENSIONS].children()[0].children().extend([unknown.clone(), unknown]);
    });
    assert_eq!(twice, MALFORMED);
    for id in [15, 17, 37] {
        assert_eq!(known(id), MALFORMED, "{id}");
    }
}

#[test]
fn extensions_are_bounded() {
    let of = |count: u8| {
        changed(|fields| {
            let extensions = fields[EXTENSIONS].children()[0].children();
            while extensions.len() < usize::from(count) {
                extensions.push(Element::extension(100 + extensions.len() as u8, false, &[5, 0]));
            }
        })
    };
    assert_eq!(of(24), Ok(()));
    assert_eq!(of(25), Err(CertificateError::Invalid));
}

/// RFC 5280, 4.2: a critical extension that is not processed is refused.
#[test]
fn critical_extensions() {
    let distribution_points = [0x30, 0];
    for (id, is_critical, expected) in [
        (31, true, Err(CertificateError::Invalid)),
        (31, false, Ok(())),
        (36, true, Err(CertificateError::Invalid)),
        (36, false, Ok(())),
        (30, true, Err(CertificateError::NameConstraints { depth: 0 })),
        (30, false, Err(CertificateError::NameConstraints { depth: 0 })),
    ] {
        assert_eq!(with(Element::extension(id, is_critical, &distribution_points)), expected, "{id}");
    }
}

#[test]
fn an_extension_is_an_identifier_a_boolean_and_a_value() {
    let (id, value) = (Element::primitive(6, &[0x2a, 3]), Element::primitive(4, &[5, 0]));
    let boolean = |byte| Element::primitive(1, &[byte]);
    let of = |elements: &[&Element]| {
        with(Element::constructed(0x30, &elements.iter().map(|element| (*element).clone()).collect::<Vec<_>>()))
    };
    assert_eq!(of(&[&id, &value]), Ok(()));
    assert_eq!(of(&[&id, &boolean(0), &value]), Ok(()), "a default that is written out, as some CAs do");
    assert_eq!(of(&[&id, &boolean(0xff), &value]), Err(CertificateError::Invalid));
    let no_id = Element::primitive(6, &[0x2a, 0x83]); // its last byte says that another one follows
    for wrong in [
        &[&no_id, &value][..],
        &[&id],
        &[&value],
        &[&id, &boolean(0xff)],
        &[&id, &boolean(1), &value],
        &[&id, &value, &value],
        &[&id, &boolean(0xff), &value, &value],
        &[&id, &value, &boolean(0xff)],
        &[&id, &boolean(0), &boolean(0), &value],
        &[&id, &id],
    ] {
        assert_eq!(of(wrong), MALFORMED, "{wrong:?}");
    }
}

#[test]
fn basic_constraints() {
    for (value, expected) in [
        (&[0x30, 3, 1, 1, 0xff][..], Ok(())),
        (&[0x30, 6, 1, 1, 0xff, 2, 1, 0], Ok(())),
        (&[0x30, 7, 1, 1, 0xff, 2, 2, 0, 0xff], Ok(())),
        (&[0x30, 0], Err(CertificateError::WrongUsage)),
        (&[0x30, 3, 1, 1, 0], Err(CertificateError::WrongUsage)),
        (&[0x30, 3, 2, 1, 0], Err(CertificateError::WrongUsage)),
        (&[0x30, 3, 1, 1, 1], MALFORMED),
        (&[0x30, 6, 1, 1, 0xff, 1, 1, 0xff], MALFORMED),
        (&[0x30, 6, 2, 1, 0, 1, 1, 0xff], MALFORMED),
        (&[0x30, 6, 1, 1, 0xff, 2, 1, 0xff], MALFORMED), // -1
        (&[0x30, 7, 1, 1, 0xff, 2, 2, 1, 0], MALFORMED), // 256
        (&[0x30, 7, 1, 1, 0xff, 2, 2, 0, 0], MALFORMED),
        (&[0x30, 9, 1, 1, 0xff, 2, 1, 0, 2, 1, 0], MALFORMED),
        (&[0x30, 3, 1, 1, 0xff, 5, 0], MALFORMED),
        (&[1, 1, 0xff], MALFORMED),
        (&[], MALFORMED),
    ] {
        assert_eq!(with_basic_constraints(value), expected, "{value:x?}");
    }
}

#[test]
fn fields() {
    let empty = Element::constructed(0x30, &[]);
    assert_eq!(changed(|_| {}), Ok(()));
    assert_eq!(changed(|fields| fields[SUBJECT] = empty.clone()), Ok(()), "the name is in subjectAltName");
    assert_eq!(changed(|fields| fields[SUBJECT] = Element::primitive(5, &[])), MALFORMED);
    assert_eq!(changed(|fields| fields[SUBJECT_PUBLIC_KEY_INFO].children().push(empty.clone())), MALFORMED);
    let unique_identifier = Element::primitive(0x81, &[0, 1]);
    assert_eq!(changed(|fields| fields.insert(EXTENSIONS, unique_identifier)), MALFORMED);
    assert_eq!(changed(|fields| drop(fields.pop())), Err(CertificateError::WrongName), "there is no subjectAltName");
    assert_eq!(changed(|fields| fields.push(empty.clone())), MALFORMED);
    let twice = changed(|fields| fields[EXTENSIONS].children().push(empty.clone()));
    assert_eq!(twice, MALFORMED);
}

/// Both ways to validate refuse a leaf's key with something behind it, whose size would be read otherwise.
#[test]
fn nothing_stands_behind_a_key() {
    let root = Holder::root("Root");
    let server = root.resigned(&root.server(good).der, |fields| {
        fields[SUBJECT_PUBLIC_KEY_INFO].children().push(Element::constructed(0x30, &[]));
    });
    assert_eq!(judge_alike(&[&root.der], &[&server]).map(|_| ()), MALFORMED);
}

/// A CA without a name issues nothing, even where a trust anchor has no name either (RFC 5280, 4.1.2.4).
#[test]
fn an_issuer_has_a_name() {
    let nobody = Holder::root_with("", |params| params.distinguished_name = rcgen::DistinguishedName::new());
    let mut server = Element::parse(&nobody.server(good).der).unwrap();
    assert_eq!(server.children()[0].children()[ISSUER].encode(), [0x30, 0]);
    assert_eq!(judge(&[&nobody.der], &[&server.encode()]), Err(CertificateError::Malformed));
}

/// A trust anchor is a name and a key: of its certificate little counts.
#[test]
fn trust_anchors() {
    let root = Holder::root("Root");
    let server = root.server(good).der;
    let changed = |change: &dyn Fn(&mut Vec<Element>)| root.resigned(&root.der, |fields| change(fields));
    let unknown = Element::extension(99, true, &[5, 0]);
    let version1 = changed(&|fields| {
        fields.remove(0);
        fields.pop();
    });
    let critical = changed(&|fields| fields[EXTENSIONS].children()[0].children().push(unknown.clone()));
    let serial_number = changed(&|fields| fields[SERIAL_NUMBER] = Element::primitive(2, &[0]));
    for anchor in [&root.der, &version1, &critical, &serial_number] {
        assert!(judge(&[anchor], &[&server]).is_ok());
    }
    let version1_with_extensions = changed(&|fields| drop(fields.remove(0)));
    let version2 = changed(&|fields| fields[0] = Element::constructed(0xa0, &[Element::primitive(2, &[1])]));
    let cut = &root.der[..root.der.len() - 1];
    let longer = [&root.der[..], &[0]].concat();
    for anchor in [&version1_with_extensions[..], &version2, cut, &longer, b"garbage", &[]] {
        let anchor = [CertificateDer::from(anchor)];
        assert_eq!(Trust::without_path_building(&anchor).err(), Some(ApiMisuse::MalformedCertificate));
        assert_eq!(Trust::new(&anchor).err(), Some(ApiMisuse::MalformedCertificate));
    }
}
