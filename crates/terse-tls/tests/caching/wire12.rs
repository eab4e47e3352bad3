//! These tests check the form on the wire of TLS 1.2, byte by byte (RFC 7924, 4, and BiTHaC, IV-B).

use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_tls::cache::Scheme;
use terse_tls::cache::{Fingerprint, Schemes};
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{CipherSuite, ExtensionType, HandshakeType, Summary};

use super::issued::{issue, server_leaf};
use super::messages::{Messages, certificate};
use super::schedule::{certificate_fingerprint, hash, request_fingerprint};
use super::world::*;

const SERVER_HELLO: HandshakeType = HandshakeType::SERVER_HELLO;
const CERTIFICATE: HandshakeType = HandshakeType::CERTIFICATE;
const CERTIFICATE_REQUEST: HandshakeType = HandshakeType::CERTIFICATE_REQUEST;

/// Returns the extensions of a ServerHello that has no session id.
fn reply(messages: &Messages) -> Vec<u8> {
    messages.find(Side::Server, SERVER_HELLO)[4 + 2 + 32 + 1 + 2 + 1..].to_vec()
}

/// renegotiation_info and extended_master_secret, which are always there, and `rest`.
fn extensions(rest: &[u8]) -> Vec<u8> {
    let always = [0xff, 1, 0, 1, 0, 0, 23, 0, 0];
    [&((always.len() + rest.len()) as u16).to_be_bytes(), &always[..], rest].concat()
}

fn server_fingerprint(world: &World) -> [u8; 32] {
    certificate_fingerprint(world.server.config().credentials()[0].chain())
}

/// The vector of RFC 7924, Appendix A: a Certificate message with its header.
#[test]
fn fingerprint_of_rfc7924() {
    let message = from_hex(include_str!("fixtures/rfc7924_certificate.hex"));
    let fingerprint = hash(&[&message]);
    assert_eq!(fingerprint[..4], [0x08, 0x6e, 0xef, 0xb4]);
    assert_eq!(fingerprint[30..], [0x05, 0xaf]);
    // The one certificate in it gives the same by the engine's way and by ours.
    let [11, _, _, _, _, _, _, _, _, _, der @ ..] = &message[..] else { panic!("no Certificate") };
    assert_eq!(certificate_fingerprint(&[der.into()]), fingerprint);
    assert_eq!(message[4..], certificate(TLS12, &[(der, &[])]));
    assert_eq!(Fingerprint(fingerprint).0, fingerprint);
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

#[test]
fn wire_first_contact_costs_four_bytes_each_way() {
    let mut world = World::new(TLS12);
    let (with, _) = Messages::of(&mut world);
    assert_eq!(reply(&with), extensions(&[0xff, 0x42, 0, 0]));
    let mut world = World::new(TLS12);
    world.set_schemes(Schemes::OFF, Schemes::OFF);
    let (without, _) = Messages::of(&mut world);
    assert_eq!(reply(&without), extensions(&[]));
    let len = |messages: &Messages| messages.find(Side::Client, HandshakeType::CLIENT_HELLO).len();
    assert_eq!(len(&with), len(&without) + 4);
}

#[test]
fn wire_second_handshake() {
    let mut world = World::cached(TLS12);
    let fingerprint = server_fingerprint(&world);
    let offer = world.next_offer();
    assert_eq!(offer.cached_info.unwrap(), [&[0, 34, 1, 32], &fingerprint[..]].concat());
    assert_eq!(offer.client_cached_info.map(|body| (body.len(), body[..4].to_vec())), Some((12, vec![0, 10, 1, 8])));
    let (messages, _) = Messages::of(&mut world);
    let sent = |side, kinds: &[u8]| kinds.iter().map(move |kind| (side, *kind)).collect::<Vec<_>>();
    let (server, client) = (sent(Side::Server, &[2, 11, 12, 13, 14]), sent(Side::Client, &[11, 16, 15, 20]));
    let all = [sent(Side::Client, &[1]), server, client, sent(Side::Server, &[20])].concat();
    assert_eq!(messages.kinds(), all);
    assert_eq!(reply(&messages), extensions(&[0, 25, 0, 3, 0, 1, 1, 0xff, 0x42, 0, 5, 0, 3, 1, 0, 0]));
    assert_eq!(messages.find(Side::Server, CERTIFICATE), [&[11, 0, 0, 33, 32], &fingerprint[..]].concat());
    assert_eq!(messages.find(Side::Client, CERTIFICATE), [11, 0, 0, 0]);
}

#[test]
fn wire_cached_request() {
    let mut world = World::new(TLS12).with_long_request();
    let (messages, _) = Messages::of(&mut world);
    let request = request_fingerprint(TLS12, messages.find(Side::Server, CERTIFICATE_REQUEST));
    let expected = [&[0, 68, 1, 32], &server_fingerprint(&world)[..], &[2, 32], &request[..]].concat();
    assert_eq!(world.next_offer().cached_info.unwrap(), expected);
    let (messages, _) = Messages::of(&mut world);
    assert_eq!(reply(&messages), extensions(&[0, 25, 0, 4, 0, 2, 1, 2, 0xff, 0x42, 0, 5, 0, 3, 1, 0, 0]));
    assert_eq!(messages.find(Side::Server, CERTIFICATE_REQUEST), [&[13, 0, 0, 33, 32], &request[..]].concat());
}

/// A server leaves a request alone that is shorter than its cached form, even if the client offers it.
#[test]
fn wire_short_request_is_never_cached() {
    let mut world = World::new(TLS12);
    for common in [world.client.common_mut(), world.server.common_mut()] {
        common.edit_signature_schemes(|schemes| schemes.truncate(3));
    }
    world.connect().unwrap();
    let (messages, _) = Messages::of(&mut world);
    let request = messages.find(Side::Server, CERTIFICATE_REQUEST).to_vec();
    assert!(request.len() < 37 && world.next_offer().cached_info.unwrap().len() == 2 + 34);
    let fingerprints = [server_fingerprint(&world), request_fingerprint(TLS12, &request)];
    let body = [&[0, 68, 1, 32], &fingerprints[0][..], &[2, 32], &fingerprints[1]].concat();
    world.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, move |hello| {
        fault::set_extension(hello, ExtensionType::CACHED_INFO, &body);
    })));
    let done = world.connect().unwrap();
    assert_eq!(done.server.cached, BOTH_CERTIFICATES);
}

#[test]
fn wire_rfc7924_alone() {
    let mut world = World::new(TLS12);
    world.set_schemes(Schemes::RFC7924, Schemes::BITHAC);
    assert!(world.assert_full().offer.is_silent());
    let (messages, done) = Messages::of(&mut world);
    assert_eq!(
        (done.client.mode, done.client.cached),
        (Mode::Cached(Scheme::Rfc7924), vec![CachedObject::ServerCertificate])
    );
    assert_eq!(reply(&messages), extensions(&[0, 25, 0, 3, 0, 1, 1]));
    assert!(messages.find(Side::Client, CERTIFICATE).len() > 500, "in full");
}

/// The server takes part, and knows nothing.
#[test]
fn wire_unknown_ticket_is_answered_by_an_empty_list() {
    let mut world = World::cached(TLS12);
    world.restart_server(false);
    world.server.credentials(vec![issue(&server_leaf())]);
    let (messages, _) = Messages::of(&mut world);
    assert_eq!(reply(&messages), extensions(&[0xff, 0x42, 0, 2, 0, 0]));
}

/// The setting of BiTHaC, V: chains of three RSA-2048 certificates on both sides, and CAs that are named.
fn of_the_paper(schemes: Schemes) -> World {
    let mut world = World::with(TLS12, &terse_aws_lc::PROVIDER, "rsa2048x3").with_long_request();
    world.set_schemes(schemes, schemes);
    world.client.suites(vec![CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]);
    world.connect().unwrap();
    world
}

fn length(summary: &Summary, kind: HandshakeType) -> u32 {
    summary.sent.messages.iter().find(|(sent, _)| *sent == kind).expect("it was sent").1
}

/// Of the server's Certificate, its CertificateRequest and the client's Certificate: 42, 42 and 9 bytes with the header of a
/// record each, which ours do not have, since messages share records.
#[test]
fn wire_messages_of_the_paper() {
    for (schemes, client) in [(Schemes::BITHAC, Some(4)), (Schemes::RFC7924, None)] {
        let done = of_the_paper(schemes).connect().unwrap();
        assert_eq!((length(&done.server, CERTIFICATE), length(&done.server, CERTIFICATE_REQUEST)), (37, 37));
        let full: usize = Pki::shared("rsa2048x3").client.chain().iter().map(|der| 3 + der.len()).sum();
        assert_eq!(length(&done.client, CERTIFICATE), client.unwrap_or(4 + 3 + full as u32));
    }
}

/// At least what the paper saves on the wire of TLS 1.2 (V-A): 28 % with RFC 7924 alone, 43 % with tickets. There TCP and IP
/// count as well; without them more is saved.
#[test]
fn wire_savings_of_the_paper() {
    let bytes = |schemes| {
        let client = of_the_paper(schemes).connect().unwrap().client;
        client.sent.record_bytes + client.received.record_bytes
    };
    let full = bytes(Schemes::OFF);
    let saved = |schemes| 100 - 100 * bytes(schemes) / full;
    let (rfc7924, bithac) = (saved(Schemes::RFC7924), saved(Schemes::BITHAC));
    assert!(rfc7924 >= 32 && bithac >= 55 && bithac > rfc7924, "{rfc7924} %, {bithac} % of {full}");
}
