//! A join proxy: it passes the TCP connections of pledges on to the registrar (RFC 8995, 4, "circuit proxy"), and datagrams
//! ([`UdpProxy`]).
//!
//! A pledge has no address yet that the registrar could reach, and the proxy no opinion about what they say: it copies bytes
//! both ways. It is open to anybody on its links, so that everything is limited.
//!
//! It authenticates no registrar: those that are found by multicast DNS ([`follow`]) may be a stranger's, who gets nothing but
//! attempts that fail. Where strangers are on its links, tell it where the registrars are.
//!
//! Of several registrars it uses the one that it reached last. When a connection there fails, or takes longer than
//! [`Limits::connect_one`], it tries the next one; what a registrar answers it does not see.
//!
//! ```no_run
//! use terse_onboard::join_proxy::{JoinProxy, Limits};
//! use tokio::sync::watch;
//!
//! # async fn serve() -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("[::]:0").await?;
//! let (registrar, _) = watch::channel(Some(terse_onboard::discovery::Place::new("registrar.plant.example", 8443)));
//! let proxy = JoinProxy::new(listener, registrar.subscribe(), Limits::default());
//! let (_stop, stopped) = watch::channel(false);
//! proxy.run(stopped).await;
//! # Ok(())
//! # }
//! ```
//!
//! A newcomer always gets a place: when all are taken, the connection makes room whose address has most, and that has heard nothing
//! of the registrar for longest; one that the registrar has answered a second time, which takes a client that goes on with its handshake,
//! makes room after others.
//!
//! What must always hold: connections are bounded in number, in time and in bytes, and each address has a bounded share of
//! them; a connection holds two sockets and two buffers of [`BUFFER_LEN`] bytes, and nothing else; bytes are passed on as they
//! came, whatever they are; all goes to a registrar that it was told of, and to nobody else.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::net::SocketAddr;
use core::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::discovery::Place;
use crate::places::{Capacity, Origin, Table};
use crate::stop::stopped;

mod config;
mod follow;
mod registrars;
mod relay;
mod udp;

pub use config::{JoinProxyConfig, LimitsConfig};
pub use follow::{MAX_REGISTRARS, follow};
use registrars::{Registrars, Source};
pub use relay::BUFFER_LEN;
use relay::{Ended, Seat, relay};
pub use terse_brski::join_proxy::{MAX_PREFIXES, OnLink, Prefix};
pub use udp::{Mode, UdpConfig, UdpCounters, UdpLimits, UdpProxy};

/// The limits of a join proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at a time. One of them makes room for a further one.
    pub connections: usize,
    /// The most connections of one address at a time. One of them makes room for a further one.
    pub per_address: usize,
    /// How long it may take to connect to a registrar, all that are tried together.
    pub connect: Duration,
    /// How long it may take to connect to one of several registrars, before the next one is tried.
    pub connect_one: Duration,
    /// How long nothing may come on a connection. Pledges wait up to 60 s between two requests (RFC 8995, 5.6).
    pub idle: Duration,
    /// How long a connection may last.
    pub total: Duration,
    /// How many bytes may pass on a connection, both ways together.
    pub bytes: u64,
}

/// An onboarding has some 20 kB. One that has to wait longer than a connection may last makes another one.
impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            per_address: 4,
            connect: Duration::from_secs(10),
            connect_one: Duration::from_secs(2),
            idle: Duration::from_secs(90),
            total: Duration::from_secs(15 * 60),
            bytes: 1 << 20,
        }
    }
}

/// A join proxy.
pub struct JoinProxy {
    listener: TcpListener,
    registrars: Source,
    failures: Option<mpsc::Sender<Place>>,
    limits: Limits,
}

/// What a join proxy has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// The connections that were passed on.
    pub relayed: u64,
    /// The connections that made room for others.
    pub made_room: u64,
    /// The connections for which there was no registrar.
    pub unreachable: u64,
    /// The connections that were cut off for their time or their bytes.
    pub cut_off: u64,
    /// The bytes that were passed on.
    pub bytes: u64,
}

impl JoinProxy {
    /// Creates a join proxy that passes the connections of `listener` on to the registrar, wherever that is at the moment.
    pub fn new(listener: TcpListener, registrar: watch::Receiver<Option<Place>>, limits: Limits) -> Self {
        Self { listener, registrars: Source::One(registrar), failures: None, limits }
    }

    /// Creates a join proxy for several registrars, the preferred one first.
    pub fn with_registrars(listener: TcpListener, registrars: watch::Receiver<Vec<Place>>, limits: Limits) -> Self {
        Self { listener, registrars: Source::Several(registrars), failures: None, limits }
    }

    /// Tells `failures` which registrars cannot be reached, for [`follow`].
    #[must_use]
    pub fn report_failures(self, failures: mpsc::Sender<Place>) -> Self {
        Self { failures: Some(failures), ..self }
    }

    /// Runs until `stop` becomes true. Connections end then, too: a pledge makes another one through another proxy.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> Counters {
        let Self { listener, registrars, failures, limits } = self;
        let Limits { connections, per_address, .. } = limits;
        // A link is one network, and all devices are on it.
        let table = Table::new(Capacity { connections, per_network: connections, per_address });
        let start = Instant::now();
        let mut counters = Counters::default();
        let mut relays = JoinSet::new();
        let registrars = Arc::new(Registrars::new(registrars, failures));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(ended) = relays.join_next() => {
                    counters.add(ended.unwrap_or(Ended::Broken { bytes: 0 }));
                    continue;
                }
                () = stopped(&mut stop) => break,
            };
            let (pledge, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // It may be one connection's failure, or there are no more sockets: then a pause lets some be closed.
                    tracing::warn!(%error, "no connection can be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let (evict, evicted) = oneshot::channel();
            let (place, victim) = Table::enter(&table, start.elapsed(), Origin::of(address.ip()), evict);
            drop(victim); // which wakes its task
            let (seat, registrars) = (Seat { place, start }, registrars.clone());
            relays.spawn(async move { one(pledge, address, &registrars, limits, seat, evicted).await });
        }
        relays.abort_all();
        while let Some(ended) = relays.join_next().await {
            counters.add(ended.unwrap_or(Ended::Broken { bytes: 0 }));
        }
        counters
    }
}

impl Counters {
    fn add(&mut self, ended: Ended) {
        let bytes = match ended {
            Ended::Unreachable => {
                self.unreachable += 1;
                return;
            }
            Ended::Done { bytes } | Ended::Broken { bytes } => bytes,
            Ended::CutOff { bytes } => {
                self.cut_off += 1;
                bytes
            }
            Ended::MadeRoom { bytes } => {
                self.made_room += 1;
                bytes
            }
        };
        self.relayed += 1;
        self.bytes += bytes;
    }
}

/// Whoever drops this ends a connection.
type Evict = oneshot::Sender<Infallible>;

/// Passes one connection on.
async fn one(
    pledge: TcpStream,
    address: SocketAddr,
    registrars: &Registrars,
    limits: Limits,
    seat: Seat,
    mut evicted: oneshot::Receiver<Infallible>,
) -> Ended {
    let registrar = tokio::select! {
        registrar = registrars.connect(limits) => registrar,
        _ = &mut evicted => return Ended::MadeRoom { bytes: 0 },
    };
    let Some(registrar) = registrar else { return Ended::Unreachable };
    let ended = relay(pledge, registrar, limits, seat, evicted).await;
    tracing::debug!(%address, ?ended, "a connection ended");
    ended
}

/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
