//! A hostile server: replies that contradict the offer, and messages that contradict the reply. The client answers
//! with the right alert, and neither its next connection nor the server's store suffers.

use alloc::sync::Arc;

use terse_testkit::fault::{self, fault};
use terse_testkit::pair::Side;
use terse_tls::{AlertDescription, ExtensionType, Fault, HandshakeType};

use crate::issued::{issue, server_leaf};
use crate::messages::certificate;
use crate::schedule::certificate_fingerprint;
use crate::world::*;

const CERT: ExtensionType = ExtensionType::CACHED_INFO;
const CLIENT: ExtensionType = ExtensionType::CLIENT_CACHED_INFO;

/// Replaces both caching extensions of EncryptedExtensions; `None` leaves one out.
fn reply(cached_info: Option<&'static [u8]>, client_cached_info: Option<&'static [u8]>) -> Arc<dyn Fault> {
    fault::first(HandshakeType::ENCRYPTED_EXTENSIONS, move |message| {
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
    let mut world = World::cached();
    for (what, cached_info, client_cached_info, alert) in cases {
        world.assert_refused(Side::Server, reply(cached_info, client_cached_info), alert, what);
    }
}

#[test]
fn fault_server_answers_an_empty_offer_with_content() {
    let cases: [(&str, &'static [u8]); 3] =
        [("a selection", TICKET_SELECTED), ("an empty list", &[0, 0]), ("two selections", &[0, 6, 1, 0, 0, 1, 0, 1])];
    for (what, body) in cases {
        let mut world = World::new();
        world.assert_refused(Side::Server, reply(None, Some(body)), AlertDescription::ILLEGAL_PARAMETER, what);
    }
}

/// Answers to extensions that were not sent at all (RFC 9846, 4.3).
#[test]
fn fault_server_answers_what_was_not_sent() {
    let mut world = World::new();
    let unsolicited = AlertDescription::UNSUPPORTED_EXTENSION;
    world.assert_refused(Side::Server, reply(Some(CERT_SELECTED), None), unsolicited, "cached_info");
    let mut world = World::cached();
    let own = world.client.credential.take();
    let (_, result) = world.connect_with(Side::Server, reply(None, Some(&[])));
    assert_eq!(result.unwrap_err().error.alert(), Some(unsolicited));
    world.client.credential = own;
    world.assert_cached();
}

/// `cert_req` is selected, but no CertificateRequest comes; or it comes in a form that does not fit.
#[test]
fn fault_server_sends_another_certificate_request_than_selected() {
    type Edit = fn(&mut Vec<u8>);
    let cases: [(&str, Edit, AlertDescription); 7] = [
        ("none", Vec::clear, AlertDescription::ILLEGAL_PARAMETER),
        ("other fingerprint", |message| message[37] ^= 1, AlertDescription::ILLEGAL_PARAMETER),
        (
            "shorter fingerprint",
            |message| {
                fault::edit_body(message, |body| {
                    body[1] = 31;
                    body.pop();
                });
            },
            AlertDescription::ILLEGAL_PARAMETER,
        ),
        (
            "empty fingerprint",
            |message| fault::edit_body(message, |body| *body = vec![0, 0]),
            AlertDescription::DECODE_ERROR,
        ),
        ("trailing byte", |message| fault::edit_body(message, |body| body.push(0)), AlertDescription::DECODE_ERROR),
        (
            "context",
            |message| {
                fault::edit_body(message, |body| {
                    body.splice(..1, [1, 7]);
                });
            },
            AlertDescription::ILLEGAL_PARAMETER,
        ),
        (
            "in full",
            |message| fault::edit_body(message, |body| *body = vec![0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3]),
            AlertDescription::DECODE_ERROR,
        ),
    ];
    let mut world = World::new().with_long_request();
    world.connect().unwrap();
    for (what, edit, alert) in cases {
        world.assert_refused(Side::Server, fault::first(HandshakeType::CERTIFICATE_REQUEST, edit), alert, what);
    }
}

/// A ticket is selected, but the server does not ask for a certificate.
#[test]
fn fault_server_selects_a_ticket_without_a_certificate_request() {
    let mut world = World::cached();
    let silent = fault::first(HandshakeType::CERTIFICATE_REQUEST, Vec::clear);
    world.assert_refused(Side::Server, silent, AlertDescription::ILLEGAL_PARAMETER, "no CertificateRequest");
}

/// A ticket is selected, but the request excludes the key that the client proved.
#[test]
fn fault_server_selects_a_ticket_and_excludes_its_key() {
    let mut world = World::cached();
    let exclude = fault::first(HandshakeType::CERTIFICATE_REQUEST, |message| {
        fault::set_extension(message, ExtensionType::SIGNATURE_ALGORITHMS, &[0, 2, 8, 7]);
    });
    world.assert_refused(Side::Server, exclude, AlertDescription::ILLEGAL_PARAMETER, "ed25519 only");
}

/// The server's certificate is selected as cached, and then something else comes.
#[test]
fn fault_server_sends_another_certificate_than_selected() {
    let mut world = World::cached();
    let chain = world.server.credentials[0].chain().to_vec();
    let fingerprint = certificate_fingerprint(&chain);
    let mut other = fingerprint;
    other[31] ^= 1;
    let full: Vec<_> = chain.iter().map(|der| (&der[..], &[][..])).collect();
    let status = [0, 5, 0, 1, 1];
    let trailing = [certificate(&[(&fingerprint, &[])]), vec![0]].concat();
    let mut context = certificate(&[(&fingerprint, &[])]);
    context.splice(..1, [1, 7]);
    let illegal = AlertDescription::ILLEGAL_PARAMETER;
    let cases = [
        ("in full", certificate(&full), illegal),
        ("the leaf alone", certificate(&full[..1]), illegal),
        ("empty list", certificate(&[]), illegal),
        ("empty entry", certificate(&[(&[], &[])]), AlertDescription::DECODE_ERROR),
        ("other fingerprint", certificate(&[(&other, &[])]), illegal),
        ("fingerprint cut short", certificate(&[(&fingerprint[..31], &[])]), illegal),
        ("longer fingerprint", certificate(&[(&[&fingerprint[..], &[0]].concat(), &[])]), illegal),
        ("fingerprint twice", certificate(&[(&fingerprint, &[]), (&fingerprint, &[])]), illegal),
        ("fingerprint and chain", certificate(&[&[(&fingerprint[..], &[][..])], &full[1..]].concat()), illegal),
        (
            "an extension that was not asked for",
            certificate(&[(&fingerprint, &status)]),
            AlertDescription::UNSUPPORTED_EXTENSION,
        ),
        ("context", context, illegal),
        ("trailing byte", trailing, AlertDescription::DECODE_ERROR),
    ];
    for (what, body, alert) in cases {
        let replace = fault::first(HandshakeType::CERTIFICATE, move |message| {
            fault::edit_body(message, |old| old.clone_from(&body));
        });
        world.assert_refused(Side::Server, replace, alert, what);
    }
}

/// Left out altogether, or compressed (RFC 8879), which nobody offered.
#[test]
fn fault_server_sends_no_certificate_or_a_compressed_one() {
    let mut world = World::cached();
    let unexpected = AlertDescription::UNEXPECTED_MESSAGE;
    world.assert_refused(Side::Server, fault::first(HandshakeType::CERTIFICATE, Vec::clear), unexpected, "none");
    let compress = fault::first(HandshakeType::CERTIFICATE, |message| message[0] = 25);
    world.assert_refused(Side::Server, compress, unexpected, "compressed");
}

/// A fingerprint that was not selected is no certificate.
#[test]
fn fault_server_sends_a_fingerprint_without_selecting_it() {
    let mut world = World::cached();
    let fingerprint = certificate_fingerprint(world.server.credentials[0].chain());
    for first_contact in [false, true] {
        let replace = fault(move |_, kind, message| match kind {
            HandshakeType::ENCRYPTED_EXTENSIONS => fault::remove_extension(message, CERT),
            HandshakeType::CERTIFICATE => *message = fault::message(kind, &certificate(&[(&fingerprint, &[])])),
            _ => {}
        });
        if first_contact {
            world.client_store = Disk::new();
            world.set_schemes(terse_tls::cache::Schemes::BITHAC, terse_tls::cache::Schemes::BITHAC);
        }
        world.assert_refused(Side::Server, replace, AlertDescription::BAD_CERTIFICATE, "a bare fingerprint");
    }
}

/// The right fingerprint, but not the key: the certificate of another server does not help.
#[test]
fn fault_server_without_the_key_of_the_cached_certificate() {
    let mut world = World::cached();
    let fingerprint = certificate_fingerprint(world.server.credentials[0].chain());
    let honest = core::mem::replace(&mut world.server.credentials[0], issue(&server_leaf()));
    let impersonate = fault(move |_, kind, message| match kind {
        HandshakeType::ENCRYPTED_EXTENSIONS => fault::add_extension(message, CERT, CERT_SELECTED),
        HandshakeType::CERTIFICATE => *message = fault::message(kind, &certificate(&[(&fingerprint, &[])])),
        _ => {}
    });
    let (_, result) = world.connect_with(Side::Server, impersonate);
    let failed = result.unwrap_err();
    assert_eq!((failed.side, failed.error.alert()), (Side::Client, Some(AlertDescription::DECRYPT_ERROR)));
    world.server.credentials[0] = honest;
    world.connect().unwrap();
    world.assert_cached();
}

/// Each reply is checked on its own, so the other one being right does not help.
#[test]
fn fault_server_mixes_a_right_reply_with_a_wrong_one() {
    let mut world = World::cached();
    let illegal = AlertDescription::ILLEGAL_PARAMETER;
    let wrong_index = reply(Some(CERT_SELECTED), Some(&[0, 3, 1, 0, 1]));
    world.assert_refused(Side::Server, wrong_index, illegal, "right cached_info");
    let wrong_type = reply(Some(&[0, 1, 2]), Some(TICKET_SELECTED));
    world.assert_refused(Side::Server, wrong_type, illegal, "right client_cached_info");
}
