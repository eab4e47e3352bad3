//! The table of an acceptor: the handshakes under way, and how many connections wait for the application.
//!
//! What must always hold: handshakes and waiting connections together are never more than the capacity; a newcomer gets in
//! when the table is full of handshakes, at the cost of the address that has most of them; every call takes time that
//! grows with the logarithm of the capacity at most.

use alloc::collections::{BTreeMap, BTreeSet};
use core::cmp::Reverse;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The part of an address that one peer has to itself: an IPv4 address, or the /64 of an IPv6 address, in which a peer can
/// choose the rest as it likes (RFC 4291, 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    V4(Ipv4Addr),
    V6(u64),
}

impl Origin {
    /// A listener for both versions shows IPv4 addresses inside of IPv6 addresses (RFC 4291, 2.5.5.2), all of them in one
    /// /64.
    pub(super) fn of(peer: SocketAddr) -> Self {
        match peer.ip().to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64), // the upper half
        }
    }
}

/// A handshake in the table. Numbers grow with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    origin: Origin,
    number: u64,
}

/// The handshakes under way, each with a `T`, and the number of connections that wait.
pub(super) struct Table<T> {
    capacity: usize,
    next: u64,
    /// The handshakes of each origin, which has at least one, by age.
    origins: BTreeMap<Origin, BTreeMap<u64, T>>,
    /// The origins by the number of their handshakes, and then by the age of the oldest. The last is the next to lose one.
    order: BTreeSet<(usize, Reverse<u64>, Origin)>,
    handshakes: usize,
    waiting: usize,
}

impl<T> Table<T> {
    /// Creates a table for `capacity` handshakes and waiting connections together, at least for one.
    pub(super) fn new(capacity: usize) -> Self {
        let (origins, order) = (BTreeMap::new(), BTreeSet::new());
        Self { capacity: capacity.max(1), next: 0, origins, order, handshakes: 0, waiting: 0 }
    }

    /// Returns whether a newcomer gets in. It does not while half of the table or more waits for the application: handshakes
    /// would push each other out then, though none of them is to blame.
    pub(super) fn has_room(&self) -> bool {
        self.handshakes + self.waiting < self.capacity || self.handshakes > self.capacity / 2
    }

    /// Adds a handshake of a newcomer. Returns what belongs to the one that makes room for it, if one has to: the oldest of
    /// the origin that has most handshakes, the newcomer's included; among several such origins, the oldest of all.
    pub(super) fn enter(&mut self, origin: Origin, value: T) -> (Entry, Option<T>) {
        let number = self.next;
        self.next += 1;
        self.change(origin, |handshakes| handshakes.insert(number, value));
        let is_too_full = self.handshakes + self.waiting > self.capacity;
        let victim = is_too_full.then(|| self.order.last().copied()).flatten();
        let evicted = victim.and_then(|(_, Reverse(number), origin)| self.remove(Entry { origin, number }));
        (Entry { origin, number }, evicted)
    }

    /// Removes a handshake. Returns what belongs to it, or `None` if it is not there any more.
    pub(super) fn remove(&mut self, entry: Entry) -> Option<T> {
        self.change(entry.origin, |handshakes| handshakes.remove(&entry.number))
    }

    /// Turns a complete handshake into a connection that waits. Returns whether the handshake was still there.
    pub(super) fn complete(&mut self, entry: Entry) -> bool {
        let is_there = self.remove(entry).is_some();
        self.waiting += usize::from(is_there);
        is_there
    }

    /// A connection that waited is taken.
    pub(super) fn take(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Removes all handshakes, and returns what belongs to them.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.order.clear();
        self.handshakes = 0;
        core::mem::take(&mut self.origins).into_values().flat_map(BTreeMap::into_values)
    }

    /// Returns the number of handshakes under way, and of connections that wait.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.handshakes, self.waiting)
    }

    /// Changes the handshakes of an origin, and puts the origin where it belongs.
    fn change<R>(&mut self, origin: Origin, change: impl FnOnce(&mut BTreeMap<u64, T>) -> R) -> R {
        let place = |handshakes: &BTreeMap<u64, T>| {
            handshakes.first_key_value().map(|(oldest, _)| (handshakes.len(), Reverse(*oldest), origin))
        };
        let handshakes = self.origins.entry(origin).or_default();
        self.handshakes -= handshakes.len();
        if let Some(before) = place(handshakes) {
            self.order.remove(&before);
        }
        let result = change(handshakes);
        self.handshakes += handshakes.len();
        match place(handshakes) {
            Some(after) => drop(self.order.insert(after)),
            None => drop(self.origins.remove(&origin)),
        }
        result
    }
}

#[cfg(test)]
mod tests;
