//! Tests of the lines for people.

use core::time::Duration;
use std::io;

use pki_types::UnixTime;
use terse_tls::Date;

use super::*;

fn line(error: impl Into<NetError>) -> String {
    explain(&error.into(), &"broker.plant.example").to_string()
}

#[test]
fn an_expired_certificate_says_whose_and_since_when() {
    let not_after = UnixTime::since_unix_epoch(Duration::from_secs(1_772_323_200));
    let error = Error::Certificate(CertificateError::Expired { depth: 0, not_after: Date::of(not_after) });
    assert_eq!(
        line(error),
        "the certificate of broker.plant.example expired on 2026-03-01; \
         renew it, or set this machine's clock if it is wrong"
    );
}

#[test]
fn a_staple_says_what_is_wrong_with_it() {
    assert_eq!(
        line(Error::Certificate(CertificateError::Staple(StapleError::Missing))),
        "the stapled OCSP response for the certificate of broker.plant.example is missing, and one is required; \
         have it staple one (terse server --staple FILE, and TLS 1.3 for clients), or only ask for one"
    );
    let since = UnixTime::since_unix_epoch(Duration::from_secs(1_772_323_200));
    for (error, expected) in [
        (StapleError::Malformed, "does not parse; have it fetch"),
        (StapleError::NotSuccessful, "had no answer; have it fetch"),
        (StapleError::OtherCertificate, "another certificate; have it fetch"),
        (StapleError::NotFromIssuer, "a responder of the issuer; check"),
        (StapleError::UnsupportedAlgorithm, "an algorithm that is refused; have the responder"),
        (StapleError::OutOfDate(Date::of(since)), "is out of date since 2026-03-01; have it fetch"),
        (StapleError::NotYetValid(Date::of(since)), "is valid from 2026-03-01 on; is the clock right?; wait"),
        (StapleError::UnknownStatus, "does not know the certificate; have it fetch"),
    ] {
        let line = line(Error::Certificate(CertificateError::Staple(error)));
        assert!(line.contains(expected), "{line}");
    }
    let heard = line(Error::AlertReceived(AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE));
    assert!(heard.contains("staple one"), "{heard}");
}

#[test]
fn an_unknown_key_is_shown_by_the_beginning_of_its_hash() {
    assert_eq!(
        line(Error::Certificate(CertificateError::UnknownPublicKey { sha256: [0x9f; 8] })),
        "the raw public key sha256:9f9f9f9f9f9f9f9f... of \
         broker.plant.example is none that is trusted here; \
         trust the public key that the peer has now, once you know that it is the peer's"
    );
}

#[test]
fn an_alert_says_what_the_peer_wants() {
    assert_eq!(
        line(Error::AlertReceived(AlertDescription::CERTIFICATE_REQUIRED)),
        "broker.plant.example refused the connection with the alert certificate_required; \
         it wants a certificate from this side: give one, with its key"
    );
}

#[test]
fn alerts_about_versions_and_pre_shared_keys_say_what_to_check() {
    for (alert, expected) in [
        (AlertDescription::PROTOCOL_VERSION, "allow more of them"),
        (AlertDescription::INAPPROPRIATE_FALLBACK, "a newer version"),
        (AlertDescription::UNKNOWN_PSK_IDENTITY, "check the identity"),
        (AlertDescription::DECRYPT_ERROR, "the same on both sides"),
        (AlertDescription::BAD_RECORD_MAC, "different pre-shared keys"),
        (AlertDescription::HANDSHAKE_FAILURE, "a pre-shared key: offer more"),
    ] {
        let line = line(Error::AlertReceived(alert));
        assert!(line.contains(alert.name().unwrap()) && line.contains(expected), "{line}");
    }
    for error in [
        PeerMisbehaved::Downgrade.into(),
        PeerIncompatible::NoExtendedMasterSecret.into(),
        PeerIncompatible::NoSecureRenegotiation.into(),
        PeerIncompatible::UnknownPskIdentity.into(),
        PeerIncompatible::NoCommonPsk.into(),
        PeerIncompatible::NoCommonCertificateType.into(),
        PeerIncompatible::NoEarlyData.into(),
        PeerMisbehaved::BadBinder.into(),
    ] {
        assert!(explain(&NetError::Tls(error), &"the server").advice.is_some());
    }
    let line = line(Error::from(PeerIncompatible::NoCommonVersion));
    assert!(line.ends_with("no protocol version; allow a version that the other side speaks"));
}

#[test]
fn a_problem_without_remedy_has_no_advice() {
    let error = NetError::Tls(PeerMisbehaved::BadFinished.into());
    assert_eq!(explain(&error, &"the server").advice, None);
    assert_eq!(line(error), "broker.plant.example: the peer broke the protocol: the Finished message is wrong");
}

#[test]
fn errors_of_the_socket_name_the_peer() {
    let refused = NetError::Io(io::ErrorKind::ConnectionRefused.into());
    assert_eq!(
        line(refused),
        "the connection with broker.plant.example failed: connection refused; \
         check the address, and that the server runs"
    );
    assert!(line(NetError::ClosedInHandshake).contains("closed the connection during the handshake"));
}

#[test]
fn no_answer_says_what_was_tried_and_what_was_seen() {
    let silence = NoAnswer {
        in_handshake: true,
        heard: false,
        asked: 5,
        waited: Duration::from_millis(31_020),
        alert: None,
        network: None,
        dropped: 0,
    };
    let line = |no_answer: &NoAnswer| line(NetError::NoAnswer(no_answer.clone()));
    assert_eq!(
        line(&silence),
        "broker.plant.example did not answer, asked 5 times in 31 s; check the address, and that a DTLS server runs \
         there, and that no firewall is between; or allow more time"
    );
    let refused = NoAnswer { network: Some(io::ErrorKind::ConnectionRefused), ..silence.clone() };
    assert!(line(&refused).contains("in 31 s (the network says: connection refused); check the address"));
    let stopped = NoAnswer { heard: true, asked: 1, waited: Duration::from_millis(1_540), ..silence.clone() };
    assert!(line(&stopped).contains("stopped answering in the handshake, waited for 1.5 s; its log may say why"));
    let stranger = NoAnswer { dropped: 2, ..silence.clone() };
    assert!(line(&stranger).contains("(2 records came that were dropped); check that it speaks DTLS"));
    let alert = Some(AlertDescription::UNKNOWN_CA);
    assert_eq!(
        line(&NoAnswer { alert, ..silence.clone() }),
        "broker.plant.example refused the connection with the alert unknown_ca (not protected, but nothing came after \
         it); it does not trust the CA of this side's certificate, or has no key of its identity authority and epoch"
    );
    let later = NoAnswer { in_handshake: false, asked: 1, waited: Duration::from_secs(2), ..silence };
    assert_eq!(line(&later), "broker.plant.example sent nothing, waited for 2.0 s; datagrams may be lost: ask again");
}
