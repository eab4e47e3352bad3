//! Tests of the encoding. The engine's tests, and OpenSSL in `interop`, judge the content of responses.

use super::*;
use crate::authority::tests::{NOW, options};
use crate::{LeafOptions, Usage, Validity};

#[test]
fn times_have_seconds_and_no_fraction() {
    assert_eq!(generalized_time(NOW).unwrap(), [&[0x18, 15][..], b"20251121044000Z"].concat());
    assert!(generalized_time(u64::MAX).is_err());
}

#[test]
fn each_ca_answers_for_what_it_issued() {
    let authority = Authority::new(&options("p256x3")).unwrap();
    let leaf = authority.issue(&LeafOptions::new("broker.example", Validity::days(NOW, 9))).unwrap();
    let responder =
        LeafOptions { usage: Usage::OcspSigning, ..LeafOptions::new("ocsp.example", Validity::days(NOW, 9)) };
    let responder = authority.issue(&responder).unwrap();
    let options = OcspOptions::good(NOW, 7);
    let own = authority.ocsp_response(leaf.leaf(), &options).unwrap();
    let delegated =
        authority.ocsp_response(leaf.leaf(), &OcspOptions { responder: Some(&responder), ..options }).unwrap();
    let of_intermediate = authority.ocsp_response(&leaf.chain()[1], &options).unwrap();
    let contains = |response: &[u8], part: &[u8]| response.windows(part.len()).any(|window| window == part);
    assert!(!contains(&own, responder.leaf()) && contains(&delegated, responder.leaf()));
    let serial = |certificate: &CertificateDer<'_>| tlv(INTEGER, &[parse(certificate).unwrap().raw_serial()]);
    assert!(contains(&own, &serial(leaf.leaf())) && contains(&of_intermediate, &serial(&leaf.chain()[1])));
    let other = Authority::new(&super::super::authority::tests::options("p256x3")).unwrap();
    assert!(matches!(other.ocsp_response(leaf.leaf(), &options), Err(Error::ForeignIssuer)));
}
