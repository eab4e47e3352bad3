//! The registrar as the client of an EST server (RFC 7030), whose registration authority it is: it asks for the CA
//! certificates, and passes certification requests on.
//!
//! A certification request of a device is always a `simpleenroll` there, also if it renews a certificate: `simplereenroll` is
//! about the certificate of the TLS client (RFC 7030, 4.2.2), and that is the registrar's own.
//!
//! What must always hold: the name and the certificate of the server were checked by the configured anchors; what comes is
//! bounded in length and in time; no redirection is followed; what the server says goes on only as plain text.

use core::fmt;
use core::time::Duration;

use pki_types::CertificateDer;
use terse_brski::Malformed;
use terse_brski::certificate::{est_base_url, issuer, subject};
use terse_brski::est::{MAX_BODY_LEN, decode_body, decode_certs_only_ber, encode_body};
use terse_brski::http::is;
use terse_brski::registrar::text_for_people;
use terse_pki::NotAsRequested;
use terse_tls::CertificateError;
use tokio::sync::OwnedSemaphorePermit;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::BasicConstraints;

use super::https::{HttpsClient, HttpsError, Target};
use crate::client::{Incoming, Outgoing, ResponseLimits};

/// A client of an EST server.
pub(super) struct EstServer {
    https: HttpsClient,
    base: String,
}

/// Why an EST server gave nothing that can be used.
#[derive(Debug)]
pub(super) enum EstError {
    /// It gave no response.
    Https(HttpsError),
    /// It wants to be asked again (RFC 7030, 4.2.3), after so many seconds if it says so.
    Later(Option<u64>),
    /// It, or a server before it, cannot answer now, and says this status and after how many seconds it may.
    Busy(u16, Option<u64>),
    /// It answered with this status, and perhaps a text.
    Refused(u16, Option<String>),
    /// It answered with something of another type than certificates.
    ContentType,
    /// It answered with more than is read.
    TooLong,
    /// Its answer cannot be read.
    Malformed(Malformed),
    /// It gave no CA certificates of which a path could be made.
    CaCertificates(&'static str),
    /// It issued a certificate that is not the one that was requested.
    NotAsRequested(NotAsRequested),
    /// It sent a certificate that a device has already.
    Known,
    /// It issued more certificates than the device may have.
    TooMany,
    /// It issued a certificate that its own CA certificates do not stand for.
    Path(CertificateError),
}

impl EstServer {
    /// Creates the client of the server at a URL; `None` if that is not one of https.
    pub(super) fn new(https: HttpsClient, url: &str) -> Option<Self> {
        let base = est_base_url(url).ok()?;
        Target::of(&base)?;
        Some(Self { https, base })
    }

    /// Returns the base URL of the server, to which the names of requests are added.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Takes a place for a connection, if one is free.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.https.place()
    }

    /// Returns how long an exchange may take.
    pub(super) const fn time(&self) -> Duration {
        self.https.time()
    }

    /// Asks for the CA certificates (RFC 7030, 4.1.2).
    pub(super) async fn ca_certificates(&self) -> Result<Vec<CertificateDer<'static>>, EstError> {
        let mut certificates = certificates(&self.send("cacerts", None).await?)?;
        certificates.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref())); // a SET has no order
        certificates.dedup();
        let read = |certificate: &CertificateDer<'_>| {
            let certificate = Certificate::from_der(certificate).map_err(|_| Malformed::Der("certificate"))?;
            let constraints = certificate.tbs_certificate().get_extension::<BasicConstraints>();
            constraints.map_err(|_| Malformed::Der("basicConstraints"))
        };
        for certificate in &certificates {
            if !read(certificate)?.is_some_and(|(_, constraints)| constraints.ca) {
                return Err(EstError::CaCertificates("one of them is not that of a CA"));
            }
        }
        // RFC 7030, 4.1.3: the root is among them; devices have nothing else to trust.
        let is_root =
            |one: &CertificateDer<'_>| matches!((issuer(one), subject(one)), (Ok(above), Ok(own)) if above == own);
        match certificates.iter().any(is_root) {
            true => Ok(certificates),
            false => Err(EstError::CaCertificates("none of them is that of a root")),
        }
    }

    /// Passes a certification request in DER on. Returns the certificates that come: that for the request is among them.
    pub(super) async fn enroll(&self, request: &[u8]) -> Result<Vec<CertificateDer<'static>>, EstError> {
        certificates(&self.send("simpleenroll", Some(encode_body(request))).await?)
    }

    async fn send(&self, name: &str, body: Option<Vec<u8>>) -> Result<Incoming, EstError> {
        let exchange = async {
            let target = Target::of(&self.base).ok_or(HttpsError::Unresolved)?;
            // An operator has configured this server, so that it may be in the own network.
            let mut connection = self.https.connect(&target, |_| true).await?;
            let path = format!("{}/{name}", target.path);
            let content_type = body.as_ref().map(|_| "application/pkcs10");
            let (accept, authorization) = (Some("application/pkcs7-mime"), self.https.authorization());
            let outgoing = Outgoing { body, path: &path, content_type, accept, authorization };
            let limits = ResponseLimits { body: MAX_BODY_LEN, time: self.https.time() };
            connection.send_and_cut(outgoing, limits).await.map_err(HttpsError::Client)
        };
        self.https.in_time(exchange).await.map_err(EstError::Https)
    }
}

/// Reads the certificates of a response.
fn certificates(response: &Incoming) -> Result<Vec<CertificateDer<'static>>, EstError> {
    match response.status {
        200 if !is(response.content_type.as_deref(), "application/pkcs7-mime") => Err(EstError::ContentType),
        200 if response.body.len() > MAX_BODY_LEN => Err(EstError::TooLong),
        200 => Ok(decode_certs_only_ber(&decode_body(&response.body, "certificates")?)?),
        202 => Err(EstError::Later(response.retry_after)),
        status @ (429 | 502..=504) => Err(EstError::Busy(status, response.retry_after)),
        status => Err(EstError::Refused(status, text_for_people(&response.body).map(str::to_owned))),
    }
}

impl EstError {
    /// Returns after how many seconds the same request may be sent again, if that can help.
    pub(super) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Later(seconds) | Self::Busy(_, seconds) => Some(seconds.unwrap_or(RETRY)),
            Self::Https(_) => Some(RETRY),
            _ => None,
        }
    }

    /// Returns the status of the response to the device. A 401 would be about the registrar, and mean an attack to a pledge.
    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Https(_) | Self::Later(_) | Self::Busy(..) => 202,
            Self::Refused(400, _) => 400,
            Self::Refused(401 | 403, _) => 403,
            Self::TooMany => 429,
            _ => 502,
        }
    }

    /// Whether the server could not be reached, or went away.
    pub(super) const fn is_outage(&self) -> bool {
        matches!(self, Self::Https(_))
    }

    /// Returns the outcome of a request that ended so, for metrics.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::Https(_) => "unreachable",
            Self::Later(_) | Self::Busy(..) => "later",
            Self::Refused(..) => "refused",
            _ => "unusable",
        }
    }

    /// Returns what a device is told. How the certificate is wrong is for the operator alone.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Https(_) | Self::Busy(..) => {
                "the EST server of the domain does not answer; repeat the same request".into()
            }
            Self::Later(_) => "the EST server of the domain has not decided yet; repeat the same request".into(),
            Self::Refused(status, said) => {
                let said = said.as_ref().map(|said| format!("; it says: {said}")).unwrap_or_default();
                format!("the EST server of the domain refuses the request with status {status}{said}")
            }
            _ => "the EST server of the domain sent nothing that can be used; its operator must look into it".into(),
        }
    }
}

impl From<Malformed> for EstError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for EstError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Https(error) => error.fmt(f),
            Self::Later(_) => f.write_str("it has not decided yet"),
            Self::Busy(status, _) => write!(f, "it cannot answer now: status {status}"),
            Self::Refused(401, _) => {
                f.write_str("it wants this registrar to authenticate itself; give chain and key, or user")
            }
            Self::Refused(status @ 300..=399, _) => {
                write!(f, "it leads elsewhere with status {status}; configure that URL")
            }
            Self::Refused(status, Some(said)) => write!(f, "it answered with status {status} and says: {said}"),
            Self::Refused(status, None) => write!(f, "it answered with status {status}"),
            Self::ContentType => f.write_str("it sent something of another type than application/pkcs7-mime"),
            Self::TooLong => f.write_str("it sent more than is read"),
            Self::Malformed(malformed) => write!(f, "what it sent cannot be read: {malformed}"),
            Self::CaCertificates(problem) => write!(f, "its CA certificates are of no use: {problem}"),
            Self::NotAsRequested(error) => error.fmt(f),
            Self::Known => f.write_str("it sent a certificate that a device has already, and no new one"),
            Self::TooMany => f.write_str("it issued a certificate, and the device has got too many of late"),
            Self::Path(error) => {
                write!(f, "its CA certificates do not stand for the certificate: {}", error.of(&"the EST server"))
            }
        }
    }
}

/// Retry-After if the server says none, or cannot be reached.
const RETRY: u64 = 30;
