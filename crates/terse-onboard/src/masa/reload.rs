//! A changed configuration takes effect while the MASA serves.
//!
//! What must always hold: the new configuration is read and checked as at a start before anything changes; a wrong one changes
//! nothing; no connection ends; what several requests share goes on: the database, the vouchers under way, the metrics.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use axum::extract::FromRef;
use terse_aws_lc::PROVIDER;
use terse_net::Clock;
use terse_net::tokio::AcceptorHandle;

use super::config::MasaConfig;
use super::keys::Keys;
use super::revocation::Revocations;
use super::service::{Shared, now};
use super::signer::VoucherSigner;
use crate::config::ConfigError;
use crate::live::Live;
use crate::rate::RateLimit;

/// What makes a MASA take another configuration while it serves. Clones are of the same one.
#[derive(Clone)]
pub struct MasaReloader {
    pub(super) place: Arc<Mutex<Place>>,
    pub(super) clock: Clock,
    /// The configuration of the start.
    pub(super) started: Arc<MasaConfig>,
    /// The signer that was set in place of the key of the configuration.
    pub(super) signer: Option<VoucherSigner>,
}

/// Where a MASA is that serves, and before that the configuration that it is to begin with.
#[derive(Default)]
pub(super) struct Place {
    serving: Option<Serving>,
    next: Option<MasaConfig>,
}

/// A MASA that serves.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) live: Live<Arc<Shared>>,
    pub(super) acceptor: AcceptorHandle,
}

impl MasaReloader {
    /// Reads what the configuration names. Requests that begin from then on, and new connections, are served by it. Returns
    /// the keys whose change takes effect at the next start alone. Fails, and changes nothing, if it is wrong. A MASA that does
    /// not serve yet begins with the configuration.
    pub fn reload(&self, config: &MasaConfig) -> Result<Vec<&'static str>, ConfigError> {
        let keys = Keys::read(&PROVIDER, config, now(self.clock)?)?;
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner); // whatever is in there can be used
        match &place.serving {
            Some(serving) => self.apply(serving, config, keys),
            None => place.next = Some(config.clone()),
        }
        Ok(waiting(&self.started, config))
    }

    /// Begins to take configurations for a MASA that serves from now on.
    pub(super) fn begin(&self, serving: Serving) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.serving = Some(serving);
        let next = place.next.take();
        drop(place);
        if let Some(Err(error)) = next.map(|config| self.reload(&config)) {
            tracing::error!(%error, "the configuration is wrong; nothing was changed");
        }
    }

    fn apply(&self, Serving { live, acceptor }: &Serving, config: &MasaConfig, keys: Keys) {
        let shared = live.current();
        let Keys { tls, mut signer, masa, customers, ends } = keys;
        if let Some(other) = &self.signer {
            signer.sign = other.clone();
        }
        let earlier = &shared.limits;
        let rate = match earlier.requests_per_minute == config.limits.requests_per_minute {
            true => shared.rate.clone(),
            false => Arc::new(RateLimit::per_minute(config.limits.requests_per_minute)),
        };
        let next = Shared {
            provider: PROVIDER,
            masa,
            signer,
            customers,
            ends,
            rate,
            authentication: config.authentication,
            limits: config.limits.clone(),
            revocations: Revocations::new(config.revocation),
            store: shared.store.clone(),
            metrics: shared.metrics.clone(),
            signer_seen: shared.signer_seen.clone(),
            start: shared.start,
            under_way: shared.under_way.clone(),
            verifications: shared.verifications.clone(),
            clock: shared.clock,
        };
        live.replace(Arc::new(next));
        acceptor.replace_config(Arc::new(tls));
    }
}

/// Each request takes the MASA as it is when the request begins.
impl FromRef<Live<Self>> for Arc<Shared> {
    fn from_ref(live: &Live<Self>) -> Self {
        live.current()
    }
}

/// Returns the keys that are only read at a start, and have changed since.
fn waiting(old: &MasaConfig, new: &MasaConfig) -> Vec<&'static str> {
    [
        ("listen", old.listen != new.listen),
        ("health", old.health != new.health),
        ("metrics", old.metrics != new.metrics),
        ("pages", old.pages != new.pages),
        ("database", old.database != new.database),
        ("limits.connections", old.limits.connections != new.limits.connections),
    ]
    .into_iter()
    .filter_map(|(key, has_changed)| has_changed.then_some(key))
    .collect()
}
