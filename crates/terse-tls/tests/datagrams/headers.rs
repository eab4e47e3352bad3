//! Clients behind a relay that has one address for all of them, and puts an opaque header before each datagram, as a
//! stateless join proxy does (draft-ietf-anima-constrained-join-proxy-20): the header tells them apart as addresses do.

use alloc::collections::VecDeque;

use terse_testkit::rng::{SeededRng, seeds};
use terse_tls::{
    AddressChange, ConnectionHandle, Datagrams, EndpointEvent, EndpointLimits, Path, ProtocolVersion, Undefended,
};

use super::modes::BOTH_VERSIONS;
use super::world::{World, address, setup_of};

/// Returns the path through the relay of these tests.
fn behind(header: &[u8]) -> Path {
    Path::new(address(7, 5684), header).unwrap()
}

fn world(version: ProtocolVersion, datagrams: Datagrams, limits: EndpointLimits) -> World {
    World::new(setup_of(version, datagrams), limits)
}

impl World {
    /// Returns the handle of the connection on a path.
    fn handle_of(&self, path: &Path) -> ConnectionHandle {
        let connected = self.events.iter().filter(|(_, event)| *event == EndpointEvent::Connected);
        let mut handles = connected.map(|(handle, _)| *handle);
        handles.find(|handle| self.endpoint.path(*handle) == Some(path)).expect("a connection on this path")
    }

    /// Checks that data arrives at its client, and nowhere else, in both directions.
    fn data_does_not_mix(&mut self) {
        for client in 0..self.clients.len() {
            let path = self.clients[client].path.clone();
            let handle = self.handle_of(&path);
            let said = format!("from {client}").into_bytes();
            self.clients[client].connection.send(&said).unwrap();
            self.run();
            assert_eq!(self.events.pop(), Some((handle, EndpointEvent::Data(said))));
            assert_eq!(self.heard_by(handle, format!("to {client}").as_bytes()), [client]);
        }
    }
}

/// The datagrams of both come in turns, so that fragments of two first messages are there at once.
#[test]
fn two_pledges_behind_one_proxy_do_not_mix() {
    for version in BOTH_VERSIONS {
        for max_datagram in [99, 1_232] {
            for connection_id in [None, Some(4)] {
                let datagrams = Datagrams::default().max_datagram(max_datagram).connection_id(connection_id);
                let mut world = world(version, datagrams, EndpointLimits::default());
                for header in [b"one", b"two"] {
                    world.client(behind(header));
                }
                let mut sent = [0, 1].map(|client| VecDeque::from(world.transmit(client)));
                while sent.iter().any(|sent| !sent.is_empty()) {
                    for (client, sent) in sent.iter_mut().enumerate() {
                        if let Some(datagram) = sent.pop_front() {
                            world.hand_over(world.clients[client].path.clone(), datagram);
                        }
                    }
                }
                world.run();
                world.data_does_not_mix();
                assert_eq!(world.endpoint.counters().cookies_sent, 2);
                assert_eq!(world.endpoint.connections(), (2, 0));
            }
        }
    }
}

/// No limit counts the connections at an address.
#[test]
fn many_pledges_join_through_one_proxy_at_once() {
    for version in BOTH_VERSIONS {
        let limits = EndpointLimits::default().max_half_open(50);
        let mut world = world(version, Datagrams::default().max_datagram(200), limits);
        for number in 0..50 {
            world.client(behind(&[number; 28]));
        }
        world.run();
        assert_eq!(world.endpoint.connections(), (50, 0));
        let counters = world.endpoint.counters();
        assert_eq!((counters.half_open_dropped, counters.hellos_dropped, counters.refused), (0, 0, 0));
    }
}

/// One in eight datagrams is lost, and a quarter of a pledge's comes after the others.
#[test]
fn pledges_connect_although_datagrams_are_lost_and_overtake_each_other() {
    for version in BOTH_VERSIONS {
        for seed in seeds(20) {
            // Quick enough that no cookie grows old.
            let datagrams = Datagrams::default().max_datagram(300).max_retransmissions(60).max_timeout(2_000);
            let mut world = world(version, datagrams, EndpointLimits::default());
            for header in [b"one", b"two"] {
                world.client(behind(header));
            }
            let mut dice = SeededRng::new(seed);
            for _ in 0..60 {
                while world.carry_badly(&mut dice) {}
                let timers = world.clients.iter().map(|client| client.connection.poll_timeout());
                let next = timers.chain([world.endpoint.poll_timeout()]).flatten().min();
                world.pass(next.map_or(0, |next| next.0.saturating_sub(world.now.monotonic.0)));
            }
            world.run();
            let is_connected = world.clients.iter().all(|client| client.connection.is_connected());
            assert!(is_connected, "{version} {seed}");
            world.data_does_not_mix();
        }
    }
}

impl World {
    /// Carries what is there, of which some is lost, and some comes late. Returns whether there was anything.
    fn carry_badly(&mut self, dice: &mut SeededRng) -> bool {
        let (mut late, mut is_idle) = (Vec::new(), true);
        for client in 0..self.clients.len() {
            for datagram in self.transmit(client) {
                is_idle = false;
                let path = self.clients[client].path.clone();
                match dice.below(8) {
                    0 => {}
                    1 | 2 => late.push((path, datagram)),
                    _ => self.hand_over(path, datagram),
                }
            }
        }
        late.into_iter().for_each(|(path, datagram)| self.hand_over(path, datagram));
        for (to, mut datagram) in self.answers() {
            is_idle = false;
            let client = self.clients.iter().position(|client| client.path == to).expect("one of the two");
            if dice.below(8) > 0 {
                self.hand_to_client(client, &mut datagram);
            }
        }
        !is_idle
    }
}

/// Returns the ClientHello with the cookie that the server sent to `client`.
fn with_cookie(world: &mut World, client: usize) -> Vec<u8> {
    for datagram in world.transmit(client) {
        world.hand_over(world.clients[client].path.clone(), datagram);
    }
    for (to, mut datagram) in world.answers() {
        assert_eq!(to, world.clients[client].path, "the answer has the same header");
        world.hand_to_client(client, &mut datagram);
    }
    world.transmit(client).remove(0)
}

#[test]
fn a_cookie_of_one_header_is_none_for_another() {
    let begins = |version, limits, from: Path| {
        let mut world = world(version, Datagrams::default(), limits);
        let client = world.client(behind(b"one"));
        let hello = with_cookie(&mut world, client);
        world.hand_over(from, hello);
        world.answers();
        world.endpoint.connections().0 == 1
    };
    let with = EndpointLimits::default();
    let without = with.undefended(Undefended { cookie: true, ..Undefended::default() });
    for version in BOTH_VERSIONS {
        assert!(begins(version, with, behind(b"one")));
        let elsewhere = Path::new(address(7, 5685), b"one").unwrap();
        for other in [behind(b"two"), behind(b"one\0"), behind(b"on"), behind(b""), elsewhere] {
            assert!(!begins(version, with, other.clone()), "{version} {other}");
            assert!(begins(version, without, other.clone()), "{version} {other}, with any cookie");
        }
    }
}

/// Fragments of one message that come with two headers are no message.
#[test]
fn fragments_with_two_headers_do_not_meet() {
    for version in BOTH_VERSIONS {
        let mut world = world(version, Datagrams::default().max_datagram(99), EndpointLimits::default());
        let client = world.client(behind(b"one"));
        let fragments = world.transmit(client);
        assert!(fragments.len() >= 2);
        for (number, fragment) in fragments.into_iter().enumerate() {
            world.hand_over(behind(&[number as u8 % 2]), fragment);
        }
        assert_eq!(world.answers(), []);
    }
}

/// Without cookies, what came with one header allows nothing to be sent with another.
#[test]
fn each_header_is_sent_three_times_what_came_with_it() {
    for version in BOTH_VERSIONS {
        let mut world = world(version, Datagrams::default(), EndpointLimits::default().require_cookie(false));
        let client = world.client(behind(b"one"));
        let hello = world.transmit(client).remove(0);
        for _ in 0..5 {
            world.hand_over(behind(b"one"), hello.clone());
        }
        world.hand_over(behind(b"two"), hello.clone());
        let answers = world.answers();
        let sent = |header| -> usize {
            answers.iter().filter(|(to, _)| *to == behind(header)).map(|(_, datagram)| datagram.len()).sum()
        };
        let (one, two) = (sent(b"one"), sent(b"two"));
        assert!(one > 3 * hello.len() && two <= 3 * hello.len(), "{one} and {two} for {}", hello.len());
    }
}

#[test]
fn the_longest_header_works_and_an_empty_one_is_the_address() {
    for version in BOTH_VERSIONS {
        let mut world = world(version, Datagrams::default(), EndpointLimits::default());
        let plain = address(7, 5684);
        for path in [behind(&[7; 64]), plain.into()] {
            world.client(path);
        }
        assert_eq!(Path::new(plain, &[7; 65]), None);
        world.run();
        world.data_does_not_mix();
        // A datagram with an empty header is one without.
        let handle = world.handle_of(&plain.into());
        world.clients[1].connection.send(b"again").unwrap();
        for datagram in world.transmit(1) {
            world.hand_over(behind(b""), datagram);
        }
        world.answers();
        assert_eq!(world.events.pop(), Some((handle, EndpointEvent::Data(b"again".to_vec()))));
        assert_eq!(world.endpoint.address(handle), Some(plain));
    }
}

#[test]
fn a_pledge_that_begins_anew_replaces_its_own_connection() {
    for version in BOTH_VERSIONS {
        let mut world = world(version, Datagrams::default(), EndpointLimits::default());
        let (one, two) = (world.connected(behind(b"one")), world.connected(behind(b"two")));
        world.clients.remove(one.0);
        world.client(behind(b"one"));
        world.run();
        assert_eq!(world.events[0], (one.1, EndpointEvent::Replaced));
        assert_eq!(world.heard_by(two.1, b"still there"), [0]);
        assert_eq!(world.endpoint.connections(), (2, 0));
    }
}

/// The relay has another key, so that its headers are others. A connection ID finds the connection, and the new header is
/// checked as a new address is.
#[test]
fn a_pledge_whose_header_changes_is_asked_and_then_believed() {
    for version in BOTH_VERSIONS {
        for connection_id in [Some(4), None] {
            let datagrams = Datagrams::default().connection_id(connection_id);
            let mut world = world(version, datagrams, EndpointLimits::default());
            let (_, handle) = world.connected(behind(b"old"));
            world.clients[0].path = behind(b"new");
            let datagrams = world.say(b"I am here now");
            datagrams.into_iter().for_each(|datagram| world.hand_over(behind(b"new"), datagram));
            if connection_id.is_none() {
                assert_eq!(world.answers(), []);
                assert_eq!(world.endpoint.counters().unknown_address, 1);
                continue;
            }
            let challenges = world.answers();
            let to: Vec<_> = challenges.iter().map(|(to, _)| to.clone()).collect();
            assert_eq!(to, [behind(b"old"), behind(b"new")], "a challenge each");
            assert_eq!(world.events.pop(), Some((handle, EndpointEvent::Data(b"I am here now".to_vec()))));
            world.hand_to_client(0, &mut challenges[1].1.clone());
            world.run();
            world.pass(1_000);
            world.run();
            let changed = EndpointEvent::AddressChanged { from: behind(b"old"), to: behind(b"new") };
            assert_eq!(world.events.pop(), Some((handle, changed)));
            assert_eq!(world.endpoint.path(handle), Some(&behind(b"new")));
            assert_eq!(world.heard_by(handle, &[7; 1000]), [0]);
        }
    }
}

/// A relay, or somebody behind it, sends copies of a pledge's records with another header, and is faster.
#[test]
fn a_copy_with_another_header_moves_nobody() {
    for version in BOTH_VERSIONS {
        let attack = |undefended| {
            let limits = EndpointLimits::default().undefended(undefended);
            let mut world = world(version, Datagrams::default().connection_id(Some(4)), limits);
            let (_, handle) = world.connected(behind(b"pledge"));
            let datagram = world.say(b"seen").remove(0);
            world.hand_over(behind(b"thief"), datagram.clone());
            world.hand_over(behind(b"pledge"), datagram);
            // The attacker hands on what comes, as it would be rid of the old path's answer otherwise.
            for _ in 0..4 {
                for (_, mut datagram) in world.answers() {
                    world.hand_to_client(0, &mut datagram);
                }
                for datagram in world.transmit(0) {
                    world.hand_over(behind(b"thief"), datagram.clone());
                    world.hand_over(behind(b"pledge"), datagram);
                }
                world.pass(1_000);
            }
            world.endpoint.path(handle) == Some(&behind(b"thief"))
        };
        assert!(!attack(Undefended::default()), "{version}");
        assert!(attack(Undefended { old_path: true, ..Undefended::default() }), "{version}");
    }
}

/// Where nothing moves, another header is refused as another address is.
#[test]
fn a_header_that_changes_is_refused_where_addresses_do_not_change() {
    for version in BOTH_VERSIONS {
        let limits = EndpointLimits::default().address_change(AddressChange::Refuse);
        let mut world = world(version, Datagrams::default().connection_id(Some(4)), limits);
        let (_, handle) = world.connected(behind(b"old"));
        world.say_from(behind(b"new"), b"I am here now");
        world.answers();
        assert_eq!(world.endpoint.path(handle), Some(&behind(b"old")));
        assert_eq!(world.endpoint.counters().other_address, 1);
    }
}
