//! Sequence counters: DODAGVersionNumber, DAOSequence, Path Sequence and DTSN (RFC 6550, 7.2).
//!
//! A counter begins in a linear region (128 to 255), which says that its owner has restarted, and goes on in a circular one
//! (0 to 127).

use core::cmp::Ordering;

/// A sequence counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sequence(pub(crate) u8);

impl Sequence {
    /// The recommended first value (7.2, rule 1).
    pub(crate) const FIRST: Self = Self(0_u8.wrapping_sub(SEQUENCE_WINDOW));

    /// Returns the counter after an increment (rule 2).
    pub(crate) const fn next(self) -> Self {
        match self.0 {
            127 | 255 => Self(0),
            value => Self(value + 1),
        }
    }

    /// Compares with another counter; `None` if the two are not comparable (rule 3).
    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        let (a, b) = (self.0, other.0);
        match (a >= LINEAR, b >= LINEAR) {
            (true, false) if 256 + u16::from(b) - u16::from(a) <= SEQUENCE_WINDOW.into() => Some(Ordering::Less),
            (true, false) => Some(Ordering::Greater),
            (false, true) => other.compare(self).map(Ordering::reverse),
            (true, true) => (a.abs_diff(b) <= SEQUENCE_WINDOW).then(|| a.cmp(&b)),
            (false, false) => {
                let ahead = a.wrapping_sub(b) & 0x7F;
                match ahead {
                    0 => Some(Ordering::Equal),
                    1..=SEQUENCE_WINDOW => Some(Ordering::Greater),
                    _ if 128 - ahead <= SEQUENCE_WINDOW => Some(Ordering::Less),
                    _ => None,
                }
            }
        }
    }

    /// Whether this counter is newer than another one. One that is not comparable is: its owner must have restarted, or many
    /// messages were lost (rule 4).
    pub(crate) fn is_newer_than(self, other: Self) -> bool {
        self.compare(other).is_none_or(Ordering::is_gt)
    }
}

/// The first value of the linear region.
const LINEAR: u8 = 128;
const SEQUENCE_WINDOW: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_compare_as_in_the_examples_of_the_rfc() {
        // RFC 6550, 7.2, rule 3.1.
        assert_eq!(Sequence(240).compare(Sequence(5)), Some(Ordering::Greater));
        assert_eq!(Sequence(250).compare(Sequence(5)), Some(Ordering::Less));
        assert_eq!(Sequence(5).compare(Sequence(250)), Some(Ordering::Greater));
        // The circle.
        assert_eq!(Sequence(3).compare(Sequence(125)), Some(Ordering::Greater));
        assert_eq!(Sequence(0).compare(Sequence(16)), Some(Ordering::Less));
        assert_eq!(Sequence(0).compare(Sequence(17)), None);
        assert_eq!(Sequence(200).compare(Sequence(220)), None);
        assert_eq!(Sequence(200).compare(Sequence(216)), Some(Ordering::Less));
    }

    #[test]
    fn a_counter_is_older_than_its_sixteen_successors() {
        assert_eq!(Sequence::FIRST, Sequence(240));
        let mut counter = Sequence::FIRST;
        for _ in 0..1_000 {
            let mut later = counter;
            for _ in 0..SEQUENCE_WINDOW {
                later = later.next();
                assert!(later.is_newer_than(counter) && !counter.is_newer_than(later), "{counter:?} {later:?}");
            }
            assert!(!counter.is_newer_than(counter));
            counter = counter.next();
        }
    }
}
