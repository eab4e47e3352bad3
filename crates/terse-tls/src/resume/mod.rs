//! Resumption (RFC 9846, 2.2; RFC 5246, F.1.4; RFC 5077) and external pre-shared keys (RFC 9846, 4.3.11; RFC 9258):
//! what both sides keep of a handshake so that a later one needs no certificates.
//!
//! A server seals what it keeps into the ticket ([`TicketKeys`]), or keeps it in a store under a handle of 16 bytes
//! ([`ServerSessionStore`]). A client keeps the ticket with what it stands for ([`ClientSessionStore`]). The handshakes
//! put all this on the wire.
//!
//! What must always hold:
//! - A session is resumed only in the context that it was made in: version, server name, server certificates, policy of
//!   client authentication, application protocol on the server; trust policy, scope and validity on the client.
//! - No chain of resumptions outlives the handshake with certificates that it began with by more than seven days, nor
//!   the certificates of the peer.
//! - The application sees the same peer as in that handshake.
//! - A TLS 1.3 ticket is shown once by a client; early data under it is accepted once by a server.

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
pub use server::{ServerEarlyData, ServerResumption};
pub(crate) use session::{ResumedClient, Session};
pub use store::{MemorySessionStore, ServerSessionStore, SessionId, SessionRecord};
pub use tickets::TicketKeys;

use crate::time::Now;

/// The longest that a ticket may be used, and that a chain of resumptions may last (RFC 9846, 4.7.1): seven days, in
/// seconds.
pub const MAX_LIFETIME: u32 = 604_800;

/// Seconds since 1970, if the clock is known. Without a clock nothing is resumed: no lifetime could be kept.
pub(crate) fn seconds(now: Now) -> Option<u64> {
    now.unix.map(|time| time.as_secs())
}
