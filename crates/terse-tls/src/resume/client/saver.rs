//! One connection's dealings with a client's sessions: the one that it offers, and those that it keeps.
//!
//! What must always hold: what is kept says how its server was authenticated, and when.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::seconds;
use super::{ClientResumption, ClientSessionStore, SessionKind, SessionOrigin, SessionRequirements, StoredSession};
use crate::cache::{FallbackReason, Scope, TrustId};
use crate::cert::VerifiedPeer;
use crate::crypto::Secret;
use crate::time::Now;
use crate::wire::CipherSuite;

/// What a connection begins with.
pub(crate) struct SessionOffer {
    /// To be offered; or why there is none.
    pub(crate) session: Result<StoredSession, FallbackReason>,
    pub(crate) saver: SessionSaver,
}

/// Where the sessions of a connection are kept.
pub(crate) struct SessionSaver {
    store: Arc<dyn ClientSessionStore>,
    scope: Scope,
    trust_id: TrustId,
}

impl ClientResumption {
    /// Before a connection in `scope`.
    pub(crate) fn begin(&self, scope: Scope, requirements: &SessionRequirements<'_>) -> SessionOffer {
        let session = self.take(&scope, requirements);
        let saver = SessionSaver { store: self.store.clone(), scope, trust_id: requirements.trust_id };
        SessionOffer { session, saver }
    }
}

impl SessionSaver {
    /// Of a handshake in which the server proved that it is `peer`. `None`: the time is unknown, and nothing is kept.
    pub(crate) fn origin(
        &self,
        peer: &VerifiedPeer,
        application_protocol: Option<&[u8]>,
        now: Now,
    ) -> Option<SessionOrigin> {
        Some(SessionOrigin {
            authenticated: seconds(now)?,
            trust_id: self.trust_id,
            identity: peer.identity.clone(),
            validity: peer.validity_with_staple(),
            signatures: peer.signatures,
            links: peer.links().into(),
            application_protocol: application_protocol.map(Into::into),
        })
    }

    /// Keeps a session whose ticket came at `now`.
    pub(crate) fn keep(&self, new: NewSession, origin: SessionOrigin, now: Now) {
        let NewSession { suite, kind, secret, ticket, lifetime } = new;
        let Some(received) = seconds(now) else { return };
        let session = StoredSession { suite, kind, secret, ticket, received, lifetime, origin };
        if session.fits() {
            self.store.put(&self.scope, session);
        }
    }

    /// Gives back a TLS 1.2 session, which may be used again.
    pub(crate) fn give_back(&self, session: StoredSession) {
        self.store.put(&self.scope, session);
    }
}

/// What a server gave.
pub(crate) struct NewSession {
    pub(crate) suite: CipherSuite,
    pub(crate) kind: SessionKind,
    pub(crate) secret: Secret,
    pub(crate) ticket: Box<[u8]>,
    pub(crate) lifetime: u32,
}
