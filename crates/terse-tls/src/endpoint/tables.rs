//! The tables in which an endpoint finds its connections, and the queue of events.
//!
//! What must always hold: attackers choose paths, so they are hashed with a secret key; and no call takes longer
//! because of other connections.

use alloc::collections::VecDeque;
use core::hash::{BuildHasher, Hasher};

use hashbrown::HashMap;
use siphasher::sip::SipHasher13;

use super::{ConnectionHandle, EndpointEvent, Path};
use crate::crypto::{CryptoError, Rng};

/// A map with keys that peers influence: paths, and connection IDs.
pub(super) type Keyed<K, V> = HashMap<K, V, HashKey>;

/// The connections by the path to their peer. Consecutive datagrams often come on one path, which is then found without
/// hashing.
pub(super) struct ByPath {
    handles: Keyed<Path, ConnectionHandle>,
    /// The entry of `handles` that was found last.
    last: Option<(Path, ConnectionHandle)>,
}

impl ByPath {
    pub(super) fn new(key: HashKey) -> Self {
        Self { handles: Keyed::with_hasher(key), last: None }
    }

    pub(super) fn find(&mut self, path: &Path) -> Option<ConnectionHandle> {
        match &self.last {
            Some((last, handle)) if last == path => Some(*handle),
            _ => {
                let handle = self.handles.get(path).copied()?;
                self.last = Some((path.clone(), handle));
                Some(handle)
            }
        }
    }

    /// Inserts a connection, and replaces the one on the same path.
    pub(super) fn insert(&mut self, path: Path, handle: ConnectionHandle) {
        self.last = None;
        self.handles.insert(path, handle);
    }

    /// Inserts a connection, unless there is one on the same path.
    pub(super) fn insert_if_free(&mut self, path: Path, handle: ConnectionHandle) {
        self.handles.entry(path).or_insert(handle);
    }

    /// Removes a connection, unless another one has the path. Returns whether it was removed.
    pub(super) fn remove(&mut self, path: &Path, handle: ConnectionHandle) -> bool {
        if self.handles.get(path) != Some(&handle) {
            return false;
        }
        self.last = None;
        self.handles.remove(path).is_some()
    }
}

/// The connections by handle. Handles are consecutive numbers, so a cheap hash is enough. It has a key, since peers
/// influence which of them stay.
pub(super) type ByHandle<V> = HashMap<ConnectionHandle, V, HandleKey>;

/// The secret key of the hash of paths and connection IDs.
#[derive(Clone)]
pub(super) struct HashKey([u8; 16]);

impl HashKey {
    pub(super) fn random(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut key = [0; 16];
        rng.fill(&mut key)?;
        Ok(Self(key))
    }

    /// Derives the key of the hash of handles.
    pub(super) fn of_handles(&self) -> HandleKey {
        HandleKey(self.hash_one(0_u64) | 1)
    }
}

impl BuildHasher for HashKey {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.0)
    }
}

/// The secret key of the hash of handles: an odd factor.
#[derive(Clone, Copy)]
pub(super) struct HandleKey(u64);

/// The hasher of handles.
pub(super) struct HandleHasher {
    key: u64,
    hash: u64,
}

impl BuildHasher for HandleKey {
    type Hasher = HandleHasher;

    fn build_hasher(&self) -> HandleHasher {
        HandleHasher { key: self.0, hash: 0 }
    }
}

impl Hasher for HandleHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.hash ^ value) * u128::from(self.key);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

/// The queue of events. Events of removed connections stay until their turn, or until they are more than half of all.
#[derive(Default)]
pub(super) struct Events {
    queue: VecDeque<(ConnectionHandle, EndpointEvent)>,
    /// The bytes of application data in the queue.
    bytes: usize,
    /// How many events are of removed connections.
    dead: usize,
}

/// A queue with a capacity of so many events does not shrink.
const KEPT: usize = 32;

impl Events {
    pub(super) fn push(&mut self, handle: ConnectionHandle, event: EndpointEvent) {
        self.bytes += event.data().map_or(0, <[u8]>::len);
        self.queue.push_back((handle, event));
    }

    /// Returns the next event, even of a removed connection.
    pub(super) fn pop(&mut self) -> Option<(ConnectionHandle, EndpointEvent)> {
        let (handle, event) = self.queue.pop_front()?;
        self.bytes -= event.data().map_or(0, <[u8]>::len);
        if self.queue.capacity() > KEPT && self.queue.len() < self.queue.capacity() / 4 {
            self.queue.shrink_to(self.queue.capacity() / 2);
        }
        Some((handle, event))
    }

    /// Notes that an event of a removed connection was skipped.
    pub(super) fn skipped(&mut self) {
        self.dead = self.dead.saturating_sub(1);
    }

    /// Notes that a connection with so many events was removed.
    pub(super) fn bury(&mut self, events: usize, is_there: impl Fn(&ConnectionHandle) -> bool) {
        self.dead += events;
        if self.dead * 2 > self.queue.len() {
            let bytes = &mut self.bytes;
            self.queue.retain(|(handle, event)| {
                let stays = event.outlives_connection() || is_there(handle);
                *bytes -= event.data().filter(|_| !stays).map_or(0, <[u8]>::len);
                stays
            });
            self.dead = 0;
        }
    }

    /// Returns the bytes of application data in the queue.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::net::SocketAddr;

    use super::*;

    fn data(len: usize) -> EndpointEvent {
        EndpointEvent::Data(vec![7; len])
    }

    #[test]
    fn a_path_is_found_wherever_the_last_one_went() {
        let mut table = ByPath::new(HashKey([7; 16]));
        // One proxy, and two clients behind it.
        let proxy = SocketAddr::from(([192, 0, 2, 1], 5684));
        let [a, b] = [1, 2].map(|header| Path::new(proxy, &[header]).expect("a short header"));
        let (a, b) = (&a, &b);
        assert_eq!(table.find(&proxy.into()), None);
        let [first, second] = [1, 2].map(ConnectionHandle);
        assert_eq!(table.find(a), None);
        table.insert(a.clone(), first);
        assert_eq!([table.find(a), table.find(a), table.find(b)], [Some(first), Some(first), None]);
        table.insert_if_free(a.clone(), second);
        table.insert_if_free(b.clone(), second);
        assert_eq!([table.find(a), table.find(b)], [Some(first), Some(second)]);
        table.insert(b.clone(), first); // in its place
        assert_eq!([table.find(b), table.find(a)], [Some(first), Some(first)]);
        assert!(!table.remove(a, second) && table.find(a) == Some(first), "another connection is there");
        assert!(table.remove(a, first));
        assert_eq!([table.find(a), table.find(b), table.find(a)], [None, Some(first), None]);
    }

    #[test]
    fn events_of_the_dead_are_at_most_half_and_their_bytes_are_given_back() {
        let mut events = Events::default();
        for n in 0..100 {
            events.push(ConnectionHandle(n), data(10));
        }
        for gone in 0..100 {
            events.bury(1, |handle| handle.0 > gone);
            let live = 99 - gone as usize;
            assert!(events.queue.len() <= 2 * live + 1 && events.bytes() == 10 * events.queue.len());
        }
        assert_eq!((events.queue.len(), events.bytes()), (0, 0));
        events.push(ConnectionHandle(1), EndpointEvent::Replaced);
        events.bury(1, |_| false);
        assert_eq!(
            events.pop(),
            Some((ConnectionHandle(1), EndpointEvent::Replaced)),
            "it tells of a connection's end"
        );
    }

    #[test]
    fn queue_of_events_shrinks() {
        let mut events = Events::default();
        (0..10_000).for_each(|n| events.push(ConnectionHandle(n), data(1)));
        for n in 0..10_000 {
            assert_eq!(events.pop(), Some((ConnectionHandle(n), data(1))));
            assert!(events.queue.capacity() <= KEPT.max(8 * events.queue.len() + 8));
        }
        assert!(events.pop().is_none() && events.queue.capacity() <= KEPT && events.bytes() == 0);
    }
}
