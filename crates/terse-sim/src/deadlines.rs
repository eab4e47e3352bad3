//! An index of timers by time, so that nobody has to look at all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::Time;

/// The deadlines of things that are known by a key. A thing has one deadline at most.
///
/// Every operation takes time that grows with the logarithm of the number of deadlines.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines<K> {
    by_time: BTreeSet<(Time, K)>,
    by_key: BTreeMap<K, Time>,
}

impl<K: Ord + Copy> Deadlines<K> {
    /// Sets, moves or removes the deadline of `key`.
    pub(crate) fn set(&mut self, key: K, deadline: Option<Time>) {
        let earlier = self.by_key.get(&key).copied();
        if earlier == deadline {
            return;
        }
        if let Some(at) = earlier {
            self.by_time.remove(&(at, key));
        }
        match deadline {
            Some(at) => {
                self.by_time.insert((at, key));
                self.by_key.insert(key, at);
            }
            None => drop(self.by_key.remove(&key)),
        }
    }

    /// Returns the earliest deadline.
    pub(crate) fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Returns the key of the earliest deadline.
    pub(crate) fn first(&self) -> Option<K> {
        self.by_time.first().map(|(_, key)| *key)
    }

    /// Returns the keys of the deadlines up to `now`, in the order of the keys.
    pub(crate) fn due(&self, now: Time) -> Vec<K> {
        let mut keys: Vec<K> = self.by_time.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key).collect();
        keys.sort_unstable();
        keys
    }
}

impl<K> Default for Deadlines<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), by_key: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_index_equals_a_scan(
            changes in proptest::collection::vec((0_u8..8, proptest::option::of(0_u64..20)), 0..60), now in 0_u64..25,
        ) {
            let (mut deadlines, mut plain) = (Deadlines::default(), BTreeMap::new());
            for (key, deadline) in changes {
                let deadline = deadline.map(Time::from_millis);
                deadlines.set(key, deadline);
                plain.insert(key, deadline);
                prop_assert_eq!(deadlines.next(), plain.values().flatten().min().copied());
                let now = Time::from_millis(now);
                let due = plain.iter().filter(|(_, at)| at.is_some_and(|at| at <= now)).map(|(key, _)| *key);
                prop_assert_eq!(deadlines.due(now), due.collect::<Vec<_>>());
                prop_assert_eq!(deadlines.by_time.len(), deadlines.by_key.len());
            }
        }
    }
}
