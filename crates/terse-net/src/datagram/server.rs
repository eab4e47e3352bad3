//! A server for datagrams: one UDP socket, one thread, any number of clients.
//!
//! What must always hold: no datagram ends the server or makes it wait; what came is handled before more is taken, so
//! that no more is kept than the endpoint's limits allow; the clock is read where a call begins or has waited, and before
//! it waits, and nowhere else.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use terse_tls::cache::StoreAnswer;
use terse_tls::{
    ApiMisuse, Connection, ConnectionHandle, Endpoint, EndpointCounters, EndpointEvent, EndpointLimits, Error, Instant,
    Now, ServerConfig,
};

use super::{AT_ONCE, BUFFER_LEN, MAX_OVERDUE, is_interruption, is_of_network};
use crate::signer::{Signer, sign};
use crate::{Clock, NetError, OsRng};

/// A server for datagrams on one UDP socket: an [`Endpoint`], a clock, and time limits.
///
/// [`DatagramServer::next_event`] does all the work; between its calls nothing is received and nothing is sent again. A
/// connection stays until [`DatagramServer::end`].
pub struct DatagramServer {
    endpoint: Endpoint,
    socket: UdpSocket,
    clock: Clock,
    /// The time of this turn.
    now: Now,
    rng: OsRng,
    input: Box<[u8]>,
    output: Box<[u8]>,
    /// How many datagrams were read since a timer is due.
    overdue: usize,
    idle: Idle,
    signer: Option<Signer>,
    watch: Option<Watch>,
    send_error: Option<io::Error>,
}

/// Hears where each datagram comes from, before it is handled; `None`: time passes.
pub type Watch = Box<dyn FnMut(Option<SocketAddr>) + Send>;

/// What happened on a connection of a [`DatagramServer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatagramEvent {
    /// The handshake is complete.
    Connected,
    /// A message. It may have overtaken others, and others may be lost.
    Data(Vec<u8>),
    /// A message that came before the handshake was complete: maybe not now, and maybe not for the first time
    /// ([`terse_tls::EndpointEvent::EarlyData`]).
    EarlyData(Vec<u8>),
    /// The client sends nothing more: [`DatagramServer::end`] is due.
    PeerClosed,
    /// The client is somewhere else now, and showed it with its connection ID: see [`terse_tls::AddressChange`].
    AddressChanged {
        /// Where it was.
        from: SocketAddr,
        /// Where it is.
        to: SocketAddr,
    },
    /// Nothing came or went for as long as a connection may be idle: [`DatagramServer::end`] is due. Otherwise this
    /// comes again after as long.
    Idle,
    /// The connection is over: [`DatagramServer::end`] is due.
    Failed(Error),
    /// The client has lost this connection and began another one, and it is gone.
    Replaced,
    /// The connection has made room for another one before its handshake was complete, and is gone, with the early data
    /// that came of it.
    Evicted,
}

impl DatagramServer {
    /// A server of `config`, which is for datagrams, on `socket`. A connection may be idle for ever.
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

    /// Reports connections that are idle for `limit`. Only what is authentic counts as traffic.
    pub fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle.limit = u64::try_from(limit.as_millis()).ok();
        self
    }

    /// Asks `signer` for signatures, as [`crate::Stream::with_signer`] does. All clients wait meanwhile.
    pub fn with_signer(self, signer: Signer) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// Tells `watch` whose datagram is handled next: a [`terse_tls::Trace`] does not say which connection it is about.
    pub fn with_watch(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Waits for what happens next, for at most `limit`. `None`: nothing did in that time.
    pub fn next_event(
        &mut self,
        limit: Option<Duration>,
    ) -> Result<Option<(ConnectionHandle, DatagramEvent)>, NetError> {
        let limit = limit.and_then(|limit| u64::try_from(limit.as_millis()).ok());
        let mut end = None;
        let end_after = |now: Instant| limit.map(|limit| Instant(now.0.saturating_add(limit)));
        loop {
            // What waits here happened when the last datagram was handled, or the last timer.
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

    /// Sends `message`, of at most [`Connection::max_message`] bytes, in one datagram. It waits for nobody: a message is
    /// taken as a whole, or refused at once. [`ApiMisuse::SendBufferFull`] says that too much waits for this client
    /// already, which has to answer first; the message may then be sent again later, or be dropped like one that the
    /// network lost ([`EndpointCounters::messages_refused`]).
    pub fn send(&mut self, handle: ConnectionHandle, message: &[u8]) -> Result<(), NetError> {
        let result = self.endpoint.send(handle, message);
        self.begin_and_flush();
        result?;
        self.idle.restart(handle, self.now.monotonic);
        Ok(())
    }

    /// Changes the key that a connection sends with, and asks the client to do the same if `request_peer` (RFC 9147, 8).
    /// Fails with [`ApiMisuse::KeyUpdateUnderWay`] as long as the client has not acknowledged what must come before.
    pub fn update_keys(&mut self, handle: ConnectionHandle, request_peer: bool) -> Result<(), NetError> {
        let connection = self.endpoint.connection(handle).ok_or(Error::ApiMisuse(ApiMisuse::Closed))?;
        connection.update_keys(request_peer)?;
        self.begin_and_flush();
        Ok(())
    }

    /// Ends a connection: tells the client that no more follows (`close_notify`), and forgets it.
    pub fn end(&mut self, handle: ConnectionHandle) {
        if let Some(connection) = self.endpoint.connection(handle) {
            connection.close();
        }
        self.begin_and_flush();
        self.endpoint.remove(handle);
        self.idle.remove(handle);
    }

    /// A connection, for its summary and what was negotiated; `None`: it was forgotten.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&Connection> {
        self.endpoint.connection(handle).map(|connection| &*connection)
    }

    /// Where the client of a connection is.
    pub fn address(&self, handle: ConnectionHandle) -> Option<SocketAddr> {
        self.endpoint.address(handle)
    }

    /// The application knows that the client is where it says, because it answered what was sent there
    /// ([`terse_tls::AddressChange::Limited`]).
    pub fn confirm_address(&mut self, handle: ConnectionHandle) {
        self.endpoint.confirm_address(handle);
        self.begin_and_flush();
    }

    /// What came that belongs to no connection, and what was refused.
    pub fn counters(&self) -> &EndpointCounters {
        self.endpoint.counters()
    }

    /// Why a datagram could not be sent, most recently. It counts as lost.
    pub fn take_send_error(&mut self) -> Option<io::Error> {
        self.send_error.take()
    }

    /// What `event` is to the application, if anything.
    fn event(&mut self, handle: ConnectionHandle, event: EndpointEvent) -> Option<DatagramEvent> {
        let event = match event {
            EndpointEvent::Connected => DatagramEvent::Connected,
            EndpointEvent::Data(data) => DatagramEvent::Data(data),
            EndpointEvent::EarlyData(data) => DatagramEvent::EarlyData(data),
            EndpointEvent::PeerClosed => DatagramEvent::PeerClosed,
            EndpointEvent::AddressChanged { from, to } => DatagramEvent::AddressChanged { from, to },
            EndpointEvent::NeedSignature => DatagramEvent::Failed(self.sign(handle).err()?),
            EndpointEvent::NeedStore => {
                // Who blocks for datagrams has nobody who could answer later.
                let request = self.endpoint.connection(handle)?.store_request();
                let answer = request.map(StoreAnswer::unavailable)?;
                DatagramEvent::Failed(
                    self.endpoint.provide_store_answer(self.now, &mut self.rng, handle, answer).err()?,
                )
            }
            EndpointEvent::Failed(error) => DatagramEvent::Failed(error),
            EndpointEvent::Replaced | EndpointEvent::Evicted => {
                self.idle.remove(handle);
                let is_replaced = event == EndpointEvent::Replaced;
                return Some(if is_replaced { DatagramEvent::Replaced } else { DatagramEvent::Evicted });
            }
            _ => return None,
        };
        self.idle.restart(handle, self.now.monotonic);
        Some(event)
    }

    fn sign(&mut self, handle: ConnectionHandle) -> Result<(), Error> {
        let Some(connection) = self.endpoint.connection(handle) else { return Ok(()) };
        let result = sign(&mut self.signer, connection, self.clock, &mut self.rng);
        self.turn();
        result
    }

    /// Reads a datagram that is there and hands it over. `false`: none is. While many come, each costs one call of the
    /// system and one reading of the clock.
    fn read_at_once(&mut self) -> Result<bool, NetError> {
        let received = receive_at_once(&self.socket, &mut self.input);
        self.received(received)
    }

    /// Reads a datagram and hands it over. `false`: none came in time.
    fn read(&mut self, limit: Option<Duration>) -> Result<bool, NetError> {
        self.socket.set_read_timeout(limit).map_err(NetError::Io)?;
        let received = self.socket.recv_from(&mut self.input);
        self.received(received)
    }

    fn received(&mut self, received: io::Result<(usize, SocketAddr)>) -> Result<bool, NetError> {
        match received {
            Ok((len, from)) => {
                self.watch(Some(from));
                self.turn();
                self.endpoint.handle_datagram(self.now, &mut self.rng, from, &mut self.input[..len]);
                Ok(true)
            }
            Err(error) if is_interruption(&error) || is_of_network(&error) => Ok(false),
            Err(error) => Err(NetError::Io(error)),
        }
    }

    fn watch(&mut self, from: Option<SocketAddr>) {
        if let Some(watch) = &mut self.watch {
            watch(from);
        }
    }

    /// Sends what a call of the application leaves to be sent.
    fn begin_and_flush(&mut self) {
        self.turn();
        self.flush();
    }

    /// Begins a turn: what follows happens now. While there is no handshake that is the last tick, which is cheaper to know.
    fn turn(&mut self) -> Instant {
        let (_, half_open) = self.endpoint.connections();
        if half_open > 0 {
            return self.turn_exactly();
        }
        self.now = self.clock.last_tick_after(self.now);
        self.now.monotonic
    }

    /// The same where time limits begin or may be over.
    fn turn_exactly(&mut self) -> Instant {
        self.now = self.clock.now_after(self.now);
        self.now.monotonic
    }

    fn flush(&mut self) {
        while let Some((to, len)) = self.endpoint.poll_transmit(self.now, &mut self.output) {
            while let Err(error) = self.socket.send_to(&self.output[..len], to) {
                if error.kind() != ErrorKind::Interrupted {
                    self.send_error = Some(error); // no client's network may stop the others
                    break;
                }
            }
        }
    }
}

/// A datagram that is there.
#[cfg(unix)]
fn receive_at_once(socket: &UdpSocket, out: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    use rustix::net::{RecvFlags, recvfrom};
    let (len, _, from) = recvfrom(socket, out, RecvFlags::DONTWAIT)?;
    let from = from.and_then(|from| from.try_into().ok()).ok_or(ErrorKind::InvalidData)?; // a UDP socket has no other
    Ok((len, from))
}

/// The system has no call that does not wait at all: [`DatagramServer::read`] waits.
#[cfg(not(unix))]
fn receive_at_once(_: &UdpSocket, _: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    Err(ErrorKind::WouldBlock.into())
}

/// When the complete connections were last heard.
#[derive(Default)]
struct Idle {
    /// In milliseconds.
    limit: Option<u64>,
    ends: BTreeMap<ConnectionHandle, Instant>,
    by_end: BTreeSet<(Instant, ConnectionHandle)>,
}

impl Idle {
    fn restart(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(limit) = self.limit else { return };
        self.remove(handle);
        let end = Instant(now.0.saturating_add(limit));
        self.ends.insert(handle, end);
        self.by_end.insert((end, handle));
    }

    fn remove(&mut self, handle: ConnectionHandle) {
        if let Some(end) = self.ends.remove(&handle) {
            self.by_end.remove(&(end, handle));
        }
    }

    fn timeout(&self) -> Option<Instant> {
        self.by_end.first().map(|(end, _)| *end)
    }

    /// A connection whose time is over; it gets as much again.
    fn next(&mut self, now: Instant) -> Option<ConnectionHandle> {
        let (_, handle) = self.by_end.first().copied().filter(|(end, _)| *end <= now)?;
        self.restart(handle, now);
        Some(handle)
    }
}
