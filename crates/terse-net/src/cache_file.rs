//! The cache of handshakes in a file: for devices with flash, and for the command line.
//!
//! Both tables of [`terse_tls::cache`] live in memory; each change that matters writes the whole file anew. The file is
//! a mark, the version of the format, a SHA-256 over everything else, and a [`snapshot`].
//!
//! What must always hold:
//! - Power lost at any byte leaves the old file or the new one, whole.
//! - Content that is damaged, or that another user could have written, is reported and not used.
//! - Nobody but the owner can read the file.

use core::error::Error;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use terse_tls::cache::{
    ClientStore, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Save, Scope, ScopeRecord, ServerStore,
    Ticket, snapshot,
};

mod atomic;
use atomic::Owner;

/// A [`ClientStore`] and [`ServerStore`] that keeps its contents in a file.
///
/// For one process at a time: of two that write the same file, the last one wins. That costs full handshakes, never
/// connections.
pub struct CacheFile {
    path: PathBuf,
    client: MemoryClientStore,
    server: MemoryServerStore,
    /// How many changes were made in memory, and how many of them the file has.
    changes: AtomicU64,
    saved: Mutex<u64>,
    error: Mutex<Option<CacheFileError>>,
}

impl CacheFile {
    /// Opens the file, or prepares to create it, for at most `capacity` scopes and as many tickets.
    ///
    /// An error says that the path cannot be used. Otherwise the second value says why the content was not used, if
    /// there was some; the file is then overwritten when there is something to save.
    pub fn open(path: impl AsRef<Path>, capacity: usize) -> Result<(Self, Option<Damage>), CacheFileError> {
        let path = path.as_ref();
        // A link stays, and what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let error = |doing| {
            let path = path.clone();
            move |source| CacheFileError { path, doing, source }
        };
        let owner = atomic::probe(&path).map_err(error(Doing::Write))?;
        let content = read(&path, owner).map_err(error(Doing::Read))?;
        let decoded = content.map(|content| content.and_then(|bytes| decode(&bytes, capacity))).transpose();
        let (tables, damage) = match decoded {
            Ok(tables) => (tables, None),
            Err(what) => (None, Some(Damage { path: path.clone(), what })),
        };
        let (client, server) =
            tables.unwrap_or_else(|| (MemoryClientStore::new(capacity), MemoryServerStore::new(capacity)));
        let file =
            Self { path, client, server, changes: AtomicU64::new(0), saved: Mutex::new(0), error: Mutex::new(None) };
        Ok((file, damage))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the last change that was not saved was not; what the traits report as [`NotSaved`].
    pub fn take_error(&self) -> Option<CacheFileError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Saves what was changed in memory up to now, unless another thread has done so while this one waited.
    fn save(&self) -> Result<(), NotSaved> {
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if *saved >= change {
            return Ok(());
        }
        let included = self.changes.load(Ordering::SeqCst);
        let bytes = encode(&snapshot::encode(&self.client, &self.server)?);
        let written = if bytes.len() as u64 > MAX_LEN {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB, a lower capacity is needed"))
        } else {
            atomic::replace(&self.path, &bytes)
        };
        written.map_err(|source| {
            let error = CacheFileError { path: self.path.clone(), doing: Doing::Write, source };
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            NotSaved
        })?;
        *saved = included;
        Ok(())
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
    fn find(&self, ticket: &Ticket) -> Option<Row> {
        self.server.find(ticket)
    }

    fn commit(&self, commit: Commit) -> Result<(), NotSaved> {
        self.server.commit(commit)?;
        self.save()
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.server.remove(ticket)?;
        self.save()
    }
}

impl fmt::Debug for CacheFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Why the content of a cache file was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    path: PathBuf,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    TooLong,
    NoCacheFile,
    OtherVersion(u16),
    Checksum,
    Content,
    /// The content names peers as verified: it must come from this user's programs alone.
    WritableByOthers,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cache file {}: ", self.path.display())?;
        match self.what {
            What::TooLong => f.write_str("it is longer than 64 MiB"),
            What::NoCacheFile => f.write_str("it does not begin like a cache file"),
            What::OtherVersion(version) => write!(f, "its format is version {version}, not {}", snapshot::VERSION),
            What::Checksum => f.write_str("its checksum does not match"),
            What::Content => f.write_str("its content makes no sense"),
            What::WritableByOthers => f.write_str("other users can write to it"),
        }?;
        f.write_str("; starting afresh")
    }
}

/// A cache file cannot be read or written.
#[derive(Debug)]
pub struct CacheFileError {
    path: PathBuf,
    doing: Doing,
    source: io::Error,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Read,
    Write,
}

impl fmt::Display for CacheFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, doing, source } = self;
        let path = path.display();
        match doing {
            Doing::Read => write!(f, "cache file {path} cannot be read: {source}; remove it, or name another"),
            Doing::Write => {
                write!(
                    f,
                    "cache file {path} cannot be written: {source}; name one in a directory that you can write to"
                )
            }
        }
    }
}

impl Error for CacheFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Longer files are not read, and not written.
const MAX_LEN: u64 = 64 << 20;
const MAGIC: [u8; 8] = *b"terse$c\n";

/// The content, if there is a file; the inner error says why it is not to be used.
fn read(path: &Path, owner: Owner) -> io::Result<Option<Result<Vec<u8>, What>>> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if !owner.alone_writes(&metadata) {
        return Ok(Some(Err(What::WritableByOthers)));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
    Ok(Some(if bytes.len() as u64 > MAX_LEN { Err(What::TooLong) } else { Ok(bytes) }))
}

fn encode(snapshot: &[u8]) -> Vec<u8> {
    let version = snapshot::VERSION.to_be_bytes();
    [MAGIC.as_slice(), &version, &checksum(version, snapshot), snapshot].concat()
}

fn decode(bytes: &[u8], capacity: usize) -> Result<(MemoryClientStore, MemoryServerStore), What> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(What::NoCacheFile)?;
    let (version, rest) = rest.split_first_chunk().ok_or(What::Checksum)?;
    if *version != snapshot::VERSION.to_be_bytes() {
        return Err(What::OtherVersion(u16::from_be_bytes(*version)));
    }
    let (sum, snapshot) = rest.split_first_chunk().ok_or(What::Checksum)?;
    if *sum != checksum(*version, snapshot) {
        return Err(What::Checksum);
    }
    snapshot::decode(snapshot, capacity).map_err(|_| What::Content)
}

fn checksum(version: [u8; 2], snapshot: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(MAGIC).chain_update(version).chain_update(snapshot).finalize().into()
}

#[cfg(test)]
mod tests;
