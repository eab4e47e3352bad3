//! Names of servers (RFC 9525, 6).

use alloc::vec::Vec;

use pki_types::ServerName;
use proptest::prelude::*;

use super::super::names::check;
use super::ca::{Holder, judge_both};
use super::der::Element;
use crate::cert::Expect;
use crate::error::CertificateError;

const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

fn general_names(names: &[(u8, &[u8])]) -> Vec<u8> {
    let names: Vec<_> = names.iter().map(|(tag, name)| Element::primitive(*tag, name)).collect();
    Element::constructed(0x30, &names).encode()
}

fn is_named(reference: &str, names: &[(u8, &[u8])]) -> Result<(), CertificateError> {
    check(&ServerName::try_from(reference).unwrap(), &general_names(names))
}

#[test]
fn dns_names() {
    let long = alloc::format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
    let wild = alloc::format!("*{}", &long[63..]);
    for (presented, reference, fits) in [
        ("a.example", "a.example", true),
        ("A.eXample", "a.Example", true),
        ("a.example", "a.example.", true),
        ("localhost", "localhost", true),
        ("a_b.example", "a_b.example", true),
        (&long, &long, true),
        (&wild, &long, true),
        ("*.b.example", "a.b.example", true),
        ("*.b.example", "a.b.example.", true),
        ("*.B.example", "a.b.EXAMPLE", true),
        ("a.example.", "a.example", false),
        ("a.example.", "a.example.", false),
        ("b.example", "a.example", false),
        ("example", "a.example", false),
        ("a.example", "example", false),
        ("*.b.example", "b.example", false),
        ("*.b.example", "c.a.b.example", false),
        ("*.example", "a.example", false),
        ("*.b.example.", "a.b.example.", false),
        ("*", "a", false),
        ("*.", "a.", false),
        ("a.*.example", "a.b.example", false),
        ("a*.b.example", "ab.b.example", false),
        ("*a.b.example", "ba.b.example", false),
        ("*.*.example", "a.b.example", false),
        ("**.b.example", "a.b.example", false),
        ("*..example", "a.b.example", false),
        (".b.example", "a.b.example", false),
        ("a.b.example\0", "a.b.example", false),
        ("a.b.example ", "a.b.example", false),
        ("", "a.example", false),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", true),
    ] {
        let judged = is_named(reference, &[(DNS_NAME, presented.as_bytes())]);
        let expected = if fits { Ok(()) } else { Err(CertificateError::WrongName) };
        assert_eq!(judged, expected, "{presented:?} for {reference}");
    }
}

#[test]
fn addresses() {
    let v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let wrong = Err(CertificateError::WrongName);
    for (reference, names, expected) in [
        ("10.0.0.1", &[(IP_ADDRESS, &[10, 0, 0, 1][..])][..], Ok(())),
        ("2001:db8::1", &[(IP_ADDRESS, &v6)], Ok(())),
        ("2001:db8::1", &[(IP_ADDRESS, &[10, 0, 0, 1]), (IP_ADDRESS, &v6)], Ok(())),
        ("10.0.0.1", &[(IP_ADDRESS, &[10, 0, 0, 2])], wrong),
        ("10.0.0.1", &[(IP_ADDRESS, &[10, 0, 0])], wrong),
        ("10.0.0.1", &[(IP_ADDRESS, &[10, 0, 0, 1, 255, 255, 255, 255])], wrong),
        ("10.0.0.1", &[(IP_ADDRESS, &[])], wrong),
        ("10.0.0.1", &[(DNS_NAME, b"10.0.0.1")], wrong),
        ("2001:db8::1", &[(DNS_NAME, b"2001:db8::1")], wrong),
        ("a.example", &[(IP_ADDRESS, b"a.example")], wrong),
        ("a.example", &[(0x86, b"https://a.example")], wrong),
        ("a.example", &[(0x81, b"a.example")], wrong),
        ("a.example", &[], wrong),
    ] {
        assert_eq!(is_named(reference, names), expected, "{reference} among {names:x?}");
    }
}

/// A name that is none is not skipped, wherever it stands.
#[test]
fn malformed_names() {
    let good = (DNS_NAME, &b"a.example"[..]);
    for tag in [0x02, 0x0c, 0x16, 0x80, 0x83, 0x84, 0x85, 0x89, 0xa2, 0xa7, 0xa8, 0xc2] {
        for names in [[good, (tag, b"a.example")], [(tag, b"a.example"), good]] {
            assert_eq!(is_named("a.example", &names), Err(CertificateError::Malformed), "{tag:x}");
        }
    }
    let name = ServerName::try_from("a.example").unwrap();
    assert_eq!(check(&name, &[]), Err(CertificateError::WrongName));
    let names = general_names(&[good]);
    for len in 1..names.len() {
        assert_eq!(check(&name, &names[..len]), Err(CertificateError::Malformed));
    }
    assert_eq!(check(&name, &[&names[..], &[0]].concat()), Err(CertificateError::Malformed));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// Both ways to validate judge names alike.
    #[test]
    fn both_judge_names_alike(
        presented in prop::collection::vec("[*a1_A-]{0,2}[.]?[*ab1.-]{0,4}[.]?[ab1.]{0,4}|a.b.c|\\*.b.c", 1..3),
        reference in "[a1_A-]{1,2}[.][ab1-]{1,3}[.]?[ab]{0,2}[.]?|a.b.c|b.c",
    ) {
        let Ok(reference) = ServerName::try_from(reference.as_str()) else { return Ok(()) };
        let root = Holder::root("Root");
        let names: Vec<_> = presented.iter().map(|name| (DNS_NAME, name.as_bytes())).collect();
        let names = Element::extension(17, false, &general_names(&names));
        let server = root.server(|params| params.subject_alt_names.clear());
        let server = root.resigned(&server.der, |fields| fields[7].children()[0].children().push(names));
        let [building, in_order] = judge_both(&[&root.der], &[&server], Expect::Server(&reference));
        prop_assert_eq!(building, in_order);
    }
}
