//! More connection IDs, in DTLS 1.3 (RFC 9147, 9): asked for, provided, and used where the client goes.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_testkit::fault::{Alerts, fault, message};
use terse_testkit::setup::Setup;
use terse_tls::{
    AlertDescription, ApiMisuse, ConnectionHandle, ConnectionIdUsage, Datagrams, EndpointEvent, EndpointLimits, Error,
    HandshakeType, InvalidMessage, PeerMisbehaved, ProtocolVersion,
};

use super::world::{World, address, setup_of};

const REQUEST: HandshakeType = HandshakeType::REQUEST_CONNECTION_ID;
const NEW: HandshakeType = HandshakeType::NEW_CONNECTION_ID;

fn home() -> SocketAddr {
    address(1, 4000)
}

fn away() -> SocketAddr {
    address(9, 5000)
}

/// IDs of these lengths for what comes to the client, and to the server.
fn setup(client: Option<u8>, server: Option<u8>) -> Setup {
    let mut setup = setup_of(ProtocolVersion::TLS_1_3, Datagrams::default());
    setup.client.edit_datagrams(|datagrams| datagrams.connection_id = client);
    setup.server.edit_datagrams(|datagrams| datagrams.connection_id = server);
    setup
}

fn world_of(setup: Setup) -> (World, ConnectionHandle) {
    let mut world = World::new(setup, EndpointLimits::default());
    let (_, handle) = world.connected(home());
    (world, handle)
}

/// The client's IDs have 3 bytes, the server's 4.
fn world() -> (World, ConnectionHandle) {
    world_of(setup(Some(3), Some(4)))
}

/// The ID in a datagram to the server.
fn server_id(datagram: &[u8]) -> [u8; 4] {
    assert_eq!(datagram[0] & 0b1111_0000, 0b0011_0000, "a record with an ID");
    *datagram[1..].first_chunk().unwrap()
}

/// The ID in a datagram to the client.
fn client_id(datagram: &[u8]) -> [u8; 3] {
    assert_eq!(datagram[0] & 0b1111_0000, 0b0011_0000, "a record with an ID");
    *datagram[1..].first_chunk().unwrap()
}

/// Why connections of the server failed.
fn failures(world: &World) -> Vec<Error> {
    let failure = |(_, event): &(_, EndpointEvent)| match event {
        EndpointEvent::Failed(error) => Some(*error),
        _ => None,
    };
    world.events.iter().filter_map(failure).collect()
}

impl World {
    fn request(&mut self, count: u8) -> Result<(), Error> {
        self.clients[0].connection.request_connection_ids(count)
    }
}

/// Whoever watches both networks sees no ID twice, in neither direction.
#[test]
fn a_client_that_moves_is_not_recognised() {
    let (mut world, handle) = world();
    world.request(2).unwrap();
    world.endpoint.connection(handle).unwrap().request_connection_ids(2).unwrap();
    world.run();
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 2);
    assert_eq!(world.endpoint.connection(handle).unwrap().spare_connection_ids(), 2);
    let at_home = world.say(b"at home");
    let before = server_id(&at_home[0]);
    at_home.into_iter().for_each(|datagram| world.hand_over(home(), datagram));
    world.answer(handle, b"to home");
    let to_home: Vec<_> = world.answers().iter().map(|(_, datagram)| client_id(datagram)).collect();

    assert!(world.clients[0].connection.path_changed());
    world.clients[0].path = away().into();
    let datagrams = world.say(b"I am away");
    assert_ne!(server_id(&datagrams[0]), before);
    datagrams.into_iter().for_each(|datagram| world.hand_over(away(), datagram));
    let sent = world.answers();
    let to: Vec<_> = sent.iter().map(|(to, datagram)| (to.address(), to_home.contains(&client_id(datagram)))).collect();
    assert_eq!(to, [(home(), true), (away(), false)], "a challenge each, under the ID that is known there");
    for (_, mut datagram) in sent.into_iter().filter(|(to, _)| *to == away()) {
        world.hand_to_client(0, &mut datagram);
    }
    world.run();
    world.run_out();
    assert_eq!(world.endpoint.address(handle), Some(away()));
    assert_eq!(world.heard_by(handle, &[7; 1000]), [0]);
    assert_eq!(world.endpoint.connection(handle).unwrap().spare_connection_ids(), 1);
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 1);
}

/// A NAT changes the address, and the client does not know: the ID stays the same, and so does that of the server's records.
#[test]
fn a_client_that_is_moved_keeps_its_id() {
    let (mut world, handle) = world();
    world.endpoint.connection(handle).unwrap().request_connection_ids(2).unwrap();
    world.run();
    world.answer(handle, b"to home");
    let before = client_id(&world.answers()[0].1);
    world.say_from(away(), b"I am away");
    for (_, datagram) in world.answers() {
        assert_eq!(client_id(&datagram), before);
    }
    assert_eq!(world.endpoint.connection(handle).unwrap().spare_connection_ids(), 2);
}

/// RFC 9147, 5.8.4: sent again until they are acknowledged, and handled once.
#[test]
fn requests_and_answers_may_be_lost() {
    for lost in 0..1_u32 << 6 {
        let (mut world, handle) = world();
        world.request(3).unwrap();
        world.endpoint.connection(handle).unwrap().request_connection_ids(1).unwrap();
        let mut left = lost;
        let mut arrives = || {
            let is_lost = left & 1 == 1;
            left >>= 1;
            !is_lost
        };
        for _ in 0..20 {
            world.run_over(&mut arrives);
            world.pass(1_000);
        }
        assert_eq!(world.clients[0].connection.spare_connection_ids(), 3, "{lost:b}");
        assert_eq!(world.endpoint.connection(handle).unwrap().spare_connection_ids(), 1, "{lost:b}");
        assert_eq!(failures(&world), [], "{lost:b}");
        world.request(3).unwrap();
        assert_eq!(world.heard_by(handle, b"still well"), [0], "{lost:b}");
    }
}

/// If many IDs are requested, few are provided and fewer are kept.
#[test]
fn there_are_few() {
    let (mut world, handle) = world();
    world.request(255).unwrap();
    world.run();
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 4);
    world.request(255).unwrap();
    world.run();
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 4);
    world.endpoint.connection(handle).unwrap().request_connection_ids(255).unwrap();
    world.run();
    assert_eq!(world.endpoint.connection(handle).unwrap().spare_connection_ids(), 4);
}

#[test]
fn whoever_uses_them_gets_more_for_ever() {
    let (mut world, handle) = world();
    let mut seen = Vec::new();
    for round in 0..60 {
        world.request(2).unwrap();
        world.run();
        assert!(world.clients[0].connection.path_changed());
        world.clients[0].path = address(9, 5000 + round).into();
        let datagrams = world.say(b"here");
        seen.push(server_id(&datagrams[0]));
        datagrams.into_iter().for_each(|datagram| world.hand_over(address(9, 5000 + round), datagram));
        world.run();
        world.run_out();
        assert_eq!(world.endpoint.address(handle), Some(address(9, 5000 + round)));
        assert_eq!(failures(&world), []);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 60, "each once");
    // One of the first ones is nobody's now.
    let mut old =
        world.clients[0].sent.iter().find(|datagram| datagram[0] & 0b1111_0000 == 0b0011_0000).unwrap().clone();
    world.hand_over(home(), core::mem::take(&mut old));
    assert_eq!(world.endpoint.counters().unknown_connection_id, 1);
}

#[test]
fn whoever_does_not_use_them_gets_no_more() {
    let (mut world, _) = world();
    let alerts = Arc::new(Alerts::default());
    world.setup.client.trace(alerts.clone());
    world.clients.clear();
    world.connected(home());
    for _ in 0..8 {
        world.request(1).unwrap();
        world.run();
        assert_eq!(failures(&world), []);
    }
    world.request(1).unwrap();
    world.run();
    assert_eq!(failures(&world), [PeerMisbehaved::TooManyCidsRequested.into()]);
    assert_eq!(alerts.received(), [AlertDescription::TOO_MANY_CIDS_REQUESTED]);
}

#[test]
fn one_request_at_a_time() {
    let (mut world, handle) = world();
    let under_way = Err(ApiMisuse::ConnectionIdsUnderWay.into());
    world.request(1).unwrap();
    assert_eq!(world.request(1), under_way);
    for datagram in world.transmit(0) {
        world.hand_over(home(), datagram);
    }
    assert_eq!(world.request(1), under_way, "neither acknowledged nor answered");
    world.run();
    world.request(1).unwrap();
    let usage = ConnectionIdUsage::CidSpare;
    let issue = |world: &mut World| world.endpoint.issue_connection_ids(handle, 1, usage, &mut world.rng);
    issue(&mut world).unwrap();
    assert_eq!(issue(&mut world), under_way);
    // The request comes while others are under way: it is answered when they were acknowledged.
    for datagram in world.transmit(0) {
        world.hand_over(home(), datagram);
    }
    assert_eq!(issue(&mut world), under_way);
    world.run();
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 3);
}

#[test]
fn ids_are_replaced_at_once() {
    let (mut world, handle) = world();
    let usage = ConnectionIdUsage::CidImmediate;
    let before = server_id(&world.say(b"before")[0]);
    world.request(2).unwrap();
    world.run();
    world.endpoint.issue_connection_ids(handle, 3, usage, &mut world.rng).unwrap();
    world.run();
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 2, "those of before do not count any more");
    let datagrams = world.say(b"after");
    assert_ne!(server_id(&datagrams[0]), before);
    datagrams.into_iter().for_each(|datagram| world.hand_over(home(), datagram));
    world.run();
    assert_eq!(world.events.last().unwrap().1, EndpointEvent::Data(b"after".to_vec()));

    world.answer(handle, b"before");
    let before = client_id(&world.answers()[0].1);
    world.clients[0].connection.issue_connection_ids(1, usage, &mut world.rng).unwrap();
    world.run();
    world.answer(handle, b"after");
    let mut sent = world.answers();
    assert_ne!(client_id(&sent[0].1), before);
    world.hand_to_client(0, &mut sent[0].1);
    assert_eq!(world.clients[0].received.last().unwrap(), b"after");
    let of_endpoint = world.endpoint.connection(handle).unwrap().issue_connection_ids(1, usage, &mut world.rng);
    assert_eq!(of_endpoint, Err(ApiMisuse::OfEndpoint.into()));
}

#[test]
fn no_two_connections_have_the_same() {
    let mut world = World::new(setup(Some(0), Some(1)), EndpointLimits::default());
    let handles: Vec<_> = (1..30).map(|port| world.connected(address(1, port)).1).collect();
    for client in 0..handles.len() {
        world.clients[client].connection.request_connection_ids(4).unwrap();
    }
    world.run();
    for client in 0..handles.len() {
        assert!(world.clients[client].connection.path_changed());
        world.clients[client].connection.send(&[client as u8]).unwrap();
    }
    world.events.clear();
    world.run();
    let data: Vec<_> = world.events.drain(..).collect();
    assert_eq!(data.len(), handles.len());
    for (handle, event) in data {
        let EndpointEvent::Data(data) = event else { panic!("{event:?}") };
        assert_eq!(handles[usize::from(data[0])], handle);
    }
}

#[test]
fn there_are_none_without_any() {
    let none = Err(ApiMisuse::NoConnectionIds.into());
    let usage = ConnectionIdUsage::CidSpare;
    for (client, server, of_server, of_client) in [
        (None, None, false, false),
        (Some(3), None, false, false),
        (None, Some(4), false, false),
        (Some(0), Some(4), true, false),
        (Some(3), Some(0), false, true),
        (Some(3), Some(4), true, true),
    ] {
        let (mut world, handle) = world_of(setup(client, server));
        assert_eq!(world.request(1) != none, of_server, "the client asks for the server's");
        let requested = world.endpoint.connection(handle).unwrap().request_connection_ids(1);
        assert_eq!(requested != none, of_client);
        let issued = world.endpoint.issue_connection_ids(handle, 1, usage, &mut world.rng);
        assert_eq!(issued != none, of_server);
        let issued = world.clients[0].connection.issue_connection_ids(1, usage, &mut world.rng);
        assert_eq!(issued != none, of_client);
        world.run();
        assert_eq!(world.clients[0].connection.path_changed(), of_server);
        assert_eq!(world.heard_by(handle, b"well"), [0]);
    }
    let mut world = World::new(
        setup_of(ProtocolVersion::TLS_1_2, Datagrams::default().connection_id(Some(4))),
        EndpointLimits::default(),
    );
    world.client(home());
    assert_eq!(world.request(1), Err(ApiMisuse::HandshakeNotFinished.into()));
    world.run();
    assert_eq!(world.request(1), none, "DTLS 1.2");
    assert!(!world.clients[0].connection.path_changed());
    world.clients[0].connection.close();
    assert_eq!(world.request(1), Err(ApiMisuse::Closed.into()));
}

/// A side sends `body` as a message of type `kind`, in the place of a KeyUpdate: what the other one makes of it.
fn refused(mut setup: Setup, from_client: bool, kind: HandshakeType, body: &'static [u8]) -> Option<Error> {
    let hostile = if from_client { setup.client.common_mut() } else { setup.server.common_mut() };
    hostile.set_fault(Some(fault(move |_, sent, bytes| {
        if sent == HandshakeType::KEY_UPDATE {
            *bytes = message(kind, body);
        }
    })));
    let (mut world, handle) = world_of(setup);
    if from_client {
        world.clients[0].connection.update_keys(false).unwrap();
        world.run();
        return failures(&world).pop();
    }
    world.endpoint.connection(handle).unwrap().update_keys(false).unwrap();
    for (_, mut datagram) in world.answers() {
        let client = &mut world.clients[0].connection;
        if let Err(error) = client.handle_input(world.now, &mut world.rng, &mut datagram) {
            return Some(error);
        }
    }
    None
}

/// A violation of the rules for connection IDs ends the connection (RFC 9147, 9).
#[test]
fn violations_end_the_connection() {
    let unexpected = |kind| Some(PeerMisbehaved::UnexpectedHandshakeMessage(kind).into());
    let (request, new): (&[u8], &[u8]) = (&[1], &[0, 4, 3, 7, 8, 9, 1]);
    for (client, server) in [(None, None), (None, Some(4)), (Some(3), None)] {
        for from_client in [true, false] {
            for (kind, body) in [(REQUEST, request), (NEW, new)] {
                let error = refused(setup(client, server), from_client, kind, body);
                assert_eq!(error, unexpected(kind), "{client:?} {server:?} {from_client}");
            }
        }
    }
    // Who sends with an empty ID asks for none, who has an empty one provides none.
    assert_eq!(refused(setup(Some(3), Some(0)), true, REQUEST, request), unexpected(REQUEST));
    assert_eq!(refused(setup(Some(0), Some(4)), false, REQUEST, request), unexpected(REQUEST));
    assert_eq!(refused(setup(Some(0), Some(4)), true, NEW, new), unexpected(NEW));
    assert_eq!(refused(setup(Some(3), Some(0)), false, NEW, new), unexpected(NEW));
    for from_client in [true, false] {
        let refused = |kind, body| refused(setup(Some(3), Some(4)), from_client, kind, body);
        assert_eq!(refused(REQUEST, request), None, "which is good");
        assert_eq!(refused(NEW, new), None, "which is good");
        assert_eq!(refused(NEW, &[0, 4, 3, 7, 8, 9, 2]), Some(InvalidMessage::IllegalValue.into()));
        assert_eq!(refused(NEW, &[0, 4, 4, 7, 8, 9, 1]), Some(InvalidMessage::Truncated.into()));
        assert_eq!(refused(REQUEST, &[1, 1]), Some(InvalidMessage::TrailingData.into()));
        assert_eq!(refused(REQUEST, &[]), Some(InvalidMessage::Truncated.into()));
    }
    assert_eq!(
        Error::from(PeerMisbehaved::UnexpectedHandshakeMessage(NEW)).alert(),
        Some(AlertDescription::UNEXPECTED_MESSAGE)
    );
}

/// A path takes so much, and an ID of the peer leaves nothing.
#[test]
fn ids_leave_room() {
    /// One ID of 80 bytes.
    const fn provided(usage: u8) -> [u8; 84] {
        let mut message = [7; 84];
        (message[0], message[1], message[2], message[83]) = (0, 81, 80, usage);
        message
    }
    static IMMEDIATE: [u8; 84] = provided(0);
    static SPARE: [u8; 84] = provided(1);
    let mut setup = setup(Some(3), Some(4));
    setup.client.edit_datagrams(|datagrams| datagrams.max_datagram = 99);
    assert_eq!(refused(setup.clone(), false, NEW, &SPARE), None);
    assert_eq!(refused(setup.clone(), false, NEW, &IMMEDIATE), Some(ApiMisuse::DatagramOutOfRange.into()));
    setup.client.edit_datagrams(|datagrams| datagrams.max_datagram = 120);
    assert_eq!(refused(setup, false, NEW, &IMMEDIATE), None);
}

/// The client asks twice at once. But while there are IDs under way, it may have taken those for the answer.
#[test]
fn impatience_ends_the_connection() {
    for provides in [false, true] {
        let mut setup = setup(Some(3), Some(4));
        setup.client.fault(Some(fault(|_, sent, bytes| {
            if sent == HandshakeType::KEY_UPDATE {
                *bytes = message(REQUEST, &[1]);
            }
        })));
        let (mut world, handle) = world_of(setup);
        if provides {
            world.endpoint.issue_connection_ids(handle, 1, ConnectionIdUsage::CidSpare, &mut world.rng).unwrap();
            world.answers(); // lost, so that no more can be provided yet
        }
        world.request(1).unwrap();
        world.clients[0].connection.update_keys(false).unwrap();
        for datagram in world.transmit(0) {
            world.hand_over(home(), datagram);
        }
        world.answers();
        let expected = if provides { vec![] } else { vec![PeerMisbehaved::UnexpectedHandshakeMessage(REQUEST).into()] };
        assert_eq!(failures(&world), expected);
    }
}

/// What is never acknowledged, because the client sleeps, keeps it from nothing once it is awake.
#[test]
fn a_client_that_sleeps_gets_all_when_it_wakes_up() {
    let (mut world, handle) = world();
    world.endpoint.issue_connection_ids(handle, 1, ConnectionIdUsage::CidSpare, &mut world.rng).unwrap();
    world.wait_in_vain();
    let server = world.endpoint.connection(handle).unwrap();
    assert!(server.is_connected());
    assert!(server.max_message() > 1_000, "nobody was there to say that it is too much");
    world.wait(3_600_000);
    world.request(1).unwrap();
    for _ in 0..5 {
        world.run();
        world.pass(1_000);
    }
    assert_eq!(world.clients[0].connection.spare_connection_ids(), 2);
    world.endpoint.connection(handle).unwrap().update_keys(false).unwrap();
    world.run();
    assert_eq!(world.heard_by(handle, b"under new keys"), [0]);
}

/// A client that is there but acknowledges nothing does not get the same for ever.
#[test]
fn a_client_that_does_not_acknowledge_is_left_alone() {
    let (mut world, handle) = world();
    world.endpoint.issue_connection_ids(handle, 1, ConnectionIdUsage::CidSpare, &mut world.rng).unwrap();
    let mut sent = 0;
    for _ in 0..100 {
        for (_, mut datagram) in world.answers() {
            sent += 1;
            world.hand_to_client(0, &mut datagram);
        }
        let data = world.say(b"data").pop().expect("it is behind the ACKs");
        world.hand_over(home(), data);
        world.pass(10_000);
    }
    assert_eq!(sent, 8);
    assert_eq!(world.heard_by(handle, b"still well"), [0]);
}

/// A KeyUpdate that came ahead of another message is acknowledged, but not handled: what follows is under the keys before.
#[test]
fn keys_change_after_what_came_before() {
    let (mut world, handle) = world();
    world.endpoint.connection(handle).unwrap().request_connection_ids(1).unwrap();
    world.answers(); // lost
    world.endpoint.connection(handle).unwrap().update_keys(false).unwrap();
    for (_, mut datagram) in world.answers() {
        world.hand_to_client(0, &mut datagram);
    }
    for datagram in world.transmit(0) {
        world.hand_over(home(), datagram);
    }
    world.answer(handle, b"in between");
    let (_, mut data) = world.answers().pop().expect("it is behind what is sent again");
    world.hand_to_client(0, &mut data);
    assert_eq!(world.clients[0].received, [b"in between"]);
    world.pass(1_000);
    world.run();
    assert_eq!(world.heard_by(handle, b"afterwards"), [0]);
    world.endpoint.connection(handle).unwrap().update_keys(false).unwrap();
}
