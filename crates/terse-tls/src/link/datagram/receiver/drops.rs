//! Counts of what was dropped, as if it had been lost (RFC 6347, 4.1.2.7).

use crate::link::Received;
use crate::record::datagram12::Refused;
use crate::summary::Dropped;

/// Counts records and fragments that were dropped.
#[derive(Default)]
pub(super) struct Drops {
    pub(super) counters: Dropped,
    /// Whether a part of the last record was dropped.
    pub(super) of_record: bool,
}

impl Drops {
    /// Counts a record, or a part of one, of which nothing remains.
    pub(super) fn count(&mut self, counter: impl FnOnce(&mut Dropped) -> &mut u32) -> Received {
        let counter = counter(&mut self.counters);
        *counter = counter.saturating_add(1);
        self.of_record = true;
        Received::Nothing
    }

    /// Counts a record that could not be opened.
    pub(super) fn refused(&mut self, refused: Refused) -> Received {
        self.count(|dropped| match refused {
            Refused::Replayed => &mut dropped.replayed,
            Refused::NotAuthentic => &mut dropped.not_authentic,
            Refused::Malformed => &mut dropped.malformed,
        })
    }
}
