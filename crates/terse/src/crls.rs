//! The files of `--crl`, which are read again when they change.
//!
//! What must always hold: what is in force was read whole from each file; a file that is damaged or gone is reported
//! once, and what it had before stays in force, until its nextUpdate.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use terse_net::files;
use terse_net::pki_types::CertificateRevocationListDer;
use terse_tls::{Revocation, Trust};

use crate::credentials::{failed, in_file};
use crate::failure::Failure;
use crate::output;

/// The files of `--crl`, and the CRLs in force, which follow them.
pub(crate) struct CrlFiles {
    revocation: Revocation,
    files: Mutex<Vec<CrlFile>>,
}

struct CrlFile {
    path: PathBuf,
    /// Of the file as it was read, or could not be read.
    stamp: Option<Stamp>,
    crls: Vec<CertificateRevocationListDer<'static>>,
}

/// What tells one version of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    inode: u64,
}

impl CrlFiles {
    /// `trust` with the CRLs of `paths`, and what keeps them up to date; of none: without revocation.
    pub(crate) fn open(trust: Trust, paths: &[PathBuf]) -> Result<(Trust, Option<Self>), Failure> {
        if paths.is_empty() {
            return Ok((trust, None));
        }
        let files = paths.iter().map(|path| CrlFile::open(path)).collect::<Result<Vec<_>, _>>()?;
        let trust = trust.with_crls(&all(&files)).map_err(failed)?;
        let follow = |revocation: &Revocation| Self { revocation: revocation.clone(), files: Mutex::new(files) };
        let files = trust.revocation().map(follow);
        Ok((trust, files))
    }

    /// Looks whether a file has changed, and if so, reads it. To be called before each connection.
    pub(crate) fn refresh(&self) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut any = false;
        for file in files.iter_mut() {
            match file.refresh() {
                Ok(changed) => any |= changed,
                Err(failure) => output::warn(&format!("{failure}; its last CRLs stay in force")),
            }
        }
        if any && let Err(error) = self.revocation.replace(&all(&files)) {
            output::warn(&error); // each of them was read
        }
    }
}

fn all(files: &[CrlFile]) -> Vec<CertificateRevocationListDer<'static>> {
    files.iter().flat_map(|file| file.crls.iter().cloned()).collect()
}

impl CrlFile {
    fn open(path: &Path) -> Result<Self, Failure> {
        let stamp = Stamp::of(path); // before the contents: what is written meanwhile has another one
        Ok(Self { path: path.into(), stamp, crls: read(path)? })
    }

    /// Whether there is something new.
    fn refresh(&mut self) -> Result<bool, Failure> {
        let stamp = Stamp::of(&self.path);
        if stamp == self.stamp {
            return Ok(false);
        }
        self.stamp = stamp;
        self.crls = read(&self.path)?;
        Ok(true)
    }
}

/// All CRLs of a file, each of which parses.
fn read(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Failure> {
    let crls = files::read_crls(path).map_err(failed)?;
    Trust::nobody().with_crls(&crls).map_err(|error| in_file(path, error))?;
    Ok(crls)
}

impl Stamp {
    /// `None`: the file is not there.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { modified: metadata.modified().ok(), len: metadata.len(), inode: inode(&metadata) })
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}
