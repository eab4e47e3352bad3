//! A node of a DODAG (RFC 6550, 8 and 9): it joins by DIOs, chooses a parent, tells the root of it by DAOs, and helps others to
//! join.
//!
//! What must always hold: a node has no parent whose Rank is infinite or whose version is another one; its Rank is greater
//! than the one that its parent told it last; every table and queue has a bound. With [`Repair::Global`], parents make no loop.
//!
//! A node is in one DODAG of one instance. It takes another one only while it has no parent.

mod dao;
mod dio;
mod neighbours;
mod selection;

use std::collections::VecDeque;
use std::net::Ipv6Addr;

use dao::DaoSender;
use neighbours::Neighbours;

use super::config::{Repair, RplOptions};
use super::messages::{ALL_RPL_NODES, INFINITE_RANK, Message};
use super::of0::Of0;
use super::options::DodagConfiguration;
use super::routes::Routes;
use super::sequence::Sequence;
use super::trickle::Trickle;
use crate::Time;
use crate::chance::Chance;

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    options: RplOptions,
    chance: Chance,
    /// The global address.
    address: Ipv6Addr,
    dodag: Option<Dodag>,
    neighbours: Neighbours,
    dao: DaoSender,
    /// The root's.
    root: Option<Root>,
    /// When to ask for DIOs, and how often it was done.
    dis_at: Option<Time>,
    solicitations: u64,
    /// The number of the next interval of Trickle.
    interval: u64,
    output: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

/// The DODAG of a node, in one version.
#[derive(Debug)]
struct Dodag {
    id: Ipv6Addr,
    instance: u8,
    version: Sequence,
    configuration: DodagConfiguration,
    is_grounded: bool,
    preference: u8,
    dtsn: Sequence,
    rank: u16,
    /// L: the lowest Rank in this version.
    lowest: u16,
    parent: Option<Ipv6Addr>,
    trickle: Trickle,
}

/// What the root knows beyond.
#[derive(Debug)]
struct Root {
    routes: Routes,
    /// When the present version began.
    version_began: Time,
    /// When to begin another one.
    repair_at: Option<Time>,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transmit {
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    /// The neighbour to send it to; `None` for a multicast, and for what the root routes by its source routes.
    pub(crate) next_hop: Option<Ipv6Addr>,
    pub(crate) message: Message,
}

/// What has happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The node has another parent, or none.
    Parent { old: Option<Ipv6Addr>, new: Option<Ipv6Addr> },
    /// The root has begun a new version.
    Version(Sequence),
}

/// What becomes of a packet that a node forwards (RFC 6550, 11.2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// It is forwarded. `rank_error` is the R flag to put into it.
    Forward { rank_error: bool },
    /// It had met an inconsistency before, and is dropped.
    Drop,
}

impl Node {
    /// Creates the root of a DODAG whose identifier is its address.
    pub(crate) fn root(options: RplOptions, chance: Chance, address: Ipv6Addr, now: Time) -> Self {
        let mut node = Self::new(options, chance, address);
        let configuration = options.dodag;
        node.dodag = Some(Dodag {
            id: address,
            instance: options.instance,
            version: Sequence::FIRST,
            configuration,
            is_grounded: true,
            preference: 0,
            dtsn: Sequence::FIRST,
            rank: configuration.min_hop_rank_increase, // ROOT_RANK (17)
            lowest: configuration.min_hop_rank_increase,
            parent: None,
            trickle: Trickle::new(configuration.trickle, chance, node.id(), 0, now),
        });
        let routes = Routes::new(address, options.routes, options.max_hops);
        let repair_at = options.version_interval.map(|interval| now + interval);
        node.root = Some(Root { routes, version_began: now, repair_at });
        node
    }

    /// Creates a router that is in no DODAG yet.
    pub(crate) fn router(options: RplOptions, chance: Chance, address: Ipv6Addr, now: Time) -> Self {
        let mut node = Self::new(options, chance, address);
        node.solicit_later(now);
        node
    }

    fn new(options: RplOptions, chance: Chance, address: Ipv6Addr) -> Self {
        Self {
            options,
            chance,
            address,
            dodag: None,
            neighbours: Neighbours::new(options.neighbours),
            dao: DaoSender::default(),
            root: None,
            dis_at: None,
            solicitations: 0,
            interval: 0,
            output: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Handles a message that came from a neighbour, or for DAOs and DAO-ACKs from the end of a path. `destination` tells a
    /// multicast from a message to this node alone.
    pub(crate) fn handle_message(&mut self, now: Time, source: Ipv6Addr, destination: Ipv6Addr, message: &Message) {
        match message {
            Message::Dis(dis) => self.handle_dis(now, source, destination.is_multicast(), dis),
            Message::Dio(dio) => self.handle_dio(now, source, dio),
            Message::Dao(dao) => self.handle_dao(now, source, dao),
            Message::DaoAck(ack) => self.handle_dao_ack(now, ack),
        }
    }

    /// Counts a frame to a neighbour, and whether it was acknowledged.
    pub(crate) fn handle_transmission(&mut self, now: Time, neighbour: Ipv6Addr, is_acknowledged: bool) {
        let of0 = self.of0();
        let Some((before, after)) = self.neighbours.count(neighbour, is_acknowledged) else { return };
        // Most frames change nothing: this is called for each of them.
        if of0.rank_through(0, &before) != of0.rank_through(0, &after) {
            self.select_parent(now);
        }
    }

    /// Handles that a neighbour cannot be reached any more (8.2.1, rule 6).
    pub(crate) fn handle_unreachable(&mut self, now: Time, neighbour: Ipv6Addr) {
        self.neighbours.fail(neighbour);
        self.select_parent(now);
    }

    /// Returns when the node has something to do next.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let trickle = self.dodag.as_ref().map(|dodag| dodag.trickle.next_time());
        let repair = self.root.as_ref().and_then(|root| root.repair_at);
        [trickle, repair, self.dis_at, self.dao.next_time(), self.neighbours.next_time()].into_iter().flatten().min()
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.root.as_ref().and_then(|root| root.repair_at).is_some_and(|at| at <= now) {
            self.begin_version(now);
        }
        if self.neighbours.forget(now) {
            self.select_parent(now);
        }
        while self.dodag.as_mut().is_some_and(|dodag| dodag.trickle.handle_timeout(now)) {
            self.send_dio(ALL_RPL_NODES);
        }
        if self.dis_at.is_some_and(|at| at <= now) {
            self.solicit(now);
        }
        self.send_dao(now);
    }

    /// Returns the next message to send.
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.output.pop_front()
    }

    /// Returns what has happened next.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Begins a new version of the DODAG, if this is its root: a global repair (3.2.2).
    pub(crate) fn begin_version(&mut self, now: Time) {
        let (Some(root), Some(dodag)) = (&mut self.root, &mut self.dodag) else { return };
        root.version_began = now;
        root.repair_at = self.options.version_interval.map(|interval| now + interval);
        dodag.version = dodag.version.next();
        dodag.trickle.reset(now);
        let event = Event::Version(dodag.version);
        self.note(event);
    }

    /// Makes all nodes send their DAOs again, if this is the root (9.6).
    pub(crate) fn refresh_routes(&mut self, now: Time) {
        if let (Some(_), Some(dodag)) = (&self.root, &mut self.dodag) {
            dodag.dtsn = dodag.dtsn.next();
            dodag.trickle.reset(now);
        }
    }

    /// Decides what becomes of a packet that the node forwards, from its RPL Packet Information: the direction (O), whether an
    /// inconsistency was found before (R), and the Rank of the sender (11.2.2.2).
    pub(crate) fn forward(&mut self, now: Time, is_down: bool, rank_error: bool, sender_rank: u16) -> Forwarding {
        let own = self.dag_rank();
        let sender = self.of0().dag_rank(sender_rank);
        let is_consistent = if is_down { sender < own } else { sender > own };
        match (is_consistent, rank_error) {
            (true, _) => Forwarding::Forward { rank_error },
            (false, false) => Forwarding::Forward { rank_error: true },
            (false, true) => {
                if let Some(dodag) = &mut self.dodag {
                    dodag.trickle.reset(now);
                }
                Forwarding::Drop
            }
        }
    }

    /// Returns the parent: a link-local address.
    pub(crate) fn parent(&self) -> Option<Ipv6Addr> {
        self.dodag.as_ref()?.parent
    }

    /// Returns the Rank; INFINITE_RANK if the node has no parent.
    pub(crate) fn rank(&self) -> u16 {
        self.dodag.as_ref().map_or(INFINITE_RANK, |dodag| dodag.rank)
    }

    /// Returns DAGRank.
    pub(crate) fn dag_rank(&self) -> u16 {
        self.of0().dag_rank(self.rank())
    }

    /// Returns the Join Metric for beacons, DAGRank - 1 (RFC 8180, 6.1); `None` as long as the node must not send any (6.3).
    pub(crate) fn join_metric(&self) -> Option<u8> {
        let is_joined = self.rank() != INFINITE_RANK;
        is_joined.then(|| u8::try_from(self.dag_rank().saturating_sub(1)).unwrap_or(u8::MAX))
    }

    /// Returns the identifier and the version of the DODAG.
    pub(crate) fn dodag(&self) -> Option<(Ipv6Addr, Sequence)> {
        self.dodag.as_ref().map(|dodag| (dodag.id, dodag.version))
    }

    /// Returns the parents of all nodes, if this is the root.
    pub(crate) fn routes(&self) -> Option<&Routes> {
        self.root.as_ref().map(|root| &root.routes)
    }

    fn send_to_neighbour(&mut self, destination: Ipv6Addr, message: Message) {
        let next_hop = (!destination.is_multicast()).then_some(destination);
        self.send(Transmit { source: self.link_local(), destination, next_hop, message });
    }

    /// Queues a message, unless nobody takes them.
    fn send(&mut self, transmit: Transmit) {
        if self.output.len() < MOST_WAITING {
            self.output.push_back(transmit);
        }
    }

    fn note(&mut self, event: Event) {
        if self.events.len() >= MOST_WAITING {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn of0(&self) -> Of0 {
        let min_hop_rank_increase = self
            .dodag
            .as_ref()
            .map_or(self.options.of0.min_hop_rank_increase, |dodag| dodag.configuration.min_hop_rank_increase);
        Of0 { min_hop_rank_increase, ..self.options.of0 }
    }

    /// What distinguishes the chances of this node: its interface identifier.
    const fn id(&self) -> u64 {
        self.address.to_bits() as u64
    }

    const fn link_local(&self) -> Ipv6Addr {
        link_local(self.address)
    }
}

/// Returns the link-local address of the node that has a global address: both have one interface identifier (RFC 4291, 2.5.6).
pub(crate) const fn link_local(address: Ipv6Addr) -> Ipv6Addr {
    let identifier = address.to_bits() as u64;
    Ipv6Addr::from_bits(0xFE80 << 112 | identifier as u128)
}

/// Returns the global address of a neighbour, which shares its prefix of 64 bits with `global`.
const fn global(neighbour: Ipv6Addr, global: Ipv6Addr) -> Ipv6Addr {
    let identifier = neighbour.to_bits() as u64;
    Ipv6Addr::from_bits(global.to_bits() >> 64 << 64 | identifier as u128)
}

/// The most messages and events that wait to be taken.
const MOST_WAITING: usize = 16;

#[cfg(test)]
mod tests;
