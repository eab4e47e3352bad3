//! A plain HTTP listener: for the health of a service, for load balancers that have no client certificate, and for other
//! things that everybody may read.
//!
//! What must always hold: for health it answers GET /health, the pages for operators that it is given, and nothing else;
//! /health from no more than the database's state, at which there is one look at a time and one in a second; a database that
//! does not answer is one that fails; a client has few connections, one request on each, and little time.

use core::net::SocketAddr;
use core::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::looks::Looks;
use crate::places::Capacity;
use crate::serve::{Entrance, Rules};
use crate::stop::stopped;
use crate::times::Times;

/// A plain HTTP listener.
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
        self.serve_routes(routes, RULES, stop).await;
    }

    /// Answers what `routes` have until `stop` becomes true, by these rules.
    pub(crate) async fn serve_routes(self, routes: Router, rules: Rules, mut stop: watch::Receiver<bool>) {
        let entrance = Entrance::new(rules);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                () = stopped(&mut stop) => return,
            };
            match accepted {
                Ok((stream, address)) => {
                    let admitted = entrance.admit(address.ip());
                    let (service, stop) = (TowerToHyperService::new(routes.clone()), stop.clone());
                    connections.spawn(async move {
                        let ended = admitted.serve(TokioIo::new(stream), service, stop).await;
                        tracing::debug!(%address, %ended, "a connection of plain HTTP ended");
                    });
                }
                // Such as too many open files: others may close some.
                Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
            }
        }
    }
}

/// How long what a look has found is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(1);

/// The rules for health: few connections, and little time.
const RULES: Rules = Rules {
    capacity: Capacity::half_for_one(CONNECTIONS),
    times: Times::all(Duration::from_secs(5)),
    has_one_request: true,
};

const CONNECTIONS: usize = 16;

/// How long nothing is accepted after that has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

const NOT_FOUND: &str = "there is nothing here but /health, /health/dependencies, and /metrics if that is configured\n";

#[cfg(test)]
mod tests;
