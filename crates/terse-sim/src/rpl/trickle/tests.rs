use super::*;

const PARAMETERS: Parameters = Parameters { interval_min: 10, doublings: 3, redundancy: 2 };

fn timer(node: u64) -> Trickle {
    Trickle::new(PARAMETERS, Chance::new(1), node, 0, Time::ZERO)
}

/// Runs a timer up to `end`, and returns when it sends.
fn sendings(timer: &mut Trickle, end: Time) -> Vec<Time> {
    let mut times = Vec::new();
    while timer.next_time() <= end {
        let now = timer.next_time();
        if timer.handle_timeout(now) {
            times.push(now);
        }
    }
    times
}

#[test]
fn intervals_double_up_to_the_longest() {
    // 1.024, 2.048, 4.096, 8.192, 8.192 s: they begin at 0, 1.024, 3.072, 7.168, 15.36, 23.552.
    let begin = [0_u64, 1_024, 3_072, 7_168, 15_360, 23_552, 31_744];
    for node in 0..50 {
        let times = sendings(&mut timer(node), Time::from_millis(31_743));
        assert_eq!(times.len(), 6);
        for (time, interval) in times.iter().zip(begin.windows(2)) {
            let half = interval[0].midpoint(interval[1]);
            assert!((half..interval[1]).contains(&time.as_millis()), "{time:?} in {interval:?} of {node}");
        }
    }
    assert_eq!((PARAMETERS.shortest().as_millis(), PARAMETERS.longest().as_millis()), (1_024, 8_192));
    // RFC 6550, 17: 8 ms, and 2.3 hours.
    assert_eq!(Parameters::RPL.shortest().as_millis(), 8);
    assert_eq!(Parameters::RPL.longest().as_secs(), 8_388);
    let simulator = Parameters::SIXTISCH_SIMULATOR;
    assert_eq!((simulator.shortest().as_millis(), simulator.longest().as_secs()), (16_384, 8_388));
}

#[test]
fn times_in_an_interval_are_uniform() {
    let mut tenths = [0; 10];
    for node in 0..20_000 {
        let millis = timer(node).next_time().as_millis();
        tenths[usize::try_from((millis - 512) * 10 / 512).unwrap()] += 1;
    }
    assert!(tenths.iter().all(|count| (1_850..2_150).contains(count)), "{tenths:?}");
}

#[test]
fn a_timer_is_silent_after_k_consistent_messages() {
    let mut timer = timer(1);
    timer.hear_consistent();
    assert!(timer.handle_timeout(timer.next_time()), "one of two");
    // At t, not at the end of the interval, is the count compared; the next interval counts anew.
    timer.hear_consistent();
    timer.hear_consistent();
    assert!(!timer.handle_timeout(Time::from_millis(1_024)));
    assert!(timer.handle_timeout(timer.next_time()), "counts anew");
    assert!(!timer.handle_timeout(Time::from_millis(3_072)));
    timer.hear_consistent();
    timer.hear_consistent();
    assert!(!timer.handle_timeout(Time::from_millis(7_167)), "two of two");
    let endless = Parameters { redundancy: 0, ..PARAMETERS };
    let mut timer = Trickle::new(endless, Chance::new(1), 1, 0, Time::ZERO);
    (0..1_000).for_each(|_| timer.hear_consistent());
    assert!(timer.handle_timeout(timer.next_time()), "k = 0 is infinity");
}

#[test]
fn an_inconsistency_resets_the_interval_unless_it_is_the_shortest() {
    let mut timer = timer(1);
    let before = timer.next_time();
    timer.reset(Time::from_millis(100));
    assert_eq!(timer.next_time(), before, "I is Imin");
    sendings(&mut timer, Time::from_millis(10_000));
    assert_eq!(timer.interval().as_millis(), 8_192);
    timer.reset(Time::from_millis(10_000));
    assert_eq!(timer.interval().as_millis(), 1_024);
    assert!((10_512..11_024).contains(&timer.next_time().as_millis()));
}

#[test]
fn it_makes_no_difference_how_late_the_timer_is_looked_at() {
    let prompt = sendings(&mut timer(7), Time::from_millis(1_000_000)).len();
    let (mut late, mut count) = (timer(7), 0);
    while late.handle_timeout(Time::from_millis(1_000_000)) {
        count += 1;
    }
    assert_eq!(count, prompt);
}

#[test]
fn exponents_without_use_do_not_overflow() {
    let parameters = Parameters { interval_min: 255, doublings: 255, redundancy: 1 };
    let mut timer = Trickle::new(parameters, Chance::new(1), 1, 0, Time::ZERO);
    for _ in 0..10_000 {
        timer.handle_timeout(timer.next_time());
    }
    assert_eq!(parameters.shortest(), parameters.longest());
}
