//! Tests of the limit, with times that are made up.

use super::{Duration, IpAddr, MAX_CLIENTS, RateLimit};

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
fn an_address_has_so_many_at_once_and_so_many_a_second() {
    let limit = RateLimit::per_second(2, 3);
    let taken = |now| (0..10).filter(|_| limit.admit(address("192.0.2.7"), at(now)).is_ok()).count();
    assert_eq!(taken(0), 3);
    assert_eq!(taken(499), 0);
    assert_eq!(taken(1_000), 2);
    assert_eq!(taken(3_600_000), 3);
    let none = RateLimit::per_second(0, 0);
    none.admit(address("192.0.2.7"), at(0)).unwrap();
    assert_eq!(none.admit(address("192.0.2.7"), at(0)), Err(at(1_000)));
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
fn a_flood_of_addresses_shares_one_limit_and_no_memory() {
    let limit = RateLimit::per_second(1, 1);
    let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
    let passed = (0..3 * MAX_CLIENTS).filter(|number| limit.admit(address(*number), at(0)).is_ok()).count();
    assert_eq!(passed, MAX_CLIENTS + 1);
    assert_eq!(limit.table.lock().unwrap().due.len(), MAX_CLIENTS);
    limit.admit(address(0), at(0)).unwrap_err();
    // Those who have all of their requests again make room.
    limit.admit(address(4 * MAX_CLIENTS), at(1_000)).unwrap();
    assert_eq!(limit.table.lock().unwrap().due.len(), 1);
}
