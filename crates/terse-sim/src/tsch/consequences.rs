//! What follows from the frames of a slot, for the queues and the stacks of both ends.
//!
//! What must always hold: a frame that was not acknowledged stays in its queue, and goes before all others to that neighbour.

use super::formation::{AUTONOMOUS, NEGOTIATED};
use super::frame::Content;
use super::slot::{Reception, Transmission};
use super::{CellKind, Mesh};
use crate::asn::Asn;
use crate::cause::Cause;
use crate::chance::Purpose;
use crate::energy::SlotKind;
use crate::sixtop::scheduling::ReceivedIn;

impl Mesh {
    /// Takes a frame for all that a node has heard.
    pub(super) fn hear(&mut self, asn: Asn, node: u16, transmission: &Transmission) {
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
        let Self { forming: Some(forming), motes, .. } = self else { return };
        let mote = &mut motes[usize::from(node)];
        let Some(joined) = mote.stack.as_mut().and_then(|stack| stack.joined_mut()) else { return };
        joined.neighbours.insert(from);
        if let Content::Multicast(place) = frame.content
            && mote.pool.has_room()
            && !joined.is_quarantined(asn, from)
            && let Some(multicast) = forming.multicasts.get(place)
        {
            joined.rpl.handle_message(now, source, multicast.destination, &multicast.message);
        }
    }

    /// Draws the consequences for both ends.
    pub(super) fn conclude(&mut self, asn: Asn, transmission: &Transmission) {
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
                let mote = &mut motes[usize::from(from)];
                let joined = mote.stack.as_mut().and_then(|stack| stack.joined_mut());
                if let (Some((_, token)), Some(joined)) = (message, joined) {
                    joined.sixtop.sent(asn, token, is_acknowledged);
                    // What becomes of a parent is for RPL and the scheduling function to say.
                    if !is_acknowledged && cell.slotframe == NEGOTIATED && mote.parent != Some(to) {
                        joined.sixtop.abandon_tx(asn, to);
                    }
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
}
