//! The record of accepted ClientHellos with early data, which are kept as long as they could be replayed (RFC 9846,
//! 8.2).
//!
//! What must always hold: no ClientHello is accepted twice, whatever the clock does; and at most `capacity` are kept.

use alloc::collections::BTreeSet;

#[cfg(test)]
mod tests;

pub(crate) struct ClientHellos {
    capacity: usize,
    /// The binders, ordered by the second after which their ClientHello is no longer fresh. That second follows from
    /// the ClientHello itself, so a replay is found under the same one.
    recorded: BTreeSet<(u64, [u8; KEY_LEN])>,
    /// The latest time that was seen. If the clock is set back, a forgotten ClientHello must not count as fresh again.
    latest: u64,
}

impl ClientHellos {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, recorded: BTreeSet::new(), latest: 0 }
    }

    /// Returns whether [`Self::is_first`] would return true. Records nothing.
    pub(crate) fn may_be_first(&mut self, binder: &[u8], fresh_until: u64, now: u64) -> bool {
        self.forget(now);
        let Some(key) = binder.first_chunk() else { return false };
        let is_known = self.recorded.contains(&(fresh_until, *key));
        fresh_until >= self.latest && self.recorded.len() < self.capacity && !is_known
    }

    /// Records the ClientHello with the verified `binder`. Returns false if it was recorded before, is no longer fresh,
    /// or there is no room.
    pub(crate) fn is_first(&mut self, binder: &[u8], fresh_until: u64, now: u64) -> bool {
        self.forget(now);
        let Some(key) = binder.first_chunk() else { return false };
        fresh_until >= self.latest && self.recorded.len() < self.capacity && self.recorded.insert((fresh_until, *key))
    }

    /// Forgets the ClientHellos that are no longer fresh at `now`.
    fn forget(&mut self, now: u64) {
        self.latest = self.latest.max(now);
        while self.recorded.first().is_some_and(|(until, _)| *until < self.latest) {
            self.recorded.pop_first();
        }
    }
}

/// How many bytes of a binder are kept: half of a binder is practically unique, and a collision only refuses one
/// ClientHello.
const KEY_LEN: usize = 16;
