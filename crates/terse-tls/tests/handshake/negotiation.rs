//! What client and server agree on (RFC 9846, 4.2 to 4.4; RFC 5246, 7.4.1; RFC 8422; RFC 7301; RFC 6066, 3).

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use pki_types::ServerName;
use terse_testkit::fault::{add_extension, first};
use terse_testkit::forge::records;
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::pki::{Pki, SERVER_NAME, credential, server_address, validity};
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoProvider, Tls12KeyExchange};
use terse_tls::{
    AlertDescription, CipherSuite, Error, ExtensionType, HandshakeType, InvalidMessage, NamedGroup, PeerIncompatible,
    ProtocolVersion, ServerAddress, SignatureScheme,
};

use super::{PROVIDER, PROVIDERS, VERSIONS, check_traffic, providers};

const CHAIN: &str = "ed25519x2";

/// The suites of `provider` for keys of `chain`.
fn suites(provider: &CryptoProvider, version: ProtocolVersion, chain: &str) -> Vec<CipherSuite> {
    let kind = if chain.starts_with("rsa") { Tls12KeyExchange::EcdheRsa } else { Tls12KeyExchange::EcdheEcdsa };
    match version {
        ProtocolVersion::TLS_1_3 => provider.tls13_suites.iter().map(|suite| suite.id).collect(),
        _ => {
            let fits = provider.tls12_suites.iter().filter(|suite| suite.key_exchange == kind);
            fits.map(|suite| suite.id).collect()
        }
    }
}

#[test]
fn every_suite_group_and_signature() {
    let mut seen = BTreeSet::new();
    for ((client, server), version) in providers().flat_map(|pair| VERSIONS.map(|version| (pair, version))) {
        for chain in ["p256x2", "p384x2", "ed25519x2", "rsa2048x2"] {
            if chain == "rsa2048x2" && server.name == "rustcrypto" {
                continue; // verifies RSA, and does not sign
            }
            let mut setup = Setup::new(server, server, chain).only(version);
            setup.client = terse_tls::ClientConfig::builder(client);
            setup.client.trust(Pki::shared(chain).trust());
            for suite in suites(client, version, chain) {
                for group in client.groups.iter().map(|group| group.name()) {
                    if version == ProtocolVersion::TLS_1_2 && !group.is_elliptic_curve() {
                        continue;
                    }
                    setup.client.suites(vec![suite]);
                    setup.server.groups(vec![group]);
                    // In TLS 1.2 the curve of the key must be among them (RFC 8422, 5.3).
                    setup.client.groups(vec![group, NamedGroup::SECP256R1, NamedGroup::SECP384R1]);
                    let mut pair = setup.pair(1);
                    let context = format!("{} to {}, {chain}, {suite}, {group}", client.name, server.name);
                    pair.handshake().unwrap_or_else(|error| panic!("{context}: {error:?}"));
                    for side in Side::BOTH {
                        let summary = pair.side(side).0.summary();
                        assert_eq!(summary.version, Some(version));
                        assert_eq!((summary.cipher_suite, summary.group), (Some(suite), Some(group)), "{context}");
                        assert_eq!(summary.round_trips, if version == ProtocolVersion::TLS_1_3 { 1 } else { 2 });
                    }
                    check_traffic(&mut pair);
                    seen.insert(suite);
                }
            }
        }
    }
    assert_eq!(seen.len(), 5 + 8, "{seen:?}");
}

/// TLS 1.2 knows curves only: a group that both have and that is none is left out.
#[test]
fn hybrid_group_is_for_tls13() {
    for (client, server) in providers() {
        let mut setup = Setup::new(client, server, CHAIN).only(ProtocolVersion::TLS_1_2);
        for side in Side::BOTH {
            setup.common(side).set_groups(vec![NamedGroup::X25519MLKEM768, NamedGroup::SECP384R1]);
            setup
                .common(side)
                .edit_groups(|list| list.retain(|name| client.group(*name).is_some() && server.group(*name).is_some()));
        }
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.client.summary().group, Some(NamedGroup::SECP384R1));
    }
}

/// The server's order decides, among what the client offers; of groups, in TLS 1.3 one with a share goes first.
#[test]
fn preferences() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    let tls12 = suites(PROVIDER, ProtocolVersion::TLS_1_2, CHAIN);
    let (first, second) = (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    setup.client.suites(vec![first, second, tls12[0], tls12[1]]);
    setup.client.groups(vec![NamedGroup::SECP384R1, NamedGroup::X25519]);
    setup.server.suites(vec![tls12[2], tls12[1], tls12[0]]);
    setup.server.edit_suites(|list| list.extend([CipherSuite::TLS_AES_256_GCM_SHA384, second, first]));
    setup.server.groups(vec![NamedGroup::X25519, NamedGroup::SECP384R1]);
    for (version, suite, group) in [
        (ProtocolVersion::TLS_1_3, second, NamedGroup::SECP384R1),
        (ProtocolVersion::TLS_1_2, tls12[1], NamedGroup::X25519),
    ] {
        let mut pair = setup.clone().only(version).pair(1);
        pair.handshake().unwrap();
        assert_eq!((pair.client.summary().cipher_suite, pair.client.summary().group), (Some(suite), Some(group)));
        assert_eq!(pair.client.summary().round_trips, if version == ProtocolVersion::TLS_1_3 { 1 } else { 2 });
    }
}

/// RFC 9846, 4.2.4: whenever the first share is not for a group of the server.
#[test]
fn hello_retry_request() {
    for (client, server) in providers() {
        for first in client.groups.iter().map(|group| group.name()) {
            for second in client.groups.iter().map(|group| group.name()).filter(|second| *second != first) {
                for cookie in [false, true] {
                    let mut setup = Setup::new(client, server, CHAIN);
                    setup.client.groups(vec![first, second]);
                    setup.server.groups(vec![second]);
                    setup.server.hello_retry_cookie(cookie);
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
    for version in VERSIONS {
        let good = || Setup::new(PROVIDER, PROVIDER, CHAIN).only(version);
        let suites = suites(PROVIDER, version, CHAIN);
        let mut setup = good();
        setup.client.suites(vec![suites[0]]);
        setup.server.suites(vec![suites[1]]);
        check_incompatible(&setup, PeerIncompatible::NoCommonCipherSuite, failure);
        let mut setup = good();
        setup.client.groups(vec![NamedGroup::X25519]);
        setup.server.groups(vec![NamedGroup::SECP256R1]);
        check_incompatible(&setup, PeerIncompatible::NoCommonGroup, failure);
        let mut setup = good();
        setup.client.signature_schemes(vec![SignatureScheme::ECDSA_SECP256R1_SHA256]);
        check_incompatible(&setup, PeerIncompatible::NoCommonSignatureScheme, failure);
    }
    // RFC 8422, 2: the suites of RSA are not for other keys.
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2);
    setup.client.suites(vec![CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]);
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
        for version in VERSIONS {
            let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version);
            setup.client.alpn_protocols(protocols(client));
            setup.server.alpn_protocols(protocols(server));
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            for side in Side::BOTH {
                assert_eq!(pair.side(side).0.alpn_protocol(), agreed.map(str::as_bytes), "{client:?}, {server:?}");
            }
        }
    }
    for version in VERSIONS {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version);
        setup.client.alpn_protocols(protocols(&["mqtt"]));
        setup.server.alpn_protocols(protocols(&["coap"]));
        let alert = AlertDescription::NO_APPLICATION_PROTOCOL;
        check_incompatible(&setup, PeerIncompatible::NoCommonApplicationProtocol, alert);
    }
}

/// RFC 6066, 3: names, as they are written without a final dot; never addresses.
#[test]
fn server_name() {
    let pki = Pki::shared(CHAIN);
    let mut options = terse_pki::LeafOptions::new(SERVER_NAME, validity());
    options.names.extend(["192.0.2.7".into(), "2001:db8::7".into()]);
    let server = credential(PROVIDER, &pki.authority.issue(&options).unwrap());
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.server.credentials(vec![server]);
    for (name, send, seen) in [
        (SERVER_NAME, true, Some(SERVER_NAME)),
        (SERVER_NAME, false, None),
        ("192.0.2.7", true, None),
        ("2001:db8::7", true, None),
    ] {
        for version in VERSIONS {
            setup.client.send_server_name(send);
            let address = ServerAddress::new(ServerName::try_from(name).unwrap(), 1);
            let Setup { client, server, .. } = setup.clone().only(version);
            let mut pair =
                Pair::to(address, &Arc::new(client.build().unwrap()), &Arc::new(server.build().unwrap()), 1, at(0));
            pair.handshake().unwrap();
            assert_eq!(pair.server.server_name(), seen);
            assert_eq!(pair.client.server_name(), None);
            let sent = pair.from_client.windows(SERVER_NAME.len()).any(|window| window == SERVER_NAME.as_bytes());
            assert_eq!(sent, seen.is_some());
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
            setup.client.compatibility_mode(compatible);
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
        let point_formats = 6 * hellos / 2; // in ClientHello
        assert_eq!(lengths[1] - lengths[0], 32 * hellos + 2 * 6 + point_formats);
    }
}

/// A name with a final dot is the same name.
#[test]
fn absolute_name() {
    let setup = Setup::new(PROVIDERS[1], PROVIDERS[1], CHAIN);
    let name = ServerName::try_from(format!("{SERVER_NAME}.")).unwrap();
    let address = ServerAddress::new(name, server_address().port);
    let mut pair =
        Pair::to(address, &Arc::new(setup.client.build().unwrap()), &Arc::new(setup.server.build().unwrap()), 1, at(0));
    pair.handshake().unwrap();
    assert_eq!(pair.server.server_name(), Some(SERVER_NAME));
}

/// RFC 8422, 5.2: a client that names its point formats hears ours; ours names them in compatibility mode alone.
#[test]
fn point_formats() {
    for (offered, answered) in [(None, false), (Some(&[1, 0][..]), true), (Some(&[3, 2, 1, 0][..]), true)] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2);
        if let Some(body) = offered {
            let add = move |m: &mut Vec<u8>| add_extension(m, ExtensionType::EC_POINT_FORMATS, body);
            setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, add)));
        }
        let mut pair = setup.pair(1);
        let hello = pair.transmit(Side::Client);
        pair.deliver(Side::Server, hello).unwrap();
        let flight = pair.transmit(Side::Server);
        assert_eq!(flight.windows(6).any(|window| window == [0, 11, 0, 2, 1, 0]), answered, "{offered:?}");
    }
}

/// RFC 8422, 5.1.2: a client in compatibility mode names the one format that there is, and refuses a server without it.
#[test]
fn point_formats_of_client() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2);
    setup.client.compatibility_mode(true);
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    assert_eq!(pair.from_client[43], 0, "a session id, which is for TLS 1.3");
    for stream in [&pair.from_client, &pair.from_server] {
        assert!(stream.windows(6).any(|window| window == [0, 11, 0, 2, 1, 0]));
    }

    let compressed = |m: &mut Vec<u8>| {
        let at = m.windows(6).position(|window| window == [0, 11, 0, 2, 1, 0]).unwrap();
        m[at + 5] = 1;
    };
    setup.server.fault(Some(first(HandshakeType::SERVER_HELLO, compressed)));
    let failed = setup.pair(1).run().unwrap_err();
    assert_eq!(failed, Failed { side: Side::Client, error: InvalidMessage::IllegalValue.into() });
}

/// RFC 8422, 5.1.1 and 5.3: a client of TLS 1.2 names curves alone, and the key of its server is on one of them.
#[test]
fn curves_of_tls12() {
    const CURVE: &str = "p256x2";
    for provider in PROVIDERS {
        let mut setup = Setup::new(provider, provider, CURVE).only(ProtocolVersion::TLS_1_2);
        setup.client.groups(vec![NamedGroup::X25519MLKEM768, NamedGroup::X25519, NamedGroup::SECP256R1]);
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        let [named, hybrid] = [&[0, 10, 0, 6, 0, 4, 0, 0x1d, 0, 0x17][..], &[0x11, 0xec]]
            .map(|bytes| pair.from_client.windows(bytes.len()).any(|window| window == bytes));
        assert!(named && !hybrid);

        setup.client.groups(vec![NamedGroup::X25519, NamedGroup::SECP384R1]);
        let missing = PeerIncompatible::NoCommonCurve(NamedGroup::SECP256R1);
        check_incompatible(&setup, missing, AlertDescription::HANDSHAKE_FAILURE);
        // Whatever comes first: the suites of ECDSA or those of RSA, this key or another one that does not fit either.
        setup.server.edit_suites(|list| list.reverse());
        setup.server.credential(Pki::shared("ed25519x2").server(provider));
        setup.client.edit_signature_schemes(|list| list.retain(|scheme| *scheme != SignatureScheme::ED25519));
        check_incompatible(&setup, missing, AlertDescription::HANDSHAKE_FAILURE);
    }
    let error = Error::from(PeerIncompatible::NoCommonCurve(NamedGroup::SECP256R1)).to_string();
    assert!(
        error
            .ends_with("the client does not offer the group secp256r1, which the key of this side's certificate is of")
    );
}
