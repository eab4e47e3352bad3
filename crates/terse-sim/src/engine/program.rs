//! One side of an exchange is the program of a simulated host: it joins TCP or UDP to the engine.
//!
//! What must always hold: what a call of the engine made is sent when the call is computed, and the engine's clock has gone
//! on to that time; nothing is read, and no timer of the engine is asked, before.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::net::SocketAddr;
use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::summary::Traffic;
use terse_tls::{ClientConfig, Connection, EndpointLimits, Instant, Now, ServerAddress, ServerConfig};

use super::many::LONGEST_OUTPUT;
use super::{Client, DatagramServer, Exchange, Processor, Reached, Side, StreamServer};
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::{Random, Time, tcp};

/// The role of a host.
pub(crate) enum Role {
    /// The host connects to `remote`; over UDP from `port`, or from any for 0.
    Client { config: Arc<ClientConfig>, server: ServerAddress, remote: SocketAddr, port: u16 },
    /// The host serves at `port`.
    Server { config: Arc<ServerConfig>, limits: EndpointLimits, port: u16 },
}

/// The program of a host.
pub(crate) struct Program<'w, 'a> {
    role: Role,
    exchange: Exchange,
    /// The configuration of TCP; `None` over UDP.
    tcp: Option<tcp::Config>,
    rng: Option<Random>,
    clock: Clock,
    /// What the engine's calls run on.
    pub(crate) processor: Processor<'w, 'a>,
    side: Option<Box<dyn Side>>,
    socket: Option<SocketId>,
    peer: SocketAddr,
    /// Output that TCP did not take yet.
    unsent: Vec<u8>,
    has_closed: bool,
    /// The time when this side read the other side's first bytes.
    pub(crate) heard: Option<Time>,
    /// The time when the handshake was complete on this side.
    pub(crate) connected: Option<Time>,
    /// The time when the application of a server had the request.
    pub(crate) requested: Option<Time>,
    /// The time when this side had the other side's message.
    pub(crate) answered: Option<Time>,
    /// The cause of this side's failure, if it failed.
    pub(crate) failure: Option<String>,
}

/// The engine's clock: virtual time, counted from some time after the device was switched on and after 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The UNIX seconds at the beginning of the run.
    pub(crate) unix: u64,
    /// The engine's milliseconds at the beginning of the run: later connections of a pair begin later.
    pub(crate) monotonic: u64,
}

impl Clock {
    /// Returns this clock when `time` has passed.
    pub(crate) const fn after(self, time: Duration) -> Self {
        Self { unix: self.unix + time.as_secs(), monotonic: self.monotonic + time.as_millis() as u64 }
    }

    pub(super) fn now(self, time: Time) -> Now {
        let milliseconds = time.as_millis();
        let unix = Duration::from_secs(self.unix) + Duration::from_millis(milliseconds);
        Now::new(Instant(self.monotonic + milliseconds), Some(UnixTime::since_unix_epoch(unix)))
    }

    pub(super) fn time(self, Instant(milliseconds): Instant) -> Time {
        Time::from_millis(milliseconds.saturating_sub(self.monotonic))
    }
}

impl<'w, 'a> Program<'w, 'a> {
    /// Creates a program that has not started. It runs over TCP if `tcp` is given, otherwise over UDP.
    pub(crate) fn new(
        role: Role,
        exchange: Exchange,
        tcp: Option<tcp::Config>,
        rng: Random,
        clock: Clock,
        processor: Processor<'w, 'a>,
    ) -> Self {
        let peer = match &role {
            Role::Client { remote, .. } => *remote,
            Role::Server { .. } => SocketAddr::from(([0, 0, 0, 0], 0)),
        };
        Self {
            role,
            exchange,
            tcp,
            rng: Some(rng),
            clock,
            processor,
            side: None,
            socket: None,
            peer,
            unsent: Vec::new(),
            has_closed: false,
            heard: None,
            connected: None,
            requested: None,
            answered: None,
            failure: None,
        }
    }

    /// Returns the connection, if there is one.
    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        self.side.as_mut()?.connection()
    }

    /// What this side sent in handshakes before it had a connection.
    pub(crate) fn sent_without_connection(&self) -> Traffic {
        self.side.as_ref().map(|side| side.sent_without_connection()).unwrap_or_default()
    }

    /// Whether this side has said everything, or failed.
    pub(crate) fn is_over(&self) -> bool {
        self.failure.is_some() || self.reached().end
    }

    fn reached(&self) -> Reached {
        self.side.as_ref().map(|side| side.reached()).unwrap_or_default()
    }

    /// Returns how long the device has computed.
    pub(crate) const fn computing(&self) -> Duration {
        self.processor.time
    }

    /// Creates the engine's side. The first flight of a client is then ready to be sent.
    fn begin(&mut self, sockets: &mut Sockets<'_>) {
        let Some(rng) = self.rng.take() else { return };
        let (now, exchange) = (self.clock.now(sockets.idle_at()), self.exchange);
        let mut rng = Some(rng);
        let mut made: Option<Result<Box<dyn Side>, terse_tls::Error>> = None;
        self.processor.run(sockets, &mut || {
            let Some(rng) = rng.take() else { return };
            made = Some(match &self.role {
                Role::Client { config, server, .. } => {
                    Client::new(config.clone(), server.clone(), exchange, now, rng).map(boxed)
                }
                Role::Server { config, .. } if self.tcp.is_some() => {
                    StreamServer::new(config.clone(), exchange, now, rng).map(boxed)
                }
                Role::Server { config, limits, .. } => {
                    DatagramServer::new(config.clone(), *limits, exchange, rng).map(boxed)
                }
            });
        });
        match made {
            Some(Ok(side)) => self.side = Some(side),
            Some(Err(error)) => self.fail(&error),
            None => {}
        }
        self.check_time();
    }

    /// Lets the application do something with the connection, and sends what follows from it.
    pub(crate) fn act(
        &mut self,
        sockets: &mut Sockets<'_>,
        act: impl FnOnce(&mut Connection) -> Result<(), terse_tls::Error>,
    ) {
        self.with(sockets, |side, _| side.connection().map_or(Ok(()), act));
        self.send(sockets);
    }

    /// Gives up whatever there is, without a word to the other side over UDP.
    pub(crate) fn abandon(&mut self, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.socket.take() else { return };
        match self.tcp {
            Some(_) => sockets.abort(socket),
            None => sockets.close(socket),
        }
    }

    /// Returns the socket, if there is one.
    pub(crate) const fn socket(&self) -> Option<SocketId> {
        self.socket
    }

    fn fail(&mut self, error: &dyn core::fmt::Display) {
        self.failure.get_or_insert_with(|| error.to_string());
    }

    /// A device that has no time for what was computed ends the run.
    fn check_time(&mut self) {
        if let Some(no_time) = self.processor.no_time.clone() {
            self.fail(&no_time);
        }
    }

    /// Runs a piece of the engine's work, which begins when all work before it is done.
    fn with(
        &mut self,
        sockets: &mut Sockets<'_>,
        run: impl FnOnce(&mut dyn Side, Now) -> Result<(), terse_tls::Error>,
    ) {
        let now = self.clock.now(sockets.idle_at());
        let Some(side) = self.side.as_deref_mut() else { return };
        let (mut run, mut result) = (Some(run), Ok(()));
        self.processor.run(sockets, &mut || {
            if let Some(run) = run.take() {
                result = run(side, now);
            }
        });
        if let Err(error) = result {
            self.fail(&error);
        }
        self.check_time();
    }

    /// Records how far this side has come with all work that was begun.
    fn note(&mut self, sockets: &Sockets<'_>) {
        let now = sockets.idle_at();
        let reached = self.reached();
        if reached.connected {
            self.connected.get_or_insert(now);
        }
        if reached.requested {
            self.requested.get_or_insert(now);
        }
        if reached.answered {
            self.answered.get_or_insert(now);
        }
    }

    /// Reads and handles all input of a socket.
    fn receive(&mut self, now: Time, sockets: &mut Sockets<'_>, socket: SocketId) {
        if self.tcp.is_some() {
            let mut buffer = [0; 4096];
            loop {
                let len = sockets.recv(socket, &mut buffer);
                let Some(bytes) = buffer.get_mut(..len).filter(|bytes| !bytes.is_empty()) else { break };
                self.heard.get_or_insert(now);
                let from = self.peer;
                self.with(sockets, |side, engine_now| side.input(engine_now, from, bytes));
            }
        } else {
            while let Some((from, mut datagram)) = sockets.recv_from(socket) {
                self.heard.get_or_insert(now);
                self.with(sockets, |side, engine_now| side.input(engine_now, from, &mut datagram));
                self.flush(sockets); // the answer to one datagram is sent before the next one is taken
            }
        }
        self.send(sockets);
    }

    /// Sends what is ready, and then the application's answer.
    fn send(&mut self, sockets: &mut Sockets<'_>) {
        self.flush(sockets);
        if self.failure.is_none() {
            self.with(sockets, |side, _| side.answer());
            self.flush(sockets);
        }
    }

    /// Sends what is ready, including the alert of a side that failed.
    fn flush(&mut self, sockets: &mut Sockets<'_>) {
        self.note(sockets);
        let Some(socket) = self.socket else { return };
        let mut buffer = OUTPUT.take();
        buffer.resize(LONGEST_OUTPUT, 0);
        loop {
            let mut next = None;
            self.with(sockets, |side, engine_now| {
                next = side.output(engine_now, &mut buffer);
                Ok(())
            });
            let Some((to, len)) = next else { break };
            let bytes = &buffer[..len];
            if self.tcp.is_some() {
                self.unsent.extend_from_slice(bytes);
            } else if let Err(error) = sockets.send_to(socket, to.unwrap_or(self.peer), bytes) {
                return self.fail(&format!("a datagram of {len} bytes cannot be sent: {error:?}"));
            }
        }
        OUTPUT.set(buffer);
        if self.tcp.is_some() {
            self.push(sockets, socket);
        }
    }

    /// Gives TCP as much as it takes, and closes it after the last byte.
    fn push(&mut self, sockets: &mut Sockets<'_>, socket: SocketId) {
        let taken = sockets.send(socket, &self.unsent);
        self.unsent.drain(..taken.min(self.unsent.len()));
        if self.unsent.is_empty() && self.is_over() && !self.has_closed {
            self.has_closed = true;
            sockets.close(socket);
        }
    }
}

fn boxed(side: impl Side + 'static) -> Box<dyn Side> {
    Box::new(side)
}

impl Application for Program<'_, '_> {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        let remote = self.peer;
        self.socket = match (&self.role, &self.tcp) {
            (Role::Client { .. }, Some(config)) => sockets.connect(remote, config.clone()),
            (Role::Server { port, .. }, Some(config)) => sockets.listen(*port, config.clone()),
            (Role::Client { port, .. }, None) => sockets.bind(*port),
            (Role::Server { port, .. }, None) => sockets.bind(*port),
        };
        if self.socket.is_none() {
            return self.fail(&"no socket");
        }
        if self.tcp.is_none() {
            self.begin(sockets);
            self.send(sockets);
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Connected(_) => {
                self.begin(sockets);
                self.send(sockets);
            }
            SocketEvent::Accepted { socket, remote, .. } => {
                (self.socket, self.peer) = (Some(socket), remote);
                self.begin(sockets);
            }
            SocketEvent::Readable(socket) => self.receive(now, sockets, socket),
            SocketEvent::Writable(_) => self.send(sockets),
            SocketEvent::PeerFinished(_) => {
                self.with(sockets, |side, engine_now| side.end_of_input(engine_now));
                self.send(sockets);
            }
            SocketEvent::Failed(_, failure) if !self.is_over() => self.fail(&format!("TCP: {failure}")),
            SocketEvent::Closed(_) | SocketEvent::Failed(..) => {}
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.failure.is_some() {
            return None;
        }
        self.side.as_ref().and_then(|side| side.deadline()).map(|instant| self.clock.time(instant))
    }

    fn handle_timeout(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.with(sockets, |side, engine_now| side.expire(engine_now));
        self.send(sockets);
    }
}

thread_local! {
    /// Memory for what an engine sends, which the programs of a thread use one after the other: one for each of a thousand devices
    /// would take 64 MB, and making it anew for each call took a tenth of a run's time.
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
