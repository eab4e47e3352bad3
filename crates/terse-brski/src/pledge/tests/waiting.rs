//! 202 and Retry-After (RFC 8995, 5.6).

use alloc::sync::Arc;
use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;

use super::pki::{self, PKI};
use super::registrar::Registrar;
use super::*;

const FOUR_DAYS: u64 = 4 * 24 * 3_600_000;

/// Returns a registrar that answers voucher requests with 202, until `is_decided`.
fn undecided(retry_after: &'static str, is_decided: Rc<Cell<bool>>) -> Registrar {
    Registrar::answering(move |request| {
        (request.path == REQUEST_VOUCHER && !is_decided.get()).then(|| Answer::wait(retry_after))
    })
}

fn bodies(registrar: &Registrar) -> Vec<Arc<[u8]>> {
    let requests = registrar.requests.iter().filter(|request| request.path == REQUEST_VOUCHER);
    requests.map(|request| request.body.clone()).collect()
}

#[test]
fn the_same_request_is_repeated_over_the_same_connection() {
    let is_decided = Rc::new(Cell::new(false));
    let mut world = World::new(undecided("30", is_decided.clone()));
    world.run_to(Phase::WaitForVoucher);
    assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Waiting));
    assert_eq!(world.pledge.poll_timeout(), Some(Instant(31_000)));
    world.run(100, |world| world.now >= 91_000);
    is_decided.set(true);
    world.run_to(Phase::Enrolled);
    let bodies = bodies(world.registrar());
    assert!(bodies.len() >= 4);
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(world.connects.len(), 2); // the second one is that with the LDevID
}

#[test]
fn retry_after_is_60_seconds_at_most() {
    let mut world = World::new(undecided("86400", Rc::default()));
    world.run_to(Phase::WaitForVoucher);
    assert_eq!(world.pledge.poll_timeout(), Some(Instant(61_000)));
}

#[test]
fn after_four_days_the_attempt_ends_and_the_next_has_another_nonce() {
    let mut world = World::new(undecided("60", Rc::default()));
    world.run(20_000, |world| !world.failures().is_empty());
    assert_eq!(world.failures(), [AttemptFailed::WaitedTooLong]);
    assert_eq!(world.now, 1_000 + FOUR_DAYS);
    let first = bodies(world.registrar());
    assert_eq!(first.len() as u64, FOUR_DAYS / 60_000 + 1);
    assert!(first.iter().all(|body| *body == first[0]));
    world.run_to(Phase::WaitForVoucher);
    let all = bodies(world.registrar());
    assert_ne!(all.last(), first.last());
}

#[test]
fn a_registrar_that_is_undecided_does_not_keep_the_pledge_from_others() {
    let undecided = || undecided("1", Rc::default());
    let mut world =
        World::with(pki::config(), [(Proxy(1), undecided()), (Proxy(2), undecided()), (Proxy(3), Registrar::new())]);
    world.run_to(Phase::Enrolled);
    assert!(world.now <= 1_000 + 10_000, "{}", world.now);
    assert_eq!(world.failures(), []);
}

#[test]
fn a_request_that_waits_is_repeated_on_a_new_connection_to_the_same_registrar() {
    let is_decided = Rc::new(Cell::new(false));
    let mut world = World::with(
        pki::config(),
        [
            (Proxy(1), undecided("20", is_decided.clone())),
            (Proxy(2), Registrar::answering(|_| Some(Answer::status(403)))),
        ],
    );
    world.run(1_000, |world| world.connects.len() == 4);
    is_decided.set(true);
    world.run_to(Phase::Enrolled);
    let bodies = bodies(world.registrar());
    assert!(bodies.len() >= 2);
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_request_that_waits_survives_lost_connections() {
    let is_decided = Rc::new(Cell::new(false));
    let mut world = World::new(undecided("20", is_decided.clone()));
    // While it waits.
    world.run_to(Phase::WaitForVoucher);
    let connection = world.connection();
    world.reply(super::world::Reply::Lost(connection));
    assert_eq!(world.pledge.phase(), Phase::Discover);
    assert_eq!(world.pledge.poll_timeout(), Some(Instant(21_000)));
    // While it connects, and while it repeats the request.
    for phase in [Phase::Connect, Phase::RequestVoucher] {
        world.run_to(phase);
        let connection = world.connection();
        world.replies.clear();
        world.reply(super::world::Reply::Lost(connection));
        assert_eq!(world.failures().last(), Some(&AttemptFailed::ConnectionLost));
    }
    // And when nothing comes.
    world.run_to(Phase::RequestVoucher);
    world.replies.clear();
    assert_eq!(world.run_to_failure(), AttemptFailed::NoProgress);
    is_decided.set(true);
    world.run_to(Phase::Enrolled);
    let bodies = bodies(world.registrar());
    assert!(bodies.len() >= 4);
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn other_certificates_on_a_new_connection_end_the_attempt() {
    let mut world = World::new(undecided("20", Rc::default()));
    world.run_to(Phase::WaitForVoucher);
    let connection = world.connection();
    world.reply(super::world::Reply::Lost(connection));
    world.registrar().chain = PKI.other_registrar.chain().to_vec();
    assert_eq!(world.run_to_failure(), AttemptFailed::CertificatesChanged);
    let before = bodies(world.registrar());
    assert_eq!(before.len(), 1, "the request was not given to somebody else");
    // It was dropped: the next attempt has a request for this registrar.
    world.run_to(Phase::WaitForVoucher);
    assert_ne!(bodies(world.registrar()).last(), before.last());
}

#[test]
fn a_final_answer_after_202_ends_the_attempt() {
    let is_decided = Rc::new(Cell::new(false));
    let is_decided_here = is_decided.clone();
    let mut world = World::new(Registrar::answering(move |_| {
        Some(if is_decided_here.get() { Answer::status(403) } else { Answer::wait("5") })
    }));
    world.run_to(Phase::WaitForVoucher);
    is_decided.set(true);
    assert_eq!(world.run_to_failure(), AttemptFailed::NoVoucher(403));
    is_decided.set(false);
    world.run_to(Phase::WaitForVoucher);
    let bodies = bodies(world.registrar());
    assert_eq!(bodies.len(), 3);
    assert_ne!(bodies[2], bodies[1]);
}
