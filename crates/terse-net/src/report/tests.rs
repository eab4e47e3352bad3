//! The JSON report is compared letter for letter.

use terse_tls::cache::Scheme;
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{CipherSuite, NamedGroup, ProtocolVersion};

use super::*;

#[test]
fn has_the_fields_of_the_contract_in_its_order() {
    let mut summary = Summary::default();
    summary.version = Some(ProtocolVersion::TLS_1_3);
    summary.cipher_suite = Some(CipherSuite::TLS_AES_128_CCM_SHA256);
    summary.group = Some(NamedGroup::X25519);
    summary.mode = Mode::Cached(Scheme::Bithac);
    summary.cached = vec![CachedObject::ServerCertificate, CachedObject::ClientCertificate];
    summary.signatures_saved = 2;
    summary.round_trips = 1;
    summary.fallback = Some(FallbackReason::TrustChanged);
    summary.handshake_ms = 7;
    summary.peer.authenticated_by = AuthenticatedBy::CachedCertificate;
    summary.sent.messages = vec![(HandshakeType::FINISHED, 36), (HandshakeType::CERTIFICATE, 12)];
    summary.sent.record_bytes = 70;
    let json = serde_json::to_string(&Report::new(&summary, Some("it \"failed\""))).unwrap();
    assert_eq!(
        json,
        r#"{"version":"TLS 1.3","transport":"stream","cipher_suite":"TLS_AES_128_CCM_SHA256","group":"x25519","#
            .to_owned()
            + r#""mode":"bithac","cached":["server_certificate","client_certificate"],"#
            + r#""peer":{"name":null,"authenticated_by":"cached_certificate"},"#
            + r#""signatures_verified":0,"signatures_saved":2,"round_trips":1,"early_data":"none","#
            + r#""fallback":"trust changed","#
            + r#""sent":{"messages":{"Finished":36,"Certificate":12},"handshake_bytes":0,"record_bytes":70,"#
            + r#""post_handshake_bytes":0,"datagrams":0},"#
            + r#""received":{"messages":{},"handshake_bytes":0,"record_bytes":0,"#
            + r#""post_handshake_bytes":0,"datagrams":0},"#
            + r#""retransmissions":0,"handshake_ms":7,"error":"it \"failed\""}"#
    );
}

#[test]
fn what_was_never_negotiated_is_null() {
    let json = serde_json::to_value(Report::new(&Summary::default(), None)).unwrap();
    for field in ["version", "cipher_suite", "group", "fallback", "error"] {
        assert!(json[field].is_null(), "{field}");
    }
    assert_eq!(json["mode"], "full");
    assert_eq!(json["peer"]["authenticated_by"], "none");
}

#[test]
fn over_datagrams_it_says_so_and_what_was_dropped() {
    let mut summary = Summary::default();
    summary.version = Some(ProtocolVersion::TLS_1_2);
    summary.transport = Transport::Datagram;
    summary.retransmissions = 3;
    (summary.dropped.replayed, summary.dropped.not_authentic) = (2, 1);
    summary.sent.datagrams = 5;
    let json = serde_json::to_value(Report::new(&summary, None)).unwrap();
    assert_eq!(json["version"], "DTLS 1.2");
    assert_eq!(json["transport"], "datagram");
    assert_eq!(json["retransmissions"], 3);
    assert_eq!(json["sent"]["datagrams"], 5);
    assert_eq!(json["dropped"], serde_json::json!({ "replayed": 2, "not_authentic": 1 }));
    summary.transport = Transport::Stream;
    let json = serde_json::to_value(Report::new(&summary, None)).unwrap();
    assert_eq!(json["version"], "TLS 1.2");
    assert!(json.get("dropped").is_none());
}
