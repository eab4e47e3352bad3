//! Early data over DTLS: with loss, and where a ticket stands for the cookie.

use core::net::SocketAddr;

use terse_testkit::datagrams::{DatagramPair, Fate};
use terse_testkit::identity;
use terse_testkit::pki::{NOW, server_address};
use terse_testkit::rng::SeededRng;
use terse_tls::identity::KnownPeers;
use terse_tls::{Datagrams, Endpoint, EndpointEvent, EndpointLimits};

use super::*;

fn in_datagrams(mut world: World) -> World {
    world.client.datagrams(Datagrams::default());
    world.server.datagrams(Datagrams::default());
    world
}

impl World {
    fn datagram_pair(&mut self, seconds: u64) -> DatagramPair {
        self.connections += 1;
        DatagramPair::at(&self.client_config(), &self.server_config(), self.connections, at(seconds))
    }
}

fn with_ticket() -> World {
    let mut world = in_datagrams(World::new(RISTRETTO255));
    world.datagram_pair(0).run_well().unwrap();
    assert_eq!(world.tickets.len(), 1);
    world
}

#[test]
fn is_accepted_in_the_first_flight() {
    for algorithm in IdentityAlgorithm::ALL {
        let mut world = in_datagrams(World::new(algorithm));
        world.datagram_pair(0).run_well().unwrap();
        let mut pair = world.datagram_pair(1);
        assert_eq!(pair.client.send_early_data(DATA), Ok(DATA.len()));
        pair.run_well().unwrap();
        assert_eq!(pair.early_data, [DATA]);
        check_accepted([&pair.client, &pair.server], EarlyDataProtection::Ticket);
    }
}

/// Each datagram is lost, comes twice, or comes late: the handshake completes, and early data comes once or not at all.
#[test]
fn with_each_datagram_lost_doubled_or_delayed() {
    let fates: [fn(&terse_testkit::datagrams::Datagram) -> Fate; 3] = [
        |_| Vec::new(),
        |datagram| [datagram.arrives(), datagram.arrives()].concat(),
        |datagram| datagram.arrives_after(3000),
    ];
    for fate in fates {
        for number in 0..6 {
            for side in Side::BOTH {
                let mut world = with_ticket();
                let mut pair = world.datagram_pair(1);
                assert_eq!(pair.client.send_early_data(DATA), Ok(DATA.len()));
                let is_chosen =
                    |datagram: &terse_testkit::datagrams::Datagram| datagram.from == side && datagram.number == number;
                pair.run(|datagram| if is_chosen(datagram) { fate(datagram) } else { datagram.arrives() }).unwrap();
                assert!(pair.client.is_connected() && pair.server.is_connected(), "{side:?} {number}");
                assert!(pair.early_data.len() <= 1, "{side:?} {number}: {:?}", pair.early_data);
                assert!(pair.early_data.iter().all(|data| data == DATA));
                assert_eq!(world.tickets.len(), 1, "the ticket was taken, and there is a new one");
            }
        }
    }
}

/// A client and an endpoint, which anybody can reach.
struct Reached {
    status: EarlyDataStatus,
    events: Vec<EndpointEvent>,
    round_trips: u32,
}

const HOME: [u8; 4] = [192, 0, 2, 1];

fn reach(world: &mut World, endpoint: &mut Endpoint, seconds: u64, from: [u8; 4], port: u16) -> Reached {
    world.connections += 1;
    let (now, mut rng) = (at(seconds), SeededRng::new(world.connections));
    let mut client = Connection::client(world.client_config(), server_address(), now, &mut rng).unwrap();
    client.send_early_data(DATA).unwrap();
    let (address, mut buffer, mut events) = (SocketAddr::from((from, port)), [0; 2048], Vec::new());
    loop {
        let mut idle = true;
        while let Some(len) = client.poll_transmit(now, &mut buffer) {
            idle = false;
            endpoint.handle_datagram(now, &mut rng, address, &mut buffer[..len]);
        }
        while let Some((_, len)) = endpoint.poll_transmit(now, &mut buffer) {
            idle = false;
            client.handle_input(now, &mut rng, &mut buffer[..len]).unwrap();
        }
        while let Some((_, event)) = endpoint.poll_event() {
            events.push(event);
        }
        if idle {
            assert!(client.is_connected());
            let summary = client.summary();
            return Reached { status: summary.early_data, events, round_trips: summary.round_trips };
        }
    }
}

fn endpoint(world: &World, limits: EndpointLimits) -> Endpoint {
    Endpoint::new(world.server_config(), limits, &mut SeededRng::new(1)).unwrap()
}

fn early() -> EndpointEvent {
    EndpointEvent::EarlyData(DATA.into())
}

/// A server with cookies takes early data from a client that comes back with a ticket to where it got it, without asking
/// for a cookie.
#[test]
fn a_ticket_proves_the_address_that_it_was_made_for() {
    let mut world = in_datagrams(World::new(RISTRETTO255));
    let mut endpoint = endpoint(&world, EndpointLimits::default());
    let first = reach(&mut world, &mut endpoint, 0, HOME, 4000);
    assert_eq!((first.status, first.round_trips), (EarlyDataStatus::None, 2));
    let again = reach(&mut world, &mut endpoint, 1, HOME, 4001);
    assert_eq!((again.status, again.round_trips), (EarlyDataStatus::Accepted, 0));
    assert_eq!(again.events, [early(), EndpointEvent::Connected]);
    // From another address there is a cookie, and so no early data.
    let elsewhere = reach(&mut world, &mut endpoint, 2, [192, 0, 2, 77], 4000);
    assert_eq!((elsewhere.status, elsewhere.round_trips), (EarlyDataStatus::Rejected, 2));
    assert_eq!(elsewhere.events, [EndpointEvent::Connected]);
}

/// A flight that comes again, from the same address or another, is answered with a cookie and delivers nothing.
#[test]
fn a_ticket_proves_an_address_once() {
    let mut world = in_datagrams(World::new(RISTRETTO255));
    let mut endpoint = endpoint(&world, EndpointLimits::default());
    reach(&mut world, &mut endpoint, 0, HOME, 4000);
    let (now, mut rng) = (at(1), SeededRng::new(9));
    let mut client = Connection::client(world.client_config(), server_address(), now, &mut rng).unwrap();
    client.send_early_data(DATA).unwrap();
    let (mut buffer, mut flight) = ([0; 2048], Vec::new());
    while let Some(len) = client.poll_transmit(now, &mut buffer) {
        flight.push(buffer[..len].to_vec());
    }
    let mut send = |from: SocketAddr| {
        for datagram in &flight {
            endpoint.handle_datagram(now, &mut rng, from, &mut datagram.clone());
        }
        core::iter::from_fn(|| endpoint.poll_event()).map(|(_, event)| event).collect::<Vec<_>>()
    };
    assert_eq!(send(SocketAddr::from((HOME, 4001))), [early()]);
    for from in [(HOME, 4001), (HOME, 4002), ([192, 0, 2, 77], 4000)] {
        assert_eq!(send(SocketAddr::from(from)), [], "{from:?}");
    }
    assert_eq!(endpoint.counters().tickets_spent, 1);
}

/// Somebody who has seen a ticket can spend it as a proof of the address once, which delivers nothing, and the client then
/// connects with a cookie.
#[test]
fn a_stolen_ticket_costs_the_client_a_round_trip() {
    let mut world = in_datagrams(World::new(RISTRETTO255));
    let mut endpoint = endpoint(&world, EndpointLimits::default());
    reach(&mut world, &mut endpoint, 0, HOME, 4000);
    let store = world.of_client.store();
    let copy = Arc::new(KnownPeers::from_snapshot(4, &store.snapshot()).unwrap());
    let (now, mut rng, mut buffer) = (at(1), SeededRng::new(9), [0; 2048]);
    let thief =
        World { of_client: world.of_client.clone().known_peers(copy), ..in_datagrams(World::new(RISTRETTO255)) };
    let mut hello = Connection::client(thief.client_config(), server_address(), now, &mut rng).unwrap();
    let len = hello.poll_transmit(now, &mut buffer).unwrap();
    buffer[13 + 12 + 2] ^= 1; // of the random value: it is no client of ours
    endpoint.handle_datagram(now, &mut rng, SocketAddr::from((HOME, 4009)), &mut buffer[..len]);
    assert_eq!((endpoint.counters().tickets_spent, world.tickets.len()), (1, 1));
    let honest = reach(&mut world, &mut endpoint, 2, HOME, 4001);
    assert_eq!((honest.status, honest.events), (EarlyDataStatus::Rejected, vec![EndpointEvent::Connected]));
}

/// At first contact a server with cookies rejects early data, unless it lets a few in every second.
#[test]
fn at_first_contact_a_few_are_let_in_every_second() {
    let mut world = in_datagrams(World::new(RISTRETTO255));
    let key = IdentityKeys::shared(RISTRETTO255).server.clone();
    let stranger = |world: &mut World| {
        let known = KnownPeers::new(4);
        known.provide(key.parameters().authority(), &identity::server(), key.public_part());
        world.of_client = world.of_client.clone().known_peers(Arc::new(known)).first_contact(MAX_SIZE);
    };
    let memory = Arc::new(FirstContactMemory::trusting_clock(8, NOW - 100));
    world.of_server = world.of_server.clone().first_contact(memory);
    let mut cautious = endpoint(&world, EndpointLimits::default());
    stranger(&mut world);
    assert_eq!(reach(&mut world, &mut cautious, 0, HOME, 4000).status, EarlyDataStatus::Rejected);
    let mut open = endpoint(&world, EndpointLimits::default().first_contacts_per_second(2));
    for (second, expected) in [
        (1, [EarlyDataStatus::Accepted, EarlyDataStatus::Accepted, EarlyDataStatus::Rejected]),
        (2, [EarlyDataStatus::Accepted, EarlyDataStatus::Accepted, EarlyDataStatus::Rejected]),
    ] {
        for (port, expected) in (4000..).zip(expected) {
            stranger(&mut world);
            let reached = reach(&mut world, &mut open, second, [192, 0, 2, second as u8], port);
            assert_eq!(reached.status, expected, "{second} {port}");
            let events = if expected == EarlyDataStatus::Accepted { 2 } else { 1 };
            assert_eq!(reached.events.len(), events);
        }
    }
}
