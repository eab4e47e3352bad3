//! The cells that a node has negotiated with its neighbours, and those that transactions under way have locked
//! (RFC 8480, 3.1 and 3.4.3).
//!
//! What must always hold: a node has one cell at most in each slot of the slotframe; cells are ordered as RFC 9033, 10 says.

use super::Asn;
use super::message::{CellList, CellOptions, SixpCell};
use crate::chance::{Chance, Purpose};

/// The negotiated cells of a node: those of the slotframe that 6P manages.
#[derive(Clone, Debug)]
pub(crate) struct CellTable {
    /// The slots of the slotframe.
    length: u16,
    channel_offsets: u16,
    cells: Vec<NegotiatedCell>,
    /// Slots that 6P must not use: those of cells in other slotframes.
    reserved: Vec<u16>,
    /// For each neighbour with a transaction, the cells that it is about.
    locked: Vec<(u16, SixpCell)>,
}

/// A negotiated cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NegotiatedCell {
    pub(crate) cell: SixpCell,
    pub(crate) peer: u16,
    /// What this node does in the cell.
    pub(crate) options: CellOptions,
    /// The metadata of the request that added the cell.
    pub(crate) metadata: u16,
    /// How often this node has sent in the cell, and how often that was acknowledged (RFC 9033, 5.3).
    pub(crate) num_tx: u16,
    pub(crate) num_tx_ack: u16,
    /// Whether both numbers were halved since the cell was added: before, they say little.
    pub(crate) is_significant: bool,
}

impl NegotiatedCell {
    /// Returns the share of acknowledged transmissions.
    pub(crate) fn pdr(&self) -> f64 {
        if self.num_tx == 0 { 1.0 } else { f64::from(self.num_tx_ack) / f64::from(self.num_tx) }
    }
}

impl CellTable {
    /// Creates the table of a slotframe. `reserved` are the slots of cells that 6P does not manage.
    pub(crate) fn new(length: u16, channel_offsets: u16, reserved: &[u16]) -> Self {
        let (length, channel_offsets) = (length.max(1), channel_offsets.max(1));
        Self { length, channel_offsets, cells: Vec::new(), reserved: reserved.to_vec(), locked: Vec::new() }
    }

    /// Returns the slots of the slotframe.
    pub(crate) const fn length(&self) -> u16 {
        self.length
    }

    /// Returns the number of channel offsets.
    pub(crate) const fn channel_offsets(&self) -> u16 {
        self.channel_offsets
    }

    /// Returns all cells, in order.
    pub(crate) fn all(&self) -> &[NegotiatedCell] {
        &self.cells
    }

    /// Returns the cells with a neighbour, in order.
    pub(crate) fn with(&self, peer: u16) -> impl Iterator<Item = &NegotiatedCell> {
        self.cells.iter().filter(move |cell| cell.peer == peer)
    }

    /// Returns the cells with a neighbour that have these options, in order.
    pub(crate) fn matching(&self, peer: u16, options: CellOptions) -> impl Iterator<Item = &NegotiatedCell> {
        self.with(peer).filter(move |cell| cell.options == options)
    }

    /// Whether a negotiated cell leads to the neighbour. Without one, an autonomous cell is needed (RFC 9033, 3).
    pub(crate) fn has_tx(&self, peer: u16) -> bool {
        self.with(peer).any(|cell| cell.options.has(CellOptions::TX))
    }

    /// Whether the node has nothing in this slot, and no transaction that may put something there.
    pub(crate) fn is_free(&self, slot_offset: u16) -> bool {
        self.is_usable(slot_offset) && !self.locked.iter().any(|(_, cell)| cell.slot_offset == slot_offset)
    }

    /// Whether another neighbour's transaction is about this cell, or about its slot.
    pub(crate) fn is_locked_for(&self, peer: u16, cell: SixpCell) -> bool {
        self.locked.iter().any(|(other, locked)| *other != peer && locked.slot_offset == cell.slot_offset)
    }

    /// Locks cells until the transaction with the neighbour ends.
    pub(crate) fn lock(&mut self, peer: u16, cells: &CellList) {
        self.unlock(peer);
        self.locked.extend(cells.iter().map(|cell| (peer, cell)));
    }

    /// Ends all locks of a neighbour's transaction.
    pub(crate) fn unlock(&mut self, peer: u16) {
        self.locked.retain(|(other, _)| *other != peer);
    }

    /// Adds a cell, if its slot is free. Returns whether it was.
    pub(crate) fn add(&mut self, peer: u16, options: CellOptions, metadata: u16, cell: SixpCell) -> bool {
        if !self.is_usable(cell.slot_offset) {
            return false;
        }
        let (num_tx, num_tx_ack, is_significant) = (0, 0, false);
        let index = self.cells.partition_point(|other| other.cell < cell);
        self.cells.insert(index, NegotiatedCell { cell, peer, options, metadata, num_tx, num_tx_ack, is_significant });
        true
    }

    /// Removes a cell with a neighbour. Returns it, if there was one.
    pub(crate) fn remove(&mut self, peer: u16, options: CellOptions, cell: SixpCell) -> Option<NegotiatedCell> {
        let is_meant = |other: &NegotiatedCell| (other.peer, other.options, other.cell) == (peer, options, cell);
        let index = self.cells.iter().position(is_meant)?;
        Some(self.cells.remove(index))
    }

    /// Returns a cell with a neighbour.
    pub(crate) fn find_mut(&mut self, peer: u16, slot_offset: u16) -> Option<&mut NegotiatedCell> {
        self.cells.iter_mut().find(|cell| cell.peer == peer && cell.cell.slot_offset == slot_offset)
    }

    /// Resets the numbers of all cells with a neighbour (RFC 9033, 5.3).
    pub(crate) fn reset_counters(&mut self, peer: u16) {
        for cell in self.cells.iter_mut().filter(|cell| cell.peer == peer) {
            (cell.num_tx, cell.num_tx_ack, cell.is_significant) = (0, 0, false);
        }
    }

    /// Chooses free cells by chance: slots uniformly among the free ones and each once, channel offsets uniformly
    /// (RFC 9033, 8). There are fewer if fewer slots are free.
    pub(crate) fn choose_free(&self, chance: Chance, node: u16, moment: u64, count: usize) -> CellList {
        let mut list = CellList::EMPTY;
        let count = count.min(CellList::MAX);
        let mut draw = 0_u64;
        while list.len() < count && draw < MOST_DRAWS {
            let bits = chance.draw(Purpose::Cells, node.into(), moment.wrapping_mul(MOST_DRAWS).wrapping_add(draw));
            draw += 1;
            let slot = (((bits >> 32) * u64::from(self.length)) >> 32) as u16;
            self.push_free(slot, bits, &mut list);
        }
        // Few slots are free: the first ones after a slot that chance has named.
        let bits = chance.draw(Purpose::Cells, node.into(), !moment);
        let start = bits % u64::from(self.length);
        for step in 0..self.length {
            if list.len() >= count {
                break;
            }
            let slot = ((start + u64::from(step)) % u64::from(self.length)) as u16;
            self.push_free(slot, bits.rotate_left(step.into()), &mut list);
        }
        list
    }

    fn push_free(&self, slot: u16, bits: u64, list: &mut CellList) {
        if self.is_free(slot) && !list.has_slot(slot) {
            list.push(SixpCell::new(slot, (((bits & 0xFFFF_FFFF) * u64::from(self.channel_offsets)) >> 32) as u16));
        }
    }

    fn is_usable(&self, slot_offset: u16) -> bool {
        slot_offset < self.length
            && !self.reserved.contains(&slot_offset)
            && !self.cells.iter().any(|cell| cell.cell.slot_offset == slot_offset)
    }
}

/// Returns how often the slot `slot_offset` of a slotframe with `length` slots comes after `after`, up to `until` included.
pub(crate) const fn elapsed(slot_offset: u16, length: u16, after: Asn, until: Asn) -> u64 {
    occurrences(slot_offset, length, until.0).saturating_sub(occurrences(slot_offset, length, after.0))
}

/// Returns how often a slot comes from the first slot of the network up to this one.
const fn occurrences(slot_offset: u16, length: u16, until: u64) -> u64 {
    match until.checked_sub(slot_offset as u64) {
        Some(rest) => rest / length as u64 + 1,
        None => 0,
    }
}

/// The most draws for one list: with a tenth of the slots free, 22 cells take some 300.
const MOST_DRAWS: u64 = 512;

#[cfg(test)]
mod tests;
