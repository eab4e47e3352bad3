//! Fall-back to certificates: only where both sides allow it, and then as in any other handshake.

use alloc::sync::Arc;

use terse_testkit::identity::IdentityKeys;
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::setup::Setup;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::{
    AlertDescription, ClientAuthentication, ClientIdentity, Error, IdentityRefused, ProtocolVersion, ServerIdentity,
};

use super::{CHAIN, PROVIDER, check_certified, check_traffic, falling_back};

const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;

/// A client with an identity, and a server without.
fn one_sided(side: Side) -> Setup {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
    let keys = IdentityKeys::shared(RISTRETTO255);
    match side {
        Side::Client => _ = setup.client.identity(ClientIdentity::new(keys.client.clone())),
        Side::Server => _ = setup.server.identity(ServerIdentity::new([keys.server.clone()])),
    }
    setup
}

#[test]
fn a_server_without_identity_uses_certificates() {
    for version in [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2] {
        for hedge in [false, true] {
            let mut setup = one_sided(Side::Client);
            setup.server.versions([version]);
            let keys = IdentityKeys::shared(RISTRETTO255);
            setup.client.identity(ClientIdentity::new(keys.client.clone()).hedge(hedge));
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            check_certified([pair.client.summary(), pair.server.summary()]);
            let round_trips = match version {
                ProtocolVersion::TLS_1_3 if hedge => 1,
                _ => 2,
            };
            assert_eq!(pair.client.summary().round_trips, round_trips);
            check_traffic(&mut pair);
        }
    }
}

#[test]
fn a_server_of_another_authority_uses_certificates() {
    let other = IdentityKeys::new(RISTRETTO255, 99);
    let mut setup = falling_back(RISTRETTO255);
    if let Some((client, ..)) = &mut setup.identities {
        *client = ClientIdentity::new(other.client.clone());
    }
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    check_certified([pair.client.summary(), pair.server.summary()]);
    // Without a certificate of the client there is no proof of it at all.
    setup.server.client_authentication(ClientAuthentication::None);
    let failed = setup.pair(1).run().unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Server, IdentityRefused::UnknownAuthority.into()));
}

#[test]
fn a_client_without_identity_needs_a_certificate_or_permission() {
    for version in [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2] {
        let mut setup = one_sided(Side::Server);
        setup.client.versions([version]);
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        check_certified([pair.client.summary(), pair.server.summary()]);
        setup.server.client_authentication(ClientAuthentication::None);
        let mut pair = setup.pair(1);
        let failed = pair.run().unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Server, IdentityRefused::Missing.into()));
        let alert = match version {
            ProtocolVersion::TLS_1_3 => AlertDescription::MISSING_EXTENSION,
            _ => AlertDescription::HANDSHAKE_FAILURE,
        };
        assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(alert)));
        let keys = IdentityKeys::shared(RISTRETTO255);
        setup.server.identity(ServerIdentity::new([keys.server.clone()]).anonymous_clients(true));
        setup.pair(1).handshake().unwrap();
    }
}

/// A session that was made before the server had an identity, without any proof of the client, is no proof now.
#[test]
fn a_session_is_no_proof_of_a_client() {
    for version in [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version).with_frozen_session();
        setup.pair(1).handshake().unwrap();
        let keys = IdentityKeys::shared(RISTRETTO255);
        setup.server.identity(ServerIdentity::new([keys.server.clone()]));
        if version == ProtocolVersion::TLS_1_2 {
            setup.server.versions([ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2]);
        }
        let failed = setup.pair(2).run().unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Server, IdentityRefused::Missing.into()));
    }
}

/// For a day the client offers such a server what other servers get, such as a session.
#[test]
fn a_server_with_certificates_is_offered_no_identity_for_a_day() {
    let mut setup = one_sided(Side::Client).with_resumption();
    let keys = IdentityKeys::shared(RISTRETTO255);
    setup.client.identity(ClientIdentity::new(keys.client.clone()));
    let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
    let run = |seconds| {
        let mut pair = Pair::at(&client, &server, seconds, at(seconds));
        pair.handshake().unwrap();
        (pair.client.summary().round_trips, pair.client.summary().mode)
    };
    use terse_tls::summary::Mode;
    assert_eq!(run(0), (2, Mode::Full));
    assert_eq!(run(1), (1, Mode::Full));
    assert_eq!(run(2), (1, Mode::Resumed));
    assert_eq!(run(86_400 + 1), (2, Mode::Full));
}

/// An alert proves nothing: anybody can send it.
#[test]
fn an_alert_changes_nothing() {
    let setup = falling_back(RISTRETTO255);
    let (client, server, _) = setup.identities.clone().expect("identities");
    let (mut of_client, mut of_server) = (setup.client.clone(), setup.server.clone());
    of_client.identity(client.clone());
    of_server.identity(server);
    let (of_client, of_server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
    let mut pair = Pair::new(&of_client, &of_server, 1);
    pair.transmit(Side::Client);
    pair.deliver(Side::Client, vec![21, 3, 3, 0, 2, 2, 40]).unwrap_err();
    let mut pair = Pair::new(&of_client, &of_server, 2);
    pair.handshake().unwrap();
    super::check_identified([pair.client.summary(), pair.server.summary()], RISTRETTO255);
}
