//! Peers that are taken unverified, on either side, in every protocol: what is known of them, and what is not
//! ([`Trust::unverified`]; RFC 8995, 5.1).

use alloc::sync::Arc;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use terse_testkit::fault::{edit_body, edit_extensions, first};
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::pki::{Pki, credential};
use terse_testkit::setup::{PSK_IDENTITY, Setup};
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::resume::{
    ClientResumption, ExternalPsk, MemoryClientSessions, MemoryPskStore, MemorySessionStore, ServerEarlyData,
    ServerResumption,
};
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{
    ApiMisuse, CertificateError, CertificateType, ClientAuthentication, ClientConfig, ClientIdentity, ConfigBuilder,
    Connection, Credential, Datagrams, ExtensionType, HandshakeType, InvalidMessage, PeerMisbehaved, ProtocolVersion,
    ServerConfig, ServerIdentity, Setting, SignatureScheme, Stapling, Trust,
};

use super::{PROVIDER, VERSIONS, providers};

const CHAIN: &str = "p256x3";

const BOTH_TYPES: [CertificateType; 2] = [CertificateType::X509, CertificateType::RAW_PUBLIC_KEY];

fn unverified() -> Trust {
    Trust::unverified(&BOTH_TYPES).unwrap()
}

/// A client and a server after their handshake, or after its failure.
struct Outcome {
    client: Connection,
    server: Connection,
    result: Result<(), Failed>,
}

impl Outcome {
    fn of(&self, side: Side) -> &Connection {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }
}

/// Connects over each of the four protocols.
fn over_all_protocols(setup: &Setup, check: impl Fn(&str, Outcome)) {
    for version in VERSIONS {
        let mut pair = setup.clone().only(version).pair(1);
        let result = pair.handshake();
        let Pair { client, server, .. } = pair;
        check(&version.to_string(), Outcome { client, server, result });
        let mut pair = setup.clone().over(version, Datagrams::default()).datagram_pair(1);
        let result = pair.run_well();
        check(&format!("D{version}"), Outcome { client: pair.client, server: pair.server, result });
    }
}

/// A setup in which `sides` take their peers unverified.
fn taking_unverified(sides: &[Side]) -> Setup {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
    for side in sides {
        take_unverified(&mut setup, *side);
    }
    setup
}

fn take_unverified(setup: &mut Setup, side: Side) {
    match side {
        Side::Client => _ = setup.client.trust(unverified()),
        Side::Server => _ = setup.server.client_authentication(ClientAuthentication::Required(unverified())),
    }
}

/// Checks that `connection` has taken its peer unverified, and has what it presented.
fn check_presented(
    name: &str,
    connection: &Connection,
    chain: &[CertificateDer<'_>],
    key: &SubjectPublicKeyInfoDer<'_>,
) {
    let peer = &connection.summary().peer;
    assert_eq!(peer.authenticated_by, AuthenticatedBy::Presented, "{name}");
    assert_eq!((&peer.identity, peer.name()), (&None, None), "{name}");
    assert_eq!(peer.signature_scheme, Some(SignatureScheme::ECDSA_SECP256R1_SHA256), "{name}");
    assert_eq!(connection.summary().signatures_verified, 0, "{name}");
    let presented = connection.presented().unwrap();
    assert!(presented.chain().eq(chain.iter().cloned()), "{name}");
    assert_eq!(&presented.public_key(), key, "{name}");
}

#[test]
fn the_chain_is_kept_and_nobody_is_authenticated() {
    let pki = Pki::shared(CHAIN);
    for sides in [&[Side::Client][..], &[Side::Server], &Side::BOTH] {
        over_all_protocols(&taking_unverified(sides), |name, outcome| {
            assert_eq!(outcome.result, Ok(()), "{name}");
            for side in Side::BOTH {
                let issued = match side {
                    Side::Client => &pki.server,
                    Side::Server => &pki.client,
                };
                let connection = outcome.of(side);
                if sides.contains(&side) {
                    let credential = credential(PROVIDER, issued);
                    check_presented(name, connection, issued.chain(), &credential.public_key());
                } else {
                    assert_eq!(connection.presented(), None, "{name}");
                    assert_eq!(connection.summary().peer.authenticated_by, AuthenticatedBy::Certificate, "{name}");
                }
            }
        });
    }
}

#[test]
fn every_provider_takes_unverified_peers_with_every_kind_of_key() {
    for (client, server) in providers() {
        for chain in ["p384x2", "ed25519x3"] {
            let mut setup = Setup::mutual(client, server, chain);
            Side::BOTH.iter().for_each(|side| take_unverified(&mut setup, *side));
            over_all_protocols(&setup, |name, outcome| {
                assert_eq!(outcome.result, Ok(()), "{name}");
                assert!(Side::BOTH.iter().all(|side| outcome.of(*side).presented().is_some()), "{name}");
            });
        }
    }
}

#[test]
fn raw_public_keys_are_kept() {
    let mut setup = Setup::raw_public_keys(PROVIDER, PROVIDER, CHAIN);
    Side::BOTH.iter().for_each(|side| take_unverified(&mut setup, *side));
    let keys = [setup.server.config().credentials()[0].clone(), setup.client.config().credentials()[0].clone()];
    over_all_protocols(&setup, |name, outcome| {
        assert_eq!(outcome.result, Ok(()), "{name}");
        for (side, key) in Side::BOTH.into_iter().zip(&keys) {
            check_presented(name, outcome.of(side), &[], &key.public_key());
            let presented = outcome.of(side).presented().unwrap();
            assert_eq!(presented.certificate_type(), CertificateType::RAW_PUBLIC_KEY);
        }
    });
    // A side that accepts chains alone is not shown a key.
    for side in Side::BOTH {
        let mut setup = setup.clone();
        let chains = Trust::unverified(&[CertificateType::X509]).unwrap();
        match side {
            Side::Client => _ = setup.client.trust(chains),
            Side::Server => _ = setup.server.client_authentication(ClientAuthentication::Required(chains)),
        }
        over_all_protocols(&setup, |name, outcome| assert!(outcome.result.is_err(), "{name}"));
    }
}

/// A server that does not know the extension sends a chain (RFC 7250, 4.2): a client that accepts raw public keys alone
/// refuses it.
#[test]
fn a_chain_is_refused_by_a_client_that_accepts_keys_alone() {
    let mut setup = taking_unverified(&[Side::Client]);
    setup.client.trust(Trust::unverified(&[CertificateType::RAW_PUBLIC_KEY]).unwrap());
    for version in VERSIONS {
        let without_extension = first(HandshakeType::CLIENT_HELLO, |message| {
            edit_extensions(message, |extensions| {
                extensions.retain(|(kind, _)| *kind != ExtensionType::SERVER_CERTIFICATE_TYPE);
            });
        });
        setup.client.fault(Some(without_extension));
        let mut pair = setup.clone().only(version).pair(1);
        let error = CertificateError::UnacceptedType.into();
        assert_eq!(pair.handshake(), Err(Failed { side: Side::Client, error }), "{version}");
        assert!(pair.client.presented().is_none(), "{version}");
    }
}

/// No CA, no date and no name matters: a chain that path validation refuses is taken.
#[test]
fn certificates_that_are_refused_elsewhere_are_taken() {
    let other = Pki::named(CHAIN, "Other CA");
    let mut setup = taking_unverified(&Side::BOTH);
    setup.client.credentials(vec![other.server(PROVIDER)]); // a server's certificate
    setup.server.credentials(vec![other.client(PROVIDER)]);
    let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
    let mut pair = Pair::at(&client, &server, 1, at(100 * 365 * 86_400));
    pair.handshake().unwrap();
    let mut pair = Pair::at(&client, &server, 1, terse_tls::Now::new(terse_tls::Instant(0), None)); // no clock
    pair.handshake().unwrap();
    assert!(pair.client.presented().unwrap().chain().eq(other.client.chain().iter().cloned()));
}

/// Shows the certificate of somebody else, and signs with a key of its own.
struct Impostor {
    shown: Arc<dyn SigningKey>,
    own: Arc<dyn SigningKey>,
}

impl SigningKey for Impostor {
    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.shown.public_key()
    }

    fn schemes(&self) -> &[SignatureScheme] {
        self.shown.schemes()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        self.own.sign(scheme, message, rng)
    }
}

#[test]
fn a_wrong_handshake_signature_fails() {
    let pki = Pki::shared(CHAIN);
    for side in Side::BOTH {
        for has_raw_key in [false, true] {
            let mut setup = taking_unverified(&Side::BOTH);
            let (shown, other) = match side {
                Side::Client => (&pki.server, &pki.client),
                Side::Server => (&pki.client, &pki.server),
            };
            let load = |issued: &terse_pki::Credential| PROVIDER.load_key(issued.key()).unwrap();
            let key = Arc::new(Impostor { shown: load(shown), own: load(other) });
            let impostor = match has_raw_key {
                true => Credential::raw_public_key(key).unwrap(),
                false => Credential::new(shown.chain().to_vec(), key).unwrap(),
            };
            match side {
                Side::Client => _ = setup.server.credentials(vec![impostor]),
                Side::Server => _ = setup.client.credentials(vec![impostor]),
            }
            over_all_protocols(&setup, |name, outcome| {
                let error = PeerMisbehaved::BadSignature.into();
                assert_eq!(outcome.result, Err(Failed { side, error }), "{name}");
                assert_eq!(outcome.of(side).presented(), None, "{name}");
                assert!(!outcome.of(side).is_connected(), "{name}");
            });
        }
    }
}

/// A leaf that cannot sign a handshake, or that does not parse, is refused.
#[test]
fn a_leaf_without_a_key_that_can_sign_is_refused() {
    let root = Pki::shared(CHAIN).root(); // its key usage is keyCertSign
    for (leaf, error) in [
        (root, CertificateError::WrongUsage),
        (CertificateDer::from(&b"no certificate"[..]), CertificateError::Malformed),
    ] {
        let mut setup = taking_unverified(&[Side::Client]);
        for version in VERSIONS {
            let leaf = leaf.to_vec();
            let certificate = first(HandshakeType::CERTIFICATE, move |message| {
                edit_body(message, |body| *body = certificate_message(version, &leaf));
            });
            setup.server.fault(Some(certificate));
            let mut pair = setup.clone().only(version).pair(1);
            assert_eq!(pair.handshake(), Err(Failed { side: Side::Client, error: error.into() }), "{version}");
        }
    }
}

/// The body of a Certificate message with one certificate.
fn certificate_message(version: ProtocolVersion, certificate: &[u8]) -> Vec<u8> {
    let vec24 = |content: &[u8]| [&(content.len() as u32).to_be_bytes()[1..], content].concat();
    match version {
        ProtocolVersion::TLS_1_3 => [&[0], &vec24(&[&vec24(certificate), &[0, 0][..]].concat())[..]].concat(),
        _ => vec24(&vec24(certificate)),
    }
}

/// Whoever has presented no certificate is nobody, and may be refused.
#[test]
fn a_client_without_a_certificate_has_presented_nothing() {
    for is_required in [false, true] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.client.credentials(vec![]);
        let policy = if is_required { ClientAuthentication::Required } else { ClientAuthentication::Optional };
        setup.server.client_authentication(policy(unverified()));
        over_all_protocols(&setup, |name, outcome| {
            assert_eq!(outcome.server.presented(), None, "{name}");
            assert_eq!(outcome.server.summary().peer.authenticated_by, AuthenticatedBy::None, "{name}");
            match is_required {
                true => {
                    let error = CertificateError::Required.into();
                    assert_eq!(outcome.result, Err(Failed { side: Side::Server, error }), "{name}");
                }
                false => assert_eq!(outcome.result, Ok(()), "{name}"),
            }
        });
    }
}

/// A device that loses its connection looks whether the next one is with the same peer (RFC 8995, 5.1): replicas have one
/// certificate, and it is presented in every handshake.
#[test]
fn two_replicas_with_one_certificate_present_the_same() {
    let setup = taking_unverified(&Side::BOTH);
    let replicas = [setup.clone(), setup.clone()]; // each with a configuration of its own
    let mut seen = Vec::new();
    for setup in &replicas {
        let mut pair = setup.pair(1 + seen.len() as u64);
        pair.handshake().unwrap();
        seen.push((pair.client.presented().cloned().unwrap(), pair.server.presented().cloned().unwrap()));
    }
    assert_eq!(seen[0], seen[1]);
    let mut other = setup;
    other.server.credentials(vec![Pki::named(CHAIN, "Other CA").server(PROVIDER)]);
    let mut pair = other.pair(3);
    pair.handshake().unwrap();
    assert_ne!(pair.client.presented(), Some(&seen[0].0));
}

/// A side that verifies its peers keeps what it always keeps; one that takes them unverified offers and answers nothing of
/// that, so that every handshake is a full one, in which everything is presented again.
#[test]
fn nothing_of_an_unverified_peer_is_used_again() {
    for (version, side) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let mut setup = taking_unverified(&[side]).only(version);
        match side {
            Side::Client => {
                let rows = Arc::new(MemoryServerStore::new(4));
                setup.server.cache(ServerCache::new(rows, Schemes::COMPACT)).resumption(resumption());
            }
            Side::Server => {
                let (objects, sessions) = (MemoryClientStore::new(4), MemoryClientSessions::new(4));
                setup.client.cache(ClientCache::new(Arc::new(objects), Schemes::COMPACT));
                setup.client.resumption(ClientResumption::new(Arc::new(sessions)));
            }
        }
        for seed in 1..4 {
            let mut pair = setup.pair(seed);
            pair.handshake().unwrap();
            assert_eq!(pair.client.summary().mode, Mode::Full, "{version}, {side:?}");
            let connection = if side == Side::Client { &pair.client } else { &pair.server };
            assert!(connection.presented().is_some());
            assert_eq!(connection.summary().peer.identity, None);
            pair.close().unwrap();
        }
    }
}

/// A Certificate message of exactly the largest size is kept; with one byte more the handshake fails.
#[test]
fn a_chain_at_the_limit_is_kept_and_a_longer_one_refused() {
    let pki = Pki::shared(CHAIN);
    const LIMIT: usize = 4_000;
    for (version, others) in [(ProtocolVersion::TLS_1_3, 1 + 3 + 2 * (3 + 2)), (ProtocolVersion::TLS_1_2, 3 + 2 * 3)] {
        for too_much in [0, 1] {
            let filling = vec![0x30; LIMIT - others - pki.server.leaf().len() + too_much];
            let chain = vec![pki.server.leaf().clone(), filling.into()];
            let key = PROVIDER.load_key(pki.server.key()).unwrap();
            let mut setup = taking_unverified(&[Side::Client]).only(version);
            setup.server.credentials(vec![Credential::new(chain.clone(), key).unwrap()]);
            setup.client.max_handshake_message(LIMIT);
            let mut pair = setup.pair(1);
            let result = pair.handshake();
            let presented = pair.client.presented();
            match too_much {
                0 => {
                    assert_eq!(result, Ok(()));
                    assert!(presented.unwrap().chain().eq(chain));
                }
                _ => {
                    let error = InvalidMessage::HandshakeTooLarge.into();
                    assert_eq!((result, presented), (Err(Failed { side: Side::Client, error }), None));
                }
            }
        }
    }
}

fn identities() -> (ClientIdentity, ServerIdentity) {
    let setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).with_identities(IdentityAlgorithm::Ristretto255, true);
    let (client, server, _) = setup.identities.unwrap();
    (client, server)
}

fn resumption() -> ServerResumption {
    ServerResumption::Stateful { store: Arc::new(MemorySessionStore::new(4)), lifetime_seconds: 60 }
}

/// What verifies peers, in [`ApiMisuse::UnverifiedWith`].
const VERIFIED: Setting = Setting::Verification;

/// The configurations that would keep something of an unverified peer, or let one in by another way, are refused.
#[test]
fn an_unverified_peer_goes_with_nothing_that_is_kept() {
    type OfClient = fn(&mut ConfigBuilder<ClientConfig>);
    let of_client: [(OfClient, Setting); 7] = [
        (|c| _ = c.cache(ClientCache::new(Arc::new(MemoryClientStore::new(4)), Schemes::COMPACT)), Setting::Cache),
        (|c| _ = c.resumption(ClientResumption::new(Arc::new(MemoryClientSessions::new(4)))), Setting::Resumption),
        (|c| _ = c.psks([ExternalPsk::new(PSK_IDENTITY, &[7; 32]).unwrap()]), Setting::PreSharedKeys),
        (|c| _ = c.identity(identities().0), Setting::Identity),
        (|c| _ = c.server_usage(terse_tls::KeyPurposeId::CMC_RA), Setting::ServerUsage),
        (|c| _ = c.trust(unverified().with_stapling(Stapling::Ask)), VERIFIED),
        (|c| _ = c.trust(unverified().with_crls(&[]).unwrap()), VERIFIED),
    ];
    for (configure, setting) in of_client {
        let mut setup = taking_unverified(&Side::BOTH);
        assert!(setup.client.build().is_ok());
        configure(&mut setup.client);
        assert_eq!(setup.client.build().err(), Some(ApiMisuse::UnverifiedWith(setting)));
    }
    type OfServer = fn(&mut ConfigBuilder<ServerConfig>);
    let of_server: [(OfServer, Setting); 6] = [
        (|c| _ = c.cache(ServerCache::new(Arc::new(MemoryServerStore::new(4)), Schemes::COMPACT)), Setting::Cache),
        (|c| _ = c.resumption(resumption()), Setting::Resumption),
        (|c| _ = c.resumption(resumption()).early_data(ServerEarlyData::new(1_000)), Setting::Resumption),
        (|c| _ = c.psks(Arc::new(MemoryPskStore::default())), Setting::PreSharedKeys),
        (|c| _ = c.identity(identities().1), Setting::Identity),
        (
            |c| _ = c.client_authentication(ClientAuthentication::Optional(unverified().with_stapling(Stapling::Ask))),
            VERIFIED,
        ),
    ];
    for (configure, setting) in of_server {
        let mut setup = taking_unverified(&Side::BOTH);
        assert!(setup.server.build().is_ok());
        configure(&mut setup.server);
        assert_eq!(setup.server.build().err(), Some(ApiMisuse::UnverifiedWith(setting)));
    }
    assert_eq!(Trust::unverified(&[]).err(), Some(ApiMisuse::EmptyConfiguration(Setting::CertificateType)));
}
