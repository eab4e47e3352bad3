//! A MASA that is configured, and serves registrars.

use alloc::sync::Arc;
use core::net::SocketAddr;
use std::time::Instant;

use axum::Router;
use axum::http::StatusCode;
use pki_types::UnixTime;
use terse_aws_lc::PROVIDER;
use terse_brski::masa::Masa;
use terse_net::Clock;
use terse_net::tokio::{Acceptor, AcceptorEvent};
use terse_tls::ServerConfig;
use terse_tls::crypto::CryptoProvider;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::config::{Authentication, MasaConfig, MasaLimits};
use super::customers::Customers;
use super::issue::UnderWay;
use super::keys::Keys;
use super::metrics::{HTTPS, Metrics};
use super::operator::open_existing;
use super::pages::StatusPages;
use super::problem::Problem;
use super::reload::{MasaReloader, Serving};
use super::revocation::Revocations;
use super::routes::routes;
use super::signer::{Signer, VoucherSigner};
use super::store::MasaStore;
use super::watched::{Ends, pages};
use crate::config::ConfigError;
use crate::health::Health;
use crate::live::Live;
use crate::pages::{Pages, PagesSettings};
use crate::rate::RateLimit;
use crate::seen::LastSeen;
use crate::serve::{Limits, serve_counted};

/// The service.
pub struct MasaService {
    shared: Shared,
    reloader: MasaReloader,
    tls: ServerConfig,
    health: Option<Health>,
    /// Whether the listener for health has the metrics as well.
    has_metrics: bool,
    pages: Option<Pages>,
}

/// What requests share.
pub(super) struct Shared {
    pub(super) provider: CryptoProvider,
    pub(super) masa: Masa,
    pub(super) signer: Signer,
    pub(super) customers: Customers,
    pub(super) authentication: Authentication,
    pub(super) limits: MasaLimits,
    pub(super) store: MasaStore,
    pub(super) revocations: Revocations,
    pub(super) rate: Arc<RateLimit>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) ends: Ends,
    /// Whether the voucher signer signed when it was asked last.
    pub(super) signer_seen: Arc<LastSeen>,
    pub(super) start: Instant,
    pub(super) under_way: Arc<UnderWay>,
    /// One place for each signature check that the machine does at a time.
    pub(super) verifications: Arc<Semaphore>,
    pub(super) clock: Clock,
}

impl Shared {
    pub(super) fn time(&self) -> Result<UnixTime, Problem> {
        let unset = || {
            tracing::error!("the clock stands before 1970; set it");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the clock of the MASA is not set")
        };
        self.clock.now().unix.ok_or_else(unset)
    }
}

impl MasaService {
    /// Reads all keys, and opens the database.
    pub async fn open(config: &MasaConfig) -> Result<Self, ConfigError> {
        Self::open_at(config, Clock::new()).await
    }

    /// The same with another clock.
    pub async fn open_at(config: &MasaConfig, clock: Clock) -> Result<Self, ConfigError> {
        let keys = Keys::read(&PROVIDER, config, now(clock)?)?;
        let store = open_store(config).await?;
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let shared = Shared {
            provider: PROVIDER,
            masa: keys.masa,
            signer: keys.signer,
            customers: keys.customers,
            authentication: config.authentication,
            limits: config.limits.clone(),
            metrics: Arc::new(Metrics::new(store.errors(), now(clock)?)),
            ends: keys.ends,
            signer_seen: Arc::default(),
            store,
            revocations: Revocations::new(config.revocation),
            rate: Arc::new(RateLimit::per_minute(config.limits.requests_per_minute)),
            start: Instant::now(),
            under_way: Arc::default(),
            verifications: Arc::new(Semaphore::new(threads)),
            clock,
        };
        let started = Arc::new(config.clone());
        let reloader = MasaReloader { place: Arc::default(), clock, started, signer: None };
        Ok(Self { shared, reloader, tls: keys.tls, health: None, has_metrics: config.metrics, pages: None })
    }

    /// Listens for health checks, where the configuration says so. They are answered by [`Self::serve`]. Returns the address.
    pub async fn listen_for_health(&mut self, config: &MasaConfig) -> Result<Option<SocketAddr>, ConfigError> {
        let Some(address) = config.health else { return Ok(None) };
        let problem = |error| {
            ConfigError::new("health".as_ref(), format_args!("cannot listen at {address}: {error}; choose another one"))
        };
        let health = Health::bind(&address.to_string()).await.map_err(problem)?;
        Ok(Some(self.health.insert(health).address()))
    }

    /// Listens for browsers, where the configuration says so. The status pages are served by [`Self::serve`]. Returns the
    /// address.
    pub async fn listen_for_pages(&mut self, config: &MasaConfig) -> Result<Option<SocketAddr>, ConfigError> {
        let Some(settings) = pages_settings(config, self.shared.clock)? else { return Ok(None) };
        let address = settings.address();
        let problem = |error| {
            ConfigError::new("pages".as_ref(), format_args!("cannot listen at {address}: {error}; choose another one"))
        };
        let pages = Pages::bind(settings).await.map_err(problem)?;
        Ok(Some(self.pages.insert(pages).address()))
    }

    /// Asks `signer` for the signatures of vouchers, instead of the key that the configuration names. Its public key is the
    /// same.
    #[must_use]
    pub fn with_voucher_signer(mut self, signer: VoucherSigner) -> Self {
        self.shared.signer.sign = signer.clone();
        self.reloader.signer = Some(signer);
        self
    }

    /// Returns the signer, for one that is around it.
    pub fn voucher_signer(&self) -> VoucherSigner {
        self.shared.signer.sign.clone()
    }

    /// Returns the database.
    pub fn store(&self) -> &MasaStore {
        &self.shared.store
    }

    /// Returns what makes the MASA take another configuration while it serves. It keeps the voucher signer of now.
    pub fn reloader(&self) -> MasaReloader {
        self.reloader.clone()
    }

    /// Serves until `stop` becomes true. Requests under way have ten seconds to end then; a voucher that is being signed
    /// longer than that is not issued.
    pub async fn serve(self, listener: TcpListener, stop: watch::Receiver<bool>) {
        let limits = Limits { connections: self.shared.limits.connections, ..Limits::default() };
        let live = Live::new(Arc::new(self.shared));
        let shared = live.current();
        let counts = shared.metrics.common.connections(HTTPS);
        let counted = counts.clone();
        let observer = move |event: &AcceptorEvent<'_>| {
            counted.handshake_event(event);
            tracing::debug!("{event}");
        };
        let acceptor =
            Acceptor::builder(Arc::new(self.tls), shared.clock).with_observer(Arc::new(observer)).start(listener);
        let store = shared.store.clone();
        let health = self.health.map(|health| {
            let store = store.clone();
            let is_well = move || {
                let store = store.clone();
                async move { store.check().await.is_ok() }
            };
            tokio::spawn(health.serve(is_well, pages(&live, self.has_metrics), stop.clone()))
        });
        let serving = Serving { live: live.clone(), acceptor: acceptor.handle() };
        self.reloader.begin(serving);
        let routes: Router = routes(&live);
        let pages = self.pages.map(|pages| tokio::spawn(pages.serve(StatusPages::new(store.clone()), stop.clone())));
        serve_counted(acceptor, routes, limits, counts, stop).await;
        for task in health.into_iter().chain(pages) {
            task.abort();
        }
        store.close().await;
    }
}

/// What a check has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checked {
    /// How many customers have a password or a CA.
    pub customers: usize,
    /// Whether IDevIDs can be issued with this configuration.
    pub factory: bool,
    /// What works, and should be different.
    pub warnings: Vec<String>,
}

impl MasaConfig {
    /// Checks the configuration and all that it names, without serving.
    pub async fn check(&self) -> Result<Checked, ConfigError> {
        Keys::read(&PROVIDER, self, now(Clock::new())?)?;
        pages_settings(self, Clock::new())?;
        if self.manufacturer.ca.is_some() {
            super::factory::read_authority(self)?;
        }
        let mut warnings: Vec<_> = self.database.check().await?.into_iter().collect();
        if self.metrics && self.health.is_some_and(|health| !health.ip().is_loopback()) {
            warnings.push("health is no loopback address: everybody who reaches it can read /metrics".into());
        }
        if self.manufacturer.voucher_anchors.is_none() {
            let known = "devices know only the voucher signer's own certificate";
            warnings.push(format!("{known}: give [manufacturer] voucher_anchors before you replace it"));
        }
        let store = open_existing(self).await?;
        let answered = store.check().await;
        store.close().await;
        answered.map_err(|error| self.database.error(error))?;
        Ok(Checked { customers: self.customers.len(), factory: self.manufacturer.ca.is_some(), warnings })
    }
}

/// Reads what the status pages need, if there are any.
fn pages_settings(config: &MasaConfig, clock: Clock) -> Result<Option<PagesSettings>, ConfigError> {
    let own = (&*config.tls.chain, &*config.tls.key);
    config.pages.as_ref().map(|pages| PagesSettings::load("masa.toml".as_ref(), pages, own, clock)).transpose()
}

/// Opens the database that a configuration names.
pub(super) async fn open_store(config: &MasaConfig) -> Result<MasaStore, ConfigError> {
    let problem = |error| config.database.error(format_args!("the database cannot be opened: {error}"));
    MasaStore::open(&config.database).await.map_err(problem)
}

pub(super) fn now(clock: Clock) -> Result<UnixTime, ConfigError> {
    clock.now().unix.ok_or_else(|| ConfigError::new("clock".as_ref(), "it stands before 1970; set it"))
}
