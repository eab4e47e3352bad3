//! What a server refuses, and with which alert. The client is hostile.

use terse_testkit::fault::{
    add_extension, edit_body, edit_extensions, fix_length, message, nth, remove_extension, set_extension,
};
use terse_testkit::pair::Side;
use terse_testkit::pki::{CLIENT_NAME, Pki, validity};
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, CertificateError, ExtensionType as Ext, HandshakeType, InvalidMessage, PeerIncompatible,
    PeerMisbehaved,
};

use crate::attack::{CHAIN, Case, SCENARIOS, case, check, other_pki, rich};

const CH: HandshakeType = HandshakeType::CLIENT_HELLO;

/// RFC 9846, 4.2.2
#[test]
fn client_hello() {
    let version = PeerIncompatible::NoCommonVersion;
    let legacy = PeerMisbehaved::IllegalLegacyField;
    check(
        &rich(),
        Side::Client,
        [
            case("legacy_version TLS 1.1", CH, |m| m[5] = 2, version, Alert::PROTOCOL_VERSION),
            case("legacy_version TLS 1.3", CH, |m| m[5] = 4, version, Alert::PROTOCOL_VERSION),
            case("no versions", CH, |m| remove_extension(m, Ext::SUPPORTED_VERSIONS), version, Alert::PROTOCOL_VERSION),
            case(
                "TLS 1.2 only",
                CH,
                |m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[2, 3, 3]),
                version,
                Alert::PROTOCOL_VERSION,
            ),
            case("session id of 33 bytes", CH, session_id_of_33, InvalidMessage::IllegalLength, Alert::DECODE_ERROR),
            case("no suites", CH, |m| set_suites(m, &[]), InvalidMessage::IllegalLength, Alert::DECODE_ERROR),
            case("half a suite", CH, |m| set_suites(m, &[0x13]), InvalidMessage::Truncated, Alert::DECODE_ERROR),
            case(
                "unknown suites",
                CH,
                |m| set_suites(m, &[0x13, 5, 0xc0, 0x2b]),
                PeerIncompatible::NoCommonCipherSuite,
                Alert::HANDSHAKE_FAILURE,
            ),
            case("compression", CH, |m| set_compression(m, &[1]), legacy, Alert::ILLEGAL_PARAMETER),
            case("null and more compression", CH, |m| set_compression(m, &[0, 1]), legacy, Alert::ILLEGAL_PARAMETER),
            case("no compression", CH, |m| set_compression(m, &[]), InvalidMessage::IllegalLength, Alert::DECODE_ERROR),
        ],
    );
}

/// RFC 9846, 4.3 and 9.2
#[test]
fn extensions_of_client_hello() {
    let missing =
        |name, kind, alter| case(name, CH, alter, PeerMisbehaved::MissingExtension(kind), Alert::MISSING_EXTENSION);
    let duplicate = |name, alter| case(name, CH, alter, InvalidMessage::DuplicateExtension, Alert::ILLEGAL_PARAMETER);
    let decode = |name, alter, error: InvalidMessage| case(name, CH, alter, error, Alert::DECODE_ERROR);
    let illegal = |name, alter| case(name, CH, alter, InvalidMessage::IllegalValue, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(),
        Side::Client,
        [
            missing("no supported_groups", Ext::SUPPORTED_GROUPS, |m| remove_extension(m, Ext::SUPPORTED_GROUPS)),
            missing("no signature_algorithms", Ext::SIGNATURE_ALGORITHMS, |m| {
                remove_extension(m, Ext::SIGNATURE_ALGORITHMS);
            }),
            missing("no key_share", Ext::KEY_SHARE, |m| remove_extension(m, Ext::KEY_SHARE)),
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
            decode("no versions", |m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[0]), InvalidMessage::IllegalLength),
            decode("no groups", |m| set_extension(m, Ext::SUPPORTED_GROUPS, &[0, 0]), InvalidMessage::IllegalLength),
            decode("empty ALPN", |m| set_extension(m, ALPN, &[0, 0]), InvalidMessage::IllegalLength),
            decode("empty name in ALPN", |m| set_extension(m, ALPN, &[0, 1, 0]), InvalidMessage::IllegalLength),
            decode("empty server_name", |m| set_extension(m, Ext::SERVER_NAME, &[]), InvalidMessage::Truncated),
            decode("no server_name", |m| set_extension(m, Ext::SERVER_NAME, &[0, 0]), InvalidMessage::Truncated),
            decode("two server names", two_server_names, InvalidMessage::TrailingData),
            illegal("server name of another type", |m| set_extension(m, Ext::SERVER_NAME, &[0, 4, 1, 0, 1, b'a'])),
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
        ],
    );
}

const ALPN: Ext = Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION;

/// RFC 9846, 4.3.7 and 4.3.8
#[test]
fn key_shares() {
    let illegal = |name, alter, error: PeerMisbehaved| case(name, CH, alter, error, Alert::ILLEGAL_PARAMETER);
    let invalid = |name, alter| case(name, CH, alter, CryptoError::InvalidKeyShare, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(),
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

/// RFC 9846, 4.3.9 and 4.3.11: also by a server that never uses them.
#[test]
fn pre_shared_key() {
    check(
        &rich(),
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

/// RFC 9846, 4.2.2: nothing but a few extensions may change.
#[test]
fn second_client_hello() {
    let second =
        |name, alter, error: PeerMisbehaved| Case { nth: 1, ..case(name, CH, alter, error, Alert::ILLEGAL_PARAMETER) };
    let changed = |name, alter| second(name, alter, PeerMisbehaved::ChangedClientHello);
    check(
        &rich().with_hello_retry(true),
        Side::Client,
        [
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
    let version = case("", CH, |m| m[5] = 1, PeerIncompatible::NoCommonVersion, Alert::PROTOCOL_VERSION);
    check(&rich().with_hello_retry(false), Side::Client, [Case { nth: 1, ..version }]);
}

/// RFC 9846, 4.2.2 asks for the same order too, which does no harm, and wolfSSL's clients do not keep it.
#[test]
fn second_client_hello_in_another_order() {
    let mut setup = rich().with_hello_retry(true);
    setup.client.common.fault = Some(nth(CH, 1, |m| edit_extensions(m, |all| all.swap(1, 2))));
    setup.pair(1).handshake().unwrap();
}

/// RFC 9846, 4.5.1
#[test]
fn certificate() {
    const CT: HandshakeType = HandshakeType::CERTIFICATE;
    let bad = |name, alter, error: CertificateError, alert| case(name, CT, alter, error, alert);
    check(
        &rich(),
        Side::Client,
        [
            bad(
                "none, though required",
                |m| *m = message(CT, &[0, 0, 0, 0]),
                CertificateError::Required,
                Alert::CERTIFICATE_REQUIRED,
            ),
            bad(
                "no DER",
                |m| *m = message(CT, b"\0\0\0\x08\0\0\x03no!\0\0"),
                CertificateError::Malformed,
                Alert::BAD_CERTIFICATE,
            ),
            bad(
                "a server's",
                |m| *m = certificate_of(&Pki::shared(CHAIN).server),
                CertificateError::WrongUsage,
                UNSUPPORTED,
            ),
            bad("of another CA", |m| *m = certificate_of(&other_pki().client), UNKNOWN, Alert::UNKNOWN_CA),
            case(
                "no bytes in an entry",
                CT,
                |m| *m = message(CT, &[0, 0, 0, 5, 0, 0, 0, 0, 0]),
                InvalidMessage::IllegalLength,
                Alert::DECODE_ERROR,
            ),
            case(
                "with a context",
                CT,
                |m| edit_body(m, |b| drop(b.splice(0..1, [1, 7]))),
                PeerMisbehaved::IllegalRequestContext,
                Alert::ILLEGAL_PARAMETER,
            ),
            case(
                "with an extension that was not asked for",
                CT,
                |m| entry_extension(m, Ext::STATUS_REQUEST),
                PeerMisbehaved::UnsolicitedExtension(Ext::STATUS_REQUEST),
                Alert::UNSUPPORTED_EXTENSION,
            ),
            case(
                "with an extension that does not belong there",
                CT,
                |m| entry_extension(m, Ext::KEY_SHARE),
                PeerMisbehaved::MisplacedExtension(Ext::KEY_SHARE),
                Alert::ILLEGAL_PARAMETER,
            ),
            // Valid, and somebody else's.
            case(
                "another client's",
                CT,
                |m| {
                    let options = terse_pki::LeafOptions::new(CLIENT_NAME, validity());
                    *m = certificate_of(&Pki::shared(CHAIN).authority.issue(&options).unwrap());
                },
                PeerMisbehaved::BadSignature,
                Alert::DECRYPT_ERROR,
            ),
        ],
    );
}

const UNSUPPORTED: Alert = Alert::UNSUPPORTED_CERTIFICATE;
const UNKNOWN: CertificateError = CertificateError::UnknownIssuer;

/// Under a ticket (paper 000, IV-B).
#[test]
fn cached_certificate() {
    let illegal = |name, alter| {
        let illegal = Alert::ILLEGAL_PARAMETER;
        case(name, HandshakeType::CERTIFICATE, alter, PeerMisbehaved::IllegalCachedMessage, illegal)
    };
    check(
        &SCENARIOS[3].setup,
        Side::Client,
        [
            illegal("in full", |m| *m = certificate_of(&Pki::shared(CHAIN).client)),
            illegal("none", |m| *m = message(HandshakeType::CERTIFICATE, &[0, 0, 0, 0])),
            illegal("twice", |m| *m = message(HandshakeType::CERTIFICATE, &[&[0, 0, 0, 10][..], &[0; 10]].concat())),
        ],
    );
}

/// RFC 9846, 4.5.2 and 4.5.3. The same checks run on both sides.
pub(crate) fn proofs() -> [Case; 8] {
    const CV: HandshakeType = HandshakeType::CERTIFICATE_VERIFY;
    let scheme = |name, alter| case(name, CV, alter, PeerMisbehaved::IllegalSignatureScheme, Alert::ILLEGAL_PARAMETER);
    let signature = |name, alter| case(name, CV, alter, PeerMisbehaved::BadSignature, Alert::DECRYPT_ERROR);
    [
        scheme("PKCS #1", |m| m[4..6].copy_from_slice(&[4, 1])),
        scheme("SHA-1", |m| m[4..6].copy_from_slice(&[2, 3])),
        scheme("not offered", |m| m[4..6].copy_from_slice(&[8, 6])),
        scheme("not of the key", |m| m[4..6].copy_from_slice(&[4, 3])),
        signature("wrong signature", |m| m[8] ^= 1),
        signature("no signature", |m| *m = message(CV, &[8, 7, 0, 0])),
        case("wrong", HandshakeType::FINISHED, |m| m[35] ^= 1, PeerMisbehaved::BadFinished, Alert::DECRYPT_ERROR),
        case(
            "short",
            HandshakeType::FINISHED,
            |m| {
                m.pop();
                fix_length(m);
            },
            InvalidMessage::IllegalLength,
            Alert::DECODE_ERROR,
        ),
    ]
}

#[test]
fn client_proofs() {
    check(&rich(), Side::Client, proofs());
}

/// A full Certificate.
pub(crate) fn certificate_of(credential: &terse_pki::Credential) -> Vec<u8> {
    let u24 = |len: usize| (len as u32).to_be_bytes()[1..].to_vec();
    let entries: Vec<u8> =
        credential.chain().iter().flat_map(|der| [&u24(der.len()), der.as_ref(), &[0, 0]].concat()).collect();
    message(HandshakeType::CERTIFICATE, &[&[0][..], &u24(entries.len()), &entries].concat())
}

/// Gives the last entry of a Certificate an empty extension.
pub(crate) fn entry_extension(message: &mut Vec<u8>, kind: Ext) {
    edit_body(message, |body| {
        let [high, low] = kind.0.to_be_bytes();
        body.truncate(body.len() - 2);
        body.extend_from_slice(&[0, 4, high, low, 0, 0]);
        let len = (body.len() - 4) as u32;
        body[1..4].copy_from_slice(&len.to_be_bytes()[1..]);
    });
}

pub(crate) fn find(all: &mut [terse_testkit::fault::Extension], kind: Ext) -> &mut Vec<u8> {
    &mut all.iter_mut().find(|(found, _)| *found == kind).expect("the extension is there").1
}

fn session_id_of_33(message: &mut Vec<u8>) {
    edit_body(message, |body| drop(body.splice(34..35, core::iter::once(33).chain([0; 33]))));
}

/// Our own ClientHello has no session id here.
fn set_suites(message: &mut Vec<u8>, suites: &[u8]) {
    edit_body(message, |body| {
        let len = usize::from(u16::from_be_bytes([body[35], body[36]]));
        body.splice(35..37 + len, (suites.len() as u16).to_be_bytes().into_iter().chain(suites.iter().copied()));
    });
}

fn set_compression(message: &mut Vec<u8>, methods: &[u8]) {
    edit_body(message, |body| {
        let at = 37 + usize::from(u16::from_be_bytes([body[35], body[36]]));
        body.splice(at..at + 2, core::iter::once(methods.len() as u8).chain(methods.iter().copied()));
    });
}

fn two_server_names(message: &mut Vec<u8>) {
    set_extension(message, Ext::SERVER_NAME, &[0, 8, 0, 0, 1, b'a', 0, 0, 1, b'b']);
}

/// Changes the list of key shares, without its length.
fn edit_shares(message: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_extensions(message, |all| {
        let body = find(all, Ext::KEY_SHARE);
        let mut shares = body.split_off(2);
        edit(&mut shares);
        *body = [&(shares.len() as u16).to_be_bytes()[..], &shares].concat();
    });
}

fn set_share(shares: &mut Vec<u8>, group: u16, key_exchange: &[u8]) {
    *shares = [&group.to_be_bytes()[..], &(key_exchange.len() as u16).to_be_bytes(), key_exchange].concat();
}
