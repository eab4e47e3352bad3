//! Requests as they are read, and answers as they are sent.
//!
//! What must always hold: a body is read up to its limit and for a bounded time; an error is a text for people in UTF-8
//! (RFC 8995, 5.6) that says nothing of the registrar's inside; after some the connection closes.

use core::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use pki_types::CertificateDer;
use terse_brski::est::encode_body;
use terse_brski::http::Posted;
use terse_brski::registrar::Refusal;
use tokio::time::Instant;

use crate::serve::{Peer, UnreadBody, read_body};

/// A request whose body was read.
pub(super) struct Received {
    pub(super) chain: Vec<CertificateDer<'static>>,
    content_type: Option<String>,
    accept: Option<String>,
    pub(super) body: Vec<u8>,
    /// When its last byte came.
    pub(super) arrived: Instant,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    status: u16,
    content_type: String,
    body: Vec<u8>,
    is_base64: bool,
    retry_after: Option<u32>,
    closes: bool,
}

impl Received {
    /// Reads a request with a body of at most `limit` bytes.
    pub(super) async fn read(request: Request, limit: usize) -> Result<Self, Reply> {
        let (head, body) = request.into_parts();
        let field = |name: HeaderName| {
            let values: Vec<_> = head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
            (!values.is_empty()).then(|| values.join(", ")) // RFC 9110, 5.3
        };
        let (content_type, accept) = (field(header::CONTENT_TYPE), field(header::ACCEPT));
        if content_type.iter().chain(&accept).any(|value| value.len() > MAX_FIELD_LEN) {
            return Err(Reply::text(431, "Content-Type or Accept is too long").closing());
        }
        let presented = head.extensions.get::<Peer>().and_then(|peer| peer.presented.as_deref());
        let chain = presented.into_iter().flat_map(|presented| presented.chain());
        let chain = chain.map(CertificateDer::into_owned).collect();
        let body = tokio::time::timeout(BODY_TIME, read_body(body, limit)).await;
        let body = body.map_err(|_| Reply::text(408, "the body did not come in time").closing())?;
        let body = body.map_err(|unread| match unread {
            UnreadBody::TooLong => Reply::text(413, "the body is too long").closing(),
            UnreadBody::BrokeOff => Reply::text(400, "the body broke off").closing(),
        })?;
        Ok(Self { chain, content_type, accept, body: body.into(), arrived: Instant::now() })
    }

    pub(super) fn posted(&self) -> Posted<'_> {
        Posted { content_type: self.content_type.as_deref(), accept: self.accept.as_deref(), body: &self.body }
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }
}

impl Reply {
    /// A body of some type.
    pub(super) fn body(content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            content_type: content_type.into(),
            body,
            is_base64: false,
            retry_after: None,
            closes: false,
        }
    }

    /// DER of some type, in base64 as EST sends it. RFC 8951, 3 ignores a Content-Transfer-Encoding, and RFC 7030 wants one:
    /// clients that know only the latter read the body as bare DER without it.
    pub(super) fn base64(content_type: &str, der: &[u8]) -> Self {
        Self { is_base64: true, ..Self::body(content_type, encode_body(der)) }
    }

    /// A text for people.
    pub(super) fn text(status: u16, text: &str) -> Self {
        Self { status, ..Self::body(TEXT, text.into()) }
    }

    /// Nothing: 204.
    pub(super) fn nothing() -> Self {
        Self::text(204, "")
    }

    /// The client repeats its request after some seconds: 202 (RFC 8995, 5.6; RFC 7030, 4.2.3).
    pub(super) fn later(seconds: u32) -> Self {
        Self::text(202, "it is not decided yet; repeat the same request").retry_after(seconds)
    }

    /// The database fails, of which the log says more.
    pub(super) fn database(error: &sqlx::Error) -> Self {
        tracing::error!(%error, "the database does not answer");
        Self::text(503, "the registrar's database does not answer; try again later").retry_after(10)
    }

    pub(super) fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// Closes the connection after the answer.
    pub(super) fn closing(self) -> Self {
        Self { closes: true, ..self }
    }

    pub(super) const fn status(&self) -> u16 {
        self.status
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        tracing::debug!(status = refusal.status(), %refusal, "a request is refused"); // strangers cause it as well
        Self { closes: refusal.closes(), ..Self::text(refusal.status(), &refusal.to_string()) }
    }
}

impl From<sqlx::Error> for Reply {
    fn from(error: sqlx::Error) -> Self {
        Self::database(&error)
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let headers = response.headers_mut();
        if self.status != 204 {
            // A MASA's Content-Type was a field of HTTP, and is one again.
            let octets = HeaderValue::from_static("application/octet-stream");
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(&self.content_type).unwrap_or(octets));
        }
        if self.is_base64 {
            let name = HeaderName::from_static("content-transfer-encoding");
            headers.insert(name, HeaderValue::from_static("base64"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The longest Content-Type or Accept.
const MAX_FIELD_LEN: usize = 1_024;

/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(30);
