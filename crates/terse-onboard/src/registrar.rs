//! The registrar of a domain (RFC 8995, 5; RFC 7030), on HTTPS and on CoAPS: what `terse registrar` runs.
//!
//! | request | module |
//! |---|---|
//! | BRSKI: `requestvoucher`, `voucher_status`, `enrollstatus` | `brski` |
//! | EST: `cacerts`, `csrattrs`, `simpleenroll`, `simplereenroll` | `est` |
//! | `health`: whether the database answers | here |
//!
//! `requests` has them by resource, as both HTTPS (here) and CoAPS (`coaps`) ask for them.
//!
//! Who a client is follows from the certificate that it has presented, which the TLS server takes unverified:
//! [`terse_brski::registrar`] verifies an IDevID, and an LDevID must lead to the domain's CA. The MASA is asked in a task of its
//! own (`masa`, `forward`), and the audit log in another one (`audit`). The domain's CA is the registrar's own, with its key in a
//! file or elsewhere (`signing`), or behind an EST server (`est_server`, `external_ca`), which is asked in a task of its own as well
//! (`pass_on`). What the own CA has revoked is in `own_crl`.
//!
//! What must always hold: what is sent to a MASA or answered to a pledge, and may have to be repeated, is in the database
//! first, so that a restart or another process on the same database goes on with it; what a stranger sends is never
//! written down.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;
use core::pin::Pin;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use pki_types::UnixTime;
use terse_brski::coap::Resource;
use terse_brski::digest::Sha256;
use terse_net::Clock;
use terse_net::tokio::{Acceptor, AcceptorEvent};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use crate::config::ConfigError;
use crate::discovery::mdns::{Announcement, MdnsError};
use crate::health::Health;
use crate::live::Live;
use crate::pages::Pages;
use crate::rate::RateLimit;
use crate::seen::LastSeen;
use crate::serve::{self, Limits, Peer, Proven};
use crate::stop::stopped;

mod audit;
mod brski;
mod check;
mod chores;
mod coaps;
pub mod config;
mod crl;
mod crl_server;
mod domain;
mod est;
mod est_server;
mod external_ca;
mod fetch;
mod forward;
mod https;
mod identity;
mod init;
mod masa;
mod metrics;
mod names;
mod operator;
mod outage;
mod own_crl;
mod pages;
mod pass_on;
mod reload;
mod reminder;
mod reply;
mod requests;
mod settings;
mod signing;
mod status_limit;
mod store;
mod watched;

pub use check::check;
pub use fetch::{FetchError, FetchOptions, Fetched, fetch};
pub use init::{InitError, InitOptions, init};
pub use operator::{Operator, OperatorError, Rejection, Revoked, Revoker, SignedCrl};
pub use reload::Reloader;
pub use store::{DeviceReport, EndingCertificate, FetchedVoucher, Pending, PendingReason};

use chores::do_chores;
use coaps::Coaps;
use metrics::Metrics;
use outage::Outages;
use own_crl::keep_crl;
use pages::StatusPages;
use reply::Reply;
use requests::route;
use settings::Settings;
use status_limit::StatusLimit;
use store::Store;

/// A registrar. Clones are the same one.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    /// The path of the configuration.
    path: PathBuf,
    settings: Settings,
    store: Store,
    clock: Clock,
    rate: Arc<RateLimit>,
    status_limit: Arc<StatusLimit>,
    metrics: Arc<Metrics>,
    /// The MASAs that cannot be reached.
    outages: Arc<Outages>,
    /// Whether the MASA of each manufacturer could be reached last.
    masas_seen: BTreeMap<String, Arc<LastSeen>>,
    /// The devices whose audit log is being asked for.
    audits: Arc<Mutex<BTreeSet<Sha256>>>,
    /// Notified when one of them is done.
    audited: Arc<Notify>,
}

/// A registrar that listens.
pub struct Listening {
    live: Live<Service>,
    acceptor: Acceptor<TcpStream>,
    address: SocketAddr,
    coaps: Option<Coaps>,
    health: Option<Health>,
    crl: Option<Health>,
    pages: Option<Pages>,
    announcement: Option<Announcement>,
}

/// Why a registrar cannot start. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration, or a file that it names.
    Config(ConfigError),
    /// The database.
    Database(ConfigError),
    /// An address: that for pledges, for health checks, of the list of revoked certificates, or of the status pages.
    Listen(ConfigError),
    /// Multicast DNS, by which the registrar is to be announced.
    Announce(MdnsError),
}

impl Service {
    /// Reads the configuration at `path` and what it names, and opens the database.
    pub async fn open(path: &Path, clock: Clock) -> Result<Self, StartError> {
        let settings = Settings::load(path, clock).map_err(StartError::Config)?;
        let store = Store::open(&settings.database).await;
        let store = store.map_err(|error| StartError::Database(settings.database.error(error)))?;
        let limits = &settings.config.limits;
        let rate = Arc::new(RateLimit::per_second(limits.requests_per_second, limits.requests_at_once));
        let started = clock.now().unix.unwrap_or(UnixTime::since_unix_epoch(Duration::ZERO));
        let metrics = Arc::new(Metrics::new(store.errors(), started));
        let masas_seen = settings.masas.keys().map(|name| (name.clone(), Arc::default())).collect();
        let (outages, audits, audited) = (Arc::default(), Arc::default(), Arc::default());
        let path = path.into();
        let status_limit = Arc::default();
        let inner =
            Inner { path, settings, store, clock, rate, status_limit, metrics, outages, masas_seen, audits, audited };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Listens at the configured addresses, and is announced if that is configured. Pledges are answered by
    /// [`Listening::run`].
    pub async fn listen(&self) -> Result<Listening, StartError> {
        let config = &self.inner.settings.config;
        let wrong =
            |address: &str, error: std::io::Error| StartError::Listen(ConfigError::new(Path::new(address), error));
        let listener = TcpListener::bind(&config.listen).await.map_err(|error| wrong(&config.listen, error))?;
        let address = listener.local_addr().map_err(|error| wrong(&config.listen, error))?;
        let live = Live::new(self.clone());
        let coaps = match (&config.coaps, &self.inner.settings.coaps) {
            (Some(own), Some(server)) => Some(Coaps::bind(&live, own, server).await?),
            _ => None,
        };
        let health = match &config.health {
            Some(health) => Some(Health::bind(health).await.map_err(|error| wrong(health, error))?),
            None => None,
        };
        let crl = match config.enrolment.as_ref().and_then(|own| own.crl_listen.as_ref()) {
            Some(crl) => Some(Health::bind(crl).await.map_err(|error| wrong(crl, error))?),
            None => None,
        };
        let pages = match self.inner.settings.pages.clone() {
            Some(pages) => {
                let address = pages.address();
                let bound = Pages::bind(pages).await;
                Some(bound.map_err(|error| wrong(&address.to_string(), error))?)
            }
            None => None,
        };
        let announcement =
            config.announce.then(|| Announcement::at(crate::discovery::Service::Registrar, "registrar", address));
        let announcement = announcement.transpose().map_err(StartError::Announce)?;
        let connections = self.inner.metrics.common.connections(metrics::HTTPS);
        let observer = Arc::new(move |event: &AcceptorEvent<'_>| {
            connections.handshake_event(event);
            tracing::debug!("{event}");
        });
        let acceptor = Acceptor::builder(self.inner.settings.server.clone(), self.inner.clock);
        let acceptor = acceptor.with_observer(observer).start(listener);
        Ok(Listening { live, acceptor, address, coaps, health, crl, pages, announcement })
    }

    fn routes(live: &Live<Self>) -> Router {
        Router::new()
            .route("/.well-known/brski/requestvoucher", route(Resource::RequestVoucher))
            .route("/.well-known/brski/voucher_status", route(Resource::VoucherStatus))
            .route("/.well-known/brski/enrollstatus", route(Resource::EnrollStatus))
            .route("/.well-known/est/cacerts", route(Resource::CaCerts))
            .route("/.well-known/est/csrattrs", route(Resource::CsrAttributes))
            .route("/.well-known/est/simpleenroll", route(Resource::SimpleEnroll))
            .route("/.well-known/est/simplereenroll", route(Resource::SimpleReenroll))
            .route("/health", get(health))
            .fallback(async || Reply::text(404, "there is nothing here; a registrar has /.well-known/brski and est"))
            .method_not_allowed_fallback(async || Reply::text(405, "the path is right, and the method is not"))
            .layer(middleware::from_fn_with_state(live.clone(), limit_rate))
            .with_state(live.clone())
    }

    /// Returns the look at the database for health checks.
    fn is_well(&self) -> impl Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Clone + Send + Sync + 'static {
        let store = self.inner.store.clone();
        move || {
            let store = store.clone();
            Box::pin(async move { store.check().await.is_ok() })
        }
    }

    fn now(&self) -> UnixTime {
        // Before 1970 the clock was never set, and no certificate is valid.
        self.inner.clock.now().unix.unwrap_or(UnixTime::since_unix_epoch(Duration::ZERO))
    }
}

impl Listening {
    /// Returns the address where pledges arrive.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address where devices of constrained BRSKI arrive, if that is configured.
    pub fn coaps_address(&self) -> Option<SocketAddr> {
        self.coaps.as_ref().map(Coaps::address)
    }

    /// Returns the address where stateless join proxies send to, if that is configured.
    pub fn jpy_address(&self) -> Option<SocketAddr> {
        self.coaps.as_ref()?.jpy_address()
    }

    /// Returns the addresses where devices and join proxies ask for registrars by CoAP, if that is configured.
    pub fn discovery_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.coaps.iter().flat_map(Coaps::discovery_addresses)
    }

    /// Returns what makes the registrar read its configuration again while it runs.
    pub fn reloader(&self) -> Reloader {
        Reloader { live: self.live.clone(), acceptor: self.acceptor.handle() }
    }

    /// Returns the address for health checks, if there is one.
    pub fn health_address(&self) -> Option<SocketAddr> {
        self.health.as_ref().map(Health::address)
    }

    /// Returns the address of the list of revoked certificates, if there is one.
    pub fn crl_address(&self) -> Option<SocketAddr> {
        self.crl.as_ref().map(Health::address)
    }

    /// Returns the address of the status pages, if there are any.
    pub fn pages_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().map(Pages::address)
    }

    /// Answers pledges until `stop` becomes true; requests under way may finish. The announcement is withdrawn before that.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let Self { live, acceptor, coaps, health, crl, pages, announcement, .. } = self;
        let service = live.current();
        service.begin_crl().await;
        let limits = Limits { connections: service.inner.settings.config.limits.connections, ..Limits::default() };
        let chores = tokio::spawn(do_chores(live.clone(), stop.clone()));
        let health =
            health.map(|health| tokio::spawn(health.serve(service.is_well(), Service::pages(&live), stop.clone())));
        let crls = tokio::spawn(keep_crl(live.clone(), stop.clone()));
        let crl = crl.map(|listener| tokio::spawn(crl_server::serve(listener, live.clone(), stop.clone())));
        let pages = pages.map(|pages| tokio::spawn(pages.serve(StatusPages::new(live.clone()), stop.clone())));
        let withdraw = async {
            if let Some(announcement) = announcement {
                stopped(&mut stop.clone()).await;
                announcement.withdraw().await;
            }
        };
        let coaps = async {
            if let Some(coaps) = coaps {
                coaps.run(stop.clone()).await;
            }
        };
        let counts = service.inner.metrics.common.connections(metrics::HTTPS);
        let https = serve::serve_counted(acceptor, Service::routes(&live), limits, counts, stop.clone());
        tokio::join!(https, coaps, withdraw);
        for task in [chores, crls].into_iter().chain(health).chain(crl).chain(pages) {
            task.abort();
        }
        service.inner.store.close().await;
    }
}

async fn limit_rate(State(service): State<Service>, request: Request, next: Next) -> Response {
    let address = request.extensions().get::<Peer>().map(|peer| peer.address.ip());
    let now = Duration::from_millis(service.inner.clock.now().monotonic.0);
    let resource = metrics::resource_at(request.uri().path());
    let mut response = match address.map_or(Ok(()), |address| service.inner.rate.admit(address, now)) {
        Ok(()) => next.run(request).await,
        Err(wait) => Reply::text(429, "there are too many requests of this address; wait")
            .retry_after(outage::retry_after(wait))
            .closing()
            .into_response(),
    };
    service.inner.metrics.common.answered(resource, metrics::HTTPS, response.status().as_u16());
    if metrics::is_proof(resource, response.status().as_u16()) {
        response.extensions_mut().insert(Proven);
    }
    response
}

async fn health(State(service): State<Service>) -> Reply {
    match service.inner.store.check().await {
        Ok(()) => Reply::text(200, "the registrar and its database answer"),
        Err(error) => Reply::database(&error),
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Database(error) => {
                write!(f, "the database cannot be used; check the file and its folder, or the server: {error}")
            }
            Self::Listen(error) => write!(f, "pledges cannot arrive; choose another address: {error}"),
            Self::Announce(error) => write!(f, "{error}; or set announce = false"),
        }
    }
}

impl core::error::Error for StartError {}
