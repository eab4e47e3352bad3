//! Handshake caching: what both sides keep of a verified handshake, so that a later one can leave it out.
//!
//! The schemes are RFC 7924 for what the server sends (`rfc7924`), BiTHaC for the client's Certificate (`bithac`), and
//! one ticket for all that is static (`compact`). Both sides derive the tickets, and nobody sends them when they are
//! made. This module keeps entries and tickets and decides what may be offered and selected; the handshakes put it on
//! the wire, and the key schedule derives the tickets.
//!
//! What must always hold:
//! - Nothing enters a store without a `FinishedProof`.
//! - An entry is used only under the trust policy, the server name and the role that it was verified for, and within
//!   its validity. A ticket is used only with the certificate that it stands for. Neither is used by fingerprint or
//!   ticket alone.
//! - An object of one [`Scope`] is never offered to another.
//! - Both stores are bounded, and the least recently used goes first.

mod client;
mod defence;
mod entry;
mod health;
mod ids;
mod lineage;
mod memory;
mod record;
mod scheme;
mod server;
mod session;
mod shared;
pub mod snapshot;
mod store;
mod subject;
mod table;
mod ticket_rows;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod test_data;

pub use crate::cert::{Fingerprint, TrustId};
pub use crate::fallback_reason::FallbackReason;
pub use client::ClientCache;
pub(crate) use client::{Context, Failure, Learned, Selection};
#[cfg(terse_testing)]
pub use defence::CacheDefence;
pub(crate) use defence::Defences;
pub use entry::PeerEntry;
pub(crate) use entry::RequestEntry;
pub use ids::{AddressId, Scope, ServerId, Ticket};
pub use lineage::Lineage;
pub use memory::{MemoryClientStore, MemoryServerStore};
pub use record::ScopeRecord;
pub(crate) use scheme::{
    ClientOffer, CodePoints, ExpectedReply, OwnObjects, OwnRequest, Selected, ServerContext, first_tickets,
    is_answered, read_offer, select,
};
pub use scheme::{Scheme, Schemes};
pub use server::ServerCache;
pub(crate) use server::{Committing, RequestedCertificate, ServerSession};
pub(crate) use session::CacheSession;
pub use store::{ClientStore, Commit, NotSaved, Row, Save, ServerObjects, ServerStore, StoreAnswer, StoreRequest};
pub(crate) use subject::{Parts, TicketSubject};
pub(crate) use ticket_rows::TicketRows;
