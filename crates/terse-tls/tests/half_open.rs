//! Clients begin a handshake and leave it there. These tests show what each costs a server, at every point where it can
//! stop, and that nobody else notices. The application, which has the clock, decides when to stop waiting; the engine has
//! [`terse_tls::Connection::give_up`].

use alloc::sync::Arc;

use terse_testkit::allocator::measure;
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::{Connection, Error, ProtocolVersion, ServerConfig};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// Returns a configuration with everything that a server can have, except early data.
fn setup(version: ProtocolVersion) -> Setup {
    let provider = &terse_rustcrypto::PROVIDER;
    let mut setup = Setup::mutual(provider, provider, "p256x3").only(version).with_resumption();
    setup.server.certificate_authorities(true);
    setup
}

/// Returns what a client sends up to its last flight, in parts that follow one another.
fn flights(setup: &Setup) -> Vec<Vec<u8>> {
    let mut pair = setup.pair(1);
    let mut flights = Vec::new();
    while !pair.server.is_connected() {
        let bytes = pair.transmit(Side::Client);
        pair.deliver(Side::Server, bytes.clone()).unwrap();
        flights.push(bytes);
        let bytes = pair.transmit(Side::Server);
        pair.deliver(Side::Client, bytes).unwrap();
    }
    flights
}

/// Returns a server that has read `input` and sent its answer.
fn stalled(config: &Arc<ServerConfig>, mut input: Vec<u8>) -> Connection {
    let mut connection = Connection::server(config.clone(), at(0)).unwrap();
    connection.handle_input(at(0), &mut SeededRng::new(1), &mut input).unwrap();
    let mut out = [0; 2048];
    while connection.poll_transmit(at(0), &mut out).is_some() {}
    assert!(connection.is_handshaking());
    connection
}

/// Bytes of heap that a half-open connection holds: a part of the ClientHello; then the key schedule, the transcript and
/// what the next messages are checked with. The rest of what it costs is its own size.
const MOST: i64 = 0xc00;

#[test]
fn heap() {
    for version in VERSIONS {
        let setup = setup(version);
        let config = Arc::new(setup.server.build().unwrap());
        let hello = flights(&setup).remove(0);
        let mut largest = 0;
        for len in 0..=hello.len() {
            let (connection, heap) = measure(|| stalled(&config, hello[..len].to_vec()));
            largest = largest.max(heap.kept);
            let ((), freed) = measure(|| drop(connection));
            assert_eq!(freed.kept, -heap.kept, "{version}, {len}: all of it is given back");
        }
        assert!(largest > 0 && largest < MOST, "{version}: {largest}");
    }
    assert!(size_of::<Connection>() < 0x800, "{}", size_of::<Connection>());
}

/// A client that promises the largest message and the largest record, and sends all but their last bytes.
#[test]
fn heap_of_the_greedy() {
    let setup = setup(ProtocolVersion::TLS_1_3);
    let config = Arc::new(setup.server.build().unwrap());
    let limit = config.common().max_handshake_message();
    let [_, a, b, c] = (limit as u32).to_be_bytes();
    let message = [&[1, a, b, c][..], &vec![0; limit]].concat();
    let mut records: Vec<u8> = message
        .chunks(0x4000)
        .flat_map(|fragment| {
            let [high, low] = (fragment.len() as u16).to_be_bytes();
            [&[22, 3, 1, high, low], fragment].concat()
        })
        .collect();
    records.pop();
    let (connection, heap) = measure(|| stalled(&config, records.clone()));
    // Twice what it holds, as a vector that grows may have.
    assert!(heap.kept > limit as i64 && heap.kept < 2 * (limit as i64 + 0x4000), "{heap:?}");
    drop(connection);
}

/// A thousand half-open clients of all kinds connect: the honest one is served, and giving them up costs nobody anything.
#[test]
fn the_honest_are_served() {
    for version in VERSIONS {
        let setup = setup(version);
        let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
        let hello = flights(&setup).remove(0);
        let (connections, heap) = measure(|| {
            (0..1000).map(|number| stalled(&server, hello[..hello.len() * number / 999].to_vec())).collect::<Vec<_>>()
        });
        let each = MOST + size_of::<Connection>() as i64;
        assert!(heap.kept < 1000 * each, "{version}: {heap:?}");
        let mut pair = Pair::new(&client, &server, 7);
        pair.handshake().unwrap();
        assert_eq!(pair.carry(Side::Client, b"data").unwrap(), b"data");
        for mut connection in connections {
            connection.give_up(at(30));
            assert!(!connection.is_handshaking() && !connection.is_connected());
            assert!(connection.poll_transmit(at(30), &mut [0; 64]).is_some(), "it says so");
            let late = connection.handle_input(at(31), &mut SeededRng::new(2), &mut [22, 3, 3, 0, 1, 1]);
            assert!(matches!(late, Err(Error::ApiMisuse(_))), "{late:?}");
        }
        Pair::new(&client, &server, 8).handshake().unwrap();
    }
}
