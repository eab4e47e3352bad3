//! Verifies a registrar's voucher request, and the pledge's in it (RFC 8995, 5.5.2 to 5.5.6): what can be said about it
//! without any record.
//!
//! What must always hold: a [`RegistrarRequest`] was signed by the first certificate of a consistent path with cmcRA; the
//! pledge's request in it, if there is one, by an IDevID of the manufacturer; serial numbers, nonces and issuers of both
//! agree.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};

use super::{Masa, Refusal, RegistrarPath};
use crate::artefact::{Format, Signed};
use crate::certificate::{is_same_issuer, with_issuers};
use crate::digest::{Sha256, public_key_sha256, sha256};
use crate::http::{Acceptance, JSON, Posted, acceptance};
use crate::voucher::{Assertion, Nonce, Pin, VoucherRequest};
use crate::{SignatureRefused, cose};

impl Masa {
    /// Verifies a request for a voucher.
    pub fn read_voucher_request(&self, posted: &Posted<'_>, time: UnixTime) -> Result<RegistrarRequest, Refusal> {
        let format = Format::of_media_type(posted.content_type).ok_or(Refusal::ContentType)?;
        let (acceptance, voucher_type) = format.acceptance(posted);
        check_acceptance(acceptance)?;
        self.read(posted.body, format, voucher_type, time)
    }

    /// Verifies a request for an audit log, which has the same body (RFC 8995, 5.8). Its age does not count.
    pub fn read_audit_log_request(&self, posted: &Posted<'_>, time: UnixTime) -> Result<RegistrarRequest, Refusal> {
        let format = Format::of_media_type(posted.content_type).ok_or(Refusal::ContentType)?;
        let (of_voucher, voucher_type) = format.acceptance(posted);
        // The registrar may send the same Accept again.
        if of_voucher != Acceptance::Accepted {
            check_acceptance(acceptance(posted.accept, JSON))?;
        }
        self.read(posted.body, format, voucher_type, time)
    }

    fn read(
        &self,
        body: &[u8],
        format: Format,
        voucher_type: &'static str,
        time: UnixTime,
    ) -> Result<RegistrarRequest, Refusal> {
        let signed = format.verify(&self.provider, body, &[]).map_err(Refusal::Signature)?;
        let path = RegistrarPath::new(&self.provider, &signed.chain, time)?;
        let fields = format.read_request(&signed.content).map_err(Refusal::Request)?;
        let pledge = match fields.prior_signed_voucher_request.as_deref() {
            Some(prior) => {
                let prior = self.verify_pledge(format, prior, &signed.chain).map_err(Refusal::PledgeSignature)?;
                Some(self.read_pledge_request(format, &prior, &path, time)?)
            }
            None => None,
        };
        let sha256 = signed.identity(&self.provider, format).map_err(Refusal::Request)?;
        let request = RegistrarRequest { sha256, format, voucher_type, fields, path, pledge };
        request.check_consistency()?;
        Ok(request)
    }

    /// Verifies the signature of a pledge's request, which has the form of the registrar's. In CMS the IDevID comes with it. In
    /// COSE it comes with the registrar's request, behind the registrar's own certificate.
    fn verify_pledge(
        &self,
        format: Format,
        prior: &[u8],
        enclosed: &[CertificateDer<'static>],
    ) -> Result<Signed, SignatureRefused> {
        if format == Format::CmsJson {
            return format.verify(&self.provider, prior, &[]);
        }
        let others = enclosed.get(1..).unwrap_or_default();
        let mut signed: Signed = cose::Signed::verify_by(&self.provider, prior, others)?.into();
        // What belongs to the domain is no part of the device's path: how long that is valid says nothing of the device.
        signed.chain = with_issuers(signed.chain, others);
        Ok(signed)
    }

    fn read_pledge_request(
        &self,
        format: Format,
        signed: &Signed,
        path: &RegistrarPath,
        time: UnixTime,
    ) -> Result<Pledge, Refusal> {
        let field = |_| self.serial_number_field;
        let verified = self.devices.verify(&self.provider, &signed.chain, field, time)?;
        let request = format.read_request(&signed.content).map_err(Refusal::PledgeRequest)?;
        // RFC 8995, 5.5.5.
        if request.serial_number != verified.idevid.serial_number {
            return Err(Refusal::SerialNumber);
        }
        let saw = self.saw(&request, path)?;
        Ok(Pledge {
            serial_number: verified.idevid.serial_number,
            issuer: verified.idevid.issuer,
            nonce: request.nonce,
            created_on: request.created_on,
            saw,
            knows_key_digests: has_key_digest(&request.proximity_registrar),
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

fn has_key_digest(pins: &[Pin]) -> bool {
    pins.iter().any(|pin| matches!(pin, Pin::PublicKeySha256(_)))
}

fn check_acceptance(acceptance: Acceptance) -> Result<(), Refusal> {
    match acceptance {
        Acceptance::Accepted => Ok(()),
        Acceptance::NotAcceptable => Err(Refusal::NotAcceptable),
        Acceptance::NotUnderstood => Err(Refusal::AcceptNotUnderstood),
    }
}

/// A registrar's voucher request that was verified.
#[derive(Clone, Debug)]
pub struct RegistrarRequest {
    sha256: Sha256,
    format: Format,
    voucher_type: &'static str,
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
    /// When it was made, if the pledge has a clock.
    pub(super) created_on: Option<UnixTime>,
    pub(super) saw: Saw,
    /// Whether it has named its registrar by the SHA-256 of the public key, so that it knows such pins.
    pub(super) knows_key_digests: bool,
}

/// Which registrar a pledge saw in its own connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saw {
    ThisRegistrar,
    AnotherRegistrar,
    NotSaid,
}

impl RegistrarRequest {
    /// Returns the SHA-256 of what was signed and by which key, by which an issued voucher is found.
    pub const fn sha256(&self) -> &Sha256 {
        &self.sha256
    }

    /// Returns the form of the request, which its voucher has, too.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the Content-Type of the voucher: of the names of its type one that the registrar accepts.
    pub const fn voucher_type(&self) -> &'static str {
        self.voucher_type
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
