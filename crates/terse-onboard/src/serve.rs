//! HTTPS servers over [`Acceptor`]s: HTTP/1.1 by hyper, routes by axum, and the certificate that a client has presented in
//! each request.
//!
//! What must always hold: a client costs one connection of a bounded number, and a bounded time between its requests; no
//! address has all connections; no client holds up another; a stop lets requests under way finish.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Extension;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use terse_net::tokio::{Acceptor, TlsStream};
use terse_tls::PresentedPeer;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::metrics::Connections;
use crate::network::network;
use crate::shares::Shares;
use crate::stop::stopped;

/// The other end of a request, as an extension of it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address, which may be a join proxy's.
    pub address: SocketAddr,
    /// The certificate chain that it has presented, which nobody has verified.
    pub presented: Option<Arc<PresentedPeer>>,
}

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time. Further ones wait in the acceptor. An address may have half of them, which is enough
    /// for a join proxy with all its pledges; further ones of it are closed at once.
    pub connections: usize,
    /// How long a client may take for the head of its next request. Pledges wait up to 60 s between two requests (RFC 8995,
    /// 5.6).
    pub between_requests: Duration,
    /// How long requests under way may go on after a stop.
    pub last_requests: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1_000, between_requests: Duration::from_secs(120), last_requests: Duration::from_secs(10) }
    }
}

/// Serves the connections of `acceptor` until `stop` becomes true, or until the acceptor is stopped.
pub async fn serve(acceptor: Acceptor<TcpStream>, routes: Router, limits: Limits, stop: watch::Receiver<bool>) {
    serve_counted(acceptor, routes, limits, Connections::default(), stop).await;
}

/// The same, where connections are counted.
pub(crate) async fn serve_counted(
    mut acceptor: Acceptor<TcpStream>,
    routes: Router,
    limits: Limits,
    counts: Connections,
    mut stop: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let shares = Arc::new(Shares::new(limits.connections, limits.connections.div_ceil(2)));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let next = async {
            let place = places.clone().acquire_owned().await.ok()?; // the semaphore is never closed
            Some((acceptor.accept().await?, place))
        };
        let next = tokio::select! {
            next = next => next,
            () = stopped(&mut stop) => None,
        };
        let Some(((stream, address), place)) = next else { break };
        let Some(share) = Shares::take(&shares, network(address.ip())) else {
            tracing::debug!(%address, "there are too many connections of this address");
            counts.refuse();
            continue;
        };
        let (routes, stop, open) = (routes.clone(), stop.clone(), counts.open());
        connections.spawn(async move {
            serve_one(stream, address, routes, limits, stop).await;
            drop((share, place, open));
        });
    }
    acceptor.handle().stop();
    let _ =
        tokio::time::timeout(limits.last_requests, async { while connections.join_next().await.is_some() {} }).await;
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadBody {
    /// It is longer than the limit.
    TooLong,
    /// It ended before its end.
    BrokeOff,
}

/// Reads a body of at most `limit` bytes. What comes after them is read and forgotten as far as [`MAX_DISCARDED`]: a client
/// hears why it is refused only if its body was read, because a connection that is closed before is reset.
pub(crate) async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, UnreadBody> {
    let (mut read, mut discarded) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| UnreadBody::BrokeOff)?.into_data() else { continue };
        match discarded == 0 && read.len() + data.len() <= limit {
            true => read.extend_from_slice(&data),
            false => discarded += data.len(),
        }
        if discarded > MAX_DISCARDED {
            break;
        }
    }
    if discarded == 0 { Ok(read.freeze()) } else { Err(UnreadBody::TooLong) }
}

async fn serve_one(
    stream: TlsStream<TcpStream>,
    address: SocketAddr,
    routes: Router,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    let presented = stream.connection().presented().cloned().map(Arc::new);
    let service = TowerToHyperService::new(routes.layer(Extension(Peer { address, presented })));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.between_requests)
        .serve_connection(stream, service);
    let mut connection = core::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stopped(&mut stop) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%address, %error, "a connection ended");
    }
}

/// The most bytes of a body that are read to be forgotten.
const MAX_DISCARDED: usize = 4 << 20;
