//! The decisions of a MASA, which signs vouchers for the devices of a manufacturer (RFC 8995, 5.5 to 5.8).
//!
//! A service does, for each request:
//!
//! 1. [`Masa::read_voucher_request`] verifies the request, and the pledge's in it.
//! 2. The service looks up, by [`RegistrarRequest::sha256`], an issued voucher; by serial number and issuer, the device and
//!    its audit log; and by [`RegistrarPath::revocation_urls`], CRLs.
//! 3. [`Masa::decide`] repeats a voucher, or says what a new one contains. The service signs it.
//! 4. The service stores the entry for the audit log, the owner and the signed voucher, in the transaction in which it has
//!    looked them up, and only then answers.
//!
//! [`Masa::read_audit_log_request`] and [`Masa::audit_log`] answer who has had a device. A [`Refusal`] is the answer to
//! everything else, by its status and its text.
//!
//! What must always hold: what depends on time, on records or on other services is an argument, so that a decision can be
//! made again.

use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{ApiMisuse, Trust};

use crate::certificate::SerialNumberField;
use crate::devices::DeviceAnchors;

mod audit_log;
mod decide;
mod key_identifier;
mod path;
mod pin;
mod policy;
mod record;
mod refusal;
mod request;

pub use decide::{Context, Decision, Issuance, RevocationStatus};
pub use path::RegistrarPath;
pub use policy::{Claims, Nonceless, PinChoice, Policy, Proximity};
pub use record::{Buyer, Device, IssuedVoucher, LogEntry};
pub use refusal::Refusal;
pub use request::RegistrarRequest;

/// The MASA of a manufacturer: what its decisions depend on, besides records and time.
#[derive(Clone, Debug)]
pub struct Masa {
    provider: CryptoProvider,
    devices: DeviceAnchors,
    serial_number_field: SerialNumberField,
    customers: Option<Trust>,
    policy: Policy,
}

impl Masa {
    /// Creates the MASA of the manufacturer whose IDevIDs lead to one of these trust anchors.
    ///
    /// A pledge's request is checked at the current time, but an IDevID counts also after its notAfter: the manufacturer
    /// knows its devices (RFC 8995, 2.6.2).
    pub fn new(
        provider: &CryptoProvider,
        device_anchors: &[CertificateDer<'_>],
        policy: Policy,
    ) -> Result<Self, ApiMisuse> {
        let all: Vec<usize> = (0..device_anchors.len()).collect();
        Ok(Self {
            provider: *provider,
            devices: DeviceAnchors::new(device_anchors, &all)?,
            serial_number_field: SerialNumberField::default(),
            customers: None,
            policy,
        })
    }

    /// Reads serial numbers of IDevIDs from another field.
    #[must_use]
    pub fn serial_number_field(self, serial_number_field: SerialNumberField) -> Self {
        Self { serial_number_field, ..self }
    }

    /// Verifies an IDevID, as that of a pledge's request would be, and returns the record of its device. The leaf of `chain` is
    /// the IDevID; the certificates above it may follow, in any order.
    pub fn read_idevid(&self, chain: &[CertificateDer<'_>], time: UnixTime) -> Result<Device, Refusal> {
        let verified = self.devices.verify(&self.provider, chain, |_| self.serial_number_field, time)?;
        let issuer = verified.idevid.issuer.ok_or(Refusal::NoIdevidIssuer)?;
        Ok(Device::new(verified.idevid.serial_number, issuer))
    }

    /// Knows the registrars whose certificates lead to one of these trust anchors (RFC 8995, 5.5.4).
    pub fn customers(self, anchors: &[CertificateDer<'_>]) -> Result<Self, ApiMisuse> {
        Ok(Self { customers: Some(Trust::new(anchors)?), ..self })
    }
}
