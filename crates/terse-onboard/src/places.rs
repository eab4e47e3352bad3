//! The places of a listener: how many connections there are, of whom, and which one makes room for a newcomer.
//!
//! All listeners of this crate have these rules: HTTPS, CoAPS, status pages, health, lists of revoked certificates, and the TCP
//! join proxy. Sockets and clocks are elsewhere: a place has a holder `T`, by which its connection is told to end.
//!
//! - A newcomer always gets a place. If that is one too many of its address, of its network or of all, another one of the same
//!   address, of the same network or of all makes room.
//! - Connections that have proven nothing make room before others, as long as they have more than a quarter of the places. So
//!   strangers push out nobody who has proven something, and those who have leave a quarter to newcomers.
//! - Among these, the network loses a place that has most of them, in it the address, and behind that the device; among those that
//!   have as many, the connection that was idle longest.
//!
//! So whoever takes many places from one address, or from one network, competes with himself alone. Against somebody with many
//! networks, a client has as long to prove something as all others together take to be less idle than it is.
//!
//! What must always hold: the table has no more entries than the limit; each entry is counted once for its network, once for its
//! address and once for its device, and a group without entries is forgotten; a newcomer is never the one that makes room.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::cmp::Reverse;
use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many connections there may be. Each number counts as 1 if it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// In all.
    pub(crate) connections: usize,
    /// Of one network.
    pub(crate) per_network: usize,
    /// Of one address.
    pub(crate) per_address: usize,
}

impl Capacity {
    /// So many connections, half of which one network may have. That is enough for a join proxy with all its pledges.
    pub(crate) const fn half_for_one(connections: usize) -> Self {
        let half = connections.div_ceil(2);
        Self { connections, per_network: half, per_address: half }
    }
}

/// Where a connection comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    network: IpAddr,
    address: IpAddr,
    /// The header by which a stateless join proxy at the address names a device behind it.
    device: Arc<[u8]>,
}

impl Origin {
    /// A connection from this address. Its network is the first 64 bits of an IPv6 address: whoever is in it chooses the rest as
    /// it likes (RFC 4291, 2.5.1). Of IPv4 it is the address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self::behind(address, &[])
    }

    /// A connection of a device behind a join proxy at this address.
    pub(crate) fn behind(address: IpAddr, device: &[u8]) -> Self {
        let address = address.to_canonical();
        let network = match address {
            IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
            whole @ IpAddr::V4(_) => whole,
        };
        Self { network, address, device: device.into() }
    }

    /// Returns what the connection is counted for.
    fn groups(&self) -> [Group; 3] {
        [Group::Network(self.network), Group::Address(self.address), Group::Device(self.address, self.device.clone())]
    }
}

/// Connections that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Group {
    Network(IpAddr),
    Address(IpAddr),
    Device(IpAddr, Arc<[u8]>),
}

/// The table. Times are counted since any start.
pub(crate) struct Places<T> {
    capacity: Capacity,
    next: u64,
    entries: BTreeMap<u64, Entry<T>>,
    groups: Groups,
    all: Count,
}

struct Entry<T> {
    /// Its network, its address and its device.
    groups: [GroupIndex; 3],
    idle_since: Duration,
    is_proven: bool,
    holder: T,
}

/// How many connections a group has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    proven: usize,
    unproven: usize,
}

impl Count {
    const fn of(&self, is_proven: bool) -> usize {
        if is_proven { self.proven } else { self.unproven }
    }

    const fn total(&self) -> usize {
        self.proven + self.unproven
    }

    const fn change(&mut self, is_proven: bool) -> &mut usize {
        if is_proven { &mut self.proven } else { &mut self.unproven }
    }
}

/// The groups that have connections. An entry finds its counts by an index, since a newcomer may need those of all entries.
#[derive(Default)]
struct Groups {
    by_name: HashMap<Group, GroupIndex>,
    list: Vec<(Group, Count)>,
    /// The indices of groups that have no connection any more.
    free: Vec<GroupIndex>,
}

type GroupIndex = usize;

impl Groups {
    /// Returns the index of a group.
    fn find(&mut self, group: Group) -> GroupIndex {
        *self.by_name.entry(group).or_insert_with_key(|group| {
            let member = (group.clone(), Count::default());
            match self.free.pop() {
                Some(index) => {
                    self.list[index] = member; // it was in the list before
                    index
                }
                None => {
                    self.list.push(member);
                    self.list.len() - 1
                }
            }
        })
    }

    fn count(&self, index: GroupIndex) -> Count {
        self.list.get(index).map_or_else(Count::default, |(_, count)| *count)
    }

    fn add(&mut self, index: GroupIndex, is_proven: bool) {
        if let Some((_, count)) = self.list.get_mut(index) {
            *count.change(is_proven) += 1;
        }
    }

    fn subtract(&mut self, index: GroupIndex, is_proven: bool) {
        let Some((group, count)) = self.list.get_mut(index) else { return };
        let own = count.change(is_proven);
        *own = own.saturating_sub(1);
        if count.total() == 0 && self.by_name.remove(group).is_some() {
            self.free.push(index);
        }
    }
}

/// The number of a connection in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlaceId(u64);

impl<T> Places<T> {
    pub(crate) fn new(capacity: Capacity) -> Self {
        let (entries, groups) = (BTreeMap::new(), Groups::default());
        Self { capacity, next: 0, entries, groups, all: Count::default() }
    }

    /// Adds a connection. Returns the holder of the one that has made room for it, if one had to.
    pub(crate) fn enter(&mut self, now: Duration, origin: Origin, holder: T) -> (PlaceId, Option<T>) {
        let id = self.next;
        self.next += 1;
        let groups = origin.groups().map(|group| self.groups.find(group));
        groups.iter().for_each(|group| self.groups.add(*group, false));
        self.all.unproven += 1;
        self.entries.insert(id, Entry { groups, idle_since: now, is_proven: false, holder });
        let victim = self.too_full(groups).and_then(|crowd| self.victim(id, crowd));
        let evicted = victim.and_then(|victim| self.leave(PlaceId(victim)));
        (PlaceId(id), evicted)
    }

    /// Removes a connection. Returns its holder, if it was still there.
    pub(crate) fn leave(&mut self, id: PlaceId) -> Option<T> {
        let Entry { groups, is_proven, holder, .. } = self.entries.remove(&id.0)?;
        groups.into_iter().for_each(|group| self.groups.subtract(group, is_proven));
        let all = self.all.change(is_proven);
        *all = all.saturating_sub(1);
        Some(holder)
    }

    /// The connection is idle since `now` at the earliest.
    pub(crate) fn active(&mut self, now: Duration, id: PlaceId) {
        if let Some(entry) = self.entries.get_mut(&id.0) {
            entry.idle_since = entry.idle_since.max(now);
        }
    }

    /// The connection has proven something that a stranger cannot.
    pub(crate) fn prove(&mut self, id: PlaceId) {
        let Some(entry) = self.entries.get_mut(&id.0).filter(|entry| !entry.is_proven) else { return };
        entry.is_proven = true;
        for group in entry.groups {
            self.groups.add(group, true); // first, so that the group is never empty
            self.groups.subtract(group, false);
        }
        self.all.unproven = self.all.unproven.saturating_sub(1);
        self.all.proven += 1;
    }

    /// Returns those among whom one has to make room, if there is one too many. Room in the smallest group is room in all.
    fn too_full(&self, [network, address, _]: [GroupIndex; 3]) -> Option<Crowd> {
        let Capacity { connections, per_network, per_address } = self.capacity;
        let own = [(address, per_address, ADDRESS), (network, per_network, NETWORK)];
        let own = own.map(|(group, limit, level)| (Some((level, group)), self.groups.count(group), limit));
        let crowds = own.into_iter().chain([(None, self.all, connections)]);
        let mut crowds = crowds.map(|(group, count, limit)| Crowd { group, count, limit: limit.max(1) });
        crowds.find(|crowd| crowd.count.total() > crowd.limit)
    }

    /// Returns who makes room for the newcomer `own`. It takes a look at each entry.
    fn victim(&self, own: u64, crowd: Crowd) -> Option<u64> {
        // The newcomer is one of those that have proven nothing.
        let is_proven = crowd.count.proven > 0 && crowd.count.unproven <= crowd.limit.div_ceil(4);
        let is_candidate = |(id, entry): &(&u64, &Entry<T>)| {
            let is_in = crowd.group.is_none_or(|(level, group)| entry.groups.get(level) == Some(&group));
            **id != own && entry.is_proven == is_proven && is_in
        };
        let rank = |(id, entry): &(&u64, &Entry<T>)| {
            let counts = entry.groups.map(|group| self.groups.count(group).of(is_proven));
            (counts, Reverse(entry.idle_since), Reverse(**id))
        };
        self.entries.iter().filter(is_candidate).max_by_key(rank).map(|(id, _)| *id)
    }
}

/// Connections of which there is one too many.
#[derive(Clone, Copy)]
struct Crowd {
    /// The level and the index of their group, or `None` for all of them.
    group: Option<(usize, GroupIndex)>,
    count: Count,
    limit: usize,
}

/// Where the group of a level is in [`Entry::groups`].
const NETWORK: usize = 0;
const ADDRESS: usize = 1;

/// The places of listeners that share them.
pub(crate) struct Table<T>(Mutex<Places<T>>);

/// The place of a connection, which is free again when this is dropped.
pub(crate) struct Place<T> {
    table: Arc<Table<T>>,
    id: PlaceId,
}

impl<T> Table<T> {
    pub(crate) fn new(capacity: Capacity) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Places::new(capacity))))
    }

    /// Takes a place. Returns it with the holder of the one that has made room for it, if one had to.
    pub(crate) fn enter(this: &Arc<Self>, now: Duration, origin: Origin, holder: T) -> (Place<T>, Option<T>) {
        let (id, evicted) = this.lock().enter(now, origin, holder);
        (Place { table: this.clone(), id }, evicted)
    }

    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Places<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Place<T> {
    /// The connection is idle since `now` at the earliest.
    pub(crate) fn active(&self, now: Duration) {
        self.table.lock().active(now, self.id);
    }

    /// The connection has proven something that a stranger cannot.
    pub(crate) fn prove(&self) {
        self.table.lock().prove(self.id);
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let holder = self.table.lock().leave(self.id);
        drop(holder); // when the table is no longer locked
    }
}

#[cfg(test)]
mod tests;
