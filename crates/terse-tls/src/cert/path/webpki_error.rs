//! The errors of path validation by what the user can do about them.

use pki_types::CertificateDer;

use crate::cert::fields::Fields;
use crate::cert::verify::depth_of;
use crate::error::{CertificateError, Date};

/// Returns the error for one of webpki, about a certificate of `chain`.
pub(super) fn named_error(error: &webpki::Error, chain: &[CertificateDer<'_>]) -> CertificateError {
    use webpki::Error as E;
    let find = |wanted: &dyn Fn(&Fields<'_>) -> bool| {
        let place = chain.iter().position(|der| Fields::read(der).is_ok_and(|fields| wanted(&fields)));
        place.map_or(0, depth_of)
    };
    match error {
        E::CertExpired { not_after, .. } => CertificateError::Expired {
            depth: find(&|fields| fields.not_after == not_after.as_secs()),
            not_after: Date::of(*not_after),
        },
        E::CertNotValidYet { not_before, .. } => CertificateError::NotYetValid {
            depth: find(&|fields| fields.not_before == not_before.as_secs()),
            not_before: Date::of(*not_before),
        },
        E::UnknownIssuer => CertificateError::UnknownIssuer,
        E::CertNotValidForName(_) | E::UnsupportedNameType => CertificateError::WrongName,
        E::CertRevoked => CertificateError::Revoked,
        E::CrlExpired { .. } => CertificateError::CrlExpired,
        E::UnknownRevocationStatus | E::InvalidCrlSignatureForPublicKey | E::IssuerNotCrlSigner => {
            CertificateError::UnknownRevocationStatus
        }
        E::CaUsedAsEndEntity | E::EndEntityUsedAsCa | E::EmptyEkuExtension | E::RequiredEkuNotFoundContext(_) => {
            CertificateError::WrongUsage
        }
        E::NameConstraintViolation | E::PathLenConstraintViolated => CertificateError::ConstraintViolated,
        E::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        E::UnsupportedSignatureAlgorithmContext(_) | E::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            CertificateError::UnsupportedAlgorithm
        }
        E::BadDer
        | E::BadDerTime
        | E::TrailingData(_)
        | E::MalformedDnsIdentifier
        | E::MalformedExtensions
        | E::MalformedNameConstraint
        | E::ExtensionValueInvalid
        | E::InvalidSerialNumber
        | E::UnsupportedCertVersion => CertificateError::Malformed,
        _ => CertificateError::Invalid,
    }
}
