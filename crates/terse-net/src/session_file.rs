//! A session file holds a client's sessions, so that it can resume them after a restart: for devices with flash, and
//! for the command line. The sessions live in a [`MemoryClientSessions`]; the file holds its bytes.
//!
//! What must always hold: a session that was taken is gone from the file before it is used (RFC 9846, C.4). Nobody but
//! the owner can read the secrets in the file; memory that held them is wiped.

use core::fmt;
use std::path::Path;

use terse_tls::cache::Scope;
use terse_tls::resume::{ClientSessionStore, MemoryClientSessions, StoredSession};

use crate::saved_file::{Damage, Format, SavedFile, SavedFileError};

/// A [`ClientSessionStore`] that keeps its contents in a file, with mode 0600.
///
/// The file is for one process at a time: if two write the same file, the last one wins. Then a TLS 1.3 ticket may be
/// used twice, which lets an observer see that the two connections come from the same client.
pub struct SessionFile {
    file: SavedFile,
    sessions: MemoryClientSessions,
}

static FORMAT: Format = Format { name: "session file", magic: *b"terse$s\n", version: 3, secret: true };

impl SessionFile {
    /// Opens the file, or prepares to create it, for the sessions of at most `capacity` scopes.
    ///
    /// Fails if the path cannot be used. The second value of the result says why existing content was not used; the
    /// file is then overwritten when there is something to save.
    pub fn open(path: impl AsRef<Path>, capacity: usize) -> Result<(Self, Option<Damage>), SavedFileError> {
        let decode = |bytes: &[u8], _: &[&[u8]]| MemoryClientSessions::from_bytes(bytes, capacity).ok();
        let (file, sessions, damage) = SavedFile::open(&FORMAT, path.as_ref(), decode)?;
        let sessions = sessions.unwrap_or_else(|| MemoryClientSessions::new(capacity));
        Ok((Self { file, sessions }, damage))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns why changes cannot be saved. The error is returned once, until a change could be saved again. Sessions
    /// are used all the same, but after a restart new ones are forgotten, and used ones may be offered again.
    pub fn take_error(&self) -> Option<SavedFileError> {
        self.file.take_error()
    }

    fn save(&self) {
        let _ = self.file.save(|| Ok(self.sessions.to_bytes())); // `take_error` returns the reason of a failure
    }
}

impl ClientSessionStore for SessionFile {
    fn put(&self, scope: &Scope, session: StoredSession) {
        self.sessions.put(scope, session);
        self.save();
    }

    fn take(&self, scope: &Scope) -> Option<StoredSession> {
        let session = self.sessions.take(scope)?;
        self.save();
        Some(session)
    }
}

impl fmt::Debug for SessionFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFile").field("path", &self.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
