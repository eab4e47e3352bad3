//! An endpoint judges a ClientHello before there is a connection, which then goes on with what was read and chosen: each
//! ClientHello is parsed once, and negotiated once at most.

use terse_testkit::pair::Side;
use terse_tls::{CipherSuite, Datagrams, EndpointLimits, ProtocolVersion, Work};

use super::modes::BOTH_VERSIONS;
use super::world::{World, address, setup_of};

/// How many ClientHellos the server parsed, and negotiated, in the next flight of the first client. The client gets the
/// answer.
fn next_flight(world: &mut World) -> (usize, usize) {
    let flight = world.transmit(0);
    assert!(!flight.is_empty());
    let work = handed_over(world, &flight);
    for (_, mut answer) in world.answers() {
        world.hand_to_client(0, &mut answer);
    }
    work
}

fn handed_over(world: &mut World, flight: &[Vec<u8>]) -> (usize, usize) {
    let before = Work::so_far();
    for datagram in flight {
        world.hand_over(address(1, 4000), datagram.clone());
    }
    let work = Work::since(before);
    (work.client_hellos_parsed, work.client_hellos_negotiated)
}

/// A server, and a client that has sent nothing; ClientHellos come in one piece, or in fragments.
fn worlds(version: ProtocolVersion, limits: EndpointLimits) -> impl Iterator<Item = World> {
    [1_232, 150].into_iter().map(move |max_datagram| {
        println!("D{version}, {max_datagram}"); // is shown if a test fails
        let mut world = World::new(setup_of(version, Datagrams::default().max_datagram(max_datagram)), limits);
        world.client(address(1, 4000));
        world
    })
}

/// In DTLS 1.3 the HelloRetryRequest has what was chosen from the first ClientHello, so that is negotiated as well.
#[test]
fn with_a_cookie() {
    for version in BOTH_VERSIONS {
        for mut world in worlds(version, EndpointLimits::default()) {
            let first = next_flight(&mut world);
            assert_eq!(first, (1, usize::from(version == ProtocolVersion::TLS_1_3)));
            assert_eq!((next_flight(&mut world), world.endpoint.connections().0), ((1, 1), 1));
            let again = world.clients[0].sent.clone(); // the last one is known, the one before gets a cookie
            let work = handed_over(&mut world, &again);
            assert_eq!(work, (first.0 + 1, first.1));
            world.answers();
            world.run();
            assert!(world.clients[0].connection.is_connected());
        }
    }
}

#[test]
fn without_a_cookie() {
    for version in BOTH_VERSIONS {
        for mut world in worlds(version, EndpointLimits::default().require_cookie(false)) {
            assert_eq!((next_flight(&mut world), world.endpoint.connections().0), ((1, 1), 1));
            world.run();
            for _ in 0..4 {
                world.pass(1_000); // until the client has answered it gets no more than three times what it sent
                world.run();
            }
            assert!(world.clients[0].connection.is_connected());
        }
    }
}

/// A ClientHello from which nothing can be chosen: why, is found out once, and told by the connection.
#[test]
fn of_a_client_that_fits_nothing() {
    for version in BOTH_VERSIONS {
        for require_cookie in [false, true] {
            let mut setup = setup_of(version, Datagrams::default());
            let [ours, others] = match version {
                ProtocolVersion::TLS_1_3 => {
                    [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256]
                }
                _ => [
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                ],
            };
            setup.common(Side::Server).set_suites([ours]);
            setup.common(Side::Client).set_suites([others]);
            let mut world = World::new(setup, EndpointLimits::default().require_cookie(require_cookie));
            world.client(address(1, 4000));
            assert_eq!(next_flight(&mut world).0, 1, "{version}");
            assert!(!world.clients[0].connection.is_connected());
        }
    }
}
