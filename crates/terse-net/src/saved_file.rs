//! What a program wants to have again after a restart, in a file: the part that is the same whatever it is. The contents
//! live in memory; each change that matters writes the whole file anew. The file is a mark, the version of the format, a
//! SHA-256 over everything else, and the contents.
//!
//! What must always hold:
//! - Power lost at any byte leaves the old file or the new one, whole. So does a disk that is full.
//! - A disk that cannot be written to is reported once, until it can be; the contents in memory go on.
//! - Content that is damaged, or that another user could have written, is reported and not used; nor are secrets that
//!   another user could have read.
//! - Nobody but the owner can read the file.

use core::error::Error;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use terse_tls::cache::NotSaved;
use zeroize::Zeroizing;

mod atomic;
use atomic::Owner;

/// One kind of file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// As in messages: `cache file`.
    pub(crate) name: &'static str,
    /// What the file begins with.
    pub(crate) magic: [u8; 8],
    /// Of the contents.
    pub(crate) version: u16,
    /// Whether the contents are of no use once another user may have read them.
    pub(crate) secret: bool,
}

/// The file behind contents that live in memory.
///
/// Two processes never spoil each other's file, but do not see each other's changes: the last one that writes wins.
pub(crate) struct SavedFile {
    format: &'static Format,
    path: PathBuf,
    /// How many changes were made in memory, and how many of them the file has.
    changes: AtomicU64,
    saved: Mutex<u64>,
    trouble: Mutex<Trouble>,
}

/// What is to be told of a file that cannot be written.
#[derive(Debug, Default)]
struct Trouble {
    /// Since when it is known, nothing could be saved.
    lasts: bool,
    untold: Option<SavedFileError>,
}

impl SavedFile {
    /// Opens the file, or prepares to create it. `decode` makes sense of the contents, or says that there is none.
    ///
    /// An error says that the path cannot be used. Otherwise the third value says why the content was not used, if
    /// there was some; the file is then overwritten when there is something to save.
    pub(crate) fn open<T>(
        format: &'static Format,
        path: &Path,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Self, Option<T>, Option<Damage>), SavedFileError> {
        // A link stays, and what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let error = |doing| {
            let path = path.clone();
            move |source| SavedFileError { format, path, doing, source }
        };
        let (owner, trouble) = atomic::probe(&path).map_err(error(Doing::Write))?;
        let trouble = Trouble { lasts: trouble.is_some(), untold: trouble.map(error(Doing::Write)) };
        let content = read(format, &path, owner).map_err(error(Doing::Read))?;
        let decoded = content.map(|bytes| format.unwrap(&bytes?).and_then(|body| decode(body).ok_or(What::Content)));
        let (decoded, damage) = match decoded.transpose() {
            Ok(decoded) => (decoded, None),
            Err(what) => (None, Some(Damage { format, path: path.clone(), what })),
        };
        let file =
            Self { format, path, changes: AtomicU64::new(0), saved: Mutex::new(0), trouble: Mutex::new(trouble) };
        Ok((file, decoded, damage))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Why changes cannot be saved: once, until one could be saved again.
    pub(crate) fn take_error(&self) -> Option<SavedFileError> {
        self.trouble().untold.take()
    }

    fn trouble(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves what was changed in memory up to now, which `contents` collects, unless another thread has done so while
    /// this one waited.
    pub(crate) fn save<B: AsRef<[u8]>>(&self, contents: impl FnOnce() -> Result<B, NotSaved>) -> Result<(), NotSaved> {
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if *saved >= change {
            return Ok(());
        }
        let included = self.changes.load(Ordering::SeqCst);
        let bytes = self.format.wrap(contents()?.as_ref());
        let written = if bytes.len() as u64 > MAX_LEN {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB, a lower capacity is needed"))
        } else {
            atomic::replace(&self.path, &bytes)
        };
        let mut trouble = self.trouble();
        written.map_err(|source| {
            if !trouble.lasts {
                let (format, path) = (self.format, self.path.clone());
                trouble.untold = Some(SavedFileError { format, path, doing: Doing::Write, source });
            }
            trouble.lasts = true;
            NotSaved
        })?;
        trouble.lasts = false;
        *saved = included;
        Ok(())
    }
}

/// Why the content of a file was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    format: &'static Format,
    path: PathBuf,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    TooLong,
    OtherFile,
    OtherVersion(u16),
    Checksum,
    Content,
    /// The content names peers as verified: it must come from this user's programs alone.
    WritableByOthers,
    /// Who has a session's secret can be the client or the server of it.
    ReadableByOthers,
}

impl Damage {
    /// What is wrong, for those who do not start afresh.
    pub fn cause(&self) -> String {
        let Format { name, version, .. } = self.format;
        let what = match self.what {
            What::TooLong => "it is longer than 64 MiB",
            What::OtherFile => &format!("it does not begin like a {name}"),
            What::OtherVersion(found) => &format!("its format is version {found}, not {version}"),
            What::Checksum => "its checksum does not match",
            What::Content => "its content makes no sense",
            What::WritableByOthers => "other users can write to it",
            What::ReadableByOthers => "other users can read the secrets in it",
        };
        format!("{name} {}: {what}", self.path.display())
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; starting afresh", self.cause())
    }
}

/// A file for saved contents cannot be read or written.
#[derive(Debug)]
pub struct SavedFileError {
    format: &'static Format,
    path: PathBuf,
    doing: Doing,
    source: io::Error,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Read,
    Write,
}

impl fmt::Display for SavedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format: Format { name, .. }, path, doing, source } = self;
        let path = path.display();
        match doing {
            Doing::Read => write!(f, "{name} {path} cannot be read: {source}; remove it, or name another"),
            Doing::Write => {
                write!(f, "{name} {path} cannot be written: {source}; name one in a directory that you can write to")
            }
        }
    }
}

impl Error for SavedFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Longer files are not read, and not written.
pub(crate) const MAX_LEN: u64 = 64 << 20;

/// The bytes of the file, if there is one; the inner error says why they are not to be used.
fn read(format: &Format, path: &Path, owner: Owner) -> io::Result<Option<Result<Zeroizing<Vec<u8>>, What>>> {
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
    if format.secret && !owner.alone_reads(&metadata) {
        return Ok(Some(Err(What::ReadableByOthers)));
    }
    if metadata.len() > MAX_LEN {
        return Ok(Some(Err(What::TooLong)));
    }
    // Room for all of it, and one byte to see its end: growing would leave copies of secrets behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(metadata.len() as usize + 1)); // at most 64 MiB, see above
    File::open(path)?.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
    Ok(Some(if bytes.len() as u64 > MAX_LEN { Err(What::TooLong) } else { Ok(bytes) }))
}

impl Format {
    /// The file that holds `body`.
    pub(crate) fn wrap(&self, body: &[u8]) -> Zeroizing<Vec<u8>> {
        let version = self.version.to_be_bytes();
        Zeroizing::new([&self.magic[..], &version, &self.checksum(version, body), body].concat())
    }

    /// What the file `bytes` holds.
    fn unwrap<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], What> {
        let rest = bytes.strip_prefix(&self.magic).ok_or(What::OtherFile)?;
        let (version, rest) = rest.split_first_chunk().ok_or(What::Checksum)?;
        if *version != self.version.to_be_bytes() {
            return Err(What::OtherVersion(u16::from_be_bytes(*version)));
        }
        let (sum, body) = rest.split_first_chunk().ok_or(What::Checksum)?;
        if *sum == self.checksum(*version, body) { Ok(body) } else { Err(What::Checksum) }
    }

    pub(crate) fn checksum(&self, version: [u8; 2], body: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(self.magic).chain_update(version).chain_update(body).finalize().into()
    }
}
