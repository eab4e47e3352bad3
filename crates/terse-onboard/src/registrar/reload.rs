//! A changed configuration takes effect while the registrar runs.
//!
//! What must always hold: the new configuration is read and checked as at a start before anything changes; what a wrong one
//! says changes nothing; no connection ends; what several requests share goes on: the database, the metrics, what is known of
//! MASAs, and the audit logs that are being asked for.

use alloc::sync::Arc;

use axum::extract::FromRef;
use terse_net::tokio::AcceptorHandle;

use super::config::{CoapsConfig, Config};
use super::own_crl::take_over;
use super::settings::Settings;
use super::{Inner, Service};
use crate::config::ConfigError;
use crate::live::Live;
use crate::rate::RateLimit;

/// What makes a registrar read its configuration again.
#[derive(Clone)]
pub struct Reloader {
    pub(super) live: Live<Service>,
    pub(super) acceptor: AcceptorHandle,
}

impl Reloader {
    /// Reads the configuration and what it names again. Requests that begin from then on, and new connections, are served by
    /// it. Returns the keys whose change takes effect at the next start alone. Fails, and changes nothing, if it is wrong.
    pub fn reload(&self) -> Result<Vec<&'static str>, ConfigError> {
        let service = self.live.current();
        let settings = Settings::load(&service.inner.path, service.inner.clock)?;
        let waiting = waiting(&service.inner.settings, &settings);
        if settings.config.coaps.is_some() && settings.chain != service.inner.settings.chain {
            return Err(ConfigError::new(&service.inner.path, OTHER_CHAIN));
        }
        let server = settings.server.clone();
        self.live.replace(service.with(settings));
        self.acceptor.replace_config(server);
        Ok(waiting)
    }
}

impl Service {
    /// Returns the same registrar with other settings.
    fn with(&self, settings: Settings) -> Self {
        let Inner { path, store, clock, rate, status_limit, metrics, outages, masas_seen, audits, audited, .. } =
            &*self.inner;
        let (limits, earlier) = (&settings.config.limits, &self.inner.settings.config.limits);
        let is_same = limits.requests_per_second == earlier.requests_per_second
            && limits.requests_at_once == earlier.requests_at_once;
        let rate = match is_same {
            true => rate.clone(),
            false => Arc::new(RateLimit::per_second(limits.requests_per_second, limits.requests_at_once)),
        };
        take_over(self.inner.settings.domain.as_ref(), settings.domain.as_ref());
        let seen = |name: &String| (name.clone(), masas_seen.get(name).cloned().unwrap_or_default());
        let inner = Inner {
            path: path.clone(),
            store: store.clone(),
            clock: *clock,
            rate,
            status_limit: status_limit.clone(),
            metrics: metrics.clone(),
            outages: outages.clone(),
            masas_seen: settings.masas.keys().map(seen).collect(),
            audits: audits.clone(),
            audited: audited.clone(),
            settings,
        };
        Self { inner: Arc::new(inner) }
    }
}

/// Each request takes the registrar as it is when the request begins.
impl FromRef<Live<Self>> for Service {
    fn from_ref(live: &Live<Self>) -> Self {
        live.current()
    }
}

/// Returns the keys that are only read at a start, and have changed.
fn waiting(earlier: &Settings, later: &Settings) -> Vec<&'static str> {
    let (old, new): (&Config, &Config) = (&earlier.config, &later.config);
    let sockets = |own: &CoapsConfig| (own.listen.clone(), own.jpy.clone(), own.mtu, own.discovery, own.discovery_port);
    let coaps = |config: &Config| config.coaps.as_ref().map(sockets);
    let crl_listen = |config: &Config| config.enrolment.as_ref().and_then(|own| own.crl_listen.clone());
    let shows_key = |config: &Config| config.coaps.is_some() && config.identity.is_some();
    [
        ("listen", old.listen != new.listen),
        ("health", old.health != new.health),
        ("metrics", old.metrics != new.metrics),
        ("pages", old.pages != new.pages),
        ("announce", old.announce != new.announce),
        ("enrolment.crl_listen", crl_listen(old) != crl_listen(new)),
        ("database", earlier.database != later.database),
        ("coaps", coaps(old) != coaps(new)),
        ("identity", shows_key(old) != shows_key(new)),
        ("limits.connections", old.limits.connections != new.limits.connections),
    ]
    .into_iter()
    .filter_map(|(key, has_changed)| has_changed.then_some(key))
    .collect()
}

const OTHER_CHAIN: &str =
    "with [coaps], other certificates in `chain` take effect at a restart alone: nothing was changed";
