//! These tests check the form on the wire of TLS 1.3, byte by byte.

use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_testkit::rng::SeededRng;
use terse_tls::cache::Schemes;
use terse_tls::crypto::{CryptoProvider, Rng};
use terse_tls::{CipherSuite, ExtensionType, HandshakeType, NamedGroup, SignatureScheme, Summary};

use super::issued::{issue, server_leaf};
use super::messages::Messages;
use super::schedule::{certificate_fingerprint, expand_label, hash, request_fingerprint, resumption_secret, synthetic};
use super::world::*;

fn fingerprints(world: &World) -> [[u8; 32]; 2] {
    [&world.server.config().credentials()[0], &world.client.config().credentials()[0]]
        .map(|credential| certificate_fingerprint(credential.chain()))
}

/// The engine's fingerprint is the one that is computed here.
#[test]
fn wire_fingerprint_is_over_the_tls12_form_with_its_header() {
    let world = World::new(TLS13);
    let [server, _] = fingerprints(&world);
    assert_eq!(world.server.config().credentials()[0].fingerprint(TLS13).0, server);
}

/// 4 bytes each way, and nothing else: an empty extension that says "supported".
#[test]
fn wire_first_contact_costs_four_bytes_each_way() {
    let mut world = World::new(TLS13);
    let (with, _) = Messages::of(&mut world);
    let hello = with.find(Side::Client, HandshakeType::CLIENT_HELLO);
    assert_eq!(count(hello, &[0xff, 0x42, 0, 0]), 1);
    let extensions = with.find(Side::Server, HandshakeType::ENCRYPTED_EXTENSIONS);
    assert_eq!(extensions, [8, 0, 0, 6, 0, 4, 0xff, 0x42, 0, 0]);
    let mut world = World::new(TLS13);
    world.set_schemes(Schemes::OFF, Schemes::OFF);
    let (without, _) = Messages::of(&mut world);
    let len = |messages: &Messages| [0, 2, 4].map(|nth| messages.bytes()[nth].len());
    assert_eq!(len(&with), [len(&without)[0] + 4, len(&without)[1] + 4, len(&without)[2]]);
}

fn count(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).filter(|window| *window == part).count()
}

#[test]
fn wire_rfc7924_costs_nothing_at_first_contact() {
    let mut world = World::new(TLS13);
    world.set_schemes(Schemes::RFC7924, Schemes::RFC7924);
    assert!(world.assert_full().offer.is_silent());
}

#[test]
fn wire_second_client_hello() {
    let mut world = World::cached(TLS13);
    let offer = world.next_offer();
    let [server, _] = fingerprints(&world);
    assert_eq!(offer.cached_info.unwrap(), [&[0, 34, 1, 32], &server[..]].concat());
    assert_eq!(offer.client_cached_info.as_ref().map(Vec::len), Some(2 + 1 + 1 + 8));
    assert_eq!(offer.client_cached_info.unwrap()[..4], [0, 10, 1, 8]);
}

#[test]
fn wire_second_client_hello_with_a_cached_request() {
    let mut world = World::new(TLS13).with_long_request();
    let (messages, _) = Messages::of(&mut world);
    let request = request_fingerprint(TLS13, messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST));
    let [server, _] = fingerprints(&world);
    let expected = [&[0, 68, 1, 32], &server[..], &[2, 32], &request[..]].concat();
    assert_eq!(world.next_offer().cached_info.unwrap(), expected);
    let (messages, _) = Messages::of(&mut world);
    let extensions = messages.find(Side::Server, HandshakeType::ENCRYPTED_EXTENSIONS);
    let reply = [8, 0, 0, 19, 0, 17, 0, 25, 0, 4, 0, 2, 1, 2, 0xff, 0x42, 0, 5, 0, 3, 1, 0, 0];
    assert_eq!(extensions, reply);
    let cached = messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST);
    assert_eq!(cached, [&[13, 0, 0, 34, 0, 32], &request[..]].concat());
}

/// A server leaves a request alone that is shorter than its cached form, even if the client offers it.
#[test]
fn wire_short_request_is_never_cached() {
    let mut world = World::cached(TLS13);
    let (messages, _) = Messages::of(&mut world);
    let request = messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST).to_vec();
    assert!(request.len() < 38 && world.next_offer().cached_info.unwrap().len() == 2 + 34);
    let [server, _] = fingerprints(&world);
    let body = [&[0, 68, 1, 32], &server[..], &[2, 32], &request_fingerprint(TLS13, &request)].concat();
    world.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, move |hello| {
        fault::set_extension(hello, ExtensionType::CACHED_INFO, &body);
    })));
    let done = world.connect().unwrap();
    assert_eq!(done.offer.cached_info.map(|body| body.len()), Some(2 + 2 * 34));
    assert_eq!(done.server.cached, BOTH_CERTIFICATES);
}

#[test]
fn wire_messages_of_a_cached_handshake() {
    let mut world = World::cached(TLS13);
    let (messages, _) = Messages::of(&mut world);
    let sent = |side, kinds: &[u8]| kinds.iter().map(move |kind| (side, *kind)).collect::<Vec<_>>();
    let (server, client) = (sent(Side::Server, &[2, 8, 13, 11, 15, 20]), sent(Side::Client, &[11, 15, 20]));
    assert_eq!(messages.kinds(), [sent(Side::Client, &[1]), server, client].concat());
    let extensions = messages.find(Side::Server, HandshakeType::ENCRYPTED_EXTENSIONS);
    assert_eq!(extensions, [8, 0, 0, 18, 0, 16, 0, 25, 0, 3, 0, 1, 1, 0xff, 0x42, 0, 5, 0, 3, 1, 0, 0]);
    let [fingerprint, _] = fingerprints(&world);
    // Context, list, one entry: the fingerprint in place of the certificate, and no extensions.
    let certificate = messages.find(Side::Server, HandshakeType::CERTIFICATE);
    assert_eq!(certificate, [&[11, 0, 0, 41, 0, 0, 0, 37, 0, 0, 32], &fingerprint[..], &[0, 0]].concat());
    let certificate = messages.find(Side::Client, HandshakeType::CERTIFICATE);
    assert_eq!(certificate, [11, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0]);
}

#[test]
fn wire_rfc7924_selection() {
    let mut world = World::new(TLS13);
    world.set_schemes(Schemes::RFC7924, Schemes::BITHAC);
    world.assert_full();
    let (messages, _) = Messages::of(&mut world);
    let extensions = messages.find(Side::Server, HandshakeType::ENCRYPTED_EXTENSIONS);
    assert_eq!(extensions, [8, 0, 0, 9, 0, 7, 0, 25, 0, 3, 0, 1, 1]);
    let certificate = messages.find(Side::Client, HandshakeType::CERTIFICATE);
    assert!(certificate.len() > 500, "in full");
}

/// The server takes part, and knows nothing.
#[test]
fn wire_unknown_ticket_is_answered_by_an_empty_list() {
    let mut world = World::cached(TLS13);
    world.restart_server(false);
    world.server.credentials(vec![issue(&server_leaf())]);
    let (messages, _) = Messages::of(&mut world);
    let extensions = messages.find(Side::Server, HandshakeType::ENCRYPTED_EXTENSIONS);
    assert_eq!(extensions, [8, 0, 0, 8, 0, 6, 0xff, 0x42, 0, 2, 0, 0]);
}

/// `HKDF-Expand-Label(resumption_secret, "ssc_ticket", object_type || object_hash, 8)`, from the key exchange on.
#[test]
fn wire_ticket_is_derived_from_the_resumption_secret() {
    let mut world = World::new(TLS13);
    world.client.groups(vec![NamedGroup::X25519]);
    world.client.suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
    for round in 0..3 {
        let (messages, _) = Messages::of(&mut world);
        // The client's randomness: first its random, then its private key.
        let mut rng = SeededRng::new(world.last_seed());
        rng.fill(&mut [0; 32]).unwrap();
        let key_exchange = PROVIDER.group(NamedGroup::X25519).unwrap().start(&mut rng).unwrap();
        let hello = messages.find(Side::Client, HandshakeType::CLIENT_HELLO);
        assert_eq!(count(hello, key_exchange.key_share()), 1, "round {round}");
        let share = &messages.find(Side::Server, HandshakeType::SERVER_HELLO)[90 - 32..];
        let shared = key_exchange.complete(share).unwrap();

        let [_, own] = fingerprints(&world);
        let bytes = messages.bytes();
        let bound = if round > 0 { synthetic(&own) } else { Vec::new() };
        let transcript = [&bytes[..7], &[&bound[..]], &bytes[7..]].concat();
        let secret = resumption_secret(shared.as_ref(), &transcript);
        let ticket: [u8; 8] = expand_label(&secret, "ssc_ticket", &[&[1], &own[..]].concat());
        assert_eq!(world.next_offer().ticket(), Some(ticket), "round {round}");
    }
}

/// P-256 certificates, x25519, mutual, no SNI, one suite, group and signature algorithm, 16-byte tags: 639 bytes of
/// records with DER signatures of 72 bytes.
fn smallest(provider: &'static CryptoProvider, chain: &str, scheme: SignatureScheme) -> World {
    let mut world = World::with(TLS13, provider, chain);
    world.client.send_server_name(false);
    for common in [world.client.common_mut(), world.server.common_mut()] {
        common.set_suites(vec![CipherSuite::TLS_AES_128_CCM_SHA256]);
        common.set_groups(vec![NamedGroup::X25519]);
        common.set_signature_schemes(vec![scheme]);
    }
    world
}

/// Returns the length of the signature in a side's CertificateVerify, without header, scheme and length.
fn signature_len(summary: &Summary) -> u64 {
    let verify = summary.sent.messages.iter().find(|(kind, _)| *kind == HandshakeType::CERTIFICATE_VERIFY);
    u64::from(verify.expect("it signed").1) - 8
}

fn record_bytes(world: &mut World) -> (u64, u64) {
    let done = world.connect().unwrap();
    assert_eq!(done.client.cached, BOTH_CERTIFICATES);
    let bytes = done.client.sent.record_bytes + done.client.received.record_bytes;
    assert_eq!(bytes, done.server.sent.record_bytes + done.server.received.record_bytes);
    (bytes, signature_len(&done.client) + signature_len(&done.server))
}

#[test]
fn wire_record_bytes_with_p256() {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let mut world = smallest(provider, "p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256);
        world.connect().unwrap();
        for _ in 0..3 {
            let (bytes, signatures) = record_bytes(&mut world);
            assert_eq!(bytes + 2 * 72 - signatures, 639);
        }
    }
}

#[test]
fn wire_record_bytes_with_ed25519() {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let mut world = smallest(provider, "ed25519x3", SignatureScheme::ED25519);
        world.connect().unwrap();
        assert_eq!(record_bytes(&mut world), (639 - 2 * (72 - 64), 2 * 64));
    }
}

#[test]
fn wire_request_fingerprint_leaves_the_context_out() {
    let request = [13, 0, 0, 9, 0, 0, 6, 0, 13, 0, 2, 0, 0];
    assert_eq!(request_fingerprint(TLS13, &request), hash(&[&[13, 0, 0, 8, 0, 6, 0, 13, 0, 2, 0, 0]]));
}
