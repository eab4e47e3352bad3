//! A CoAPS connection for one request after the other (RFC 7252, 9): each datagram of CoAP is the application data of one record.
//!
//! What must always hold: a datagram that was lost is sent again by CoAP's own timers; messages fit into records, so that blocks
//! are no larger than those allow; a response is bounded in length and in time.

use core::time::Duration;

use terse_brski::coap::{self, BlockSize, ClientConfig, Failure, MAX_DATAGRAM, Transmission};
use terse_net::tokio::{DatagramConnection, DatagramConnector, DatagramSocket};
use terse_net::{Clock, OsRng};
use terse_tls::{Instant, PresentedPeer, ServerAddress, Summary};
use tokio::net::UdpSocket;

use super::ClientError;

/// A CoAPS connection. One that is dropped sends a close_notify if the socket takes it at once.
pub struct CoapsConnection<T: DatagramSocket = UdpSocket> {
    dtls: DatagramConnection<T>,
    client: coap::Client,
    clock: Clock,
    input: Box<[u8]>,
}

impl<T: DatagramSocket> CoapsConnection<T> {
    /// Connects on `socket`, which is connected to the server. `clock` is that of the connector.
    pub async fn connect(
        connector: &DatagramConnector,
        server: ServerAddress,
        socket: T,
        transmission: Transmission,
        clock: Clock,
    ) -> Result<Self, ClientError> {
        let dtls = connector.connect(server, socket).await.map_err(ClientError::Net)?;
        let mut config = ClientConfig::default();
        config.transmission = transmission;
        config.response_timeout_ms = transmission.max_transmit_wait_ms();
        config.block_size = BlockSize::for_datagram(dtls.connection().max_message());
        let client =
            coap::Client::new(config, &mut OsRng).map_err(|error| ClientError::Coap(Failure::Crypto(error)))?;
        Ok(Self { dtls, client, clock, input: vec![0; RECORD_LEN].into() })
    }

    /// Returns what the server has presented, if it was taken unverified.
    pub fn presented(&self) -> Option<&PresentedPeer> {
        self.dtls.connection().presented()
    }

    /// Returns the summary of the connection.
    pub fn summary(&self) -> &Summary {
        self.dtls.connection().summary()
    }

    /// Returns the connection of DTLS.
    pub const fn dtls(&self) -> &DatagramConnection<T> {
        &self.dtls
    }

    /// Sends a request and returns the response, for which it waits so long.
    pub async fn send(&mut self, request: coap::Request, limit: Duration) -> Result<coap::Response, ClientError> {
        match tokio::time::timeout(limit, self.exchange(request)).await {
            Ok(result) => result,
            Err(_) => Err(ClientError::TimedOut),
        }
    }

    /// Waits until the connection has ended, and answers meanwhile what the server sends. If the future is dropped, nothing is
    /// lost.
    pub async fn closed(&mut self) -> ClientError {
        loop {
            if let Err(error) = self.advance().await {
                return error;
            }
        }
    }

    /// Tells the server that no more requests follow.
    pub async fn close(&mut self) -> Result<(), ClientError> {
        self.flush().await?; // the last acknowledgements
        self.dtls.close().await.map_err(ClientError::Net)
    }

    async fn exchange(&mut self, request: coap::Request) -> Result<coap::Response, ClientError> {
        let begun = self.client.request(self.clock.now(), &mut OsRng, request);
        begun.map_err(|error| ClientError::Coap(Failure::Crypto(error)))?;
        loop {
            if let Some(outcome) = self.client.poll_response() {
                self.flush().await?; // the acknowledgement of a separate response
                return outcome.map_err(ClientError::Coap);
            }
            self.advance().await?;
        }
    }

    /// Sends what is to be sent, and waits for a datagram or a timer.
    async fn advance(&mut self) -> Result<(), ClientError> {
        self.flush().await?;
        let timeout = self.client.poll_timeout().map(|timeout| self.until(timeout));
        let received = tokio::select! {
            received = self.dtls.receive(&mut self.input) => received.map_err(ClientError::Net)?,
            () = sleep(timeout) => {
                self.client.handle_timeout(self.clock.now());
                return Ok(());
            }
        };
        if received == 0 {
            return Err(ClientError::Closed);
        }
        self.client.handle_input(self.clock.now(), &mut OsRng, &self.input[..received]);
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), ClientError> {
        let mut datagram = [0; MAX_DATAGRAM];
        while let Some(len) = self.client.poll_transmit(self.clock.now(), &mut datagram) {
            self.dtls.send(&datagram[..len]).await.map_err(ClientError::Net)?;
        }
        Ok(())
    }

    fn until(&self, timeout: Instant) -> Duration {
        Duration::from_millis(timeout.since(self.clock.now().monotonic))
    }
}

/// Waits for a time, or for ever.
async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => core::future::pending().await,
    }
}

/// The longest content of a record (RFC 9147, 4).
const RECORD_LEN: usize = 0x4000;
