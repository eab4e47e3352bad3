//! The slots in which motes have cells, while a schedule is laid out.
//!
//! What must always hold: a shared slot is occupied for every mote.

use std::collections::BTreeMap;

/// The slots in which motes have cells, and how many cells each slot has.
#[derive(Debug, Default)]
pub(super) struct OccupiedSlots {
    /// The shared slots, which are all that a mote without an entry in `motes` has.
    shared: Slots,
    motes: BTreeMap<u64, Slots>,
    /// The number of cells of links by slot.
    cells: BTreeMap<u16, usize>,
}

/// A set of slots.
#[derive(Clone, Debug, Default)]
struct Slots {
    /// A bit for each slot.
    words: Vec<u64>,
    /// The number of words at the beginning whose bits are all set. The root of a large network has very many.
    full: usize,
}

impl OccupiedSlots {
    /// Returns slots of which only the shared ones are occupied.
    pub(super) fn new(shared: &[u16]) -> Self {
        let mut slots = Self::default();
        shared.iter().for_each(|slot| slots.shared.insert(*slot));
        slots
    }

    /// Returns the first slot in which both motes are free, or `u16::MAX` if there is none.
    pub(super) fn first_free(&self, motes: [u64; 2]) -> u16 {
        let [a, b] = motes.map(|mote| self.motes.get(&mote).unwrap_or(&self.shared));
        let free = |number: usize| !(a.word(number) | b.word(number));
        let found = (a.full.max(b.full)..=usize::from(u16::MAX) / 64).find(|number| free(*number) != 0);
        found.map_or(u16::MAX, |number| number as u16 * 64 + free(number).trailing_zeros() as u16)
    }

    /// Occupies a slot for a cell between two motes. Returns how many other links have a cell in it.
    pub(super) fn occupy(&mut self, motes: [u64; 2], slot: u16) -> usize {
        for mote in motes {
            self.motes.entry(mote).or_insert_with(|| self.shared.clone()).insert(slot);
        }
        let cells = self.cells.entry(slot).or_default();
        *cells += 1;
        *cells - 1
    }
}

impl Slots {
    fn insert(&mut self, slot: u16) {
        let word = usize::from(slot) / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (slot % 64);
        }
        while self.word(self.full) == u64::MAX {
            self.full += 1;
        }
    }

    fn word(&self, number: usize) -> u64 {
        self.words.get(number).copied().unwrap_or(0)
    }
}
