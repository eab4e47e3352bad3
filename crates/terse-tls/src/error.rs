//! Errors, grouped by who is to blame, and their alerts (RFC 9846, 6.2).

use core::fmt;

use crate::crypto::CryptoError;
use crate::wire::{AlertDescription, EncodeError, ExtensionError, ProtocolVersion};

mod certificate;
mod code;
mod identity;
mod misuse;
mod peer;
mod setting;
mod staple;
#[cfg(test)]
mod tests;

pub use crate::wire::InvalidMessage;
pub use certificate::{CertificateError, Date};
pub use identity::IdentityRefused;
pub use misuse::ApiMisuse;
pub use peer::{PeerIncompatible, PeerMisbehaved};
pub use setting::Setting;
pub use staple::StapleError;

/// Why a connection has failed, or a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent bytes that do not parse.
    InvalidMessage(InvalidMessage),
    /// The peer sent something well-formed that the protocol forbids.
    PeerMisbehaved(PeerMisbehaved),
    /// The peer follows the protocol, but has nothing in common with this side.
    PeerIncompatible(PeerIncompatible),
    /// The peer's certificate is missing or was not accepted.
    Certificate(CertificateError),
    /// An identity was not accepted.
    Identity(IdentityRefused),
    /// The peer ended the connection with this alert.
    AlertReceived(AlertDescription),
    /// A cryptographic operation of this side failed.
    Crypto(CryptoError),
    /// The caller broke the contract of a call; the connection has not changed.
    ApiMisuse(ApiMisuse),
    /// A message of this side cannot be encoded: a configured value is longer than its field, or all values together are.
    Unencodable,
    /// The peer closed the transport without close_notify: its data may be truncated (RFC 9846, 6.1).
    Truncated,
    /// The peer did not answer, although a flight was retransmitted ([`crate::Datagrams::max_retransmissions`]).
    TimedOut,
}

impl Error {
    /// Returns the alert for the peer, if one is sent. TLS 1.2 uses `handshake_failure` instead of
    /// `certificate_required`.
    pub fn alert(&self) -> Option<AlertDescription> {
        Some(match self {
            Self::InvalidMessage(error) => error.alert(),
            Self::PeerMisbehaved(error) => error.alert(),
            Self::PeerIncompatible(error) => error.alert(),
            Self::Certificate(error) => error.alert(),
            Self::Identity(error) => error.alert(),
            Self::Crypto(CryptoError::DecryptFailed) => AlertDescription::BAD_RECORD_MAC,
            Self::Crypto(CryptoError::InvalidKeyShare) => AlertDescription::ILLEGAL_PARAMETER,
            Self::Crypto(_) | Self::Unencodable => AlertDescription::INTERNAL_ERROR,
            Self::AlertReceived(_) | Self::ApiMisuse(_) | Self::Truncated | Self::TimedOut => return None,
        })
    }

    /// Returns the alert for a peer of `version`, which may not know the alerts of TLS 1.3 (RFC 5246, 7.4.6 for the
    /// missing certificate; RFC 7627, 5.2 and 5.3 for the missing extension).
    pub(crate) fn alert_in(&self, version: Option<ProtocolVersion>) -> Option<AlertDescription> {
        match (self.alert()?, version) {
            (
                AlertDescription::CERTIFICATE_REQUIRED | AlertDescription::MISSING_EXTENSION,
                Some(ProtocolVersion::TLS_1_2),
            ) => Some(AlertDescription::HANDSHAKE_FAILURE),
            (alert, _) => Some(alert),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidMessage(error) => write!(f, "the peer sent a message that does not parse: {error}"),
            Self::PeerMisbehaved(error) => write!(f, "the peer broke the protocol: {error}"),
            Self::PeerIncompatible(error) => write!(f, "nothing in common with the peer: {error}"),
            Self::Certificate(error) => write!(f, "{error}"),
            Self::Identity(error) => write!(f, "{error}"),
            Self::AlertReceived(alert) => write!(f, "the peer refused with the alert {alert}"),
            Self::Crypto(error) => write!(f, "{error}"),
            Self::ApiMisuse(error) => write!(f, "{error}"),
            Self::Unencodable => f.write_str("a message of this side has no room for all that is configured"),
            Self::Truncated => f.write_str("the peer closed the connection without close_notify: data may be missing"),
            Self::TimedOut => f.write_str("the peer does not answer, however often it is asked"),
        }
    }
}

impl core::error::Error for Error {}

impl From<InvalidMessage> for Error {
    fn from(error: InvalidMessage) -> Self {
        Self::InvalidMessage(error)
    }
}

impl From<PeerMisbehaved> for Error {
    fn from(error: PeerMisbehaved) -> Self {
        Self::PeerMisbehaved(error)
    }
}

impl From<PeerIncompatible> for Error {
    fn from(error: PeerIncompatible) -> Self {
        Self::PeerIncompatible(error)
    }
}

impl From<ExtensionError> for Error {
    fn from(error: ExtensionError) -> Self {
        match error {
            ExtensionError::Misplaced(kind) => PeerMisbehaved::MisplacedExtension(kind).into(),
            ExtensionError::Missing(kind) => PeerMisbehaved::MissingExtension(kind).into(),
            ExtensionError::Unsolicited(kind) => PeerMisbehaved::UnsolicitedExtension(kind).into(),
            ExtensionError::Invalid(error) => error.into(),
        }
    }
}

impl From<CertificateError> for Error {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}

impl From<IdentityRefused> for Error {
    fn from(error: IdentityRefused) -> Self {
        Self::Identity(error)
    }
}

impl From<CryptoError> for Error {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}

impl From<ApiMisuse> for Error {
    fn from(error: ApiMisuse) -> Self {
        Self::ApiMisuse(error)
    }
}

/// Converts the error of a value that is too long for its field. Where the caller or the peer is to blame, the code that
/// encodes says so.
impl From<EncodeError> for Error {
    fn from(EncodeError: EncodeError) -> Self {
        Self::Unencodable
    }
}
