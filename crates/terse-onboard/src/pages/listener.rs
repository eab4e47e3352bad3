//! The connections of browsers.
//!
//! What must always hold: they are bounded in number, one address has half of them at most, and a newcomer gets a place; each has a
//! bounded time for the head of a request, and in all.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use terse_net::tokio::{Acceptor, AcceptorEvent};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Site;
use super::config::PagesSettings;
use super::gate::{Client, Gate};
use crate::places::Capacity;
use crate::serve::{Admitted, Entrance, Rules};
use crate::stop::stopped;
use crate::times::Times;

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
        let entrance = Entrance::new(RULES);
        let mut connections = JoinSet::new();
        let Some(server) = server else {
            loop {
                while connections.try_join_next().is_some() {}
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = stopped(&mut stop) => return,
                };
                match accepted {
                    Ok((stream, address)) => {
                        let client = Client { address: address.ip(), certificate: None };
                        let (admitted, stream) = (entrance.admit(address.ip()), TokioIo::new(stream));
                        connections.spawn(serve_one(gate.clone(), stream, client, admitted, stop.clone()));
                    }
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
            let admitted = entrance.admit(address.ip());
            let summary = stream.connection().summary();
            let client = Client { address: address.ip(), certificate: summary.peer.name() };
            connections.spawn(serve_one(gate.clone(), stream, client, admitted, stop.clone()));
        }
        acceptor.handle().stop();
    }
}

async fn serve_one<S: Site, I: Read + Write + Unpin + Send + 'static>(
    gate: Arc<Gate<S>>,
    stream: I,
    client: Client,
    admitted: Admitted,
    stop: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, client) = (gate.clone(), client.clone());
        async move { Ok::<_, core::convert::Infallible>(gate.answer(&client, request.map(Body::new)).await) }
    });
    let ended = admitted.serve(stream, service, stop).await;
    tracing::debug!(%ended, "a connection for status pages ended");
}

/// The rules for browsers, which make a new connection when one has ended.
const RULES: Rules = Rules {
    capacity: Capacity::half_for_one(64),
    times: Times {
        between_requests: Duration::from_secs(15),
        while_waiting: Duration::from_secs(15), // no page is answered so
        write: Duration::from_secs(15),
        total: Duration::from_secs(120),
    },
    has_one_request: false,
};

/// How long nothing is accepted after that has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
