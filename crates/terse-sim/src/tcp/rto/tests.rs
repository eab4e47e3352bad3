//! The timeout follows RFC 6298, section by section.

use super::RtoEstimator;
use crate::tcp::Config;
use core::time::Duration;
use proptest::prelude::*;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn config() -> Config {
    Config { rto_granularity: ms(1), rto_minimum: ms(1000), rto_maximum: ms(60_000), ..Config::constrained() }
}

#[test]
fn the_first_timeout_is_the_configured_one() {
    assert_eq!(RtoEstimator::new(&config()).current(), ms(1000));
    assert_eq!(RtoEstimator::new(&Config { rto_initial: ms(3000), ..config() }).current(), ms(3000));
}

/// RFC 6298, 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR; 2.3: the next sample.
#[test]
fn samples_are_smoothed() {
    let mut rto = RtoEstimator::new(&config());
    rto.sample(ms(800));
    assert_eq!(rto.current(), ms(2400));
    rto.sample(ms(1600));
    // RTTVAR = 3/4 * 400 + 1/4 * 800 = 500; SRTT = 7/8 * 800 + 1/8 * 1600 = 900
    assert_eq!(rto.smoothed(), Some(ms(900)));
    assert_eq!(rto.current(), ms(2900));
}

/// The bounds are those of RFC 6298, 2.4 and 2.5.
#[test]
fn the_timeout_has_a_minimum_and_a_maximum() {
    let mut rto = RtoEstimator::new(&config());
    rto.sample(ms(10));
    assert_eq!(rto.current(), ms(1000));
    rto.sample(ms(400_000));
    assert_eq!(rto.current(), ms(60_000));
}

/// Linux never takes less than 200 ms for the variation, so a steady path has SRTT + 200 ms.
#[test]
fn granularity_is_the_least_variation() {
    let mut rto = RtoEstimator::new(&Config::linux());
    for _ in 0..100 {
        rto.sample(ms(500));
    }
    assert_eq!(rto.current(), ms(700));
}

/// RFC 6298, 5.5: the timeout doubles at each expiry, up to the maximum; a sample ends the doubling.
#[test]
fn expiry_doubles() {
    let mut rto = RtoEstimator::new(&config());
    let mut seen = Vec::new();
    for _ in 0..8 {
        seen.push(rto.current().as_secs());
        rto.back_off();
    }
    assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
    rto.sample(ms(800));
    assert_eq!(rto.current(), ms(2400));
}

/// RFC 6298, 5.7, sets the timeout after a lost SYN to three seconds.
#[test]
fn a_lost_syn_means_three_seconds() {
    let mut rto = RtoEstimator::new(&config());
    rto.back_off();
    rto.restart_after_lost_syn(ms(3000));
    assert_eq!(rto.current(), ms(3000));
    // A sample from timestamps takes precedence over the three seconds.
    let mut rto = RtoEstimator::new(&config());
    rto.sample(ms(800));
    rto.restart_after_lost_syn(ms(3000));
    assert_eq!(rto.current(), ms(2400));
}

proptest! {
    #[test]
    fn the_timeout_stays_between_its_bounds(events in prop::collection::vec(any::<Option<u64>>(), 0..200)) {
        let mut rto = RtoEstimator::new(&config());
        for event in events {
            match event {
                Some(sample) => rto.sample(Duration::from_nanos(sample % (1 << 50))),
                None => rto.back_off(),
            }
            prop_assert!(rto.current() >= ms(1000) && rto.current() <= ms(60_000));
        }
    }
}
