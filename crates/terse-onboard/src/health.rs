//! A plain HTTP listener: for the health of a service, for load balancers that have no client certificate, and for other
//! things that everybody may read.
//!
//! What must always hold: for health it answers GET /health, the pages for operators that it is given, and nothing else;
//! /health from no more than the database's state, at which there is one look at a time and one in a second; a database that
//! does not answer is one that fails; a client has few connections, one request on each, and little time.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::looks::Looks;
use crate::network::network;
use crate::shares::Shares;
use crate::stop::stopped;

/// A plain HTTP listener.
#[derive(Debug)]
pub(crate) struct Health {
    listener: TcpListener,
    address: SocketAddr,
}

/// What the clients of a listener have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most connections at a time.
    pub(crate) connections: usize,
    /// The most of one network.
    pub(crate) per_network: usize,
    /// How long a connection may last.
    pub(crate) time: Duration,
}

impl Health {
    /// Listens at an address.
    pub(crate) async fn bind(address: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` becomes true: 200 if `is_well` says so, else 503. `pages` has what is answered besides that, within
    /// the same limits.
    pub(crate) async fn serve<F: Future<Output = bool> + Send + 'static>(
        self,
        is_well: impl Fn() -> F + Send + Sync + 'static,
        pages: Router,
        stop: watch::Receiver<bool>,
    ) {
        let looks = Looks::new(KEPT, false, is_well);
        let answer = async move || match looks.value().await {
            true => (StatusCode::OK, "ok\n").into_response(),
            false => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response(),
        };
        let routes = Router::new().route("/health", get(answer)).merge(pages);
        let routes = routes.fallback(async || (StatusCode::NOT_FOUND, NOT_FOUND));
        self.serve_routes(routes, BOUNDS, stop).await;
    }

    /// Answers what `routes` have until `stop` becomes true, within these bounds.
    pub(crate) async fn serve_routes(self, routes: Router, bounds: Bounds, mut stop: watch::Receiver<bool>) {
        let shares = Arc::new(Shares::new(bounds.connections, bounds.per_network));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                () = stopped(&mut stop) => return,
            };
            match accepted {
                Ok((stream, address)) => {
                    let Some(share) = Shares::take(&shares, network(address.ip())) else { continue };
                    let routes = routes.clone();
                    connections.spawn(async move {
                        // What takes longer is cut off.
                        let _ = tokio::time::timeout(bounds.time, serve_one(stream, routes, bounds)).await;
                        drop(share);
                    });
                }
                // Such as too many open files: others may close some.
                Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
            }
        }
    }
}

async fn serve_one(stream: TcpStream, routes: Router, bounds: Bounds) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.time)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a request over plain HTTP failed");
    }
}

/// How long what a look has found is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(1);

/// Half of the connections are for one address.
const BOUNDS: Bounds = Bounds { connections: CONNECTIONS, per_network: CONNECTIONS / 2, time: Duration::from_secs(5) };

const CONNECTIONS: usize = 16;

/// The most bytes of the head of a request.
const MAX_HEAD: usize = 16_384;

/// How long nothing is accepted after that has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

const NOT_FOUND: &str = "there is nothing here but /health, /health/dependencies, and /metrics if that is configured\n";

#[cfg(test)]
mod tests;
