//! A registrar with its MASA and its CA, which answers as a test wants.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_aws_lc::PROVIDER;
use terse_pki::{CertificationRequest, LdevidPolicy, Subject};
use terse_testkit::rng::SeededRng;
use terse_tls::{Credential, SignatureScheme};

use super::super::{Method, Request};
use super::pki::{NOW, PKI, at, certificates, validity};
use super::{CA_CERTS, CSR_ATTRIBUTES, ENROLL_STATUS, REQUEST_VOUCHER, SIMPLE_ENROLL, VOUCHER_STATUS};
use crate::cms::{Signed, Unsigned};
use crate::est::{decode_body, encode_body, encode_certs_only};
use crate::telemetry::Status;
use crate::voucher::{Assertion, MAX_LEN, Nonce, Pin, Voucher, VoucherRequest};

/// A response that owns its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: Option<&'static str>,
    pub(super) retry_after: Option<String>,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(super) fn ok(content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status: 200, content_type: Some(content_type), body, ..Self::default() }
    }

    pub(super) fn wait(seconds: &str) -> Self {
        Self { retry_after: Some(seconds.into()), ..Self::status(202) }
    }

    pub(super) fn redirect(location: &str) -> Self {
        Self { location: Some(location.into()), ..Self::status(307) }
    }
}

type Edit = Box<dyn FnMut(&mut Voucher)>;

/// Answers a request, or leaves it to the registrar.
type Hook = Box<dyn FnMut(&Request) -> Option<Answer>>;

pub(super) struct Registrar {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) masa: Credential,
    pub(super) edit: Edit,
    pub(super) hook: Hook,
    /// All requests that came.
    pub(super) requests: Vec<Request>,
    /// What the pledge said about its voucher and its enrollment.
    pub(super) statuses: Vec<(&'static str, Status)>,
}

impl Registrar {
    pub(super) fn new() -> Self {
        Self {
            chain: PKI.registrar.chain().to_vec(),
            masa: PKI.masa.clone(),
            edit: Box::new(|_| {}),
            hook: Box::new(|_| None),
            requests: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// Returns a registrar without a voucher of the manufacturer, which does all else right.
    pub(super) fn attacker() -> Self {
        Self { masa: PKI.other_masa.clone(), ..Self::new() }
    }

    /// Returns a registrar that is none of the domain.
    pub(super) fn stranger() -> Self {
        Self { chain: PKI.other_registrar.chain().to_vec(), ..Self::new() }
    }

    pub(super) fn answering(hook: impl FnMut(&Request) -> Option<Answer> + 'static) -> Self {
        Self { hook: Box::new(hook), ..Self::new() }
    }

    pub(super) fn issuing(edit: impl FnMut(&mut Voucher) + 'static) -> Self {
        Self { edit: Box::new(edit), ..Self::new() }
    }

    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        self.requests.push(request.clone());
        for (path, name) in [(VOUCHER_STATUS, "voucher"), (ENROLL_STATUS, "enrollment")] {
            if request.path == path {
                assert_eq!((request.method, request.content_type), (Method::Post, Some("application/json")));
                self.statuses.push((name, Status::from_json(&request.body).unwrap()));
            }
        }
        if let Some(answer) = (self.hook)(request) {
            return answer;
        }
        match (request.method, &*request.path) {
            (Method::Post, VOUCHER_STATUS | ENROLL_STATUS) => Answer::status(200),
            (Method::Get, CA_CERTS) => {
                assert_eq!(request.accept, Some("application/pkcs7-mime"));
                certs_only(&certificates(&PKI.domain))
            }
            (Method::Get, CSR_ATTRIBUTES) => {
                assert_eq!(request.accept, Some("application/csrattrs"));
                Answer::status(204)
            }
            (Method::Post, SIMPLE_ENROLL) => certs_only(&issue(request)),
            (Method::Post, REQUEST_VOUCHER) => self.voucher(request),
            _ => Answer::status(404),
        }
    }

    /// Answers as the MASA would, after it has verified the request.
    fn voucher(&mut self, request: &Request) -> Answer {
        assert_eq!(request.content_type, Some("application/voucher-cms+json"));
        assert_eq!(request.accept, Some("application/voucher-cms+json"));
        let asked = parse_request(request);
        assert_eq!(asked.assertion, Some(Assertion::Proximity));
        if asked.proximity_registrar != vec![Pin::Certificate(self.chain[0].clone())] {
            return Answer::status(401); // RFC 8995, 5.2: there is somebody in the middle
        }
        let mut voucher = voucher(asked.nonce, asked.created_on);
        voucher.serial_number = asked.serial_number;
        (self.edit)(&mut voucher);
        Answer::ok("application/voucher-cms+json", sign(&voucher.to_json(), &self.masa, Some(at(NOW))))
    }
}

/// Returns a voucher that pins the root of the domain.
pub(in crate::pledge) fn voucher(nonce: Option<Nonce>, created_on: Option<UnixTime>) -> Voucher {
    let mut voucher = Voucher::new(super::pki::SERIAL.into(), Assertion::Proximity);
    voucher.nonce = nonce;
    voucher.created_on = created_on;
    voucher.pins = vec![Pin::Certificate(PKI.domain.root().clone())];
    voucher.domain_cert_revocation_checks = Some(false);
    voucher
}

pub(in crate::pledge) fn sign(content: &[u8], signer: &Credential, time: Option<UnixTime>) -> Vec<u8> {
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = Unsigned::new(&PROVIDER, content, signer.chain(), scheme, time).unwrap();
    unsigned.sign(signer.key(), &mut SeededRng::new(1)).unwrap()
}

/// Returns the voucher request, whose signature the IDevID's key has made.
pub(super) fn parse_request(request: &Request) -> VoucherRequest {
    assert!(request.body.len() <= MAX_LEN);
    let signed = Signed::verify(&PROVIDER, &request.body, &[]).unwrap();
    assert_eq!(signed.chain[0], PKI.idevid.chain()[0]);
    VoucherRequest::from_json(&signed.content).unwrap()
}

pub(super) fn certs_only(certificates: &[CertificateDer<'_>]) -> Answer {
    Answer::ok("application/pkcs7-mime; smime-type=certs-only", encode_body(&encode_certs_only(certificates)))
}

/// Issues the LDevID that is asked for.
pub(super) fn issue(request: &Request) -> Vec<CertificateDer<'static>> {
    assert_eq!(request.content_type, Some("application/pkcs10"));
    assert_eq!(request.accept, Some("application/pkcs7-mime"));
    let csr = CertificationRequest::from_der(&decode_body(&request.body, "request").unwrap()).unwrap();
    let subject = Subject::of(&PKI.idevid.chain()[0]).unwrap();
    assert!(csr.subject().matches(&subject), "{:?}", csr.subject());
    PKI.domain.issue_ldevid(&csr, &LdevidPolicy::new(subject, validity())).unwrap()
}
