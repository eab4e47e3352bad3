//! Decides on a pledge's voucher request that was verified: an answer, a wait, or a request to the MASA (RFC 8995, 5.3, 5.5
//! and 5.6).
//!
//! What must always hold: the same request of a pledge goes to the MASA as the same request of the registrar, so that it
//! has one voucher and one entry in the audit log; no pledge waits for an operator for longer than it would ask.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};

use super::{Devices, Manufacturer, MasaUrl, PledgeRequest, Refusal, Registrar, RequestRecord, RequestState};
use crate::artefact::Format;
use crate::stored::after;
use crate::voucher::{Assertion, VoucherRequest};

/// What is done about a pledge's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// The pledge gets this stored voucher: 200.
    Answer {
        /// The Content-Type.
        content_type: &'a str,
        /// The voucher.
        voucher: &'a [u8],
    },
    /// The pledge is told to repeat its request: 202, with this many seconds as Retry-After.
    Wait {
        /// The seconds, at most 60.
        retry_after: u32,
        /// The record to store first, if the request is new.
        record: Option<RequestRecord>,
    },
    /// The MASA is asked.
    Forward(Box<Forward>),
    /// The MASA was asked and has not answered for a minute, or could not be reached: the same is sent again, and the time of
    /// that is stored.
    Resend {
        /// Where to.
        masa: MasaUrl,
        /// The registrar's voucher request, signed.
        registrar_request: &'a [u8],
    },
}

/// A request to a MASA. It is signed, and stored as [`RequestState::Forwarded`] before it is sent. The Content-Type is that
/// of its form ([`Format::media_type`]), and Accept is [`PledgeRequest::masa_accept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Where to.
    pub masa: MasaUrl,
    /// The registrar's voucher request, which must be signed, with the certificates that the MASA may pin.
    pub request: VoucherRequest,
    /// Its form.
    pub format: Format,
    /// The certificates that go with it besides the registrar's.
    pub enclosed: Vec<CertificateDer<'static>>,
}

impl Registrar {
    /// Decides on a request. `record` is that of the same request, if it came before.
    pub fn decide<'a>(
        &self,
        request: &PledgeRequest,
        record: Option<&'a RequestRecord>,
        time: UnixTime,
    ) -> Result<Decision<'a>, Refusal> {
        let record = record.filter(|record| record.request == *request.sha256());
        match record.map(|record| (record, &record.state)) {
            Some((_, RequestState::Answered { content_type, voucher, .. })) => {
                // The same bytes may have come by another name of their type.
                let is_of_form = Format::of_media_type(Some(content_type)) == Some(request.format());
                let content_type = if is_of_form { request.voucher_type() } else { content_type };
                Ok(Decision::Answer { content_type, voucher })
            }
            Some((_, RequestState::Rejected)) => Err(Refusal::Rejected),
            Some((_, RequestState::Allowed)) => self.forward(request, time),
            Some((_, RequestState::Forwarded { sent, .. })) if time <= after(*sent, ANSWER_SECONDS) => {
                Ok(Decision::Wait { retry_after: SHORT_RETRY, record: None })
            }
            Some((_, RequestState::Forwarded { created_on, .. })) if time > after(*created_on, FRESH_SECONDS) => {
                self.forward(request, time)
            }
            Some((_, RequestState::Forwarded { registrar_request, .. })) => {
                Ok(Decision::Resend { masa: self.masa(request)?, registrar_request })
            }
            Some((record, RequestState::AwaitingOperator)) if time > after(record.received, PATIENCE_SECONDS) => {
                Err(Refusal::NotDecided)
            }
            Some((_, RequestState::AwaitingOperator)) => match self.is_listed(request) {
                Ok(true) => self.forward(request, time), // it was listed meanwhile
                Ok(false) => Ok(Decision::Wait { retry_after: LONG_RETRY, record: None }),
                Err(refusal) => Err(refusal),
            },
            None if self.is_listed(request)? => self.forward(request, time),
            None => {
                self.masa(request)?; // an operator is not asked for what would then fail
                let (request, state) = (*request.sha256(), RequestState::AwaitingOperator);
                let record = RequestRecord { request, received: time, state };
                Ok(Decision::Wait { retry_after: LONG_RETRY, record: Some(record) })
            }
        }
    }

    /// Returns whether the device may join without an operator, or fails if it may not join at all.
    fn is_listed(&self, request: &PledgeRequest) -> Result<bool, Refusal> {
        let is_in = |serials: &[_]| serials.contains(&request.idevid().serial_number);
        match &self.manufacturer(request).ok_or(Refusal::UnknownManufacturer)?.devices {
            Devices::All => Ok(true),
            Devices::Listed(serials) if is_in(serials) => Ok(true),
            Devices::Listed(_) => Err(Refusal::UnknownDevice),
            Devices::ListedOrAsked(serials) => Ok(is_in(serials)),
        }
    }

    fn forward(&self, request: &PledgeRequest, time: UnixTime) -> Result<Decision<'static>, Refusal> {
        // RFC 8995, 5.5: everything else is left out, above all proximity-registrar-cert.
        let mut fields = VoucherRequest::new(request.idevid().serial_number.clone());
        fields.created_on = Some(time);
        fields.assertion = Some(Assertion::Proximity); // as the pledge's, which was checked
        fields.nonce = Some(request.nonce().clone());
        fields.idevid_issuer = request.idevid().issuer.clone().map(Vec::into_boxed_slice);
        fields.prior_signed_voucher_request = Some(request.body().into());
        let (masa, format, enclosed) = (self.masa(request)?, request.format(), request.enclosed.clone());
        Ok(Decision::Forward(Box::new(Forward { masa, request: fields, format, enclosed })))
    }

    fn masa(&self, request: &PledgeRequest) -> Result<MasaUrl, Refusal> {
        let manufacturer = self.manufacturer(request).ok_or(Refusal::UnknownManufacturer)?;
        self.masa_of(manufacturer, request.idevid().masa_url.as_deref())
    }

    /// Returns where the MASA of a device is whose request was answered before: for its audit log. `masa_url` is what its
    /// IDevID says.
    pub fn masa_url(&self, manufacturer: &str, masa_url: Option<&str>) -> Result<MasaUrl, Refusal> {
        self.masa_of(self.manufacturer_named(manufacturer)?, masa_url)
    }

    fn masa_of(&self, manufacturer: &Manufacturer, masa_url: Option<&str>) -> Result<MasaUrl, Refusal> {
        if let Some(url) = &manufacturer.masa_url {
            return MasaUrl::configured(url).map_err(|_| Refusal::NoMasaUrl); // `Registrar::new` has checked it
        }
        MasaUrl::of_idevid(masa_url.ok_or(Refusal::NoMasaUrl)?, &self.policy.own_names).map_err(Refusal::MasaUrl)
    }
}

/// How long a MASA may take before it is asked again.
const ANSWER_SECONDS: u64 = 60;

/// How long the same request is sent to a MASA again: it may refuse an old one as stale.
const FRESH_SECONDS: u64 = 12 * 3_600;

/// How long a pledge waits at most (RFC 8995, 5.6).
const PATIENCE_SECONDS: u64 = 4 * 86_400;

/// Retry-After while an operator is asked: a pledge waits no longer than this (RFC 8995, 5.6).
const LONG_RETRY: u32 = 60;

/// Retry-After while the MASA is asked.
const SHORT_RETRY: u32 = 5;
