//! Requests of CoAP in the terms of HTTP, which the registrar's answers are in, and those as responses of CoAP (RFC 8075, 7;
//! RFC 9148, 4).

use pki_types::CertificateDer;
use terse_brski::coap::{ETag, IncomingRequest, Payload, Resource, Response, content_format, link_format, multipart};
use terse_brski::digest::sha256;
use terse_brski::est::encode_certs_only;
use terse_brski::http::{CBOR, JSON, VOUCHER_COSE};
use tokio::time::Instant;

use crate::registrar::Service;
use crate::registrar::metrics::{is_proof, resource_name};
use crate::registrar::reply::{Content, Form, Received, Reply};
use crate::registrar::requests::max_len;
use crate::registrar::settings::PROVIDER;

/// A response, and whether the connection ends after it.
pub(super) struct Answered {
    pub(super) response: Response,
    pub(super) closes: bool,
    /// The status in the terms of HTTP, for metrics.
    status: u16,
    /// The name of the resource.
    resource: &'static str,
}

impl Answered {
    /// Whether the client is told to come again.
    pub(super) const fn is_later(&self) -> bool {
        self.status == 202
    }

    /// Whether no stranger is answered so.
    pub(super) fn is_proof(&self) -> bool {
        is_proof(self.resource, self.status)
    }
}

/// Answers a request of a client that has presented these certificates.
pub(super) async fn answer(
    service: &Service,
    transport: &'static str,
    chain: Vec<CertificateDer<'static>>,
    request: IncomingRequest,
) -> Answered {
    let reply = match request.resource {
        Resource::Core => links(&request),
        _ => match received(chain, &request) {
            Ok(received) => service.answer(request.resource, &received).await,
            Err(reply) => reply,
        },
    };
    counted(service, transport, respond(&request, reply))
}

/// The response to a client that is to wait.
pub(super) fn too_many(
    service: &Service,
    transport: &'static str,
    request: &IncomingRequest,
    retry_after: u32,
) -> Response {
    let reply = Reply::text(429, "there are too many requests of this address; wait").retry_after(retry_after);
    counted(service, transport, respond(request, reply)).response
}

/// Counts a request by its answer.
fn counted(service: &Service, transport: &'static str, answered: Answered) -> Answered {
    service.inner.metrics.common.answered(answered.resource, transport, answered.status);
    answered
}

/// The longest content of a request.
pub(super) const MAX_REQUEST: usize = max_len(Resource::RequestVoucher);

/// Returns the links of the resources that are asked for (RFC 6690).
fn links(request: &IncomingRequest) -> Reply {
    match request.accept {
        None | Some(content_format::LINK_FORMAT) => {
            Reply::body(LINK_FORMAT, link_format::resources(&request.query).into_bytes())
        }
        Some(_) => not_acceptable(),
    }
}

/// Returns the request as the registrar reads it, or the answer to one that asks for what there is not.
fn received(chain: Vec<CertificateDer<'static>>, request: &IncomingRequest) -> Result<Received, Reply> {
    let accepts = accepts(request.resource);
    let accepts = accepts.ok_or_else(|| Reply::text(404, "there is no such resource here"))?;
    if request.accept.is_some_and(|accept| !accepts.contains(&accept)) {
        return Err(not_acceptable());
    }
    if request.payload.len() > max_len(request.resource) {
        return Err(Reply::text(413, "the content is too long"));
    }
    let media_type = |format: u16| TYPES.iter().find(|(known, _)| *known == format).map(|(_, media_type)| *media_type);
    let content_type = match request.content_format {
        Some(format) => {
            Some(media_type(format).ok_or_else(|| Reply::text(415, "the Content-Format is not understood"))?)
        }
        None => None,
    };
    Ok(Received {
        chain,
        content_type: content_type.map(str::to_owned),
        accept: request.accept.and_then(media_type).map(str::to_owned),
        body: request.payload.to_vec(),
        form: Form::Coaps,
        arrived: Instant::now(),
    })
}

fn respond(request: &IncomingRequest, reply: Reply) -> Answered {
    let Reply { status, content, retry_after, closes, .. } = reply;
    let Some((format, body)) = represent(content, request.accept) else {
        return respond(request, not_acceptable());
    };
    let is_tagged = request.resource == Resource::CaCerts && status == 200;
    let etag = is_tagged.then(|| sha256(PROVIDER, &body)).and_then(|digest| ETag::new(digest.get(..TAG_LEN)?));
    let mut response = Response::from_http(request.method, status, retry_after, format, body);
    response.etag = etag;
    Answered { response, closes, status, resource: resource_name(request.resource) }
}

/// Returns the content format and the bytes of a content, in a format that is accepted.
fn represent(content: Content, accept: Option<u16>) -> Option<(Option<u16>, Payload)> {
    use content_format::{CSRATTRS, IDENTITY_KEY, MULTIPART_CORE, PKCS7_CERTS_ONLY, PKIX_CERT};
    let (format, body) = match content {
        Content::Text(text) => (None, text.into_bytes()),
        Content::Of(media_type, body) => {
            let known = TYPES.iter().find(|(_, known)| *known == media_type);
            (Some(known?.0), body)
        }
        Content::IdentityKey(file) => (Some(IDENTITY_KEY), file.as_bytes().to_vec()),
        Content::CsrAttributes(der) => (Some(CSRATTRS), der),
        Content::CaCertificates(certificates) => match (accept, certificates.as_slice()) {
            (Some(MULTIPART_CORE), _) => {
                let parts: Vec<_> = certificates.iter().map(|one| (PKIX_CERT, one.as_ref())).collect();
                (Some(MULTIPART_CORE), multipart::encode(&parts))
            }
            (Some(PKIX_CERT), [one]) => (Some(PKIX_CERT), one.to_vec()),
            (Some(PKIX_CERT), _) => return None,
            _ => (Some(PKCS7_CERTS_ONLY), encode_certs_only(&certificates)),
        },
        Content::Certificate(certificate) => match accept {
            Some(PKIX_CERT) => (Some(PKIX_CERT), certificate.to_vec()),
            _ => (Some(PKCS7_CERTS_ONLY), encode_certs_only(&[certificate])),
        },
    };
    Some((format, Payload::new(body))) // which is erased in the end
}

/// Returns the content formats of a resource's answers, the first of which comes unless another one is asked for. `None` if
/// there is no such resource here.
fn accepts(resource: Resource) -> Option<&'static [u16]> {
    use content_format::{IDENTITY_KEY, MULTIPART_CORE, PKCS7_CERTS_ONLY, PKIX_CERT, VOUCHER_COSE};
    match resource {
        Resource::RequestVoucher => Some(&[VOUCHER_COSE]),
        Resource::VoucherStatus | Resource::EnrollStatus => Some(&[]),
        Resource::CaCerts => Some(&[PKCS7_CERTS_ONLY, MULTIPART_CORE, PKIX_CERT]),
        Resource::SimpleEnroll | Resource::SimpleReenroll => Some(&[PKCS7_CERTS_ONLY, PKIX_CERT]),
        Resource::IdentityKey => Some(&[IDENTITY_KEY]),
        _ => None,
    }
}

fn not_acceptable() -> Reply {
    Reply::text(406, "the answer has no form that is accepted")
}

const LINK_FORMAT: &str = "application/link-format";

/// The media types of contents that are not EST's answers.
const TYPES: [(u16, &str); 5] = [
    (content_format::VOUCHER_COSE, VOUCHER_COSE),
    (content_format::CBOR, CBOR),
    (content_format::JSON, JSON),
    (content_format::PKCS10, "application/pkcs10"),
    (content_format::LINK_FORMAT, LINK_FORMAT),
];

/// The length of the entity tag of the CA certificates, which is the same on all replicas.
const TAG_LEN: usize = 4;
