//! The example of RFC 8995, C.2, as input of a MASA. Its registrar leaves idevid-issuer out, which is accepted: the pledge's
//! IDevID, which has signed the request in it, says the same with more certainty.

use pki_types::CertificateDer;
use pki_types::pem::PemObject as _;
use terse_brski::cms::Signed;
use terse_brski::masa::{Context, Decision, Device, Masa, PinChoice, Policy, Refusal};
use terse_brski::voucher::{Assertion, Pin, Voucher};
use terse_rustcrypto::PROVIDER;
use terse_testkit::vectors::text;
use terse_tls::CertificateError;

use super::scene::{at, posted};

/// 2021-04-13T21:43:24Z, when the voucher was issued: all certificates have expired meanwhile.
const DATE: u64 = 1_618_350_204;

const SERIAL: &str = "00-D0-E5-F2-00-02";

fn certificate(name: &str) -> Option<CertificateDer<'static>> {
    let pem = text(&format!("brski/rfc8995/{name}.crt"))?;
    Some(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
}

fn artefact(name: &str) -> Option<Vec<u8>> {
    let text = text(&format!("brski/rfc8995/{name}_{SERIAL}.b64"))?;
    let digits: String = text.split_whitespace().collect();
    Some(<base64ct::Base64 as base64ct::Encoding>::decode_vec(&digits).unwrap())
}

#[test]
fn the_registrars_request_of_the_rfc_has_a_voucher() {
    let Some(request) = artefact("parboiled_vr") else { return };
    let masa = |policy| Masa::new(&PROVIDER, &[certificate("vendor").unwrap()], policy).unwrap();
    let read = masa(Policy::default()).read_voucher_request(&posted(&request), at(DATE)).unwrap();
    assert_eq!(read.serial_number(), SERIAL);
    assert!(read.has_pledge_request());
    let chain: Vec<_> = read.path().certificates().cloned().collect();
    assert_eq!(chain, [certificate("jrc_prime256v1").unwrap(), certificate("ownerca_secp384r1").unwrap()]);

    // The IDevID has no authority key identifier: the issuer is made from its key.
    let device = Device::new(SERIAL.into(), read.idevid_issuer().unwrap().to_vec());
    let context = Context { device: Some(&device), ..Context::default() };
    let mut policy = Policy::default();
    policy.pin = PinChoice::Registrar;
    let Ok(Decision::Issue(issuance)) = masa(policy).decide(&read, &context, at(DATE)) else { panic!() };

    // The MASA of the RFC has pinned the same certificate for the same nonce. It says `logged`, although the pledge saw
    // the registrar.
    let theirs = Signed::verify_ber(&PROVIDER, &artefact("voucher").unwrap(), &[]).unwrap();
    let theirs = Voucher::from_json(&theirs.content).unwrap();
    assert_eq!(issuance.voucher.nonce, theirs.nonce);
    assert_eq!(issuance.voucher.pins, theirs.pins);
    assert_eq!(issuance.voucher.pins, [Pin::Certificate(certificate("jrc_prime256v1").unwrap())]);
    assert_eq!(issuance.voucher.serial_number, theirs.serial_number);
    assert_eq!((issuance.voucher.assertion, theirs.assertion), (Assertion::Proximity, Assertion::Logged));
}

#[test]
fn the_registrars_request_of_the_rfc_has_expired() {
    let Some(request) = artefact("parboiled_vr") else { return };
    let masa = Masa::new(&PROVIDER, &[certificate("vendor").unwrap()], Policy::default()).unwrap();
    let refusal = masa.read_voucher_request(&posted(&request), at(DATE + 400 * 86_400)).unwrap_err();
    assert!(matches!(refusal, Refusal::Registrar(CertificateError::Expired { depth: 0, .. })), "{refusal}");
    // The manufacturer of somebody else does not know the device.
    let masa = Masa::new(&PROVIDER, &[certificate("ownerca_secp384r1").unwrap()], Policy::default()).unwrap();
    let refusal = masa.read_voucher_request(&posted(&request), at(DATE)).unwrap_err();
    assert_eq!(refusal, Refusal::PledgeCertificate(CertificateError::UnknownIssuer));
}
