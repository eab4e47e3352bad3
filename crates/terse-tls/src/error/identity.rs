//! Why an identity was not accepted.

use core::fmt;

use crate::wire::AlertDescription;

/// Why an identity was not accepted (docs/identity.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityRefused {
    /// The client's key was made by an authority, in an epoch, or for an algorithm that this server has no key of, and
    /// there is no fall-back to certificates.
    UnknownAuthority,
    /// The epoch of the key is over, and there is no fall-back to certificates.
    Expired,
    /// This side does not know the time, so that the epoch of the key may be over.
    ClockUnknown,
    /// The peer is denied by name.
    Denied,
    /// The peer claims the identity of this side.
    OwnIdentity,
    /// The server has another identity than the one that the client expects.
    OtherIdentity,
    /// A field of `identity_share` has a length that does not fit the algorithm.
    IllegalLength,
    /// `identity_share` comes with `pre_shared_key`.
    WithPreSharedKey,
    /// The client proves no identity, and this server admits no anonymous clients.
    Missing,
    /// The ticket of the early data was used on another connection in the meantime, or its ClientHello came twice.
    EarlyDataTaken,
    /// The server wants no identity, and the client has no trust in certificates.
    NotSelected,
}

impl IdentityRefused {
    pub(super) const fn alert(self) -> AlertDescription {
        match self {
            Self::UnknownAuthority => AlertDescription::UNKNOWN_CA,
            Self::Expired => AlertDescription::CERTIFICATE_EXPIRED,
            Self::ClockUnknown => AlertDescription::CERTIFICATE_UNKNOWN,
            Self::Denied => AlertDescription::ACCESS_DENIED,
            Self::OwnIdentity
            | Self::OtherIdentity
            | Self::IllegalLength
            | Self::WithPreSharedKey
            | Self::EarlyDataTaken => AlertDescription::ILLEGAL_PARAMETER,
            Self::Missing | Self::NotSelected => AlertDescription::MISSING_EXTENSION,
        }
    }
}

impl fmt::Display for IdentityRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownAuthority => "the client's authority, epoch or algorithm is not one of this server's",
            Self::Expired => "the epoch of the identity key is over: a key of the current epoch is needed",
            Self::ClockUnknown => "the time is not known, and the epoch of the identity key may be over",
            Self::Denied => "the peer's identity is denied",
            Self::OwnIdentity => "the peer claims the identity of this side",
            Self::OtherIdentity => "the server has another identity than the expected one",
            Self::IllegalLength => "a field of identity_share has a length that does not fit the algorithm",
            Self::WithPreSharedKey => "identity_share comes with pre_shared_key",
            Self::Missing => "the client proves no identity, and anonymous clients are not admitted",
            Self::EarlyDataTaken => "the early data, or its ticket, came on another connection as well",
            Self::NotSelected => "the server did not answer the identity, and certificates are not trusted",
        })
    }
}

impl core::error::Error for IdentityRefused {}
