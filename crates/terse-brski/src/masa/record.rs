//! What a MASA remembers: devices, issued vouchers, and the audit log (RFC 8995, 5.6 and 5.8). Each is plain data, for a row
//! of a database.
//!
//! What must always hold: a domain is recognized by its key. Its domainID is for people and for registrars: anybody can make
//! a certificate with any key identifier.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::UnixTime;
use serde::{Deserialize, Serialize};

use crate::audit_log::Event;
use crate::digest::Sha256;
use crate::stored;
use crate::voucher::{Assertion, Nonce};

/// A device. Its serial number and issuer are its key in the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The serial number of its IDevID.
    pub serial_number: String,
    /// The authority key identifier of its IDevID, as [`Idevid::issuer`](crate::certificate::Idevid::issuer) has it.
    pub idevid_issuer: Vec<u8>,
    /// Whether no vouchers are issued for it: it was stolen, or taken out of service.
    pub is_blocked: bool,
    /// To whom it was sold.
    pub sold_to: Vec<Buyer>,
    /// Whether it supports raw public keys alone, and no certificates but its IDevID (the RPK variant of
    /// draft-ietf-anima-constrained-voucher-31). Each voucher for it pins [`PinChoice::RegistrarKey`](super::PinChoice::RegistrarKey),
    /// whatever the policy says, with and without a nonce, and in whichever form the request came: one in JSON with CMS, which
    /// such a device does not send, is answered in that form.
    #[serde(default)]
    pub raw_public_keys_only: bool,
    /// The key that the last voucher pinned: the domain that has the device. Removing it releases the device.
    pub owner: Option<Sha256>,
}

impl Device {
    /// Creates the record of a device that nobody has yet.
    pub const fn new(serial_number: String, idevid_issuer: Vec<u8>) -> Self {
        Self {
            serial_number,
            idevid_issuer,
            is_blocked: false,
            sold_to: Vec::new(),
            raw_public_keys_only: false,
            owner: None,
        }
    }
}

/// Somebody to whom a device was sold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buyer {
    /// A customer, by the name under which its registrar authenticates itself.
    Customer(String),
    /// A domain, by the SHA-256 of the public key of its CA or registrar.
    Domain(Sha256),
}

/// An issued voucher. The SHA-256 of the request is its key in the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedVoucher {
    /// The SHA-256 of the request.
    pub request: Sha256,
    /// The signed voucher.
    pub voucher: Vec<u8>,
    /// When it expires. One with a nonce does not.
    #[serde(with = "stored::optional_seconds")]
    pub expires_on: Option<UnixTime>,
}

/// An entry of the audit log of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// When the voucher was issued.
    #[serde(with = "stored::seconds")]
    pub date: UnixTime,
    /// The domainID of the certificate that it pinned (RFC 8995, 5.8.2), or whose key it pinned.
    pub domain_id: Vec<u8>,
    /// The SHA-256 of the public key that it pinned.
    pub key: Sha256,
    /// Its nonce.
    #[serde(with = "stored::optional_nonce")]
    pub nonce: Option<Nonce>,
    /// Its assertion.
    #[serde(with = "stored::AssertionName")]
    pub assertion: Assertion,
}

impl LogEntry {
    pub(super) fn to_event(&self) -> Event {
        Event::new(self.date, self.domain_id.clone(), self.nonce.clone(), self.assertion)
    }
}

#[cfg(test)]
mod tests;
