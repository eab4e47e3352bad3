//! Why a certificate is revoked, as a CRL says it (RFC 5280, 5.3.1).

use core::fmt;
use core::str::FromStr;

use rcgen::RevocationReason as Encoded;

use crate::Error;

/// A CRLReason that a CRL entry has. RFC 5280, 5.3.1 wants entries without a reason rather than `unspecified`; a certificate
/// that is on hold is revoked here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevocationReason {
    /// Somebody else has, or may have, the private key.
    KeyCompromise,
    /// Somebody else has, or may have, the private key of a CA.
    CaCompromise,
    /// The subject has another name or another organization.
    AffiliationChanged,
    /// Another certificate takes its place.
    Superseded,
    /// It is needed no more.
    CessationOfOperation,
    /// The subject lost what the certificate allows.
    PrivilegeWithdrawn,
    /// Somebody else has, or may have, the private key of an attribute authority.
    AaCompromise,
}

impl RevocationReason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::KeyCompromise,
        Self::CaCompromise,
        Self::AffiliationChanged,
        Self::Superseded,
        Self::CessationOfOperation,
        Self::PrivilegeWithdrawn,
        Self::AaCompromise,
    ];

    /// Returns its number as a CRLReason.
    pub const fn code(self) -> u8 {
        self.encoded() as u8
    }

    /// Returns the reason with this number, or `None` for others, such as `unspecified`.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    pub(crate) const fn encoded(self) -> Encoded {
        match self {
            Self::KeyCompromise => Encoded::KeyCompromise,
            Self::CaCompromise => Encoded::CaCompromise,
            Self::AffiliationChanged => Encoded::AffiliationChanged,
            Self::Superseded => Encoded::Superseded,
            Self::CessationOfOperation => Encoded::CessationOfOperation,
            Self::PrivilegeWithdrawn => Encoded::PrivilegeWithdrawn,
            Self::AaCompromise => Encoded::AaCompromise,
        }
    }
}

impl fmt::Display for RevocationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyCompromise => "key-compromise",
            Self::CaCompromise => "ca-compromise",
            Self::AffiliationChanged => "affiliation-changed",
            Self::Superseded => "superseded",
            Self::CessationOfOperation => "cessation-of-operation",
            Self::PrivilegeWithdrawn => "privilege-withdrawn",
            Self::AaCompromise => "aa-compromise",
        })
    }
}

impl FromStr for RevocationReason {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let reason = Self::ALL.into_iter().find(|reason| reason.to_string() == text);
        reason.ok_or_else(|| Error::UnknownReason(text.into()))
    }
}
