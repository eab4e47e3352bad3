//! A connection over a blocking byte stream.
//!
//! What must always hold: nothing is waited for while something is left to send; a byte is written once, however often
//! a time limit interrupts; after an error the alert has been given to the transport if the transport took it; the
//! clock is read once in each turn, which begins where a call may have waited, and never to send data.

use core::ops::Range;
use std::io::{self, ErrorKind, Read, Write};

use terse_tls::cache::StoreAnswer;
use terse_tls::{Connection, Error, Event, Now};

use crate::signer::{Signer, sign};
use crate::{Clock, NetError, OsRng};

/// A connection over a blocking byte stream, such as a [`std::net::TcpStream`] or a [`crate::Timed`].
///
/// Send early data first, if there is any. Begin with [`Stream::handshake`]; then use [`Read`] and [`Write`], or
/// [`Stream::receive`] and [`Stream::send`], whose errors say more; end with [`Stream::close`].
pub struct Stream<S> {
    connection: Connection,
    transport: S,
    clock: Clock,
    /// The time of the current turn.
    now: Now,
    rng: OsRng,
    input: Buffer,
    output: Buffer,
    peer_closed: bool,
    signer: Option<Signer>,
    early_data: Vec<u8>,
}

/// The length of a buffer for the largest record (RFC 9846, 5.2), so that one read can take it.
const BUFFER_LEN: usize = 5 + 0x4000 + 256;

impl<S: Read + Write> Stream<S> {
    /// Creates a stream of `connection`, which has not sent anything yet, on `transport`.
    pub fn new(connection: Connection, transport: S, clock: Clock) -> Self {
        let (input, output) = (Buffer::new(), Buffer::new());
        Self {
            connection,
            transport,
            clock,
            now: clock.now(),
            rng: OsRng,
            input,
            output,
            peer_closed: false,
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
        let taken = self.connection.send_early_data(data)?;
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
                self.connection.recv_early_data(out)
            };
            if len > 0 || out.is_empty() || !self.connection.is_handshaking() {
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
        self.now = self.clock.now_after(self.now);
        let mut chunk = [0; 1024];
        while self.connection.is_handshaking() {
            let len = self.connection.recv_early_data(&mut chunk);
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
            let len = self.connection.recv(out);
            if len > 0 || out.is_empty() || self.peer_closed {
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
        self.connection.close();
        self.flush_records()
    }

    /// Replaces the keys of this direction, and asks the peer to do the same in its own (RFC 9846, 4.7.3).
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), NetError> {
        self.connection.update_keys(request_peer)?;
        self.flush_records()
    }

    /// The application stops waiting for the peer (docs/caching.md, 4.2).
    pub fn give_up(&mut self) {
        self.now = self.clock.now_after(self.now);
        self.connection.give_up(self.now);
        let _ = self.flush_records(); // the peer is not answering, and misses an alert at most
    }

    /// Whether the peer has closed its direction properly.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Returns the connection, for its summary and what was negotiated.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the transport, for its time limits. Reading from it or writing to it breaks the connection.
    pub fn transport_mut(&mut self) -> &mut S {
        &mut self.transport
    }

    /// Sends some of `data`, at least one byte.
    fn send_some(&mut self, data: &[u8]) -> Result<usize, NetError> {
        loop {
            let taken = self.connection.send(data)?;
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
            self.now = self.clock.now_after(self.now);
            match filled {
                Ok(0) => return self.end_of_input(),
                Ok(_) => {}
                Err(error) => return Err(self.io_error(error)),
            }
        }
        let result = self.connection.handle_input(self.now, &mut self.rng, self.input.filled_mut());
        match result {
            Ok(taken) => self.input.consume(taken),
            Err(error) => return Err(self.failed(error)),
        }
        self.take_events()
    }

    fn failed(&mut self, error: Error) -> NetError {
        let _ = self.flush_records(); // the alert; the error to report is the one that caused it
        error.into()
    }

    fn end_of_input(&mut self) -> Result<(), NetError> {
        let in_handshake = self.connection.is_handshaking();
        match self.connection.handle_end_of_input(self.now) {
            Ok(()) if self.peer_closed => Ok(()),
            Ok(()) => Err(Error::Truncated.into()), // this follows a failure, and is never a proper end
            Err(Error::Truncated) if in_handshake => Err(NetError::ClosedInHandshake),
            Err(error) => Err(error.into()),
        }
    }

    fn take_events(&mut self) -> Result<(), NetError> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::PeerClosed => self.peer_closed = true,
                Event::NeedSignature => self.sign()?,
                Event::NeedStore => self.go_on_without_store()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn sign(&mut self) -> Result<(), NetError> {
        let result = sign(&mut self.signer, &mut self.connection, self.clock, &mut self.rng);
        self.now = self.clock.now_after(self.now);
        result.map_err(|error| self.failed(error))
    }

    /// Answers that the store is unavailable: on a blocking stream nobody could answer later.
    fn go_on_without_store(&mut self) -> Result<(), NetError> {
        let Some(answer) = self.connection.store_request().map(StoreAnswer::unavailable) else { return Ok(()) };
        let result = self.connection.provide_store_answer(self.now, &mut self.rng, answer);
        result.map_err(|error| self.failed(error))
    }

    fn flush_records(&mut self) -> Result<(), NetError> {
        loop {
            if self.output.is_empty() {
                let Some(len) = self.connection.poll_transmit(self.now, &mut self.output.bytes) else { break };
                self.output.range = 0..len;
            }
            match self.transport.write(self.output.filled_mut()) {
                Ok(0) => return Err(NetError::Io(ErrorKind::WriteZero.into())),
                Ok(len) => self.output.consume(len),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let alert = if is_reset(&error) { self.unread_alert() } else { None };
                    return Err(alert.unwrap_or_else(|| self.io_error(error)));
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
            match self.connection.handle_input(self.now, &mut self.rng, self.input.filled_mut()) {
                Ok(taken) => self.input.consume(taken),
                Err(error @ Error::AlertReceived(_)) => return Some(error.into()),
                Err(_) => return None,
            }
            while self.connection.recv(&mut ignored) > 0 {}
        }
    }

    fn io_error(&mut self, error: io::Error) -> NetError {
        let in_handshake = self.connection.is_handshaking();
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => NetError::TimedOut { in_handshake },
            _ if is_reset(&error) => match self.end_of_input() {
                Err(error @ NetError::ClosedInHandshake) => error,
                _ => NetError::Io(error),
            },
            _ => NetError::Io(error),
        }
    }
}

/// Whether the peer has dropped the connection.
fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
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

/// Bytes to be consumed in steps; the buffer is filled only when it is empty.
struct Buffer {
    bytes: Box<[u8]>,
    range: Range<usize>,
}

impl Buffer {
    fn new() -> Self {
        Self { bytes: vec![0; BUFFER_LEN].into(), range: 0..0 }
    }

    fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    fn filled_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.range.clone()] // set by the two functions below, within the bytes
    }

    fn consume(&mut self, len: usize) {
        self.range.start = (self.range.start + len).min(self.range.end);
    }

    fn fill_from(&mut self, source: &mut impl Read) -> io::Result<usize> {
        loop {
            match source.read(&mut self.bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    self.range = 0..result.as_ref().map_or(0, |len| *len);
                    return result;
                }
            }
        }
    }
}

#[cfg(all(test, unix))]
pub(crate) mod tests;
