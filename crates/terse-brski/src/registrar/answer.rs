//! Looks at the answer of a MASA before it goes to the pledge (RFC 8995, 5.6): unchanged, but in COSE without certificates.
//!
//! The pledge verifies its voucher itself. A registrar looks for two reasons: to tell people what was issued, and not to
//! pass on what is certainly for another request.
//!
//! What must always hold: no answer is longer than a pledge reads; a voucher that can be read is for this serial number and
//! this nonce.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::Trust;

use super::{Manufacturer, PledgeRequest, Refusal, Registrar};
use crate::artefact::{Format, Signed};
use crate::certificate::{domain_id, is_same_issuer, is_unprintable, public_key, same_key};
use crate::digest::public_key_sha256;
use crate::http::is_named;
use crate::voucher::{Assertion, MAX_LEN, Nonce, Pin, Voucher};
use crate::{Malformed, cose, voucher_signer};

/// The response of a MASA to a voucher request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MasaResponse<'a> {
    /// The status.
    pub status: u16,
    /// Content-Type.
    pub content_type: Option<&'a str>,
    /// Retry-After, in seconds.
    pub retry_after: Option<u64>,
    /// The body.
    pub body: &'a [u8],
}

/// What a response means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The body is a voucher, which goes to the pledge.
    Voucher(ReceivedVoucher),
    /// The MASA cannot answer now: the pledge waits for this many seconds, and the same request is sent again.
    Later {
        /// The seconds, at most 60.
        retry_after: u32,
    },
}

/// A voucher as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedVoucher {
    /// The Content-Type for the pledge.
    pub content_type: String,
    /// What it says, or `None` if it is of a type that is not understood here.
    pub findings: Option<Findings>,
    /// What the pledge gets: the voucher as it came, or in COSE without the certificates in its unprotected header, which are
    /// for the registrar alone (draft-ietf-anima-constrained-voucher-31).
    pub voucher: Vec<u8>,
}

/// The device and the request that a voucher must be for.
pub(super) struct Expected<'a> {
    pub(super) format: Format,
    pub(super) serial_number: &'a str,
    pub(super) idevid_issuer: Option<&'a [u8]>,
    pub(super) nonce: Option<&'a Nonce>,
}

/// What a voucher says, for the audit log and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Its assertion.
    pub assertion: Assertion,
    /// Whether it has the nonce of the request. One without a nonce can be used again (RFC 8995, 5.8.3).
    pub has_nonce: bool,
    /// expires-on.
    pub expires_on: Option<UnixTime>,
    /// Whether it pins a certificate or key of this registrar's chain. Otherwise the pledge will refuse this registrar.
    pub pins_own_chain: bool,
    /// The domainID of the certificate that it pins, or of that of this registrar's chain whose key it pins.
    pub domain_id: Option<Vec<u8>>,
    /// Whether its signer is one of [`Manufacturer::voucher_anchors`], or leads to one as a voucher signer does; or `None` if there are
    /// none.
    pub signer_is_known: Option<bool>,
}

impl Registrar {
    /// Looks at the response of the MASA to the request that was forwarded for `request`.
    pub fn read_masa_response(
        &self,
        request: &PledgeRequest,
        response: &MasaResponse<'_>,
        time: UnixTime,
    ) -> Result<Answer, Refusal> {
        if let Some(answer) = response.without_voucher() {
            return answer;
        }
        if response.body.len() > MAX_LEN {
            return Err(Refusal::VoucherTooLong);
        }
        let manufacturer = self.manufacturer(request).ok_or(Refusal::UnknownManufacturer)?;
        let content_type = response.content_type.ok_or(Refusal::VoucherType)?;
        if Format::of_media_type(Some(content_type)) != Some(request.format()) {
            // The pledge must have asked for exactly this type.
            let is_accepted = is_named(request.accept(), content_type) && content_type.len() <= MAX_TYPE_LEN;
            return match manufacturer.opaque_vouchers && is_accepted {
                true => {
                    let (content_type, voucher) = (content_type.into(), response.body.into());
                    Ok(Answer::Voucher(ReceivedVoucher { content_type, findings: None, voucher }))
                }
                false => Err(Refusal::VoucherType),
            };
        }
        let expected = Expected {
            format: request.format(),
            serial_number: &request.idevid().serial_number,
            idevid_issuer: None,
            nonce: Some(request.nonce()),
        };
        let findings = Some(self.read_voucher(manufacturer, &expected, response.body, time)?);
        let voucher = for_pledge(request.format(), response.body).map_err(Refusal::Voucher)?;
        Ok(Answer::Voucher(ReceivedVoucher { content_type: request.voucher_type().into(), findings, voucher }))
    }

    /// Reads a voucher, which must be for this device: for this issuer if both name one, and for no other nonce.
    pub(super) fn read_voucher(
        &self,
        manufacturer: &Manufacturer,
        expected: &Expected<'_>,
        body: &[u8],
        time: UnixTime,
    ) -> Result<Findings, Refusal> {
        let anchors: Vec<_> =
            manufacturer.voucher_anchors.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let Expected { format, serial_number, idevid_issuer, nonce } = *expected;
        let signed = format.verify(&self.provider, body, &anchors).map_err(Refusal::VoucherSignature)?;
        let voucher = format.read_voucher(&signed.content).map_err(Refusal::Voucher)?;
        let is_for_nonce = voucher.nonce.as_ref().is_none_or(|own| Some(own) == nonce);
        let issuers = voucher.idevid_issuer.as_deref().zip(idevid_issuer);
        let is_of_issuer = issuers.is_none_or(|(own, wanted)| is_same_issuer(own, wanted));
        if voucher.serial_number != serial_number || !is_for_nonce || !is_of_issuer {
            return Err(Refusal::OtherVoucher);
        }
        Ok(self.findings(&voucher, self.is_known_signer(manufacturer, &anchors, &signed, time)))
    }

    fn findings(&self, voucher: &Voucher, signer_is_known: Option<bool>) -> Findings {
        let domain_id_of = |pin: &Pin| match pin {
            Pin::Certificate(certificate) => domain_id(&self.provider, certificate).ok(),
            Pin::PublicKey(_) | Pin::PublicKeySha256(_) => domain_id(&self.provider, self.pinned_by(pin)?).ok(),
        };
        Findings {
            assertion: voucher.assertion,
            has_nonce: voucher.nonce.is_some(),
            expires_on: voucher.expires_on,
            pins_own_chain: voucher.pins.iter().any(|pin| self.pinned_by(pin).is_some()),
            domain_id: voucher.pins.iter().find_map(domain_id_of),
            signer_is_known,
        }
    }

    /// Returns the certificate of the own chain that is pinned, or whose key is.
    fn pinned_by(&self, pin: &Pin) -> Option<&CertificateDer<'static>> {
        self.chain.iter().find(|own| match pin {
            Pin::Certificate(certificate) => certificate == *own,
            Pin::PublicKey(key) => public_key(own).is_ok_and(|own| own == &**key),
            Pin::PublicKeySha256(hash) => public_key_sha256(&self.provider, own).is_ok_and(|own| own == *hash),
        })
    }

    /// Whether the signer of a voucher is known as the pledge knows it: its key is that of an anchor, or it leads to one that is no CA
    /// of devices.
    fn is_known_signer(
        &self,
        manufacturer: &Manufacturer,
        anchors: &[CertificateDer<'_>],
        signed: &Signed,
        time: UnixTime,
    ) -> Option<bool> {
        let signer = (!manufacturer.voucher_anchors.is_empty()).then(|| signed.chain.first())?;
        let is_anchor = signer.is_some_and(|signer| anchors.iter().any(|anchor| same_key(anchor, signer)));
        let leads_there = || {
            let has_devices = |anchor: &CertificateDer<'_>| manufacturer.anchors.iter().any(|ca| same_key(ca, anchor));
            let of_signers: Vec<_> = anchors.iter().filter(|anchor| !has_devices(anchor)).cloned().collect();
            let trust = Trust::new(&of_signers);
            trust.is_ok_and(|trust| voucher_signer::check(&self.provider, &trust, &signed.chain, Some(time)).is_ok())
        };
        Some(is_anchor || leads_there())
    }
}

impl MasaResponse<'_> {
    /// Returns what the response means by its status, or `None` if that says that the body is a voucher.
    pub(super) fn without_voucher(&self) -> Option<Result<Answer, Refusal>> {
        match self.status {
            200 => None,
            // RFC 8995, 5.6: not done yet; and what passes by itself (RFC 9110, 15.5.9 and 15.6; RFC 6585, 4).
            202 | 408 | 429 | 500..=599 => Some(Ok(self.later())),
            status => Some(Err(Refusal::Masa(status))),
        }
    }

    /// The MASA cannot answer now: the pledge comes again when the MASA says, but waits no longer than pledges do.
    fn later(&self) -> Answer {
        let retry_after = self
            .retry_after
            .map_or(RETRY_SECONDS, |seconds| u32::try_from(seconds).unwrap_or(u32::MAX).clamp(1, MAX_RETRY_SECONDS));
        Answer::Later { retry_after }
    }
}

/// Returns a voucher as the pledge gets it.
fn for_pledge(format: Format, voucher: &[u8]) -> Result<Vec<u8>, Malformed> {
    match format {
        Format::CmsJson => Ok(voucher.into()),
        Format::CoseCbor => cose::without_certificates(voucher),
    }
}

/// Returns the text for people in the body of an error (RFC 8995, 5.6), or `None` if it is none: no UTF-8, too long to be
/// read, or with line breaks, other control characters or marks of direction, which could deceive who reads a log.
pub fn text_for_people(body: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(body).ok()?.trim();
    let is_plain = !text.chars().any(is_unprintable);
    (is_plain && !text.is_empty() && text.len() <= MAX_TEXT_LEN).then_some(text)
}

/// How long a pledge waits for a MASA that cannot answer now, and does not say how long that takes.
const RETRY_SECONDS: u32 = 30;

/// The longest time that a pledge waits (RFC 8995, 5.6).
const MAX_RETRY_SECONDS: u32 = 60;

/// The longest Content-Type that is passed on.
const MAX_TYPE_LEN: usize = 128;

/// The longest text of an error.
const MAX_TEXT_LEN: usize = 1_024;
