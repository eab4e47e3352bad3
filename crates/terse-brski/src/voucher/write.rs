//! Vouchers and voucher requests are written as JSON.
//!
//! What must always hold: each name is written once; binary fields have the base64 of RFC 4648, 4, in one line (RFC 7951,
//! 6.6).

use alloc::vec::Vec;

use pki_types::UnixTime;

use super::field::{Field, VOUCHER, VOUCHER_REQUEST};
use super::{Nonce, Pin, Voucher, VoucherRequest};
use crate::{base64, date};

pub(super) fn voucher(voucher: &Voucher) -> Vec<u8> {
    let mut object = Object::new(VOUCHER, binary_len(voucher.idevid_issuer.as_deref(), &voucher.pins));
    object.date(Field::CreatedOn, voucher.created_on);
    object.date(Field::ExpiresOn, voucher.expires_on);
    object.text(Field::Assertion, voucher.assertion.name());
    object.text(Field::SerialNumber, &voucher.serial_number);
    object.binary(Field::IdevidIssuer, voucher.idevid_issuer.as_deref());
    object.pins(PINNED_DOMAIN, &voucher.pins);
    object.boolean(Field::DomainCertRevocationChecks, voucher.domain_cert_revocation_checks);
    object.nonce(voucher.nonce.as_ref());
    object.date(Field::LastRenewalDate, voucher.last_renewal_date);
    object.end()
}

pub(super) fn request(request: &VoucherRequest) -> Vec<u8> {
    let prior = request.prior_signed_voucher_request.as_deref();
    let binary_len = binary_len(request.idevid_issuer.as_deref(), &request.proximity_registrar)
        + base64::encoded_len(prior.map_or(0, <[u8]>::len));
    let mut object = Object::new(VOUCHER_REQUEST, binary_len);
    object.date(Field::CreatedOn, request.created_on);
    if let Some(assertion) = request.assertion {
        object.text(Field::Assertion, assertion.name());
    }
    object.text(Field::SerialNumber, &request.serial_number);
    object.binary(Field::IdevidIssuer, request.idevid_issuer.as_deref());
    object.nonce(request.nonce.as_ref());
    object.binary(Field::PriorSignedVoucherRequest, prior);
    object.pins(PROXIMITY_REGISTRAR, &request.proximity_registrar);
    object.end()
}

/// The fields for a certificate, a key, and the hash of a key.
type PinFields = [Field; 3];

const PINNED_DOMAIN: PinFields = [Field::PinnedDomainCert, Field::PinnedDomainPubk, Field::PinnedDomainPubkSha256];

const PROXIMITY_REGISTRAR: PinFields =
    [Field::ProximityRegistrarCert, Field::ProximityRegistrarPubk, Field::ProximityRegistrarPubkSha256];

/// Returns how long these binary fields are in JSON.
fn binary_len(idevid_issuer: Option<&[u8]>, pins: &[Pin]) -> usize {
    let pins: usize = pins.iter().map(|pin| base64::encoded_len(pin.as_bytes().len())).sum();
    base64::encoded_len(idevid_issuer.map_or(0, <[u8]>::len)) + pins
}

/// An object in a container, to which fields are added.
struct Object {
    json: Vec<u8>,
    is_empty: bool,
}

impl Object {
    fn new(container: &str, binary_len: usize) -> Self {
        let mut json = Vec::with_capacity(binary_len + TEXT_LEN);
        json.push(b'{');
        push_name(container, &mut json);
        json.push(b'{');
        Self { json, is_empty: true }
    }

    fn name(&mut self, field: Field) {
        if !core::mem::take(&mut self.is_empty) {
            self.json.push(b',');
        }
        push_name(field.name(), &mut self.json);
    }

    fn text(&mut self, field: Field, text: &str) {
        self.name(field);
        self.json.extend(serde_json::to_vec(text).expect("any string can be written"));
    }

    fn binary(&mut self, field: Field, bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes {
            self.name(field);
            self.json.push(b'"');
            base64::encode(bytes, &mut self.json);
            self.json.push(b'"');
        }
    }

    fn date(&mut self, field: Field, time: Option<UnixTime>) {
        if let Some(time) = time {
            self.text(field, &date::format(time));
        }
    }

    fn boolean(&mut self, field: Field, value: Option<bool>) {
        if let Some(value) = value {
            self.name(field);
            self.json.extend_from_slice(if value { b"true" } else { b"false" });
        }
    }

    /// Writes a nonce that came as text as that text, and any other one, which came in CBOR, in base64.
    fn nonce(&mut self, nonce: Option<&Nonce>) {
        let Some(nonce) = nonce else { return };
        match core::str::from_utf8(nonce.as_bytes()) {
            Ok(text) => self.text(Field::Nonce, text),
            Err(_) => self.binary(Field::Nonce, Some(nonce.as_bytes())),
        }
    }

    fn pins(&mut self, [certificate, public_key, public_key_sha256]: PinFields, pins: &[Pin]) {
        let by_kind = Pin::by_kind(pins);
        self.binary(certificate, by_kind.certificate);
        self.binary(public_key, by_kind.public_key);
        self.binary(public_key_sha256, by_kind.public_key_sha256);
    }

    fn end(mut self) -> Vec<u8> {
        self.json.extend_from_slice(b"}}");
        self.json
    }
}

/// Appends a name, which has nothing to escape: it is one of [`super::field`].
fn push_name(name: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    json.extend_from_slice(name.as_bytes());
    json.extend_from_slice(b"\":");
}

/// About how many bytes a request has besides its binary fields: its names, dates, serial number and nonce.
const TEXT_LEN: usize = 320;
