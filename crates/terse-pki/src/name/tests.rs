use super::*;
use crate::authority::tests::{NOW, options};
use crate::{Authority, LeafOptions, Validity};

/// Returns the DER of a Name with one attribute of this type and value.
fn one(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
    use crate::der::tlv;
    tlv(0x30, &[&tlv(0x31, &[&tlv(0x30, &[&tlv(6, &[oid]), &tlv(tag, &[value])])])])
}

#[test]
fn attributes_have_the_types_of_rfc_5280() {
    use NameAttribute::*;
    let expected: [(_, &[u8], u8, &str); 8] = [
        (CommonName, &[0x55, 4, 3], 0x0c, "Fühler 7"),
        (SerialNumber, &[0x55, 4, 5], 0x13, "WI-3005"),
        (Country, &[0x55, 4, 6], 0x13, "DE"),
        (Locality, &[0x55, 4, 7], 0x0c, "Köln"),
        (StateOrProvince, &[0x55, 4, 8], 0x0c, "NRW"),
        (Organization, &[0x55, 4, 10], 0x0c, "Maker & Co"),
        (OrganizationalUnit, &[0x55, 4, 11], 0x0c, "Sensors"),
        (DomainComponent, &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], 0x16, "example"),
    ];
    for (attribute, oid, tag, value) in expected {
        let subject = Subject::empty().with(attribute, value).unwrap();
        assert_eq!(subject.der(), one(oid, tag, value.as_bytes()), "{attribute:?}");
        assert_eq!(attribute.short_name().parse::<NameAttribute>().unwrap(), attribute);
        assert!(subject.is_plain());
    }
    assert_eq!("o".parse::<NameAttribute>().unwrap(), Organization);
    assert!(matches!("X".parse::<NameAttribute>(), Err(Error::InvalidSubject(_))));
}

#[test]
fn an_attribute_may_come_more_than_once() {
    use NameAttribute::*;
    let subject = Subject::empty().with(DomainComponent, "example").unwrap();
    let subject = subject.with(DomainComponent, "plant").unwrap().with(CommonName, "a, b").unwrap();
    assert_eq!(subject.to_string(), "DC=example, DC=plant, CN=a\\, b");
    assert_eq!(Subject::from_der(subject.der()).unwrap(), subject);
    assert!(!subject.is_empty() && Subject::empty().is_empty());
}

#[test]
fn what_cannot_stand_in_a_subject_is_refused() {
    use NameAttribute::*;
    let (long, longer) = ("x".repeat(65), "x".repeat(129));
    for (attribute, value) in [
        (CommonName, ""),
        (CommonName, " x"),
        (CommonName, "x\0y"),
        (CommonName, "x\u{202e}y"),
        (CommonName, &long),
        (Locality, &longer),
        (SerialNumber, "a_b"),
        (SerialNumber, "ä"),
        (SerialNumber, &long),
        (Country, "D"),
        (Country, "DEU"),
        (DomainComponent, "ä"),
    ] {
        let refused = Subject::empty().with(attribute, value);
        assert!(matches!(refused, Err(Error::InvalidSubject(_))), "{attribute:?} {value:?}");
    }
    let mut subject = Subject::empty();
    let full = (0..100).find_map(|_| match subject.with(Locality, &"x".repeat(128)) {
        Ok(longer) => {
            subject = longer;
            None
        }
        Err(error) => Some(error),
    });
    assert!(matches!(full, Some(Error::InvalidSubject(_))) && subject.der().len() <= MAX_LEN);
}

#[test]
fn der_is_read_strictly() {
    let good = one(&[0x55, 4, 3], 0x0c, b"x");
    Subject::from_der(&good).unwrap();
    Subject::from_der(&[0x30, 0]).unwrap();
    let trailing = [&good[..], &[0]].concat();
    let too_long = one(&[0x55, 4, 3], 0x0c, &[b'x'; MAX_LEN]);
    // The third is a RelativeDistinguishedName without attributes.
    for bad in [&[][..], &[0x31, 0], &[0x30, 2, 0x31, 0], &good[..good.len() - 1], &trailing, &too_long] {
        assert!(Subject::from_der(bad).is_err(), "{bad:02x?}");
    }
}

#[test]
fn only_printable_text_is_plain() {
    let (cn, utf8, printable, teletex, bmp) = ([0x55, 4, 3], 0x0c, 0x13, 0x14, 0x1e);
    for (tag, value, is_plain) in [
        (utf8, &b"x"[..], true),
        (printable, b"x", true),
        (teletex, b"x", true),
        (bmp, b"\0x", false),
        (utf8, b"", false),
        (utf8, b"x\0y", false),
        (utf8, b"x\x1b[2Jy", false),
        (utf8, "x\u{202e}y".as_bytes(), false),
        (utf8, &[0xff], false),
        (utf8, &[b'x'; 129], false),
    ] {
        let subject = Subject::from_der(&one(&cn, tag, value)).unwrap();
        assert_eq!(subject.is_plain(), is_plain, "{tag:#x} {value:02x?}");
        assert!(!subject.to_string().chars().any(is_unprintable), "{subject}");
    }
}

#[test]
fn a_match_ignores_the_type_of_strings_and_nothing_else() {
    let cn = |tag, value: &[u8]| Subject::from_der(&one(&[0x55, 4, 3], tag, value)).unwrap();
    assert!(cn(0x0c, b"x").matches(&cn(0x13, b"x")));
    assert!(cn(0x1e, b"\0x").matches(&cn(0x1e, b"\0x")));
    assert!(!cn(0x0c, b"x").matches(&cn(0x0c, b"X")));
    assert!(!cn(0x0c, b"x").matches(&cn(0x1e, b"\0x")));
    assert!(!cn(0x0c, b"x").matches(&Subject::empty()));
    assert!(!cn(0x0c, b"x").matches(&cn(0x0c, b"x").with(NameAttribute::CommonName, "x").unwrap()));
    let other_type = Subject::from_der(&one(&[0x55, 4, 10], 0x0c, b"x")).unwrap();
    assert!(!cn(0x0c, b"x").matches(&other_type));
}

#[test]
fn the_subject_of_a_certificate_is_its_bytes() {
    let authority = Authority::new(&options("p256x2")).unwrap();
    let leaf = authority.issue(&LeafOptions::new("a.example", Validity::days(NOW, 9))).unwrap();
    assert_eq!(Subject::of(leaf.leaf()).unwrap(), Subject::common_name("a.example").unwrap());
}
