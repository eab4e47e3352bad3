//! 6LoWPAN over several hops: packets become frames, fragments are forwarded as they come (RFC 8930), and packets are complete
//! at their destination (RFC 4944, 5.3).
//!
//! What must always hold: a fragment that waits for others keeps its place in the pool of the node, as in OpenWSN; the gateway,
//! which is a computer, keeps [`GATEWAY_BUFFERS`] packets at most.

use std::cmp::Reverse;

use super::datagram::{Datagram, Way};
use super::frame::{Content, Frame, Information, Piece};
use super::mote::{Forwarding, Partial};
use super::pool::Layer;
use super::{Arrival, Mesh, identifier_of};
use crate::Time;
use crate::asn::Asn;
use crate::cause::Cause;
use crate::chance::Purpose;
use crate::direction::Direction;
use crate::ledger::Kind;
use crate::packet::Packet;
use crate::rpl::{self, INFINITE_RANK};
use crate::sixlowpan::routing::Routing;
use crate::verdict::Verdict;

impl Mesh {
    /// Takes a packet from the node at an end of the medium.
    pub(crate) fn send(&mut self, now: Time, end: u16, packet: &Packet) {
        self.send_as(now, end, packet, None, None);
        self.arm();
    }

    /// Takes a packet, whose kind may be known, and whose first hop may be another one than the routes say.
    pub(super) fn send_as(&mut self, now: Time, end: u16, packet: &Packet, kind: Option<Kind>, first_hop: Option<u16>) {
        self.datagrams.balance.sent.add(packet.len());
        if let Err(cause) = self.prepare(now, end, packet, kind, first_hop) {
            self.datagrams.drop_one(cause, packet.len(), kind);
        }
    }

    /// Makes frames of a packet. Either all of them are in a queue, or none.
    fn prepare(
        &mut self,
        now: Time,
        end: u16,
        packet: &Packet,
        kind: Option<Kind>,
        first_hop: Option<u16>,
    ) -> Result<(), Cause> {
        if packet.len() > self.config.mtu {
            return Err(Cause::TooLong);
        }
        let way = self.way(now, end, packet, first_hop)?;
        let (goes_up, sender_rank) = (way.route.is_empty(), way.rank);
        let direction = if goes_up { Direction::Up } else { Direction::Down };
        let kind = kind.unwrap_or_else(|| self.classifiers[direction.index()].classify(packet));
        let (number, tag) = (self.next_number, self.next_tag);
        let routed = if goes_up { self.motes[usize::from(end)].parent } else { way.route.first().copied() };
        let first_hop = first_hop.or(routed).ok_or(Cause::NoRoute)?;
        let datagram = Datagram::new(packet, kind, way, (number, tag), &self.config.sixlowpan)?;
        let pieces = datagram.pieces();
        // A packet of the network itself that is refused leaves nothing behind, not even a number.
        let (next_number, next_tag) = (number + 1, tag.wrapping_add(u16::from(datagram.is_fragmented())));
        if !kind.is_of_network() {
            (self.next_number, self.next_tag) = (next_number, next_tag);
        }
        if goes_up {
            let pool = &mut self.motes[usize::from(end)].pool;
            for taken in 0..pieces {
                if !pool.allocate(Layer::Upper) {
                    pool.free(taken);
                    return Err(Cause::QueueFull);
                }
            }
        } else {
            self.capture_packet(now, direction, packet);
        }
        (self.next_number, self.next_tag) = (next_number, next_tag);
        let ready = self.config.timeslot.after(now);
        let datagram = self.datagrams.insert(datagram);
        let information = Information { sender_rank, rank_error: false };
        for index in 0..pieces {
            let piece = Piece { datagram, index, hop: 0, information };
            let frame = Frame::new(Content::Piece(piece), first_hop, ready);
            if goes_up {
                self.motes[usize::from(end)].queue.push_back(frame);
            } else {
                self.to_root.push(now, frame);
            }
        }
        if goes_up {
            self.reschedule(end, ready);
        } else {
            self.due(now); // the line may be free
        }
        Ok(())
    }

    /// Returns how a packet goes: to the gateway, or from it to a node. A node without a Rank has nobody to send to, unless it says
    /// to whom: so it tells the root that there is no path to it.
    fn way(&self, now: Time, end: u16, packet: &Packet, first_hop: Option<u16>) -> Result<Way, Cause> {
        if end != 0 {
            let rank = self.rank(end).or(first_hop.map(|_| INFINITE_RANK)).ok_or(Cause::NoRoute)?;
            return Ok(Way { origin: end, destination: 0, route: Vec::new(), routers: Vec::new(), rank });
        }
        let destination = self.find(packet.destination()).filter(|destination| *destination != 0);
        let route = self.route(now, destination.ok_or(Cause::Misdirected)?).ok_or(Cause::NoRoute)?;
        let (destination, routers) = route.split_last().ok_or(Cause::NoRoute)?;
        let identifier = |router: &u16| identifier_of(self.config.motes[usize::from(*router)].address);
        let routers = routers.iter().map(identifier).collect();
        Ok(Way { origin: 0, destination: *destination, route, routers, rank: 0 })
    }

    /// Returns the Rank of a node: one unit for each hop if the routes are static.
    fn rank(&self, number: u16) -> Option<u16> {
        let mote = self.motes.get(usize::from(number))?;
        if mote.stack.is_some() {
            return Some(mote.stack.as_ref()?.joined()?.rpl.rank()).filter(|rank| *rank != INFINITE_RANK);
        }
        let hops = self.hops(number)?;
        Some(256 * (u16::from(hops) + 1))
    }

    /// Returns the nodes on the way from the root to a node, which is the last one.
    fn route(&self, now: Time, to: u16) -> Option<Vec<u16>> {
        if let Some(stack) = &self.motes[0].stack {
            let address = self.config.motes.get(usize::from(to))?.address;
            let route = stack.joined()?.rpl.routes()?.route(now, address).ok()?;
            return route.into_iter().map(|address| self.by_address.get(&address).copied()).collect();
        }
        let mut route = vec![to];
        while let Some(parent) = self.motes[usize::from(*route.last()?)].parent.filter(|parent| *parent != 0) {
            route.push(parent);
        }
        route.reverse();
        Some(route)
    }

    /// Takes a frame that a node has received and acknowledged. It has a place in the node's pool.
    pub(super) fn accept(&mut self, asn: Asn, node: u16, piece: Piece) {
        let place = piece.datagram;
        if self.chance.happens(self.config.loss.frames, Purpose::Fragment, node.into(), asn.0) {
            self.motes[usize::from(node)].pool.free(1);
            return self.datagrams.gone(place, 1, Some(Cause::Lost));
        }
        let Some(datagram) = self.datagrams.get(place) else { return };
        let len = datagram.layers(&piece).sum();
        let (goes_up, destination, is_fragmented) =
            (datagram.goes_up(), datagram.destination, datagram.is_fragmented());
        let next_hop = match goes_up {
            true => self.motes[usize::from(node)].parent,
            false => datagram.route.get(usize::from(piece.hop) + 1).copied(),
        };
        let (pieces, number) = (datagram.pieces(), datagram.number);
        let may_go_on = datagram.hop_limit_after(piece.hop) > 1;
        let received = self.received_at(asn, len);
        if node == 0 && goes_up {
            // The root hands every frame to the gateway.
            self.motes[0].pool.free(1);
            return self.from_root.push(received, piece);
        }
        if node == destination {
            if !is_fragmented {
                self.motes[usize::from(node)].pool.free(1);
                return self.deliver(received, node, &piece);
            }
            if self.collect(received, node, place, piece.index) == complete(pieces) {
                self.take_partial(node, place);
                self.datagrams.gone(place, u32::from(pieces) - 1, None);
                self.deliver(received, node, &piece);
            }
            return;
        }
        let onward = match next_hop {
            None => Err(if goes_up { Cause::NoRoute } else { Cause::Misdirected }),
            Some(_) if !may_go_on => Err(Cause::HopLimitExceeded),
            Some(next_hop) => self.inform(asn, node, &piece, goes_up).map(|information| {
                let piece = Piece { hop: piece.hop + 1, information, ..piece };
                Frame::new(Content::Piece(piece), next_hop, asn + 1)
            }),
        };
        match onward {
            Err(cause) => {
                self.motes[usize::from(node)].pool.free(1);
                self.datagrams.gone(place, 1, Some(cause));
            }
            Ok(onward) if is_fragmented => self.forward(received, node, onward, (number, pieces)),
            Ok(onward) => self.motes[usize::from(node)].queue.push_back(onward),
        }
    }

    /// Returns the RPL Packet Information that a router puts into a packet: its own Rank, and whether that is none (RFC 6550,
    /// 11.2.2.2). Only the first fragment has it.
    fn inform(&mut self, asn: Asn, node: u16, piece: &Piece, goes_up: bool) -> Result<Information, Cause> {
        let mut information = piece.information;
        if !goes_up || piece.index != 0 {
            return Ok(information);
        }
        let now = self.config.timeslot.start(asn);
        if let Some(joined) = self.joined_mut(node) {
            match joined.rpl.forward(now, false, information.rank_error, information.sender_rank) {
                rpl::Forwarding::Forward { rank_error } => information.rank_error = rank_error,
                rpl::Forwarding::Drop => return Err(Cause::RankError),
            }
        }
        information.sender_rank = self.rank(node).ok_or(Cause::NoRoute)?;
        Ok(information)
    }

    /// Forwards a fragment. The first one of a packet takes a buffer; others wait until it came, as those of a packet for this
    /// node do.
    fn forward(&mut self, now: Time, node: u16, frame: Frame, (number, pieces): (u64, u8)) {
        let Content::Piece(piece) = frame.content else { return };
        let bit = 1_u64 << piece.index;
        let limit = self.config.sixlowpan.forwarding_buffers;
        let until = now + self.config.sixlowpan.reassembly_timeout;
        let mote = &mut self.motes[usize::from(node)];
        mote.forwarding.retain(|forwarding| now < forwarding.until && forwarding.missing != 0);
        let index = mote.forwarding.iter().position(|forwarding| forwarding.number == number);
        if index.is_none() && piece.index == 0 {
            if mote.forwarding.len() >= limit {
                mote.pool.free(1);
                return self.datagrams.gone(piece.datagram, 1, Some(Cause::ReassemblyFull));
            }
            let (missing, next_hop) = (complete(pieces) & !bit, frame.next_hop);
            mote.forwarding.push(Forwarding { number, missing, next_hop, until });
            mote.queue.push_back(frame);
            if let Some(Partial { pieces, .. }) = mote.take_partial(piece.datagram) {
                if let Some(forwarding) = mote.forwarding.last_mut() {
                    forwarding.missing &= !pieces;
                }
                let waiting = (0..64).filter(|index| pieces >> index & 1 == 1);
                let content = |index| Content::Piece(Piece { index, ..piece });
                mote.queue.extend(waiting.map(|index| Frame { content: content(index), ..frame }));
            }
        } else if let Some(forwarding) = index.and_then(|index| mote.forwarding.get_mut(index)) {
            forwarding.missing &= !bit;
            mote.queue.push_back(Frame { next_hop: forwarding.next_hop, ..frame });
        } else {
            self.collect(now, node, piece.datagram, piece.index);
        }
    }

    /// Handles what is due on the serial line, at hosts, in reassembly and on the air.
    pub(super) fn due(&mut self, now: Time) {
        while let Some(change) = self.config.radio_changes.get(self.radio_changes)
            && Time::ZERO + change.after <= now
        {
            self.air.change(change);
            self.radio_changes += 1;
        }
        while let Some(frame) = self.to_root.pop(now) {
            let ready = self.config.timeslot.after(now);
            let root = &mut self.motes[0];
            if root.pool.allocate(Layer::Upper) {
                root.queue.push_back(Frame { ready, ..frame });
                self.reschedule(0, ready);
            } else {
                self.drop_content(&frame, Cause::QueueFull);
            }
        }
        while let Some(piece) = self.from_root.pop(now) {
            self.at_gateway(now, &piece);
        }
        while let Some((_, node, place, routers)) = self.deliveries.pop_front_if(|(at, ..)| *at <= now) {
            self.arrive(now, node, place, routers);
        }
        while let Some(Reverse((at, node, place, number))) = self.expiries.peek().copied() {
            if at > now {
                break;
            }
            self.expiries.pop();
            let is_same = self.datagrams.get(place).is_some_and(|datagram| datagram.number == number);
            if let Some(pieces) = is_same.then(|| self.take_partial(node, place)).flatten() {
                self.datagrams.gone(place, pieces, Some(Cause::ReassemblyTimedOut));
            }
        }
    }

    /// Takes a frame that came to the gateway over the serial line.
    fn at_gateway(&mut self, now: Time, piece: &Piece) {
        let place = piece.datagram;
        let Some(datagram) = self.datagrams.get(place) else { return };
        let pieces = datagram.pieces();
        if pieces > 1 {
            if self.collect(now, GATEWAY, place, piece.index) != complete(pieces) {
                return;
            }
            self.take_partial(GATEWAY, place);
            self.datagrams.gone(place, u32::from(pieces) - 1, None);
        }
        self.arrive(now, 0, place, piece.hop);
    }

    /// Schedules that a host gets a packet, whose last frame has come over so many routers.
    fn deliver(&mut self, at: Time, node: u16, piece: &Piece) {
        let index = self.deliveries.partition_point(|(other, ..)| *other <= at);
        self.deliveries.insert(index, (at, node, piece.datagram, piece.hop));
    }

    /// Lets a packet arrive at a node, unless all of it is lost.
    fn arrive(&mut self, now: Time, end: u16, place: u32, routers: u8) {
        let Some(datagram) = self.datagrams.get(place) else { return };
        if self.chance.happens(self.config.loss.packets, Purpose::Packet, end.into(), datagram.number) {
            return self.datagrams.gone(place, 1, Some(Cause::Lost));
        }
        let is_of_network = datagram.kind.is_of_network();
        let Some(packet) = datagram.decode(routers) else {
            return self.datagrams.gone(place, 1, Some(Cause::Malformed));
        };
        if end == 0 {
            self.capture_packet(now, Direction::Up, &packet);
        }
        if is_of_network {
            let is_taken = self.take_rpl(now, end, &packet);
            let verdict = if is_taken { Verdict::Delivered } else { Verdict::Dropped(Cause::Malformed) };
            self.datagrams.arrived(place, verdict);
        } else {
            self.arrivals.push_back(Arrival { end, number: place.into(), packet });
        }
    }

    /// Keeps a fragment until all others are there. Returns those that are.
    fn collect(&mut self, now: Time, node: u16, place: u32, piece: u8) -> u64 {
        let until = now + self.config.sixlowpan.reassembly_timeout;
        let (pieces, is_first) = match self.motes.get_mut(usize::from(node)).filter(|_| node != GATEWAY) {
            Some(mote) => mote.collect(place, piece),
            None => self.collect_at_gateway(place, piece),
        };
        if is_first && let Some(datagram) = self.datagrams.get(place) {
            self.expiries.push(Reverse((until, node, place, datagram.number)));
        }
        pieces
    }

    fn collect_at_gateway(&mut self, place: u32, piece: u8) -> (u64, bool) {
        if let Some(partial) = self.at_gateway.iter_mut().find(|partial| partial.datagram == place) {
            partial.pieces |= 1 << piece;
            return (partial.pieces, false);
        }
        if self.at_gateway.len() >= GATEWAY_BUFFERS {
            let oldest = self.at_gateway.remove(0);
            self.datagrams.gone(oldest.datagram, oldest.pieces.count_ones(), Some(Cause::ReassemblyFull));
        }
        self.at_gateway.push(Partial { datagram: place, pieces: 1 << piece });
        (1 << piece, true)
    }

    /// Takes the fragments of a packet from a node, or from the gateway, and frees their places. Returns how many there were.
    fn take_partial(&mut self, node: u16, place: u32) -> Option<u32> {
        if node == GATEWAY {
            let index = self.at_gateway.iter().position(|partial| partial.datagram == place)?;
            return Some(self.at_gateway.remove(index).pieces.count_ones());
        }
        let mote = self.motes.get_mut(usize::from(node))?;
        let count = mote.take_partial(place)?.pieces.count_ones();
        mote.pool.free(count as u8); // at most 64
        Some(count)
    }

    /// Returns what a frame with a packet carries after its MAC header, for captures.
    pub(super) fn payload(&self, piece: &Piece) -> Option<Vec<u8>> {
        let datagram = self.datagrams.get(piece.datagram)?;
        if datagram.goes_up() {
            let Information { sender_rank, rank_error } = piece.information;
            return Some(datagram.payload(piece.index, piece.hop, &Routing::Up { sender_rank, rank_error }));
        }
        let routers = &datagram.route[..datagram.route.len() - 1];
        let remaining = routers.get(usize::from(piece.hop)..).unwrap_or_default();
        let identifier = |router: &u16| identifier_of(self.config.motes[usize::from(*router)].address);
        let routers: Vec<_> = remaining.iter().map(identifier).collect();
        Some(datagram.payload(piece.index, piece.hop, &Routing::Down { routers: &routers }))
    }
}

/// Returns the bits of so many fragments.
const fn complete(pieces: u8) -> u64 {
    if pieces >= 64 { u64::MAX } else { (1 << pieces) - 1 }
}

/// The gateway, where nodes are named: no node has this number.
const GATEWAY: u16 = u16::MAX;

/// The most packets that the gateway reassembles at a time.
const GATEWAY_BUFFERS: usize = 1024;
