//! A server with many connections: it answers every request of every device, and can be away for a while.
//!
//! What must always hold: what it keeps is bounded by its devices; a server that begins anew has its configuration, whose caches,
//! sessions and keys a real one keeps on a disk, and no connections.

use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;

use terse_tls::{
    Connection, ConnectionHandle, Endpoint, EndpointEvent, EndpointLimits, Error, Event, Now, ServerConfig,
};

use super::message::{Request, answer};
use super::{Clock, Processor};
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::{Random, Time, tcp};

/// A server.
pub(crate) struct Server<'w, 'a> {
    config: Arc<ServerConfig>,
    limits: EndpointLimits,
    port: u16,
    tcp: Option<tcp::Config>,
    clock: Clock,
    random: Random,
    processor: Processor<'w, 'a>,
    socket: Option<SocketId>,
    /// All connections over datagrams.
    endpoint: Option<Endpoint>,
    streams: BTreeMap<SocketId, Stream>,
    /// From when until when the server is to be away.
    away: Option<(Time, Time)>,
    /// The reports that are noted: those that were made from the first of these times on, before the second one.
    noted: Option<(Time, Time)>,
    peers: BTreeMap<IpAddr, Peer>,
    buffer: Vec<u8>,
    /// Why the server cannot be run at all.
    pub(crate) failure: Option<String>,
}

/// What the server knows of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// When the last handshake was complete on the server's side.
    pub(crate) connected: Option<Time>,
    /// How many were.
    pub(crate) connections: u64,
    /// The number of the last request.
    last: Option<u32>,
    /// How long reports took to the server, while they are noted.
    pub(crate) latencies: Vec<Duration>,
}

/// A connection over TCP.
struct Stream {
    connection: Connection,
    from: SocketAddr,
    received: Vec<u8>,
    /// Output that TCP did not take yet.
    unsent: Vec<u8>,
}

impl<'w, 'a> Server<'w, 'a> {
    /// Creates a server, over TCP if that is given, otherwise over UDP.
    pub(crate) fn new(
        (config, limits, port): (Arc<ServerConfig>, EndpointLimits, u16),
        tcp: Option<tcp::Config>,
        clock: Clock,
        random: Random,
        processor: Processor<'w, 'a>,
    ) -> Self {
        Self {
            config,
            limits,
            port,
            tcp,
            clock,
            random,
            processor,
            socket: None,
            endpoint: None,
            streams: BTreeMap::new(),
            away: None,
            noted: None,
            peers: BTreeMap::new(),
            buffer: vec![0; LONGEST_OUTPUT],
            failure: None,
        }
    }

    /// Lets the server lose all connections at a time, and take new ones from another time on.
    pub(crate) const fn restart(&mut self, from: Time, until: Time) {
        self.away = Some((from, until));
    }

    /// Notes how long reports take that are made from one time on, before another one.
    pub(crate) const fn note_reports(&mut self, from: Time, until: Time) {
        self.noted = Some((from, until));
    }

    /// Returns what the server knows of a device.
    pub(crate) fn peer(&self, address: IpAddr) -> Option<&Peer> {
        self.peers.get(&address)
    }

    fn begin(&mut self, sockets: &mut Sockets<'_>) {
        self.socket = match &self.tcp {
            Some(config) => sockets.listen(self.port, config.clone()),
            None => sockets.bind(self.port),
        };
        if self.tcp.is_none() {
            match Endpoint::new(self.config.clone(), self.limits, &mut self.random) {
                Ok(endpoint) => self.endpoint = Some(endpoint),
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
    }

    fn end(&mut self, sockets: &mut Sockets<'_>) {
        self.endpoint = None;
        for (socket, _) in core::mem::take(&mut self.streams) {
            sockets.abort(socket);
        }
        if let Some(socket) = self.socket.take() {
            sockets.close(socket);
        }
    }

    fn now(&self, sockets: &Sockets<'_>) -> Now {
        self.clock.now(sockets.idle_at())
    }

    /// Takes a datagram, and sends what follows from it.
    fn datagram(&mut self, sockets: &mut Sockets<'_>, from: SocketAddr, datagram: &mut [u8]) {
        let now = self.now(sockets);
        let Self { endpoint: Some(endpoint), processor, random, .. } = self else { return };
        processor.run(sockets, &mut || endpoint.handle_datagram(now, random, from, datagram));
        self.events(sockets);
        self.flush(sockets);
    }

    /// Handles what the connections over datagrams have to say.
    fn events(&mut self, sockets: &mut Sockets<'_>) {
        let at = sockets.idle_at();
        let mut events: Vec<(ConnectionHandle, SocketAddr, EndpointEvent)> = Vec::new();
        if let Some(endpoint) = &mut self.endpoint {
            while let Some((handle, event)) = endpoint.poll_event() {
                events.extend(endpoint.address(handle).map(|from| (handle, from, event)));
            }
        }
        for (handle, from, event) in events {
            match event {
                EndpointEvent::Connected => self.connected(from.ip(), at),
                EndpointEvent::Data(mut data) => {
                    let answers = self.requests(from.ip(), at, &mut data);
                    let Self { endpoint: Some(endpoint), processor, .. } = self else { return };
                    for answer in answers {
                        // An answer that finds no room is as good as lost: the device asks again.
                        processor.run(sockets, &mut || _ = endpoint.send(handle, &answer));
                    }
                }
                EndpointEvent::PeerClosed => {
                    if let Some(connection) = self.endpoint.as_mut().and_then(|endpoint| endpoint.connection(handle)) {
                        connection.close();
                    }
                }
                EndpointEvent::Failed(_) => {
                    self.flush(sockets); // its alert
                    self.endpoint.iter_mut().for_each(|endpoint| endpoint.remove(handle));
                }
                _ => {}
            }
        }
    }

    /// Sends what connections over datagrams have to send.
    fn flush(&mut self, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.socket else { return };
        loop {
            let now = self.clock.now(sockets.idle_at());
            let Self { endpoint: Some(endpoint), processor, buffer, .. } = self else { return };
            let mut next = None;
            processor.run(sockets, &mut || next = endpoint.poll_transmit(now, buffer));
            let Some((to, len)) = next else { break };
            if let Err(error) = sockets.send_to(socket, to.address(), &self.buffer[..len]) {
                self.failure = Some(format!("a datagram of {len} bytes cannot be sent: {error:?}"));
            }
        }
    }

    fn connected(&mut self, address: IpAddr, at: Time) {
        let peer = self.peers.entry(address).or_default();
        (peer.connected, peer.last) = (Some(at), None);
        peer.connections += 1;
    }

    /// Takes the requests of some bytes, and returns the answers.
    fn requests(&mut self, address: IpAddr, at: Time, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        while let Some(request) = Request::take(bytes) {
            answers.push(answer(&request));
            let peer = self.peers.entry(address).or_default();
            let is_new = peer.last.is_none_or(|last| request.number.wrapping_sub(last) as i32 > 0);
            if is_new {
                peer.last = Some(request.number);
                if self.noted.is_some_and(|(from, until)| (from..until).contains(&request.at)) {
                    peer.latencies.push(at.since(request.at));
                }
            }
        }
        answers
    }

    /// Takes the bytes of a stream, and sends what follows from them.
    fn stream(&mut self, sockets: &mut Sockets<'_>, socket: SocketId) {
        let mut buffer = [0; 4_096];
        loop {
            let len = sockets.recv(socket, &mut buffer);
            let Some(bytes) = buffer.get_mut(..len).filter(|bytes| !bytes.is_empty()) else { break };
            let now = self.now(sockets);
            let Self { streams, processor, random, .. } = self;
            let Some(stream) = streams.get_mut(&socket) else { return };
            let mut result = Ok(());
            processor.run(sockets, &mut || result = stream.input(now, random, bytes));
            let at = sockets.idle_at();
            let (mut is_connected, mut is_closed) = (false, false);
            while let Some(event) = stream.connection.poll_event() {
                is_connected |= matches!(event, Event::Connected);
                is_closed |= matches!(event, Event::PeerClosed);
            }
            let (from, mut received) = (stream.from.ip(), core::mem::take(&mut stream.received));
            if is_connected {
                self.connected(from, at);
            }
            let answers = self.requests(from, at, &mut received);
            let Self { streams, processor, .. } = self;
            let Some(stream) = streams.get_mut(&socket) else { return };
            stream.received = received;
            processor.run(sockets, &mut || {
                for answer in &answers {
                    result = core::mem::replace(&mut result, Ok(())).and(stream.connection.send(answer).map(drop));
                }
            });
            if is_closed {
                stream.connection.close();
            }
            self.push(sockets, socket);
            if result.is_err() || is_closed {
                self.streams.remove(&socket);
                return sockets.close(socket);
            }
        }
    }

    /// Gives TCP as much of a stream's output as it takes.
    fn push(&mut self, sockets: &mut Sockets<'_>, socket: SocketId) {
        let now = self.now(sockets);
        let Self { streams, processor, buffer, .. } = self;
        let Some(Stream { connection, unsent, .. }) = streams.get_mut(&socket) else { return };
        processor.run(sockets, &mut || {
            while let Some(len) = connection.poll_transmit(now, buffer) {
                unsent.extend_from_slice(&buffer[..len]);
            }
        });
        let taken = sockets.send(socket, unsent);
        unsent.drain(..taken.min(unsent.len()));
    }
}

impl Stream {
    fn input(&mut self, now: Now, random: &mut Random, mut bytes: &mut [u8]) -> Result<(), Error> {
        let mut buffer = [0; 1_024];
        loop {
            let taken = self.connection.handle_input(now, random, bytes)?;
            loop {
                match self.connection.recv(&mut buffer) {
                    0 => break,
                    len => self.received.extend_from_slice(&buffer[..len]),
                }
            }
            match bytes.get_mut(taken..) {
                Some(rest) if !rest.is_empty() && taken > 0 => bytes = rest,
                _ => return Ok(()),
            }
        }
    }
}

impl Application for Server<'_, '_> {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.begin(sockets);
    }

    fn handle_event(&mut self, _now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Accepted { socket, remote: from, .. } => {
                match Connection::server(self.config.clone(), self.now(sockets)) {
                    Ok(connection) => {
                        let stream = Stream { connection, from, received: Vec::new(), unsent: Vec::new() };
                        self.streams.insert(socket, stream);
                    }
                    Err(error) => self.failure = Some(error.to_string()),
                }
            }
            SocketEvent::Readable(socket) if self.tcp.is_some() => self.stream(sockets, socket),
            SocketEvent::Readable(socket) => {
                while let Some((from, mut datagram)) = sockets.recv_from(socket) {
                    self.datagram(sockets, from, &mut datagram);
                }
            }
            SocketEvent::Writable(socket) => self.push(sockets, socket),
            SocketEvent::PeerFinished(socket) => {
                if self.streams.remove(&socket).is_some() {
                    sockets.close(socket);
                }
            }
            SocketEvent::Closed(socket) | SocketEvent::Failed(socket, _) => drop(self.streams.remove(&socket)),
            SocketEvent::Connected(_) => {}
        }
        if let Some(no_time) = &self.processor.no_time {
            self.failure = Some(no_time.to_string());
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let endpoint = self.endpoint.as_ref().and_then(Endpoint::poll_timeout).map(|at| self.clock.time(at));
        let away = self.away.map(|(from, until)| if self.socket.is_some() { from } else { until });
        [endpoint, away].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Some((from, until)) = self.away {
            if self.socket.is_some() && from <= now {
                self.end(sockets);
            }
            if self.socket.is_none() && until <= now {
                self.away = None;
                self.begin(sockets);
            }
        }
        let engine_now = self.now(sockets);
        if let Some(endpoint) = &mut self.endpoint {
            self.processor.run(sockets, &mut || endpoint.handle_timeout(engine_now));
            self.events(sockets);
            self.flush(sockets);
        }
    }
}

/// The longest output that an engine makes at a time: a record of TLS.
pub(super) const LONGEST_OUTPUT: usize = 1 << 16;
