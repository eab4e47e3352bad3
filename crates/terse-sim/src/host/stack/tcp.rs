//! The TCP sockets of a host: to which connection a segment belongs, and which events the program is told.
//!
//! A connection sends what it has after every segment and every call, as a kernel does, before the program can do more.

use std::net::{IpAddr, SocketAddr};

use super::{Listener, Socket, Stack};
use crate::Time;
use crate::host::{SocketEvent, SocketId};
use crate::network::{Cause, Verdict};
use crate::packet::{Packet, ip_header_len};
use crate::tcp::{Config, Connection, Ecn, Failure, Segment, State, Transmit};

/// A TCP socket.
#[derive(Debug)]
pub(in crate::host) struct Tcp {
    pub(in crate::host) connection: Connection,
    /// The address that the peer knows, and the port.
    pub(in crate::host) local: SocketAddr,
    remote: SocketAddr,
    /// The listening socket that accepted this connection, if the peer connected.
    listener: Option<SocketId>,
    /// Whether the connection waits to be opened until the program is no longer busy.
    held: bool,
    /// How many bytes the program has sent that leave when it is no longer busy.
    reserved: usize,
    wants_room: bool,
    reported: Reported,
}

/// The state that the program was told.
#[derive(Debug, Default)]
struct Reported {
    connected: bool,
    /// The number of bytes that could be read.
    readable: usize,
    finished: bool,
    ended: bool,
    /// Whether the program knows that the connection ended.
    knows_end: bool,
}

impl Tcp {
    pub(in crate::host) fn room(&self) -> usize {
        self.connection.send_capacity().saturating_sub(self.reserved)
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        if self.held { None } else { self.connection.poll_timeout() }
    }

    /// Returns the listener that counts this connection as half open, if it is.
    pub(super) fn half_open_at(&self) -> Option<SocketId> {
        self.listener.filter(|_| !self.reported.connected)
    }
}

impl Stack {
    pub(in crate::host) fn listen(&mut self, port: u16, local: Option<IpAddr>, config: Config) -> Option<SocketId> {
        let is_foreign = local.is_some_and(|local| !self.interfaces.is_own(local));
        if port == 0 || is_foreign || self.listeners.is_taken(port, local) {
            return None;
        }
        let socket = self.add(Socket::Listener(Listener { port, local, config, half_open: 0 }));
        self.listeners.insert(port, local, socket);
        Some(socket)
    }

    /// Creates a connection from `source`, which is an address of the host, and does not open it yet.
    pub(in crate::host) fn connect(
        &mut self,
        now: Time,
        source: IpAddr,
        remote: SocketAddr,
        config: Config,
    ) -> Option<SocketId> {
        if remote.is_ipv4() != source.is_ipv4() {
            return None;
        }
        let is_taken = |stack: &Self, port| {
            let local = SocketAddr::new(source, port);
            stack.connections.contains_key(&(local, remote)) || stack.listeners.is_taken(port, Some(source))
        };
        let local = SocketAddr::new(source, self.free_port(is_taken)?);
        let (config, initial) = (self.fitted(config, source, remote.ip()), self.random.next_u32());
        let connection = Connection::connect(config, local.port(), remote.port(), initial, now);
        Some(self.add_connection(connection, local, remote, None))
    }

    /// Opens a connection that [`Self::connect`] created.
    pub(super) fn begin(&mut self, now: Time, socket: SocketId) {
        if let Some(tcp) = self.tcp(socket) {
            tcp.held = false;
            self.after(now, socket);
        }
    }

    /// Returns how many of `len` bytes can be sent, and reserves room for them.
    pub(in crate::host) fn reserve(&mut self, socket: SocketId, len: usize) -> Option<usize> {
        let tcp = self.tcp(socket)?;
        let taken = len.min(tcp.room());
        tcp.reserved += taken;
        tcp.wants_room |= taken < len;
        Some(taken)
    }

    pub(super) fn send(&mut self, now: Time, socket: SocketId, data: &[u8]) {
        if let Some(tcp) = self.tcp(socket) {
            tcp.reserved -= data.len();
            tcp.connection.send(now, data);
            self.after(now, socket);
        }
    }

    pub(in crate::host) fn recv(&mut self, now: Time, socket: SocketId, out: &mut [u8]) -> usize {
        let Some(tcp) = self.tcp(socket) else { return 0 };
        let len = tcp.connection.recv(now, out);
        tcp.reported.readable = tcp.connection.readable();
        self.after(now, socket);
        len
    }

    pub(super) fn close(&mut self, now: Time, socket: SocketId) {
        if let Some(tcp) = self.tcp(socket) {
            tcp.connection.close(now);
            self.after(now, socket);
        }
    }

    pub(super) fn abort(&mut self, now: Time, socket: SocketId) {
        if let Some(tcp) = self.tcp(socket) {
            tcp.connection.abort(now);
            self.after(now, socket);
        }
    }

    /// Notes that the program knows that a connection ended.
    pub(in crate::host) fn let_go(&mut self, socket: SocketId) {
        if let Some(tcp) = self.tcp(socket) {
            tcp.reported.knows_end = true;
            self.forget_if_over(socket);
        }
    }

    pub(super) fn handle_segment(&mut self, now: Time, packet: &Packet, segment: &Segment) -> Verdict {
        let remote = SocketAddr::new(packet.source(), segment.source_port);
        let local = SocketAddr::new(packet.destination(), segment.destination_port);
        if !self.interfaces.is_own(local.ip()) {
            // RFC 9293, 3.10.7 is about two sides: a segment for a group gets no answer.
            return Verdict::Dropped(Cause::NobodyListens);
        }
        if let Some(socket) = self.connections.get(&(local, remote)).copied()
            && let Some(tcp) = self.tcp(socket)
        {
            tcp.connection.handle_segment(now, segment, packet.ecn());
            self.after(now, socket);
            return Verdict::Delivered;
        }
        if let Some(listener) = self.listeners.find(local.port(), local.ip())
            && let Some(Socket::Listener(Listener { config, half_open, .. })) = self.sockets.get(&listener)
        {
            let half_open = *half_open;
            let config = self.fitted(config.clone(), local.ip(), remote.ip());
            let initial = self.random.next_u32();
            if let Some(connection) = Connection::accept(config, segment, initial, now) {
                if half_open >= BACKLOG {
                    return Verdict::Dropped(Cause::SocketFull);
                }
                let socket = self.add_connection(connection, local, remote, Some(listener));
                self.begin(now, socket);
                return Verdict::Delivered;
            }
        }
        if let Some(segment) = segment.reset() {
            let reset = Transmit { segment, ecn: Ecn::NotEct };
            if let Some(packet) = Packet::tcp(local.ip(), remote.ip(), &reset) {
                self.transmit(packet);
            }
        }
        Verdict::Dropped(Cause::NobodyListens)
    }

    pub(super) fn connection_timeout(&mut self, now: Time, socket: SocketId) {
        #[cfg(test)]
        {
            self.timed_out += 1;
        }
        if let Some(tcp) = self.tcp(socket) {
            tcp.connection.handle_timeout(now);
            self.after(now, socket);
        }
    }

    fn tcp(&mut self, socket: SocketId) -> Option<&mut Tcp> {
        match self.sockets.get_mut(&socket) {
            Some(Socket::Tcp(tcp)) => Some(tcp),
            _ => None,
        }
    }

    /// Returns the configuration with an MSS that fits the MTU of the link towards `destination`.
    fn fitted(&self, config: Config, source: IpAddr, destination: IpAddr) -> Config {
        let mtu = self.interfaces.mtu(self.interfaces.leaving(source, destination));
        config.limited_to_mtu(mtu, ip_header_len(source))
    }

    fn add_connection(
        &mut self,
        connection: Connection,
        local: SocketAddr,
        remote: SocketAddr,
        listener: Option<SocketId>,
    ) -> SocketId {
        let socket = self.add(Socket::Tcp(Box::new(Tcp {
            connection,
            local,
            remote,
            listener,
            held: true,
            reserved: 0,
            wants_room: false,
            reported: Reported::default(),
        })));
        self.connections.insert((local, remote), socket);
        if let Some(half_open) = listener.and_then(|listener| self.half_open(listener)) {
            *half_open += 1;
        }
        socket
    }

    /// Returns the count of a listener's connections that are not established, if the listener is still there.
    fn half_open(&mut self, listener: SocketId) -> Option<&mut usize> {
        match self.sockets.get_mut(&listener) {
            Some(Socket::Listener(listener)) => Some(&mut listener.half_open),
            _ => None,
        }
    }

    /// Sends what a connection has, and tells the program what is new. It follows everything that happens to a
    /// connection.
    fn after(&mut self, now: Time, socket: SocketId) {
        let Some(Socket::Tcp(tcp)) = self.sockets.get_mut(&socket) else { return };
        if tcp.held {
            return;
        }
        let (from, to) = (tcp.local.ip(), tcp.remote.ip());
        let interface = self.interfaces.leaving(from, to);
        while let Some(transmit) = tcp.connection.poll_transmit(now) {
            self.outbox.extend(Packet::tcp(from, to, &transmit).map(|packet| (interface, packet)));
        }
        let mut no_longer_half_open = None;
        let Tcp { connection, reported, listener, remote, wants_room, reserved, .. } = &mut **tcp;
        if !reported.connected && connection.is_established() {
            reported.connected = true;
            no_longer_half_open = *listener;
            self.events.push_back(match *listener {
                Some(listener) => SocketEvent::Accepted { listener, socket, remote: *remote },
                None => SocketEvent::Connected(socket),
            });
        }
        if connection.readable() > reported.readable {
            self.events.push_back(SocketEvent::Readable(socket));
        }
        reported.readable = connection.readable();
        if !reported.finished && !reported.ended && connection.is_peer_finished() {
            reported.finished = true;
            self.events.push_back(SocketEvent::PeerFinished(socket));
        }
        if *wants_room && connection.send_capacity() > *reserved {
            *wants_room = false;
            self.events.push_back(SocketEvent::Writable(socket));
        }
        if !reported.ended && connection.is_closed() {
            reported.ended = true;
            match connection.failure() {
                None => self.events.push_back(SocketEvent::Closed(socket)),
                // The program aborted the connection itself.
                Some(Failure::Aborted) => reported.knows_end = true,
                Some(failure) => self.events.push_back(SocketEvent::Failed(socket, failure)),
            }
        }
        let deadline = tcp.poll_timeout();
        self.timers.set(socket, deadline);
        if let Some(half_open) = no_longer_half_open.and_then(|listener| self.half_open(listener)) {
            *half_open -= 1;
        }
        self.forget_if_over(socket);
    }

    /// Frees the ports of a connection that is over, and the socket when the program knows.
    fn forget_if_over(&mut self, socket: SocketId) {
        let Some(Socket::Tcp(tcp)) = self.sockets.get(&socket) else { return };
        if tcp.connection.state() != State::Closed {
            return;
        }
        let key = (tcp.local, tcp.remote);
        let knows_end = tcp.reported.knows_end;
        let half_open_at = tcp.half_open_at();
        if self.connections.get(&key) == Some(&socket) {
            self.connections.remove(&key);
        }
        if knows_end {
            self.sockets.remove(&socket);
            if let Some(half_open) = half_open_at.and_then(|listener| self.half_open(listener)) {
                *half_open -= 1;
            }
        }
    }
}

/// How many peers may be connecting to a socket at a time (as many as Linux's `tcp_max_syn_backlog` has at least).
const BACKLOG: usize = 128;
