use alloc::format;
use alloc::vec;

use der::{Decode, Encode};
use proptest::prelude::*;
use x509_cert::ext::pkix::name::{GeneralName, GeneralNames};

use super::*;
use crate::asn1::{OBJECT_IDENTIFIER, OCTET_STRING, SET};
use crate::est::request::tests::{subject, subject_alt_name};
use crate::est::{MAX_BODY_LEN, MAX_EXTENSIONS, decode_body};

fn of_body(body: &str) -> CsrAttributes {
    CsrAttributes::from_der(&decode_body(body.as_bytes(), "csrattrs").unwrap()).unwrap()
}

fn oid(oid: &str) -> Vec<u8> {
    encode(OBJECT_IDENTIFIER, &[ObjectIdentifier::new(oid).unwrap().as_bytes()])
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    encode(SEQUENCE, parts)
}

fn set(parts: &[&[u8]]) -> Vec<u8> {
    encode(SET, parts)
}

fn utf8(text: &str) -> Vec<u8> {
    encode(0x0c, &[text.as_bytes()])
}

/// Returns one attribute of a name in a RelativeDistinguishedName of its own; without a value if there is none.
fn name_attribute(id: &str, value: Option<&str>) -> Vec<u8> {
    set(&[&sequence(&[&oid(id), &value.map(utf8).unwrap_or_default()])])
}

/// Returns CsrAttrs with one template, of these fields.
fn template(fields: &[&[u8]]) -> Vec<u8> {
    sequence(&[&attribute(TEMPLATE, &sequence(fields))])
}

const COMMON_NAME: &str = "2.5.4.3";
const ORGANIZATION: &str = "2.5.4.10";
const ORGANIZATIONAL_UNIT: &str = "2.5.4.11";
const SERIAL_NUMBER: &str = "2.5.4.5";

#[test]
fn the_examples_that_ask_for_no_extension_ask_for_nothing_here() {
    for body in [
        // RFC 7030, A.2.
        "MHwGBysGAQEBARYwIgYDiDcBMRsTGVBhcnNlIFNFVCBhcyAyLjk5OS4xIGRhdGEG
         CSqGSIb3DQEJBzAsBgOINwIxJQYDiDcDBgOINwQTGVBhcnNlIFNFVCBhcyAyLjk5
         OS4yIGRhdGEGCSskAwMCCAEBCwYJYIZIAWUDBAIC",
        // RFC 7030, 4.5.2, which has an object identifier in its extensionRequest; and RFC 9908, 5.2, which corrects it.
        "MEEGCSqGSIb3DQEJBzASBgcqhkjOPQIBMQcGBSuBBAAiMBYGCSqGSIb3DQEJDjEJ
         BgcrBgEBAQEWBggqhkjOPQQDAw==",
        "MDIGCSqGSIb3DQEJBzASBgcqhkjOPQIBMQcGBSuBBAAiBgcrBgEBAQEWBggqhkjOPQQDAw==",
        // RFC 9908, 5.4 to 5.6: keys of a size and of a curve, attributes without values.
        "MCkGCSqGSIb3DQEJBzARBgkqhkiG9w0BAQExBAICEAAGCSqGSIb3DQEBCw==",
        "MC4GCSqGSIb3DQEJBzASBgcqhkjOPQIBMQcGBSuBBAAiBgNVBAUGCCqGSM49BAMD",
        "MEUGCSqGSIb3DQEJBzASBgcqhkjOPQIBMQcGBSuBBAAjBgkqhkiG9w0BCRQGCgmSJomT8ixkAQUGA1UEBQYIKoZIzj0EAwQ=",
        // Nothing (RFC 8951, 4).
        "MAA=",
    ] {
        assert_eq!(of_body(body), CsrAttributes::default(), "{body}");
    }
}

#[test]
fn the_acp_node_name_of_rfc_9908_is_asked_for() {
    let asked = of_body(
        "MGgwZgYJKoZIhvcNAQkOMVkwVzBVBgNVHREBAf8ESzBJoEcGCCsGAQUFBwgKoDsW
         OXJmYzg5OTQrZmQ3MzlmYzIzYzM0NDAxMTIyMzM0NDU1MDAwMDAwMDArQGFjcC5l
         eGFtcGxlLmNvbQ==",
    );
    assert_eq!(asked.subject, None);
    let [extension] = &asked.extensions[..] else { panic!("{asked:?}") };
    let extension = x509_cert::ext::Extension::from_der(extension).unwrap();
    assert!(extension.critical);
    assert_eq!(extension.extn_id, SUBJECT_ALT_NAME);
    let names = GeneralNames::from_der(extension.extn_value.as_bytes()).unwrap();
    let [GeneralName::OtherName(name)] = &names[..] else { panic!("{names:?}") };
    assert_eq!(name.type_id, ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.8.10"));
    assert!(name.value.value().ends_with(b"@acp.example.com"));
}

#[test]
fn the_template_of_rfc_9908_is_followed_without_what_is_to_be_filled_in() {
    let subject_template = sequence(&[
        &name_attribute(COMMON_NAME, None),
        &name_attribute(ORGANIZATIONAL_UNIT, Some("myDept")),
        &name_attribute(ORGANIZATIONAL_UNIT, Some("myGroup")),
    ]);
    let key = encode(0xa0, &[&sequence(&[&oid("1.2.840.10045.2.1"), &oid("1.2.840.10045.3.1.7")])]);
    let names = sequence(&[&encode(0x82, &[b"www.myServer.com"]), &[0x87, 0]]);
    let key_usage = sequence(&[&oid("2.5.29.15"), &[1, 1, 0xff], &[4, 4, 3, 2, 3, 0x88]]);
    let extensions = sequence(&[
        &sequence(&[&oid("2.5.29.17"), &encode(OCTET_STRING, &[&names])]),
        &key_usage,
        &sequence(&[&oid("2.5.29.37")]),
    ]);
    let attributes = encode(ATTRIBUTES, &[&attribute(EXTENSION_REQUEST_TEMPLATE, &extensions)]);
    let asked = CsrAttributes::from_der(&template(&[&VERSION, &subject_template, &key, &attributes])).unwrap();
    assert_eq!(asked.extensions, [subject_alt_name(b"www.myServer.com"), key_usage]);
    assert_eq!(asked.subject.as_deref(), Some(&subject_template[..]));
    let own = sequence(&[&name_attribute(SERIAL_NUMBER, Some("7")), &name_attribute(COMMON_NAME, Some("sensor"))]);
    let filled = sequence(&[
        &name_attribute(COMMON_NAME, Some("sensor")),
        &name_attribute(ORGANIZATIONAL_UNIT, Some("myDept")),
        &name_attribute(ORGANIZATIONAL_UNIT, Some("myGroup")),
    ]);
    assert_eq!(asked.subject_for(&own).unwrap(), filled);
}

#[test]
fn a_missing_value_is_that_of_the_own_subject() {
    let asked = |parts: &[&[u8]]| CsrAttributes { subject: Some(sequence(parts)), ..CsrAttributes::default() };
    let [one, two] = [Some("1"), Some("2")].map(|value| name_attribute(ORGANIZATION, value));
    let any = name_attribute(ORGANIZATION, None);
    let own = sequence(&[&one, &two]);
    // The first for the first; an attribute that is given takes none away; what the own subject lacks is left out.
    assert_eq!(asked(&[&any, &two, &any, &any]).subject_for(&own).unwrap(), sequence(&[&one, &two, &two]));
    assert_eq!(asked(&[&name_attribute(COMMON_NAME, None)]).subject_for(&own).unwrap(), sequence(&[]));
    assert_eq!(CsrAttributes::default().subject_for(&own).unwrap(), own);
    // In one RelativeDistinguishedName, which stays in the order of a SET.
    let both = set(&[&sequence(&[&oid(COMMON_NAME), &utf8("x")]), &sequence(&[&oid(SERIAL_NUMBER)])]);
    let own = sequence(&[&name_attribute(SERIAL_NUMBER, Some("7"))]);
    let filled = set(&[&sequence(&[&oid(SERIAL_NUMBER), &utf8("7")]), &sequence(&[&oid(COMMON_NAME), &utf8("x")])]);
    let sorted = set(&[&sequence(&[&oid(COMMON_NAME), &utf8("x")]), &sequence(&[&oid(SERIAL_NUMBER), &utf8("7")])]);
    let name = asked(&[&both]).subject_for(&own).unwrap();
    assert!([sequence(&[&filled]), sequence(&[&sorted])].contains(&name));
    assert_eq!(x509_cert::name::Name::from_der(&name).unwrap().to_der().unwrap(), name);
    for wrong in [&b""[..], &[5, 0], &asked(&[&any]).subject.unwrap()] {
        assert_eq!(CsrAttributes::default().subject_for(wrong), Err(Malformed::Der("subject")));
    }
}

#[test]
fn a_template_hides_everything_beside_it() {
    let other = attribute(EXTENSION_REQUEST, &sequence(&[&subject_alt_name(b"other.example")]));
    let inner = extension_request(&[subject_alt_name(b"a.example")]);
    let template = attribute(TEMPLATE, &sequence(&[&VERSION, &encode(ATTRIBUTES, &[&inner])]));
    let asked = CsrAttributes::from_der(&sequence(&[&oid(COMMON_NAME), &other, &other, &template])).unwrap();
    assert_eq!(asked, CsrAttributes { extensions: vec![subject_alt_name(b"a.example")], subject: None });
    let twice = CsrAttributes::from_der(&sequence(&[&template, &template]));
    assert_eq!(twice, Err(Malformed::Duplicate("certificationRequestInfoTemplate")));
    let twice = CsrAttributes::from_der(&sequence(&[&other, &other]));
    assert_eq!(twice, Err(Malformed::Duplicate("extensionRequest")));
}

#[test]
fn names_to_be_filled_in_are_left_out() {
    let of = |names: &[&[u8]]| {
        let value = encode(OCTET_STRING, &[&sequence(names)]);
        let extensions = sequence(&[&sequence(&[&oid("2.5.29.17"), &value])]);
        let attributes = encode(ATTRIBUTES, &[&attribute(EXTENSION_REQUEST_TEMPLATE, &extensions)]);
        CsrAttributes::from_der(&template(&[&VERSION, &attributes])).map(|asked| asked.extensions)
    };
    let empty: [&[u8]; 3] = [&[0x87, 0], &[0xa4, 2, 0x30, 0], &[0x82, 0]];
    assert_eq!(of(&empty).unwrap(), Vec::<Vec<u8>>::new());
    assert_eq!(of(&[empty[1], b"\x82\x01a", empty[0]]).unwrap(), [subject_alt_name(b"a")]);
    assert_eq!(of(&[]).unwrap(), Vec::<Vec<u8>>::new());
    assert_eq!(of(&[&[0x82, 1]]), Err(Malformed::Der("subjectAltName")));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let name = subject_alt_name(b"a.example");
    let request = |values: &[&[u8]]| {
        let id = oid("1.2.840.113549.1.9.14");
        CsrAttributes::from_der(&sequence(&[&sequence(&[&id, &set(values)])]))
    };
    assert_eq!(request(&[&sequence(&[&name])]).unwrap().extensions, core::slice::from_ref(&name));
    let twice = request(&[&sequence(&[&name, &subject_alt_name(b"b.example")])]);
    assert_eq!(twice, Err(Malformed::Duplicate("extension")));
    assert_eq!(request(&[&sequence(&[&name]), &sequence(&[&name])]), Err(Malformed::Der("extensionRequest")));
    let without_value = sequence(&[&sequence(&[&oid("2.5.29.17")])]);
    assert_eq!(request(&[&without_value]), Err(Malformed::Missing("extnValue")));
    let many: Vec<u8> = (0..=MAX_EXTENSIONS).flat_map(|n| sequence(&[&oid(&format!("1.2.{n}")), &[4, 0]])).collect();
    assert_eq!(request(&[&sequence(&[&many])]), Err(Malformed::TooMany("extensions")));

    let attributes = encode(ATTRIBUTES, &[]);
    let of = |fields: &[&[u8]]| CsrAttributes::from_der(&template(fields));
    assert_eq!(of(&[&VERSION, &attributes]), Ok(CsrAttributes::default()));
    assert_eq!(of(&[&[2, 1, 1], &attributes]), Err(Malformed::Invalid("version")));
    assert_eq!(of(&[&VERSION]), Err(Malformed::Der("CsrAttrs")));
    assert_eq!(of(&[&VERSION, &attributes, &[5, 0]]), Err(Malformed::Der("CsrAttrs")));
    assert_eq!(of(&[&VERSION, &sequence(&[&set(&[])]), &attributes]), Err(Malformed::Der("subject")));
    let both = [attribute(EXTENSION_REQUEST_TEMPLATE, &sequence(&[&name])), extension_request(&[name])].concat();
    assert_eq!(of(&[&VERSION, &encode(ATTRIBUTES, &[&both])]), Err(Malformed::Duplicate("extensionRequest")));
    assert_eq!(CsrAttributes::from_der(&sequence(&[&[5, 0]])), Err(Malformed::Der("attribute")));
    assert_eq!(CsrAttributes::from_der(&[0x30; MAX_BODY_LEN + 1]), Err(Malformed::TooLong(MAX_BODY_LEN)));
}

#[test]
fn critical_is_kept_and_false_is_not_written() {
    for (given, kept) in [(&[][..], &[][..]), (&[1, 1, 0], &[]), (&[1, 1, 0xff], &[1, 1, 0xff])] {
        let extension = |critical: &[u8]| sequence(&[&oid("2.5.29.15"), critical, &[4, 1, 7]]);
        let der = sequence(&[&extension_request(&[extension(given)])]);
        assert_eq!(CsrAttributes::from_der(&der).unwrap().extensions, [extension(kept)]);
    }
    let der = sequence(&[&extension_request(&[sequence(&[&oid("2.5.29.15"), &[1, 1, 1], &[4, 1, 7]])])]);
    assert_eq!(CsrAttributes::from_der(&der), Err(Malformed::Der("extension")));
}

#[test]
fn attributes_cut_anywhere_are_refused() {
    let asked = CsrAttributes { extensions: vec![subject_alt_name(b"a")], subject: Some(subject().der().to_vec()) };
    let der = asked.to_der();
    assert_eq!(CsrAttributes::from_der(&der).unwrap(), asked);
    for len in 0..der.len() {
        assert!(CsrAttributes::from_der(&der[..len]).is_err(), "{len}");
    }
    assert!(CsrAttributes::from_der(&[&der[..], &[0]].concat()).is_err());
}

proptest! {
    #[test]
    fn attributes_come_back(
        names in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..20), any::<bool>()), 0..6),
        values in prop::option::of(prop::collection::vec(prop::option::of("[a-z]{1,9}"), 0..4)),
    ) {
        let extension = |(number, (value, is_critical)): (usize, &(Vec<u8>, bool))| {
            let critical: &[u8] = if *is_critical { &[1, 1, 0xff] } else { &[] };
            sequence(&[&oid(&format!("1.3.{number}")), critical, &encode(OCTET_STRING, &[value])])
        };
        let extensions = names.iter().enumerate().map(extension).collect();
        let attribute = |value: &Option<alloc::string::String>| name_attribute(ORGANIZATION, value.as_deref());
        let subject = values.map(|values| sequence(&[&values.iter().flat_map(attribute).collect::<Vec<_>>()]));
        let asked = CsrAttributes { extensions, subject };
        prop_assert_eq!(CsrAttributes::from_der(&asked.to_der()).unwrap(), asked);
    }

    #[test]
    fn attributes_changed_anywhere_are_read_or_refused(at in 0..300_usize, to: u8) {
        let asked = CsrAttributes { extensions: vec![subject_alt_name(b"a")], subject: Some(subject().der().to_vec()) };
        let mut der = asked.to_der();
        let at = at % der.len();
        der[at] = to;
        if let Ok(asked) = CsrAttributes::from_der(&der) {
            // What was read can be asked for.
            prop_assert_eq!(CsrAttributes::from_der(&asked.to_der()).unwrap(), asked);
        }
    }
}
