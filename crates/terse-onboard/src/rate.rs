//! How many requests an address may make.
//!
//! What must always hold: an address costs a bounded place in a bounded table, and each request a constant time; of IPv6
//! addresses the first 64 bits count, unless they are link-local.

use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Mutex;

use crate::network::network;

/// A limit for each address: requests at a rate, and some more at once.
///
/// Each address has a time at which all its requests so far will have been due; it may be ahead of now by as much as the
/// burst takes.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    tolerance: Duration,
    addresses: Mutex<Addresses>,
}

/// The addresses in two generations. When the younger one is full the elder one is forgotten, and who was in it begins anew.
#[derive(Debug, Default)]
struct Addresses {
    young: HashMap<IpAddr, Duration>,
    old: HashMap<IpAddr, Duration>,
}

impl RateLimit {
    /// Creates a limit of so many requests a minute, all of which may come at once. Zero counts as one.
    pub fn per_minute(requests: u32) -> Self {
        let requests = requests.max(1);
        let interval = MINUTE / requests;
        Self { interval, tolerance: MINUTE.saturating_sub(interval), addresses: Mutex::default() }
    }

    /// Counts a request from `address` at `now`, a time since any start. Fails with how long to wait if it is one too many;
    /// it is not counted then.
    pub fn admit(&self, address: IpAddr, now: Duration) -> Result<(), Duration> {
        let mut addresses = self.addresses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let network = network(address);
        let due = addresses.take(network).map_or(now, |due| due.max(now));
        let wait = due.saturating_sub(now).saturating_sub(self.tolerance);
        let due = if wait.is_zero() { due.saturating_add(self.interval) } else { due };
        addresses.put(network, due);
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }
}

impl Addresses {
    fn take(&mut self, network: IpAddr) -> Option<Duration> {
        self.young.remove(&network).or_else(|| self.old.remove(&network))
    }

    fn put(&mut self, network: IpAddr, due: Duration) {
        if self.young.len() >= GENERATION {
            self.old = core::mem::take(&mut self.young);
        }
        self.young.insert(network, due);
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// The most addresses of a generation.
const GENERATION: usize = 8_192;

#[cfg(test)]
mod tests;
