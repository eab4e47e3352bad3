//! Each request and each response, mapped.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use std::vec::Vec;

use super::*;
use crate::coap::{ETag, PathForm};

fn pledge_request(path: &'static str, content_type: Option<&'static str>, accept: Option<&'static str>) -> Request {
    Request {
        method: if content_type.is_some() { Method::Post } else { Method::Get },
        path: Cow::Borrowed(path),
        content_type,
        accept,
        body: Arc::from(content_type.map_or(&b""[..], |_| b"body")),
        max_response: 1_000,
    }
}

fn enroll() -> Request {
    pledge_request("/.well-known/est/sen", Some(PKCS10), Some(PKIX_CERT))
}

fn status_request() -> Request {
    pledge_request("/.well-known/brski/vs", Some(CBOR), None)
}

#[test]
fn a_request_has_its_resource_and_content_formats() {
    let mapped = request(&enroll()).unwrap();
    let expected = coap::Request::post(Resource::SimpleEnroll, 286, b"body").accept(287);
    assert_eq!(mapped, expected);
    let get = pledge_request("/.well-known/est/crts", None, Some(MULTIPART_CORE));
    assert_eq!(request(&get).unwrap(), coap::Request::get(Resource::CaCerts).accept(62));
    let status = request(&status_request()).unwrap();
    assert_eq!(status, coap::Request::post(Resource::VoucherStatus, 60, b"body"));
    assert!(status.resource.path(PathForm::WellKnown).eq([".well-known", "brski", "vs"]));
}

#[test]
fn requests_of_https_have_no_counterpart() {
    for other in [
        pledge_request("/.well-known/brski/requestvoucher", Some(VOUCHER_COSE), None),
        pledge_request("/.well-known/est/cacerts", None, None),
        pledge_request("", None, None),
        pledge_request(".well-known/est/crts", None, None),
        pledge_request("/.well-known/est/crts/", None, None),
        pledge_request("/.well-known/est/crts?a", None, None),
        pledge_request("/.well-known/brski/rv", Some("application/voucher-cms+json"), None),
        pledge_request("/.well-known/brski/rv", Some(VOUCHER_COSE), Some("text/html")),
    ] {
        assert_eq!(request(&other), None, "{other:?}");
    }
}

#[test]
fn success_is_200_with_the_media_type() {
    for code in [Code::CREATED, Code::CHANGED, Code::CONTENT] {
        for (media_type, content_format) in CONTENT_FORMATS {
            let payload = Payload::new(b"body".to_vec());
            let response =
                coap::Response { content_format: Some(content_format), payload, ..coap::Response::new(code) };
            let mapped = super::response(&enroll(), &response);
            let mut expected = Response::new(200, b"body");
            expected.content_type = Some(media_type.as_bytes());
            assert_eq!(mapped, expected);
        }
    }
    let unknown = coap::Response { content_format: Some(65_000), ..coap::Response::new(Code::CONTENT) };
    assert_eq!(super::response(&enroll(), &unknown), Response::new(200, b""));
    // An entity tag and a Max-Age of a success mean nothing here.
    let cached = coap::Response { max_age: Some(5), etag: ETag::new(b"1"), ..coap::Response::new(Code::CONTENT) };
    assert_eq!(super::response(&enroll(), &cached), Response::new(200, b""));
}

#[test]
fn errors_of_http_come_back_as_they_were() {
    // 4.08 says that blocks are missing, so that 408 goes as another one (RFC 7959, 2.9.2).
    for (status, comes_back) in [(408, 504)].into_iter().chain(SAME.map(|status| (status, status))) {
        let body = Payload::new(b"text".to_vec());
        let response = coap::Response::from_http(coap::Method::Post, status, None, None, body);
        assert_eq!(super::response(&enroll(), &response), Response::new(comes_back, b"text"));
    }
}

/// The statuses that have a code of their own.
const SAME: [u16; 16] = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 429, 500, 501, 502, 504];

#[test]
fn every_code_has_a_status() {
    let status = |code| super::response(&enroll(), &coap::Response::new(Code(code))).status;
    for code in 0..=u8::MAX {
        let expected = match Code(code).class() {
            2 => [200, 204, 304, 502].to_vec(),
            class @ (4 | 5) => (u16::from(class) * 100..u16::from(class) * 100 + 32).collect::<Vec<_>>(),
            _ => [502].to_vec(),
        };
        assert!(expected.contains(&status(code)), "{code}: {}", status(code));
    }
    assert_eq!(status(Code::BAD_OPTION.0), 400);
    assert_eq!(status(Code::PROXYING_NOT_SUPPORTED.0), 502);
    assert_eq!((status(0x9f), status(0xbf)), (400, 500)); // 4.31 and 5.31, which nobody knows
    assert_eq!(status(Code::CONTINUE.0), 502);
}

#[test]
fn a_delayed_response_is_202_where_somebody_decides() {
    let delayed = |max_age| coap::Response { max_age, ..coap::Response::new(Code::SERVICE_UNAVAILABLE) };
    let voucher = pledge_request("/.well-known/brski/rv", Some(VOUCHER_COSE), Some(VOUCHER_COSE));
    for (request, status) in [
        (voucher, 202),
        (enroll(), 202),
        (status_request(), 503),
        (pledge_request("/.well-known/est/crts", None, Some(MULTIPART_CORE)), 503),
    ] {
        for (max_age, retry_after) in [(0, "00"), (7, "07"), (25, "25"), (60, "60"), (61, "60"), (u32::MAX, "60")] {
            let response = delayed(Some(max_age));
            let mapped = super::response(&request, &response);
            assert_eq!((mapped.status, mapped.retry_after), (status, Some(retry_after.as_bytes())));
            assert_eq!(mapped.retry_after_ms(), u64::from(max_age.clamp(1, 60)) * 1_000);
        }
        let response = delayed(None);
        let mapped = super::response(&request, &response);
        assert_eq!((mapped.status, mapped.retry_after), (503, None));
    }
}
