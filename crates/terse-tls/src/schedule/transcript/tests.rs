//! Tests that the kept messages are those that are hashed.

use super::*;
use crate::test_crypto::SHA256;

/// docs/caching.md, 4.1: what is left out stands in the transcript as a message_hash message.
#[test]
fn a_synthetic_message_binds_the_fingerprint() {
    let mut transcript = Pending::new(b"ClientHello").start(SHA256);
    transcript.add_synthetic(Fingerprint([5; 32]));
    transcript.add(b"CertificateVerify");
    let expected = [b"ClientHello", &[254, 0, 0, 32][..], &[5; 32], b"CertificateVerify"].concat();
    assert_eq!(transcript.current(), SHA256.hash(&[&expected]));
    assert_eq!(transcript.current(), SHA256.hash(&[&expected]), "looking does not change it");
}

/// RFC 5246, 7.4.8: CertificateVerify covers all messages before it, including those that caching omits.
#[test]
fn the_messages_are_kept_as_they_are_hashed() {
    let mut transcript = Pending::new(b"ClientHello").start_keeping(SHA256);
    assert_eq!(transcript.messages(), Some(&b"ClientHello"[..]));
    transcript.add(b"ServerHello");
    transcript.add_synthetic(Fingerprint([5; 32]));
    transcript.add(b"ClientKeyExchange");
    let expected = [b"ClientHelloServerHello", &[254, 0, 0, 32][..], &[5; 32], b"ClientKeyExchange"].concat();
    assert_eq!(transcript.messages(), Some(&expected[..]));
    assert_eq!(transcript.current(), SHA256.hash(&[&expected]));
    assert_eq!(transcript.take_messages(), expected);
    assert_eq!(transcript.messages(), None);
    transcript.add(b"Finished");
    assert_eq!(transcript.messages(), None);
    assert_eq!(transcript.current(), SHA256.hash(&[&expected, b"Finished"]));
}

#[test]
fn messages_that_nobody_will_sign_are_let_go() {
    let mut transcript = Pending::new(b"ClientHello").start_keeping(SHA256);
    transcript.stop_keeping();
    assert_eq!(transcript.messages(), None);
    assert!(transcript.take_messages().is_empty());
    assert_eq!(transcript.current(), SHA256.hash(&[b"ClientHello"]));
}

#[test]
fn nothing_is_kept_unasked() {
    let mut transcript = Pending::new(b"ClientHello").start(SHA256);
    transcript.add(b"ServerHello");
    assert_eq!(transcript.messages(), None);
    let retried = Pending::new(b"ClientHello").start_keeping(SHA256).replace_by_hash();
    assert_eq!(retried.messages(), None, "HelloRetryRequest is TLS 1.3");
    let hash = SHA256.hash(&[b"ClientHello"]);
    assert_eq!(retried.current(), SHA256.hash(&[&[254, 0, 0, 32], hash.as_ref()]));
}
