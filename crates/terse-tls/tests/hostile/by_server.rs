//! What a client refuses, and with which alert. The server is hostile.

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::fault::{
    add_extension, edit_body, edit_extensions, fault, first, message, remove_extension, set_extension,
};
use terse_testkit::pair::Side;
use terse_testkit::pki::{Pki, SERVER_NAME, validity};
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, CertificateError, Error, ExtensionType as Ext, HandshakeType, InvalidMessage,
    PeerIncompatible, PeerMisbehaved,
};

use crate::attack::{CHAIN, Case, SCENARIOS, SEED, case, check, other_pki, rich, run};
use crate::by_client::{certificate_of, entry_extension, find, proofs};

const SH: HandshakeType = HandshakeType::SERVER_HELLO;
const EE: HandshakeType = HandshakeType::ENCRYPTED_EXTENSIONS;
const ALPN: Ext = Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;

/// RFC 9846, 4.2.3. The attacker cannot read the alert where it comes before the client's keys; it comes in the clear.
fn hello_cases() -> Vec<Case> {
    let illegal = |name, alter, error: PeerMisbehaved| case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER);
    let unsupported = |name, kind, alter| {
        case(name, SH, alter, PeerMisbehaved::UnsolicitedExtension(kind), Alert::UNSUPPORTED_EXTENSION)
    };
    let version = |name, alter| case(name, SH, alter, PeerIncompatible::NoCommonVersion, Alert::PROTOCOL_VERSION);
    let selected = PeerMisbehaved::SelectedUnoffered(Ext::SUPPORTED_VERSIONS);
    vec![
        version("legacy_version", |m| m[5] = 4),
        version("no version", |m| remove_extension(m, Ext::SUPPORTED_VERSIONS)),
        illegal("TLS 1.2", |m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[3, 3]), selected),
        illegal("TLS 1.4", |m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[3, 5]), selected),
        illegal("session id", |m| edit_body(m, |b| drop(b.splice(34..35, [1, 9]))), PeerMisbehaved::IllegalLegacyField),
        illegal("compression", |m| m[41] = 1, PeerMisbehaved::IllegalLegacyField),
        illegal("suite that was not offered", |m| m[39..41].copy_from_slice(&[0x13, 5]), SUITE),
        illegal("unknown suite", |m| m[39..41].copy_from_slice(&[0x13, 6]), SUITE),
        illegal(
            "ALPN does not belong there",
            |m| add_extension(m, ALPN, b"\0\x05\x04mqtt"),
            PeerMisbehaved::MisplacedExtension(ALPN),
        ),
        unsupported("unknown extension", Ext(0x1234), |m| add_extension(m, Ext(0x1234), b"")),
        case(
            "twice",
            SH,
            |m| edit_extensions(m, |all| all.push(all[0].clone())),
            InvalidMessage::DuplicateExtension,
            Alert::ILLEGAL_PARAMETER,
        ),
    ]
}

const SUITE: PeerMisbehaved = PeerMisbehaved::SelectedUnofferedSuite;

#[test]
fn server_hello() {
    check(&rich(), Side::Server, hello_cases());
    let illegal = |name, alter, error: Error| case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(),
        Side::Server,
        [
            case(
                "no key_share",
                SH,
                |m| remove_extension(m, Ext::KEY_SHARE),
                PeerMisbehaved::MissingExtension(Ext::KEY_SHARE),
                Alert::MISSING_EXTENSION,
            ),
            illegal(
                "a share of another group",
                |m| edit_extensions(m, |all| find(all, Ext::KEY_SHARE)[1] = 0x17),
                PeerMisbehaved::IllegalKeyShare.into(),
            ),
            illegal(
                "a share of low order",
                |m| set_extension(m, Ext::KEY_SHARE, &[&[0, 0x1d, 0, 32][..], &[0; 32]].concat()),
                CryptoError::InvalidKeyShare.into(),
            ),
            illegal(
                "cookie",
                |m| add_extension(m, Ext::COOKIE, &[0, 1, 1]),
                PeerMisbehaved::MisplacedExtension(Ext::COOKIE).into(),
            ),
        ],
    );
}

/// RFC 9846, 4.2.4
#[test]
fn hello_retry_request() {
    let setup = rich().with_hello_retry(true);
    check(&setup, Side::Server, hello_cases());
    let illegal =
        |name, alter| case(name, SH, alter, PeerMisbehaved::IllegalHelloRetryRequest, Alert::ILLEGAL_PARAMETER);
    let after =
        |name, alter, error: PeerMisbehaved| Case { nth: 1, ..case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER) };
    check(
        &setup,
        Side::Server,
        [
            illegal("the group of the first share", |m| set_extension(m, Ext::KEY_SHARE, &[0, 0x1d])),
            illegal("a group that was not offered", |m| set_extension(m, Ext::KEY_SHARE, &[0x11, 0xec])),
            illegal("nothing changes", |m| {
                remove_extension(m, Ext::KEY_SHARE);
                remove_extension(m, Ext::COOKIE);
            }),
            illegal("a cookie for which the ClientHello has no room", |m| {
                set_extension(m, Ext::COOKIE, &[&0xffa0u16.to_be_bytes()[..], &[7; 0xffa0]].concat());
            }),
            case(
                "an empty cookie",
                SH,
                |m| set_extension(m, Ext::COOKIE, &[0, 0]),
                InvalidMessage::IllegalLength,
                Alert::DECODE_ERROR,
            ),
            after("then another suite", |m| m[40] ^= 1, SUITE),
            after("then another group", |m| edit_extensions(m, |all| find(all, Ext::KEY_SHARE)[1] = 0x18), SHARE),
        ],
    );
}

const SHARE: PeerMisbehaved = PeerMisbehaved::IllegalKeyShare;

/// A cookie and nothing else: it is sent back, and the key share stays.
#[test]
fn hello_retry_request_for_a_cookie() {
    let mut setup = rich().with_hello_retry(true);
    setup.server.common.fault = Some(first(SH, |m| remove_extension(m, Ext::KEY_SHARE)));
    let sent = Arc::new(Mutex::new(Vec::new()));
    let hellos = sent.clone();
    setup.client.common.fault = Some(fault(move |_, _, message| hellos.lock().unwrap().push(message.clone())));
    setup.pair(SEED).run().unwrap_err(); // the server did want another group
    let mut hellos = sent.lock().unwrap().clone();
    assert_eq!(hellos.len(), 2);
    let mut cookie = Vec::new();
    edit_extensions(&mut hellos[1], |all| cookie.clone_from(find(all, Ext::COOKIE)));
    assert_eq!(cookie.len(), 2 + 16);
    remove_extension(&mut hellos[1], Ext::COOKIE);
    assert_eq!(hellos[0], hellos[1]);
}

#[test]
fn second_hello_retry_request() {
    let mut setup = rich().with_hello_retry(true);
    let mut first = Vec::new();
    setup.server.common.fault = Some(fault(move |number, _, message| match number {
        0 => first = message.clone(),
        1 => message.clone_from(&first),
        _ => {}
    }));
    let verdict = run(&setup, Side::Client, |pair| drop(pair.run()));
    assert_eq!(verdict.refused(), Some(&PeerMisbehaved::UnexpectedHandshakeMessage(SH).into()));
    assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
}

/// RFC 9846, 4.4.1
#[test]
fn encrypted_extensions() {
    let illegal = |name, alter, error: Error| case(name, EE, alter, error, Alert::ILLEGAL_PARAMETER);
    let unsupported = |name, kind, alter| {
        case(name, EE, alter, PeerMisbehaved::UnsolicitedExtension(kind), Alert::UNSUPPORTED_EXTENSION)
    };
    let protocol = || PeerMisbehaved::SelectedUnoffered(ALPN).into();
    let fragment = || PeerMisbehaved::SelectedUnoffered(Ext::MAX_FRAGMENT_LENGTH).into();
    check(
        &rich(),
        Side::Server,
        [
            unsupported("unknown", Ext(0x1234), |m| add_extension(m, Ext(0x1234), b"")),
            unsupported("early_data", Ext::EARLY_DATA, |m| add_extension(m, Ext::EARLY_DATA, b"")),
            unsupported("cached_info", Ext::CACHED_INFO, |m| add_extension(m, Ext::CACHED_INFO, &[0, 1, 1])),
            illegal(
                "key_share",
                |m| add_extension(m, Ext::KEY_SHARE, &[0, 0x1d]),
                PeerMisbehaved::MisplacedExtension(Ext::KEY_SHARE).into(),
            ),
            illegal("twice", |m| edit_extensions(m, |all| all.push(all[0].clone())), DUPLICATE),
            illegal("protocol that was not offered", |m| set_extension(m, ALPN, b"\0\x03\x02h2"), protocol()),
            illegal("two protocols", |m| set_extension(m, ALPN, b"\0\x0a\x04mqtt\x04coap"), protocol()),
            illegal("both limits", |m| add_extension(m, Ext::MAX_FRAGMENT_LENGTH, &[4]), fragment()),
            illegal(
                "another max_fragment_length",
                |m| {
                    remove_extension(m, Ext::RECORD_SIZE_LIMIT);
                    add_extension(m, Ext::MAX_FRAGMENT_LENGTH, &[3]);
                },
                fragment(),
            ),
            illegal("limit below 64", |m| set_extension(m, Ext::RECORD_SIZE_LIMIT, &[0, 63]), ILLEGAL_VALUE),
            case(
                "a name in server_name (RFC 6066, 3)",
                EE,
                |m| add_extension(m, Ext::SERVER_NAME, b"\0\x04\0\0\x01a"),
                InvalidMessage::TrailingData,
                Alert::DECODE_ERROR,
            ),
        ],
    );
}

const DUPLICATE: Error = Error::InvalidMessage(InvalidMessage::DuplicateExtension);
const ILLEGAL_VALUE: Error = Error::InvalidMessage(InvalidMessage::IllegalValue);

/// Selections of what was not offered, and contradictions (`caching`).
#[test]
fn caching_replies() {
    let illegal =
        |name, kind, alter| case(name, kind, alter, PeerMisbehaved::IllegalCachingReply, Alert::ILLEGAL_PARAMETER);
    let message =
        |name, kind, alter| case(name, kind, alter, PeerMisbehaved::IllegalCachedMessage, Alert::ILLEGAL_PARAMETER);
    check(
        &SCENARIOS[3].setup,
        Side::Server,
        [
            illegal("an object of unknown type", EE, |m| set_extension(m, Ext::CACHED_INFO, &[0, 3, 1, 2, 3])),
            illegal("an object twice", EE, |m| set_extension(m, Ext::CACHED_INFO, &[0, 3, 1, 2, 1])),
            illegal("a ticket that was not offered", EE, |m| {
                set_extension(m, Ext::CLIENT_CACHED_INFO, &[0, 3, 1, 0, 1])
            }),
            illegal("a ticket of unknown type", EE, |m| set_extension(m, Ext::CLIENT_CACHED_INFO, &[0, 3, 2, 0, 0])),
            illegal("a ticket twice", EE, |m| set_extension(m, Ext::CLIENT_CACHED_INFO, &[0, 6, 1, 0, 0, 1, 0, 0])),
            illegal("no request where one is due", HandshakeType::CERTIFICATE_REQUEST, Vec::clear),
            message("another certificate", HandshakeType::CERTIFICATE, |m| m[12] ^= 1),
            message("the certificate in full", HandshakeType::CERTIFICATE, |m| {
                *m = certificate_of(&Pki::shared(CHAIN).server);
            }),
            message("another request", HandshakeType::CERTIFICATE_REQUEST, |m| m[10] ^= 1),
        ],
    );
}

/// RFC 9846, 4.4.2
#[test]
fn certificate_request() {
    const CR: HandshakeType = HandshakeType::CERTIFICATE_REQUEST;
    check(
        &rich(),
        Side::Server,
        [
            case(
                "with a context",
                CR,
                |m| edit_body(m, |b| drop(b.splice(0..1, [1, 7]))),
                PeerMisbehaved::IllegalRequestContext,
                Alert::ILLEGAL_PARAMETER,
            ),
            case(
                "no signature_algorithms",
                CR,
                |m| remove_extension(m, Ext::SIGNATURE_ALGORITHMS),
                PeerMisbehaved::MissingExtension(Ext::SIGNATURE_ALGORITHMS),
                Alert::MISSING_EXTENSION,
            ),
            case(
                "an extension that does not belong there",
                CR,
                |m| add_extension(m, Ext::KEY_SHARE, b""),
                PeerMisbehaved::MisplacedExtension(Ext::KEY_SHARE),
                Alert::ILLEGAL_PARAMETER,
            ),
            case(
                "twice",
                CR,
                |m| edit_extensions(m, |all| all.push(all[0].clone())),
                DUPLICATE,
                Alert::ILLEGAL_PARAMETER,
            ),
        ],
    );
}

/// RFC 9846, 4.5.1
#[test]
fn certificate() {
    const CT: HandshakeType = HandshakeType::CERTIFICATE;
    let bad = |name, alter, error: CertificateError, alert| case(name, CT, alter, error, alert);
    let decode = |name, alter, error: Error| case(name, CT, alter, error, Alert::DECODE_ERROR);
    let unexpected = |name, alter, kind| {
        case(name, CT, alter, PeerMisbehaved::UnexpectedHandshakeMessage(kind), Alert::UNEXPECTED_MESSAGE)
    };
    check(
        &rich(),
        Side::Server,
        [
            decode("none", |m| *m = message(CT, &[0, 0, 0, 0]), PeerMisbehaved::EmptyServerCertificate.into()),
            decode(
                "no bytes in an entry",
                |m| *m = message(CT, &[0, 0, 0, 5, 0, 0, 0, 0, 0]),
                InvalidMessage::IllegalLength.into(),
            ),
            bad(
                "no DER",
                |m| *m = message(CT, b"\0\0\0\x08\0\0\x03no!\0\0"),
                CertificateError::Malformed,
                Alert::BAD_CERTIFICATE,
            ),
            bad(
                "a client's",
                |m| *m = certificate_of(&Pki::shared(CHAIN).client),
                CertificateError::WrongUsage,
                Alert::UNSUPPORTED_CERTIFICATE,
            ),
            bad(
                "of another CA",
                |m| *m = certificate_of(&other_pki().server),
                CertificateError::UnknownIssuer,
                Alert::UNKNOWN_CA,
            ),
            case(
                "with an extension that was not asked for",
                CT,
                |m| entry_extension(m, Ext::STATUS_REQUEST),
                PeerMisbehaved::UnsolicitedExtension(Ext::STATUS_REQUEST),
                Alert::UNSUPPORTED_EXTENSION,
            ),
            case(
                "with a context",
                CT,
                |m| edit_body(m, |b| drop(b.splice(0..1, [1, 7]))),
                PeerMisbehaved::IllegalRequestContext,
                Alert::ILLEGAL_PARAMETER,
            ),
            unexpected("compressed (RFC 8879)", |m| m[0] = 25, HandshakeType::COMPRESSED_CERTIFICATE),
            unexpected("as the synthetic message", |m| m[0] = 254, HandshakeType::MESSAGE_HASH),
            // Valid, and somebody else's.
            case(
                "another server's",
                CT,
                |m| {
                    let options = terse_pki::LeafOptions::new(SERVER_NAME, validity());
                    *m = certificate_of(&Pki::shared(CHAIN).authority.issue(&options).unwrap());
                },
                PeerMisbehaved::BadSignature,
                Alert::DECRYPT_ERROR,
            ),
        ],
    );
}

#[test]
fn server_proofs() {
    check(&rich(), Side::Server, proofs());
}
