//! An identity file holds the public parts of the identity keys of peers, and the ephemeral secret tickets that servers have
//! sent, so that nothing is sent again, and early data goes on, after a restart.
//!
//! What must always hold: nothing in it is secret, and a wrong public part costs one handshake. (A ticket is of use only
//! with the identity key of its client.)

use alloc::sync::Arc;
use core::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use terse_tls::identity::KnownPeers;

use crate::saved_file::{Damage, Format, SavedFile, SavedFileError};

/// The file of a [`KnownPeers`], with mode 0600.
///
/// The file is for one process at a time: if two write the same file, the last one wins.
pub struct IdentityFile {
    file: SavedFile,
    peers: Arc<KnownPeers>,
    /// The number of the last change that is in the file.
    saved: Mutex<u64>,
}

static FORMAT: Format = Format { name: "identity file", magic: *b"terse$i\n", version: 2, secret: false };

impl IdentityFile {
    /// Opens the file, or prepares to create it, for at most `capacity` peers.
    ///
    /// Fails if the path cannot be used. The second value of the result says why existing content was not used; the
    /// file is then overwritten when there is something to save.
    pub fn open(path: impl AsRef<Path>, capacity: usize) -> Result<(Self, Option<Damage>), SavedFileError> {
        let decode = |bytes: &[u8], _: &[&[u8]]| KnownPeers::from_snapshot(capacity, bytes);
        let (file, peers, damage) = SavedFile::open(&FORMAT, path.as_ref(), decode)?;
        let peers = peers.unwrap_or_else(|| KnownPeers::new(capacity));
        let saved = Mutex::new(peers.changes());
        Ok((Self { file, peers: Arc::new(peers), saved }, damage))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the peers, for configurations.
    pub const fn peers(&self) -> &Arc<KnownPeers> {
        &self.peers
    }

    /// Saves what connections have changed, if they have changed anything. It is to be called when one has ended.
    pub fn save(&self) {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.peers.changes();
        if *saved != changes && self.file.save(|| Ok(self.peers.snapshot())).is_ok() {
            *saved = changes; // otherwise `take_error` returns the reason, and the next call tries again
        }
    }

    /// Returns why changes cannot be saved. The error is returned once, until a change could be saved again.
    pub fn take_error(&self) -> Option<SavedFileError> {
        self.file.take_error()
    }
}

impl fmt::Debug for IdentityFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityFile").field("path", &self.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
