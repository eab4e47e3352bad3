//! A client is hostile: these tests show what a server refuses after the ClientHello, and with which alert.

use terse_testkit::fault::{edit_body, fix_length, message};
use terse_testkit::pair::Side;
use terse_testkit::pki::{CLIENT_NAME, Pki, validity};
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, CertificateError, ExtensionType as Ext, HandshakeType, InvalidMessage, NamedGroup,
    PeerMisbehaved, ProtocolVersion,
};

use super::attack::{Case, case, case_with, check, other_pki, rich};
use super::edit::{certificate_of, entry_extension};
use super::modes::{CHAIN, TLS12, TLS13, VERSIONS, cached};

const CT: HandshakeType = HandshakeType::CERTIFICATE;

/// A server refuses these Certificate messages (RFC 9846, 4.5.1; RFC 5246, 7.4.6).
#[test]
fn certificate() {
    for version in VERSIONS {
        let bad = |name, alter, error: CertificateError, alert| case(name, CT, alter, error, alert);
        let shown = |name, credential: &terse_pki::Credential, error: CertificateError, alert| {
            let certificate = certificate_of(version, credential);
            case_with(name, CT, move |m| m.clone_from(&certificate), error, alert)
        };
        // The certificate is valid, and somebody else's.
        let options = terse_pki::LeafOptions::new(CLIENT_NAME, validity());
        let other = certificate_of(version, &Pki::shared(CHAIN).authority.issue(&options).unwrap());
        let mut cases = vec![
            shown("a server's", &Pki::shared(CHAIN).server, CertificateError::WrongUsage, UNSUPPORTED),
            shown("of another CA", &other_pki().client, CertificateError::UnknownIssuer, Alert::UNKNOWN_CA),
            case_with(
                "another client's",
                CT,
                move |m| m.clone_from(&other),
                PeerMisbehaved::BadSignature,
                Alert::DECRYPT_ERROR,
            ),
        ];
        let (required, malformed) = (CertificateError::Required, CertificateError::Malformed);
        cases.extend(match version {
            TLS12 => [
                bad("none, though required", |m| *m = message(CT, &[0; 3]), required, Alert::HANDSHAKE_FAILURE),
                bad("no DER", |m| *m = message(CT, b"\0\0\x06\0\0\x03no!"), malformed, Alert::BAD_CERTIFICATE),
            ],
            _ => [
                bad("none, though required", |m| *m = message(CT, &[0; 4]), required, Alert::CERTIFICATE_REQUIRED),
                bad("no DER", |m| *m = message(CT, b"\0\0\0\x08\0\0\x03no!\0\0"), malformed, Alert::BAD_CERTIFICATE),
            ],
        });
        check(&rich(version), Side::Client, cases);
        check(&rich(version), Side::Client, entries(version));
    }
}

const UNSUPPORTED: Alert = Alert::UNSUPPORTED_CERTIFICATE;

/// Returns the cases of a Certificate's entries, from either side.
pub(crate) fn entries(version: ProtocolVersion) -> Vec<Case> {
    let empty = |alter| case("no bytes in an entry", CT, alter, InvalidMessage::IllegalLength, Alert::DECODE_ERROR);
    if version == TLS12 {
        let truncated = |name, alter| case(name, CT, alter, InvalidMessage::Truncated, Alert::DECODE_ERROR);
        return vec![
            empty(|m| *m = message(CT, &[0, 0, 3, 0, 0, 0])),
            truncated("half a length", |m| *m = message(CT, &[0, 0])),
            truncated("an entry that is cut short", |m| *m = message(CT, &[0, 0, 4, 0, 0, 2, 7])),
        ];
    }
    vec![
        empty(|m| *m = message(CT, &[0, 0, 0, 5, 0, 0, 0, 0, 0])),
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
    ]
}

/// An extension in a Certificate that does not belong there is refused (RFC 9846, 4.3).
#[test]
fn misplaced_extension_of_a_certificate() {
    let misplaced = PeerMisbehaved::MisplacedExtension(Ext::KEY_SHARE);
    let key_share = case("key_share", CT, |m| entry_extension(m, Ext::KEY_SHARE), misplaced, Alert::ILLEGAL_PARAMETER);
    check(&rich(TLS13), Side::Client, [key_share]);
}

/// Under a ticket (BiTHaC, IV-B).
#[test]
fn cached_certificate() {
    for version in VERSIONS {
        let illegal = |name, certificate: Vec<u8>| {
            let error = PeerMisbehaved::IllegalCachedMessage;
            case_with(name, CT, move |m| m.clone_from(&certificate), error, Alert::ILLEGAL_PARAMETER)
        };
        let twice: &[u8] = &[&[0, 0, 0, 10][..], &[0; 10]].concat();
        let (none, twice) = if version == TLS12 { (&[0; 3][..], &[0][..]) } else { (&[0; 4][..], twice) };
        let cases = [
            illegal("in full", certificate_of(version, &Pki::shared(CHAIN).client)),
            illegal("none", message(CT, none)),
            illegal("not quite, or more than, nothing", message(CT, twice)),
        ];
        check(&cached(version).setup, Side::Client, cases);
    }
}

/// A server refuses wrong key exchanges of a client (RFC 8422, 5.7 and 5.11).
#[test]
fn client_key_exchange() {
    const CKE: HandshakeType = HandshakeType::CLIENT_KEY_EXCHANGE;
    let invalid = |name, alter| case(name, CKE, alter, CryptoError::InvalidKeyShare, Alert::ILLEGAL_PARAMETER);
    let decode = |name, alter, error: InvalidMessage| case(name, CKE, alter, error, Alert::DECODE_ERROR);
    fn point(message: &mut Vec<u8>, point: &[u8]) {
        edit_body(message, |body| *body = [&[point.len() as u8], point].concat());
    }
    let mut setup = rich(TLS12);
    setup.client.groups(vec![NamedGroup::X25519]);
    check(
        &setup,
        Side::Client,
        [
            invalid("one byte short", |m| point(m, &[9; 31])),
            invalid("one byte long", |m| point(m, &[9; 33])),
            invalid("of low order", |m| point(m, &[0; 32])),
            decode("no point", |m| point(m, &[]), InvalidMessage::IllegalLength),
            decode("no body", |m| *m = message(CKE, &[]), InvalidMessage::Truncated),
            decode("a point cut short", |m| *m = message(CKE, &[32, 9]), InvalidMessage::Truncated),
            decode("as with RSA", |m| *m = message(CKE, &[1, 0, 7]), InvalidMessage::TrailingData),
        ],
    );
    for (group, len) in [(NamedGroup::SECP256R1, 64), (NamedGroup::SECP384R1, 96)] {
        setup.client.groups(vec![group]);
        let shown = |name, bytes: Vec<u8>| {
            let error = CryptoError::InvalidKeyShare;
            case_with(name, CKE, move |m| point(m, &bytes), error, Alert::ILLEGAL_PARAMETER)
        };
        let cases = [
            shown("not on the curve", [&[4][..], &vec![7; len]].concat()),
            shown("compressed", [&[2][..], &vec![7; len / 2]].concat()),
            shown("hybrid", [&[6][..], &vec![7; len]].concat()),
            shown("infinity", vec![0]),
            shown("of another curve", vec![9; 32]),
        ];
        check(&setup, Side::Client, cases);
    }
}

/// What proves who a side is, and that it saw the same: CertificateVerify and Finished (RFC 9846, 4.5.2 and 4.5.3;
/// RFC 5246, 7.4.8 and 7.4.9), and in TLS 1.2 the server's ServerKeyExchange. The same checks run on both sides.
pub(crate) fn proofs(signed: HandshakeType) -> [Case; 8] {
    const FINISHED: HandshakeType = HandshakeType::FINISHED;
    let scheme = |name, scheme: [u8; 2]| {
        let alter = move |m: &mut Vec<u8>| {
            let at = signature_at(m);
            m[at..at + 2].copy_from_slice(&scheme);
        };
        case_with(name, signed, alter, PeerMisbehaved::IllegalSignatureScheme, Alert::ILLEGAL_PARAMETER)
    };
    let signature = |name, alter| case(name, signed, alter, PeerMisbehaved::BadSignature, Alert::DECRYPT_ERROR);
    [
        scheme("PKCS #1, of which the key is not either", [4, 1]),
        scheme("SHA-1", [2, 3]),
        scheme("not offered", [8, 6]),
        scheme("not of the key", [4, 3]),
        signature("wrong signature", |m| *m.last_mut().unwrap() ^= 1),
        signature("no signature", |m| {
            m.truncate(signature_at(m) + 2);
            m.extend_from_slice(&[0, 0]);
            fix_length(m);
        }),
        case("wrong", FINISHED, |m| *m.last_mut().unwrap() ^= 1, PeerMisbehaved::BadFinished, Alert::DECRYPT_ERROR),
        case(
            "short",
            FINISHED,
            |m| {
                m.pop();
                fix_length(m);
            },
            InvalidMessage::IllegalLength,
            Alert::DECODE_ERROR,
        ),
    ]
}

/// Where scheme and signature begin in CertificateVerify or ServerKeyExchange.
pub(crate) fn signature_at(message: &[u8]) -> usize {
    match HandshakeType(message[0]) {
        HandshakeType::SERVER_KEY_EXCHANGE => 4 + 4 + usize::from(message[7]),
        _ => 4,
    }
}

#[test]
fn client_proofs() {
    for version in VERSIONS {
        check(&rich(version), Side::Client, proofs(HandshakeType::CERTIFICATE_VERIFY));
    }
}
