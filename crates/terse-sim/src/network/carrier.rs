//! The state of a link: queues, the air, frames in flight, and the balances of packets and frames.
//!
//! A packet waits in its direction's queue, and is made into frames. Each frame goes on the air, is then lost or in
//! flight, may be sent again (all this is in [`air`]), and is decoded. A packet is *in transit* until a node took it, or
//! until nothing is left of it.

mod air;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Balance, Cause, Conservation, End, LinkId, Schedule, Verdict};
use crate::capture::{Capture, Tap, View};
use crate::decoded::Decoded;
use crate::ledger::{Classifier, Fate, Kind, Ledger};
use crate::link::{Codec, Coded, Direction, Link, Station};
use crate::packet::Packet;
use crate::{Random, Time};

/// A link and everything on it.
#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) link: Link,
    pub(crate) ledger: Ledger,
    taps: Vec<Tap>,
    ends: [End; 2],
    directions: [DirectionState; 2],
    transit: BTreeMap<u64, Transit>,
    next_number: u64,
    packets: Balance,
    frames: Balance,
}

/// An event on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkEvent {
    /// The sender may be on the air again.
    Ready(Direction),
    /// The last bit of a frame has been sent.
    Sent(Direction),
    /// A frame was acknowledged by the link layer, or the wait for that is over.
    Acknowledged(Direction),
    /// The frame with this number arrives.
    Arrival(Direction, u64),
    /// The timeout of a reassembly may be over.
    Reassembly(Direction),
}

/// The state of one direction.
#[derive(Debug)]
struct DirectionState {
    codec: Codec,
    classifier: Classifier,
    queue: VecDeque<(u64, Packet)>,
    /// The frames of the current packet that were not sent yet.
    frames: VecDeque<Frame>,
    on_air: Option<Frame>,
    /// The frame that waits for its acknowledgement, and whether that is on its way.
    waiting: Option<(Frame, bool)>,
    flying: BTreeMap<u64, Frame>,
    next_flight: u64,
    silent_until: Time,
    /// The times for which there are events in the queue already.
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
    /// The numbers of the frame in the taps.
    entries: Vec<usize>,
}

impl DirectionState {
    const fn is_sending(&self) -> bool {
        self.on_air.is_some() || self.waiting.is_some()
    }
}

/// A packet in transit.
#[derive(Debug)]
struct Transit {
    len: usize,
    /// The number of frames that are still with the sender, and of copies in flight.
    frames: u32,
    in_reassembly: bool,
    arrived: bool,
    cause: Cause,
}

impl Carrier {
    pub(crate) fn new(link: Link, ends: [End; 2], stations: [Station; 2], seed: u64, id: LinkId) -> Self {
        let state = |direction: Direction, from, to| {
            // Each random decision has its own stream; those of the nodes begin far above.
            let stream = |chance| Random::new(seed, u64::from(id.0) * 8 + direction.index() as u64 * 4 + chance);
            DirectionState {
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
        let directions = [state(Direction::Up, first, second), state(Direction::Down, second, first)];
        Self {
            link,
            ledger: Ledger::new(),
            taps: Vec::new(),
            ends,
            directions,
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

    /// Returns the captures of the taps.
    pub(crate) fn captures(&self) -> impl Iterator<Item = Capture> {
        self.taps.iter().map(Tap::capture)
    }

    /// Returns the end that sends in this direction.
    pub(crate) const fn end(&self, direction: Direction) -> End {
        self.ends[direction.index()]
    }

    /// Takes a packet from the node at the beginning of this direction.
    pub(crate) fn send(&mut self, now: Time, direction: Direction, mut packet: Packet, schedule: &mut Schedule<'_>) {
        self.packets.sent.add(packet.len());
        let state = &mut self.directions[direction.index()];
        let path = self.link.path(direction);
        let refused = if packet.len() > self.link.mtu {
            Some(Cause::TooLong)
        } else {
            (state.queue.len() >= path.queue).then_some(Cause::QueueFull)
        };
        if let Some(cause) = refused {
            return self.packets.drop_one(cause, packet.len());
        }
        if path.mark_at.is_some_and(|share| state.queue.len() as f64 >= share * path.queue as f64) {
            packet.mark_congestion();
        }
        let number = self.next_number;
        self.next_number += 1;
        let transit =
            Transit { len: packet.len(), frames: 1, in_reassembly: false, arrived: false, cause: Cause::Lost };
        self.transit.insert(number, transit);
        state.queue.push_back((number, packet));
        self.advance(now, direction, schedule);
    }

    /// Handles an event. A packet that arrives is returned with its number.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        event: LinkEvent,
        schedule: &mut Schedule<'_>,
    ) -> Option<(Direction, u64, Packet)> {
        match event {
            LinkEvent::Ready(direction) => {
                self.directions[direction.index()].ready_at = None;
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
                self.directions[direction.index()].reassembly_at = None;
                self.reassembly(now, direction, schedule);
                None
            }
        }
    }

    /// Takes the verdict of the receiving node on a packet.
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
        self.close_balance(number);
    }

    /// Returns the balances, with everything in transit counted where it is.
    pub(crate) fn conservation(&self) -> Conservation {
        let mut all = Conservation { packets: self.packets.clone(), frames: self.frames.clone() };
        let mut present = BTreeSet::new();
        for state in &self.directions {
            present.extend(state.queue.iter().map(|(number, _)| *number));
            present.extend(
                state.frames.iter().chain(&state.on_air).chain(state.flying.values()).map(|frame| frame.packet),
            );
            present.extend(state.waiting.iter().map(|(frame, _)| frame.packet));
            present.extend(state.codec.held());
            for frame in state.on_air.iter().chain(state.flying.values()) {
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

    /// Handles a frame that arrived at the other end.
    fn arrival(
        &mut self,
        now: Time,
        direction: Direction,
        flight: u64,
        schedule: &mut Schedule<'_>,
    ) -> Option<(u64, Packet)> {
        let frame = self.directions[direction.index()].flying.remove(&flight)?;
        self.frames.delivered.add(frame.coded.bytes.len());
        self.decide(now, &frame, Fate::Delivered);
        let state = &mut self.directions[direction.index()];
        if let Some(transit) = self.transit.get_mut(&frame.packet) {
            transit.frames -= 1;
        }
        let decoded = state.codec.decode(now, &frame.coded.bytes, frame.packet);
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
        // A complete packet is settled by the verdict of the node.
        if whole.as_ref().is_none_or(|(number, _)| *number != frame.packet) {
            self.close_balance(frame.packet);
        }
        whole
    }

    /// Takes from the decoder the packets that it gave up, and schedules the next timeout.
    fn reassembly(&mut self, now: Time, direction: Direction, schedule: &mut Schedule<'_>) {
        let state = &mut self.directions[direction.index()];
        let abandoned = state.codec.abandoned(now);
        if let Some(at) = state.codec.poll_timeout()
            && state.reassembly_at.is_none_or(|set| at < set)
        {
            state.reassembly_at = Some(at);
            schedule.push(at, LinkEvent::Reassembly(direction));
        }
        for (number, cause) in abandoned {
            if let Some(transit) = self.transit.get_mut(&number) {
                transit.in_reassembly = false;
                transit.cause = cause;
            }
            self.close_balance(number);
        }
    }

    /// Records the fate of a frame and its time, in the ledger and the captures.
    fn decide(&mut self, at: Time, frame: &Frame, fate: Fate) {
        self.ledger.decide(at, frame.record, fate);
        let taps = self.taps.iter_mut().filter(|tap| tap.view() == View::Frames);
        for (tap, entry) in taps.zip(&frame.entries) {
            tap.decide(*entry, matches!(fate, Fate::Dropped(_)));
        }
    }

    /// Closes the balance of a packet if nothing is left of it.
    fn close_balance(&mut self, number: u64) {
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
