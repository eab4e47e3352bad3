//! 5.03 with Max-Age (RFC 9148, 5.7).

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// Returns a registrar that answers requests for this resource with 5.03, this many times.
fn undecided(resource: Resource, max_age: u32, times: usize) -> Registrar {
    let left = Rc::new(Cell::new(times));
    Registrar::answering(move |request| {
        let is_asked = request.resource == resource && left.get() > 0;
        left.set(left.get() - usize::from(is_asked));
        is_asked.then(|| Response { max_age: Some(max_age), ..Response::new(Code::SERVICE_UNAVAILABLE) })
    })
}

#[test]
fn the_same_bytes_are_repeated_over_the_same_connection() {
    for resource in [Resource::RequestVoucher, Resource::SimpleEnroll, Resource::CaCerts] {
        let mut world = World::new(undecided(resource, 25, 3));
        world.run(100, |world| world.events.contains(&Event::Waiting));
        assert_eq!(world.pledge.poll_timeout(), Some(Instant(26_000)));
        world.run_to(Phase::Enrolled);
        assert_eq!(world.now, 1_000 + 3 * 25_000);
        let payloads = world.payloads(resource);
        assert_eq!(payloads.len(), 4);
        assert!(payloads.iter().all(|payload| *payload == payloads[0]));
        assert_eq!(world.connects.len(), 2); // the second one is that with the LDevID
    }
}

#[test]
fn a_registrar_delays_a_pledge_by_60_seconds_at_most() {
    for (max_age, milliseconds) in [(0, 1_000), (1, 1_000), (9, 9_000), (60, 60_000), (61, 60_000), (u32::MAX, 60_000)]
    {
        let mut world = World::new(undecided(Resource::RequestVoucher, max_age, usize::MAX));
        world.run_to(Phase::WaitForVoucher);
        assert_eq!(world.pledge.poll_timeout(), Some(Instant(1_000 + milliseconds)), "{max_age}");
    }
}

#[test]
fn a_request_that_waits_is_repeated_on_a_new_connection_to_the_same_registrar() {
    let mut world = World::new(undecided(Resource::RequestVoucher, 20, 2));
    world.run_to(Phase::WaitForVoucher);
    world.lose();
    world.run_to(Phase::Enrolled);
    assert_eq!(world.connects.len(), 3);
    let payloads = world.payloads(Resource::RequestVoucher);
    assert_eq!(payloads.len(), 3);
    assert!(payloads.iter().all(|payload| *payload == payloads[0]));
}

#[test]
fn after_four_days_the_attempt_ends_and_the_next_has_another_nonce() {
    let mut world = World::new(undecided(Resource::RequestVoucher, 60, usize::MAX));
    world.run(20_000, |world| world.events.last() != Some(&Event::Waiting) && !world.events.is_empty());
    assert_eq!(world.events.last(), Some(&Event::Failed(Proxy(1), AttemptFailed::WaitedTooLong)));
    assert_eq!(world.now, 1_000 + 4 * 24 * 3_600_000);
    let waited = world.payloads(Resource::RequestVoucher).len();
    world.run_to(Phase::WaitForVoucher);
    let payloads = world.payloads(Resource::RequestVoucher);
    assert!(payloads[..waited].iter().all(|payload| *payload == payloads[0]));
    assert_ne!(payloads[waited], payloads[0]);
}

#[test]
fn a_status_that_cannot_be_taken_yet_is_repeated_a_few_times() {
    for resource in [Resource::VoucherStatus, Resource::EnrollStatus] {
        for (times, repeats) in [(2, 2), (100, 5)] {
            let mut world = World::new(undecided(resource, 10, times));
            world.run_to(Phase::Enrolled);
            let payloads = world.payloads(resource);
            assert_eq!(payloads.len(), 1 + repeats);
            assert!(payloads.iter().all(|payload| *payload == payloads[0]));
            let is_reported = resource == Resource::VoucherStatus || times == repeats;
            assert_eq!(world.events.last(), Some(&Event::Enrolled { is_reported }));
        }
    }
}

#[test]
fn a_lost_connection_is_made_again_for_the_same_request() {
    for phase in [Phase::ReportVoucher, Phase::RequestCaCerts, Phase::Enroll] {
        let mut world = World::new(Registrar::new());
        world.run_to(phase);
        world.lose();
        world.run_to(Phase::Enrolled);
        assert_eq!(world.connects.len(), 3);
        let resource = match phase {
            Phase::ReportVoucher => Resource::VoucherStatus,
            Phase::RequestCaCerts => Resource::CaCerts,
            _ => Resource::SimpleEnroll,
        };
        let payloads = world.payloads(resource);
        assert_eq!((payloads.len(), payloads[0]), (2, payloads[1]));
    }
}

/// A registrar lets a pledge wait for 25 seconds at most, and a stateful join proxy forgets it after 30.
#[cfg(feature = "services")]
#[test]
fn a_decision_of_three_minutes_does_not_make_a_stateful_join_proxy_forget_the_pledge() {
    use core::time::Duration;

    use crate::join_proxy::{OnLink, Stateful, StatefulLimits};

    let limits = StatefulLimits {
        per_address: 2,
        per_interface: 10,
        idle: Duration::from_secs(30),
        max_content: 1_232,
        datagrams_per_second: 100,
    };
    let mut proxy = Stateful::new(limits, OnLink::default());
    let pledge = "[fe80::1%2]:5684".parse().unwrap();
    let mut world = World::new(undecided(Resource::RequestVoucher, 25, 8));
    let (mut tuples, mut last) = (Vec::new(), 0);
    world.run(100, |world| {
        let asked = world.payloads(Resource::RequestVoucher).len();
        if asked > tuples.len() {
            let now = Duration::from_millis(world.now);
            let tuple = proxy.from_pledge(pledge, 400, now).unwrap().tuple;
            assert_eq!(proxy.from_registrar(&tuple, 100, now), Ok(pledge));
            tuples.push(tuple);
            last = world.now;
        }
        world.pledge.phase() == Phase::ReportVoucher
    });
    assert!(last - 1_000 >= 180_000, "{last}");
    assert_eq!(tuples.len(), 9);
    assert!(tuples.iter().all(|tuple| *tuple == tuples[0]));
}
