//! Verifies a registrar's voucher request, and the pledge's in it (RFC 8995, 5.5.2 to 5.5.6): what can be said about it
//! without any record.
//!
//! What must always hold: a [`RegistrarRequest`] was signed by the first certificate of a consistent path with cmcRA; the
//! pledge's request in it, if there is one, by an IDevID of the manufacturer; serial numbers, nonces and issuers of both
//! agree.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::UnixTime;

use super::{Masa, Refusal, RegistrarPath};
use crate::certificate::is_same_issuer;
use crate::cms::Signed;
use crate::digest::{Sha256, public_key_sha256, sha256};
use crate::http::{Acceptance, JSON, Posted, VOUCHER_CMS_JSON, acceptance, is};
use crate::voucher::{Assertion, Nonce, Pin, VoucherRequest};

impl Masa {
    /// Verifies a request for a voucher.
    pub fn read_voucher_request(&self, posted: &Posted<'_>, time: UnixTime) -> Result<RegistrarRequest, Refusal> {
        self.read(posted, VOUCHER_CMS_JSON, time)
    }

    /// Verifies a request for an audit log, which has the same body (RFC 8995, 5.8). Its age does not count.
    pub fn read_audit_log_request(&self, posted: &Posted<'_>, time: UnixTime) -> Result<RegistrarRequest, Refusal> {
        // The registrar may send the same Accept again.
        let accept = match acceptance(posted.accept, VOUCHER_CMS_JSON) {
            Acceptance::Accepted => None,
            _ => posted.accept,
        };
        self.read(&Posted { accept, ..*posted }, JSON, time)
    }

    fn read(&self, posted: &Posted<'_>, answer: &str, time: UnixTime) -> Result<RegistrarRequest, Refusal> {
        if !is(posted.content_type, VOUCHER_CMS_JSON) {
            return Err(Refusal::ContentType);
        }
        match acceptance(posted.accept, answer) {
            Acceptance::Accepted => {}
            Acceptance::NotAcceptable => return Err(Refusal::NotAcceptable),
            Acceptance::NotUnderstood => return Err(Refusal::AcceptNotUnderstood),
        }
        let signed = Signed::verify_ber(&self.provider, posted.body, &[]).map_err(Refusal::Signature)?;
        let path = RegistrarPath::new(&self.provider, &signed.chain, time)?;
        let fields = VoucherRequest::from_json(&signed.content).map_err(Refusal::Request)?;
        let prior = fields.prior_signed_voucher_request.as_deref();
        let pledge = prior.map(|prior| self.read_pledge_request(prior, &path, time)).transpose()?;
        let request = RegistrarRequest { sha256: sha256(&self.provider, posted.body), fields, path, pledge };
        request.check_consistency()?;
        Ok(request)
    }

    fn read_pledge_request(&self, prior: &[u8], path: &RegistrarPath, time: UnixTime) -> Result<Pledge, Refusal> {
        let signed = Signed::verify_ber(&self.provider, prior, &[]).map_err(Refusal::PledgeSignature)?;
        let field = |_| self.serial_number_field;
        let verified = self.devices.verify(&self.provider, &signed.chain, field, time)?;
        let request = VoucherRequest::from_json(&signed.content).map_err(Refusal::PledgeRequest)?;
        // RFC 8995, 5.5.5.
        if request.serial_number != verified.idevid.serial_number {
            return Err(Refusal::SerialNumber);
        }
        let saw = self.saw(&request, path)?;
        Ok(Pledge {
            serial_number: verified.idevid.serial_number,
            issuer: verified.idevid.issuer,
            nonce: request.nonce,
            saw,
        })
    }

    /// Compares what the pledge saw with the registrar's path.
    fn saw(&self, request: &VoucherRequest, path: &RegistrarPath) -> Result<Saw, Refusal> {
        if request.assertion != Some(Assertion::Proximity) {
            return Ok(Saw::NotSaid);
        }
        let seen = &request.proximity_registrar;
        let hash = seen.iter().find_map(|pin| match pin {
            Pin::PublicKeySha256(hash) => Some(*hash),
            _ => None,
        });
        let key = seen.iter().find_map(|pin| match pin {
            Pin::PublicKey(key) => Some(sha256(&self.provider, key)),
            _ => None,
        });
        let certificate = seen.iter().find_map(|pin| match pin {
            Pin::Certificate(certificate) => Some(public_key_sha256(&self.provider, certificate)),
            _ => None,
        });
        let certificate = certificate.transpose().map_err(Refusal::PledgeRequest)?;
        Ok(match hash.or(key).or(certificate) {
            Some(key) if path.has_key(&key) => Saw::ThisRegistrar,
            Some(_) => Saw::AnotherRegistrar,
            None => Saw::NotSaid,
        })
    }
}

/// A registrar's voucher request that was verified.
#[derive(Clone, Debug)]
pub struct RegistrarRequest {
    sha256: Sha256,
    pub(super) fields: VoucherRequest,
    path: RegistrarPath,
    pub(super) pledge: Option<Pledge>,
}

/// What a pledge's request in it says.
#[derive(Clone, Debug)]
pub(super) struct Pledge {
    serial_number: String,
    issuer: Option<Vec<u8>>,
    nonce: Option<Nonce>,
    pub(super) saw: Saw,
}

/// Which registrar a pledge saw in its own connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saw {
    ThisRegistrar,
    AnotherRegistrar,
    NotSaid,
}

impl RegistrarRequest {
    /// Returns the SHA-256 of the request, by which an issued voucher is found.
    pub const fn sha256(&self) -> &Sha256 {
        &self.sha256
    }

    /// Returns the serial number of the device.
    pub fn serial_number(&self) -> &str {
        &self.fields.serial_number
    }

    /// Returns the issuer of the device's IDevID: of the IDevID itself if the pledge's request is there, else as the
    /// registrar says. Compare it with [`is_same_issuer`].
    pub fn idevid_issuer(&self) -> Option<&[u8]> {
        let certified = self.pledge.as_ref().and_then(|pledge| pledge.issuer.as_deref());
        certified.or(self.fields.idevid_issuer.as_deref())
    }

    /// Whether the IDevID of the device has signed a request that is part of this one.
    pub const fn has_pledge_request(&self) -> bool {
        self.pledge.is_some()
    }

    /// Returns the nonce.
    pub const fn nonce(&self) -> Option<&Nonce> {
        self.fields.nonce.as_ref()
    }

    /// Returns the registrar's certificates.
    pub const fn path(&self) -> &RegistrarPath {
        &self.path
    }

    /// Checks that the registrar says about the device what the pledge says.
    fn check_consistency(&self) -> Result<(), Refusal> {
        let Some(pledge) = &self.pledge else {
            return self.fields.idevid_issuer.as_ref().map_or(Err(Refusal::NoIdevidIssuer), |_| Ok(()));
        };
        if pledge.serial_number != self.fields.serial_number {
            return Err(Refusal::SerialNumber);
        }
        // The registrars of RFC 8995, C.2 leave idevid-issuer out. The pledge's IDevID tells it with more certainty.
        if let Some(issuer) = &self.fields.idevid_issuer
            && !pledge.issuer.as_ref().is_some_and(|own| is_same_issuer(own, issuer))
        {
            return Err(Refusal::IdevidIssuer);
        }
        // RFC 8995, 5.5.6. A registrar may ask for a voucher without a nonce nonetheless (5.5).
        if self.fields.nonce.is_some() && self.fields.nonce != pledge.nonce {
            return Err(Refusal::Nonce);
        }
        Ok(())
    }
}
