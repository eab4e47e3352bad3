//! The queue of events. Events are ordered by time, and at the same time by the order in which they were put in, so
//! that a run depends on nothing else. Those that come first at their time are an exception: see [`Queue::push_first`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// Future events.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    inserted: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    /// Whether the event comes before others of its time is the most significant bit: 0 if it does.
    order: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), inserted: 0 }
    }

    pub(crate) fn push(&mut self, at: Time, event: E) {
        self.heap.push(Reverse(Entry { at, order: LATER | self.inserted, event }));
        self.inserted += 1;
    }

    /// Puts in an event that comes before all others of its time, whenever they were put in.
    pub(crate) fn push_first(&mut self, at: Time, event: E) {
        self.heap.push(Reverse(Entry { at, order: self.inserted, event }));
        self.inserted += 1;
    }

    /// Returns when the next event is.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// The bit of events that come after the first ones of their time. As many events as would reach it are never put in.
const LATER: u64 = 1 << 63;
