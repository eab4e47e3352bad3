//! This side's connection IDs, which the peer puts into its records (RFC 9146, 3; RFC 9147, 9).
//!
//! DTLS has no message that retires an ID. But IDs are used in the order in which they were provided: so when there is
//! no room for new ones, the IDs before the one in use are forgotten, except the last of those, whose records may be
//! late.
//!
//! What must always hold: all IDs have the same length, since a record does not carry it; no ID is forgotten that the
//! peer may still begin to use; their number is bounded.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// The most IDs that are kept at once.
pub(crate) const MAX_OWN_IDS: usize = 8;

/// How often the peer may request IDs without beginning to use a new one.
const MAX_REQUESTS: u8 = 8;

/// This side's connection IDs.
pub(crate) struct OwnIds {
    /// The IDs in the order in which they were provided, beginning with that of the handshake, which may be empty.
    ids: VecDeque<Box<[u8]>>,
    /// The index of the latest ID that the peer has used.
    in_use: usize,
    /// How often the peer has begun to use a new ID.
    changes: u32,
    /// The requests since the peer last began to use a new ID.
    requests: u8,
}

impl OwnIds {
    pub(super) fn new(id: Option<Box<[u8]>>) -> Self {
        Self { ids: [id.unwrap_or_default()].into(), in_use: 0, changes: 0, requests: 0 }
    }

    /// Returns the length of each ID.
    pub(crate) fn id_len(&self) -> usize {
        self.ids.front().map_or(0, |id| id.len())
    }

    /// Returns all IDs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ids.iter().map(|id| &**id)
    }

    /// Returns the index of an ID; `None` if it is not one of this side's.
    pub(super) fn index_of(&self, id: &[u8]) -> Option<usize> {
        self.ids.iter().position(|own| **own == *id)
    }

    /// Notes that an authentic record had the ID at `index`.
    pub(super) fn used(&mut self, index: usize) {
        if index > self.in_use {
            self.in_use = index;
            self.changes = self.changes.saturating_add(1);
            self.requests = 0;
        }
    }

    /// Returns how often the peer has begun to use a new ID.
    pub(crate) const fn changes(&self) -> u32 {
        self.changes
    }

    /// Notes that the peer requested IDs. Returns `false` if it has done so too often.
    pub(crate) fn requested(&mut self) -> bool {
        self.requests = self.requests.saturating_add(1);
        self.requests <= MAX_REQUESTS
    }

    /// Returns how many IDs may be added.
    pub(crate) fn room(&self) -> usize {
        MAX_OWN_IDS.saturating_sub(self.ids.len() - self.outdated())
    }

    /// Adds IDs that the peer is provided with: at most [`Self::room`], of [`Self::id_len`] bytes each. Returns the IDs
    /// that are forgotten.
    pub(crate) fn add(&mut self, ids: impl IntoIterator<Item = Box<[u8]>>) -> Vec<Box<[u8]>> {
        self.ids.extend(ids);
        let forgotten = self.ids.len().saturating_sub(MAX_OWN_IDS).min(self.outdated());
        self.in_use -= forgotten;
        self.ids.drain(..forgotten).collect()
    }

    /// Returns how many IDs may be forgotten.
    const fn outdated(&self) -> usize {
        self.in_use.saturating_sub(1)
    }
}
