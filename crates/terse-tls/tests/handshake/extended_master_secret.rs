//! The extended master secret (RFC 7627): required, or wanted and not had.

use terse_testkit::fault::{add_extension, first, remove_extension};
use terse_testkit::pair::{Failed, Side};
use terse_testkit::setup::Setup;
use terse_tls::{
    AlertDescription, ApiMisuse, Error, ExtensionType, HandshakeType, PeerIncompatible, PeerMisbehaved, ProtocolVersion,
};

use super::{PROVIDER, check_traffic, providers};

const CHAIN: &str = "ed25519x2";

/// A client that does not know RFC 7627, as it seems to the server.
fn old_client(setup: &mut Setup) {
    let forget = |message: &mut Vec<u8>| remove_extension(message, ExtensionType::EXTENDED_MASTER_SECRET);
    setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, forget)));
}

/// RFC 7627, 5.2: whoever requires it refuses the other one; otherwise RFC 5246, 8.1 does.
#[test]
fn every_policy() {
    for (client, server) in providers() {
        for (client_requires, server_requires) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut setup = Setup::mutual(client, server, CHAIN).only(ProtocolVersion::TLS_1_2);
            setup.client.require_extended_master_secret(client_requires);
            setup.server.require_extended_master_secret(server_requires);
            setup.pair(1).handshake().unwrap(); // with it
            old_client(&mut setup);
            let mut pair = setup.pair(1);
            let refuses = match (client_requires, server_requires) {
                (_, true) => Side::Server,
                (true, false) => Side::Client,
                (false, false) => {
                    pair.handshake().unwrap();
                    check_traffic(&mut pair);
                    continue;
                }
            };
            let error = PeerIncompatible::NoExtendedMasterSecret.into();
            assert_eq!(pair.run(), Err(Failed { side: refuses, error }));
            let alert = Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
            assert_eq!(pair.failure(refuses.other()), Some(&alert));
        }
    }
}

/// In TLS 1.3 it means nothing, and is no part of a ServerHello.
#[test]
fn misplaced_answer() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.server.fault(Some(first(HandshakeType::SERVER_HELLO, |message| {
        add_extension(message, ExtensionType::EXTENDED_MASTER_SECRET, b"");
    })));
    let error = PeerMisbehaved::MisplacedExtension(ExtensionType::EXTENDED_MASTER_SECRET).into();
    assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Client, error }));
}

/// RFC 7627, 5.4: what two connections may share is no secret of one of them.
#[test]
fn nothing_is_exported_without_it() {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2);
    for side in Side::BOTH {
        setup.common(side).set_require_extended_master_secret(false);
    }
    old_client(&mut setup);
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    for side in Side::BOTH {
        let mut secret = [0; 32];
        let exported = pair.side(side).0.export_keying_material(b"EXPORTER-a", None, &mut secret);
        assert_eq!((exported, secret), (Err(ApiMisuse::NoExporter.into()), [0; 32]));
    }
    check_traffic(&mut pair);
}
