//! These tests show what a client refuses in a ServerHello, and in what is agreed on with it, and with which alert.

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::fault::{add_extension, edit_body, edit_extensions, fault, first, remove_extension, set_extension};
use terse_testkit::pair::Side;
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, Error, ExtensionType as Ext, HandshakeType, InvalidMessage, NamedGroup,
    PeerIncompatible, PeerMisbehaved,
};

use super::attack::{Case, SEED, case, check, rich, run};
use super::edit::{find, session_id_of_33};
use super::modes::{TLS12, TLS13};

const SH: HandshakeType = HandshakeType::SERVER_HELLO;
const EE: HandshakeType = HandshakeType::ENCRYPTED_EXTENSIONS;
const ALPN: Ext = Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;

/// RFC 9846, 4.2.3. The alert comes in the clear where it comes before the client's keys.
fn hello_cases() -> Vec<Case> {
    let illegal = |name, alter, error: PeerMisbehaved| case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER);
    let unsupported = |name, kind, alter| {
        case(name, SH, alter, PeerMisbehaved::UnsolicitedExtension(kind), Alert::UNSUPPORTED_EXTENSION)
    };
    let version = |name, alter| case(name, SH, alter, PeerIncompatible::NoCommonVersion, Alert::PROTOCOL_VERSION);
    let selected = PeerMisbehaved::SelectedUnoffered(Ext::SUPPORTED_VERSIONS);
    vec![
        version("SSL 3.0", |m| m[5] = 0),
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

/// A client refuses wrong fields and extensions of a ServerHello (RFC 9846, 4.2.3 and 4.3.1).
#[test]
fn server_hello() {
    check(&rich(TLS13), Side::Server, hello_cases());
    let illegal = |name, alter, error: Error| case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(TLS13),
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

/// RFC 9846, 4.3.1: where `supported_versions` selects TLS 1.3, `legacy_version` says nothing, but for SSL 3.0 (E.5).
#[test]
fn legacy_version_is_ignored() {
    for (base, round_trips) in [(rich(TLS13), 1), (rich(TLS13).with_hello_retry(true), 2)] {
        for legacy_version in [[3, 1], [3, 2], [3, 4], [3, 5], [0, 0], [2, 0], [4, 0], [0xfe, 0xfd], [0xff, 0xff]] {
            let mut setup = base.clone();
            setup.server.fault(Some(fault(move |_, kind, message| {
                if kind == SH {
                    message[4..6].copy_from_slice(&legacy_version);
                }
            })));
            let mut pair = setup.pair(SEED);
            pair.run().unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected(), "{legacy_version:?}");
            assert_eq!(pair.client.summary().round_trips, round_trips);
        }
    }
}

/// A client refuses wrong HelloRetryRequests (RFC 9846, 4.2.4).
#[test]
fn hello_retry_request() {
    let setup = rich(TLS13).with_hello_retry(true);
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
    let mut setup = rich(TLS13).with_hello_retry(true);
    setup.server.fault(Some(first(SH, |m| remove_extension(m, Ext::KEY_SHARE))));
    let sent = Arc::new(Mutex::new(Vec::new()));
    let hellos = sent.clone();
    setup.client.fault(Some(fault(move |_, _, message| hellos.lock().unwrap().push(message.clone()))));
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
    let mut setup = rich(TLS13).with_hello_retry(true);
    let mut first = Vec::new();
    setup.server.fault(Some(fault(move |number, _, message| match number {
        0 => first = message.clone(),
        1 => message.clone_from(&first),
        _ => {}
    })));
    let verdict = run(&setup, Side::Client, |pair| drop(pair.run()));
    assert_eq!(verdict.refused(), Some(&PeerMisbehaved::UnexpectedHandshakeMessage(SH).into()));
    assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
}

/// What is agreed on besides keys stands in EncryptedExtensions, or in the ServerHello of TLS 1.2 (RFC 9846, 4.4.1;
/// RFC 5246, 7.4.1.4).
#[test]
fn agreements() {
    for (version, kind) in [(TLS13, EE), (TLS12, SH)] {
        let illegal = |name, alter, error: Error| case(name, kind, alter, error, Alert::ILLEGAL_PARAMETER);
        let unsupported = |name, extension, alter| {
            let error = PeerMisbehaved::UnsolicitedExtension(extension);
            case(name, kind, alter, error, Alert::UNSUPPORTED_EXTENSION)
        };
        let misplaced =
            |name, extension, alter| illegal(name, alter, PeerMisbehaved::MisplacedExtension(extension).into());
        let protocol = || PeerMisbehaved::SelectedUnoffered(ALPN).into();
        let fragment = || PeerMisbehaved::SelectedUnoffered(Ext::MAX_FRAGMENT_LENGTH).into();
        let mut cases = vec![
            unsupported("unknown", Ext(0x1234), |m| add_extension(m, Ext(0x1234), b"")),
            unsupported("cached_info", Ext::CACHED_INFO, |m| add_extension(m, Ext::CACHED_INFO, &[0, 1, 1])),
            unsupported("client_cached_info", Ext::CLIENT_CACHED_INFO, |m| {
                add_extension(m, Ext::CLIENT_CACHED_INFO, b"");
            }),
            misplaced("key_share", Ext::KEY_SHARE, |m| add_extension(m, Ext::KEY_SHARE, &[0, 0x1d])),
            misplaced("signature_algorithms", Ext::SIGNATURE_ALGORITHMS, |m| {
                add_extension(m, Ext::SIGNATURE_ALGORITHMS, &[0, 2, 8, 7]);
            }),
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
                kind,
                |m| add_extension(m, Ext::SERVER_NAME, b"\0\x04\0\0\x01a"),
                InvalidMessage::TrailingData,
                Alert::DECODE_ERROR,
            ),
        ];
        cases.extend(match version {
            TLS12 => [
                unsupported("status_request", Ext::STATUS_REQUEST, |m| add_extension(m, Ext::STATUS_REQUEST, b"")),
                unsupported("session_ticket", Ext::SESSION_TICKET, |m| add_extension(m, Ext::SESSION_TICKET, b"")),
                illegal("compressed points only", |m| add_extension(m, Ext::EC_POINT_FORMATS, &[1, 1]), ILLEGAL_VALUE),
                misplaced("early_data", Ext::EARLY_DATA, |m| add_extension(m, Ext::EARLY_DATA, b"")),
                misplaced("cookie", Ext::COOKIE, |m| add_extension(m, Ext::COOKIE, &[0, 1, 1])),
            ],
            _ => [
                unsupported("early_data", Ext::EARLY_DATA, |m| add_extension(m, Ext::EARLY_DATA, b"")),
                misplaced("renegotiation_info", Ext::RENEGOTIATION_INFO, |m| {
                    add_extension(m, Ext::RENEGOTIATION_INFO, &[0]);
                }),
                misplaced("extended_master_secret", Ext::EXTENDED_MASTER_SECRET, |m| {
                    add_extension(m, Ext::EXTENDED_MASTER_SECRET, b"");
                }),
                misplaced("session_ticket", Ext::SESSION_TICKET, |m| add_extension(m, Ext::SESSION_TICKET, b"")),
                misplaced("points", Ext::EC_POINT_FORMATS, |m| add_extension(m, Ext::EC_POINT_FORMATS, &[1, 0])),
            ],
        });
        check(&rich(version), Side::Server, cases);
    }
}

const DUPLICATE: Error = Error::InvalidMessage(InvalidMessage::DuplicateExtension);
const ILLEGAL_VALUE: Error = Error::InvalidMessage(InvalidMessage::IllegalValue);

/// It is for clients to send, in TLS 1.2, but servers that are still there answer it.
#[test]
fn supported_groups_of_a_tls12_server_mean_nothing() {
    for body in [&[][..], &[0, 2, 0, 0x1d], &[0, 2, 0, 0x17], b"whatever"] {
        let mut setup = rich(TLS12);
        setup.server.fault(Some(first(SH, move |m| add_extension(m, Ext::SUPPORTED_GROUPS, body))));
        let mut pair = setup.pair(SEED);
        pair.handshake().unwrap();
        assert_eq!(pair.client.summary().group, Some(NamedGroup::X25519), "{body:?}");
    }
}

/// pion/dtls sends it to clients that have not offered it. It says what is so anyway.
#[test]
fn unasked_point_formats_of_a_tls12_server_mean_nothing() {
    for body in [&[1, 0][..], &[3, 0, 1, 2]] {
        let mut setup = rich(TLS12);
        setup.server.fault(Some(first(SH, move |m| add_extension(m, Ext::EC_POINT_FORMATS, body))));
        let mut pair = setup.pair(SEED);
        pair.handshake().unwrap();
        assert_eq!(pair.client.summary().group, Some(NamedGroup::X25519), "{body:?}");
    }
}

/// A client refuses wrong fields and extensions of a ServerHello of TLS 1.2 (RFC 5246, 7.4.1.3; RFC 5746, 3.4; RFC 7627, 5.2).
#[test]
fn server_hello_of_tls12() {
    let illegal = |name, alter, error: PeerMisbehaved| case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER);
    let version = |name, alter| case(name, SH, alter, PeerIncompatible::NoCommonVersion, Alert::PROTOCOL_VERSION);
    let suite = |name, alter| illegal(name, alter, SUITE);
    let failure = |name, alter, error: Error| case(name, SH, alter, error, Alert::HANDSHAKE_FAILURE);
    let decode = |name, alter, error: InvalidMessage| case(name, SH, alter, error, Alert::DECODE_ERROR);
    let selected = PeerMisbehaved::SelectedUnoffered(Ext::SUPPORTED_VERSIONS);
    let renegotiation = || PeerMisbehaved::IllegalRenegotiationInfo.into();
    check(
        &rich(TLS12),
        Side::Server,
        [
            version("TLS 1.1", |m| m[5] = 2),
            version("TLS 1.3 in the wrong place", |m| m[5] = 4),
            illegal("TLS 1.3", |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[3, 4]), selected),
            illegal(
                "TLS 1.2 where it does not belong",
                |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[3, 3]),
                selected,
            ),
            illegal("a HelloRetryRequest", |m| m[6..38].copy_from_slice(&HELLO_RETRY_REQUEST), selected),
            illegal("compression", |m| m[41] = 1, PeerMisbehaved::IllegalLegacyField),
            suite("suite that was not offered", |m| m[39..41].copy_from_slice(&[0xc0, 0xae])),
            suite("suite for a key that nobody shares", |m| m[39..41].copy_from_slice(&[0xd0, 3])),
            suite("unknown suite", |m| m[39..41].copy_from_slice(&[0xc0, 0x13])),
            suite("suite of TLS 1.3", |m| m[39..41].copy_from_slice(&[0x13, 1])),
            suite("no suite", |m| m[39..41].copy_from_slice(&[0, 0xff])),
            failure(
                "no extended_master_secret",
                |m| remove_extension(m, Ext::EXTENDED_MASTER_SECRET),
                PeerIncompatible::NoExtendedMasterSecret.into(),
            ),
            decode(
                "long extended_master_secret",
                |m| set_extension(m, Ext::EXTENDED_MASTER_SECRET, &[0]),
                InvalidMessage::TrailingData,
            ),
            failure(
                "no renegotiation_info",
                |m| remove_extension(m, Ext::RENEGOTIATION_INFO),
                PeerIncompatible::NoSecureRenegotiation.into(),
            ),
            failure("a renegotiation", |m| set_extension(m, Ext::RENEGOTIATION_INFO, &[1, 7]), renegotiation()),
            failure(
                "a renegotiation of 24 bytes",
                |m| set_extension(m, Ext::RENEGOTIATION_INFO, &[&[24][..], &[7; 24]].concat()),
                renegotiation(),
            ),
            decode("no info", |m| set_extension(m, Ext::RENEGOTIATION_INFO, &[]), InvalidMessage::Truncated),
            decode("session id of 33 bytes", session_id_of_33, InvalidMessage::IllegalLength),
        ],
    );
}

/// Which is SHA-256 of a word, and says HelloRetryRequest only in TLS 1.3.
const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A server may give the session a name, of its own choice; but it cannot resume what was never a session.
#[test]
fn session_ids_of_tls12() {
    let mut setup = rich(TLS12);
    setup.server.fault(Some(first(SH, |m| edit_body(m, |b| drop(b.splice(34..35, [&[32][..], &[7; 32]].concat()))))));
    let verdict = run(&setup, Side::Client, |pair| drop(pair.run()));
    assert!(verdict.connected, "{verdict:?}");
    let mut setup = rich(TLS12);
    setup.client.versions(vec![TLS13, TLS12]);
    setup.client.compatibility_mode(true); // a session id that stands for nothing
    let shown = Arc::new(Mutex::new(Vec::new()));
    let id = shown.clone();
    setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, move |m| *id.lock().unwrap() = m[38..71].into())));
    setup.server.fault(Some(first(SH, move |m| {
        let id = shown.lock().unwrap().clone();
        assert_eq!(id[0], 32);
        edit_body(m, |b| drop(b.splice(34..35, id)));
    })));
    let verdict = run(&setup, Side::Client, |pair| drop(pair.run()));
    assert_eq!(verdict.refused(), Some(&PeerMisbehaved::IllegalLegacyField.into()));
}

/// A client of both versions holds the server to the one that it took.
#[test]
fn mixed_versions() {
    let mut setup = rich(TLS12);
    setup.client.versions(vec![TLS13, TLS12]);
    let illegal = |name, alter, error: PeerMisbehaved| case(name, SH, alter, error, Alert::ILLEGAL_PARAMETER);
    let selected = PeerMisbehaved::SelectedUnoffered(Ext::SUPPORTED_VERSIONS);
    let cases = [
        illegal("TLS 1.3 with a suite of TLS 1.2", |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[3, 4]), SUITE),
        illegal("TLS 1.2 in the extension", |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[3, 3]), selected),
        illegal("TLS 1.2 with a suite of TLS 1.3", |m| m[39..41].copy_from_slice(&[0x13, 1]), SUITE),
        illegal(
            "TLS 1.2 with a key share",
            |m| add_extension(m, Ext::KEY_SHARE, &[&[0, 0x1d, 0, 32][..], &[9; 32]].concat()),
            PeerMisbehaved::MisplacedExtension(Ext::KEY_SHARE),
        ),
        illegal("TLS 1.2 after a HelloRetryRequest", |m| m[6..38].copy_from_slice(&HELLO_RETRY_REQUEST), selected),
    ];
    check(&setup, Side::Server, cases);
    let mut setup = rich(TLS13);
    setup.client.versions(vec![TLS13, TLS12]);
    let cases = [
        illegal("TLS 1.3 with a suite of TLS 1.2", |m| m[39..41].copy_from_slice(&[0xc0, 0x2b]), SUITE),
        case(
            "TLS 1.3 without saying so",
            SH,
            |m| remove_extension(m, Ext::SUPPORTED_VERSIONS),
            SUITE,
            Alert::ILLEGAL_PARAMETER,
        ),
    ];
    check(&setup, Side::Server, cases);
}
