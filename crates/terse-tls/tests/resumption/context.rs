//! The context of a session changes: the session must not be used, and the handshake goes on in full (docs/caching.md, 4.5;
//! RFC 9846, 4.7.1; RFC 7627, 5.3). This holds in both versions.

use terse_testkit::pair::Pair;
use terse_testkit::pki::{NOW, Pki, SERVER_NAME, server_address, validity};
use terse_testkit::setup::Setup;
use terse_tls::FallbackReason;
use terse_tls::resume::ServerEarlyData;
use terse_tls::summary::Mode;
use terse_tls::{CipherSuite, ClientAuthentication, ProtocolVersion, ServerAddress};

use alloc::sync::Arc;

use super::world::{CHAIN, Kept, VERSIONS, World, all, hello_has, mode, shows_session};

/// After a full handshake, `change` and another one: full, and from then on resumed again.
fn ends_sessions(change: impl Fn(&mut World, Kept)) {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        change(&mut world, kept);
        assert_eq!(world.mode(1), Mode::Full, "{version} {kept:?}");
        assert_eq!(world.mode(2), Mode::Resumed, "{version} {kept:?}");
    }
}

/// The client offers a session, and the server must not take it.
fn is_declined(change: impl Fn(&mut World, Kept)) {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        change(&mut world, kept);
        let pair = world.connect(1);
        assert!(shows_session(&pair));
        assert_eq!(mode(&pair), Mode::Full, "{version} {kept:?}");
        assert_eq!(pair.client.summary().fallback, Some(FallbackReason::SessionIgnored));
        // An id of TLS 1.2 may also be one of compatibility mode.
        let unknown = FallbackReason::SessionNotFound;
        let unknown = (version == ProtocolVersion::TLS_1_3).then_some(unknown);
        assert_eq!(pair.server.summary().fallback, unknown);
    }
    ends_sessions(change);
}

#[test]
fn another_server_or_a_restart() {
    is_declined(|world, kept| {
        let resumption = world.server_resumption(kept, 7200);
        world.setup.server.resumption(resumption);
    });
}

#[test]
fn the_other_way_of_keeping() {
    is_declined(|world, kept| {
        let other = Kept::BOTH.into_iter().find(|other| *other != kept).unwrap();
        world.setup.server.resumption(Some(world.server_resumption(other, 7200)));
    });
}

#[test]
fn a_server_that_resumes_no_more() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        world.setup.server.resumption(None);
        assert_eq!([world.mode(1), world.mode(2)], [Mode::Full; 2]);
    }
}

#[test]
fn a_renewed_certificate_of_the_server() {
    is_declined(|world, _| {
        let provider = &terse_aws_lc::PROVIDER;
        let options = terse_pki::LeafOptions::new(SERVER_NAME, validity());
        let renewed = Pki::shared(CHAIN).authority.issue(&options).unwrap();
        world.setup.server.credentials(vec![terse_testkit::pki::credential(provider, &renewed)]);
    });
}

#[test]
fn another_policy_of_client_authentication() {
    is_declined(|world, _| _ = world.setup.server.client_authentication(ClientAuthentication::None));
    let trust = || Pki::shared(CHAIN).trust();
    is_declined(|world, _| _ = world.setup.server.client_authentication(ClientAuthentication::Optional(trust())));
}

/// A session of a client that was never asked must not get past a server that asks now.
#[test]
fn a_server_that_begins_to_ask_for_certificates() {
    for (version, kept) in all() {
        let provider = &terse_aws_lc::PROVIDER;
        let mut world = World::from(Setup::new(provider, provider, CHAIN), kept).only(version);
        world.connect(0);
        let trust = Pki::shared(CHAIN).trust();
        world.setup.server.client_authentication(ClientAuthentication::Required(trust));
        let pair = world.connect(1);
        assert_eq!(mode(&pair), Mode::Full);
        assert!(pair.server.summary().peer.identity.is_some());
    }
}

/// The client's CA is no longer trusted. The client fails then, as it would without the session.
#[test]
fn other_client_cas() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        let other = Pki::named(CHAIN, "Other CA").trust();
        world.setup.server.client_authentication(ClientAuthentication::Required(other));
        let failed = world.refused(1);
        assert!(matches!(failed.error, terse_tls::Error::Certificate(_)), "{failed:?}");
    }
}

/// To require CRLs is a new policy: whoever one revokes has no session either.
#[test]
fn a_revoked_client() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        let pki = Pki::shared(CHAIN);
        let revoked = terse_pki::Revocation::new(pki.client.leaf(), NOW).unwrap();
        let crl = pki.authority.crl(1, &[revoked], validity()).unwrap();
        let trust = pki.trust().with_crls(&[crl]).unwrap();
        world.setup.server.client_authentication(ClientAuthentication::Required(trust));
        let failed = world.refused(1);
        assert!(matches!(failed.error, terse_tls::Error::Certificate(_)), "{failed:?}");
    }
}

#[test]
fn another_application_protocol() {
    is_declined(|world, _| {
        for side in terse_testkit::pair::Side::BOTH {
            world.setup.common(side).set_alpn_protocols(vec![b"mqtt".to_vec()]);
        }
    });
}

#[test]
fn another_promise_about_early_data() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        world.connect(0);
        world.setup.server.early_data(Some(ServerEarlyData::new(500)));
        assert_eq!([1, 2].map(|seconds| world.mode(seconds)), [Mode::Full, Mode::Resumed]);
    }
}

/// Two virtual hosts share one store.
#[test]
fn another_server_name() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        world.setup.client.send_server_name(false);
        assert_eq!(world.mode(1), Mode::Full, "{version} {kept:?}");
        world.setup.client.send_server_name(true);
        assert_eq!(world.mode(2), Mode::Full, "the session of the one without a name");
    }
}

/// A client does not offer the session of one server to another.
#[test]
fn another_port() {
    for version in VERSIONS {
        let mut world = World::of(version, Kept::InStore);
        world.connect(0);
        let (client, server) =
            (Arc::new(world.setup.client.build().unwrap()), Arc::new(world.setup.server.build().unwrap()));
        let address = ServerAddress::new(server_address().name, 8884);
        let mut pair = Pair::to(address, &client, &server, 9, terse_testkit::pair::at(1));
        pair.handshake().unwrap();
        assert!(!shows_session(&pair));
        assert_eq!(mode(&pair), Mode::Full);
    }
}

#[test]
fn other_trust_of_the_client() {
    ends_sessions(|world, _| {
        let (pki, other) = (Pki::shared(CHAIN), Pki::named(CHAIN, "Other CA"));
        let anchors = [pki.root(), other.root()];
        world.setup.client.trust(terse_tls::Trust::new(&anchors).unwrap());
    });
}

#[test]
fn another_certificate_of_the_client() {
    ends_sessions(|world, _| {
        let options = terse_pki::LeafOptions::new("sensor-18.plant.example", validity());
        let other = Pki::shared(CHAIN).authority.issue(&options).unwrap();
        world.setup.client.credentials(vec![terse_testkit::pki::credential(&terse_aws_lc::PROVIDER, &other)]);
    });
}

#[test]
fn a_suite_that_was_switched_off() {
    ends_sessions(|world, _| {
        world
            .setup
            .client
            .suites(vec![CipherSuite::TLS_AES_256_GCM_SHA384, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]);
    });
}

#[test]
fn a_version_that_was_switched_off() {
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    for side in terse_testkit::pair::Side::BOTH {
        world.setup.common(side).set_versions(vec![ProtocolVersion::TLS_1_2]);
    }
    let mut pair = world.pair(1);
    pair.handshake().unwrap();
    assert_eq!(pair.client.summary().version, Some(ProtocolVersion::TLS_1_2));
    assert!(!hello_has(&pair, terse_tls::ExtensionType::PRE_SHARED_KEY));
    assert!(!hello_has(&pair, terse_tls::ExtensionType::PSK_KEY_EXCHANGE_MODES));
}
