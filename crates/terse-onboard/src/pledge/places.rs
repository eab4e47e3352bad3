//! The places that discovery has found, by the numbers that the machine knows them by, and which of them it is told of.
//!
//! The machine tries [`MAX_PROXIES`] in turn. Of more places, those that it is told of change: one that has failed gives way to
//! one that has failed less often.
//!
//! What must always hold: no number means two places, so that an attempt goes where it was meant to go; at most [`MAX_PLACES`]
//! are known; each place has its turn, whatever else is announced; one that fails again and again has it after ever longer
//! times (RFC 8995, 4.1).

use alloc::collections::VecDeque;

use terse_brski::pledge::{MAX_PROXIES, Proxy};
use terse_tls::Instant;

use crate::discovery::Place;

/// The places, and the number of the next one.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: VecDeque<Known>,
    numbers: u32,
}

#[derive(Debug)]
struct Known {
    proxy: Proxy,
    place: Place,
    /// Whether the machine has been told of it, and not that it is gone.
    is_offered: bool,
    /// Whether its registrar is waited for.
    is_waited_for: bool,
    failures: u32,
    /// When it may have the turn of another one.
    due: Instant,
}

/// What the machine is to be told, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) gone: Option<Proxy>,
    pub(super) found: Option<Proxy>,
}

impl Places {
    /// Adds a place. One that is known changes nothing.
    pub(super) fn add(&mut self, place: Place, now: Instant) -> News {
        if self.known.iter().any(|known| known.place == place) {
            return News::default();
        }
        let gone = if self.known.len() < MAX_PLACES { None } else { self.forget() };
        self.numbers = self.numbers.wrapping_add(1); // after 4 billion places the first ones are long forgotten
        let proxy = Proxy(self.numbers);
        let new = Known { proxy, place, is_offered: false, is_waited_for: false, failures: 0, due: now };
        self.known.push_back(new);
        News { gone, found: self.offer_next() }
    }

    /// Removes a place. Returns nothing if it was not known.
    pub(super) fn remove(&mut self, place: &Place) -> Option<News> {
        let index = self.known.iter().position(|known| known.place == *place)?;
        let removed = self.known.remove(index)?;
        Some(News { gone: Some(removed.proxy), found: self.offer_next() })
    }

    /// Notes that an attempt has failed. Its place gives way to another one that is due, if the machine knows not all.
    pub(super) fn failed(&mut self, proxy: Proxy, now: Instant) -> News {
        let Some(failed) = self.known.iter_mut().find(|known| known.proxy == proxy) else { return News::default() };
        failed.due = Instant(now.0.saturating_add((FIRST_BACKOFF_MS << failed.failures.min(16)).min(MAX_BACKOFF_MS)));
        failed.failures = failed.failures.saturating_add(1);
        failed.is_waited_for = false;
        self.give_way(proxy, now)
    }

    /// Notes that a registrar is waited for. If all that the machine knows are, the one that came first gives way: waiting costs a
    /// false registrar nothing.
    pub(super) fn waits(&mut self, proxy: Proxy, now: Instant) -> News {
        if let Some(waiting) = self.known.iter_mut().find(|known| known.proxy == proxy) {
            waiting.is_waited_for = true;
        }
        if self.known.iter().any(|known| known.is_offered && !known.is_waited_for) {
            return News::default();
        }
        let first = self.known.iter().find(|known| known.is_offered && known.proxy != proxy).map(|known| known.proxy);
        match first.filter(|_| self.next(Some(now)).is_some()) {
            Some(first) => self.failed(first, now),
            None => News::default(), // all keep their turns
        }
    }

    /// Lets the place that was not offered and has failed least often take the turn of `proxy`.
    fn give_way(&mut self, proxy: Proxy, now: Instant) -> News {
        let place = self.known.iter().position(|known| known.proxy == proxy && known.is_offered);
        let (Some(place), Some(next)) = (place, self.next(Some(now))) else { return News::default() };
        self.known[place].is_offered = false;
        self.known[next].is_offered = true;
        News { gone: Some(proxy), found: Some(self.known[next].proxy) }
    }

    /// Offers another place if the machine has room for it.
    fn offer_next(&mut self) -> Option<Proxy> {
        if self.known.iter().filter(|known| known.is_offered).count() >= MAX_PROXIES {
            return None;
        }
        let next = self.next(None)?;
        self.known[next].is_offered = true;
        Some(self.known[next].proxy)
    }

    /// Returns the index of the place that is next, of those that are not offered, or of those that are due among them.
    fn next(&self, now: Option<Instant>) -> Option<usize> {
        let is_due = |known: &Known| now.is_none_or(|now| known.due <= now);
        let candidates = self.known.iter().enumerate().filter(|(_, known)| !known.is_offered && is_due(known));
        candidates.min_by_key(|(_, known)| known.failures).map(|(index, _)| index)
    }

    /// Forgets a place: the first of those that have failed most often. Returns its number.
    fn forget(&mut self) -> Option<Proxy> {
        let most = self.known.iter().map(|known| known.failures).max()?;
        let index = self.known.iter().position(|known| known.failures == most)?;
        self.known.remove(index).map(|known| known.proxy)
    }

    /// Returns the place with this number, if it is still known.
    pub(super) fn of(&self, proxy: Proxy) -> Option<&Place> {
        self.known.iter().find(|known| known.proxy == proxy).map(|known| &known.place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// The most places that are known: more than the machine tries in turn.
const MAX_PLACES: usize = 64;

/// After how long a place that has failed once may have another turn, which doubles to an hour, as the machine's own back-off.
const FIRST_BACKOFF_MS: u64 = 5_000;
const MAX_BACKOFF_MS: u64 = 3_600_000;

#[cfg(test)]
mod tests;
