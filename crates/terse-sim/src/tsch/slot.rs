//! One slot: who sends, who receives, who acknowledges (IEEE 802.15.4-2020, 6.2.6).
//!
//! What must always hold: everything in a slot happens at once, so that the result does not depend on the order of the nodes; a
//! frame that was not acknowledged stays first in its queue.

use super::frame::{ACKNOWLEDGEMENT_LEN, BROADCAST, BROADCAST_OVERHEAD, Content, Frame, OVERHEAD, Piece};
use super::pool::Layer;
use super::stack::State;
use super::{Cell, Mesh};
use crate::Time;
use crate::asn::Asn;
use crate::chance::Purpose;
use crate::ledger::Layers;

/// A frame on the air, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) channel: u8,
    pub(super) cell: Cell,
    /// The place of the frame in the queue; none for a beacon.
    pub(super) index: Option<usize>,
    pub(super) frame: Frame,
    pub(super) sequence: u8,
    pub(super) layers: Layers,
    pub(super) fate: Reception,
    pub(super) is_acknowledged: bool,
}

/// What the receiver made of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    /// The receiver has it.
    Received,
    /// The receiver had it before, and acknowledges it again.
    Repeated,
    /// It was not received: nobody listened, it was lost, or it met another frame.
    Lost,
    /// The receiver had no room for it.
    NoRoom,
}

impl Reception {
    pub(super) const fn is_acknowledged(self) -> bool {
        matches!(self, Self::Received | Self::Repeated)
    }
}

impl Transmission {
    pub(super) const fn is_broadcast(&self) -> bool {
        self.to == BROADCAST
    }
}

impl Mesh {
    /// Works a slot off.
    pub(super) fn slot(&mut self, asn: Asn) {
        let mut touched = core::mem::take(&mut self.senders);
        if self.config.steps_every_slot {
            touched.clear();
            touched.extend((0..).zip(&self.motes).map(|(number, _): (u16, _)| number));
        } else {
            self.wheel.take(asn, &mut touched);
        }
        let mut transmissions = core::mem::take(&mut self.transmissions);
        transmissions.clear();
        transmissions.extend(touched.iter().filter_map(|sender| self.begin(asn, *sender)));
        let mut heard = core::mem::take(&mut self.heard);
        heard.clear();
        for index in 0..transmissions.len() {
            if transmissions[index].is_broadcast() {
                self.find_listeners(asn, &transmissions, index, &mut heard);
                let is_heard = heard.last().is_some_and(|(of, _)| *of == index);
                transmissions[index].fate = if is_heard { Reception::Received } else { Reception::Lost };
                continue;
            }
            let fate = self.receive(asn, &transmissions, index);
            let Transmission { from, to, channel, .. } = transmissions[index];
            let lost = 1.0 - self.air.delivery(to, from, channel);
            let is_acknowledged =
                fate.is_acknowledged() && !self.chance.happens(lost, Purpose::Acknowledgement, to.into(), asn.0);
            transmissions[index] = Transmission { fate, is_acknowledged, ..transmissions[index] };
        }
        for (index, transmission) in transmissions.iter().enumerate() {
            self.record(asn, transmission, |node| heard.contains(&(index, node)));
        }
        for (index, node) in heard.iter().copied() {
            self.hear(asn, node, &transmissions[index]);
            touched.push(node);
        }
        for transmission in &transmissions {
            self.conclude(asn, transmission);
            touched.extend((!transmission.is_broadcast()).then_some(transmission.to));
        }
        touched.sort_unstable();
        touched.dedup();
        for node in touched.iter().copied() {
            self.serve(asn, node);
        }
        (self.senders, self.transmissions, self.heard) = (touched, transmissions, heard);
    }

    /// Returns what a node sends in this slot.
    fn begin(&mut self, asn: Asn, from: u16) -> Option<Transmission> {
        let autonomous = self.forming.as_ref().map_or(&[][..], |forming| &forming.autonomous);
        let mote = &mut self.motes[usize::from(from)];
        let (cell, index) = mote.choose(&self.config.mac, autonomous, &mut self.firsts, asn)?;
        let (sequence, frame) = match index {
            Some(index) => (mote.number(index), mote.queue[index]),
            None => (mote.number_beacon(), Frame::new(Content::Beacon, BROADCAST, asn)),
        };
        mote.statistics.transmissions += u64::from(!matches!(frame.content, Content::Beacon));
        let hopping = &self.config.hopping;
        let channel = hopping[((asn.0 + u64::from(cell.channel_offset)) % hopping.len() as u64) as usize];
        if let Content::Piece(piece) = frame.content {
            self.mark_congestion(from, &piece);
        }
        let layers = self.layers(&frame.content);
        let (fate, is_acknowledged, to) = (Reception::Lost, false, frame.next_hop);
        Some(Transmission { from, to, channel, cell, index, frame, sequence, layers, fate, is_acknowledged })
    }

    /// Marks a packet that begins with this frame, if the node is a router whose buffers fill (RFC 3168).
    fn mark_congestion(&mut self, from: u16, piece: &Piece) {
        let Some(ecn) = self.config.ecn.filter(|_| piece.index == 0) else { return };
        let used = self.motes[usize::from(from)].pool.used();
        let is_router = |origin: u16| origin != from || from == 0;
        if ecn.marks(used, self.config.pool.frames)
            && let Some(datagram) = self.datagrams.get_mut(piece.datagram).filter(|datagram| is_router(datagram.origin))
        {
            self.motes[usize::from(from)].statistics.marked += u64::from(datagram.mark_congestion());
        }
    }

    /// Returns the bytes of a frame by layer, its FCS included.
    fn layers(&self, content: &Content) -> Layers {
        let forming = self.forming.as_ref();
        let link = |link| Layers { link, ..Layers::default() };
        match *content {
            Content::Piece(piece) => {
                self.datagrams.get(piece.datagram).map_or_else(Layers::default, |datagram| datagram.layers(&piece))
            }
            Content::Sixp(place) => {
                let message = forming.and_then(|forming| forming.sixp.get(place));
                link(OVERHEAD + message.map_or(0, |(message, _)| message.len()))
            }
            Content::Multicast(place) => {
                let multicast = forming.and_then(|forming| forming.multicasts.get(place));
                link(BROADCAST_OVERHEAD) + multicast.map_or_else(Layers::default, |multicast| multicast.layers)
            }
            Content::KeepAlive => link(OVERHEAD),
            Content::Beacon => link(forming.map_or(0, |forming| forming.beacon_len)),
        }
    }

    /// Decides what the receiver makes of a frame.
    fn receive(&mut self, asn: Asn, all: &[Transmission], index: usize) -> Reception {
        let this = &all[index];
        let (from, to, channel) = (this.from, this.to, this.channel);
        let sends = all.iter().any(|other| other.from == to);
        let receiver = &self.motes[usize::from(to)];
        let listens =
            receiver.schedule.listening(asn).is_some_and(|cell| cell.channel_offset == this.cell.channel_offset);
        if sends || !listens || !self.are_synchronised(asn, from, to) {
            return Reception::Lost;
        }
        let others = all.iter().filter(|other| other.channel == channel && other.from != from).map(|other| other.from);
        let lost = 1.0 - self.air.delivery_among(from, to, channel, others);
        if self.chance.happens(lost, Purpose::Frame, from.into(), asn.0) {
            return Reception::Lost;
        }
        let receiver = &mut self.motes[usize::from(to)];
        if !receiver.pool.allocate(Layer::Mac) {
            return Reception::NoRoom;
        }
        if receiver.has_heard(from, this.sequence, asn, self.longest_repetition) {
            receiver.pool.free(1);
            receiver.statistics.repeated += 1;
            return Reception::Repeated;
        }
        receiver.statistics.received += 1;
        Reception::Received
    }

    /// Whether the clocks of two nodes are so near to each other that one hears the other.
    fn are_synchronised(&self, asn: Asn, from: u16, to: u16) -> bool {
        if self.forming.as_ref().is_none_or(|forming| forming.options.greatest_drift_ppm == 0) {
            return true;
        }
        let clock = |node: u16| Some(self.motes[usize::from(node)].stack.as_ref()?.joined()?.clock);
        let timeslot = &self.config.timeslot;
        match (clock(from), clock(to)) {
            (Some(sender), Some(receiver)) => receiver.hears(timeslot.start(asn), &sender, timeslot.guard),
            _ => false,
        }
    }

    /// Adds those who hear a frame for all, in the order of their numbers.
    fn find_listeners(&self, asn: Asn, all: &[Transmission], index: usize, heard: &mut Vec<(usize, u16)>) {
        let this = &all[index];
        let (from, channel) = (this.from, this.channel);
        let is_beacon = matches!(this.frame.content, Content::Beacon);
        let least = self.forming.as_ref().and_then(|forming| forming.options.least_rssi);
        let is_weak = |rssi: Option<f64>| least.zip(rssi).is_some_and(|(least, rssi)| rssi < least);
        for (to, alone, rssi) in self.air.receivers(from, channel) {
            if alone == 0.0 || is_weak(rssi) {
                continue;
            }
            let mote = &self.motes[usize::from(to)];
            let scans = match mote.stack.as_ref().map(|stack| &stack.state) {
                None | Some(State::Joined(_)) => false,
                Some(State::Off) => continue,
                Some(State::Scanning { joining, .. }) => {
                    if !is_beacon || joining.channel(asn.0, &self.config.hopping) != Some(channel) {
                        continue;
                    }
                    true
                }
            };
            let listening = || mote.schedule.listening(asn);
            let listens = || listening().is_some_and(|cell| cell.channel_offset == this.cell.channel_offset);
            if !scans && (!listens() || !self.are_synchronised(asn, from, to)) {
                continue;
            }
            if all.iter().any(|other| other.from == to) {
                continue;
            }
            let others =
                all.iter().filter(|other| other.channel == channel && other.from != from).map(|other| other.from);
            let lost = 1.0 - self.air.delivery_among(from, to, channel, others);
            let link = u64::from(from) << 16 | u64::from(to);
            if !self.chance.happens(lost, Purpose::Broadcast, link, asn.0) {
                heard.push((index, to));
            }
        }
    }

    /// Returns when a node has received a frame of `len` bytes that was sent in this slot: it acknowledges it first.
    pub(super) fn received_at(&self, asn: Asn, len: usize) -> Time {
        self.config.timeslot.acknowledgement_end(asn, len, ACKNOWLEDGEMENT_LEN)
    }
}
