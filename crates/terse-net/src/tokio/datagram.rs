//! A server for datagrams on one UDP socket of tokio: any number of clients, and nobody waits for another.
//!
//! ```text
//!            datagrams ──> framing ──┐                         ┌──> framing ──> datagrams, or lost
//!            timers ─────────────────┼──> Endpoint (terse-tls) ┤
//!  signers and stores, their tasks ──┘                         └──> events for the application
//! ```
//!
//! What must always hold: all state is in the endpoint, and none in the future of a call, so that dropping a future loses
//! nothing; no datagram ends the endpoint; no signature, store or peer makes others wait; whatever is kept has a bound
//! in [`EndpointLimits`].

use alloc::sync::Arc;
use core::future::poll_fn;
use core::net::SocketAddr;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;

use terse_tls::{
    ApiMisuse, Connection, ConnectionHandle, Endpoint, EndpointCounters, EndpointEvent, EndpointLimits, Error, Instant,
    Now, Path, ServerConfig,
};
use tokio::net::UdpSocket;

use super::alarm::Alarm;
use super::{AsyncSigner, AsyncStore, Framing, Plain};
use crate::datagram::{BUFFER_LEN, Demand, Idle, MAX_OVERDUE};
use crate::{Clock, DatagramEvent, NetError, OsRng, Watch};

mod answers;
mod counters;
mod transport;

use answers::{Answered, Answers};
pub use counters::SocketCounters;

/// A server for datagrams on one UDP socket of tokio: an [`Endpoint`], a clock, and a [`Framing`].
///
/// [`DatagramEndpoint::next_event`] does all the work; between its calls nothing is received and nothing is
/// retransmitted. A connection stays until [`DatagramEndpoint::end`]. It needs a runtime whose I/O and time are enabled.
///
/// Signatures and stores that answer later are awaited in tasks of their own, at most one for each connection. All other
/// connections go on meanwhile, and an answer for a connection that is gone is dropped.
///
/// **Sending never waits.** A datagram that the socket does not take at once is lost, as it could be on its way, and
/// counted ([`SocketCounters::unsent`]). All peers share the buffer of the socket, which may be full of datagrams to one
/// address that nobody answers for; to wait for room would let that one stop all others. DTLS retransmits its
/// handshakes, and an application over datagrams repeats what matters.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use terse_net::tokio::{DatagramEndpoint, Jpy};
/// # use terse_net::{Clock, DatagramEvent, NetError};
/// # use terse_tls::{EndpointLimits, ServerConfig};
/// # async fn serve(config: Arc<ServerConfig>) -> Result<(), NetError> {
/// let socket = tokio::net::UdpSocket::bind("[::]:5685").await.map_err(NetError::Io)?;
/// let limits = EndpointLimits::default();
/// let mut endpoint = DatagramEndpoint::with_framing(config, limits, socket, Clock::new(), Jpy::new())?;
/// loop {
///     let (handle, event) = endpoint.next_event().await?;
///     match event {
///         DatagramEvent::Data(data) => drop(endpoint.send(handle, &data)), // what is refused is as good as lost
///         DatagramEvent::PeerClosed | DatagramEvent::Failed(_) | DatagramEvent::Idle => endpoint.end(handle),
///         _ => {}
///     }
/// }
/// # }
/// ```
pub struct DatagramEndpoint<F = Plain> {
    endpoint: Endpoint,
    framing: F,
    socket: UdpSocket,
    clock: Clock,
    /// The time of the current turn.
    now: Now,
    rng: OsRng,
    input: Box<[u8]>,
    /// A datagram is written behind the first [`Framing::overhead`] bytes.
    output: Box<[u8]>,
    overhead: usize,
    /// The number of datagrams that were read since a timer is due.
    overdue: usize,
    idle: Idle,
    alarm: Alarm,
    answers: Answers,
    watch: Option<Watch>,
    counters: SocketCounters,
    send_error: Option<io::Error>,
}

impl DatagramEndpoint {
    /// Creates a server with `config`, which is for datagrams, on `socket`, without a framing. A connection may be idle
    /// for ever.
    pub fn new(
        config: Arc<ServerConfig>,
        limits: EndpointLimits,
        socket: UdpSocket,
        clock: Clock,
    ) -> Result<Self, NetError> {
        Self::with_framing(config, limits, socket, clock, Plain)
    }
}

impl<F: Framing> DatagramEndpoint<F> {
    /// Creates a server as [`DatagramEndpoint::new`] does, with `framing` between it and `socket`.
    /// [`terse_tls::Datagrams::max_datagram`] is the limit of what the socket sends, framing included: the datagrams of
    /// DTLS are shorter by [`Framing::overhead`], and so is [`Connection::max_message`]. Fails with
    /// [`ApiMisuse::DatagramOutOfRange`] if too little is left.
    pub fn with_framing(
        config: Arc<ServerConfig>,
        limits: EndpointLimits,
        socket: UdpSocket,
        clock: Clock,
        framing: F,
    ) -> Result<Self, NetError> {
        let overhead = framing.overhead();
        Ok(Self {
            endpoint: Endpoint::new(shortened(config, overhead)?, limits, &mut OsRng)?,
            framing,
            socket,
            clock,
            now: clock.now(),
            rng: OsRng,
            input: vec![0; BUFFER_LEN].into(),
            output: vec![0; overhead + BUFFER_LEN].into(),
            overhead,
            overdue: 0,
            idle: Idle::default(),
            alarm: Alarm::default(),
            answers: Answers::new(&limits),
            watch: None,
            counters: SocketCounters::default(),
            send_error: None,
        })
    }

    /// Reports connections that are idle for `limit`. Only authentic records count as traffic.
    #[must_use]
    pub fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle.set_limit(limit);
        self
    }

    /// Asks `signer` for signatures when the private key's own answer is pending. Without one, such handshakes fail.
    #[must_use]
    pub fn with_signer(mut self, signer: AsyncSigner) -> Self {
        self.answers.signer = Some(signer);
        self
    }

    /// Asks `store` when the own answer of the cache's store is pending. Without one, such a store has nothing and saves
    /// nothing.
    #[must_use]
    pub fn with_store(mut self, store: AsyncStore) -> Self {
        self.answers.store = Some(store);
        self
    }

    /// Calls `watch` with the path of each datagram before it is handled: a [`terse_tls::Trace`] does not name its
    /// connection.
    #[must_use]
    pub fn with_watch(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Waits for the next event. Dropping the future loses nothing: the next call goes on where this one was. A time
    /// limit is therefore one around the future, such as `tokio::time::timeout`.
    pub async fn next_event(&mut self) -> Result<(ConnectionHandle, DatagramEvent), NetError> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Does what [`Self::next_event`] does, until there is an event or nothing is left to do.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<(ConnectionHandle, DatagramEvent), NetError>> {
        loop {
            while let Some((handle, event)) = self.endpoint.poll_event() {
                if let Some(event) = self.event(handle, event) {
                    self.flush();
                    return Poll::Ready(Ok((handle, event)));
                }
            }
            self.flush();
            if let Poll::Ready((handle, answered)) = self.answers.poll(cx) {
                if let Some(error) = self.answered(handle, answered) {
                    let event = DatagramEvent::Failed(error);
                    self.idle.note(handle, &event, self.now.monotonic);
                    self.flush();
                    return Poll::Ready(Ok((handle, event)));
                }
                continue;
            }
            let timer = [self.endpoint.poll_timeout(), self.idle.timeout()].into_iter().flatten().min();
            let is_due = timer.is_some_and(|timer| timer <= self.now.monotonic);
            // A timer may be waiting for a datagram that has arrived. With no limit, a flood could hold it up.
            if (!is_due || self.overdue < MAX_OVERDUE) && self.read(cx)? {
                self.overdue += usize::from(is_due);
                continue;
            }
            let now = self.turn_exactly();
            if timer.is_some_and(|timer| timer <= now) {
                self.overdue = 0;
                if let Some(handle) = self.idle.next(now) {
                    return Poll::Ready(Ok((handle, DatagramEvent::Idle)));
                }
                self.watch(None);
                self.endpoint.handle_timeout(self.now);
                continue;
            }
            if self.alarm.poll(cx, timer.map(|timer| (timer, now))).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Sends `message`, of at most [`Connection::max_message`] bytes, in one datagram: it is taken as a whole, or refused
    /// at once. [`ApiMisuse::SendBufferFull`] says that too much is queued for this client, which has to answer first;
    /// the message may then be sent again later, or be dropped like one that the network lost
    /// ([`EndpointCounters::messages_refused`]).
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

    /// Ends a connection: sends a close_notify, and forgets the connection and what it waits for.
    pub fn end(&mut self, handle: ConnectionHandle) {
        self.answers.forget(handle);
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

    /// Returns the path to the client of a connection.
    pub fn path(&self, handle: ConnectionHandle) -> Option<&Path> {
        self.endpoint.path(handle)
    }

    /// Whether the client's path is not validated, so that long answers must be asked for in small parts: see
    /// [`terse_tls::Endpoint::needs_confirmation`].
    pub fn needs_confirmation(&self, handle: ConnectionHandle) -> bool {
        self.endpoint.needs_confirmation(handle)
    }

    /// Confirms the client's path: the application knows that the client is there, because it answered what was sent
    /// there ([`terse_tls::AddressChange::Limited`]).
    pub fn confirm_address(&mut self, handle: ConnectionHandle) {
        self.endpoint.confirm_address(handle);
        self.begin_and_flush();
    }

    /// Returns how many connections there are, how many of them have not completed their handshake, and how many wait for
    /// a signature or a store.
    pub fn connections(&self) -> (usize, usize, usize) {
        let (all, half_open) = self.endpoint.connections();
        (all, half_open, self.answers.len())
    }

    /// Returns the counters of datagrams that belong to no connection, and of what was refused.
    pub fn counters(&self) -> &EndpointCounters {
        self.endpoint.counters()
    }

    /// Returns the counters of what was dropped between the socket and the endpoint.
    pub const fn socket_counters(&self) -> &SocketCounters {
        &self.counters
    }

    /// Returns the most recent error of sending a datagram. The datagram counts as lost.
    pub fn take_send_error(&mut self) -> Option<io::Error> {
        self.send_error.take()
    }

    /// Returns the address of the socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Returns the event for the application, if there is one.
    fn event(&mut self, handle: ConnectionHandle, event: EndpointEvent) -> Option<DatagramEvent> {
        let event = match Demand::of(event)? {
            Demand::Tell(event) => event,
            Demand::Signature => {
                let request = self.endpoint.connection(handle)?.signature_request()?.clone();
                let answered = self.answers.sign(handle, request, &self.endpoint)?;
                DatagramEvent::Failed(self.answered(handle, answered)?)
            }
            Demand::StoreAnswer => {
                let request = self.endpoint.connection(handle)?.store_request()?.clone();
                let answered = self.answers.ask_store(handle, request, &self.endpoint)?;
                DatagramEvent::Failed(self.answered(handle, answered)?)
            }
        };
        if matches!(event, DatagramEvent::Failed(_) | DatagramEvent::Replaced | DatagramEvent::Evicted) {
            self.answers.forget(handle);
        }
        self.idle.note(handle, &event, self.now.monotonic);
        Some(event)
    }

    /// Hands an answer to the connection that waits for it. Returns the error that the connection failed with, unless
    /// the endpoint reports it.
    fn answered(&mut self, handle: ConnectionHandle, answered: Answered) -> Option<Error> {
        self.turn_exactly(); // the answer may have taken its time
        let is_taken = match answered {
            Answered::Signature(signature) => match self.endpoint.connection(handle) {
                Some(connection) => {
                    let signature = signature.as_deref().map_err(|error| *error);
                    connection.provide_signature(self.now, &mut self.rng, signature)
                }
                None => Err(ApiMisuse::NoSignatureDue.into()),
            },
            Answered::Store(answer) => self.endpoint.provide_store_answer(self.now, &mut self.rng, handle, answer),
        };
        match is_taken {
            Ok(()) => None,
            Err(Error::ApiMisuse(_)) => {
                self.counters.late_answers = self.counters.late_answers.saturating_add(1);
                None
            }
            Err(error) => Some(error),
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

    /// Begins a turn. Without a handshake under way its time is the last tick, which is cheaper to read.
    fn turn(&mut self) {
        let (_, half_open) = self.endpoint.connections();
        if half_open > 0 {
            self.turn_exactly();
        } else {
            self.now = self.clock.last_tick_after(self.now);
        }
    }

    /// Begins a turn at the exact time, for calls where time limits begin or may end.
    fn turn_exactly(&mut self) -> Instant {
        self.now = self.clock.now_after(self.now);
        self.now.monotonic
    }
}

impl<F> core::fmt::Debug for DatagramEndpoint<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { endpoint, socket, counters, .. } = self;
        let mut f = f.debug_struct("DatagramEndpoint");
        f.field("endpoint", endpoint).field("socket", socket).field("counters", counters).finish_non_exhaustive()
    }
}

/// Returns the configuration with datagrams that are shorter by `overhead`.
fn shortened(config: Arc<ServerConfig>, overhead: usize) -> Result<Arc<ServerConfig>, Error> {
    let Some(settings) = config.common().datagrams().filter(|_| overhead > 0) else { return Ok(config) };
    let settings = settings.max_datagram(settings.max_datagram.saturating_sub(overhead));
    Ok(Arc::new(config.to_builder().datagrams(Some(settings)).build()?))
}
