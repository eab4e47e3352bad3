//! Requests of the pledge as requests of CoAP, and responses of CoAP as those of HTTP that the pledge reads.
//!
//! The state machine knows the semantics of HTTP alone. A driver of a pledge with the form [`Coaps`](super::Coaps) gives what
//! [`request`] returns to a [`coap::Client`], and what [`response`] returns to the pledge. A request that gets no response in
//! the end, because the client gives up, is [`Input::Lost`](super::Input::Lost). A client takes 16 kB of a response unless it is
//! configured otherwise, which is what a pledge reads before it trusts its registrar.
//!
//! ```
//! use terse_brski::coap;
//! use terse_brski::pledge::{ConnectionId, Input, Request, coaps};
//!
//! fn input<'a>(connection: ConnectionId, request: &Request, response: &'a coap::Response) -> Input<'a> {
//!     Input::Response { connection, response: coaps::response(request, response) }
//! }
//! ```

use super::command::{Method, Request};
use super::form::coaps::{CBOR, CERTS_ONLY, IDENTITY_KEY, MULTIPART_CORE, PKCS10, PKIX_CERT, VOUCHER_COSE};
use super::http::Response;
use crate::coap::{self, Code, Payload, Resource, content_format};

/// Returns the request of CoAP for one of a pledge with the form [`Coaps`](super::Coaps): its resource, its content format, and
/// what it accepts. Requests over HTTPS have none. How the path is sent is the client's matter.
pub fn request(request: &Request) -> Option<coap::Request> {
    let segments = request.path.strip_prefix('/')?.split('/').map(str::as_bytes);
    let mut mapped = coap::Request::get(Resource::from_path(segments)?);
    mapped.method = match request.method {
        Method::Get => coap::Method::Get,
        Method::Post => coap::Method::Post,
    };
    if let Some(media_type) = request.content_type {
        mapped.content_format = Some(content_format_of(media_type)?);
    }
    if let Some(media_type) = request.accept {
        mapped.accept = Some(content_format_of(media_type)?);
    }
    mapped.payload = Payload::new(request.body.to_vec());
    Some(mapped)
}

/// Returns what a response of CoAP to this request is in HTTP (RFC 8075, 7).
///
/// - 2.01, 2.04 and 2.05 are 200.
/// - 5.03 with a Max-Age is 202 for a voucher or a certificate, which somebody may have to decide on (RFC 9148, 5.7); for the
///   others it is 503. Max-Age becomes Retry-After, and is 60 s at most, as [`Response`] reads it.
/// - Other errors have the same number: 4.01 is 401. Those without a counterpart are 400, 500, or, if it is no response at
///   all, 502.
pub fn response<'a>(request: &Request, response: &'a coap::Response) -> Response<'a> {
    let mut mapped = Response::new(status(response.code), &response.payload);
    mapped.content_type = response.content_format.and_then(media_type_of).map(str::as_bytes);
    if response.code == Code::SERVICE_UNAVAILABLE {
        mapped.retry_after = response.max_age.map(seconds);
        if mapped.retry_after.is_some() && has_delayed_responses(request) {
            mapped.status = 202;
        }
    }
    mapped
}

/// Whether a response to this request may come later, because somebody decides.
fn has_delayed_responses(request: &Request) -> bool {
    matches!(request.content_type, Some(VOUCHER_COSE | PKCS10))
}

/// Returns the status of HTTP for a code.
fn status(code: Code) -> u16 {
    match code {
        Code::CREATED | Code::CHANGED | Code::CONTENT => 200,
        Code::DELETED => 204,
        Code::VALID => 304,
        // RFC 8075, 7: the option was CoAP's own.
        Code::BAD_OPTION => 400,
        Code::PROXYING_NOT_SUPPORTED => 502,
        _ if matches!(code.class(), 4 | 5) && code.name().is_some() => {
            u16::from(code.class()) * 100 + u16::from(code.0 & 0x1f)
        }
        _ => match code.class() {
            4 => 400,
            5 => 500,
            _ => 502,
        },
    }
}

fn content_format_of(media_type: &str) -> Option<u16> {
    CONTENT_FORMATS.iter().find(|(of, _)| *of == media_type).map(|(_, format)| *format)
}

fn media_type_of(format: u16) -> Option<&'static str> {
    CONTENT_FORMATS.iter().find(|(_, of)| *of == format).map(|(media_type, _)| *media_type)
}

/// The media types that a pledge sends and reads.
const CONTENT_FORMATS: [(&str, u16); 7] = [
    (VOUCHER_COSE, content_format::VOUCHER_COSE),
    (CBOR, content_format::CBOR),
    (MULTIPART_CORE, content_format::MULTIPART_CORE),
    (CERTS_ONLY, content_format::PKCS7_CERTS_ONLY),
    (PKCS10, content_format::PKCS10),
    (PKIX_CERT, content_format::PKIX_CERT),
    (IDENTITY_KEY, content_format::IDENTITY_KEY),
];

/// Returns a number of seconds in decimal digits, or the greatest one that a pledge waits.
fn seconds(seconds: u32) -> &'static [u8] {
    SECONDS.get(seconds as usize).unwrap_or(&SECONDS[SECONDS.len() - 1])
}

/// The numbers from 0 to 60, in decimal digits.
const SECONDS: [[u8; 2]; 61] = {
    let mut digits = [[b'0'; 2]; 61];
    let mut number = 0;
    while number < digits.len() {
        digits[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    digits
};

#[cfg(test)]
mod tests;
