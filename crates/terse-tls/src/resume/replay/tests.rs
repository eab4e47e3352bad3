//! Tests that no ClientHello is accepted twice.

use proptest::prelude::*;

use super::*;

fn binder(n: u8) -> [u8; 32] {
    [n; 32]
}

#[test]
fn a_replay_is_recognised_until_it_is_no_longer_fresh() {
    let mut hellos = ClientHellos::new(8);
    assert!(hellos.is_first(&binder(1), 110, 100));
    assert!(hellos.is_first(&binder(2), 110, 100));
    for now in 100..=120 {
        assert!(!hellos.is_first(&binder(1), 110, now), "{now}");
    }
}

#[test]
fn room_is_made_as_time_passes() {
    let mut hellos = ClientHellos::new(2);
    assert!(hellos.is_first(&binder(1), 110, 100));
    assert!(hellos.is_first(&binder(2), 115, 100));
    assert!(!hellos.is_first(&binder(3), 120, 110), "full");
    assert!(hellos.is_first(&binder(3), 120, 111));
    assert!(!ClientHellos::new(0).is_first(&binder(1), 110, 100));
}

#[test]
fn a_clock_that_is_set_back_forgets_nothing() {
    let mut hellos = ClientHellos::new(8);
    assert!(hellos.is_first(&binder(1), 110, 100));
    assert!(hellos.is_first(&binder(2), 210, 200), "the first one is forgotten");
    assert!(!hellos.is_first(&binder(1), 110, 100));
    assert!(!hellos.is_first(&binder(3), 199, 195), "not fresh by the latest clock");
}

#[test]
fn a_binder_without_length_is_refused() {
    assert!(!ClientHellos::new(8).is_first(&[1; 15], 110, 100));
}

proptest! {
    /// Whatever the clock does, each ClientHello, which determines its own end of freshness, is accepted at most once,
    /// and the limit is kept.
    #[test]
    fn never_twice(capacity in 0..6_usize, arrivals in prop::collection::vec((0..10_u8, 0..100_u64), 0..80)) {
        let mut hellos = ClientHellos::new(capacity);
        let mut accepted = [false; 10];
        for (n, now) in arrivals {
            let fresh_until = u64::from(n) * 10;
            if hellos.is_first(&binder(n), fresh_until, now) {
                prop_assert!(!accepted[usize::from(n)]);
                accepted[usize::from(n)] = true;
            }
            prop_assert!(hellos.recorded.len() <= capacity);
        }
    }
}
