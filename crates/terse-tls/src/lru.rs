//! A map of bounded size that drops the least recently used value, for stores in memory.
//!
//! What must always hold: there are at most `capacity` values; each has its place in `places`, and in the ring. Values move, so that a
//! secret of one lies behind a pointer, and is wiped there.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::iter;

/// A map of bounded size that drops the least recently used value.
pub(crate) struct Lru<K, V> {
    capacity: usize,
    /// Where each value is in `entries`.
    places: BTreeMap<K, usize>,
    entries: Vec<Entry<K, V>>,
    /// The newest and the oldest entry, as the neighbours of the end of the ring.
    end: [usize; 2],
}

struct Entry<K, V> {
    key: K,
    value: V,
    /// The entries that were used before and after this one.
    beside: [usize; 2],
}

/// Which neighbour.
const BEFORE: usize = 0;
const AFTER: usize = 1;

/// The place of the end of the ring, where no entry is.
const END: usize = usize::MAX;

impl<K: Ord + Clone, V> Lru<K, V> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, places: BTreeMap::new(), entries: Vec::new(), end: [END; 2] }
    }

    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the value without counting as a use.
    pub(crate) fn peek(&mut self, key: &K) -> Option<&mut V> {
        let place = *self.places.get(key)?;
        self.entries.get_mut(place).map(|entry| &mut entry.value)
    }

    /// Returns the value, which becomes the most recently used one.
    pub(crate) fn touch(&mut self, key: &K) -> Option<&mut V> {
        let place = *self.places.get(key)?;
        self.unlink(place);
        self.link(place);
        self.entries.get_mut(place).map(|entry| &mut entry.value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(known) = self.touch(&key) {
            *known = value;
            return;
        }
        let place = self.entries.len();
        self.places.insert(key.clone(), place);
        self.entries.push(Entry { key, value, beside: [END; 2] });
        self.link(place);
        if place >= self.capacity
            && let Some(oldest) = self.entries.get(self.end[AFTER]).map(|entry| entry.key.clone())
        {
            self.remove(&oldest);
        }
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let place = self.places.remove(key)?;
        self.unlink(place);
        let last = self.entries.pop()?;
        let Some(removed) = self.entries.get_mut(place) else { return Some((last.key, last.value)) };
        let removed = core::mem::replace(removed, last);
        // The last entry has moved.
        if let Some(Entry { key, beside: [before, after], .. }) = self.entries.get(place) {
            let [before, after] = [*before, *after];
            self.places.get_mut::<K>(key).into_iter().for_each(|of_key| *of_key = place);
            self.beside(before)[AFTER] = place;
            self.beside(after)[BEFORE] = place;
        }
        Some((removed.key, removed.value))
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = (&K, &V)> {
        let oldest = self.entries.get(self.end[AFTER]);
        let entries = iter::successors(oldest, |entry| self.entries.get(entry.beside[AFTER]));
        entries.map(|entry| (&entry.key, &entry.value))
    }

    /// Returns the neighbours of a place.
    fn beside(&mut self, place: usize) -> &mut [usize; 2] {
        self.entries.get_mut(place).map_or(&mut self.end, |entry| &mut entry.beside)
    }

    /// Takes an entry out of the ring.
    fn unlink(&mut self, place: usize) {
        let [before, after] = *self.beside(place);
        self.beside(before)[AFTER] = after;
        self.beside(after)[BEFORE] = before;
    }

    /// Puts an entry into the ring, as the newest one.
    fn link(&mut self, place: usize) {
        let newest = core::mem::replace(&mut self.end[BEFORE], place);
        self.beside(newest)[AFTER] = place;
        *self.beside(place) = [newest, END];
    }
}

#[cfg(test)]
mod tests;
