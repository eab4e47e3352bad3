//! What a service counts and measures, for Prometheus. `docs/metrics.md` has every metric.
//!
//! | module | content |
//! |---|---|
//! | `series` | metrics with labels, whose series are there from the start |
//! | `common` | what MASA and registrar both measure |
//!
//! What must always hold: the labels of counters and histograms are known at the start, so that nothing that a client sends
//! makes a new time series; no label has a serial number, an address or anything else that a client sends; to count costs no
//! more than a look into a small table.

use alloc::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::encoding::prometheus_text::{CONTENT_TYPE, encode};
use prometheus_client::registry::Registry;

mod common;
mod series;

pub(crate) use common::{Common, Connections, Kinds, OTHER, OpenConnection, first_end};
pub(crate) use series::Series;

/// The metrics of a process as a text. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Exposition(Arc<Registry>);

impl Exposition {
    pub(crate) fn new(registry: Registry) -> Self {
        Self(Arc::new(registry))
    }

    /// Returns the answer to a scraper, in version 0.0.4 of the text format.
    pub(crate) fn response(&self) -> Response {
        let mut text = String::new();
        if encode(&mut text, &self.0).is_err() {
            return axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response(); // a String takes all
        }
        ([(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE))], text).into_response()
    }
}

/// Returns the part of a registry in which every name begins with `terse_`.
pub(crate) fn own(registry: &mut Registry) -> &mut Registry {
    registry.sub_registry_with_prefix("terse")
}
