use super::*;

const MICROSECOND: Duration = Duration::from_micros(1);

fn seconds(seconds: u64) -> Time {
    Time::from_millis(seconds * 1_000)
}

#[test]
fn a_clock_gains_ppm_times_the_time() {
    let clock = Clock::new(Drift::ppm(40), seconds(10));
    assert_eq!([10, 11, 35].map(|at| clock.offset(seconds(at))), [0, 40_000, 1_000_000]);
    assert_eq!(Clock::new(Drift::ppm(-40), seconds(10)).offset(seconds(35)), -1_000_000);
    let slow = Clock { offset: i64::MIN, ..Clock::new(Drift { parts_per_billion: i64::MIN }, Time::ZERO) };
    assert_eq!(slow.offset(Time::from_nanos(u64::MAX)), i64::MIN, "no overflow");
}

#[test]
fn two_nodes_hear_each_other_within_the_guard_time() {
    // RFC 7554, B.3: with 10 ppm and 1 ms, 100 s.
    let guard = Duration::from_millis(1);
    assert_eq!(longest_silence(Drift::ppm(10), guard), Some(Duration::from_secs(100)));
    assert_eq!(longest_silence(Drift::ppm(0), guard), None);
    // 20 ppm against -20 ppm are 40: 25 s.
    let [fast, slow] = [20, -20].map(|ppm| Clock::new(Drift::ppm(ppm), Time::ZERO));
    assert!(fast.hears(seconds(25), &slow, guard) && slow.hears(seconds(25), &fast, guard));
    let later = Time::from_millis(25_001);
    assert!(!fast.hears(later, &slow, guard) && !slow.hears(later, &fast, guard));
}

#[test]
fn a_correction_is_what_is_left_to_the_resolution() {
    let root = Clock::new(Drift::default(), Time::ZERO);
    let mut node = Clock::new(Drift { parts_per_billion: 20_123 }, Time::ZERO);
    // 20.123 ppm in 10 s: 201,230 ns ahead.
    assert_eq!(node.synchronise(seconds(10), &root, MICROSECOND), -201_000);
    assert_eq!((node.offset(seconds(10)), node.offset(seconds(20))), (230, 201_460));
    // To a tick of 32,768 Hz.
    let tick = Duration::from_nanos(30_518);
    assert_eq!(node.synchronise(seconds(20), &root, tick), -7 * 30_518);
    assert!(node.offset(seconds(20)).abs() <= 30_518 / 2 + 1);
}

#[test]
fn errors_add_up_along_a_path_and_stay_bounded() {
    // Five hops, clocks of 40 ppm one way and the other, each set by the one above every 20 s (1,000 slots of 20 ms).
    let mut clocks: Vec<Clock> =
        (0..6).map(|hop| Clock::new(Drift::ppm([0, 40, -40, 40, -40, 40][hop]), Time::ZERO)).collect();
    for round in 1..1_000 {
        let now = seconds(20 * round);
        for hop in 1..6 {
            let (above, below) = clocks.split_at_mut(hop);
            below[0].synchronise(now, &above[hop - 1], MICROSECOND);
        }
        // Just before the next time, neighbours are 1.6 ms apart at most, that is, 80 ppm in 20 s.
        let later = Time::from_millis(20_000 * (round + 1) - 1);
        for pair in clocks.windows(2) {
            assert!(pair[0].offset(later).abs_diff(pair[1].offset(later)) <= 1_601_000);
        }
    }
}

#[test]
fn drifts_are_drawn_from_all_alike() {
    let draw = |node| Drift::draw(Chance::new(1), node, Drift::ppm(40)).parts_per_billion;
    let all: Vec<i64> = (0..10_000).map(draw).collect();
    assert!(all.iter().all(|drift| (-40_000..=40_000).contains(drift)));
    let mean = all.iter().sum::<i64>() / 10_000;
    let extreme = all.iter().filter(|drift| drift.abs() > 20_000).count();
    assert!(mean.abs() < 1_000 && (4_700..5_300).contains(&extreme), "{mean} {extreme}");
    assert_eq!(Drift::draw(Chance::new(1), 5, Drift::ppm(0)), Drift::default());
}
