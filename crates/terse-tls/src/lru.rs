//! A map of bounded size that drops the least recently used value, for stores in memory.
//!
//! What must always hold: there are at most `capacity` values.

use alloc::collections::BTreeMap;
use core::borrow::Borrow;

/// A map of bounded size that drops the least recently used value.
pub(crate) struct Lru<K, V> {
    capacity: usize,
    /// The values, with the time of their last use.
    values: BTreeMap<K, (u64, V)>,
    /// The keys by the time of their last use.
    by_use: BTreeMap<u64, K>,
    /// Counts uses. It does not overflow in 500 years of one use each nanosecond.
    clock: u64,
}

impl<K: Ord + Clone, V> Lru<K, V> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, values: BTreeMap::new(), by_use: BTreeMap::new(), clock: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the value without counting as a use.
    pub(crate) fn peek(&mut self, key: &K) -> Option<&mut V> {
        self.values.get_mut(key).map(|(_, value)| value)
    }

    /// Returns the value, which becomes the most recently used one.
    pub(crate) fn touch(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.values.get_mut(key)?;
        self.by_use.remove(used);
        self.clock += 1;
        *used = self.clock;
        self.by_use.insert(self.clock, key.clone());
        Some(value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.clock += 1;
        if let Some((used, _)) = self.values.insert(key.clone(), (self.clock, value)) {
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.clock, key);
        if self.values.len() > self.capacity
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.values.remove(&oldest);
        }
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let (key, (used, value)) = self.values.remove_entry(key)?;
        self.by_use.remove(&used);
        Some((key, value))
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = (&K, &V)> {
        self.by_use.values().filter_map(|key| self.values.get(key).map(|(_, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests;
