//! A client connects, sends its request with its last flight or as early data with its first, waits for the reply, and
//! closes. Over datagrams it sends the request again when no reply comes, as CoAP does.

use alloc::sync::Arc;

use terse_tls::summary::{EarlyDataStatus, Transport};
use terse_tls::{ClientConfig, Connection, Error, Event, Instant, Now, ServerAddress};

use super::{Exchange, Reached, Side, say};
use crate::Random;

/// The client of an exchange, over either transport.
pub(crate) struct Client {
    connection: Connection,
    exchange: Exchange,
    rng: Random,
    received: usize,
    reached: Reached,
    /// Over datagrams: when the request is sent again, the current timeout in milliseconds, and the retransmissions
    /// left.
    again: Option<(Instant, u64, u32)>,
}

impl Client {
    /// Creates a client whose ClientHello is ready to be sent.
    pub(crate) fn new(
        config: Arc<ClientConfig>,
        server: ServerAddress,
        exchange: Exchange,
        now: Now,
        mut rng: Random,
    ) -> Result<Self, Error> {
        let mut connection = Connection::client(config, server, now, &mut rng)?;
        if exchange.early_data {
            // Nothing is taken where no session or ticket allows it. The request then goes with the last flight.
            connection.send_early_data(&vec![b'?'; exchange.request])?;
        }
        Ok(Self { connection, exchange, rng, received: 0, reached: Reached::default(), again: None })
    }

    fn advance(&mut self, now: Now) -> Result<(), Error> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    self.reached.connected = true;
                    if self.connection.summary().early_data != EarlyDataStatus::Accepted {
                        say(&mut self.connection, b'?', self.exchange.request)?;
                    }
                    if self.connection.summary().transport == Transport::Datagram {
                        self.again = Some((later(now, ACK_TIMEOUT), ACK_TIMEOUT, MAX_RETRANSMIT));
                    }
                }
                Event::PeerClosed => self.reached.end = true,
                _ => {}
            }
        }
        let mut buffer = [0; 1024];
        while self.exchange.reply < usize::MAX {
            match self.connection.recv(&mut buffer) {
                0 => break,
                len => self.received += len,
            }
        }
        if self.reached.connected && !self.reached.answered && self.received >= self.exchange.reply {
            (self.reached.answered, self.reached.end) = (true, true);
            self.again = None;
            self.connection.close();
        }
        Ok(())
    }
}

impl Side for Client {
    fn input(&mut self, now: Now, _: core::net::SocketAddr, mut bytes: &mut [u8]) -> Result<(), Error> {
        loop {
            let taken = self.connection.handle_input(now, &mut self.rng, bytes)?;
            self.advance(now)?;
            match bytes.get_mut(taken..) {
                Some(rest) if !rest.is_empty() && taken > 0 => bytes = rest,
                _ => return Ok(()),
            }
        }
    }

    fn end_of_input(&mut self, now: Now) -> Result<(), Error> {
        self.connection.handle_end_of_input(now)
    }

    fn output(&mut self, now: Now, out: &mut [u8]) -> Option<(Option<core::net::SocketAddr>, usize)> {
        self.connection.poll_transmit(now, out).map(|len| (None, len))
    }

    fn deadline(&self) -> Option<Instant> {
        self.connection.poll_timeout().into_iter().chain(self.again.map(|(at, ..)| at)).min()
    }

    fn expire(&mut self, now: Now) -> Result<(), Error> {
        if let Some((_, waited, left)) = self.again.filter(|(at, ..)| *at <= now.monotonic) {
            let waited = waited * 2;
            self.again = (left > 0).then(|| (later(now, waited), waited, left - 1));
            if left > 0 {
                say(&mut self.connection, b'?', self.exchange.request)?;
            }
        }
        self.connection.handle_timeout(now)?;
        self.advance(now)
    }

    fn reached(&self) -> Reached {
        self.reached
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        Some(&mut self.connection)
    }
}

fn later(now: Now, milliseconds: u64) -> Instant {
    let Instant(at) = now.monotonic;
    Instant(at.saturating_add(milliseconds))
}

/// CoAP's ACK_TIMEOUT in milliseconds, without its random factor (RFC 7252, 4.8).
const ACK_TIMEOUT: u64 = 2_000;

/// CoAP's MAX_RETRANSMIT (RFC 7252, 4.8).
const MAX_RETRANSMIT: u32 = 4;
