//! Servers of DTLS 1.3 that keep nothing of a client before they know that it is where it says (RFC 9147, 5.1): cookies, in
//! HelloRetryRequests.

use core::net::SocketAddr;

use terse_testkit::pair::Side;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::summary::{EarlyDataStatus, Mode};
use terse_tls::{
    AlertDescription, Datagrams, EndpointEvent, EndpointLimits, Error, NamedGroup, ProtocolVersion, Undefended,
};

use super::attacks::{message, record};
use super::modes::{BOTH_VERSIONS, CHAIN, EARLY_DATA, PROVIDER, SIZES, mutual};
use super::world::{World, address, setup_of};

const VERSION: ProtocolVersion = ProtocolVersion::TLS_1_3;

fn setup() -> Setup {
    setup_of(VERSION, Datagrams::default())
}

/// What a client, and maybe a network, make of a server. One more is in a group that its client did not offer a share of.
fn modes() -> Vec<(&'static str, Mode, Setup)> {
    let setup = || mutual(CHAIN).only(VERSION);
    let mut hybrid = setup();
    for side in Side::BOTH {
        hybrid.common(side).set_groups(vec![NamedGroup::X25519MLKEM768]);
    }
    let mut both = setup();
    for side in Side::BOTH {
        both.common(side).set_versions(BOTH_VERSIONS);
    }
    vec![
        ("mutual", Mode::Full, setup()),
        ("another group", Mode::Full, setup().with_hello_retry(false)),
        ("hybrid", Mode::Full, hybrid),
        ("both versions", Mode::Full, both),
        ("bithac", Mode::Cached(Scheme::Bithac), setup().with_frozen_cache(Schemes::BITHAC)),
        ("resumed", Mode::Resumed, setup().with_frozen_session()),
        ("resumed, another group", Mode::Resumed, setup().with_frozen_session().with_hello_retry(false)),
        ("psk", Mode::Psk, setup().with_psk()),
    ]
}

#[test]
fn every_mode_begins_with_a_cookie() {
    for (name, mode, setup) in modes() {
        for max_datagram in [79].into_iter().chain(SIZES) {
            let settings = Datagrams::default().max_datagram(max_datagram);
            let mut world = World::new(setup.clone().in_datagrams(settings), EndpointLimits::default());
            let (client, handle) = world.connected(address(1, 4000));
            assert_eq!(world.endpoint.counters().cookies_sent, 1, "{name}, {max_datagram}");
            assert_eq!(world.endpoint.counters().malformed, 0, "{name}, {max_datagram}");
            let server = world.endpoint.connection(handle).unwrap().summary().clone();
            let ours = world.clients[client].connection.summary();
            for summary in [&server, ours] {
                assert_eq!((summary.mode, summary.version, summary.round_trips), (mode, Some(VERSION), 2), "{name}");
                assert_eq!((summary.retransmissions, summary.dropped.total()), (0, 0), "{name}, {max_datagram}");
            }
            assert_eq!(world.heard_by(handle, b"welcome"), [client], "{name}, {max_datagram}");
        }
    }
}

/// Each datagram may be lost, of both sides, and of all that are sent again: the server keeps nothing, so its
/// HelloRetryRequest is only sent again for another ClientHello.
#[test]
fn every_mode_survives_losses() {
    for (number, (name, mode, setup)) in modes().into_iter().enumerate() {
        for (percent, seed) in [0, 8, 16].into_iter().flat_map(|percent| (0..6).map(move |seed| (percent, seed))) {
            let max_datagram = SIZES[seed as usize % SIZES.len()];
            let settings = Datagrams::default().max_datagram(max_datagram);
            let mut world = World::new(setup.clone().in_datagrams(settings), EndpointLimits::default());
            let mut rng = SeededRng::new((number as u64) << 16 | percent << 8 | seed);
            let client = world.client(address(1, 4000));
            for _ in 0..200 {
                world.run_over(&mut || rng.below(100) >= percent as usize);
                world.pass(1_000);
            }
            let what = format!("{name}, {max_datagram}, {percent} %, seed {seed}");
            assert!(world.clients[client].connection.is_connected(), "{what}");
            assert_eq!(world.clients[client].connection.summary().mode, mode, "{what}");
            assert_eq!(world.endpoint.connections(), (1, 0), "{what}");
        }
    }
}

/// The ClientHello with the cookie that the server sent to `client`.
fn with_cookie(world: &mut World, client: usize) -> Vec<u8> {
    for datagram in world.transmit(client) {
        world.hand_over(world.clients[client].path.clone(), datagram);
    }
    for (_, mut datagram) in world.answers() {
        world.hand_to_client(client, &mut datagram);
    }
    world.transmit(client).remove(0)
}

/// Where the cookie begins: suite, group, the hash of the first ClientHello, and 8 bytes for all of them.
fn cookie_at(hello: &[u8]) -> usize {
    let extension = [0, 44, 0, 2 + COOKIE_LEN, 0, COOKIE_LEN];
    hello.windows(6).position(|bytes| bytes == extension).expect("a cookie") + 6
}

const COOKIE_LEN: u8 = 2 + 2 + 32 + 8;

/// RFC 9147, 5.1: whoever shows another one is told, and nothing is kept.
#[test]
fn a_cookie_is_good_for_its_address_and_its_time() {
    let attack = |limits: EndpointLimits, change: &dyn Fn(&mut World, &mut Vec<u8>) -> SocketAddr| {
        let mut world = World::new(setup(), limits);
        let client = world.client(address(1, 4000));
        let mut hello = with_cookie(&mut world, client);
        let from = change(&mut world, &mut hello);
        world.hand_over(from, hello);
        let answers = world.answers();
        let is_refused =
            answers.len() == 1 && answers[0].0 == from && answers[0].1[0] == 21 && answers[0].1[13..] == [2, 47];
        let is_begun = world.endpoint.connections().0 == 1;
        assert_ne!(is_refused, is_begun, "an alert, or a flight");
        is_begun
    };
    let undefended = Undefended { cookie: true, ..Undefended::default() };
    let (with, without) = (EndpointLimits::default(), EndpointLimits::default().undefended(undefended));
    assert!(attack(with, &|_, _| address(1, 4000)));
    type Attack<'a> = (&'a str, &'a dyn Fn(&mut World, &mut Vec<u8>) -> SocketAddr);
    let changed = |offset: usize| {
        move |_: &mut World, hello: &mut Vec<u8>| {
            let at = cookie_at(hello) + offset;
            hello[at] ^= 1;
            address(1, 4000)
        }
    };
    let (of_hash, of_mac, last) = (changed(4), changed(36), changed(43));
    let attacks: [Attack<'_>; 6] = [
        ("another port", &|_, _| address(1, 4001)),
        ("another address", &|_, _| address(2, 4000)),
        ("another first ClientHello", &of_hash),
        ("another cookie", &of_mac),
        ("nearly the same", &last),
        ("two minutes later", &|world, _| {
            world.wait(120_000);
            address(1, 4000)
        }),
    ];
    for (name, change) in attacks {
        assert!(!attack(with, change), "{name}");
        assert!(attack(without, change), "{name}, with any cookie");
    }
    // The suite that it says, and the group.
    for offset in 0..4 {
        assert!(!attack(with, &changed(offset)), "byte {offset}");
    }
    assert!(attack(with, &|world, _| {
        world.wait(59_000);
        address(1, 4000)
    }));
}

/// A cookie of any other length, or of another server.
#[test]
fn a_cookie_that_makes_no_sense_is_refused() {
    for len in (0..100).chain([1_000]) {
        let mut world = World::new(setup(), EndpointLimits::default());
        let client = world.client(address(1, 4000));
        for datagram in world.transmit(client) {
            world.hand_over(address(1, 4000), datagram);
        }
        world.answers();
        let cookie = vec![7; len];
        let mut forged = hello_retry_request(&cookie, None);
        world.hand_to_client(client, &mut forged);
        let sent = world.transmit(client);
        if len == 0 {
            assert_eq!(sent.len(), 1, "an alert: a cookie is not empty");
            assert_eq!(sent[0][0], 21);
            continue;
        }
        for datagram in sent {
            world.hand_over(address(1, 4000), datagram);
        }
        let answers = world.answers();
        assert!(answers.len() == 1 && answers[0].1[13..] == [2, 47], "{len}: {answers:?}");
        assert_eq!(world.endpoint.connections(), (0, 0));
    }
}

/// As anybody can make it.
fn hello_retry_request(cookie: &[u8], group: Option<NamedGroup>) -> Vec<u8> {
    let mut random = [0; 32];
    let hash = (PROVIDER.sha256.start(), b"HelloRetryRequest");
    let mut context = hash.0;
    context.update(hash.1);
    random.copy_from_slice(context.finish().as_ref());
    let mut extensions = vec![0, 43, 0, 2, 0xfe, 0xfc];
    let two = |value: usize| (value as u16).to_be_bytes();
    extensions.extend([&[0, 44][..], &two(cookie.len() + 2), &two(cookie.len()), cookie].concat());
    if let Some(group) = group {
        extensions.extend([&[0, 51, 0, 2][..], &group.0.to_be_bytes()].concat());
    }
    let body = [&[0xfe, 0xfd][..], &random, &[0, 0x13, 0x01, 0], &two(extensions.len()), &extensions].concat();
    message(2, 0, &body)
}

/// Nothing protects the first messages: who forges a HelloRetryRequest makes the handshake fail, and no more. The client
/// hears from the server that its cookie is none, and may begin again.
#[test]
fn a_forged_hello_retry_request_costs_the_handshake() {
    for group in [None, Some(NamedGroup::SECP384R1)] {
        let mut world = World::new(setup(), EndpointLimits::default());
        let client = world.client(address(1, 4000));
        world.hand_to_client(client, &mut hello_retry_request(b"cookie", group));
        world.run();
        world.wait(1_000);
        let now = world.now;
        let error = world.clients[client].connection.handle_timeout(now).unwrap_err();
        assert_eq!(error, Error::AlertReceived(AlertDescription::ILLEGAL_PARAMETER));
        assert_eq!(world.endpoint.connections(), (0, 0));
        world.clients.clear();
        world.connected(address(1, 4000));
    }
    // Once a ServerHello came, it is nothing.
    let mut world = World::new(setup(), EndpointLimits::default());
    let (client, handle) = world.connected(address(1, 4000));
    world.hand_to_client(client, &mut hello_retry_request(b"cookie", None));
    assert_eq!(world.heard_by(handle, b"still there"), [client]);
}

/// What is left of fragments that were sent again is not put together with the next ClientHello from there.
#[test]
fn fragments_of_two_hellos_do_not_meet() {
    for version in BOTH_VERSIONS {
        let setup = setup_of(version, Datagrams::default().max_datagram(99));
        let mut world = World::new(setup, EndpointLimits::default().require_cookie(false));
        for attempt in 0..3 {
            let client = world.client(address(1, 4000));
            let hello = world.transmit(client);
            assert!(hello.len() >= 2);
            for datagram in hello.into_iter().skip(1) {
                world.hand_over(address(1, 4000), datagram);
            }
            for _ in 0..20 {
                world.pass(1_000);
                world.run();
            }
            assert!(world.clients[client].connection.is_connected());
            world.clients.clear();
            let client = world.client(address(1, 4000));
            world.run();
            assert!(world.endpoint.counters().malformed == 0 && world.clients[client].traffic[1] > 0, "{attempt}");
            world.clients.clear();
        }
    }
}

/// Fragments of a client that is gone are not joined with those of the next client at its address.
#[test]
fn fragments_of_two_clients_do_not_meet() {
    for version in BOTH_VERSIONS {
        let setup = setup_of(version, Datagrams::default().max_datagram(99));
        let mut world = World::new(setup, EndpointLimits::default());
        let gone = world.client(address(1, 4000));
        let hello = world.transmit(gone);
        assert!(hello.len() >= 2);
        for datagram in hello.into_iter().skip(1) {
            world.hand_over(address(1, 4000), datagram);
        }
        world.clients.clear();
        world.wait(8_000);
        let (client, _) = world.connected(address(1, 4000));
        assert_eq!(world.clients[client].connection.summary().retransmissions, 0);
    }
}

/// A server sends its flight again to a client that is gone. The next one there does not take it for its own: nothing answers a
/// ClientHello that was not sent yet.
#[test]
fn a_flight_for_the_client_before_is_not_taken() {
    for version in BOTH_VERSIONS {
        let mut world = World::new(setup_of(version, Datagrams::default()), EndpointLimits::default());
        let gone = world.client(address(1, 4000));
        let hello = with_cookie(&mut world, gone);
        world.hand_over(address(1, 4000), hello);
        let flight = world.answers();
        assert!(!flight.is_empty());
        world.clients.clear();
        let client = world.client(address(1, 4000));
        let first = world.transmit(client);
        for (_, mut datagram) in flight {
            world.hand_to_client(client, &mut datagram);
        }
        for datagram in first {
            world.hand_over(address(1, 4000), datagram);
        }
        world.run();
        assert!(world.clients[client].connection.is_connected());
    }
}

/// A flight for a client that is gone is not retransmitted to the next one, where it could come when an answer is due.
#[test]
fn a_flight_for_the_client_before_is_not_sent_again() {
    for version in BOTH_VERSIONS {
        let mut world = World::new(setup_of(version, Datagrams::default()), EndpointLimits::default());
        let gone = world.client(address(1, 4000));
        let hello = with_cookie(&mut world, gone);
        world.hand_over(address(1, 4000), hello);
        assert!(!world.answers().is_empty());
        world.clients.clear();
        let client = world.client(address(1, 4000));
        let lost = with_cookie(&mut world, client);
        world.wait(1_000);
        world.endpoint.handle_timeout(world.now);
        assert_eq!(world.answers(), []);
        world.hand_over(address(1, 4000), lost);
        world.run();
        assert!(world.clients[client].connection.is_connected());
    }
}

/// RFC 9846, 4.2.4: the second one is one too many.
#[test]
fn a_client_answers_one_hello_retry_request() {
    let mut world = World::new(setup(), EndpointLimits::default());
    let client = world.client(address(1, 4000));
    world.transmit(client);
    world.hand_to_client(client, &mut hello_retry_request(b"one", None));
    assert_eq!(world.transmit(client)[0][0], 22);
    world.hand_to_client(client, &mut hello_retry_request(b"one", None));
    assert!(world.clients[client].connection.is_handshaking(), "a copy of the first is none");
    let mut second = hello_retry_request(b"two", None);
    second[13 + 5] = 1; // message_seq
    world.hand_to_client(client, &mut second);
    assert!(!world.clients[client].connection.is_handshaking());
    let alert = world.transmit(client).pop().unwrap();
    assert_eq!((alert[0], &alert[13..]), (21, &[2, AlertDescription::UNEXPECTED_MESSAGE.0][..]));
}

/// The hash of the first ClientHello is in the cookie: who changes the first one on its way, so that another group or suite is
/// asked for, is found out, although the server has forgotten it.
#[test]
fn a_first_hello_that_was_changed_is_found_out() {
    let mut changed = 0;
    for place in (13 + 12..).step_by(3) {
        let mut world = World::new(setup(), EndpointLimits::default());
        let client = world.client(address(1, 4000));
        let mut hello = world.transmit(client).remove(0);
        let Some(byte) = hello.get_mut(place) else { break };
        *byte ^= 1;
        world.hand_over(address(1, 4000), hello);
        for _ in 0..30 {
            world.run();
            world.wait(10_000);
            world.endpoint.handle_timeout(world.now);
            let _ = world.clients[client].connection.handle_timeout(world.now);
            world.events.clear();
        }
        // Where it was refused, or could not be read, the client asked again, with the one that it meant.
        let is_asked_again = world.clients[client].connection.summary().retransmissions > 0;
        let is_connected = world.clients[client].connection.is_connected();
        assert!(is_asked_again || !is_connected, "byte {place}");
        changed += u32::from(!is_connected);
    }
    assert!(changed > 10, "{changed}");
}

/// RFC 9147, 5.11: a ClientHello in a client's name, seen long before, does nothing to its connection.
#[test]
fn a_hello_that_comes_again_does_nothing_to_the_connection() {
    let mut world = World::new(setup(), EndpointLimits::default());
    let (client, handle) = world.connected(address(1, 4000));
    for wait in [0, 1_000, 50_000, 200_000] {
        world.wait(wait);
        for datagram in world.clients[client].sent.clone() {
            world.hand_over(address(1, 4000), datagram);
            world.run();
        }
        assert_eq!(world.heard_by(handle, b"still there"), [client]);
        assert_eq!(world.endpoint.connections(), (1, 0));
        assert_eq!(world.clients[client].connection.summary().retransmissions, 0);
    }
}

/// Whoever cannot receive what is sent to the addresses that it uses costs a cookie, and gets nothing multiplied.
#[test]
fn forged_addresses_cost_neither_memory_nor_bytes() {
    let limits = EndpointLimits::default().max_half_open(100);
    for (name, _, setup) in modes() {
        let attack = |limits| {
            let mut world = World::new(setup.clone(), limits);
            let attacker = world.client(address(66, 6666));
            let hello = world.transmit(attacker);
            let len: usize = hello.iter().map(Vec::len).sum();
            for port in 1..300 {
                for datagram in &hello {
                    world.hand_over(address(1, port), datagram.clone());
                }
                let sent: usize = world.answers().iter().map(|(_, datagram)| datagram.len()).sum();
                assert!(sent <= 3 * len, "{name}: {sent} for {len}");
            }
            world.endpoint.connections().1
        };
        assert_eq!(attack(limits), 0, "{name}");
        let without = attack(limits.require_cookie(false));
        // A HelloRetryRequest for a group keeps nothing either.
        assert_eq!(without, if name.contains("group") { 0 } else { 100 }, "{name}");
    }
    // The shortest that gets an answer at all.
    let mut world = World::new(self::setup(), limits);
    for garbage in [vec![0; 40], record(22, 0, 0, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), message(1, 0, &[0xfe, 0xfd])]
    {
        world.hand_over(address(1, 4000), garbage);
        assert_eq!(world.answers(), []);
    }
}

/// A cookie costs early data, which goes with the first ClientHello (RFC 9846, 4.3.10). Without, it comes apart from all
/// other.
#[test]
fn early_data_needs_a_server_without_cookies() {
    for require_cookie in [true, false] {
        let setup = mutual(CHAIN).only(VERSION).with_frozen_stateful_session(EARLY_DATA);
        let mut world = World::new(setup, EndpointLimits::default().require_cookie(require_cookie));
        let client = world.client(address(1, 4000));
        world.clients[client].connection.send_early_data(EARLY_DATA).unwrap();
        world.run();
        let connection = &mut world.clients[client].connection;
        let status = connection.summary().early_data;
        assert_eq!(status, if require_cookie { EarlyDataStatus::Rejected } else { EarlyDataStatus::Accepted });
        connection.send(b"data").unwrap();
        world.run();
        let (early, data) = (EndpointEvent::EarlyData(EARLY_DATA.into()), EndpointEvent::Data(b"data".to_vec()));
        let events: Vec<_> = world.events.iter().map(|(_, event)| event.clone()).collect();
        match require_cookie {
            true => assert_eq!(events, [EndpointEvent::Connected, data]),
            false => assert_eq!(events, [early, EndpointEvent::Connected, data]),
        }
    }
}
