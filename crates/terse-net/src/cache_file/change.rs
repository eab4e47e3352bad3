//! Changes of a cache are the entries of its file's journal.
//!
//! ```text
//! 1  commit   ticket(8) || time(8) || has_parent(1) || parent(8) || row    time: seconds since 1970, or all ones
//! 2  spend    ticket(8) || address
//! 3  remove   ticket(8)
//! 4  record   of a scope, with it
//! 5  issuers  a snapshot that has nothing else
//! ```

use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::LearnedIssuers;
use terse_tls::cache::{
    AddressId, ClientStore, Commit, MemoryClientStore, MemoryServerStore, Row, Save, Scope, ScopeRecord, ServerStore,
    Ticket, snapshot,
};

/// A change, encoded.
pub(super) struct Change(pub(super) Vec<u8>);

const COMMIT: u8 = 1;
const SPEND: u8 = 2;
const REMOVE: u8 = 3;
const RECORD: u8 = 4;
const ISSUERS: u8 = 5;

impl Change {
    /// Encodes a commit, or returns `None` if it cannot be kept.
    pub(super) fn commit(commit: &Commit) -> Option<Self> {
        let Commit { ticket, row, parent, time, .. } = commit;
        let time = time.map_or(u64::MAX, |time| time.as_secs()).to_be_bytes();
        let parent_ticket = parent.map_or([0; 8], |parent| parent.0);
        let row = row.to_bytes().ok()?;
        Some(Self([&[COMMIT][..], &ticket.0, &time, &[parent.is_some().into()], &parent_ticket, &row].concat()))
    }

    pub(super) fn spend(ticket: &Ticket, address: AddressId) -> Self {
        Self([&[SPEND][..], &ticket.0, &address.0].concat())
    }

    pub(super) fn remove(ticket: &Ticket) -> Self {
        Self([&[REMOVE][..], &ticket.0].concat())
    }

    /// Encodes the record of a scope, or returns `None` if it cannot be kept.
    pub(super) fn record(scope: &Scope, record: &ScopeRecord) -> Option<Self> {
        Some(Self([&[RECORD][..], &record.to_bytes(scope).ok()?].concat()))
    }

    /// Encodes the learned issuers, or returns `None` if they cannot be kept.
    pub(super) fn issuers(issuers: &LearnedIssuers) -> Option<Self> {
        let (client, server) = (MemoryClientStore::new(0), MemoryServerStore::new(0));
        Some(Self([&[ISSUERS][..], &snapshot::encode(&client, &server, issuers).ok()?].concat()))
    }

    /// Applies a change again. Returns `None` if it is malformed.
    pub(super) fn apply(bytes: &[u8], contents: &mut snapshot::Contents) -> Option<()> {
        let (client, server, issuers) = contents;
        let (kind, rest) = bytes.split_first()?;
        match *kind {
            COMMIT => {
                let (ticket, rest) = rest.split_first_chunk()?;
                let (time, rest) = rest.split_first_chunk()?;
                let (has_parent, rest) = rest.split_first()?;
                let (parent, row) = rest.split_first_chunk()?;
                let time = Some(u64::from_be_bytes(*time)).filter(|time| *time != u64::MAX);
                let commit = Commit::new(
                    Ticket(*ticket),
                    Row::from_bytes(row).ok()?,
                    (*has_parent != 0).then_some(Ticket(*parent)),
                    time.map(|time| UnixTime::since_unix_epoch(Duration::from_secs(time))),
                );
                server.commit(commit).ok()
            }
            SPEND => {
                let (ticket, address) = rest.split_first_chunk()?;
                ServerStore::spend(server, &Ticket(*ticket), AddressId(address.try_into().ok()?)).ok().map(|_| ())
            }
            REMOVE => ServerStore::remove(server, &Ticket(rest.try_into().ok()?)).ok(),
            RECORD => {
                let (scope, saved) = ScopeRecord::from_bytes(rest).ok()?;
                let mut change = |record: &mut ScopeRecord| {
                    record.clone_from(&saved);
                    Save::Later
                };
                client.update(&scope, &mut change).ok()
            }
            ISSUERS => {
                (_, _, *issuers) = snapshot::decode(rest, 0).ok()?;
                Some(())
            }
            _ => None,
        }
    }
}
