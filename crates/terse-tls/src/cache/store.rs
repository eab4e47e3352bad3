//! The traits of stores: in memory, in a file, in a database.
//!
//! A store that keeps each record or row on its own, such as a database, has it as [`ScopeRecord::to_bytes`] and
//! [`Row::to_bytes`] give it. If asking it takes time, either its calls block their thread, or:
//!
//! - A server's store answers [`Poll::Pending`] to [`ServerStore::find`] and [`ServerStore::commit`], as often as it
//!   likes. The connection waits then, and asks the application instead ([`crate::Connection::store_request`]).
//! - A client's does not: which [`Scope`] a connection will ask for is known before it is begun
//!   ([`crate::ClientConfig::scope`]). Who loads that record first, and begins the connection then, needs no state in
//!   which it has sent nothing. What it changes may be saved behind its back: if that is lost, it costs one full
//!   handshake.
//!
//! What must always hold: each call is atomic against all others, also when it fails.

use alloc::sync::Arc;
use core::fmt;
use core::task::Poll;

use pki_types::UnixTime;

use super::{AddressId, Fingerprint, PeerEntry, Scope, ScopeRecord, Ticket};
use crate::crypto::Rng;

/// What a client keeps, by scope.
pub trait ClientStore: Send + Sync {
    /// Hands the record of `scope` (an empty one if there is none) to `change`, which is called once, and keeps what
    /// it leaves there; a record left empty is removed. With [`Save::Now`] a persistent store saves before it returns;
    /// with [`Save::Later`] the change may go to memory only, and is saved with the next one.
    ///
    /// `change` does not call the store. An error says that the record is kept in memory but was not saved; a
    /// connection goes on without.
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved>;

    /// Lends randomness to a store that needs some. Each connection calls this before anything else; by default it does
    /// nothing. A store that finds records by a hash takes the key of that from here.
    fn seed(&self, _: &mut dyn Rng) {}
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
    ///
    /// [`Poll::Pending`]: the connection asks the application, and does not call this again for the same ticket.
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>>;

    /// In one atomic write: adds the new ticket with its parent, and deletes the parent's parent and the parent's other
    /// child. Without a parent, or if that is gone, the ticket stands alone.
    ///
    /// A persistent store saves before it returns, since what the server sends next tells the client that it has the
    /// ticket. An error says that the row may not survive a restart; a connection goes on without.
    ///
    /// [`Poll::Pending`]: the connection asks the application to do it, sends nothing until that is done, and does not
    /// call this again.
    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>>;

    /// Whether `ticket` proves that a client is at `address`: the handshake that made it came from there, and it has
    /// proven nothing yet (docs/caching.md, 4.7). If so, it is spent for that purpose, and a persistent store has saved
    /// that before this returns: of any number of calls for one ticket, also across a restart, one at most is `true`.
    ///
    /// An error says that it may not be saved, and means no. So does a store that cannot tell at once: the client is
    /// asked for a cookie then. To wait would be to keep something for whoever claims an address.
    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved>;

    /// Deletes `ticket`, if it is there. A store may do it later: what expired or was revoked is not used either way.
    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved>;

    /// As [`ClientStore::seed`]. A client can try until it makes tickets that it likes: without a key in the hash, they
    /// would all be found in one place.
    fn seed(&self, _: &mut dyn Rng) {}
}

/// What a server keeps under one ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The client's Certificate, if it proved one that may be kept. Rows without one have a quota of their own: whoever
    /// connects can make them.
    pub entry: Option<Arc<PeerEntry>>,
    /// For a ticket of `compact`: what the client has seen.
    pub seen: Option<ServerObjects>,
    /// Where the client was, over datagrams, until the ticket was spent as a proof of that.
    pub address: Option<AddressId>,
}

impl Row {
    /// A row of these parts.
    pub const fn new(entry: Option<Arc<PeerEntry>>, seen: Option<ServerObjects>, address: Option<AddressId>) -> Self {
        Self { entry, seen, address }
    }

    /// Whether both stand for the same client certificate.
    pub(super) fn is_of(&self, client: Option<&PeerEntry>) -> bool {
        let own = self.entry.as_ref().map(|entry| entry.fingerprint());
        own.is_some() && own == client.map(PeerEntry::fingerprint)
    }
}

/// What a client has seen of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerObjects {
    /// The server's Certificate.
    pub certificate: Fingerprint,
    /// Its CertificateRequest, if there was one.
    pub request: Option<Fingerprint>,
}

impl ServerObjects {
    /// A server's Certificate, and its CertificateRequest if there was one.
    pub const fn new(certificate: Fingerprint, request: Option<Fingerprint>) -> Self {
        Self { certificate, request }
    }
}

/// A new row of a [`ServerStore`].
#[derive(Clone, Debug)]
#[non_exhaustive]
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

impl Commit {
    /// A `row` under a new `ticket`, of a handshake at `time` that used the ticket `parent`.
    pub const fn new(ticket: Ticket, row: Row, parent: Option<Ticket>, time: Option<UnixTime>) -> Self {
        Self { ticket, row, parent, time }
    }
}

/// What the application is asked, since the store of a server answered [`Poll::Pending`].
#[derive(Clone, Debug)]
pub enum StoreRequest {
    /// What [`ServerStore::find`] was asked.
    Find(Ticket),
    /// What [`ServerStore::commit`] was asked: once for a handshake.
    Commit(Commit),
}

/// The answer to a [`StoreRequest`].
#[derive(Clone, Debug)]
pub enum StoreAnswer {
    /// To [`StoreRequest::Find`]. `None` also if nobody knows: the handshake is a full one.
    Found(Option<Row>),
    /// To [`StoreRequest::Commit`].
    Committed(Result<(), NotSaved>),
}

impl StoreAnswer {
    /// To whatever is asked: nothing is found, and nothing can be saved.
    pub const fn unavailable(request: &StoreRequest) -> Self {
        match request {
            StoreRequest::Find(_) => Self::Found(None),
            StoreRequest::Commit(_) => Self::Committed(Err(NotSaved)),
        }
    }

    pub(crate) const fn answers(&self, request: &StoreRequest) -> bool {
        matches!(
            (self, request),
            (Self::Found(_), StoreRequest::Find(_)) | (Self::Committed(_), StoreRequest::Commit(_))
        )
    }
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
