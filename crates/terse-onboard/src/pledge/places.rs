//! The places that discovery has found, by the numbers that the machine knows them by.
//!
//! What must always hold: no number means two places, so that an attempt goes where it was meant to go; at most [`MAX_PLACES`]
//! are known.

use alloc::collections::VecDeque;

use terse_brski::pledge::Proxy;

use crate::discovery::Place;

/// The places, and the number of the next one.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: VecDeque<(Proxy, Place)>,
    numbers: u32,
}

impl Places {
    /// Adds a place. Returns its number, which is the old one if it is known; and the number of the place that had to make
    /// room for it.
    pub(super) fn add(&mut self, place: Place) -> (Proxy, Option<Proxy>) {
        if let Some((proxy, _)) = self.known.iter().find(|(_, known)| *known == place) {
            return (*proxy, None);
        }
        let forgotten = match self.known.len() < MAX_PLACES {
            true => None,
            false => self.known.pop_front().map(|(proxy, _)| proxy),
        };
        self.numbers = self.numbers.wrapping_add(1); // after 4 billion places the first ones are long forgotten
        self.known.push_back((Proxy(self.numbers), place));
        (Proxy(self.numbers), forgotten)
    }

    /// Removes a place. Returns its number, if it was known.
    pub(super) fn remove(&mut self, place: &Place) -> Option<Proxy> {
        let index = self.known.iter().position(|(_, known)| known == place)?;
        self.known.remove(index).map(|(proxy, _)| proxy)
    }

    /// Returns the place with this number, if it is still known.
    pub(super) fn of(&self, proxy: Proxy) -> Option<&Place> {
        self.known.iter().find(|(known, _)| *known == proxy).map(|(_, place)| place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// The most places that are known: more than the machine tries in turn.
const MAX_PLACES: usize = 64;

#[cfg(test)]
mod tests;
