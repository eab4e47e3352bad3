//! The setting of a row: a protocol version, what handshakes leave out, and the network below.

use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use terse_tls::ProtocolVersion;
use terse_tls::cache::Scheme;
use terse_tls::summary::{self, Transport};

use super::row::Sides;
use crate::computing::Device;
use crate::link::Link;
use crate::{Exchange, tcp};

/// A version of TLS or of DTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Version {
    Tls12,
    Tls13,
    Dtls12,
    Dtls13,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 4] = [Self::Tls12, Self::Tls13, Self::Dtls12, Self::Dtls13];

    /// Returns the name as in reports: `DTLS 1.3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
            Self::Dtls12 => "DTLS 1.2",
            Self::Dtls13 => "DTLS 1.3",
        }
    }

    /// Returns the transport of this version.
    pub const fn transport(self) -> Transport {
        match self {
            Self::Tls12 | Self::Tls13 => Transport::Stream,
            Self::Dtls12 | Self::Dtls13 => Transport::Datagram,
        }
    }

    /// Returns the version for the engine's configurations.
    pub const fn protocol_version(self) -> ProtocolVersion {
        match self {
            Self::Tls12 | Self::Dtls12 => ProtocolVersion::TLS_1_2,
            Self::Tls13 | Self::Dtls13 => ProtocolVersion::TLS_1_3,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The setting of a row in a comparison.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The version.
    pub version: Version,
    /// The mode: what the handshake leaves out.
    pub mode: Mode,
    /// The link, with its MTU.
    pub link: Link,
    /// The version of IP.
    pub ip: IpVersion,
    /// How TCP behaves on both sides; segments are made to fit the MTU.
    pub tcp: tcp::Config,
    /// Whether [`tcp::Config::maximum_segment_size`] applies where the MTU would allow longer segments.
    pub limits_segments: bool,
    /// The last part of the client's address: it should differ among the rows of one capture.
    pub client: u8,
    /// The two messages of the application.
    pub exchange: Exchange,
    /// The devices on which both sides compute; without them computing takes no time. The parties then need [counting
    /// providers](crate::computing::counting).
    pub devices: Option<Sides<Arc<Device>>>,
}

/// The version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What a handshake leaves out. All but `Full`, `Psk`, `IdentityFirst` and `IdentityBls12381` need an earlier connection,
/// which is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Nothing is left out: both sides send their certificates.
    Full,
    /// The server's Certificate and CertificateRequest are left out (RFC 7924).
    Rfc7924,
    /// Those, and the client's Certificate (BiTHaC).
    Bithac,
    /// The messages that `Bithac` leaves out are left out, and one ticket names all three (`docs/caching.md`).
    Compact,
    /// All of authentication is left out: the secret of an earlier session replaces it. Sessions are resumed by session
    /// ID in (D)TLS 1.2, by ticket in (D)TLS 1.3.
    Resumed,
    /// All certificates are left out: both sides have had a key from the beginning.
    Psk,
    /// All certificates are left out: both sides have identity keys (`docs/identity.md`), and have never met.
    IdentityFirst,
    /// As `IdentityFirst`, but the two have met, and keep the public part of the other's key.
    Identity,
    /// Both sides have identity keys of the algorithm id3dh-bls12381, and need not have met.
    IdentityBls12381,
}

impl Mode {
    /// All modes, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Full,
        Self::Rfc7924,
        Self::Bithac,
        Self::Compact,
        Self::Resumed,
        Self::Psk,
        Self::IdentityFirst,
        Self::Identity,
        Self::IdentityBls12381,
    ];

    /// Returns the name, which is that in a connection's summary unless several modes have the same one there.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IdentityFirst => "identity-first",
            Self::IdentityBls12381 => "identity-bls12381",
            mode => mode.summary().name(),
        }
    }

    /// Whether both sides have certificates, whether or not they are sent.
    pub const fn has_certificates(self) -> bool {
        !matches!(self, Self::Psk | Self::IdentityFirst | Self::Identity | Self::IdentityBls12381)
    }

    /// Returns whether `version` has this mode. Identities are for (D)TLS 1.3.
    pub const fn exists_in(self, version: Version) -> bool {
        let is_identity = matches!(self, Self::IdentityFirst | Self::Identity | Self::IdentityBls12381);
        !is_identity || matches!(version, Version::Tls13 | Version::Dtls13)
    }

    /// Returns the mode that a connection's summary names for such a handshake.
    pub const fn summary(self) -> summary::Mode {
        match self {
            Self::Full => summary::Mode::Full,
            Self::Rfc7924 => summary::Mode::Cached(Scheme::Rfc7924),
            Self::Bithac => summary::Mode::Cached(Scheme::Bithac),
            Self::Compact => summary::Mode::Cached(Scheme::Compact),
            Self::Resumed => summary::Mode::Resumed,
            Self::Psk => summary::Mode::Psk,
            Self::IdentityFirst | Self::Identity | Self::IdentityBls12381 => summary::Mode::Identity,
        }
    }

    /// Whether an earlier connection is needed.
    pub const fn needs_earlier(self) -> bool {
        !matches!(self, Self::Full | Self::Psk | Self::IdentityFirst | Self::IdentityBls12381)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{name} is no mode; use one of {names}")
        })
    }
}
