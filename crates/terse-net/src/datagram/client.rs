//! A client's connection over datagrams: DTLS on a UDP socket.
//!
//! What must always hold: nothing is waited for while something is left to send; no report of the network (ICMP) ends a
//! connection, since anybody can send one; time limits hold however much comes in; the clock is read only where a call
//! begins or has waited.

use core::ops::Range;
use core::time::Duration;
use std::io::ErrorKind;
use std::net::UdpSocket;

use terse_tls::{AlertDescription, ApiMisuse, Connection, Error, Event, Instant, Now};

use super::effort::{Effort, heard};
use super::{AT_ONCE, BUFFER_LEN, MAX_OVERDUE, is_interruption, is_of_network};
use crate::signer::{Signer, sign};
use crate::{Clock, NetError, OsRng};

/// A client's connection over datagrams, on a UDP socket that is connected to the server.
///
/// Begin with [`DatagramClient::handshake`]; then [`DatagramClient::send`] and [`DatagramClient::receive`] take a
/// message each; end with [`DatagramClient::close`]. A message arrives whole or not at all, and messages may overtake
/// each other: a lost one is not sent again.
pub struct DatagramClient {
    connection: Connection,
    socket: UdpSocket,
    clock: Clock,
    /// The time of the current turn.
    now: Now,
    rng: OsRng,
    input: Box<[u8]>,
    /// The part of the datagram in `input` that the connection has not taken yet.
    rest: Range<usize>,
    output: Box<[u8]>,
    /// Whether data was read: the connection may then have kept later records back.
    has_read: bool,
    /// The number of datagrams that were read since a timer is due.
    overdue: usize,
    deadline: Option<Instant>,
    peer_closed: bool,
    signer: Option<Signer>,
    /// The number of the server's connection IDs to keep for other networks.
    spare_ids: u8,
    effort: Effort,
}

impl DatagramClient {
    /// Creates a client from `connection`, which is configured for datagrams and has not sent anything yet, on
    /// `socket`, which is connected. There is no time limit yet: [`terse_tls::Datagrams::max_retransmissions`] ends the
    /// handshake.
    pub fn new(connection: Connection, socket: UdpSocket, clock: Clock) -> Self {
        let now = clock.now();
        Self {
            connection,
            socket,
            clock,
            now,
            rng: OsRng,
            input: vec![0; BUFFER_LEN].into(),
            rest: 0..0,
            output: vec![0; BUFFER_LEN].into(),
            has_read: false,
            overdue: 0,
            deadline: None,
            peer_closed: false,
            signer: None,
            spare_ids: 0,
            effort: Effort::begin(now.monotonic),
        }
    }

    /// Asks `signer` for signatures, as [`crate::Stream::with_signer`] does.
    pub fn with_signer(self, signer: Signer) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// Keeps `count` of the server's connection IDs, four at most, for [`Self::move_to`]: with a new one, an observer
    /// of several networks cannot recognise the connection by its ID. This costs a message in each direction after the
    /// handshake, and after each move (RFC 9147, 9). It needs DTLS 1.3, and a server that has connection IDs.
    pub fn with_spare_connection_ids(self, count: u8) -> Self {
        Self { spare_ids: count, ..self }
    }

    /// Sets a time limit: calls fail with [`NetError::NoAnswer`] once `limit` has passed from now on.
    pub fn set_limit(&mut self, limit: Duration) {
        let now = self.turn_exactly();
        self.deadline = u64::try_from(limit.as_millis()).ok().and_then(|limit| now.0.checked_add(limit)).map(Instant);
        self.effort.since = now;
    }

    /// Completes the handshake. When the time limit passes, or the server does not answer however often it is asked, the
    /// connection is given up, and its cache knows (docs/caching.md, 4.2).
    pub fn handshake(&mut self) -> Result<(), NetError> {
        self.effort.since = self.turn();
        self.flush()?;
        while self.connection.is_handshaking() {
            let result = self.advance();
            if let Err(NetError::NoAnswer(_)) = result {
                self.give_up();
            }
            result?;
        }
        self.ask_for_ids();
        self.flush()
    }

    /// Sends `data` as early data (0-RTT), in one datagram, before [`Self::handshake`]. Returns how many bytes were taken: all or
    /// none ([`Connection::send_early_data`]).
    pub fn send_early_data(&mut self, data: &[u8]) -> Result<usize, NetError> {
        let taken = self.connection.send_early_data(data)?;
        self.turn();
        self.flush()?;
        Ok(taken)
    }

    /// Changes the key that this side sends with, and asks the server to do the same if `request_peer` (RFC 9147, 8). Waits
    /// until the server has acknowledged what must come before: the end of the handshake, or another change.
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), NetError> {
        let now = self.turn();
        self.effort.restart(now);
        loop {
            match self.connection.update_keys(request_peer) {
                Err(Error::ApiMisuse(ApiMisuse::KeyUpdateUnderWay)) => self.advance()?,
                result => {
                    result?;
                    return self.flush();
                }
            }
        }
    }

    /// Waits for a message and copies it to `out`; the next call returns what did not fit. Returns 0 if the server has
    /// closed the connection properly, or if `out` is empty. After [`NetError::NoAnswer`] the call may be made again.
    pub fn receive(&mut self, out: &mut [u8]) -> Result<usize, NetError> {
        let now = self.turn();
        self.effort.restart(now);
        loop {
            let len = self.connection.recv(out);
            self.has_read |= len > 0;
            if len > 0 || out.is_empty() || self.peer_closed {
                return Ok(len);
            }
            self.advance()?;
        }
    }

    /// Sends `message`, of at most [`Connection::max_message`] bytes, in one datagram.
    pub fn send(&mut self, message: &[u8]) -> Result<(), NetError> {
        self.turn();
        while self.connection.send(message)? < message.len() {
            self.flush()?;
        }
        self.flush()
    }

    /// Tells the server that no more messages follow (`close_notify`). What the server still sends can be received.
    pub fn close(&mut self) -> Result<(), NetError> {
        self.connection.close();
        self.turn();
        self.flush()
    }

    /// The application stops waiting for the server (docs/caching.md, 4.2).
    pub fn give_up(&mut self) {
        self.turn();
        self.connection.give_up(self.now);
        let _ = self.flush(); // the server is not answering, and misses an alert at most
    }

    /// Whether the server has closed its direction properly.
    pub const fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Returns the connection, for its summary and what was negotiated.
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the socket, for its options. Reading from it or writing to it takes datagrams from the connection.
    pub const fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Continues on `socket`, which is connected to the same server from another port or network. With a connection ID
    /// (RFC 9146) the server recognises the connection; with a spare one, nobody else does
    /// ([`Self::with_spare_connection_ids`]).
    pub fn move_to(&mut self, socket: UdpSocket) {
        self.socket = socket;
        self.connection.path_changed();
        self.ask_for_ids();
    }

    /// Asks for connection IDs if there are fewer than wanted, and the server may have more.
    fn ask_for_ids(&mut self) {
        let wanted = usize::from(self.spare_ids).saturating_sub(self.connection.spare_connection_ids());
        if wanted > 0 {
            let _ = self.connection.request_connection_ids(wanted as u8); // if it cannot ask now, the next call does
        }
    }

    /// Begins a turn, and returns its time. After the handshake that is the time of the last tick, which is cheaper to
    /// read.
    fn turn(&mut self) -> Instant {
        if !self.connection.is_connected() {
            return self.turn_exactly();
        }
        self.now = self.clock.last_tick_after(self.now);
        self.now.monotonic
    }

    /// Begins a turn at the exact time, for calls where time limits begin or may end.
    fn turn_exactly(&mut self) -> Instant {
        self.now = self.clock.now_after(self.now);
        self.now.monotonic
    }

    /// Gives the connection a datagram, or handles a timeout.
    fn advance(&mut self) -> Result<(), NetError> {
        if self.rest.is_empty() && !core::mem::take(&mut self.has_read) {
            self.flush()?;
            if !self.wait()? {
                return Ok(());
            }
        }
        let before = heard(&self.connection);
        let input = &mut self.input[self.rest.clone()]; // the whole datagram, or its rest
        match self.connection.handle_input(self.now, &mut self.rng, input) {
            Ok(taken) => self.rest.start += taken, // of what was given
            Err(error) => return Err(self.failed(error)),
        }
        if heard(&self.connection) > before {
            self.effort = Effort::begin(self.now.monotonic);
        }
        self.take_events()?;
        self.flush()
    }

    /// Waits for a datagram. Returns whether one came.
    fn wait(&mut self) -> Result<bool, NetError> {
        let now = self.now.monotonic;
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(self.no_answer(None));
        }
        let timeout = self.connection.poll_timeout();
        if timeout.is_some_and(|timeout| timeout <= now) {
            let has_come = self.overdue < MAX_OVERDUE && self.read(Some(AT_ONCE))?;
            if has_come {
                self.overdue += 1;
            } else {
                self.overdue = 0;
                self.ask_again()?;
            }
            return Ok(has_come);
        }
        let next = self.deadline.into_iter().chain(timeout).min();
        self.read(next.map(|next| Duration::from_millis(next.since(now)))) // not 0: later than now
    }

    /// Reads a datagram. Returns whether one came within `limit`.
    fn read(&mut self, limit: Option<Duration>) -> Result<bool, NetError> {
        self.socket.set_read_timeout(limit).map_err(NetError::Io)?;
        let received = self.socket.recv(&mut self.input);
        match received {
            Ok(_) => self.turn(),
            Err(_) => self.turn_exactly(),
        };
        match received {
            Ok(len) => {
                self.rest = 0..len;
                Ok(true)
            }
            Err(error) if is_interruption(&error) => Ok(false),
            Err(error) if is_of_network(&error) => {
                self.effort.network = Some(error.kind());
                Ok(false)
            }
            Err(error) => Err(NetError::Io(error)),
        }
    }

    fn ask_again(&mut self) -> Result<(), NetError> {
        let sent_again = |connection: &Connection| connection.summary().retransmissions;
        let before = sent_again(&self.connection);
        match self.connection.handle_timeout(self.now) {
            Ok(()) => {
                self.flush()?;
                self.effort.asked += u32::from(sent_again(&self.connection) > before);
                Ok(())
            }
            Err(Error::TimedOut) => Err(self.no_answer(None)),
            Err(Error::AlertReceived(alert)) => Err(self.no_answer(Some(alert))),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn no_answer(&self, alert: Option<AlertDescription>) -> NetError {
        self.effort.no_answer(&self.connection, self.now.monotonic, alert)
    }

    fn failed(&mut self, error: Error) -> NetError {
        let _ = self.flush(); // the alert; the error to report is the one that caused it
        error.into()
    }

    fn take_events(&mut self) -> Result<(), NetError> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::PeerClosed => self.peer_closed = true,
                Event::NeedSignature => self.sign()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn sign(&mut self) -> Result<(), NetError> {
        let result = sign(&mut self.signer, &mut self.connection, self.clock, &mut self.rng);
        self.turn();
        result.map_err(|error| self.failed(error))
    }

    fn flush(&mut self) -> Result<(), NetError> {
        while let Some(len) = self.connection.poll_transmit(self.now, &mut self.output) {
            // A socket may report what the network said of an earlier datagram, instead of sending this one.
            let mut said = 0;
            while let Err(error) = self.socket.send(&self.output[..len]) {
                said += 1;
                match error.kind() {
                    ErrorKind::Interrupted => {}
                    kind if is_of_network(&error) => {
                        self.effort.network = Some(kind);
                        if said > 1 {
                            break; // the datagram counts as lost
                        }
                    }
                    _ => return Err(NetError::Io(error)),
                }
            }
        }
        Ok(())
    }
}
