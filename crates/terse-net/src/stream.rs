//! A connection over a blocking byte stream.
//!
//! What must always hold: nothing is waited for while something is left to send; a byte is written once, however often
//! a time limit interrupts; after an error the alert has been given to the transport if the transport took it; the
//! clock is read once in each turn, which begins where a call may have waited, and never to send data.

use std::io::{self, ErrorKind, Read, Write};

use terse_tls::crypto::CryptoError;
use terse_tls::{Connection, Error};

use crate::buffer::Buffer;
use crate::driver::{Driver, is_reset};
use crate::signer::Signer;
use crate::{Clock, NetError};

/// A connection over a blocking byte stream, such as a [`std::net::TcpStream`] or a [`crate::Timed`].
///
/// Send early data first, if there is any. Begin with [`Stream::handshake`]; then use [`Read`] and [`Write`], or
/// [`Stream::receive`] and [`Stream::send`], whose errors say more; end with [`Stream::close`].
pub struct Stream<S> {
    driver: Driver,
    transport: S,
    input: Buffer,
    output: Buffer,
    signer: Option<Signer>,
    early_data: Vec<u8>,
}

impl<S: Read + Write> Stream<S> {
    /// Creates a stream of `connection`, which has not sent anything yet, on `transport`.
    pub fn new(connection: Connection, transport: S, clock: Clock) -> Self {
        Self {
            driver: Driver::new(connection, clock),
            transport,
            input: Buffer::new(),
            output: Buffer::new(),
            signer: None,
            early_data: Vec::new(),
        }
    }

    /// Asks `signer` for signatures of private keys that answer [`terse_tls::crypto::Signing::Pending`]. Without one,
    /// such a key cannot sign, and the handshake fails.
    pub fn with_signer(self, signer: Signer) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// Sends early data (0-RTT), before [`Stream::handshake`]. Returns how many bytes were taken, as
    /// [`Connection::send_early_data`] does.
    pub fn send_early_data(&mut self, data: &[u8]) -> Result<usize, NetError> {
        let taken = self.driver.connection.send_early_data(data)?;
        self.flush_records()?;
        Ok(taken)
    }

    /// Waits for early data and copies it to `out`, on a server. Returns 0 if the handshake is complete and no early
    /// data is left, or if `out` is empty. Early data may be a replay; see [`Connection::recv_early_data`].
    pub fn receive_early_data(&mut self, out: &mut [u8]) -> Result<usize, NetError> {
        loop {
            let kept = self.early_data.len().min(out.len());
            let len = if kept > 0 {
                out[..kept].copy_from_slice(&self.early_data[..kept]);
                self.early_data.drain(..kept);
                kept
            } else {
                self.driver.connection.recv_early_data(out)
            };
            if len > 0 || out.is_empty() || !self.driver.connection.is_handshaking() {
                return Ok(len);
            }
            self.advance_handshake()?;
        }
    }

    /// Completes the handshake. Early data that comes with it waits in [`Stream::receive_early_data`]. When the transport has a
    /// time limit and it passes, the connection is given up, and its cache knows (docs/caching.md, 4.2).
    pub fn handshake(&mut self) -> Result<(), NetError> {
        self.handshake_sending(&[])
    }

    /// Completes the handshake, as [`Stream::handshake`] does, and sends all of `data` after it. If the last flight is
    /// this side's, both are written in one piece, so that the data takes no packet of its own.
    pub fn handshake_sending(&mut self, data: &[u8]) -> Result<(), NetError> {
        let result = self.try_handshake(data);
        if let Err(NetError::TimedOut { .. }) = result {
            self.give_up();
        }
        result
    }

    fn try_handshake(&mut self, data: &[u8]) -> Result<(), NetError> {
        self.driver.turn();
        let mut chunk = [0; 1024];
        while self.driver.connection.is_handshaking() {
            let len = self.driver.connection.recv_early_data(&mut chunk);
            self.early_data.extend_from_slice(&chunk[..len]); // the configuration limits its length
            if len == 0 {
                self.flush_records()?;
                self.take_input()?;
            }
        }
        self.send(data)?;
        self.flush_records()
    }

    fn advance_handshake(&mut self) -> Result<(), NetError> {
        let result = self.advance();
        if let Err(NetError::TimedOut { .. }) = result {
            self.give_up();
        }
        result
    }

    /// Waits for application data and copies it to `out`. Returns 0 if the peer has closed the connection properly, or
    /// if `out` is empty. After [`NetError::TimedOut`] the call may be made again.
    pub fn receive(&mut self, out: &mut [u8]) -> Result<usize, NetError> {
        loop {
            let len = self.driver.connection.recv(out);
            if len > 0 || out.is_empty() || self.driver.peer_closed() {
                return Ok(len);
            }
            self.advance()?;
        }
    }

    /// Sends all of `data`. After [`NetError::TimedOut`] it is unknown how much of it was sent.
    pub fn send(&mut self, mut data: &[u8]) -> Result<(), NetError> {
        while !data.is_empty() {
            data = &data[self.send_some(data)?..];
        }
        Ok(())
    }

    /// Tells the peer that no more data follows (`close_notify`). What the peer still sends can be received.
    pub fn close(&mut self) -> Result<(), NetError> {
        self.driver.connection.close();
        self.flush_records()
    }

    /// Replaces the keys of this direction, and asks the peer to do the same in its own (RFC 9846, 4.7.3).
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), NetError> {
        self.driver.connection.update_keys(request_peer)?;
        self.flush_records()
    }

    /// The application stops waiting for the peer (docs/caching.md, 4.2).
    pub fn give_up(&mut self) {
        self.driver.give_up();
        let _ = self.flush_records(); // the peer is not answering, and misses an alert at most
    }

    /// Whether the peer has closed its direction properly.
    pub fn peer_closed(&self) -> bool {
        self.driver.peer_closed()
    }

    /// Returns the connection, for its summary and what was negotiated.
    pub fn connection(&self) -> &Connection {
        &self.driver.connection
    }

    /// Returns the transport, for its time limits. Reading from it or writing to it breaks the connection.
    pub fn transport_mut(&mut self) -> &mut S {
        &mut self.transport
    }

    /// Sends some of `data`, at least one byte.
    fn send_some(&mut self, data: &[u8]) -> Result<usize, NetError> {
        loop {
            let taken = self.driver.connection.send(data)?;
            self.flush_records()?;
            if taken > 0 {
                return Ok(taken);
            }
        }
    }

    /// Gives the connection the input that was read, or reads more; then sends the connection's output.
    fn advance(&mut self) -> Result<(), NetError> {
        self.take_input()?;
        self.flush_records()
    }

    fn take_input(&mut self) -> Result<(), NetError> {
        if self.input.is_empty() {
            self.flush_records()?;
            let filled = self.input.fill_from(&mut self.transport);
            self.driver.turn();
            match filled {
                Ok(0) => return self.driver.end_of_input(),
                Ok(_) => {}
                Err(error) => return Err(self.driver.io_error(error)),
            }
        }
        let result = self.driver.handle_input(&mut self.input);
        let result = result.and_then(|()| self.answer_requests());
        result.map_err(|error| self.failed(error))
    }

    fn failed(&mut self, error: Error) -> NetError {
        let _ = self.flush_records(); // the alert; the error to report is the one that caused it
        error.into()
    }

    /// Answers what the connection waits for: it may ask again.
    fn answer_requests(&mut self) -> Result<(), Error> {
        loop {
            if let Some(request) = self.driver.connection.signature_request() {
                let signature = match &mut self.signer {
                    Some(signer) => signer(request),
                    None => Err(CryptoError::SigningFailed),
                };
                self.driver.provide_signature(signature.as_deref().map_err(|error| *error))?;
            } else if self.driver.connection.store_request().is_some() {
                self.driver.go_on_without_store()?; // on a blocking stream nobody could answer later
            } else {
                return Ok(());
            }
        }
    }

    fn flush_records(&mut self) -> Result<(), NetError> {
        loop {
            if self.output.is_empty() {
                self.driver.fill_output(&mut self.output);
                if self.output.is_empty() {
                    break;
                }
            }
            match self.transport.write(self.output.filled_mut()) {
                Ok(0) => return Err(NetError::Io(ErrorKind::WriteZero.into())),
                Ok(len) => self.output.consume(len),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let alert = if is_reset(&error) { self.unread_alert() } else { None };
                    return Err(alert.unwrap_or_else(|| self.driver.io_error(error)));
                }
            }
        }
        self.transport.flush().map_err(NetError::Io)
    }

    /// Returns the alert that a peer sent before it closed the connection, which made a write fail.
    fn unread_alert(&mut self) -> Option<NetError> {
        let mut ignored = [0; 1024];
        loop {
            if self.input.is_empty() && !matches!(self.input.fill_from(&mut self.transport), Ok(1..)) {
                return None;
            }
            match self.driver.handle_input(&mut self.input) {
                Ok(()) => {}
                Err(error @ Error::AlertReceived(_)) => return Some(error.into()),
                Err(_) => return None,
            }
            while self.driver.connection.recv(&mut ignored) > 0 {}
        }
    }
}

impl<S: Read + Write> Read for Stream<S> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Ok(self.receive(out)?)
    }
}

impl<S: Read + Write> Write for Stream<S> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        Ok(self.send_some(data)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.flush_records()?)
    }
}

#[cfg(all(test, unix))]
pub(crate) mod tests;
