//! Responses are read as RFC 9112, 6, frames them, whatever the stretches in which they come.

use terse_brski::pledge::Response;

use super::Reader;
use crate::exchange::Lost;

const MAX: usize = 200;

/// Reads a response that comes in stretches of `len` bytes: `None` if more of it must come.
fn read(bytes: &[u8], len: usize) -> Option<Result<super::Answer, Lost>> {
    let mut reader = Reader::new(MAX);
    let mut stretches = bytes.chunks(len);
    let answer = stretches.by_ref().find_map(|stretch| reader.receive(stretch));
    assert!(stretches.next().is_none() || matches!(answer, Some(Err(Lost))), "nothing is left");
    answer
}

/// Checks that a response is read, in one stretch and in stretches of one byte.
fn check(bytes: &str, check: impl Fn(Response<'_>)) {
    for len in [1, 7, bytes.len()] {
        let answer = read(bytes.as_bytes(), len).expect("it is whole").expect("it can be read");
        check(answer.response());
    }
}

fn refuse(bytes: &str) {
    for len in [1, bytes.len()] {
        assert_eq!(read(bytes.as_bytes(), len).map(|answer| answer.is_err()), Some(true), "{bytes}");
    }
}

#[test]
fn a_response_with_a_length_is_read() {
    check("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 5\r\n\r\nvouch", |response| {
        assert_eq!((response.status, response.content_type), (200, Some(&b"text/plain"[..])));
        assert_eq!((response.body, response.location), (&b"vouch"[..], None));
    });
    check("HTTP/1.1 202 Accepted\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n", |response| {
        assert_eq!((response.status, response.retry_after, response.body), (202, Some(&b"30"[..]), &b""[..]));
    });
    check("HTTP/1.1 204 No Content\r\n\r\n", |response| assert_eq!(response.status, 204));
}

#[test]
fn chunks_are_put_together_and_a_trailer_is_passed_over() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{head}3\r\nvou\r\n4;a=b\r\ncher\r\n0\r\n\r\n"), |response| assert_eq!(response.body, b"voucher"));
    check(&format!("{head}1\r\nv\r\n0\r\nEtag: x\r\n\r\n"), |response| assert_eq!(response.body, b"v"));
    refuse(&format!("{head}3\r\nvouc\r\n"));
    refuse(&format!("{head}x\r\n"));
}

#[test]
fn interim_responses_are_passed_over() {
    let response = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno";
    check(response, |response| assert_eq!((response.status, response.body), (403, &b"no"[..])));
}

#[test]
fn a_response_without_a_length_ends_with_the_connection() {
    let mut reader = Reader::new(MAX);
    assert_eq!(reader.receive(b"HTTP/1.1 200 OK\r\n\r\nvou"), None);
    assert_eq!(reader.receive(b"cher"), None);
    assert_eq!(reader.end().map(|answer| answer.response().body.to_vec()), Ok(b"voucher".to_vec()));
    let mut cut = Reader::new(MAX);
    assert_eq!(cut.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvou"), None);
    assert_eq!(cut.end(), Err(Lost));
}

#[test]
fn what_is_too_long_or_ambiguous_is_refused() {
    refuse(&format!("HTTP/1.1 200 OK\r\nContent-Length: 201\r\n\r\n{}", "x".repeat(201)));
    refuse(&format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(300)));
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nx");
    refuse("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx");
}

#[test]
fn what_comes_with_the_end_of_a_response_and_is_none_of_it_is_refused() {
    assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxx", 100), Some(Err(Lost)));
    assert_eq!(read(b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n", 100), Some(Err(Lost)));
}

#[test]
fn a_response_with_a_field_twice_has_none_of_it() {
    let response = "HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    check(response, |response| assert_eq!((response.status, response.location), (302, None)));
}
