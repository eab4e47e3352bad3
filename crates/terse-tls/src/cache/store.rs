//! The traits of stores: in memory, in a file, in a database.
//!
//! A call answers before it returns. A store that asks somebody else, such as a database, blocks its thread meanwhile,
//! so an asynchronous program hands input to a connection where it may block. It keeps each record or row on its own,
//! as [`ScopeRecord::to_bytes`] and [`Row::to_bytes`] give it.
//!
//! What must always hold: each call is atomic against all others, also when it fails.

use alloc::sync::Arc;
use core::fmt;

use pki_types::UnixTime;

use super::{AddressId, Fingerprint, PeerEntry, Scope, ScopeRecord, Ticket};

/// What a client keeps, by scope.
pub trait ClientStore: Send + Sync {
    /// Hands the record of `scope` (an empty one if there is none) to `change`, which is called once, and keeps what
    /// it leaves there; a record left empty is removed. With [`Save::Now`] a persistent store saves before it returns;
    /// with [`Save::Later`] the change may go to memory only, and is saved with the next one.
    ///
    /// `change` does not call the store. An error says that the record is kept in memory but was not saved; a
    /// connection goes on without.
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved>;
}

/// Whether a change must be saved at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    /// Before the call returns.
    Now,
    /// Losing it costs nothing.
    Later,
}

/// What a server keeps, by ticket; never by client certificate: two devices with one certificate do not disturb each
/// other.
pub trait ServerStore: Send + Sync {
    /// What is kept under `ticket`. Changes nothing, not even what goes first: the client has proven nothing yet.
    fn find(&self, ticket: &Ticket) -> Option<Row>;

    /// In one atomic write: adds the new ticket with its parent, and deletes the parent's parent and the parent's other
    /// child. Without a parent, or if that is gone, the ticket stands alone.
    ///
    /// A persistent store saves before it returns, since what the server sends next tells the client that it has the
    /// ticket. An error says that the row may not survive a restart; a connection goes on without.
    fn commit(&self, commit: Commit) -> Result<(), NotSaved>;

    /// Whether `ticket` proves that a client is at `address`: the handshake that made it came from there, and it has
    /// proven nothing yet (`caching`, rule 7). If so, it is spent for that purpose, and a persistent store has saved
    /// that before this returns: of any number of calls for one ticket, also across a restart, one at most is `true`.
    ///
    /// An error says that it may not be saved, and means no.
    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved>;

    /// Deletes `ticket`, if it is there.
    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved>;
}

/// What a server keeps under one ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The client's Certificate, if it proved one that may be kept. Rows without one have a quota of their own: whoever
    /// connects can make them.
    pub entry: Option<Arc<PeerEntry>>,
    /// For a ticket of `compact`: what the client has seen.
    pub seen: Option<Seen>,
    /// Where the client was, over datagrams, until the ticket was spent as a proof of that.
    pub address: Option<AddressId>,
}

impl Row {
    /// Whether both stand for the same client certificate.
    pub(super) fn is_of(&self, client: Option<&PeerEntry>) -> bool {
        let own = self.entry.as_ref().map(|entry| entry.fingerprint());
        own.is_some() && own == client.map(PeerEntry::fingerprint)
    }
}

/// What a client has seen of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// The server's Certificate.
    pub certificate: Fingerprint,
    /// Its CertificateRequest, if there was one.
    pub request: Option<Fingerprint>,
}

/// A new row of a [`ServerStore`].
#[derive(Clone, Debug)]
pub struct Commit {
    /// The ticket that the handshake made.
    pub ticket: Ticket,
    /// What is kept under it.
    pub row: Row,
    /// The ticket that the handshake used.
    pub parent: Option<Ticket>,
    /// When that was, where there is a clock.
    pub time: Option<UnixTime>,
}

/// A change was made, but could not be saved. The store knows the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSaved;

impl fmt::Display for NotSaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cache could not be saved")
    }
}

impl core::error::Error for NotSaved {}
