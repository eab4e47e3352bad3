//! Header fields of a hostile registrar.

use std::string::ToString as _;

use super::*;

fn with_type(value: &[u8]) -> Response<'_> {
    Response { content_type: Some(value), ..Response::new(200, b"") }
}

fn location<'a>(value: &'a [u8]) -> Response<'a> {
    Response { location: Some(value), ..Response::new(307, b"") }
}

#[test]
fn a_media_type_counts_without_its_parameters_and_in_any_case() {
    let voucher = "application/voucher-cms+json";
    assert!(with_type(b"application/voucher-cms+json").has_type(voucher));
    assert!(with_type(b" Application/Voucher-CMS+json ; charset=x; y").has_type(voucher));
    assert!(!with_type(b"application/voucher-cms+json2").has_type(voucher));
    assert!(!with_type(b"application/json").has_type(voucher));
    assert!(!with_type(b"").has_type(voucher));
    assert!(!with_type(b"\xff\xfe;").has_type(voucher));
    assert!(!Response::new(200, b"").has_type(voucher));
}

#[test]
fn retry_after_is_between_a_second_and_a_minute() {
    let after = |value: Option<&[u8]>| Response { retry_after: value, ..Response::new(202, b"") }.retry_after_ms();
    assert_eq!(after(Some(b"10")), 10_000);
    assert_eq!(after(Some(b" 59 ")), 59_000);
    assert_eq!(after(Some(b"0")), 1_000);
    assert_eq!(after(Some(b"61")), 60_000);
    assert_eq!(after(Some(b"18446744073709551615")), 60_000);
    assert_eq!(after(Some(b"99999999999999999999999")), 60_000);
    assert_eq!(after(Some(b"-1")), 60_000);
    assert_eq!(after(Some(b"Fri, 31 Dec 1999 23:59:59 GMT")), 60_000);
    assert_eq!(after(Some(b"\xff")), 60_000);
    assert_eq!(after(None), 60_000);
}

#[test]
fn redirections_go_to_a_path_or_to_another_origin() {
    let path = |value: &[u8]| location(value).redirection(None);
    assert_eq!(path(b"/brski/rv?x=1#y"), Some(Redirection::Path("/brski/rv?x=1".into())));
    let Some(Redirection::Origin(origin, path)) = path(b"HTTPS://Registrar.Example:8443/a/b") else { panic!() };
    assert_eq!((origin.host(), origin.port(), &*path), ("registrar.example", 8443, "/a/b"));
    assert_eq!(origin.to_string(), "registrar.example:8443");

    let to = |value: &[u8], from: Option<&Origin>| location(value).redirection(from);
    let same = Some(&origin);
    assert_eq!(to(b"https://REGISTRAR.example:8443/c", same), Some(Redirection::Path("/c".into())));
    assert!(
        matches!(to(b"https://registrar.example/c", same), Some(Redirection::Origin(other, _)) if other.port() == 443)
    );
    assert!(matches!(to(b"https://[2001:db8::1]:444", None), Some(Redirection::Origin(origin, path))
        if origin.host() == "[2001:db8::1]" && origin.port() == 444 && &*path == "/"));
    assert!(matches!(to(b"https://r?q", None), Some(Redirection::Origin(_, path)) if &*path == "/?q"));
}

#[test]
fn other_redirections_are_not_followed() {
    let refused: [&[u8]; 18] = [
        b"",
        b"rv",
        b"//other.example/rv",
        b"http://registrar.example/rv",
        b"ftp://registrar.example/rv",
        b"https://",
        b"https:///rv",
        b"https://user@registrar.example/rv",
        b"https://registrar.example:0/rv",
        b"https://registrar.example:65536/rv",
        b"https://registrar.example:+80/rv",
        b"https://registrar.example:/rv",
        b"https://[::1/rv",
        b"https://[::1]x/rv",
        b"https://[zz]/rv",
        b"https://a b/rv",
        b"/rv\r\nX: y",
        b"/\xc3\xa4",
    ];
    for value in refused {
        assert_eq!(location(value).redirection(None), None, "{}", value.escape_ascii());
    }
    let long = [b"/".as_slice(), &[b'a'; MAX_LOCATION_LEN]].concat();
    assert_eq!(location(&long).redirection(None), None);
    let long_host = [b"https://".as_slice(), &[b'a'; 254], b"/"].concat();
    assert_eq!(location(&long_host).redirection(None), None);
    for status in [300, 303, 304, 305, 200, 399] {
        assert_eq!(Response { status, ..location(b"/rv") }.redirection(None), None, "{status}");
    }
    assert_eq!(Response::new(307, b"").redirection(None), None);
}
