//! What the frames of both meshes have cost, and the motes.

use core::time::Duration;
use std::collections::BTreeMap;

use super::{Bytes, StepCount};
use crate::Time;
use crate::direction::Direction;
use crate::energy::{Meter, Models, Processor, RadioModel};
use crate::ledger::{Kind, Ledger};
use crate::onboarding::journal::Journal;
use crate::onboarding::step::Step;
use crate::tsch::Mesh;

/// The frames of a mesh.
pub(super) struct Frames<'a> {
    pub(super) ledger: &'a Ledger,
    /// Whether there is a frame of each packet: none was refused because a mote had no room.
    pub(super) is_whole: bool,
}

/// Counts the frames of the network and of the pledge's hop from `begun` on, by the step of their datagram. It ended at `end`.
pub(super) fn steps(
    network: &Frames<'_>,
    last_hop: &Frames<'_>,
    journal: &Journal,
    [begun, end]: [Time; 2],
) -> Vec<StepCount> {
    let sent = |direction| {
        let datagrams = journal.datagrams.iter().filter(move |datagram| datagram.direction == direction);
        datagrams.map(|datagram| datagram.step).collect::<Vec<Step>>()
    };
    // Nothing is lost between the registrar and the gateway.
    let [passed_up, passed_down] = journal.passed.clone();
    let of_network = [passed_up, sent(Direction::Down)];
    let of_last_hop = [sent(Direction::Up), passed_down];
    let mut sums: BTreeMap<Step, Bytes> = BTreeMap::new();
    for (frames, steps, is_last_hop) in [(network, of_network, false), (last_hop, of_last_hop, true)] {
        let places = frames.places();
        for record in frames.ledger.records().iter().filter(|record| record.at >= begun) {
            let place = places.get(&record.packet).copied().filter(|_| frames.is_whole);
            let step = place.and_then(|(direction, place)| steps[direction.index()].get(place));
            let step = step.copied().unwrap_or_else(|| journal.step_at(record.at));
            let bytes = sums.entry(step).or_default();
            let sum = match (is_last_hop, record.direction) {
                (true, Direction::Up) => &mut bytes.up,
                (true, Direction::Down) => &mut bytes.down,
                (false, Direction::Up) => &mut bytes.mesh_up,
                (false, Direction::Down) => &mut bytes.mesh_down,
            };
            *sum += record.layers.sum();
            bytes.frames += usize::from(record.kind != Kind::LinkAcknowledgement);
        }
    }
    let ends = journal.begun.iter().skip(1).map(|(begun, _)| *begun).chain([end]);
    let mut times: BTreeMap<Step, Duration> = BTreeMap::new();
    for ((begun, step), ended) in journal.begun.iter().zip(ends) {
        *times.entry(*step).or_default() += ended.since(*begun);
    }
    let count = |(step, bytes)| StepCount { step, bytes, time: times.get(&step).copied().unwrap_or_default() };
    sums.into_iter().map(count).collect()
}

impl Frames<'_> {
    /// Returns the direction of each packet, and its place among those of the same direction, in the order of sending.
    fn places(&self) -> BTreeMap<u64, (Direction, usize)> {
        let data = self.ledger.records().iter().filter(|record| record.kind == Kind::Datagram);
        let directions: BTreeMap<u64, Direction> = data.map(|record| (record.packet, record.direction)).collect();
        let mut counts = [0; 2];
        let place = |(packet, direction): (u64, Direction)| {
            let count = &mut counts[direction.index()];
            *count += 1;
            (packet, (direction, *count - 1))
        };
        directions.into_iter().map(place).collect()
    }
}

/// The counts of all motes of a mesh at a time.
pub(super) struct Reading {
    slots: u64,
    meters: Vec<Meter>,
}

impl Reading {
    pub(super) fn of(mesh: &Mesh, now: Time) -> Self {
        let motes = 0..mesh.config().motes.len() as u16; // a mesh has no more
        Self { slots: mesh.slots(now), meters: motes.filter_map(|mote| mesh.meter(mote, now)).collect() }
    }
}

/// What the radio of a mote costs.
pub(super) struct Batteries {
    radio: RadioModel,
    slot: Duration,
}

impl Batteries {
    /// Returns the model of the CC2650, which scenarios have by default, with slots of this length.
    pub(super) fn new(slot: Duration) -> Option<Self> {
        Some(Self { radio: Models::built_in().radio("cc2650")?.clone(), slot })
    }

    /// Returns the charge of each mote from the second reading to the third one, in millicoulombs, and what it would have been if
    /// all had gone on as between the first two.
    pub(super) fn charges(&self, [earlier, from, to]: [&Reading; 3]) -> Vec<[f64; 2]> {
        let slots = to.slots.saturating_sub(from.slots);
        let idle = from.slots.saturating_sub(earlier.slots);
        let of = |before: &Reading, after: &Reading, mote: usize, slots| {
            let (Some(before), Some(after)) = (before.meters.get(mote), after.meters.get(mote)) else { return 0.0 };
            after.since(before).energy(&self.radio, &Processor::NONE, slots, self.slot).charge() / MICRO_IN_MILLI
        };
        let share = slots as f64 / idle.max(1) as f64;
        let motes = 0..to.meters.len();
        motes.map(|mote| [of(from, to, mote, slots), of(earlier, from, mote, idle) * share]).collect()
    }
}

const MICRO_IN_MILLI: f64 = 1_000.0;
