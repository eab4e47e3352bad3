//! Records as bytes, in the order of use: what the stores in memory are made of. A record has no pointer and no box of
//! its own; what many have in common is kept once, beside them, and named by one byte. An index finds them by a keyed
//! hash, since peers have a part in what their keys are.
//!
//! A change takes the same time beside one record and beside a million: it writes its record to the end, and pays for the
//! hole that the old one leaves by moving some others. But an index that grows is made anew, which happens each time that
//! there are twice as many records.
//!
//! What must always hold:
//! - Never more than `capacity` records, nor more than `max_bytes` of them; the least recently used goes first.
//! - A table that was made with [`Table::fixed`] never allocates again, but for what it hands out.

use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

use super::shared::{Record, Shared, View, numbers_of};

mod log;

use log::{Log, Moved};

/// What a table is for: how its records are found. `R` is how many shared values a record has.
pub(super) trait Kind<const R: usize> {
    type Key<'a>: Hash;
    /// How many keys a record has at most.
    const KEYS: usize;

    /// The key of this number, if the record has so many.
    fn key<'a>(view: &View<'a, R>, number: usize) -> Option<Self::Key<'a>>;

    fn equals(one: &Self::Key<'_>, other: &Self::Key<'_>) -> bool;
}

/// The key of the hash. Who knows it can make keys that are found slowly.
pub(super) type HashKey = [u8; 16];

/// Where a record begins. Good until the table changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordPosition(u32);

/// Which place a record has among all others, by use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It becomes the most recently used.
    Now,
    /// It stays as old as it is, unless it is longer than before.
    Same,
}

/// A table of records as bytes.
pub(super) struct Table<K, const R: usize> {
    capacity: usize,
    max_bytes: usize,
    log: Log,
    len: usize,
    /// Where the records begin, each times [`Kind::KEYS`] and with the number of its key.
    index: HashTable<u32>,
    /// Whether the table has all its memory.
    is_fixed: bool,
    hash_key: HashKey,
    shared: Shared,
    kind: PhantomData<K>,
}

impl<K: Kind<R>, const R: usize> Table<K, R> {
    /// Creates an empty table for at most `capacity` records of `max_bytes` altogether, which takes memory as it is filled.
    pub(super) fn new(capacity: usize, max_bytes: usize) -> Self {
        let max_bytes = max_bytes.min(Self::MAX_BYTES);
        let (log, shared) = (Log::new(max_bytes), Shared::new(capacity));
        let (index, hash_key) = (HashTable::new(), HashKey::default());
        Self { capacity, max_bytes, log, len: 0, index, is_fixed: false, hash_key, shared, kind: PhantomData }
    }

    /// Creates an empty table with all its memory from the start.
    pub(super) fn fixed(capacity: usize, max_bytes: usize) -> Self {
        let mut table = Self::new(capacity, max_bytes);
        table.log.reserve();
        // With more room than it needs, an index is not often made anew.
        table.index = HashTable::with_capacity(capacity.saturating_mul(K::KEYS).saturating_mul(9) / 8);
        table.is_fixed = true;
        table.shared.reserve();
        table
    }

    /// Finds records by a hash with this key from now on.
    pub(super) fn set_hash_key(&mut self, key: HashKey) {
        self.hash_key = key;
        self.index_all();
    }

    /// Returns how many records there are.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Returns how many keys the records have.
    pub(super) fn keys(&self) -> usize {
        self.index.len()
    }

    /// Returns the record with `key`, and which of its keys that is.
    pub(super) fn find(&self, key: K::Key<'_>) -> Option<(RecordPosition, usize)> {
        let is_it = |entry: &u32| self.key(*entry).is_some_and(|own| K::equals(&own, &key));
        let entry = *self.index.find(self.hash(&key), is_it)?;
        Some((RecordPosition(entry / K::KEYS as u32), entry as usize % K::KEYS))
    }

    /// Returns the record at this position.
    pub(super) fn view(&self, RecordPosition(place): RecordPosition) -> View<'_, R> {
        View::read(self.log.bytes(place), &self.shared).unwrap_or(View { shared: [None; R], body: &[] })
    }

    /// Returns all records, least recently used first.
    pub(super) fn iter(&self) -> impl Iterator<Item = View<'_, R>> {
        self.log.places().map(|place| self.view(RecordPosition(place)))
    }

    /// Keeps `record`, in the place of `old` if there is one, unless it is too large. Its keys must be those of no
    /// other record but `old`.
    pub(super) fn put(&mut self, old: Option<RecordPosition>, record: &Record<R>, used: Use) {
        let record = record.pack(&mut self.shared);
        let numbers = numbers_of::<R>(&record);
        if let (Some(old), Use::Same) = (old, used)
            && self.replace(old, &record)
        {
            return;
        }
        let is_kept = !record.is_empty() && record.len() <= self.max_bytes.min(Log::MAX_RECORD) && self.capacity > 0;
        let mut holes = old.map_or(0, |RecordPosition(old)| self.forget(old));
        if is_kept {
            holes += self.make_room(record.len());
        }
        self.tidy(holes); // first, so that a device needs room for one record more at most
        if is_kept {
            let place = self.log.push(&record);
            self.len += 1;
            self.index_keys(place);
        } else {
            self.shared.release(numbers);
        }
    }

    /// Forgets the record at this position.
    pub(super) fn remove(&mut self, RecordPosition(place): RecordPosition) {
        let hole = self.forget(place);
        self.tidy(hole);
    }

    /// Puts a record in the place of another one that is not shorter. False: nothing is done.
    fn replace(&mut self, RecordPosition(place): RecordPosition, record: &[u8]) -> bool {
        if record.is_empty() {
            return false; // it is too long
        }
        let numbers: [u8; R] = numbers_of::<R>(self.log.bytes(place)).try_into().unwrap_or([0; R]);
        self.forget_keys(place);
        let is_done = self.log.replace(place, record);
        if is_done {
            self.shared.release(&numbers);
        }
        self.index_keys(place);
        is_done
    }

    /// Makes room for a record of `len` bytes. Returns how many bytes of others had to go.
    fn make_room(&mut self, len: usize) -> usize {
        let mut forgotten = 0;
        while self.len >= self.capacity || !self.log.has_room(len) {
            let is_full = self.len >= self.capacity || self.log.live() + len > self.max_bytes - self.holes_allowed();
            if !self.log.is_tidy() && (!is_full || self.len == 0) {
                let mut everything = usize::MAX;
                self.sweep(&mut everything);
            } else {
                let Some(oldest) = self.log.oldest() else { break };
                forgotten += self.forget(oldest);
            }
        }
        forgotten
    }

    /// Bytes that are left to holes: none in a table so small that all of it is swept at once.
    const fn holes_allowed(&self) -> usize {
        if self.max_bytes > SMALL { self.max_bytes / 6 } else { 0 }
    }

    /// Forgets a record. Returns its length.
    fn forget(&mut self, place: u32) -> usize {
        self.forget_keys(place);
        self.shared.release(numbers_of::<R>(self.log.bytes(place)));
        self.len -= 1;
        self.log.remove(place)
    }

    /// `new` bytes more are holes: sweeps as much as keeps all of them to an eighth.
    fn tidy(&mut self, new: usize) {
        let mut budget = SWEPT * new;
        while budget > 0 && (self.log.is_swept() || self.log.holes() * SWEPT > self.log.live()) {
            self.sweep(&mut budget);
        }
    }

    /// Sweeps until a sweep has reached the end, or the budget is spent.
    fn sweep(&mut self, budget: &mut usize) {
        while let Some(moved) = self.log.sweep(budget) {
            self.moved(moved);
        }
    }

    /// So that an entry of the index has 32 bits.
    const MAX_BYTES: usize = (u32::MAX as usize) / K::KEYS - 0x2_0000;

    fn hash(&self, key: &K::Key<'_>) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.hash_key);
        key.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the key of an entry of the index.
    fn key(&self, entry: u32) -> Option<K::Key<'_>> {
        K::key(&self.view(RecordPosition(entry / K::KEYS as u32)), entry as usize % K::KEYS)
    }

    /// The keys of a record: the entry of each in the index, and its hash.
    fn entries(&self, place: u32) -> impl Iterator<Item = (u32, u64)> {
        let entries = (0..K::KEYS as u32).map(move |number| place * K::KEYS as u32 + number);
        entries.filter_map(|entry| self.key(entry).map(|key| (entry, self.hash(&key))))
    }

    /// Makes the index anew, in the memory that it has.
    fn index_all(&mut self) {
        let mut index = core::mem::take(&mut self.index);
        index.clear();
        self.log.places().for_each(|place| self.insert_keys(&mut index, place));
        self.index = index;
    }

    fn index_keys(&mut self, place: u32) {
        if self.is_fixed && self.index.capacity() - self.index.len() < K::KEYS {
            return self.index_all(); // what was removed has left marks, with which it would grow
        }
        let mut index = core::mem::take(&mut self.index);
        self.insert_keys(&mut index, place);
        self.index = index;
    }

    fn insert_keys(&self, index: &mut HashTable<u32>, place: u32) {
        let hash = |entry: &u32| self.key(*entry).map_or(0, |key| self.hash(&key));
        for (entry, own) in self.entries(place) {
            index.insert_unique(own, entry, hash);
        }
    }

    fn forget_keys(&mut self, place: u32) {
        let mut index = core::mem::take(&mut self.index);
        for (entry, hash) in self.entries(place) {
            if let Ok(found) = index.find_entry(hash, |other| *other == entry) {
                found.remove();
            }
        }
        self.index = index;
    }

    /// A record is somewhere else now.
    fn moved(&mut self, Moved { from, to }: Moved) {
        let mut index = core::mem::take(&mut self.index);
        for (entry, hash) in self.entries(to) {
            let number = entry % K::KEYS as u32;
            let old = from * K::KEYS as u32 + number;
            index.find_mut(hash, |other| *other == old).into_iter().for_each(|found| *found = entry);
        }
        self.index = index;
    }
}

/// So many bytes are swept for each byte of a hole.
const SWEPT: usize = 16;

/// Bytes of a table that is swept at once.
const SMALL: usize = 0x1_0000;

#[cfg(test)]
mod tests;
