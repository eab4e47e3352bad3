//! The requests of registrars (RFC 8995, 5.5 and 5.8).
//!
//! What must always hold: a body is bounded in length and in time before it is looked at; signatures are verified on as many
//! threads as the machine has, and the connections of others go on meanwhile.

use alloc::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use pki_types::UnixTime;
use terse_brski::http::{JSON, Posted};
use terse_brski::masa::{Masa, Refusal, RegistrarRequest};
use terse_brski::voucher::MAX_LEN;

use super::config::Authentication;
use super::metrics::{AUDIT_LOG, HTTPS, VOUCHER, resource_at};
use super::problem::Problem;
use super::service::Shared;
use crate::live::Live;
use crate::serve::{Peer, Proven, UnreadBody, read_body};

pub(super) fn routes(live: &Live<Arc<Shared>>) -> Router {
    Router::new()
        .route("/.well-known/brski/requestvoucher", post(voucher))
        .route("/.well-known/brski/requestauditlog", post(audit_log))
        .route("/health", get(health))
        .fallback(async || {
            Problem::new(StatusCode::NOT_FOUND, "there is nothing here; a MASA is at /.well-known/brski")
        })
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "send a POST; or a GET for /health")
        })
        .layer(middleware::from_fn_with_state(live.clone(), admit))
        .with_state(live.clone())
}

/// Counts the requests of an address.
async fn admit(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let resource = resource_at(request.uri().path());
    let mut response = match shared.rate.admit(peer.address.ip(), shared.start.elapsed()) {
        Ok(()) => next.run(request).await,
        Err(wait) => {
            let text = "there are too many requests from this address; send fewer";
            let problem = Problem::later(StatusCode::TOO_MANY_REQUESTS, text, wait.as_secs() + 1);
            ([(header::CONNECTION, HeaderValue::from_static("close"))], problem).into_response()
        }
    };
    shared.metrics.common.answered(resource, HTTPS, response.status().as_u16());
    // A request that is carried out is signed by a registrar, and for a device of this manufacturer.
    if matches!(resource, VOUCHER | AUDIT_LOG) && response.status().is_success() {
        response.extensions_mut().insert(Proven);
    }
    response
}

async fn health(State(shared): State<Arc<Shared>>) -> Result<&'static str, Problem> {
    shared.store.check().await.map_err(|error| Problem::database(&error))?;
    Ok("ok\n")
}

async fn voucher(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::read(&shared, &peer, request).await?;
    let begun = Instant::now();
    let answer = answer_voucher(&shared, &peer, &received).await;
    shared.took(VOUCHER, begun, &answer);
    answer
}

async fn answer_voucher(shared: &Arc<Shared>, peer: &Peer, received: &Received) -> Result<Response, Problem> {
    let (request, customer) = received.verify(shared, peer, Masa::read_voucher_request).await?;
    if !shared.signer.has(request.format()) {
        return Err(UNSIGNABLE);
    }
    let (serial_number, content_type) = (request.serial_number().to_owned(), request.voucher_type());
    let voucher = shared.voucher(request, customer, received.time).await.inspect_err(|problem| {
        let (status, reason) = (problem.status().as_u16(), problem.text());
        // Strangers cause it as well.
        tracing::debug!(address = %peer.address, serial_number, status, reason, "no voucher was issued");
    })?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))], voucher).into_response())
}

async fn audit_log(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let received = Received::read(&shared, &peer, request).await?;
    let begun = Instant::now();
    let answer = answer_audit_log(&shared, &peer, &received).await;
    shared.took(AUDIT_LOG, begun, &answer);
    answer
}

async fn answer_audit_log(shared: &Arc<Shared>, peer: &Peer, received: &Received) -> Result<Response, Problem> {
    let (request, _) = received.verify(shared, peer, Masa::read_audit_log_request).await?;
    let log = shared.store.audit_log(&shared.provider, &request).await.map_err(|error| Problem::database(&error))?;
    let log = shared.masa.audit_log(&request, &log)?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], log.to_json()).into_response())
}

impl Shared {
    /// Notes how long it took to answer a request that had begun then, and why it was refused.
    fn took(&self, resource: &'static str, begun: Instant, answer: &Result<Response, Problem>) {
        let refusal = answer.as_ref().err().and_then(Problem::refusal);
        self.metrics.common.took(resource, begun.elapsed(), refusal);
    }
}

/// A request whose body is there.
struct Received {
    content_type: Option<String>,
    accept: Option<String>,
    authorization: Option<String>,
    body: Bytes,
    time: UnixTime,
}

/// A way to read a request.
type Read = fn(&Masa, &Posted<'_>, UnixTime) -> Result<RegistrarRequest, Refusal>;

impl Received {
    async fn read(shared: &Shared, peer: &Peer, request: Request) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let body = tokio::time::timeout(shared.limits.body_time(), read_body(body, MAX_LEN)).await.map_err(|_| {
            tracing::debug!(address = %peer.address, "a body came too slowly");
            Problem::new(StatusCode::REQUEST_TIMEOUT, "the request came too slowly; send it again")
        })?;
        let body = body.map_err(|unread| match unread {
            UnreadBody::BrokeOff => Problem::new(StatusCode::BAD_REQUEST, "the body broke off; send the request again"),
            UnreadBody::TooLong => {
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is longer than 16384 bytes")
            }
        })?;
        let time = shared.time()?;
        Ok(Self {
            content_type: field(&head.headers, header::CONTENT_TYPE),
            accept: field(&head.headers, header::ACCEPT),
            authorization: field(&head.headers, header::AUTHORIZATION),
            body,
            time,
        })
    }

    /// Verifies the request, and returns the customer whose registrar has sent it.
    async fn verify(
        &self,
        shared: &Arc<Shared>,
        peer: &Peer,
        read: Read,
    ) -> Result<(RegistrarRequest, Option<String>), Problem> {
        // The semaphore is never closed, and a task that panics gives no answer.
        let _place = shared.verifications.acquire().await.map_err(|_| Problem::busy())?;
        let (shared, presented) = (shared.clone(), peer.presented.clone());
        let authorization = self.authorization.clone();
        let (content_type, accept) = (self.content_type.clone(), self.accept.clone());
        let (body, time, address) = (self.body.clone(), self.time, peer.address);
        let verify = move || {
            let customer =
                shared.customers.identify(&shared.provider, presented.as_deref(), authorization.as_deref(), time);
            let customer = match customer {
                Ok(None) if shared.authentication == Authentication::Required => Err(UNAUTHENTICATED),
                Err(_) => Err(UNAUTHENTICATED),
                Ok(customer) => Ok(customer.map(str::to_owned)),
            };
            let customer = customer.inspect_err(|_| tracing::debug!(%address, "who asks is no customer"))?;
            let posted = Posted { content_type: content_type.as_deref(), accept: accept.as_deref(), body: &body };
            let request = read(&shared.masa, &posted, time)
                .inspect_err(|refusal| tracing::debug!(%address, %refusal, "a request was refused"))?;
            Ok((request, customer))
        };
        let failed = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "verifying the request failed");
        tokio::task::spawn_blocking(verify).await.unwrap_or(Err(failed))
    }
}

/// Returns a header field. Several of one name are one, with commas between (RFC 9110, 5.3).
fn field(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

const UNSIGNABLE: Problem = Problem::new(
    StatusCode::NOT_ACCEPTABLE,
    "the key of this MASA signs no vouchers in COSE, which has no RSA; send application/voucher-cms+json",
);

const UNAUTHENTICATED: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "name and password of a customer are needed, or its registrar's client certificate; ask the manufacturer",
);
