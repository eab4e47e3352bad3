//! A hostile server: replies that contradict the offer, and messages that contradict the reply. The client answers
//! with the right alert, and neither its next connection nor the server's store suffers.

use alloc::sync::Arc;

use terse_testkit::fault::{self, fault};
use terse_testkit::pair::Side;
use terse_tls::{AlertDescription, ExtensionType, Fault, HandshakeType, ProtocolVersion};

use super::issued::{issue, server_leaf};
use super::messages::{cached_form, certificate, reply_of};
use super::schedule::certificate_fingerprint;
use super::world::*;

const CERT: ExtensionType = ExtensionType::CACHED_INFO;
const CLIENT: ExtensionType = ExtensionType::CLIENT_CACHED_INFO;

/// Replaces both caching extensions of the server's reply; `None` leaves one out.
fn reply(
    version: ProtocolVersion,
    cached_info: Option<&'static [u8]>,
    client_cached_info: Option<&'static [u8]>,
) -> Arc<dyn Fault> {
    fault::first(reply_of(version), move |message| {
        for (kind, body) in [(CERT, cached_info), (CLIENT, client_cached_info)] {
            fault::remove_extension(message, kind);
            if let Some(body) = body {
                fault::add_extension(message, kind, body);
            }
        }
    })
}

/// What an honest server says when both certificates are offered.
const CERT_SELECTED: &[u8] = &[0, 1, 1];
const TICKET_SELECTED: &[u8] = &[0, 3, 1, 0, 0];

#[test]
fn fault_server_selects_what_it_must_not() {
    for version in VERSIONS {
        let illegal = AlertDescription::ILLEGAL_PARAMETER;
        let decode = AlertDescription::DECODE_ERROR;
        type Body = Option<&'static [u8]>;
        let cases: [(&str, Body, Body, AlertDescription); 19] = [
            ("an object that was not offered", Some(&[0, 1, 2]), None, illegal),
            ("one that was offered and one that was not", Some(&[0, 2, 1, 2]), None, illegal),
            ("the same object twice", Some(&[0, 2, 1, 1]), None, illegal),
            ("type 0", Some(&[0, 1, 0]), None, illegal),
            ("type 3", Some(&[0, 2, 1, 3]), None, illegal),
            ("type 255", Some(&[0, 1, 255]), None, illegal),
            ("an empty list", Some(&[0, 0]), None, decode),
            ("no list", Some(&[]), None, decode),
            ("a list that is cut short", Some(&[0, 2, 1]), None, decode),
            ("bytes after the list", Some(&[0, 1, 1, 0]), None, decode),
            ("index 1", None, Some(&[0, 3, 1, 0, 1]), illegal),
            ("index 65535", None, Some(&[0, 3, 1, 255, 255]), illegal),
            ("two tickets", None, Some(&[0, 6, 1, 0, 0, 1, 0, 1]), illegal),
            ("one ticket twice", None, Some(&[0, 6, 1, 0, 0, 1, 0, 0]), illegal),
            ("client object of type 2", None, Some(&[0, 3, 2, 0, 0]), illegal),
            ("client object of type 0", None, Some(&[0, 3, 0, 0, 0]), illegal),
            ("half a selection", None, Some(&[0, 2, 1, 0]), decode),
            ("bytes after the selection", None, Some(&[0, 3, 1, 0, 0, 0]), decode),
            ("half a length", None, Some(&[0]), decode),
        ];
        let mut world = World::cached(version);
        for (what, cached_info, client_cached_info, alert) in cases {
            world.assert_refused(Side::Server, reply(version, cached_info, client_cached_info), alert, what);
        }
    }
}

#[test]
fn fault_server_answers_an_empty_offer_with_content() {
    for version in VERSIONS {
        let cases: [(&str, &'static [u8]); 3] = [
            ("a selection", TICKET_SELECTED),
            ("an empty list", &[0, 0]),
            ("two selections", &[0, 6, 1, 0, 0, 1, 0, 1]),
        ];
        for (what, body) in cases {
            let mut world = World::new(version);
            world.assert_refused(
                Side::Server,
                reply(version, None, Some(body)),
                AlertDescription::ILLEGAL_PARAMETER,
                what,
            );
        }
    }
}

/// Answers to extensions that were not sent at all (RFC 9846, 4.3).
#[test]
fn fault_server_answers_what_was_not_sent() {
    for version in VERSIONS {
        let mut world = World::new(version);
        let unsolicited = AlertDescription::UNSUPPORTED_EXTENSION;
        world.assert_refused(Side::Server, reply(version, Some(CERT_SELECTED), None), unsolicited, "cached_info");
        let mut world = World::cached(version);
        let own = world.client.edit_credentials(core::mem::take);
        let (_, result) = world.connect_with(Side::Server, reply(version, None, Some(&[])));
        assert_eq!(result.unwrap_err().error.alert(), Some(unsolicited));
        world.client.credentials(own);
        world.assert_cached();
    }
}

/// `cert_req` is selected, but no CertificateRequest comes; or it comes in a form that does not fit.
#[test]
fn fault_server_sends_another_certificate_request_than_selected() {
    for version in VERSIONS {
        let (illegal, decode) = (AlertDescription::ILLEGAL_PARAMETER, AlertDescription::DECODE_ERROR);
        // In TLS 1.3 there is a context in front.
        let context: &[u8] = if version == TLS13 { &[0] } else { &[] };
        let body = |rest: &[u8]| [context, rest].concat();
        let in_full: &[u8] =
            if version == TLS13 { &[0, 8, 0, 13, 0, 4, 0, 2, 4, 3] } else { &[1, 64, 0, 2, 4, 3, 0, 0] };
        let mut cases = vec![
            ("other fingerprint", body(&[&[32][..], &[7; 32]].concat()), illegal),
            ("shorter fingerprint", body(&[&[31][..], &[7; 31]].concat()), illegal),
            ("longer fingerprint", body(&[&[33][..], &[7; 33]].concat()), illegal),
            ("empty fingerprint", body(&[0]), decode),
            ("trailing byte", body(&[1, 7, 7]), decode),
            ("in full", body(in_full), decode),
        ];
        if version == TLS13 {
            cases.push(("context", [&[1, 7, 32][..], &[7; 32]].concat(), illegal));
        }
        let mut world = World::new(version).with_long_request();
        world.connect().unwrap();
        let none = fault::first(HandshakeType::CERTIFICATE_REQUEST, Vec::clear);
        world.assert_refused(Side::Server, none, illegal, "none");
        for (what, body, alert) in cases {
            let replace = fault::first(HandshakeType::CERTIFICATE_REQUEST, move |message| {
                fault::edit_body(message, |old| old.clone_from(&body));
            });
            world.assert_refused(Side::Server, replace, alert, what);
        }
    }
}

/// A ticket is selected, but the server does not ask for a certificate.
#[test]
fn fault_server_selects_a_ticket_without_a_certificate_request() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let silent = fault::first(HandshakeType::CERTIFICATE_REQUEST, Vec::clear);
        world.assert_refused(Side::Server, silent, AlertDescription::ILLEGAL_PARAMETER, "no CertificateRequest");
    }
}

/// A ticket is selected, but the request excludes the key that the client proved.
#[test]
fn fault_server_selects_a_ticket_and_excludes_its_key() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let exclude = fault::first(HandshakeType::CERTIFICATE_REQUEST, move |message| match version {
            TLS12 => *message = fault::message(HandshakeType::CERTIFICATE_REQUEST, &[1, 64, 0, 2, 8, 7, 0, 0]),
            _ => fault::set_extension(message, ExtensionType::SIGNATURE_ALGORITHMS, &[0, 2, 8, 7]),
        });
        world.assert_refused(Side::Server, exclude, AlertDescription::ILLEGAL_PARAMETER, "ed25519 only");
    }
}

/// The server's certificate is selected as cached, and then something else comes.
#[test]
fn fault_server_sends_another_certificate_than_selected() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let chain = world.server.config().credentials()[0].chain().to_vec();
        let fingerprint = certificate_fingerprint(&chain);
        let mut other = fingerprint;
        other[31] ^= 1;
        let full: Vec<_> = chain.iter().map(|der| (&der[..], &[][..])).collect();
        let (illegal, decode) = (AlertDescription::ILLEGAL_PARAMETER, AlertDescription::DECODE_ERROR);
        let form = |fingerprint: &[u8]| cached_form(version, fingerprint);
        let certificate = |entries: &[(&[u8], &[u8])]| certificate(version, entries);
        let mut cases = vec![
            ("other fingerprint", form(&other), illegal),
            ("fingerprint cut short", form(&fingerprint[..31]), illegal),
            ("longer fingerprint", form(&[&fingerprint[..], &[0]].concat()), illegal),
            ("trailing byte", [form(&fingerprint), vec![0]].concat(), decode),
        ];
        if version == TLS12 {
            cases.extend([
                ("in full", certificate(&full), decode),
                ("empty", form(&[]), decode),
                ("nothing", Vec::new(), decode),
                ("as in TLS 1.3", cached_form(TLS13, &fingerprint), decode),
            ]);
        } else {
            let mut context = form(&fingerprint);
            context.splice(..1, [1, 7]);
            let extension = certificate(&[(&fingerprint, &[0, 5, 0, 1, 1])]);
            cases.extend([
                ("in full", certificate(&full), illegal),
                ("the leaf alone", certificate(&full[..1]), illegal),
                ("empty list", certificate(&[]), illegal),
                ("empty entry", certificate(&[(&[], &[])]), decode),
                ("fingerprint twice", certificate(&[(&fingerprint, &[]), (&fingerprint, &[])]), illegal),
                ("fingerprint and chain", certificate(&[&[(&fingerprint[..], &[][..])], &full[1..]].concat()), illegal),
                ("an extension that was not asked for", extension, AlertDescription::UNSUPPORTED_EXTENSION),
                ("context", context, illegal),
            ]);
        }
        for (what, body, alert) in cases {
            let replace = fault::first(HandshakeType::CERTIFICATE, move |message| {
                fault::edit_body(message, |old| old.clone_from(&body));
            });
            world.assert_refused(Side::Server, replace, alert, what);
        }
    }
}

/// Left out altogether, or compressed (RFC 8879), which nobody offered.
#[test]
fn fault_server_sends_no_certificate_or_a_compressed_one() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let unexpected = AlertDescription::UNEXPECTED_MESSAGE;
        world.assert_refused(Side::Server, fault::first(HandshakeType::CERTIFICATE, Vec::clear), unexpected, "none");
        let compress = fault::first(HandshakeType::CERTIFICATE, |message| message[0] = 25);
        world.assert_refused(Side::Server, compress, unexpected, "compressed");
    }
}

/// A fingerprint that was not selected is no certificate.
#[test]
fn fault_server_sends_a_fingerprint_without_selecting_it() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let fingerprint = certificate_fingerprint(world.server.config().credentials()[0].chain());
        for first_contact in [false, true] {
            let replace = fault(move |_, kind, message| match kind {
                kind if kind == reply_of(version) => fault::remove_extension(message, CERT),
                HandshakeType::CERTIFICATE => *message = fault::message(kind, &cached_form(version, &fingerprint)),
                _ => {}
            });
            if first_contact {
                world.client_store = Disk::new();
                world.set_schemes(terse_tls::cache::Schemes::BITHAC, terse_tls::cache::Schemes::BITHAC);
            }
            // In TLS 1.2 the length of a fingerprint stands where the length of a list is due.
            let alerts = [AlertDescription::BAD_CERTIFICATE, AlertDescription::DECODE_ERROR];
            world.assert_refused(Side::Server, replace, alerts[usize::from(version == TLS12)], "a bare fingerprint");
        }
    }
}

/// The right fingerprint, but not the key: the certificate of another server does not help.
#[test]
fn fault_server_without_the_key_of_the_cached_certificate() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let fingerprint = certificate_fingerprint(world.server.config().credentials()[0].chain());
        let honest = world.server.edit_credentials(|own| core::mem::replace(&mut own[0], issue(&server_leaf())));
        let impersonate = fault(move |_, kind, message| match kind {
            kind if kind == reply_of(version) => fault::add_extension(message, CERT, CERT_SELECTED),
            HandshakeType::CERTIFICATE => *message = fault::message(kind, &cached_form(version, &fingerprint)),
            _ => {}
        });
        let (_, result) = world.connect_with(Side::Server, impersonate);
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error.alert()), (Side::Client, Some(AlertDescription::DECRYPT_ERROR)));
        world.server.credentials(vec![honest]);
        world.connect().unwrap();
        world.assert_cached();
    }
}

/// Each reply is checked on its own, so the other one being right does not help.
#[test]
fn fault_server_mixes_a_right_reply_with_a_wrong_one() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let illegal = AlertDescription::ILLEGAL_PARAMETER;
        let wrong_index = reply(version, Some(CERT_SELECTED), Some(&[0, 3, 1, 0, 1]));
        world.assert_refused(Side::Server, wrong_index, illegal, "right cached_info");
        let wrong_type = reply(version, Some(&[0, 1, 2]), Some(TICKET_SELECTED));
        world.assert_refused(Side::Server, wrong_type, illegal, "right client_cached_info");
    }
}
