//! Servers of HTTP/1.1 by hyper, with routes by axum: what all listeners of a service have in common, and HTTPS over
//! [`Acceptor`]s, with the certificate that a client has presented in each request.
//!
//! What must always hold: a client costs one connection of a bounded number, a bounded memory and a bounded time; a newcomer gets a
//! place; no client holds up another one; a stop lets requests under way finish.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Extension;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper_util::service::TowerToHyperService;
use terse_net::tokio::{Acceptor, TlsStream};
use terse_tls::PresentedPeer;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::metrics::Connections;
use crate::places::Capacity;
use crate::stop::stopped;
use crate::times::Times;

mod connection;

pub(crate) use connection::{Admitted, Ended, Entrance, Proven};

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
    /// The most connections at a time. One address, or one IPv6 prefix of 64 bits, has half of them at most, which is enough for a
    /// join proxy with all its pledges. A newcomer always gets a place: when all are taken, the connection makes room that has
    /// proven nothing, comes from where most come from, and was idle longest.
    pub connections: usize,
    /// How long a client may take for the head of its first request, and from an answer to the head of the next request.
    pub between_requests: Duration,
    /// How long it may take after an answer of 202. Pledges wait up to 60 s then (RFC 8995, 5.6).
    pub while_waiting: Duration,
    /// How long a client may take to read an answer.
    pub write: Duration,
    /// How long a connection may last. A request that is in work then is answered over another connection.
    pub total: Duration,
    /// How long requests under way may go on after a stop.
    pub last_requests: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_000,
            between_requests: Duration::from_secs(30),
            while_waiting: Duration::from_secs(120),
            write: Duration::from_secs(20),
            total: Duration::from_secs(15 * 60),
            last_requests: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// Returns the rules for each connection.
    pub(crate) const fn rules(&self) -> Rules {
        let Self { connections, between_requests, while_waiting, write, total, .. } = *self;
        let times = Times { between_requests, while_waiting, write, total };
        Rules { capacity: Capacity::half_for_one(connections), times, has_one_request: false }
    }
}

/// The rules of a listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) capacity: Capacity,
    pub(crate) times: Times,
    /// Whether a connection ends after its first request.
    pub(crate) has_one_request: bool,
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
    let entrance = Entrance::new(limits.rules());
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let next = tokio::select! {
            next = acceptor.accept() => next,
            () = stopped(&mut stop) => None,
        };
        let Some((stream, address)) = next else { break };
        let admitted = entrance.admit(address.ip());
        let (routes, stop, counts) = (routes.clone(), stop.clone(), counts.clone());
        connections.spawn(async move {
            let _open = counts.open();
            let ended = serve_one(admitted, stream, address, routes, stop).await;
            if matches!(ended, Ended::Evicted) {
                counts.evict();
            }
            tracing::debug!(%address, %ended, "a connection ended");
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
    admitted: Admitted,
    stream: TlsStream<TcpStream>,
    address: SocketAddr,
    routes: Router,
    stop: watch::Receiver<bool>,
) -> Ended {
    let presented = stream.connection().presented().cloned().map(Arc::new);
    let service = TowerToHyperService::new(routes.layer(Extension(Peer { address, presented })));
    admitted.serve(stream, service, stop).await
}

/// The most bytes of a body that are read to be forgotten.
const MAX_DISCARDED: usize = 4 << 20;

#[cfg(test)]
mod tests;
