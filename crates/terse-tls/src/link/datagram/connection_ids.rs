//! The connection IDs that the peer may put into its records (RFC 9146, 3; RFC 9147, 9).
//!
//! Nobody says that an ID will not be used any more. But IDs are to be used in the order in which they were provided:
//! so when there is no room for new ones, the oldest are forgotten that came before the one in use, but not the last of
//! them, whose records may be late.
//!
//! What must always hold: all have the same length, since a record does not say it; none is forgotten that the peer may
//! still take into use; there are few.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// How many there are at once.
pub(crate) const MAX_OWN_IDS: usize = 8;

/// How often the peer may ask for more without taking another one into use.
const MAX_REQUESTS: u8 = 8;

/// This side's connection IDs.
pub(crate) struct OwnIds {
    /// In the order in which they were provided; at first the one of the handshake, which may be empty.
    ids: VecDeque<Box<[u8]>>,
    /// Which of them the newest record had.
    in_use: usize,
    /// How often the peer has taken another one into use.
    changes: u32,
    /// Requests since then.
    requests: u8,
}

impl OwnIds {
    pub(super) fn new(id: Option<Box<[u8]>>) -> Self {
        Self { ids: [id.unwrap_or_default()].into(), in_use: 0, changes: 0, requests: 0 }
    }

    /// How long each of them is.
    pub(crate) fn id_len(&self) -> usize {
        self.ids.front().map_or(0, |id| id.len())
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ids.iter().map(|id| &**id)
    }

    /// Which one this is; `None`: it is none of them.
    pub(super) fn place(&self, id: &[u8]) -> Option<usize> {
        self.ids.iter().position(|own| **own == *id)
    }

    /// An authentic record had the one at `place`.
    pub(super) fn used(&mut self, place: usize) {
        if place > self.in_use {
            self.in_use = place;
            self.changes = self.changes.saturating_add(1);
            self.requests = 0;
        }
    }

    /// How often the peer has taken another one into use.
    pub(crate) const fn changes(&self) -> u32 {
        self.changes
    }

    /// The peer asks for more. `false`: it has asked too often.
    pub(crate) fn requested(&mut self) -> bool {
        self.requests = self.requests.saturating_add(1);
        self.requests <= MAX_REQUESTS
    }

    /// How many may be added.
    pub(crate) fn room(&self) -> usize {
        MAX_OWN_IDS.saturating_sub(self.ids.len() - self.outdated())
    }

    /// The peer is provided with these, of [`Self::id_len`] bytes each and at most [`Self::room`] of them. Returns
    /// those that it cannot use any more.
    pub(crate) fn add(&mut self, ids: impl IntoIterator<Item = Box<[u8]>>) -> Vec<Box<[u8]>> {
        self.ids.extend(ids);
        let forgotten = self.ids.len().saturating_sub(MAX_OWN_IDS).min(self.outdated());
        self.in_use -= forgotten;
        self.ids.drain(..forgotten).collect()
    }

    /// How many came before the one before the one in use.
    const fn outdated(&self) -> usize {
        self.in_use.saturating_sub(1)
    }
}
