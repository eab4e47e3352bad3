//! Tests of the limit, with times that are made up.

use super::{Duration, GENERATION, IpAddr, RateLimit};

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_burst_is_admitted_and_then_the_rate() {
    let limit = RateLimit::per_minute(60);
    let address = address("192.0.2.7");
    for _ in 0..60 {
        limit.admit(address, at(0)).unwrap();
    }
    assert_eq!(limit.admit(address, at(0)), Err(at(1_000)));
    assert_eq!(limit.admit(address, at(400)), Err(at(600)), "what is refused is not counted");
    limit.admit(address, at(1_000)).unwrap();
    assert_eq!(limit.admit(address, at(1_000)), Err(at(1_000)));
    for _ in 0..60 {
        limit.admit(address, at(120_000)).unwrap();
    }
    assert!(limit.admit(address, at(120_000)).is_err(), "no more than a minute's worth is saved up");
}

#[test]
fn others_are_not_affected_but_a_subscriber_is_one() {
    let limit = RateLimit::per_minute(1);
    limit.admit(address("2001:db8::1"), at(0)).unwrap();
    limit.admit(address("2001:db8::ffff:2"), at(0)).unwrap_err();
    limit.admit(address("2001:db8:0:1::1"), at(0)).unwrap();
    limit.admit(address("192.0.2.7"), at(0)).unwrap();
    limit.admit(address("::ffff:192.0.2.7"), at(0)).unwrap_err();
    limit.admit(address("192.0.2.8"), at(0)).unwrap();
    limit.admit(address("fe80::1"), at(0)).unwrap();
    limit.admit(address("fe80::2"), at(0)).unwrap();
}

#[test]
fn the_table_is_bounded() {
    let limit = RateLimit::per_minute(1);
    for number in 0..5 * GENERATION as u32 {
        limit.admit(IpAddr::from(number.to_be_bytes()), at(0)).unwrap();
    }
    let addresses = limit.addresses.lock().unwrap();
    assert!(addresses.young.len() <= GENERATION && addresses.old.len() <= GENERATION);
}
