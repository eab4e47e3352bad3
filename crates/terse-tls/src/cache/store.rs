//! This module has the traits of the stores that keep the cache in memory, in a file or in a database.
//!
//! A store that keeps each record or row on its own, such as a database, gets it as bytes from
//! [`ScopeRecord::to_bytes`] and [`Row::to_bytes`]. If asking such a store takes time, its calls may block their
//! thread, or:
//!
//! - A server's store answers [`Poll::Pending`] to [`ServerStore::find`] and [`ServerStore::commit`], as often as it
//!   likes. The connection then waits and asks the application instead ([`crate::Connection::store_request`]).
//! - A client's store must answer at once. The [`Scope`] that a connection will ask for is known before the connection
//!   is begun ([`crate::ClientConfig::scope`]), so the application can load that record first. The store may save a
//!   change later: if the change is lost, it costs one full handshake.
//!
//! What must always hold: each call is atomic against all others, also when it fails.

use alloc::sync::Arc;
use core::fmt;
use core::task::Poll;

use pki_types::UnixTime;

use super::{AddressId, Fingerprint, PeerEntry, Scope, ScopeRecord, Ticket};
use crate::crypto::Rng;

/// A store that keeps the records of a client by scope.
pub trait ClientStore: Send + Sync {
    /// Hands the record of `scope` (an empty one if there is none) to `change`, which is called once, and keeps what
    /// it leaves there; a record left empty is removed. With [`Save::Now`] a persistent store saves before it returns;
    /// with [`Save::Later`] the change may go to memory only, and is saved with the next one.
    ///
    /// How many connections hold a ticket ([`ScopeRecord::holders`]) belongs to the record until the last of them has ended: a store
    /// that may forget a record from memory and read it from where it is saved keeps that number apart
    /// ([`ScopeRecord::set_holders`]), or it offers a ticket twice.
    ///
    /// `change` does not call the store. An error says that the record is kept in memory but was not saved; a
    /// connection goes on without.
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved>;

    /// Lends randomness to a store that needs some. Each connection calls this before anything else; by default it does
    /// nothing. A store that finds records by a hash takes the key of that from here.
    fn seed(&self, _: &mut dyn Rng) {}
}

/// Says whether a change must be saved at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    /// The change is saved before the call returns.
    Now,
    /// The change may be saved later, because losing it costs nothing.
    Later,
}

/// A store that keeps the rows of a server by ticket. It never keeps them by client certificate, so that two devices
/// with one certificate do not disturb each other.
pub trait ServerStore: Send + Sync {
    /// Returns what is kept under `ticket`. It changes nothing, not even the order in which rows are forgotten, because
    /// the client has proven nothing yet.
    ///
    /// With [`Poll::Pending`] the connection asks the application, and does not call this again for the same ticket.
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>>;

    /// Adds the new ticket with its parent, and deletes the parent's parent and the parent's other child, in one atomic
    /// write. Without a parent, or if the parent is gone, the ticket stands alone.
    ///
    /// A persistent store saves before it returns, since what the server sends next tells the client that it has the
    /// ticket. An error says that the row may not survive a restart; a connection goes on without.
    ///
    /// With [`Poll::Pending`] the connection asks the application to do it, sends nothing until that is done, and does
    /// not call this again.
    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>>;

    /// Returns whether `ticket` proves that a client is at `address`: the handshake that made the ticket came from
    /// there, and the ticket has not been used as such a proof yet (docs/caching.md, 4.7). If so, the ticket is spent
    /// for that purpose, and a persistent store has saved that before this returns. Of any number of calls for one
    /// ticket, also across a restart, at most one returns `true`.
    /// An error says that the change may not be saved, and means no. A store that cannot tell at once also answers no,
    /// and the client is asked for a cookie: waiting would keep memory for anybody who claims an address.
    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved>;

    /// Deletes `ticket`, if it is there. A store may do so later, because a row that has expired or was revoked is not
    /// used in any case.
    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved>;

    /// Lends randomness to the store, as [`ClientStore::seed`] does. A client can try until it makes tickets that it
    /// likes: with a hash that has no key, all of them could fall into one place of a hash table.
    fn seed(&self, _: &mut dyn Rng) {}
}

/// The data that a server keeps under one ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The client's Certificate, if it proved one that may be kept. Rows without one have a quota of their own: whoever
    /// connects can make them.
    pub entry: Option<Arc<PeerEntry>>,
    /// For a ticket of `compact`, what the client has seen of this server.
    pub seen: Option<ServerObjects>,
    /// Where the client was, over datagrams. It is absent once the ticket was spent as a proof of that address.
    pub address: Option<AddressId>,
}

impl Row {
    /// Creates a row of these parts.
    pub const fn new(entry: Option<Arc<PeerEntry>>, seen: Option<ServerObjects>, address: Option<AddressId>) -> Self {
        Self { entry, seen, address }
    }

    /// Returns whether the row and `client` stand for the same client certificate.
    pub(super) fn is_of(&self, client: Option<&PeerEntry>) -> bool {
        let own = self.entry.as_ref().map(|entry| entry.fingerprint());
        own.is_some() && own == client.map(PeerEntry::fingerprint)
    }
}

/// The messages of a server that a client has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerObjects {
    /// The server's Certificate.
    pub certificate: Fingerprint,
    /// The server's CertificateRequest, if there was one.
    pub request: Option<Fingerprint>,
}

impl ServerObjects {
    /// Creates the pair of a server's Certificate and its CertificateRequest, if there was one.
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
    /// The data that is kept under the ticket.
    pub row: Row,
    /// The ticket that the handshake used.
    pub parent: Option<Ticket>,
    /// When the handshake was made, where there is a clock.
    pub time: Option<UnixTime>,
}

impl Commit {
    /// Creates the commit of a `row` under a new `ticket`, of a handshake at `time` that used the ticket `parent`.
    pub const fn new(ticket: Ticket, row: Row, parent: Option<Ticket>, time: Option<UnixTime>) -> Self {
        Self { ticket, row, parent, time }
    }
}

/// A question to the application, asked because the store of a server answered [`Poll::Pending`].
#[derive(Clone, Debug)]
pub enum StoreRequest {
    /// The question that [`ServerStore::find`] was asked.
    Find(Ticket),
    /// The commit that [`ServerStore::commit`] was asked for. There is one for each handshake.
    Commit(Commit),
}

/// The answer to a [`StoreRequest`].
#[derive(Clone, Debug)]
pub enum StoreAnswer {
    /// Answers [`StoreRequest::Find`]. It is `None` also if nobody knows, and then the handshake is a full one.
    Found(Option<Row>),
    /// Answers [`StoreRequest::Commit`].
    Committed(Result<(), NotSaved>),
}

impl StoreAnswer {
    /// Returns the answer that nothing was found, or that nothing could be saved, to fit `request`.
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

/// The error that a change was made but could not be saved. The store knows the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSaved;

impl fmt::Display for NotSaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cache could not be saved")
    }
}

impl core::error::Error for NotSaved {}
