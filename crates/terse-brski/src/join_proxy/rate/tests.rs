use core::net::{Ipv6Addr, SocketAddr};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn pledge(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn rates() -> Rates {
    Rates::new(32 * 10, [0x1234_5678_9abc_def0, 0x9e37_79b9_7f4a_7c15])
}

fn admit(rates: &mut Rates, pledge: SocketAddr, now: Duration) -> bool {
    let SocketAddr::V6(address) = pledge else { unreachable!() };
    rates.admit(address.scope_id(), pledge.ip(), now)
}

/// Returns how many of `sent` datagrams are passed on at once.
fn admitted(rates: &mut Rates, pledge: SocketAddr, sent: usize, now: Duration) -> usize {
    (0..sent).filter(|_| admit(rates, pledge, now)).count()
}

#[test]
fn a_pledge_has_its_share_and_two_seconds_of_it_at_once() {
    let mut rates = rates();
    let one = pledge("[fe80::1%2]:1000");
    assert_eq!(admitted(&mut rates, one, 1_000, SECOND), 20);
    assert_eq!(admitted(&mut rates, one, 1_000, SECOND * 2), 10);
    // Another port is no other pledge, for this.
    assert_eq!(admitted(&mut rates, pledge("[fe80::1%2]:2000"), 1_000, SECOND * 3), 10);
    assert_eq!(admitted(&mut rates, one, 1_000, SECOND * 3), 0);
    assert_eq!(admitted(&mut rates, one, 1_000, SECOND * 100), 20);
}

#[test]
fn who_floods_uses_up_his_own_share() {
    let mut rates = rates();
    let flood = pledge("[fe80::1%2]:1000");
    assert!(admitted(&mut rates, flood, 10_000, SECOND) < 100);
    let others: Vec<_> = (2..34u16).map(|last| pledge(&std::format!("[fe80::{last:x}%2]:1000"))).collect();
    let through = others.iter().filter(|other| admit(&mut rates, **other, SECOND)).count();
    assert!(through >= 28, "{through} of 32"); // those with another share
    // Nor does he use any of another interface.
    assert!(admit(&mut rates, pledge("[fe80::1%3]:1000"), SECOND));
}

#[test]
fn addresses_are_distributed_to_all_shares() {
    let rates = rates();
    let mut counts = [0; SHARES];
    for last in 0..3_200u32 {
        counts[rates.share(Ipv6Addr::from(0xfe80 << 112 | u128::from(last)).into())] += 1;
    }
    assert!(counts.iter().all(|count| (50..200).contains(count)), "{counts:?}");
}

#[test]
fn however_many_interfaces_there_are_the_table_is_bounded() {
    let mut rates = rates();
    for interface in 1..1_000 {
        admit(&mut rates, pledge(&std::format!("[fe80::1%{interface}]:1000")), SECOND);
    }
    assert_eq!(rates.interfaces.len(), MAX_INTERFACES);
    // Those that have no entry share that of the last one, and the others keep theirs.
    assert!(!admit(&mut rates, pledge("[fe80::1%900]:1000"), SECOND));
    assert!(admit(&mut rates, pledge("[fe80::1%1]:1000"), SECOND));
}

#[test]
fn an_interface_takes_the_place_of_one_that_is_not_used_any_more() {
    let mut rates = rates();
    for interface in 1..=MAX_INTERFACES {
        admitted(&mut rates, pledge(&std::format!("[fe80::1%{interface}]:1000")), 20, SECOND);
    }
    let another = pledge("[fe80::1%900]:1000");
    assert!(!admit(&mut rates, another, SECOND), "all are used");
    assert_eq!(admitted(&mut rates, another, 1_000, SECOND * 4), 20);
    assert_eq!(rates.interfaces.len(), MAX_INTERFACES);
}

#[test]
fn the_seed_does_not_print() {
    let printed = std::format!("{:?}", rates());
    assert!(printed.starts_with("Rates") && !printed.contains("seed"), "{printed}");
    for secret in rates().seed {
        assert!(!printed.contains(&std::format!("{secret}")), "{printed}");
    }
}

#[test]
fn a_rate_of_nothing_is_one_datagram_a_second() {
    let mut due = Duration::ZERO;
    let rate = Rate::per_second(0);
    assert_eq!((0..100).filter(|_| rate.admit(&mut due, SECOND)).count(), 4);
    assert_eq!((0..100).filter(|_| rate.admit(&mut due, SECOND * 2)).count(), 1);
}
