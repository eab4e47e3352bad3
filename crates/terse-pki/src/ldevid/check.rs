//! Requests that another CA certifies, and the certificates that it issues for them: what a registration authority checks
//! before it passes a request on, and after the answer (RFC 7030, 3.7).
//!
//! What must always hold: a certificate that is accepted has the key of the request, the subject and the names that the
//! policy gives, and no others, and is not that of a CA. Whether its path leads to the CA is for others to check.

use core::fmt;

use pki_types::CertificateDer;

use super::{LdevidPolicy, names};
use crate::authority::parse;
use crate::{CertificationRequest, RequestError, Subject};

/// Why a certificate is not the one that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAsRequested {
    /// The policy does not allow the request.
    Request(RequestError),
    /// The certificate cannot be read, or has names other than DNS names and IP addresses.
    Malformed,
    /// It is for another key.
    Key,
    /// It has this subject, which is another one.
    Subject(Subject),
    /// It has these names in its subjectAltName, which are others.
    Names(Vec<String>),
    /// It is that of a CA.
    Ca,
}

impl LdevidPolicy {
    /// Checks that the policy allows a request that another CA is to certify.
    pub fn check_request(&self, request: &CertificationRequest) -> Result<(), RequestError> {
        self.certified(request).map(|_| ())
    }

    /// Checks that a certificate of another CA is the one that the policy allows for a request. The validity and the path of
    /// the certificate are not checked. The types of strings in its subject, the case of its names and their order do not count.
    pub fn check_certificate(
        &self,
        request: &CertificationRequest,
        certificate: &CertificateDer<'_>,
    ) -> Result<(), NotAsRequested> {
        let (subject, wanted) = self.certified(request).map_err(NotAsRequested::Request)?;
        let parsed = parse(certificate).map_err(|_| NotAsRequested::Malformed)?;
        if parsed.public_key().raw != request.subject_public_key_info() {
            return Err(NotAsRequested::Key);
        }
        if parsed.is_ca() {
            return Err(NotAsRequested::Ca);
        }
        let own = Subject::of(certificate).map_err(|_| NotAsRequested::Malformed)?;
        if !own.matches(&subject) {
            return Err(NotAsRequested::Subject(own));
        }
        let own = names(certificate).map_err(|_| NotAsRequested::Malformed)?;
        let has = |names: &[String], name: &String| names.iter().any(|other| other.eq_ignore_ascii_case(name));
        let is_same = own.iter().all(|name| has(&wanted, name)) && wanted.iter().all(|name| has(&own, name));
        if is_same { Ok(()) } else { Err(NotAsRequested::Names(own)) }
    }
}

impl fmt::Display for NotAsRequested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Malformed => f.write_str("the certificate cannot be read, or has names of unknown kinds"),
            Self::Key => f.write_str("the certificate is for another key than the request"),
            Self::Subject(subject) => write!(f, "the certificate has another subject than the request: {subject}"),
            Self::Names(names) if names.is_empty() => f.write_str("the certificate lacks the names of the request"),
            Self::Names(names) => {
                write!(f, "the certificate has other names than the request:")?;
                names.iter().try_for_each(|name| write!(f, " {}", name.escape_debug()))
            }
            Self::Ca => f.write_str("the certificate is that of a CA"),
        }
    }
}

impl core::error::Error for NotAsRequested {}

#[cfg(test)]
mod tests;
