//! What a connection says about itself: summary and key log; and that all of it can be repeated.

use alloc::sync::Arc;

use terse_testkit::fault::{Alerts, fault};
use terse_testkit::forge::{Forge, KeyLogLines, records};
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::setup::Setup;
use terse_tls::crypto::Tls12KeyExchange;
use terse_tls::summary::{AuthenticatedBy, Mode, Transport};
use terse_tls::{AlertDescription, ContentType, HandshakeType, ProtocolVersion};

use super::{PROVIDER, PROVIDERS, VERSIONS, check_traffic, providers};

const CHAIN: &str = "p256x3";

/// Every number is the number of bytes that really crossed, on both sides.
#[test]
fn summary() {
    for (client, server) in providers() {
        for (setup, round_trips) in [
            (Setup::mutual(client, server, CHAIN), 1),
            (Setup::mutual(client, server, CHAIN).with_hello_retry(true), 2),
            (Setup::new(client, server, CHAIN), 1),
            (Setup::mutual(client, server, CHAIN).only(ProtocolVersion::TLS_1_2), 2),
            (Setup::new(client, server, CHAIN).only(ProtocolVersion::TLS_1_2), 2),
        ] {
            check_summary(setup, round_trips);
        }
    }
}

fn check_summary(mut setup: Setup, round_trips: u32) {
    let asked = setup.server.config().client_authentication().trust().is_some();
    setup.client.compatibility_mode(asked);
    let sent = Side::BOTH.map(|_| Arc::new(std::sync::Mutex::new(Vec::<(HandshakeType, u32)>::new())));
    for side in Side::BOTH {
        let sent = sent[side as usize].clone();
        setup.common(side).set_fault(Some(fault(move |_, kind, message| {
            let mut sent = sent.lock().unwrap();
            match sent.iter_mut().find(|(seen, _)| *seen == kind) {
                Some((_, sum)) => *sum += message.len() as u32,
                None => sent.push((kind, message.len() as u32)),
            }
        })));
    }
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    let crossed = [pair.from_client.len(), pair.from_server.len()];
    for side in Side::BOTH {
        let (own, peer) = (side as usize, side.other() as usize);
        let summary = pair.side(side).0.summary().clone();
        assert_eq!(summary.sent.messages, *sent[own].lock().unwrap());
        assert_eq!(summary.received.messages, *sent[peer].lock().unwrap());
        for (traffic, who) in [(&summary.sent, own), (&summary.received, peer)] {
            assert_eq!(traffic.handshake_bytes, traffic.messages.iter().map(|(_, len)| u64::from(*len)).sum::<u64>());
            assert_eq!(traffic.record_bytes, crossed[who] as u64, "{side:?}");
            assert_eq!((traffic.post_handshake_bytes, traffic.datagrams), (0, 0));
        }
        let verifies = side == Side::Client || asked;
        assert_eq!(summary.signatures_verified, if verifies { 2 } else { 0 });
        assert_eq!(summary.signatures_saved, 0);
        let by = if verifies { AuthenticatedBy::Certificate } else { AuthenticatedBy::None };
        assert_eq!(summary.peer.authenticated_by, by);
        assert_eq!((summary.mode, summary.cached, summary.transport), (Mode::Full, Vec::new(), Transport::Stream));
        assert_eq!((summary.round_trips, summary.retransmissions), (round_trips, 0));
    }
    check_traffic(&mut pair);
    for side in Side::BOTH {
        let summary = pair.side(side).0.summary();
        assert_eq!(summary.sent.record_bytes, crossed[side as usize] as u64, "data does not count");
    }
}

#[test]
fn duration() {
    let setup = Setup::new(PROVIDER, PROVIDER, "ed25519x2");
    let mut pair = setup.pair(1);
    let hello = pair.transmit(Side::Client);
    pair.now = at(2);
    pair.deliver(Side::Server, hello).unwrap();
    let flight = pair.transmit(Side::Server);
    pair.now = at(3);
    pair.deliver(Side::Client, flight).unwrap();
    assert_eq!(pair.client.summary().handshake_ms, 3000);
    pair.now = at(5);
    pair.handshake().unwrap();
    assert_eq!(pair.server.summary().handshake_ms, 5000);
}

/// The messages that a reader of the summary finds, in order, and what they are worth: in TLS 1.2 a round trip more.
#[test]
fn messages_of_tls12() {
    use HandshakeType as Type;
    let mut pair = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2).pair(1);
    pair.handshake().unwrap();
    let kinds = |messages: &[(Type, u32)]| messages.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
    let summary = pair.client.summary();
    let client =
        [Type::CLIENT_HELLO, Type::CERTIFICATE, Type::CLIENT_KEY_EXCHANGE, Type::CERTIFICATE_VERIFY, Type::FINISHED];
    let server = [
        Type::SERVER_HELLO,
        Type::CERTIFICATE,
        Type::SERVER_KEY_EXCHANGE,
        Type::CERTIFICATE_REQUEST,
        Type::SERVER_HELLO_DONE,
        Type::FINISHED,
    ];
    assert_eq!((kinds(&summary.sent.messages), kinds(&summary.received.messages)), (client.to_vec(), server.to_vec()));
    // Each flight is one record, then ChangeCipherSpec and Finished: 12 bytes and a header, under AES-GCM.
    let finished = 5 + 8 + 16 + 16;
    assert_eq!(summary.sent.record_bytes, summary.sent.handshake_bytes - 16 + 2 * 5 + 6 + finished);
    assert_eq!(summary.received.record_bytes, summary.received.handshake_bytes - 16 + 5 + 6 + finished);
}

/// The NSS key log has the same five secrets on both sides, under the client's random, and they are the right ones.
#[test]
fn key_log() {
    for (client, server) in providers() {
        let mut setup =
            Setup::mutual(client, server, "ed25519x2").only(ProtocolVersion::TLS_1_3).with_hello_retry(false);
        let logs = Side::BOTH.map(|_| Arc::<KeyLogLines>::default());
        for side in Side::BOTH {
            setup.common(side).set_key_log(logs[side as usize].clone());
        }
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        let lines = logs[0].lines();
        assert_eq!(lines, logs[1].lines());
        let labels: Vec<_> = lines.iter().map(|line| line.label).collect();
        assert_eq!(
            labels,
            [
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_TRAFFIC_SECRET_0",
                "SERVER_TRAFFIC_SECRET_0",
                "EXPORTER_SECRET",
            ]
        );
        assert!(lines.iter().all(|line| line.client_random == pair.from_client[11..43]));
        assert!(lines.iter().all(|line| line.secret.len() == 32));

        let suite = client.tls13_suite(pair.client.summary().cipher_suite.unwrap()).unwrap();
        let mut handshake = Forge::new(suite, &logs[0].secret("SERVER_HANDSHAKE_TRAFFIC_SECRET"));
        let flight = records(&pair.from_server).pop().unwrap();
        let (kind, messages) = handshake.open(&flight).unwrap();
        assert_eq!((kind, messages[0]), (ContentType::HANDSHAKE, HandshakeType::ENCRYPTED_EXTENSIONS.0));
        pair.client.send(b"secret").unwrap();
        let mut traffic = Forge::new(suite, &logs[0].secret("CLIENT_TRAFFIC_SECRET_0"));
        let record = pair.transmit(Side::Client);
        assert_eq!(traffic.open(&record), Some((ContentType::APPLICATION_DATA, b"secret".to_vec())));
    }
}

/// In TLS 1.2 the key log has one secret, from which all keys come.
#[test]
fn key_log_of_tls12() {
    for (client, server) in providers() {
        let suites = client.tls12_suites.iter().filter(|suite| suite.key_exchange == Tls12KeyExchange::EcdheEcdsa);
        for suite in suites {
            let mut setup = Setup::mutual(client, server, "ed25519x2").only(ProtocolVersion::TLS_1_2);
            setup.client.suites(vec![suite.id]);
            let logs = Side::BOTH.map(|_| Arc::<KeyLogLines>::default());
            for side in Side::BOTH {
                setup.common(side).set_key_log(logs[side as usize].clone());
            }
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            let lines = logs[0].lines();
            assert_eq!(lines, logs[1].lines());
            let [line] = &lines[..] else { panic!("{lines:?}") };
            assert_eq!((line.label, line.secret.len()), ("CLIENT_RANDOM", 48));
            assert_eq!(line.client_random, pair.from_client[11..43]);
            for side in Side::BOTH {
                // Finished is the last record of the handshake.
                let finished = records(if side == Side::Client { &pair.from_client } else { &pair.from_server });
                let opened = Forge::of_finished(&pair, client, &logs[0], side).open(finished.last().unwrap());
                let (kind, message) = opened.expect("the keys are right");
                assert_eq!((kind, &message[..4]), (ContentType::HANDSHAKE, &[20, 0, 0, 12][..]));
                pair.side(side).0.send(b"secret").unwrap();
                let mut traffic = Forge::of(&pair, client, &logs[0], side);
                let record = pair.transmit(side);
                assert_eq!(traffic.open(&record), Some((ContentType::APPLICATION_DATA, b"secret".to_vec())));
            }
        }
    }
}

/// The same seeds give the same bytes; other seeds give others. AWS-LC draws some randomness of its own.
#[test]
fn repeatable() {
    let transcript = |version, chain: &str, seed: u64| {
        let setup = Setup::mutual(PROVIDER, PROVIDER, chain).only(version);
        let is_tls13 = version == ProtocolVersion::TLS_1_3;
        let mut pair = if is_tls13 { setup.with_hello_retry(true).pair(seed) } else { setup.pair(seed) };
        pair.handshake().unwrap();
        check_traffic(&mut pair);
        if is_tls13 {
            pair.server.update_keys(true).unwrap();
        }
        pair.close().unwrap();
        (pair.from_client, pair.from_server)
    };
    for (version, chain) in VERSIONS.into_iter().flat_map(|v| ["p256x3", "p384x2", "ed25519x3"].map(|chain| (v, chain)))
    {
        let first = transcript(version, chain, 1);
        assert_eq!(first, transcript(version, chain, 1));
        let other = transcript(version, chain, 2);
        assert!(first.0 != other.0 && first.1 != other.1);
    }
}

/// RFC 9846, 6.1: nothing follows close_notify, and none is reported.
#[test]
fn no_alert_after_close_notify() {
    for version in VERSIONS {
        let mut setup = Setup::new(PROVIDER, PROVIDER, "ed25519x2").only(version);
        let alerts = Arc::<Alerts>::default();
        setup.server.trace(alerts.clone());
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        pair.server.close();
        assert!(!pair.transmit(Side::Server).is_empty());
        pair.deliver(Side::Server, vec![0; 9]).unwrap_err();
        assert!(pair.transmit(Side::Server).is_empty());
        assert_eq!(alerts.sent(), [AlertDescription::CLOSE_NOTIFY]);
    }
}

/// Both sides report alerts.
#[test]
fn trace_of_alerts() {
    for (version, alert) in
        VERSIONS.into_iter().zip([AlertDescription::CERTIFICATE_REQUIRED, AlertDescription::HANDSHAKE_FAILURE])
    {
        let mut setup = Setup::mutual(PROVIDERS[1], PROVIDERS[1], "ed25519x2").only(version);
        setup.client.credentials(Vec::new());
        let alerts = Side::BOTH.map(|_| Arc::<Alerts>::default());
        for side in Side::BOTH {
            setup.common(side).set_trace(alerts[side as usize].clone());
        }
        let mut pair: Pair = setup.pair(1);
        pair.run().unwrap_err();
        assert_eq!((alerts[1].sent(), alerts[0].received()), (vec![alert], vec![alert]));
        assert_eq!((alerts[0].sent(), alerts[1].received()), (Vec::new(), Vec::new()));
    }
}
