use alloc::vec;
use std::string::String;

use proptest::prelude::*;
use terse_pki::{Authority, AuthorityOptions, Validity};

use super::*;
use crate::est::{MAX_BODY_LEN, decode_body, decode_certs_only_ber, encode_body};

/// The answer to /simpleenroll of RFC 7030, A.3.
const SIMPLE_ENROLL: &str = "
    MIIDOAYJKoZIhvcNAQcCoIIDKTCCAyUCAQExADALBgkqhkiG9w0BBwGgggMLMIID
    BzCCAe+gAwIBAgIBFTANBgkqhkiG9w0BAQUFADAbMRkwFwYDVQQDExBlc3RFeGFt
    cGxlQ0EgTndOMB4XDTEzMDUwOTIzMTU1M1oXDTE0MDUwOTIzMTU1M1owHzEdMBsG
    A1UEAxMUZGVtb3N0ZXA0IDEzNjgxNDEzNTIwggEiMA0GCSqGSIb3DQEBAQUAA4IB
    DwAwggEKAoIBAQClNp+kdz+Nj8XpEp9kaumWxDZ3eFYJpQKz9ddD5e5OzUeCm103
    ZIXQIxc0eVtMCatnRr3dnZRCAxGjwbqoB3eKt29/XSQffVv+odbyw0WdkQOIbntC
    Qry8YdcBZ+8LjI/N7M2krmjmoSLmLwU2V4aNKf0YMLR5Krmah3Ik31jmYCSvwTnv
    6mx6pr2pTJ82JavhTEIIt/fAYq1RYhkM1CXoBL+yhEoDanN7TzC94skfS3VV+f53
    J9SkUxTYcy1Rw0k3VXfxWwy+cSKEPREl7I6k0YeKtDEVAgBIEYM/L1S69RXTLuji
    rwnqSRjOquzkAkD31BE961KZCxeYGrhxaR4PAgMBAAGjUjBQMA4GA1UdDwEB/wQE
    AwIEsDAdBgNVHQ4EFgQU/qDdB6ii6icQ8wGMXvy1jfE4xtUwHwYDVR0jBBgwFoAU
    scRp5lujBKfYl6OLO7+5arIyQjwwDQYJKoZIhvcNAQEFBQADggEBACmxg1hvL6+7
    a+lFTARoxainBx5gxdZ9omSb0L+qL+4PDvg/+KHzKsDnMCrcU6M4YP5n0EDKmGa6
    4lY8fbET4tt7juJg6ixb95/760Th0vuctwkGr6+D6ETTfqyHnrbhX3lAhnB+0Ja7
    o1gv4CWxh1I8aRaTXdpOHORvN0SMXdcrlCys2vrtOl+LjR2a3kajJO6eQ5leOdzF
    QlZfOPhaLWen0e2BLNJI0vsC2Fa+2LMCnfC38XfGALa5A8e7fNHXWZBjXZLBCza3
    rEs9Mlh2CjA/ocSC/WxmMvd+Eqnt/FpggRy+F8IZSRvBaRUCtGE1lgDmu6AFUxce
    R4POrT2xz8ChADEA";

fn chain() -> Vec<CertificateDer<'static>> {
    let options = AuthorityOptions::new("p256x3".parse().unwrap(), Validity::without_end(1_767_225_600));
    let authority = Authority::new(&options).unwrap();
    authority.issue_idevid(&terse_pki::IdevidOptions::new("WI-3005", 1_767_225_600)).unwrap().chain().to_vec()
}

/// Returns the contents of the elements of a certs-only CMS: version, digestAlgorithms, encapContentInfo, the rest.
fn signed_data(parts: &[&[u8]]) -> Vec<u8> {
    let content_type = encode(OBJECT_IDENTIFIER, &[SIGNED_DATA.as_bytes()]);
    encode(SEQUENCE, &[&content_type, &encode(0xa0, &[&encode(SEQUENCE, parts)])])
}

fn data() -> Vec<u8> {
    encode(SEQUENCE, &[&encode(OBJECT_IDENTIFIER, &[DATA.as_bytes()])])
}

#[test]
fn the_certificate_of_rfc_7030_is_found() {
    let der = decode_body(SIMPLE_ENROLL.as_bytes(), "simpleenroll").unwrap();
    let certificates = decode_certs_only(&der).unwrap();
    assert_eq!(certificates.len(), 1);
    let subject = crate::certificate::subject(&certificates[0]).unwrap();
    assert!(String::from_utf8_lossy(subject).ends_with("demostep4 1368141352"));
    // We leave out the empty list of CRLs.
    let again = encode_certs_only(&certificates);
    assert_eq!(decode_certs_only(&again).unwrap(), certificates);
    assert_eq!(again.len(), der.len() - 2);
}

#[test]
fn certificates_come_back_as_a_set() {
    let chain = chain();
    assert_eq!(chain.len(), 3 - 1);
    let der = encode_certs_only(&chain);
    assert_eq!(decode_body(&encode_body(&der), "x").unwrap(), der);
    let reversed: Vec<_> = chain.iter().rev().cloned().collect();
    assert_eq!(encode_certs_only(&reversed), der);
    let mut sorted = chain;
    sorted.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    assert_eq!(decode_certs_only(&der).unwrap(), sorted);
    assert_eq!(decode_certs_only_ber(&der).unwrap(), sorted);
}

#[test]
fn indefinite_lengths_are_for_services() {
    let chain = chain();
    let open = |tag: u8, parts: &[&[u8]]| [&[tag, 0x80], &parts.concat()[..], &[0, 0]].concat();
    let certificates: Vec<u8> = chain.iter().flat_map(|one| one.to_vec()).collect();
    let data = open(SEQUENCE, &[&encode(OBJECT_IDENTIFIER, &[DATA.as_bytes()])]);
    let signed_data = open(SEQUENCE, &[&VERSION, &[SET, 0], &data, &open(0xa0, &[&certificates]), &open(SET, &[])]);
    let content_type = encode(OBJECT_IDENTIFIER, &[SIGNED_DATA.as_bytes()]);
    let ber = open(SEQUENCE, &[&content_type, &open(0xa0, &[&signed_data])]);
    assert_eq!(decode_certs_only_ber(&ber).unwrap(), chain);
    assert_eq!(decode_certs_only(&ber), Err(Malformed::Der("certs-only CMS")));
    for len in 0..ber.len() {
        assert!(decode_certs_only_ber(&ber[..len]).is_err(), "{len}");
    }
}

#[test]
fn what_is_not_only_certificates_is_refused() {
    let certificate = encode(SEQUENCE, &[&[5, 0]]);
    let certificates = encode(0xa0, &[&certificate]);
    let of = |parts: &[&[u8]]| decode_certs_only(&signed_data(parts)).map(|certificates| certificates.len());
    assert_eq!(of(&[&VERSION, &[SET, 0], &data(), &certificates, &[SET, 0]]), Ok(1));
    assert_eq!(of(&[&VERSION, &[SET, 0], &data(), &certificates, &[0xa1, 0], &[SET, 0]]), Ok(1));
    let signer = encode(SET, &[&[SEQUENCE, 0]]);
    assert_eq!(of(&[&VERSION, &[SET, 0], &data(), &certificates, &signer]), Err(Malformed::Invalid("signerInfos")));
    let missing = Err(Malformed::Missing("certificates"));
    assert_eq!(of(&[&VERSION, &[SET, 0], &data(), &[SET, 0]]), missing);
    assert_eq!(of(&[&VERSION, &[SET, 0], &data(), &[0xa0, 0], &[SET, 0]]), missing);
    // An attribute certificate; elements that are missing, at the end, of another content type.
    let attribute_certificate = encode(0xa0, &[&encode(0xa2, &[&[5, 0]])]);
    for parts in [
        &[&VERSION[..], &[SET, 0], &data(), &attribute_certificate, &[SET, 0]][..],
        &[&VERSION, &[SET, 0], &data(), &certificates],
        &[&VERSION, &data(), &certificates, &[SET, 0]],
        &[&VERSION, &[SET, 0], &data(), &certificates, &[SET, 0], &[5, 0]],
    ] {
        assert_eq!(of(parts), Err(Malformed::Der("certs-only CMS")));
    }
    let mut other_type = signed_data(&[&VERSION, &[SET, 0], &data(), &certificates, &[SET, 0]]);
    other_type[12] = 3; // id-envelopedData
    assert_eq!(decode_certs_only(&other_type), Err(Malformed::Der("certs-only CMS")));
}

#[test]
fn there_are_sixteen_certificates_at_most() {
    let certificate = CertificateDer::from(encode(SEQUENCE, &[&[5, 0]]));
    let of = |count| decode_certs_only(&encode_certs_only(&vec![certificate.clone(); count]));
    assert_eq!(of(MAX_CERTIFICATES).unwrap().len(), MAX_CERTIFICATES);
    assert_eq!(of(MAX_CERTIFICATES + 1), Err(Malformed::TooMany("certificates")));
    let long = CertificateDer::from(encode(SEQUENCE, &[&[0; MAX_BODY_LEN]]));
    assert_eq!(decode_certs_only(&encode_certs_only(&[long])), Err(Malformed::TooLong(MAX_BODY_LEN)));
}

#[test]
fn certificates_cut_anywhere_are_refused() {
    let der = encode_certs_only(&chain());
    for len in 0..der.len() {
        assert_eq!(decode_certs_only(&der[..len]), Err(Malformed::Der("certs-only CMS")), "{len}");
    }
    assert!(decode_certs_only(&[&der[..], &[0]].concat()).is_err());
}

proptest! {
    #[test]
    fn a_structure_changed_anywhere_is_read_or_refused(at in 0..60_usize, to: u8) {
        let mut der = encode_certs_only(&[CertificateDer::from(encode(SEQUENCE, &[&[5, 0]]))]);
        let at = at % der.len();
        der[at] = to;
        if let Ok(certificates) = decode_certs_only(&der) {
            prop_assert!(certificates.iter().all(|one| one[0] == SEQUENCE));
        }
        let _ = decode_certs_only_ber(&der);
    }
}
