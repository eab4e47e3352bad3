//! 6LoWPAN over several hops: packets become frames, fragments are forwarded as they come (RFC 8930), and packets are complete
//! at their destination (RFC 4944, 5.3).
//!
//! What must always hold: a fragment that waits for others keeps its place in the pool of the node, as in OpenWSN; the gateway,
//! which is a computer, keeps [`GATEWAY_BUFFERS`] packets at most.

use std::cmp::Reverse;

use super::clock::Asn;
use super::datagram::{Datagram, Way};
use super::frame::Frame;
use super::mote::{Forwarding, Partial};
use super::pool::Layer;
use super::{Arrival, Mesh, identifier_of};
use crate::Time;
use crate::cause::Cause;
use crate::chance::Purpose;
use crate::direction::Direction;
use crate::packet::Packet;
use crate::sixlowpan::routing::Routing;

impl Mesh {
    /// Takes a packet from the node at an end of the medium.
    pub(crate) fn send(&mut self, now: Time, end: u16, packet: &Packet) {
        self.datagrams.balance.sent.add(packet.len());
        match self.prepare(now, end, packet) {
            Ok(()) => {}
            Err(cause) => self.datagrams.balance.drop_one(cause, packet.len()),
        }
        self.arm();
    }

    /// Makes frames of a packet. Either all of them are in a queue, or none.
    fn prepare(&mut self, now: Time, end: u16, packet: &Packet) -> Result<(), Cause> {
        if packet.len() > self.config.mtu {
            return Err(Cause::TooLong);
        }
        let way = self.way(end, packet).ok_or(Cause::Misdirected)?;
        let goes_up = way.route.is_empty();
        let direction = if goes_up { Direction::Up } else { Direction::Down };
        let kind = self.classifiers[direction.index()].classify(packet);
        let (number, tag) = (self.next_number, self.next_tag);
        let first_hop = if goes_up { self.motes[usize::from(end)].parent } else { way.route.first().copied() };
        let first_hop = first_hop.ok_or(Cause::Misdirected)?;
        let datagram = Datagram::new(packet, kind, way, (number, tag), &self.config.sixlowpan)?;
        let pieces = datagram.pieces();
        self.next_number += 1;
        self.next_tag = tag.wrapping_add(u16::from(datagram.is_fragmented()));
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
        let ready = self.config.timeslot.after(now);
        let place = self.datagrams.insert(datagram);
        for piece in 0..pieces {
            let frame = Frame { datagram: place, piece, hop: 0, next_hop: first_hop, tries: 0, sequence: None, ready };
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

    /// Returns how a packet goes: to the gateway, or from it to a node.
    fn way(&self, end: u16, packet: &Packet) -> Option<Way> {
        if end != 0 {
            let rank = self.motes.get(usize::from(end))?.depth + 1;
            return Some(Way { origin: end, destination: 0, route: Vec::new(), routers: Vec::new(), rank });
        }
        let destination = self.find(packet.destination()).filter(|destination| *destination != 0)?;
        let mut route = vec![destination];
        while let Some(parent) = self.motes[usize::from(*route.last()?)].parent.filter(|parent| *parent != 0) {
            route.push(parent);
        }
        route.reverse();
        let routers = &route[..route.len() - 1];
        let identifier = |router: &u16| identifier_of(self.config.motes[usize::from(*router)].address);
        let routers = routers.iter().map(identifier).collect();
        Some(Way { origin: 0, destination, route, routers, rank: 1 })
    }

    /// Takes a frame that a node has received and acknowledged. It has a place in the node's pool.
    pub(super) fn accept(&mut self, asn: Asn, node: u16, frame: Frame) {
        let place = frame.datagram;
        if self.chance.happens(self.config.loss.frames, Purpose::Fragment, node.into(), asn.0) {
            self.motes[usize::from(node)].pool.free(1);
            return self.datagrams.gone(place, 1, Some(Cause::Lost));
        }
        let Some(datagram) = self.datagrams.get(place) else { return };
        let len = datagram.layers(frame.piece, frame.hop).sum();
        let (goes_up, destination, is_fragmented) =
            (datagram.goes_up(), datagram.destination, datagram.is_fragmented());
        let next_hop = match goes_up {
            true => self.motes[usize::from(node)].parent,
            false => datagram.route.get(usize::from(frame.hop) + 1).copied(),
        };
        let (pieces, number) = (datagram.pieces(), datagram.number);
        let may_go_on = datagram.hop_limit_after(frame.hop) > 1;
        let received = self.received_at(asn, len);
        if node == 0 && goes_up {
            // The root hands every frame to the gateway.
            self.motes[0].pool.free(1);
            self.from_root.push(received, (place, frame.piece));
        } else if node == destination {
            if !is_fragmented {
                self.motes[usize::from(node)].pool.free(1);
                return self.deliver(received, node, place);
            }
            if self.collect(received, node, place, frame.piece) == complete(pieces) {
                self.take_partial(node, place);
                self.datagrams.gone(place, u32::from(pieces) - 1, None);
                self.deliver(received, node, place);
            }
        } else if let Some(next_hop) = next_hop {
            if !may_go_on {
                self.motes[usize::from(node)].pool.free(1);
                return self.datagrams.gone(place, 1, Some(Cause::HopLimitExceeded));
            }
            let onward = Frame { hop: frame.hop + 1, next_hop, tries: 0, sequence: None, ready: asn + 1, ..frame };
            if is_fragmented {
                self.forward(received, node, onward, (number, pieces));
            } else {
                self.motes[usize::from(node)].queue.push_back(onward);
            }
        } else {
            self.motes[usize::from(node)].pool.free(1);
            self.datagrams.gone(place, 1, Some(Cause::Misdirected));
        }
    }

    /// Forwards a fragment. The first one of a packet takes a buffer; others wait until it came, as those of a packet for this
    /// node do.
    fn forward(&mut self, now: Time, node: u16, frame: Frame, (number, pieces): (u64, u8)) {
        let bit = 1_u64 << frame.piece;
        let limit = self.config.sixlowpan.forwarding_buffers;
        let until = now + self.config.sixlowpan.reassembly_timeout;
        let mote = &mut self.motes[usize::from(node)];
        mote.forwarding.retain(|forwarding| now < forwarding.until && forwarding.missing != 0);
        let index = mote.forwarding.iter().position(|forwarding| forwarding.number == number);
        if index.is_none() && frame.piece == 0 {
            if mote.forwarding.len() >= limit {
                mote.pool.free(1);
                return self.datagrams.gone(frame.datagram, 1, Some(Cause::ReassemblyFull));
            }
            mote.forwarding.push(Forwarding { number, missing: complete(pieces) & !bit, until });
            mote.queue.push_back(frame);
            if let Some(Partial { pieces, .. }) = mote.take_partial(frame.datagram) {
                if let Some(forwarding) = mote.forwarding.last_mut() {
                    forwarding.missing &= !pieces;
                }
                let waiting = (0..64).filter(|piece| pieces >> piece & 1 == 1);
                mote.queue.extend(waiting.map(|piece| Frame { piece, ..frame }));
            }
        } else if let Some(forwarding) = index.and_then(|index| mote.forwarding.get_mut(index)) {
            forwarding.missing &= !bit;
            mote.queue.push_back(frame);
        } else {
            self.collect(now, node, frame.datagram, frame.piece);
        }
    }

    /// Handles what is due on the serial line, at hosts and in reassembly.
    pub(super) fn due(&mut self, now: Time) {
        while let Some(frame) = self.to_root.pop(now) {
            let ready = self.config.timeslot.after(now);
            let root = &mut self.motes[0];
            if root.pool.allocate(Layer::Upper) {
                root.queue.push_back(Frame { ready, ..frame });
                self.reschedule(0, ready);
            } else {
                self.datagrams.gone(frame.datagram, 1, Some(Cause::QueueFull));
            }
        }
        while let Some((place, piece)) = self.from_root.pop(now) {
            self.at_gateway(now, place, piece);
        }
        while let Some((_, node, place)) = self.deliveries.pop_front_if(|(at, ..)| *at <= now) {
            self.arrive(now, node, place);
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
    fn at_gateway(&mut self, now: Time, place: u32, piece: u8) {
        let Some(datagram) = self.datagrams.get(place) else { return };
        let pieces = datagram.pieces();
        if pieces > 1 {
            if self.collect(now, GATEWAY, place, piece) != complete(pieces) {
                return;
            }
            self.take_partial(GATEWAY, place);
            self.datagrams.gone(place, u32::from(pieces) - 1, None);
        }
        self.arrive(now, 0, place);
    }

    /// Schedules that a host gets a packet.
    fn deliver(&mut self, at: Time, node: u16, place: u32) {
        let index = self.deliveries.partition_point(|(other, ..)| *other <= at);
        self.deliveries.insert(index, (at, node, place));
    }

    /// Lets a packet arrive at a node, unless all of it is lost.
    fn arrive(&mut self, now: Time, end: u16, place: u32) {
        let Some(datagram) = self.datagrams.get(place) else { return };
        if self.chance.happens(self.config.loss.packets, Purpose::Packet, end.into(), datagram.number) {
            return self.datagrams.gone(place, 1, Some(Cause::Lost));
        }
        let node = if datagram.goes_up() { datagram.origin } else { datagram.destination };
        let routers = self.motes.get(usize::from(node)).map_or(0, |mote| mote.depth.saturating_sub(1));
        match datagram.decode(routers) {
            Some(packet) => {
                if end == 0 {
                    self.capture_packet(now, Direction::Up, &packet);
                }
                self.arrivals.push_back(Arrival { end, number: place.into(), packet });
            }
            None => self.datagrams.gone(place, 1, Some(Cause::Malformed)),
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

    /// Returns what a frame carries after its MAC header, for captures.
    pub(super) fn payload(&self, frame: &Frame) -> Option<Vec<u8>> {
        let datagram = self.datagrams.get(frame.datagram)?;
        if datagram.goes_up() {
            // Each hop is one rank nearer to the root.
            let sender_rank = self.motes.get(usize::from(datagram.origin))?.depth + 1 - frame.hop;
            return Some(datagram.payload(frame.piece, frame.hop, &Routing::Up { sender_rank }));
        }
        let routers = &datagram.route[..datagram.route.len() - 1];
        let remaining = routers.get(usize::from(frame.hop)..).unwrap_or_default();
        let identifier = |router: &u16| identifier_of(self.config.motes[usize::from(*router)].address);
        let routers: Vec<_> = remaining.iter().map(identifier).collect();
        Some(datagram.payload(frame.piece, frame.hop, &Routing::Down { routers: &routers }))
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
