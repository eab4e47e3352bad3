//! ClientHellos with early data that were accepted, for as long as they could be replayed (RFC 9846, 8.2).
//!
//! What must always hold: the same ClientHello is never the first twice, whatever the clock does; and no more is kept
//! than `capacity`.

use alloc::collections::BTreeSet;

#[cfg(test)]
mod tests;

pub(super) struct ClientHellos {
    capacity: usize,
    /// By the second after which each is no longer fresh. That follows from the ClientHello alone, so a replay is
    /// looked for under the same one.
    recorded: BTreeSet<(u64, [u8; KEY_LEN])>,
    /// The latest time that was seen. If the clock is set back, what was forgotten must not count as fresh again.
    latest: u64,
}

impl ClientHellos {
    pub(super) const fn new(capacity: usize) -> Self {
        Self { capacity, recorded: BTreeSet::new(), latest: 0 }
    }

    /// Records the ClientHello with the verified `binder`. False: it was recorded before, is no longer fresh, or there
    /// is no room.
    pub(super) fn is_first(&mut self, binder: &[u8], fresh_until: u64, now: u64) -> bool {
        self.latest = self.latest.max(now);
        while self.recorded.first().is_some_and(|(until, _)| *until < self.latest) {
            self.recorded.pop_first();
        }
        let Some(key) = binder.first_chunk() else { return false };
        fresh_until >= self.latest && self.recorded.len() < self.capacity && self.recorded.insert((fresh_until, *key))
    }
}

/// Of a binder, 32 bytes or more, half is as good as unique; if two were alike, one would be refused.
const KEY_LEN: usize = 16;
