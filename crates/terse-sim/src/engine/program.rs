//! One side of an exchange is the program of a simulated host: it joins TCP or UDP to the engine.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::net::SocketAddr;
use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::summary::Traffic;
use terse_tls::{ClientConfig, Connection, EndpointLimits, Instant, Now, ServerAddress, ServerConfig};

use super::{Client, DatagramServer, Exchange, Reached, Side, StreamServer};
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::probe::{Party, Probe};
use crate::{Random, Time, tcp};

/// The probe that measures the calls of the engine.
pub(crate) type Watcher<'a> = RefCell<&'a mut dyn Probe>;

/// The role of a host.
pub(crate) enum Role {
    /// The host connects to `remote`.
    Client { config: Arc<ClientConfig>, server: ServerAddress, remote: SocketAddr },
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
    watcher: &'w Watcher<'a>,
    side: Option<Box<dyn Side>>,
    socket: Option<SocketId>,
    peer: SocketAddr,
    /// Output that TCP did not take yet.
    unsent: Vec<u8>,
    has_closed: bool,
    /// The time when the first input arrived.
    first_input: Option<Time>,
    /// The time when the handshake was complete on this side.
    pub(crate) connected: Option<Time>,
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

    fn now(self, time: Time) -> Now {
        let milliseconds = time.as_millis();
        let unix = Duration::from_secs(self.unix) + Duration::from_millis(milliseconds);
        Now::new(Instant(self.monotonic + milliseconds), Some(UnixTime::since_unix_epoch(unix)))
    }

    fn time(self, Instant(milliseconds): Instant) -> Time {
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
        watcher: &'w Watcher<'a>,
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
            watcher,
            side: None,
            socket: None,
            peer,
            unsent: Vec::new(),
            has_closed: false,
            first_input: None,
            connected: None,
            answered: None,
            failure: None,
        }
    }

    const fn party(&self) -> Party {
        match self.role {
            Role::Client { .. } => Party::Client,
            Role::Server { .. } => Party::Server,
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

    /// Returns the time from the first input until the handshake was complete on this side; zero if either is missing.
    pub(crate) fn handshake_time(&self) -> Duration {
        self.first_input.zip(self.connected).map(|(first, connected)| connected - first).unwrap_or_default()
    }

    fn reached(&self) -> Reached {
        self.side.as_ref().map(|side| side.reached()).unwrap_or_default()
    }

    /// Creates the engine's side. The first flight of a client is then ready to be sent.
    fn begin(&mut self, now: Time) {
        let Some(rng) = self.rng.take() else { return };
        let (now, exchange) = (self.clock.now(now), self.exchange);
        let mut rng = Some(rng);
        let mut made: Option<Result<Box<dyn Side>, terse_tls::Error>> = None;
        let mut make = || {
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
        };
        self.watcher.borrow_mut().call(self.party(), &mut make);
        match made {
            Some(Ok(side)) => self.side = Some(side),
            Some(Err(error)) => self.fail(&error),
            None => {}
        }
    }

    fn fail(&mut self, error: &dyn core::fmt::Display) {
        self.failure.get_or_insert_with(|| error.to_string());
    }

    /// Runs a piece of the engine's work, under the probe.
    fn with(&mut self, run: impl FnOnce(&mut dyn Side) -> Result<(), terse_tls::Error>) {
        let party = self.party();
        let Some(side) = self.side.as_deref_mut() else { return };
        let (mut run, mut result) = (Some(run), Ok(()));
        self.watcher.borrow_mut().call(party, &mut || {
            if let Some(run) = run.take() {
                result = run(side);
            }
        });
        if let Err(error) = result {
            self.fail(&error);
        }
    }

    /// Records how far this side has come.
    fn note(&mut self, now: Time) {
        let reached = self.reached();
        if reached.connected {
            self.connected.get_or_insert(now);
        }
        if reached.answered {
            self.answered.get_or_insert(now);
        }
    }

    /// Reads and handles all input of a socket.
    fn receive(&mut self, now: Time, sockets: &mut Sockets<'_>, socket: SocketId) {
        self.first_input.get_or_insert(now);
        let engine_now = self.clock.now(now);
        if self.tcp.is_some() {
            let mut buffer = [0; 4096];
            loop {
                let len = sockets.recv(socket, &mut buffer);
                let Some(bytes) = buffer.get_mut(..len).filter(|bytes| !bytes.is_empty()) else { break };
                let from = self.peer;
                self.with(|side| side.input(engine_now, from, bytes));
            }
        } else {
            while let Some((from, mut datagram)) = sockets.recv_from(socket) {
                self.with(|side| side.input(engine_now, from, &mut datagram));
                self.flush(now, sockets); // the answer to one datagram is sent before the next one is taken
            }
        }
        self.send(now, sockets);
    }

    /// Sends what is ready, and then the application's answer.
    fn send(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.flush(now, sockets);
        if self.failure.is_none() {
            self.with(|side| side.answer());
            self.flush(now, sockets);
        }
    }

    /// Sends what is ready, including the alert of a side that failed.
    fn flush(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.note(now);
        let Some(socket) = self.socket else { return };
        let engine_now = self.clock.now(now);
        let mut buffer = vec![0; 0x1_0000];
        loop {
            let mut next = None;
            self.with(|side| {
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
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let remote = self.peer;
        self.socket = match (&self.role, &self.tcp) {
            (Role::Client { .. }, Some(config)) => sockets.connect(remote, config.clone()),
            (Role::Server { port, .. }, Some(config)) => sockets.listen(*port, config.clone()),
            (Role::Client { .. }, None) => sockets.bind(0),
            (Role::Server { port, .. }, None) => sockets.bind(*port),
        };
        if self.socket.is_none() {
            return self.fail(&"no socket");
        }
        if self.tcp.is_none() {
            self.begin(now);
            self.send(now, sockets);
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Connected(_) => {
                self.begin(now);
                self.send(now, sockets);
            }
            SocketEvent::Accepted { socket, remote, .. } => {
                (self.socket, self.peer) = (Some(socket), remote);
                self.begin(now);
            }
            SocketEvent::Readable(socket) => self.receive(now, sockets, socket),
            SocketEvent::Writable(_) => self.send(now, sockets),
            SocketEvent::PeerFinished(_) => {
                let engine_now = self.clock.now(now);
                self.with(|side| side.end_of_input(engine_now));
                self.send(now, sockets);
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

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let engine_now = self.clock.now(now);
        self.with(|side| side.expire(engine_now));
        self.send(now, sockets);
    }
}
