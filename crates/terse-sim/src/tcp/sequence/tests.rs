//! Sequence numbers have the right order and distance, also where they wrap.

use super::SequenceNumber;
use proptest::prelude::*;

#[test]
fn order_survives_the_wrap() {
    let last = SequenceNumber(u32::MAX);
    assert!(last.is_before(last + 1));
    assert!((last + 1).is_after(last));
    assert_eq!((last + 10).since(last), 10);
    assert_eq!(last.saturating_since(last + 10), 0);
    assert_eq!(last.later(last + 1), SequenceNumber(0));
    assert_eq!(last.earlier(last + 1), last);
}

proptest! {
    #[test]
    fn less_than_half_the_space_ahead_is_after(start: u32, distance in 1_u32..0x8000_0000) {
        let start = SequenceNumber(start);
        prop_assert!((start + distance).is_after(start));
        prop_assert!(!start.is_after(start + distance));
        prop_assert_eq!((start + distance) - distance, start);
    }
}
