//! Bytes by step and by layer: the frames of the ledger, with what both hosts wrote down about their content.
//!
//! What must always hold: each frame counts in one step, and each of its bytes in one layer.

use core::ops::{Add, AddAssign};
use core::time::Duration;
use std::collections::BTreeMap;

use super::journal::{Journal, Piece};
use super::step::Step;
use crate::Time;
use crate::direction::Direction;
use crate::ledger::{Kind, Ledger, Record};

/// Bytes in one direction, by layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Messages of CoAP or of HTTP, with their content; in a handshake its messages, with their headers.
    pub messages: usize,
    /// Headers, nonces and tags of records.
    pub records: usize,
    /// Headers of UDP or TCP, as the link has them.
    pub transport: usize,
    /// Headers of IP as the link has them, and of 6LoWPAN's fragments.
    pub network: usize,
    /// Headers and trailers of frames.
    pub link: usize,
    /// Whole frames that the link layer or TCP sent again. Retransmissions of DTLS and of CoAP are new datagrams.
    pub repeated: usize,
    /// Acknowledgements of the link layer.
    pub acknowledgements: usize,
    /// The number of frames, with repetitions, without acknowledgements.
    pub frames: usize,
    /// The number of IP packets.
    pub packets: usize,
}

impl Bytes {
    /// Returns the bytes of all layers.
    pub const fn sum(&self) -> usize {
        let content = self.messages + self.records;
        content + self.transport + self.network + self.link + self.repeated + self.acknowledgements
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            records: self.records + other.records,
            transport: self.transport + other.transport,
            network: self.network + other.network,
            link: self.link + other.link,
            repeated: self.repeated + other.repeated,
            acknowledgements: self.acknowledgements + other.acknowledgements,
            frames: self.frames + other.frames,
            packets: self.packets + other.packets,
        }
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What a step has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCount {
    /// The step.
    pub step: Step,
    /// From the pledge.
    pub up: Bytes,
    /// To the pledge.
    pub down: Bytes,
    /// How long the pledge was in it.
    pub time: Duration,
}

impl StepCount {
    /// Returns the bytes of both directions.
    pub fn both(&self) -> Bytes {
        self.up + self.down
    }
}

/// Counts the frames of a run that ended at `end`.
pub(super) fn count(ledger: &Ledger, journal: &Journal, end: Time) -> Vec<StepCount> {
    let mut counter = Counter::new(journal);
    for record in ledger.records() {
        let (step, bytes) = counter.take(record);
        let [up, down] = counter.sums.entry(step).or_default();
        *(if record.direction == Direction::Up { up } else { down }) += bytes;
    }
    let mut times: BTreeMap<Step, Duration> = BTreeMap::new();
    let ends = journal.begun.iter().skip(1).map(|(begun, _)| *begun).chain([end]);
    for ((begun, step), ended) in journal.begun.iter().zip(ends) {
        *times.entry(*step).or_default() += ended.since(*begun);
    }
    let count = |step| {
        let [up, down] = counter.sums.get(&step).copied()?;
        Some(StepCount { step, up, down, time: times.get(&step).copied().unwrap_or_default() })
    };
    Step::ALL.into_iter().filter_map(count).collect()
}

/// Takes the frames in the order in which they were sent.
struct Counter<'a> {
    journal: &'a Journal,
    sums: BTreeMap<Step, [Bytes; 2]>,
    /// How many bytes of each datagram's records have been counted.
    counted_records: BTreeMap<u64, usize>,
    /// What TCP has sent of both streams: the number of whole pieces, and the bytes of the next one.
    sent: [(usize, usize); 2],
}

impl<'a> Counter<'a> {
    const fn new(journal: &'a Journal) -> Self {
        Self { journal, sums: BTreeMap::new(), counted_records: BTreeMap::new(), sent: [(0, 0); 2] }
    }

    fn take(&mut self, record: &Record) -> (Step, Bytes) {
        let layers = record.layers;
        let by_time = self.journal.step_at(record.at);
        let step_of_datagram =
            usize::try_from(record.packet).ok().and_then(|number| self.journal.datagrams.get(number));
        let step = step_of_datagram.map_or(by_time, |datagram| datagram.step);
        if record.kind == Kind::LinkAcknowledgement {
            return (step, Bytes { acknowledgements: layers.sum(), ..Bytes::default() });
        }
        let packets = usize::from(record.begins_packet());
        if record.attempt > 0 || record.kind == Kind::Retransmission {
            return (step, Bytes { repeated: layers.sum(), frames: 1, packets, ..Bytes::default() });
        }
        let (step, records) = match (step_of_datagram, record.kind) {
            (Some(datagram), _) => {
                // Headers come first. What a link that gives up does not send is missing at the end.
                let counted = self.counted_records.entry(record.packet).or_default();
                let records = (datagram.records - *counted).min(layers.application);
                *counted += records;
                (step, records)
            }
            (None, Kind::Data) => self.take_stream(record, by_time),
            (None, _) => (step, 0),
        };
        let bytes = Bytes {
            messages: layers.application - records,
            records,
            transport: layers.transport,
            network: layers.network,
            link: layers.link,
            frames: 1,
            packets,
            ..Bytes::default()
        };
        (step, bytes)
    }

    /// Takes the next bytes of a stream. A segment belongs to the step of its first byte. Returns how many of its bytes are of
    /// headers and tags of records.
    fn take_stream(&mut self, record: &Record, by_time: Step) -> (Step, usize) {
        let pieces: &[Piece] = &self.journal.streams[record.direction.index()];
        let (place, offset) = &mut self.sent[record.direction.index()];
        let (mut left, mut records, mut step) = (record.layers.application, 0, None);
        while let Some(piece) = pieces.get(*place) {
            let taken = left.min(piece.len - *offset);
            if taken > 0 {
                step.get_or_insert(piece.step);
            }
            records += if piece.is_of_record { taken } else { 0 };
            (left, *offset) = (left - taken, *offset + taken);
            if *offset < piece.len {
                break;
            }
            (*place, *offset) = (*place + 1, 0);
        }
        (step.unwrap_or(by_time), records)
    }
}
