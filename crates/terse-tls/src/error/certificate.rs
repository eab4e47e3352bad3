//! The errors of certificates.

use core::fmt;
use core::time::Duration;

use pki_types::UnixTime;

use super::StapleError;
use crate::wire::AlertDescription;

/// Why a certificate was not accepted. `depth` counts from the leaf, which is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The client sent no certificate, and one is required (RFC 9846, 4.5.1).
    Required,
    /// The chain has more than 100 certificates.
    TooManyCertificates,
    /// The certificate is of a type, X.509 or raw public key, that this side does not accept (RFC 7250, 4.2).
    UnacceptedType,
    /// A certificate does not parse as X.509.
    Malformed,
    /// The validity ended on the day `not_after`.
    Expired {
        /// The index of the certificate in the chain.
        depth: u8,
        /// The day on which its validity ended.
        not_after: Date,
    },
    /// The validity begins on the day `not_before`.
    NotYetValid {
        /// The index of the certificate in the chain.
        depth: u8,
        /// The day on which its validity begins.
        not_before: Date,
    },
    /// The device has no wall-clock time, and the configuration does not accept certificates without it.
    NoTime,
    /// No path leads to a trust anchor.
    UnknownIssuer,
    /// The certificate is valid, but not for the requested name.
    WrongName,
    /// The certificate is revoked by a configured CRL or a stapled OCSP response.
    Revoked,
    /// Revocation is required, and no configured CRL covers the certificate.
    UnknownRevocationStatus,
    /// A configured CRL is past its nextUpdate.
    CrlExpired,
    /// No stapled OCSP response shows that the certificate is good.
    Staple(StapleError),
    /// The certificate is not allowed for this use: key usage, extended key usage, or a CA instead of an end entity or
    /// the reverse.
    WrongUsage,
    /// The certificate violates a constraint of its issuer: path length, or names.
    ConstraintViolated,
    /// A certificate has name constraints (RFC 5280, 4.2.1.10), which
    /// [`Trust::without_path_building`](crate::Trust::without_path_building) does not process.
    NameConstraints {
        /// The index of the certificate in the chain.
        depth: u8,
    },
    /// A signature in the chain is wrong.
    BadSignature,
    /// A signature or key in the chain, or a raw public key, is of a kind that is not supported or too weak.
    UnsupportedAlgorithm,
    /// An RSA key has fewer than 2,048 bits.
    ShortRsaKey {
        /// The index of the certificate in the chain; for the key of a trust anchor, the length of the chain.
        depth: u8,
        /// The length of the modulus.
        bits: u16,
    },
    /// The raw public key is not among those configured (RFC 7250, 4.3 and 4.4).
    UnknownPublicKey {
        /// The first bytes of the SHA-256 of its DER SubjectPublicKeyInfo.
        sha256: [u8; 8],
    },
    /// Anything else that path validation (RFC 5280) refuses.
    Invalid,
}

impl CertificateError {
    pub(super) const fn alert(self) -> AlertDescription {
        match self {
            Self::Required => AlertDescription::CERTIFICATE_REQUIRED,
            Self::Expired { .. } | Self::NotYetValid { .. } | Self::CrlExpired => AlertDescription::CERTIFICATE_EXPIRED,
            Self::UnknownIssuer => AlertDescription::UNKNOWN_CA,
            Self::Revoked => AlertDescription::CERTIFICATE_REVOKED,
            // RFC 6066, 8. RFC 7633 has no alert for a missing staple; this one is about the same subject.
            Self::Staple(_) => AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE,
            // RFC 7250 has no alert for an unknown key.
            Self::NoTime | Self::UnknownRevocationStatus | Self::UnknownPublicKey { .. } => {
                AlertDescription::CERTIFICATE_UNKNOWN
            }
            Self::UnacceptedType
            | Self::UnsupportedAlgorithm
            | Self::ShortRsaKey { .. }
            | Self::WrongUsage
            | Self::NameConstraints { .. } => AlertDescription::UNSUPPORTED_CERTIFICATE,
            Self::TooManyCertificates
            | Self::Malformed
            | Self::WrongName
            | Self::ConstraintViolated
            | Self::BadSignature
            | Self::Invalid => AlertDescription::BAD_CERTIFICATE,
        }
    }

    /// Returns the message about the certificate of the peer `name`: "the certificate of broker.plant.example expired
    /// on 2026-03-01".
    pub fn of<'a>(&'a self, name: &'a dyn fmt::Display) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            Self::Required => write!(f, "{name} sent no certificate, and one is required"),
            Self::TooManyCertificates => write!(f, "the chain of {name} has more than 100 certificates"),
            Self::UnacceptedType => write!(f, "the certificate of {name} is of a type that is not accepted here"),
            Self::Malformed => write!(f, "a certificate of {name} does not parse"),
            Self::Expired { depth: 0, not_after } => {
                write!(f, "the certificate of {name} expired on {}", not_after)
            }
            Self::Expired { depth, not_after } => {
                write!(f, "a CA certificate (number {depth} above the leaf) of {name} expired on {}", not_after)
            }
            Self::NotYetValid { depth: 0, not_before } => {
                write!(f, "the certificate of {name} is valid from {} on; is the clock right?", not_before)
            }
            Self::NotYetValid { depth, not_before } => write!(
                f,
                "a CA certificate (number {depth} above the leaf) of {name} is valid from {} on; is the clock right?",
                not_before
            ),
            Self::NoTime => write!(f, "the certificate of {name} cannot be checked without wall-clock time"),
            Self::UnknownIssuer => write!(f, "the certificate of {name} was issued by no CA that is trusted here"),
            Self::WrongName => write!(f, "the certificate of the peer is not valid for {name}"),
            Self::Revoked => write!(f, "the certificate of {name} was revoked"),
            Self::UnknownRevocationStatus => write!(f, "no CRL covers the certificate of {name}"),
            Self::CrlExpired => write!(f, "the CRL for the certificate of {name} is out of date"),
            Self::Staple(error) => write!(f, "the stapled OCSP response for the certificate of {name} {error}"),
            Self::WrongUsage => write!(f, "the certificate of {name} is not meant for this use"),
            Self::ConstraintViolated => write!(f, "the certificate of {name} breaks a constraint of its issuer"),
            Self::NameConstraints { depth: 0 } => {
                write!(f, "the certificate of {name} has name constraints, which are not processed here")
            }
            Self::NameConstraints { depth } => write!(
                f,
                "a CA certificate (number {depth} above the leaf) of {name} has name constraints, which are not processed \
                 here: trust its CA with path building"
            ),
            Self::BadSignature => write!(f, "a signature in the certificate chain of {name} is wrong"),
            Self::UnsupportedAlgorithm => {
                write!(f, "the chain of {name} uses an algorithm or key size that is refused")
            }
            Self::ShortRsaKey { depth: 0, bits } => {
                write!(f, "the RSA key of {name} has {bits} bits, which is too short: 2048 are the least")
            }
            Self::ShortRsaKey { depth, bits } => write!(
                f,
                "the RSA key of a CA (number {depth} above the leaf) of {name} has {bits} bits, which is too short: \
                 2048 are the least"
            ),
            Self::UnknownPublicKey { sha256 } => {
                f.write_str("the raw public key sha256:")?;
                sha256.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, "... of {name} is none that is trusted here")
            }
            Self::Invalid => write!(f, "the certificate chain of {name} is not valid"),
        })
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of(&"the peer").fmt(f)
    }
}

/// The day of a time (UTC), which is printed as `2026-03-01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    days: u32,
}

const SECONDS_PER_DAY: u64 = 86_400;

impl Date {
    /// Returns the day of `time`.
    pub const fn of(time: UnixTime) -> Self {
        Self::of_seconds(time.as_secs())
    }

    pub(crate) const fn of_seconds(seconds: u64) -> Self {
        // In units of 128 seconds, so that a device needs no division of 64 bits.
        let units = if seconds >> 7 < u32::MAX as u64 { (seconds >> 7) as u32 } else { u32::MAX };
        Self { days: units / (SECONDS_PER_DAY >> 7) as u32 }
    }

    /// Returns the days since 1970-01-01.
    pub const fn days(self) -> u32 {
        self.days
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = Duration::from_secs(u64::from(self.days()) * SECONDS_PER_DAY);
        match x509_cert::der::DateTime::from_unix_duration(begin) {
            Ok(date) => write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day()),
            Err(_) => f.write_str("a date after the year 9999"),
        }
    }
}

impl core::error::Error for CertificateError {}
