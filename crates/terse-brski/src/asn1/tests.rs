use alloc::vec;

use der::Encode;
use der::asn1::AnyRef;
use proptest::prelude::*;

use super::*;

#[test]
fn lengths_have_their_shortest_encoding() {
    for len in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000] {
        let contents = vec![7; len];
        let expected = AnyRef::new(Tag::OctetString, &contents).unwrap().to_der().unwrap();
        assert_eq!(encode(OCTET_STRING, &[&contents[..len / 2], &contents[len / 2..]]), expected, "{len}");
    }
}

#[test]
fn elements_end_where_the_one_around_them_ends() {
    let inside = [encode(OCTET_STRING, &[b"one"]), vec![0x31, 0]].concat();
    let sequence = encode(SEQUENCE, &[&inside]);
    let mut elements = Element::from_der(&sequence, "x").unwrap().sequence("x").unwrap();
    assert!(elements.optional(Tag::Set).unwrap().is_none());
    assert_eq!(elements.optional(Tag::OctetString).unwrap().unwrap().contents, b"one");
    assert!(elements.clone().finish().is_err());
    assert_eq!(elements.expect(Tag::Set).unwrap().encoded, [0x31, 0]);
    assert!(elements.next().is_none());
    assert_eq!(elements.read().unwrap_err(), Malformed::Der("x"));
    // An element that is longer than the one around it, and bytes after the only one.
    let mut longer = sequence.clone();
    longer[3] += 8;
    assert!(Element::from_der(&longer, "x").unwrap().sequence("x").unwrap().read().is_err());
    assert!(Element::from_der(&[sequence, vec![5, 0]].concat(), "x").is_err());
    // A primitive element has no elements in it.
    assert!(Element::from_der(&encode(OCTET_STRING, &[&inside]), "x").unwrap().elements("x").is_err());
}

#[test]
fn an_indefinite_length_is_ber_alone() {
    let ber = [0x30, 0x80, 0x31, 0x80, 4, 1, 7, 0, 0, 5, 0, 0, 0];
    assert!(Element::from_der(&ber, "x").is_err());
    let mut elements = Element::from_encoding(&ber, EncodingRules::Ber, "x").unwrap().sequence("x").unwrap();
    let mut set = elements.read().unwrap().set("x").unwrap();
    assert_eq!(set.read().unwrap().contents, [7]);
    set.finish().unwrap();
    assert_eq!(elements.read().unwrap().encoded, [5, 0]);
    elements.finish().unwrap();
    for len in 0..ber.len() {
        assert!(Element::from_encoding(&ber[..len], EncodingRules::Ber, "x").is_err(), "{len}");
    }
}

#[test]
fn octets_may_be_in_segments_in_ber_alone() {
    let octets = |bytes: &[u8], rules| {
        let element = Element::from_encoding(bytes, rules, "x")?;
        element.octets("x").map(Cow::into_owned)
    };
    let primitive = encode(OCTET_STRING, &[b"voucher"]);
    assert_eq!(octets(&primitive, EncodingRules::Der).unwrap(), b"voucher");
    assert_eq!(octets(&primitive, EncodingRules::Ber).unwrap(), b"voucher");
    let definite = [0x24, 11, 4, 3, b'v', b'o', b'u', 4, 4, b'c', b'h', b'e', b'r'];
    let indefinite = [&[0x24, 0x80], &definite[2..], &[0, 0]].concat();
    for ber in [&definite[..], &indefinite] {
        assert_eq!(octets(ber, EncodingRules::Ber).unwrap(), b"voucher");
        assert!(octets(ber, EncodingRules::Der).is_err());
        for len in 0..ber.len() {
            assert!(octets(&ber[..len], EncodingRules::Ber).is_err(), "{len}");
        }
    }
    assert_eq!(octets(&[0x24, 0x80, 0, 0], EncodingRules::Ber).unwrap(), b"");
    // Segments of another type, segments in segments, and something else.
    for ber in
        [&[0x24, 2, 5, 0][..], &[0x24, 4, 0x24, 2, 4, 0], &[0x24, 0x80, 0x24, 0x80, 0, 0, 0, 0], &[0x0c, 1, b'v']]
    {
        assert_eq!(octets(ber, EncodingRules::Ber), Err(Malformed::Der("x")), "{ber:x?}");
    }
}

#[test]
fn a_header_says_the_length() {
    for len in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
        let mut header = Vec::new();
        encode_header(SEQUENCE, len, &mut header);
        assert_eq!(header.len() + len, encoded_len(len));
        let length = der::Length::try_from(len).unwrap();
        assert_eq!(header, der::Header::new(Tag::Sequence, length).to_der().unwrap());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64), is_ber: bool) {
        fn walk(element: Element<'_>, depth: usize) {
            if let (Ok(elements), 1..) = (element.elements("x"), depth) {
                elements.map_while(Result::ok).for_each(|element| walk(element, depth - 1));
            }
        }
        let rules = if is_ber { EncodingRules::Ber } else { EncodingRules::Der };
        if let Ok(element) = Element::from_encoding(&bytes, rules, "x") {
            prop_assert_eq!(element.encoded, &bytes[..]);
            walk(element, 32);
        }
    }
}
