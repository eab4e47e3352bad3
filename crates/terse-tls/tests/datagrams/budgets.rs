//! What may be sent to an address that is not proven: three times what came from there, of which each byte counts once and
//! only if it brought something; and that nobody waits meanwhile.

use core::net::SocketAddr;

use terse_testkit::setup::Setup;
use terse_tls::{
    AddressChange, ApiMisuse, ConnectionHandle, ContentType, Datagrams, EndpointEvent, EndpointLimits, Error,
    ProtocolVersion,
};

use super::modes::PROVIDER;
use super::world::{World, address, setup_of, sized};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3];

/// A fatal alert, as anybody can make it.
const FORGED_ALERT: [u8; 15] = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40];

fn old() -> SocketAddr {
    address(1, 4000)
}

fn new() -> SocketAddr {
    address(1, 5000)
}

/// A client, whose address may change without a check, and another one.
fn two_clients(version: ProtocolVersion) -> (World, [ConnectionHandle; 2]) {
    let setup = setup_of(version, Datagrams::default().connection_id(Some(4)));
    let limits = EndpointLimits::default().address_change(AddressChange::Limited);
    let mut world = World::new(setup, limits);
    let (_, first) = world.connected(old());
    let (_, second) = world.connected(address(2, 4000));
    (world, [first, second])
}

#[test]
fn messages_that_cannot_go_to_an_unproven_address_are_refused_at_once() {
    for version in VERSIONS {
        let (mut world, [moved, other]) = two_clients(version);
        world.say_from(new(), b"I am here now");
        let mut taken = 0;
        let refused = loop {
            match world.endpoint.send(moved, &[7; 1000]) {
                Ok(()) => taken += 1000,
                Err(error) => break error,
            }
            world.answers();
            assert!(taken < 1 << 20, "what waits is bounded");
        };
        assert_eq!(refused, Error::ApiMisuse(ApiMisuse::SendBufferFull));
        assert_eq!(world.endpoint.counters().messages_refused, 1);
        world.endpoint.send(other, b"and you?").unwrap();
        world.run();
        assert_eq!(world.clients[1].received, [b"and you?"], "{version:?}");
        world.clients[0].path = new().into();
        world.endpoint.confirm_address(moved);
        world.run();
        assert_eq!(world.clients[0].received.iter().map(Vec::len).sum::<usize>(), taken, "what was taken, waited");
        world.endpoint.send(moved, b"welcome").unwrap();
    }
}

/// RFC 9853, 2: what was discarded does not count. What stands beside it in a datagram does.
#[test]
fn junk_in_a_datagram_costs_no_record_its_credit() {
    for version in VERSIONS {
        let (mut world, [moved, _]) = two_clients(version);
        world.say_from(new(), b"I am here now");
        world.answers();
        for _ in 0..8 {
            world.answer(moved, &[7; 100]);
        }
        let mut came = 0;
        let mut went = 0;
        for _ in 0..40 {
            let datagram = world.say(b"still here").remove(0);
            came += datagram.len();
            world.hand_over(new(), [&FORGED_ALERT[..], &datagram].concat());
            went += world.answers().iter().map(|(_, datagram)| datagram.len()).sum::<usize>();
            assert!(went <= 3 * (came + 64), "{went} B for {came} B");
        }
        assert!(went > 8 * 100, "all of it has gone: {went} B");
        assert_eq!(world.endpoint.connection(moved).unwrap().summary().dropped.total(), 40);

        // Junk alone moves nothing.
        for _ in 0..8 {
            world.answer(moved, &[7; 1000]);
        }
        world.answers();
        for _ in 0..40 {
            world.hand_over(new(), FORGED_ALERT.repeat(7));
            assert_eq!(world.answers(), []);
        }
    }
}

/// A client names the address of a victim, sees what is sent there, and shows elsewhere that it has the keys. What anybody
/// can send from the victim's address then proves nothing.
#[test]
fn what_is_authentic_proves_the_address_that_it_came_from() {
    let limits = EndpointLimits::default().require_cookie(false);
    let settings = Datagrams::default().max_datagram(200).connection_id(Some(4));
    let proven_by = |from: SocketAddr| {
        let mut world = World::new(setup_of(ProtocolVersion::TLS_1_3, settings), limits);
        let client = world.client(old());
        let (mut came, mut went) = (0, 0);
        for hello in world.transmit(client) {
            came += hello.len();
            world.hand_over(old(), hello);
        }
        for (to, mut datagram) in world.answers() {
            went += datagram.len();
            assert_eq!(to, old());
            world.hand_to_client(client, &mut datagram);
        }
        world.pass(250);
        let acks = world.transmit(client);
        assert!(!acks.is_empty() && acks.iter().all(|ack| ack[0] >> 5 == 0b001), "protected records of DTLS 1.3");
        for ack in acks {
            came += if from == old() { ack.len() } else { 0 };
            world.hand_over(from, ack);
        }
        came += FORGED_ALERT.len();
        world.hand_over(old(), FORGED_ALERT.to_vec());
        went += world.answers().iter().map(|(_, datagram)| datagram.len()).sum::<usize>();
        (came, went)
    };
    let (came, went) = proven_by(new());
    assert!(went <= 3 * came, "{went} B for {came} B");
    let (came, went) = proven_by(old());
    assert!(went > 3 * came, "who has the keys is there: {went} B for {came} B");
}

/// Somebody names the address of a victim in a copy of a record, and sends the connection's first ClientHello again from where
/// it began: those bytes did not come from the victim.
#[test]
fn a_repeated_hello_is_no_credit_for_the_address_moved_to() {
    for version in VERSIONS {
        let mut world =
            World::new(setup_of(version, Datagrams::default().connection_id(Some(4))), EndpointLimits::default());
        let (client, handle) = world.connected(old());
        let is_hello = |datagram: &&Vec<u8>| datagram[0] == ContentType::HANDSHAKE.0 && datagram[13] == 1;
        let hello = world.clients[client].sent.iter().rfind(is_hello).expect("the one with the cookie").clone();
        let datagram = world.say(b"I am here now").remove(0);
        let came = datagram.len();
        world.hand_over(new(), datagram);
        world.answer(handle, &[7; 1000]);
        for _ in 0..10 {
            world.hand_over(old(), hello.clone());
        }
        let sent = world.answers();
        let went: usize = sent.iter().filter(|(to, _)| *to == new()).map(|(_, datagram)| datagram.len()).sum();
        assert!(went <= 3 * came, "{version:?}: {went} B for {came} B");
    }
}

/// A ClientHello in fragments, from an attacker who names the address of a victim and repeats what brings nothing new.
#[test]
fn of_a_first_message_each_byte_counts_once() {
    type Disturb<'a> = &'a dyn Fn(&mut World, &[Vec<u8>], &[u8]) -> usize;
    let attack = |disturb: Disturb<'_>| {
        let limits = EndpointLimits::default().require_cookie(false);
        let setup = sized(200, None);
        let mut whole = World::new(sized(1232, None), limits);
        let mut world = World::new(setup, limits);
        let victim = whole.client(old());
        let hello = whole.transmit(victim).remove(0);
        let fragments = in_fragments(&hello);
        let came = disturb(&mut world, &fragments, &hello);
        let went: usize = world.answers().iter().map(|(_, datagram)| datagram.len()).sum();
        (came, went)
    };
    let feed = |world: &mut World, datagrams: &[&Vec<u8>]| {
        datagrams.iter().for_each(|datagram| world.hand_over(old(), datagram.to_vec()));
    };
    // What would count, each byte once.
    let (fair, most) = attack(&|world, fragments, _| {
        feed(world, &fragments.iter().collect::<Vec<_>>());
        fragments.iter().map(Vec::len).sum()
    });
    assert!(most > 0 && most <= 3 * fair, "{most} B for {fair} B");
    // The first fragment again and again.
    let (_, went) = attack(&|world, fragments, _| {
        for _ in 0..50 {
            feed(world, &[&fragments[0]]);
        }
        feed(world, &fragments[1..].iter().collect::<Vec<_>>());
        0
    });
    assert!(went <= 3 * fair, "{went} B for {fair} B");
    // A fragment that waits, while the whole message comes twenty times in the same datagram as nothing.
    let (came, went) = attack(&|world, fragments, hello| {
        feed(world, &[&fragments[0]]);
        let hello = hello.to_vec();
        feed(world, &[&hello; 20]);
        feed(world, &fragments[1..].iter().collect::<Vec<_>>());
        20 * hello.len() + fragments.iter().map(Vec::len).sum::<usize>()
    });
    assert!(went <= 3 * came, "{went} B for {came} B");
    // Fragments and the whole message in one datagram.
    let (came, went) = attack(&|world, fragments, hello| {
        let datagram = [&fragments[0], hello].concat();
        feed(world, &[&datagram]);
        feed(world, &fragments[1..].iter().collect::<Vec<_>>());
        datagram.len() + fragments[1..].iter().map(Vec::len).sum::<usize>()
    });
    assert!(went <= 3 * came, "{went} B for {came} B");
}

/// A ClientHello in one record, as two records that each carry half of it.
fn in_fragments(hello: &[u8]) -> Vec<Vec<u8>> {
    let (record, message) = hello.split_at(13);
    let (header, body) = message.split_at(12);
    let half = body.len() / 2;
    let fragment = |number: u8, offset: usize, part: &[u8]| {
        let mut record = record.to_vec();
        record[10] += number; // the low byte of the record's number
        record[11..13].copy_from_slice(&((12 + part.len()) as u16).to_be_bytes());
        let place = [&(offset as u32).to_be_bytes()[1..], &(part.len() as u32).to_be_bytes()[1..]].concat();
        [&record[..], &header[..6], &place, part].concat()
    };
    vec![fragment(0, 0, &body[..half]), fragment(1, half, &body[half..])]
}

#[test]
fn first_messages_that_are_too_long_are_counted() {
    let mut world = World::new(sized(1232, None), EndpointLimits::default());
    let client = world.client(old());
    let hello = world.transmit(client).remove(0);
    let mut too_long = in_fragments(&hello).remove(0);
    too_long[13 + 1..13 + 4].copy_from_slice(&[0, 0x10, 0x01]); // one byte more than 4,096
    world.hand_over(old(), too_long);
    let body = vec![0; 4_097];
    let length = &(body.len() as u32).to_be_bytes()[1..];
    let record = [&hello[..11], &((12 + body.len()) as u16).to_be_bytes()].concat();
    world.hand_over(old(), [&record[..], &hello[13..14], length, &hello[17..19], &[0; 3], length, &body].concat());
    assert_eq!(world.answers(), []);
    let counters = world.endpoint.counters();
    assert_eq!((counters.hellos_too_long, counters.malformed, counters.cookies_sent), (2, 0, 0));
}

/// Without that an application would keep the early data for ever.
#[test]
fn the_application_hears_when_early_data_is_of_no_connection_any_more() {
    let mutual = Setup::mutual(PROVIDER, PROVIDER, "p256x3").over(ProtocolVersion::TLS_1_3, Datagrams::default());
    let setup = mutual.with_frozen_stateful_session(b"22.5 C");
    let limits = EndpointLimits::default().require_cookie(false).max_half_open(1);
    let mut world = World::new(setup, limits);
    let mut early = Vec::new();
    for port in 1..4 {
        let client = world.client(address(1, port));
        world.clients[client].connection.send_early_data(b"22.5 C").unwrap();
        for datagram in world.transmit(client) {
            world.hand_over(address(1, port), datagram);
        }
        world.answers(); // which nobody gets
        early.append(&mut world.events);
    }
    let of = |wanted: fn(&EndpointEvent) -> bool| -> Vec<ConnectionHandle> {
        early.iter().filter(|(_, event)| wanted(event)).map(|(handle, _)| *handle).collect()
    };
    let told = of(|event| matches!(event, EndpointEvent::EarlyData(_)));
    let evicted = of(|event| *event == EndpointEvent::Evicted);
    assert_eq!(told.len(), 3, "{early:?}");
    assert_eq!(evicted, told[..2], "{early:?}");
}
