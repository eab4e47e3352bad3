//! Tests with the vector of RFC 7924, and of what a fingerprint depends on.

use alloc::vec::Vec;

use terse_testkit::vectors;

use super::*;
use crate::cert::sha256::sha256;
use crate::wire::{Certificate, CertificateEntry, Encode, Extensions, List, Parse, RawPublicKey12, Reader};

/// Returns the certificates of a TLS 1.2 Certificate message.
fn certificate_list(message: &[u8]) -> Vec<&[u8]> {
    let mut message = Reader::new(&message[4..]);
    let mut list = Reader::new(message.vec24().unwrap());
    message.finish().unwrap();
    core::iter::from_fn(|| (!list.is_empty()).then(|| list.vec24().unwrap())).collect()
}

/// RFC 7924, appendix
#[test]
fn the_published_fingerprint() {
    let (message, fingerprint) =
        (vectors::hex("rfc7924/certificate_message.hex"), vectors::hex("rfc7924/fingerprint.hex"));
    let Some((message, fingerprint)) = message.zip(fingerprint) else { return };
    let chain = certificate_list(&message);
    assert_eq!(Fingerprint::of_chain(chain.iter().copied()).0[..], fingerprint);

    // The same chain is hashed from TLS 1.3, with a context and extensions.
    let status_request = [0, 7, 0, 5, 0, 3, 1, 2, 3];
    let extensions = Extensions::parse_all(&status_request).unwrap();
    let entries: Vec<_> = chain.iter().map(|cert_data| CertificateEntry { cert_data, extensions }).collect();
    let certificate = Certificate { certificate_request_context: b"context", certificate_list: List::Items(&entries) };
    let encoded = certificate.to_vec().unwrap();
    let received = Certificate::parse_all(&encoded).unwrap();
    let entries: Vec<_> = received.certificate_list.iter().map(|entry| entry.cert_data).collect();
    assert_eq!(Fingerprint::of_chain(entries.into_iter()).0[..], fingerprint);
}

#[test]
fn a_chain_is_hashed_in_its_tls_1_2_form() {
    let of = |chain: &[&[u8]]| Fingerprint::of_chain(chain.iter().copied());
    let expected = |message: &[u8]| Fingerprint(sha256(&[message]));
    assert_eq!(of(&[]), expected(&[11, 0, 0, 3, 0, 0, 0]));
    assert_eq!(of(&[&[7]]), expected(&[11, 0, 0, 7, 0, 0, 4, 0, 0, 1, 7]));
    assert_eq!(of(&[&[7], &[8, 9]]), expected(&[11, 0, 0, 12, 0, 0, 9, 0, 0, 1, 7, 0, 0, 2, 8, 9]));
    let long = [5; 0x1_2345];
    let header = [11, 1, 0x23, 0x4b, 1, 0x23, 0x48, 1, 0x23, 0x45];
    assert_eq!(of(&[&long]), expected(&[&header[..], &long].concat()));
    assert_ne!(of(&[&[7], &[8, 9]]), of(&[&[8, 9], &[7]]));
    assert_ne!(of(&[&[7], &[8, 9]]), of(&[&[7, 8], &[9]]));
}

/// A raw public key is not in a list in TLS 1.2 (RFC 7250, 3), and in a list of one entry in TLS 1.3 (RFC 9846, 4.5.1).
#[test]
fn a_raw_public_key_is_hashed_as_its_version_sends_it() {
    let of = |version| Fingerprint::of_raw_public_key(version, &[7, 8]);
    let expected = |message: &[u8]| Fingerprint(sha256(&[message]));
    let body = RawPublicKey12(&[7, 8]).to_vec().unwrap();
    assert_eq!(of(ProtocolVersion::TLS_1_2), expected(&[&[11, 0, 0, 5][..], &body].concat()));
    assert_eq!(of(ProtocolVersion::TLS_1_3), expected(&[11, 0, 0, 8, 0, 0, 5, 0, 0, 2, 7, 8]));
}

#[test]
fn a_request_is_hashed_without_its_context() {
    let block = [0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
    let extensions = Extensions::parse_all(&block).unwrap();
    let expected = sha256(&[&[13, 0, 0, 10], &block]);
    for certificate_request_context in [&[][..], b"context"] {
        let request = CertificateRequest { certificate_request_context, extensions };
        assert_eq!(Fingerprint::of_request(&request), Fingerprint(expected));
    }
    let none = CertificateRequest { certificate_request_context: &[], extensions: Extensions::EMPTY };
    assert_eq!(Fingerprint::of_request(&none), Fingerprint(sha256(&[&[13, 0, 0, 2, 0, 0]])));
}
