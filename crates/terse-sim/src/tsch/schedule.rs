//! Schedules: which node sends and listens in which slots (IEEE 802.15.4-2020, 6.2.6).
//!
//! What must always hold: where cells of two slotframes meet, a cell with something to send comes before one that listens, and
//! the lower slotframe before the higher (6.2.6.4).

use super::clock::Asn;

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
    /// The neighbour; `None` in shared cells, which are for all.
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
}

impl Schedule {
    /// Creates the schedule of cells that were checked.
    pub(super) fn new(cells: &[Cell], lengths: &[u16]) -> Self {
        let mut cells = cells.to_vec();
        cells.sort_by_key(|cell| cell.slotframe);
        Self { cells, lengths: lengths.into() }
    }

    /// Returns the cells in which the node may send.
    pub(super) fn sending(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.kind.sends())
    }

    /// Returns the cell in which the node listens in this slot, if it does not send.
    pub(super) fn listening(&self, asn: Asn) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.kind.listens() && self.occurs(cell, asn))
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

    fn length(&self, cell: &Cell) -> u64 {
        u64::from(self.lengths[usize::from(cell.slotframe)])
    }
}
