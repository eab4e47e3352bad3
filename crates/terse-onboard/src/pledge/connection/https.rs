//! BRSKI over HTTPS (RFC 8995, 5.1): TCP, TLS and HTTP/1.1.

use alloc::sync::Arc;

use pki_types::ServerName;
use terse_brski::pledge::{Https, Method, Request};
use terse_net::tokio::Connector;
use terse_tls::{PresentedPeer, ServerAddress};
use tokio::net::TcpStream;

use super::{Carried, HANDSHAKE_LIMIT, Means, Peer, RESPONSE_LIMIT, config, io, misused};
use crate::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};
use crate::discovery::Place;

impl Carried for Https {
    type Peer = HttpsConnection;
}

impl Peer for HttpsConnection {
    async fn connect(place: &Place, means: Means) -> Result<Self, ClientError> {
        let Means { credential, certificate_type, signer, clock, counters, .. } = means;
        let config = config(credential, certificate_type).and_then(|config| config.build()).map_err(misused)?;
        let mut connector = Connector::new(Arc::new(config), clock).with_handshake_limit(HANDSHAKE_LIMIT);
        if let Some(signer) = signer {
            connector = connector.with_signer(signer);
        }
        let transport = TcpStream::connect((place.host(), place.port())).await.map_err(io)?;
        // No name is sent or checked, so that the address stands for it.
        let address = transport.peer_addr().map_err(io)?;
        let server = ServerAddress::new(ServerName::IpAddress(address.ip().into()), address.port());
        transport.set_nodelay(true).map_err(io)?;
        Self::connect_over(&connector, server, &place.authority(), counters.count(transport)).await
    }

    fn presented(&self) -> Option<&PresentedPeer> {
        self.presented()
    }

    async fn closed(&mut self) {
        self.closed().await;
    }

    async fn exchange(&mut self, request: &Request) -> Result<Incoming, ClientError> {
        let limits = ResponseLimits { body: request.max_response, time: RESPONSE_LIMIT };
        self.send_and_cut(outgoing(request), limits).await
    }
}

fn outgoing(request: &Request) -> Outgoing<'_> {
    Outgoing {
        body: match request.method {
            Method::Get => None,
            Method::Post => Some(request.body.to_vec()),
        },
        path: &request.path,
        content_type: request.content_type,
        accept: request.accept,
        authorization: None,
    }
}
