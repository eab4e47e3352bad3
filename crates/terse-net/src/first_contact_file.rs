//! A file of the horizon of a server's early data at first contact, so that none of it is taken twice after a restart, whatever
//! the clock says then.
//!
//! What must always hold: a horizon that was saved is never replaced by an earlier one; without a horizon that can be relied on,
//! no early data at first contact is accepted.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::path::Path;

use terse_tls::cache::NotSaved;
use terse_tls::identity_early_data::FirstContactHorizon;

use crate::saved_file::{Damage, Format, SavedFile, SavedFileError};

/// The file of a [`FirstContactHorizon`], with mode 0600. It is written anew about once a minute while clients send early data at
/// first contact.
///
/// The file is for one process at a time, and for one identity key. Without the file, or with an older copy of it, early data can be taken
/// again if the clock was set back as well.
pub struct FirstContactFile {
    file: SavedFile,
    horizon: AtomicU64,
}

static FORMAT: Format = Format { name: "first-contact file", magic: *b"terse$f\n", version: 1, secret: false };

impl FirstContactFile {
    /// Opens the file, or prepares to create it.
    ///
    /// Fails if the path cannot be used. The second value of the result says why existing content was not used; nothing is
    /// accepted at first contact then ([`Damage::cause`]), and the file stays as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Option<Damage>), SavedFileError> {
        let decode = |bytes: &[u8], changes: &[&[u8]]| {
            let bytes = bytes.try_into().ok().filter(|_| changes.is_empty())?;
            Some(u64::from_be_bytes(bytes))
        };
        let (file, horizon, damage) = SavedFile::open(&FORMAT, path.as_ref(), decode)?;
        let horizon = if damage.is_some() { UNKNOWN } else { horizon.unwrap_or(0) };
        Ok((Self { file, horizon: AtomicU64::new(horizon) }, damage))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns why the horizon cannot be saved. The error is returned once, until it could be saved again.
    pub fn take_error(&self) -> Option<SavedFileError> {
        self.file.take_error()
    }
}

impl FirstContactHorizon for FirstContactFile {
    fn saved(&self) -> u64 {
        self.horizon.load(Ordering::Relaxed)
    }

    fn save(&self, horizon: u64) -> Result<(), NotSaved> {
        if self.horizon.fetch_max(horizon, Ordering::Relaxed) == UNKNOWN {
            return Err(NotSaved);
        }
        self.file.save(|| Ok(self.saved().to_be_bytes()))
    }
}

impl fmt::Debug for FirstContactFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstContactFile").field("path", &self.path()).field("saved", &self.saved()).finish()
    }
}

/// The horizon that lets nothing be accepted.
const UNKNOWN: u64 = u64::MAX;

#[cfg(test)]
mod tests;
