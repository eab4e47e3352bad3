use proptest::prelude::*;

use super::*;

/// RFC 4648, 10.
#[test]
fn vectors() {
    for (plain, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ] {
        assert_eq!(decode(text, "it").unwrap(), plain.as_bytes());
        let mut out = Vec::new();
        encode(plain.as_bytes(), &mut out);
        assert_eq!(out, text.as_bytes());
    }
}

#[test]
fn white_space_is_tolerated() {
    assert_eq!(decode(" Zm9v\r\n\tYmFy\n", "it").unwrap(), b"foobar");
}

#[test]
fn what_is_not_base64_is_refused() {
    for text in [
        "Zg",
        "Zg=",
        "Zg===",
        "Z===",
        "====",
        "Zm9vYg",
        "Zh==",
        "Zm9=",
        "-_-_",
        "Zm9v!",
        "Zg==Zg==",
        "Zm9\u{b}v",
        "Ä==",
    ] {
        assert_eq!(decode(text, "it"), Err(Malformed::Base64("it")), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut out = Vec::new();
        encode(&bytes, &mut out);
        prop_assert_eq!(out.len(), encoded_len(bytes.len()));
        prop_assert_eq!(decode(core::str::from_utf8(&out).unwrap(), "it").unwrap(), bytes);
    }
}
