//! The connections of browsers.
//!
//! What must always hold: there is a bounded number of them, half of which one address may have; each has a bounded time for
//! the head of a request, and in all.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use terse_net::tokio::{Acceptor, AcceptorEvent};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Site;
use super::config::PagesSettings;
use super::gate::{Client, Gate};
use crate::network::network;
use crate::shares::{Share, Shares};
use crate::stop::stopped;

/// A listener for status pages.
pub(crate) struct Pages {
    listener: TcpListener,
    address: SocketAddr,
    settings: PagesSettings,
}

impl Pages {
    /// Listens at the configured address.
    pub(crate) async fn bind(settings: PagesSettings) -> std::io::Result<Self> {
        let listener = TcpListener::bind(settings.listen).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, settings })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves pages until `stop` becomes true.
    pub(crate) async fn serve<S: Site>(self, site: S, mut stop: watch::Receiver<bool>) {
        let Self { listener, address, settings } = self;
        let (server, clock) = (settings.server.clone(), settings.clock);
        let gate = match Gate::new(site, settings, address.port()) {
            Ok(gate) => Arc::new(gate),
            Err(error) => {
                tracing::error!(%error, "the system has no random numbers, and so there are no status pages");
                return;
            }
        };
        let shares = Arc::new(Shares::new(CONNECTIONS, CONNECTIONS / 2));
        let mut connections = JoinSet::new();
        let Some(server) = server else {
            loop {
                while connections.try_join_next().is_some() {}
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = stopped(&mut stop) => return,
                };
                match accepted {
                    Ok((stream, address)) => spawn_plain(&mut connections, &gate, &shares, stream, address),
                    // Such as too many open files: others may close some.
                    Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
                }
            }
        };
        let observer = Arc::new(|event: &AcceptorEvent<'_>| tracing::debug!("{event}"));
        let mut acceptor = Acceptor::builder(server, clock).with_observer(observer).start(listener);
        loop {
            while connections.try_join_next().is_some() {}
            let (stream, address) = tokio::select! {
                accepted = acceptor.accept() => match accepted {
                    Some(accepted) => accepted,
                    None => return,
                },
                () = stopped(&mut stop) => break,
            };
            let Some(share) = Shares::take(&shares, network(address.ip())) else { continue };
            let summary = stream.connection().summary();
            let client = Client { address: address.ip(), certificate: summary.peer.name() };
            connections.spawn(serve_one(gate.clone(), stream, client, share));
        }
        acceptor.handle().stop();
    }
}

fn spawn_plain<S: Site>(
    connections: &mut JoinSet<()>,
    gate: &Arc<Gate<S>>,
    shares: &Arc<Shares>,
    stream: TcpStream,
    address: SocketAddr,
) {
    if let Some(share) = Shares::take(shares, network(address.ip())) {
        let client = Client { address: address.ip(), certificate: None };
        connections.spawn(serve_one(gate.clone(), TokioIo::new(stream), client, share));
    }
}

async fn serve_one<S: Site, I: Read + Write + Unpin + Send + 'static>(
    gate: Arc<Gate<S>>,
    stream: I,
    client: Client,
    share: Share,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, client) = (gate.clone(), client.clone());
        async move { Ok::<_, core::convert::Infallible>(gate.answer(&client, request.map(Body::new)).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD)
        .serve_connection(stream, service);
    // What takes longer is cut off, such as a client that does not read.
    if let Ok(Err(error)) = tokio::time::timeout(CONNECTION_TIME, connection).await {
        tracing::debug!(%error, "a connection for status pages ended");
    }
    drop(share);
}

/// The most connections at a time; an address has half of them.
const CONNECTIONS: usize = 64;

/// How long the head of the next request may take.
const HEAD_TIME: Duration = Duration::from_secs(15);

/// How long a connection may last; a browser makes a new one.
const CONNECTION_TIME: Duration = Duration::from_secs(120);

/// The most bytes of the head of a request.
const MAX_HEAD: usize = 16_384;

/// How long nothing is accepted after that has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
