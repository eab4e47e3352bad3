//! Verifies a pledge's voucher request (RFC 8995, 5.2, 5.3 and 5.5): what can be said about it without any record.
//!
//! What must always hold: a [`PledgeRequest`] was signed by the IDevID that the pledge has shown in this connection, which
//! leads to a trusted manufacturer; it names the certificate that the registrar has shown.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::CertificateError;

use super::{Refusal, Registrar};
use crate::artefact::{Format, Signed};
use crate::certificate::{Idevid, SerialNumberField, public_key, with_issuers};
use crate::cose;
use crate::devices::IdevidRefused;
use crate::digest::{Sha256, public_key_sha256, sha256};
use crate::http::{Acceptance, Posted, is_named};
use crate::voucher::{Assertion, Nonce, Pin, VoucherRequest};

impl Registrar {
    /// Verifies a request. `presented` is the chain that the pledge has presented in the connection, leaf first.
    pub fn read_voucher_request(
        &self,
        presented: &[CertificateDer<'_>],
        posted: &Posted<'_>,
        time: UnixTime,
    ) -> Result<PledgeRequest, Refusal> {
        let format = Format::of_media_type(posted.content_type).ok_or(Refusal::ContentType)?;
        let leaf = presented.first().ok_or(Refusal::NoCertificate)?;
        let Identified { manufacturer, anchor, idevid } = self.identify(presented, time)?;
        let (acceptance, voucher_type) = format.acceptance(posted);
        self.check_accept(manufacturer, acceptance)?;
        let signed = self.verify(format, posted.body, presented).map_err(Refusal::Signature)?;
        if signed.chain.first().is_none_or(|signer| **signer != **leaf) {
            return Err(Refusal::OtherSigner);
        }
        let fields = format.read_request(&signed.content).map_err(Refusal::Request)?;
        if fields.serial_number != idevid.serial_number {
            return Err(Refusal::SerialNumber);
        }
        self.check_proximity(&fields)?;
        Ok(PledgeRequest {
            sha256: signed.identity(&self.provider, format).map_err(Refusal::Request)?,
            client: sha256(&self.provider, leaf),
            certificate: leaf.clone().into_owned(),
            manufacturer,
            idevid,
            nonce: fields.nonce.ok_or(Refusal::NoNonce)?,
            body: posted.body.into(),
            accept: posted.accept.map(Into::into),
            format,
            voucher_type,
            enclosed: match format {
                Format::CmsJson => Vec::new(), // they are part of the pledge's request
                Format::CoseCbor => idevid_chain(leaf, presented, anchor),
            },
        })
    }

    /// Verifies the signature of a pledge's request. In COSE it is that of the IDevID in the connection, and certificates that
    /// came with the request are ignored (draft-ietf-anima-constrained-voucher-31).
    fn verify(
        &self,
        format: Format,
        body: &[u8],
        presented: &[CertificateDer<'_>],
    ) -> Result<Signed, crate::SignatureRefused> {
        match format {
            Format::CmsJson => format.verify(&self.provider, body, presented),
            Format::CoseCbor => {
                let own = presented.get(..1).unwrap_or_default();
                cose::Signed::verify_by(&self.provider, body, own).map(Into::into)
            }
        }
    }

    fn check_accept(&self, manufacturer: usize, acceptance: Acceptance) -> Result<(), Refusal> {
        match acceptance {
            Acceptance::Accepted => Ok(()),
            // The MASA may have other types than are understood here.
            _ if self.policy.manufacturers.get(manufacturer).is_some_and(|own| own.opaque_vouchers) => Ok(()),
            Acceptance::NotAcceptable => Err(Refusal::NotAcceptable),
            Acceptance::NotUnderstood => Err(Refusal::AcceptNotUnderstood),
        }
    }

    /// Finds the manufacturer of a device, and reads its IDevID.
    fn identify(&self, presented: &[CertificateDer<'_>], time: UnixTime) -> Result<Identified, Refusal> {
        let manufacturer = |anchor: usize| self.manufacturers.get(anchor).copied();
        let field = |anchor| {
            let manufacturer = manufacturer(anchor).and_then(|index| self.policy.manufacturers.get(index));
            manufacturer.map_or(SerialNumberField::default(), |manufacturer| manufacturer.serial_number_field)
        };
        let verified =
            self.anchors.verify(&self.provider, presented, field, time).map_err(|refused| match refused {
                IdevidRefused::Path(CertificateError::UnknownIssuer) => Refusal::UnknownManufacturer,
                IdevidRefused::Path(error) => Refusal::Idevid(error),
                IdevidRefused::Field(malformed) => Refusal::IdevidField(malformed),
            })?;
        let manufacturer = manufacturer(verified.anchor).ok_or(Refusal::UnknownManufacturer)?;
        Ok(Identified { manufacturer, anchor: self.anchor(verified.anchor), idevid: verified.idevid })
    }

    /// Checks that the pledge saw this registrar in the connection (RFC 8995, 5.2).
    fn check_proximity(&self, fields: &VoucherRequest) -> Result<(), Refusal> {
        if fields.assertion != Some(Assertion::Proximity) || fields.proximity_registrar.is_empty() {
            return Err(Refusal::NoProximity);
        }
        let own = self.chain.first().ok_or(Refusal::OtherRegistrar)?;
        let is_own = |pin: &Pin| match pin {
            Pin::Certificate(certificate) => **certificate == **own,
            Pin::PublicKey(key) => public_key(own).is_ok_and(|own| own == &**key),
            Pin::PublicKeySha256(hash) => public_key_sha256(&self.provider, own).is_ok_and(|own| own == *hash),
        };
        if fields.proximity_registrar.iter().all(is_own) { Ok(()) } else { Err(Refusal::OtherRegistrar) }
    }
}

/// Returns the path of an IDevID up to the anchor to which it leads.
fn idevid_chain(
    leaf: &CertificateDer<'_>,
    presented: &[CertificateDer<'_>],
    anchor: Option<CertificateDer<'static>>,
) -> Vec<CertificateDer<'static>> {
    let mut others: Vec<_> = presented.iter().map(|one| one.clone().into_owned()).collect();
    others.extend(anchor);
    with_issuers(Vec::from([leaf.clone().into_owned()]), &others)
}

/// What is known of a device by its IDevID.
struct Identified {
    manufacturer: usize,
    anchor: Option<CertificateDer<'static>>,
    idevid: Idevid,
}

/// A pledge's voucher request that was verified.
#[derive(Clone, Debug)]
pub struct PledgeRequest {
    sha256: Sha256,
    client: Sha256,
    certificate: CertificateDer<'static>,
    pub(super) manufacturer: usize,
    idevid: Idevid,
    nonce: Nonce,
    body: Vec<u8>,
    accept: Option<String>,
    format: Format,
    voucher_type: &'static str,
    /// The certificates that a MASA needs besides the registrar's.
    pub(super) enclosed: Vec<CertificateDer<'static>>,
}

impl PledgeRequest {
    /// Returns the SHA-256 of what was signed and by which key, by which a [`RequestRecord`](super::RequestRecord) is found.
    pub const fn sha256(&self) -> &Sha256 {
        &self.sha256
    }

    /// Returns the SHA-256 of the pledge's IDevID, by which a [`Joining`](super::Joining) is found.
    pub const fn client(&self) -> &Sha256 {
        &self.client
    }

    /// Returns the pledge's IDevID.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns the fields of the IDevID. A serial number is unique for its issuer alone.
    pub const fn idevid(&self) -> &Idevid {
        &self.idevid
    }

    /// Returns the nonce.
    pub const fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// Returns the request as it came.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the Accept of the request.
    pub fn accept(&self) -> Option<&str> {
        self.accept.as_deref()
    }

    /// Returns the Accept for the MASA. It is that of the pledge (RFC 8995, 5.5); but vouchers in COSE are asked for by the
    /// name of today.
    pub fn masa_accept(&self) -> &str {
        let is_passed_on = |accept: &&str| match self.format {
            Format::CmsJson => true,
            Format::CoseCbor => {
                let posted = Posted { content_type: None, accept: Some(accept), body: &[] };
                let is_other = self.format.acceptance(&posted).0 != Acceptance::Accepted;
                is_other || is_named(Some(accept), self.format.media_type())
            }
        };
        self.accept().filter(is_passed_on).unwrap_or(self.format.media_type())
    }

    /// Returns the form of the request, which that to the MASA and the voucher have, too.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the Content-Type of a voucher of this form: of the names of its type one that the pledge accepts.
    pub const fn voucher_type(&self) -> &'static str {
        self.voucher_type
    }
}
