//! `compact` with a hostile side: replies and offers that make no sense, messages that come although they are left out,
//! tickets that are stolen; and what the transcript's binding (docs/caching.md, 4.1) is for.

use alloc::sync::Arc;

use terse_pki::Usage;
use terse_testkit::fault::{self, fault};
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_tls::cache::Schemes;
use terse_tls::summary::{AuthenticatedBy, CachedObject};
use terse_tls::{AlertDescription, CacheDefence, ExtensionType, Fault, HandshakeType, PeerMisbehaved, ProtocolVersion};

use super::issued::{client_leaf, issue, leaf, renew, server_leaf};
use super::messages::{Messages, cached_form, certificate, reduced_form, reply_of};
use super::schedule::{certificate_fingerprint, request_fingerprint, synthetic};
use super::world::*;

const COMPACT_CACHE: ExtensionType = ExtensionType::COMPACT_CACHE;
const ILLEGAL: AlertDescription = AlertDescription::ILLEGAL_PARAMETER;
const UNEXPECTED: AlertDescription = AlertDescription::UNEXPECTED_MESSAGE;

/// The server's reply gets `body` in place of its own, and these extensions beside it.
fn reply(version: ProtocolVersion, body: Vec<u8>, beside: Vec<(ExtensionType, Vec<u8>)>) -> Arc<dyn Fault> {
    fault::first(reply_of(version), move |message| {
        fault::set_extension(message, COMPACT_CACHE, &body);
        for (kind, body) in &beside {
            fault::add_extension(message, *kind, body);
        }
    })
}

#[test]
fn fault_server_selects_what_it_must_not() {
    for setting in COMPACT {
        let mut world = World::cached(setting);
        let decode = AlertDescription::DECODE_ERROR;
        let mut cases: Vec<(String, Vec<u8>, AlertDescription)> = vec![
            ("no bit".into(), vec![0], ILLEGAL),
            ("two bytes".into(), vec![7, 0], decode),
            ("the ticket".into(), vec![7; 8], decode),
        ];
        // Bit 3 has no meaning without a staple.
        cases.extend((3..8).map(|bit| (format!("bit {bit}"), vec![7 | 1 << bit], ILLEGAL)));
        for (what, body, alert) in cases {
            world.assert_refused(Side::Server, reply(setting.version, body, vec![]), alert, &what);
        }
    }
}

#[test]
fn fault_server_answers_an_empty_offer_with_content() {
    for setting in COMPACT {
        for bits in 0..=255 {
            if bits > 16 && bits % 51 > 0 {
                continue;
            }
            let mut world = World::new(setting);
            let reply = reply(setting.version, vec![bits], vec![]);
            world.assert_refused(Side::Server, reply, ILLEGAL, &format!("{bits:#x}"));
        }
    }
}

#[test]
fn fault_server_answers_two_schemes() {
    for setting in COMPACT {
        let mut world = World::cached(setting);
        for (kind, body) in [(ExtensionType::CLIENT_CACHED_INFO, &[][..]), (ExtensionType::CLIENT_CACHED_INFO, &[0, 0])]
        {
            for bits in [&[][..], &[7]] {
                let reply = reply(setting.version, bits.to_vec(), vec![(kind, body.to_vec())]);
                world.assert_refused(Side::Server, reply, ILLEGAL, &format!("{kind} {body:?} beside {bits:?}"));
            }
        }
        // `cached_info` was not sent, since nothing of it was offered.
        let reply = reply(setting.version, vec![7], vec![(ExtensionType::CACHED_INFO, vec![0, 1, 1])]);
        world.assert_refused(Side::Server, reply, AlertDescription::UNSUPPORTED_EXTENSION, "cached_info");
        // Where it was, because no server with tickets has answered yet.
        let mut world = World::new(setting);
        world.set_schemes(Schemes::COMPACT, Schemes::RFC7924);
        world.connect().unwrap();
        let done = world.connect().unwrap();
        assert!(done.offer.cached_info.is_some() && done.offer.compact_cache == Some(Vec::new()));
        let both = fault::first(reply_of(setting.version), |message| fault::add_extension(message, COMPACT_CACHE, &[]));
        let (_, result) = world.connect_with(Side::Server, both);
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::IllegalCachingReply.into()));
    }
}

#[test]
fn fault_server_selects_a_part_that_the_ticket_does_not_have() {
    for setting in COMPACT {
        let mut world = World::new(setting);
        let required = world.server.config().client_authentication().clone();
        world.server.client_authentication(terse_tls::ClientAuthentication::None);
        world.connect().unwrap();
        world.connect().unwrap();
        for bits in [0b11, 0b101, 0b111, 0b10, 0b100] {
            let (_, result) = world.connect_with(Side::Server, reply(setting.version, vec![bits], vec![]));
            let failed = result.unwrap_err();
            let error = PeerMisbehaved::IllegalCachingReply.into();
            assert_eq!((failed.side, failed.error), (Side::Client, error), "{bits:#b}");
            world.connect().unwrap();
            world.connect().unwrap();
        }
        world.server.client_authentication(required);
        world.connect().unwrap();
        world.assert_cached();
    }
}

/// A ticket whose request and client are of the other version, or whose client would not be taken.
#[test]
fn fault_server_selects_a_request_of_another_version() {
    for (from, to) in [(TLS12, TLS13), (TLS13, TLS12)] {
        let mut world = World::new(Setting { version: from, schemes: Schemes::COMPACT });
        world.client.versions(VERSIONS.to_vec());
        world.connect().unwrap();
        world.server.versions(vec![to]);
        let (_, result) = world.connect_with(Side::Server, reply(to, vec![0b111], vec![]));
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::IllegalCachingReply.into()));
    }
}

/// Bit 2, and no request, neither sent nor left out; or one that excludes the key.
#[test]
fn fault_server_leaves_out_the_client_without_asking() {
    for setting in COMPACT {
        let mut world = World::cached(setting);
        for bits in [0b101, 0b100] {
            let reply = reply(setting.version, vec![bits], vec![]);
            let (link, result) = world.connect_with(Side::Server, reply);
            // Without bit 1 the server's Certificate is due: what comes instead is unexpected.
            let alert = if bits & 1 == 1 { ILLEGAL } else { UNEXPECTED };
            let failed = result.unwrap_err();
            assert_eq!((failed.side, failed.error.alert()), (Side::Client, Some(alert)), "{bits:#b}");
            drop(link);
            world.connect().unwrap();
            world.assert_cached();
        }
        world.server.certificate_authorities(true); // another request, which is sent
        let exclude = fault::first(HandshakeType::CERTIFICATE_REQUEST, move |message| match setting.version {
            TLS12 => *message = fault::message(HandshakeType::CERTIFICATE_REQUEST, &[1, 64, 0, 2, 8, 7, 0, 0]),
            _ => fault::set_extension(message, ExtensionType::SIGNATURE_ALGORITHMS, &[0, 2, 8, 7]),
        });
        world.assert_refused(Side::Server, exclude, ILLEGAL, "ed25519 only");
    }
}

/// Returns the messages of a full handshake, to be sent where they are left out.
fn full_messages(setting: Setting) -> [Vec<u8>; 3] {
    let (messages, _) = Messages::of(&mut World::new(setting));
    [
        messages.find(Side::Server, HandshakeType::CERTIFICATE),
        messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST),
        messages.find(Side::Client, HandshakeType::CERTIFICATE),
    ]
    .map(<[u8]>::to_vec)
}

#[test]
fn fault_messages_that_come_although_they_are_left_out() {
    for setting in COMPACT {
        let version = setting.version;
        let mut world = World::cached(setting);
        let [certificate_of_server, request, certificate_of_client] = full_messages(setting);
        let context: &[u8] = if version == TLS13 { &[0] } else { &[] };
        let fingerprints = [&world.server.config().credentials()[0], &world.client.config().credentials()[0]]
            .map(|credential| certificate_fingerprint(credential.chain()));
        let hash = request_fingerprint(version, &request);
        let message = |kind, body: &[u8]| fault::message(kind, body);
        let (certificate_kind, request_kind) = (HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST);
        // Before which message of the side it comes.
        let (proof, exchange, done) = match version {
            TLS12 => (
                HandshakeType::SERVER_KEY_EXCHANGE,
                HandshakeType::CLIENT_KEY_EXCHANGE,
                HandshakeType::SERVER_HELLO_DONE,
            ),
            _ => (
                HandshakeType::CERTIFICATE_VERIFY,
                HandshakeType::CERTIFICATE_VERIFY,
                HandshakeType::CERTIFICATE_VERIFY,
            ),
        };
        let cases = [
            (Side::Server, proof, "its Certificate", certificate_of_server),
            (Side::Server, proof, "an empty Certificate", message(certificate_kind, &certificate(version, &[]))),
            (Side::Server, proof, "a fingerprint", message(certificate_kind, &cached_form(version, &fingerprints[0]))),
            (Side::Server, proof, "an empty entry", message(certificate_kind, &reduced_form(version))),
            (Side::Server, done, "its CertificateRequest", request),
            (Side::Server, done, "a fingerprint of it", message(request_kind, &[context, &[32], &hash].concat())),
            (Side::Client, exchange, "its Certificate", certificate_of_client),
            (Side::Client, exchange, "an empty Certificate", message(certificate_kind, &certificate(version, &[]))),
            (Side::Client, exchange, "the reduced form", message(certificate_kind, &reduced_form(version))),
            (Side::Server, proof, "what stands for it", synthetic(&fingerprints[0])),
            (Side::Server, done, "what stands for the request", synthetic(&hash)),
            (Side::Client, exchange, "what stands for it", synthetic(&fingerprints[1])),
        ];
        for (side, before, what, inserted) in cases {
            let insert = fault::first(before, move |message| {
                message.splice(..0, inserted.iter().copied());
            });
            world.assert_refused(side, insert, UNEXPECTED, &format!("{side:?}: {what}"));
        }
    }
}

#[test]
fn fault_messages_that_are_due_and_missing() {
    for setting in COMPACT {
        // At first contact nothing is left out; and later, what must always come.
        let first = [(Side::Server, HandshakeType::CERTIFICATE), (Side::Client, HandshakeType::CERTIFICATE)];
        let proof = if setting.version == TLS12 {
            HandshakeType::SERVER_KEY_EXCHANGE
        } else {
            HandshakeType::CERTIFICATE_VERIFY
        };
        let later = [(Side::Server, proof), (Side::Client, HandshakeType::CERTIFICATE_VERIFY)];
        for (side, kind) in first {
            let mut world = World::new(setting);
            world.assert_refused(side, fault::first(kind, Vec::clear), UNEXPECTED, &format!("{side:?}: no {kind}"));
        }
        let mut world = World::cached(setting);
        for (side, kind) in later {
            world.assert_refused(side, fault::first(kind, Vec::clear), UNEXPECTED, &format!("{side:?}: no {kind}"));
        }
        // Bits that are taken away: what they left out is due.
        for bits in [&[0b110][..], &[]] {
            let reply = reply(setting.version, bits.to_vec(), vec![]);
            world.assert_refused(Side::Server, reply, UNEXPECTED, &format!("{bits:?}"));
        }
    }
}

/// Puts `body` into `compact_cache` of the ClientHello.
fn show(body: Vec<u8>) -> Arc<dyn Fault> {
    fault::first(HandshakeType::CLIENT_HELLO, move |message| fault::set_extension(message, COMPACT_CACHE, &body))
}

#[test]
fn fault_client_offers_something_else_than_a_ticket() {
    for setting in COMPACT {
        let mut world = World::cached(setting);
        for len in [1, 7, 9, 16, 255] {
            let decode = AlertDescription::DECODE_ERROR;
            world.assert_refused(Side::Client, show(vec![7; len]), decode, &format!("{len} bytes"));
        }
        // An offer of unknown tickets is answered in full.
        for body in [vec![], vec![7; 8]] {
            let (link, result) = world.connect_with(Side::Client, show(body));
            result.unwrap();
            let server = link.pair.server.summary();
            assert_eq!((&server.cached[..], server.peer.authenticated_by), (&[][..], AuthenticatedBy::Certificate));
            drop(link);
            world.assert_cached();
        }
    }
}

/// A ticket is of no use to an attacker who has seen it, and its owner does not notice.
#[test]
fn fault_client_shows_a_stolen_ticket() {
    for setting in COMPACT {
        let mut victim = World::cached(setting);
        let stolen = victim.next_offer().ticket().expect("a ticket").to_vec();
        let mut thief = World::beside(&victim);
        thief.client.credentials(vec![issue(&leaf("thief.plant.example", Usage::Client))]);
        thief.connect().unwrap();
        let decrypt = AlertDescription::DECRYPT_ERROR;
        let link = thief.assert_refused(Side::Client, show(stolen.clone()), decrypt, "a stolen ticket");
        assert_eq!(link.pair.failure(Side::Server), Some(&PeerMisbehaved::BadSignature.into()));
        assert!(!link.pair.server.is_connected());
        victim.assert_cached();
        victim.assert_cached();
        let (link, result) = thief.connect_with(Side::Client, show(stolen));
        result.unwrap_or_else(|failed| panic!("its time is over: {failed:?}"));
        assert_eq!(link.pair.server.summary().peer.authenticated_by, AuthenticatedBy::Certificate);
    }
}

/// Another server that has the store and the right ticket, but not the key, gains nothing.
#[test]
fn fault_server_without_the_key_of_the_cached_certificate() {
    for setting in COMPACT {
        let mut world = World::cached(setting);
        let honest = world.server.edit_credentials(|own| core::mem::replace(&mut own[0], issue(&server_leaf())));
        let kind = HandshakeType::CERTIFICATE;
        let bits = Arc::new(fault(move |_, sent, message| match sent {
            sent if sent == reply_of(setting.version) => fault::set_extension(message, COMPACT_CACHE, &[0b111]),
            sent if sent == kind => message.clear(),
            _ => {}
        }));
        let (_, result) = world.connect_with(Side::Server, (*bits).clone());
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error.alert()), (Side::Client, Some(AlertDescription::DECRYPT_ERROR)));
        world.server.credentials(vec![honest]);
        world.connect().unwrap();
        world.assert_cached();
    }
}

/// Two certificates over one key: the client means the second, and shows the ticket of the first. The synthetic message
/// tells them apart, and nothing else does: without it the server takes the one for the other.
#[test]
fn compact_binds_the_client_certificate() {
    for (setting, unbound) in COMPACT.into_iter().flat_map(|setting| [false, true].map(|unbound| (setting, unbound))) {
        let mut world = World::cached(setting);
        for common in [world.client.common_mut(), world.server.common_mut()] {
            common.set_without(unbound.then_some(CacheDefence::TranscriptBinding));
        }
        world.assert_cached();
        let stolen = world.next_offer().ticket().expect("a ticket").to_vec();
        let mut options = client_leaf();
        options.names = vec!["valve-3.plant.example".into()];
        world.client.credentials(vec![renew(&Pki::shared(CHAIN).client, &options)]);
        world.connect().unwrap();
        world.assert_cached();
        let (link, result) = world.connect_with(Side::Client, show(stolen));
        let server = link.pair.server.summary();
        assert_eq!(server.cached, World::everything(setting.version), "the server did take up the ticket");
        if unbound {
            result.unwrap();
            assert_eq!(server.peer.name().as_deref(), Some(terse_testkit::pki::CLIENT_NAME), "it is another one");
        } else {
            let failed = result.unwrap_err();
            assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::BadSignature.into()));
        }
    }
}

/// A server's new certificate over its old key would pass for the old one without the binding.
#[test]
fn compact_binds_the_server_certificate() {
    for (setting, unbound) in COMPACT.into_iter().flat_map(|setting| [false, true].map(|unbound| (setting, unbound))) {
        let mut world = World::cached(setting);
        for common in [world.client.common_mut(), world.server.common_mut()] {
            common.set_without(unbound.then_some(CacheDefence::TranscriptBinding));
        }
        world.assert_cached();
        // The server says that its Certificate is left out, does not send it, and hashes nothing for it.
        world.server.credentials(vec![renew(&Pki::shared(CHAIN).server, &server_leaf())]);
        let select = fault(move |_, kind, message| match kind {
            kind if kind == reply_of(setting.version) => fault::set_extension(message, COMPACT_CACHE, &[0b111]),
            HandshakeType::CERTIFICATE => message.clear(),
            _ => {}
        });
        let (link, result) = world.connect_with(Side::Server, select);
        assert!(link.pair.client.summary().cached.contains(&CachedObject::ServerCertificate));
        if unbound {
            result.unwrap();
        } else {
            // Whoever sees the first proof over the transcript: in TLS 1.2 that is the client's.
            let failed = result.unwrap_err();
            let side = if setting.version == TLS12 { Side::Server } else { Side::Client };
            assert_eq!((failed.side, failed.error), (side, PeerMisbehaved::BadSignature.into()));
        }
    }
}
