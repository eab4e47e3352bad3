//! Resumption (RFC 9846, 2.2; RFC 5246, F.1.4; RFC 5077) and external pre-shared keys (RFC 9846, 4.3.11; RFC 9258): the
//! sessions that both sides keep so that a later handshake needs no certificates.
//!
//! A server seals a session into the ticket ([`TicketKeys`]), or keeps it in a store under a handle of 16 bytes
//! ([`ServerSessionStore`]). A client keeps the ticket with its session ([`ClientSessionStore`]). The handshakes send
//! and receive the tickets.
//!
//! What must always hold:
//! - A session is resumed only in the context in which it was made: version, server name, server certificates, policy
//!   of client authentication, application protocol on the server; trust policy, scope and validity on the client.
//! - No chain of resumptions outlives its first handshake, the one with certificates, by more than seven days, nor the
//!   certificates of the peer.
//! - The application sees the same peer as in the first handshake.
//! - A client sends a TLS 1.3 ticket once; a server accepts early data under it once.

mod binding;
mod client;
mod import;
mod psk;
mod replay;
mod server;
mod session;
mod store;
mod tickets;

#[cfg(test)]
mod test_data;

pub(crate) use binding::{Binding, ClientPolicy, Context};
pub use client::{ClientResumption, ClientSessionStore, MemoryClientSessions, StoredSession};
pub(crate) use client::{NewSession, SessionKind, SessionOffer, SessionOrigin, SessionRequirements, SessionSaver};
pub use psk::{ExternalPsk, MemoryPskStore, PskHash, PskStore};
pub(crate) use replay::ClientHellos;
pub use server::{ServerEarlyData, ServerResumption};
pub(crate) use session::{ResumedClient, Session};
pub use store::{MemorySessionStore, ServerSessionStore, SessionId, SessionRecord};
pub use tickets::TicketKeys;

use crate::time::Now;

/// The maximum lifetime of a ticket, and of a chain of resumptions (RFC 9846, 4.7.1): seven days, in seconds.
pub const MAX_LIFETIME: u32 = 604_800;

/// Returns the seconds since 1970, if the time is known. Otherwise nothing is resumed, since no lifetime could be
/// enforced.
pub(crate) fn seconds(now: Now) -> Option<u64> {
    now.unix.map(|time| time.as_secs())
}
