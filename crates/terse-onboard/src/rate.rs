//! How many requests an address may make (RFC 6585, 4, is the answer to one too many).
//!
//! What must always hold: an address costs a bounded place in a bounded table, and no more than one request a second looks
//! through that; when all places are taken, those who have none share one limit, so that a flood of addresses has no more
//! requests than one address. Of IPv6 addresses the first 64 bits count, unless they are link-local.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::network::network;

/// A limit for each address: requests at a rate, and some more at once.
///
/// Each address has a time at which all its requests so far will have been due; it may be ahead of now by as much as the
/// burst takes.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    tolerance: Duration,
    table: Mutex<Table>,
}

/// The times at which the requests of each address will have been due.
#[derive(Debug, Default)]
struct Table {
    due: HashMap<IpAddr, Duration>,
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

    fn new(interval: Duration, at_once: u32) -> Self {
        let tolerance = interval.saturating_mul(at_once.max(1)).saturating_sub(interval);
        Self { interval, tolerance, table: Mutex::default() }
    }

    /// Counts a request from `address` at `now`, a time since any start. Fails with how long to wait if it is one too many;
    /// it is not counted then.
    pub fn admit(&self, address: IpAddr, now: Duration) -> Result<(), Duration> {
        let network = network(address);
        // Nothing in here panics, and a half-made change is a table all the same.
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.make_room(now);
        let due = table.due_of(network);
        let earliest = due.as_ref().map_or(now, |due| (**due).max(now));
        let wait = earliest.saturating_sub(now).saturating_sub(self.tolerance);
        if !wait.is_zero() {
            return Err(wait);
        }
        let next = earliest.saturating_add(self.interval);
        match due {
            Some(due) => *due = next,
            None => drop(table.due.insert(network, next)),
        }
        Ok(())
    }
}

impl Table {
    /// Removes the addresses that have all of their requests again, if there is no place and this was not done just now.
    fn make_room(&mut self, now: Duration) {
        let is_due = self.swept.is_none_or(|swept| now.saturating_sub(swept) >= SWEEP_EVERY);
        if self.due.len() >= MAX_ADDRESSES && is_due {
            self.swept = Some(now);
            self.due.retain(|_, due| *due > now);
        }
    }

    /// Returns the time of an address, or that of all who have no place. Returns `None` if there is a place for it.
    fn due_of(&mut self, network: IpAddr) -> Option<&mut Duration> {
        let is_full = self.due.len() >= MAX_ADDRESSES;
        match self.due.get_mut(&network) {
            None if is_full => Some(&mut self.overflow),
            due => due,
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// How often the whole table is looked through, at most.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The most addresses in the table.
const MAX_ADDRESSES: usize = 8_192;

#[cfg(test)]
mod tests;
