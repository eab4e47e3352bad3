//! After the handshake: data, KeyUpdate, exporters, and the end of a connection (RFC 9846, 4.7, 6.1 and 7.5; RFC 5705;
//! RFC 5246, 7.2.1).

use std::sync::LazyLock;
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;

use terse_tls::crypto::{CryptoError, Rng, Tls12Suite, Tls13Suite};
use terse_tls::{AlertDescription, ApiMisuse, CipherSuite, Error, Event, ProtocolVersion};

use super::{PROVIDER, VERSIONS, check_traffic, providers};

const CHAIN: &str = "ed25519x2";

fn connected(version: ProtocolVersion) -> Pair {
    let mut pair = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
    pair.handshake().unwrap();
    pair
}

fn export(pair: &mut Pair, side: Side, label: &[u8], context: Option<&[u8]>, len: usize) -> Vec<u8> {
    let mut secret = vec![0; len];
    pair.side(side).0.export_keying_material(label, context, &mut secret).unwrap();
    secret
}

/// In TLS 1.2 no context differs from an empty one (RFC 5705, 4); in TLS 1.3 it does not.
#[test]
fn exporters() {
    let mut seen = alloc::collections::BTreeSet::new();
    for ((client, server), version) in providers().flat_map(|pair| VERSIONS.map(|version| (pair, version))) {
        let mut pair = Setup::new(client, server, CHAIN).only(version).pair(1);
        assert_eq!(
            pair.client.export_keying_material(b"label", None, &mut [0; 32]),
            Err(ApiMisuse::HandshakeNotFinished.into())
        );
        pair.handshake().unwrap();
        let mut of_this = Vec::new();
        for (label, context, len) in [
            (&b"EXPORTER-a"[..], None, 32),
            (b"EXPORTER-a", Some(&b""[..]), 32),
            (b"EXPORTER-b", Some(b""), 32),
            (b"EXPORTER-a", Some(b"context"), 32),
            (b"", Some(b""), 255),
        ] {
            let secret = export(&mut pair, Side::Client, label, context, len);
            assert_eq!(secret, export(&mut pair, Side::Server, label, context, len));
            of_this.push(secret[..32].to_vec());
        }
        assert_eq!(of_this[0] == of_this[1], version == ProtocolVersion::TLS_1_3);
        of_this.swap_remove(0);
        seen.extend(of_this);
        if version == ProtocolVersion::TLS_1_3 {
            // Keys change, exporters do not.
            let before = export(&mut pair, Side::Client, b"EXPORTER-a", None, 32);
            pair.client.update_keys(true).unwrap();
            pair.run().unwrap();
            assert_eq!(before, export(&mut pair, Side::Server, b"EXPORTER-a", None, 32));
            let too_long = pair.client.export_keying_material(&[b'x'; 250], None, &mut [0; 32]);
            assert_eq!(too_long, Err(Error::Crypto(CryptoError::InvalidLength)));
        } else {
            let too_long = pair.client.export_keying_material(b"", Some(&[0; 0x1_0000]), &mut [0; 32]);
            assert_eq!(too_long, Err(Error::Crypto(CryptoError::InvalidLength)));
        }
    }
    // The seeds are the same, and so are the secrets of the handshakes, but for certificates' signatures.
    assert!(seen.len() >= 8 && seen.len() % 4 == 0, "{}", seen.len());
}

/// Either side, asking for the other's or not, with data before, between and after.
#[test]
fn key_update() {
    for side in Side::BOTH {
        for requested in [false, true] {
            let mut pair = connected(ProtocolVersion::TLS_1_3);
            for round in 0..70 {
                let received = pair.side(side.other()).0.summary().received.post_handshake_bytes;
                assert_eq!(pair.side(side).0.send(b"before "), Ok(7));
                pair.side(side).0.update_keys(requested).unwrap();
                assert_eq!(pair.side(side).0.send(b"after"), Ok(5));
                let bytes = pair.transmit(side);
                assert_eq!(pair.receive(side.other(), bytes).unwrap(), b"before after");
                let peer = &pair.side(side.other()).0.summary();
                assert!(peer.received.post_handshake_bytes > received);
                // Each answer is as long as each request.
                let answered = if requested { peer.received.post_handshake_bytes } else { 0 };
                assert_eq!(peer.sent.post_handshake_bytes, answered, "{round}");
                let bytes = pair.transmit(side.other());
                assert_eq!(bytes.is_empty(), !requested);
                assert_eq!(pair.receive(side, bytes).unwrap(), b"");
                check_traffic(&mut pair);
            }
        }
    }
}

/// Both at once, and several in a row.
#[test]
fn key_updates_that_cross() {
    let mut pair = connected(ProtocolVersion::TLS_1_3);
    for round in 0..5 {
        for _ in 0..round {
            for side in Side::BOTH {
                pair.side(side).0.update_keys(true).unwrap();
            }
        }
        pair.run().unwrap();
        check_traffic(&mut pair);
    }
}

/// RFC 9846, 5.5: a key that has protected enough is replaced, without being asked.
#[test]
fn worn_keys() {
    static WORN: LazyLock<Tls13Suite> = LazyLock::new(|| {
        let mut suite = terse_rustcrypto::suites::TLS_AES_128_GCM_SHA256;
        suite.confidentiality_limit = 8;
        suite
    });
    static SUITES: LazyLock<[&Tls13Suite; 1]> = LazyLock::new(|| [&WORN]);
    let provider = PROVIDER.tls13_suites(&*SUITES);
    let mut pair = Setup::mutual(&provider, &provider, CHAIN).pair(1);
    pair.handshake().unwrap();
    for _ in 0..50 {
        check_traffic(&mut pair);
    }
    for side in Side::BOTH {
        let summary = pair.side(side).0.summary();
        // Four records under each key, and 27 bytes for each KeyUpdate.
        assert_eq!(summary.sent.post_handshake_bytes, 50_u64.div_ceil(4).saturating_sub(1) * 27);
        assert_eq!(summary.sent.post_handshake_bytes, summary.received.post_handshake_bytes);
    }
    assert_eq!(WORN.id, CipherSuite::TLS_AES_128_GCM_SHA256);
}

/// TLS 1.2 cannot replace keys: one that has protected enough protects nothing more of the application's.
#[test]
fn exhausted_keys() {
    static WORN: LazyLock<Tls12Suite> = LazyLock::new(|| {
        let mut suite = terse_rustcrypto::suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
        suite.confidentiality_limit = 64 + 8;
        suite
    });
    static SUITES: LazyLock<[&Tls12Suite; 1]> = LazyLock::new(|| [&WORN]);
    let provider = PROVIDER.tls12_suites(&*SUITES);
    for side in Side::BOTH {
        let mut pair = Setup::mutual(&provider, &provider, CHAIN).only(ProtocolVersion::TLS_1_2).pair(1);
        pair.handshake().unwrap();
        for _ in 0..7 {
            assert_eq!(pair.carry(side, b"data").unwrap(), b"data"); // Finished was the first record
        }
        let connection = pair.side(side).0;
        assert_eq!(connection.send(b"more"), Err(ApiMisuse::KeyExhausted.into()));
        assert_eq!(connection.send(b"more"), Err(ApiMisuse::KeyExhausted.into()));
        assert!(connection.is_connected() && pair.transmit(side).is_empty());
        // The other direction has a key of its own, and one can say goodbye.
        assert_eq!(pair.carry(side.other(), b"data").unwrap(), b"data");
        pair.side(side).0.close();
        pair.run().unwrap();
        assert_eq!(pair.side(side.other()).0.poll_event(), Some(Event::PeerClosed));
    }
}

/// A piece of data that needs more records than are left: what was taken was sent.
#[test]
fn exhausted_in_the_middle() {
    static WORN: LazyLock<Tls12Suite> = LazyLock::new(|| {
        let mut suite = terse_rustcrypto::suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
        suite.confidentiality_limit = 64 + 3;
        suite
    });
    static SUITES: LazyLock<[&Tls12Suite; 1]> = LazyLock::new(|| [&WORN]);
    let provider = PROVIDER.tls12_suites(&*SUITES);
    let mut pair = Setup::mutual(&provider, &provider, CHAIN).only(ProtocolVersion::TLS_1_2).pair(1);
    pair.handshake().unwrap();
    let data = vec![b'x'; 0x4000 * 3];
    assert_eq!(pair.client.send(&data), Ok(0x4000 * 2));
    let bytes = pair.transmit(Side::Client);
    assert_eq!(pair.receive(Side::Server, bytes).unwrap(), data[..0x4000 * 2]);
    assert_eq!(pair.client.send(&data), Err(ApiMisuse::KeyExhausted.into()));
}

#[test]
fn no_key_update_in_tls12() {
    let mut pair = connected(ProtocolVersion::TLS_1_2);
    for (side, request) in Side::BOTH.into_iter().flat_map(|side| [false, true].map(|request| (side, request))) {
        assert_eq!(pair.side(side).0.update_keys(request), Err(ApiMisuse::NoKeyUpdate.into()));
        assert!(pair.transmit(side).is_empty());
    }
    check_traffic(&mut pair);
}

/// However the transport cuts the stream.
#[test]
fn byte_by_byte() {
    for ((client, server), version) in providers().flat_map(|pair| VERSIONS.map(|version| (pair, version))) {
        for stretch in [1, 2, 3, 7, 100] {
            let mut setup = Setup::mutual(client, server, CHAIN).only(version);
            if version == ProtocolVersion::TLS_1_3 {
                setup = setup.with_hello_retry(true);
            }
            let mut pair = setup.pair(1);
            pair.stretch = stretch;
            pair.handshake().unwrap();
            check_traffic(&mut pair);
            if version == ProtocolVersion::TLS_1_3 {
                pair.client.update_keys(true).unwrap();
            }
            pair.close().unwrap();
        }
    }
}

/// More data than fits anywhere, both ways at once, through buffers of every size.
#[test]
fn backpressure() {
    for version in VERSIONS {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version);
        setup.client.max_send_buffer(5000);
        setup.server.max_send_buffer(40_000);
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        let mut rng = SeededRng::new(3);
        let mut data = vec![0; 300_000];
        rng.fill(&mut data).unwrap();
        let (mut sent, mut wire, mut received) = ([0; 2], [Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut refused = 0;
        while received.iter().any(|received| received.len() < data.len()) {
            for side in Side::BOTH {
                let (to, from) = (side as usize, side.other() as usize);
                let (connection, connection_rng) = pair.side(side);
                let offered = &data[sent[to]..];
                let taken = connection.send(offered).unwrap();
                refused += usize::from(taken < offered.len());
                sent[to] += taken;
                let mut out = vec![0; 1 + rng.below(3000)];
                let len = connection.poll_transmit(at(0), &mut out).unwrap_or(0);
                wire[to].extend_from_slice(&out[..len]);
                let stretch = (1 + rng.below(4000)).min(wire[from].len());
                let taken = connection.handle_input(at(0), connection_rng, &mut wire[from][..stretch]).unwrap();
                wire[from].drain(..taken);
                let mut out = vec![0; rng.below(3000)];
                let len = connection.recv(&mut out);
                received[to].extend_from_slice(&out[..len]);
            }
        }
        assert!(refused > 10);
        assert!(received.iter().all(|received| *received == data));
    }
}

/// RFC 9846, 6.1: each side closes its own half, in any order.
#[test]
fn close_notify() {
    for version in VERSIONS {
        for first in Side::BOTH {
            let mut pair = connected(version);
            let second = first.other();
            pair.side(first).0.close();
            assert_eq!(pair.side(first).0.send(b"late"), Err(ApiMisuse::Closed.into()));
            pair.run().unwrap();
            assert_eq!(pair.side(second).0.poll_event(), Some(Event::PeerClosed));
            assert_eq!(pair.side(second).0.poll_event(), None);
            // The other half still works.
            assert_eq!(pair.carry(second, b"last words").unwrap(), b"last words");
            pair.side(second).0.close();
            pair.side(second).0.close();
            pair.run().unwrap();
            assert_eq!(pair.side(first).0.poll_event(), Some(Event::PeerClosed));
            for side in Side::BOTH {
                assert_eq!(pair.side(side).0.handle_end_of_input(at(0)), Ok(()));
                assert!(pair.transmit(side).is_empty(), "closed once");
            }
        }
        let mut pair = connected(version);
        for side in Side::BOTH {
            pair.side(side).0.close();
        }
        pair.run().unwrap();
        assert_eq!(Side::BOTH.map(|side| pair.side(side).0.poll_event()), [Some(Event::PeerClosed); 2]);
    }
}

/// Data that waits when close_notify comes is not lost, and neither reading nor the end of the stream disturbs it.
#[test]
fn data_before_close_notify() {
    for version in VERSIONS {
        let mut pair = connected(version);
        pair.client.send(b"data").unwrap();
        pair.client.close();
        let bytes = pair.transmit(Side::Client);
        assert_eq!(pair.receive(Side::Server, bytes).unwrap(), b"data");
        assert_eq!(pair.server.poll_event(), Some(Event::PeerClosed));
        assert_eq!(pair.server.handle_end_of_input(at(0)), Ok(()));
    }
}

/// RFC 9846, 6.1: without close_notify the end of the stream is an attack until proven otherwise.
#[test]
fn truncation() {
    for version in VERSIONS {
        for side in Side::BOTH {
            let mut pair = connected(version);
            pair.side(side.other()).0.send(b"data").unwrap();
            let bytes = pair.transmit(side.other());
            pair.deliver(side, bytes).unwrap();
            let connection = pair.side(side).0;
            assert_eq!(connection.handle_end_of_input(at(0)), Err(Error::Truncated));
            assert!(!connection.is_connected());
            let mut out = [0; 16];
            assert_eq!(connection.recv(&mut out), 4, "what had come is there");
            assert_eq!(connection.send(b"more"), Err(ApiMisuse::Closed.into()));
            // At every point of the handshake as well.
            let mut pair = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
            assert_eq!(pair.side(side).0.handle_end_of_input(at(0)), Err(Error::Truncated));
            assert_eq!(pair.side(side).0.poll_event(), None);
        }
    }
}

#[test]
fn misuse_of_calls() {
    for version in VERSIONS {
        let mut pair = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
        for side in Side::BOTH {
            let connection = pair.side(side).0;
            assert_eq!(connection.send(b"early"), Err(ApiMisuse::HandshakeNotFinished.into()));
            assert_eq!(connection.update_keys(true), Err(ApiMisuse::HandshakeNotFinished.into()));
            assert!(connection.is_handshaking() && !connection.is_connected());
            assert_eq!(connection.recv(&mut [0; 8]), 0);
            assert_eq!(connection.poll_timeout(), None);
            assert_eq!(connection.handle_timeout(at(5)), Ok(()));
        }
        pair.handshake().unwrap(); // none of this did any harm
        assert_eq!(pair.client.send(b""), Ok(0));
        assert!(pair.transmit(Side::Client).is_empty());
        check_traffic(&mut pair);
    }
}

/// A side that gives up in the middle says so; it is not connected afterwards, nor is the other one.
#[test]
fn closed_during_the_handshake() {
    for version in VERSIONS {
        let mut pair = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
        let hello = pair.transmit(Side::Client);
        pair.client.close();
        pair.deliver(Side::Server, hello).unwrap();
        let flight = pair.transmit(Side::Server);
        let goodbye = pair.transmit(Side::Client);
        let closed = pair.deliver(Side::Client, flight).unwrap_err();
        assert_eq!(closed.error, ApiMisuse::Closed.into());
        assert!(pair.transmit(Side::Client).is_empty(), "nothing follows the goodbye");
        let told = pair.deliver(Side::Server, goodbye).unwrap_err();
        assert_eq!(told.error, Error::AlertReceived(AlertDescription::CLOSE_NOTIFY));
        for side in Side::BOTH {
            assert!(!pair.side(side).0.is_connected() && pair.side(side).0.poll_event().is_none(), "{side:?}");
        }
    }
}

/// A server's close_notify would tell the client that its Finished was verified.
#[test]
fn closed_by_the_server_during_the_handshake() {
    for version in VERSIONS {
        let mut pair = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
        let hello = pair.transmit(Side::Client);
        pair.deliver(Side::Server, hello).unwrap();
        pair.server.close();
        let flight_and_goodbye = pair.transmit(Side::Server);
        pair.deliver(Side::Client, flight_and_goodbye).unwrap();
        assert_ne!(pair.client.poll_event(), Some(Event::PeerClosed));
        assert_eq!(pair.client.handle_end_of_input(at(0)), Err(Error::Truncated));
    }
}
