//! Why a registrar refuses, as a status and as a text for people (RFC 8995, 5.2, 5.3 and 5.6).
//!
//! What must always hold: every text says what is wrong and what somebody could do about it; none repeats what a stranger
//! sent; after a refusal that means that somebody may be between pledge and registrar, the connection closes.

use core::fmt;

use terse_tls::CertificateError;

use super::DestinationRefused;
use crate::est::NotAsAsked;
use crate::{Malformed, SignatureRefused};

/// Why a registrar refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The Content-Type is not understood.
    ContentType,
    /// No type in Accept is understood.
    AcceptNotUnderstood,
    /// The pledge does not accept a voucher of a type that is known here.
    NotAcceptable,
    /// The client has presented no certificate.
    NoCertificate,
    /// The certificate leads to no manufacturer that is trusted.
    UnknownManufacturer,
    /// The certificate leads to a manufacturer, and is refused.
    Idevid(CertificateError),
    /// The certificate is no IDevID: it lacks a field, or has it malformed.
    IdevidField(Malformed),
    /// The signature of the request is refused.
    Signature(SignatureRefused),
    /// The request was signed with another certificate than the one that the client has presented.
    OtherSigner,
    /// The content of the request is malformed.
    Request(Malformed),
    /// The serial numbers of request and IDevID differ.
    SerialNumber,
    /// The request does not say which registrar the pledge saw.
    NoProximity,
    /// The pledge saw another registrar.
    OtherRegistrar,
    /// The request has no nonce.
    NoNonce,
    /// The device is not on the list of those that may join.
    UnknownDevice,
    /// An operator has rejected the device.
    Rejected,
    /// No operator has decided in four days.
    NotDecided,
    /// Neither the IDevID nor the configuration says where the MASA is.
    NoMasaUrl,
    /// The MASA URL of the IDevID is not followed.
    MasaUrl(DestinationRefused),
    /// The MASA has answered with this status.
    Masa(u16),
    /// The MASA has sent more than a pledge reads.
    VoucherTooLong,
    /// The MASA has sent something of another type.
    VoucherType,
    /// The signature of the voucher is refused.
    VoucherSignature(SignatureRefused),
    /// The content of the voucher is malformed.
    Voucher(Malformed),
    /// The voucher is for another serial number or nonce.
    OtherVoucher,
    /// A voucher that was fetched has expired.
    VoucherExpired,
    /// A voucher that was fetched pins another domain.
    OtherDomain,
    /// A status message has another type.
    StatusType,
    /// A status message is malformed.
    Status(Malformed),
    /// Another client than the one with the voucher wants to enrol.
    OtherClient,
    /// The pledge has said that its voucher is bad.
    VoucherRejected,
    /// The pledge has not said yet that its voucher is good.
    NoVoucherStatus,
    /// The audit log is not as the policy wants it.
    AuditLog,
    /// The certificate of a re-enrolment is no LDevID of the domain.
    Ldevid(CertificateError),
    /// The certification request is not as was asked.
    CertificationRequest(NotAsAsked),
    /// The certification request asks for a name that was not asked for.
    NameNotAsked,
}

impl Refusal {
    /// Returns the status of the HTTP response.
    pub const fn status(&self) -> u16 {
        match self {
            Self::NoCertificate | Self::OtherSigner | Self::NoProximity | Self::OtherRegistrar | Self::OtherClient => {
                401
            }
            Self::UnknownManufacturer
            | Self::Signature(_)
            | Self::SerialNumber
            | Self::NoNonce
            | Self::NotDecided
            | Self::NoMasaUrl
            | Self::MasaUrl(_)
            | Self::VoucherRejected
            | Self::NoVoucherStatus
            | Self::AuditLog
            | Self::Ldevid(_) => 403,
            Self::Idevid(_) | Self::IdevidField(_) | Self::UnknownDevice => 404,
            Self::NotAcceptable | Self::Request(_) | Self::Rejected => 406,
            Self::ContentType | Self::AcceptNotUnderstood | Self::StatusType => 415,
            Self::Status(_) | Self::CertificationRequest(_) | Self::NameNotAsked => 400,
            // These mean the same for the pledge. A 401 is about the registrar, and would mean an attack to the pledge.
            Self::Masa(status @ (403 | 404 | 406 | 415)) => *status,
            Self::Masa(401) => 403,
            Self::Masa(_)
            | Self::VoucherTooLong
            | Self::VoucherType
            | Self::VoucherSignature(_)
            | Self::Voucher(_)
            | Self::OtherVoucher
            | Self::VoucherExpired
            | Self::OtherDomain => 502,
        }
    }

    /// Whether the connection must be closed after the response (RFC 8995, 5.2).
    pub const fn closes(&self) -> bool {
        self.status() == 401
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idevid(error) => return write!(f, "the IDevID is refused: {}", error.of(&"the pledge")),
            Self::IdevidField(error) => {
                return write!(f, "the client certificate is not usable: {error}; present the IDevID");
            }
            Self::Signature(error) => return write!(f, "the signature of the voucher request is refused: {error}"),
            Self::Request(error) => return write!(f, "the voucher request cannot be read: {error}"),
            Self::MasaUrl(error) => {
                return write!(
                    f,
                    "the MASA URL of the IDevID is not followed: {error}; an operator can configure one for the \
                     manufacturer"
                );
            }
            Self::Masa(401) => "the MASA wants this registrar to authenticate itself; an operator must configure that",
            Self::Masa(status) => return write!(f, "the MASA issues no voucher: it answered with status {status}"),
            Self::VoucherSignature(error) => return write!(f, "the MASA sent a voucher with a bad signature: {error}"),
            Self::Voucher(error) => return write!(f, "the MASA sent a voucher that cannot be read: {error}"),
            Self::Status(error) => return write!(f, "the status message cannot be read: {error}"),
            Self::Ldevid(error) => {
                return write!(
                    f,
                    "re-enrolment needs an LDevID of this domain: {}; enrol with the IDevID otherwise",
                    error.of(&"the device")
                );
            }
            Self::CertificationRequest(error) => {
                return write!(f, "the certification request is not as was asked: {error}");
            }
            Self::ContentType => {
                "the Content-Type is not understood; send application/voucher-cms+json or application/voucher+cose"
            }
            Self::AcceptNotUnderstood => {
                "no type in Accept is understood; vouchers here are application/voucher-cms+json or \
                 application/voucher+cose, as the request"
            }
            Self::NotAcceptable => {
                "a voucher of the accepted types is not to be had; vouchers here are of the type of the request, \
                 application/voucher-cms+json or application/voucher+cose"
            }
            Self::NoCertificate => "the connection has no client certificate; present the IDevID",
            Self::UnknownManufacturer => {
                "the manufacturer of the device is not trusted in this domain; an operator can add its CA"
            }
            Self::OtherSigner => {
                "the voucher request was signed with another certificate than the connection has; sign with the IDevID \
                 that is presented"
            }
            Self::SerialNumber => "the serial numbers of voucher request and IDevID differ",
            Self::NoProximity => "the voucher request must have the assertion proximity and proximity-registrar-cert",
            Self::OtherRegistrar => {
                "the pledge saw another registrar's certificate: somebody may be between it and this registrar"
            }
            Self::NoNonce => "the voucher request has no nonce; make a fresh one",
            Self::UnknownDevice => "the device is not among those that may join; an operator can add its serial number",
            Self::Rejected => "an operator has rejected the device",
            Self::NotDecided => "no operator has decided about the device in time; ask one, and begin anew",
            Self::NoMasaUrl => "where the MASA of the device is, is not known; an operator can configure it",
            Self::VoucherTooLong => "the MASA sent a voucher that is too long; its operator must look into it",
            Self::VoucherType => "the MASA sent no voucher of an accepted type; its operator must look into it",
            Self::OtherVoucher => {
                "the MASA sent a voucher for another serial number or nonce; its operator must look into it"
            }
            Self::VoucherExpired => "the MASA sent a voucher that has expired; its operator must look into it",
            Self::OtherDomain => "the MASA sent a voucher for another domain; its operator must look into it",
            Self::StatusType => "the Content-Type is not understood; send application/json or application/cbor",
            Self::OtherClient => "the voucher was issued to another client; enrol with the IDevID that asked for it",
            Self::VoucherRejected => "the device has said that its voucher is not good; begin anew",
            Self::NoVoucherStatus => "the device has not said whether its voucher is good; send voucher_status first",
            Self::AuditLog => "the earlier owners of the device do not agree with the policy; ask an operator",
            Self::NameNotAsked => {
                "the certification request asks for a subjectAltName that it must not have; ask for the CSR attributes"
            }
        })
    }
}

impl core::error::Error for Refusal {}

mod name;
#[cfg(test)]
mod tests;
