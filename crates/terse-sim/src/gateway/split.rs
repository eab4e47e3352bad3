//! One split connection: two TCP connections, and what goes from each to the other.
//!
//! What must always hold: bytes arrive on the other side once and in order, as they came, or both connections are reset; no
//! byte is read before the other side has room for it, so that the windows of TCP hold a fast side back; a FIN follows the
//! last byte, and a reset ends both sides.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::{INTERNET, MESH};
use crate::Time;
use crate::packet::Packet;
use crate::tcp::{Connection, Ecn, Segment};

/// A TCP connection between a device and a server, which the proxy has split into two.
#[derive(Debug)]
pub struct SplitConnection {
    pair: Pair,
    /// The connections towards the mesh and towards the Internet.
    sides: [Connection; 2],
    /// Whether a side's FIN was passed on to the other.
    finished: [bool; 2],
    /// The time when something arrived last.
    heard: Time,
    /// The time when both connections had come to their end.
    over: Option<Time>,
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) device: SocketAddr,
    pub(super) server: SocketAddr,
}

impl SplitConnection {
    /// Joins two connections: one towards the device, whose SYN has arrived, and one towards the server.
    pub(super) const fn new(pair: Pair, sides: [Connection; 2], now: Time) -> Self {
        Self { pair, sides, finished: [false; 2], heard: now, over: None }
    }

    /// Returns the device in the mesh.
    pub const fn device(&self) -> SocketAddr {
        self.pair.device
    }

    /// Returns the server on the Internet.
    pub const fn server(&self) -> SocketAddr {
        self.pair.server
    }

    /// Returns the connection with the device.
    pub const fn mesh(&self) -> &Connection {
        &self.sides[MESH]
    }

    /// Returns the connection with the server.
    pub const fn internet(&self) -> &Connection {
        &self.sides[INTERNET]
    }

    /// Whether both connections have come to their end.
    pub const fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Returns when both connections had come to their end.
    pub(super) const fn over_since(&self) -> Option<Time> {
        self.over
    }

    pub(super) fn handle_segment(&mut self, now: Time, interface: usize, segment: &Segment, ecn: Ecn) {
        self.heard = now;
        self.sides[interface].handle_segment(now, segment, ecn);
    }

    /// Returns when [`Self::handle_timeout`] is due: for a timer of TCP, or the end of everything.
    pub(super) fn poll_timeout(&self, idle_timeout: Duration) -> Option<Time> {
        let timers = self.sides.iter().filter_map(Connection::poll_timeout);
        timers.chain([self.end(idle_timeout)]).min()
    }

    /// Handles the timers that are due. Returns whether the connection can be forgotten.
    pub(super) fn handle_timeout(&mut self, now: Time, idle_timeout: Duration) -> bool {
        if self.end(idle_timeout) <= now {
            if self.is_over() {
                return true;
            }
            for side in &mut self.sides {
                side.abort(now);
            }
        }
        for side in &mut self.sides {
            side.handle_timeout(now);
        }
        false
    }

    /// Passes on what can be passed on, and sends what the two connections have to send. It follows everything that
    /// happens to either.
    pub(super) fn advance(&mut self, now: Time, outbox: &mut VecDeque<(usize, Packet)>) {
        // As from a kernel, acknowledgements leave before the proxy reads.
        self.transmit(now, outbox);
        for (from, to) in [(MESH, INTERNET), (INTERNET, MESH)] {
            self.pass_on(now, from, to, outbox);
        }
        for (from, to) in [(MESH, INTERNET), (INTERNET, MESH)] {
            if self.sides[from].failure().is_some() && !self.sides[to].is_closed() {
                self.sides[to].abort(now);
            }
        }
        self.transmit(now, outbox);
        if self.sides.iter().all(Connection::is_closed) {
            self.over.get_or_insert(now);
        }
    }

    /// Passes on bytes, as many as the other side takes, and the FIN after the last.
    fn pass_on(&mut self, now: Time, from: usize, to: usize, outbox: &mut VecDeque<(usize, Packet)>) {
        let len = self.sides[from].readable().min(self.sides[to].send_capacity());
        if len > 0 {
            let mut bytes = vec![0; len];
            self.sides[from].recv(now, &mut bytes);
            self.transmit(now, outbox);
            self.sides[to].send(now, &bytes);
        }
        if self.sides[from].is_peer_finished() && !self.finished[from] {
            self.finished[from] = true;
            self.sides[to].close(now);
        }
    }

    /// Sends to each side in the name of the other.
    fn transmit(&mut self, now: Time, outbox: &mut VecDeque<(usize, Packet)>) {
        let Pair { device, server } = self.pair;
        let ways = [(server.ip(), device.ip()), (device.ip(), server.ip())];
        for (interface, (side, (source, destination))) in self.sides.iter_mut().zip(ways).enumerate() {
            while let Some(transmit) = side.poll_transmit(now) {
                let packet = Packet::tcp(source, destination, &transmit);
                outbox.extend(packet.map(|packet| (interface, packet)));
            }
        }
    }

    /// Returns when the connection is reset because nothing arrives, or is forgotten because it is over.
    fn end(&self, idle_timeout: Duration) -> Time {
        self.over.map_or(self.heard + idle_timeout, |over| over + LINGER)
    }
}

/// How long a connection is remembered that is over: as long as TIME-WAIT lasts in both profiles of TCP. What is still
/// under way is then answered here, and costs the mesh nothing.
const LINGER: Duration = Duration::from_secs(60);
