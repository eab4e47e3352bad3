//! docs/caching.md, 4.8: caching against servers that know nothing of it, and through HelloRetryRequest.

use terse_testkit::fault;
use terse_testkit::pair::{Side, at};
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{AlertDescription, ExtensionType, HandshakeType, NamedGroup, PeerMisbehaved};

use super::issued::{issue, server_leaf};
use super::world::*;

const DAY: u64 = 24 * 60 * 60;

/// Without a cache, with caching switched off, and one that takes the extensions for something unknown.
#[test]
fn server_that_does_not_take_part_gets_a_full_handshake() {
    for setting in SETTINGS {
        for schemes in [None, Some(Schemes::OFF)] {
            let mut world = World::new(setting);
            world.server.edit_cache(|cache| match (cache.as_mut(), schemes) {
                (Some(cache), Some(schemes)) => cache.schemes = schemes,
                _ => *cache = None,
            });
            for round in 0..3 {
                let done = world.assert_full();
                assert_eq!(done.offer.client_cached_info, Some(Vec::new()), "round {round}: no ticket was ever made");
                assert_eq!(done.server.peer.identity.unwrap().to_string(), terse_testkit::pki::CLIENT_NAME);
            }
            assert!(world.server_store.is_empty());
        }
    }
}

#[test]
fn client_that_does_not_take_part_is_served_in_full() {
    for version in VERSIONS {
        let mut world = World::new(version);
        for schemes in [None, Some(Schemes::OFF)] {
            world.client.edit_cache(|cache| cache.take_if(|_| schemes.is_none()));
            for _ in 0..2 {
                assert!(world.assert_full().offer.is_silent());
            }
            world.set_schemes(Schemes::OFF, Schemes::BITHAC);
        }
        assert!(world.server_store.is_empty() && world.client_store.memory.is_empty());
    }
}

/// Every pair of schemes meets in what both have.
#[test]
fn schemes_meet_in_what_both_have() {
    for version in VERSIONS {
        let all = [Schemes::OFF, Schemes::RFC7924, Schemes::BITHAC, Schemes::COMPACT];
        let everything = World::everything(version);
        for client in all {
            for server in all {
                let mut world = World::new(version);
                world.set_schemes(client, server);
                world.assert_full();
                let expected = match (client, server) {
                    (Schemes::OFF, _) | (_, Schemes::OFF) => (Mode::Full, &BOTH_CERTIFICATES[..0]),
                    (Schemes::RFC7924, _) | (_, Schemes::RFC7924) => {
                        (Mode::Cached(Scheme::Rfc7924), &BOTH_CERTIFICATES[..1])
                    }
                    (Schemes::COMPACT, Schemes::COMPACT) => (Mode::Cached(Scheme::Compact), &everything[..]),
                    _ => (Mode::Cached(Scheme::Bithac), &BOTH_CERTIFICATES[..]),
                };
                for _ in 0..2 {
                    let done = world.connect().unwrap();
                    assert_eq!((done.client.mode, &done.client.cached[..]), expected, "{client:?} {server:?}");
                    assert_eq!((done.server.mode, &done.server.cached[..]), expected, "{client:?} {server:?}");
                }
            }
        }
    }
}

/// A fingerprint shows an observer which certificate the client knows. A server that answered none of two gets one a day.
#[test]
fn fingerprints_are_not_sent_for_ever() {
    for version in VERSIONS {
        let mut world = World::new(version);
        world.set_schemes(Schemes::BITHAC, Schemes::OFF);
        let mut sent = || (0..4).map(|_| world.assert_full().offer.cached_info.is_some()).collect::<Vec<_>>();
        assert_eq!(sent(), [false, true, true, false], "the first connection knows no certificate yet");
        assert_eq!(sent(), [false; 4]);
        for days in 1..3 {
            world.client_clock = at(days * DAY);
            let mut sent = || (0..3).map(|_| world.assert_full().offer.cached_info.is_some()).collect::<Vec<_>>();
            assert_eq!(sent(), [true, false, false]);
        }
        // Another certificate may be another server's, and whoever answers with any scheme gets them at once.
        world.server.credentials(vec![issue(&server_leaf())]);
        assert_eq!([(); 3].map(|()| world.assert_full().offer.cached_info.is_some()), [false, true, true]);
        world.set_schemes(Schemes::BITHAC, Schemes::BITHAC);
        world.assert_full();
        world.assert_cached();
    }
}

/// A server that forgets how to, and learns it again.
#[test]
fn server_that_stops_taking_part_costs_one_full_handshake() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        world.set_schemes(Schemes::BITHAC, Schemes::OFF);
        world.assert_full();
        world.set_schemes(Schemes::BITHAC, Schemes::RFC7924);
        assert_eq!(world.connect().unwrap().client.mode, Mode::Cached(Scheme::Rfc7924));
        world.set_schemes(Schemes::BITHAC, Schemes::BITHAC);
        assert_eq!(world.connect().unwrap().client.cached, [CachedObject::ServerCertificate]);
        world.assert_cached();
    }
}

/// A server that is given fewer schemes and more: each change costs one full handshake at most, and what the server says
/// is what is offered next, and nothing else beside it.
#[test]
fn the_best_scheme_that_both_have_is_used() {
    for version in VERSIONS {
        let server = [Schemes::COMPACT, Schemes::BITHAC, Schemes::RFC7924, Schemes::OFF];
        for (from, to) in server.into_iter().flat_map(|from| server.map(|to| (from, to))) {
            let mut world = World::new(Setting { version, schemes: Schemes::COMPACT });
            let mode = |schemes| match schemes {
                Schemes::COMPACT => Mode::Cached(Scheme::Compact),
                Schemes::BITHAC => Mode::Cached(Scheme::Bithac),
                Schemes::RFC7924 => Mode::Cached(Scheme::Rfc7924),
                _ => Mode::Full,
            };
            for (day, schemes) in (0..).zip([from, to, from]) {
                world.client_clock = at(day * DAY); // a server that answers nothing is asked again after one
                world.set_schemes(Schemes::COMPACT, schemes);
                let modes: Vec<_> = (0..3)
                    .map(|_| {
                        let Done { client, server, offer, .. } = world.connect().unwrap();
                        assert!(
                            offer.ticket().is_none()
                                || offer.compact_cache.is_some_and(|body| body.is_empty())
                                || offer.cached_info.is_none()
                        );
                        assert_eq!((client.mode, &client.cached), (server.mode, &server.cached));
                        client.mode
                    })
                    .collect();
                assert_eq!(modes[2], mode(schemes), "from {from:?} to {to:?}: {modes:?}");
            }
        }
    }
}

fn ask_for_another_group(world: &mut World, cookie: bool) {
    world.client.groups(vec![NamedGroup::X25519, NamedGroup::SECP256R1]);
    world.server.groups(vec![NamedGroup::SECP256R1]);
    world.server.hello_retry_cookie(cookie);
}

#[test]
fn hello_retry_request_repeats_the_caching_extensions_unchanged() {
    for (cookie, setting) in
        [false, true].into_iter().flat_map(|cookie| [TLS13.into(), COMPACT[0]].map(|setting| (cookie, setting)))
    {
        let mut world = World::new(setting).with_long_request();
        ask_for_another_group(&mut world, cookie);
        for round in 0..4 {
            let mut link = world.begin();
            link.run().unwrap();
            let [first, second] = &link.hellos()[..] else { panic!("two ClientHellos") };
            assert_eq!(first, second, "round {round}");
            assert_eq!(first.ticket().is_some(), round > 0);
            assert_eq!(first.cached_info.is_some(), round > 0 && world.mode() == Mode::Cached(Scheme::Bithac));
            let (client, server) = (link.pair.client.summary(), link.pair.server.summary());
            assert_eq!((client.round_trips, server.round_trips), (2, 2));
            assert_eq!(client.cached, server.cached);
            assert_eq!(client.cached.len(), if round > 0 { 3 } else { 0 });
            link.pair.carry(Side::Server, b"data").unwrap();
        }
    }
}

#[test]
fn second_client_hello_with_changed_caching_extensions_is_refused() {
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 3] = [
        ("ticket", |hello| {
            let body = [0, 10, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7];
            fault::set_extension(hello, ExtensionType::CLIENT_CACHED_INFO, &body);
        }),
        ("no ticket", |hello| fault::set_extension(hello, ExtensionType::CLIENT_CACHED_INFO, &[])),
        ("no fingerprint", |hello| fault::remove_extension(hello, ExtensionType::CACHED_INFO)),
    ];
    let mut world = World::cached(TLS13);
    ask_for_another_group(&mut world, false);
    for (what, change) in changes {
        let second = fault::nth(HandshakeType::CLIENT_HELLO, 1, change);
        world.assert_refused(Side::Client, second, AlertDescription::ILLEGAL_PARAMETER, what);
    }
}

/// HelloRetryRequest answers nothing about caching.
#[test]
fn caching_reply_in_hello_retry_request_or_server_hello_is_refused() {
    for nth in [0, 1] {
        for kind in [ExtensionType::CACHED_INFO, ExtensionType::CLIENT_CACHED_INFO, ExtensionType::COMPACT_CACHE] {
            let mut world = World::cached(COMPACT[0]);
            ask_for_another_group(&mut world, false);
            let add = fault::nth(HandshakeType::SERVER_HELLO, nth, move |hello| {
                fault::add_extension(hello, kind, &[]);
            });
            let (_, result) = world.connect_with(Side::Server, add);
            let failed = result.unwrap_err();
            assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::MisplacedExtension(kind).into()));
        }
    }
}
