//! A performance-enhancing proxy (RFC 3135, 2.4: split connections), as in section 5 of the paper on TLS over 6TiSCH.
//!
//! A server's TCP knows nothing of the time that fragments take in a mesh, and repeats segments that are still under way
//! there. The proxy ends a device's connection as if it were the server, and opens one to the server as if it were the
//! device: addresses and ports are kept, so that neither knows. Each segment is acknowledged by the proxy, at once, and each
//! side's losses are repaired on that side.
//!
//! What must always hold: the number of connections, and the memory of each, is bounded; nothing but a deadline, a packet
//! or an earlier connection's end changes a connection.

#[cfg(test)]
mod tests;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use smoltcp::wire::IpProtocol;

use super::split::{Pair, SplitConnection};
use super::{INTERNET, MESH};
use crate::deadlines::Deadlines;
use crate::network::{Cause, Verdict};
use crate::packet::{Packet, ip_header_len};
use crate::recent::Recent;
use crate::route::Prefix;
use crate::tcp::{Config, Connection, Nagle, Segment};
use crate::{Random, Time};

/// What a proxy splits, and how it speaks TCP on both sides.
///
/// # Defaults
///
/// All servers, 1024 connections, reset after 2 hours and 4 minutes without a segment (RFC 5382, REQ-5). Towards the
/// Internet, TCP is [`Config::linux`]. Towards the mesh it is the same with a timeout of at least 3 s, and without what
/// makes headers longer or segments more: timestamps, window scaling, loss probes; and without Nagle's algorithm, since the
/// server has decided already which data waits for more. The paper without a proxy forces 3 s upon the server, as its first
/// timeout. Here they are the least as well: the round trip of a short SYN says little about a segment of ten fragments.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// TCP towards the mesh. The MSS is at most what the link there leaves room for, and what the device says.
    pub mesh: Config,
    /// TCP towards the Internet. The MSS is at most what the link there leaves room for.
    pub internet: Config,
    /// The servers whose connections are split; with none given, all are.
    pub servers: Vec<ServerPattern>,
    /// The most connections that are split at a time. Connections beyond are forwarded as they are: a device may then see
    /// more retransmissions, but with a reset it would see no server.
    pub maximum_connections: usize,
    /// The time after which a connection without any segment is reset. TCP has no timer for a peer that is gone while
    /// there is nothing to send.
    pub idle_timeout: Duration,
}

/// Servers, by address and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerPattern {
    /// The prefix of the addresses, or all.
    pub prefix: Option<Prefix>,
    /// The port, or all.
    pub port: Option<u16>,
}

/// The counters of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyStatistics {
    /// Connections that were split.
    pub split: u64,
    /// SYNs of connections that were forwarded as they are, because there was no room.
    pub unsplit: u64,
}

/// A performance-enhancing proxy.
#[derive(Debug)]
pub struct Proxy {
    config: ProxyConfig,
    random: Random,
    connections: BTreeMap<Pair, SplitConnection>,
    deadlines: Deadlines<Pair>,
    /// The connections that are over, by the time since when.
    over: Deadlines<Pair>,
    /// Connections that were forwarded as they are, and the time of the SYN: a repeated SYN must not be answered by two.
    unsplit: Recent<Pair, Time>,
    statistics: ProxyStatistics,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        let mesh = Config {
            timestamps: false,
            window_scale: None,
            loss_probe: false,
            nagle: Nagle::Off,
            rto_initial: Duration::from_secs(3),
            rto_minimum: Duration::from_secs(3),
            ..Config::linux()
        };
        Self {
            mesh,
            internet: Config::linux(),
            servers: Vec::new(),
            maximum_connections: 1024,
            idle_timeout: Duration::from_secs(2 * 3600 + 4 * 60),
        }
    }
}

impl ServerPattern {
    fn matches(&self, server: SocketAddr) -> bool {
        self.prefix.is_none_or(|prefix| prefix.contains(server.ip()))
            && self.port.is_none_or(|port| port == server.port())
    }
}

impl Proxy {
    pub(super) fn new(config: ProxyConfig, random: Random) -> Self {
        let unsplit = Recent::new(config.maximum_connections.max(LEAST_UNSPLIT));
        Self {
            config,
            random,
            connections: BTreeMap::new(),
            deadlines: Deadlines::default(),
            over: Deadlines::default(),
            unsplit,
            statistics: ProxyStatistics::default(),
        }
    }

    /// Returns the connections, those that are over included until they are forgotten.
    pub fn connections(&self) -> impl Iterator<Item = &SplitConnection> {
        self.connections.values()
    }

    /// Returns the counters.
    pub const fn statistics(&self) -> &ProxyStatistics {
        &self.statistics
    }

    /// Takes a packet that the gateway would forward, if it is of a connection that is split or will be. `mtus` are those
    /// of the two links.
    pub(super) fn handle_packet(
        &mut self,
        now: Time,
        (from, to): (usize, usize),
        packet: &Packet,
        mtus: [usize; 2],
        outbox: &mut VecDeque<(usize, Packet)>,
    ) -> Option<Verdict> {
        if packet.protocol() != IpProtocol::Tcp {
            return None;
        }
        let segment = Segment::parse(packet.payload()).ok()?;
        let source = SocketAddr::new(packet.source(), segment.source_port);
        let destination = SocketAddr::new(packet.destination(), segment.destination_port);
        let pair = match (from, to) {
            (MESH, INTERNET) => Pair { device: source, server: destination },
            (INTERNET, MESH) => Pair { device: destination, server: source },
            _ => return None,
        };
        let opens = from == MESH && segment.flags.syn && segment.acknowledgement.is_none();
        let known = self.connections.get(&pair);
        if known.is_none() && !(opens && self.splits(pair.server)) {
            return None;
        }
        if !packet.checksum_is_right() {
            return Some(Verdict::Dropped(Cause::Checksum));
        }
        if opens && known.is_none_or(SplitConnection::is_over) {
            self.open(now, pair, &segment, mtus)?;
        } else {
            self.connections.get_mut(&pair)?.handle_segment(now, from, &segment, packet.ecn());
        }
        self.after(now, pair, outbox);
        Some(Verdict::Delivered)
    }

    /// Returns when [`Self::handle_timeout`] is due.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.deadlines.next()
    }

    /// Handles the timers that are due.
    pub(super) fn handle_timeout(&mut self, now: Time, outbox: &mut VecDeque<(usize, Packet)>) {
        for pair in self.deadlines.due(now) {
            let Some(connection) = self.connections.get_mut(&pair) else { continue };
            if connection.handle_timeout(now, self.config.idle_timeout) {
                self.forget(pair);
            } else {
                self.after(now, pair, outbox);
            }
        }
    }

    fn splits(&self, server: SocketAddr) -> bool {
        self.config.servers.is_empty() || self.config.servers.iter().any(|pattern| pattern.matches(server))
    }

    /// Splits the connection of a SYN. Returns `None` if it is forwarded as it is.
    fn open(&mut self, now: Time, pair: Pair, syn: &Segment, mtus: [usize; 2]) -> Option<()> {
        let was_forwarded = self.unsplit.get(&pair).is_some_and(|since| now.since(*since) < SYNS_REPEATED);
        self.forget(pair);
        if was_forwarded || !self.make_room() {
            self.unsplit.insert(pair, now);
            self.statistics.unsplit += 1;
            return None;
        }
        let Pair { device, server } = pair;
        let config = |interface: usize, config: &Config| {
            config.clone().limited_to_mtu(mtus[interface], ip_header_len(server.ip()))
        };
        let mesh = Connection::accept(config(MESH, &self.config.mesh), syn, self.random.next_u32(), now)?;
        let internet = config(INTERNET, &self.config.internet);
        let internet = Connection::connect(internet, device.port(), server.port(), self.random.next_u32(), now);
        self.connections.insert(pair, SplitConnection::new(pair, [mesh, internet], now));
        self.unsplit.remove(&pair);
        self.statistics.split += 1;
        Some(())
    }

    /// Makes room for one more connection, if need be by forgetting the one that has been over for longest. Returns whether
    /// there is room.
    fn make_room(&mut self) -> bool {
        if self.connections.len() >= self.config.maximum_connections
            && let Some(oldest) = self.over.first()
        {
            self.forget(oldest);
        }
        self.connections.len() < self.config.maximum_connections
    }

    /// Lets a connection go on, and notes when it wants to be called. It follows everything that happens to a connection.
    fn after(&mut self, now: Time, pair: Pair, outbox: &mut VecDeque<(usize, Packet)>) {
        let Some(connection) = self.connections.get_mut(&pair) else { return };
        connection.advance(now, outbox);
        self.over.set(pair, connection.over_since());
        self.deadlines.set(pair, connection.poll_timeout(self.config.idle_timeout));
    }

    fn forget(&mut self, pair: Pair) {
        self.connections.remove(&pair);
        self.deadlines.set(pair, None);
        self.over.set(pair, None);
    }
}

/// The time in which a SYN may be repeated, as RFC 5382, REQ-5, allows for a connection that is being opened.
const SYNS_REPEATED: Duration = Duration::from_secs(4 * 60);
/// Of how many connections is remembered that they were forwarded as they are, at least.
const LEAST_UNSPLIT: usize = 1024;
