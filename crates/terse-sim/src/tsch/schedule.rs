//! Schedules: which node sends and listens in which slots (IEEE 802.15.4-2020, 6.2.6).
//!
//! What must always hold: where cells of two slotframes meet, a cell with something to send comes before one that listens, and
//! the lower slotframe before the higher (6.2.6.4).

use crate::asn::Asn;

/// A cell of a node's schedule: a link, in the words of IEEE 802.15.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The handle of the slotframe.
    pub slotframe: u8,
    /// The slot within the slotframe.
    pub slot: u16,
    /// The channel offset, 0 to 15.
    pub channel_offset: u8,
    /// What the node does in the cell.
    pub kind: CellKind,
    /// The neighbour; `None` in cells that are for all.
    pub peer: Option<u16>,
}

/// What a node does in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// The node sends to its neighbour.
    Tx,
    /// The node listens to its neighbour.
    Rx,
    /// The node sends if it has something to send, and else listens. Others may send at the same time.
    Shared,
}

impl CellKind {
    /// Whether the node may send in such a cell.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Tx | Self::Shared)
    }

    /// Whether the node may listen in such a cell.
    pub const fn listens(self) -> bool {
        matches!(self, Self::Rx | Self::Shared)
    }
}

/// The cells of a node, ordered by the handle of the slotframe, and then as they were given.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    cells: Vec<Cell>,
    /// The lengths of all slotframes, by handle.
    lengths: Box<[u16]>,
    /// After so many slots all slotframes begin together again.
    period: u64,
    /// The slots of that period in which the node listens if it does not send, in order, each once.
    listens: Vec<u64>,
}

impl Schedule {
    /// Creates the schedule of cells that were checked.
    pub(super) fn new(cells: &[Cell], lengths: &[u16]) -> Self {
        let mut cells = cells.to_vec();
        cells.sort_by_key(|cell| cell.slotframe);
        let mut schedule = Self { cells, lengths: lengths.into(), period: period(lengths), listens: Vec::new() };
        schedule.note_listening();
        schedule
    }

    /// Adds a cell.
    pub(super) fn add(&mut self, cell: Cell) {
        let index = self.cells.partition_point(|other| other.slotframe <= cell.slotframe);
        self.cells.insert(index, cell);
        self.note_listening();
    }

    /// Removes a cell.
    pub(super) fn remove(&mut self, cell: &Cell) {
        self.cells.retain(|other| other != cell);
        self.note_listening();
    }

    /// Removes all cells.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.listens.clear();
    }

    /// Returns all cells.
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the cells in which the node may send.
    pub(super) fn sending(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.kind.sends())
    }

    /// Whether a cell is there for sending to a neighbour alone.
    pub(super) fn sends_to(&self, peer: u16) -> bool {
        self.cells.iter().any(|cell| cell.kind == CellKind::Tx && cell.peer == Some(peer))
    }

    /// Returns the cell in which the node listens in this slot, if it does not send.
    pub(super) fn listening(&self, asn: Asn) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.kind.listens() && self.occurs(cell, asn))
    }

    /// Returns in how many slots the node listens if it does not send, from the first slot of the network up to before `asn`.
    pub(super) fn listened(&self, asn: Asn) -> u64 {
        let within = self.listens.partition_point(|slot| *slot < asn.0 % self.period) as u64;
        asn.0 / self.period * self.listens.len() as u64 + within
    }

    /// Whether a cell is in this slot.
    pub(super) fn occurs(&self, cell: &Cell, asn: Asn) -> bool {
        asn.0 % self.length(cell) == u64::from(cell.slot)
    }

    /// Returns the first slot from `asn` on that a cell is in.
    pub(super) fn next(&self, cell: &Cell, asn: Asn) -> Asn {
        let length = self.length(cell);
        let ahead = (u64::from(cell.slot) + length - asn.0 % length) % length;
        asn + ahead
    }

    /// Returns the slot of the shared cell that is the `skipped` + 1st one after `asn`. Without shared cells, `asn` itself.
    pub(super) fn shared_after(&self, asn: Asn, skipped: u64) -> Asn {
        let mut at = asn;
        for _ in 0..=skipped {
            let shared = self.cells.iter().filter(|cell| cell.kind == CellKind::Shared);
            let Some(next) = shared.map(|cell| self.next(cell, at + 1)).min() else { return asn };
            at = next;
        }
        at
    }

    /// Returns how many slots the slotframe has to which a cell belongs.
    pub(super) fn length(&self, cell: &Cell) -> u64 {
        u64::from(self.lengths[usize::from(cell.slotframe)])
    }

    fn note_listening(&mut self) {
        self.listens.clear();
        for cell in self.cells.iter().filter(|cell| cell.kind.listens()) {
            let length = u64::from(self.lengths[usize::from(cell.slotframe)]);
            self.listens.extend((0..self.period / length).map(|turn| turn * length + u64::from(cell.slot)));
        }
        self.listens.sort_unstable();
        self.listens.dedup();
    }
}

/// Returns after how many slots all slotframes begin together again.
pub(super) fn period(lengths: &[u16]) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a.max(1)
    };
    let common = |all: u64, length: &u16| {
        let length = u64::from(*length).max(1);
        (all / divisor(all, length)).saturating_mul(length)
    };
    lengths.iter().fold(1, common)
}
