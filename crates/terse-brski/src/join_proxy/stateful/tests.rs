use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const START: Duration = Duration::from_secs(1_000);
const SECOND: Duration = Duration::from_secs(1);
const LIMITS: StatefulLimits = StatefulLimits {
    per_address: 2,
    per_interface: 10,
    idle: Duration::from_secs(30),
    max_content: 1_232,
    datagrams_per_second: 1_000,
};

fn pledge(address: u16, port: u16, interface: u32) -> SocketAddr {
    let text = std::format!("[fe80::{address:x}%{interface}]:{port}");
    text.parse().unwrap()
}

fn proxy() -> Stateful {
    Stateful::new(LIMITS, OnLink::default())
}

/// Lets a pledge send, be answered with certificates, and send again.
fn confirm(proxy: &mut Stateful, pledge: SocketAddr, now: Duration) -> Tuple {
    let tuple = proxy.from_pledge(pledge, 100, now).unwrap().tuple;
    assert_eq!(proxy.from_registrar(&tuple, 600, now), Ok(pledge));
    let again = proxy.from_pledge(pledge, 100, now).unwrap();
    assert!(again.tuple == tuple && again.is_answered);
    tuple
}

#[test]
fn a_tuple_ends_after_thirty_seconds_of_silence_in_both_directions() {
    let mut proxy = proxy();
    let one = pledge(1, 1, 2);
    let tuple = proxy.from_pledge(one, 100, START).unwrap().tuple;
    assert_eq!(proxy.from_registrar(&tuple, 100, START + SECOND * 29), Ok(one));
    assert_eq!(proxy.from_pledge(one, 100, START + SECOND * 58).unwrap().tuple, tuple);
    let later = START + SECOND * 88;
    assert_eq!(proxy.from_registrar(&tuple, 100, later), Err(Refusal::Gone), "also if nobody has cleared it yet");
    proxy.expire(later);
    assert!(proxy.is_empty() && !proxy.has(&tuple));
    // The same pledge has another tuple, and answers on the one before are nobody's.
    let next = proxy.from_pledge(one, 100, later).unwrap();
    assert!(next.tuple != tuple && !next.is_answered);
    assert_eq!(proxy.from_registrar(&tuple, 100, later), Err(Refusal::Gone));
    assert_eq!(proxy.from_registrar(&next.tuple, 100, later), Ok(one));
}

#[test]
fn an_address_and_an_interface_have_their_limits() {
    let mut proxy = proxy();
    for port in [1, 2] {
        proxy.from_pledge(pledge(1, port, 2), 100, START).unwrap();
    }
    assert_eq!(proxy.from_pledge(pledge(1, 3, 2), 100, START), Err(Refusal::Full));
    for address in 2..10 {
        proxy.from_pledge(pledge(address, 1, 2), 100, START).unwrap();
    }
    assert_eq!(proxy.from_pledge(pledge(10, 1, 2), 100, START), Err(Refusal::Full));
    // The same address on another interface is another pledge.
    proxy.from_pledge(pledge(1, 1, 3), 100, START).unwrap();
    assert_eq!(proxy.len(), 11);
}

#[test]
fn all_interfaces_together_have_a_limit() {
    let mut proxy = proxy();
    let passed = (1..100).flat_map(|interface| (0..10).map(move |address| pledge(address, 1, interface)));
    assert_eq!(passed.filter(|pledge| proxy.from_pledge(*pledge, 100, START).is_ok()).count(), 160);
    assert_eq!(proxy.len(), 160);
}

#[test]
fn a_flood_pushes_out_no_pledge_that_is_confirmed() {
    let mut proxy = proxy();
    let honest = pledge(0x7777, 1, 2);
    let tuple = confirm(&mut proxy, honest, START);
    let mut stranger = 0;
    for tenth in 1..6_000 {
        let now = START + Duration::from_millis(100) * tenth;
        for _ in 0..10 {
            stranger += 1;
            let _ = proxy.from_pledge(pledge(stranger % 0x7000, 1, 2), 100, now);
        }
        if tenth % 250 == 0 {
            assert_eq!(proxy.from_pledge(honest, 100, now).unwrap().tuple, tuple);
        }
        assert!(proxy.len() <= 10);
    }
}

#[test]
fn a_new_pledge_takes_the_place_of_the_oldest_stranger_that_had_the_time_for_an_answer() {
    let mut proxy = proxy();
    let strangers: Vec<_> = (0..10).map(|address| pledge(address, 1, 2)).collect();
    let tuples: Vec<_> = strangers.iter().map(|one| proxy.from_pledge(*one, 100, START).unwrap().tuple).collect();
    let honest = pledge(0x7777, 1, 2);
    let early = START + GRACE - Duration::from_millis(1);
    assert_eq!(proxy.from_pledge(honest, 100, early), Err(Refusal::Full));
    // However much a stranger sends, or is answered once.
    proxy.from_pledge(strangers[0], 100, early).unwrap();
    proxy.from_registrar(&tuples[0], 100, early).unwrap();
    confirm(&mut proxy, honest, START + GRACE);
    assert!(!proxy.has(&tuples[0]) && tuples[1..].iter().all(|tuple| proxy.has(tuple)));
}

#[test]
fn who_has_too_many_ports_replaces_his_own_alone() {
    let mut proxy = proxy();
    let other = proxy.from_pledge(pledge(9, 1, 2), 100, START).unwrap().tuple;
    let kept = confirm(&mut proxy, pledge(1, 1, 2), START);
    let replaced = proxy.from_pledge(pledge(1, 2, 2), 100, START + SECOND).unwrap().tuple;
    proxy.from_pledge(pledge(1, 3, 2), 100, START + SECOND * 7).unwrap();
    assert!(proxy.has(&other) && proxy.has(&kept) && !proxy.has(&replaced));
}

#[test]
fn a_confirmed_tuple_is_not_protected_for_ever() {
    let mut proxy = proxy();
    for address in 0..10 {
        confirm(&mut proxy, pledge(address, 1, 2), START);
    }
    let newcomer = pledge(0x7777, 1, 2);
    let mut now = START;
    while now < START + PROTECTED {
        assert_eq!(proxy.from_pledge(newcomer, 100, now), Err(Refusal::Full));
        now += SECOND * 20;
        for address in 0..10 {
            let _ = proxy.from_pledge(pledge(address, 1, 2), 100, now);
        }
    }
    assert!(proxy.from_pledge(newcomer, 100, now).is_ok());
}

#[test]
fn who_floods_on_his_tuple_uses_up_his_own_share() {
    let mut proxy = proxy();
    let passed = (0..10_000).filter(|_| proxy.from_pledge(pledge(1, 1, 2), 100, START).is_ok());
    assert_eq!(passed.count(), 200, "two seconds of 100");
    assert!(proxy.from_pledge(pledge(2, 1, 2), 100, START).is_ok());
}

#[test]
fn what_does_not_fit_or_is_not_on_a_link_is_dropped_and_leaves_nothing() {
    let mut proxy = proxy();
    for len in [0, 1_233] {
        assert_eq!(proxy.from_pledge(pledge(1, 1, 2), len, START), Err(Refusal::Length));
    }
    for elsewhere in ["[2001:db8::1]:1", "192.0.2.1:1", "[fe80::1%2]:0"] {
        assert_eq!(proxy.from_pledge(elsewhere.parse().unwrap(), 1, START), Err(Refusal::OffLink), "{elsewhere}");
    }
    assert!(proxy.is_empty());
    let tuple = proxy.from_pledge(pledge(1, 1, 2), 1_232, START).unwrap().tuple;
    assert_eq!(proxy.from_registrar(&tuple, 1_233, START), Err(Refusal::Length));
    assert!(!proxy.from_pledge(pledge(1, 1, 2), 1, START).unwrap().is_answered);
}

/// Each blind datagram of a stranger with a spoofed address has a cookie as its answer, however many there are.
#[test]
fn answers_to_blind_datagrams_confirm_no_tuple() {
    let mut proxy = proxy();
    let strangers: Vec<_> = (0..10).map(|address| pledge(address, 1, 2)).collect();
    for round in 0..8 {
        let now = START + Duration::from_millis(500) * round;
        let passed: Vec<_> =
            strangers.iter().flat_map(|one| [*one; 4]).map(|one| proxy.from_pledge(one, 100, now)).collect();
        for passed in passed {
            proxy.from_registrar(&passed.unwrap().tuple, 200, now).unwrap();
        }
    }
    let kept = confirm(&mut proxy, pledge(0x7777, 1, 2), START + GRACE);
    for newcomer in 0..9 {
        proxy.from_pledge(pledge(0x100 + newcomer, 1, 2), 100, START + GRACE).unwrap();
    }
    assert!(proxy.has(&kept), "it alone is confirmed");
}

#[test]
fn a_tuple_whose_registrar_is_silent_while_its_pledge_sends_can_be_for_another_one() {
    let mut proxy = proxy();
    let one = pledge(1, 1, 2);
    let tuple = confirm(&mut proxy, one, START); // which sends once after the answer
    assert!(proxy.from_pledge(one, 100, START + SECOND * 9).unwrap().is_answered);
    let moved = proxy.from_pledge(one, 100, START + SILENCE).unwrap();
    assert!(moved.tuple == tuple && !moved.is_answered);
    // It stays with the one that answers now, also if one datagram needs no answer and the next one comes much later.
    proxy.from_registrar(&tuple, 100, START + SECOND * 11).unwrap();
    assert!(proxy.from_pledge(one, 100, START + SECOND * 12).unwrap().is_answered);
    assert!(proxy.from_pledge(one, 100, START + SECOND * 40).unwrap().is_answered);
}

#[test]
fn a_tuple_whose_registrar_is_gone_can_be_for_another_one_and_keeps_its_place() {
    let mut proxy = proxy();
    let one = pledge(1, 1, 2);
    let tuple = confirm(&mut proxy, one, START);
    proxy.failed(&tuple, START + SECOND * 2);
    assert!(proxy.from_pledge(one, 100, START + SECOND * 2).unwrap().is_answered, "it has just answered");
    proxy.failed(&Tuple { number: tuple.number + 1, ..tuple }, START + SECOND * 3);
    assert!(proxy.from_pledge(one, 100, START + SECOND * 3).unwrap().is_answered, "that was another tuple");
    proxy.failed(&tuple, START + SECOND * 3);
    assert!(!proxy.from_pledge(one, 100, START + SECOND * 3).unwrap().is_answered);
    for stranger in 10..100 {
        let _ = proxy.from_pledge(pledge(stranger, 1, 2), 100, START + SECOND * 8);
    }
    assert!(proxy.has(&tuple), "it is still confirmed");
}

#[test]
fn each_prefix_has_places_of_its_own() {
    let prefixes = ["192.0.2.0/24", "2001:db8::/64"].map(|prefix| prefix.parse().unwrap());
    let mut proxy = Stateful::new(LIMITS, OnLink::new(prefixes.to_vec()).unwrap());
    for last in 1..=10 {
        proxy.from_pledge(SocketAddr::from(([192, 0, 2, last], 1)), 100, START).unwrap();
    }
    assert_eq!(proxy.from_pledge(SocketAddr::from(([192, 0, 2, 11], 1)), 100, START), Err(Refusal::Full));
    assert!(proxy.from_pledge("[2001:db8::1]:1".parse().unwrap(), 100, START).is_ok());
    assert!(proxy.from_pledge(SocketAddr::from(([169, 254, 0, 1], 1)), 100, START).is_ok());
}

proptest! {
    /// Whatever comes in whatever order, no limit is exceeded, and answers go to those who sent on their tuple.
    #[test]
    fn limits_hold(steps in proptest::collection::vec((0..8u16, 1..5u16, 1..4u32, 0..20u64, any::<bool>()), 1..200)) {
        let mut proxy = Stateful::new(StatefulLimits { per_interface: 5, ..LIMITS }, OnLink::default());
        let (mut now, mut tuples) = (START, Vec::new());
        for (address, port, interface, wait, answers) in steps {
            now += Duration::from_secs(wait);
            let from = pledge(address, port, interface);
            if let Ok(passed) = proxy.from_pledge(from, 1, now) {
                prop_assert_eq!(passed.tuple.pledge(), from);
                tuples.push(passed.tuple);
            }
            for tuple in tuples.iter().filter(|_| answers) {
                if let Ok(to) = proxy.from_registrar(tuple, 1, now) {
                    prop_assert!(to == tuple.pledge() && proxy.has(tuple));
                }
            }
            for interface in 1..4 {
                let all = proxy.tuples.iter().filter(|(_, state)| state.zone == interface);
                prop_assert!(all.clone().count() <= 5);
                for address in 0..8 {
                    let ip = pledge(address, 1, interface).ip();
                    prop_assert!(all.clone().filter(|(one, _)| one.ip() == ip).count() <= 2);
                }
            }
        }
    }
}
