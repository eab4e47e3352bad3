//! An error of the CA is one line that says what is wrong and what to do.

use core::fmt;
use std::path::PathBuf;

use crate::{KeyError, RequestError, RevocationReason};

/// The reason why the CA could not do what was requested.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No key algorithm has this name.
    UnknownAlgorithm(String),
    /// This is no key algorithm with a number of certificates from 2 to 8.
    InvalidChain(String),
    /// This is no DNS name and no IP address, or not usable as the name of a CA.
    InvalidName(String),
    /// No name was given for the certificate.
    NoName,
    /// No certificate of these contents has this length in bytes.
    InvalidLength(usize),
    /// The end is not after the start, or lies beyond the year 9999.
    InvalidValidity,
    /// This is no serial number of a device.
    InvalidSerialNumber(String),
    /// This attribute cannot stand in a subject.
    InvalidSubject(String),
    /// This is no URL of a CRL.
    InvalidCrlUrl(String),
    /// No certificate is revoked for this reason.
    UnknownReason(String),
    /// This is no MASA URL.
    InvalidMasaUrl(String),
    /// A certification request was refused.
    Request(RequestError),
    /// The CA ends before the certificate would begin.
    Ended,
    /// The certificate or CRL was not issued by this CA.
    ForeignIssuer,
    /// A root cannot be revoked.
    Root,
    /// A certificate or CRL could not be parsed.
    Malformed(&'static str),
    /// A CA certificate and its private key do not belong together.
    KeyMismatch,
    /// The key of this CA certificate is not here; the field is the name of its file without the ending.
    NoKey(String),
    /// A key that is elsewhere does not sign.
    Key(KeyError),
    /// The file exists and may not be overwritten.
    Exists(PathBuf),
    /// A file could not be read or written, or has the wrong content.
    File {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },
    /// A key could not be made or used, or a certificate could not be signed.
    Crypto(String),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>, problem: impl fmt::Display) -> Self {
        Self::File { path: path.into(), problem: problem.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAlgorithm(name) => {
                write!(f, "unknown key algorithm {name:?}; use p256, p384, ed25519, rsa2048, rsa3072 or rsa4096")
            }
            Self::InvalidChain(chain) => {
                write!(f, "{chain:?} does not describe a chain; write ALGORITHMxN with N from 2 to 8, as in p256x3")
            }
            Self::InvalidName(name) => {
                write!(
                    f,
                    "{name:?} cannot be a name here; use a DNS name or an IP address, or, for a CA, 1 to 60 printable characters"
                )
            }
            Self::NoName => f.write_str("a certificate needs a name; give a DNS name or an IP address"),
            Self::InvalidLength(length) => {
                write!(f, "a certificate with these names and keys cannot have {length} bytes; give another length")
            }
            Self::InvalidValidity => {
                f.write_str("the certificate would end before it starts, or after the year 9999; give another validity")
            }
            Self::InvalidSerialNumber(number) => write!(
                f,
                "{number:?} cannot be the serial number of a device; use 1 to 64 letters, digits, spaces and '()+,-./:=?"
            ),
            Self::InvalidSubject(attribute) => write!(
                f,
                "{attribute:?} cannot stand in a subject; use CN, serialNumber, C, L, ST, O, OU or DC with a short printable \
                 value, as in O=Plant"
            ),
            Self::InvalidMasaUrl(url) => write!(
                f,
                "{url:?} is no MASA URL; use a host with or without a port, as in masa.maker.example:9443, or an https URL"
            ),
            Self::InvalidCrlUrl(url) => {
                write!(f, "{url:?} is no URL of a CRL; use one of http, as in http://plant.example:8080/crl/domain.crl")
            }
            Self::UnknownReason(reason) => {
                write!(f, "{reason:?} is no reason to revoke a certificate; use")?;
                let mut all = RevocationReason::ALL.into_iter();
                all.try_for_each(|reason| write!(f, " {reason}"))
            }
            Self::Request(refusal) => refusal.fmt(f),
            Self::Ended => f.write_str("the CA ends before the certificate would begin; make a new CA"),
            Self::ForeignIssuer => f.write_str("was not issued by this CA; choose the CA that issued it"),
            Self::Root => f.write_str("a root signs its own CRL and cannot be revoked; remove it from who trusts it"),
            Self::Malformed(what) => write!(f, "{what} cannot be parsed; make it anew"),
            Self::KeyMismatch => f.write_str("the private key does not belong to the certificate; restore the pair"),
            Self::NoKey(name) => write!(
                f,
                "the key of {name}.pem is not here; put {name}.key or {name}.key-uri into the CA's directory for as long as it \
                 is needed"
            ),
            Self::Key(error) => error.fmt(f),
            Self::Exists(path) => write!(f, "{}: exists already; use --force to replace it", path.display()),
            Self::File { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Crypto(problem) => f.write_str(problem),
        }
    }
}

impl core::error::Error for Error {}

impl From<RequestError> for Error {
    fn from(refusal: RequestError) -> Self {
        Self::Request(refusal)
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl From<rcgen::Error> for Error {
    fn from(error: rcgen::Error) -> Self {
        Self::Crypto(error.to_string())
    }
}

impl From<pkcs8::Error> for Error {
    fn from(error: pkcs8::Error) -> Self {
        Self::Crypto(error.to_string())
    }
}

impl From<aws_lc_rs::error::Unspecified> for Error {
    fn from(_: aws_lc_rs::error::Unspecified) -> Self {
        Self::Crypto("the cryptographic library failed".into())
    }
}
