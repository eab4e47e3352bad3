//! A link at work: queues, the air, what is in flight, and the books.
//!
//! A packet waits in its direction's queue, is made into frames, and each frame goes: on the air, then lost or in flight,
//! perhaps sent again, then decoded. A packet is *under way* until a node took it, or nothing is left of it anywhere.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Balance, Cause, Conservation, End, LinkId, Schedule, Verdict};
use crate::capture::{Capture, Tap, View};
use crate::ledger::{Classifier, Fate, Kind, Layers, Ledger, Record};
use crate::link::ieee802154::{self, ACKNOWLEDGEMENT_WAIT, TURNAROUND};
use crate::link::{Codec, Coded, Decoded, Direction, Framing, Link, Station, transmission};
use crate::packet::Packet;
use crate::{Random, Time};

/// A link, and everything on it.
#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) link: Link,
    pub(crate) ledger: Ledger,
    taps: Vec<Tap>,
    ends: [End; 2],
    ways: [Way; 2],
    transit: BTreeMap<u64, Transit>,
    next_number: u64,
    packets: Balance,
    frames: Balance,
}

/// Something happens on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkEvent {
    /// The sender may be on the air again.
    Ready(Direction),
    /// The last bit of a frame was sent.
    Sent(Direction),
    /// A frame was acknowledged by the link layer, or the wait for that is over.
    Acknowledged(Direction),
    /// A frame arrives that is kept under this number.
    Arrival(Direction, u64),
    /// Reassembly gives something up, perhaps.
    Reassembly(Direction),
}

/// One direction at work.
#[derive(Debug)]
struct Way {
    codec: Codec,
    classifier: Classifier,
    queue: VecDeque<(u64, Packet)>,
    /// What is left of the packet that is being sent.
    frames: VecDeque<Frame>,
    on_air: Option<Frame>,
    /// The frame that waits for its acknowledgement, and whether that is on its way.
    waiting: Option<(Frame, bool)>,
    flying: BTreeMap<u64, Frame>,
    next_flight: u64,
    silent_until: Time,
    /// The times that are in the queue of events already.
    ready_at: Option<Time>,
    reassembly_at: Option<Time>,
    losses: Random,
    duplicates: Random,
    delays: Random,
    back_offs: Random,
}

#[derive(Clone, Debug)]
struct Frame {
    coded: Coded,
    packet: u64,
    kind: Kind,
    attempt: u8,
    record: usize,
    /// Its number in each tap.
    entries: Vec<usize>,
}

impl Way {
    const fn is_sending(&self) -> bool {
        self.on_air.is_some() || self.waiting.is_some()
    }
}

/// A packet under way.
#[derive(Debug)]
struct Transit {
    len: usize,
    /// Frames that are still with the sender, and copies in flight.
    frames: u32,
    in_reassembly: bool,
    arrived: bool,
    cause: Cause,
}

impl Carrier {
    pub(crate) fn new(link: Link, ends: [End; 2], stations: [Station; 2], seed: u64, id: LinkId) -> Self {
        let way = |direction: Direction, from, to| {
            // Each chance has its own stream; nodes' begin far above.
            let stream = |chance| Random::new(seed, u64::from(id.0) * 8 + direction.index() as u64 * 4 + chance);
            Way {
                codec: Codec::new(&link.framing, direction, from, to),
                classifier: Classifier::default(),
                queue: VecDeque::new(),
                frames: VecDeque::new(),
                on_air: None,
                waiting: None,
                flying: BTreeMap::new(),
                next_flight: 0,
                silent_until: Time::ZERO,
                ready_at: None,
                reassembly_at: None,
                losses: stream(0),
                duplicates: stream(1),
                delays: stream(2),
                back_offs: stream(3),
            }
        };
        let [first, second] = stations;
        let ways = [way(Direction::Up, first, second), way(Direction::Down, second, first)];
        Self {
            link,
            ledger: Ledger::new(),
            taps: Vec::new(),
            ends,
            ways,
            transit: BTreeMap::new(),
            next_number: 0,
            packets: Balance::default(),
            frames: Balance::default(),
        }
    }

    /// Begins a capture.
    pub(crate) fn tap(&mut self, view: View) {
        self.taps.push(Tap::new(&self.link, view));
    }

    /// What the taps have.
    pub(crate) fn captures(&self) -> impl Iterator<Item = Capture> {
        self.taps.iter().map(Tap::capture)
    }

    /// The end that sends in this direction.
    pub(crate) const fn end(&self, direction: Direction) -> End {
        self.ends[direction.index()]
    }

    /// Takes a packet from the node at the beginning of this direction.
    pub(crate) fn send(&mut self, now: Time, direction: Direction, mut packet: Packet, schedule: &mut Schedule<'_>) {
        self.packets.sent.add(packet.len());
        let way = &mut self.ways[direction.index()];
        let path = self.link.path(direction);
        let refused = if packet.len() > self.link.mtu {
            Some(Cause::TooLong)
        } else {
            (way.queue.len() >= path.queue).then_some(Cause::QueueFull)
        };
        if let Some(cause) = refused {
            return self.packets.drop_one(cause, packet.len());
        }
        if path.mark_at.is_some_and(|share| way.queue.len() as f64 >= share * path.queue as f64) {
            packet.mark_congestion();
        }
        let number = self.next_number;
        self.next_number += 1;
        let transit =
            Transit { len: packet.len(), frames: 1, in_reassembly: false, arrived: false, cause: Cause::Lost };
        self.transit.insert(number, transit);
        way.queue.push_back((number, packet));
        self.advance(now, direction, schedule);
    }

    /// Lets something happen. A packet that arrives is handed out with its number.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        event: LinkEvent,
        schedule: &mut Schedule<'_>,
    ) -> Option<(Direction, u64, Packet)> {
        match event {
            LinkEvent::Ready(direction) => {
                self.ways[direction.index()].ready_at = None;
                self.advance(now, direction, schedule);
                None
            }
            LinkEvent::Sent(direction) => {
                self.sent(now, direction, schedule);
                None
            }
            LinkEvent::Acknowledged(direction) => {
                self.acknowledged(now, direction, schedule);
                None
            }
            LinkEvent::Arrival(direction, flight) => {
                let arrived = self.arrival(now, direction, flight, schedule);
                arrived.map(|(number, packet)| (direction, number, packet))
            }
            LinkEvent::Reassembly(direction) => {
                self.ways[direction.index()].reassembly_at = None;
                self.reassembly(now, direction, schedule);
                None
            }
        }
    }

    /// What the node at the end did with a packet.
    pub(crate) fn arrived(&mut self, number: u64, verdict: Verdict) {
        let Some(transit) = self.transit.get_mut(&number) else { return };
        if transit.arrived {
            self.packets.duplicated.add(transit.len);
        }
        transit.arrived = true;
        match verdict {
            Verdict::Delivered => self.packets.delivered.add(transit.len),
            Verdict::Forwarded => self.packets.forwarded.add(transit.len),
            Verdict::Dropped(cause) => self.packets.drop_one(cause, transit.len),
        }
        self.settle(number);
    }

    /// The books, with what is under way counted where it is.
    pub(crate) fn conservation(&self) -> Conservation {
        let mut all = Conservation { packets: self.packets.clone(), frames: self.frames.clone() };
        let mut present = BTreeSet::new();
        for way in &self.ways {
            present.extend(way.queue.iter().map(|(number, _)| *number));
            present.extend(way.frames.iter().chain(&way.on_air).chain(way.flying.values()).map(|frame| frame.packet));
            present.extend(way.waiting.iter().map(|(frame, _)| frame.packet));
            present.extend(way.codec.held());
            for frame in way.on_air.iter().chain(way.flying.values()) {
                all.frames.queued.add(frame.coded.bytes.len());
            }
        }
        for transit in present.iter().filter_map(|number| self.transit.get(number)) {
            if !transit.arrived {
                all.packets.queued.add(transit.len);
            }
        }
        all
    }

    /// Puts the next frame onto the air, if one may go.
    fn advance(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let busy = self.link.half_duplex && self.ways.iter().any(Way::is_sending);
        let way = &mut self.ways[direction.index()];
        if busy || way.is_sending() || (way.frames.is_empty() && way.queue.is_empty()) {
            return;
        }
        if now < way.silent_until {
            if way.ready_at.is_none() {
                way.ready_at = Some(way.silent_until);
                schedule.push(way.silent_until, LinkEvent::Ready(direction));
            }
            return;
        }
        while way.frames.is_empty() {
            let Some((number, packet)) = way.queue.pop_front() else { return };
            let kind = way.classifier.classify(&packet);
            match way.codec.encode(&packet) {
                Ok(coded) => {
                    if let Some(transit) = self.transit.get_mut(&number) {
                        transit.frames = u32::try_from(coded.len()).unwrap_or(u32::MAX);
                    }
                    let frame =
                        |coded| Frame { coded, packet: number, kind, attempt: 0, record: 0, entries: Vec::new() };
                    way.frames.extend(coded.into_iter().map(frame));
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
        let Some(frame) = way.frames.pop_front() else { return };
        let start = match &self.link.framing {
            Framing::Ieee802154(options) if options.backs_off => now + ieee802154::back_off(way.back_offs.next_u32()),
            _ => now,
        };
        let end = start + transmission(&self.link, direction, frame.coded.bytes.len());
        let frame = self.put_on_air(start, direction, frame);
        self.ways[direction.index()].on_air = Some(frame);
        schedule.push(end, LinkEvent::Sent(direction));
    }

    /// Writes a frame into the books and captures.
    fn put_on_air(&mut self, at: Time, direction: Direction, mut frame: Frame) -> Frame {
        self.frames.sent.add(frame.coded.bytes.len());
        frame.record = self.ledger.note(Record {
            at,
            direction,
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

    /// The last bit of a frame left.
    fn sent(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let path = self.link.path(direction);
        let way = &mut self.ways[direction.index()];
        let Some(frame) = way.on_air.take() else { return };
        let on_air = transmission(&self.link, direction, frame.coded.bytes.len());
        if path.duty_cycle < 1.0 {
            way.silent_until = now + silence(on_air, path.duty_cycle);
        }
        let lost = way.losses.happens(path.loss);
        let twice = way.duplicates.happens(path.duplication);
        if lost {
            self.lose(&frame);
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

    /// The receiver's link layer acknowledges a frame, if it has it.
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
            arrives = !self.ways[back.index()].losses.happens(self.link.path(back).loss);
            if arrives {
                self.frames.delivered.add(answer.coded.bytes.len());
                self.decide(&answer, Fate::Delivered);
                at = now + TURNAROUND + transmission(&self.link, back, answer.coded.bytes.len());
            } else {
                self.lose(&answer);
            }
        }
        self.ways[direction.index()].waiting = Some((frame, arrives));
        schedule.push(at, LinkEvent::Acknowledged(direction));
    }

    /// An acknowledgement is there, or is not to be hoped for.
    fn acknowledged(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let Framing::Ieee802154(options) = &self.link.framing else { return };
        let way = &mut self.ways[direction.index()];
        let Some((mut frame, arrived)) = way.waiting.take() else { return };
        if arrived {
            self.leave(frame.packet, 1);
        } else if frame.attempt < options.retries.unwrap_or(0) {
            frame.attempt += 1;
            way.frames.push_front(frame);
            // The air is still the sender's.
            return self.advance(now, direction, schedule);
        } else {
            // What is left of the packet would be of no use: the frames that wait are all of this packet.
            let rest = u32::try_from(way.frames.len()).unwrap_or(u32::MAX);
            way.frames.clear();
            if let Some(transit) = self.transit.get_mut(&frame.packet) {
                transit.cause = Cause::RetriesExhausted;
            }
            self.leave(frame.packet, 1 + rest);
        }
        self.go_on(now, direction, schedule);
    }

    /// So many frames of a packet are no longer with the sender.
    fn leave(&mut self, number: u64, frames: u32) {
        if let Some(transit) = self.transit.get_mut(&number) {
            transit.frames -= frames;
        }
        self.settle(number);
    }

    fn lose(&mut self, frame: &Frame) {
        self.frames.drop_one(Cause::Lost, frame.coded.bytes.len());
        self.decide(frame, Fate::Dropped(Cause::Lost));
    }

    /// The next frame; where both ways share the air, they take turns.
    fn go_on(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        if self.link.half_duplex {
            self.advance(now, direction.opposite(), schedule);
        }
        self.advance(now, direction, schedule);
    }

    fn fly(&mut self, now: Time, direction: Direction, frame: Frame, schedule: &mut Schedule<'_>) {
        let path = self.link.path(direction);
        let way = &mut self.ways[direction.index()];
        if let Some(transit) = self.transit.get_mut(&frame.packet) {
            transit.frames += 1;
        }
        let late = if way.delays.happens(path.reordering) { path.late_by } else { Duration::ZERO };
        let flight = way.next_flight;
        way.next_flight += 1;
        way.flying.insert(flight, frame);
        schedule.push(now + path.delay + late, LinkEvent::Arrival(direction, flight));
    }

    fn arrival(
        &mut self,
        now: Time,
        direction: Direction,
        flight: u64,
        schedule: &mut Schedule<'_>,
    ) -> Option<(u64, Packet)> {
        let frame = self.ways[direction.index()].flying.remove(&flight)?;
        self.frames.delivered.add(frame.coded.bytes.len());
        self.decide(&frame, Fate::Delivered);
        let way = &mut self.ways[direction.index()];
        if let Some(transit) = self.transit.get_mut(&frame.packet) {
            transit.frames -= 1;
        }
        let decoded = way.codec.decode(now, &frame.coded.bytes, frame.packet);
        let whole = match decoded {
            Decoded::Packet(packet, number) => {
                if let Some(transit) = self.transit.get_mut(&number) {
                    transit.in_reassembly = false;
                }
                Some((number, packet))
            }
            Decoded::Partial => {
                if let Some(transit) = self.transit.get_mut(&frame.packet) {
                    transit.in_reassembly = true;
                }
                None
            }
            Decoded::Repeated => None,
            Decoded::Dropped(cause) => {
                if let Some(transit) = self.transit.get_mut(&frame.packet) {
                    transit.in_reassembly = false;
                    transit.cause = cause;
                }
                None
            }
        };
        self.reassembly(now, direction, schedule);
        // A packet that is whole is settled when the node has said what it does with it.
        if whole.as_ref().is_none_or(|(number, _)| *number != frame.packet) {
            self.settle(frame.packet);
        }
        whole
    }

    /// Takes from the decoder what it gave up, and waits for the next.
    fn reassembly(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let way = &mut self.ways[direction.index()];
        let abandoned = way.codec.abandoned(now);
        if let Some(at) = way.codec.poll_timeout()
            && way.reassembly_at.is_none_or(|set| at < set)
        {
            way.reassembly_at = Some(at);
            schedule.push(at, LinkEvent::Reassembly(direction));
        }
        for (number, cause) in abandoned {
            if let Some(transit) = self.transit.get_mut(&number) {
                transit.in_reassembly = false;
                transit.cause = cause;
            }
            self.settle(number);
        }
    }

    /// Tells the books and the captures what became of a frame.
    fn decide(&mut self, frame: &Frame, fate: Fate) {
        self.ledger.decide(frame.record, fate);
        let taps = self.taps.iter_mut().filter(|tap| tap.view() == View::Frames);
        for (tap, entry) in taps.zip(&frame.entries) {
            tap.decide(*entry, matches!(fate, Fate::Dropped(_)));
        }
    }

    /// Closes the book of a packet if nothing is left of it.
    fn settle(&mut self, number: u64) {
        let Some(transit) = self.transit.get(&number) else { return };
        if transit.frames > 0 || (transit.in_reassembly && !transit.arrived) {
            return;
        }
        if !transit.arrived {
            self.packets.drop_one(transit.cause, transit.len);
        }
        self.transit.remove(&number);
    }
}

/// How long a sender is silent after it was on the air for so long: t(1/d - 1), rounded up.
fn silence(on_air: Duration, duty_cycle: f64) -> Duration {
    let nanos = on_air.as_nanos() as f64 * (1.0 / duty_cycle - 1.0);
    // A cast saturates: with a duty cycle of nothing, this was the last frame.
    Duration::from_nanos(nanos.ceil() as u64)
}
