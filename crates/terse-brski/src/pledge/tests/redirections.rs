//! Redirections of voucher requests (RFC 8995, 5.6).

use std::vec::Vec;

use super::pki;
use super::registrar::Registrar;
use super::*;

/// Returns a registrar that redirects voucher requests.
fn redirecting(location: &'static str) -> Registrar {
    Registrar::answering(move |request| (request.path == REQUEST_VOUCHER).then(|| Answer::redirect(location)))
}

#[test]
fn one_redirection_to_another_origin_is_followed_with_a_new_connection_and_a_new_request() {
    let mut world = World::new(redirecting("https://registrar.example:8443/.well-known/brski/requestvoucher"));
    world.elsewhere = Some(Registrar::new());
    world.run_to(Phase::Enrolled);
    assert_eq!(world.connects.len(), 3);
    let Target::Origin(origin) = &world.connects[1].1 else { panic!("{:?}", world.connects) };
    assert_eq!((origin.host(), origin.port()), ("registrar.example", 8443));
    assert_eq!(world.connects[2].1, world.connects[1].1, "the LDevID is shown to the same registrar");
    let first = world.registrar().requests[0].body.clone();
    assert_eq!(world.registrar().requests.len(), 1);
    let second = &world.elsewhere.as_ref().unwrap().requests[0];
    let nonce = |request| super::registrar::parse_request(request).nonce;
    assert_ne!(nonce(second), nonce(&world.registrars[&Proxy(1)].requests[0]));
    assert_ne!(second.body, first);
}

#[test]
fn a_second_redirection_to_another_origin_is_not_followed() {
    let mut world = World::new(redirecting("https://a.example/rv"));
    world.elsewhere = Some(Registrar::answering(|_| Some(Answer::redirect("https://b.example/rv"))));
    assert_eq!(world.run_to_failure(), AttemptFailed::Redirection);
    assert_eq!(world.connects.len(), 2);
    assert!(!world.is_connected());
}

#[test]
fn the_next_attempt_begins_at_the_proxy_again() {
    let mut world = World::new(redirecting("https://a.example/rv"));
    assert_eq!(world.run_to_failure(), AttemptFailed::ConnectionLost); // there is nothing at that origin
    world.run(100, |world| world.connects.len() == 3);
    let targets: Vec<_> = world.connects.iter().map(|(_, to, _)| matches!(to, Target::Proxy(_))).collect();
    assert_eq!(targets, [true, false, true]);
}

#[test]
fn redirections_within_an_origin_are_followed_a_few_times() {
    let mut world = World::new(Registrar::answering(|request| match &*request.path {
        REQUEST_VOUCHER => Some(Answer::redirect("/a")),
        "/a" => Some(Answer::redirect("/b?c")),
        _ => None,
    }));
    assert_eq!(world.run_to_failure(), AttemptFailed::NoVoucher(404));
    let requests = &world.registrar().requests;
    let paths: Vec<_> = requests.iter().map(|request| &*request.path).collect();
    assert_eq!(paths, [REQUEST_VOUCHER, "/a", "/b?c"]);
    assert!(requests.iter().all(|request| request.body == requests[0].body));
    assert_eq!(world.connects.len(), 1);
}

#[test]
fn a_loop_of_redirections_ends() {
    for location in ["/.well-known/brski/requestvoucher", "https://a.example/rv"] {
        let mut world = World::new(Registrar::answering(move |_| Some(Answer::redirect(location))));
        world.elsewhere = Some(Registrar::answering(move |_| Some(Answer::redirect(location))));
        assert_eq!(world.run_to_failure(), AttemptFailed::Redirection);
        let elsewhere = world.elsewhere.as_ref().map_or(0, |registrar| registrar.requests.len());
        assert!(world.registrar().requests.len() + elsewhere <= 6);
    }
}

#[test]
fn what_is_no_redirection_to_https_is_not_followed() {
    for answer in [
        Answer::redirect("http://a.example/rv"),
        Answer::redirect("https://user@a.example/rv"),
        Answer::status(307),
        Answer { status: 303, ..Answer::redirect("/a") },
        Answer { status: 300, ..Answer::redirect("/a") },
    ] {
        let mut world = World::new(Registrar::answering(move |_| Some(answer.clone())));
        assert_eq!(world.run_to_failure(), AttemptFailed::Redirection);
        assert_eq!(world.connects.len(), 1);
    }
}

#[test]
fn a_request_that_waits_elsewhere_is_repeated_there() {
    let undecided = || {
        let mut count = 0;
        Registrar::answering(move |request| {
            count += usize::from(request.path == "/rv");
            (request.path == "/rv").then(|| if count < 3 { Answer::wait("10") } else { Answer::status(403) })
        })
    };
    let mut world = World::with(
        pki::config(),
        [
            (Proxy(1), redirecting("https://a.example/rv")),
            (Proxy(2), Registrar::answering(|_| Some(Answer::status(404)))),
        ],
    );
    world.elsewhere = Some(undecided());
    world.run(1_000, |world| world.failures().contains(&AttemptFailed::NoVoucher(403)));
    let requests = &world.elsewhere.as_ref().unwrap().requests;
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.body == requests[0].body && request.path == "/rv"));
    let elsewhere = world.connects.iter().filter(|(_, to, _)| matches!(to, Target::Origin(_))).count();
    assert!(elsewhere >= 2, "the connection was closed for the other proxy: {:?}", world.connects);
}
