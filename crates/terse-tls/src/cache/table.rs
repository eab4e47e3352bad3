//! Records as bytes, one after the other: what the stores in memory are made of. A record has no pointer and no box of
//! its own; what many have in common is kept once, beside them, and named by one byte.
//!
//! What must always hold:
//! - Never more than `capacity` records, nor more than `max_bytes` of them; the least recently used goes first.
//! - A table that was made with [`Table::fixed`] never allocates again, but for what it hands out.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::marker::PhantomData;

use super::shared::{Record, Shared, View, length_of, numbers_of};

/// What a table is for: how its records are found. `R` is how many shared values a record has.
pub(super) trait Kind<const R: usize> {
    type Key<'a>;
    /// How many keys a record has at most.
    const KEYS: usize;

    /// The key of this number, if the record has so many.
    fn key<'a>(view: &View<'a, R>, number: usize) -> Option<Self::Key<'a>>;

    fn compare(one: &Self::Key<'_>, other: &Self::Key<'_>) -> Ordering;
}

/// Where a record begins. Good until the table changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// Which place a record has among all others, by use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It becomes the most recently used.
    Now,
    /// It stays as old as it is.
    Same,
}

/// Records as bytes.
pub(super) struct Table<K, const R: usize> {
    capacity: usize,
    max_bytes: usize,
    bytes: Vec<u8>,
    /// Where the records begin, least recently used first.
    order: Vec<u32>,
    /// The same in the order of the keys, each times [`Kind::KEYS`] and with the number of its key.
    index: Vec<u32>,
    shared: Shared,
    kind: PhantomData<K>,
}

impl<K: Kind<R>, const R: usize> Table<K, R> {
    /// An empty table for at most `capacity` records of `max_bytes` altogether, which takes memory as it is filled.
    pub(super) fn new(capacity: usize, max_bytes: usize) -> Self {
        let max_bytes = max_bytes.min(Self::MAX_BYTES);
        let shared = Shared::new(capacity);
        Self { capacity, max_bytes, bytes: Vec::new(), order: Vec::new(), index: Vec::new(), shared, kind: PhantomData }
    }

    /// The same, with all its memory from the start.
    pub(super) fn fixed(capacity: usize, max_bytes: usize) -> Self {
        let mut table = Self::new(capacity, max_bytes);
        table.bytes.reserve_exact(table.max_bytes);
        table.order.reserve_exact(capacity);
        table.index.reserve_exact(capacity.saturating_mul(K::KEYS));
        table.shared.reserve();
        table
    }

    /// How many records there are.
    pub(super) const fn len(&self) -> usize {
        self.order.len()
    }

    /// How many keys they have.
    pub(super) const fn keys(&self) -> usize {
        self.index.len()
    }

    /// The record with `key`, and which of its keys that is.
    pub(super) fn find(&self, key: K::Key<'_>) -> Option<(Place, usize)> {
        let place = self.index.binary_search_by(|entry| self.compare(*entry, &key)).ok()?;
        self.index.get(place).map(|entry| (Place(entry / K::KEYS as u32), *entry as usize % K::KEYS))
    }

    /// What is kept there.
    pub(super) fn view(&self, Place(place): Place) -> View<'_, R> {
        let record = self.bytes.get(place as usize..).unwrap_or_default();
        View::read(record, &self.shared).unwrap_or(View { shared: [None; R], body: &[] })
    }

    /// All records, least recently used first.
    pub(super) fn iter(&self) -> impl Iterator<Item = View<'_, R>> {
        self.order.iter().map(|place| self.view(Place(*place)))
    }

    /// Keeps `record`, in the place of `old` if there is one, unless it is too large. Its keys must be those of no
    /// other record but `old`.
    pub(super) fn put(&mut self, old: Option<Place>, record: &Record<R>, used: Use) {
        let record = self.pack(record);
        let mut age = old.and_then(|Place(old)| self.order.iter().rposition(|place| *place == old));
        // What would go first makes room for one of its length as well as an older one of the same record.
        let oldest = || self.order.first().filter(|_| old.is_none() && !self.has_room(record.len())).map(|_| 0);
        if let Some(position) = age.or_else(oldest)
            && let Some(place) = self.order.get(position).copied()
            && self.record_len(place) == record.len()
        {
            self.overwrite(place, &record);
            if used == Use::Now || old.is_none() {
                self.order.get_mut(position..).unwrap_or_default().rotate_left(1);
            }
            return;
        }
        old.into_iter().for_each(|old| self.remove(old));
        if record.is_empty() || record.len() > self.max_bytes || self.capacity == 0 {
            return;
        }
        while !self.has_room(record.len()) {
            let Some(oldest) = self.order.first() else { return };
            self.remove(Place(*oldest));
            age = age.map(|age| age.saturating_sub(1));
        }
        let place = self.bytes.len() as u32; // at most MAX_BYTES
        make_room(&mut self.bytes, record.len());
        self.bytes.extend_from_slice(&record);
        make_room(&mut self.order, 1);
        match age {
            Some(age) if used == Use::Same && age < self.order.len() => self.order.insert(age, place),
            _ => self.order.push(place),
        }
        self.index_keys(place);
    }

    fn has_room(&self, len: usize) -> bool {
        self.order.len() < self.capacity && self.bytes.len() + len <= self.max_bytes
    }

    /// Puts a record in the place of another one of its length.
    fn overwrite(&mut self, place: u32, record: &[u8]) {
        self.forget_keys(place);
        if let Some(bytes) = self.bytes.get_mut(place as usize..place as usize + record.len()) {
            bytes.copy_from_slice(record);
        }
        self.index_keys(place);
    }

    /// Forgets the record there.
    pub(super) fn remove(&mut self, Place(place): Place) {
        let len = self.record_len(place);
        self.bytes.drain(place as usize..place as usize + len);
        let (keys, len) = (K::KEYS as u32, len as u32);
        self.order.retain_mut(|other| {
            let stays = *other != place;
            *other -= if *other > place { len } else { 0 };
            stays
        });
        self.index.retain_mut(|entry| {
            let other = *entry / keys;
            *entry -= if other > place { len * keys } else { 0 };
            other != place
        });
    }

    /// So that an entry of the index has 32 bits.
    const MAX_BYTES: usize = (u32::MAX as usize) / K::KEYS - u16::MAX as usize;

    /// The record as bytes, with its shared values among the others; nothing if it is too long.
    fn pack(&mut self, record: &Record<R>) -> Vec<u8> {
        let (bytes, order) = (&self.bytes, &self.order);
        let kept = || order.iter().flat_map(|place| numbers_of::<R>(bytes.get(*place as usize..).unwrap_or_default()));
        record.pack(&mut self.shared, |number| kept().any(|used| *used == number))
    }

    fn record_len(&self, place: u32) -> usize {
        self.bytes.get(place as usize..).map_or(0, length_of)
    }

    fn compare(&self, entry: u32, key: &K::Key<'_>) -> Ordering {
        let (place, number) = (entry / K::KEYS as u32, entry as usize % K::KEYS);
        let view = self.view(Place(place));
        K::key(&view, number).map_or(Ordering::Less, |own| K::compare(&own, key))
    }

    fn index_keys(&mut self, place: u32) {
        for number in 0..K::KEYS {
            let Some(position) = self.position(place, number) else { continue };
            make_room(&mut self.index, 1);
            self.index.insert(position, place * K::KEYS as u32 + number as u32);
        }
    }

    /// Where the key of this number belongs in the index, if the record has so many.
    fn position(&self, place: u32, number: usize) -> Option<usize> {
        let key = K::key(&self.view(Place(place)), number)?;
        Some(self.index.partition_point(|entry| self.compare(*entry, &key) == Ordering::Less))
    }

    fn forget_keys(&mut self, place: u32) {
        self.index.retain(|entry| entry / K::KEYS as u32 != place);
    }
}

/// Growing in small steps costs little, and leaves little over.
fn make_room<T>(vector: &mut Vec<T>, additional: usize) {
    if vector.capacity() - vector.len() < additional {
        vector.reserve_exact(additional.max(vector.len() / 64));
    }
}

#[cfg(test)]
mod tests;
