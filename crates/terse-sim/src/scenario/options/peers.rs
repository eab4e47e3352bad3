//! What connects: Mbed TLS as the paper has it, the engine, or EDHOC.

use core::time::Duration;

use super::Contradiction;
use crate::compare::{Mode, Version};
use crate::computing::Devices;
use crate::edhoc::Transfer;
use crate::scenario::visit::{Named, Visitor, choice, field, milliseconds};

/// What connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerKind {
    /// Messages with the sizes, the computing times and the timers of Mbed TLS 2.24.
    #[default]
    MbedTls,
    /// Terse's own engine, unmodified.
    Engine,
    /// EDHOC (RFC 9528).
    Edhoc,
}

/// The protocol of Mbed TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Protocol {
    Tls12,
    Dtls12,
}

/// The messages of Mbed TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbedTlsOptions {
    /// The protocol.
    pub protocol: Protocol,
    /// The maximum fragment length (RFC 6066, 4) that DTLS negotiates.
    pub max_fragment_length: u16,
    /// The time that the client computes in total.
    pub computing: Duration,
}

/// The engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// The version.
    pub version: Version,
    /// What the handshake leaves out.
    pub mode: Mode,
    /// The certificates of both sides, as `terse compare --certificates` names them.
    pub certificates: String,
    /// The group of the key exchange.
    pub group: Group,
    /// How records are protected.
    pub aead: Aead,
    /// The client's device; `none` computes in no time.
    pub client_device: String,
    /// The server's device; `none` computes in no time.
    pub server_device: String,
}

/// A group of the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Group {
    X25519,
    Secp256r1,
}

/// How records are protected: the end of the cipher suite's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Aead {
    Aes128Ccm,
    Aes128Ccm8,
    Aes128Gcm,
}

/// EDHOC over CoAP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdhocOptions {
    /// The method (RFC 9528, 3.2).
    pub method: u8,
    /// How both sides send their credentials.
    pub credentials: Transfer,
    /// The client's device; `none` computes in no time.
    pub client_device: String,
    /// The server's device; `none` computes in no time.
    pub server_device: String,
}

impl Named for Transfer {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Reference, "reference"), (Self::Value, "value")];
}

impl Named for PeerKind {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::MbedTls, "mbedtls"), (Self::Engine, "engine"), (Self::Edhoc, "edhoc")];
}

impl Named for Protocol {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Tls12, "TLS 1.2"), (Self::Dtls12, "DTLS 1.2")];
}

impl Named for Version {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Tls12, Self::Tls12.name()),
        (Self::Tls13, Self::Tls13.name()),
        (Self::Dtls12, Self::Dtls12.name()),
        (Self::Dtls13, Self::Dtls13.name()),
    ];
}

impl Named for Mode {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Full, Self::Full.name()),
        (Self::Rfc7924, Self::Rfc7924.name()),
        (Self::Bithac, Self::Bithac.name()),
        (Self::Compact, Self::Compact.name()),
        (Self::Resumed, Self::Resumed.name()),
        (Self::Psk, Self::Psk.name()),
        (Self::IdentityFirst, Self::IdentityFirst.name()),
        (Self::Identity, Self::Identity.name()),
        (Self::IdentityBls12381, Self::IdentityBls12381.name()),
    ];
}

impl Named for Group {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::X25519, "x25519"), (Self::Secp256r1, "secp256r1")];
}

impl Named for Aead {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Aes128Ccm, "AES_128_CCM"), (Self::Aes128Ccm8, "AES_128_CCM_8"), (Self::Aes128Gcm, "AES_128_GCM")];
}

impl Default for MbedTlsOptions {
    fn default() -> Self {
        Self { protocol: Protocol::Tls12, max_fragment_length: 1_024, computing: Duration::from_millis(2_100) }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            version: Version::Tls13,
            mode: Mode::Full,
            certificates: "p256x2".into(),
            group: Group::X25519,
            aead: Aead::Aes128Ccm,
            client_device: "cortex-m3".into(),
            server_device: NO_DEVICE.into(),
        }
    }
}

impl Default for EdhocOptions {
    fn default() -> Self {
        Self {
            method: 3,
            credentials: Transfer::Reference,
            client_device: "cortex-m3".into(),
            server_device: NO_DEVICE.into(),
        }
    }
}

impl PeerKind {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        choice(visitor, field("peers", "kind of peers", ""), self);
    }
}

impl MbedTlsOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        choice(visitor, field("protocol", "protocol", ""), &mut self.protocol);
        let bytes = |key, what| field(key, what, "bytes");
        let mut length = self.max_fragment_length.into();
        visitor.one_of(bytes("max_fragment_length_bytes", "maximum fragment length"), &[512, 1_024], &mut length);
        self.max_fragment_length = if length == 512 { 512 } else { 1_024 };
        let computing = field("computing_ms", "time", "milliseconds");
        milliseconds(visitor, computing, &mut self.computing, 0.0..=600_000.0);
    }
}

impl EngineOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        choice(visitor, field("version", "version", ""), &mut self.version);
        choice(visitor, field("mode", "mode", ""), &mut self.mode);
        visitor.text(field("certificates", "chain of certificates", ""), &mut self.certificates, &check_chain);
        choice(visitor, field("group", "group", ""), &mut self.group);
        choice(visitor, field("aead", "AEAD", ""), &mut self.aead);
        let device = |key| field(key, "device", "");
        visitor.text(device("client_device"), &mut self.client_device, &check_device);
        visitor.text(device("server_device"), &mut self.server_device, &check_device);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        let Self { version, mode, .. } = self;
        if !mode.exists_in(*version) {
            let versions: Vec<_> = Version::ALL.into_iter().filter(|version| mode.exists_in(*version)).collect();
            let names: Vec<_> = versions.iter().map(|version| version.name()).collect();
            found.push(("engine.mode", format!("{version} has no mode {mode}: {}", names.join(" or "))));
        }
    }
}

impl EdhocOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let mut method = self.method.into();
        // The only one that lakers has: static Diffie-Hellman keys on both sides.
        visitor.one_of(field("method", "method of EDHOC that there is", ""), &[3], &mut method);
        choice(visitor, field("credentials", "way to send credentials", ""), &mut self.credentials);
        let device = |key| field(key, "device", "");
        visitor.text(device("client_device"), &mut self.client_device, &check_device);
        visitor.text(device("server_device"), &mut self.server_device, &check_device);
    }
}

/// The name for computing in no time.
pub(in crate::scenario) const NO_DEVICE: &str = "none";

fn check_device(name: &str) -> Result<(), String> {
    let known = Devices::built_in();
    if name == NO_DEVICE || known.find(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(|device| &*device.name).chain([NO_DEVICE]).collect();
    Err(format!("one of {}", names.join(", ")))
}

/// Certificates are of P-256, or Ed25519: no device here signs with RSA, and P-384 has no times.
fn check_chain(name: &str) -> Result<(), String> {
    let right = "p256 or ed25519, then x and how many from leaf to root (2 to 8), such as \"p256x2\"";
    let count = name.strip_prefix("p256x").or_else(|| name.strip_prefix("ed25519x"));
    let is_right = count.is_some_and(|count| count.parse().is_ok_and(|count: u8| (2..=8).contains(&count)));
    if is_right { Ok(()) } else { Err(right.into()) }
}
