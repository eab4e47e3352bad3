//! The connection of a pledge, as a task: TCP, TLS with whoever answers, and one request after the other.
//!
//! What must always hold: the other end is unverified, and all of it is bounded: certificates by the handshake, responses by
//! the request; when this is dropped, the connection ends.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, ServerName};
use terse_brski::pledge::{ConnectionId, Method, Request};
use terse_net::tokio::Connector;
use terse_net::{Clock, NetError};
use terse_tls::{ApiMisuse, CertificateType, ClientConfig, Credential, PresentedPeer, ServerAddress, Trust};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::counted::Counters;
use crate::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};
use crate::discovery::Place;

/// What a connection reports.
pub(super) enum Report {
    /// The handshake is complete, and the other end has presented these certificates.
    Connected(Vec<CertificateDer<'static>>),
    /// The response to a request.
    Response(Incoming),
    /// The connection could not be made, or has ended. Nothing follows.
    Lost,
}

/// Where connections report to.
pub(super) type Reports = mpsc::Sender<(ConnectionId, Report)>;

/// A connection that is being made, or is there.
pub(super) struct Connection {
    id: ConnectionId,
    requests: mpsc::Sender<Request>,
    task: JoinHandle<()>,
}

impl Connection {
    /// Begins a connection to `place`.
    pub(super) fn begin(
        id: ConnectionId,
        place: Place,
        connector: Connector,
        counters: Counters,
        reports: Reports,
    ) -> Self {
        let (requests, receiver) = mpsc::channel(1); // the machine waits for a response before its next request
        let task = tokio::spawn(async move {
            if let Err(error) = converse(id, (&place, &connector, counters), receiver, &reports).await {
                tracing::debug!(%place, %error, "the connection of the pledge ended");
            }
            let _ = reports.send((id, Report::Lost)).await; // if the pledge is gone, nobody asks
        });
        Self { id, requests, task }
    }

    pub(super) const fn id(&self) -> ConnectionId {
        self.id
    }

    /// Sends a request. If the connection has ended, its last report says so.
    pub(super) fn send(&self, request: Request) {
        let _ = self.requests.try_send(request);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns the configuration of connections with this credential, to registrars that nobody has verified yet. A pledge sends
/// no server name: it knows none (RFC 8995, 5.1).
pub(super) fn config(credential: Credential) -> Result<Arc<ClientConfig>, ApiMisuse> {
    let mut config = ClientConfig::builder(&terse_aws_lc::PROVIDER);
    config.trust(Trust::unverified(&[CertificateType::X509])?).credentials(vec![credential]).send_server_name(false);
    Ok(Arc::new(config.build()?))
}

/// Returns what makes connections with a configuration.
pub(super) fn connector(config: Arc<ClientConfig>, clock: Clock) -> Connector {
    Connector::new(config, clock).with_handshake_limit(HANDSHAKE_LIMIT)
}

async fn converse(
    id: ConnectionId,
    (place, connector, counters): (&Place, &Connector, Counters),
    mut requests: mpsc::Receiver<Request>,
    reports: &Reports,
) -> Result<(), ClientError> {
    let mut https = connect(place, connector, &counters).await?;
    let chain = https.presented().into_iter().flat_map(PresentedPeer::chain);
    let mut report = Report::Connected(chain.map(CertificateDer::into_owned).collect());
    loop {
        if reports.send((id, report)).await.is_err() {
            return Ok(()); // the pledge is gone
        }
        let request = tokio::select! {
            request = requests.recv() => request,
            () = https.closed() => None,
        };
        let Some(request) = request else { return Ok(()) };
        let limits = ResponseLimits { body: request.max_response, time: RESPONSE_LIMIT };
        report = Report::Response(https.send_and_cut(outgoing(&request), limits).await?);
    }
}

async fn connect(place: &Place, connector: &Connector, counters: &Counters) -> Result<HttpsConnection, ClientError> {
    let io = |error| ClientError::Net(NetError::Io(error));
    let transport = TcpStream::connect((place.host(), place.port())).await.map_err(io)?;
    // No name is sent or checked, so that the address stands for it.
    let address = transport.peer_addr().map_err(io)?;
    let server = ServerAddress::new(ServerName::IpAddress(address.ip().into()), address.port());
    transport.set_nodelay(true).map_err(io)?;
    HttpsConnection::connect_over(connector, server, &place.authority(), counters.count(transport)).await
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

/// The limits of a handshake and of a response. The machine has shorter ones for each step; these only make sure that no task
/// outlives it for long.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(90);
const RESPONSE_LIMIT: Duration = Duration::from_secs(90);
