//! Which records of an epoch came before, so that none counts twice (RFC 6347, 4.1.2.6; RFC 9147, 4.5.1).
//!
//! What must always hold: of one number, [`Window::accepts`] is true once at most, however records are lost, repeated
//! and reordered, as long as each that was authenticated is noted before the next one is asked about.

#[cfg(test)]
mod tests;

/// The newest number that was noted, and which of the [`WIDTH`] up to it were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    newest: Option<u64>,
    /// Bit n is set if the number n before the newest was noted.
    noted: u64,
}

impl Window {
    /// Whether the record with this number may be new: to the right of the window, or in it and not noted.
    pub(crate) fn accepts(&self, number: u64) -> bool {
        match self.newest {
            Some(newest) if number <= newest => self.noted & bit(newest - number) == 0 && newest - number < WIDTH,
            _ => true,
        }
    }

    /// A record with this number was authenticated. Not before: anybody could move the window.
    pub(crate) fn note(&mut self, number: u64) {
        match self.newest {
            Some(newest) if number <= newest => self.noted |= bit(newest - number),
            Some(newest) => self.advance(number, number - newest),
            None => self.advance(number, WIDTH),
        }
    }

    /// The highest number that was noted.
    pub(crate) const fn newest(&self) -> Option<u64> {
        self.newest
    }

    fn advance(&mut self, number: u64, by: u64) {
        let moved = if by < WIDTH { self.noted << by } else { 0 };
        self.noted = moved | bit(0);
        self.newest = Some(number);
    }
}

/// The bit for the number that is `before` the newest; none outside of the window.
const fn bit(before: u64) -> u64 {
    if before < WIDTH { 1 << before } else { 0 }
}

/// The width that RFC 6347 prefers; it asks for 32 at least.
const WIDTH: u64 = u64::BITS as u64;
