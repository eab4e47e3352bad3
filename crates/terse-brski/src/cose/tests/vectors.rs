//! draft-ietf-anima-constrained-voucher-31, "COSE-signed Voucher (Request) Examples".

use std::format;

use terse_testkit::vectors;

use super::*;
use crate::voucher::{Assertion, Pin, Voucher, VoucherRequest};

fn vector(name: &str) -> Option<Vec<u8>> {
    vectors::hex(&format!("brski/cbrski/{name}.hex"))
}

fn certificate(name: &str) -> Option<CertificateDer<'static>> {
    vector(name).map(CertificateDer::from)
}

#[test]
fn the_request_of_the_pledge() {
    let (Some(pvr), Some(pledge), Some(registrar)) = (vector("pvr"), certificate("pledge"), certificate("registrar"))
    else {
        return;
    };
    let signed = verify(&pvr, core::slice::from_ref(&pledge)).unwrap();
    assert_eq!(signed.chain, core::slice::from_ref(&pledge));
    assert_eq!(verify(&pvr, &[]).unwrap_err(), SignatureRefused::NoSigner);
    assert_eq!(verify(&pvr, core::slice::from_ref(&registrar)).unwrap_err(), SignatureRefused::Signature);

    let request = VoucherRequest::from_cbor(&signed.content).unwrap();
    assert_eq!(request.serial_number, "JADA123456789");
    assert_eq!(request.assertion, Some(Assertion::Proximity));
    assert_eq!(request.created_on, None);
    assert_eq!(request.nonce.as_ref().unwrap().as_bytes(), [0x23, 0xbf, 0xbb, 0xc9, 0xc2, 0xbc, 0xf2, 0x13]);
    let key = crate::certificate::public_key(&registrar).unwrap();
    assert_eq!(request.proximity_registrar, [Pin::PublicKey(key.into())]);
    // It is what would be written here.
    assert_eq!(request.to_cbor(), signed.content);
}

#[test]
fn the_request_of_the_registrar() {
    let (Some(rvr), Some(registrar), Some(ca)) = (vector("rvr"), certificate("registrar"), certificate("domain_ca"))
    else {
        return;
    };
    let signed = verify(&rvr, &[]).unwrap();
    // The bag has an earlier certificate of the same CA.
    assert_eq!(signed.chain.len(), 2);
    let key = |certificate: &CertificateDer<'_>| crate::certificate::public_key(certificate).unwrap().to_vec();
    assert_eq!([key(&signed.chain[0]), key(&signed.chain[1])], [key(&registrar), key(&ca)]);
    assert_eq!(verify(&rvr, core::slice::from_ref(&registrar)).unwrap().chain[0], registrar);

    let request = VoucherRequest::from_cbor(&signed.content).unwrap();
    assert_eq!(request.created_on, crate::date::parse("2022-12-06T20:04:15Z"));
    assert_eq!(request.prior_signed_voucher_request, vector("pvr").map(Into::into));
    assert!(request.idevid_issuer.unwrap().starts_with(&[0x04, 0x18, 0x30, 0x16]));
    let prior = Signed::verify(&PROVIDER, &vector("pvr").unwrap(), &[certificate("pledge").unwrap()]).unwrap();
    assert_eq!(request.nonce, VoucherRequest::from_cbor(&prior.content).unwrap().nonce);
}

#[test]
fn the_voucher() {
    let (Some(voucher), Some(ca), Some(pvr)) = (vector("voucher"), certificate("masa_ca"), vector("pvr")) else {
        return;
    };
    let signed = verify(&voucher, core::slice::from_ref(&ca)).unwrap();
    assert_eq!(signed.chain, core::slice::from_ref(&ca));
    assert_eq!(verify(&voucher, &[certificate("masa").unwrap()]).unwrap_err(), SignatureRefused::Signature);

    let read = Voucher::from_cbor(&signed.content).unwrap();
    assert_eq!(read.assertion, Assertion::Proximity);
    assert_eq!(read.serial_number, "JADA123456789");
    assert_eq!(read.created_on, crate::date::parse("2022-12-06T20:23:30Z"));
    assert_eq!(read.domain_cert_revocation_checks, Some(false));
    assert_eq!(read.expires_on, None);
    let [Pin::Certificate(pin)] = &read.pins[..] else { panic!("{:?}", read.pins) };
    assert_eq!(crate::certificate::public_key(pin), crate::certificate::public_key(&certificate("domain_ca").unwrap()));
    // It answers another request than the one in the draft.
    let request = verify(&pvr, &[certificate("pledge").unwrap()]).unwrap();
    assert_ne!(read.nonce, VoucherRequest::from_cbor(&request.content).unwrap().nonce);
}

#[test]
fn the_voucher_with_a_bag_is_the_voucher_without_it() {
    let (Some(with), Some(without)) = (vector("voucher_with_unprotected_x5bag"), vector("voucher")) else { return };
    let signed = verify(&with, &[]).unwrap();
    assert_eq!(signed.content, verify(&without, &[certificate("masa_ca").unwrap()]).unwrap().content);
    assert_eq!(signed.chain, [certificate("masa_ca").unwrap()]);
    assert_eq!(without_certificates(&with).unwrap(), without);
    assert_eq!(without_certificates(&without).unwrap(), without);
}

/// A changed artefact is refused, unless the change is in the certificates, which are not signed.
#[test]
fn every_byte_counts() {
    for (name, signer) in [("pvr", "pledge"), ("rvr", "registrar"), ("voucher", "masa_ca")] {
        let (Some(original), Some(signer)) = (vector(name), certificate(signer)) else { return };
        let content = verify(&original, core::slice::from_ref(&signer)).unwrap().content;
        let mut changed = original.clone();
        let mut refused = 0;
        for place in 0..original.len() {
            changed[place] ^= 1 << (place % 8);
            match Signed::verify(&PROVIDER, &changed, core::slice::from_ref(&signer)) {
                Ok(signed) => assert_eq!(signed.content, content, "{name}, {place}"),
                Err(_) => refused += 1,
            }
            changed[place] = original[place];
        }
        if name == "rvr" {
            assert!(refused > content.len() + 64);
        } else {
            assert_eq!(refused, original.len());
        }
    }
}
