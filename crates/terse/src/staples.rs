//! OCSP responses from files are stapled to this side's certificates (`--staple`), and read again when the files
//! change: responses last for days, and programs for years.
//!
//! What must always hold: at the start, a problem with a file is found before a connection is made; later it is
//! reported once, and the last good response stays in force until it is out of date.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;
use std::{fs, io};

use terse_tls::crypto::CryptoProvider;
use terse_tls::{ApiMisuse, Credential};

use crate::failure::Failure;
use crate::output;

/// The files of `--staple`, each with its certificate.
#[derive(Default)]
pub(crate) struct Staples(Vec<Staple>);

struct Staple {
    path: PathBuf,
    provider: &'static CryptoProvider,
    credential: Credential,
    /// The stamp of the file when it was last read.
    seen: Mutex<Option<Stamp>>,
}

/// The time when a file was written, and its length: they show a change without reading the file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
}

impl Staples {
    /// Staples each file to the one of `credentials` that it is about.
    pub(crate) fn load(
        provider: &'static CryptoProvider,
        paths: &[PathBuf],
        credentials: &[Credential],
    ) -> Result<Self, Failure> {
        let load = |path: &PathBuf| {
            let wrong = |problem: String| Failure::Failed(format!("{}: {problem}", path.display()));
            let (stamp, response) = read(path).map_err(|error| wrong(unreadable(&error)))?;
            for credential in credentials {
                match credential.set_staple(provider, Some(&response)) {
                    Ok(()) => {
                        let (path, credential) = (path.clone(), credential.clone());
                        return Ok(Staple { path, provider, credential, seen: Mutex::new(Some(stamp)) });
                    }
                    Err(ApiMisuse::StapleOfOtherCertificate) => {}
                    Err(error) => return Err(wrong(format!("{error}; {ADVICE}"))),
                }
            }
            Err(wrong(format!("{}; {ADVICE}", ApiMisuse::StapleOfOtherCertificate)))
        };
        paths.iter().map(load).collect::<Result<_, _>>().map(Self)
    }

    /// Returns how long to wait for a connection before [`Self::refresh`] is due again, where it cannot be called for
    /// each.
    pub(crate) const fn until_renewal(&self) -> Option<Duration> {
        if self.0.is_empty() { None } else { Some(Duration::from_secs(1)) }
    }

    /// Reads the files that have changed. This is called before each connection.
    pub(crate) fn refresh(&self) {
        self.0.iter().for_each(Staple::refresh);
    }
}

impl Staple {
    fn refresh(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = stamp(&self.path).ok();
        if now == *seen {
            return;
        }
        *seen = now;
        let problem = match read(&self.path) {
            Ok((_, response)) => match self.credential.set_staple(self.provider, Some(&response)) {
                Ok(()) => return,
                Err(error) => format!("{error}; {ADVICE}"),
            },
            Err(error) => unreadable(&error),
        };
        output::warn(&format!("{}: {problem}; the last good one is sent until it is out of date", self.path.display()));
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::metadata(path)?;
    Ok(Stamp { modified: metadata.modified().ok(), len: metadata.len() })
}

/// Reads a file. The stamp comes first, so that a file that changes meanwhile is read again.
fn read(path: &Path) -> io::Result<(Stamp, Vec<u8>)> {
    let stamp = stamp(path)?;
    if stamp.len > MAX_LEN {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any OCSP response"));
    }
    Ok((stamp, fs::read(path)?))
}

fn unreadable(error: &io::Error) -> String {
    format!("the OCSP response cannot be read: {error}; check the path and who may read it")
}

const MAX_LEN: u64 = 1 << 20;

/// The advice how to get a response.
const ADVICE: &str = "fetch one from the CA's responder, as with openssl ocsp -issuer CA.pem -cert CERT.pem -url URL \
                      -no_nonce -respout FILE";
