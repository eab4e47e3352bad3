//! The announcements that are valid, and which of them are found.
//!
//! Whoever is on the link can announce what he likes, as often as he likes, from any address. What must always hold: the tables
//! are bounded, and so is the share of each host in them; what is announced while they are full waits; a place that has failed
//! gives way to one that waits; of those that wait, chance decides which is pushed out, so that no stranger keeps a certain one
//! out; and what was pushed out is asked for again when there is room.

use alloc::collections::VecDeque;
use core::mem;

use terse_net::OsRng;
use terse_tls::crypto::Rng as _;

use crate::discovery::{Change, Place};

/// The most places that a [`Browser`](super::Browser) finds at a time. As many announcements wait beside them.
pub const MAX_KNOWN: usize = 64;

/// The most places of one host, by its name or address, that are found at a time, and the most that wait.
pub const MAX_OF_HOST: usize = 8;

/// The announcements, by their names.
#[derive(Default)]
pub(crate) struct Known {
    pub(super) places: Vec<Announced>,
    pub(super) waiting: VecDeque<Announced>,
    pub(crate) changes: VecDeque<Change>,
    /// Whether an announcement was pushed out since all were told the last time. They are told but once, unless they are asked for.
    has_pushed_out: bool,
    /// Whether all are to be told again, because there is room for what was pushed out.
    is_missing: bool,
}

/// An announcement.
pub(super) struct Announced {
    name: String,
    pub(super) place: Place,
    /// The round of questions that it last answered, where there are rounds.
    round: u64,
}

impl Known {
    /// Notes an announcement, which may have moved since.
    pub(crate) fn resolved(&mut self, name: &str, place: Option<Place>) {
        let Some(place) = place else { return };
        let mut all = self.places.iter().chain(&self.waiting);
        if all.any(|known| known.name == name && known.place == place) {
            return;
        }
        self.forget(name);
        self.wait(Announced { name: name.to_owned(), place, round: 0 });
        self.fill();
    }

    /// Notes that a place was in an answer of this round of questions.
    pub(crate) fn heard(&mut self, place: Place, round: u64) {
        let mut all = self.places.iter_mut().chain(&mut self.waiting);
        if let Some(known) = all.find(|known| known.place == place) {
            known.round = known.round.max(round);
            return;
        }
        self.wait(Announced { name: place.to_string(), place, round });
        self.fill();
    }

    /// Forgets the places that were in no answer since the round `last`.
    pub(crate) fn expire(&mut self, last: u64) {
        self.waiting.retain(|known| known.round >= last);
        while let Some(index) = self.places.iter().position(|known| known.round < last) {
            self.withdraw(index);
        }
        self.fill();
    }

    pub(super) fn removed(&mut self, name: &str) {
        self.forget(name);
        self.fill();
        self.is_missing |= mem::take(&mut self.has_pushed_out);
    }

    fn forget(&mut self, name: &str) {
        self.waiting.retain(|known| known.name != name);
        if let Some(index) = self.places.iter().position(|known| known.name == name) {
            self.withdraw(index);
        }
    }

    /// Gives what waits the places that are free.
    fn fill(&mut self) {
        while let Some(next) = self.waiting.iter().position(|known| self.has_room(known.place.host())) {
            self.find(next);
        }
    }

    fn has_room(&self, host: &str) -> bool {
        self.places.len() < MAX_KNOWN && self.of_host(host) < MAX_OF_HOST
    }

    fn of_host(&self, host: &str) -> usize {
        self.places.iter().filter(|known| known.place.host() == host).count()
    }

    /// Notes that an attempt at a place has failed: it gives way to one that waits, and has another turn after all that wait. If
    /// some were pushed out, it is forgotten instead, and asked for again with them when no more wait: all have the same chance.
    pub(crate) fn failed(&mut self, place: &Place) {
        while let Some(failed) = self.places.iter().position(|known| known.place == *place) {
            let is_full = self.places.len() >= MAX_KNOWN;
            let fits = |host: &str| host == place.host() || (is_full && self.of_host(host) < MAX_OF_HOST);
            let next = self.waiting.iter().position(|known| known.place != *place && fits(known.place.host()));
            let Some(next) = next else { break };
            let gone = self.withdraw(failed);
            self.find(next);
            if !self.has_pushed_out {
                self.wait(gone);
            }
        }
        if self.waiting.is_empty() {
            self.is_missing |= mem::take(&mut self.has_pushed_out);
        }
    }

    /// Returns whether all announcements are to be told again. Says so once.
    pub(super) fn take_missing(&mut self) -> bool {
        mem::take(&mut self.is_missing)
    }

    /// Makes an announcement found that waits.
    fn find(&mut self, waiting: usize) {
        let Some(next) = self.waiting.remove(waiting) else { return };
        if !self.places.iter().any(|known| known.place == next.place) {
            self.changes.push_back(Change::Found(next.place.clone()));
        }
        self.places.push(next);
    }

    /// Takes an announcement from those that are found.
    fn withdraw(&mut self, index: usize) -> Announced {
        let gone = self.places.remove(index);
        if !self.places.iter().any(|other| other.place == gone.place) {
            self.changes.push_back(Change::Gone(gone.place.clone()));
        }
        gone
    }

    /// Lets an announcement wait. If there are too many, of its host or in all, another one is pushed out: one of the host with
    /// the most, by chance.
    fn wait(&mut self, announced: Announced) {
        let of = |host: &str| self.waiting.iter().filter(|known| known.place.host() == host).count();
        let is_share_taken = of(announced.place.host()) >= MAX_OF_HOST;
        if is_share_taken || self.waiting.len() >= MAX_KNOWN {
            let most = self.waiting.iter().map(|known| of(known.place.host())).max().unwrap_or(0);
            let is_candidate = |known: &Announced| match is_share_taken {
                true => known.place.host() == announced.place.host(),
                false => of(known.place.host()) == most,
            };
            let candidates = self.waiting.iter().enumerate().filter(|(_, known)| is_candidate(known));
            let candidates: Vec<usize> = candidates.map(|(index, _)| index).collect();
            if let Some(index) = candidates.get(random_below(candidates.len())) {
                self.waiting.remove(*index);
                self.has_pushed_out = true;
            }
        }
        self.waiting.push_back(announced);
    }
}

/// Returns a random number below `end`, or 0 if there is no randomness.
fn random_below(end: usize) -> usize {
    let mut random = [0; 8];
    let _ = OsRng.fill(&mut random); // without randomness the first one is as good
    usize::try_from(u64::from_be_bytes(random) % (end.max(1) as u64)).unwrap_or(0)
}
