//! The registrar as the client of a MASA (RFC 8995, 5.4 to 5.6 and 5.8).
//!
//! What must always hold: a connection goes to an address that was permitted just then, and the name of the server is
//! checked; nothing is followed that leads elsewhere; connections are bounded in number, and in time as a whole.

use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use pki_types::ServerName;
use terse_brski::http::{JSON, VOUCHER_CMS_JSON};
use terse_brski::registrar::{MasaUrl, Registrar};
use terse_net::Clock;
use terse_net::tokio::Connector;
use terse_tls::{ClientConfig, ServerAddress};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

use super::config::LimitsConfig;
use crate::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};

/// A client of the MASA of one manufacturer.
pub(super) struct MasaClient {
    connector: Connector,
    authorization: Option<Zeroizing<String>>,
    places: Arc<Semaphore>,
    time: Duration,
}

/// Why a MASA gave no response.
#[derive(Debug)]
pub(super) enum MasaError {
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
    /// The redirection of an audit log leads elsewhere.
    Elsewhere,
}

impl MasaClient {
    pub(super) fn new(
        config: Arc<ClientConfig>,
        clock: Clock,
        authorization: Option<Zeroizing<String>>,
        limits: &LimitsConfig,
    ) -> Self {
        let time = Duration::from_secs(limits.masa_seconds.into());
        let connector = Connector::new(config, clock).with_handshake_limit(time);
        Self { connector, authorization, places: Arc::new(Semaphore::new(limits.masa_connections)), time }
    }

    /// Takes a place for a connection, if one is free.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Posts a registrar's voucher request, and returns the response.
    pub(super) async fn request_voucher(
        &self,
        registrar: &Registrar,
        url: &MasaUrl,
        request: &[u8],
        accept: Option<&str>,
    ) -> Result<Incoming, MasaError> {
        let exchange = async {
            let (mut connection, path) = self.connect(registrar, url).await?;
            let path = format!("{path}/requestvoucher");
            // One byte more than a pledge reads, to see that there is more.
            let limits = ResponseLimits { body: terse_brski::voucher::MAX_LEN + 1, time: self.time };
            let outgoing = self.post(&path, request, accept.or(Some(VOUCHER_CMS_JSON)));
            connection.send(outgoing, limits).await.map_err(MasaError::Client)
        };
        tokio::time::timeout(self.time, exchange).await.unwrap_or(Err(MasaError::TimedOut))
    }

    /// Posts the same request for the audit log, and returns the response: of the MASA, or of the place on the same server
    /// where it says that the log is (RFC 8995, 5.8).
    pub(super) async fn request_audit_log(
        &self,
        registrar: &Registrar,
        url: &MasaUrl,
        request: &[u8],
    ) -> Result<Incoming, MasaError> {
        let exchange = async {
            let (mut connection, path) = self.connect(registrar, url).await?;
            let path = format!("{path}/requestauditlog");
            let limits = ResponseLimits { body: MAX_AUDIT_LOG_LEN, time: self.time };
            let response = connection.send(self.post(&path, request, Some(JSON)), limits).await;
            let response = response.map_err(MasaError::Client)?;
            if response.status != 201 {
                return Ok(response);
            }
            let location = response.location.as_deref().and_then(|location| on_same_server(url.base(), location));
            let authorization = self.authorization.as_ref().map(|text| text.as_str());
            let path = location.ok_or(MasaError::Elsewhere)?;
            let outgoing = Outgoing { path, accept: Some(JSON), authorization, ..Outgoing::default() };
            connection.send(outgoing, limits).await.map_err(MasaError::Client)
        };
        tokio::time::timeout(self.time, exchange).await.unwrap_or(Err(MasaError::TimedOut))
    }

    fn post<'a>(&'a self, path: &'a str, request: &[u8], accept: Option<&'a str>) -> Outgoing<'a> {
        let authorization = self.authorization.as_ref().map(|text| text.as_str());
        Outgoing { body: Some(request.into()), path, content_type: Some(VOUCHER_CMS_JSON), accept, authorization }
    }

    /// Connects to the host of a URL. Returns the connection and the path of the URL.
    async fn connect<'a>(
        &self,
        registrar: &Registrar,
        url: &'a MasaUrl,
    ) -> Result<(HttpsConnection, &'a str), MasaError> {
        let Some(target) = Target::of(url.base()) else { return Err(MasaError::Unresolved) };
        let found = tokio::net::lookup_host((target.host, target.port)).await.map_err(|_| MasaError::Unresolved)?;
        let permitted = permitted(registrar, url, found)?;
        // Each address has its share of the time: one that does not answer leaves some to the next.
        let share = self.time / u32::try_from(permitted.len()).unwrap_or(u32::MAX);
        for address in permitted {
            let Ok(Ok(transport)) = tokio::time::timeout(share, TcpStream::connect(address)).await else { continue };
            let server = ServerName::try_from(target.host.to_owned()).map_err(|_| MasaError::Unresolved)?;
            let server = ServerAddress::new(server, target.port);
            let connection = HttpsConnection::connect(&self.connector, server, target.authority, transport).await;
            return Ok((connection.map_err(MasaError::Client)?, target.path));
        }
        Err(MasaError::Unreachable)
    }
}

/// Returns the addresses, at least one and not many, to which a connection for this URL may go.
fn permitted(
    registrar: &Registrar,
    url: &MasaUrl,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, MasaError> {
    let found: Vec<SocketAddr> = found.take(MAX_ADDRESSES).collect();
    let permitted: Vec<_> = found.iter().copied().filter(|address| registrar.permits(url, address.ip())).collect();
    match (found.is_empty(), permitted.is_empty()) {
        (true, _) => Err(MasaError::Unresolved),
        (false, true) => Err(MasaError::NotPermitted),
        (false, false) => Ok(permitted),
    }
}

/// The parts of a base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target<'a> {
    authority: &'a str,
    host: &'a str,
    port: u16,
    path: &'a str,
}

impl<'a> Target<'a> {
    /// Takes apart what `masa_base_url` has made, which has a host, perhaps a port, and a path.
    fn of(base: &'a str) -> Option<Self> {
        let rest = base.strip_prefix("https://")?;
        let (authority, path) = rest.split_at_checked(rest.find('/')?)?;
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => authority.split_at_checked(authority.find(':').unwrap_or(authority.len()))?,
        };
        let port = port.strip_prefix(':').map_or(Some(443), |port| port.parse().ok())?;
        Some(Self { authority, host, port, path })
    }
}

/// Returns the path of a Location that is on the server of `base`.
fn on_same_server<'a>(base: &str, location: &'a str) -> Option<&'a str> {
    if location.starts_with('/') && !location.starts_with("//") {
        return Some(location);
    }
    let (own, other) = (Target::of(base)?, Target::of(location)?);
    (own.port == other.port && own.host.eq_ignore_ascii_case(other.host)).then_some(other.path)
}

impl MasaError {
    /// Whether the MASA could not be reached, or went away: then it is asked again soon. Otherwise it has answered, and what
    /// it says cannot be used.
    pub(super) const fn is_outage(&self) -> bool {
        match self {
            Self::Unresolved | Self::NotPermitted | Self::Unreachable | Self::TimedOut => true,
            Self::Client(error) => matches!(error, ClientError::Net(_) | ClientError::Http(_) | ClientError::TimedOut),
            Self::Elsewhere => false,
        }
    }
}

impl fmt::Display for MasaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved => f.write_str("the host has no address; check the MASA URL and the resolver"),
            Self::NotPermitted => {
                f.write_str("the host has an address of a local network; configure masa_url if that is right")
            }
            Self::Unreachable => f.write_str("the host takes no connection; check the network and the MASA"),
            Self::Client(error) => error.fmt(f),
            Self::TimedOut => f.write_str("the MASA took too long"),
            Self::Elsewhere => f.write_str("the MASA says that the audit log is on another server"),
        }
    }
}

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

/// The longest audit log that is read: 1,024 events of 250 bytes.
pub(super) const MAX_AUDIT_LOG_LEN: usize = 256_000;

#[cfg(test)]
mod tests;
