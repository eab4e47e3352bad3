//! OCSP responses are about the server's certificate, hashed and signed by the provider that protects nothing.

use pki_types::alg_id;

use crate::pki;

/// Returns a good response by the issuer, or one as if by the owner of `delegate`.
pub(super) fn response(delegate: Option<&[u8]>) -> Vec<u8> {
    let zeros = tlv(OCTET_STRING, &[&[0; 20]]);
    let algorithm = tlv(SEQUENCE, &[ID_SHA1, &[5, 0]]);
    let cert_id = tlv(SEQUENCE, &[&algorithm, &zeros, &zeros, serial_number(pki::SERVER)]);
    let this_update = tlv(GENERALIZED_TIME, &[b"20251231000000Z"]);
    let next_update = tlv(0xa0, &[&tlv(GENERALIZED_TIME, &[b"20270101000000Z"])]);
    let single = tlv(SEQUENCE, &[&cert_id, &tlv(0x80, &[]), &this_update, &next_update]);
    let responder = match delegate {
        None => tlv(0xa2, &[&zeros]),
        Some(_) => tlv(0xa1, &[&tlv(SEQUENCE, &[])]), // a name that does not exist
    };
    let signed = tlv(SEQUENCE, &[&responder, &this_update, &tlv(SEQUENCE, &[&single])]);
    let signature = [tlv(SEQUENCE, &[alg_id::ECDSA_SHA256.as_ref()]), tlv(BIT_STRING, &[&[0], b"signature"])].concat();
    let certs = delegate.map(|certificate| tlv(0xa0, &[&tlv(SEQUENCE, &[certificate])])).unwrap_or_default();
    let basic = tlv(OCTET_STRING, &[&tlv(SEQUENCE, &[&signed, &signature, &certs])]);
    let bytes = tlv(0xa0, &[&tlv(SEQUENCE, &[ID_PKIX_OCSP_BASIC, &basic])]);
    tlv(SEQUENCE, &[&[0x0a, 1, 0], &bytes])
}

/// Returns the serialNumber, a DER INTEGER: it follows two headers of four bytes and the version.
fn serial_number(certificate: &[u8]) -> &[u8] {
    let rest = &certificate[4 + 4 + 5..];
    &rest[..2 + usize::from(rest[1])]
}

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let len = (contents.len() as u16).to_be_bytes();
    let header = match contents.len() {
        0..0x80 => vec![tag, len[1]],
        0x80..0x100 => vec![tag, 0x81, len[1]],
        _ => vec![tag, 0x82, len[0], len[1]],
    };
    [header, contents].concat()
}

const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The OID 1.3.14.3.2.26.
const ID_SHA1: &[u8] = &[6, 5, 0x2b, 0x0e, 3, 2, 0x1a];
/// The OID 1.3.6.1.5.5.7.48.1.1 (RFC 6960, 4.2.1).
const ID_PKIX_OCSP_BASIC: &[u8] = &[6, 9, 0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];

/// A seed must get far to be useful.
#[test]
fn the_one_by_the_issuer_is_good() {
    use pki_types::CertificateDer;
    use terse_testkit::pki::{server_address, unix_time};
    use terse_tls::fuzzing::verify_staple;

    let provider = crate::provider::transparent();
    let trust = pki::trust().with_stapling(terse_tls::Stapling::Require);
    let name = server_address().name;
    let is_good = |leaf, name, response: &[u8]| {
        let chain = [leaf, pki::INTERMEDIATE].map(CertificateDer::from);
        verify_staple(&provider, &trust, &chain, name, response, Some(unix_time(0)))
    };
    assert!(is_good(pki::SERVER, Some(&name), &response(None)));
    assert!(!is_good(pki::SERVER, Some(&name), &response(Some(pki::SERVER))));
    assert!(!is_good(pki::CLIENT, None, &response(None)));
}
