//! A server is hostile: these tests show what a client refuses after the ServerHello, and with which alert.

use terse_testkit::fault::{add_extension, edit_body, edit_extensions, message, remove_extension, set_extension};
use terse_testkit::pair::Side;
use terse_testkit::pki::{Pki, SERVER_NAME, validity};
use terse_tls::{
    AlertDescription as Alert, CertificateError, Error, ExtensionType as Ext, HandshakeType, InvalidMessage,
    NamedGroup, PeerMisbehaved,
};

use super::attack::{case, case_with, check, other_pki, rich};
use super::by_client::{entries, proofs};
use super::edit::certificate_of;
use super::modes::{CHAIN, TLS12, TLS13, VERSIONS, cached};

const CR: HandshakeType = HandshakeType::CERTIFICATE_REQUEST;
const CT: HandshakeType = HandshakeType::CERTIFICATE;
const SKE: HandshakeType = HandshakeType::SERVER_KEY_EXCHANGE;

/// Selections of what was not offered, and contradictions (docs/caching.md, 5).
#[test]
fn caching_replies() {
    for version in VERSIONS {
        let reply = if version == TLS12 { HandshakeType::SERVER_HELLO } else { HandshakeType::ENCRYPTED_EXTENSIONS };
        let illegal =
            |name, kind, alter| case(name, kind, alter, PeerMisbehaved::IllegalCachingReply, Alert::ILLEGAL_PARAMETER);
        let message =
            |name, kind, alter| case(name, kind, alter, PeerMisbehaved::IllegalCachedMessage, Alert::ILLEGAL_PARAMETER);
        let cases = [
            illegal("an object of unknown type", reply, |m| set_extension(m, Ext::CACHED_INFO, &[0, 3, 1, 2, 3])),
            illegal("an object twice", reply, |m| set_extension(m, Ext::CACHED_INFO, &[0, 3, 1, 2, 1])),
            illegal("a ticket that was not offered", reply, |m| {
                set_extension(m, Ext::CLIENT_CACHED_INFO, &[0, 3, 1, 0, 1]);
            }),
            illegal("a ticket of unknown type", reply, |m| {
                set_extension(m, Ext::CLIENT_CACHED_INFO, &[0, 3, 2, 0, 0]);
            }),
            illegal("a ticket twice", reply, |m| set_extension(m, Ext::CLIENT_CACHED_INFO, &[0, 6, 1, 0, 0, 1, 0, 0])),
            illegal("no request where one is due", CR, Vec::clear),
            message("another certificate", CT, |m| m[12] ^= 1),
            message("another request", CR, |m| m[10] ^= 1),
        ];
        check(&cached(version).setup, Side::Server, cases);
        let full = certificate_of(version, &Pki::shared(CHAIN).server);
        // The length of the list stands where the length of a fingerprint is due.
        let (error, alert): (Error, _) = match version {
            TLS12 => (InvalidMessage::IllegalLength.into(), Alert::DECODE_ERROR),
            _ => (PeerMisbehaved::IllegalCachedMessage.into(), Alert::ILLEGAL_PARAMETER),
        };
        let full = case_with("the certificate in full", CT, move |m| m.clone_from(&full), error, alert);
        check(&cached(version).setup, Side::Server, [full]);
    }
}

/// A client refuses wrong CertificateRequests (RFC 9846, 4.4.2).
#[test]
fn certificate_request() {
    let illegal = |name, alter, error: Error| case(name, CR, alter, error, Alert::ILLEGAL_PARAMETER);
    check(
        &rich(TLS13),
        Side::Server,
        [
            illegal(
                "with a context",
                |m| edit_body(m, |b| drop(b.splice(0..1, [1, 7]))),
                PeerMisbehaved::IllegalRequestContext.into(),
            ),
            case(
                "no signature_algorithms",
                CR,
                |m| remove_extension(m, Ext::SIGNATURE_ALGORITHMS),
                PeerMisbehaved::MissingExtension(Ext::SIGNATURE_ALGORITHMS),
                Alert::MISSING_EXTENSION,
            ),
            case(
                "no authorities",
                CR,
                |m| add_extension(m, Ext::CERTIFICATE_AUTHORITIES, &[0, 0]),
                InvalidMessage::IllegalLength,
                Alert::DECODE_ERROR,
            ),
            illegal(
                "an extension that does not belong there",
                |m| add_extension(m, Ext::KEY_SHARE, b""),
                PeerMisbehaved::MisplacedExtension(Ext::KEY_SHARE).into(),
            ),
            illegal(
                "twice",
                |m| edit_extensions(m, |all| all.push(all[0].clone())),
                InvalidMessage::DuplicateExtension.into(),
            ),
        ],
    );
}

/// A client refuses wrong CertificateRequests of TLS 1.2 (RFC 5246, 7.4.4).
#[test]
fn certificate_request_of_tls12() {
    let decode = |name, alter, error: InvalidMessage| case(name, CR, alter, error, Alert::DECODE_ERROR);
    check(
        &rich(TLS12),
        Side::Server,
        [
            decode("no types", |m| *m = message(CR, &[0, 0, 2, 8, 7, 0, 0]), InvalidMessage::IllegalLength),
            decode("no algorithms", |m| *m = message(CR, &[1, 64, 0, 0, 0, 0]), InvalidMessage::IllegalLength),
            decode("half an algorithm", |m| *m = message(CR, &[1, 64, 0, 1, 8, 0, 0]), InvalidMessage::Truncated),
            decode("no names", |m| *m = message(CR, &[1, 64, 0, 2, 8, 7]), InvalidMessage::Truncated),
            decode("as in TLS 1.1", |m| *m = message(CR, &[1, 64, 0, 0]), InvalidMessage::IllegalLength),
            decode(
                "an empty name",
                |m| *m = message(CR, &[1, 64, 0, 2, 8, 7, 0, 2, 0, 0]),
                InvalidMessage::IllegalLength,
            ),
            decode("half a name", |m| *m = message(CR, &[1, 64, 0, 2, 8, 7, 0, 3, 0, 2, 7]), InvalidMessage::Truncated),
        ],
    );
}

/// A client refuses wrong Certificate messages (RFC 9846, 4.5.1; RFC 5246, 7.4.2).
#[test]
fn certificate() {
    for version in VERSIONS {
        let shown = |name, credential: &terse_pki::Credential, error: CertificateError, alert| {
            let certificate = certificate_of(version, credential);
            case_with(name, CT, move |m| m.clone_from(&certificate), error, alert)
        };
        let unexpected = |name, alter, kind| {
            case(name, CT, alter, PeerMisbehaved::UnexpectedHandshakeMessage(kind), Alert::UNEXPECTED_MESSAGE)
        };
        let body = |name, body: &'static [u8], error: Error, alert| {
            case_with(name, CT, move |m| *m = message(CT, body), error, alert)
        };
        let (none, no_der): (&[u8], &[u8]) = match version {
            TLS12 => (&[0; 3], b"\0\0\x06\0\0\x03no!"),
            _ => (&[0; 4], b"\0\0\0\x08\0\0\x03no!\0\0"),
        };
        // The certificate is valid, and somebody else's.
        let options = terse_pki::LeafOptions::new(SERVER_NAME, validity());
        let other = certificate_of(version, &Pki::shared(CHAIN).authority.issue(&options).unwrap());
        let usage = CertificateError::WrongUsage;
        let cases = [
            body("none", none, PeerMisbehaved::EmptyServerCertificate.into(), Alert::DECODE_ERROR),
            body("no DER", no_der, CertificateError::Malformed.into(), Alert::BAD_CERTIFICATE),
            shown("a client's", &Pki::shared(CHAIN).client, usage, Alert::UNSUPPORTED_CERTIFICATE),
            shown("of another CA", &other_pki().server, CertificateError::UnknownIssuer, Alert::UNKNOWN_CA),
            unexpected("compressed (RFC 8879)", |m| m[0] = 25, HandshakeType::COMPRESSED_CERTIFICATE),
            unexpected("as the synthetic message", |m| m[0] = 254, HandshakeType::MESSAGE_HASH),
            case_with(
                "another server's",
                CT,
                move |m| m.clone_from(&other),
                PeerMisbehaved::BadSignature,
                Alert::DECRYPT_ERROR,
            ),
        ];
        check(&rich(version), Side::Server, cases);
        check(&rich(version), Side::Server, entries(version));
    }
}

/// A client refuses wrong ServerKeyExchanges (RFC 8422, 5.4).
#[test]
fn server_key_exchange() {
    let illegal = |name, alter, error: Error| case(name, SKE, alter, error, Alert::ILLEGAL_PARAMETER);
    let decode = |name, alter, error: InvalidMessage| case(name, SKE, alter, error, Alert::DECODE_ERROR);
    let signature = |name, alter| case(name, SKE, alter, PeerMisbehaved::BadSignature, Alert::DECRYPT_ERROR);
    let value = || InvalidMessage::IllegalValue.into();
    let group = || PeerMisbehaved::IllegalKeyShare.into();
    let mut setup = rich(TLS12);
    setup.client.groups(vec![NamedGroup::X25519, NamedGroup::SECP256R1]);
    check(
        &setup,
        Side::Server,
        [
            illegal("explicit prime", |m| m[4] = 1, value()),
            illegal("explicit char2", |m| m[4] = 2, value()),
            illegal("no type of curve", |m| m[4] = 0, value()),
            illegal("a curve that was not offered", |m| m[6] = 0x18, group()),
            illegal("a group that is no curve", |m| m[5..7].copy_from_slice(&[0x11, 0xec]), group()),
            illegal("an unknown curve", |m| m[6] = 0x1e, group()),
            illegal("explicit curves of old", |m| m[5..7].copy_from_slice(&[0xff, 1]), group()),
            signature("another curve", |m| m[6] = 0x17),
            signature("another point", |m| m[8] ^= 1),
            decode("no point", |m| edit_body(m, |b| drop(b.splice(3..4 + 32, [0]))), InvalidMessage::IllegalLength),
            decode("nothing", |m| *m = message(SKE, &[]), InvalidMessage::Truncated),
            decode("no signature", |m| edit_body(m, |b| b.truncate(4 + 32)), InvalidMessage::Truncated),
            decode("more", |m| edit_body(m, |b| b.push(0)), InvalidMessage::TrailingData),
        ],
    );
}

/// RFC 8422, 2: the suite says which kind of key signs. The client offered both suites.
#[test]
fn scheme_of_another_suite() {
    let suite = |name, alter| {
        let error = PeerMisbehaved::IllegalSignatureScheme;
        case(name, HandshakeType::SERVER_HELLO, alter, error, Alert::ILLEGAL_PARAMETER)
    };
    let cases = [
        suite("EdDSA with a suite of RSA", |m| m[39..41].copy_from_slice(&[0xc0, 0x2f])),
        suite("and another one", |m| m[39..41].copy_from_slice(&[0xcc, 0xa8])),
    ];
    check(&rich(TLS12), Side::Server, cases);
}

#[test]
fn server_proofs() {
    check(&rich(TLS13), Side::Server, proofs(HandshakeType::CERTIFICATE_VERIFY));
    check(&rich(TLS12), Side::Server, proofs(SKE));
}
