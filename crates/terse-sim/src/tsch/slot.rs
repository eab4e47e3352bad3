//! One slot: who sends, who receives, who acknowledges (IEEE 802.15.4-2020, 6.2.6).
//!
//! What must always hold: everything in a slot happens at once, so that the result does not depend on the order of the nodes; a
//! frame that was not acknowledged stays first in its queue.

use super::clock::Asn;
use super::frame::{ACKNOWLEDGEMENT_LEN, Frame, Header};
use super::mote::Mote;
use super::pool::Layer;
use super::{CellKind, Mesh};
use crate::Time;
use crate::cause::Cause;
use crate::chance::Purpose;
use crate::direction::Direction;
use crate::ledger::{Fate, Kind, Layers, Record};

/// A frame on the air, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    from: u16,
    to: u16,
    channel: u8,
    channel_offset: u8,
    index: usize,
    frame: Frame,
    sequence: u8,
    is_shared: bool,
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

impl Mesh {
    /// Works a slot off.
    pub(super) fn slot(&mut self, asn: Asn) {
        let mut senders = core::mem::take(&mut self.senders);
        if self.config.steps_every_slot {
            senders.clear();
            senders.extend((0..).zip(&self.motes).map(|(number, _): (u16, _)| number));
        } else {
            self.wheel.take(asn, &mut senders);
        }
        let mut transmissions = core::mem::take(&mut self.transmissions);
        transmissions.clear();
        for sender in senders.iter().copied() {
            match self.begin(asn, sender) {
                Some(transmission) => transmissions.push(transmission),
                None => self.reschedule(sender, asn + 1),
            }
        }
        for index in 0..transmissions.len() {
            let fate = self.receive(asn, &transmissions, index);
            let Transmission { from, to, channel, .. } = transmissions[index];
            let lost = 1.0 - self.config.radio.delivery(to, from, channel);
            let is_acknowledged =
                fate.is_acknowledged() && !self.chance.happens(lost, Purpose::Acknowledgement, to.into(), asn.0);
            transmissions[index] = Transmission { fate, is_acknowledged, ..transmissions[index] };
        }
        for transmission in &transmissions {
            self.record(asn, transmission);
            self.conclude(asn, transmission);
        }
        (self.senders, self.transmissions) = (senders, transmissions);
    }

    /// Returns what a node sends in this slot.
    fn begin(&mut self, asn: Asn, from: u16) -> Option<Transmission> {
        let mote = &mut self.motes[usize::from(from)];
        let (cell, index) = mote.choose(&self.config.mac, asn)?;
        let sequence = mote.number(index);
        let frame = mote.queue[index];
        mote.statistics.transmissions += 1;
        let hopping = &self.config.hopping;
        let channel = hopping[((asn.0 + u64::from(cell.channel_offset)) % hopping.len() as u64) as usize];
        let is_shared = cell.kind == CellKind::Shared;
        let (fate, is_acknowledged) = (Reception::Lost, false);
        let (to, channel_offset) = (frame.next_hop, cell.channel_offset);
        Some(Transmission {
            from,
            to,
            channel,
            channel_offset,
            index,
            frame,
            sequence,
            is_shared,
            fate,
            is_acknowledged,
        })
    }

    /// Decides what the receiver makes of a frame.
    fn receive(&mut self, asn: Asn, all: &[Transmission], index: usize) -> Reception {
        let this = &all[index];
        let (from, to, channel) = (this.from, this.to, this.channel);
        let sends = all.iter().any(|other| other.from == to);
        let listens =
            |mote: &Mote| mote.schedule.listening(asn).is_some_and(|cell| cell.channel_offset == this.channel_offset);
        let radio = &self.config.radio;
        let is_disturbed = |other: &Transmission| {
            other.from != from && other.channel == channel && radio.hears(other.from, to, channel)
        };
        if sends || !listens(&self.motes[usize::from(to)]) || all.iter().any(is_disturbed) {
            return Reception::Lost;
        }
        let lost = 1.0 - radio.delivery(from, to, channel);
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

    /// Draws the consequences for both queues.
    fn conclude(&mut self, asn: Asn, transmission: &Transmission) {
        let Transmission { from, to, index, frame, is_shared, fate, is_acknowledged, .. } = *transmission;
        if fate == Reception::Received {
            self.datagrams.copied(frame.datagram);
        }
        let Self { motes, config, chance, .. } = self;
        let mac = &config.mac;
        let sender = &mut motes[usize::from(from)];
        if is_acknowledged {
            sender.statistics.acknowledged += 1;
            sender.queue.remove(index);
            sender.pool.free(1);
            if is_shared {
                sender.back_off.succeeded(mac);
            }
            self.datagrams.gone(frame.datagram, 1, None);
        } else {
            if is_shared {
                let random = chance.draw(Purpose::BackOff, from.into(), asn.0);
                let Mote { back_off, schedule, .. } = sender;
                back_off.failed(mac, schedule, asn, random);
            }
            let tries = &mut sender.queue[index].tries;
            if *tries < mac.max_retries {
                *tries += 1;
            } else {
                sender.statistics.given_up += 1;
                self.give_up(from, index);
            }
        }
        if fate == Reception::Received {
            self.accept(asn, to, frame);
        }
        self.reschedule(from, asn + 1);
        self.reschedule(to, asn + 1);
    }

    /// Gives up a frame. If its packet began here, its other frames would be useless.
    fn give_up(&mut self, from: u16, index: usize) {
        let mote = &mut self.motes[usize::from(from)];
        let Some(frame) = mote.queue.remove(index) else { return };
        mote.pool.free(1);
        let mut gone = 1;
        let begins_here =
            frame.hop == 0 && self.datagrams.get(frame.datagram).is_some_and(|datagram| datagram.origin == from);
        if begins_here {
            let before = mote.queue.len();
            mote.queue.retain(|other| other.datagram != frame.datagram);
            let removed = before - mote.queue.len();
            mote.pool.free(removed as u8); // a pool has 255 frames at most
            gone += removed as u32;
        }
        self.datagrams.gone(frame.datagram, gone, Some(Cause::RetriesExhausted));
    }

    /// Puts a frame, and its acknowledgement, into the ledger, the balance and the captures.
    fn record(&mut self, asn: Asn, transmission: &Transmission) {
        let Transmission { from, to, channel, frame, sequence, fate, is_acknowledged, .. } = *transmission;
        let Some(datagram) = self.datagrams.get(frame.datagram) else { return };
        let layers = datagram.layers(frame.piece, frame.hop);
        let len = layers.sum();
        let timeslot = &self.config.timeslot;
        let at = timeslot.start(asn) + timeslot.tx_offset;
        let direction = if datagram.goes_up() { Direction::Up } else { Direction::Down };
        let fragment = datagram.is_fragmented().then_some(frame.piece.into());
        let (packet, kind) = (datagram.number, datagram.kind);
        let record = Record {
            at,
            arrived: None,
            direction,
            sender: from,
            layers,
            kind,
            fragment,
            packet,
            attempt: frame.tries,
            fate: Fate::UnderWay,
        };
        let arrives = timeslot.frame_end(asn, len);
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
            to: self.motes[usize::from(to)].eui64,
            sequence,
        };
        let is_lost = !fate.is_acknowledged();
        self.capture_frame(at, (asn, channel), (from, to), direction, is_lost, |mesh| {
            header.data(&mesh.payload(&frame).unwrap_or_default())
        });
        if fate.is_acknowledged() {
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
            self.capture_frame(at, (asn, channel), (to, from), back, !is_acknowledged, |_| header.acknowledgement());
        }
    }

    /// Returns when a node has received a frame of `len` bytes that was sent in this slot: it acknowledges it first.
    pub(super) fn received_at(&self, asn: Asn, len: usize) -> Time {
        self.config.timeslot.acknowledgement_end(asn, len, ACKNOWLEDGEMENT_LEN)
    }
}
