//! The resumption of a server: where sessions are kept, and which early data is accepted.
//!
//! What must always hold: a session is found only with its binding and within its lifetime; early data is accepted only
//! once, and only for a fresh ClientHello (RFC 9846, 8).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Binding, MAX_LIFETIME, ServerSessionStore, Session, SessionId, SessionRecord, TicketKeys};
use crate::crypto::{CryptoError, Rng};
use crate::error::ApiMisuse;

#[cfg(test)]
mod tests;

/// Where a server keeps its sessions.
#[derive(Clone)]
pub enum ServerResumption {
    /// Sessions are kept by the client, sealed in tickets: 70 bytes in TLS 1.3 with SHA-256, and more if the client has
    /// authenticated.
    Stateless(Arc<TicketKeys>),
    /// Sessions are kept in a store: tickets and session IDs are handles of 16 bytes. A TLS 1.3 session can be used
    /// once.
    Stateful {
        /// The store.
        store: Arc<dyn ServerSessionStore>,
        /// How long a session may be used, in seconds, up to seven days.
        lifetime_seconds: u32,
    },
}

/// Early data (0-RTT, RFC 9846, 2.3) that a server accepts. The application protocol must be designed for it: early
/// data is not forward secret, and may be replayed if several servers accept the same tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerEarlyData {
    /// How many bytes of early data one connection may send.
    pub max_size: u32,
    /// By how many seconds the ticket age of the client may differ from the server's. Ten are enough for the Internet
    /// (RFC 9846, 8.3); slow networks need more.
    pub window_seconds: u32,
}

impl ServerEarlyData {
    /// Accepts at most `max_size` bytes, in a window of ten seconds.
    pub const fn new(max_size: u32) -> Self {
        Self { max_size, window_seconds: 10 }
    }

    /// Returns these settings with another [`window_seconds`](field@Self::window_seconds).
    #[must_use]
    pub const fn window_seconds(self, window_seconds: u32) -> Self {
        Self { window_seconds, ..self }
    }

    /// The second up to which a ClientHello counts as fresh, if it does now (RFC 9846, 8.3). `ticket_age` is the
    /// client's, in milliseconds.
    fn fresh_until(&self, session: &Session, ticket_age: u32, now: u64) -> Option<u64> {
        let expected_arrival = session.created + u64::from(ticket_age / 1000);
        let window = self.window_seconds.into();
        (now.abs_diff(expected_arrival) <= window).then(|| expected_arrival + window)
    }
}

/// A ticket for a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewTicket {
    pub(crate) ticket: Vec<u8>,
    /// The lifetime in seconds.
    pub(crate) lifetime: u32,
}

impl ServerResumption {
    pub(crate) fn check(&self) -> Result<(), ApiMisuse> {
        match self {
            Self::Stateful { lifetime_seconds, .. } if !(1..=MAX_LIFETIME).contains(lifetime_seconds) => {
                Err(ApiMisuse::TicketLifetime)
            }
            _ => Ok(()),
        }
    }

    /// Returns how long a ticket may be used, in seconds.
    fn lifetime(&self) -> u32 {
        match self {
            Self::Stateless(keys) => keys.lifetime(),
            Self::Stateful { lifetime_seconds, .. } => *lifetime_seconds,
        }
    }

    /// Keeps `session`, and returns its ticket. Returns `None` if the session has ended, is too large, or the store
    /// failed.
    pub(crate) fn issue(
        &self,
        session: Session,
        binding: &Binding,
        rng: &mut dyn Rng,
    ) -> Result<Option<NewTicket>, CryptoError> {
        let lifetime = session.lifetime(self.lifetime());
        if lifetime == 0 || !session.fits() {
            return Ok(None);
        }
        let ticket = match self {
            Self::Stateless(keys) => keys.seal(&session, binding, rng)?,
            Self::Stateful { .. } => {
                let id = SessionId::random(rng)?;
                if !self.keep(id, session, binding) {
                    return Ok(None);
                }
                id.0.into()
            }
        };
        Ok(Some(NewTicket { ticket, lifetime }))
    }

    /// Keeps `session` in the store under an ID that the client already has (TLS 1.2). Returns whether it is kept.
    pub(crate) fn keep(&self, id: SessionId, session: Session, binding: &Binding) -> bool {
        let Self::Stateful { store, lifetime_seconds } = self else { return false };
        let lifetime = session.lifetime(*lifetime_seconds);
        let expires = session.created + u64::from(lifetime);
        lifetime > 0 && session.fits() && store.put(id, SessionRecord { binding: *binding, expires, session }).is_ok()
    }

    /// Returns the session of `ticket`, if it belongs to this context and may still be used. Changes nothing, since the
    /// client has proven nothing yet.
    pub(crate) fn find(&self, ticket: &[u8], binding: &Binding, now: u64) -> Option<Session> {
        match self {
            Self::Stateless(keys) => keys.open(ticket, binding, now),
            Self::Stateful { store, lifetime_seconds } => {
                let record = store.find(&SessionId(ticket.try_into().ok()?))?;
                (record.binding == *binding && record.session.is_alive(*lifetime_seconds, now))
                    .then_some(record.session)
            }
        }
    }

    /// Uses up `ticket`, after the client has proven that it has its secret: a session in a store can be used once.
    /// Returns false if another connection has used it before.
    pub(crate) fn claim(&self, ticket: &[u8]) -> bool {
        match self {
            Self::Stateless(_) => true,
            Self::Stateful { store, .. } => ticket.try_into().is_ok_and(|id| store.take(&SessionId(id)).is_some()),
        }
    }

    /// Whether early data is accepted, because its ClientHello is fresh and no replay. Must be called once, after the
    /// binder was verified and the ticket claimed. `ticket_age` is the client's, in milliseconds.
    pub(crate) fn accepts_early_data(
        &self,
        early_data: ServerEarlyData,
        session: &Session,
        ticket_age: u32,
        binder: &[u8],
        now: u64,
    ) -> bool {
        let Some(fresh_until) = early_data.fresh_until(session, ticket_age, now) else { return false };
        match self {
            // Tickets with different windows do not interfere in the table: the binding of a ticket has the window.
            Self::Stateless(keys) => keys.is_first(binder, fresh_until, now),
            Self::Stateful { .. } => true, // no ticket is claimed twice (RFC 9846, 8.1)
        }
    }
}

impl fmt::Debug for ServerResumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stateless(keys) => f.debug_tuple("Stateless").field(keys).finish(),
            Self::Stateful { lifetime_seconds, .. } => {
                f.debug_struct("Stateful").field("lifetime_seconds", lifetime_seconds).finish_non_exhaustive()
            }
        }
    }
}
