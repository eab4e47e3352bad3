//! Replay protection: the sliding window of record numbers that were received in an epoch (RFC 6347, 4.1.2.6; RFC 9147,
//! 4.5.1).
//!
//! What must always hold: [`Window::accepts`] returns true at most once for each number, whatever is lost, repeated and
//! reordered, as long as each authenticated number is noted before the next one is tested.

#[cfg(test)]
mod tests;

/// The highest number that was noted, and which of the [`WIDTH`] numbers up to it were noted.
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

    /// Notes the number of a record that was authenticated. Forged numbers must not move the window.
    pub(crate) fn note(&mut self, number: u64) {
        match self.newest {
            Some(newest) if number <= newest => self.noted |= bit(newest - number),
            Some(newest) => self.advance(number, number - newest),
            None => self.advance(number, WIDTH),
        }
    }

    /// Returns the highest number that was noted.
    pub(crate) const fn newest(&self) -> Option<u64> {
        self.newest
    }

    fn advance(&mut self, number: u64, by: u64) {
        let moved = if by < WIDTH { self.noted << by } else { 0 };
        self.noted = moved | bit(0);
        self.newest = Some(number);
    }
}

/// Returns the bit of the number that is `before` the newest; 0 outside of the window.
const fn bit(before: u64) -> u64 {
    if before < WIDTH { 1 << before } else { 0 }
}

/// The width of the window. RFC 6347 prefers 64, and requires at least 32.
const WIDTH: u64 = u64::BITS as u64;
