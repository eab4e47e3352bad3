//! The connection of a pledge, as a task: a handshake with whoever answers, and one request after the other. It is the same for
//! both forms of BRSKI, whose transports are [`https`] and [`coaps`].
//!
//! What must always hold: the other end is unverified, and all of it is bounded: what it presents by the handshake, responses by
//! the request; when this is dropped, the connection ends.

use core::time::Duration;

use terse_brski::pledge::{ConnectionId, Form, Request};
use terse_net::tokio::AsyncSigner;
use terse_net::{Clock, NetError};
use terse_tls::{ApiMisuse, CertificateType, ClientConfig, ConfigBuilder, Credential, PresentedPeer, Trust};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::CoapsSettings;
use super::counted::Counters;
use crate::client::{ClientError, Incoming};
use crate::discovery::Place;

mod coaps;
mod https;

pub(super) use coaps::connected_socket;

/// A form of BRSKI with a transport.
pub trait Carried: Form {
    /// Its connections.
    type Peer: Peer;
}

/// A registrar at the other end of a connection.
pub trait Peer: Sized + Send + 'static {
    /// Connects to a place.
    fn connect(place: &Place, means: Means) -> impl Future<Output = Result<Self, ClientError>> + Send;

    /// Returns what it has presented.
    fn presented(&self) -> Option<&PresentedPeer>;

    /// Waits until the connection has ended. If the future is dropped, nothing is lost.
    fn closed(&mut self) -> impl Future<Output = ()> + Send;

    /// Sends a request and returns the response, of which no more is read than the request wants and a byte.
    fn exchange(&mut self, request: &Request) -> impl Future<Output = Result<Incoming, ClientError>> + Send;
}

/// What a connection is made with.
pub struct Means {
    /// What authenticates the pledge.
    pub credential: Credential,
    /// What the registrar is to present.
    pub certificate_type: CertificateType,
    /// Who signs, if its key is elsewhere.
    pub signer: Option<AsyncSigner>,
    /// The clock of the pledge.
    pub clock: Clock,
    /// What the connection carries counts here.
    pub counters: Counters,
    /// The settings for datagrams.
    pub coaps: CoapsSettings,
}

/// What a connection reports.
pub(super) enum Report {
    /// The handshake is complete, and the other end has presented this.
    Connected(PresentedPeer),
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
    pub(super) fn begin<P: Peer>(id: ConnectionId, place: Place, means: Means, reports: Reports) -> Self {
        let (requests, receiver) = mpsc::channel(1); // the machine waits for a response before its next request
        let task = tokio::spawn(async move {
            if let Err(error) = converse::<P>(id, &place, means, receiver, &reports).await {
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

async fn converse<P: Peer>(
    id: ConnectionId,
    place: &Place,
    means: Means,
    mut requests: mpsc::Receiver<Request>,
    reports: &Reports,
) -> Result<(), ClientError> {
    let mut peer = P::connect(place, means).await?;
    let Some(presented) = peer.presented().cloned() else { return Ok(()) }; // nobody connects without
    let mut report = Report::Connected(presented);
    loop {
        if reports.send((id, report)).await.is_err() {
            return Ok(()); // the pledge is gone
        }
        let request = tokio::select! {
            request = requests.recv() => request,
            () = peer.closed() => None,
        };
        let Some(request) = request else { return Ok(()) };
        report = Report::Response(peer.exchange(&request).await?);
    }
}

/// Returns the configuration of connections with this credential, to registrars that nobody has verified yet. A pledge sends
/// no server name: it knows none (RFC 8995, 5.1).
fn config(credential: Credential, certificate_type: CertificateType) -> Result<ConfigBuilder<ClientConfig>, ApiMisuse> {
    let mut config = ClientConfig::builder(&terse_aws_lc::PROVIDER);
    config.trust(Trust::unverified(&[certificate_type])?).credentials(vec![credential]).send_server_name(false);
    Ok(config)
}

/// Returns the error of a configuration that cannot be used.
fn misused(misuse: ApiMisuse) -> ClientError {
    ClientError::Net(NetError::Tls(misuse.into()))
}

fn io(error: std::io::Error) -> ClientError {
    ClientError::Net(NetError::Io(error))
}

/// The limits of a handshake and of a response. The machine has shorter ones for each step; these only make sure that no task
/// outlives it for long.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(90);
const RESPONSE_LIMIT: Duration = Duration::from_secs(90);
