//! The counter of operations: one for each thread, because a provider's functions have no place for one.

use core::cell::RefCell;
use std::collections::BTreeMap;

use super::Operation;

/// How often operations were carried out; of an operation [on bytes](Operation::is_on_bytes), how many bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<Operation, u64>);

impl Counts {
    /// Returns the count of an operation.
    pub fn of(&self, operation: Operation) -> u64 {
        self.0.get(&operation).copied().unwrap_or(0)
    }

    /// Returns all operations that were carried out, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Operation, u64)> {
        self.0.iter().map(|(operation, count)| (*operation, *count))
    }

    /// Whether nothing was carried out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the counts of `others`.
    pub fn add(&mut self, others: &Self) {
        for (operation, count) in others.iter() {
            self.note(operation, count);
        }
    }

    fn note(&mut self, operation: Operation, count: u64) {
        let sum = self.0.entry(operation).or_default();
        *sum = sum.saturating_add(count);
    }
}

impl FromIterator<(Operation, u64)> for Counts {
    fn from_iter<T: IntoIterator<Item = (Operation, u64)>>(counts: T) -> Self {
        let mut sum = Self::default();
        for (operation, count) in counts {
            sum.note(operation, count);
        }
        sum
    }
}

thread_local! {
    /// What was noted since the innermost [`observe`] began; `None` outside of one.
    static NOTED: RefCell<Option<Counts>> = const { RefCell::new(None) };
}

/// Notes `count` of `operation`, if this thread is observed.
pub(super) fn note(operation: Operation, count: u64) {
    NOTED.with_borrow_mut(|noted| {
        if let Some(counts) = noted {
            counts.note(operation, count);
        }
    });
}

/// Calls `run`, and returns its result with the operations that counting providers and keys carried out in it on this
/// thread.
pub fn observe<R>(run: impl FnOnce() -> R) -> (R, Counts) {
    let outer = NOTED.replace(Some(Counts::default()));
    let result = run();
    let counts = NOTED.take().unwrap_or_default();
    NOTED.set(outer.map(|mut outer| {
        outer.add(&counts);
        outer
    }));
    (result, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_noted_while_somebody_observes() {
        note(Operation::Pairing, 1);
        let (inner, outer) = observe(|| {
            note(Operation::Pairing, 2);
            observe(|| note(Operation::Sha256, 64)).1
        });
        assert_eq!(inner, Counts::from_iter([(Operation::Sha256, 64)]));
        assert_eq!(outer, Counts::from_iter([(Operation::Sha256, 64), (Operation::Pairing, 2)]));
        assert!(observe(|| ()).1.is_empty());
    }

    #[test]
    fn threads_have_counters_of_their_own() {
        let ((), here) = observe(|| {
            let there = std::thread::spawn(|| observe(|| note(Operation::Pairing, 3)).1);
            assert_eq!(there.join().expect("it ends").of(Operation::Pairing), 3);
        });
        assert!(here.is_empty());
    }
}
