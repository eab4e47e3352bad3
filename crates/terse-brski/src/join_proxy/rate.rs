//! How many datagrams of an interface are passed on.
//!
//! The rate of an interface is divided into [`SHARES`] equal ones. A secret function of the pledge's address says which share
//! counts, so that who floods from one address uses up one share, and cannot choose whose it is.
//!
//! What must always hold: the table has at most [`MAX_INTERFACES`] entries of a fixed size, whoever sends.

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use core::time::Duration;

use super::MAX_INTERFACES;

/// A rate of datagrams: so many a second, and those of two seconds at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    interval: Duration,
    tolerance: Duration,
}

impl Rate {
    /// Zero counts as one.
    pub(super) fn per_second(datagrams: u32) -> Self {
        let datagrams = datagrams.max(1);
        let interval = Duration::from_secs(1) / datagrams;
        let at_once = datagrams.saturating_mul(2).max(MIN_AT_ONCE);
        Self { interval, tolerance: interval.saturating_mul(at_once - 1) } // it is at least 4
    }

    /// Counts a datagram, where `due` is when all so far will have been due. Returns false if it is one too many.
    pub(super) fn admit(self, due: &mut Duration, now: Duration) -> bool {
        let earliest = (*due).max(now);
        let is_admitted = earliest.saturating_sub(now) <= self.tolerance;
        if is_admitted {
            *due = earliest.saturating_add(self.interval);
        }
        is_admitted
    }
}

/// The rates of all interfaces, which are known by their zones.
pub(super) struct Rates {
    rate: Rate,
    seed: [u64; 2],
    interfaces: Vec<Interface>,
}

struct Interface {
    zone: u32,
    due: [Duration; SHARES],
}

impl Rates {
    /// Creates the rates, each of so many datagrams a second. The seed is random.
    pub(super) fn new(datagrams_per_second: u32, seed: [u64; 2]) -> Self {
        Self { rate: Rate::per_second(datagrams_per_second / SHARES as u32), seed, interfaces: Vec::new() }
    }

    /// Counts a datagram that came from an address in a zone. Returns false if it is one too many.
    pub(super) fn admit(&mut self, zone: u32, address: IpAddr, now: Duration) -> bool {
        let (rate, share) = (self.rate, self.share(address));
        let Some(interface) = self.interface(zone, now) else { return false };
        let Some(due) = interface.due.get_mut(share) else { return false }; // there always is one
        rate.admit(due, now)
    }

    /// Returns the entry of an interface. When there are too many, it takes the place of one all of whose datagrams are due, which
    /// changes nothing for that one. If there is none, the last one is for all that have no entry.
    fn interface(&mut self, zone: u32, now: Duration) -> Option<&mut Interface> {
        let position = |is_it: &dyn Fn(&Interface) -> bool| self.interfaces.iter().position(is_it);
        let found = position(&|interface| interface.zone == zone);
        if found.is_none() && self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(Interface { zone, due: [Duration::ZERO; SHARES] });
        } else if found.is_none()
            && let Some(unused) = position(&|interface| interface.due.iter().all(|due| *due <= now))
        {
            let interface = self.interfaces.get_mut(unused)?;
            interface.zone = zone;
            return Some(interface);
        }
        let last = self.interfaces.len().checked_sub(1)?;
        self.interfaces.get_mut(found.unwrap_or(last))
    }

    /// Returns the share of an address: a product with an odd secret number distributes what an attacker chooses.
    fn share(&self, address: IpAddr) -> usize {
        let [add, multiply] = self.seed;
        let bits = match address {
            IpAddr::V4(address) => u64::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address) as u64, // the interface identifier
        };
        ((bits ^ add).wrapping_mul(multiply | 1) >> (u64::BITS - SHARES.ilog2())) as usize // less than SHARES
    }
}

/// The seed is secret: who knows it can choose whose share he uses up.
impl fmt::Debug for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rates")
            .field("rate", &self.rate)
            .field("interfaces", &self.interfaces.len())
            .finish_non_exhaustive()
    }
}

/// The number of equal shares into which the datagrams of an interface are divided in the stateless mode.
pub const SHARES: usize = 32;

/// The least number of datagrams at once: a flight of a handshake.
const MIN_AT_ONCE: u32 = 4;

#[cfg(test)]
mod tests;
