//! What a client keeps of a handshake to resume from, and when it may be used.
//!
//! What must always hold: [`StoredSession::usable`] is asked before every use; a TLS 1.3 session leaves the store for
//! good when it is taken (RFC 9846, C.4); secrets wipe themselves and are not printed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use super::{MAX_LIFETIME, seconds};
use crate::cache::{FallbackReason, Scope, TrustId};
use crate::cert::{Links, PeerIdentity, RevocationCheck, Validity};
use crate::crypto::{CryptoError, Rng, Secret};
use crate::error::InvalidMessage;
use crate::time::Now;
use crate::wire::{CertificateType, CipherSuite, Encode, Parse, ProtocolVersion, Reader, Writer};

mod memory;
mod saver;
pub use memory::MemoryClientSessions;
pub(crate) use saver::{NewSession, SessionOffer, SessionSaver};
#[cfg(test)]
mod tests;

/// Resumption of a client.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientResumption {
    /// Where sessions are kept.
    pub store: Arc<dyn ClientSessionStore>,
    /// Whether the application sends early data with [`crate::Connection::send_early_data`] when it can. A ClientHello
    /// then says so each time, which costs some bytes. Early data is not forward secret, and a network may deliver it
    /// to the server twice.
    pub early_data: bool,
    /// Whether a ClientHello that offers a session offers cached objects as well, in case the server does not resume:
    /// fewer bytes then, but an observer can tell clients apart by them.
    pub offers_cached_objects: bool,
}

/// What a client keeps, by scope: for each any number of sessions.
pub trait ClientSessionStore: Send + Sync {
    /// Keeps `session`. If it cannot, the next connection is a full handshake.
    fn put(&self, scope: &Scope, session: StoredSession);

    /// Removes a session of `scope`, the latest if there are several. No two calls return the same one.
    fn take(&self, scope: &Scope) -> Option<StoredSession>;
}

/// A session that a client can resume. It holds a secret, which wipes itself and is not printed.
pub struct StoredSession {
    pub(crate) suite: CipherSuite,
    pub(crate) kind: SessionKind,
    /// TLS 1.3: the pre-shared key; TLS 1.2: the master secret.
    pub(crate) secret: Secret,
    /// Empty if the server knows the session by its id (TLS 1.2).
    pub(crate) ticket: Box<[u8]>,
    /// When the ticket came, in seconds since 1970.
    pub(crate) received: u64,
    /// For how long the server says that it can be used, in seconds.
    pub(crate) lifetime: u32,
    pub(crate) origin: SessionOrigin,
}

/// What differs between the versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// `record_limit` is what the server took in one record when it issued the ticket (RFC 8449, 4): early data keeps
    /// to it.
    Tls13 {
        ticket_age_add: u32,
        max_early_data_size: u32,
        record_limit: u16,
    },
    Tls12 {
        session_id: Box<[u8]>,
    },
}

/// What a session keeps of the handshake with certificates that it began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionOrigin {
    /// When that was, in seconds since 1970.
    pub(crate) authenticated: u64,
    /// What the server's chain was verified under.
    pub(crate) trust_id: TrustId,
    pub(crate) identity: PeerIdentity,
    pub(crate) validity: Validity,
    /// How many signatures the chain had.
    pub(crate) signatures: u8,
    /// The chain's certificates, where revocation is checked.
    pub(crate) links: Links,
    pub(crate) application_protocol: Option<Box<[u8]>>,
}

/// What a session must meet to be offered.
pub(crate) struct SessionRequirements<'a> {
    pub(crate) now: Now,
    /// What the server's chain would be verified under.
    pub(crate) trust_id: TrustId,
    /// Where that checks it.
    pub(crate) revocation: Option<&'a RevocationCheck>,
    pub(crate) is_enabled: &'a dyn Fn(CipherSuite) -> bool,
}

/// Why a session is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unusable {
    /// Nor will it ever be.
    ForGood(FallbackReason),
    Now(FallbackReason),
}

impl ClientResumption {
    /// Without early data.
    pub fn new(store: Arc<dyn ClientSessionStore>) -> Self {
        Self { store, early_data: false, offers_cached_objects: false }
    }

    /// Returns these settings with or without [`early_data`](field@Self::early_data).
    #[must_use]
    pub fn early_data(self, early_data: bool) -> Self {
        Self { early_data, ..self }
    }

    /// Returns these settings with or without [cached objects](field@Self::offers_cached_objects).
    #[must_use]
    pub fn offers_cached_objects(self, offers_cached_objects: bool) -> Self {
        Self { offers_cached_objects, ..self }
    }

    /// A session for a connection in `scope`, or why there is none. Those that can never be used again are dropped.
    fn take(&self, scope: &Scope, requirements: &SessionRequirements<'_>) -> Result<StoredSession, FallbackReason> {
        let now = seconds(requirements.now).ok_or(FallbackReason::ClockUnknown)?;
        let mut reason = FallbackReason::NoSession;
        let mut later = Vec::new();
        let found = loop {
            let Some(session) = self.store.take(scope) else { break Err(()) };
            match session.usable(now, requirements) {
                Ok(()) => break Ok(session),
                Err(Unusable::ForGood(unusable)) => reason = unusable,
                Err(Unusable::Now(unusable)) => {
                    reason = unusable;
                    later.push(session);
                }
            }
        };
        later.into_iter().rev().for_each(|session| self.store.put(scope, session));
        found.map_err(|()| reason)
    }
}

impl fmt::Debug for ClientResumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientResumption").field("early_data", &self.early_data).finish_non_exhaustive()
    }
}

impl StoredSession {
    /// Whether it may be offered at `now`.
    fn usable(&self, now: u64, requirements: &SessionRequirements<'_>) -> Result<(), Unusable> {
        let SessionOrigin { authenticated, trust_id, identity, validity, links, .. } = &self.origin;
        let lasts = |from: u64, seconds: u32| now < from.saturating_add(seconds.min(MAX_LIFETIME).into());
        let is_over = !lasts(self.received, self.lifetime) || !lasts(*authenticated, MAX_LIFETIME);
        if is_over || now > validity.not_after {
            return Err(Unusable::ForGood(FallbackReason::SessionExpired));
        }
        if now < self.received || now < validity.not_before {
            return Err(Unusable::Now(FallbackReason::ClockNotPlausible));
        }
        if *trust_id != requirements.trust_id {
            return Err(Unusable::ForGood(FallbackReason::TrustChanged));
        }
        if !(requirements.is_enabled)(self.suite) {
            return Err(Unusable::ForGood(FallbackReason::SuiteDisabled));
        }
        match requirements.revocation.filter(|_| identity.certificate_type() == CertificateType::X509) {
            None => Ok(()),
            Some(revocation) => revocation.check(links.as_slice()).map_err(FallbackReason::from).map_err(|reason| {
                match reason.is_final() {
                    true => Unusable::ForGood(reason),
                    false => Unusable::Now(reason),
                }
            }),
        }
    }

    /// Whether it is worth keeping, and small enough. The server chose the ticket and its names.
    pub(crate) fn fits(&self) -> bool {
        self.lifetime > 0 && self.ticket.len() + self.origin.identity.len() <= Self::MAX_LEN
    }

    /// Room for the ticket of a server that puts the client's certificates into it.
    const MAX_LEN: usize = 0x4000;

    /// The version that it belongs to.
    pub const fn version(&self) -> ProtocolVersion {
        match self.kind {
            SessionKind::Tls13 { .. } => ProtocolVersion::TLS_1_3,
            SessionKind::Tls12 { .. } => ProtocolVersion::TLS_1_2,
        }
    }

    /// The `session_id` to offer (TLS 1.2): the server's, or one by whose return a server says that it took the ticket
    /// (RFC 5077, 3.4).
    pub(crate) fn offered_id(&self, rng: &mut dyn Rng) -> Result<Vec<u8>, CryptoError> {
        match &self.kind {
            SessionKind::Tls12 { session_id, .. } if !session_id.is_empty() => Ok(session_id.to_vec()),
            _ => {
                let mut chosen = Vec::from([0; 8]);
                rng.fill(&mut chosen)?;
                Ok(chosen)
            }
        }
    }

    /// How many bytes of early data the server takes; 0: none (RFC 9846, 4.7.1).
    pub const fn max_early_data_size(&self) -> u32 {
        match self.kind {
            SessionKind::Tls13 { max_early_data_size, .. } => max_early_data_size,
            SessionKind::Tls12 { .. } => 0,
        }
    }

    /// Who the server is.
    pub const fn server(&self) -> &PeerIdentity {
        &self.origin.identity
    }

    /// `obfuscated_ticket_age` at `now` (RFC 9846, 4.3.11.1).
    pub(crate) fn obfuscated_ticket_age(&self, now: Now) -> u32 {
        let SessionKind::Tls13 { ticket_age_add, .. } = self.kind else { return 0 };
        let age = seconds(now).map_or(0, |now| now.saturating_sub(self.received)); // at most seven days: `usable`
        ticket_age_add.wrapping_add((age as u32).wrapping_mul(1000))
    }

    /// For files. The bytes are as secret as a private key, and as trusted as a CA file: whoever can write them can
    /// name a server as verified.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.to_vec().unwrap_or_default()) // only sessions that fit are kept: no length overflows
    }

    /// What [`Self::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidMessage> {
        Self::parse_all(bytes)
    }
}

impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession")
            .field("version", &self.version())
            .field("suite", &self.suite)
            .field("server", &self.server())
            .finish_non_exhaustive()
    }
}

impl Parse<'_> for StoredSession {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let VERSION = reader.u8()? else { return Err(InvalidMessage::IllegalValue) };
        Ok(Self {
            suite: CipherSuite(reader.u16()?),
            kind: SessionKind::parse(reader)?,
            secret: Secret::new(reader.vec8()?),
            ticket: reader.vec16()?.into(),
            received: reader.u64()?,
            lifetime: reader.u32()?,
            origin: SessionOrigin::parse(reader)?,
        })
    }
}

impl Encode for StoredSession {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(VERSION);
        writer.u16(self.suite.0);
        self.kind.encode(writer);
        writer.vec8(self.secret.as_ref());
        writer.vec16(&self.ticket);
        writer.u64(self.received);
        writer.u32(self.lifetime);
        self.origin.encode(writer);
    }
}

/// Of the format.
const VERSION: u8 = 2;

impl Parse<'_> for SessionKind {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        match ProtocolVersion(reader.u16()?) {
            ProtocolVersion::TLS_1_3 => Ok(Self::Tls13 {
                ticket_age_add: reader.u32()?,
                max_early_data_size: reader.u32()?,
                record_limit: reader.u16()?,
            }),
            ProtocolVersion::TLS_1_2 => Ok(Self::Tls12 { session_id: reader.vec8()?.into() }),
            _ => Err(InvalidMessage::IllegalValue),
        }
    }
}

impl Encode for SessionKind {
    fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Tls13 { ticket_age_add, max_early_data_size, record_limit } => {
                writer.u16(ProtocolVersion::TLS_1_3.0);
                writer.u32(*ticket_age_add);
                writer.u32(*max_early_data_size);
                writer.u16(*record_limit);
            }
            Self::Tls12 { session_id } => {
                writer.u16(ProtocolVersion::TLS_1_2.0);
                writer.vec8(session_id);
            }
        }
    }
}

impl Parse<'_> for SessionOrigin {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            authenticated: reader.u64()?,
            trust_id: TrustId::parse(reader)?,
            identity: PeerIdentity::parse(reader)?,
            validity: Validity {
                not_before: reader.u64()?,
                not_before_depth: reader.u8()?,
                not_after: reader.u64()?,
                not_after_depth: reader.u8()?,
            },
            signatures: reader.u8()?,
            links: Links::parse(reader)?,
            application_protocol: match reader.vec8()? {
                [] => None,
                name => Some(name.into()),
            },
        })
    }
}

impl Encode for SessionOrigin {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u64(self.authenticated);
        self.trust_id.encode(writer);
        self.identity.encode(writer);
        writer.u64(self.validity.not_before);
        writer.u8(self.validity.not_before_depth);
        writer.u64(self.validity.not_after);
        writer.u8(self.validity.not_after_depth);
        writer.u8(self.signatures);
        self.links.encode(writer);
        writer.vec8(self.application_protocol.as_deref().unwrap_or_default());
    }
}
