//! A server for datagrams: one UDP socket, one thread, any number of clients.
//!
//! What must always hold: no datagram ends the server or makes it wait; a datagram is handled before the next is read,
//! so that no more is kept than the endpoint's limits allow; the clock is read only where a call begins or has waited,
//! and before it waits.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use terse_tls::cache::StoreAnswer;
use terse_tls::{
    ApiMisuse, Connection, ConnectionHandle, Endpoint, EndpointCounters, EndpointEvent, EndpointLimits, Error, Instant,
    Now, Path, ServerConfig,
};

use super::event::Demand;
use super::idle::Idle;
use super::{AT_ONCE, BUFFER_LEN, DatagramEvent, MAX_OVERDUE, Watch, is_interruption, is_of_network};
use crate::signer::{Signer, sign};
use crate::{Clock, NetError, OsRng};

/// A server for datagrams on one UDP socket: an [`Endpoint`], a clock, and time limits.
///
/// [`DatagramServer::next_event`] does all the work; between its calls nothing is received and nothing is
/// retransmitted. A connection stays until [`DatagramServer::end`].
pub struct DatagramServer {
    endpoint: Endpoint,
    socket: UdpSocket,
    clock: Clock,
    /// The time of the current turn.
    now: Now,
    rng: OsRng,
    input: Box<[u8]>,
    output: Box<[u8]>,
    /// The number of datagrams that were read since a timer is due.
    overdue: usize,
    idle: Idle,
    signer: Option<Signer>,
    watch: Option<Watch>,
    send_error: Option<io::Error>,
}

impl DatagramServer {
    /// Creates a server with `config`, which is for datagrams, on `socket`. A connection may be idle for ever.
    pub fn new(
        config: Arc<ServerConfig>,
        limits: EndpointLimits,
        socket: UdpSocket,
        clock: Clock,
    ) -> Result<Self, NetError> {
        Ok(Self {
            endpoint: Endpoint::new(config, limits, &mut OsRng)?,
            socket,
            clock,
            now: clock.now(),
            rng: OsRng,
            input: vec![0; BUFFER_LEN].into(),
            output: vec![0; BUFFER_LEN].into(),
            overdue: 0,
            idle: Idle::default(),
            signer: None,
            watch: None,
            send_error: None,
        })
    }

    /// Reports connections that are idle for `limit`. Only authentic records count as traffic.
    pub fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle.set_limit(limit);
        self
    }

    /// Asks `signer` for signatures, as [`crate::Stream::with_signer`] does. All clients wait during a call of it.
    pub fn with_signer(self, signer: Signer) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// Calls `watch` with the origin of each datagram before it is handled: a [`terse_tls::Trace`] does not name its
    /// connection.
    pub fn with_watch(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Waits for the next event, for at most `limit`. Returns `None` if none happened in that time.
    pub fn next_event(
        &mut self,
        limit: Option<Duration>,
    ) -> Result<Option<(ConnectionHandle, DatagramEvent)>, NetError> {
        let limit = limit.and_then(|limit| u64::try_from(limit.as_millis()).ok());
        let mut end = None;
        let end_after = |now: Instant| limit.map(|limit| Instant(now.0.saturating_add(limit)));
        loop {
            // These events happened when the last datagram was handled, or the last timer.
            if let Some((handle, event)) = self.endpoint.poll_event() {
                match self.event(handle, event) {
                    Some(event) => {
                        self.flush();
                        return Ok(Some((handle, event)));
                    }
                    None => continue,
                }
            }
            self.flush();
            let timer = [self.endpoint.poll_timeout(), self.idle.timeout()].into_iter().flatten().min();
            let is_due = |time: Option<Instant>| time.is_some_and(|time| time <= self.now.monotonic);
            if !is_due(timer) && !is_due(end.flatten()) && self.read_at_once()? {
                end.get_or_insert(end_after(self.now.monotonic));
                continue;
            }
            let now = self.turn_exactly();
            let end = *end.get_or_insert(end_after(now));
            if timer.is_some_and(|timer| timer <= now) {
                if self.overdue < MAX_OVERDUE && self.read(Some(AT_ONCE))? {
                    self.overdue += 1;
                    continue;
                }
                self.overdue = 0;
                if let Some(handle) = self.idle.next(now) {
                    return Ok(Some((handle, DatagramEvent::Idle)));
                }
                self.watch(None);
                self.endpoint.handle_timeout(self.now);
                continue;
            }
            if end.is_some_and(|end| end <= now) {
                return Ok(None);
            }
            let next = timer.into_iter().chain(end).min();
            self.read(next.map(|next| Duration::from_millis(next.since(now))))?; // not 0: later than now
        }
    }

    /// Sends `message`, of at most [`Connection::max_message`] bytes, in one datagram, without waiting: a message is
    /// taken as a whole, or refused at once. [`ApiMisuse::SendBufferFull`] says that too much is queued for this
    /// client, which has to answer first; the message may then be sent again later, or be dropped like one that the
    /// network lost ([`EndpointCounters::messages_refused`]).
    pub fn send(&mut self, handle: ConnectionHandle, message: &[u8]) -> Result<(), NetError> {
        let result = self.endpoint.send(handle, message);
        self.begin_and_flush();
        result?;
        self.idle.restart(handle, self.now.monotonic);
        Ok(())
    }

    /// Changes the key that a connection sends with, and asks the client to do the same if `request_peer` (RFC 9147,
    /// 8). Fails with [`ApiMisuse::KeyUpdateUnderWay`] until the client has acknowledged the handshake's end and any
    /// earlier change.
    pub fn update_keys(&mut self, handle: ConnectionHandle, request_peer: bool) -> Result<(), NetError> {
        let connection = self.endpoint.connection(handle).ok_or(Error::ApiMisuse(ApiMisuse::Closed))?;
        connection.update_keys(request_peer)?;
        self.begin_and_flush();
        Ok(())
    }

    /// Ends a connection: sends a close_notify, and forgets the connection.
    pub fn end(&mut self, handle: ConnectionHandle) {
        if let Some(connection) = self.endpoint.connection(handle) {
            connection.close();
        }
        self.begin_and_flush();
        self.endpoint.remove(handle);
        self.idle.remove(handle);
    }

    /// Returns a connection, for its summary and what was negotiated, or `None` if it was forgotten.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&Connection> {
        self.endpoint.connection(handle).map(|connection| &*connection)
    }

    /// Returns the address of the client of a connection.
    pub fn address(&self, handle: ConnectionHandle) -> Option<SocketAddr> {
        self.endpoint.address(handle)
    }

    /// Confirms the client's address: the application knows that the client is there, because it answered what was sent
    /// there ([`terse_tls::AddressChange::Limited`]).
    pub fn confirm_address(&mut self, handle: ConnectionHandle) {
        self.endpoint.confirm_address(handle);
        self.begin_and_flush();
    }

    /// Returns the counters of datagrams that belong to no connection, and of what was refused.
    pub fn counters(&self) -> &EndpointCounters {
        self.endpoint.counters()
    }

    /// Returns the most recent error of sending a datagram. The datagram counts as lost.
    pub fn take_send_error(&mut self) -> Option<io::Error> {
        self.send_error.take()
    }

    /// Returns the event for the application, if there is one.
    fn event(&mut self, handle: ConnectionHandle, event: EndpointEvent) -> Option<DatagramEvent> {
        let event = match Demand::of(event)? {
            Demand::Tell(event) => event,
            Demand::Signature => DatagramEvent::Failed(self.sign(handle).err()?),
            Demand::StoreAnswer => {
                // On a blocking socket nobody could answer later.
                let request = self.endpoint.connection(handle)?.store_request();
                let answer = request.map(StoreAnswer::unavailable)?;
                DatagramEvent::Failed(
                    self.endpoint.provide_store_answer(self.now, &mut self.rng, handle, answer).err()?,
                )
            }
        };
        self.idle.note(handle, &event, self.now.monotonic);
        Some(event)
    }

    fn sign(&mut self, handle: ConnectionHandle) -> Result<(), Error> {
        let Some(connection) = self.endpoint.connection(handle) else { return Ok(()) };
        let result = sign(&mut self.signer, connection, self.clock, &mut self.rng);
        self.turn();
        result
    }

    /// Reads and handles a datagram that has arrived. Returns whether there was one. During a burst, each datagram
    /// costs one system call and one reading of the clock.
    fn read_at_once(&mut self) -> Result<bool, NetError> {
        let received = receive_at_once(&self.socket, &mut self.input);
        self.received(received)
    }

    /// Reads and handles a datagram. Returns whether one came within `limit`.
    fn read(&mut self, limit: Option<Duration>) -> Result<bool, NetError> {
        self.socket.set_read_timeout(limit).map_err(NetError::Io)?;
        let received = self.socket.recv_from(&mut self.input);
        self.received(received)
    }

    fn received(&mut self, received: io::Result<(usize, SocketAddr)>) -> Result<bool, NetError> {
        match received {
            Ok((len, from)) => {
                let from = Path::from(from);
                self.watch(Some(&from));
                self.turn();
                self.endpoint.handle_datagram(self.now, &mut self.rng, from, &mut self.input[..len]);
                Ok(true)
            }
            Err(error) if is_interruption(&error) || is_of_network(&error) => Ok(false),
            Err(error) => Err(NetError::Io(error)),
        }
    }

    fn watch(&mut self, from: Option<&Path>) {
        if let Some(watch) = &mut self.watch {
            watch(from);
        }
    }

    /// Begins a turn, and sends what a call of the application has produced.
    fn begin_and_flush(&mut self) {
        self.turn();
        self.flush();
    }

    /// Begins a turn, and returns its time. Without a handshake under way that is the last tick, which is cheaper to
    /// read.
    fn turn(&mut self) -> Instant {
        let (_, half_open) = self.endpoint.connections();
        if half_open > 0 {
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

    fn flush(&mut self) {
        while let Some((to, len)) = self.endpoint.poll_transmit(self.now, &mut self.output) {
            while let Err(error) = self.socket.send_to(&self.output[..len], to.address()) {
                if error.kind() != ErrorKind::Interrupted {
                    self.send_error = Some(error); // no client's network may stop the others
                    break;
                }
            }
        }
    }
}

/// Reads a datagram that has arrived, without waiting.
#[cfg(unix)]
fn receive_at_once(socket: &UdpSocket, out: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    use rustix::net::{RecvFlags, recvfrom};
    let (len, _, from) = recvfrom(socket, out, RecvFlags::DONTWAIT)?;
    let from = from.and_then(|from| from.try_into().ok()).ok_or(ErrorKind::InvalidData)?; // UDP has no other addresses
    Ok((len, from))
}

/// Returns nothing: this system has no call that does not wait at all, so that [`DatagramServer::read`] waits.
#[cfg(not(unix))]
fn receive_at_once(_: &UdpSocket, _: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    Err(ErrorKind::WouldBlock.into())
}
