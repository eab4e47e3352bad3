//! Why a MASA issues no voucher, as a status and as a text for people (RFC 8995, 5.6).
//!
//! What must always hold: every text says what is wrong and what somebody could do about it; none repeats what a stranger
//! sent.

use core::fmt;

use terse_tls::CertificateError;

use crate::devices::IdevidRefused;
use crate::{Malformed, SignatureRefused};

/// Why a request to a MASA is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The Content-Type is not understood.
    ContentType,
    /// No type in Accept is understood.
    AcceptNotUnderstood,
    /// The registrar does not accept a voucher of the type that is issued.
    NotAcceptable,
    /// The signature of the registrar is refused.
    Signature(SignatureRefused),
    /// The content of the request is malformed.
    Request(Malformed),
    /// The certificates of the registrar are not consistent.
    Registrar(CertificateError),
    /// The registrar's certificate lacks the extended key usage cmcRA (RFC 8995, 5.5.4).
    NotRegistrar,
    /// The certificate above another one is not that of a CA.
    IssuerIsNoCa,
    /// Too many signatures would have to be verified to find which of the certificates have issued one another.
    TooManyCertificates,
    /// A certificate of the registrar is revoked.
    Revoked,
    /// Whether a certificate of the registrar is revoked could not be learned.
    RevocationUnknown,
    /// created-on is missing, and the request must be recent.
    Undated,
    /// The request was created too long ago.
    Stale,
    /// The request was created in the future.
    InTheFuture,
    /// The pledge's request was created too long ago.
    PledgeStale,
    /// The pledge's request does not say when it was created, or says a time in the future, and proximity is required.
    PledgeUndated,
    /// The nonce of the pledge has served for another voucher.
    NonceUsed,
    /// The signature of the pledge is refused.
    PledgeSignature(SignatureRefused),
    /// The content of the pledge's request is malformed.
    PledgeRequest(Malformed),
    /// The pledge's request was not signed with an IDevID of this manufacturer.
    PledgeCertificate(CertificateError),
    /// The IDevID lacks a field, or has it malformed.
    Idevid(Malformed),
    /// The serial numbers of the requests and of the IDevID are not all the same.
    SerialNumber,
    /// The idevid-issuer of the request is not the issuer of the IDevID.
    IdevidIssuer,
    /// Neither the request nor a request of the pledge says who issued the IDevID.
    NoIdevidIssuer,
    /// The nonces of the requests are not the same.
    Nonce,
    /// The request has no request of the pledge, and one is required.
    NoPledgeRequest,
    /// The pledge did not say which registrar it saw, and that is required.
    NoProximity,
    /// The pledge saw another registrar.
    OtherRegistrar,
    /// The device is not known.
    UnknownDevice,
    /// No vouchers are issued for the device.
    BlockedDevice,
    /// The device belongs to another domain.
    Claimed,
    /// The device was not sold to this domain.
    NotSold,
    /// Vouchers without a nonce are not issued.
    NoncelessNotAllowed,
    /// The registrar is not known, and it asks for a voucher without a nonce (RFC 8995, 5.5.4).
    RegistrarUnknown,
    /// The certificate that would be pinned has a malformed subject key identifier, or too long a one.
    DomainId(Malformed),
    /// Another key has had a voucher for the device under this domainID, which is not a hash of the key that would be pinned.
    DomainIdTaken,
    /// The requester never had a voucher for the device (RFC 8995, 5.8).
    NeverOwner,
}

impl Refusal {
    /// Returns the status of the HTTP response.
    pub const fn status(&self) -> u16 {
        match self {
            Self::ContentType | Self::AcceptNotUnderstood => 415,
            Self::NotAcceptable | Self::BlockedDevice | Self::Request(_) | Self::PledgeRequest(_) => 406,
            Self::UnknownDevice | Self::NeverOwner | Self::PledgeCertificate(_) | Self::Idevid(_) => 404,
            Self::Signature(_)
            | Self::Registrar(_)
            | Self::NotRegistrar
            | Self::IssuerIsNoCa
            | Self::TooManyCertificates
            | Self::Revoked
            | Self::RevocationUnknown
            | Self::Undated
            | Self::Stale
            | Self::InTheFuture
            | Self::PledgeStale
            | Self::PledgeUndated
            | Self::NonceUsed
            | Self::PledgeSignature(_)
            | Self::SerialNumber
            | Self::IdevidIssuer
            | Self::NoIdevidIssuer
            | Self::Nonce
            | Self::NoPledgeRequest
            | Self::NoProximity
            | Self::OtherRegistrar
            | Self::Claimed
            | Self::NotSold
            | Self::NoncelessNotAllowed
            | Self::RegistrarUnknown
            | Self::DomainId(_)
            | Self::DomainIdTaken => 403,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signature(error) => return write!(f, "the registrar's signature is refused: {error}"),
            Self::Request(error) => return write!(f, "the voucher request cannot be read: {error}"),
            Self::Registrar(error) => {
                return write!(
                    f,
                    "the registrar's certificates are refused: {}; send its certificate and those of its CAs",
                    error.of(&"the registrar")
                );
            }
            Self::PledgeSignature(error) => return write!(f, "the pledge's signature is refused: {error}"),
            Self::PledgeRequest(error) => return write!(f, "the pledge's voucher request cannot be read: {error}"),
            Self::PledgeCertificate(error) => {
                return write!(f, "this is no device of this manufacturer: {}", error.of(&"the pledge"));
            }
            Self::Idevid(error) => return write!(f, "the certificate of the pledge is no IDevID: {error}"),
            Self::DomainId(error) => {
                return write!(f, "the subject key identifier of the registrar's CA cannot be its domainID: {error}");
            }
            Self::ContentType => {
                "the Content-Type is not understood; send application/voucher-cms+json or application/voucher+cose"
            },
            Self::AcceptNotUnderstood => {
                "no type in Accept is understood; vouchers here are application/voucher-cms+json or \
                 application/voucher+cose, as the request"
            }
            Self::NotAcceptable => {
                "a voucher of the accepted types cannot be issued; vouchers here are of the type of the request, \
                 application/voucher-cms+json or application/voucher+cose"
            }
            Self::NotRegistrar => {
                "the signer is no registrar: its certificate needs the extended key usage id-kp-cmcRA \
                 (1.3.6.1.5.5.7.3.28)"
            }
            Self::IssuerIsNoCa => {
                "a certificate of the registrar was issued by one that is not a CA; issue the registrar's certificate by \
                 the CA of its domain"
            }
            Self::TooManyCertificates => {
                "too many certificates came with the request to find the path among them; send the registrar's certificate \
                 and those of its CAs, and no others"
            }
            Self::Revoked => "a certificate of the registrar is revoked; give the registrar another one",
            Self::RevocationUnknown => {
                "whether the registrar's certificates are revoked cannot be learned; make the CRL or OCSP responder that \
                 they name reachable"
            }
            Self::Undated => "the request has no created-on; say when it was made",
            Self::Stale => "the request was made too long ago; sign a new one",
            Self::InTheFuture => "the request was made in the future; set the registrar's clock",
            Self::PledgeStale => {
                "the pledge made its request too long ago; let it make a new one, and set its clock if that is wrong"
            }
            Self::PledgeUndated => {
                "the pledge's request does not say when it was made, so that it does not show proximity; set the pledge's clock"
            }
            Self::NonceUsed => "the pledge's request has served for a voucher before; let the pledge make a new one",
            Self::SerialNumber => "the serial numbers of request, pledge's request and IDevID differ",
            Self::IdevidIssuer => "the idevid-issuer is not the issuer of the pledge's IDevID",
            Self::NoIdevidIssuer => {
                "the request has neither idevid-issuer nor prior-signed-voucher-request, so that its serial number means \
                 no device"
            }
            Self::Nonce => "the nonces of request and pledge's request differ",
            Self::NoPledgeRequest => "the request needs a prior-signed-voucher-request",
            Self::NoProximity => "the pledge's request needs a proximity-registrar-cert",
            Self::OtherRegistrar => {
                "the pledge is connected to another registrar than the one that signed the request: somebody may be \
                 between them"
            }
            Self::UnknownDevice => "no such device is known here; check its serial number and manufacturer",
            Self::BlockedDevice => "no vouchers are issued for this device; ask the manufacturer",
            Self::Claimed => "the device belongs to another domain; its owner must have it released by the manufacturer",
            Self::NotSold => "the device was not sold to this domain; ask the manufacturer to record the sale",
            Self::NoncelessNotAllowed => {
                "vouchers without a nonce are not issued; send the nonce of the pledge's request"
            }
            Self::RegistrarUnknown => {
                "only a registrar that is known here can have a voucher without a nonce; authenticate by a client \
                 certificate or a password"
            }
            Self::DomainIdTaken => {
                "the domainID belongs to a domain with another key; give the registrar's CA a subject key identifier that is \
                 made of its own key (RFC 5280, 4.2.1.2)"
            }
            Self::NeverOwner => "there is no audit log for this device and this domain",
        })
    }
}

impl core::error::Error for Refusal {}

impl From<IdevidRefused> for Refusal {
    fn from(refused: IdevidRefused) -> Self {
        match refused {
            IdevidRefused::Path(error) => Self::PledgeCertificate(error),
            IdevidRefused::Field(malformed) => Self::Idevid(malformed),
        }
    }
}

mod name;
#[cfg(test)]
mod tests;
