//! The files of `--crl` are read again when they change.
//!
//! What must always hold: the CRLs in force were each read from a whole file; a file that is damaged or gone is
//! reported once, and its last CRLs stay in force until their nextUpdate.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use terse_net::files;
use terse_net::pki_types::CertificateRevocationListDer;
use terse_tls::{Revocation, Trust};

use crate::credentials::{failed, in_file};
use crate::failure::Failure;
use crate::output;
use crate::stamp::Stamp;

/// The files of `--crl`, and the CRLs in force, which follow them.
pub(crate) struct CrlFiles {
    revocation: Revocation,
    files: Mutex<Vec<CrlFile>>,
}

struct CrlFile {
    path: PathBuf,
    /// The stamp of the file when it was last read, or could not be read.
    stamp: Option<Stamp>,
    crls: Vec<CertificateRevocationListDer<'static>>,
}

impl CrlFiles {
    /// Returns `trust` with the CRLs of `paths`, and the files that keep them up to date; without paths there is no
    /// revocation.
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

    /// Reads the files that have changed. This is called before each connection.
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
            output::warn(&error); // each of them parsed before
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

    /// Reads the file if it has changed. Returns whether it has.
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

/// Reads all CRLs of a file, each of which must parse.
fn read(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Failure> {
    let crls = files::read_crls(path).map_err(failed)?;
    Trust::nobody().with_crls(&crls).map_err(|error| in_file(path, error))?;
    Ok(crls)
}
