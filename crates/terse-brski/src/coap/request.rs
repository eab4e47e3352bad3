//! Requests and responses, whole and without the messages that carry them.

use core::fmt;

use super::{Code, Payload, Resource, content_format};

/// The method of a request (RFC 7252, 5.8), as far as onboarding uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
}

impl Method {
    /// Returns the code of a request with the method.
    pub const fn code(self) -> Code {
        match self {
            Self::Get => Code::GET,
            Self::Post => Code::POST,
        }
    }
}

/// An entity tag: 1 to 8 bytes (RFC 7252, 5.10.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ETag {
    bytes: [u8; 8],
    len: u8,
}

impl ETag {
    /// Returns the tag with these bytes; `None` if they are none or more than eight.
    pub fn new(value: &[u8]) -> Option<Self> {
        let mut bytes = [0; 8];
        bytes.get_mut(..value.len()).filter(|bytes| !bytes.is_empty())?.copy_from_slice(value);
        Some(Self { bytes, len: value.len() as u8 })
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A request of a client.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// What is asked.
    pub resource: Resource,
    /// The argument, of at most 255 bytes: `rt=brski`. A longer one is not sent.
    pub query: Option<&'static str>,
    /// The content format of the payload.
    pub content_format: Option<u16>,
    /// The content format that the client wants.
    pub accept: Option<u16>,
    /// The tag of a representation that the client has: it need not be sent again (RFC 7252, 5.10.6.2).
    pub etag: Option<ETag>,
    /// The payload.
    pub payload: Payload,
}

impl Request {
    /// Returns a GET request.
    pub fn get(resource: Resource) -> Self {
        Self {
            method: Method::Get,
            resource,
            query: None,
            content_format: None,
            accept: None,
            etag: None,
            payload: Payload::default(),
        }
    }

    /// Returns a POST request. A payload that is empty has no content format.
    pub fn post(resource: Resource, content_format: u16, payload: &[u8]) -> Self {
        Self {
            method: Method::Post,
            content_format: (!payload.is_empty()).then_some(content_format),
            payload: Payload::new(payload.to_vec()),
            ..Self::get(resource)
        }
    }

    /// Returns a GET request for links with this attribute (RFC 6690, 4.1): `rt=brski`.
    pub fn discovery(query: &'static str) -> Self {
        Self { query: Some(query), ..Self::get(Resource::Core) }
    }

    /// Returns the request with the content format that the client wants.
    #[must_use]
    pub fn accept(self, content_format: u16) -> Self {
        Self { accept: Some(content_format), ..self }
    }
}

/// Prints the length of the payload, and not the payload.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("resource", &self.resource)
            .field("query", &self.query)
            .field("content_format", &self.content_format)
            .field("accept", &self.accept)
            .field("etag", &self.etag)
            .field("payload_len", &self.payload.len())
            .finish()
    }
}

/// A response, with the whole of its body.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The code: that of a response.
    pub code: Code,
    /// The content format of the payload.
    pub content_format: Option<u16>,
    /// The tag of the representation.
    pub etag: Option<ETag>,
    /// For how many seconds it may be kept; with 5.03 and 4.29, after how many seconds the request may be repeated.
    pub max_age: Option<u32>,
    /// The payload; with an error, a text for people.
    pub payload: Payload,
}

impl Response {
    /// Returns a response without a payload.
    pub fn new(code: Code) -> Self {
        Self { code, content_format: None, etag: None, max_age: None, payload: Payload::default() }
    }

    /// Returns the success of a request of this method (RFC 9148, 4.5): 2.05 or 2.04.
    pub fn success(method: Method, content_format: Option<u16>, payload: Payload) -> Self {
        let code = match method {
            Method::Get => Code::CONTENT,
            Method::Post => Code::CHANGED,
        };
        Self { content_format, payload, ..Self::new(code) }
    }

    /// Returns an error, with a text for people (RFC 7252, 5.5.2).
    pub fn error(code: Code, text: &str) -> Self {
        Self { payload: Payload::new(text.as_bytes().to_vec()), ..Self::new(code) }
    }

    /// Returns what corresponds to an HTTP response with this status and Retry-After, in seconds (RFC 9148, 4.5 and 4.7). The
    /// content format is that of a success: what comes with an error is a text.
    ///
    /// 202 and 503 are 5.03, and 429 is 4.29 (RFC 8516), with a Max-Age of [`MAX_RETRY_AFTER_S`](Self::MAX_RETRY_AFTER_S) at most.
    pub fn from_http(
        method: Method,
        status: u16,
        retry_after_s: Option<u32>,
        content_format: Option<u16>,
        body: Payload,
    ) -> Self {
        match status {
            202 | 429 | 503 => {
                let max_age = retry_after_s.unwrap_or(Self::MAX_RETRY_AFTER_S).clamp(1, Self::MAX_RETRY_AFTER_S);
                let code = if status == 429 { Code::TOO_MANY_REQUESTS } else { Code::SERVICE_UNAVAILABLE };
                Self { max_age: Some(max_age), payload: body, ..Self::new(code) }
            }
            204 if method == Method::Get => Self::new(Code::NOT_FOUND),
            200..=299 => Self::success(method, content_format, body),
            _ => Self { payload: body, ..Self::new(error_code(status)) },
        }
    }

    /// The longest wait that a registrar asks for, in seconds: a stateful join proxy forgets a pledge after 30 s.
    pub const MAX_RETRY_AFTER_S: u32 = 25;

    /// Returns for how many seconds a response is fresh: 60 if it says nothing (RFC 7252, 5.10.5).
    pub const fn max_age_s(&self) -> u32 {
        match self.max_age {
            Some(seconds) => seconds,
            None => 60,
        }
    }

    /// Returns the text of an error that says more than its code.
    pub fn diagnostic(&self) -> Option<&str> {
        let is_text = matches!(self.content_format, None | Some(content_format::TEXT_PLAIN));
        let is_text = is_text && !self.code.is_success() && !self.payload.is_empty();
        core::str::from_utf8(&self.payload).ok().filter(|_| is_text)
    }
}

/// Prints the length of the payload, and not the payload.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("code", &self.code)
            .field("content_format", &self.content_format)
            .field("etag", &self.etag)
            .field("max_age", &self.max_age)
            .field("payload_len", &self.payload.len())
            .finish()
    }
}

/// Returns the code of an error with this HTTP status (RFC 8075, 7). One that has no counterpart is 4.00 or 5.00. 408 is a
/// request that a gateway was too slow with: 4.08 would make a client send its blocks again (RFC 7959, 2.9.2).
const fn error_code(status: u16) -> Code {
    match status {
        401 => Code::UNAUTHORIZED,
        403 => Code::FORBIDDEN,
        404 => Code::NOT_FOUND,
        405 => Code::METHOD_NOT_ALLOWED,
        406 => Code::NOT_ACCEPTABLE,
        408 | 504 => Code::GATEWAY_TIMEOUT,
        409 => Code::CONFLICT,
        412 => Code::PRECONDITION_FAILED,
        413 => Code::REQUEST_ENTITY_TOO_LARGE,
        415 => Code::UNSUPPORTED_CONTENT_FORMAT,
        422 => Code::UNPROCESSABLE_ENTITY,
        400..=499 => Code::BAD_REQUEST,
        501 => Code::NOT_IMPLEMENTED,
        502 => Code::BAD_GATEWAY,
        _ => Code::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests;
