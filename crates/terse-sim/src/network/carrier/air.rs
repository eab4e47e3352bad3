//! The sending half of a link: when a frame may go, how long it is on the air, whether it is lost, and how the link
//! layer reacts.

use core::time::Duration;

use super::{Carrier, DirectionState, Frame, LinkEvent};
use crate::Time;
use crate::capture::View;
use crate::ledger::{Fate, Kind, Layers, Record};
use crate::link::ieee802154::{self, ACKNOWLEDGEMENT_WAIT, TURNAROUND};
use crate::link::{Coded, Direction, Framing, transmission};
use crate::network::{Cause, Schedule};

impl Carrier {
    /// Puts the next frame onto the air, if it may go now.
    pub(super) fn advance(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let busy = self.link.half_duplex && self.directions.iter().any(DirectionState::is_sending);
        let state = &mut self.directions[direction.index()];
        if busy || state.is_sending() || (state.frames.is_empty() && state.queue.is_empty()) {
            return;
        }
        if now < state.silent_until {
            if state.ready_at.is_none() {
                state.ready_at = Some(state.silent_until);
                schedule.push(state.silent_until, LinkEvent::Ready(direction));
            }
            return;
        }
        while state.frames.is_empty() {
            let Some((number, packet)) = state.queue.pop_front() else { return };
            let kind = state.classifier.classify(&packet);
            match state.codec.encode(&packet) {
                Ok(coded) => {
                    if let Some(transit) = self.transit.get_mut(&number) {
                        transit.frames = u32::try_from(coded.len()).unwrap_or(u32::MAX);
                    }
                    let frame =
                        |coded| Frame { coded, packet: number, kind, attempt: 0, record: 0, entries: Vec::new() };
                    state.frames.extend(coded.into_iter().map(frame));
                    for tap in self.taps.iter_mut().filter(|tap| tap.view() == View::Packets) {
                        tap.note(now, direction, packet.bytes());
                    }
                }
                Err(cause) => {
                    self.transit.remove(&number);
                    self.packets.drop_one(cause, packet.len());
                }
            }
        }
        let Some(frame) = state.frames.pop_front() else { return };
        let start = match &self.link.framing {
            Framing::Ieee802154(options) if options.backs_off => now + ieee802154::back_off(state.back_offs.next_u32()),
            _ => now,
        };
        let end = start + transmission(&self.link, direction, frame.coded.bytes.len());
        let frame = self.put_on_air(start, direction, frame);
        self.directions[direction.index()].on_air = Some(frame);
        schedule.push(end, LinkEvent::Sent(direction));
    }

    /// Records a frame in the ledger and the captures.
    fn put_on_air(&mut self, at: Time, direction: Direction, mut frame: Frame) -> Frame {
        self.frames.sent.add(frame.coded.bytes.len());
        frame.record = self.ledger.note(Record {
            at,
            arrived: None,
            direction,
            sender: direction.index() as u16,
            layers: frame.coded.layers,
            kind: frame.kind,
            fragment: frame.coded.fragment,
            packet: frame.packet,
            attempt: frame.attempt,
            fate: Fate::UnderWay,
        });
        let taps = self.taps.iter_mut().filter(|tap| tap.view() == View::Frames);
        frame.entries = taps.map(|tap| tap.note(at, direction, &frame.coded.bytes)).collect();
        frame
    }

    /// Handles that the last bit of a frame was sent.
    pub(super) fn sent(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let path = self.link.path(direction);
        let state = &mut self.directions[direction.index()];
        let Some(frame) = state.on_air.take() else { return };
        let on_air = transmission(&self.link, direction, frame.coded.bytes.len());
        if path.duty_cycle < 1.0 {
            state.silent_until = now + silence(on_air, path.duty_cycle);
        }
        let lost = state.losses.happens(path.loss);
        let twice = state.duplicates.happens(path.duplication);
        if lost {
            self.lose(now, &frame);
        } else {
            self.fly(now, direction, frame.clone(), schedule);
        }
        if twice {
            self.frames.duplicated.add(frame.coded.bytes.len());
            self.fly(now, direction, frame.clone(), schedule);
        }
        if let Framing::Ieee802154(options) = &self.link.framing
            && options.retries.is_some()
        {
            return self.acknowledge(now, direction, frame, twice || !lost, schedule);
        }
        self.leave(frame.packet, 1);
        self.go_on(now, direction, schedule);
    }

    /// Acknowledges a frame in the receiver's link layer, if it arrived.
    fn acknowledge(
        &mut self,
        now: Time,
        direction: Direction,
        frame: Frame,
        received: bool,
        schedule: &mut Schedule<'_>,
    ) {
        let back = direction.opposite();
        let mut arrives = false;
        let mut at = now + ACKNOWLEDGEMENT_WAIT;
        if received {
            let bytes = ieee802154::acknowledgement(&frame.coded.bytes);
            let layers = Layers { link: bytes.len(), ..Layers::default() };
            let coded = Coded { bytes, layers, fragment: None };
            let kind = Kind::LinkAcknowledgement;
            let answer = Frame { coded, packet: frame.packet, kind, attempt: 0, record: 0, entries: Vec::new() };
            let answer = self.put_on_air(now + TURNAROUND, back, answer);
            arrives = !self.directions[back.index()].losses.happens(self.link.path(back).loss);
            if arrives {
                at = now + TURNAROUND + transmission(&self.link, back, answer.coded.bytes.len());
                self.frames.delivered.add(answer.coded.bytes.len());
                self.decide(at, &answer, Fate::Delivered);
            } else {
                self.lose(now, &answer);
            }
        }
        self.directions[direction.index()].waiting = Some((frame, arrives));
        schedule.push(at, LinkEvent::Acknowledged(direction));
    }

    /// Handles that an acknowledgement arrived, or that the wait for it is over.
    pub(super) fn acknowledged(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let Framing::Ieee802154(options) = &self.link.framing else { return };
        let state = &mut self.directions[direction.index()];
        let Some((mut frame, arrived)) = state.waiting.take() else { return };
        if arrived {
            self.leave(frame.packet, 1);
        } else if frame.attempt < options.retries.unwrap_or(0) {
            frame.attempt += 1;
            state.frames.push_front(frame);
            // The sender keeps the medium.
            return self.advance(now, direction, schedule);
        } else {
            // The other frames of this packet would be useless, and all frames that wait are of this packet.
            let rest = u32::try_from(state.frames.len()).unwrap_or(u32::MAX);
            state.frames.clear();
            if let Some(transit) = self.transit.get_mut(&frame.packet) {
                transit.cause = Cause::RetriesExhausted;
            }
            self.leave(frame.packet, 1 + rest);
        }
        self.go_on(now, direction, schedule);
    }

    /// Notes that `frames` frames of a packet are no longer with the sender.
    pub(super) fn leave(&mut self, number: u64, frames: u32) {
        if let Some(transit) = self.transit.get_mut(&number) {
            transit.frames -= frames;
        }
        self.close_balance(number);
    }

    fn lose(&mut self, now: Time, frame: &Frame) {
        self.frames.drop_one(Cause::Lost, frame.coded.bytes.len());
        self.decide(now, frame, Fate::Dropped(Cause::Lost));
    }

    /// Sends the next frame. Where both directions share the medium, they take turns.
    fn go_on(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        if self.link.half_duplex {
            self.advance(now, direction.opposite(), schedule);
        }
        self.advance(now, direction, schedule);
    }

    fn fly(&mut self, now: Time, direction: Direction, frame: Frame, schedule: &mut Schedule<'_>) {
        let path = self.link.path(direction);
        let state = &mut self.directions[direction.index()];
        if let Some(transit) = self.transit.get_mut(&frame.packet) {
            transit.frames += 1;
        }
        let late = if state.delays.happens(path.reordering) { path.late_by } else { Duration::ZERO };
        let flight = state.next_flight;
        state.next_flight += 1;
        state.flying.insert(flight, frame);
        schedule.push(now + path.delay + late, LinkEvent::Arrival(direction, flight));
    }
}

/// Returns how long a sender is silent after it was on the air for this time: t(1/d - 1), rounded up.
fn silence(on_air: Duration, duty_cycle: f64) -> Duration {
    let nanos = on_air.as_nanos() as f64 * (1.0 / duty_cycle - 1.0);
    // A cast saturates: with a duty cycle of 0, this was the last frame.
    Duration::from_nanos(nanos.ceil() as u64)
}
