//! A [`Stack`] is measured: it makes a [`World`] once for a [`Setting`], and any number of connections in it.
//!
//! What must always hold: a setting means the same for every stack: mutual authentication, key exchange with P-256,
//! AES-128-GCM, SHA-256, the server's name sent and checked, chains of three certificates of which two are sent; over
//! datagrams a cookie comes first, where the stack makes any.

use core::fmt;

use serde::Serialize;

use crate::pipe::{MTU, Wire};

/// An end of a connection. The numbers are those of `c/heap.c`, where 0 is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Side {
    /// The client.
    Client = 1,
    /// The server.
    Server = 2,
}

/// The version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
pub enum Version {
    /// TLS 1.2
    #[value(name = "1.2")]
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3
    #[value(name = "1.3")]
    #[serde(rename = "1.3")]
    Tls13,
    /// DTLS 1.2
    #[value(name = "dtls1.2")]
    #[serde(rename = "dtls1.2")]
    Dtls12,
    /// DTLS 1.3
    #[value(name = "dtls1.3")]
    #[serde(rename = "dtls1.3")]
    Dtls13,
}

/// What the certificates are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// RSA-2048, three levels
    Rsa3,
    /// P-256, three levels
    Ec3,
}

/// What connections after the first one leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing; the server issues no tickets
    Full,
    /// They resume the session before: by session ID in (D)TLS 1.2, by ticket in (D)TLS 1.3
    Resumed,
    /// They resume the session before; the ticket of (D)TLS 1.3 only names a session that the server keeps
    Kept,
    /// They leave out what the server sends of its certificates (RFC 7924)
    Rfc7924,
    /// They leave out the certificates of both sides (BiTHaC)
    Bithac,
    /// They leave out these and the request, by one ticket
    Compact,
    /// They have a pre-shared key
    Psk,
    /// They have identity keys of id3dh-ristretto255, and know the public part of the other's
    Identity,
    /// They have identity keys of id3dh-bls12381
    IdentityBls12381,
    /// Nothing, and the client takes the server unverified: it keeps the server's chain
    Unverified,
}

/// The setting of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The version.
    pub version: Version,
    /// The certificates.
    pub profile: Profile,
    /// The mode.
    pub mode: Mode,
    /// The length of the largest datagram of either side, in bytes, unless the stack does not support it.
    pub mtu: usize,
    /// Whether the server verifies the client's address first, over datagrams. Only DTLS 1.3 is measured without.
    pub cookie: bool,
    /// The certificates, if they are not those of [`Profile::chain`]: for Terse alone.
    pub chains: Chains,
}

/// The chain of each side, by the names of `terse pki`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Chains {
    /// The client's.
    pub client: &'static str,
    /// The server's.
    pub server: &'static str,
}

/// A TLS implementation in one build.
pub trait Stack {
    /// Returns the name on the command line.
    fn name(&self) -> &str;

    /// Returns its own version, or the reason why it is not available.
    fn version(&self) -> Result<String, String>;

    /// Whether it supports `setting`.
    fn has(&self, setting: Setting) -> bool;

    /// Whether its servers send cookies.
    fn makes_cookies(&self) -> bool {
        true
    }

    /// Whether its timers use [`crate::clock`].
    fn is_timed(&self) -> bool {
        false
    }

    /// Creates configurations and trust for both sides. It fails only if something is wrong.
    fn world(&self, setting: Setting) -> Result<Box<dyn World>, String>;
}

/// The configurations, sessions and caches of both sides.
pub trait World {
    /// Creates one side of a new connection. A client resumes, or leaves out, what it can.
    fn connect(&self, side: Side) -> Result<Box<dyn End>, String>;
}

/// One side of a connection. What is kept for later connections is kept when it is dropped, or before.
pub trait End {
    /// Continues the handshake as far as the wire allows. Returns whether it is complete on this side.
    fn handshake(&mut self, wire: Wire<'_>) -> Result<bool, String>;

    /// Returns the mode of the handshake: full, resumed, cached.
    fn mode(&self) -> Mode;

    /// Sends all of `data` as application data.
    fn write(&mut self, wire: Wire<'_>, data: &[u8]) -> Result<(), String>;

    /// Reads application data. Returns 0 if there is none now.
    fn read(&mut self, wire: Wire<'_>, out: &mut [u8]) -> Result<usize, String>;

    /// Returns this end as an application drives it, with the buffers, the copies and the readings of the clock that a
    /// program pays for, where that differs.
    fn as_application(self: Box<Self>) -> Box<dyn End>;

    /// Closes the connection.
    fn close(&mut self, _: Wire<'_>) -> Result<(), String> {
        Err("its end is not measured".into())
    }

    /// Returns when to call [`Self::expire`] if nothing comes before, in milliseconds of [`crate::clock`].
    fn deadline(&self) -> Option<u64> {
        None
    }

    /// Handles a timeout, for example by a retransmission.
    fn expire(&mut self, _: Wire<'_>) -> Result<(), String> {
        Ok(())
    }
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 4] = [Self::Tls12, Self::Tls13, Self::Dtls12, Self::Dtls13];

    /// Whether the version runs over datagrams.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Dtls12 | Self::Dtls13)
    }

    /// Whether this is TLS 1.3 or DTLS 1.3.
    pub const fn is_13(self) -> bool {
        matches!(self, Self::Tls13 | Self::Dtls13)
    }

    /// Returns the title in the table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
            Self::Dtls12 => "DTLS 1.2",
            Self::Dtls13 => "DTLS 1.3",
        }
    }
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Rsa3, Self::Ec3];

    /// Returns the name of `terse pki` for the chain.
    pub const fn chain(self) -> &'static str {
        match self {
            Self::Rsa3 => "rsa2048x3",
            Self::Ec3 => "p256x3",
        }
    }
}

impl Mode {
    /// The modes with certificates, which peers are compared in.
    pub const ALL: [Self; 6] = [Self::Full, Self::Resumed, Self::Kept, Self::Rfc7924, Self::Bithac, Self::Compact];

    /// The modes without certificates, which `terse-bench identity` compares.
    pub const WITHOUT_CERTIFICATES: [Self; 3] = [Self::Psk, Self::Identity, Self::IdentityBls12381];

    /// Returns the mode that the handshake of a first connection reports.
    #[must_use]
    pub const fn first(self) -> Self {
        match self {
            Self::Psk | Self::Identity | Self::IdentityBls12381 | Self::Unverified => self,
            _ => Self::Full,
        }
    }

    /// Returns the mode that the handshake of a later connection reports.
    #[must_use]
    pub const fn seen(self) -> Self {
        match self {
            Self::Kept => Self::Resumed,
            other => other,
        }
    }
}

impl Setting {
    /// Returns a setting with datagrams of [`MTU`], and a cookie.
    pub const fn new(version: Version, profile: Profile, mode: Mode) -> Self {
        let chains = Chains { client: profile.chain(), server: profile.chain() };
        Self { version, profile, mode, mtu: MTU, cookie: true, chains }
    }

    /// Returns the setting with another mode.
    #[must_use]
    pub const fn with(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
            Self::Dtls12 => "dtls1.2",
            Self::Dtls13 => "dtls1.3",
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rsa3 => "rsa3",
            Self::Ec3 => "ec3",
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
            Self::Kept => "kept",
            Self::Rfc7924 => "rfc7924",
            Self::Bithac => "bithac",
            Self::Compact => "compact",
            Self::Psk => "psk",
            Self::Identity => "identity",
            Self::IdentityBls12381 => "identity-bls12381",
            Self::Unverified => "unverified",
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.version.title(), self.profile, self.mode)
    }
}
