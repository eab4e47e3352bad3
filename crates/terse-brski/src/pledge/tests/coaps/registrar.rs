//! A registrar of constrained BRSKI with its MASA and its CA, which answers as a test wants.

use alloc::boxed::Box;

use pki_types::CertificateDer;
use terse_aws_lc::PROVIDER;
use terse_pki::{CertificationRequest, LdevidPolicy, Subject};
use terse_testkit::rng::SeededRng;
use terse_tls::{Credential, SignatureScheme};

use super::super::pki::{PKI, certificates, validity};
use super::super::registrar::voucher;
use super::*;
use crate::coap::multipart;
use crate::cose::{Signed, Unsigned};
use crate::telemetry::Status;
use crate::voucher::{Assertion, Pin, Voucher, VoucherRequest};

type Edit = Box<dyn FnMut(&mut Voucher)>;

/// Answers a request, or leaves it to the registrar.
type Hook = Box<dyn FnMut(&Request) -> Option<Response>>;

pub(super) struct Registrar {
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// What it presents in the place of its certificates.
    pub(super) raw_public_key: Option<Vec<u8>>,
    pub(super) masa: Credential,
    /// Whether the MASA's certificates come along.
    pub(super) is_chain_there: bool,
    pub(super) edit: Edit,
    pub(super) hook: Hook,
    pub(super) requests: Vec<Request>,
    pub(super) statuses: Vec<Status>,
}

impl Registrar {
    pub(super) fn new() -> Self {
        Self {
            chain: PKI.registrar.chain().to_vec(),
            raw_public_key: None,
            masa: PKI.masa.clone(),
            is_chain_there: true,
            edit: Box::new(|_| {}),
            hook: Box::new(|_| None),
            requests: Vec::new(),
            statuses: Vec::new(),
        }
    }

    pub(super) fn issuing(edit: impl FnMut(&mut Voucher) + 'static) -> Self {
        Self { edit: Box::new(edit), ..Self::new() }
    }

    pub(super) fn answering(hook: impl FnMut(&Request) -> Option<Response> + 'static) -> Self {
        Self { hook: Box::new(hook), ..Self::new() }
    }

    /// Returns a registrar that answers requests for this resource so.
    pub(super) fn answering_at(resource: Resource, response: Response) -> Self {
        Self::answering(move |request| (request.resource == resource).then(|| response.clone()))
    }

    pub(super) fn answer(&mut self, request: &Request) -> Response {
        self.requests.push(request.clone());
        if matches!(request.resource, Resource::VoucherStatus | Resource::EnrollStatus) {
            assert_eq!((request.method, request.content_format), (Method::Post, Some(format::CBOR)));
            self.statuses.push(Status::from_cbor(&request.payload).unwrap());
        }
        if let Some(response) = (self.hook)(request) {
            return response;
        }
        match request.resource {
            Resource::RequestVoucher => self.voucher(request),
            Resource::VoucherStatus | Resource::EnrollStatus => Response::new(Code::CHANGED),
            Resource::CaCerts => ca_certificates(&hierarchy()),
            Resource::SimpleEnroll => success(Method::Post, format::PKIX_CERT, &issue(request)[0]),
            _ => Response::new(Code::NOT_FOUND),
        }
    }

    /// Answers as the MASA would, after it has verified the request.
    fn voucher(&mut self, request: &Request) -> Response {
        let asked = parse_request(request);
        let mut voucher = voucher(asked.nonce, asked.created_on);
        voucher.serial_number = asked.serial_number;
        (self.edit)(&mut voucher);
        let chain = if self.is_chain_there { self.masa.chain() } else { &[] };
        success(Method::Post, format::VOUCHER_COSE, &sign(&voucher.to_cbor(), &self.masa, chain))
    }
}

pub(super) fn success(method: Method, content_format: u16, payload: &[u8]) -> Response {
    Response::success(method, Some(content_format), Payload::new(payload.to_vec()))
}

/// Returns the certificates of the domain, the issuer of LDevIDs first.
pub(super) fn hierarchy() -> Vec<CertificateDer<'static>> {
    let mut hierarchy = certificates(&PKI.domain);
    hierarchy.reverse();
    hierarchy
}

pub(super) fn ca_certificates(certificates: &[CertificateDer<'_>]) -> Response {
    let parts: Vec<multipart::Part<'_>> =
        certificates.iter().map(|certificate| (format::PKIX_CERT, certificate.as_ref())).collect();
    success(Method::Get, format::MULTIPART_CORE, &multipart::encode(&parts))
}

pub(super) fn sign(content: &[u8], signer: &Credential, x5bag: &[CertificateDer<'_>]) -> Vec<u8> {
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = Unsigned::new(content, &signer.chain()[0], x5bag, scheme).unwrap();
    unsigned.sign(signer.key(), &mut SeededRng::new(1)).unwrap()
}

/// Returns the voucher request, whose signature the IDevID's key has made, and with which no certificates come.
pub(super) fn parse_request(request: &Request) -> VoucherRequest {
    let cose = &request.payload;
    let signed = Signed::verify(&PROVIDER, cose, &PKI.idevid.chain()[..1]).unwrap();
    assert_eq!(signed.chain, PKI.idevid.chain()[..1]);
    let request = VoucherRequest::from_cbor(&signed.content).unwrap();
    assert_eq!(request.assertion, Some(Assertion::Proximity));
    request
}

/// Issues the LDevID that is asked for.
pub(super) fn issue(request: &Request) -> Vec<CertificateDer<'static>> {
    let csr = CertificationRequest::from_der(&request.payload).unwrap();
    let subject = Subject::of(&PKI.idevid.chain()[0]).unwrap();
    assert!(csr.subject().matches(&subject), "{:?}", csr.subject());
    PKI.domain.issue_ldevid(&csr, &LdevidPolicy::new(subject, validity())).unwrap()
}

pub(super) fn key_hash(certificate: &CertificateDer<'_>) -> [u8; 32] {
    let key = crate::certificate::public_key(certificate).unwrap();
    PROVIDER.sha256.hash(&[key]).as_ref().try_into().unwrap()
}

/// Returns the pin of each kind for the key of a certificate.
pub(super) fn pin(kind: Proximity, certificate: &CertificateDer<'static>) -> Pin {
    match kind {
        Proximity::PublicKeySha256 => Pin::PublicKeySha256(key_hash(certificate)),
        Proximity::PublicKey => Pin::PublicKey(crate::certificate::public_key(certificate).unwrap().into()),
        Proximity::Certificate => Pin::Certificate(certificate.clone()),
    }
}
