//! The join proxies that discovery has found, and when to try which (RFC 8995, 4.1, 5.1 and 5.6).
//!
//! Each proxy has a back-off of its own, which doubles to one hour; attempts begin 3 to 5 s apart; the next proxy is the one
//! that was tried least recently. A registrar that has answered 202 is waited for here, beside the others: it does not keep
//! the pledge from finding the right one.
//!
//! What must always hold: there are at most [`MAX_PROXIES`] entries, whatever is announced, beside that of an attempt whose
//! proxy is gone; and no announcement keeps a proxy from its turn for ever.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use terse_tls::Instant;
use terse_tls::crypto::Rng;

/// A join proxy, or a registrar that was found itself, by a number that the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Proxy(pub u32);

/// The proxies, each with what is kept of its last attempt: `O` is a request that its registrar has not answered yet.
pub(super) struct ProxyTable<O> {
    entries: Vec<Entry<O>>,
    /// The proxy of the attempt that is under way.
    active: Option<Proxy>,
    /// When the next attempt may begin.
    next_attempt: Instant,
    /// How many attempts there were.
    attempts: u64,
}

struct Entry<O> {
    proxy: Proxy,
    /// When the proxy may be tried.
    due: Instant,
    /// The back-off after the next failure, in milliseconds.
    backoff: u64,
    /// The number of the last attempt; 0 if there was none.
    last_attempt: u64,
    outstanding: Option<Box<O>>,
    /// Whether it is gone, and is here only because the attempt that is under way goes through it.
    is_gone: bool,
}

impl<O> ProxyTable<O> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), active: None, next_attempt: Instant(0), attempts: 0 }
    }

    /// Adds the proxies that are not there yet. In a full table a new proxy takes the place of the one with the longest
    /// back-off. One that was never tried keeps its place, because else announcements alone could take it; one whose
    /// registrar is waited for keeps it too, unless all are such.
    pub(super) fn found(&mut self, now: Instant, proxies: &[Proxy]) {
        for proxy in proxies {
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.proxy == *proxy) {
                entry.is_gone = false;
                continue;
            }
            if self.entries.iter().filter(|entry| !entry.is_gone).count() >= MAX_PROXIES {
                let Some(place) = self.dispensable() else { return };
                self.entries.remove(place);
            }
            let entry = Entry {
                proxy: *proxy,
                due: now,
                backoff: FIRST_BACKOFF_MS,
                last_attempt: 0,
                outstanding: None,
                is_gone: false,
            };
            self.entries.push(entry);
        }
    }

    /// Returns the place of the entry that a new proxy can take, if there is one.
    fn dispensable(&self) -> Option<usize> {
        let others = || self.entries.iter().enumerate().filter(|(_, entry)| Some(entry.proxy) != self.active);
        let all_wait = others().all(|(_, entry)| entry.outstanding.is_some());
        let candidates =
            others().filter(|(_, entry)| entry.last_attempt > 0 && (all_wait || entry.outstanding.is_none()));
        candidates.max_by_key(|(_, entry)| entry.backoff).map(|(place, _)| place)
    }

    /// Removes a proxy: at once, or at the end of the attempt that goes through it. Others can have its place at once.
    pub(super) fn gone(&mut self, proxy: Proxy) {
        let Some(place) = self.entries.iter().position(|entry| entry.proxy == proxy) else { return };
        match Some(proxy) == self.active {
            true => self.entries[place].is_gone = true,
            false => drop(self.entries.remove(place)),
        }
    }

    /// Ends all back-offs (RFC 8995, 4.1: when the state of a link has changed). Registrars that are waited for stay so.
    pub(super) fn reset_backoffs(&mut self, now: Instant) {
        for entry in &mut self.entries {
            entry.backoff = FIRST_BACKOFF_MS;
            if entry.outstanding.is_none() {
                entry.due = now;
            }
        }
    }

    /// Returns when the next attempt can begin, through another proxy than that of the attempt under way.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let others = self.entries.iter().filter(|entry| Some(entry.proxy) != self.active);
        others.map(|entry| entry.due).min().map(|due| due.max(self.next_attempt))
    }

    /// Begins an attempt, if one is due. Returns its proxy, and the request whose answer is waited for.
    pub(super) fn begin(&mut self, now: Instant, rng: &mut dyn Rng) -> Option<(Proxy, Option<Box<O>>)> {
        if now < self.next_attempt {
            return None;
        }
        let due = self.entries.iter_mut().filter(|entry| entry.due <= now);
        let entry = due.min_by_key(|entry| entry.last_attempt)?;
        self.attempts += 1;
        entry.last_attempt = self.attempts;
        self.active = Some(entry.proxy);
        let begun = (entry.proxy, entry.outstanding.take());
        self.next_attempt = after(now, between(rng, MIN_SPACING_MS, MAX_SPACING_MS));
        Some(begun)
    }

    /// Ends the attempt that is under way: it has failed, and its proxy backs off. `outstanding` is the request that is to be
    /// repeated nevertheless.
    pub(super) fn failed(&mut self, now: Instant, rng: &mut dyn Rng, outstanding: Option<Box<O>>) {
        let Some(entry) = self.end_attempt() else { return };
        // Up to a quarter shorter, so that devices that were switched on together do not stay together.
        entry.due = after(now, between(rng, entry.backoff - entry.backoff / 4, entry.backoff));
        entry.backoff = (entry.backoff * 2).min(MAX_BACKOFF_MS);
        entry.outstanding = outstanding;
    }

    /// Ends the attempt that is under way: its registrar is waited for, until `due`.
    pub(super) fn wait(&mut self, due: Instant, outstanding: Box<O>) {
        let Some(entry) = self.end_attempt() else { return };
        (entry.due, entry.outstanding) = (due, Some(outstanding));
    }

    fn end_attempt(&mut self) -> Option<&mut Entry<O>> {
        let active = self.active.take()?;
        self.entries.retain(|entry| !entry.is_gone);
        self.entries.iter_mut().find(|entry| entry.proxy == active)
    }
}

/// Prints for each proxy when it is due, in milliseconds of the monotonic clock, and whether its registrar is waited for.
impl<O> fmt::Debug for ProxyTable<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter().map(|entry| (entry.proxy.0, entry.due.0, entry.outstanding.is_some()));
        f.debug_list().entries(entries).finish()
    }
}

/// Returns the time `ms` milliseconds after `start`.
pub(super) const fn after(start: Instant, ms: u64) -> Instant {
    Instant(start.0.saturating_add(ms))
}

/// Returns a random number between `min` and `max`; `max` if there is no randomness, which only spreads load here.
fn between(rng: &mut dyn Rng, min: u64, max: u64) -> u64 {
    let mut random = [0; 8];
    match rng.fill(&mut random) {
        Ok(()) => min + u64::from_be_bytes(random) % (max - min + 1),
        Err(_) => max,
    }
}

/// The most proxies that are kept.
pub const MAX_PROXIES: usize = 8;

/// The interval of attempts through different proxies (RFC 8995, 4.1).
const MIN_SPACING_MS: u64 = 3_000;
const MAX_SPACING_MS: u64 = 5_000;

/// The back-off after the first failure. The RFC leaves it open; it is the time without progress of 5.1.
const FIRST_BACKOFF_MS: u64 = 5_000;

/// The longest back-off, one hour (RFC 8995, 4.1).
const MAX_BACKOFF_MS: u64 = 3_600_000;

#[cfg(test)]
mod tests;
