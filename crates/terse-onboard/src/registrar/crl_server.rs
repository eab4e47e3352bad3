//! The list of revoked certificates over plain HTTP (RFC 2585, 3), for everybody who verifies LDevIDs.
//!
//! What must always hold: what is answered is in memory, and the same for all; a client has few connections, one request on
//! each, and little time; the list is signed, and so needs no TLS, which would need a list itself.

use core::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::sync::watch;

use super::Service;
use crate::health::Health;
use crate::live::Live;
use crate::places::Capacity;
use crate::serve::Rules;
use crate::times::Times;

/// Serves the list until `stop` becomes true.
pub(super) async fn serve(listener: Health, live: Live<Service>, stop: watch::Receiver<bool>) {
    let routes = Router::new().route(PATH, get(list)).with_state(live);
    listener.serve_routes(routes.fallback(async || (StatusCode::NOT_FOUND, NOT_FOUND)), RULES, stop).await;
}

async fn list(State(service): State<Service>, headers: HeaderMap) -> Response {
    let Some(list) = service.own_ca().and_then(|ca| ca.crl.published()) else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "30")], NONE).into_response();
    };
    let tag = format!("\"{}\"", list.number);
    let fields = [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, CACHE_CONTROL)];
    if is_known(&headers, &tag) {
        return (StatusCode::NOT_MODIFIED, fields).into_response();
    }
    (fields, [(header::CONTENT_TYPE, MEDIA_TYPE)], list.der.clone()).into_response()
}

/// Whether the client has the list with this tag (RFC 9110, 13.1.2).
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = tags.flat_map(|tags| tags.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

const PATH: &str = "/crl/domain.crl";

const MEDIA_TYPE: &str = "application/pkix-crl";

/// Who has the list asks after a minute whether there is another one: what is revoked must not wait in caches until the list ends.
const CACHE_CONTROL: &str = "max-age=60";

const NOT_FOUND: &str = "there is nothing here but /crl/domain.crl\n";

const NONE: &str = "the CA has signed no list of revoked certificates yet\n";

/// A list of many certificates takes its time over a slow link.
const RULES: Rules = Rules {
    capacity: Capacity { connections: 256, per_network: 32, per_address: 32 },
    times: Times::all(Duration::from_secs(30)),
    has_one_request: true,
};
