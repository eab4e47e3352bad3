//! Scripts over TCP.

use core::time::Duration;

use terse_testkit::rng::seeds;

use super::{STREAM, World, constrained, handshake, slow};
use crate::link::{Direction, Link};
use crate::script::Party;
use crate::tcp::{Config, Nagle};
use crate::{Time, tcp};

fn world(configs: [Config; 2], link: Link, seed: u64) -> World {
    World::new(&handshake(STREAM), configs, link, seed)
}

/// Without Nagle's algorithm each record is a segment, sent when everything before it is done.
#[test]
fn each_record_is_a_write_of_its_own() {
    let mut world = world(constrained(Nagle::Off), slow(), 1);
    world.run();
    let (client, server) = world.connected("a slow link");
    let sent = |party| -> Vec<(u64, usize)> {
        world.node(party).sent.iter().map(|(at, len)| (at.as_millis(), *len)).collect()
    };
    // SYN, SYN-ACK, then the flights: 50 ms each way.
    assert_eq!(sent(Party::Client), [(100, 78), (700, 422), (1700, 59), (1700, 6), (1700, 45)]);
    assert_eq!(sent(Party::Server), [(150, 92), (150, 422), (150, 9), (2000, 6), (2000, 45)]);
    assert_eq!((client, server), (Time::from_millis(2050), Time::from_millis(2000)));
    assert_eq!(world.peer(Party::Client).outcome().unwrap().began, Some(Time::ZERO));
}

/// With it, everything after the first record waits for an acknowledgement.
#[test]
fn nagle_joins_records() {
    let mut world = world(constrained(Nagle::On), slow(), 1);
    world.run();
    world.connected("a slow link");
    assert_eq!(world.sizes(Party::Client), [78, 422, 59, 51]);
    assert_eq!(world.sizes(Party::Server), [92, 431, 6, 45]);
}

/// A record that does not fit into the send buffer is sent in parts, and the script waits meanwhile.
#[test]
fn a_small_buffer_holds_the_script_up() {
    let mut configs = constrained(Nagle::Off);
    configs[0].send_buffer = 100;
    let mut world = world(configs, slow(), 1);
    world.run();
    world.connected("a small buffer");
    let sent: usize = world.sizes(Party::Client).iter().sum();
    assert_eq!(sent, 78 + 422 + 59 + 6 + 45);
    assert_eq!(world.sizes(Party::Client)[..6], [78, 100, 100, 100, 100, 22]);
}

#[test]
fn every_packet_may_be_lost_or_doubled() {
    for party in [Party::Client, Party::Server] {
        for (number, doubled) in (0..14).flat_map(|number| [(number, false), (number, true)]) {
            let mut world = world(constrained(Nagle::Off), Link::ieee802154(), 1);
            let id = if party == Party::Client { world.client } else { world.server };
            let node = world.network.node_mut(id);
            if doubled {
                node.doubled.push(number)
            } else {
                node.lost.push(number)
            }
            world.run();
            world.connected(&format!("{party:?}, packet {number}, doubled: {doubled}"));
        }
    }
}

#[test]
fn all_complete_under_loss() {
    for (seed, nagle) in seeds(200).flat_map(|seed| [(seed, Nagle::On), (seed, Nagle::Off)]) {
        let link = Link::ieee802154().with_paths(|path| path.loss = 0.05);
        let mut world = world(constrained(nagle), link, seed);
        world.run();
        world.connected(&format!("seed {seed}, {nagle:?}"));
    }
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let run = |seed| {
        let link = Link::ieee802154().with_paths(|path| path.loss = 0.2);
        let mut world = world(constrained(Nagle::Off), link, seed);
        world.run();
        (world.node(Party::Client).sent.clone(), world.connected("20 % loss"))
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// A peer that follows another script has failed, and is told so.
#[test]
fn another_script_is_noticed() {
    use crate::script::{Handshake, Peer};
    let other: Handshake = handshake(&STREAM.replace("bytes = 422", "bytes = 421"));
    let mut world = world(constrained(Nagle::Off), slow(), 1);
    let server = Peer::server(&other, super::PORT, &tcp::Config::linux(), super::SERVER);
    let id = world.server;
    world.network.node_mut(id).host.application = server;
    world.run();
    let failure = world.peer(Party::Client).failure().expect("it fails");
    assert_eq!(failure, "the peer sent 421 bytes in the place of Certificate, 422 bytes");
}

#[test]
fn a_connection_that_fails_is_a_failure() {
    let mut world = world(constrained(Nagle::Off), slow(), 1);
    let id = world.link;
    world.network.run_until(Time::from_millis(120));
    world.network.change_link(id, |link| link.down.loss = 1.0);
    world.network.run_for(Duration::from_secs(3600));
    assert_eq!(world.peer(Party::Server).failure(), Some("TCP: the peer stopped answering"));
    assert_eq!(world.peer(Party::Client).connected(), None);
}

/// What the ledger counts as application is what the script says, to the byte.
#[test]
fn the_ledger_has_the_bytes_of_the_script() {
    for text in [STREAM, super::DATAGRAMS] {
        let handshake = handshake(text);
        let mut world = World::new(&handshake, constrained(Nagle::Off), Link::ieee802154(), 1);
        world.run();
        world.connected(text);
        let ledger = world.network.ledger(world.link);
        for (party, direction) in [(Party::Client, Direction::Up), (Party::Server, Direction::Down)] {
            let sent = ledger.total_towards(direction).layers.application;
            assert_eq!(sent, handshake.parts(party).iter().sum::<usize>(), "{party:?}: {text}");
        }
    }
}
