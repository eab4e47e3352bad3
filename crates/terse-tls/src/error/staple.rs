//! The errors of stapled OCSP responses (RFC 6066, 8; RFC 6960).

use core::fmt;

use super::certificate::Date;

/// Why a stapled OCSP response does not show that a certificate is good. A response about a revoked certificate is
/// [`super::CertificateError::Revoked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StapleError {
    /// There is no response, and one is required.
    Missing,
    /// The response does not parse, or has a critical extension.
    Malformed,
    /// The responder had no answer (RFC 6960, 2.3).
    NotSuccessful,
    /// The response is about other certificates.
    OtherCertificate,
    /// The response is neither signed by the issuer of the certificate, nor by a responder that the issuer has
    /// certified for that (RFC 6960, 4.2.2.2).
    NotFromIssuer,
    /// The response is signed with an algorithm that is not accepted.
    UnsupportedAlgorithm,
    /// The response has expired on this day: that of its nextUpdate, or the one after its thisUpdate.
    OutOfDate(Date),
    /// The response is valid from a time on this day on.
    NotYetValid(Date),
    /// The responder does not know the certificate.
    UnknownStatus,
}

impl fmt::Display for StapleError {
    /// Prints the text that follows "the stapled OCSP response".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing, and one is required"),
            Self::Malformed => f.write_str("does not parse"),
            Self::NotSuccessful => f.write_str("says that the responder had no answer"),
            Self::OtherCertificate => f.write_str("is about another certificate"),
            Self::NotFromIssuer => f.write_str("is not signed by the issuer or by a responder of the issuer"),
            Self::UnsupportedAlgorithm => f.write_str("is signed with an algorithm that is refused"),
            Self::OutOfDate(time) => write!(f, "is out of date since {}", time),
            Self::NotYetValid(time) => write!(f, "is valid from {} on; is the clock right?", time),
            Self::UnknownStatus => f.write_str("says that the responder does not know the certificate"),
        }
    }
}
