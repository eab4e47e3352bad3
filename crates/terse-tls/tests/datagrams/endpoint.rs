//! Servers have many clients: these tests are about cookies, addresses, connection IDs, and what is kept for whom. Each
//! attack also runs without the defence against it, and succeeds there.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::FallbackReason;
use terse_tls::summary::Mode;
use terse_tls::{
    AddressChange, ApiMisuse, ConnectionHandle, Datagrams, Endpoint, EndpointEvent, EndpointLimits, NamedGroup,
    ProtocolVersion, Setting, Undefended,
};

use super::modes::PROVIDER;
use super::world::{World, address, setup, sized};

#[test]
fn a_client_shows_its_address_with_a_cookie() {
    for max_datagram in [99, 228, 1232] {
        for connection_id in [None, Some(0), Some(4)] {
            let mut world = World::new(sized(max_datagram, connection_id), EndpointLimits::default());
            let (client, handle) = world.connected(address(1, 4000));
            assert_eq!(world.endpoint.counters().cookies_sent, 1);
            assert_eq!(world.clients[client].connection.summary().round_trips, 3);
            assert_eq!(world.endpoint.connection(handle).unwrap().summary().round_trips, 3);
            world.clients[client].connection.send(b"hello").unwrap();
            world.run();
            assert_eq!(world.events.pop(), Some((handle, EndpointEvent::Data(b"hello".to_vec()))));
            assert_eq!(world.heard_by(handle, b"welcome"), [client]);
        }
    }
}

/// An attacker that cannot receive what is sent to the addresses that it uses costs nothing (RFC 6347, 4.2.1).
#[test]
fn forged_addresses_cost_neither_memory_nor_bytes() {
    let limits = EndpointLimits::default().max_half_open(100);
    let attack = |limits| {
        let mut world = World::new(setup(None), limits);
        let attacker = world.client(address(66, 6666));
        let hello = world.transmit(attacker).remove(0);
        for port in 1..1000 {
            world.hand_over(address(1, port), hello.clone());
            let sent: usize = world.answers().iter().map(|(_, datagram)| datagram.len()).sum();
            assert!(sent <= 3 * hello.len());
        }
        world.endpoint.connections().1
    };
    assert_eq!(attack(limits), 0);
    assert_eq!(attack(limits.require_cookie(false)), 100, "without, it fills all places");
}

/// Returns the ClientHello with the cookie that the server sent to `client`.
fn with_cookie(world: &mut World, client: usize) -> Vec<u8> {
    for datagram in world.transmit(client) {
        world.hand_over(world.clients[client].path.clone(), datagram);
    }
    for (_, mut datagram) in world.answers() {
        world.clients[client].connection.handle_input(world.now, &mut world.rng, &mut datagram).unwrap();
    }
    world.transmit(client).remove(0)
}

#[test]
fn a_cookie_is_good_for_its_address_its_hello_and_its_time() {
    let attack = |limits: EndpointLimits, change: &dyn Fn(&mut World, &mut Vec<u8>) -> SocketAddr| {
        let mut world = World::new(setup(None), limits);
        let client = world.client(address(1, 4000));
        let mut hello = with_cookie(&mut world, client);
        let from = change(&mut world, &mut hello);
        world.hand_over(from, hello);
        world.answers();
        world.endpoint.connections().0 == 1
    };
    let undefended = Undefended { cookie: true, ..Undefended::default() };
    let (with, without) = (EndpointLimits::default(), EndpointLimits::default().undefended(undefended));
    assert!(attack(with, &|_, _| address(1, 4000)));
    type Attack<'a> = (&'a str, &'a dyn Fn(&mut World, &mut Vec<u8>) -> SocketAddr);
    let attacks: [Attack<'_>; 5] = [
        ("another port", &|_, _| address(1, 4001)),
        ("another address", &|_, _| address(2, 4000)),
        ("another hello", &|_, hello| {
            hello[13 + 12 + 2] ^= 1; // its random
            address(1, 4000)
        }),
        ("another cookie", &|_, hello| {
            let at = 13 + 12 + 2 + 32 + 1 + 1;
            hello[at] ^= 1;
            address(1, 4000)
        }),
        ("two minutes later", &|world, _| {
            world.wait(120_000);
            address(1, 4000)
        }),
    ];
    for (name, change) in attacks {
        assert!(!attack(with, change), "{name}");
        assert!(attack(without, change), "{name}, with any cookie");
    }
}

/// RFC 6347, 4.2.1: wolfSSL's extensions are not the same again, nor Mbed TLS's session_id, when it has a ticket.
#[test]
fn a_cookie_is_good_for_a_hello_with_another_session_id_and_extensions() {
    let mut world = World::new(setup(None), EndpointLimits::default());
    let client = world.client(address(1, 4000));
    let mut hello = with_cookie(&mut world, client);
    let at = 13 + 12 + 2 + 32;
    assert_eq!(hello[at], 0, "no session_id");
    hello.splice(at..=at, [4, 1, 2, 3, 4]);
    hello.extend([0xff, 0xee, 0, 0]); // an extension that nobody knows
    let extensions = hello.len() - 2 - 4 - extensions_len(&hello[at + 5..]);
    let longer = |bytes: &mut [u8], by: u8| {
        let last = bytes.len() - 1;
        bytes[last] = bytes[last].checked_add(by).expect("a short hello");
    };
    longer(&mut hello[extensions..extensions + 2], 4);
    for end in [13, 13 + 4, 13 + 12] {
        longer(&mut hello[end - 2..end], 8); // of the record, of the message, of the fragment
    }
    world.hand_over(address(1, 4000), hello);
    world.answers();
    assert_eq!(world.endpoint.connections().0, 1);
}

/// Returns the length of the extensions, from what comes after the session_id of a ClientHello.
fn extensions_len(rest: &[u8]) -> usize {
    let cookie = 1 + usize::from(rest[0]);
    let suites = 2 + usize::from(u16::from_be_bytes([rest[cookie], rest[cookie + 1]]));
    let methods = 1 + usize::from(rest[cookie + suites]);
    let at = cookie + suites + methods;
    usize::from(u16::from_be_bytes([rest[at], rest[at + 1]]))
}

/// Without a cookie, an address gets at most three times what it sent (RFC 9147, 5.1).
#[test]
fn without_a_cookie_nobody_gets_more_than_three_times_what_it_sent() {
    let flight = |undefended| {
        let limits = EndpointLimits::default().require_cookie(false).undefended(undefended);
        let mut world = World::new(setup(None), limits);
        let client = world.client(address(1, 4000));
        let hello = world.transmit(client).remove(0);
        world.hand_over(address(1, 4000), hello.clone());
        let first: usize = world.answers().iter().map(|(_, datagram)| datagram.len()).sum();
        for _ in 0..20 {
            world.wait(60_000);
            world.endpoint.handle_timeout(world.now);
            world.answers();
        }
        (hello.len(), first, world.endpoint.counters().amplification)
    };
    let (hello, first, limited) = flight(Undefended::default());
    assert!(first <= 3 * hello && limited > 0, "{first} B for {hello} B");
    let (hello, first, limited) = flight(Undefended { amplification: true, ..Undefended::default() });
    assert!(first > 3 * hello && limited == 0, "the test needs a flight that is longer: {first} B for {hello} B");
}

#[test]
fn without_a_cookie_the_handshake_takes_a_round_trip_less() {
    let limits = EndpointLimits::default().require_cookie(false);
    for max_datagram in [99, 548, 1232] {
        let mut world = World::new(sized(max_datagram, None), limits);
        let client = world.client(address(1, 4000));
        for _ in 0..20 {
            world.run();
            let traffic = world.clients[client].traffic;
            if !world.clients[client].connection.is_connected() {
                assert!(traffic[1] <= 3 * traffic[0], "{traffic:?}");
            }
            world.wait(60_000); // for the client to ask again, which lets the server send more
            world.clients[client].connection.handle_timeout(world.now).unwrap();
            world.endpoint.handle_timeout(world.now);
        }
        assert!(world.clients[client].connection.is_connected());
        assert_eq!(world.clients[client].connection.summary().round_trips, 2);
        assert_eq!(world.endpoint.counters().cookies_sent, 0);
    }
}

/// Without a cookie too, a HelloRetryRequest has one, and the second ClientHello goes on where it left off.
#[test]
fn without_a_cookie_another_group_is_asked_for_with_one() {
    let limits = EndpointLimits::default().require_cookie(false);
    let datagrams = Datagrams::default().max_datagram(548);
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, "p256x3").over(ProtocolVersion::TLS_1_3, datagrams);
    setup.client.groups(vec![NamedGroup::X25519, NamedGroup::SECP256R1]);
    setup.server.groups(vec![NamedGroup::SECP256R1]);
    let mut world = World::new(setup, limits);
    let (client, handle) = world.connected(address(1, 4000));
    let summary = world.clients[client].connection.summary();
    assert_eq!((summary.round_trips, summary.group), (2, Some(NamedGroup::SECP256R1)));
    assert_eq!(world.endpoint.connection(handle).unwrap().summary().retransmissions, 0);
    let counters = world.endpoint.counters();
    assert_eq!((counters.cookies_sent, counters.amplification), (1, 0), "its address is proven");
}

#[test]
fn first_messages_in_fragments_have_few_places() {
    let limits = EndpointLimits::default().max_first_messages(10);
    let mut world = World::new(sized(99, None), limits);
    let attacker = world.client(address(66, 6666));
    let fragment = world.transmit(attacker).remove(0);
    for port in 1..1000 {
        world.hand_over(address(1, port), fragment.clone());
    }
    assert_eq!(world.answers(), []);
    assert_eq!(world.endpoint.counters().hellos_dropped, 999 - 10);
    world.clients.clear();
    world.connected(address(2, 4000));
}

#[test]
fn fragments_at_odds_with_each_other_begin_nothing() {
    let mut world = World::new(sized(99, None), EndpointLimits::default());
    let [one, other] = [1, 2].map(|last| world.client(address(last, 4000)));
    let fragments = [world.transmit(one), world.transmit(other)];
    let mut longer = fragments[0][0].clone();
    longer[13 + 3] ^= 1; // the length of the message
    world.hand_over(address(1, 4000), longer);
    for fragment in &fragments[0] {
        world.hand_over(address(1, 4000), fragment.clone());
    }
    assert_eq!(world.answers(), [], "what came first is gone, and so is what came with it");
    for fragment in &fragments[0] {
        world.hand_over(address(1, 4000), fragment.clone());
    }
    assert_eq!(world.answers().len(), 1, "but the client asks again");
}

#[test]
fn a_hello_that_goes_past_its_end_begins_nothing() {
    let mut world = World::new(setup(None), EndpointLimits::default());
    let client = world.client(address(1, 1));
    let mut hello = with_cookie(&mut world, client);
    hello[13 + 8] = 1; // fragment_offset
    world.hand_over(address(1, 1), hello);
    assert_eq!(world.endpoint.connections(), (0, 0));
    assert_eq!(world.endpoint.counters().malformed, 1);
}

#[test]
fn the_oldest_that_did_not_get_far_makes_room() {
    let limits = EndpointLimits::default().max_half_open(3).max_connections(5);
    let mut world = World::new(setup(None), limits);
    let (_, handle) = world.connected(address(1, 1));
    for port in 2..20 {
        let client = world.client(address(1, port));
        let hello = with_cookie(&mut world, client);
        world.hand_over(address(1, port), hello);
        world.answers(); // which nobody answers
    }
    assert_eq!(world.endpoint.connections(), (4, 3));
    assert_eq!(world.endpoint.counters().half_open_dropped, 18 - 3);
    assert_eq!(world.heard_by(handle, b"still there"), [0]);
    world.clients.truncate(1);
    world.connected(address(2, 2));
    world.connected(address(2, 3));
    world.connected(address(2, 4));
    world.connected(address(2, 5));
    assert_eq!(world.endpoint.connections(), (5, 0), "those that got nowhere made room");
    let refused = world.client(address(2, 6));
    world.run();
    assert!(!world.clients[refused].connection.is_connected(), "five is the limit");
    assert!(world.endpoint.counters().refused > 0);
    world.endpoint.remove(handle);
    world.clients.truncate(5);
    world.connected(address(2, 7));
}

/// A client that lost its connection may begin another one from the same address (RFC 6347, 4.2.8).
#[test]
fn a_client_that_lost_its_connection_begins_another_from_the_same_address() {
    let mut world = World::new(setup(None), EndpointLimits::default());
    let (_, before) = world.connected(address(1, 4000));
    let hello = world.clients[0].sent[0].clone();
    world.hand_over(address(1, 4000), hello);
    world.run();
    assert_eq!(world.heard_by(before, b"not moved by a hello without a cookie"), [0]);
    world.clients.clear();
    let (client, after) = world.connected(address(1, 4000));
    assert!(world.endpoint.connection(before).is_none());
    assert_eq!(world.heard_by(after, b"welcome back"), [client]);
}

#[test]
fn the_application_hears_that_a_connection_was_replaced() {
    // Also where the server has connection IDs, and the client does not know them.
    for connection_id in [None, Some(0), Some(4)] {
        let mut setup = setup(None);
        setup.server.edit_datagrams(|datagrams| datagrams.connection_id = connection_id);
        let mut world = World::new(setup, EndpointLimits::default());
        let (_, before) = world.connected(address(1, 4000));
        world.clients.clear();
        world.client(address(1, 4000));
        world.run();
        assert_eq!(world.events[0], (before, EndpointEvent::Replaced));
        assert_eq!(world.events[1].1, EndpointEvent::Connected);
    }
}

/// Returns a world in which a client with a connection ID has sent data from another address. The tests then look at which
/// clients receive the answer, and at what the server reports.
fn moved(address_change: AddressChange) -> (World, ConnectionHandle) {
    let mut world = World::new(setup(Some(4)), EndpointLimits::default().address_change(address_change));
    let (client, handle) = world.connected(address(1, 4000));
    world.clients[client].path = address(1, 5000).into();
    world.clients[client].connection.send(b"I am here now").unwrap();
    world.run();
    (world, handle)
}

/// A connection moves to another address with its connection ID (RFC 9146, 6).
#[test]
fn a_connection_moves_with_its_connection_id() {
    let event = EndpointEvent::AddressChanged { from: address(1, 4000).into(), to: address(1, 5000).into() };
    let (mut world, handle) = moved(AddressChange::Follow);
    assert_eq!(world.events[0].1, EndpointEvent::Data(b"I am here now".to_vec()));
    assert_eq!(world.events[1], (handle, event.clone()));
    assert_eq!(world.endpoint.address(handle), Some(address(1, 5000)));
    assert_eq!(world.heard_by(handle, &[1; 1000]), [0]);

    let (mut world, handle) = moved(AddressChange::Refuse);
    assert_eq!(world.events.len(), 1, "data only");
    assert_eq!(world.endpoint.counters().other_address, 1);
    assert_eq!(world.heard_by(handle, b"where are you?"), [0_usize; 0]);

    let (mut world, handle) = moved(AddressChange::Limited);
    assert_eq!(world.events[1], (handle, event));
    assert_eq!(world.heard_by(handle, &[1; 60]), [0], "within three times what came");
    assert_eq!(world.heard_by(handle, &[2; 1000]), [0_usize; 0], "beyond");
    assert!(world.endpoint.counters().amplification > 0);
    assert!(world.endpoint.needs_confirmation(handle));
    world.endpoint.confirm_address(handle);
    assert!(!world.endpoint.needs_confirmation(handle));
    world.run();
    assert!(world.clients[0].received.contains(&vec![2; 1000]), "it waited");
}

#[test]
fn a_connection_without_an_id_does_not_move() {
    for connection_id in [None, Some(0)] {
        let mut world = World::new(setup(connection_id), EndpointLimits::default());
        let (client, handle) = world.connected(address(1, 4000));
        world.clients[client].path = address(1, 5000).into();
        world.clients[client].connection.send(b"I am here now").unwrap();
        world.run();
        assert_eq!(world.events, []);
        assert_eq!(world.endpoint.counters().unknown_address, 1);
        assert_eq!(world.endpoint.address(handle), Some(address(1, 4000)));
    }
}

/// RFC 9146, 6: only what is authentic and newer than anything before moves a connection.
#[test]
fn an_old_record_moves_nobody() {
    let attack = |undefended| {
        // A check would find the client where it was.
        let address_change = AddressChange::Limited;
        let limits = EndpointLimits::default().undefended(undefended).address_change(address_change);
        let mut world = World::new(setup(Some(4)), limits);
        let (client, handle) = world.connected(address(1, 4000));
        world.clients[client].connection.send(b"one").unwrap();
        let late = world.transmit(client).remove(0);
        world.clients[client].connection.send(b"two").unwrap();
        world.run();
        let seen = world.clients[client].sent.last().unwrap().clone();
        let mut forged = seen.clone();
        *forged.last_mut().unwrap() ^= 1;
        for datagram in [seen, forged, late] {
            world.hand_over(address(66, 6666), datagram);
            world.run();
            if world.endpoint.address(handle) != Some(address(1, 4000)) {
                return true;
            }
        }
        assert_eq!(world.events.last().unwrap().1, EndpointEvent::Data(b"one".to_vec()), "it is data all the same");
        false
    };
    assert!(!attack(Undefended::default()));
    assert!(attack(Undefended { old_records: true, ..Undefended::default() }));
}

#[test]
fn two_clients_change_places() {
    let mut world = World::new(setup(Some(8)), EndpointLimits::default().address_change(AddressChange::Follow));
    let (one, of_one) = world.connected(address(1, 4000));
    let (other, of_other) = world.connected(address(1, 5000));
    world.clients[one].path = address(1, 5000).into();
    world.clients[other].path = address(1, 4000).into();
    for client in [one, other] {
        world.clients[client].connection.send(b"moved").unwrap();
        world.run();
    }
    assert_eq!(world.heard_by(of_one, b"to one"), [one]);
    assert_eq!(world.heard_by(of_other, b"to the other"), [other]);
    // A third one gets the address of the first, who has gone to sleep.
    world.clients[one].path = address(9, 9).into();
    let (third, of_third) = world.connected(address(1, 5000));
    assert_eq!(world.heard_by(of_third, b"to the third"), [third]);
    world.clients[one].connection.send(b"awake").unwrap();
    world.run();
    assert_eq!(world.heard_by(of_one, b"to one again"), [one]);
}

#[test]
fn what_belongs_to_nobody_is_counted() {
    let mut world = World::new(setup(Some(4)), EndpointLimits::default());
    let (client, _) = world.connected(address(1, 4000));
    world.clients[client].connection.send(b"data").unwrap();
    let datagram = world.transmit(client).remove(0);
    let mut unknown = datagram.clone();
    unknown[11] ^= 1; // the connection ID
    let without_id = [&[23], &datagram[1..11], &datagram[15..]].concat();
    for (from, datagram) in [
        (address(1, 4000), unknown),
        (address(2, 4000), without_id),
        (address(2, 4000), datagram[..12].to_vec()),
        (address(2, 4000), b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        (address(2, 4000), Vec::new()),
    ] {
        world.hand_over(from, datagram);
    }
    let counters = *world.endpoint.counters();
    assert_eq!((counters.unknown_connection_id, counters.unknown_address, counters.malformed), (1, 1, 3));
    assert_eq!(world.answers(), []);
    assert_eq!(world.events, []);
}

#[test]
fn data_that_nobody_reads_is_dropped() {
    let mut world = World::new(setup(None), EndpointLimits::default().max_received(1000));
    let (client, _) = world.connected(address(1, 4000));
    for _ in 0..5 {
        world.clients[client].connection.send(&[7; 400]).unwrap();
        for datagram in world.transmit(client) {
            world.hand_over(address(1, 4000), datagram);
        }
    }
    assert_eq!(world.endpoint.counters().data_dropped, 3);
    world.run();
    assert_eq!(world.events.len(), 2);
}

#[test]
fn a_connection_that_failed_stays_until_it_is_removed() {
    let mut world = World::new(setup(None), EndpointLimits::default());
    world.setup.client.credentials(Vec::new()); // the server requires one
    let client = world.client(address(1, 4000));
    world.run();
    let (handle, event) = world.events.pop().unwrap();
    assert!(matches!(event, EndpointEvent::Failed(_)), "{event:?}");
    assert!(!world.clients[client].connection.is_connected());
    assert_eq!(world.endpoint.connections(), (1, 0));
    world.endpoint.remove(handle);
    assert_eq!(world.endpoint.connections(), (0, 0));
    assert_eq!(world.endpoint.poll_timeout(), None);
}

#[test]
fn a_client_that_does_not_answer_is_given_up() {
    let mut world = World::new(setup(None), EndpointLimits::default());
    let client = world.client(address(1, 4000));
    let hello = with_cookie(&mut world, client);
    world.hand_over(address(1, 4000), hello);
    let flight: usize = world.answers().len();
    let mut times = Vec::new();
    while let Some(time) = world.endpoint.poll_timeout() {
        world.now.monotonic = time;
        world.endpoint.handle_timeout(world.now);
        assert!(world.answers().len() >= flight || !world.events.is_empty());
        times.push(time.0);
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 123, 183].map(|second| second * 1000));
    assert!(matches!(world.events[..], [(_, EndpointEvent::Failed(terse_tls::Error::TimedOut))]));
}

/// A client that shows a session of the other protocol, and has its secret: the server makes nothing of it.
#[test]
fn a_session_of_tls_is_none_of_dtls() {
    let mutual = || Setup::mutual(PROVIDER, PROVIDER, "p256x3").only(ProtocolVersion::TLS_1_2);
    let mut of_tls = mutual().with_frozen_session();
    let mut stream = of_tls.pair(1);
    stream.handshake().unwrap();
    assert_eq!(stream.server.summary().mode, Mode::Resumed, "the session is good");
    of_tls = of_tls.over(ProtocolVersion::TLS_1_2, Datagrams::default());
    let mut pair = of_tls.datagram_pair(1);
    pair.run_well().unwrap();
    assert_eq!(pair.server.summary().mode, Mode::Full);
    assert_eq!(pair.client.summary().fallback, Some(FallbackReason::SessionIgnored), "it was offered");
    let mut pair = mutual().over(ProtocolVersion::TLS_1_2, Datagrams::default()).with_frozen_session().datagram_pair(1);
    pair.run_well().unwrap();
    assert_eq!(pair.server.summary().mode, Mode::Resumed, "one of its own is taken");
}

#[test]
fn an_endpoint_is_for_datagrams() {
    let setup = Setup::mutual(PROVIDER, PROVIDER, "p256x3");
    let endpoint =
        Endpoint::new(Arc::new(setup.server.build().unwrap()), EndpointLimits::default(), &mut SeededRng::new(1));
    assert_eq!(endpoint.err(), Some(ApiMisuse::NoDatagrams.into()));
}

/// An endpoint that could serve nobody cannot be made.
#[test]
fn limits_of_nothing_are_refused() {
    let config = Arc::new(setup(None).server.build().unwrap());
    let with = |spoil: fn(&mut EndpointLimits)| {
        let mut limits = EndpointLimits::default();
        spoil(&mut limits);
        Endpoint::new(config.clone(), limits, &mut SeededRng::new(1)).err()
    };
    assert_eq!(with(|limits| limits.max_connections = 0), Some(ApiMisuse::ZeroLimit(Setting::MaxConnections).into()));
    assert_eq!(with(|limits| limits.max_half_open = 0), Some(ApiMisuse::ZeroLimit(Setting::MaxHalfOpen).into()));
    assert_eq!(with(|limits| limits.max_received = 0), Some(ApiMisuse::ZeroLimit(Setting::MaxReceived).into()));
    assert_eq!(with(|limits| limits.max_first_messages = 0), None, "whole ones are enough");
}

/// With IDs of one byte there are 256 IDs, and no client gets the ID of another one.
#[test]
fn there_are_no_more_connections_than_connection_ids() {
    let mut world = World::new(setup(Some(1)), EndpointLimits::default().max_half_open(1_000));
    for port in 1..400 {
        let client = world.client(address(1, port));
        let hello = with_cookie(&mut world, client);
        world.hand_over(address(1, port), hello);
        world.answers();
        world.clients.clear();
    }
    let (all, _) = world.endpoint.connections();
    let refused = world.endpoint.counters().refused;
    assert_eq!(all + refused as usize, 399);
    assert!(all <= 256 && all > 200, "{all}");
}
