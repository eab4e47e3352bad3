//! These tests show what a server refuses in a ClientHello, and with which alert.

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::fault::{
    add_extension, edit_body, edit_extensions, first, fix_length, nth, remove_extension, set_extension,
};
use terse_testkit::pair::Side;
use terse_testkit::pki::SERVER_NAME;
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, ExtensionType as Ext, HandshakeType, InvalidMessage, PeerIncompatible, PeerMisbehaved,
};

use super::attack::{Case, case, check, rich, run};
use super::edit::{edit_shares, find, session_id_of_33, set_compression, set_share, set_suites, two_server_names};
use super::modes::{TLS12, TLS13, VERSIONS};

const CH: HandshakeType = HandshakeType::CLIENT_HELLO;

/// A server refuses wrong fields of a ClientHello, and suites that it does not know (RFC 9846, 4.2.2; RFC 5246, 7.4.1.2).
#[test]
fn client_hello() {
    let decode = |name, alter, error: InvalidMessage| case(name, CH, alter, error, Alert::DECODE_ERROR);
    let legacy = |name, alter| case(name, CH, alter, PeerMisbehaved::IllegalLegacyField, Alert::ILLEGAL_PARAMETER);
    for version in VERSIONS {
        check(
            &rich(version),
            Side::Client,
            [
                decode("session id of 33 bytes", session_id_of_33, InvalidMessage::IllegalLength),
                decode("no suites", |m| set_suites(m, &[]), InvalidMessage::IllegalLength),
                decode("half a suite", |m| set_suites(m, &[0x13]), InvalidMessage::Truncated),
                decode("no compression", |m| set_compression(m, &[]), InvalidMessage::IllegalLength),
                legacy("compression", |m| set_compression(m, &[1])),
            ],
        );
    }
    let none = PeerIncompatible::NoCommonCipherSuite;
    let suites = |alter| [case("unknown suites", CH, alter, none, Alert::HANDSHAKE_FAILURE)];
    check(&rich(TLS13), Side::Client, suites(|m| set_suites(m, &[0x13, 5, 0xc0, 0x2b])));
    check(&rich(TLS13), Side::Client, [legacy("null and more compression", |m| set_compression(m, &[0, 1]))]);
    check(&rich(TLS12), Side::Client, suites(|m| set_suites(m, &[0x13, 1, 0, 0xff, 0xc0, 0xae])));
}

/// A server refuses versions that it does not speak (RFC 9846, 4.3.1 and E.1; RFC 5246, E.1).
#[test]
fn versions() {
    let none = |name, alter| case(name, CH, alter, PeerIncompatible::NoCommonVersion, Alert::PROTOCOL_VERSION);
    let others = [
        none("TLS 1.1", |m| m[5] = 2),
        none("SSL 2", |m| m[4..6].copy_from_slice(&[0, 2])),
        none("in the future", |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[4, 3, 5, 3, 4])),
        none("in the past", |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[4, 3, 2, 3, 1])),
    ];
    check(&rich(TLS12), Side::Client, others);
    let others = [
        none("legacy_version SSL 3.0", |m| m[5] = 0),
        none("no versions", |m| remove_extension(m, Ext::SUPPORTED_VERSIONS)),
        none("TLS 1.2 only", |m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[2, 3, 3])),
    ];
    check(&rich(TLS13), Side::Client, others);
}

/// RFC 9846, 4.3.1: where supported_versions speaks, legacy_version does not.
#[test]
fn unusual_legacy_versions_of_tls13() {
    for legacy_version in [[3, 1], [3, 2], [3, 4], [0x12, 0x34]] {
        let mut setup = rich(TLS13);
        let edit = move |m: &mut Vec<u8>| m[4..6].copy_from_slice(&legacy_version);
        setup.client.fault(Some(first(CH, edit)));
        let verdict = run(&setup, Side::Server, |pair| drop(pair.run()));
        assert!(verdict.connected, "{legacy_version:?}: {verdict:?}");
    }
}

/// What is unusual, and allowed: the server of TLS 1.2 goes on. What the client did not mean may still stop it.
#[test]
fn unusual_hellos_of_tls12() {
    type Edit = fn(&mut Vec<u8>);
    let edits: [(&str, Edit); 9] = [
        ("a version of the future", |m| m[4..6].copy_from_slice(&[3, 4])),
        ("and another one", |m| m[4..6].copy_from_slice(&[0xfe, 0xfe])),
        ("several versions", |m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[6, 0x0a, 0x0a, 3, 3, 3, 2])),
        ("compression besides none", |m| set_compression(m, &[1, 64, 0])),
        ("no groups", |m| remove_extension(m, Ext::SUPPORTED_GROUPS)),
        ("an empty renegotiation_info", |m| add_extension(m, Ext::RENEGOTIATION_INFO, &[0])),
        ("a session id", |m| edit_body(m, |b| drop(b.splice(34..35, [4, 1, 2, 3, 4])))),
        ("a session ticket", |m| add_extension(m, Ext::SESSION_TICKET, b"whatever")),
        ("what is of TLS 1.3", |m| {
            add_extension(m, Ext::EARLY_DATA, b"");
            add_extension(m, Ext::KEY_SHARE, &[0, 0]);
            add_extension(m, Ext::PSK_KEY_EXCHANGE_MODES, &[1, 1]);
        }),
    ];
    for (name, edit) in edits {
        let mut setup = rich(TLS12);
        setup.client.fault(Some(first(CH, edit)));
        let verdict = run(&setup, Side::Server, |pair| drop(pair.run()));
        assert!(verdict.connected, "{name}: {verdict:?}");
    }
}

/// A server refuses wrong forms of the extensions that mend TLS 1.2 (RFC 5746, 3.6; RFC 7627, 5.2; RFC 8422, 5.1).
#[test]
fn what_mends_tls12() {
    let renegotiation =
        |name, alter| case(name, CH, alter, PeerMisbehaved::IllegalRenegotiationInfo, Alert::HANDSHAKE_FAILURE);
    let decode = |name, alter, error: InvalidMessage| case(name, CH, alter, error, Alert::DECODE_ERROR);
    let incompatible = |name, alter, error: PeerIncompatible| case(name, CH, alter, error, Alert::HANDSHAKE_FAILURE);
    let illegal = |name, alter| case(name, CH, alter, InvalidMessage::IllegalValue, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(TLS12),
        Side::Client,
        [
            renegotiation("a renegotiation", |m| add_extension(m, Ext::RENEGOTIATION_INFO, &[1, 7])),
            renegotiation("of 12 bytes", |m| {
                add_extension(m, Ext::RENEGOTIATION_INFO, &[&[12][..], &[7; 12]].concat());
            }),
            decode("no info", |m| add_extension(m, Ext::RENEGOTIATION_INFO, &[]), InvalidMessage::Truncated),
            decode("long info", |m| add_extension(m, Ext::RENEGOTIATION_INFO, &[0, 0]), InvalidMessage::TrailingData),
            decode(
                "extended_master_secret",
                |m| set_extension(m, Ext::EXTENDED_MASTER_SECRET, &[0]),
                InvalidMessage::TrailingData,
            ),
            incompatible(
                "no extended_master_secret",
                |m| remove_extension(m, Ext::EXTENDED_MASTER_SECRET),
                PeerIncompatible::NoExtendedMasterSecret,
            ),
            incompatible("no extensions", no_extensions, PeerIncompatible::NoExtendedMasterSecret),
            incompatible(
                "no signature_algorithms",
                |m| remove_extension(m, Ext::SIGNATURE_ALGORITHMS),
                PeerIncompatible::NoCommonSignatureScheme,
            ),
            incompatible(
                "suites of RSA only",
                |m| set_suites(m, &[0xc0, 0x2f, 0xc0, 0x30, 0xcc, 0xa8]),
                PeerIncompatible::NoCommonSignatureScheme,
            ),
            incompatible(
                "only RSA can sign",
                |m| set_extension(m, Ext::SIGNATURE_ALGORITHMS, &[0, 4, 8, 4, 4, 1]),
                PeerIncompatible::NoCommonSignatureScheme,
            ),
            incompatible(
                "groups that are no curves, or unknown",
                |m| set_extension(m, Ext::SUPPORTED_GROUPS, &[0, 6, 0x11, 0xec, 1, 0, 0, 0x1e]),
                PeerIncompatible::NoCommonGroup,
            ),
            illegal("compressed points only", |m| add_extension(m, Ext::EC_POINT_FORMATS, &[2, 1, 2])),
            decode("no points", |m| add_extension(m, Ext::EC_POINT_FORMATS, &[0]), InvalidMessage::IllegalLength),
        ],
    );
}

fn no_extensions(message: &mut Vec<u8>) {
    edit_extensions(message, Vec::clear);
    message.truncate(message.len() - 2);
    fix_length(message);
}

/// A server refuses wrong extensions of a ClientHello (RFC 9846, 4.3).
#[test]
fn extensions() {
    let duplicate = |name, alter| case(name, CH, alter, InvalidMessage::DuplicateExtension, Alert::ILLEGAL_PARAMETER);
    let decode = |name, alter, error: InvalidMessage| case(name, CH, alter, error, Alert::DECODE_ERROR);
    let illegal = |name, alter| case(name, CH, alter, InvalidMessage::IllegalValue, Alert::ILLEGAL_PARAMETER);
    let cases = [
        duplicate("a known one twice", |m| edit_extensions(m, |all| all.push(all[0].clone()))),
        duplicate("an unknown one twice", |m| {
            add_extension(m, Ext(0x1234), b"");
            add_extension(m, Ext(0x1234), b"other");
        }),
        case(
            "oid_filters",
            CH,
            |m| add_extension(m, Ext::OID_FILTERS, &[0, 0]),
            PeerMisbehaved::MisplacedExtension(Ext::OID_FILTERS),
            Alert::ILLEGAL_PARAMETER,
        ),
        decode("a byte after a list", |m| edit_extensions(m, |all| all[0].1.push(0)), InvalidMessage::TrailingData),
        decode("no groups", |m| set_extension(m, Ext::SUPPORTED_GROUPS, &[0, 0]), InvalidMessage::IllegalLength),
        decode("empty ALPN", |m| set_extension(m, ALPN, &[0, 0]), InvalidMessage::IllegalLength),
        decode("empty name in ALPN", |m| set_extension(m, ALPN, &[0, 1, 0]), InvalidMessage::IllegalLength),
        decode("empty server_name", |m| set_extension(m, Ext::SERVER_NAME, &[]), InvalidMessage::Truncated),
        decode("no server_name", |m| set_extension(m, Ext::SERVER_NAME, &[0, 0]), InvalidMessage::IllegalLength),
        decode(
            "half a name of another type",
            |m| set_extension(m, Ext::SERVER_NAME, &[0, 4, 1, 0, 2, b'a']),
            InvalidMessage::Truncated,
        ),
        illegal("two host names", two_server_names),
        illegal("server name with a zero", |m| set_extension(m, Ext::SERVER_NAME, &[0, 4, 0, 0, 1, 0])),
        illegal("record_size_limit 63", |m| set_extension(m, Ext::RECORD_SIZE_LIMIT, &[0, 63])),
        illegal("max_fragment_length 5", |m| set_extension(m, Ext::MAX_FRAGMENT_LENGTH, &[5])),
        case(
            "no signature scheme in common",
            CH,
            |m| set_extension(m, Ext::SIGNATURE_ALGORITHMS, &[0, 2, 8, 6]),
            PeerIncompatible::NoCommonSignatureScheme,
            Alert::HANDSHAKE_FAILURE,
        ),
        case(
            "no protocol in common",
            CH,
            |m| set_extension(m, ALPN, b"\0\x03\x02h2"),
            PeerIncompatible::NoCommonApplicationProtocol,
            Alert::NO_APPLICATION_PROTOCOL,
        ),
    ];
    for version in VERSIONS {
        check(&rich(version), Side::Client, cases.clone());
    }
    let no_versions = |alter| [decode("no versions", alter, InvalidMessage::IllegalLength)];
    check(&rich(TLS13), Side::Client, no_versions(|m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[0])));
    check(&rich(TLS12), Side::Client, no_versions(|m| add_extension(m, Ext::SUPPORTED_VERSIONS, &[0])));
}

/// RFC 6066, 3: names of unknown types are skipped, by their length.
#[test]
fn server_names_of_other_types() {
    const OTHER: &[u8] = &[7, 0, 3, 1, 2, 3];
    let host = [&[0, 0, SERVER_NAME.len() as u8][..], SERVER_NAME.as_bytes()].concat();
    let lists = [
        (OTHER.to_vec(), None),
        (vec![255, 0, 0], None),
        ([OTHER, OTHER].concat(), None),
        ([OTHER, &host].concat(), Some(SERVER_NAME)),
        ([&host, OTHER].concat(), Some(SERVER_NAME)),
    ];
    for (version, (list, name)) in
        VERSIONS.into_iter().flat_map(|version| lists.iter().map(move |list| (version, list)))
    {
        let mut setup = rich(version);
        let body = [&(list.len() as u16).to_be_bytes(), &list[..]].concat();
        let heard = Arc::new(Mutex::new(None));
        let (seen, expected) = (heard.clone(), name.map(str::to_owned));
        setup.client.fault(Some(first(CH, move |m| set_extension(m, Ext::SERVER_NAME, &body))));
        run(&setup, Side::Server, |pair| {
            drop(pair.run()); // the client did not mean it, and its transcript is another one
            *seen.lock().unwrap() = Some(pair.server.server_name().map(str::to_owned));
        });
        assert_eq!(*heard.lock().unwrap(), Some(expected), "{version}, {list:?}");
    }
}

/// RFC 9146, 3: `connection_id` is for datagrams, and with it `rrc` (RFC 9853). On a stream a server knows neither,
/// whatever is in them.
#[test]
fn extensions_of_datagrams() {
    for version in VERSIONS {
        for body in [&[][..], &[0], &[3, 1, 2, 3], &[9, 1], &[1, 2, 3]] {
            let mut setup = rich(version);
            setup.client.fault(Some(first(CH, move |m| {
                add_extension(m, Ext::CONNECTION_ID, body);
                add_extension(m, Ext::RRC, body);
            })));
            let verdict = run(&setup, Side::Server, |pair| drop(pair.run()));
            assert!(verdict.connected, "{version}, {body:?}: {verdict:?}");
        }
    }
}

/// A server refuses a ClientHello without the mandatory extensions (RFC 9846, 9.2).
#[test]
fn missing_extensions() {
    let missing =
        |name, kind, alter| case(name, CH, alter, PeerMisbehaved::MissingExtension(kind), Alert::MISSING_EXTENSION);
    let cases = [
        missing("no supported_groups", Ext::SUPPORTED_GROUPS, |m| remove_extension(m, Ext::SUPPORTED_GROUPS)),
        missing("no signature_algorithms", Ext::SIGNATURE_ALGORITHMS, |m| {
            remove_extension(m, Ext::SIGNATURE_ALGORITHMS);
        }),
        missing("no key_share", Ext::KEY_SHARE, |m| remove_extension(m, Ext::KEY_SHARE)),
    ];
    check(&rich(TLS13), Side::Client, cases);
}

const ALPN: Ext = Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;

/// A server refuses wrong groups and key shares (RFC 9846, 4.3.7 and 4.3.8).
#[test]
fn key_shares() {
    let illegal = |name, alter, error: PeerMisbehaved| case(name, CH, alter, error, Alert::ILLEGAL_PARAMETER);
    let invalid = |name, alter| case(name, CH, alter, CryptoError::InvalidKeyShare, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(TLS13),
        Side::Client,
        [
            illegal(
                "two of one group",
                |m| edit_shares(m, |s| s.extend_from_within(..)),
                PeerMisbehaved::IllegalKeyShare,
            ),
            illegal(
                "a share for a group that is not supported",
                |m| set_extension(m, Ext::SUPPORTED_GROUPS, &[0, 2, 0, 0x17]),
                PeerMisbehaved::IllegalKeyShare,
            ),
            invalid("x25519, one byte short", |m| edit_shares(m, |s| set_share(s, 0x1d, &[9; 31]))),
            invalid("x25519, one byte long", |m| edit_shares(m, |s| set_share(s, 0x1d, &[9; 33]))),
            invalid("x25519, of low order", |m| edit_shares(m, |s| set_share(s, 0x1d, &[0; 32]))),
            invalid("P-256, not on the curve", |m| {
                edit_shares(m, |s| set_share(s, 0x17, &[&[4][..], &[7; 64]].concat()))
            }),
            invalid("P-256, compressed", |m| edit_shares(m, |s| set_share(s, 0x17, &[&[2][..], &[7; 32]].concat()))),
            invalid("P-256, infinity", |m| edit_shares(m, |s| set_share(s, 0x17, &[0]))),
            case(
                "an empty share",
                CH,
                |m| edit_shares(m, |s| set_share(s, 0x1d, &[])),
                InvalidMessage::IllegalLength,
                Alert::DECODE_ERROR,
            ),
            case(
                "no group in common",
                CH,
                |m| {
                    set_extension(m, Ext::SUPPORTED_GROUPS, &[0, 4, 1, 0, 0x11, 0xec]);
                    edit_shares(m, Vec::clear);
                },
                PeerIncompatible::NoCommonGroup,
                Alert::HANDSHAKE_FAILURE,
            ),
        ],
    );
}

/// RFC 9846, 4.3.8: a server need not check the rules for shares of groups that it does not know: two of one group, or one
/// that is not in supported_groups.
#[test]
fn key_shares_of_unknown_groups() {
    const UNKNOWN: &[u8] = &[0x2a, 0x2a, 0, 1, 9];
    for shares in [UNKNOWN.to_vec(), UNKNOWN.repeat(2)] {
        let mut setup = rich(TLS13);
        let edit = move |m: &mut Vec<u8>| edit_shares(m, |s| *s = [&shares, &s[..]].concat());
        setup.client.fault(Some(first(CH, edit)));
        setup.pair(1).handshake().unwrap();
    }
}

/// RFC 9846, 4.3.9 and 4.3.11: also by a server that never uses them.
#[test]
fn pre_shared_key() {
    check(
        &rich(TLS13),
        Side::Client,
        [
            case(
                "not the last one",
                CH,
                |m| {
                    add_extension(m, Ext::PRE_SHARED_KEY, b"whatever");
                    add_extension(m, Ext::PSK_KEY_EXCHANGE_MODES, &[1, 1]);
                },
                PeerMisbehaved::MisplacedExtension(Ext::PRE_SHARED_KEY),
                Alert::ILLEGAL_PARAMETER,
            ),
            case(
                "without modes",
                CH,
                |m| edit_extensions(m, |all| all.push((Ext::PRE_SHARED_KEY, b"whatever".to_vec()))),
                PeerMisbehaved::MissingExtension(Ext::PSK_KEY_EXCHANGE_MODES),
                Alert::MISSING_EXTENSION,
            ),
        ],
    );
}

/// Only a few extensions may change in the second ClientHello (RFC 9846, 4.2.2).
#[test]
fn second_client_hello() {
    let second =
        |name, alter, error: PeerMisbehaved| Case { nth: 1, ..case(name, CH, alter, error, Alert::ILLEGAL_PARAMETER) };
    let changed = |name, alter| second(name, alter, PeerMisbehaved::ChangedClientHello);
    check(
        &rich(TLS13).with_hello_retry(true),
        Side::Client,
        [
            changed("another legacy_version", |m| m[5] = 1),
            changed("another random", |m| m[6] ^= 1),
            changed("another session id", |m| edit_body(m, |b| drop(b.splice(34..35, [1, 9])))),
            changed("another suite", |m| set_suites(m, &[0x13, 1])),
            changed("another cookie", |m| edit_extensions(m, |all| find(all, Ext::COOKIE)[2] ^= 1)),
            changed("no cookie", |m| remove_extension(m, Ext::COOKIE)),
            changed("another name", |m| edit_extensions(m, |all| find(all, Ext::SERVER_NAME)[5] ^= 1)),
            changed("one more extension", |m| add_extension(m, Ext(0x1234), b"")),
            changed("one extension less", |m| remove_extension(m, Ext::SERVER_NAME)),
            changed("two shares", |m| edit_shares(m, |s| s.extend_from_slice(&[1, 0, 0, 1, 1]))),
            second("no share", |m| edit_shares(m, Vec::clear), PeerMisbehaved::IllegalKeyShare),
            second(
                "the first share again",
                |m| edit_shares(m, |s| set_share(s, 0x1d, &[9; 32])),
                PeerMisbehaved::IllegalKeyShare,
            ),
            second(
                "a share for another group",
                |m| edit_shares(m, |s| set_share(s, 0x18, &[4; 97])),
                PeerMisbehaved::ChangedClientHello,
            ),
        ],
    );
    let version = case("", CH, |m| m[5] = 0, PeerIncompatible::NoCommonVersion, Alert::PROTOCOL_VERSION);
    check(&rich(TLS13).with_hello_retry(false), Side::Client, [Case { nth: 1, ..version }]);
}

/// RFC 9846, 4.2.2 asks for the same order too, which does no harm, and wolfSSL's clients do not keep it.
#[test]
fn second_client_hello_in_another_order() {
    let mut setup = rich(TLS13).with_hello_retry(true);
    setup.client.fault(Some(nth(CH, 1, |m| edit_extensions(m, |all| all.swap(1, 2)))));
    setup.pair(1).handshake().unwrap();
}
