//! A map with a bound, which forgets its oldest entries.

use std::collections::BTreeMap;

/// A map of at most `capacity` entries. When it is full, the entry that was inserted first is forgotten.
#[derive(Clone, Debug)]
pub(crate) struct Recent<K, V> {
    capacity: usize,
    entries: BTreeMap<K, (u64, V)>,
    /// The keys in the order in which they were inserted.
    order: BTreeMap<u64, K>,
    inserted: u64,
}

impl<K: Ord + Copy, V> Recent<K, V> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, entries: BTreeMap::new(), order: BTreeMap::new(), inserted: 0 }
    }

    /// Inserts an entry, which becomes the youngest, also where it replaces one.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        if self.entries.len() >= self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.entries.insert(key, (self.inserted, value));
        self.order.insert(self.inserted, key);
        self.inserted += 1;
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some((number, _)) = self.entries.remove(key) {
            self.order.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_forgotten() {
        let mut recent = Recent::new(2);
        recent.insert('a', 1);
        recent.insert('b', 2);
        recent.insert('a', 3);
        recent.insert('c', 4);
        assert_eq!(['a', 'b', 'c'].map(|key| recent.get(&key).copied()), [Some(3), None, Some(4)]);
        recent.remove(&'a');
        recent.insert('d', 5);
        assert_eq!(['c', 'd'].map(|key| recent.get(&key).copied()), [Some(4), Some(5)]);
        assert_eq!((recent.entries.len(), recent.order.len()), (2, 2));
    }
}
