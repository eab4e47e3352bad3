//! A client that wanders from network to network, all of which lose much, and somebody who copies what it sends and is faster.
//! Whatever happened, in the end both sides hear each other.

use terse_testkit::rng::{SeededRng, seeds};
use terse_tls::{ConnectionIdUsage, Datagrams, EndpointEvent, EndpointLimits, Path, ProtocolVersion};

use super::world::{World, address, setup_of};

#[test]
fn wandering() {
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let (mut moved, mut kept, mut issued) = (0, 0, 0);
        for seed in seeds(60) {
            let world = wander(version, seed);
            moved += world.events.iter().filter(|(_, event)| is_change(event)).count();
            kept += world.endpoint.counters().paths_kept;
            issued += world.clients[0].connection.spare_connection_ids();
        }
        assert!(moved > 60 && kept > 20, "{moved} {kept}: it does not wander");
        assert_eq!(issued > 20, version == ProtocolVersion::TLS_1_3, "{issued}");
    }
}

fn is_change(event: &EndpointEvent) -> bool {
    matches!(event, EndpointEvent::AddressChanged { .. })
}

/// Returns one of two ports, directly or through a relay with one of two headers.
fn anywhere(dice: &mut SeededRng) -> Path {
    let headers: [&[u8]; 3] = [&[], b"one", b"two"];
    Path::new(address(1, 4000 + dice.below(2) as u16), headers[dice.below(3)]).unwrap()
}

fn wander(version: ProtocolVersion, seed: u64) -> World {
    let datagrams = Datagrams::default().connection_id(Some(4));
    let mut world = World::new(setup_of(version, datagrams), EndpointLimits::default());
    let (_, handle) = world.connected(address(1, 4000));
    let mut dice = SeededRng::new(seed);
    let attacker = address(66, 6666);
    for _ in 0..60 {
        let client = &mut world.clients[0];
        match dice.below(12) {
            // Either a NAT gives the client another address, or the client moves by itself.
            0 => client.path = anywhere(&mut dice),
            1 => {
                client.connection.path_changed();
                client.path = anywhere(&mut dice);
            }
            // A request is refused while another one is under way, and always in DTLS 1.2.
            2 => drop(client.connection.request_connection_ids(2)),
            3 => drop(world.endpoint.connection(handle).unwrap().request_connection_ids(2)),
            4 => {
                let usage =
                    if dice.below(2) == 0 { ConnectionIdUsage::CidImmediate } else { ConnectionIdUsage::CidSpare };
                let _ = world.endpoint.issue_connection_ids(handle, 1, usage, &mut world.rng);
                let _ = client.connection.issue_connection_ids(1, usage, &mut world.rng);
            }
            5 => drop(client.connection.update_keys(dice.below(2) == 0)),
            6 => world.answer(handle, &[6; 60]),
            7..9 => world.pass(dice.below(3_000) as u64),
            _ => assert_eq!(client.connection.send(&[8; 30]), Ok(30)),
        }
        for datagram in world.transmit(0) {
            let from = world.clients[0].path.clone();
            if dice.below(6) == 0 {
                world.hand_over(attacker, datagram.clone());
            }
            if dice.below(4) > 0 {
                world.hand_over(from, datagram);
            }
        }
        for (to, mut datagram) in world.answers() {
            let is_handed_on = to == attacker && dice.below(2) == 0;
            if (to == world.clients[0].path && dice.below(4) > 0) || is_handed_on {
                world.hand_to_client(0, &mut datagram);
            }
        }
    }
    // The attacker is gone, and so are the losses. The server may believe for a while that the client is where it was, and what
    // was lost before is sent again after a minute at most.
    for _ in 0..70 {
        let from = world.clients[0].path.clone();
        world.say_from(from, b"here I am");
        world.run();
        world.pass(1_000);
    }
    world.run_out();
    assert_eq!(world.endpoint.path(handle), Some(&world.clients[0].path), "{version} {seed}");
    assert_eq!(world.heard_by(handle, &[7; 1000]), [0], "{version} {seed}");
    let failed = world.events.iter().find(|(_, event)| matches!(event, EndpointEvent::Failed(_)));
    assert_eq!(failed, None, "{version} {seed}");
    world
}
