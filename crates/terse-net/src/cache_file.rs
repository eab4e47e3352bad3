//! The cache of handshakes in a file: for devices with flash, and for the command line. Both tables of
//! [`terse_tls::cache`] live in memory; the file holds a [`snapshot`] of them.
//!
//! What must always hold: a commit that was confirmed is in the file.

use core::fmt;
use core::task::Poll;
use std::path::Path;

use terse_tls::LearnedIssuers;
use terse_tls::cache::{
    AddressId, ClientStore, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Save, Scope, ScopeRecord,
    ServerStore, Ticket, snapshot,
};

use crate::saved_file::{Damage, Format, SavedFile, SavedFileError};

/// A [`ClientStore`] and [`ServerStore`] that keeps its contents in a file, with mode 0600.
///
/// Of two processes with the same file, the last one that writes wins. That costs full handshakes, never connections. A
/// server whose tickets prove addresses must have a file of its own: each process would take such a proof once.
pub struct CacheFile {
    file: SavedFile,
    client: MemoryClientStore,
    server: MemoryServerStore,
    issuers: LearnedIssuers,
}

static FORMAT: Format = Format { name: "cache file", magic: *b"terse$c\n", version: snapshot::VERSION, secret: false };

impl CacheFile {
    /// Opens the file, or prepares to create it, for at most `capacity` scopes and as many clients.
    ///
    /// An error says that the path cannot be used. Otherwise the second value says why the content was not used, if
    /// there was some; the file is then overwritten when there is something to save. A disk that is full or read-only is no
    /// error: [`Self::take_error`] tells of it.
    pub fn open(path: impl AsRef<Path>, capacity: usize) -> Result<(Self, Option<Damage>), SavedFileError> {
        let decode = |bytes: &[u8]| snapshot::decode(bytes, capacity).ok();
        let (file, tables, damage) = SavedFile::open(&FORMAT, path.as_ref(), decode)?;
        let (client, server, issuers) = tables.unwrap_or_else(|| {
            (MemoryClientStore::new(capacity), MemoryServerStore::new(capacity), LearnedIssuers::new())
        });
        Ok((Self { file, client, server, issuers }, damage))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Why changes cannot be saved, which the traits report as [`NotSaved`]: once, until one could be saved again.
    pub fn take_error(&self) -> Option<SavedFileError> {
        self.file.take_error()
    }

    /// What is kept as a client, to look at.
    pub const fn client(&self) -> &MemoryClientStore {
        &self.client
    }

    /// What is kept as a server, to look at.
    pub const fn server(&self) -> &MemoryServerStore {
        &self.server
    }

    /// Who issued what is kept, where revocation is checked: for [`Trust::with_issuers`](terse_tls::Trust::with_issuers).
    pub const fn issuers(&self) -> &LearnedIssuers {
        &self.issuers
    }

    fn save(&self) -> Result<(), NotSaved> {
        self.file.save(|| snapshot::encode(&self.client, &self.server, &self.issuers))
    }
}

impl CacheFile {
    /// What [`ServerStore::find`] finds: this store has it at once.
    pub fn find(&self, ticket: &Ticket) -> Option<Row> {
        self.server.find(ticket)
    }

    /// What [`ServerStore::commit`] does: this store does it at once.
    pub fn commit(&self, commit: Commit) -> Result<(), NotSaved> {
        self.server.commit(commit)?;
        self.save()
    }
}

impl ClientStore for CacheFile {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut save = Save::Later;
        self.client.update(scope, &mut |record| {
            save = change(record);
            save
        })?;
        if save == Save::Now { self.save() } else { Ok(()) }
    }
}

impl ServerStore for CacheFile {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        Poll::Ready(Self::find(self, ticket))
    }

    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Ready(Self::commit(self, commit.clone()))
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        let is_proof = self.server.spend(ticket, address)?;
        if is_proof {
            self.save()?;
        }
        Ok(is_proof)
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.server.remove(ticket)?;
        self.save()
    }
}

impl fmt::Debug for CacheFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheFile").field("path", &self.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
