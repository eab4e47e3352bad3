//! One slot: who sends, who receives, who acknowledges (IEEE 802.15.4-2020, 6.2.6).
//!
//! What must always hold: everything in a slot happens at once, so that the result does not depend on the order of the nodes; a
//! frame that was not acknowledged stays first in its queue.

use super::formation::{AUTONOMOUS, NEGOTIATED};
use super::frame::{ACKNOWLEDGEMENT_LEN, BROADCAST, BROADCAST_OVERHEAD, Content, Frame, Header, OVERHEAD, Piece};
use super::pool::Layer;
use super::stack::State;
use super::{Cell, CellKind, Mesh};
use crate::Time;
use crate::asn::Asn;
use crate::cause::Cause;
use crate::chance::Purpose;
use crate::direction::Direction;
use crate::energy::SlotKind;
use crate::ledger::{Fate, Kind, Layers, Record};
use crate::sixtop::message::Subtype;
use crate::sixtop::scheduling::ReceivedIn;

/// A frame on the air, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    from: u16,
    to: u16,
    channel: u8,
    cell: Cell,
    /// The place of the frame in the queue; none for a beacon.
    index: Option<usize>,
    frame: Frame,
    sequence: u8,
    layers: Layers,
    fate: Reception,
    is_acknowledged: bool,
}

/// What the receiver made of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reception {
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
    const fn is_acknowledged(self) -> bool {
        matches!(self, Self::Received | Self::Repeated)
    }
}

impl Transmission {
    const fn is_broadcast(&self) -> bool {
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
        let (cell, index) = mote.choose(&self.config.mac, autonomous, asn)?;
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
        if receiver.has_heard(from, this.sequence) {
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
        let is_weak = |to| least.is_some_and(|least| self.air.rssi(from, to, channel).is_some_and(|rssi| rssi < least));
        for to in self.air.receivers(from) {
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
            if is_weak(to) || all.iter().any(|other| other.from == to) {
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

    /// Takes a frame for all that a node has heard.
    fn hear(&mut self, asn: Asn, node: u16, transmission: &Transmission) {
        let now = self.config.timeslot.start(asn);
        let Transmission { from, frame, layers, .. } = *transmission;
        let mote = &mut self.motes[usize::from(node)];
        let is_scanning = mote.stack.as_ref().is_some_and(|stack| stack.joined().is_none());
        if is_scanning {
            return self.hear_beacon(now, asn, node, from);
        }
        mote.power.count(SlotKind::RxData, layers.sum(), &mote.schedule, asn);
        self.hear_time(asn, from, node);
        let source = self.link_local(from);
        let Self { forming: Some(forming), motes, config, .. } = self else { return };
        let mote = &mut motes[usize::from(node)];
        let Some(joined) = mote.stack.as_mut().and_then(|stack| stack.joined_mut()) else { return };
        if let Content::Multicast(place) = frame.content
            && mote.pool.used() < config.pool.frames
            && !joined.is_quarantined(asn, from)
            && let Some(multicast) = forming.multicasts.get(place)
        {
            joined.rpl.handle_message(now, source, multicast.destination, &multicast.message);
        }
    }

    /// Draws the consequences for both ends.
    fn conclude(&mut self, asn: Asn, transmission: &Transmission) {
        let Transmission { from, to, frame, layers, fate, .. } = *transmission;
        let sender = &mut self.motes[usize::from(from)];
        if transmission.is_broadcast() {
            sender.power.count(SlotKind::TxData, layers.sum(), &sender.schedule, asn);
            if let Some(index) = transmission.index {
                sender.queue.remove(index);
                sender.pool.free(1);
                self.drop_content(&frame, Cause::Lost);
            }
            return;
        }
        sender.power.count(SlotKind::TxDataRxAck, layers.sum(), &sender.schedule, asn);
        let receiver = &mut self.motes[usize::from(to)];
        match fate {
            Reception::Received | Reception::Repeated => {
                receiver.power.count(SlotKind::RxDataTxAck, layers.sum(), &receiver.schedule, asn);
            }
            Reception::NoRoom => receiver.power.count(SlotKind::RxData, layers.sum(), &receiver.schedule, asn),
            Reception::Lost => {}
        }
        if let (Reception::Received, Some(piece)) = (fate, frame.piece()) {
            self.datagrams.copied(piece.datagram);
        }
        self.tell_receiver(asn, transmission);
        self.tell_sender(asn, transmission);
    }

    /// Draws the consequences for the queue and the stack of the sender of a frame to one neighbour.
    fn tell_sender(&mut self, asn: Asn, transmission: &Transmission) {
        let Transmission { from, to, cell, frame, is_acknowledged, .. } = *transmission;
        let now = self.config.timeslot.start(asn);
        let Some(index) = transmission.index else { return };
        let mac = self.config.mac;
        let random = self.chance.draw(Purpose::BackOff, from.into(), asn.0);
        let sender = &mut self.motes[usize::from(from)];
        let mut is_over = is_acknowledged;
        if cell.kind == CellKind::Shared {
            sender.note_shared(&mac, (&cell, asn), is_acknowledged, random);
        }
        if is_acknowledged {
            sender.statistics.acknowledged += 1;
            sender.queue.remove(index);
            sender.pool.free(1);
        } else {
            let tries = &mut sender.queue[index].tries;
            if *tries < mac.max_retries {
                *tries += 1;
            } else {
                sender.statistics.given_up += 1;
                is_over = true;
            }
        }
        let neighbour = self.link_local(to);
        if let Some(joined) = self.joined_mut(from) {
            if cell.slotframe == NEGOTIATED {
                joined.sixtop.transmitted(asn, to, cell.slot, is_acknowledged);
            }
            joined.rpl.handle_transmission(now, neighbour, is_acknowledged);
            if let (Content::KeepAlive, true, Some(keep_alive)) = (frame.content, is_over, &mut joined.keep_alive) {
                keep_alive.handle_sent(asn.0);
            }
        }
        if is_acknowledged {
            self.hear_time(asn, to, from);
        }
        if !is_over {
            return;
        }
        match frame.content {
            Content::Piece(piece) if is_acknowledged => self.datagrams.gone(piece.datagram, 1, None),
            Content::Sixp(place) => {
                let Self { forming: Some(forming), motes, .. } = self else { return };
                let message = forming.sixp.remove(place);
                let joined = motes[usize::from(from)].stack.as_mut().and_then(|stack| stack.joined_mut());
                if let (Some((_, token)), Some(joined)) = (message, joined) {
                    joined.sixtop.sent(asn, token, is_acknowledged);
                }
                if !is_acknowledged {
                    self.give_up(from, index);
                }
            }
            _ if !is_acknowledged => self.give_up(from, index),
            _ => {}
        }
    }

    /// Draws the consequences for the receiver of a frame to it alone.
    fn tell_receiver(&mut self, asn: Asn, transmission: &Transmission) {
        let Transmission { from, to, frame, fate, .. } = *transmission;
        if !fate.is_acknowledged() {
            return;
        }
        self.hear_time(asn, from, to);
        let Self { forming, motes, .. } = self;
        let mote = &mut motes[usize::from(to)];
        let cell = mote.schedule.listening(asn).copied();
        let mut is_quarantined = false;
        if let Some(joined) = mote.stack.as_mut().and_then(|stack| stack.joined_mut()) {
            let received_in = match cell.map(|cell| (cell.slotframe, cell.slot)) {
                Some((NEGOTIATED, slot)) => ReceivedIn::Negotiated(slot),
                Some((AUTONOMOUS, _)) => ReceivedIn::Autonomous,
                _ => ReceivedIn::Other,
            };
            joined.sixtop.received(asn, from, received_in);
            is_quarantined = joined.is_quarantined(asn, from);
            let message = match (frame.content, forming) {
                (Content::Sixp(place), Some(forming)) => forming.sixp.get(place),
                _ => None,
            };
            if let (Reception::Received, Some((message, _)), false) = (fate, message, is_quarantined) {
                joined.sixtop.receive(asn, from, message);
            }
        }
        if fate != Reception::Received {
            return;
        }
        match frame.piece() {
            Some(piece) if !is_quarantined => self.accept(asn, to, piece),
            piece => {
                self.motes[usize::from(to)].pool.free(1);
                if let Some(piece) = piece {
                    self.datagrams.gone(piece.datagram, 1, Some(Cause::NotCarried));
                }
            }
        }
    }

    /// Lets a node set its clock by another one that it has heard, if that is its time source.
    fn hear_time(&mut self, asn: Asn, from: u16, to: u16) {
        let now = self.config.timeslot.start(asn);
        let resolution = self.config.timeslot.resolution();
        let clock = self.motes[usize::from(from)].stack.as_ref().and_then(|stack| Some(stack.joined()?.clock));
        if let (Some(clock), Some(joined)) = (clock, self.joined_mut(to)) {
            joined.hear_time(asn, now, from, &clock, resolution);
        }
    }

    /// Gives up a frame. If its packet began here, its other frames would be useless.
    fn give_up(&mut self, from: u16, index: usize) {
        let mote = &mut self.motes[usize::from(from)];
        let Some(frame) = mote.queue.remove(index) else { return };
        mote.pool.free(1);
        let Some(piece) = frame.piece() else { return };
        let mut gone = 1;
        let begins_here =
            piece.hop == 0 && self.datagrams.get(piece.datagram).is_some_and(|datagram| datagram.origin == from);
        if begins_here {
            let before = mote.queue.len();
            mote.queue.retain(|other| other.piece().is_none_or(|other| other.datagram != piece.datagram));
            let removed = before - mote.queue.len();
            mote.pool.free(removed as u8); // a pool has 255 frames at most
            gone += removed as u32;
        }
        self.datagrams.gone(piece.datagram, gone, Some(Cause::RetriesExhausted));
    }

    /// Puts a frame, and its acknowledgement, into the ledger, the balance and the captures. `has_heard` says of a node whether it
    /// has heard this frame, if that is for all.
    fn record(&mut self, asn: Asn, transmission: &Transmission, has_heard: impl Fn(u16) -> bool) {
        let Transmission { from, to, channel, frame, sequence, layers, fate, is_acknowledged, .. } = *transmission;
        let len = layers.sum();
        let timeslot = &self.config.timeslot;
        let at = timeslot.start(asn) + timeslot.tx_offset;
        let arrives = timeslot.frame_end(asn, len);
        let goes_up = || self.motes[usize::from(from)].parent == Some(to);
        let way = |goes_up: bool| if goes_up { Direction::Up } else { Direction::Down };
        let (direction, fragment, packet, kind) = match frame.content {
            Content::Piece(piece) => {
                let Some(datagram) = self.datagrams.get(piece.datagram) else { return };
                let fragment = datagram.is_fragmented().then_some(piece.index.into());
                (way(datagram.goes_up()), fragment, datagram.number, datagram.kind)
            }
            Content::Sixp(_) => (way(goes_up()), None, u64::MAX, Kind::Sixp),
            Content::KeepAlive => (way(goes_up()), None, u64::MAX, Kind::KeepAlive),
            Content::Beacon => (Direction::Down, None, u64::MAX, Kind::Beacon),
            Content::Multicast(place) => {
                let multicast = self.forming.as_ref().and_then(|forming| forming.multicasts.get(place));
                (Direction::Down, None, u64::MAX, multicast.map_or(Kind::Other, |multicast| multicast.kind))
            }
        };
        let (arrived, attempt) = (None, frame.tries);
        let record = Record {
            at,
            arrived,
            direction,
            sender: from,
            layers,
            kind,
            fragment,
            packet,
            attempt,
            fate: Fate::UnderWay,
        };
        self.frames.sent.add(len);
        let number = self.ledger.note(record);
        match fate {
            Reception::Received | Reception::Repeated => {
                self.frames.delivered.add(len);
                self.ledger.decide(arrives, number, Fate::Delivered);
            }
            Reception::Lost | Reception::NoRoom => {
                let cause = if fate == Reception::Lost { Cause::Lost } else { Cause::QueueFull };
                self.frames.drop_one(cause, len);
                self.ledger.decide(arrives, number, Fate::Dropped(cause));
            }
        }
        let header = Header {
            pan: self.config.mac.pan,
            from: self.motes[usize::from(from)].eui64,
            to: self.motes.get(usize::from(to)).map_or([0; 8], |mote| mote.eui64),
            sequence,
        };
        let is_lost = !fate.is_acknowledged();
        let is_end = |node| node == from || node == to;
        let concerns = |node| is_end(node) || has_heard(node);
        self.capture_frame(at, (asn, channel), concerns, direction, is_lost, |mesh| {
            mesh.frame_bytes(asn, from, &frame, &header)
        });
        if fate.is_acknowledged() && !transmission.is_broadcast() {
            let at = arrives + self.config.timeslot.tx_ack_delay;
            let back = direction.opposite();
            let layers = Layers { link: ACKNOWLEDGEMENT_LEN, ..Layers::default() };
            let acknowledgement = Record {
                at,
                sender: to,
                direction: back,
                layers,
                kind: Kind::LinkAcknowledgement,
                fragment: None,
                attempt: 0,
                ..record
            };
            let number = self.ledger.note(acknowledgement);
            self.frames.sent.add(ACKNOWLEDGEMENT_LEN);
            let arrives = self.received_at(asn, len);
            if is_acknowledged {
                self.frames.delivered.add(ACKNOWLEDGEMENT_LEN);
                self.ledger.decide(arrives, number, Fate::Delivered);
            } else {
                self.frames.drop_one(Cause::Lost, ACKNOWLEDGEMENT_LEN);
                self.ledger.decide(arrives, number, Fate::Dropped(Cause::Lost));
            }
            self.capture_frame(at, (asn, channel), is_end, back, !is_acknowledged, |_| header.acknowledgement());
        }
    }

    /// Returns a frame as bytes, for captures.
    fn frame_bytes(&self, asn: Asn, from: u16, frame: &Frame, header: &Header) -> Vec<u8> {
        let forming = self.forming.as_ref();
        match frame.content {
            Content::Piece(piece) => header.data(&self.payload(&piece).unwrap_or_default()),
            Content::KeepAlive => header.data(&[]),
            Content::Sixp(place) => {
                let message = forming.and_then(|forming| forming.sixp.get(place));
                header.elements(&message.map_or_else(Vec::new, |(message, _)| message.encode(Subtype::Experimental)))
            }
            Content::Multicast(place) => {
                let multicast = forming.and_then(|forming| forming.multicasts.get(place));
                header.broadcast(multicast.map_or(&[], |multicast| &multicast.bytes))
            }
            Content::Beacon => self.beacon_bytes(asn, from, header.sequence),
        }
    }

    /// Returns when a node has received a frame of `len` bytes that was sent in this slot: it acknowledges it first.
    pub(super) fn received_at(&self, asn: Asn, len: usize) -> Time {
        self.config.timeslot.acknowledgement_end(asn, len, ACKNOWLEDGEMENT_LEN)
    }
}
