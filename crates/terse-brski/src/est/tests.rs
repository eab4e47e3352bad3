use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

#[test]
fn a_body_is_one_line_of_base64() {
    assert_eq!(encode_body(&[0x30, 0]), b"MAA=");
    assert_eq!(encode_body(&[]), b"");
    assert_eq!(encode_body(&[7; 96]).len(), 128);
}

#[test]
fn white_space_in_a_body_is_tolerated_and_nothing_else() {
    for body in ["MAA=", "MA\r\nA=\r\n", " M\tA A = ", "\n\nMAA="] {
        assert_eq!(decode_body(body.as_bytes(), "x").unwrap(), [0x30, 0], "{body:?}");
    }
    for body in ["MAA", "MA", "MAA=MAA=", "MAB=", "MA-=", "MA_=", "M\0AA=", "-----BEGIN PKCS7-----\nMAA=", "M\u{e4}A="]
    {
        assert_eq!(decode_body(body.as_bytes(), "csrattrs"), Err(Malformed::Base64("csrattrs")), "{body:?}");
    }
    assert_eq!(decode_body(&[b'M', 0xff], "csrattrs"), Err(Malformed::Base64("csrattrs")));
}

#[test]
fn a_long_body_is_not_read() {
    let longest = vec![b'A'; MAX_BODY_LEN];
    assert_eq!(decode_body(&longest, "x").unwrap().len(), MAX_BODY_LEN / 4 * 3);
    for body in [vec![b'A'; MAX_BODY_LEN + 1], vec![b' '; MAX_BODY_LEN + 1]] {
        assert_eq!(decode_body(&body, "x"), Err(Malformed::TooLong(MAX_BODY_LEN)));
    }
    assert_eq!(Malformed::TooMany("certificates").to_string(), "it has too many certificates");
}

proptest! {
    #[test]
    fn bodies_come_back(der in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(decode_body(&encode_body(&der), "x").unwrap(), der);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_body(&bytes, "x");
        let _ = decode_certs_only(&bytes);
        let _ = decode_certs_only_ber(&bytes);
        let _ = CsrAttributes::from_der(&bytes);
        let asked = CsrAttributes { subject: Some(bytes.clone()), extensions: Vec::new() };
        let _ = asked.subject_for(&bytes);
        let _ = asked.check(&bytes);
    }
}
