//! The requests of an enrollment, and what their responses say (RFC 8995, 5.7 and 5.9; RFC 7030, 4).

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use terse_tls::crypto::SigningKey;
use terse_tls::{Credential, Trust};
use zeroize::Zeroizing;

use crate::est::{CsrAttributes, UnsignedRequest, decode_body};
use crate::pledge::certificates::CaCertificates;
use crate::pledge::command::{Identity, Method, Request};
use crate::pledge::context::{Context, Signature};
use crate::pledge::failure::EnrollmentFailed;
use crate::pledge::form::Form;
use crate::pledge::http::Response;
use crate::voucher::MAX_LEN;
use crate::{Malformed, SignatureRefused, certificate};

/// Returns the status of a voucher, with the reason if it was refused (RFC 8995, 5.7).
pub(in crate::pledge) fn voucher_status<F: Form>(status: Result<(), &'static str>) -> Request {
    report::<F>(F::NAMES.voucher_status, status)
}

/// Returns the status of an enrollment, with the reason if it has failed (RFC 8995, 5.9.4).
pub(super) fn enroll_status<F: Form>(status: Result<(), &'static str>) -> Request {
    report::<F>(F::NAMES.enroll_status, status)
}

fn report<F: Form>(path: &'static str, status: Result<(), &'static str>) -> Request {
    Request {
        method: Method::Post,
        path: path.into(),
        content_type: Some(F::NAMES.status_type),
        accept: None,
        body: F::encode_status(status).into(),
        max_response: MAX_LEN, // it is ignored
    }
}

/// Returns the CA Certificates Request (RFC 7030, 4.1.2).
pub(super) fn request_ca_certs<F: Form>(cx: &Context<'_, F>) -> Request {
    get(cx, F::NAMES.ca_certs, F::NAMES.ca_certs_type)
}

/// Returns the CSR Attributes Request (RFC 7030, 4.5.1).
pub(super) fn request_csr_attributes<F: Form>(cx: &Context<'_, F>) -> Option<Request> {
    F::CSR_ATTRIBUTES.map(|(path, media_type)| get(cx, path, media_type))
}

/// Returns the Simple Enroll request (RFC 7030, 4.2.1) with this body.
pub(super) fn simple_enroll<F: Form>(cx: &Context<'_, F>, body: &Arc<[u8]>) -> Request {
    Request {
        method: Method::Post,
        content_type: Some(F::NAMES.request_type),
        body: body.clone(),
        ..get(cx, F::NAMES.simple_enroll, F::NAMES.certificate_type)
    }
}

fn get<F: Form>(cx: &Context<'_, F>, path: &'static str, accept: &'static str) -> Request {
    Request {
        method: Method::Get,
        path: path.into(),
        content_type: None,
        accept: Some(accept),
        body: Arc::default(),
        max_response: cx.config.max_response,
    }
}

/// Returns the request for the identity key, which is empty.
pub(super) fn request_identity_key<F: Form>(cx: &Context<'_, F>) -> Option<Request> {
    let (path, media_type) = F::IDENTITY_KEY?;
    Some(Request { method: Method::Post, ..get(cx, path, media_type) })
}

/// Reads the response with the file of the identity key, whose content is the storage's matter.
pub(super) fn identity_key<F: Form>(
    cx: &Context<'_, F>,
    response: &Response<'_>,
) -> Result<Zeroizing<Vec<u8>>, EnrollmentFailed> {
    let has_type = F::IDENTITY_KEY.is_some_and(|(_, media_type)| response.has_type(media_type));
    match response.status {
        200 if !has_type => Err(EnrollmentFailed::IdentityKeyType),
        200 => match bounded(cx, response) {
            Ok(response) => Ok(Zeroizing::new(response.body.to_vec())),
            Err(_) => Err(EnrollmentFailed::IdentityKeyTooLong),
        },
        status => Err(EnrollmentFailed::Refused(status)),
    }
}

/// Reads the CA Certificates Response (RFC 7030, 4.1.3). Without one, the pinned certificate remains the trust anchor.
pub(super) fn ca_certificates<F: Form>(
    cx: &Context<'_, F>,
    response: &Response<'_>,
    pinned: Option<&CertificateDer<'static>>,
) -> Result<CaCertificates, EnrollmentFailed> {
    let certificates = match response.status {
        200 => bounded(cx, response).and_then(F::decode_ca_certificates).map_err(EnrollmentFailed::CaCertificates)?,
        204 | 404 => Vec::new(),
        status => return Err(EnrollmentFailed::Refused(status)),
    };
    match F::MAY_LACK_ROOT {
        true => CaCertificates::maybe_without_root(certificates, pinned),
        false => CaCertificates::new(certificates, pinned),
    }
}

/// Reads the CSR Attributes Response; 204 and 404 say that there are none (RFC 7030, 4.5.2).
pub(super) fn csr_attributes<F: Form>(
    cx: &Context<'_, F>,
    response: &Response<'_>,
) -> Result<CsrAttributes, EnrollmentFailed> {
    match (response.status, F::CSR_ATTRIBUTES) {
        (200, Some((_, media_type))) => bounded(cx, response)
            .and_then(|response| decode_csr_attributes(response, media_type))
            .map_err(EnrollmentFailed::CsrAttributes),
        (204 | 404, _) => Ok(CsrAttributes::default()),
        (status, _) => Err(EnrollmentFailed::Refused(status)),
    }
}

fn decode_csr_attributes(response: &Response<'_>, media_type: &str) -> Result<CsrAttributes, Malformed> {
    if !response.has_type(media_type) {
        return Err(Malformed::Invalid("Content-Type"));
    }
    CsrAttributes::from_der(&decode_body(response.body, "CSR attributes")?)
}

/// Reads the Simple Enroll response (RFC 7030, 4.2.3) to a request for this key. Returns the LDevID, and the trust in the
/// domain.
pub(super) fn credential<F: Form>(
    cx: &Context<'_, F>,
    response: &Response<'_>,
    ca: &CaCertificates,
    key: Arc<dyn SigningKey>,
) -> Result<(Credential, Trust), EnrollmentFailed> {
    if response.status != 200 {
        return Err(EnrollmentFailed::Refused(response.status));
    }
    let certificates = bounded(cx, response).and_then(F::decode_certificates).map_err(EnrollmentFailed::Certificate)?;
    let trust = ca.trust(cx.config.paths)?;
    let credential = ca.credential(&cx.config.provider, &trust, certificates, key, cx.date())?;
    Ok((credential, trust))
}

/// Makes the certification request (RFC 8995, 5.9.2 and 5.9.3): what the registrar asks for, and else the subject of the
/// IDevID.
pub(super) fn sign_request<F: Form>(
    cx: &mut Context<'_, F>,
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

/// Checks how long the content of a response is.
fn bounded<'a, F: Form>(cx: &Context<'_, F>, response: &'a Response<'a>) -> Result<&'a Response<'a>, Malformed> {
    match response.body.len() > cx.config.max_response {
        true => Err(Malformed::TooLong(cx.config.max_response)),
        false => Ok(response),
    }
}
