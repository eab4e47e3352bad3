//! The sockets of a host, and the layers between them and the link.

mod icmpv6;
mod interfaces;
mod ports;
mod tcp;
#[cfg(test)]
mod tests;
mod udp;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use smoltcp::wire::{IpProtocol, UDP_HEADER_LEN};

use super::{SocketEvent, SocketId};
use crate::deadlines::Deadlines;
use crate::network::{Cause, Verdict};
use crate::packet::{Packet, ip_header_len};
use crate::tcp::{Config, Segment};
use crate::{Random, Time};

use icmpv6::PortReports;
use interfaces::Interfaces;
use ports::Ports;
pub(super) use tcp::Tcp;
pub(super) use udp::Udp;

/// Everything of a host but its program.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) interfaces: Interfaces,
    pub(super) sockets: BTreeMap<SocketId, Socket>,
    /// Events that the program has not been told yet.
    pub(super) events: VecDeque<SocketEvent>,
    pub(super) busy_until: Time,
    /// Operations of the program that wait until it is no longer busy, in order.
    deferred: VecDeque<(Time, Operation)>,
    /// What is to be sent, and through which interface.
    outbox: VecDeque<(usize, Packet)>,
    udp_ports: Ports,
    listeners: Ports,
    /// The connections by local address and peer.
    connections: BTreeMap<(SocketAddr, SocketAddr), SocketId>,
    /// The timers of the connections.
    timers: Deadlines<SocketId>,
    port_reports: PortReports,
    /// The number of connections that the timer has called.
    #[cfg(test)]
    timed_out: usize,
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
pub(super) struct Listener {
    port: u16,
    /// The address that the socket is bound to; `None` for all of the host's.
    local: Option<IpAddr>,
    config: Config,
    /// The number of connections whose peers have not answered the SYN-ACK.
    half_open: usize,
}

/// An operation of the program.
#[derive(Debug)]
pub(super) enum Operation {
    /// A datagram, from an address of the host's own.
    SendTo(SocketId, IpAddr, SocketAddr, Vec<u8>),
    Connect(SocketId),
    Send(SocketId, Vec<u8>),
    Close(SocketId),
    Abort(SocketId),
}

impl Stack {
    pub(super) fn new(address: IpAddr, mut random: Random) -> Self {
        Self {
            interfaces: Interfaces::new(address),
            sockets: BTreeMap::new(),
            events: VecDeque::new(),
            busy_until: Time::ZERO,
            deferred: VecDeque::new(),
            outbox: VecDeque::new(),
            udp_ports: Ports::default(),
            listeners: Ports::default(),
            connections: BTreeMap::new(),
            timers: Deadlines::default(),
            port_reports: PortReports::default(),
            #[cfg(test)]
            timed_out: 0,
            next_socket: 0,
            next_port: EPHEMERAL | (random.next_u32() as u16),
            random,
        }
    }

    /// Lets the host say by ICMPv6 that nobody listens at a port.
    pub(super) const fn report_unreachable_ports(&mut self) {
        self.port_reports.enabled = true;
    }

    /// Returns the length of the longest datagram from one address to another that leaves the host.
    pub(super) fn longest_datagram(&self, source: IpAddr, destination: IpAddr) -> usize {
        let mtu = self.interfaces.mtu(self.interfaces.leaving(source, destination));
        mtu.min(MAX_PACKET).saturating_sub(ip_header_len(source) + UDP_HEADER_LEN)
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
            Operation::SendTo(socket, source, remote, datagram) => {
                self.send_datagram(socket, source, remote, &datagram);
            }
            Operation::Connect(socket) => self.begin(now, socket),
            Operation::Send(socket, data) => self.send(now, socket, &data),
            Operation::Abort(socket) => self.abort(now, socket),
            Operation::Close(socket) => match self.sockets.get(&socket) {
                Some(Socket::Udp(Udp { port, local, .. })) => {
                    self.udp_ports.remove(*port, *local);
                    self.sockets.remove(&socket);
                }
                Some(Socket::Listener(Listener { port, local, .. })) => {
                    self.listeners.remove(*port, *local);
                    self.sockets.remove(&socket);
                }
                Some(Socket::Tcp(_)) => self.close(now, socket),
                None => {}
            },
        }
    }

    pub(super) fn handle_packet(&mut self, now: Time, packet: &Packet) -> Verdict {
        if !self.interfaces.is_local(packet.destination()) {
            return Verdict::Dropped(Cause::Misdirected);
        }
        match packet.protocol() {
            IpProtocol::Udp => self.handle_datagram(now, packet),
            IpProtocol::Icmpv6 => self.handle_icmpv6(packet),
            IpProtocol::Tcp if !packet.checksum_is_right() => Verdict::Dropped(Cause::Checksum),
            IpProtocol::Tcp => match Segment::parse(packet.payload()) {
                Ok(segment) => self.handle_segment(now, packet, &segment),
                Err(_) => Verdict::Dropped(Cause::Malformed),
            },
            _ => Verdict::Dropped(Cause::NobodyListens),
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<(usize, Packet)> {
        self.outbox.pop_front()
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let deferred = self.deferred.front().map(|(at, _)| *at);
        self.timers.next().into_iter().chain(deferred).min()
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.carry_out(now);
        for socket in self.timers.due(now) {
            self.connection_timeout(now, socket);
        }
    }

    /// Sends a packet through the interface of its route.
    fn transmit(&mut self, packet: Packet) {
        let interface = self.interfaces.leaving(packet.source(), packet.destination());
        self.outbox.push_back((interface, packet));
    }

    fn add(&mut self, socket: Socket) -> SocketId {
        let id = SocketId(self.next_socket);
        self.next_socket += 1;
        self.sockets.insert(id, socket);
        id
    }

    /// Sets the port that is tried next when a socket is bound to none.
    pub(super) const fn set_next_port(&mut self, port: u16) {
        self.next_port = port;
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

/// The first port that a host takes by itself (RFC 6335, 6).
const EPHEMERAL: u16 = 49152;
/// About the longest IP packet that exists.
const MAX_PACKET: usize = 65_535;
