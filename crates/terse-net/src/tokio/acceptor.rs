//! An acceptor makes a server's connections from a listener.
//!
//! What must always hold: handshakes run beside each other, bounded in number and in time, and a slow peer holds up nobody;
//! a newcomer gets in although others fill the table; no failure of a peer or of the listener ends the acceptor.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Mutex;

use terse_tls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, watch};

use super::connector::HANDSHAKE_LIMIT;
use super::later::{AsyncSigner, AsyncStore};
use super::stream::{Hooks, TlsStream};
use crate::{Clock, NetError};
use run::{Ready, Shared, State};
use table::Table;

mod listener;
mod run;
mod table;

pub use listener::Listener;

/// An acceptor makes a server's connections from a [`Listener`], such as a [`tokio::net::TcpListener`].
///
/// Each handshake is a task of its own, so that handshakes run beside each other, on all threads of the runtime, and go
/// on while the application does something else. [`Acceptor::accept`] gives the connections whose handshakes are
/// complete.
///
/// # Limits
///
/// Handshakes under way and complete connections that the application has not taken are together at most
/// [`AcceptorBuilder::with_capacity`]. What happens when there are as many:
///
/// - If more than half of them are handshakes, a newcomer still gets in, and a handshake under way makes room for it: the
///   oldest of the address that has most handshakes under way, the newcomer's included. Of IPv6 addresses the first 64 bits
///   count. If several addresses have as many, the oldest handshake of all goes. So whoever opens connections from one address
///   and leaves them silent competes with himself alone. Against somebody with many addresses, a client has as long for its
///   handshake as it takes to open as many connections as the table has places.
/// - Otherwise it is the application that is slow, and clients wait in the queue of the listener, whose length the system
///   limits.
///
/// A handshake that takes longer than [`AcceptorBuilder::with_handshake_limit`] fails, however steadily its client sends. A
/// process needs more file descriptors than the table has places, beside those of the connections that are in use.
///
/// # Example
///
/// ```no_run
/// # use std::sync::Arc;
/// # use terse_net::Clock;
/// # use terse_net::tokio::{Acceptor, AcceptorEvent};
/// # use terse_tls::ServerConfig;
/// # async fn serve(config: Arc<ServerConfig>) -> std::io::Result<()> {
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// let listener = tokio::net::TcpListener::bind("[::]:8883").await?;
/// let mut acceptor = Acceptor::builder(config, Clock::new())
///     .with_observer(Arc::new(|event: &AcceptorEvent<'_>| eprintln!("{event}")))
///     .start(listener);
/// while let Some((mut stream, peer)) = acceptor.accept().await {
///     tokio::spawn(async move {
///         let mut report = String::new();
///         match stream.read_to_string(&mut report).await {
///             Ok(_) => println!("{peer} reports {report}"),
///             Err(error) => eprintln!("{peer}: {error}"),
///         }
///         let _ = stream.shutdown().await; // the report is there already
///     });
/// }
/// # Ok(())
/// # }
/// ```
pub struct Acceptor<T> {
    ready: mpsc::UnboundedReceiver<Ready<T>>,
    handle: AcceptorHandle,
}

/// The settings of an [`Acceptor`].
#[must_use = "an acceptor accepts nobody before it is started"]
pub struct AcceptorBuilder {
    config: Arc<ServerConfig>,
    clock: Clock,
    capacity: usize,
    limit: Duration,
    hooks: Hooks,
    observer: Option<Observer>,
}

/// A handle of an [`Acceptor`], for other tasks than the one that accepts. Clones are handles of the same acceptor.
#[derive(Clone)]
pub struct AcceptorHandle {
    shared: Arc<Shared>,
    local_addr: Option<SocketAddr>,
}

/// A function that is told what an acceptor does not give to the application. It is called in the tasks of the acceptor,
/// must not panic, and should be quick.
pub type Observer = Arc<dyn Fn(&AcceptorEvent<'_>) + Send + Sync>;

/// What an [`Observer`] is told. It displays as a line for a log.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptorEvent<'a> {
    /// A handshake failed, or took too long ([`NetError::is_timeout`]).
    Failed {
        /// The address of the client.
        peer: SocketAddr,
        /// The reason.
        error: &'a NetError,
    },
    /// A handshake made room for another one.
    Evicted {
        /// The address of the client.
        peer: SocketAddr,
    },
    /// The listener failed. The acceptor tries again, after a pause that grows up to a second unless the error was one of a
    /// single connection.
    ListenerFailed {
        /// The reason.
        error: &'a io::Error,
    },
}

/// What an acceptor has done, and what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptorCounters {
    /// The transports that were accepted.
    pub accepted: u64,
    /// The handshakes that were completed.
    pub completed: u64,
    /// The handshakes that failed, other than by their time limit.
    pub failed: u64,
    /// The handshakes that took too long.
    pub timed_out: u64,
    /// The handshakes that made room for others.
    pub evicted: u64,
    /// The errors of the listener.
    pub listener_errors: u64,
    /// The handshakes that are under way now, with those that have failed and end their transport.
    pub under_way: usize,
    /// The complete connections that wait for [`Acceptor::accept`] now.
    pub waiting: usize,
}

/// The transports are those of the listener with which the builder starts.
impl Acceptor<TcpStream> {
    /// Returns a builder for connections with `config`. What shares the configuration's cache shares `clock`.
    pub fn builder(config: Arc<ServerConfig>, clock: Clock) -> AcceptorBuilder {
        let hooks = Hooks::default();
        AcceptorBuilder { config, clock, capacity: CAPACITY, limit: HANDSHAKE_LIMIT, hooks, observer: None }
    }
}

impl<T> Acceptor<T> {
    /// Waits for the next connection whose handshake is complete. Returns it with the address of its client, or `None` once
    /// the acceptor was stopped and has no more. If the future is dropped, no connection is lost.
    pub async fn accept(&mut self) -> Option<(TlsStream<T>, SocketAddr)> {
        let Ready { stream, peer, .. } = self.ready.recv().await?;
        Some((stream, peer))
    }

    /// Returns a handle of this acceptor for other tasks.
    pub fn handle(&self) -> AcceptorHandle {
        self.handle.clone()
    }

    /// Returns the address where clients arrive, if the listener has one.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.handle.local_addr
    }
}

/// The longest time limit of a handshake, with which the time of its end can always be computed.
const MAX_HANDSHAKE_LIMIT: Duration = Duration::from_secs(365 * 86_400);

/// The capacity of the table unless another one is set.
const CAPACITY: usize = 512;

impl AcceptorBuilder {
    /// Sets how many handshakes under way and complete connections that the application has not taken there may be together:
    /// 512 unless this is called, and one at least.
    pub fn with_capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// Sets the time limit of a handshake as a whole: ten seconds unless this is called, and a year at most.
    pub fn with_handshake_limit(self, limit: Duration) -> Self {
        Self { limit: limit.min(MAX_HANDSHAKE_LIMIT), ..self }
    }

    /// Asks `signer` for signatures, as [`Handshake::with_signer`](super::Handshake::with_signer) does.
    pub fn with_signer(mut self, signer: AsyncSigner) -> Self {
        self.hooks.signer = Some(signer);
        self
    }

    /// Asks `store`, as [`Handshake::with_store`](super::Handshake::with_store) does.
    pub fn with_store(mut self, store: AsyncStore) -> Self {
        self.hooks.store = Some(store);
        self
    }

    /// Tells `observer` what is not given to the application: handshakes that failed, and errors of the listener.
    pub fn with_observer(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Starts to accept.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime, which needs a timer.
    pub fn start<L: Listener>(self, listener: L) -> Acceptor<L::Transport> {
        let (sender, ready) = mpsc::unbounded_channel(); // the table limits what is in it
        let shared = Arc::new(Shared {
            config: Mutex::new(self.config),
            clock: self.clock,
            hooks: self.hooks,
            limit: self.limit,
            observer: self.observer,
            state: Mutex::new(State { table: Table::new(self.capacity), counters: AcceptorCounters::default() }),
            room: Notify::new(),
            stopped: watch::Sender::new(false),
        });
        let local_addr = listener.local_addr();
        tokio::spawn(run::accept(listener, shared.clone(), sender));
        Acceptor { ready, handle: AcceptorHandle { shared, local_addr } }
    }
}

impl AcceptorHandle {
    /// Replaces the configuration, such as when certificates were renewed. Handshakes that are under way keep the old one.
    pub fn replace_config(&self, config: Arc<ServerConfig>) {
        *run::lock(&self.shared.config) = config;
    }

    /// Stops accepting, and drops the listener. Handshakes under way may go on to their end, and [`Acceptor::accept`] gives
    /// their connections before it gives `None`. Connections that were given are not touched.
    pub fn stop(&self) {
        self.shared.stopped.send_replace(true);
    }

    /// Returns what the acceptor has done, and what it has.
    pub fn counters(&self) -> AcceptorCounters {
        let state = self.shared.state();
        let (under_way, waiting) = state.table.len();
        AcceptorCounters { under_way, waiting, ..state.counters }
    }

    /// Returns the address where clients arrive, if the listener has one.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.local_addr
    }
}

/// Nobody takes the connections any more: the listener and the handshakes end.
impl<T> Drop for Acceptor<T> {
    fn drop(&mut self) {
        self.handle.stop();
        let handshakes = self.handle.shared.state().table.clear();
        handshakes.for_each(drop);
    }
}

impl core::fmt::Display for AcceptorEvent<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Failed { peer, error } => write!(f, "{peer}: {error}"),
            Self::Evicted { peer } => write!(f, "{peer}: the handshake made room for another one"),
            Self::ListenerFailed { error } => write!(f, "nobody can be accepted: {error}"),
        }
    }
}

impl core::fmt::Debug for AcceptorHandle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AcceptorHandle")
            .field("local_addr", &self.local_addr)
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}

impl<T> core::fmt::Debug for Acceptor<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Acceptor").field("handle", &self.handle).finish_non_exhaustive()
    }
}
