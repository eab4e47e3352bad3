use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::{CertificateIdentity, PeerIdentity};
use crate::peer_name::PeerName;

fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    [&[tag, u8::try_from(value.len()).unwrap()], value].concat()
}

/// Returns a `Name` of one attribute, a UTF8String: 3 is the common name, 10 the organization.
fn subject(attribute: u8, value: &str) -> Vec<u8> {
    let attribute = tlv(0x30, &[&[6, 3, 0x55, 4, attribute][..], &tlv(0x0c, value.as_bytes())].concat());
    tlv(0x31, &attribute)
}

fn common_name(name: &str) -> Vec<u8> {
    tlv(0x30, &subject(3, name))
}

/// Returns names of the kinds of RFC 5280, 4.2.1.6: 2 is dNSName, 6 uniformResourceIdentifier, 7 iPAddress.
fn alt_names(names: &[(u8, &[u8])]) -> Vec<u8> {
    tlv(0x30, &names.iter().flat_map(|(kind, name)| tlv(0x80 | kind, name)).collect::<Vec<_>>())
}

fn name(subject: &[u8], subject_alt_name: &[u8]) -> PeerName {
    let identity = CertificateIdentity { subject: subject.into(), subject_alt_name: subject_alt_name.into() };
    PeerIdentity::Certificate(identity).name()
}

fn printed(subject: &[u8], subject_alt_name: &[u8]) -> String {
    name(subject, subject_alt_name).to_string()
}

#[test]
fn an_identity_prints_the_first_name_that_it_has() {
    let subject = common_name("sensor");
    let dns_name = (2, &b"sensor-17.plant.example"[..]);
    let (uri, address) = ((6, &b"urn:dev:17"[..]), (7, &[192, 0, 2, 17][..]));
    assert_eq!(printed(&subject, &alt_names(&[uri, address, dns_name])), "sensor-17.plant.example");
    assert_eq!(printed(&subject, &alt_names(&[uri, address])), "CN=sensor");
    assert_eq!(printed(&subject, &[]), "CN=sensor");
    assert_eq!(printed(&[0x30, 0], &alt_names(&[address, uri])), "URI:urn:dev:17");
    assert_eq!(printed(&[0x30, 0], &alt_names(&[address])), "IP:192.0.2.17");
    assert_eq!(printed(&[0x30, 0], &alt_names(&[(7, &[0xff; 16])])), "IP:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    assert_eq!(printed(&[0x30, 0], &alt_names(&[(7, &[1, 2, 3])])), "(unnamed)");
    assert_eq!(printed(&[0x30, 0], &[]), "(unnamed)");
    assert_eq!(printed(&[], &[]), "(unnamed)");
}

#[test]
fn the_whole_subject_is_printed() {
    let of = |organization| tlv(0x30, &[subject(10, organization), subject(3, "sensor")].concat());
    assert_eq!(printed(&of("Plant"), &[]), "CN=sensor,O=Plant");
    assert_ne!(printed(&of("Plant"), &[]), printed(&of("Elsewhere"), &[]));
    assert_eq!(printed(&common_name("a,O=Plant"), &[]), "CN=a\\,O=Plant");
}

/// A name of one kind never prints as a name of another kind, whatever its bytes.
#[test]
fn no_name_looks_like_one_of_another_kind() {
    let key = PeerName::RawPublicKey([7; 32]).to_string();
    let samples = ["broker.plant.example", "CN=sensor", "URI:urn:dev:17", "IP:192.0.2.1", "(unnamed)", &key, "", " "];
    let kind = |name: &PeerName| core::mem::discriminant(name);
    let mut seen: Vec<(String, PeerName)> = Vec::new();
    for sample in samples {
        for subject in [&[0x30, 0][..], &common_name(sample)] {
            for names in [&[][..], &[(2, sample.as_bytes())], &[(6, sample.as_bytes())], &[(7, &[192, 0, 2, 1])]] {
                let name = name(subject, &alt_names(names));
                seen.push((name.to_string(), name));
            }
        }
    }
    seen.push((key.clone(), PeerName::RawPublicKey([7; 32])));
    for (text, one) in &seen {
        for (other_text, other) in &seen {
            assert!(text != other_text || kind(one) == kind(other), "{text}: {one:?}, {other:?}");
        }
    }
}

#[test]
fn the_api_tells_kinds_apart() {
    let dns_names = alt_names(&[(2, b"CN=sensor"), (2, b"b.example")]);
    assert_eq!(name(&[0x30, 0], &dns_names), PeerName::DnsName("b.example".into()));
    assert_eq!(name(&common_name("b.example"), &[]), PeerName::Subject("CN=b.example".into()));
}

/// The hash is that of `openssl pkey -pubin -outform DER | sha256sum`.
#[test]
fn a_raw_public_key_prints_its_whole_hash() {
    let printed = |key: &[u8]| PeerIdentity::RawPublicKey(key.into()).to_string();
    assert_eq!(
        printed(b"abc"), // FIPS 180-4
        "raw public key sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert!(printed(&[]).ends_with("7852b855"));
}

/// A name must not move the cursor of a terminal, nor begin a line of a log.
#[test]
fn an_identity_prints_no_control_characters() {
    let of = |name: &str| printed(&common_name(name), &[]);
    assert_eq!(of("a\u{202e}c"), "CN=a\\u{202e}c");
    assert_eq!(of("o'Brien é 漢"), "CN=o'Brien é 漢");
    for control in (0..0x20).chain([0x7f]) {
        let control = char::from(control);
        let uri = format!("a{control}b");
        for text in [of(&uri), printed(&[0x30, 0], &alt_names(&[(6, uri.as_bytes())]))] {
            assert!(!text.contains(control), "{text:?}");
        }
    }
}
