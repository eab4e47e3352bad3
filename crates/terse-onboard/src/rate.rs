//! How many requests an address, or another client, may make (RFC 6585, 4, is the answer to one too many).
//!
//! What must always hold: a client costs a bounded place in a bounded table, and no more than one request a second looks
//! through that; when all places are taken, those who have none share one limit, so that a flood of clients has no more
//! requests than one of them. Of IPv6 addresses the first 64 bits count, unless they are link-local.

use core::hash::Hash;
use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::network::network;

/// A limit for each client, by its address or by another key: requests at a rate, and some more at once.
///
/// Each client has a time at which all its requests so far will have been due; it may be ahead of now by as much as the
/// burst takes.
#[derive(Debug)]
pub struct RateLimit<K = IpAddr> {
    interval: Duration,
    tolerance: Duration,
    table: Mutex<Table<K>>,
}

/// The times at which the requests of each client will have been due.
#[derive(Debug)]
struct Table<K> {
    due: HashMap<K, Duration>,
    /// The time of those who have no place.
    overflow: Duration,
    /// When places were last looked for that are free again.
    swept: Option<Duration>,
}

impl RateLimit {
    /// Creates a limit of so many requests a minute, all of which may come at once. Zero counts as one.
    pub fn per_minute(requests: u32) -> Self {
        let requests = requests.max(1);
        Self::new(MINUTE / requests, requests)
    }

    /// Creates a limit of so many requests a second, and so many at once. Zero counts as one.
    pub fn per_second(requests: u32, at_once: u32) -> Self {
        Self::new(Duration::from_secs(1) / requests.max(1), at_once)
    }

    /// Counts a request from `address` at `now`, a time since any start. Fails with how long to wait if it is one too many;
    /// it is not counted then.
    pub fn admit(&self, address: IpAddr, now: Duration) -> Result<(), Duration> {
        self.admit_key(network(address), now)
    }
}

impl<K: Eq + Hash> RateLimit<K> {
    /// Creates a limit of one request in each interval, and so many at once.
    pub(crate) fn new(interval: Duration, at_once: u32) -> Self {
        let tolerance = interval.saturating_mul(at_once.max(1)).saturating_sub(interval);
        let table = Table { due: HashMap::new(), overflow: Duration::ZERO, swept: None };
        Self { interval, tolerance, table: Mutex::new(table) }
    }

    /// Counts a request of the client that has this key, as [`RateLimit::admit`] does for an address.
    pub(crate) fn admit_key(&self, key: K, now: Duration) -> Result<(), Duration> {
        // Nothing in here panics, and a half-made change is a table all the same.
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.make_room(now);
        let due = table.due_of(&key);
        let earliest = due.as_ref().map_or(now, |due| (**due).max(now));
        let wait = earliest.saturating_sub(now).saturating_sub(self.tolerance);
        if !wait.is_zero() {
            return Err(wait);
        }
        let next = earliest.saturating_add(self.interval);
        match due {
            Some(due) => *due = next,
            None => drop(table.due.insert(key, next)),
        }
        Ok(())
    }
}

impl<K: Eq + Hash> Table<K> {
    /// Removes the clients that have all of their requests again, if there is no place and this was not done just now.
    fn make_room(&mut self, now: Duration) {
        let is_due = self.swept.is_none_or(|swept| now.saturating_sub(swept) >= SWEEP_EVERY);
        if self.due.len() >= MAX_CLIENTS && is_due {
            self.swept = Some(now);
            self.due.retain(|_, due| *due > now);
        }
    }

    /// Returns the time of a client, or that of all who have no place. Returns `None` if there is a place for it.
    fn due_of(&mut self, key: &K) -> Option<&mut Duration> {
        let is_full = self.due.len() >= MAX_CLIENTS;
        match self.due.get_mut(key) {
            None if is_full => Some(&mut self.overflow),
            due => due,
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// How often the whole table is looked through, at most.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The most clients in the table.
pub(crate) const MAX_CLIENTS: usize = 8_192;

#[cfg(test)]
mod tests;
