//! Sequence numbers: 32 bits that wrap (RFC 9293, 3.4).
//!
//! Two of them compare only if they are less than 2^31 apart, so there is no `Ord`; each method says what it compares.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A sequence number, or an acknowledgement number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// Whether this comes before `other`.
    pub const fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether this comes after `other`.
    pub const fn is_after(self, other: Self) -> bool {
        other.is_before(self)
    }

    /// Returns how many octets after `earlier` this is. A number before `earlier` is nearly 2^32 after it.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Returns how many octets after `earlier` this is, or 0 if it is before it.
    pub const fn saturating_since(self, earlier: Self) -> u32 {
        if self.is_before(earlier) { 0 } else { self.since(earlier) }
    }

    /// Returns the later of the two.
    pub const fn later(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// Returns the earlier of the two.
    pub const fn earlier(self, other: Self) -> Self {
        if self.is_before(other) { self } else { other }
    }
}

impl Add<u32> for SequenceNumber {
    type Output = Self;

    fn add(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }
}

impl AddAssign<u32> for SequenceNumber {
    fn add_assign(&mut self, octets: u32) {
        *self = *self + octets;
    }
}

impl Sub<u32> for SequenceNumber {
    type Output = Self;

    fn sub(self, octets: u32) -> Self {
        Self(self.0.wrapping_sub(octets))
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

#[cfg(test)]
mod tests;
