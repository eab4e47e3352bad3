//! The TSCH schedule: a pattern of cells that every link gets, or each cell by itself.
//!
//! What must always hold: in a laid-out schedule no mote has two cells in one slot.

mod occupied;

use core::time::Duration;
use std::collections::BTreeMap;

use occupied::OccupiedSlots;

use super::Contradiction;
use super::topology::Topology;
use crate::Time;
use crate::scenario::visit::{Named, Visitor, choice, choices, field, small};
use crate::tsch::{Asn, Timeslot};

/// The schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleOptions {
    /// The length of a slot.
    pub slot: SlotLength,
    /// The channels in the order of hopping.
    pub hopping: Vec<u64>,
    /// The cells of the first link, in their order. Every other link gets as many of each, in slots that its motes have free.
    pub cells: Vec<CellKind>,
    /// How long the slotframe is.
    pub length: Length,
    /// Where the cells stand in a slotframe that is longer than they need.
    pub placement: Placement,
    /// Each cell by itself; if there is one, `cells` and `placement` do not count.
    pub explicit: Vec<ExplicitCell>,
}

/// The length of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum SlotLength {
    Ms10,
    Ms15,
    Ms20,
}

/// A cell of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// All motes send and receive.
    Shared,
    /// The child sends to its parent.
    Up,
    /// The parent sends to its child.
    Down,
}

/// The length of a slotframe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// The number of slots.
    Slots(u64),
    /// The share of slots in which the mote with the most cells is awake; the root does not count.
    DutyCycle(f64),
}

/// Where cells stand in a slotframe that is longer than they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// They stand as far apart as they can.
    Spread,
    /// They stand at the beginning, one after the other.
    Together,
}

/// A cell of an explicit schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplicitCell {
    /// The number of the slot in the slotframe.
    pub slot: u16,
    /// The channel offset.
    pub channel_offset: u8,
    /// Whether it is shared.
    pub kind: ExplicitKind,
    /// The mote that sends; of no meaning in a shared cell.
    pub from: u64,
    /// The mote that receives; of no meaning in a shared cell.
    pub to: u64,
}

/// The kind of an explicit cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitKind {
    /// All motes send and receive.
    Shared,
    /// One mote sends to another one.
    Dedicated,
}

impl Named for CellKind {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Shared, "shared"), (Self::Up, "up"), (Self::Down, "down")];
}

impl Named for Placement {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Spread, "spread"), (Self::Together, "together")];
}

impl Named for ExplicitKind {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Shared, "shared"), (Self::Dedicated, "dedicated")];
}

impl SlotLength {
    const fn milliseconds(self) -> u64 {
        match self {
            Self::Ms10 => 10,
            Self::Ms15 => 15,
            Self::Ms20 => 20,
        }
    }

    const fn of(milliseconds: u64) -> Self {
        match milliseconds {
            10 => Self::Ms10,
            15 => Self::Ms15,
            _ => Self::Ms20,
        }
    }

    /// Returns the durations within a slot: 15 and 20 ms are OpenWSN's, whole numbers of ticks of 32,768 Hz.
    pub const fn timeslot(self) -> Timeslot {
        match self {
            Self::Ms10 => Timeslot::STANDARD_10_MS,
            Self::Ms15 => Timeslot::OPENWSN_15_MS,
            Self::Ms20 => Timeslot::OPENWSN_20_MS,
        }
    }

    /// Returns the length of a slot.
    pub fn duration(self) -> Duration {
        self.timeslot().start(Asn(1)).since(Time::ZERO)
    }
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        use CellKind::{Down, Shared, Up};
        Self {
            slot: SlotLength::Ms20,
            hopping: HOPPING.to_vec(),
            cells: vec![Shared, Up, Down, Down, Down],
            length: Length::DutyCycle(1.0),
            placement: Placement::Spread,
            explicit: Vec::new(),
        }
    }
}

impl ScheduleOptions {
    /// Returns the number of slots in the slotframe, and all cells in it.
    pub fn lay_out(&self, topology: &Topology) -> (u16, Vec<ExplicitCell>) {
        if !self.explicit.is_empty() {
            return (self.slots(self.explicit.iter().map(|cell| u64::from(cell.slot) + 1).max().unwrap_or(1), 1), {
                self.explicit.clone()
            });
        }
        let (mut cells, needed) = self.closest(&topology.parents());
        let busiest = busiest(&cells, topology.motes());
        let slots = self.slots(needed, busiest);
        if self.placement == Placement::Spread {
            for cell in &mut cells {
                let place = u64::from(cell.slot) * u64::from(slots) / needed.max(1);
                cell.slot = u16::try_from(place).unwrap_or(u16::MAX);
            }
        }
        (slots, cells)
    }

    /// Returns the cells as close to each other as they can be, and the number of slots that they take.
    fn closest(&self, parents: &[u64]) -> (Vec<ExplicitCell>, u64) {
        let dedicated = |slot, channel_offset, from, to| ExplicitCell {
            slot,
            channel_offset,
            kind: ExplicitKind::Dedicated,
            from,
            to,
        };
        let mut cells: Vec<ExplicitCell> = Vec::new();
        let shared = self.cells.iter().enumerate().filter(|(_, kind)| **kind == CellKind::Shared);
        let shared: Vec<u16> = shared.map(|(slot, _)| slot as u16).collect();
        for slot in &shared {
            let kind = ExplicitKind::Shared;
            cells.push(ExplicitCell { slot: *slot, channel_offset: 0, kind, from: 0, to: 0 });
        }
        let mut occupied = OccupiedSlots::new(&shared);
        for (child, parent) in (1..).zip(parents) {
            for kind in self.cells.iter().filter(|kind| **kind != CellKind::Shared) {
                // A mote has one radio: neither end may have another cell in the slot.
                let slot = occupied.first_free([child, *parent]);
                let others = occupied.occupy([child, *parent], slot);
                // Links that send at the same time do so on different channels.
                let channel_offset = (others % self.hopping.len().max(1)) as u8;
                cells.push(match kind {
                    CellKind::Down => dedicated(slot, channel_offset, *parent, child),
                    _ => dedicated(slot, channel_offset, child, *parent),
                });
            }
        }
        cells.sort_by_key(|cell| (cell.slot, cell.channel_offset));
        let needed = cells.iter().map(|cell| u64::from(cell.slot) + 1).max().unwrap_or(1);
        (cells, needed.max(self.cells.len() as u64))
    }

    fn slots(&self, needed: u64, busiest: u64) -> u16 {
        let slots = match self.length {
            Length::Slots(slots) => slots,
            Length::DutyCycle(share) => ((busiest as f64 / share).round() as u64).max(needed),
        };
        u16::try_from(slots).unwrap_or(u16::MAX)
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let mut milliseconds = self.slot.milliseconds();
        visitor.one_of(field("slot_ms", "length of a slot", ""), &[10, 15, 20], &mut milliseconds);
        self.slot = SlotLength::of(milliseconds);
        visitor.integers(field("hopping", "list of channels", "channels"), &mut self.hopping, 11..=26, 64);
        choices(visitor, field("cells", "list of cells", ""), &mut self.cells, 64);
        choice(visitor, field("placement", "placement of cells", ""), &mut self.placement);
        let current = usize::from(matches!(self.length, Length::DutyCycle(_)));
        for alternative in visitor.alternatives(&["slotframe", "duty_cycle"], current) {
            if alternative == 0 {
                let mut slots = if let Length::Slots(slots) = self.length { slots } else { 5 };
                visitor.integer(field("slotframe", "length of a slotframe", "slots"), &mut slots, 1..=65_535);
                self.length = Length::Slots(slots);
            } else {
                let mut share = if let Length::DutyCycle(share) = self.length { share } else { 1.0 };
                visitor.number(field("duty_cycle", "share of slots", ""), &mut share, 0.000_1..=1.0);
                self.length = Length::DutyCycle(share);
            }
        }
        let mut len = self.explicit.len();
        let explicit = &mut self.explicit;
        visitor.tables("cell", &mut len, &mut |number, visitor| {
            if explicit.len() <= number {
                explicit.push(ExplicitCell::NONE);
            }
            if let Some(cell) = explicit.get_mut(number) {
                cell.visit(visitor);
            }
        });
        self.explicit.truncate(len);
    }

    pub(super) fn check(&self, topology: &Topology, found: &mut Vec<Contradiction>) {
        if self.explicit.is_empty() {
            for (kind, whose) in [(CellKind::Up, "the client"), (CellKind::Down, "the server")] {
                if !self.cells.contains(&kind) {
                    let name = kind.name();
                    found.push(("schedule.cells", format!("{whose} has no cell to send in: add {name:?}")));
                    return;
                }
            }
            let (_, needed) = self.closest(&topology.parents());
            match self.length {
                Length::Slots(slots) if slots < needed => {
                    let text = format!("{slots} slots are too few for the cells of all links: {needed} or more");
                    found.push(("schedule.slotframe", text));
                }
                Length::DutyCycle(_) if needed > 65_535 => {
                    found.push(("schedule.cells", "the links need more than 65535 slots: fewer cells".into()));
                }
                _ => {}
            }
            return;
        }
        let (slots, cells) = self.lay_out(topology);
        for cell in &cells {
            cell.check(slots, topology, found);
        }
        let mut by_slot: BTreeMap<u16, Vec<&ExplicitCell>> = BTreeMap::new();
        for cell in &cells {
            let others = by_slot.entry(cell.slot).or_default();
            if others.iter().any(|other| cell.meets(other)) {
                let text = format!("a mote has two cells in slot {}: one for each mote in a slot", cell.slot);
                found.push(("schedule.cell", text));
            }
            others.push(cell);
        }
    }
}

/// Returns the number of slots in which the mote with the most cells is awake. The root does not count.
fn busiest(cells: &[ExplicitCell], motes: u64) -> u64 {
    let mut dedicated = vec![0; motes as usize + 1];
    let is_shared = |cell: &&ExplicitCell| cell.kind == ExplicitKind::Shared;
    let (shared, of_links): (Vec<&ExplicitCell>, Vec<&ExplicitCell>) = cells.iter().partition(is_shared);
    for mote in of_links.iter().flat_map(|cell| [cell.from, cell.to]) {
        if let Some(count) = dedicated.get_mut(mote as usize) {
            *count += 1;
        }
    }
    dedicated.iter().skip(1).max().map_or(1, |most| shared.len() as u64 + most)
}

impl ExplicitCell {
    const NONE: Self = Self { slot: 0, channel_offset: 0, kind: ExplicitKind::Dedicated, from: 0, to: 0 };

    fn visit(&mut self, visitor: &mut dyn Visitor) {
        small(visitor, field("slot", "slot", ""), &mut self.slot, 0..=65_534);
        small(visitor, field("channel_offset", "channel offset", ""), &mut self.channel_offset, 0..=15);
        choice(visitor, field("kind", "kind of cell", ""), &mut self.kind);
        visitor.integer(field("from", "mote", ""), &mut self.from, 0..=1_000);
        visitor.integer(field("to", "mote", ""), &mut self.to, 0..=1_000);
    }

    fn check(&self, slots: u16, topology: &Topology, found: &mut Vec<Contradiction>) {
        if self.slot >= slots {
            found.push(("schedule.cell", format!("slot {} is not in the slotframe: 0 to {}", self.slot, slots - 1)));
        }
        if self.kind == ExplicitKind::Shared {
            return;
        }
        let is_link = |child: u64, parent: u64| topology.parent(child) == Some(parent);
        if !is_link(self.from, self.to) && !is_link(self.to, self.from) {
            let text = format!("there is no link from mote {} to mote {}: a mote and its parent", self.from, self.to);
            found.push(("schedule.cell", text));
        }
    }

    /// Whether one mote would have both cells.
    fn meets(&self, other: &Self) -> bool {
        let is_shared = self.kind == ExplicitKind::Shared || other.kind == ExplicitKind::Shared;
        is_shared || [self.from, self.to].iter().any(|mote| [other.from, other.to].contains(mote))
    }
}

/// The default hopping sequence of IEEE 802.15.4 on 16 channels (6.2.10 and macHoppingSequenceList; also RFC 8180, 4.5.3), as
/// OpenWSN has it.
const HOPPING: [u64; 16] = [16, 17, 23, 18, 26, 15, 25, 22, 19, 11, 12, 13, 24, 14, 20, 21];

#[cfg(test)]
mod tests;
