//! The fields of vouchers and voucher requests while they are read, from JSON or from CBOR.
//!
//! What must always hold: a value that is not of its field's type is refused.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};

use super::field::{Field, VOUCHER, VOUCHER_REQUEST};
use super::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use crate::{Malformed, date};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Voucher,
    VoucherRequest,
}

impl Kind {
    pub(super) const fn container(self) -> &'static str {
        match self {
            Self::Voucher => VOUCHER,
            Self::VoucherRequest => VOUCHER_REQUEST,
        }
    }

    /// Returns the kind whose container has this name.
    pub(super) fn of_container(name: &str) -> Option<Self> {
        [Self::Voucher, Self::VoucherRequest].into_iter().find(|kind| kind.container() == name)
    }

    /// Whether this kind of artefact has the field. RFC 8995, 3.4: some of a voucher are not valid in a request, "and any
    /// occurrence MUST be ignored".
    pub(super) const fn has(self, field: Field) -> bool {
        match field {
            Field::CreatedOn | Field::Assertion | Field::SerialNumber | Field::IdevidIssuer | Field::Nonce => true,
            Field::ExpiresOn
            | Field::PinnedDomainCert
            | Field::PinnedDomainPubk
            | Field::PinnedDomainPubkSha256
            | Field::DomainCertRevocationChecks
            | Field::LastRenewalDate => matches!(self, Self::Voucher),
            Field::PriorSignedVoucherRequest
            | Field::ProximityRegistrarCert
            | Field::ProximityRegistrarPubk
            | Field::ProximityRegistrarPubkSha256 => matches!(self, Self::VoucherRequest),
        }
    }
}

/// The fields that were read. `pins` are those of a voucher, or the keys of the registrar in a request.
#[derive(Default)]
pub(super) struct Fields {
    created_on: Option<UnixTime>,
    expires_on: Option<UnixTime>,
    assertion: Option<Assertion>,
    serial_number: Option<String>,
    idevid_issuer: Option<Box<[u8]>>,
    pins: Vec<Pin>,
    domain_cert_revocation_checks: Option<bool>,
    nonce: Option<Nonce>,
    last_renewal_date: Option<UnixTime>,
    prior_signed_voucher_request: Option<Box<[u8]>>,
}

impl Fields {
    pub(super) fn into_voucher(self) -> Result<Voucher, Malformed> {
        Ok(Voucher {
            created_on: self.created_on,
            expires_on: self.expires_on,
            assertion: self.assertion.ok_or(Malformed::Missing("assertion"))?,
            serial_number: self.serial_number.ok_or(Malformed::Missing("serial-number"))?,
            idevid_issuer: self.idevid_issuer,
            pins: self.pins,
            domain_cert_revocation_checks: self.domain_cert_revocation_checks,
            nonce: self.nonce,
            last_renewal_date: self.last_renewal_date,
        })
    }

    pub(super) fn into_request(self) -> Result<VoucherRequest, Malformed> {
        Ok(VoucherRequest {
            created_on: self.created_on,
            assertion: self.assertion,
            serial_number: self.serial_number.ok_or(Malformed::Missing("serial-number"))?,
            idevid_issuer: self.idevid_issuer,
            nonce: self.nonce,
            prior_signed_voucher_request: self.prior_signed_voucher_request,
            proximity_registrar: self.pins,
        })
    }

    /// Takes the text of a field, which is a date or the serial number.
    pub(super) fn set_text(&mut self, field: Field, text: &str) -> Result<(), Malformed> {
        let invalid = Malformed::Invalid(field.name());
        let date = || date::parse(text).ok_or(invalid);
        match field {
            Field::CreatedOn => self.created_on = Some(date()?),
            Field::ExpiresOn => self.expires_on = Some(date()?),
            Field::LastRenewalDate => self.last_renewal_date = Some(date()?),
            Field::SerialNumber if !text.is_empty() => self.serial_number = Some(text.into()),
            _ => return Err(invalid),
        }
        Ok(())
    }

    /// Takes the bytes of a binary field, which are not empty.
    pub(super) fn set_binary(&mut self, field: Field, bytes: Vec<u8>) -> Result<(), Malformed> {
        let invalid = Malformed::Invalid(field.name());
        if bytes.is_empty() {
            return Err(invalid);
        }
        match field {
            Field::IdevidIssuer => self.idevid_issuer = Some(bytes.into()),
            Field::Nonce => self.nonce = Some(Nonce::new(&bytes)?),
            Field::PriorSignedVoucherRequest => self.prior_signed_voucher_request = Some(bytes.into()),
            Field::PinnedDomainCert | Field::ProximityRegistrarCert => {
                self.add_pin(Pin::Certificate(CertificateDer::from(bytes)));
            }
            Field::PinnedDomainPubk | Field::ProximityRegistrarPubk => self.add_pin(Pin::PublicKey(bytes.into())),
            Field::PinnedDomainPubkSha256 | Field::ProximityRegistrarPubkSha256 => {
                self.add_pin(Pin::PublicKeySha256(bytes.try_into().map_err(|_| invalid)?));
            }
            _ => return Err(invalid),
        }
        Ok(())
    }

    /// Adds a pin. Fields have no order, but pins that are the same are equal.
    fn add_pin(&mut self, pin: Pin) {
        let place = self.pins.iter().take_while(|other| other.rank() < pin.rank()).count();
        self.pins.insert(place, pin);
    }

    /// Takes the truth value of a field.
    pub(super) fn set_boolean(&mut self, field: Field, value: bool) -> Result<(), Malformed> {
        match field {
            Field::DomainCertRevocationChecks => self.domain_cert_revocation_checks = Some(value),
            _ => return Err(Malformed::Invalid(field.name())),
        }
        Ok(())
    }

    /// Takes an assertion, or `None` if its name or value is unknown.
    pub(super) fn set_assertion(&mut self, assertion: Option<Assertion>) -> Result<(), Malformed> {
        self.assertion = Some(assertion.ok_or(Malformed::Invalid(Field::Assertion.name()))?);
        Ok(())
    }
}
