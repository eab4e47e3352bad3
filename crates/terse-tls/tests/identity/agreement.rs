//! What both sides agree on and report.

use alloc::sync::Arc;

use terse_testkit::pair::{Pair, Side};
use terse_testkit::setup::Setup;
use terse_tls::identity::{IdentityAlgorithm, KnownPeers};
use terse_tls::{
    ApiMisuse, ClientConfig, Connection, Error, HandshakeType, NamedGroup, ProtocolVersion, ServerAddress,
};

use super::{PROVIDER, check_identified, check_traffic, identity, in_datagrams, setup};

#[test]
fn both_sides_are_identified_without_certificates() {
    for algorithm in IdentityAlgorithm::ALL {
        for setup in [setup(algorithm), setup(algorithm).with_known_peers()] {
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            check_identified([pair.client.summary(), pair.server.summary()], algorithm);
            assert_eq!(pair.client.summary().round_trips, 1);
            check_traffic(&mut pair);
            let sent = |kind| pair.server.summary().sent.messages.iter().any(|(sent, _)| *sent == kind);
            assert!(!sent(HandshakeType::CERTIFICATE) && !sent(HandshakeType::CERTIFICATE_VERIFY));
        }
    }
}

#[test]
fn both_sides_are_identified_over_datagrams() {
    for algorithm in IdentityAlgorithm::ALL {
        for setup in [setup(algorithm), setup(algorithm).with_known_peers()] {
            let mut pair = in_datagrams(setup).datagram_pair(1);
            pair.run_well().unwrap();
            check_identified([pair.client.summary(), pair.server.summary()], algorithm);
            pair.send(Side::Client, b"22.5 C").unwrap();
            pair.run_well().unwrap();
            assert_eq!(pair.received[1], [b"22.5 C"]);
        }
    }
}

/// The public part is in the key file of the client, so that the server does not send it.
#[test]
fn a_public_part_can_be_provided() {
    let mut setup = setup(IdentityAlgorithm::Ristretto255);
    let keys = identity::IdentityKeys::shared(IdentityAlgorithm::Ristretto255);
    let (_, _, known) = setup.identities.as_mut().expect("identities");
    let provided = KnownPeers::new(4);
    provided.provide(keys.server.parameters().authority(), &identity::server(), keys.server.public_part());
    known[0] = Arc::new(provided);
    let first = setup.pair(1);
    let (mut first, mut without) = (first, super::setup(IdentityAlgorithm::Ristretto255).pair(1));
    first.handshake().unwrap();
    without.handshake().unwrap();
    assert_eq!(without.from_server.len() - first.from_server.len(), 32);
    assert_eq!(without.from_client.len(), first.from_client.len());
}

#[test]
fn a_hybrid_secret_is_added_if_both_sides_want_it() {
    let algorithm = IdentityAlgorithm::Ristretto255;
    for (client, server) in [(true, true), (true, false), (false, true)] {
        for falls_back in [false, true] {
            let mut setup = Setup::mutual(PROVIDER, PROVIDER, super::CHAIN).with_identities(algorithm, falls_back);
            if let Some((identity, ..)) = &mut setup.identities {
                *identity = identity.clone().hybrid(client);
            }
            if server {
                setup.server.groups(vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768]);
            }
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            check_traffic(&mut pair);
            let group = (client && server).then_some(NamedGroup::X25519MLKEM768);
            for side in Side::BOTH {
                assert_eq!(pair.side(side).0.summary().group, group);
            }
        }
    }
}

/// The identities of several names and epochs are on one server.
#[test]
fn a_server_name_selects_one_of_several_identities() {
    let algorithm = IdentityAlgorithm::Ristretto255;
    let keys = identity::IdentityKeys::shared(algorithm);
    let other = keys.key(&"dns:other.plant.example".parse().unwrap());
    for sends_name in [true, false] {
        let mut setup = setup(algorithm);
        setup.client.send_server_name(sends_name);
        if let Some((_, server, _)) = &mut setup.identities {
            *server = terse_tls::ServerIdentity::new([other.clone(), keys.server.clone()]);
        }
        let mut pair = setup.pair(1);
        if sends_name {
            pair.handshake().unwrap();
        } else {
            let failed = pair.run().unwrap_err();
            assert_eq!(failed.error, Error::Identity(terse_tls::IdentityRefused::OtherIdentity));
            assert_eq!(failed.side, Side::Client);
        }
    }
}

#[test]
fn a_client_must_expect_an_identity() {
    let setup = setup(IdentityAlgorithm::Ristretto255);
    let keys = identity::IdentityKeys::shared(IdentityAlgorithm::Ristretto255);
    let address = ServerAddress::new("192.0.2.1".try_into().unwrap(), 8883);
    let mut client = setup.client.clone();
    client.identity(terse_tls::ClientIdentity::new(keys.client.clone()));
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let now = terse_testkit::pair::at(0);
    let result = Connection::client(Arc::new(client.build().unwrap()), address.clone(), now, &mut rng);
    assert_eq!(result.err(), Some(Error::ApiMisuse(ApiMisuse::NoExpectedIdentity)));
    client.identity(terse_tls::ClientIdentity::new(keys.client.clone()).server(identity::server()));
    let mut server = setup.server.clone();
    server.identity(terse_tls::ServerIdentity::new([keys.server.clone()]));
    let (client, server) = (Arc::new(client.build().unwrap()), Arc::new(server.build().unwrap()));
    Pair::to(address, &client, &server, 1, now).handshake().unwrap();
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let keys = identity::IdentityKeys::shared(IdentityAlgorithm::Ristretto255);
    let mut client = ClientConfig::builder(PROVIDER);
    client.identity(terse_tls::ClientIdentity::new(keys.client.clone()));
    client.build().unwrap();
    client.versions([ProtocolVersion::TLS_1_2]);
    assert_eq!(client.build().err(), Some(ApiMisuse::IdentityConfiguration));
    let with_psk = setup(IdentityAlgorithm::Ristretto255).with_psk().client;
    let mut with_psk = with_psk.clone();
    with_psk.identity(terse_tls::ClientIdentity::new(keys.client.clone()));
    assert_eq!(with_psk.build().err(), Some(ApiMisuse::IdentityConfiguration));
    let mut server = terse_tls::ServerConfig::builder(PROVIDER);
    server.identity(terse_tls::ServerIdentity::new([]));
    assert!(matches!(server.build().err(), Some(ApiMisuse::EmptyConfiguration(_))));
}

/// A hedge is a key share for a server with certificates: who trusts none needs no group.
#[test]
fn without_trust_in_certificates_a_hedge_needs_no_group() {
    let mut setup = setup(IdentityAlgorithm::Ristretto255);
    let (client, ..) = setup.identities.as_mut().expect("identities");
    *client = client.clone().hedge(true);
    setup.client.groups([]);
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    check_identified([pair.client.summary(), pair.server.summary()], IdentityAlgorithm::Ristretto255);
}

/// Identity handshakes make no sessions, and fill no cache.
#[test]
fn nothing_else_is_kept() {
    let mut pair = setup(IdentityAlgorithm::Ristretto255).with_resumption().keeping().pair(1);
    pair.handshake().unwrap();
    check_traffic(&mut pair);
    assert_eq!(pair.server.summary().sent.post_handshake_bytes, 0);
    let stores = pair.stores.as_ref().expect("stores");
    let empty = terse_testkit::setup::Stores::default();
    for side in Side::BOTH {
        assert_eq!(stores.size(side), empty.size(side));
    }
}
