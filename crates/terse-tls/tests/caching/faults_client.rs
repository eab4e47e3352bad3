//! A hostile client: offers that make no sense, tickets that are not its own, and messages that contradict what the
//! server selected. The server answers with the right alert, or in full, and keeps nothing of it.

use alloc::sync::Arc;

use terse_pki::Usage;
use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_tls::FallbackReason;
use terse_tls::summary::{AuthenticatedBy, CachedObject};
use terse_tls::{AlertDescription, ExtensionType, Fault, HandshakeType, PeerMisbehaved};

use super::issued::{issue, leaf};
use super::messages::{cached_form, certificate, reduced_form};
use super::schedule::certificate_fingerprint;
use super::world::*;

const CLIENT: ExtensionType = ExtensionType::CLIENT_CACHED_INFO;

/// The server selected the ticket, and then something else than the reduced Certificate comes.
#[test]
fn fault_client_sends_another_certificate_than_selected() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let chain = world.client.config().credentials()[0].chain().to_vec();
        let full: Vec<_> = chain.iter().map(|der| (&der[..], &[][..])).collect();
        let fingerprint = certificate_fingerprint(&chain);
        let illegal = AlertDescription::ILLEGAL_PARAMETER;
        let certificate = |entries: &[(&[u8], &[u8])]| certificate(version, entries);
        let mut cases = vec![
            ("in full", certificate(&full), illegal),
            ("the leaf alone", certificate(&full[..1]), illegal),
            ("empty list", certificate(&[]), illegal),
            ("two entries", certificate(&[(&[], &[]), (&[], &[])]), illegal),
            ("reduced, and the rest of the chain", certificate(&[&[(&[][..], &[][..])], &full[1..]].concat()), illegal),
            ("fingerprint", cached_form(version, &fingerprint), illegal),
            ("a byte", certificate(&[(&[0], &[])]), illegal),
        ];
        if version == TLS13 {
            let mut context = reduced_form(version);
            context.splice(..1, [1, 7]);
            let extension = certificate(&[(&[], &[0, 5, 0, 1, 1])]);
            let unsupported = AlertDescription::UNSUPPORTED_EXTENSION;
            cases.push(("an extension that was not asked for", extension, unsupported));
            cases.push(("context", context, illegal));
            let trailing = [reduced_form(version), vec![0]].concat();
            cases.push(("trailing byte", trailing, AlertDescription::DECODE_ERROR));
        } else {
            cases.push(("reduced as in TLS 1.3", reduced_form(TLS13), illegal));
            cases.push(("trailing byte", vec![0], illegal));
        }
        for (what, body, alert) in cases {
            let replace = fault::first(HandshakeType::CERTIFICATE, move |message| {
                fault::edit_body(message, |old| old.clone_from(&body));
            });
            world.assert_refused(Side::Client, replace, alert, what);
        }
    }
}

#[test]
fn fault_client_sends_no_certificate_or_a_compressed_one() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let unexpected = AlertDescription::UNEXPECTED_MESSAGE;
        world.assert_refused(Side::Client, fault::first(HandshakeType::CERTIFICATE, Vec::clear), unexpected, "none");
        let compress = fault::first(HandshakeType::CERTIFICATE, |message| message[0] = 25);
        world.assert_refused(Side::Client, compress, unexpected, "compressed");
        let unsigned = fault::first(HandshakeType::CERTIFICATE_VERIFY, Vec::clear);
        world.assert_refused(Side::Client, unsigned, unexpected, "no CertificateVerify");
    }
}

/// A Certificate of the reduced form that no selection allows.
#[test]
fn fault_client_sends_the_reduced_form_without_a_selection() {
    for version in VERSIONS {
        let mut world = World::new(version);
        let reduce = fault::first(HandshakeType::CERTIFICATE, move |message| {
            fault::edit_body(message, |body| *body = reduced_form(version));
        });
        world.assert_refused(Side::Client, reduce, AlertDescription::DECODE_ERROR, "reduced at first contact");
    }
}

/// A CachedClientObject.
fn object(kind: u8, ticket: &[u8]) -> Vec<u8> {
    [&[kind, ticket.len() as u8], ticket].concat()
}

/// Puts these objects into `client_cached_info` in place of the client's ticket.
fn show(objects: Vec<Vec<u8>>) -> Arc<dyn Fault> {
    let list = objects.concat();
    let body = [&(list.len() as u16).to_be_bytes(), &list[..]].concat();
    show_body(body)
}

fn show_body(body: Vec<u8>) -> Arc<dyn Fault> {
    fault::first(HandshakeType::CLIENT_HELLO, move |message| fault::set_extension(message, CLIENT, &body))
}

/// Whatever is no ticket of the server's is answered in full. Nothing but the ticket of that handshake is added.
#[test]
fn fault_client_shows_tickets_that_are_none() {
    for version in VERSIONS {
        let long = [9; 255];
        let cases: [(&str, Vec<Vec<u8>>); 11] = [
            ("made up", vec![object(1, &[1, 2, 3, 4, 5, 6, 7, 8])]),
            ("1 byte", vec![object(1, &[1])]),
            ("7 bytes", vec![object(1, &long[..7])]),
            ("9 bytes", vec![object(1, &long[..9])]),
            ("255 bytes", vec![object(1, &long)]),
            ("no ticket in a list", Vec::new()),
            ("type 0", vec![object(0, &long[..8])]),
            ("type 2", vec![object(2, &long[..8])]),
            ("type 255", vec![object(255, &long[..8])]),
            (
                "some of each",
                vec![object(7, &long[..1]), object(1, &long[..7]), object(1, &long[..8]), object(2, &long)],
            ),
            ("1000 tickets", (0..1000_u64).map(|n| object(1, &n.to_be_bytes())).collect()),
        ];
        let mut world = World::cached(version);
        for (what, objects) in cases {
            let (link, result) = world.connect_with(Side::Client, show(objects));
            result.unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
            let server = link.pair.server.summary();
            assert_eq!(server.cached, [CachedObject::ServerCertificate], "{what}");
            assert_eq!(server.peer.authenticated_by, AuthenticatedBy::Certificate, "{what}");
            drop(link);
            world.assert_cached();
        }
    }
}

#[test]
fn fault_client_sends_client_cached_info_that_does_not_parse() {
    for version in VERSIONS {
        let cases: [(&str, &[u8]); 8] = [
            ("half a length", &[0]),
            ("list cut short", &[0, 4, 1, 2, 3]),
            ("bytes after the list", &[0, 0, 0]),
            ("type alone", &[0, 1, 1]),
            ("ticket cut short", &[0, 3, 1, 2, 3]),
            ("empty ticket", &[0, 2, 1, 0]),
            ("second object cut short", &[0, 4, 1, 1, 7, 1]),
            ("longer than everything", &[255, 255, 1, 1, 7]),
        ];
        let mut world = World::cached(version);
        for (what, body) in cases {
            world.assert_refused(Side::Client, show_body(body.to_vec()), AlertDescription::DECODE_ERROR, what);
        }
    }
}

#[test]
fn fault_client_sends_cached_info_that_does_not_parse() {
    for version in VERSIONS {
        let cases: [(&str, &'static [u8]); 7] = [
            ("nothing", &[]),
            ("empty list", &[0, 0]),
            ("half a length", &[0]),
            ("type alone", &[0, 1, 1]),
            ("empty fingerprint", &[0, 2, 1, 0]),
            ("fingerprint cut short", &[0, 3, 1, 2, 9]),
            ("bytes after the list", &[0, 3, 1, 1, 9, 0]),
        ];
        let mut world = World::cached(version);
        for (what, body) in cases {
            let replace = fault::first(HandshakeType::CLIENT_HELLO, move |message| {
                fault::set_extension(message, ExtensionType::CACHED_INFO, body);
            });
            world.assert_refused(Side::Client, replace, AlertDescription::DECODE_ERROR, what);
        }
    }
}

/// Fingerprints of unknown types or lengths are for others; the one that fits is found among them.
#[test]
fn fault_client_offers_fingerprints_that_are_none() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let own = certificate_fingerprint(world.server.config().credentials()[0].chain());
        let list = [object(7, &own), object(1, &own[..31]), object(2, &own), object(1, &[1]), object(1, &own)].concat();
        let body = [&(list.len() as u16).to_be_bytes(), &list[..]].concat();
        let replace = fault::first(HandshakeType::CLIENT_HELLO, move |message| {
            fault::set_extension(message, ExtensionType::CACHED_INFO, &body);
        });
        let (link, result) = world.connect_with(Side::Client, replace);
        result.unwrap();
        assert_eq!(link.pair.server.summary().cached, BOTH_CERTIFICATES);
    }
}

/// A good ticket behind others: the index says which. A client of ours did not mean that one.
#[test]
fn fault_client_hides_its_ticket_among_others() {
    for version in VERSIONS {
        for (before, found) in [(0, true), (1, true), (7, true), (8, false)] {
            let mut world = World::cached(version);
            let ticket = world.next_offer().ticket().unwrap();
            let mut objects = vec![object(5, &[1, 2, 3])];
            objects.extend((0..before).map(|n: u64| object(1, &n.to_be_bytes())));
            objects.push(object(1, &ticket));
            let (link, result) = world.connect_with(Side::Client, show(objects));
            assert_eq!(link.pair.server.summary().fallback.is_none(), found);
            match found {
                true => {
                    let failed = result.unwrap_err();
                    assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::IllegalCachingReply.into()));
                }
                false => result.unwrap(),
            }
        }
    }
}

/// A ticket that was seen on the wire does not help whoever has another key: not the holder of another good
/// certificate, and not one that hashes what it steals.
#[test]
fn fault_client_shows_a_stolen_ticket() {
    for version in VERSIONS {
        let mut victim = World::cached(version);
        let stolen = victim.next_offer().ticket().expect("a ticket");
        let mut thief = World::beside(&victim);
        thief.client.credentials(vec![issue(&leaf("thief.plant.example", Usage::Client))]);
        thief.connect().unwrap();
        let link = thief.assert_refused(
            Side::Client,
            show(vec![object(1, &stolen)]),
            AlertDescription::DECRYPT_ERROR,
            "a stolen ticket",
        );
        let server = link.pair.server.summary();
        assert!(server.cached.contains(&CachedObject::ClientCertificate), "the server did take up the ticket");
        assert_eq!(link.pair.failure(Side::Server), Some(&PeerMisbehaved::BadSignature.into()));
        assert!(!link.pair.server.is_connected());
        // The victim does not notice.
        victim.assert_cached();
        // Used, and replaced by its successors, the ticket is worth nothing even to its owner.
        victim.assert_cached();
        let (link, result) = thief.connect_with(Side::Client, show(vec![object(1, &stolen)]));
        result.unwrap();
        assert_eq!(link.pair.server.summary().peer.authenticated_by, AuthenticatedBy::Certificate);
    }
}

/// A lineage is joined only by whoever proved its certificate: a ticket that was shown and not used is no parent.
#[test]
fn fault_client_that_does_not_use_a_ticket_does_not_join_its_lineage() {
    for version in VERSIONS {
        let mut victim = World::cached(version);
        let stolen = victim.next_offer().ticket().expect("a ticket");
        let mut thief = World::beside(&victim);
        thief.client.credentials(vec![issue(&leaf("thief.plant.example", Usage::Client))]);
        thief.client.send_server_name(false); // and so the ticket, made under a name, is not honoured
        thief.connect().unwrap();
        for _ in 0..4 {
            let (link, result) = thief.connect_with(Side::Client, show(vec![object(1, &stolen)]));
            result.unwrap();
            assert_eq!(link.pair.server.summary().fallback, Some(FallbackReason::OtherServerName));
        }
        victim.assert_cached();
    }
}
