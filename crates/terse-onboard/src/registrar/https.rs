//! A client of a server that is somebody else's: of a MASA, or of an EST server.
//!
//! What must always hold: a connection goes to an address that was permitted just then, and the name of the server is
//! checked; connections are bounded in number, and in time as a whole.

use alloc::sync::Arc;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use pki_types::ServerName;
use terse_net::Clock;
use terse_net::tokio::Connector;
use terse_tls::{ClientConfig, ServerAddress};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

use crate::client::{ClientError, HttpsConnection};

/// A client with its own places for connections.
pub(super) struct HttpsClient {
    connector: Connector,
    authorization: Option<Zeroizing<String>>,
    places: Arc<Semaphore>,
    time: Duration,
}

/// Why a server gave no response.
#[derive(Debug)]
pub(super) enum HttpsError {
    /// The host has no address.
    Unresolved,
    /// The host resolves to addresses that a URL of a certificate may not lead to, and to no other.
    NotPermitted,
    /// No address takes a connection.
    Unreachable,
    /// The connection failed.
    Client(ClientError),
    /// It all took too long.
    TimedOut,
}

impl HttpsClient {
    /// Creates a client with so many places, whose exchanges take at most so many seconds.
    pub(super) fn new(
        config: Arc<ClientConfig>,
        clock: Clock,
        authorization: Option<Zeroizing<String>>,
        connections: usize,
        seconds: u32,
    ) -> Self {
        let time = Duration::from_secs(seconds.into());
        let connector = Connector::new(config, clock).with_handshake_limit(time);
        Self { connector, authorization, places: Arc::new(Semaphore::new(connections)), time }
    }

    /// Takes a place for a connection, if one is free.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Returns the field Authorization of requests.
    pub(super) fn authorization(&self) -> Option<&str> {
        self.authorization.as_ref().map(|text| text.as_str())
    }

    /// Returns how long an exchange may take.
    pub(super) const fn time(&self) -> Duration {
        self.time
    }

    /// Ends an exchange that takes too long.
    pub(super) async fn in_time<T, E: From<HttpsError>>(
        &self,
        exchange: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::time::timeout(self.time, exchange).await.unwrap_or_else(|_| Err(HttpsError::TimedOut.into()))
    }

    /// Connects to one of the addresses of a host that are permitted.
    pub(super) async fn connect(
        &self,
        target: &Target<'_>,
        permits: impl Fn(IpAddr) -> bool,
    ) -> Result<HttpsConnection, HttpsError> {
        let found = tokio::net::lookup_host((target.host, target.port)).await.map_err(|_| HttpsError::Unresolved)?;
        let permitted = permitted(found, permits)?;
        // Each address has its share of the time: one that does not answer leaves some to the next.
        let share = self.time / u32::try_from(permitted.len()).unwrap_or(u32::MAX);
        for address in permitted {
            let Ok(Ok(transport)) = tokio::time::timeout(share, TcpStream::connect(address)).await else { continue };
            let server = ServerName::try_from(target.host.to_owned()).map_err(|_| HttpsError::Unresolved)?;
            let server = ServerAddress::new(server, target.port);
            let connection = HttpsConnection::connect(&self.connector, server, target.authority, transport).await;
            return connection.map_err(HttpsError::Client);
        }
        Err(HttpsError::Unreachable)
    }
}

/// Returns the addresses, at least one and not many, to which a connection may go.
pub(super) fn permitted(
    found: impl Iterator<Item = SocketAddr>,
    permits: impl Fn(IpAddr) -> bool,
) -> Result<Vec<SocketAddr>, HttpsError> {
    let found: Vec<SocketAddr> = found.take(MAX_ADDRESSES).collect();
    let permitted: Vec<_> = found.iter().copied().filter(|address| permits(address.ip())).collect();
    match (found.is_empty(), permitted.is_empty()) {
        (true, _) => Err(HttpsError::Unresolved),
        (false, true) => Err(HttpsError::NotPermitted),
        (false, false) => Ok(permitted),
    }
}

/// The parts of a base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    authority: &'a str,
    host: &'a str,
    port: u16,
    pub(super) path: &'a str,
}

impl<'a> Target<'a> {
    /// Takes apart what `masa_base_url` or `est_base_url` has made, which has a host, perhaps a port, and a path.
    pub(super) fn of(base: &'a str) -> Option<Self> {
        let rest = base.strip_prefix("https://")?;
        let (authority, path) = rest.split_at_checked(rest.find('/')?)?;
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => authority.split_at_checked(authority.find(':').unwrap_or(authority.len()))?,
        };
        let port = port.strip_prefix(':').map_or(Some(443), |port| port.parse().ok())?;
        Some(Self { authority, host, port, path })
    }

    /// Whether both are on one server.
    pub(super) fn is_on_server_of(&self, other: &Target<'_>) -> bool {
        self.port == other.port && self.host.eq_ignore_ascii_case(other.host)
    }
}

impl fmt::Display for HttpsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved => f.write_str("the host has no address; check the URL and the resolver"),
            Self::NotPermitted => {
                f.write_str("the host has an address of a local network; configure masa_url if that is right")
            }
            Self::Unreachable => f.write_str("the host takes no connection; check the network and the server"),
            Self::Client(error) => error.fmt(f),
            Self::TimedOut => f.write_str("the server took too long"),
        }
    }
}

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

#[cfg(test)]
mod tests;
