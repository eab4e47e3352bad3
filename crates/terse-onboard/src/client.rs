//! Connections for one request after the other: over HTTPS, of a pledge to a registrar and of a registrar to a MASA, and over
//! CoAPS ([`CoapsConnection`]), of a pledge to a registrar.
//!
//! What must always hold: a response is bounded in length and in time before it is looked at.

use core::fmt;
use core::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderName};
use hyper::{Method, Request};
use terse_brski::coap;
use terse_net::NetError;
use terse_net::tokio::{Connector, TlsStream};
use terse_tls::{PresentedPeer, ServerAddress, Summary};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use zeroize::Zeroizing;

mod coaps;

pub use coaps::CoapsConnection;

/// An HTTPS connection.
pub struct HttpsConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    presented: Option<PresentedPeer>,
    summary: Summary,
    host: String,
}

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Outgoing<'a> {
    /// GET without a body, else POST.
    pub body: Option<Vec<u8>>,
    /// The path, and the query if there is one.
    pub path: &'a str,
    /// Content-Type.
    pub content_type: Option<&'a str>,
    /// Accept.
    pub accept: Option<&'a str>,
    /// Authorization.
    pub authorization: Option<&'a str>,
}

/// A response. A header field that is there twice counts as none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The status code.
    pub status: u16,
    /// Content-Type.
    pub content_type: Option<String>,
    /// Retry-After in seconds; a date is ignored.
    pub retry_after: Option<u64>,
    /// Location.
    pub location: Option<String>,
    /// The body, which may be a secret.
    pub body: Zeroizing<Vec<u8>>,
}

/// The limits of a response.
#[derive(Clone, Copy, Debug)]
pub struct ResponseLimits {
    /// The most bytes of a body.
    pub body: usize,
    /// The longest time from the request to the end of the response.
    pub time: Duration,
}

/// Why there is no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The network failed, or TLS.
    Net(NetError),
    /// HTTP failed.
    Http(hyper::Error),
    /// The response is longer than allowed, or its body broke off.
    Body,
    /// The response took too long.
    TimedOut,
    /// The request has a field that is no field of HTTP.
    Request,
    /// CoAP failed.
    Coap(coap::Failure),
    /// The server has closed the connection.
    Closed,
}

impl HttpsConnection {
    /// Connects over `transport`. `host` is the Host of requests: a name or address, and a port unless it is 443.
    pub async fn connect(
        connector: &Connector,
        server: ServerAddress,
        host: &str,
        transport: TcpStream,
    ) -> Result<Self, ClientError> {
        transport.set_nodelay(true).map_err(|error| ClientError::Net(NetError::Io(error)))?;
        Self::connect_over(connector, server, host, transport).await
    }

    /// Connects over any transport, as [`Self::connect`] does over TCP.
    pub async fn connect_over<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        connector: &Connector,
        server: ServerAddress,
        host: &str,
        transport: T,
    ) -> Result<Self, ClientError> {
        let stream: TlsStream<T> = connector.connect(server, transport).await.map_err(ClientError::Net)?;
        let (presented, summary) = (stream.connection().presented().cloned(), stream.connection().summary().clone());
        let (sender, connection) = http1::Builder::new()
            .max_headers(64)
            .max_buf_size(16_384)
            .handshake(stream)
            .await
            .map_err(ClientError::Http)?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an HTTPS connection ended");
            }
        });
        Ok(Self { sender, driver, presented, summary, host: host.to_owned() })
    }

    /// Returns what the server has presented, if it was taken unverified.
    pub const fn presented(&self) -> Option<&PresentedPeer> {
        self.presented.as_ref()
    }

    /// Returns the summary of the handshake.
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the connection is closed. If the future is dropped, nothing is lost.
    pub async fn closed(&mut self) {
        if !self.driver.is_finished() {
            let _ = (&mut self.driver).await; // its end is what counts
        }
    }

    /// Sends a request and returns the response.
    pub async fn send(&mut self, request: Outgoing<'_>, limits: ResponseLimits) -> Result<Incoming, ClientError> {
        let response = self.send_and_cut(request, limits).await?;
        if response.body.len() > limits.body { Err(ClientError::Body) } else { Ok(response) }
    }

    /// Sends a request and returns the response. A body that is too long is cut off behind the first byte that is too much.
    pub async fn send_and_cut(
        &mut self,
        request: Outgoing<'_>,
        limits: ResponseLimits,
    ) -> Result<Incoming, ClientError> {
        let method = if request.body.is_some() { Method::POST } else { Method::GET };
        let mut builder = Request::builder().method(method).uri(request.path).header(header::HOST, &self.host);
        let fields: [(HeaderName, Option<&str>); 3] = [
            (header::CONTENT_TYPE, request.content_type),
            (header::ACCEPT, request.accept),
            (header::AUTHORIZATION, request.authorization),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                builder = builder.header(name, value);
            }
        }
        if request.content_type == Some(PKCS10) {
            // RFC 8951, 3 ignores it, and RFC 7030 wants it.
            builder = builder.header("content-transfer-encoding", "base64");
        }
        let body = Full::new(Bytes::from(request.body.unwrap_or_default()));
        let request = builder.body(body).map_err(|_| ClientError::Request)?;
        match tokio::time::timeout(limits.time, self.exchange(request, limits.body)).await {
            Ok(result) => result,
            Err(_) => Err(ClientError::TimedOut),
        }
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>, max_body: usize) -> Result<Incoming, ClientError> {
        self.sender.ready().await.map_err(ClientError::Http)?;
        let (head, body) = self.sender.send_request(request).await.map_err(ClientError::Http)?.into_parts();
        let field = |name: HeaderName| {
            let mut values = head.headers.get_all(name).iter();
            let value = values.next().filter(|_| values.next().is_none())?;
            value.to_str().ok().map(str::to_owned)
        };
        let body = beginning(body, max_body.saturating_add(1)).await?;
        Ok(Incoming {
            status: head.status.as_u16(),
            content_type: field(header::CONTENT_TYPE),
            retry_after: field(header::RETRY_AFTER).and_then(|value| value.trim().parse().ok()),
            location: field(header::LOCATION),
            body: Zeroizing::new(body),
        })
    }
}

/// The type of certification requests, which are in base64 in EST (RFC 7030, 4.2.1).
const PKCS10: &str = "application/pkcs10";

/// Reads at most `max` bytes of a body.
async fn beginning(mut body: hyper::body::Incoming, max: usize) -> Result<Vec<u8>, ClientError> {
    let mut bytes = Vec::new();
    while bytes.len() < max
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame.map_err(|_| ClientError::Body)?.into_data() {
            bytes.extend_from_slice(&data[..data.len().min(max - bytes.len())]);
        }
    }
    Ok(bytes)
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(error) => error.fmt(f),
            Self::Http(error) => write!(f, "HTTP failed: {error}"),
            Self::Body => f.write_str("the response is too long, or broke off"),
            Self::TimedOut => f.write_str("the response took too long"),
            Self::Request => f.write_str("the request has a field that HTTP does not allow"),
            Self::Coap(failure) => failure.fmt(f),
            Self::Closed => f.write_str("the server has closed the connection"),
        }
    }
}

impl core::error::Error for ClientError {}
