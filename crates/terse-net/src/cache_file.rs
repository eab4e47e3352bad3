//! The cache of handshakes in a file, for devices with flash and for the command line. Both tables of
//! [`terse_tls::cache`] live in memory; the file holds a [`snapshot`] of them, and the changes since.
//!
//! What must always hold: a commit of a client whose certificate was confirmed is in the file. A change for a client
//! without a certificate is never written, or anybody who connects could keep the disk busy.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Poll;
use std::path::Path;

use terse_tls::LearnedIssuers;
use terse_tls::cache::{
    AddressId, ClientStore, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Save, Scope, ScopeRecord,
    ServerStore, Ticket, snapshot,
};
use terse_tls::crypto::Rng;

use crate::saved_file::{Damage, Format, SavedFile, SavedFileError};

mod change;

use change::Change;

/// A [`ClientStore`] and [`ServerStore`] that keeps its contents in a file, with mode 0600.
///
/// If two processes use the same file, the last one that writes wins. That costs full handshakes, never connections. A
/// server whose tickets prove addresses must have a file of its own, or each process would accept such a proof once.
pub struct CacheFile {
    file: SavedFile,
    client: MemoryClientStore,
    server: MemoryServerStore,
    issuers: LearnedIssuers,
    /// The number of learned issuers when they were last saved.
    issuers_saved: AtomicU32,
}

static FORMAT: Format = Format { name: "cache file", magic: *b"terse$c\n", version: snapshot::VERSION, secret: false };

impl CacheFile {
    /// Opens the file, or prepares to create it, for at most `capacity` scopes and as many clients.
    ///
    /// Fails if the path cannot be used. The second value of the result says why existing content was not used; the
    /// file is then overwritten when there is something to save. A disk that is full or read-only is no error here:
    /// [`Self::take_error`] reports it.
    pub fn open(path: impl AsRef<Path>, capacity: usize) -> Result<(Self, Option<Damage>), SavedFileError> {
        let decode = |bytes: &[u8], changes: &[&[u8]]| {
            let mut contents = snapshot::decode(bytes, capacity).ok()?;
            changes.iter().try_for_each(|change| Change::apply(change, &mut contents))?;
            Some(contents)
        };
        let (file, tables, damage) = SavedFile::open(&FORMAT, path.as_ref(), decode)?;
        let (client, server, issuers) = tables.unwrap_or_else(|| {
            (MemoryClientStore::new(capacity), MemoryServerStore::new(capacity), LearnedIssuers::new())
        });
        let issuers_saved = AtomicU32::new(issuers.learned());
        Ok((Self { file, client, server, issuers, issuers_saved }, damage))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns why changes cannot be saved, which the traits report as [`NotSaved`]. The error is returned once, until
    /// a change could be saved again.
    pub fn take_error(&self) -> Option<SavedFileError> {
        self.file.take_error()
    }

    /// Returns the client's part of the cache, for inspection.
    pub const fn client(&self) -> &MemoryClientStore {
        &self.client
    }

    /// Returns the server's part of the cache, for inspection.
    pub const fn server(&self) -> &MemoryServerStore {
        &self.server
    }

    /// Returns the issuers of what is cached, for [`Trust::with_issuers`](terse_tls::Trust::with_issuers). They are
    /// kept where revocation is checked.
    pub const fn issuers(&self) -> &LearnedIssuers {
        &self.issuers
    }

    /// Makes a change in memory, with its entry for the journal, and saves it if `when` is [`Save::Now`].
    fn change<T>(
        &self,
        when: Save,
        change: impl FnOnce() -> (Result<T, NotSaved>, Option<Change>),
    ) -> Result<T, NotSaved> {
        let (result, number) = self.file.change(|| {
            let (result, entry) = change();
            (result, entry.map(|entry| entry.0))
        });
        let result = result?;
        if when == Save::Now {
            self.save_issuers();
            self.file.commit(number, || snapshot::encode_authenticated(&self.client, &self.server, &self.issuers))?;
        }
        Ok(result)
    }

    /// Adds the issuers to the next change that is saved, if there are new ones.
    fn save_issuers(&self) {
        let learned = self.issuers.learned();
        if self.issuers_saved.swap(learned, Ordering::SeqCst) != learned {
            self.file.change(|| ((), Change::issuers(&self.issuers).map(|entry| entry.0)));
        }
    }
}

impl CacheFile {
    /// Finds a row at once: [`ServerStore::find`] of this store is never pending.
    pub fn find(&self, ticket: &Ticket) -> Option<Row> {
        self.server.find(ticket)
    }

    /// Commits a row at once: [`ServerStore::commit`] of this store is never pending.
    pub fn commit(&self, commit: Commit) -> Result<(), NotSaved> {
        if commit.row.entry.is_none() {
            return self.server.commit(commit);
        }
        self.change(Save::Now, || {
            let entry = Change::commit(&commit);
            (self.server.commit(commit), entry)
        })
    }
}

impl ClientStore for CacheFile {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut save = Save::Later;
        self.change(Save::Later, || {
            let mut entry = None;
            let result = self.client.update(scope, &mut |record| {
                save = change(record);
                entry = Change::record(scope, record).filter(|_| save == Save::Now);
                save
            });
            (result, entry)
        })?;
        if save == Save::Now { self.change(Save::Now, || (Ok(()), None)) } else { Ok(()) }
    }

    fn seed(&self, rng: &mut dyn Rng) {
        self.client.seed(rng);
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
        let mut is_saved = true;
        let is_proof = self.change(Save::Later, || {
            let result = self.server.spend(ticket, address);
            // The ticket of a client without a certificate is not in the file, and proves nothing after a restart.
            let is_of_client = self.server.find(ticket).is_some_and(|row| row.entry.is_some());
            is_saved = result != Ok(true) || !is_of_client;
            (result, (!is_saved).then(|| Change::spend(ticket, address)))
        })?;
        if !is_saved {
            self.change(Save::Now, || (Ok(()), None))?;
        }
        Ok(is_proof)
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        let is_of_client = self.server.find(ticket).is_some_and(|row| row.entry.is_some());
        let when = if is_of_client { Save::Now } else { Save::Later };
        self.change(when, || (self.server.remove(ticket), is_of_client.then(|| Change::remove(ticket))))
    }

    fn seed(&self, rng: &mut dyn Rng) {
        self.server.seed(rng);
    }
}

impl fmt::Debug for CacheFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheFile").field("path", &self.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
