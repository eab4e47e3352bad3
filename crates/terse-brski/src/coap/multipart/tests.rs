use proptest::prelude::*;
use std::vec;

use super::*;

/// The form of draft-ietf-anima-constrained-voucher: `[287, h'3082', 287, h'3083']`.
#[test]
fn certificates_are_an_array_of_pairs() {
    let parts = [(287, &b"\x30\x82"[..]), (287, b"\x30\x83")];
    let encoded = b"\x84\x19\x01\x1f\x42\x30\x82\x19\x01\x1f\x42\x30\x83";
    assert_eq!(encode(&parts), encoded);
    assert_eq!(decode(encoded, 2).unwrap(), parts);
    assert_eq!(decode(encoded, 1), Err(Malformed::TooMany("multipart-core")));
    assert_eq!(decode(b"\x80", 1).unwrap(), []);
}

#[test]
fn arrays_without_a_length_and_missing_parts_are_read() {
    assert_eq!(decode(b"\x9f\x00\x41a\x18\x3c\x41b\xff", 2).unwrap(), [(0, &b"a"[..]), (60, b"b")]);
    assert_eq!(decode(b"\x84\x00\xf6\x18\x3c\x41b", 2).unwrap(), [(60, &b"b"[..])]);
}

#[test]
fn anything_else_is_refused() {
    let others: [&[u8]; 14] = [
        b"",
        b"\x83\x00\x41a\x00",
        b"\x81\x00",
        b"\x82\x00\x61a",
        b"\x82\x20\x41a",
        b"\x82\x1a\x00\x01\x00\x00\x41a",
        b"\x82\x00\x5f\x41a\xff",
        b"\x82\x00\x41a\x00",
        b"\x9f\x00\x41a",
        b"\x9f\x00\xff",
        b"\x82\x00\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xa1\x00\x41a",
        b"\xc1\x82\x00\x41a",
    ];
    for other in others {
        assert_eq!(decode(other, 4), Err(Malformed::Invalid("multipart-core")), "{other:x?}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(parts in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..300)), 0..20)) {
        let parts: Vec<_> = parts.iter().map(|(number, content)| (*number, &**content)).collect();
        let encoded = encode(&parts);
        prop_assert_eq!(decode(&encoded, 20).unwrap(), parts);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(vec![0x82, 0x9f, 0xff, 0x41, 0])], 0..40)) {
        if let Ok(parts) = decode(&bytes, 4) {
            prop_assert!(parts.len() <= 4);
        }
    }
}
