use std::format;

use super::*;

fn from_http(method: Method, status: u16, retry_after_s: Option<u32>) -> Response {
    let body = Payload::new(b"body".to_vec());
    Response::from_http(method, status, retry_after_s, Some(content_format::VOUCHER_COSE), body)
}

/// RFC 9148, 4.5; RFC 8075, 7; draft-ietf-anima-constrained-voucher.
#[test]
fn statuses_of_http_have_their_codes() {
    for (status, code) in [
        (200, "2.04 Changed"),
        (400, "4.00 Bad Request"),
        (401, "4.01 Unauthorized"),
        (403, "4.03 Forbidden"),
        (404, "4.04 Not Found"),
        (405, "4.05 Method Not Allowed"),
        (406, "4.06 Not Acceptable"),
        (408, "5.04 Gateway Timeout"),
        (410, "4.00 Bad Request"),
        (413, "4.13 Request Entity Too Large"),
        (415, "4.15 Unsupported Content-Format"),
        (429, "4.29 Too Many Requests"),
        (500, "5.00 Internal Server Error"),
        (502, "5.02 Bad Gateway"),
        (504, "5.04 Gateway Timeout"),
        (302, "5.00 Internal Server Error"),
        (999, "5.00 Internal Server Error"),
    ] {
        let response = from_http(Method::Post, status, None);
        assert_eq!(format!("{}", response.code), code, "{status}");
        assert_eq!(response.max_age, (status == 429).then_some(25));
        let is_success = status == 200;
        assert_eq!(response.content_format.is_some(), is_success);
        assert_eq!(response.diagnostic(), (!is_success).then_some("body"));
    }
    assert_eq!(from_http(Method::Get, 200, None).code, Code::CONTENT);
    assert_eq!(from_http(Method::Get, 204, None).code, Code::NOT_FOUND);
    assert_eq!(from_http(Method::Post, 204, None).code, Code::CHANGED);
}

#[test]
fn a_pledge_waits_for_as_long_as_a_stateful_proxy_remembers_it() {
    for (retry_after, max_age) in [(None, 25), (Some(0), 1), (Some(7), 7), (Some(26), 25), (Some(u32::MAX), 25)] {
        for (status, code) in
            [(202, Code::SERVICE_UNAVAILABLE), (429, Code::TOO_MANY_REQUESTS), (503, Code::SERVICE_UNAVAILABLE)]
        {
            let response = from_http(Method::Post, status, retry_after);
            assert_eq!((response.code, response.max_age), (code, Some(max_age)), "{retry_after:?}");
        }
    }
    assert_eq!(Response::new(Code::CONTENT).max_age_s(), 60);
}

#[test]
fn payloads_are_not_printed() {
    let payload = b"secret".to_vec();
    let request = Request::post(Resource::IdentityKey, content_format::IDENTITY_KEY, &payload);
    let response = Response::success(Method::Post, None, Payload::new(payload));
    for text in [format!("{request:?}"), format!("{response:?}")] {
        assert!(text.contains("payload_len: 6") && !text.contains("secret") && !text.contains("115"), "{text}");
    }
}

#[test]
fn entity_tags_have_one_to_eight_bytes() {
    assert_eq!(ETag::new(b""), None);
    assert_eq!(ETag::new(b"123456789"), None);
    assert_eq!(ETag::new(b"12345678").unwrap().as_bytes(), b"12345678");
    assert_ne!(ETag::new(b"\0"), ETag::new(b"\0\0"));
}

#[test]
fn what_is_empty_has_no_content_format() {
    assert_eq!(Request::post(Resource::IdentityKey, content_format::IDENTITY_KEY, b"").content_format, None);
    assert_eq!(Request::post(Resource::SimpleEnroll, content_format::PKCS10, b"0").content_format, Some(286));
}
