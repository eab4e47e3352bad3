use alloc::vec;

use super::*;

const START: Duration = Duration::from_secs(1_000);
const SECOND: Duration = Duration::from_secs(1);

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 5684))
}

fn three() -> Failover {
    Failover::new(vec![address(1), address(2), address(3)], Failover::LONG_SILENCE)
}

#[test]
fn a_registrar_that_does_not_answer_gives_way_to_the_next_one_and_has_its_turn_again() {
    let mut failover = three();
    let mut used = Vec::new();
    for second in 0..10 {
        used.extend(failover.pass_on(START + SECOND * second));
    }
    let expected = [1, 1, 1, 2, 2, 2, 3, 3, 3, 1].map(address);
    assert_eq!(used, expected);
}

#[test]
fn time_without_datagrams_is_no_silence() {
    let mut failover = three();
    failover.pass_on(START);
    failover.answered(address(1), START);
    assert_eq!(failover.pass_on(START + SECOND * 1_000), Some(address(1)));
    assert_eq!(failover.pass_on(START + SECOND * 1_001), Some(address(1)));
}

/// One datagram that is lost, and an hour of nothing: the next datagrams are the first ones of a silence that may begin.
#[test]
fn time_without_datagrams_after_one_that_was_not_answered_is_no_silence() {
    for silence in [Failover::FIRST_SILENCE, Failover::LONG_SILENCE] {
        let mut failover = Failover::new(vec![address(1), address(2)], silence);
        failover.pass_on(START);
        failover.answered(address(1), START);
        failover.pass_on(START + SECOND);
        let later = START + SECOND * 3_600;
        assert_eq!(failover.pass_on(later), Some(address(1)));
        assert_eq!(failover.pass_on(later + SECOND), Some(address(1)));
        let sent = (2..=silence.as_secs()).map(|second| failover.pass_on(later + Duration::from_secs(second)));
        assert_eq!(sent.last(), Some(Some(address(2))), "and now it is silent");
    }
}

/// A constrained pledge alone sends again after 9, 18 and 36 seconds.
#[test]
fn a_pledge_that_waits_long_for_an_answer_comes_to_the_next_registrar() {
    let mut failover = three();
    let used = [0, 9, 27, 63].map(|second| failover.pass_on(START + SECOND * second));
    assert_eq!(used, [1, 2, 2, 2].map(|last| Some(address(last))));
}

#[test]
fn until_one_is_used_the_first_one_is() {
    let mut failover = Failover::new(vec![address(2)], Failover::LONG_SILENCE);
    failover.replace(vec![address(1), address(2)]);
    assert_eq!(failover.pass_on(START), Some(address(1)));
    failover.replace(vec![address(3), address(1)]);
    assert_eq!(failover.current(), Some(address(1)));
}

#[test]
fn a_registrar_that_answers_is_kept_however_much_else_it_does_not_answer() {
    let mut failover = three();
    for second in 0..1_000 {
        assert_eq!(failover.pass_on(START + SECOND * second), Some(address(1)));
        if second % 25 == 0 {
            failover.answered(address(1), START + SECOND * second);
        }
    }
    // An answer of another one is none.
    for second in 1_000..1_030 {
        failover.pass_on(START + SECOND * second);
        failover.answered(address(2), START + SECOND * second);
    }
    assert_eq!(failover.current(), Some(address(2)));
}

#[test]
fn an_error_of_the_network_counts_for_a_registrar_that_does_not_answer() {
    let mut failover = three();
    failover.pass_on(START);
    failover.failed(address(3), START);
    assert_eq!(failover.current(), Some(address(1)), "it is not used");
    failover.answered(address(1), START);
    failover.failed(address(1), START + SECOND);
    assert_eq!(failover.current(), Some(address(1)), "it has just answered");
    failover.failed(address(1), START + SECOND * 3);
    assert_eq!(failover.current(), Some(address(2)));
}

#[test]
fn the_one_that_is_used_stays_when_others_come_and_go() {
    let mut failover = three();
    failover.failed(address(1), START);
    failover.replace(vec![address(9), address(2)]);
    assert_eq!(failover.current(), Some(address(2)));
    failover.replace(vec![address(9), address(8)]);
    assert_eq!(failover.current(), Some(address(9)));
    failover.replace(Vec::new());
    assert_eq!(failover.pass_on(START), None);
    failover.failed(address(9), START);
    assert_eq!(failover.pass_on(START + SECOND * 100), None);
}
