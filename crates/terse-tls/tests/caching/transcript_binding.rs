//! The transcript always binds the full content (docs/caching.md, 4.1).

use alloc::sync::Arc;

use terse_testkit::fault::{self, fault};
use terse_testkit::forge::KeyLogLines;
use terse_testkit::pair::{Failed, Side};
use terse_testkit::pki::Pki;
use terse_testkit::rng::SeededRng;
use terse_tls::cache::Scheme;
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::summary::{AuthenticatedBy, CachedObject, Mode};
use terse_tls::{
    AlertDescription, CipherSuite, Error, ExtensionType, HandshakeType, NamedGroup, PeerMisbehaved, SignatureScheme,
};

use super::issued::{leaf, renew, server_leaf};
use super::messages::{Messages, cached_form, reply_of};
use super::schedule::{certificate_fingerprint, hash, prf, request_fingerprint, synthetic, verify_data};
use super::world::*;

/// A client has two certificates over one key. It must not be taken for the owner of the one while it means the other.
#[test]
fn transcript_binds_full_content_of_the_client_certificate() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let stolen = world.next_offer().ticket().expect("a ticket");
        // The same client gets another certificate for its key, and connects with it until it has a ticket of its own.
        let other = renew(&Pki::shared(CHAIN).client, &leaf("valve-3.plant.example", terse_pki::Usage::Client));
        world.client.credentials(vec![other]);
        world.connect().unwrap();
        world.assert_cached();
        // It shows the ticket of the first certificate, and hashes the second.
        let before = world.rows();
        let swap = fault::first(HandshakeType::CLIENT_HELLO, move |message| {
            fault::set_extension(message, ExtensionType::CLIENT_CACHED_INFO, &[&[0, 10, 1, 8], &stolen[..]].concat());
        });
        let (link, result) = world.connect_with(Side::Client, swap);
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::BadSignature.into()));
        assert_eq!(link.pair.server.summary().cached, BOTH_CERTIFICATES, "the server did take up the ticket");
        assert_eq!(world.rows(), before);
    }
}

/// A server's renewed certificate over the old key is another object.
#[test]
fn transcript_binds_full_content_of_the_server_certificate() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let old = world.server.config().credentials()[0].clone();
        world.server.credentials(vec![renew(&Pki::shared(CHAIN).server, &server_leaf())]);
        let new = certificate_fingerprint(world.server.config().credentials()[0].chain());
        // A hostile server selects the old certificate, and shows the fingerprint of the new one.
        let select = fault(move |_, kind, message| match kind {
            HandshakeType::CERTIFICATE => *message = fault::message(kind, &cached_form(version, &new)),
            kind if kind == reply_of(version) => {
                fault::add_extension(message, ExtensionType::CACHED_INFO, &[0, 1, 1]);
            }
            _ => {}
        });
        let (_, result) = world.connect_with(Side::Server, select);
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::IllegalCachedMessage.into()));
        // An honest server does not select the old certificate.
        world.server.credentials(vec![old]);
        world.connect().unwrap();
        world.server.credentials(vec![renew(&Pki::shared(CHAIN).server, &server_leaf())]);
        let done = world.connect().unwrap();
        assert!(done.offer.cached_info.is_some());
        assert_eq!(done.client.cached, [CachedObject::ClientCertificate]);
        assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::Certificate);
    }
}

#[test]
fn an_offer_that_is_changed_on_the_way_fails() {
    for version in VERSIONS {
        type Change = fn(&mut Vec<u8>);
        let changes: [(&str, Change); 4] = [
            ("ticket gone", |hello| fault::set_extension(hello, ExtensionType::CLIENT_CACHED_INFO, &[])),
            ("other ticket", |hello| {
                let body = [0, 10, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7];
                fault::set_extension(hello, ExtensionType::CLIENT_CACHED_INFO, &body);
            }),
            ("fingerprint gone", |hello| fault::remove_extension(hello, ExtensionType::CACHED_INFO)),
            ("caching gone", |hello| {
                fault::remove_extension(hello, ExtensionType::CACHED_INFO);
                fault::remove_extension(hello, ExtensionType::CLIENT_CACHED_INFO);
            }),
        ];
        let mut world = World::cached(version);
        for (what, change) in changes {
            let before = world.rows();
            let mut link = world.begin();
            let record = link.pair.transmit(Side::Client);
            let mut hello = record[5..].to_vec();
            change(&mut hello);
            let record = terse_testkit::forge::plaintext(terse_tls::ContentType::HANDSHAKE, &hello);
            link.deliver(Side::Server, record).unwrap();
            // In TLS 1.2 the server's answer is in the clear, but the client signs what it saw.
            let expected = match version {
                TLS12 => Failed { side: Side::Server, error: PeerMisbehaved::BadSignature.into() },
                _ => Failed { side: Side::Client, error: Error::Crypto(CryptoError::DecryptFailed) },
            };
            assert_eq!(link.run(), Err(expected), "{what}");
            assert_eq!(world.rows(), before, "{what}");
            drop(link);
            world.connect().unwrap();
            world.assert_cached();
        }
    }
}

/// `message_hash` belongs to transcripts only (RFC 9846, 4).
#[test]
fn message_hash_on_the_wire_is_unexpected() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let fingerprints = [&world.server.config().credentials()[0], &world.client.config().credentials()[0]]
            .map(|credential| synthetic(&certificate_fingerprint(credential.chain())));
        let (messages, _) = Messages::of(&mut world);
        for (side, kind) in messages.kinds() {
            for fingerprint in fingerprints.clone() {
                let insert = fault::first(HandshakeType(kind), move |message| {
                    message.splice(..0, fingerprint.iter().copied());
                });
                let unexpected = AlertDescription::UNEXPECTED_MESSAGE;
                world.assert_refused(side, insert, unexpected, &format!("254 before {kind}"));
            }
        }
    }
}

#[test]
fn message_hash_after_the_handshake_is_unexpected() {
    for side in Side::BOTH {
        let mut world = World::cached(TLS13);
        let replace = fault::first(HandshakeType::KEY_UPDATE, |message| *message = synthetic(&[7; 32]));
        let (mut link, result) = world.connect_with(side, replace);
        result.unwrap();
        link.pair.side(side).0.update_keys(false).unwrap();
        let failed = link.carry_on(side).unwrap_err();
        assert_eq!(failed.error.alert(), Some(AlertDescription::UNEXPECTED_MESSAGE));
    }
}

/// Computes CertificateVerify and Finished of both sides a second time, with the synthetic message where the rule wants
/// it and nowhere else.
#[test]
fn transcript_binds_full_content_recomputed() {
    let mut world = World::new(TLS13).with_long_request();
    for expected in [Mode::Full, Mode::Cached(Scheme::Bithac), Mode::Cached(Scheme::Bithac)] {
        let key_log = Arc::new(KeyLogLines::default());
        world.client.key_log(key_log.clone());
        let (messages, done) = Messages::of(&mut world);
        assert_eq!(done.client.mode, expected);
        let cached = expected == Mode::Cached(Scheme::Bithac);
        let kinds: Vec<_> = messages.kinds().iter().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [1, 2, 8, 13, 11, 15, 20, 11, 15, 20]);
        let bytes = messages.bytes();
        let own = synthetic(&certificate_fingerprint(world.client.config().credentials()[0].chain()));
        let own = if cached { &own[..] } else { &[] };

        let chain = world.server.config().credentials()[0].chain();
        check_signature(chain, b"TLS 1.3, server CertificateVerify", bytes[5], &bytes[..5]);
        let server = key_log.secret("SERVER_HANDSHAKE_TRAFFIC_SECRET");
        assert_eq!(bytes[6][4..], verify_data(&server, &bytes[..6]));

        let to_certificate = [&bytes[..7], &[own, bytes[7]]].concat();
        let chain = world.client.config().credentials()[0].chain();
        check_signature(chain, b"TLS 1.3, client CertificateVerify", bytes[8], &to_certificate);
        let client = key_log.secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET");
        assert_eq!(bytes[9][4..], verify_data(&client, &[&to_certificate[..], &[bytes[8]]].concat()));
        let on_the_wire = verify_data(&client, &bytes[..9]);
        assert_eq!(bytes[9][4..] == on_the_wire, !cached, "bound by more than what is on the wire");
    }
}

/// Verifies the CertificateVerify of TLS 1.3 with the key in the certificate (RFC 9846, 4.5.2).
fn check_signature(chain: &[pki_types::CertificateDer<'_>], context: &[u8], verify: &[u8], messages: &[&[u8]]) {
    let content = [&[0x20; 64], context, &[0], &hash(messages)].concat();
    check_signed(chain, &verify[4..], &content);
}

/// Verifies `signed`, which is a scheme and a signature, over `content`.
fn check_signed(chain: &[pki_types::CertificateDer<'_>], signed: &[u8], content: &[u8]) {
    let [high, low, _, _, signature @ ..] = signed else { panic!("{signed:x?}") };
    let scheme = SignatureScheme(u16::from_be_bytes([*high, *low]));
    assert_eq!(scheme, SignatureScheme::ECDSA_SECP256R1_SHA256);
    let end_entity = webpki::EndEntityCert::try_from(&chain[0]).unwrap();
    let (_, algorithms) = PROVIDER.signatures.by_scheme.iter().find(|(known, _)| *known == scheme).unwrap();
    let valid = algorithms.iter().any(|algorithm| end_entity.verify_signature(*algorithm, content, signature).is_ok());
    assert!(valid, "{}", String::from_utf8_lossy(content));
}

/// The same in TLS 1.2, from the key exchange on: the master secret with its session hash (RFC 7627, 4), all signatures,
/// both Finished, and the ticket that comes of them (BiTHaC, IV-B).
#[test]
fn transcript_binds_full_content_recomputed_in_tls12() {
    let mut world = World::new(TLS12).with_long_request();
    world.client.groups(vec![NamedGroup::X25519, NamedGroup::SECP256R1]);
    world.client.suites(vec![CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]);
    for expected in [Mode::Full, Mode::Cached(Scheme::Bithac), Mode::Cached(Scheme::Bithac)] {
        let key_log = Arc::new(KeyLogLines::default());
        world.server.key_log(key_log.clone());
        let (messages, done) = Messages::of(&mut world);
        assert_eq!(done.client.mode, expected);
        let kinds: Vec<_> = messages.kinds().iter().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [1, 2, 11, 12, 13, 14, 11, 16, 15, 20, 20]);
        let bytes = messages.bytes();
        let chain = world.client.config().credentials()[0].chain();
        let fingerprint = certificate_fingerprint(chain);
        let own = if expected == Mode::Cached(Scheme::Bithac) { synthetic(&fingerprint) } else { Vec::new() };

        // The client's randomness: first its random, then its private key.
        let mut rng = SeededRng::new(world.last_seed());
        rng.fill(&mut [0; 32]).unwrap();
        let params = &bytes[3][4..][..4 + 32];
        let (public, shared) = PROVIDER.group(NamedGroup::X25519).unwrap().respond(&mut rng, &params[4..]).unwrap();
        assert_eq!(bytes[7][5..], public);
        let randoms = [&bytes[0][6..38], &bytes[1][6..38]].concat();
        check_signed(
            world.server.config().credentials()[0].chain(),
            &bytes[3][4 + params.len()..],
            &[&randoms, params].concat(),
        );

        let until = |end: usize| [&bytes[..6].concat(), &own, &bytes[6..end].concat()].map(|part| &part[..]).concat();
        let session_hash = hash(&[&until(8)]);
        let master: [u8; 48] = prf(shared.as_ref(), "extended master secret", &session_hash);
        assert_eq!(key_log.secret("CLIENT_RANDOM"), master);
        check_signed(chain, &bytes[8][4..], &until(8));
        assert_eq!(bytes[9][4..], prf::<12>(&master, "client finished", &hash(&[&until(9)])));
        assert_eq!(bytes[10][4..], prf::<12>(&master, "server finished", &hash(&[&until(10)])));

        let ticket = prf::<8>(&master, "ssc_ticket_label", &[&[1], &fingerprint[..]].concat());
        assert_eq!(world.next_offer().ticket(), Some(ticket));
    }
}

/// What both sides export depends on the whole server part of the transcript.
#[test]
fn both_sides_export_the_same() {
    for version in VERSIONS {
        let mut world = World::cached(version).with_long_request();
        let export = |connection: &terse_tls::Connection| {
            let mut out = [0; 32];
            connection.export_keying_material(b"EXPORTER-test", Some(b"context"), &mut out).unwrap();
            out
        };
        let mut seen = Vec::new();
        for _ in 0..3 {
            let done = world.connect_until(Until::Data).unwrap();
            let exported = export(&done.pair.client);
            assert_eq!(exported, export(&done.pair.server));
            assert!(!seen.contains(&exported));
            seen.push(exported);
        }
    }
}

/// The fingerprint of the CertificateRequest stands for all of it: one that differs in a byte is another object.
#[test]
fn transcript_binds_full_content_of_the_certificate_request() {
    for version in VERSIONS {
        let mut world = World::new(version).with_long_request();
        let (messages, _) = Messages::of(&mut world);
        let request = messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST);
        let offered = world.next_offer().cached_info.expect("an offer");
        assert!(offered.ends_with(&request_fingerprint(version, request)));
        let other = fault::first(HandshakeType::CERTIFICATE_REQUEST, |message| {
            assert_eq!(message[message.len() - 33], 32, "the server selected it");
            *message.last_mut().unwrap() ^= 1;
        });
        world.assert_refused(Side::Server, other, AlertDescription::ILLEGAL_PARAMETER, "other request");
    }
}

/// The binding also holds with other hashes, with larger keys, and with one provider against the other.
#[test]
fn both_providers_bind_the_same() {
    let suites = [
        (TLS13, CipherSuite::TLS_AES_128_GCM_SHA256),
        (TLS13, CipherSuite::TLS_AES_256_GCM_SHA384),
        (TLS13, CipherSuite::TLS_CHACHA20_POLY1305_SHA256),
        (TLS12, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        (TLS12, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        (TLS12, CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ];
    for (client, server) in
        [(&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER), (&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER)]
    {
        for (version, suite) in suites {
            let mut world = World::with(version, client, "p384x3").with_long_request();
            let other = World::with(version, server, "p384x3").with_long_request();
            *world.server.common_mut() = other.server.config().common().clone();
            world.server.credentials(other.server.config().credentials());
            world.server.client_authentication(other.server.config().client_authentication().clone());
            world.client.suites(vec![suite]);
            world.connect().unwrap();
            for _ in 0..2 {
                let done = world.assert_cached();
                assert_eq!((done.client.cipher_suite, done.client.mode), (Some(suite), Mode::Cached(Scheme::Bithac)));
                assert!(done.client.cached.contains(&CachedObject::CertificateRequest));
            }
        }
    }
}
