//! The absolute slot number, in which all of TSCH and 6top counts time.

use core::ops::Add;

/// An absolute slot number: the slots since the network began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asn(pub u64);

impl Add<u64> for Asn {
    type Output = Self;

    fn add(self, slots: u64) -> Self {
        Self(self.0.saturating_add(slots))
    }
}
