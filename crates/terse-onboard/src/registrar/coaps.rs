//! The registrar over CoAPS (draft-ietf-anima-constrained-voucher; EST-coaps, RFC 9148): the same answers as over HTTPS, for
//! pledges of constrained BRSKI, and for those whose datagrams a stateless join proxy passes on.
//!
//! ```text
//! pledges, stateful join proxies ── DTLS ──> Front<Plain> ──┐
//! stateless join proxies ────────── JPY ───> Front<Jpy> ────┴─> `requests` of the registrar, each in a task
//! ```
//!
//! What must always hold: each socket has one task, which waits for no peer, no request and no database; a peer has a bounded
//! number of requests in work; a newcomer gets a place, which is counted by the device behind a stateless join proxy; what a datagram
//! causes is an end of nothing else.

use alloc::sync::Arc;
use core::net::SocketAddr;
use std::path::Path;

use terse_net::tokio::{DatagramEndpoint, Jpy, Plain};
use terse_tls::crypto::SigningKey;
use terse_tls::{
    ApiMisuse, CertificateType, ClientAuthentication, Credential, Datagrams, EndpointLimits, ServerConfig, Trust,
};
use tokio::net::UdpSocket;
use tokio::sync::watch;

use super::config::CoapsConfig;
use super::metrics::{COAPS, JPY};
use super::settings::PROVIDER;
use super::{Service, StartError};
use crate::config::ConfigError;
use crate::discovery::coap::{CoreResponder, Links};
use crate::live::Live;
use crate::places::{Capacity, Table};
use crate::serve::Limits;

mod front;
mod messages;

use front::Front;

/// The sockets for pledges of constrained BRSKI.
pub(super) struct Coaps {
    pledges: (Front<Plain>, SocketAddr),
    join_proxies: Option<(Front<Jpy>, SocketAddr)>,
    /// What answers those who ask for registrars.
    responder: Option<CoreResponder>,
}

impl Coaps {
    /// Listens at the configured addresses.
    pub(super) async fn bind(
        live: &Live<Service>,
        own: &CoapsConfig,
        config: &Arc<ServerConfig>,
    ) -> Result<Self, StartError> {
        let service = live.current();
        let connections = service.inner.settings.config.limits.connections;
        let table = Table::new(Capacity::half_for_one(connections));
        // A connection has its place when its handshake is over. Meanwhile it is one of these, and the oldest of them makes
        // room: if they were few, a stranger could replace a handshake before its client can answer.
        let half_open = EndpointLimits::default().max_half_open;
        let mut limits = EndpointLimits::default();
        (limits.max_connections, limits.max_half_open) = (connections.saturating_add(half_open), half_open);

        let clock = service.inner.clock;
        let (socket, address) = bind(&own.listen).await?;
        let endpoint = DatagramEndpoint::new(config.clone(), limits, socket, clock);
        let endpoint = endpoint.map_err(|error| wrong(&own.listen, error))?;
        let pledges = (Front::new(live.clone(), COAPS, table.clone(), endpoint), address);
        let join_proxies = match &own.jpy {
            Some(jpy) => {
                let (socket, address) = bind(jpy).await?;
                let endpoint = DatagramEndpoint::with_framing(config.clone(), limits, socket, clock, Jpy::new());
                let endpoint = endpoint.map_err(|error| wrong(jpy, error))?;
                Some((Front::new(live.clone(), JPY, table, endpoint), address))
            }
            None => None,
        };
        let jpy = join_proxies.as_ref().map(|(_, address)| *address);
        let responder = CoreResponder::new(Links::registrar(address, jpy));
        let responder = own.discovery.then(|| responder.beside(address, own.discovery_port)).transpose();
        let responder = responder.map_err(|error| wrong("the port of CoAP, for discovery", error))?;
        Ok(Self { pledges, join_proxies, responder })
    }

    /// Returns the addresses where devices and join proxies ask for registrars.
    pub(super) fn discovery_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.responder.iter().flat_map(CoreResponder::local_addrs)
    }

    /// Returns the address where pledges and stateful join proxies send to.
    pub(super) const fn address(&self) -> SocketAddr {
        self.pledges.1
    }

    /// Returns the address where stateless join proxies send to.
    pub(super) fn jpy_address(&self) -> Option<SocketAddr> {
        self.join_proxies.as_ref().map(|(_, address)| *address)
    }

    /// Answers until `stop` becomes true; requests under way may finish, as over HTTPS.
    pub(super) async fn run(self, stop: watch::Receiver<bool>) {
        let last_requests = Limits::default().last_requests;
        let join_proxies = async {
            if let Some((front, _)) = self.join_proxies {
                front.run(stop.clone(), last_requests).await;
            }
        };
        let responder = async {
            if let Some(responder) = self.responder {
                responder.run(stop.clone()).await;
            }
        };
        tokio::join!(self.pledges.0.run(stop.clone(), last_requests), join_proxies, responder);
    }
}

async fn bind(address: &str) -> Result<(UdpSocket, SocketAddr), StartError> {
    let io = |error| wrong(address, error);
    let socket = UdpSocket::bind(address).await.map_err(io)?;
    let local = socket.local_addr().map_err(io)?;
    Ok((socket, local))
}

fn wrong(address: &str, error: impl core::fmt::Display) -> StartError {
    StartError::Listen(ConfigError::new(Path::new(address), error))
}

/// Returns the configuration for DTLS: any pledge with a certificate, which is looked at later. With `keys`, those that accept no
/// certificates see the raw public key of the same private key (RFC 7250; draft-ietf-anima-constrained-voucher-31).
pub(super) fn server_config(
    credential: Credential,
    keys: Option<&Arc<dyn SigningKey>>,
    mtu: u16,
) -> Result<Arc<ServerConfig>, ApiMisuse> {
    let unverified = Trust::unverified(&[CertificateType::X509])?;
    let datagrams = Datagrams::default()
        .max_datagram(usize::from(mtu).saturating_sub(PACKET_HEADERS))
        .connection_id(Some(CONNECTION_ID_LEN))
        .short_tags(true);
    // Certificates are preferred, as whoever accepts both can have a certificate itself.
    let raw = keys.map(|key| Credential::raw_public_key(key.clone())).transpose()?;
    let credentials: Vec<_> = [credential].into_iter().chain(raw).collect();
    let mut server = ServerConfig::builder(PROVIDER);
    server
        .credentials(credentials)
        .client_authentication(ClientAuthentication::Required(unverified))
        .datagrams(datagrams);
    Ok(Arc::new(server.build()?))
}

/// The headers of IPv6 and UDP.
const PACKET_HEADERS: usize = 48;

/// The length of a connection ID, by which a pledge is known again whose join proxy has given it another port.
const CONNECTION_ID_LEN: u8 = 4;
