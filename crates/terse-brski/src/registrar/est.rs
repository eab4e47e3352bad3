//! Who may enrol, and which certification requests are taken (RFC 8995, 5.8.3 and 5.9; RFC 7030, 4.2).
//!
//! What must always hold: a device with an IDevID enrols only after its voucher and its audit log are good; one with an
//! LDevID only for the names that it has. The signature of a certification request is verified by the CA.

use der::Decode;
use der::Encode;
use der::asn1::ObjectIdentifier;
use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Expect, Trust};
use x509_cert::Certificate;
use x509_cert::ext::Extension;
use x509_cert::request::{CertReq, ExtensionReq};

use super::{AuditState, Joining, Refusal};
use crate::Malformed;
use crate::digest::sha256;
use crate::est::{CsrAttributes, NotAsAsked};
use crate::voucher::MAX_LEN;

/// Whether EST is open for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is.
    Open,
    /// The audit log has not come yet: the device repeats its request after this many seconds (RFC 7030, 4.2.3).
    Wait {
        /// The seconds.
        retry_after: u32,
    },
}

impl Joining {
    /// Whether EST is open for the client that has presented this chain. It must be the one with the voucher.
    pub fn gate(&self, provider: &CryptoProvider, presented: &[CertificateDer<'_>]) -> Result<Gate, Refusal> {
        let shown = presented.first().ok_or(Refusal::NoCertificate)?;
        if sha256(provider, shown) != self.idevid {
            return Err(Refusal::OtherClient);
        }
        match (self.voucher_status, self.audit) {
            (Some(false), _) => Err(Refusal::VoucherRejected),
            (None, _) => Err(Refusal::NoVoucherStatus),
            (_, AuditState::Bad) => Err(Refusal::AuditLog),
            (_, AuditState::Requested) => Ok(Gate::Wait { retry_after: RETRY_SECONDS }),
            (Some(true), AuditState::Good) => Ok(Gate::Open),
        }
    }
}

/// Checks that a certification request, DER, is as the CSR attributes asked (RFC 8995, 5.9.2), and that it asks for no name
/// beyond that. Without a subject in `attributes`, that of the request does not count: the domain decides it.
pub fn check_certification_request(request: &[u8], attributes: &CsrAttributes) -> Result<(), Refusal> {
    check_asked(request, attributes)
}

/// Checks a re-enrolment (RFC 7030, 4.2.2): the client has authenticated itself by an LDevID of the domain, and asks for the
/// subjectAltName that it has. The subject of the request does not count: the domain decides it. `domain` has the anchors of the
/// domain, and its CRLs if it has any.
pub fn check_reenrolment(
    provider: &CryptoProvider,
    domain: &Trust,
    presented: &[CertificateDer<'_>],
    request: &[u8],
    time: UnixTime,
) -> Result<(), Refusal> {
    let current = presented.first().ok_or(Refusal::NoCertificate)?;
    domain.check(provider, presented, Expect::Client, Some(time)).map_err(Refusal::Ldevid)?;
    let malformed = |_| Refusal::CertificationRequest(NotAsAsked::Malformed(Malformed::Der("certificate")));
    let fields = Certificate::from_der(current).map_err(malformed)?;
    let names = fields.tbs_certificate().extensions().and_then(|extensions| names(extensions));
    let mut asked = CsrAttributes::default();
    asked.extensions.extend(names.map(Encode::to_der).transpose().map_err(malformed)?);
    check_asked(request, &asked)
}

/// Checks that a certification request has what was asked for, and no names that were not.
fn check_asked(request: &[u8], asked: &CsrAttributes) -> Result<(), Refusal> {
    if request.len() > MAX_LEN {
        return Err(Refusal::CertificationRequest(NotAsAsked::Malformed(Malformed::TooLong(MAX_LEN))));
    }
    asked.check(request).map_err(Refusal::CertificationRequest)?;
    let malformed = |_| Refusal::CertificationRequest(NotAsAsked::Malformed(Malformed::Der("CertificationRequest")));
    let parsed = CertReq::from_der(request).map_err(malformed)?;
    let mut has_names = false;
    for attribute in parsed.info.attributes.iter().filter(|attribute| attribute.oid == EXTENSION_REQUEST) {
        for value in attribute.values.iter() {
            let extensions = value.decode_as::<ExtensionReq>().map_err(malformed)?;
            has_names |= names(&extensions.0).is_some();
        }
    }
    let mut asked = asked.extensions.iter().filter_map(|extension| Extension::from_der(extension).ok());
    let is_asked = asked.any(|extension| extension.extn_id == SUBJECT_ALT_NAME);
    if has_names && !is_asked { Err(Refusal::NameNotAsked) } else { Ok(()) }
}

fn names(extensions: &[Extension]) -> Option<&Extension> {
    extensions.iter().find(|extension| extension.extn_id == SUBJECT_ALT_NAME)
}

/// pkcs-9-at-extensionRequest (RFC 2985, 5.4.2).
const EXTENSION_REQUEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");

/// id-ce-subjectAltName (RFC 5280, 4.2.1.6).
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// Retry-After while the audit log is on its way.
const RETRY_SECONDS: u32 = 5;
