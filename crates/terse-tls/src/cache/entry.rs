//! This module has what is kept of a peer's Certificate, be it a chain or a raw public key, and on a client also of the
//! server's CertificateRequest.
//!
//! What must always hold: [`PeerEntry::usable`] is asked before every use.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::shared::Value;
use super::{FallbackReason, Fingerprint, ServerId, TrustId};
use crate::cache::Defences;
use crate::cert::SuitableCredentials;
use crate::cert::{RevocationCheck, VerifiedPeer};
use crate::error::{CertificateError, InvalidMessage};
use crate::time::Now;
use crate::wire::{CertificateType, Encode, Parse, ProtocolVersion, Reader, SignatureScheme, Writer};

/// A peer's Certificate that was verified once: its fingerprint, what it was verified for, and what is kept of it.
///
/// Only a handshake makes one, when the peer's Finished was verified. A store can look at it, and keep it,
///
/// ```
/// use terse_tls::cache::{Fingerprint, PeerEntry, Row};
///
/// fn of(row: &Row) -> Option<Fingerprint> {
///     row.entry.as_deref().map(PeerEntry::fingerprint)
/// }
/// ```
///
/// but nobody else makes one, or changes it, or has what it is made of:
///
/// ```compile_fail,E0603
/// use terse_tls::cache::FinishedProof;
/// ```
///
/// ```compile_fail,E0616
/// # use terse_tls::cache::{Fingerprint, PeerEntry};
/// fn other(mut entry: PeerEntry) -> PeerEntry {
///     entry.fingerprint = Fingerprint([0; 32]);
///     entry
/// }
/// ```
///
/// ```compile_fail,E0624
/// let entry = terse_tls::cache::PeerEntry::new;
/// ```
///
/// ```compile_fail,E0624
/// let peer = terse_tls::VerifiedPeer::of_raw_public_key;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerEntry {
    fingerprint: Fingerprint,
    trust_id: TrustId,
    server: ServerId,
    /// The verified peer, shared with the handshake that it comes from or is used in.
    peer: Arc<VerifiedPeer>,
    /// For a raw public key, the only version in which it can be used. A chain has one fingerprint in every version.
    version: Option<ProtocolVersion>,
}

impl PeerEntry {
    /// Creates an entry for the chain or raw public key behind `peer`, whose Certificate message of `version` has
    /// `fingerprint`, verified under `trust_id`. A client was connecting to `server`; a server was called `server` by
    /// the client.
    pub(crate) fn new(
        fingerprint: Fingerprint,
        version: ProtocolVersion,
        trust_id: TrustId,
        server: ServerId,
        peer: &Arc<VerifiedPeer>,
    ) -> Self {
        let peer = peer.kept();
        let version = match peer.certificate_type() {
            CertificateType::X509 => None,
            _ => Some(version),
        };
        Self { fingerprint, trust_id, server, peer, version }
    }

    /// Returns the fingerprint of the Certificate message: that of a chain in TLS 1.2 form, or that of a raw public key
    /// in the form of its version.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the type of certificate that the Certificate message carried.
    pub fn certificate_type(&self) -> CertificateType {
        self.peer.certificate_type()
    }

    /// Returns whether the entry can stand for a Certificate of this type in this version.
    pub(crate) fn stands_for(&self, certificate_type: CertificateType, version: ProtocolVersion) -> bool {
        self.certificate_type() == certificate_type && self.version.is_none_or(|own| own == version)
    }

    /// Returns what is kept of the chain or raw public key.
    pub fn peer(&self) -> &VerifiedPeer {
        &self.peer
    }

    /// Returns what is kept of the chain or raw public key, for a handshake that goes on with it.
    pub(crate) fn shared_peer(&self) -> Arc<VerifiedPeer> {
        self.peer.clone()
    }

    /// Checks whether the entry may stand for its Certificate under `conditions`.
    pub(super) fn usable(&self, conditions: &Conditions<'_>) -> Result<(), FallbackReason> {
        let Conditions { trust_id, revocation, certificate_types, versions, server, now, without_clock, defences } =
            *conditions;
        let validity = &self.peer.validity;
        match now.unix.map(|time| validity.check(time)) {
            _ if !defences.check_validity() => {}
            Some(Err(CertificateError::Expired { .. })) => return Err(FallbackReason::Expired),
            Some(Err(_)) => return Err(FallbackReason::ClockNotPlausible),
            None if !without_clock && !validity.is_unbounded() => return Err(FallbackReason::ClockUnknown),
            Some(Ok(())) | None => {}
        }
        if !defences.take_policy(self.trust_id == trust_id) {
            return Err(FallbackReason::TrustChanged);
        }
        let stands = |kind| versions.iter().any(|version| self.stands_for(kind, *version));
        if !certificate_types.iter().any(|kind| stands(*kind)) {
            return Err(FallbackReason::OtherCertificateType);
        }
        if !defences.take_server_name(self.server == *server) {
            return Err(FallbackReason::OtherServerName);
        }
        let is_revocable = self.certificate_type() == CertificateType::X509 && defences.check_revocation();
        match revocation.filter(|_| is_revocable) {
            Some(revocation) => Ok(revocation.check_cached(self.peer.links())?),
            None => Ok(()),
        }
    }

    /// Returns whether the entry is small enough to be kept. The peer chooses its certificate, and a cache is bounded
    /// in bytes as well as in entries.
    pub(super) fn fits(&self) -> bool {
        self.peer.len() + self.server.len() <= Self::MAX_LEN
    }

    /// The limit has room for the largest ML-DSA key and 100 long names; the lengths in a snapshot have 16 bits.
    const MAX_LEN: usize = 0x4000;
}

/// The conditions of the handshake in which an entry is to be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions<'a> {
    /// The policy under which a chain or key would be verified.
    pub(super) trust_id: TrustId,
    /// The revocation check, if the policy has one.
    pub(super) revocation: Option<&'a RevocationCheck>,
    /// The types of certificate that the peer may send.
    pub(super) certificate_types: &'a [CertificateType],
    /// The versions that may be negotiated.
    pub(super) versions: &'a [ProtocolVersion],
    /// The server that a client connects to, or the name by which the client calls a server.
    pub(super) server: &'a ServerId,
    pub(super) now: Now,
    /// Whether a chain would be accepted without knowing the time.
    pub(super) without_clock: bool,
    pub(super) defences: Defences,
}

/// The parts of a server's CertificateRequest that a client needs to answer it without seeing it again. It belongs to
/// one version, because the message and its fingerprint differ between versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestEntry {
    pub(crate) version: ProtocolVersion,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) signature_algorithms: Vec<SignatureScheme>,
    /// Whether the request asks for a stapled OCSP response, in TLS 1.3.
    pub(crate) asks_status: bool,
    /// How this side's credentials, which are those of the scope, suit the request.
    pub(crate) suitable: SuitableCredentials,
    /// The length of the message in full, header included.
    pub(crate) length: u16,
}

impl RequestEntry {
    /// Returns whether the cached form is shorter than the request: it has a header, in TLS 1.3 an empty context, and
    /// the fingerprint with its length. The 34 bytes of the offer do not count, because RFC 7924 and BiTHaC offer what
    /// they have.
    pub(super) fn pays(&self) -> bool {
        let cached_form = match self.version {
            ProtocolVersion::TLS_1_3 => 4 + 1 + 1 + 32,
            _ => 4 + 1 + 32,
        };
        self.length > cached_form
    }

    /// Returns whether the entry is small enough to be kept.
    pub(super) fn fits(&self) -> bool {
        self.signature_algorithms.len() <= Self::MAX_SCHEMES
    }

    /// The limit is above the number of schemes in the registry.
    const MAX_SCHEMES: usize = 128;

    /// The flags are in the last byte, which only the data that `SUITED` announces can follow.
    const ASKS_STATUS: u8 = 1;
    const SUITED: u8 = 1 << 1;
}

/// A record keeps the trust ID among its shared values and the server's name in a place of its own, so an entry is
/// encoded without them.
impl PeerEntry {
    pub(super) fn encode_without_context(&self, writer: &mut Writer<'_>) {
        self.fingerprint.encode(writer);
        self.peer.encode(writer);
        if let Some(version) = self.version {
            version.encode(writer);
        }
    }

    pub(super) fn parse_with(
        trust_id: TrustId,
        server: ServerId,
        reader: &mut Reader<'_>,
    ) -> Result<Self, InvalidMessage> {
        let fingerprint = Fingerprint::parse(reader)?;
        let peer = Arc::new(VerifiedPeer::parse(reader)?);
        let version = match peer.certificate_type() {
            CertificateType::X509 => None,
            _ => Some(ProtocolVersion::parse(reader)?),
        };
        Ok(Self { fingerprint, trust_id, server, peer, version })
    }

    /// Returns the server that a client connected to, or the name by which the client called a server.
    pub const fn server(&self) -> &ServerId {
        &self.server
    }

    pub(super) fn shared_trust_id(&self) -> Value {
        let mut value = Value::default();
        let TrustId(trust_id) = self.trust_id;
        value.iter_mut().zip(trust_id).for_each(|(to, from)| *to = from);
        value
    }
}

impl Parse<'_> for RequestEntry {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let version = ProtocolVersion(reader.u16()?);
        let fingerprint = Fingerprint::parse(reader)?;
        let mut schemes = Reader::new(reader.vec16()?);
        let mut signature_algorithms = Vec::new();
        while !schemes.is_empty() {
            signature_algorithms.push(SignatureScheme(schemes.u16()?));
        }
        let length = reader.u16()?;
        let flags = reader.u8()?;
        if flags & !(Self::ASKS_STATUS | Self::SUITED) != 0 {
            return Err(InvalidMessage::IllegalValue);
        }
        let suitable = match flags & Self::SUITED {
            0 => SuitableCredentials::default(),
            _ => SuitableCredentials { issuers: reader.u16()?, chains: reader.u16()? },
        };
        let asks_status = flags & Self::ASKS_STATUS != 0;
        Ok(Self { version, fingerprint, signature_algorithms, asks_status, suitable, length })
    }
}

impl Encode for RequestEntry {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u16(self.version.0);
        self.fingerprint.encode(writer);
        writer.vec::<2>(|writer| self.signature_algorithms.iter().for_each(|scheme| writer.u16(scheme.0)));
        writer.u16(self.length);
        let SuitableCredentials { issuers, chains } = self.suitable;
        let has_suited = self.suitable != SuitableCredentials::default(); // where there are several to choose from
        let flag = |set, flag| if set { flag } else { 0 };
        writer.u8(flag(self.asks_status, Self::ASKS_STATUS) | flag(has_suited, Self::SUITED));
        if has_suited {
            writer.u16(issuers);
            writer.u16(chains);
        }
    }
}
