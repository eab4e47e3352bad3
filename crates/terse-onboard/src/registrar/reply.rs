//! Requests as they are read, and answers as they are sent: over HTTPS here, over CoAPS in `coaps`.
//!
//! What must always hold: a body is read up to its limit and for a bounded time; an error is a text for people in UTF-8
//! (RFC 8995, 5.6) that says nothing of the registrar's inside; after some the connection closes.

use core::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use pki_types::CertificateDer;
use terse_brski::est::{decode_body, encode_body, encode_certs_only};
use terse_brski::http::{Posted, is};
use terse_brski::registrar::Refusal;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::serve::{Peer, UnreadBody, read_body};

/// A request whose body was read.
pub(super) struct Received {
    /// The certificates that the client has presented, leaf first.
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) content_type: Option<String>,
    pub(super) accept: Option<String>,
    pub(super) body: Vec<u8>,
    pub(super) form: Form,
    /// When its last byte came.
    pub(super) arrived: Instant,
}

/// The two forms of EST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In base64, with CSR attributes (RFC 7030).
    Https,
    /// In DER, without CSR attributes (RFC 9148, which leaves them to a registrar's choice).
    Coaps,
}

/// An answer, in the terms of HTTP.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content: Content,
    /// The seconds after which the request may be repeated.
    pub(super) retry_after: Option<u32>,
    /// Whether the connection ends.
    pub(super) closes: bool,
    /// Why the request was refused, for metrics.
    pub(super) refusal: Option<&'static str>,
}

/// What an answer has. That of EST looks different over HTTPS and over CoAPS.
pub(super) enum Content {
    /// Something of this media type.
    Of(String, Vec<u8>),
    /// A text for people, which may be empty.
    Text(String),
    /// The certificates of the domain's CA, the issuer of LDevIDs first.
    CaCertificates(Vec<CertificateDer<'static>>),
    /// A certificate that was issued.
    Certificate(CertificateDer<'static>),
    /// The DER of CSR attributes.
    CsrAttributes(Vec<u8>),
    /// The file of an identity key, which goes over CoAPS alone: nothing erases it in the memory of an HTTP server.
    IdentityKey(Zeroizing<String>),
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
        Ok(Self { chain, content_type, accept, body: body.into(), form: Form::Https, arrived: Instant::now() })
    }

    /// Returns the DER of a certification request.
    pub(super) fn certification_request(&self) -> Result<Vec<u8>, Reply> {
        if !is(self.content_type(), PKCS10) {
            return Err(Reply::text(415, "the Content-Type is not understood; send application/pkcs10"));
        }
        if self.form == Form::Coaps {
            return Ok(self.body.clone());
        }
        decode_body(&self.body, "CertificationRequest")
            .map_err(|error| Reply::text(400, &format!("the certification request: {error}")))
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
        Self::of(Content::Of(content_type.into(), body))
    }

    /// What was asked for.
    pub(super) const fn of(content: Content) -> Self {
        Self { status: 200, content, retry_after: None, closes: false, refusal: None }
    }

    /// A text for people.
    pub(super) fn text(status: u16, text: &str) -> Self {
        Self { status, ..Self::of(Content::Text(text.into())) }
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

    /// Says why the request was refused, for metrics.
    pub(super) fn because(self, refusal: Refusal) -> Self {
        Self { refusal: Some(refusal.name()), ..self }
    }

    pub(super) const fn status(&self) -> u16 {
        self.status
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        tracing::debug!(status = refusal.status(), %refusal, "a request is refused"); // strangers cause it as well
        Self { closes: refusal.closes(), ..Self::text(refusal.status(), &refusal.to_string()) }.because(refusal)
    }
}

impl From<sqlx::Error> for Reply {
    fn from(error: sqlx::Error) -> Self {
        Self::database(&error)
    }
}

impl Content {
    /// Returns the media type and the body of HTTP, and whether that is in base64.
    fn into_http(self) -> (String, Vec<u8>, bool) {
        let base64 = |media_type: &str, der: &[u8]| (media_type.into(), encode_body(der), true);
        match self {
            Self::Of(media_type, body) => (media_type, body, false),
            Self::Text(text) => (TEXT.into(), text.into_bytes(), false),
            Self::CaCertificates(certificates) => base64(CERTIFICATES, &encode_certs_only(&certificates)),
            Self::Certificate(certificate) => base64(CERTIFICATES_ONLY, &encode_certs_only(&[certificate])),
            Self::CsrAttributes(attributes) => base64("application/csrattrs", &attributes),
            Self::IdentityKey(_) => (TEXT.into(), Vec::new(), false),
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response<Body> {
        let (content_type, body, is_base64) = self.content.into_http();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let headers = response.headers_mut();
        if self.status != 204 {
            // A MASA's Content-Type was a field of HTTP, and is one again.
            let octets = HeaderValue::from_static("application/octet-stream");
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(&content_type).unwrap_or(octets));
        }
        // RFC 8951, 3 ignores a Content-Transfer-Encoding, and RFC 7030 wants one: clients that know only the latter read the
        // body as bare DER without it.
        if is_base64 {
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

const PKCS10: &str = "application/pkcs10";

const CERTIFICATES: &str = "application/pkcs7-mime";

const CERTIFICATES_ONLY: &str = "application/pkcs7-mime; smime-type=certs-only";

const TEXT: &str = "text/plain; charset=utf-8";

/// The longest Content-Type or Accept.
const MAX_FIELD_LEN: usize = 1_024;

/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(30);
