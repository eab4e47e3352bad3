//! A connector makes a client's connections over asynchronous byte streams.

use alloc::sync::Arc;
use core::time::Duration;

use terse_tls::{ClientConfig, Connection, ServerAddress};
use tokio::io::{AsyncRead, AsyncWrite};

use super::later::AsyncSigner;
use super::stream::{Handshake, Hooks, TlsStream};
use crate::{Clock, NetError, OsRng};

/// A connector makes a client's connections over asynchronous byte streams. A clone shares the configuration, and so
/// the cache and the sessions.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use terse_net::tokio::Connector;
/// # use terse_net::{Clock, NetError};
/// # use terse_tls::{ClientConfig, ServerAddress};
/// # async fn report(config: Arc<ClientConfig>) -> Result<(), Box<dyn std::error::Error>> {
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// let connector = Connector::new(config, Clock::new());
/// let transport = tokio::net::TcpStream::connect("broker.plant.example:8883").await?;
/// transport.set_nodelay(true)?; // whole flights and records are written
/// let address = ServerAddress::new("broker.plant.example".try_into()?, 8883);
/// let mut stream = connector.connect(address, transport).await?;
/// stream.write_all(b"21.5").await?;
/// stream.shutdown().await?;
/// stream.read_to_end(&mut Vec::new()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
    clock: Clock,
    limit: Duration,
    hooks: Hooks,
}

/// The time limit of handshakes unless another one is set.
pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

impl Connector {
    /// Creates a connector whose handshakes may take ten seconds. What shares the configuration's cache shares `clock`.
    pub fn new(config: Arc<ClientConfig>, clock: Clock) -> Self {
        Self { config, clock, limit: HANDSHAKE_LIMIT, hooks: Hooks::default() }
    }

    /// Sets the time limit of a handshake as a whole. If it passes, the connection is given up, and its cache knows
    /// (docs/caching.md, 4.2).
    pub fn with_handshake_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Asks `signer` for signatures, as [`Handshake::with_signer`] does.
    pub fn with_signer(mut self, signer: AsyncSigner) -> Self {
        self.hooks.signer = Some(signer);
        self
    }

    /// Makes a connection to `server` over `transport`, which is connected to it. Whoever drops the future during the
    /// handshake gives the connection up ([`Handshake`]).
    ///
    /// # Panics
    ///
    /// The future panics outside of a tokio runtime with a timer.
    pub fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        server: ServerAddress,
        transport: S,
    ) -> impl Future<Output = Result<TlsStream<S>, NetError>> + use<S> {
        let this = self.clone();
        async move {
            let connection = this.connection(server)?;
            this.shake_hands(connection, transport).await
        }
    }

    /// Makes a connection as [`Self::connect`] does, and sends `data` as early data (0-RTT) with the first flight. Returns how
    /// much of it was sent, which is what [`Connection::send_early_data`] takes at once; [`terse_tls::Summary::early_data`]
    /// says whether the server took it. The rest, and what was refused, is for the application to send again.
    ///
    /// # Panics
    ///
    /// The future panics outside of a tokio runtime with a timer.
    pub fn connect_with_early_data<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        server: ServerAddress,
        transport: S,
        data: &[u8],
    ) -> impl Future<Output = Result<(TlsStream<S>, usize), NetError>> + use<S> {
        let (this, data) = (self.clone(), data.to_vec());
        async move {
            let mut connection = this.connection(server)?;
            let sent = connection.send_early_data(&data)?;
            Ok((this.shake_hands(connection, transport).await?, sent))
        }
    }

    fn connection(&self, server: ServerAddress) -> Result<Connection, NetError> {
        Ok(Connection::client(self.config.clone(), server, self.clock.now(), &mut OsRng)?)
    }

    async fn shake_hands<S: AsyncRead + AsyncWrite + Unpin>(
        self,
        connection: Connection,
        transport: S,
    ) -> Result<TlsStream<S>, NetError> {
        let mut handshake = Handshake::new(connection, transport, self.clock).with_hooks(self.hooks);
        match tokio::time::timeout(self.limit, &mut handshake).await {
            Ok(result) => result,
            Err(_) => Err(handshake.give_up()),
        }
    }
}

impl core::fmt::Debug for Connector {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Connector").field("limit", &self.limit).finish_non_exhaustive()
    }
}
