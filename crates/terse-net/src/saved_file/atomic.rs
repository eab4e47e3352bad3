//! A file is replaced as a whole: written under another name in the same directory, forced to the disk, and renamed.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Opens the file at `path` to read it. A symbolic link is not followed, and a pipe does not make it wait.
pub(super) fn open(path: &Path) -> io::Result<File> {
    with_flags(OpenOptions::new().read(true)).open(path)
}

/// Opens the file at `path` to read it and to write at its end.
pub(super) fn open_to_append(path: &Path) -> io::Result<File> {
    with_flags(OpenOptions::new().read(true).append(true)).open(path)
}

fn with_flags(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    }
    options
}

/// Fills `out` from the offset `place` in `file` on.
pub(super) fn read_at(mut file: &File, out: &mut [u8], place: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(place))?;
    file.read_exact(out)
}

/// Whether the file at `path` begins with `magic`, is empty, or does not exist.
pub(super) fn begins_with(path: &Path, magic: &[u8]) -> io::Result<bool> {
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    let mut beginning = Vec::new();
    file.take(magic.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning.is_empty() || beginning == magic)
}

/// Whether nobody but its owner can read the file or write to it.
#[cfg(unix)]
pub(super) fn is_private(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o077 == 0
}

/// Returns true: access is left to the directory's access list.
#[cfg(not(unix))]
pub(super) const fn is_private(_: &Metadata) -> bool {
    true
}

/// Replaces the file at `path`, or creates it, with mode 0600.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = Temporary::create(path)?;
    (&temporary.file).write_all(bytes)?;
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, path)?;
    sync_directory(path)
}

/// Tests whether [`replace`] would work, and removes temporary files that earlier calls left when power was lost. A
/// full or read-only disk is reported beside the result: it may change, and its files can be read.
pub(super) fn probe(path: &Path) -> io::Result<(Owner, Option<io::Error>)> {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    clear_away(path);
    match Temporary::create(path) {
        Ok(temporary) => Ok((Owner::of(&temporary.file.metadata()?), None)),
        Err(error) if [QuotaExceeded, ReadOnlyFilesystem, StorageFull].contains(&error.kind()) => {
            match Owner::of_process() {
                Some(owner) => Ok((owner, Some(error))),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The user whose files this process creates.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    #[cfg(unix)]
    user: u32,
}

#[cfg(unix)]
impl Owner {
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { user: metadata.uid() }
    }

    /// Returns the owner of this process's files, where the system tells it without a write.
    fn of_process() -> Option<Self> {
        fs::metadata("/proc/self").ok().map(|metadata| Self::of(&metadata))
    }

    /// Whether only this user, or root, can have written to the file.
    pub(super) fn alone_writes(self, metadata: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        metadata.mode() & 0o022 == 0 && (metadata.uid() == self.user || metadata.uid() == 0)
    }

    /// Whether only this user, or root, can have read the file.
    pub(super) fn alone_reads(self, metadata: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        metadata.mode() & 0o044 == 0 && (metadata.uid() == self.user || metadata.uid() == 0)
    }
}

#[cfg(not(unix))]
impl Owner {
    const fn of(_: &Metadata) -> Self {
        Self {}
    }

    const fn of_process() -> Option<Self> {
        Some(Self {})
    }

    /// Returns true: access is left to the directory's access list.
    pub(super) const fn alone_writes(self, _: &Metadata) -> bool {
        true
    }

    /// Returns true: access is left to the directory's access list.
    pub(super) const fn alone_reads(self, _: &Metadata) -> bool {
        true
    }
}

/// A new file next to another one. It is removed when this is dropped, unless it was renamed.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn create(target: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = temporary_prefix(target)?;
        name.push(format!("{}-{count}{TEMPORARY_SUFFIX}", std::process::id()));
        let path = target.with_file_name(name);
        // A process of the same number left it when power was lost.
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        Ok(Self { path, file })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

const TEMPORARY_SUFFIX: &str = ".tmp";

fn temporary_prefix(target: &Path) -> io::Result<OsString> {
    let name = target.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    Ok(prefix)
}

/// Removes temporary files that are older than an hour, which no process uses any more. One that cannot be removed does
/// no harm.
fn clear_away(target: &Path) {
    const OLD: Duration = Duration::from_secs(60 * 60);
    let (Ok(prefix), Ok(entries)) = (temporary_prefix(target), fs::read_dir(directory(target))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let ours = name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(TEMPORARY_SUFFIX.as_bytes());
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if ours && modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > OLD) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Forces the directory to the disk: only then is the new name there.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory(path))?.sync_all() } else { Ok(()) }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
