//! Every frame that goes onto a link, taken apart by layer: what the paper's bar charts are made of.
//!
//! The layers of a record add up to the length of the frame. Nothing is counted that a capture does not show: no
//! preamble, and no FCS on Ethernet.

mod classify;
#[cfg(test)]
mod tests;

use core::ops::AddAssign;
use std::collections::BTreeMap;

pub(crate) use classify::Classifier;

use crate::Time;
use crate::cause::Cause;
use crate::direction::Direction;
pub use crate::layers::Layers;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// TCP: SYN, or SYN and ACK.
    Syn,
    /// TCP: new data.
    Data,
    /// TCP: a segment with a sequence number that was sent before.
    Retransmission,
    /// TCP: a segment that only acknowledges.
    Acknowledgement,
    /// TCP: FIN without data.
    Fin,
    /// TCP: RST.
    Reset,
    /// A UDP datagram.
    Datagram,
    /// Any other packet.
    Other,
    /// A frame of the link layer itself: its acknowledgement.
    LinkAcknowledgement,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has not arrived yet.
    UnderWay,
    /// The other end has it.
    Delivered,
    /// It never arrives.
    Dropped(Cause),
}

/// A frame that went onto a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When its first bit was sent.
    pub at: Time,
    /// When its last bit arrived, once it did: if it came twice, the later time.
    pub arrived: Option<Time>,
    /// Which way.
    pub direction: Direction,
    /// Its bytes.
    pub layers: Layers,
    /// What the packet in it is for.
    pub kind: Kind,
    /// Which fragment of the packet it is, from 0 on, if the link had to fragment.
    pub fragment: Option<u16>,
    /// The number of the packet on this link.
    pub packet: u64,
    /// How often the link layer had sent this frame before.
    pub attempt: u8,
    /// What became of it.
    pub fate: Fate,
}

impl Record {
    /// Whether a packet begins with this frame, sent for the first time.
    pub fn begins_packet(&self) -> bool {
        self.attempt == 0 && self.fragment.unwrap_or(0) == 0 && self.kind != Kind::LinkAcknowledgement
    }
}

/// Sums over records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How many frames, each transmission.
    pub frames: u64,
    /// How many packets were in them.
    pub packets: u64,
    /// Their bytes.
    pub layers: Layers,
}

impl Total {
    /// Bytes of all layers.
    pub const fn bytes(&self) -> usize {
        self.layers.sum()
    }

    fn count(&mut self, record: &Record) {
        self.frames += 1;
        self.packets += u64::from(record.begins_packet());
        self.layers = self.layers + record.layers;
    }
}

impl AddAssign for Total {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.packets += other.packets;
        self.layers = self.layers + other.layers;
    }
}

/// What went onto a link.
#[derive(Clone, Debug)]
pub struct Ledger {
    totals: BTreeMap<(Direction, Kind), Total>,
    records: Vec<Record>,
    keeps_records: bool,
}

impl Ledger {
    pub(crate) const fn new() -> Self {
        Self { totals: BTreeMap::new(), records: Vec::new(), keeps_records: true }
    }

    /// Whether each frame is kept, or only the sums: long runs need no gigabytes of records.
    pub fn keep_records(&mut self, keep: bool) {
        self.keeps_records = keep;
    }

    /// Each frame, in the order of sending.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Everything.
    pub fn total(&self) -> Total {
        self.total_of(|_, _| true)
    }

    /// One way.
    pub fn total_towards(&self, direction: Direction) -> Total {
        self.total_of(|way, _| way == direction)
    }

    /// What was sent for one purpose, both ways.
    pub fn total_for(&self, kind: Kind) -> Total {
        self.total_of(|_, its| its == kind)
    }

    /// What was sent these ways and for these purposes.
    pub fn total_of(&self, mut counts: impl FnMut(Direction, Kind) -> bool) -> Total {
        let mut all = Total::default();
        for ((direction, kind), total) in &self.totals {
            if counts(*direction, *kind) {
                all += *total;
            }
        }
        all
    }

    /// Notes a frame, and says by which number its fate can be told.
    pub(crate) fn note(&mut self, record: Record) -> usize {
        self.totals.entry((record.direction, record.kind)).or_default().count(&record);
        if self.keeps_records {
            self.records.push(record);
            return self.records.len() - 1;
        }
        usize::MAX
    }

    pub(crate) fn decide(&mut self, at: Time, number: usize, fate: Fate) {
        if let Some(record) = self.records.get_mut(number) {
            record.fate = fate;
            if fate == Fate::Delivered {
                record.arrived = Some(at);
            }
        }
    }
}
