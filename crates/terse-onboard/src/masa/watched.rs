//! What a MASA tells its operator over plain HTTP, beside /health: its metrics, and what it depends on.

use alloc::sync::Arc;

use axum::Router;
use axum::routing::get;
use serde_json::json;

use super::service::Shared;
use crate::dependencies::Dependencies;
use crate::health::KEPT;
use crate::live::Live;
use crate::looks::Looks;

/// When the certificates of a MASA end, in seconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    /// Its own for HTTPS.
    pub(super) own: Option<u64>,
    /// The first of those that were sent along.
    pub(super) chain: Option<u64>,
    /// The first of those of the voucher signer.
    pub(super) voucher_signer: Option<u64>,
    /// The first of those under which devices are known.
    pub(super) anchors: Option<u64>,
}

/// Returns the pages for the listener for health.
pub(super) fn pages(live: &Live<Arc<Shared>>, has_metrics: bool) -> Router {
    let store = live.current().store.clone();
    let is_well = Looks::new(KEPT, false, move || {
        let store = store.clone();
        async move { store.check().await.is_ok() }
    });
    let (watched, well) = (live.clone(), is_well.clone());
    let dependencies = async move || {
        let mut dependencies = Dependencies::default();
        dependencies.add("database", Some(well.value().await), json!({}));
        dependencies.add_seen("voucher-signer", &watched.current().signer_seen, json!({}));
        dependencies.response()
    };
    let pages = Router::new().route("/health/dependencies", get(dependencies));
    if !has_metrics {
        return pages;
    }
    let live = live.clone();
    pages.route(
        "/metrics",
        get(async move || {
            let is_well = is_well.value().await;
            let shared = live.current();
            shared.measure(is_well);
            shared.metrics.exposition.response()
        }),
    )
}

impl Shared {
    /// Brings the gauges to what is known now.
    fn measure(&self, is_well: bool) {
        let common = &self.metrics.common;
        common.database_is_up(is_well);
        let Ends { own, chain, voucher_signer, anchors } = self.ends;
        let ends = [("masa", own), ("chain", chain), ("voucher-signer", voucher_signer), ("idevid-ca", anchors)];
        for (name, end) in ends {
            common.certificate_ends(name, end);
        }
    }
}
