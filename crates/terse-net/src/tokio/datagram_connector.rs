//! A connector makes a client's connections over datagrams.

use alloc::sync::Arc;
use core::time::Duration;

use terse_tls::{ClientConfig, Connection, ServerAddress};

use super::connector::HANDSHAKE_LIMIT;
use super::{AsyncSigner, DatagramConnection, DatagramSocket};
use crate::{Clock, NetError, OsRng};

/// A connector makes a client's connections over datagrams: DTLS on UDP sockets of tokio. A clone shares the configuration, and
/// so the cache and the sessions.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use terse_net::tokio::DatagramConnector;
/// # use terse_net::Clock;
/// # use terse_tls::{ClientConfig, ServerAddress};
/// # async fn report(config: Arc<ClientConfig>) -> Result<(), Box<dyn std::error::Error>> {
/// let connector = DatagramConnector::new(config, Clock::new());
/// let socket = tokio::net::UdpSocket::bind("[::]:0").await?;
/// socket.connect("broker.plant.example:5684").await?;
/// let address = ServerAddress::new("broker.plant.example".try_into()?, 5684);
/// let mut connection = connector.connect(address, socket).await?;
/// connection.send(b"21.5").await?;
/// let mut answer = [0; 64];
/// let len = connection.receive(&mut answer).await?;
/// println!("{:?}", &answer[..len]);
/// connection.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DatagramConnector {
    config: Arc<ClientConfig>,
    clock: Clock,
    limit: Duration,
    signer: Option<AsyncSigner>,
}

impl DatagramConnector {
    /// Creates a connector with `config`, which is for datagrams, whose handshakes may take ten seconds. What shares the
    /// configuration's cache shares `clock`.
    pub fn new(config: Arc<ClientConfig>, clock: Clock) -> Self {
        Self { config, clock, limit: HANDSHAKE_LIMIT, signer: None }
    }

    /// Sets the time limit of a handshake as a whole. If it passes, the connection is given up, and its cache knows
    /// (docs/caching.md, 4.2). The number of retransmissions is a limit as well
    /// ([`terse_tls::Datagrams::max_retransmissions`]).
    #[must_use]
    pub fn with_handshake_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Asks `signer` for signatures of a private key that answers
    /// [`Signing::Pending`](terse_tls::crypto::Signing::Pending). Without one, such a key cannot sign, and the handshake fails.
    #[must_use]
    pub fn with_signer(self, signer: AsyncSigner) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// Makes a connection to `server` on `socket`, which is connected to it. Whoever drops the future during the handshake gives
    /// the connection up.
    ///
    /// # Panics
    ///
    /// The future panics outside of a tokio runtime with a timer.
    pub async fn connect<T: DatagramSocket>(
        &self,
        server: ServerAddress,
        socket: T,
    ) -> Result<DatagramConnection<T>, NetError> {
        let connection = Connection::client(self.config.clone(), server, self.clock.now(), &mut OsRng)?;
        let mut connection = DatagramConnection::new(connection, socket, self.clock, self.signer.clone());
        match tokio::time::timeout(self.limit, connection.handshake()).await {
            Ok(result) => result.map(|()| connection),
            Err(_) => Err(connection.no_answer(None)),
        }
    }
}

impl core::fmt::Debug for DatagramConnector {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DatagramConnector").field("limit", &self.limit).finish_non_exhaustive()
    }
}
