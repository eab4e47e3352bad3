//! Handshake caching: what both sides keep of a verified handshake, so that a later one can leave it out.
//!
//! RFC 7924 for what the server sends (`rfc7924`), paper 000 (BiTHaC) for the client's Certificate (`bithac`), and one
//! ticket for all that is static (`compact`): tickets that both sides derive and nobody sends. This module keeps
//! entries and tickets and decides what may be offered and selected; the handshakes put it on the wire, and the key
//! schedule derives the tickets.
//!
//! What must always hold:
//! - Nothing enters a store without a `FinishedProof`.
//! - An entry is used only under the trust policy, the server name and the role that it was verified for, and within
//!   its validity; a ticket only with the certificate that it stands for. Never by fingerprint or ticket alone.
//! - An object of one [`Scope`] is never offered to another.
//! - Both stores are bounded, and the least recently used goes first.

mod client;
mod defence;
mod entry;
mod health;
mod ids;
mod lineage;
mod memory;
mod reason;
mod record;
mod server;
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
pub use client::ClientCache;
pub(crate) use client::{ClientSession, Context, Failure, Learned, Selection};
#[cfg(terse_testing)]
pub use defence::CacheDefence;
#[cfg(not(terse_testing))]
pub(crate) use defence::CacheDefence;
pub(crate) use defence::Defences;
pub use entry::PeerEntry;
pub(crate) use entry::RequestEntry;
pub use ids::{AddressId, Scope, ServerId, Ticket};
pub use lineage::Lineage;
pub use memory::{MemoryClientStore, MemoryServerStore};
pub use reason::Reason;
pub use record::ScopeRecord;
pub use server::ServerCache;
pub(crate) use server::{Committing, RequestedCertificate, ServerSession};
pub use store::{ClientStore, Commit, NotSaved, Row, Save, ServerObjects, ServerStore, StoreAnswer, StoreRequest};
pub(crate) use subject::{Parts, TicketSubject};
pub(crate) use ticket_rows::TicketRows;

/// Which caching schemes a side takes part in. Of those that both do, the best one is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes {
    rfc7924: bool,
    bithac: bool,
    compact: bool,
}

impl Schemes {
    /// None: no caching extension is sent or answered.
    pub const OFF: Self = Self { rfc7924: false, bithac: false, compact: false };
    /// RFC 7924 alone: what the server sends.
    pub const RFC7924: Self = Self { rfc7924: true, ..Self::OFF };
    /// RFC 7924, and tickets for the client's Certificate (paper 000).
    pub const BITHAC: Self = Self { bithac: true, ..Self::RFC7924 };
    /// All of these, and one ticket for everything static.
    pub const COMPACT: Self = Self { compact: true, ..Self::BITHAC };

    /// Whether `scheme` is among them.
    pub const fn contains(self, scheme: Scheme) -> bool {
        match scheme {
            Scheme::Rfc7924 => self.rfc7924,
            Scheme::Bithac => self.bithac,
            Scheme::Compact => self.compact,
        }
    }
}

/// A caching scheme, as a handshake negotiates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// RFC 7924: the server's Certificate and CertificateRequest.
    Rfc7924,
    /// The same, and tickets for the client's Certificate (paper 000).
    Bithac,
    /// One ticket for all three, which are then not sent at all.
    Compact,
}

impl Scheme {
    /// As in reports: `rfc7924`, `bithac`, `compact`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc7924 => "rfc7924",
            Self::Bithac => "bithac",
            Self::Compact => "compact",
        }
    }
}
