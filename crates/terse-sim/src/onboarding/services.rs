//! Registrar and MASA with what they remember: the decisions of [`terse_brski`], made as soon as they are asked for.
//!
//! What must always hold: a request is answered by the decisions, and by nothing else; a refusal of theirs is an answer.

use core::fmt;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::audit_log::AuditLog;
use terse_brski::certificate::{Idevid, SerialNumberField};
use terse_brski::coap::{content_format, multipart};
use terse_brski::digest::sha256;
use terse_brski::est::{CsrAttributes, decode_body, encode_body, encode_certs_only};
use terse_brski::http::Posted;
use terse_brski::masa::{self, Device, LogEntry, Masa};
use terse_brski::registrar::{
    self, Answer, AuditState, Decision, Forward, Gate, History, Joining, Manufacturer, MasaResponse, PledgeRequest,
    Registrar, Topic, check_certification_request,
};
use terse_tls::Credential;

use super::parties::Parties;
use super::step::Step;
use crate::Random;

/// A request of a pledge.
pub(super) struct Asked<'a> {
    pub(super) path: &'a str,
    pub(super) content_type: Option<&'a str>,
    pub(super) accept: Option<&'a str>,
    pub(super) body: &'a [u8],
    /// Whether it came over CoAPS.
    pub(super) is_constrained: bool,
}

/// The answer to it.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) status: u16,
    /// Empty if there is none.
    pub(super) content_type: &'static str,
    pub(super) retry_after: Option<u32>,
    pub(super) body: Vec<u8>,
}

impl Given {
    const fn content(content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status: 200, content_type, retry_after: None, body }
    }

    fn refused(status: u16, why: impl fmt::Display) -> Self {
        Self { status, content_type: "text/plain", retry_after: None, body: why.to_string().into() }
    }
}

/// Registrar and MASA.
pub(super) struct Services {
    parties: Parties,
    registrar: Registrar,
    masa: Masa,
    device: Device,
    log: Vec<LogEntry>,
    joining: Option<Joining>,
    random: Random,
}

impl Services {
    pub(super) fn new(parties: &Parties, random: Random) -> Result<Self, String> {
        let mut policy = registrar::Policy::default();
        let mut manufacturer = Manufacturer::new("Maker", vec![parties.manufacturer.to_vec()]);
        manufacturer.voucher_anchors = parties.masa.chain().first().map(|signer| signer.to_vec()).into_iter().collect();
        policy.manufacturers.push(manufacturer);
        let chain = own_chain(parties);
        let registrar = Registrar::new(&parties.provider, chain, policy).map_err(text)?;
        let anchors = core::slice::from_ref(&parties.manufacturer);
        let masa = Masa::new(&parties.provider, anchors, masa::Policy::default()).map_err(text)?;
        let leaf = parties.idevid.chain().first().ok_or("the IDevID has no certificate")?;
        let idevid = Idevid::read(&parties.provider, leaf, SerialNumberField::default()).map_err(text)?;
        let device = Device::new(idevid.serial_number, idevid.issuer.ok_or("the IDevID does not name its issuer")?);
        let parties = parties.clone();
        Ok(Self { parties, registrar, masa, device, log: Vec::new(), joining: None, random })
    }

    /// Answers a request of a pledge that has presented these certificates.
    pub(super) fn answer(&mut self, presented: &[CertificateDer<'_>], asked: &Asked<'_>, time: UnixTime) -> Given {
        let posted = Posted { content_type: asked.content_type, accept: asked.accept, body: asked.body };
        match Step::at(asked.path) {
            Some(Step::VoucherRequest) => self.request_voucher(presented, &posted, time),
            Some(Step::VoucherStatus) => self.status(Topic::Voucher, presented, &posted),
            Some(Step::EnrollmentStatus) => self.status(Topic::Enrolment, presented, &posted),
            Some(step) => match self.joining.as_ref().map(|joining| joining.gate(&self.parties.provider, presented)) {
                Some(Ok(Gate::Open)) => self.enroll(presented, step, asked),
                Some(Ok(Gate::Wait { retry_after })) => {
                    Given { status: 503, retry_after: Some(retry_after), ..Given::default() }
                }
                Some(Err(refusal)) => Given::refused(refusal.status(), refusal),
                None => Given::refused(403, "no voucher was requested"),
            },
            None => Given::refused(404, "there is no such resource"),
        }
    }

    fn request_voucher(&mut self, presented: &[CertificateDer<'_>], posted: &Posted<'_>, time: UnixTime) -> Given {
        let request = match self.registrar.read_voucher_request(presented, posted, time) {
            Ok(request) => request,
            Err(refusal) => return Given::refused(refusal.status(), refusal),
        };
        let forward = match self.registrar.decide(&request, None, time) {
            Ok(Decision::Forward(forward)) => forward,
            Ok(_) => return Given::refused(500, "the request was not forwarded"),
            Err(refusal) => return Given::refused(refusal.status(), refusal),
        };
        let (format, accept) = (forward.format, request.masa_accept());
        let voucher = self.sign_request(*forward, time).and_then(|signed| {
            let voucher = self.issue(format, accept, &signed, time)?;
            self.pass_on(&request, format, &signed, &voucher, time)
        });
        voucher.map_or_else(|why| Given::refused(502, why), |voucher| Given::content(format.media_type(), voucher))
    }

    /// Signs the request to the MASA.
    fn sign_request(&mut self, forward: Forward, time: UnixTime) -> Result<Vec<u8>, String> {
        let certificates = [own_chain(&self.parties), forward.enclosed].concat();
        let content = forward.format.encode_request(&forward.request);
        self.sign(&self.parties.registrar.clone(), forward.format, &certificates, &content, time)
    }

    /// Issues a voucher, as the MASA.
    fn issue(&mut self, format: Format, accept: &str, request: &[u8], time: UnixTime) -> Result<Vec<u8>, String> {
        let posted = Posted { content_type: Some(format.media_type()), accept: Some(accept), body: request };
        let request = self.masa.read_voucher_request(&posted, time).map_err(text)?;
        let context = masa::Context { device: Some(&self.device), log: &self.log, ..masa::Context::default() };
        let issuance = match self.masa.decide(&request, &context, time).map_err(text)? {
            masa::Decision::Issue(issuance) => issuance,
            masa::Decision::Repeat(voucher) => return Ok(voucher.to_vec()),
        };
        let content = format.encode_voucher(&issuance.voucher);
        let signer = self.parties.masa.clone();
        let voucher = self.sign(&signer, format, signer.chain(), &content, time)?;
        self.device.owner = Some(issuance.entry.key);
        self.log.push(issuance.entry);
        Ok(voucher)
    }

    /// Looks at the voucher and at the audit log, as the registrar. Returns what the pledge gets.
    fn pass_on(
        &mut self,
        request: &PledgeRequest,
        format: Format,
        signed: &[u8],
        voucher: &[u8],
        time: UnixTime,
    ) -> Result<Vec<u8>, String> {
        let content_type = Some(format.media_type());
        let response = MasaResponse { status: 200, content_type, retry_after: None, body: voucher };
        let Answer::Voucher(received) = self.registrar.read_masa_response(request, &response, time).map_err(text)?
        else {
            return Err("the MASA did not answer".into());
        };
        let posted = Posted { content_type, accept: None, body: signed };
        let asked = self.masa.read_audit_log_request(&posted, time).map_err(text)?;
        let log = self.masa.audit_log(&asked, &self.log).map_err(text)?.to_json();
        let log = AuditLog::from_json(&log, MAX_AUDIT_LOG).map_err(text)?;
        let own = received.findings.and_then(|findings| findings.domain_id).ok_or("the voucher pins no certificate")?;
        let history = History { domain_ids: &[&own], nonce: Some(request.nonce()), nonces: None, nonceless: &[] };
        let manufacturer = self.registrar.manufacturer(request).ok_or("the manufacturer is unknown")?;
        let audit = match manufacturer.audit.check(&log, &history) {
            Ok(()) => AuditState::Good,
            Err(_) => AuditState::Bad,
        };
        self.joining = Some(Joining { audit, ..Joining::new(*request.client()) });
        Ok(received.voucher)
    }

    fn sign(
        &mut self,
        signer: &Credential,
        format: Format,
        chain: &[CertificateDer<'_>],
        content: &[u8],
        time: UnixTime,
    ) -> Result<Vec<u8>, String> {
        let scheme = *signer.key().schemes().first().ok_or("the key has no signature scheme")?;
        let unsigned = Unsigned::new(format, &self.parties.provider, content, chain, scheme, time).map_err(text)?;
        unsigned.sign(signer.key(), &mut self.random).map_err(text)
    }

    fn status(&mut self, topic: Topic, presented: &[CertificateDer<'_>], posted: &Posted<'_>) -> Given {
        match self.registrar.read_status(topic, presented, posted, self.joining.as_ref()) {
            Ok(telemetry) => {
                self.joining = telemetry.joining.or(self.joining.take());
                Given { status: 200, ..Given::default() }
            }
            Err(refusal) => Given::refused(refusal.status(), refusal),
        }
    }

    fn enroll(&mut self, presented: &[CertificateDer<'_>], step: Step, asked: &Asked<'_>) -> Given {
        match (step, asked.is_constrained) {
            (Step::CaCertificates, true) => {
                let issuer_first = self.parties.domain.iter().rev();
                let parts: Vec<_> =
                    issuer_first.map(|certificate| (content_format::PKIX_CERT, certificate.as_ref())).collect();
                Given::content("application/multipart-core", multipart::encode(&parts))
            }
            (Step::CaCertificates, false) => {
                Given::content(CERTS_ONLY, encode_body(&encode_certs_only(&self.parties.domain)))
            }
            (Step::Enrollment, _) => match self.certify(presented, asked) {
                Ok(ldevid) if asked.is_constrained => Given::content("application/pkix-cert", ldevid.to_vec()),
                Ok(ldevid) => Given::content(CERTS_ONLY, encode_body(&encode_certs_only(&[ldevid]))),
                Err(why) => Given::refused(400, why),
            },
            (Step::CsrAttributes, false) => Given { status: 204, ..Given::default() },
            _ => Given::refused(404, "there is no such resource"),
        }
    }

    /// Issues the LDevID.
    fn certify(
        &mut self,
        presented: &[CertificateDer<'_>],
        asked: &Asked<'_>,
    ) -> Result<CertificateDer<'static>, String> {
        let idevid = presented.first().ok_or("there is no IDevID")?;
        let request = match asked.is_constrained {
            true => asked.body.to_vec(),
            false => decode_body(asked.body, "CertificationRequest").map_err(text)?,
        };
        check_certification_request(&request, &CsrAttributes::default()).map_err(text)?;
        let ldevid = self.parties.authority.issue(&request, idevid)?;
        let ldevid = ldevid.into_iter().next().ok_or("the CA has issued nothing")?;
        if let Some(joining) = &mut self.joining {
            joining.ldevid = Some(sha256(&self.parties.provider, &ldevid));
        }
        Ok(ldevid)
    }
}

/// Returns the certificates of the registrar up to the root of the domain, for the MASA to pin one of them.
fn own_chain(parties: &Parties) -> Vec<CertificateDer<'static>> {
    parties.registrar.chain().iter().chain(parties.domain.first()).cloned().collect()
}

fn text(cause: impl fmt::Display) -> String {
    cause.to_string()
}

/// The media type of certificates (RFC 7030, 4.1.3).
const CERTS_ONLY: &str = "application/pkcs7-mime; smime-type=certs-only";

/// The longest audit log that the registrar reads.
const MAX_AUDIT_LOG: usize = 16_384;
