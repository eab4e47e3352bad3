//! The sockets of a host, and the layers between them and the link.

mod tcp;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use smoltcp::wire::{IpProtocol, UDP_HEADER_LEN, UdpPacket};

use super::{SocketEvent, SocketId};
use crate::network::{Cause, Verdict};
use crate::packet::{Packet, ip_header_len};
use crate::tcp::{Config, Segment};
use crate::{Random, Time};

pub(super) use tcp::Tcp;

/// Everything of a host but its program.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) address: IpAddr,
    pub(super) mtu: usize,
    pub(super) sockets: BTreeMap<SocketId, Socket>,
    /// Events that the program has not been told yet.
    pub(super) events: VecDeque<SocketEvent>,
    pub(super) busy_until: Time,
    /// Operations of the program that wait until it is no longer busy, in order.
    deferred: VecDeque<(Time, Operation)>,
    outbox: VecDeque<Packet>,
    udp_ports: BTreeMap<u16, SocketId>,
    listeners: BTreeMap<u16, SocketId>,
    /// The connections by local port and peer.
    connections: BTreeMap<(u16, SocketAddr), SocketId>,
    next_socket: u32,
    next_port: u16,
    random: Random,
}

#[derive(Debug)]
pub(super) enum Socket {
    Udp(Udp),
    Listener(Listener),
    Tcp(Box<Tcp>),
}

#[derive(Debug)]
pub(super) struct Udp {
    port: u16,
    pub(super) received: VecDeque<(SocketAddr, Vec<u8>)>,
}

#[derive(Debug)]
pub(super) struct Listener {
    port: u16,
    config: Config,
}

/// An operation of the program.
#[derive(Debug)]
pub(super) enum Operation {
    SendTo(SocketId, SocketAddr, Vec<u8>),
    Connect(SocketId),
    Send(SocketId, Vec<u8>),
    Close(SocketId),
    Abort(SocketId),
}

impl Stack {
    pub(super) fn new(address: IpAddr, mut random: Random) -> Self {
        Self {
            address,
            mtu: usize::MAX,
            sockets: BTreeMap::new(),
            events: VecDeque::new(),
            busy_until: Time::ZERO,
            deferred: VecDeque::new(),
            outbox: VecDeque::new(),
            udp_ports: BTreeMap::new(),
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            next_socket: 0,
            next_port: EPHEMERAL | (random.next_u32() as u16),
            random,
        }
    }

    pub(super) const fn longest_datagram(&self) -> usize {
        let longest = if self.mtu < MAX_PACKET { self.mtu } else { MAX_PACKET };
        longest.saturating_sub(ip_header_len(self.address) + UDP_HEADER_LEN)
    }

    /// Carries an operation out now, or when the program is no longer busy.
    pub(super) fn put(&mut self, now: Time, operation: Operation) {
        if self.busy_until > now {
            self.deferred.push_back((self.busy_until, operation));
        } else {
            self.carry_out_one(now, operation);
        }
    }

    /// Carries out the deferred operations that are due.
    pub(super) fn carry_out(&mut self, now: Time) {
        while self.deferred.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, operation)) = self.deferred.pop_front() else { return };
            self.carry_out_one(now, operation);
        }
    }

    fn carry_out_one(&mut self, now: Time, operation: Operation) {
        match operation {
            Operation::SendTo(socket, remote, datagram) => {
                let Some(Socket::Udp(udp)) = self.sockets.get(&socket) else { return };
                let local = SocketAddr::new(self.address, udp.port);
                self.outbox.extend(Packet::udp(local, remote, &datagram));
            }
            Operation::Connect(socket) => self.begin(now, socket),
            Operation::Send(socket, data) => self.send(now, socket, &data),
            Operation::Abort(socket) => self.abort(now, socket),
            Operation::Close(socket) => match self.sockets.get(&socket) {
                Some(Socket::Udp(Udp { port, .. })) => {
                    self.udp_ports.remove(port);
                    self.sockets.remove(&socket);
                }
                Some(Socket::Listener(Listener { port, .. })) => {
                    self.listeners.remove(port);
                    self.sockets.remove(&socket);
                }
                Some(Socket::Tcp(_)) => self.close(now, socket),
                None => {}
            },
        }
    }

    pub(super) fn bind(&mut self, port: u16) -> Option<SocketId> {
        let port = if port == 0 { self.free_port(|stack, port| stack.udp_ports.contains_key(&port))? } else { port };
        if self.udp_ports.contains_key(&port) {
            return None;
        }
        let socket = self.add(Socket::Udp(Udp { port, received: VecDeque::new() }));
        self.udp_ports.insert(port, socket);
        Some(socket)
    }

    pub(super) fn handle_packet(&mut self, now: Time, packet: &Packet) -> Verdict {
        if packet.destination() != self.address {
            return Verdict::Dropped(Cause::Misdirected);
        }
        match packet.protocol() {
            IpProtocol::Udp => self.handle_datagram(packet),
            IpProtocol::Tcp if !packet.checksum_is_right() => Verdict::Dropped(Cause::Checksum),
            IpProtocol::Tcp => match Segment::parse(packet.payload()) {
                Ok(segment) => self.handle_segment(now, packet, &segment),
                Err(_) => Verdict::Dropped(Cause::Malformed),
            },
            _ => Verdict::Dropped(Cause::NobodyListens),
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Packet> {
        self.outbox.pop_front()
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let deferred = self.deferred.front().map(|(at, _)| *at);
        self.sockets.values().filter_map(Socket::poll_timeout).chain(deferred).min()
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.carry_out(now);
        let due = |socket: &Socket| socket.poll_timeout().is_some_and(|at| at <= now);
        let due: Vec<_> = self.sockets.iter().filter(|(_, socket)| due(socket)).map(|(id, _)| *id).collect();
        for socket in due {
            self.connection_timeout(now, socket);
        }
    }

    fn handle_datagram(&mut self, packet: &Packet) -> Verdict {
        let Ok(datagram) = UdpPacket::new_checked(packet.payload()) else {
            return Verdict::Dropped(Cause::Malformed);
        };
        if !packet.checksum_is_right() {
            return Verdict::Dropped(Cause::Checksum);
        }
        let Some(socket) = self.udp_ports.get(&datagram.dst_port()).copied() else {
            return Verdict::Dropped(Cause::NobodyListens);
        };
        let Some(Socket::Udp(udp)) = self.sockets.get_mut(&socket) else {
            return Verdict::Dropped(Cause::NobodyListens);
        };
        if udp.received.len() >= WAITING_DATAGRAMS {
            return Verdict::Dropped(Cause::SocketFull);
        }
        let remote = SocketAddr::new(packet.source(), datagram.src_port());
        udp.received.push_back((remote, datagram.payload().to_vec()));
        self.events.push_back(SocketEvent::Readable(socket));
        Verdict::Delivered
    }

    fn add(&mut self, socket: Socket) -> SocketId {
        let id = SocketId(self.next_socket);
        self.next_socket += 1;
        self.sockets.insert(id, socket);
        id
    }

    fn free_port(&mut self, is_taken: impl Fn(&Self, u16) -> bool) -> Option<u16> {
        for _ in EPHEMERAL..=u16::MAX {
            let port = self.next_port;
            self.next_port = if port == u16::MAX { EPHEMERAL } else { port + 1 };
            if !is_taken(self, port) {
                return Some(port);
            }
        }
        None
    }
}

impl Socket {
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Tcp(tcp) => tcp.poll_timeout(),
            Self::Udp(_) | Self::Listener(_) => None,
        }
    }
}

/// The first port that a host takes by itself (RFC 6335, 6).
const EPHEMERAL: u16 = 49152;
/// The number of datagrams that wait in a socket; a kernel counts bytes (212,992 by default in Linux), which is about
/// as many.
const WAITING_DATAGRAMS: usize = 128;
/// About the longest IP packet that exists.
const MAX_PACKET: usize = 65_535;
