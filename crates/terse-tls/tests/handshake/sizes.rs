//! How long records may be: RFC 8449, and RFC 6066, 4 before it.

use terse_testkit::fault;
use terse_testkit::forge::{HEADER_LEN, records};
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::{CipherSuite, ContentType, ExtensionType, HandshakeType, MaxFragmentLength, ProtocolVersion};

use super::{PROVIDER, VERSIONS};

const CHAIN: &str = "ed25519x2";

/// AES-GCM: in TLS 1.2 each record has 8 bytes of nonce before its content.
fn setup(version: ProtocolVersion) -> Setup {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version);
    setup
        .client
        .suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]);
    setup
}

/// The longest content of the records of application data in `stream`, in TLS 1.3 with its type, and with handshake
/// messages.
fn longest_content(version: ProtocolVersion, stream: &[u8]) -> usize {
    let nonce = if version == ProtocolVersion::TLS_1_2 { 8 } else { 0 };
    let protected = records(stream).into_iter().filter(|record| record[0] == ContentType::APPLICATION_DATA.0);
    protected.map(|record| record.len() - HEADER_LEN - nonce - 16).max().unwrap_or(0)
}

/// Returns the length of the content type, which counts in TLS 1.3 only (RFC 8449, 4).
const fn type_len(version: ProtocolVersion) -> usize {
    matches!(version, ProtocolVersion::TLS_1_3) as usize
}

/// RFC 8449: each side keeps to the other one's limit. Only a client can begin.
#[test]
fn record_size_limit() {
    let data = vec![b'x'; 5000];
    for (client, server) in [(Some(64), Some(512)), (Some(512), Some(64)), (Some(100), None), (None, Some(100))] {
        for version in VERSIONS {
            let mut setup = setup(version);
            setup.client.record_size_limit(client);
            setup.server.record_size_limit(server);
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            for side in Side::BOTH {
                assert_eq!(pair.carry(side, &data).unwrap(), data);
            }
            let unlimited = data.len() + type_len(version);
            let from_server = client.map_or(unlimited, usize::from);
            let from_client = server.filter(|_| client.is_some()).map_or(unlimited, usize::from);
            let context = format!("{version}, {client:?}, {server:?}");
            assert_eq!(longest_content(version, &pair.from_server), from_server, "{context}");
            assert_eq!(longest_content(version, &pair.from_client), from_client, "{context}");
        }
    }
}

/// RFC 6066, 4: both directions. RFC 8449, 5: not with `record_size_limit`.
#[test]
fn max_fragment_length() {
    for bytes in [512, 1024, 2048, 4096] {
        for (also, version) in [None, Some(700)].into_iter().flat_map(|also| VERSIONS.map(|version| (also, version))) {
            let mut setup = setup(version);
            setup.client.max_fragment_length(MaxFragmentLength::from_bytes(bytes));
            setup.client.record_size_limit(also);
            setup.server.record_size_limit(also);
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            for side in Side::BOTH {
                let data = vec![b'x'; 9000];
                assert_eq!(pair.carry(side, &data).unwrap(), data);
            }
            let longest = also.map_or(bytes + type_len(version), usize::from);
            assert_eq!(longest_content(version, &pair.from_client), longest);
            assert_eq!(longest_content(version, &pair.from_server), longest);
            if also.is_none() {
                let all = [&pair.from_client, &pair.from_server].map(|stream| records(stream));
                let handshake = all.iter().flatten().filter(|record| record[0] == ContentType::HANDSHAKE.0).skip(1);
                assert!(handshake.clone().count() > 0);
                // The first one is the ClientHello. Unprotected, in TLS 1.2 Finished is protected and short.
                assert!(handshake.clone().all(|record| record.len() <= HEADER_LEN + bytes), "{version}");
            }
        }
    }
}

/// RFC 8449, 4: nobody announces more than the version allows; what it does not know may be larger.
#[test]
fn largest_record_size_limit() {
    for version in VERSIONS {
        let largest = 0x4000 + type_len(version) as u16;
        let mut setup = setup(version);
        for side in Side::BOTH {
            setup.common(side).set_record_size_limit(Some(0x4001));
        }
        let announced = |message: &mut Vec<u8>, expected: u16| {
            fault::edit_extensions(message, |all| {
                let limit = all.iter().find(|(kind, _)| *kind == ExtensionType::RECORD_SIZE_LIMIT);
                assert_eq!(limit.unwrap().1, expected.to_be_bytes());
            });
        };
        setup.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, move |m| announced(m, largest))));
        let answer = [HandshakeType::ENCRYPTED_EXTENSIONS, HandshakeType::SERVER_HELLO][1 - type_len(version)];
        setup.server.fault(Some(fault::first(answer, move |m| announced(m, largest))));
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        let data = vec![b'x'; 0x4000];
        for side in Side::BOTH {
            assert_eq!(pair.carry(side, &data).unwrap(), data);
        }
        assert_eq!(longest_content(version, &pair.from_client), usize::from(largest));
        // A client that announces the limit of a version to come.
        let raise = fault::first(HandshakeType::CLIENT_HELLO, |message| {
            fault::set_extension(message, ExtensionType::RECORD_SIZE_LIMIT, &[0xff, 0xff]);
        });
        setup.client.fault(Some(raise));
        setup.pair(1).handshake().unwrap();
    }
}
