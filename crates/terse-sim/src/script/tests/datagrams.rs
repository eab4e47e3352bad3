//! Scripts over UDP.

use super::{DATAGRAMS, PORT, World, address, constrained, handshake, seconds, slow};
use crate::host::Host;
use crate::link::Link;
use crate::script::{Outcome, Party, Peer};
use crate::tcp::{Config, Nagle};
use crate::{Random, Time};

fn world(link: Link, seed: u64) -> World {
    World::new(&handshake(DATAGRAMS), constrained(Nagle::On), link, seed)
}

fn sent(world: &World, party: Party) -> Vec<(u64, usize)> {
    world.node(party).sent.iter().map(|(at, len)| (at.as_millis(), *len)).collect()
}

fn repeated(world: &World, party: Party) -> u32 {
    world.peer(party).outcome().map_or(0, |outcome| outcome.repeated_flights)
}

/// Returns a world over a slow link in which these packets are lost.
fn losing(client: &[usize], server: &[usize]) -> World {
    let mut world = world(slow(), 1);
    let (client_id, server_id) = (world.client, world.server);
    world.network.node_mut(client_id).lost.extend(client);
    world.network.node_mut(server_id).lost.extend(server);
    world.run();
    world.connected(&format!("lost {client:?} of the client, {server:?} of the server"));
    // Repetitions that are still under way.
    world.network.run_for(seconds(300));
    world
}

#[test]
fn flights_follow_each_other() {
    let mut world = world(slow(), 1);
    world.run();
    assert_eq!(world.connected("a slow link"), (Time::from_millis(2300), Time::from_millis(2250)));
    world.network.run_for(seconds(300));
    assert_eq!(sent(&world, Party::Client), [(0, 100), (100, 132), (2200, 525), (2200, 173)]);
    assert_eq!(sent(&world, Party::Server), [(50, 60), (150, 525), (150, 318), (2250, 75)]);
    assert_eq!((repeated(&world, Party::Client), repeated(&world, Party::Server)), (0, 0));
}

/// The server keeps nothing of a client before the cookie came back, and has no timer for its HelloVerifyRequest.
#[test]
fn the_cookie_exchange_needs_no_state() {
    let world = losing(&[], &[0]);
    assert_eq!(sent(&world, Party::Client)[..3], [(0, 100), (3000, 100), (3100, 132)]);
    assert_eq!(sent(&world, Party::Server)[..3], [(50, 60), (3050, 60), (3150, 525)]);
    assert_eq!((repeated(&world, Party::Client), repeated(&world, Party::Server)), (1, 0));
    let mut world = self::world(slow(), 1);
    world.network.run_until(Time::from_millis(60));
    assert_eq!(world.peer(Party::Server).outcomes().count(), 0);
    world.network.run_until(Time::from_millis(160));
    assert_eq!(world.peer(Party::Server).outcomes().count(), 1);
}

/// The client's second timer is as long as its first, and twice as long after it has expired; what came of the server's
/// flight is kept.
#[test]
fn only_what_is_missing_is_needed_again() {
    // The server's flight is packets 1 and 2, then 3 and 4, then 5 and 6.
    let world = losing(&[], &[1, 4]);
    // The client repeats its flight after 3 s, the server answers that. Its own timer has started anew then.
    assert_eq!(sent(&world, Party::Client)[1..3], [(100, 132), (3100, 132)]);
    assert_eq!(sent(&world, Party::Server)[1..5], [(150, 525), (150, 318), (3150, 525), (3150, 318)]);
    assert_eq!(
        sent(&world, Party::Client)[3],
        (5200, 525),
        "the flight is complete: 525 of the second, 318 of the first"
    );

    let world = losing(&[], &[1, 3, 5]);
    assert_eq!(sent(&world, Party::Client)[1..4], [(100, 132), (3100, 132), (9100, 132)]);
    // The server's timer: 4 s from the last transmission at 3150.
    assert_eq!(sent(&world, Party::Server)[3], (3150, 525));
    assert_eq!(sent(&world, Party::Server)[5], (7150, 525));
}

/// A flight that was lost with its answer is repeated, and its answer with it, although the server is done.
#[test]
fn the_last_flight_is_repeated_on_demand() {
    let world = losing(&[], &[3, 4]);
    assert_eq!(
        sent(&world, Party::Client)[2..],
        [(2200, 525), (2200, 173), (5200, 525), (5200, 173), (11200, 525), (11200, 173)]
    );
    assert_eq!(sent(&world, Party::Server)[3..], [(2250, 75), (5250, 75), (11250, 75)]);
    assert_eq!((repeated(&world, Party::Client), repeated(&world, Party::Server)), (2, 2));
}

/// A server that is impatient repeats its flight while the client computes; the client then repeats its answer.
#[test]
fn an_impatient_server_costs_a_flight_each_way() {
    let text = DATAGRAMS.replace("seconds = 2.0", "seconds = 5.0");
    let mut world = World::new(&handshake(&text), constrained(Nagle::On), slow(), 1);
    world.run();
    world.network.run_for(seconds(300));
    assert_eq!(
        sent(&world, Party::Server)[1..],
        [(150, 525), (150, 318), (4150, 525), (4150, 318), (5250, 75), (5250, 75)]
    );
    assert_eq!(sent(&world, Party::Client)[2..], [(5200, 525), (5200, 173), (5200, 525), (5200, 173)]);
}

#[test]
fn every_datagram_may_be_lost() {
    let all = [(Party::Client, 4), (Party::Server, 4)];
    for (party, number) in all.into_iter().flat_map(|(party, count)| (0..count).map(move |number| (party, number))) {
        let world = match party {
            Party::Client => losing(&[number], &[]),
            Party::Server => losing(&[], &[number]),
        };
        let again = repeated(&world, Party::Client) + repeated(&world, Party::Server);
        // The most: the client asks for the server's flight again, which completes it; the rest of the repetition makes it
        // repeat its answer, and that the server its own.
        assert!((1..=4).contains(&again), "{party:?} {number}: {again} flights again");
    }
}

/// The replay window drops what the network doubles: nothing is sent again for it.
#[test]
fn every_datagram_may_come_twice() {
    for (party, number) in [Party::Client, Party::Server].into_iter().flat_map(|party| (0..4).map(move |n| (party, n)))
    {
        let mut world = world(slow(), 1);
        let id = if party == Party::Client { world.client } else { world.server };
        world.network.node_mut(id).doubled.push(number);
        world.run();
        assert_eq!(world.connected("doubled").0, Time::from_millis(2300), "{party:?} {number}");
        world.network.run_for(seconds(300));
        assert_eq!((repeated(&world, Party::Client), repeated(&world, Party::Server)), (0, 0), "{party:?} {number}");
        // The server has no state yet that could tell a first ClientHello from another.
        let twice = usize::from(party == Party::Client && number == 0);
        assert_eq!(
            world.sizes(Party::Client).len() + world.sizes(Party::Server).len(),
            8 + twice,
            "{party:?} {number}"
        );
    }
}

#[test]
fn all_complete_under_loss() {
    let mut again = 0;
    for seed in 0..200 {
        let link = Link::ieee802154().with_paths(|path| {
            path.loss = 0.05;
            path.duplication = 0.02;
            path.reordering = 0.02;
        });
        let mut world = world(link, seed);
        world.run();
        world.connected(&format!("seed {seed}"));
        again += repeated(&world, Party::Client) + repeated(&world, Party::Server);
    }
    // The link retries each frame three times, so that hardly any fragment is lost for good.
    assert_eq!(again, 0);
}

/// Without the link's retries 5 % of the fragments are lost: a third of the large flights.
#[test]
fn all_complete_without_retries() {
    use crate::link::Framing;
    let mut again = 0;
    for seed in 0..200 {
        let mut link = Link::ieee802154().with_paths(|path| path.loss = 0.05);
        if let Framing::Ieee802154(options) = &mut link.framing {
            options.retries = None;
        }
        let mut world = world(link, seed);
        world.run();
        world.connected(&format!("seed {seed}"));
        again += repeated(&world, Party::Client) + repeated(&world, Party::Server);
    }
    assert!((200..800).contains(&again), "{again} flights again in 200 handshakes");
}

/// Mbed TLS gives up when the timer expires at its greatest value: 3, 6, 12, 24, 48 and 60 s.
#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut world = world(slow(), 1);
    let id = world.link;
    world.network.change_link(id, |link| link.up.loss = 1.0);
    world.network.run_for(seconds(1000));
    let times: Vec<u64> = sent(&world, Party::Client).iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 3000, 9000, 21_000, 45_000, 93_000]);
    assert_eq!(world.peer(Party::Client).failure(), Some("the peer did not answer"));
}

#[test]
fn a_flight_that_does_not_fit_is_a_failure() {
    let text = DATAGRAMS.replace("bytes = 100", "bytes = 1500");
    let mut world = World::new(&handshake(&text), constrained(Nagle::On), slow(), 1);
    world.network.run_for(seconds(10));
    let failure = world.peer(Party::Client).failure().expect("it fails");
    assert_eq!(failure, "ClientHello: no datagram can be longer than 1452 bytes");
}

/// A server does its side with every client, each with its own timer.
#[test]
fn a_server_has_many_clients() {
    let mut world = world(slow(), 1);
    // Further clients are later programs of the same host, at other ports.
    let remote = std::net::SocketAddr::new(address(2), PORT);
    world.run();
    for run in 1..3 {
        let client = Peer::client(&handshake(DATAGRAMS), remote, &Config::linux(), super::CLIENT);
        let id = world.client;
        let host = Host::starting_at(address(1), client, Random::new(run, 200), world.network.now());
        let node = world.network.node_mut(id);
        node.host = host;
        crate::network::Node::attach(node, 0, 1500);
        world.run();
        world.connected("a later client");
    }
    let outcomes: Vec<&Outcome> = world.peer(Party::Server).outcomes().collect();
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.iter().all(|outcome| outcome.connected.is_some()));
}
