//! The ledger records every frame that goes onto a link, taken apart by layer: the source of the paper's bar charts.
//!
//! The layers of a record add up to the length of the frame. Only what a capture shows is counted: no preamble, and no
//! FCS on Ethernet.

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

/// The purpose of a packet.
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
    /// A frame of the link layer itself: an acknowledgement.
    LinkAcknowledgement,
    /// An Enhanced Beacon.
    Beacon,
    /// A frame that asks for nothing but its acknowledgement, to stay synchronised.
    KeepAlive,
    /// A 6P message.
    Sixp,
    /// RPL: a DODAG Information Solicitation.
    Dis,
    /// RPL: a DODAG Information Object.
    Dio,
    /// RPL: a Destination Advertisement Object.
    Dao,
    /// RPL: the answer to one.
    DaoAck,
}

impl Kind {
    /// The kinds of what a network sends to form itself and to stay, without acknowledgements of the link layer.
    pub const OF_NETWORK: [Self; 7] =
        [Self::Beacon, Self::KeepAlive, Self::Sixp, Self::Dis, Self::Dio, Self::Dao, Self::DaoAck];

    /// Whether frames of this kind form a network, or keep it.
    pub const fn is_of_network(self) -> bool {
        matches!(self, Self::Beacon | Self::KeepAlive | Self::Sixp | Self::Dis | Self::Dio | Self::Dao | Self::DaoAck)
    }
}

/// The fate of a frame.
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
    /// The time when its first bit was sent.
    pub at: Time,
    /// The time when its last bit arrived, if it did; the later time if it arrived twice.
    pub arrived: Option<Time>,
    /// The way it went.
    pub direction: Direction,
    /// The end of the link, or the node of the mesh, that sent it: on a link 0 is the first end.
    pub sender: u16,
    /// Its bytes by layer.
    pub layers: Layers,
    /// The purpose of the packet in it.
    pub kind: Kind,
    /// The index of the fragment in its packet, from 0 on, if the link had to fragment.
    pub fragment: Option<u16>,
    /// The number of the packet on this link; [`u64::MAX`] for a frame without one, as a beacon is.
    pub packet: u64,
    /// The number of earlier transmissions of this frame by the link layer.
    pub attempt: u8,
    /// Whether it arrived, and if not why.
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
    /// The number of frames, with each repetition.
    pub frames: u64,
    /// The number of packets in them.
    pub packets: u64,
    /// The bytes by layer.
    pub layers: Layers,
}

impl Total {
    /// Returns the bytes of all layers.
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

/// The frames that went onto a link, and their sums.
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

    /// Sets whether each frame is kept, or only the sums: the records of a long run would take gigabytes.
    pub fn keep_records(&mut self, keep: bool) {
        self.keeps_records = keep;
    }

    /// Returns each frame, in the order of sending.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the sums over all records.
    pub fn total(&self) -> Total {
        self.total_of(|_, _| true)
    }

    /// Returns the sums over one direction.
    pub fn total_towards(&self, direction: Direction) -> Total {
        self.total_of(|way, _| way == direction)
    }

    /// Returns the sums over packets of one kind, in both directions.
    pub fn total_for(&self, kind: Kind) -> Total {
        self.total_of(|_, its| its == kind)
    }

    /// Returns the sums over the directions and kinds for which `counts` holds.
    pub fn total_of(&self, mut counts: impl FnMut(Direction, Kind) -> bool) -> Total {
        let mut all = Total::default();
        for ((direction, kind), total) in &self.totals {
            if counts(*direction, *kind) {
                all += *total;
            }
        }
        all
    }

    /// Records a frame, and returns its number, by which its fate is reported later.
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
