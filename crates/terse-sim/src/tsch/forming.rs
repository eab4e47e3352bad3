//! A network forms itself: nodes join by beacons, find parents by RPL and get cells by 6P.
//!
//! What must always hold: the stacks of nodes are served after all frames of a slot, in the order of their numbers, each with
//! everything that happened to it in that slot; what they want sent can be sent from the next slot on.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use smoltcp::wire::IpProtocol;

use super::config::MeshConfig;
use super::formation::{AUTONOMOUS, FormationOptions, MINIMAL, NEGOTIATED};
use super::frame::{BROADCAST, Content, Frame};
use super::pool::Layer;
use super::schedule::{Cell, CellKind};
use super::slab::Slab;
use super::stack::{Identity, Joined, Stack, State};
use super::{Mesh, eui64_of, identifier_of};
use crate::Time;
use crate::asn::Asn;
use crate::cause::Cause;
use crate::chance::Chance;
use crate::layers::Layers;
use crate::ledger::Kind;
use crate::packet::Packet;
use crate::rpl::{self, INFINITE_RANK, link_local};
use crate::sixlowpan::{Context, compress};
use crate::sixtop::message::{CellOptions, Message, SixpCell};
use crate::sixtop::msf::{MacTiming, autonomous_cell};
use crate::sixtop::scheduling::CellChange;
use crate::sixtop::transaction::{Outgoing, Token};
use crate::synchronization::{Due, EnhancedBeacon};
use crate::tcp::Ecn;

/// What a network that forms itself has in common.
#[derive(Debug)]
pub(super) struct Forming {
    pub(super) options: FormationOptions,
    timing: MacTiming,
    channel_offsets: u16,
    /// The cell in which each node listens for all.
    pub(super) autonomous: Vec<SixpCell>,
    /// Nodes by interface identifier.
    pub(super) numbers: BTreeMap<[u8; 8], u16>,
    /// 6P messages in queues.
    pub(super) sixp: Slab<(Message, Token)>,
    /// Packets for all neighbours in queues.
    pub(super) multicasts: Slab<Multicast>,
    /// The length of a beacon, its FCS included.
    pub(super) beacon_len: usize,
}

/// A packet for all neighbours: a message of RPL.
#[derive(Clone, Debug)]
pub(super) struct Multicast {
    pub(super) message: rpl::Message,
    pub(super) destination: Ipv6Addr,
    pub(super) kind: Kind,
    /// The compressed packet.
    pub(super) bytes: Vec<u8>,
    /// Its layers, without the link's.
    pub(super) layers: Layers,
}

impl Forming {
    /// Lays a network out whose configuration was checked.
    pub(super) fn new(config: &MeshConfig, options: &FormationOptions) -> Self {
        let slotframe_length = config.slotframes.first().copied().unwrap_or(1);
        let timing = MacTiming {
            slot: config.timeslot.length(),
            slotframe_length,
            max_be: config.mac.max_be,
            max_retries: config.mac.max_retries,
        };
        let channel_offsets = config.hopping.len().clamp(1, 16) as u16;
        let cell = |address| autonomous_cell(options.hash(), eui64_of(address), slotframe_length, channel_offsets);
        let autonomous = config.motes.iter().map(|mote| cell(mote.address)).collect();
        let numbers = (0..).zip(&config.motes).map(|(number, mote)| (identifier_of(mote.address), number)).collect();
        let beacon = EnhancedBeacon::minimal(config.mac.pan, [0; 8], 0, 0, slotframe_length).encode();
        Self {
            options: options.clone(),
            timing,
            channel_offsets,
            autonomous,
            numbers,
            sixp: Slab::default(),
            multicasts: Slab::default(),
            beacon_len: beacon.map_or(0, |beacon| beacon.len()),
        }
    }

    /// Returns the node with this address, link-local or global.
    fn number_of(&self, address: Ipv6Addr) -> Option<u16> {
        self.numbers.get(&identifier_of(address)).copied()
    }

    pub(super) fn identity(&self, number: u16, config: &MeshConfig, chance: Chance) -> Identity<'_> {
        let address = config.motes[usize::from(number)].address;
        let auto_rx = self.autonomous[usize::from(number)].slot_offset;
        let Self { options, timing, channel_offsets, .. } = self;
        Identity { number, address, chance, options, timing: *timing, channel_offsets: *channel_offsets, auto_rx }
    }

    /// Returns the cells that a node has as soon as it is synchronised.
    pub(super) fn first_cells(&self, number: u16) -> [Cell; 2] {
        let SixpCell { slot_offset, channel_offset } = self.autonomous[usize::from(number)];
        let channel_offset = channel_offset as u8; // below 16
        [
            Cell { slotframe: MINIMAL, slot: 0, channel_offset: 0, kind: CellKind::Shared, peer: None },
            Cell { slotframe: AUTONOMOUS, slot: slot_offset, channel_offset, kind: CellKind::Rx, peer: None },
        ]
    }
}

impl Mesh {
    /// Switches all nodes on. The root has the network's time.
    pub(super) fn begin_forming(&mut self) {
        let Self { forming: Some(forming), motes, config, chance, .. } = self else { return };
        for (number, mote) in (0..).zip(motes.iter_mut()) {
            let identity = forming.identity(number, config, *chance);
            let stack = if number == 0 { Stack::root(&identity) } else { Stack::scanning(&identity, Asn(0)) };
            mote.stack = Some(Box::new(stack));
            mote.parent = None;
            if number == 0 {
                forming.first_cells(0).into_iter().for_each(|cell| mote.schedule.add(cell));
            }
        }
        self.flush(Time::ZERO, Asn(0), 0);
        self.reschedule(0, Asn(0));
    }

    /// Does for a node what is due after a slot, and what follows from the frames of it.
    pub(super) fn serve(&mut self, asn: Asn, number: u16) {
        if self.forming.is_some() {
            let now = self.config.timeslot.start(asn);
            self.run_timers(now, asn, number);
            self.flush(now, asn + 1, number);
        }
        self.reschedule(number, asn + 1);
    }

    /// Does for a node what is due after a slot.
    fn run_timers(&mut self, now: Time, asn: Asn, number: u16) {
        let mote = &mut self.motes[usize::from(number)];
        let Some(stack) = mote.stack.as_mut().filter(|stack| stack.timer.is_some_and(|timer| timer <= asn)) else {
            return;
        };
        let joined = match &mut stack.state {
            State::Off => return,
            State::Scanning { joining, .. } => {
                if let Some(beacon) = joining.handle_timeout(now) {
                    self.join(now, asn, number, &beacon);
                }
                return;
            }
            State::Joined(joined) => joined,
        };
        match joined.keep_alive.as_mut().and_then(|keep_alive| keep_alive.poll(asn.0)) {
            Some(Due::Desynchronised) => return self.leave(asn, number, false),
            Some(Due::KeepAlive) => {
                if let Some(source) = joined.source.filter(|_| mote.pool.allocate(Layer::Mac)) {
                    mote.queue.push_back(Frame::new(Content::KeepAlive, source, asn + 1));
                } else if let Some(keep_alive) = &mut joined.keep_alive {
                    keep_alive.handle_sent(asn.0);
                }
            }
            None => {}
        }
        let waiting = mote.queue.iter().filter(|frame| Some(frame.next_hop) == mote.parent).count();
        joined.sixtop.set_waiting(waiting as u16); // a pool has 255 frames at most
        if joined.sixtop.poll_timeout().is_some_and(|due| due <= asn) {
            joined.sixtop.handle_timeout(asn);
        }
        if joined.rpl.poll_timeout().is_some_and(|due| due <= now) {
            joined.rpl.handle_timeout(now);
        }
    }

    /// Takes everything that a node's stack has to say, at a time before the slot `ready`.
    pub(super) fn flush(&mut self, now: Time, ready: Asn, number: u16) {
        for _ in 0..MOST_ROUNDS {
            if !self.flush_one(now, ready, number) {
                break;
            }
        }
        self.plan(ready, number);
    }

    /// Takes the next thing that a node's stack has to say. Returns whether there was one.
    fn flush_one(&mut self, now: Time, ready: Asn, number: u16) -> bool {
        let asn = Asn(ready.0.saturating_sub(1));
        let Self { forming: Some(forming), motes, config, .. } = self else { return false };
        let mote = &mut motes[usize::from(number)];
        let Some(joined) = mote.stack.as_mut().and_then(|stack| stack.joined_mut()) else { return false };
        if let Some(event) = joined.rpl.poll_event() {
            if let rpl::Event::Parent { new, .. } = event {
                let parent = new.and_then(|address| forming.number_of(address));
                mote.parent = parent;
                joined.source = parent.or(joined.source);
                joined.sixtop.set_parent(asn, parent);
            }
        } else if let Some(transmit) = joined.rpl.poll_transmit() {
            self.send_rpl(now, ready, number, &transmit);
        } else if let Some(change) = joined.sixtop.poll_change() {
            self.change_cell(ready, number, &change);
        } else if let Some(outgoing) = joined.sixtop.poll_transmit() {
            let Outgoing { peer, message, token } = outgoing;
            if mote.pool.allocate(Layer::Mac) {
                let place = forming.sixp.insert((message, token));
                mote.queue.push_back(Frame::new(Content::Sixp(place), peer, ready));
            } else {
                joined.sixtop.sent(asn, token, false);
            }
        } else if let Some((peer, until)) = joined.sixtop.poll_quarantine() {
            joined.quarantines.retain(|(other, until)| *other != peer && asn < *until);
            joined.quarantines.push((peer, until));
            // RFC 9033, 12: the node is no neighbour and no next hop either.
            joined.rpl.handle_unreachable(now, link_local(config.motes[usize::from(peer)].address));
        } else {
            return false;
        }
        true
    }

    /// Sets when a node's stack is to be called next, and when it sends its next beacon.
    fn plan(&mut self, ready: Asn, number: u16) {
        let Self { forming: Some(forming), motes, config, chance, .. } = self else { return };
        let mote = &mut motes[usize::from(number)];
        let parent = mote.parent;
        let Some(stack) = mote.stack.as_mut() else { return };
        let slot_of = |time: Time| config.timeslot.after(time);
        stack.timer = match &mut stack.state {
            State::Off => None,
            State::Scanning { joining, .. } => joining.next_time().map(slot_of),
            State::Joined(joined) => {
                let is_ready = joined.is_settled(number, parent) && joined.rpl.join_metric().is_some();
                let one_in = if is_ready { forming.options.beacons.one_in(joined.neighbours.len()) } else { 0 };
                joined.plan_beacon((*chance, number), one_in, ready, forming.timing.slotframe_length);
                let keep_alive = joined.keep_alive.as_ref().map(|keep_alive| Asn(keep_alive.next()));
                let rpl = joined.rpl.poll_timeout().map(slot_of);
                [keep_alive, rpl, joined.sixtop.poll_timeout()].into_iter().flatten().min()
            }
        };
    }

    /// Sends a message of RPL.
    fn send_rpl(&mut self, now: Time, ready: Asn, number: u16, transmit: &rpl::Transmit) {
        let rpl::Transmit { source, destination, next_hop, message } = transmit;
        let kind = match message {
            rpl::Message::Dis(_) => Kind::Dis,
            rpl::Message::Dio(_) => Kind::Dio,
            rpl::Message::Dao(_) => Kind::Dao,
            rpl::Message::DaoAck(_) => Kind::DaoAck,
        };
        if destination.is_multicast() && !self.may_invite(number, message) {
            return;
        }
        let bytes = message.encode(*source, *destination);
        let (from, to) = (IpAddr::V6(*source), IpAddr::V6(*destination));
        let Some(mut packet) = Packet::new(from, to, IpProtocol::Icmpv6, Ecn::NotEct, &bytes) else { return };
        if destination.is_multicast() {
            packet.set_hop_limit(HOP_LIMIT_OF_GROUPS);
            return self.queue_multicast(ready, number, transmit, kind, &packet);
        }
        let first_hop = next_hop.and_then(|address| self.forming.as_ref()?.number_of(address));
        let end = if kind == Kind::DaoAck { 0 } else { number };
        self.send_as(now, end, &packet, Some(kind), first_hop);
    }

    /// Whether a node may send this to all its neighbours. As long as it has no negotiated cell to its parent, nobody is to choose it
    /// (RFC 9033, 4.6 and 4.7); that it is no router any more must be said in any case.
    fn may_invite(&self, number: u16, message: &rpl::Message) -> bool {
        let rpl::Message::Dio(dio) = message else { return true };
        let parent = self.parent(number);
        dio.rank == INFINITE_RANK || self.joined(number).is_some_and(|joined| joined.is_settled(number, parent))
    }

    /// Queues a packet for all neighbours. One of its kind that still waits is replaced: what it says is old.
    fn queue_multicast(&mut self, ready: Asn, number: u16, transmit: &rpl::Transmit, kind: Kind, packet: &Packet) {
        let Self { forming: Some(forming), motes, .. } = self else { return };
        let mote = &mut motes[usize::from(number)];
        let context = Context { from: Some(mote.eui64), to: None, prefix: None, compresses_udp: true };
        let compressed = compress(packet, &context);
        let rpl::Transmit { destination, message, .. } = transmit.clone();
        let (bytes, layers) = (compressed.bytes, compressed.layers);
        let multicast = Multicast { message, destination, kind, bytes, layers };
        let waiting = mote.queue.iter().find_map(|frame| match frame.content {
            Content::Multicast(place) if forming.multicasts.get(place).is_some_and(|old| old.kind == kind) => {
                Some(place)
            }
            _ => None,
        });
        match waiting.and_then(|place| forming.multicasts.get_mut(place)) {
            Some(old) => *old = multicast,
            None if mote.pool.allocate(Layer::Upper) => {
                let place = forming.multicasts.insert(multicast);
                mote.queue.push_back(Frame::new(Content::Multicast(place), BROADCAST, ready));
            }
            None => {}
        }
    }

    /// Brings a node's schedule up to date with a cell that 6P has added or removed.
    fn change_cell(&mut self, ready: Asn, number: u16, change: &CellChange) {
        let CellChange { peer, cell, options, is_added } = *change;
        let kind = if options.has(CellOptions::TX) { CellKind::Tx } else { CellKind::Rx };
        let channel_offset = (cell.channel_offset & 0x0F) as u8;
        let cell = Cell { slotframe: NEGOTIATED, slot: cell.slot_offset, channel_offset, kind, peer: Some(peer) };
        let mote = &mut self.motes[usize::from(number)];
        mote.power.settle(&mote.schedule, ready);
        if is_added {
            mote.schedule.add(cell);
        } else {
            mote.schedule.remove(&cell);
        }
    }

    /// Forgets what a frame carries, which is gone for a cause.
    pub(super) fn drop_content(&mut self, frame: &Frame, cause: Cause) {
        match (frame.content, &mut self.forming) {
            (Content::Piece(piece), _) => self.datagrams.gone(piece.datagram, 1, Some(cause)),
            (Content::Sixp(place), Some(forming)) => drop(forming.sixp.remove(place)),
            (Content::Multicast(place), Some(forming)) => drop(forming.multicasts.remove(place)),
            _ => {}
        }
    }

    /// Handles a message of RPL that a packet has brought to its destination. Returns whether it was one.
    pub(super) fn take_rpl(&mut self, now: Time, number: u16, packet: &Packet) -> bool {
        let (IpAddr::V6(source), IpAddr::V6(destination)) = (packet.source(), packet.destination()) else {
            return false;
        };
        let Ok(message) = rpl::Message::parse(source, destination, packet.payload()) else { return false };
        if let Some(joined) = self.joined_mut(number) {
            joined.rpl.handle_message(now, source, destination, &message);
        }
        let ready = self.config.timeslot.after(now);
        self.flush(now, ready, number);
        self.reschedule(number, ready);
        true
    }

    pub(super) fn joined_mut(&mut self, number: u16) -> Option<&mut Joined> {
        self.motes.get_mut(usize::from(number))?.stack.as_mut()?.joined_mut()
    }

    pub(super) fn joined(&self, number: u16) -> Option<&Joined> {
        self.motes.get(usize::from(number))?.stack.as_ref()?.joined()
    }

    /// Returns the link-local address by which nodes know a neighbour.
    pub(super) fn link_local(&self, number: u16) -> Ipv6Addr {
        link_local(self.config.motes[usize::from(number)].address)
    }
}

/// The most things that a stack has to say at a time: more are left for the next slot.
const MOST_ROUNDS: usize = 128;
/// RPL's messages for neighbours do not leave the link.
const HOP_LIMIT_OF_GROUPS: u8 = 255;
