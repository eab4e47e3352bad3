//! Records that arrived before the keys of their epoch were known: they overtook those that bring the keys.
//!
//! What must always hold: what is kept is bounded, since anybody may have sent it.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::link::datagram::defences::Defences;
use crate::record::datagram12::HEADER_LEN;

/// The most bytes of records that are kept.
pub(in crate::link::datagram) const MAX_HELD: usize = 1_500;

/// The most bytes of heap that these records take: each has at least a header, and their queue is copied as it grows.
pub(in crate::link::datagram) const MAX_HEAP: usize =
    MAX_HELD + 3 * (MAX_HELD / HEADER_LEN + 1) * size_of::<Box<[u8]>>();

#[derive(Default)]
pub(super) struct HeldRecords {
    pub(super) records: VecDeque<Box<[u8]>>,
    /// How many of the records can be decrypted now.
    due: usize,
}

impl HeldRecords {
    /// Keeps a record. Returns `false` if there is no room for it.
    pub(super) fn hold(&mut self, record: &[u8], defences: Defences) -> bool {
        let held: usize = self.records.iter().map(|record| record.len()).sum();
        let has_room = defences.may_hold(held + record.len());
        if has_room {
            self.records.push_back(record.into());
        }
        has_room
    }

    /// Makes all records due: new keys are known.
    pub(super) fn keys_are_known(&mut self) {
        self.due = self.records.len();
    }

    /// Whether there is a record that can be decrypted now.
    pub(super) const fn has_due(&self) -> bool {
        self.due > 0
    }

    /// Returns the next record that can be decrypted now.
    pub(super) fn next_due(&mut self) -> Option<Box<[u8]>> {
        self.due = self.due.checked_sub(1)?;
        self.records.pop_front()
    }
}
