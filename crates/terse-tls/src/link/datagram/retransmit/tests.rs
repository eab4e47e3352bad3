//! Tests of the timer against RFC 6298, step by step, and against a model for any sequence of events.

use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const SETTINGS: Settings = Settings { initial: 1_000, min: 200, max: 60_000, max_retransmissions: 7 };

/// Returns a timer that has measured these round trips.
fn measured(settings: Settings, round_trips: &[u64]) -> Timer {
    let (mut timer, mut now) = (Timer::new(settings), 0);
    for round_trip in round_trips {
        timer.sent(Instant(now));
        now += round_trip;
        timer.answered(Instant(now));
    }
    timer
}

/// Lets the timer expire at its deadline, and retransmits at once. Returns the time.
fn retransmit(timer: &mut Timer) -> u64 {
    let due = timer.deadline().unwrap();
    assert_eq!(timer.expired(Instant(due.0 - 1)), Expired::NotDue);
    assert_eq!(timer.expired(due), Expired::Retransmit);
    assert_eq!(timer.deadline(), None, "until it is sent");
    assert_eq!(timer.expired(Instant(u64::MAX)), Expired::NotDue);
    timer.sent(due);
    due.0
}

/// RFC 6347, 4.2.4.1.
#[test]
fn the_value_doubles_from_one_second_to_sixty() {
    let mut timer = Timer::new(SETTINGS);
    assert_eq!((timer.deadline(), timer.value()), (None, 1_000));
    timer.sent(Instant(0));
    let times: Vec<_> = (0..7).map(|_| retransmit(&mut timer)).collect();
    assert_eq!(times, [1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]);
    assert_eq!((timer.retransmissions(), timer.value()), (7, 60_000));
    assert_eq!(timer.expired(Instant(182_999)), Expired::NotDue);
    assert_eq!(timer.expired(Instant(183_000)), Expired::GiveUp);
    assert_eq!((timer.deadline(), timer.retransmissions()), (None, 7));
}

#[test]
fn without_retransmissions_the_first_is_the_last() {
    let mut timer = Timer::new(Settings { max_retransmissions: 0, ..SETTINGS });
    timer.sent(Instant(0));
    assert_eq!(timer.expired(Instant(1_000)), Expired::GiveUp);
}

/// RFC 6298, 2.2 and 2.3, computed by hand.
#[test]
fn the_value_follows_the_round_trips() {
    let settings = Settings { min: 0, ..SETTINGS };
    for (round_trips, value) in [
        (&[][..], 1_000),
        (&[800], 2_400),                     // 800 + 4 * 400
        (&[800, 800], 2_000),                // 800 + 4 * 300
        (&[800, 1_600], 900 + 4 * 500),      // RTTVAR 300 + 200, SRTT 700 + 200
        (&[800, 1_600, 100], 800 + 4 * 575), // RTTVAR 375 + 200, SRTT 787.5 + 12.5
        (&[0], 1),                           // the granularity
        (&[1], 3),
        (&[0, 0, 0], 1),
    ] {
        assert_eq!(measured(settings, round_trips).value(), value, "{round_trips:?}");
    }
    assert_eq!(measured(SETTINGS, &[10]).value(), 200, "the smallest");
    assert_eq!(measured(SETTINGS, &[30_000]).value(), 60_000, "the largest");
}

/// RFC 6298, 3 and 5: a retransmitted flight is not measured, and the doubled value stays until there is a measurement.
#[test]
fn a_value_that_was_doubled_stays_until_there_is_a_measurement() {
    let mut timer = Timer::new(SETTINGS);
    timer.sent(Instant(0));
    retransmit(&mut timer);
    timer.answered(Instant(1_050));
    assert_eq!((timer.value(), timer.retransmissions(), timer.deadline()), (2_000, 0, None));
    timer.sent(Instant(1_100));
    assert_eq!(timer.deadline(), Some(Instant(3_100)));
    timer.answered(Instant(1_600));
    assert_eq!(timer.value(), 1_500);
}

#[test]
fn what_was_sent_again_for_the_peer_is_not_measured() {
    let mut timer = Timer::new(SETTINGS);
    timer.sent(Instant(0));
    timer.repeated();
    timer.sent(Instant(300));
    assert_eq!((timer.deadline(), timer.retransmissions()), (Some(Instant(2_300)), 0));
    timer.answered(Instant(400));
    assert_eq!((timer.value(), timer.undoubled()), (2_000, 1_000));
    timer.repeated();
    assert_eq!(timer.value(), 2_000, "nothing waits for an answer");
    timer.sent(Instant(500));
    timer.answered(Instant(1_000));
    assert_eq!(timer.value(), 1_500, "a new flight is measured");
}

#[test]
fn the_beginning_of_an_answer_is_measured_and_starts_the_interval_again() {
    let mut timer = Timer::new(SETTINGS);
    timer.progress(Instant(0));
    assert_eq!(timer.deadline(), None, "it did not run");
    timer.sent(Instant(0));
    timer.progress(Instant(500));
    assert_eq!((timer.value(), timer.deadline()), (1_500, Some(Instant(2_000))));
    timer.progress(Instant(1_900));
    assert_eq!((timer.value(), timer.deadline()), (1_500, Some(Instant(3_400))));
    retransmit(&mut timer);
    timer.progress(Instant(3_500));
    assert_eq!((timer.value(), timer.deadline()), (3_000, Some(Instant(6_500))));
    timer.answered(Instant(3_600));
    assert_eq!((timer.value(), timer.deadline()), (3_000, None));
}

#[test]
fn a_timer_that_is_stopped_forgets_the_flight_but_not_the_network() {
    let mut timer = measured(SETTINGS, &[500]);
    timer.sent(Instant(1_000));
    retransmit(&mut timer);
    timer.stop();
    assert_eq!((timer.deadline(), timer.retransmissions(), timer.value()), (None, 0, 3_000));
    timer.answered(Instant(9_000));
    assert_eq!(timer.value(), 3_000, "nothing was sent that could be measured");
    timer.sent(Instant(10_000));
    timer.answered(Instant(10_500));
    assert_eq!(timer.value(), 1_250, "the second measurement: 500 + 4 * 187.5");
}

#[test]
fn settings_and_times_may_be_anything() {
    let settings = Settings { initial: 5, min: 10, max: 3, max_retransmissions: u8::MAX };
    assert_eq!(Timer::new(settings).value(), 3, "the largest counts for more than the smallest");
    let mut timer = Timer::new(Settings { initial: u64::MAX, min: 0, max: u64::MAX, max_retransmissions: u8::MAX });
    timer.sent(Instant(7));
    for _ in 0..u8::MAX {
        assert_eq!(timer.expired(Instant(u64::MAX)), Expired::Retransmit);
        timer.sent(Instant(7));
    }
    assert_eq!((timer.value(), timer.expired(Instant(u64::MAX))), (u64::MAX, Expired::GiveUp));
    timer.answered(Instant(0));
    for _ in 0..2 {
        timer.sent(Instant(0));
        timer.answered(Instant(u64::MAX));
        timer.sent(Instant(5));
        timer.answered(Instant(0));
    }
    assert!(timer.value() < u64::MAX);
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Sent,
    Progress,
    Answered,
    Expired,
    Repeated,
    Stop,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => Just(Call::Sent),
        2 => Just(Call::Progress),
        3 => Just(Call::Answered),
        4 => Just(Call::Expired),
        1 => Just(Call::Repeated),
        1 => Just(Call::Stop),
    ]
}

/// RFC 6298 as it is written, with fractions.
#[derive(Default)]
struct Rfc6298 {
    variables: Option<(f64, f64)>,
}

impl Rfc6298 {
    fn retransmission_timeout(&mut self, r: f64) -> f64 {
        let (srtt, rttvar) = match self.variables {
            None => (r, r / 2.0),
            Some((srtt, rttvar)) => (0.875 * srtt + 0.125 * r, 0.75 * rttvar + 0.25 * (srtt - r).abs()),
        };
        self.variables = Some((srtt, rttvar));
        srtt + f64::max(1.0, 4.0 * rttvar)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Computing with integers stays close to the formulas of the RFC.
    #[test]
    fn integers_are_good_enough(round_trips in vec(prop_oneof![0..50_u64, 0..10_000_u64], 1..60)) {
        let (mut estimate, mut rfc) = (None, Rfc6298::default());
        for round_trip in round_trips {
            let next = Estimate::with(estimate, round_trip);
            let expected = rfc.retransmission_timeout(round_trip as f64);
            let difference = next.retransmission_timeout() as f64 - expected;
            prop_assert!(difference.abs() <= 10.0, "{difference} from {expected}");
            estimate = Some(next);
        }
    }

    /// For any sequence of calls: the interval is kept, the count is right, the value changes only by doubling or
    /// measuring, and only a flight that was sent once is measured.
    #[test]
    fn as_the_model_says(calls in vec((call(), 0..3_000_u64), 0..100)) {
        let mut timer = Timer::new(SETTINGS);
        // The times at which the flight was sent; empty if none waits for an answer.
        let mut sent = Vec::new();
        let (mut unmeasured, mut count, mut due) = (false, 0, None);
        let mut now = 0;
        for (call, passed) in calls {
            now += passed;
            let before = timer.clone();
            let mut value = before.value;
            let measurable = unmeasured && sent.len() == 1;
            match call {
                Call::Sent => {
                    timer.sent(Instant(now));
                    unmeasured = sent.is_empty();
                    sent.push(now);
                    due = Some(now + value);
                }
                Call::Progress | Call::Answered => {
                    if measurable {
                        let estimate = Estimate::with(before.estimate, now - sent[0]);
                        value = estimate.retransmission_timeout().clamp(200, 60_000);
                        unmeasured = false;
                    }
                    if let Call::Progress = call {
                        timer.progress(Instant(now));
                        due = due.map(|_| now + value);
                    } else {
                        timer.answered(Instant(now));
                        (count, due) = (0, None);
                        sent.clear();
                    }
                }
                Call::Expired => {
                    let expected = match due {
                        Some(due) if due <= now && count == 7 => Expired::GiveUp,
                        Some(due) if due <= now => Expired::Retransmit,
                        _ => Expired::NotDue,
                    };
                    prop_assert_eq!(timer.expired(Instant(now)), expected);
                    if expected != Expired::NotDue {
                        due = None;
                    }
                    if expected == Expired::Retransmit {
                        (count, unmeasured, value) = (count + 1, false, (2 * value).min(60_000));
                    }
                }
                Call::Repeated => {
                    timer.repeated();
                    if !sent.is_empty() {
                        value = (2 * value).min(60_000);
                    }
                    unmeasured = false;
                }
                Call::Stop => {
                    timer.stop();
                    (count, due) = (0, None);
                    sent.clear();
                }
            }
            prop_assert_eq!(timer.deadline(), due.map(Instant));
            prop_assert_eq!((timer.value(), timer.retransmissions()), (value, count));
        }
    }
}
