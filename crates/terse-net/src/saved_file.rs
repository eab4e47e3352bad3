//! A saved file holds what a program needs again after a restart; this is the part that all kinds of contents share.
//! The contents live in memory. The file has a magic number, the version of the format, the length of the contents, a
//! SHA-256 over all of this and the contents, the contents as they once were, and a journal of the changes since
//! ([`journal`]). A change that matters is appended to the journal; once the journal is longer than the contents, the
//! whole file is written anew. So the cost of a change does not grow with the contents.
//!
//! What must always hold:
//! - Power lost at any byte, or a full disk, leaves the state before a change or after it.
//! - A file that is something else is never changed.
//! - A disk that cannot be written to is reported once, until it can be; the contents in memory go on.
//! - Contents that are damaged, or that another user could have written, are reported and not used; nor are secrets
//!   that another user could have read.
//! - Nobody but the owner can read the file.

use core::error::Error;
use core::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use terse_tls::cache::NotSaved;
use zeroize::Zeroizing;

mod atomic;
mod journal;

use atomic::Owner;
use journal::Tail;

/// A kind of saved file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// The name in messages, for example `cache file`.
    pub(crate) name: &'static str,
    /// The first bytes of the file.
    pub(crate) magic: [u8; 8],
    /// The version of the contents' format.
    pub(crate) version: u16,
    /// Whether the contents are useless once another user may have read them.
    pub(crate) secret: bool,
}

/// The file of contents that live in memory.
///
/// Two processes never damage each other's file, but do not see each other's changes: the last one that writes wins.
pub(crate) struct SavedFile {
    format: &'static Format,
    path: PathBuf,
    /// The changes that were made in memory, in order, and are not in the file yet.
    pending: Mutex<Pending>,
    saved: Mutex<Saved>,
    trouble: Mutex<WriteFailure>,
}

/// A change, encoded. It may hold a secret.
type Entry = Zeroizing<Vec<u8>>;

#[derive(Debug, Default)]
struct Pending {
    /// The number of changes that were made.
    changes: u64,
    entries: Vec<Entry>,
}

/// The state of the file.
#[derive(Debug, Default)]
struct Saved {
    /// The number of changes that are in the file.
    changes: u64,
    /// The end of the file, where the next change can be appended; `None` if the whole file must be written.
    tail: Option<Tail>,
}

/// The error of a file that cannot be written.
#[derive(Debug, Default)]
struct WriteFailure {
    /// Whether nothing could be saved since the error was found.
    lasts: bool,
    untold: Option<SavedFileError>,
}

impl SavedFile {
    /// Opens the file, or prepares to create it. `decode` interprets the contents and the changes since, or returns
    /// `None` if they make no sense.
    ///
    /// Fails if the path cannot be used, or if the file is of another kind, which stays as it is. The third value of
    /// the result says why existing content was not used; the file is then overwritten when there is something to save.
    pub(crate) fn open<T>(
        format: &'static Format,
        path: &Path,
        decode: impl FnOnce(&[u8], &[&[u8]]) -> Option<T>,
    ) -> Result<(Self, Option<T>, Option<Damage>), SavedFileError> {
        // A symbolic link stays, and the file that it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let error = |doing| {
            let path = path.clone();
            move |source| SavedFileError { format, path, doing, source }
        };
        let (owner, trouble) = atomic::probe(&path).map_err(error(Doing::Write))?;
        let trouble = WriteFailure { lasts: trouble.is_some(), untold: trouble.map(error(Doing::Write)) };
        let content = read(format, &path, owner).map_err(error(Doing::Read))?;
        let decoded = content.map(|bytes| {
            let bytes = bytes?;
            let (body, seal) = format.unwrap(&bytes)?;
            let (entries, end) = journal::read(seal, &bytes, body);
            let tail = (end == bytes.len()).then(|| Tail { seal, body: body.len(), len: bytes.len() as u64 });
            decode(body, &entries).map(|decoded| (decoded, tail)).ok_or(What::Content)
        });
        let (decoded, damage) = match decoded.transpose() {
            Ok(decoded) => (decoded, None),
            Err(What::OtherFile) => return Err(error(Doing::Recognise)(io::ErrorKind::InvalidData.into())),
            Err(what) => (None, Some(Damage { format, path: path.clone(), what })),
        };
        let (decoded, tail) = decoded.unzip();
        let saved = Mutex::new(Saved { changes: 0, tail: tail.flatten() });
        let file = Self { format, path, pending: Mutex::default(), saved, trouble: Mutex::new(trouble) };
        Ok((file, decoded, damage))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why changes cannot be saved. The error is returned once, until a change could be saved again.
    pub(crate) fn take_error(&self) -> Option<SavedFileError> {
        self.trouble().untold.take()
    }

    fn trouble(&self) -> MutexGuard<'_, WriteFailure> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves all that is in memory, which `contents` collects, unless another thread did so while this one waited.
    pub(crate) fn save<B: AsRef<[u8]>>(&self, contents: impl FnOnce() -> Result<B, NotSaved>) -> Result<(), NotSaved> {
        let ((), number) = self.change(|| ((), Some(Vec::new())));
        self.flush(number, |_| false, contents)
    }

    /// Makes a change in memory, together with its entry for the journal, so that the changes of several threads have
    /// the same order in both. Returns the result of `change`, and the number of the change. Without an entry, there is
    /// nothing to save.
    pub(crate) fn change<T>(&self, change: impl FnOnce() -> (T, Option<Vec<u8>>)) -> (T, u64) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let (result, entry) = change();
        if let Some(entry) = entry {
            pending.changes += 1;
            pending.entries.push(Zeroizing::new(entry));
        }
        (result, pending.changes)
    }

    /// Saves the changes up to this number, unless another thread did so while this one waited. They are appended, or
    /// all that is in memory is written, which `contents` collects.
    pub(crate) fn commit<B: AsRef<[u8]>>(
        &self,
        number: u64,
        contents: impl FnOnce() -> Result<B, NotSaved>,
    ) -> Result<(), NotSaved> {
        self.flush(number, |_| true, contents)
    }

    fn flush<B: AsRef<[u8]>>(
        &self,
        number: u64,
        may_append: impl FnOnce(&Tail) -> bool,
        contents: impl FnOnce() -> Result<B, NotSaved>,
    ) -> Result<(), NotSaved> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if saved.changes >= number {
            return Ok(());
        }
        let (mut changes, entries) = self.take_pending(|| ()).0;
        let appended = saved.tail.take().filter(may_append).and_then(|tail| tail.with(&entries));
        let appended = appended.and_then(|(tail, bytes)| tail.append(&self.path, &bytes).ok()?);
        let written = match appended {
            Some(tail) => Ok(tail),
            // There is no end to append to, appending failed, the file was replaced, or others can read it.
            None => {
                let ((all, _), contents) = self.take_pending(contents);
                changes = all;
                self.replace(contents?.as_ref())
            }
        };
        let mut trouble = self.trouble();
        let tail = written.map_err(|source| {
            if !trouble.lasts {
                let (format, path) = (self.format, self.path.clone());
                trouble.untold = Some(SavedFileError { format, path, doing: Doing::Write, source });
            }
            trouble.lasts = true;
            NotSaved
        })?;
        saved.tail = Some(tail);
        trouble.lasts = false;
        saved.changes = changes;
        Ok(())
    }

    /// Takes the number of changes and those that are not in the file yet, together with the result of `contents`,
    /// which has the same changes: a later change has a later entry.
    fn take_pending<C>(&self, contents: impl FnOnce() -> C) -> ((u64, Vec<Entry>), C) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        ((pending.changes, core::mem::take(&mut pending.entries)), contents())
    }

    /// Writes the whole file.
    fn replace(&self, contents: &[u8]) -> io::Result<Tail> {
        let bytes = self.format.wrap(contents);
        if bytes.len() as u64 > MAX_LEN {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB, a lower capacity is needed"));
        }
        if !atomic::begins_with(&self.path, &self.format.magic)? {
            return Err(io::Error::other(format!("it has become something else than a {}", self.format.name)));
        }
        atomic::replace(&self.path, &bytes)?;
        Ok(Tail { seal: self.format.seal(contents), body: contents.len(), len: bytes.len() as u64 })
    }
}

/// The reason why the content of a file was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    format: &'static Format,
    path: PathBuf,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    TooLong,
    /// This is an error, and no damage: the file is not overwritten.
    OtherFile,
    OtherVersion(u16),
    Checksum,
    Content,
    /// The content names peers as verified, so that only this user's programs may write it.
    WritableByOthers,
    /// Whoever has a session's secret can play the client or the server of it.
    ReadableByOthers,
}

impl Damage {
    /// Returns the problem, for callers that do not start afresh.
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

/// An error of reading or writing a saved file.
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
    Recognise,
    Write,
}

impl fmt::Display for SavedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format: Format { name, .. }, path, doing, source } = self;
        let path = path.display();
        match doing {
            Doing::Read => write!(f, "{name} {path} cannot be read: {source}; remove it, or name another"),
            Doing::Recognise => {
                write!(f, "{path} is no {name} but something else, and is left as it is; name another file")
            }
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

/// The longest file that is read or written.
pub(crate) const MAX_LEN: u64 = 64 << 20;

/// Returns the bytes of the file, if there is one; the inner error says why they are not to be used.
fn read(format: &Format, path: &Path, owner: Owner) -> io::Result<Option<Result<Zeroizing<Vec<u8>>, What>>> {
    let file = match atomic::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let metadata = file.metadata()?; // of the opened file, even if the name means another one by now
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut magic = Vec::new();
    (&file).take(format.magic.len() as u64).read_to_end(&mut magic)?;
    if magic.is_empty() {
        return Ok(None);
    }
    if magic != format.magic {
        return Ok(Some(Err(What::OtherFile)));
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
    // The buffer holds the whole file and one byte more, to see its end: growing would leave copies of secrets behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(metadata.len() as usize + 1)); // at most 64 MiB, see above
    bytes.extend_from_slice(&magic);
    file.take(MAX_LEN + 1 - magic.len() as u64).read_to_end(&mut bytes)?;
    Ok(Some(if bytes.len() as u64 > MAX_LEN { Err(What::TooLong) } else { Ok(bytes) }))
}

impl Format {
    /// Returns the file that holds `body`, with an empty journal.
    pub(crate) fn wrap(&self, body: &[u8]) -> Zeroizing<Vec<u8>> {
        let len = (body.len() as u32).to_be_bytes(); // longer files are not written
        let version = self.version.to_be_bytes();
        Zeroizing::new([&self.magic[..], &version, &len, &self.checksum(version, body), body].concat())
    }

    /// Returns the contents of the file `bytes`, and the checksum that its journal is bound to.
    fn unwrap<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], [u8; 32]), What> {
        let rest = bytes.strip_prefix(&self.magic).ok_or(What::OtherFile)?;
        let (version, rest) = rest.split_first_chunk().ok_or(What::Checksum)?;
        if *version != self.version.to_be_bytes() {
            return Err(What::OtherVersion(u16::from_be_bytes(*version)));
        }
        let (len, rest) = rest.split_first_chunk().ok_or(What::Checksum)?;
        let (sum, rest) = rest.split_first_chunk().ok_or(What::Checksum)?;
        let body = rest.get(..u32::from_be_bytes(*len) as usize).ok_or(What::Checksum)?;
        if *sum == self.checksum(*version, body) { Ok((body, *sum)) } else { Err(What::Checksum) }
    }

    /// Returns the checksum of the contents, to which the journal after them is bound.
    fn seal(&self, body: &[u8]) -> [u8; 32] {
        self.checksum(self.version.to_be_bytes(), body)
    }

    pub(crate) fn checksum(&self, version: [u8; 2], body: &[u8]) -> [u8; 32] {
        let len = (body.len() as u32).to_be_bytes();
        Sha256::new()
            .chain_update(self.magic)
            .chain_update(version)
            .chain_update(len)
            .chain_update(body)
            .finalize()
            .into()
    }
}

/// The offset of the contents: after the magic number, the version, the length, and the checksum.
const BODY_AT: usize = 8 + 2 + 4 + 32;
