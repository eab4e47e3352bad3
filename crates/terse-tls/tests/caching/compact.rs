//! `compact` on the wire, byte by byte, in both versions; what its ticket is derived from; how many bytes it takes; and a
//! world that changes in parts.

use alloc::sync::Arc;

use terse_testkit::fault;
use terse_testkit::forge::KeyLogLines;
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_testkit::rng::SeededRng;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::crypto::{CryptoProvider, Rng};
use terse_tls::summary::{AuthenticatedBy, CachedObject, Mode};
use terse_tls::{
    CipherSuite, ClientAuthentication, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion, SignatureScheme,
};

use super::issued::{issue, other_pki, server_leaf};
use super::messages::{Messages, reply_of};
use super::schedule::{
    certificate_fingerprint, expand_label, hash, prf, request_fingerprint, resumption_secret, synthetic,
};
use super::world::*;

/// Returns the body of `compact_cache` in the server's reply.
fn reply(messages: &Messages, version: ProtocolVersion) -> Option<Vec<u8>> {
    let mut message = messages.find(Side::Server, reply_of(version)).to_vec();
    let mut found = None;
    fault::edit_extensions(&mut message, |extensions| {
        assert!(
            extensions
                .iter()
                .all(|(kind, _)| { ![ExtensionType::CACHED_INFO, ExtensionType::CLIENT_CACHED_INFO].contains(kind) })
        );
        found = extensions.iter().find(|(kind, _)| *kind == ExtensionType::COMPACT_CACHE).map(|(_, body)| body.clone());
    });
    found
}

/// Two empty extensions, and then one with 8 bytes; what is left out is not there.
#[test]
fn wire_compact() {
    for setting in COMPACT {
        let version = setting.version;
        let mut world = World::new(setting);
        let (messages, done) = Messages::of(&mut world);
        assert!(done.offer.is_first_contact());
        assert_eq!(reply(&messages, version), Some(Vec::new()));
        for _ in 0..2 {
            let (messages, done) = Messages::of(&mut world);
            assert_eq!(done.offer.compact_cache.map(|body| body.len()), Some(8));
            assert_eq!((done.offer.client_cached_info, done.offer.cached_info), (Some(Vec::new()), None));
            assert_eq!(reply(&messages, version), Some(vec![0b111]));
            let kinds: Vec<_> = messages.kinds().iter().map(|(_, kind)| *kind).collect();
            let expected: &[u8] =
                if version == TLS12 { &[1, 2, 12, 14, 16, 15, 20, 20] } else { &[1, 2, 8, 15, 20, 15, 20] };
            assert_eq!(kinds, expected);
        }
    }
}

/// 4 bytes more each way than without, on first contact, beside what `bithac` says.
#[test]
fn wire_compact_first_contact() {
    for setting in COMPACT {
        let len = |schemes| {
            let (messages, _) = Messages::of(&mut World::new(Setting { schemes, ..setting }));
            [(Side::Client, HandshakeType::CLIENT_HELLO), (Side::Server, reply_of(setting.version))]
                .map(|(side, kind)| messages.find(side, kind).len())
        };
        let [client, server] = len(Schemes::OFF);
        let block = 2 * usize::from(server < 40 && setting.version == TLS12);
        assert_eq!(len(Schemes::COMPACT), [client + 8, server + 4 + block]);
    }
}

fn fingerprints(world: &World) -> [[u8; 32]; 2] {
    [&world.server.config().credentials()[0], &world.client.config().credentials()[0]]
        .map(|credential| certificate_fingerprint(credential.chain()))
}

/// Returns `h` of docs/caching.md.
fn static_hash(world: &World, request: &[u8; 32]) -> [u8; 32] {
    let [server, client] = fingerprints(world);
    hash(&[&server, request, &client])
}

/// The ticket of TLS 1.3, from the key exchange on, with the transcript of docs/caching.md, 4.1.
#[test]
fn compact_ticket_and_transcript_recomputed() {
    let mut world = World::new(COMPACT[0]);
    world.client.groups(vec![NamedGroup::X25519]);
    world.client.suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
    let mut request = [0; 32];
    for round in 0..3 {
        let (messages, _) = Messages::of(&mut world);
        let mut rng = SeededRng::new(world.last_seed());
        rng.fill(&mut [0; 32]).unwrap();
        let key_exchange = PROVIDER.group(NamedGroup::X25519).unwrap().start(&mut rng).unwrap();
        let share = &messages.find(Side::Server, HandshakeType::SERVER_HELLO)[90 - 32..];
        let shared = key_exchange.complete(share).unwrap();

        let bytes = messages.bytes();
        let transcript = if round == 0 {
            request = request_fingerprint(TLS13, bytes[3]);
            bytes.iter().map(|message| message.to_vec()).collect::<Vec<_>>()
        } else {
            // ClientHello, ServerHello, EncryptedExtensions; CertificateVerify, Finished; CertificateVerify, Finished
            let [server, client] = fingerprints(&world);
            let left_out = [&request, &server, &client].map(synthetic);
            let [request, server, client] = left_out;
            [&bytes[..3], &[&request[..], &server], &bytes[3..5], &[&client], &bytes[5..]]
                .concat()
                .into_iter()
                .map(<[u8]>::to_vec)
                .collect()
        };
        let transcript: Vec<_> = transcript.iter().map(|message| &message[..]).collect();
        let secret = resumption_secret(shared.as_ref(), &transcript);
        let ticket: [u8; 8] = expand_label(&secret, "compact_ticket", &static_hash(&world, &request));
        assert_eq!(world.next_offer().ticket(), Some(ticket), "round {round}");
    }
}

/// The same of TLS 1.2, where the session hash binds it all (RFC 7627, 4).
#[test]
fn compact_ticket_and_transcript_recomputed_in_tls12() {
    let mut world = World::new(COMPACT[1]);
    world.client.groups(vec![NamedGroup::X25519, NamedGroup::SECP256R1]); // the certificate's
    world.client.suites(vec![CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]);
    let mut request = [0; 32];
    for round in 0..3 {
        let key_log = Arc::new(KeyLogLines::default());
        world.server.key_log(key_log.clone());
        let (messages, _) = Messages::of(&mut world);
        let bytes = messages.bytes();
        let [server, client] = fingerprints(&world);
        let (exchange, until_session_hash) = if round == 0 {
            request = request_fingerprint(TLS12, bytes[4]);
            (bytes[3], bytes[..8].concat())
        } else {
            // ClientHello, ServerHello; ServerKeyExchange; ServerHelloDone; ClientKeyExchange
            let [server, request, client] = [&server, &request, &client].map(synthetic);
            let parts =
                [&bytes[..2], &[&server[..]], &bytes[2..3], &[&request], &bytes[3..4], &[&client], &bytes[4..5]];
            (bytes[2], parts.concat().concat())
        };
        let mut rng = SeededRng::new(world.last_seed());
        rng.fill(&mut [0; 32]).unwrap();
        let share = &exchange[8..][..32];
        let (_, shared) = PROVIDER.group(NamedGroup::X25519).unwrap().respond(&mut rng, share).unwrap();
        let master: [u8; 48] = prf(shared.as_ref(), "extended master secret", &hash(&[&until_session_hash]));
        assert_eq!(key_log.secret("CLIENT_RANDOM"), master, "round {round}");
        let ticket = prf::<8>(&master, "compact_cache_ticket", &static_hash(&world, &request));
        assert_eq!(world.next_offer().ticket(), Some(ticket), "round {round}");
    }
}

/// Objects that change are sent, and the others are not.
#[test]
fn compact_leaves_out_what_is_the_same() {
    for setting in COMPACT {
        let [request, server, client] =
            [CachedObject::CertificateRequest, CachedObject::ServerCertificate, CachedObject::ClientCertificate];
        let mut world = World::cached(setting);
        world.server.credentials(vec![issue(&server_leaf())]);
        assert_eq!(world.connect().unwrap().client.cached, [request, client], "another server certificate");
        world.assert_cached();
        world.server.certificate_authorities(true);
        assert_eq!(world.connect().unwrap().client.cached, [server, client], "another request");
        world.assert_cached();
        let trust = world.server.config().client_authentication().trust().unwrap().clone();
        let both = [Pki::shared(CHAIN).root(), other_pki().root()];
        world.server.certificate_authorities(false);
        world.connect().unwrap();
        world.server_trust(terse_tls::Trust::new(&both).unwrap());
        let mut expected = World::everything(setting.version).to_vec();
        expected.retain(|object| *object != client);
        assert_eq!(world.connect().unwrap().client.cached, expected, "another policy");
        world.assert_cached();
        // The server asks for no certificate: the ticket names no request.
        world.server.client_authentication(ClientAuthentication::None);
        for _ in 0..3 {
            let done = world.connect().unwrap();
            assert_eq!((done.client.mode, &done.client.cached[..]), (Mode::Cached(Scheme::Compact), &[server][..]));
            assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::None);
        }
        // Everybody is asked again: what such a ticket names is still left out.
        world.server_trust(trust);
        let done = world.connect().unwrap();
        assert_eq!(done.client.cached, [server]);
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::Certificate);
        world.assert_cached();
    }
}

/// A client without a certificate is asked for one: its answer is sent, the request is not.
#[test]
fn compact_without_a_client_certificate() {
    for setting in COMPACT {
        let mut world = World::new(setting);
        let trust = world.server.config().client_authentication().trust().unwrap().clone();
        world.server.client_authentication(ClientAuthentication::Optional(trust));
        world.client.credentials(Vec::new());
        world.assert_full();
        let mut expected = World::everything(setting.version).to_vec();
        expected.pop();
        for _ in 0..3 {
            let (messages, done) = Messages::of(&mut world);
            assert_eq!((done.client.mode, &done.client.cached), (Mode::Cached(Scheme::Compact), &expected));
            assert_eq!(done.server.peer.identity, None);
            let empty: &[u8] =
                if setting.version == TLS12 { &[11, 0, 0, 3, 0, 0, 0] } else { &[11, 0, 0, 4, 0, 0, 0, 0] };
            assert_eq!(messages.find(Side::Client, HandshakeType::CERTIFICATE), empty);
        }
        // As soon as the client has a certificate, its scope is another one.
        world.client.credentials(vec![Pki::shared(CHAIN).client(PROVIDER)]);
        world.assert_full();
        world.assert_cached();
    }
}

/// A client of both versions, at a server that is replaced by one of the other version: what is of one version is sent.
#[test]
fn compact_between_versions() {
    for (from, to) in [(TLS12, TLS13), (TLS13, TLS12)] {
        let mut world = World::new(Setting { version: from, schemes: Schemes::COMPACT });
        world.client.versions(VERSIONS.to_vec());
        world.connect().unwrap();
        world.assert_cached();
        world.server.versions(vec![to]);
        let done = world.connect().unwrap();
        assert_eq!((done.client.version, &done.client.cached[..]), (Some(to), &BOTH_CERTIFICATES[..]));
        world.assert_cached();
        // A client of the first version alone does not show a ticket with a request of the second.
        world.speak(&[from]);
        assert!(world.assert_full().offer.is_first_contact());
        world.assert_cached();
    }
}

#[test]
fn another_code_point_serves_as_well() {
    for setting in COMPACT {
        let mut world = World::new(setting);
        for common in [world.client.common_mut(), world.server.common_mut()] {
            common.set_compact_cache(ExtensionType(0xff99));
        }
        world.assert_full();
        world.assert_cached();
        // Of different ones the next best scheme is left.
        world.server.compact_cache(ExtensionType(0xff98));
        for expected in [Mode::Full, Mode::Cached(Scheme::Bithac), Mode::Cached(Scheme::Bithac)] {
            assert_eq!(world.connect().unwrap().client.mode, expected);
        }
    }
}

/// Mutual, x25519, no SNI, one suite, group and signature algorithm, 16-byte tags: 515 bytes of records with DER
/// signatures of 72 bytes, 499 with Ed25519.
fn record_bytes(provider: &'static CryptoProvider, chain: &str, scheme: SignatureScheme) -> u64 {
    let mut world = World::with(COMPACT[0], provider, chain);
    world.client.send_server_name(false);
    for common in [world.client.common_mut(), world.server.common_mut()] {
        common.set_suites(vec![CipherSuite::TLS_AES_128_CCM_SHA256]);
        common.set_groups(vec![NamedGroup::X25519]);
        common.set_signature_schemes(vec![scheme]);
    }
    world.assert_full();
    let done = world.assert_cached();
    let bytes = done.client.sent.record_bytes + done.client.received.record_bytes;
    let signature_len = |summary: &terse_tls::Summary| {
        let mut messages = summary.sent.messages.iter();
        u64::from(messages.find(|(kind, _)| *kind == HandshakeType::CERTIFICATE_VERIFY).expect("it signed").1) - 8
    };
    bytes - signature_len(&done.client) - signature_len(&done.server)
}

#[test]
fn wire_compact_record_bytes() {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        assert_eq!(record_bytes(provider, "p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256) + 2 * 72, 515);
        assert_eq!(record_bytes(provider, "ed25519x3", SignatureScheme::ED25519) + 2 * 64, 499);
    }
}
