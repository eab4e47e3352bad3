//! NumCellsElapsed and NumCellsUsed (RFC 9033, 5.1), without a step for each cell.

use crate::sixtop::Asn;
use crate::sixtop::cells::elapsed;

/// The counters of the cells in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// NumCellsElapsed, up to [`Self::settled`].
    pub(super) elapsed: u64,
    /// NumCellsUsed.
    pub(super) used: u64,
    settled: Asn,
}

impl Usage {
    /// Counts the cells that have come since the last call. `slots` are those of the cells in all that time.
    pub(super) fn settle(&mut self, slots: &[u16], length: u16, now: Asn) {
        self.elapsed += slots.iter().map(|slot| elapsed(*slot, length, self.settled, now)).sum::<u64>();
        self.settled = self.settled.max(now);
    }

    /// Begins again at 0, without forgetting up to where cells were counted.
    pub(super) const fn restart(&mut self) {
        (self.elapsed, self.used) = (0, 0);
    }

    /// Returns the slot in which so many cells will have elapsed. No slot is there twice.
    pub(super) fn reaches(&self, count: u64, slots: &[u16], length: u16) -> Option<Asn> {
        let cells = slots.len() as u64;
        let Some(missing) = count.saturating_sub(self.elapsed).checked_sub(1) else { return Some(self.settled) };
        let slotframes = missing.checked_div(cells)?;
        let start = self.settled + slotframes * u64::from(length);
        // Of the next slotframe, the cell before which so many others come.
        let before = missing % cells;
        let length = u64::from(length);
        let distance = |slot: u16| (u64::from(slot) + length - (start.0 + 1) % length) % length;
        let mut distances = slots.iter().map(|slot| distance(*slot));
        let is_meant = |this: &u64| slots.iter().filter(|slot| distance(**slot) < *this).count() as u64 == before;
        distances.find(is_meant).map(|distance| start + 1 + distance)
    }
}

/// Counts from a slot on.
impl From<Asn> for Usage {
    fn from(settled: Asn) -> Self {
        Self { elapsed: 0, used: 0, settled }
    }
}
