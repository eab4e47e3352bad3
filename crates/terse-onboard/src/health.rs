//! A plain HTTP listener for the health of a service, for load balancers that have no client certificate.
//!
//! What must always hold: it answers GET /health and nothing else, from no more than the database's state, at which there is
//! one look at a time and one in a second; a database that does not answer is one that fails; a client has few connections,
//! one request on each, and little time.

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
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::network::network;
use crate::shares::Shares;
use crate::stop::stopped;

/// A listener for health checks.
#[derive(Debug)]
pub(crate) struct Health {
    listener: TcpListener,
    address: SocketAddr,
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

    /// Answers until `stop` becomes true: 200 if `is_well` says so, else 503.
    pub(crate) async fn serve<F: Future<Output = bool> + Send + 'static>(
        self,
        is_well: impl Fn() -> F + Send + Sync + 'static,
        mut stop: watch::Receiver<bool>,
    ) {
        let looks = Looks::new(is_well);
        let answer = async move || match looks.is_well().await {
            true => (StatusCode::OK, "ok\n").into_response(),
            false => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response(),
        };
        let routes = Router::new().route("/health", get(answer));
        let routes = routes.fallback(async || (StatusCode::NOT_FOUND, "there is nothing here but /health\n"));
        let shares = Arc::new(Shares::new(CONNECTIONS, CONNECTIONS / 2));
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
                        let _ = tokio::time::timeout(TIME, serve_one(stream, routes)).await;
                        drop(share);
                    });
                }
                // Such as too many open files: others may close some.
                Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
            }
        }
    }
}

async fn serve_one(stream: TcpStream, routes: Router) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIME)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a health check failed");
    }
}

/// The looks at the database for health checks: one at a time, and few, however many clients ask.
struct Looks<W> {
    is_well: Arc<W>,
    /// When the last look ended, and what it has found.
    last: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl<W> Looks<W> {
    fn new(is_well: W) -> Self {
        Self { is_well: Arc::new(is_well), last: Arc::default() }
    }
}

impl<W> Clone for Looks<W> {
    fn clone(&self) -> Self {
        Self { is_well: self.is_well.clone(), last: self.last.clone() }
    }
}

impl<F: Future<Output = bool> + Send + 'static, W: Fn() -> F + Send + Sync + 'static> Looks<W> {
    /// Returns what the last look has found, or looks if that was a while ago. A look goes on when its client has gone, so
    /// that nobody causes more of them by going.
    async fn is_well(&self) -> bool {
        let mut last = self.last.clone().lock_owned().await;
        if let Some((time, is_well)) = *last
            && time.elapsed() < KEPT
        {
            return is_well;
        }
        let look = self.is_well.clone();
        let look = tokio::spawn(async move {
            let is_well = tokio::time::timeout(LOOK_TIME, look()).await.unwrap_or(false);
            *last = Some((Instant::now(), is_well));
            is_well
        });
        look.await.unwrap_or(false)
    }
}

/// How long what a look has found is kept.
const KEPT: Duration = Duration::from_secs(1);

/// How long a look may take. It leaves a client time for its answer.
const LOOK_TIME: Duration = Duration::from_secs(3);

/// The most connections at a time; an address has half of them.
const CONNECTIONS: usize = 16;

/// How long a connection may last.
const TIME: Duration = Duration::from_secs(5);

/// How long nothing is accepted after that has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
