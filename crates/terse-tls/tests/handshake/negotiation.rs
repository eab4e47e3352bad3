//! What client and server agree on (RFC 9846, 4.2 to 4.4; RFC 7301; RFC 6066; RFC 8449).

use alloc::sync::Arc;

use pki_types::ServerName;
use terse_testkit::forge::{HEADER_LEN, records};
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::pki::{Pki, SERVER_NAME, credential, server_address, validity};
use terse_testkit::setup::Setup;
use terse_tls::{
    AlertDescription, CipherSuite, ClientConfig, ContentType, Error, MaxFragmentLength, NamedGroup, PeerIncompatible,
    ProtocolVersion, ServerAddress,
};

use crate::{PROVIDER, PROVIDERS, check_traffic, providers};

const CHAIN: &str = "ed25519x2";

#[test]
fn every_suite_group_and_signature() {
    for (client, server) in providers() {
        for chain in ["p256x2", "p384x2", "ed25519x2", "rsa2048x2"] {
            if chain == "rsa2048x2" && server.name == "rustcrypto" {
                continue; // verifies RSA, and does not sign
            }
            let mut setup = Setup::new(server, server, chain);
            setup.client = ClientConfig::new(client, Pki::shared(chain).trust(client));
            for suite in client.tls13_suites.iter().map(|suite| suite.id) {
                for group in client.groups.iter().map(|group| group.name()) {
                    setup.client.common.suites = vec![suite];
                    setup.client.common.groups = vec![group];
                    setup.server.common.groups = server.groups.iter().map(|group| group.name()).collect();
                    let mut pair = setup.pair(1);
                    let context = format!("{} to {}, {chain}, {suite}, {group}", client.name, server.name);
                    pair.handshake().unwrap_or_else(|error| panic!("{context}: {error:?}"));
                    for side in Side::BOTH {
                        let summary = pair.side(side).0.summary();
                        assert_eq!(summary.version, Some(ProtocolVersion::TLS_1_3));
                        assert_eq!((summary.cipher_suite, summary.group), (Some(suite), Some(group)), "{context}");
                        assert_eq!(summary.round_trips, 1);
                    }
                    check_traffic(&mut pair);
                }
            }
        }
    }
}

/// The server's order decides, among what the client offers; of groups, one with a share goes first.
#[test]
fn preferences() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    let (first, second) = (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    setup.client.common.suites = vec![first, second];
    setup.client.common.groups = vec![NamedGroup::SECP384R1, NamedGroup::X25519];
    setup.server.common.suites = vec![CipherSuite::TLS_AES_256_GCM_SHA384, second, first];
    setup.server.common.groups = vec![NamedGroup::X25519, NamedGroup::SECP384R1];
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    assert_eq!(pair.client.summary().cipher_suite, Some(second));
    assert_eq!(pair.client.summary().group, Some(NamedGroup::SECP384R1));
    assert_eq!(pair.client.summary().round_trips, 1);
}

/// RFC 9846, 4.2.4: whenever the first share is not for a group of the server.
#[test]
fn hello_retry_request() {
    for (client, server) in providers() {
        for first in client.groups.iter().map(|group| group.name()) {
            for second in client.groups.iter().map(|group| group.name()).filter(|second| *second != first) {
                for cookie in [false, true] {
                    let mut setup = Setup::new(client, server, CHAIN);
                    setup.client.common.groups = vec![first, second];
                    setup.server.common.groups = vec![second];
                    setup.server.hello_retry_cookie = cookie;
                    let mut pair = setup.pair(1);
                    pair.handshake().unwrap();
                    for side in Side::BOTH {
                        let summary = pair.side(side).0.summary();
                        assert_eq!((summary.group, summary.round_trips), (Some(second), 2));
                    }
                    check_traffic(&mut pair);
                }
            }
        }
    }
}

/// Nothing in common: the server says so, and the client hears it.
fn check_incompatible(setup: &Setup, error: PeerIncompatible, alert: AlertDescription) {
    let mut pair = setup.pair(1);
    assert_eq!(pair.handshake(), Err(Failed { side: Side::Server, error: error.into() }));
    assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(alert)));
}

#[test]
fn nothing_in_common() {
    let failure = AlertDescription::HANDSHAKE_FAILURE;
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.client.common.suites = vec![CipherSuite::TLS_AES_128_GCM_SHA256];
    setup.server.common.suites = vec![CipherSuite::TLS_AES_256_GCM_SHA384];
    check_incompatible(&setup, PeerIncompatible::NoCommonCipherSuite, failure);
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.client.common.groups = vec![NamedGroup::X25519];
    setup.server.common.groups = vec![NamedGroup::SECP256R1];
    check_incompatible(&setup, PeerIncompatible::NoCommonGroup, failure);
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.client.common.signature_schemes = vec![terse_tls::SignatureScheme::ECDSA_SECP256R1_SHA256];
    check_incompatible(&setup, PeerIncompatible::NoCommonSignatureScheme, failure);
}

#[test]
fn application_protocols() {
    let protocols = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
    for (client, server, agreed) in [
        (&["mqtt", "coap"][..], &["coap", "mqtt"][..], Some("coap")), // the server's order
        (&["mqtt"], &["coap", "mqtt"], Some("mqtt")),
        (&[], &["coap"], None),
        (&["mqtt"], &[], None),
        (&[], &[], None),
    ] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.client.common.alpn_protocols = protocols(client);
        setup.server.common.alpn_protocols = protocols(server);
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        for side in Side::BOTH {
            assert_eq!(pair.side(side).0.alpn_protocol(), agreed.map(str::as_bytes), "{client:?}, {server:?}");
        }
    }
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.client.common.alpn_protocols = protocols(&["mqtt"]);
    setup.server.common.alpn_protocols = protocols(&["coap"]);
    let alert = AlertDescription::NO_APPLICATION_PROTOCOL;
    check_incompatible(&setup, PeerIncompatible::NoCommonApplicationProtocol, alert);
}

/// RFC 6066, 3: names, as they are written without a final dot; never addresses.
#[test]
fn server_name() {
    let pki = Pki::shared(CHAIN);
    let mut options = terse_pki::LeafOptions::new(SERVER_NAME, validity());
    options.names.extend(["192.0.2.7".into(), "2001:db8::7".into()]);
    let server = credential(PROVIDER, &pki.authority.issue(&options).unwrap());
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.server.credentials[0] = server;
    for (name, send, seen) in [
        (SERVER_NAME, true, Some(SERVER_NAME)),
        (SERVER_NAME, false, None),
        ("192.0.2.7", true, None),
        ("2001:db8::7", true, None),
    ] {
        setup.client.send_server_name = send;
        let address = ServerAddress { name: ServerName::try_from(name).unwrap(), port: 1 };
        let (client, server) = (Arc::new(setup.client.clone()), Arc::new(setup.server.clone()));
        let mut pair = Pair::to(address, &client, &server, 1, at(0));
        pair.handshake().unwrap();
        assert_eq!(pair.server.server_name(), seen);
        assert_eq!(pair.client.server_name(), None);
        assert_eq!(pair.from_client.windows(SERVER_NAME.len()).any(|w| w == SERVER_NAME.as_bytes()), seen.is_some());
    }
}

/// The longest content, with its type, of the protected records in `stream`. Tags have 16 bytes.
fn longest_content(stream: &[u8]) -> usize {
    let protected = records(stream).into_iter().filter(|record| record[0] == ContentType::APPLICATION_DATA.0);
    protected.map(|record| record.len() - HEADER_LEN - 16).max().unwrap_or(0)
}

/// RFC 8449: each side keeps to the other one's limit, from EncryptedExtensions on. Only a client can begin.
#[test]
fn record_size_limit() {
    let data = vec![b'x'; 5000];
    for (client, server) in [(Some(64), Some(512)), (Some(512), Some(64)), (Some(100), None), (None, Some(100))] {
        let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
        setup.client.common.record_size_limit = client;
        setup.server.common.record_size_limit = server;
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        for side in Side::BOTH {
            assert_eq!(pair.carry(side, &data).unwrap(), data);
        }
        let unlimited = data.len() + 1;
        let from_server = client.map_or(unlimited, usize::from);
        let from_client = server.filter(|_| client.is_some()).map_or(unlimited, usize::from);
        assert_eq!(longest_content(&pair.from_server), from_server, "{client:?}, {server:?}");
        assert_eq!(longest_content(&pair.from_client), from_client, "{client:?}, {server:?}");
    }
}

/// RFC 6066, 4: both directions. RFC 8449, 5: not with `record_size_limit`.
#[test]
fn max_fragment_length() {
    for bytes in [512, 1024, 2048, 4096] {
        for also in [None, Some(700)] {
            let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
            setup.client.max_fragment_length = MaxFragmentLength::from_bytes(bytes);
            setup.client.common.record_size_limit = also;
            setup.server.common.record_size_limit = also;
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            for side in Side::BOTH {
                let data = vec![b'x'; 9000];
                assert_eq!(pair.carry(side, &data).unwrap(), data);
            }
            let longest = also.map_or(bytes + 1, usize::from);
            assert_eq!(longest_content(&pair.from_client), longest);
            assert_eq!(longest_content(&pair.from_server), longest);
        }
    }
}

/// RFC 9846, E.4: a session id that is echoed, and one ChangeCipherSpec from each side, right before its second flight.
#[test]
fn compatibility_mode() {
    let types = |stream: &[u8]| records(stream).into_iter().map(|record| record[0]).collect::<Vec<_>>();
    for retry in [false, true] {
        let mut lengths = Vec::new();
        for compatible in [false, true] {
            let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
            if retry {
                setup = setup.with_hello_retry(false);
            }
            setup.client.compatibility_mode = compatible;
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            let (client, server) = match (retry, compatible) {
                (false, false) => (vec![22, 23], vec![22, 23]),
                (false, true) => (vec![22, 20, 23], vec![22, 20, 23]),
                (true, false) => (vec![22, 22, 23], vec![22, 22, 23]),
                (true, true) => (vec![22, 20, 22, 23], vec![22, 20, 22, 23]),
            };
            assert_eq!((types(&pair.from_client), types(&pair.from_server)), (client, server));
            let session_id = |stream: &[u8]| stream[43..44 + usize::from(stream[43])].to_vec();
            assert_eq!(session_id(&pair.from_client).len(), if compatible { 33 } else { 1 });
            assert_eq!(session_id(&pair.from_client), session_id(&pair.from_server));
            check_traffic(&mut pair);
            lengths.push(pair.client.summary().sent.record_bytes + pair.client.summary().received.record_bytes);
        }
        let hellos = if retry { 4 } else { 2 };
        assert_eq!(lengths[1] - lengths[0], 32 * hellos + 2 * 6);
    }
}

/// A name with a final dot is the same name.
#[test]
fn absolute_name() {
    let setup = Setup::new(PROVIDERS[1], PROVIDERS[1], CHAIN);
    let name = ServerName::try_from(format!("{SERVER_NAME}.")).unwrap();
    let address = ServerAddress { name, ..server_address() };
    let mut pair = Pair::to(address, &Arc::new(setup.client), &Arc::new(setup.server), 1, at(0));
    pair.handshake().unwrap();
    assert_eq!(pair.server.server_name(), Some(SERVER_NAME));
}
