//! How a server resumes: where sessions are kept, and what is accepted as early data.
//!
//! What must always hold: a session is found only under its binding and within its lifetime; early data is accepted
//! only for a ClientHello that is fresh, and once (RFC 9846, 8).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Binding, MAX_LIFETIME, ServerSessionStore, Session, SessionId, SessionRecord, TicketKeys};
use crate::crypto::{CryptoError, Rng};
use crate::error::ApiMisuse;

#[cfg(test)]
mod tests;

/// Where a server keeps what it resumes from.
#[derive(Clone)]
pub enum ServerResumption {
    /// With the client, in tickets: 70 bytes in TLS 1.3 with SHA-256, and more where the client proved its identity.
    Stateless(Arc<TicketKeys>),
    /// In a store: tickets and session ids are handles of 16 bytes. TLS 1.3 sessions can be used once.
    Stateful {
        /// The store.
        store: Arc<dyn ServerSessionStore>,
        /// How long a session may be used, in seconds: seven days at most.
        lifetime_seconds: u32,
    },
}

/// Early data (0-RTT, RFC 9846, 2.3) that a server accepts. An application protocol must be made for it: early data is
/// not forward secret, and a network can deliver it twice wherever more than one server opens the same tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerEarlyData {
    /// How many bytes one connection may send.
    pub max_size: u32,
    /// By how many seconds the client's idea of when its ticket was issued may differ from the server's. Ten are good
    /// for the Internet (RFC 9846, 8.3); slow networks need more.
    pub window_seconds: u32,
}

impl ServerEarlyData {
    /// At most `max_size` bytes, and ten seconds.
    pub const fn new(max_size: u32) -> Self {
        Self { max_size, window_seconds: 10 }
    }

    /// The same with another [`window_seconds`](field@Self::window_seconds).
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

/// What a client is given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewTicket {
    pub(crate) ticket: Vec<u8>,
    /// In seconds.
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

    /// How long a ticket may be used, in seconds.
    fn lifetime(&self) -> u32 {
        match self {
            Self::Stateless(keys) => keys.lifetime(),
            Self::Stateful { lifetime_seconds, .. } => *lifetime_seconds,
        }
    }

    /// Keeps `session`. `None`: its time is over, it is too large, or the store failed.
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

    /// Keeps `session` in the store under an id that the client was told before (TLS 1.2). False: it is not kept.
    pub(crate) fn keep(&self, id: SessionId, session: Session, binding: &Binding) -> bool {
        let Self::Stateful { store, lifetime_seconds } = self else { return false };
        let lifetime = session.lifetime(*lifetime_seconds);
        let expires = session.created + u64::from(lifetime);
        lifetime > 0 && session.fits() && store.put(id, SessionRecord { binding: *binding, expires, session }).is_ok()
    }

    /// The session behind `ticket`, if it belongs to this context and may still be used. Changes nothing: the client
    /// has proven nothing yet.
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

    /// The client proved that it has the secret of `ticket`, which can be used once if the server keeps it. False:
    /// another connection was faster.
    pub(crate) fn claim(&self, ticket: &[u8]) -> bool {
        match self {
            Self::Stateless(_) => true,
            Self::Stateful { store, .. } => ticket.try_into().is_ok_and(|id| store.take(&SessionId(id)).is_some()),
        }
    }

    /// Whether early data comes for the first time. To be asked once, after the binder was verified and the ticket
    /// claimed. `ticket_age` is the client's, in milliseconds.
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
            // What is in one table under different windows never meets: the binding of a ticket holds the window.
            Self::Stateless(keys) => keys.is_first(binder, fresh_until, now),
            Self::Stateful { .. } => true, // nobody claims a ticket twice (RFC 9846, 8.1)
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
