//! What a registrar tells its operator over plain HTTP, beside /health: its metrics, and what it depends on.
//!
//! What must always hold: the database is counted through once in a while, however many clients ask; the page of the
//! dependencies asks nobody else.

use core::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::json;

use super::Service;
use super::domain::Issuer;
use super::masa::MasaError;
use super::store::Counts;
use crate::dependencies::Dependencies;
use crate::health::KEPT;
use crate::live::Live;
use crate::looks::Looks;
use crate::metrics::first_end;

impl Service {
    /// Returns the pages for the listener for health.
    pub(super) fn pages(live: &Live<Self>) -> Router {
        let is_well = Looks::new(KEPT, false, live.current().is_well());
        let service = live.clone();
        let counts = Looks::new(COUNTED_EVERY, None, move || {
            let service = service.current();
            async move { service.inner.store.counts(service.now()).await.ok() } // is_well tells that it fails
        });
        let (service, well, counted) = (live.clone(), is_well.clone(), counts.clone());
        let dependencies = async move || {
            let (is_well, counts) = (well.value().await, counted.value().await);
            service.current().dependencies(is_well, counts).response()
        };
        let pages = Router::new().route("/health/dependencies", get(dependencies));
        if !live.current().inner.settings.config.metrics {
            return pages;
        }
        let service = live.clone();
        pages.route(
            "/metrics",
            get(async move || {
                let (is_well, counts) = (is_well.value().await, counts.value().await);
                let service = service.current();
                service.measure(is_well, counts);
                service.inner.metrics.exposition.response()
            }),
        )
    }

    /// Brings the gauges to what is known now.
    fn measure(&self, is_well: bool, counts: Option<Counts>) {
        let (metrics, settings) = (&self.inner.metrics, &self.inner.settings);
        metrics.common.database_is_up(is_well);
        if let Some(counts) = counts {
            metrics.counted(&counts);
        }
        let own = settings.chain.split_first();
        metrics.common.certificate_ends("registrar", own.and_then(|(leaf, _)| first_end([leaf])));
        metrics.common.certificate_ends("chain", own.and_then(|(_, others)| first_end(others)));
        let ca = settings.domain.as_ref().and_then(|domain| match &domain.issuer {
            Issuer::Own(ca) => ca.authority.not_after().ok(),
            Issuer::External(ca) => first_end(ca.certificates().iter().flat_map(|all| all.iter())),
        });
        metrics.common.certificate_ends("domain-ca", ca);
    }

    fn dependencies(&self, is_well: bool, counts: Option<Counts>) -> Dependencies {
        let mut dependencies = Dependencies::default();
        dependencies.add("database", Some(is_well), json!({}));
        for (manufacturer, seen) in &self.inner.masas_seen {
            dependencies.add_seen("masa", seen, json!({ "manufacturer": manufacturer }));
        }
        if let Some(Issuer::External(ca)) = self.inner.settings.domain.as_ref().map(|domain| &domain.issuer) {
            dependencies.add_seen("est-server", &ca.seen, json!({}));
        }
        dependencies.add("audit-logs", None, json!({ "missing": counts.map(|counts| counts.audits_missing) }));
        dependencies
    }

    /// Notes whether the MASA of a manufacturer could be reached, unless it was not asked.
    pub(super) fn saw_masa<T>(&self, manufacturer: &str, asked: &Result<T, MasaError>) {
        let Some(seen) = self.inner.masas_seen.get(manufacturer) else { return };
        match asked {
            Err(error) if error.is_own() => {}
            Err(error) => seen.note(!error.is_outage(), self.now()),
            Ok(_) => seen.note(true, self.now()),
        }
    }
}

/// How often the devices are counted that need attention.
const COUNTED_EVERY: Duration = Duration::from_secs(15);
