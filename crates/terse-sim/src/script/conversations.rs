//! The handshakes that a program has at a time, and which of them has to act next. A client has one.
//!
//! What must always hold: the list of deadlines has that of each conversation; there are at most [`LIMIT`] conversations.

use std::collections::{BTreeMap, BTreeSet};

use super::Outcome;
use crate::Time;

/// A handshake with one peer.
pub(crate) trait Conversation {
    /// Returns when the conversation has to act by itself.
    fn deadline(&self) -> Option<Time>;

    /// Returns how far it has come.
    fn outcome(&self) -> &Outcome;
}

/// Conversations by the socket or the address of the peer.
#[derive(Debug)]
pub(crate) struct Conversations<K, C> {
    all: BTreeMap<K, C>,
    deadlines: BTreeSet<(Time, K)>,
}

impl<K: Ord + Copy, C: Conversation> Conversations<K, C> {
    pub(crate) const fn new() -> Self {
        Self { all: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.all.contains_key(&key)
    }

    /// Adds a conversation, in the place of the one that has been over for longest if there are too many. Returns whether
    /// there was a place.
    pub(crate) fn add(&mut self, key: K, conversation: C) -> bool {
        if self.all.len() >= LIMIT && !self.all.contains_key(&key) {
            let over = self.all.iter().filter(|(_, conversation)| conversation.outcome().is_over());
            let Some(oldest) = over.min_by_key(|(_, other)| other.outcome().connected).map(|(key, _)| *key) else {
                return false;
            };
            self.remove(oldest);
        }
        self.remove(key);
        self.deadlines.extend(conversation.deadline().map(|at| (at, key)));
        self.all.insert(key, conversation);
        true
    }

    pub(crate) fn remove(&mut self, key: K) {
        if let Some(deadline) = self.all.remove(&key).and_then(|conversation| conversation.deadline()) {
            self.deadlines.remove(&(deadline, key));
        }
    }

    /// Lets a conversation act.
    pub(crate) fn with<R>(&mut self, key: K, act: impl FnOnce(&mut C) -> R) -> Option<R> {
        let conversation = self.all.get_mut(&key)?;
        let before = conversation.deadline();
        let result = act(conversation);
        let after = conversation.deadline();
        if before != after {
            self.deadlines.extend(after.map(|at| (at, key)));
            if let Some(before) = before {
                self.deadlines.remove(&(before, key));
            }
        }
        Some(result)
    }

    /// Returns the next deadline.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Returns the conversations that have to act by `now`, the longest overdue first.
    pub(crate) fn due(&self, now: Time) -> Vec<K> {
        self.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key).collect()
    }

    /// Returns how far each has come.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.all.values().map(Conversation::outcome)
    }
}

/// The most conversations of a server: more than any network here has nodes.
pub(crate) const LIMIT: usize = 4096;

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    struct Fake(Option<Time>, Outcome);

    impl Conversation for Fake {
        fn deadline(&self) -> Option<Time> {
            self.0
        }

        fn outcome(&self) -> &Outcome {
            &self.1
        }
    }

    fn fake(deadline: Option<u64>, connected: Option<u64>) -> Fake {
        let peer = SocketAddr::from(([0, 0, 0, 0], 0));
        Fake(
            deadline.map(Time::from_millis),
            Outcome { connected: connected.map(Time::from_millis), ..Outcome::new(peer) },
        )
    }

    #[test]
    fn deadlines_follow_their_conversations() {
        let mut all = Conversations::new();
        for (key, deadline) in [(1, Some(30)), (2, Some(10)), (3, None)] {
            assert!(all.add(key, fake(deadline, None)));
        }
        assert_eq!((all.deadline(), all.due(Time::from_millis(20))), (Some(Time::from_millis(10)), vec![2]));
        all.with(2, |conversation| conversation.0 = None);
        assert_eq!(all.deadline(), Some(Time::from_millis(30)));
        all.with(3, |conversation| conversation.0 = Some(Time::from_millis(30)));
        assert_eq!(all.due(Time::from_millis(30)), [1, 3]);
        assert!(all.add(1, fake(None, None)), "in its own place");
        assert_eq!(all.due(Time::from_millis(30)), [3]);
    }

    #[test]
    fn the_one_that_is_over_for_longest_makes_place() {
        let mut all = Conversations::new();
        for key in 0..LIMIT {
            assert!(all.add(key, fake(Some(1), None)));
        }
        assert!(!all.add(LIMIT, fake(None, None)), "nobody is over");
        for (key, connected) in [(7, 50), (9, 40)] {
            all.with(key, |conversation| conversation.1.connected = Some(Time::from_millis(connected)));
        }
        assert!(all.add(LIMIT, fake(None, None)));
        assert!(!all.contains(9) && all.contains(7) && all.contains(LIMIT));
        assert_eq!((all.outcomes().count(), all.due(Time::from_millis(1)).len()), (LIMIT, LIMIT - 1));
    }
}
