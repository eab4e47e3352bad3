//! RFC 8995, appendix C.

use std::format;

use base64ct::{Base64, Encoding as _};
use terse_testkit::vectors;
use terse_tls::{Expect, Trust};

use super::*;
use crate::voucher::{Assertion, Pin, Voucher, VoucherRequest};

const SERIAL_NUMBER: &str = "00-D0-E5-F2-00-02";

fn artefact(name: &str) -> Option<Vec<u8>> {
    let text: std::string::String =
        vectors::text(&format!("brski/rfc8995/{name}_{SERIAL_NUMBER}.b64"))?.split_whitespace().collect();
    Some(Base64::decode_vec(&text).unwrap())
}

fn certificate(name: &str) -> Option<CertificateDer<'static>> {
    let pem = vectors::text(&format!("brski/rfc8995/{name}.crt"))?;
    Some(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
}

/// The time when all certificates of the appendix were valid.
fn time() -> UnixTime {
    crate::date::parse("2021-05-01T00:00:00Z").unwrap()
}

fn is_under(signed: &Signed, anchor: &CertificateDer<'_>) -> bool {
    let trust = Trust::new(core::slice::from_ref(anchor)).unwrap();
    trust.check(&PROVIDER, &signed.chain, Expect::AnyUsage, Some(time())).is_ok()
}

fn verify(name: &str, signers: &[CertificateDer<'_>]) -> Option<Signed> {
    let artefact = artefact(name)?;
    let signed = Signed::verify(&PROVIDER, &artefact, signers).unwrap();
    let of_services = Signed::verify_ber(&PROVIDER, &artefact, signers).unwrap();
    assert_eq!((&signed.content, &signed.chain), (&of_services.content, &of_services.chain));
    Some(signed)
}

#[test]
fn the_request_of_the_pledge() {
    let Some(signed) = verify("vr", &[]) else { return };
    let (vendor, registrar) = (certificate("vendor").unwrap(), certificate("jrc_prime256v1").unwrap());
    assert!(is_under(&signed, &vendor));
    assert!(!is_under(&signed, &certificate("ownerca_secp384r1").unwrap()));
    assert_eq!(signed.chain.len(), 1);
    assert_eq!(signed.signing_time, crate::date::parse("2021-04-13T21:43:23Z"));
    // The appendix prints a later certificate of the same device.
    let idevid = certificate(&format!("idevid_{SERIAL_NUMBER}")).unwrap();
    assert_eq!(crate::certificate::public_key(&signed.chain[0]), crate::certificate::public_key(&idevid));

    let request = VoucherRequest::from_json(&signed.content).unwrap();
    assert_eq!(request.serial_number, SERIAL_NUMBER);
    assert_eq!(request.assertion, Some(Assertion::Proximity));
    assert_eq!(request.created_on, crate::date::parse("2021-04-13T21:43:23Z"));
    assert_eq!(request.nonce.as_ref().unwrap().as_bytes(), b"-_XE9zK9q8Ll1qylMtLKeg");
    assert_eq!(request.proximity_registrar, [Pin::Certificate(registrar)]);
    assert_eq!(request.prior_signed_voucher_request, None);
    assert_eq!(request.idevid_issuer, None);
}

#[test]
fn the_request_of_the_registrar() {
    let Some(signed) = verify("parboiled_vr", &[]) else { return };
    assert!(is_under(&signed, &certificate("ownerca_secp384r1").unwrap()));
    assert!(!is_under(&signed, &certificate("vendor").unwrap()));
    assert_eq!(signed.chain, [certificate("jrc_prime256v1").unwrap(), certificate("ownerca_secp384r1").unwrap()]);

    let request = VoucherRequest::from_json(&signed.content).unwrap();
    assert_eq!(request.serial_number, SERIAL_NUMBER);
    assert_eq!(request.assertion, Some(Assertion::Proximity));
    assert_eq!(request.created_on, crate::date::parse("2021-04-13T21:43:23Z"));
    assert_eq!(request.prior_signed_voucher_request, artefact("vr").map(Into::into));
    assert_eq!(request.idevid_issuer, None);
    let prior = verify("vr", &[]).unwrap();
    assert_eq!(request.nonce, VoucherRequest::from_json(&prior.content).unwrap().nonce);
}

#[test]
fn the_voucher() {
    let Some(signed) = verify("voucher", &[]) else { return };
    assert_eq!(signed.chain, [certificate("masa").unwrap()]);
    assert!(is_under(&signed, &certificate("vendor").unwrap()));

    let voucher = Voucher::from_json(&signed.content).unwrap();
    assert_eq!(voucher.serial_number, SERIAL_NUMBER);
    assert_eq!(voucher.assertion, Assertion::Logged);
    assert_eq!(voucher.created_on, crate::date::parse("2021-04-13T21:43:24Z"));
    assert_eq!(voucher.nonce.as_ref().unwrap().as_bytes(), b"-_XE9zK9q8Ll1qylMtLKeg");
    assert_eq!(voucher.pins, [Pin::Certificate(certificate("jrc_prime256v1").unwrap())]);
    assert_eq!(voucher.expires_on, None);
}

/// A changed artefact is refused, unless the change is where nothing says anything about the content or the signer's key:
/// see `every_bit_counts`.
#[test]
fn every_byte_counts() {
    for name in ["vr", "parboiled_vr", "voucher"] {
        let Some(original) = verify(name, &[]) else { return };
        let mut artefact = artefact(name).unwrap();
        let mut refused = 0;
        for place in 0..artefact.len() {
            artefact[place] ^= 1 << (place % 8);
            match Signed::verify(&PROVIDER, &artefact, &[]) {
                Ok(signed) => {
                    assert_eq!(signed.content, original.content, "{name}, {place}");
                    let key = |signed: &Signed| crate::certificate::public_key(&signed.chain[0]).unwrap().to_vec();
                    assert_eq!(key(&signed), key(&original), "{name}, {place}");
                    // The version and the list of digest algorithms are among the first bytes.
                    assert!(place < 41 || signed.chain != original.chain, "{name}, {place}");
                }
                Err(_) => refused += 1,
            }
            artefact[place] ^= 1 << (place % 8);
        }
        assert!(refused > original.content.len(), "{name}");
    }
}
