//! Vouchers and voucher requests are written as CBOR.
//!
//! What must always hold: each SID is written once, in ascending order (RFC 8949, 4.2.1), into a buffer that has room for all
//! of it and no more.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::UnixTime;

use crate::cbor::{Writer, encoded_len, head_len};
use crate::date;
use crate::voucher::field::Field;
use crate::voucher::fields::Kind;
use crate::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};

pub(in crate::voucher) fn voucher(voucher: &Voucher) -> Vec<u8> {
    let pins = Pin::by_kind(&voucher.pins);
    write(
        Kind::Voucher,
        [
            (Field::Assertion, Some(Value::Assertion(voucher.assertion))),
            (Field::CreatedOn, Value::date(voucher.created_on)),
            (Field::DomainCertRevocationChecks, voucher.domain_cert_revocation_checks.map(Value::Boolean)),
            (Field::ExpiresOn, Value::date(voucher.expires_on)),
            (Field::IdevidIssuer, voucher.idevid_issuer.as_deref().map(Value::Binary)),
            (Field::LastRenewalDate, Value::date(voucher.last_renewal_date)),
            (Field::Nonce, voucher.nonce.as_ref().map(Nonce::as_bytes).map(Value::Binary)),
            (Field::PinnedDomainCert, pins.certificate.map(Value::Binary)),
            (Field::PinnedDomainPubk, pins.public_key.map(Value::Binary)),
            (Field::PinnedDomainPubkSha256, pins.public_key_sha256.map(Value::Binary)),
            (Field::SerialNumber, Some(Value::Text(&voucher.serial_number))),
        ],
    )
}

pub(in crate::voucher) fn request(request: &VoucherRequest) -> Vec<u8> {
    let registrar = Pin::by_kind(&request.proximity_registrar);
    write(
        Kind::VoucherRequest,
        [
            (Field::Assertion, request.assertion.map(Value::Assertion)),
            (Field::CreatedOn, Value::date(request.created_on)),
            (Field::IdevidIssuer, request.idevid_issuer.as_deref().map(Value::Binary)),
            (Field::Nonce, request.nonce.as_ref().map(Nonce::as_bytes).map(Value::Binary)),
            (Field::PriorSignedVoucherRequest, request.prior_signed_voucher_request.as_deref().map(Value::Binary)),
            (Field::ProximityRegistrarCert, registrar.certificate.map(Value::Binary)),
            (Field::ProximityRegistrarPubkSha256, registrar.public_key_sha256.map(Value::Binary)),
            (Field::ProximityRegistrarPubk, registrar.public_key.map(Value::Binary)),
            (Field::SerialNumber, Some(Value::Text(&request.serial_number))),
        ],
    )
}

/// A value, by its type in YANG (RFC 9254, 6).
enum Value<'a> {
    Text(&'a str),
    Date(String),
    Binary(&'a [u8]),
    Boolean(bool),
    Assertion(Assertion),
}

impl Value<'_> {
    fn date(time: Option<UnixTime>) -> Option<Self> {
        time.map(|time| Self::Date(date::format(time)))
    }

    const fn encoded_len(&self) -> usize {
        match self {
            Self::Text(text) => encoded_len(text.len()),
            Self::Date(text) => encoded_len(text.len()),
            Self::Binary(bytes) => encoded_len(bytes.len()),
            Self::Boolean(_) | Self::Assertion(_) => 1,
        }
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Text(text) => writer.text(text),
            Self::Date(text) => writer.text(text),
            Self::Binary(bytes) => writer.bytes(bytes),
            Self::Boolean(value) => writer.boolean(*value),
            Self::Assertion(assertion) => writer.integer(assertion.value()),
        }
    }
}

/// Writes the container with the fields that have a value.
fn write<const N: usize>(kind: Kind, fields: [(Field, Option<Value<'_>>); N]) -> Vec<u8> {
    let present = || fields.iter().filter_map(|(field, value)| Some((kind.delta(*field)?, value.as_ref()?)));
    let sid = kind.sid();
    let fields_len: usize = present().map(|(delta, value)| head_len(delta.into()) + value.encoded_len()).sum();
    let mut writer = Writer::with_capacity(1 + head_len(sid.into()) + 1 + fields_len); // at most 11 fields
    writer.map(1);
    writer.integer(sid);
    writer.map(present().count());
    for (delta, value) in present() {
        writer.integer(delta);
        value.write(&mut writer);
    }
    writer.into_vec()
}
