//! Requests that are lost, and come twice.

use super::{Setting, slow};
use crate::Random;
use crate::Time;
use crate::edhoc::Transfer;
use crate::edhoc::request::Request;
use crate::link::{Direction, Framing, Link};
use core::time::Duration;

/// RFC 7252, 4.8: 2 to 3 s, doubled four times; given up after MAX_TRANSMIT_WAIT, 62 to 93 s.
#[test]
fn timeouts_are_doubled() {
    let mut firsts = Vec::new();
    for seed in 0..100 {
        let mut request = Request::new(1, Vec::new(), Time::ZERO, &mut Random::new(seed, 0));
        let first = request.deadline().since(Time::ZERO);
        assert!((Duration::from_secs(2)..Duration::from_secs(3)).contains(&first), "{first:?}");
        let mut at = request.deadline();
        for factor in [2, 4, 8, 16] {
            assert!(request.expire(at));
            assert_eq!(request.deadline(), at + first * factor);
            at = request.deadline();
        }
        assert!(!request.expire(at));
        assert_eq!(at.since(Time::ZERO), first * 31);
        firsts.push(first);
    }
    firsts.sort();
    assert!(firsts[10] < Duration::from_millis(2200) && firsts[90] > Duration::from_millis(2800), "{firsts:?}");
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let link = slow().with_paths(|path| path.loss = 1.0);
    let mut world = Setting::new(Transfer::Reference, link, 1).world();
    world.run();
    assert_eq!(world.client().outcome().failure.as_deref(), Some("the server did not answer"));
    assert_eq!((world.sent(Direction::Up), world.client().outcome().repeated_flights), (5, 4));
}

/// A lost request, and a lost response: the server computes once, and answers the repetition with the same response.
#[test]
fn a_response_is_repeated() {
    let mut world = Setting::new(Transfer::Value, slow(), 1).world();
    world.network.change_link(world.link, |link| link.down.loss = 1.0);
    world.network.run_until(Time::from_millis(1000));
    world.network.change_link(world.link, |link| link.down.loss = 0.0);
    let (computed, _) = world.server().computed();
    let before = computed.clone();
    world.network.run_until(Time::from_millis(3075));
    assert!(*world.server().computed().0 == before, "message_1 was computed twice");
    world.run();
    let connected = world.connected("a lost response");
    let outcome = world.server().outcomes().next().expect("a client").clone();
    assert_eq!((world.client().outcome().repeated_flights, outcome.repeated_flights), (1, 1));
    assert!((2200..3200).contains(&connected.as_millis()), "{connected:?}");
    assert_eq!((world.sent(Direction::Up), world.sent(Direction::Down)), (3, 3));
}

#[test]
fn everything_may_come_twice() {
    let link = slow().with_paths(|path| path.duplication = 1.0);
    let mut world = Setting::new(Transfer::Reference, link, 1).world();
    world.run();
    assert_eq!(world.connected("doubled"), Time::from_millis(200));
    assert_eq!(world.client().outcome().repeated_flights, 0);
}

/// With 5 % of the fragments lost, all exchanges complete.
#[test]
fn all_complete_under_loss() {
    let mut again = 0;
    for seed in 0..200 {
        let transfer = if seed % 2 == 0 { Transfer::Reference } else { Transfer::Value };
        let mut link = Link::ieee802154().with_paths(|path| path.loss = 0.05);
        if let Framing::Ieee802154(options) = &mut link.framing {
            options.retries = None;
        }
        let mut world = Setting::new(transfer, link, seed).world();
        world.run();
        world.connected(&format!("seed {seed}"));
        again += world.client().outcome().repeated_flights;
    }
    assert!((20..150).contains(&again), "{again} requests again in 200 exchanges");
}
