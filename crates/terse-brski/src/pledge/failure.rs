//! Why an attempt to join fails, for the owner of the device, and what an authenticated registrar is told of it (RFC 8995,
//! 5.9.4).

use core::fmt;

use terse_tls::CertificateError;
use terse_tls::crypto::CryptoError;

use crate::{Malformed, SignatureRefused};

/// Why an attempt to join through a proxy has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptFailed {
    /// The connection could not be made, or was lost.
    ConnectionLost,
    /// Nothing has happened for as long as another proxy, or the pledge, could wait (RFC 8995, 5.1).
    NoProgress,
    /// The registrar has presented no certificates, or too many, or a raw public key that the pledge cannot do with.
    Certificates,
    /// The registrar has presented other certificates than on an earlier connection of this attempt (RFC 8995, 5).
    CertificatesChanged,
    /// The voucher request could not be made or signed.
    Request(SignatureRefused),
    /// The cryptography failed, or the key did not sign.
    Crypto(CryptoError),
    /// The registrar gives no voucher, with this HTTP status, or with the code of CoAP that corresponds to it.
    NoVoucher(u16),
    /// The registrar redirects for the second time to another origin, too often, or to what is not followed.
    Redirection,
    /// The registrar has let the pledge wait for four days (RFC 8995, 5.6).
    WaitedTooLong,
    /// The voucher is refused.
    Voucher(VoucherRefused),
    /// The pledge has a voucher, and gets no certificate.
    Enrollment(EnrollmentFailed),
}

/// Why a voucher is refused (RFC 8995, 5.6.1 and 5.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VoucherRefused {
    /// The response has another media type, or content format, than the one that was asked for.
    ContentType,
    /// The voucher is not signed by the manufacturer.
    Signature(SignatureRefused),
    /// The voucher is signed with the key of another device of the manufacturer.
    SignedByDevice,
    /// The signer leads to no CA of voucher signers. Among the anchors is the CA of the devices, which is none.
    UnknownSigner,
    /// The signed content is no voucher.
    Malformed(Malformed),
    /// It is for another serial number.
    SerialNumber,
    /// It is for a device of another issuer.
    IdevidIssuer,
    /// It has another nonce than the request.
    Nonce,
    /// It has no nonce, and the configuration refuses such vouchers.
    Nonceless,
    /// It was created or signed later than now.
    NotYetValid,
    /// It has expired.
    Expired,
    /// It pins nothing: the domain may not have this pledge (RFC 8995, 5.6.1).
    NoPin,
    /// It requires a check of revocation, which this pledge cannot do (RFC 8366, 5.3).
    RevocationChecks,
    /// The registrar is not of the domain that the voucher pins.
    Registrar(CertificateError),
    /// The raw public key of the registrar is not the one that the voucher pins.
    RawPublicKey,
}

/// Why an enrollment has failed (RFC 8995, 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnrollmentFailed {
    /// The connection was lost, too often.
    ConnectionLost,
    /// The registrar has let the pledge wait for four days.
    WaitedTooLong,
    /// The CA certificates are malformed.
    CaCertificates(Malformed),
    /// There is no trust anchor: the registrar has given no root certificate, and the voucher has pinned none.
    NoAnchor,
    /// The CSR attributes are malformed.
    CsrAttributes(Malformed),
    /// The registrar refuses a request, with this HTTP status, or with the code of CoAP that corresponds to it.
    Refused(u16),
    /// There is no key for the LDevID.
    Key(CryptoError),
    /// The certification request could not be made or signed.
    Request(SignatureRefused),
    /// The response with the certificate is malformed.
    Certificate(Malformed),
    /// The response has no certificate for the key of the request.
    OtherKey,
    /// The certificate is not valid under the trust anchors of the domain.
    Chain(CertificateError),
    /// The credential could not be stored.
    NotStored,
    /// The response with the identity key has another content format.
    IdentityKeyType,
    /// The identity key is longer than the configuration allows.
    IdentityKeyTooLong,
    /// The identity key could not be stored, or is not one.
    IdentityKeyNotStored,
}

impl EnrollmentFailed {
    /// The text that the registrar of the domain is told.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::ConnectionLost => "the connection was lost",
            Self::WaitedTooLong => "the request was not decided in time",
            Self::CaCertificates(_) => "the CA certificates are malformed",
            Self::NoAnchor => "the CA certificates have no root",
            Self::CsrAttributes(_) => "the CSR attributes are malformed",
            Self::Refused(_) => "a request was refused",
            Self::Key(_) => "no key could be made",
            Self::Request(_) => "the certification request could not be made",
            Self::Certificate(_) => "the response with the certificate is malformed",
            Self::OtherKey => "the certificate is not for the key of the request",
            Self::Chain(_) => "the certificate is not valid under the CA certificates",
            Self::NotStored => "the certificate could not be stored",
            Self::IdentityKeyType => "the response with the identity key has another content format",
            Self::IdentityKeyTooLong => "the identity key is too long",
            Self::IdentityKeyNotStored => "the identity key could not be read or stored",
        }
    }
}

impl fmt::Display for AttemptFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionLost => f.write_str("the connection could not be made, or was lost"),
            Self::NoProgress => f.write_str("the registrar did not answer in time"),
            Self::Certificates => f.write_str("the registrar presented no certificates, or too many"),
            Self::CertificatesChanged => f.write_str("the registrar presented other certificates than before"),
            Self::Request(error) => write!(f, "the voucher request could not be made: {error}"),
            Self::Crypto(error) => write!(f, "the voucher request could not be made: {error}"),
            Self::NoVoucher(status) => write!(f, "the registrar gave no voucher: HTTP status {status}"),
            Self::Redirection => f.write_str("the registrar redirected to what is not followed, or too often"),
            Self::WaitedTooLong => f.write_str("the registrar did not decide within four days"),
            Self::Voucher(refused) => write!(f, "the voucher is refused: {refused}"),
            Self::Enrollment(failed) => write!(f, "the enrollment failed: {failed}"),
        }
    }
}

impl fmt::Display for VoucherRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContentType => "it has another media type than the one that was asked for",
            Self::Signature(refused) => return refused.fmt(f),
            Self::Malformed(malformed) => return malformed.fmt(f),
            Self::UnknownSigner => {
                "its signer is not known, and the CA of the devices counts for none; give the device the certificate of the \
                 voucher signer, or of a CA that issues only voucher signers"
            }
            Self::SignedByDevice => "a device has signed it, and not its manufacturer",
            Self::SerialNumber => "it is for another serial number",
            Self::IdevidIssuer => "it is for a device of another issuer",
            Self::Nonce => "its nonce is not that of the request",
            Self::Nonceless => "it has no nonce, and such vouchers are not accepted",
            Self::NotYetValid => "it was made later than now, so one of the clocks is wrong",
            Self::Expired => "it has expired",
            Self::NoPin => "it pins no domain: the manufacturer refuses this domain",
            Self::RevocationChecks => "it requires a check of revocation, which this device cannot do",
            Self::RawPublicKey => "the registrar's raw public key is not the one that it pins",
            Self::Registrar(error) => return write!(f, "the registrar is not of the domain that it pins: {error}"),
        })
    }
}

impl fmt::Display for EnrollmentFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())?;
        match self {
            Self::CaCertificates(error) | Self::CsrAttributes(error) | Self::Certificate(error) => {
                write!(f, ": {error}")
            }
            Self::Refused(status) => write!(f, ": HTTP status {status}"),
            Self::Key(error) => write!(f, ": {error}"),
            Self::Request(error) => write!(f, ": {error}"),
            Self::Chain(error) => write!(f, ": {error}"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for AttemptFailed {}

impl core::error::Error for VoucherRefused {}

impl core::error::Error for EnrollmentFailed {}
