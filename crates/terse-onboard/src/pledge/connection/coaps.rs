//! Constrained BRSKI over CoAPS (draft-ietf-anima-constrained-voucher-31): UDP, DTLS and CoAP.

use alloc::sync::Arc;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io::{self, ErrorKind};

use pki_types::ServerName;
use terse_brski::coap;
use terse_brski::pledge::{Coaps, Request, coaps};
use terse_net::tokio::DatagramConnector;
use terse_tls::{PresentedPeer, ServerAddress};
use tokio::net::{UdpSocket, lookup_host};
use zeroize::Zeroizing;

use super::super::counted::Counted;
use super::{Carried, HANDSHAKE_LIMIT, Means, Peer, RESPONSE_LIMIT, config, io as io_error, misused};
use crate::client::{ClientError, CoapsConnection, Incoming};
use crate::discovery::Place;

impl Carried for Coaps {
    type Peer = CoapsConnection<Counted<UdpSocket>>;
}

impl Peer for CoapsConnection<Counted<UdpSocket>> {
    async fn connect(place: &Place, means: Means) -> Result<Self, ClientError> {
        let Means { credential, certificate_type, signer, clock, counters, coaps } = means;
        let config = config(credential, certificate_type)
            .and_then(|mut config| coaps.apply(&mut config).build())
            .map_err(misused)?;
        let mut connector = DatagramConnector::new(Arc::new(config), clock).with_handshake_limit(HANDSHAKE_LIMIT);
        if let Some(signer) = signer {
            connector = connector.with_signer(signer);
        }
        let (socket, address) = connected_socket(place).await.map_err(io_error)?;
        // No name is sent or checked, so that the address stands for it.
        let server = ServerAddress::new(ServerName::IpAddress(address.ip().into()), address.port());
        Self::connect(&connector, server, counters.count(socket), coaps.transmission, clock).await
    }

    fn presented(&self) -> Option<&PresentedPeer> {
        self.presented()
    }

    async fn closed(&mut self) {
        let error = self.closed().await;
        tracing::debug!(%error, "a CoAPS connection ended");
    }

    async fn exchange(&mut self, request: &Request) -> Result<Incoming, ClientError> {
        let mapped = coaps::request(request).ok_or(ClientError::Request)?;
        let response = self.send(mapped, RESPONSE_LIMIT).await?;
        Ok(incoming(request, &response))
    }
}

/// Returns a response in the terms of HTTP, which the machine reads.
fn incoming(request: &Request, response: &coap::Response) -> Incoming {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let mapped = coaps::response(request, response);
    Incoming {
        status: mapped.status,
        content_type: mapped.content_type.map(text),
        retry_after: mapped.retry_after.and_then(|value| text(value).parse().ok()),
        location: None,
        body: Zeroizing::new(mapped.body.to_vec()),
    }
}

/// Returns a socket that is connected to a place, and its address: the first one to which there is a way.
pub(in crate::pledge) async fn connected_socket(place: &Place) -> io::Result<(UdpSocket, SocketAddr)> {
    let mut failed = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in lookup_host((place.host(), place.port())).await? {
        match connected_to(address).await {
            Ok(socket) => return Ok((socket, address)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn connected_to(address: SocketAddr) -> io::Result<UdpSocket> {
    let own: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(own).await?;
    socket.connect(address).await?;
    Ok(socket)
}
