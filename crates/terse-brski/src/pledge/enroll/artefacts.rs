//! The requests of an enrollment, and what their responses say (RFC 8995, 5.7 and 5.9; RFC 7030, 4).

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use terse_tls::crypto::SigningKey;
use terse_tls::{Credential, Trust};

use crate::est::{CsrAttributes, UnsignedRequest, decode_body, decode_certs_only};
use crate::pledge::certificates::CaCertificates;
use crate::pledge::command::{Identity, Method, Request};
use crate::pledge::context::{Context, Signature};
use crate::pledge::failure::EnrollmentFailed;
use crate::pledge::http::Response;
use crate::telemetry::Status;
use crate::voucher::MAX_LEN;
use crate::{Malformed, SignatureRefused, certificate};

/// Returns the status of a voucher, with the reason if it was refused (RFC 8995, 5.7).
pub(in crate::pledge) fn voucher_status(status: Result<(), &'static str>) -> Request {
    report(VOUCHER_STATUS, status)
}

/// Returns the status of an enrollment, with the reason if it has failed (RFC 8995, 5.9.4).
pub(super) fn enroll_status(status: Result<(), &'static str>) -> Request {
    report(ENROLL_STATUS, status)
}

fn report(path: &'static str, status: Result<(), &'static str>) -> Request {
    Request {
        method: Method::Post,
        path: path.into(),
        content_type: Some(JSON_TYPE),
        accept: None,
        body: Status::new(status.is_ok(), status.err().map(Into::into)).to_json().into(),
        max_response: MAX_LEN, // it is ignored
    }
}

/// Returns the CA Certificates Request (RFC 7030, 4.1.2).
pub(super) fn request_ca_certs(cx: &Context<'_>) -> Request {
    get(cx, CA_CERTS, CERTS_ONLY_TYPE)
}

/// Returns the CSR Attributes Request (RFC 7030, 4.5.1).
pub(super) fn request_csr_attributes(cx: &Context<'_>) -> Request {
    get(cx, CSR_ATTRIBUTES, CSR_ATTRIBUTES_TYPE)
}

/// Returns the Simple Enroll request (RFC 7030, 4.2.1) with this body.
pub(super) fn simple_enroll(cx: &Context<'_>, body: &Arc<[u8]>) -> Request {
    let method = Method::Post;
    Request { method, content_type: Some(REQUEST_TYPE), body: body.clone(), ..get(cx, SIMPLE_ENROLL, CERTS_ONLY_TYPE) }
}

fn get(cx: &Context<'_>, path: &'static str, accept: &'static str) -> Request {
    Request {
        method: Method::Get,
        path: path.into(),
        content_type: None,
        accept: Some(accept),
        body: Arc::default(),
        max_response: cx.config.max_response,
    }
}

/// Reads the CA Certificates Response (RFC 7030, 4.1.3). Without one, the pinned certificate remains the trust anchor.
pub(super) fn ca_certificates(
    cx: &Context<'_>,
    response: &Response<'_>,
    pinned: Option<&CertificateDer<'static>>,
) -> Result<CaCertificates, EnrollmentFailed> {
    let certificates = match response.status {
        200 => certs_only(cx, response).map_err(EnrollmentFailed::CaCertificates)?,
        204 | 404 => Vec::new(),
        status => return Err(EnrollmentFailed::Refused(status)),
    };
    CaCertificates::new(certificates, pinned)
}

/// Reads the CSR Attributes Response; 204 and 404 say that there are none (RFC 7030, 4.5.2).
pub(super) fn csr_attributes(cx: &Context<'_>, response: &Response<'_>) -> Result<CsrAttributes, EnrollmentFailed> {
    match response.status {
        200 => body(cx, response, CSR_ATTRIBUTES_TYPE, "CSR attributes")
            .and_then(|der| CsrAttributes::from_der(&der))
            .map_err(EnrollmentFailed::CsrAttributes),
        204 | 404 => Ok(CsrAttributes::default()),
        status => Err(EnrollmentFailed::Refused(status)),
    }
}

/// Reads the Simple Enroll response (RFC 7030, 4.2.3) to a request for this key. Returns the LDevID, and the trust in the
/// domain.
pub(super) fn credential(
    cx: &Context<'_>,
    response: &Response<'_>,
    ca: &CaCertificates,
    key: Arc<dyn SigningKey>,
) -> Result<(Credential, Trust), EnrollmentFailed> {
    if response.status != 200 {
        return Err(EnrollmentFailed::Refused(response.status));
    }
    let certificates = certs_only(cx, response).map_err(EnrollmentFailed::Certificate)?;
    let trust = ca.trust()?;
    let credential = ca.credential(&cx.config.provider, &trust, certificates, key, cx.date())?;
    Ok((credential, trust))
}

/// Makes the certification request (RFC 8995, 5.9.2 and 5.9.3): what the registrar asks for, and else the subject of the
/// IDevID.
pub(super) fn sign_request(
    cx: &mut Context<'_>,
    attributes: &CsrAttributes,
    key: &dyn SigningKey,
) -> Result<(UnsignedRequest, Signature), EnrollmentFailed> {
    let own = cx.config.idevid.chain().first().map(|leaf| certificate::subject(leaf)).transpose();
    let own = own.map_err(|malformed| EnrollmentFailed::Request(malformed.into()))?;
    let subject = attributes.subject.as_deref().or(own).unwrap_or_default();
    let mut refused = SignatureRefused::Algorithm;
    for scheme in key.schemes() {
        let unsigned = match UnsignedRequest::new(subject, key, *scheme, &attributes.extensions) {
            Ok(unsigned) => unsigned,
            Err(error) => {
                refused = error;
                continue;
            }
        };
        let signature = cx.sign(key, Identity::Ldevid, *scheme, unsigned.message());
        let signature = signature.map_err(|error| EnrollmentFailed::Request(SignatureRefused::Crypto(error)))?;
        return Ok((unsigned, signature));
    }
    Err(EnrollmentFailed::Request(refused))
}

/// Reads a body with certificates.
fn certs_only(cx: &Context<'_>, response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed> {
    decode_certs_only(&body(cx, response, CERTS_ONLY_TYPE, "certificates")?)
}

/// Reads a body of EST: base64 of DER, of the media type that is due. A Content-Transfer-Encoding is ignored (RFC 8995, 6).
fn body(cx: &Context<'_>, response: &Response<'_>, media_type: &str, what: &'static str) -> Result<Vec<u8>, Malformed> {
    if response.body.len() > cx.config.max_response {
        return Err(Malformed::TooLong(cx.config.max_response));
    }
    if !response.has_type(media_type) {
        return Err(Malformed::Invalid("Content-Type"));
    }
    decode_body(response.body, what)
}

const VOUCHER_STATUS: &str = "/.well-known/brski/voucher_status";
const ENROLL_STATUS: &str = "/.well-known/brski/enrollstatus";
const CA_CERTS: &str = "/.well-known/est/cacerts";
const CSR_ATTRIBUTES: &str = "/.well-known/est/csrattrs";
const SIMPLE_ENROLL: &str = "/.well-known/est/simpleenroll";

const JSON_TYPE: &str = "application/json";
const CERTS_ONLY_TYPE: &str = "application/pkcs7-mime";
const CSR_ATTRIBUTES_TYPE: &str = "application/csrattrs";
const REQUEST_TYPE: &str = "application/pkcs10";
