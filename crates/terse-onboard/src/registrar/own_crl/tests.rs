//! When a list is due.

use super::*;

const DAY: u64 = 86_400;

fn list(days: u64) -> CrlState {
    CrlState { number: 1, this_update: 1_000 * DAY, next_update: (1_000 + days) * DAY, complete_to: 5 }
}

fn crl(days: u32) -> OwnCrl {
    OwnCrl { issuer: [0; 32], level: 0, days, url: None, published: Mutex::default(), added: Mutex::default() }
}

#[test]
fn a_list_is_due_at_half_its_time_and_when_it_is_not_complete() {
    let crl = crl(8);
    let at = |day: u64| crl.is_due(Some(list(8)), 5, (1_000 + day) * DAY);
    assert!(!at(0) && !at(3) && at(4) && at(5) && at(9));
    assert!(crl.is_due(None, 0, 1_000 * DAY));
    assert!(crl.is_due(Some(list(8)), 6, 1_000 * DAY));
    assert!(!crl.is_due(Some(list(8)), 0, 1_000 * DAY), "what was listed long enough is gone");
}

#[test]
fn processes_with_other_days_do_not_sign_in_turn() {
    let (one, other) = (crl(7), crl(1));
    let now = 1_000 * DAY;
    // What one of them signs is not due for both, so that one of the lists stays.
    let by_one = [&one, &other].map(|crl| crl.is_due(Some(list(7)), 5, now));
    assert_eq!(by_one, [false, false]);
    let by_other = [&one, &other].map(|crl| crl.is_due(Some(list(1)), 5, now));
    assert_eq!(by_other, [true, false]);
    // A shorter time counts from half the longer one on.
    assert!(other.is_due(Some(list(7)), 5, now + 4 * DAY));
}
