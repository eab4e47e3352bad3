//! How long the connections of a server for datagrams have been idle.
//!
//! What must always hold: a connection has at most one end of its idle time, and none if there is no limit.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use terse_tls::{ConnectionHandle, Instant};

use super::DatagramEvent;

/// The idle time limit of complete connections, and the end of each one's idle time.
#[derive(Default)]
pub(crate) struct Idle {
    /// The limit in milliseconds.
    limit: Option<u64>,
    ends: BTreeMap<ConnectionHandle, Instant>,
    by_end: BTreeSet<(Instant, ConnectionHandle)>,
}

impl Idle {
    pub(crate) fn set_limit(&mut self, limit: Duration) {
        self.limit = u64::try_from(limit.as_millis()).ok();
    }

    /// Notes an event of a connection: it is not idle, or it is forgotten.
    pub(crate) fn note(&mut self, handle: ConnectionHandle, event: &DatagramEvent, now: Instant) {
        match event {
            DatagramEvent::Replaced | DatagramEvent::Evicted => self.remove(handle),
            _ => self.restart(handle, now),
        }
    }

    pub(crate) fn restart(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(limit) = self.limit else { return };
        self.remove(handle);
        let end = Instant(now.0.saturating_add(limit));
        self.ends.insert(handle, end);
        self.by_end.insert((end, handle));
    }

    pub(crate) fn remove(&mut self, handle: ConnectionHandle) {
        if let Some(end) = self.ends.remove(&handle) {
            self.by_end.remove(&(end, handle));
        }
    }

    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.by_end.first().map(|(end, _)| *end)
    }

    /// Returns a connection whose idle time is over, and restarts its idle time.
    pub(crate) fn next(&mut self, now: Instant) -> Option<ConnectionHandle> {
        let (_, handle) = self.by_end.first().copied().filter(|(end, _)| *end <= now)?;
        self.restart(handle, now);
        Some(handle)
    }
}
