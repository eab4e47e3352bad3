//! Answers that are neither a voucher nor an audit log: a status, and a text for people (RFC 8995, 5.6).
//!
//! What must always hold: no text repeats what a stranger sent, and none tells what failed inside.

use alloc::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use terse_brski::masa::Refusal;

/// An answer with a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    status: StatusCode,
    text: Cow<'static, str>,
    /// Retry-After, in seconds.
    retry_after: Option<u64>,
    /// Why the request was refused, for metrics.
    refusal: Option<&'static str>,
}

impl Problem {
    pub(super) const fn new(status: StatusCode, text: &'static str) -> Self {
        Self { status, text: Cow::Borrowed(text), retry_after: None, refusal: None }
    }

    /// The same request may succeed after so many seconds.
    pub(super) const fn later(status: StatusCode, text: &'static str, seconds: u64) -> Self {
        Self { status, text: Cow::Borrowed(text), retry_after: Some(seconds), refusal: None }
    }

    /// The database failed. What was wrong is for the operator, in the log.
    pub(super) fn database(error: &sqlx::Error) -> Self {
        tracing::error!(%error, "the database failed");
        Self::later(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer; send the same request again", 10)
    }

    /// Too much is under way.
    pub(super) const fn busy() -> Self {
        Self::later(StatusCode::SERVICE_UNAVAILABLE, "too much is under way; send the same request again", 10)
    }

    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns why the request was refused, for metrics.
    pub(super) const fn refusal(&self) -> Option<&'static str> {
        self.refusal
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN); // it is one of HTTP
        Self { status, text: Cow::Owned(refusal.to_string()), retry_after: None, refusal: Some(refusal.name()) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.text)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"masa\", charset=\"UTF-8\""));
        }
        response
    }
}
