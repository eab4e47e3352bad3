//! Tests of the window against a list of all numbers that came.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn window(noted: &[u64]) -> Window {
    let mut window = Window::default();
    noted.iter().for_each(|number| window.note(*number));
    window
}

#[test]
fn any_number_may_be_the_first() {
    for number in [0, 1, 63, 64, 1 << 48, u64::MAX] {
        assert_eq!(window(&[]).newest(), None);
        assert!(window(&[]).accepts(number));
        let window = window(&[number]);
        assert_eq!(window.newest(), Some(number));
        assert!(!window.accepts(number));
    }
}

#[test]
fn the_window_is_64_wide() {
    let window = window(&[100]);
    for number in 0..=36 {
        assert!(!window.accepts(number), "{number} is left of it");
    }
    for number in 37..100 {
        assert!(window.accepts(number), "{number} is in it");
    }
}

#[test]
fn moving_it_keeps_what_stays_in_it() {
    let mut window = window(&[0, 2, 3]);
    window.note(63);
    assert!(!window.accepts(0) && window.accepts(1) && !window.accepts(2));
    window.note(64);
    assert!(!window.accepts(0) && window.accepts(1) && !window.accepts(2));
    window.note(65);
    assert!(!window.accepts(1), "left of it, though it never came");
    assert!(!window.accepts(2) && !window.accepts(3) && window.accepts(4) && !window.accepts(63));
    window.note(65 + 64);
    assert!(!window.accepts(65) && window.accepts(66) && !window.accepts(129));
}

#[test]
fn a_number_left_of_it_changes_nothing() {
    let mut window = window(&[1_000]);
    let before = window.clone();
    for number in [0, 500, 936] {
        window.note(number);
    }
    assert_eq!((window.newest, window.noted), (before.newest, before.noted));
}

/// Generates numbers that are close together, jump, or are at either end.
fn numbers() -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![8 => -70_i64..70, 2 => -3_i64..4, 1 => any::<i64>()];
    let start = prop_oneof![Just(0), Just(1 << 48), Just(u64::MAX), any::<u64>()];
    (start, prop::collection::vec(step, 0..200)).prop_map(|(start, steps)| {
        let next = |at: &mut u64, step| {
            *at = at.saturating_add_signed(step);
            Some(*at)
        };
        steps.into_iter().scan(start, next).collect()
    })
}

proptest! {
    /// A number is accepted if it did not come before, and is less than 64 below the highest that came.
    #[test]
    fn as_a_list_of_everything_says(arrivals in numbers(), forged in any::<u64>()) {
        let (mut window, mut came) = (Window::default(), BTreeSet::new());
        for number in arrivals {
            let expected = |number: u64| {
                let newest = came.last().copied().unwrap_or(0);
                !came.contains(&number) && newest.saturating_sub(number) < 64
            };
            let around = [number, number.saturating_sub(63), number.saturating_sub(64), number.saturating_add(1), forged];
            for number in around {
                prop_assert_eq!(window.accepts(number), expected(number), "{}", number);
            }
            if window.accepts(number) {
                window.note(number);
                came.insert(number);
            }
            prop_assert_eq!(window.newest(), came.last().copied());
        }
    }
}
