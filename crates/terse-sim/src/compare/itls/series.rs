//! The curves of the paper's figures, as the modes of this engine that stand for them.

use core::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::compare::Mode;

/// A way to connect: a curve in a figure, a row in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// Both sides have identity keys of `id3dh-ristretto255`, and have met.
    Identity,
    /// As `Identity`, but the two have never met.
    IdentityFirst,
    /// Both sides have identity keys of `id3dh-bls12381`.
    IdentityBls12381,
    /// As `Identity`, and the request is early data under a ticket of the connection before.
    IdentityEarly,
    /// As `IdentityBls12381`, and the request is early data under the two identities alone.
    IdentityBls12381Early,
    /// Both sides have a pre-shared key.
    Psk,
    /// Both sides have chains of ECDSA certificates.
    Ecc,
    /// Both sides have chains of RSA certificates.
    Rsa,
    /// As `Ecc`, and the chains are cached (`docs/caching.md`).
    Compact,
    /// A session is resumed, and the request is early data. This stands for the paper's pre-shared keys with 0-RTT.
    ResumedEarly,
}

/// The strength of keys, as the paper takes it from NIST SP 800-57.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "u16")]
pub enum SecurityLevel {
    /// RSA-2048 and, in the paper, curves over 224 bits.
    Bits112,
    /// RSA-3072 and curves over 256 bits.
    Bits128,
}

impl Series {
    /// All ways to connect.
    pub const ALL: [Self; 10] = [
        Self::Identity,
        Self::IdentityFirst,
        Self::IdentityBls12381,
        Self::IdentityEarly,
        Self::IdentityBls12381Early,
        Self::Psk,
        Self::Ecc,
        Self::Rsa,
        Self::Compact,
        Self::ResumedEarly,
    ];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IdentityEarly => "identity-0rtt",
            Self::IdentityBls12381Early => "identity-bls12381-0rtt",
            Self::Psk => "psk",
            Self::Ecc => "ecc",
            Self::Rsa => "rsa",
            Self::ResumedEarly => "resumed-0rtt",
            series => series.mode().name(),
        }
    }

    /// Returns the name of the paper's curve that this one is held against, as in `itls.toml`.
    pub const fn name_in_paper(self) -> Option<&'static str> {
        match self {
            Self::Identity | Self::IdentityFirst | Self::IdentityBls12381 => Some("itls"),
            Self::IdentityEarly | Self::IdentityBls12381Early => Some("itls"),
            Self::Psk | Self::ResumedEarly => Some("psk"),
            Self::Ecc => Some("ecc"),
            Self::Rsa => Some("rsa"),
            Self::Compact => None,
        }
    }

    /// Returns the mode of the handshakes.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Identity | Self::IdentityEarly => Mode::Identity,
            Self::IdentityFirst => Mode::IdentityFirst,
            Self::IdentityBls12381 | Self::IdentityBls12381Early => Mode::IdentityBls12381,
            Self::Psk => Mode::Psk,
            Self::Ecc | Self::Rsa => Mode::Full,
            Self::Compact => Mode::Compact,
            Self::ResumedEarly => Mode::Resumed,
        }
    }

    /// Whether the request is sent as early data.
    pub const fn has_early_data(self) -> bool {
        matches!(self, Self::IdentityEarly | Self::IdentityBls12381Early | Self::ResumedEarly)
    }

    /// Whether the security levels differ: of the others there is one for both.
    pub const fn has_levels(self) -> bool {
        matches!(self, Self::Ecc | Self::Rsa)
    }
}

impl SecurityLevel {
    /// Both levels.
    pub const ALL: [Self; 2] = [Self::Bits112, Self::Bits128];

    /// Returns the number of bits.
    pub const fn bits(self) -> u16 {
        match self {
            Self::Bits112 => 112,
            Self::Bits128 => 128,
        }
    }
}

impl TryFrom<u16> for SecurityLevel {
    type Error = String;

    fn try_from(bits: u16) -> Result<Self, String> {
        Self::ALL.into_iter().find(|level| level.bits() == bits).ok_or_else(|| format!("{bits} is no security level"))
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for SecurityLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.bits())
    }
}
