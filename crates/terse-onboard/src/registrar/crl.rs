//! The trust in LDevIDs: the anchors of the domain, and the CRLs of a file, which is read again when it changes.
//!
//! What must always hold: the CRLs in force were read from a whole file; a file that is damaged or gone leaves the last ones
//! in force, until their nextUpdate, and is read again until that works; so do new anchors; a file is read beside the tasks
//! of the runtime.

use alloc::sync::Arc;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use pki_types::{CertificateDer, CertificateRevocationListDer};
use terse_net::files;
use terse_tls::Trust;
use tokio::time::Instant;

use crate::config::ConfigError;

mod revoked;

use revoked::Revoked;

/// The trust in LDevIDs.
pub(super) struct DomainTrust {
    crl: Option<PathBuf>,
    current: Mutex<Current>,
    /// The turn of the task that reads the file, and how that has failed last.
    turn: Arc<tokio::sync::Mutex<Option<Failure>>>,
}

/// The trust as it is now.
struct Current {
    stamp: Option<Stamp>,
    anchors: Trust,
    /// How often there were others.
    times: u64,
    crls: Option<Vec<CertificateRevocationListDer<'static>>>,
    trust: Trust,
    revoked: Option<Arc<Revoked>>,
}

/// What changes when a file is written: when that was, and its length.
type Stamp = (SystemTime, u64);

/// The file could not be read.
struct Failure {
    stamp: Option<Stamp>,
    time: Instant,
}

/// What a file says.
struct Contents {
    crls: Vec<CertificateRevocationListDer<'static>>,
    revoked: Revoked,
}

impl DomainTrust {
    /// Trusts these anchors, or nobody yet if there are none, and reads the CRLs if there is a file.
    pub(super) fn new(anchors: &[CertificateDer<'_>], crl: Option<PathBuf>) -> Result<Arc<Self>, ConfigError> {
        let place = crl.clone().unwrap_or_default();
        let anchors = match anchors {
            [] => Ok(Trust::nobody()),
            anchors => Trust::new(anchors).map_err(|error| ConfigError::new(&place, error)),
        }?;
        let stamp = crl.as_deref().and_then(stamp); // before the contents: what is written meanwhile has another one
        let current = Current { stamp: None, trust: anchors.clone(), anchors, times: 0, crls: None, revoked: None };
        let this = Self { crl, current: Mutex::new(current), turn: Arc::default() };
        if let Some(crl) = this.crl.as_deref().filter(|_| stamp.is_some()) {
            this.read(crl, stamp)?;
        }
        Ok(Arc::new(this))
    }

    /// Returns the trust by the CRLs that are in the file now.
    pub(super) async fn get(self: &Arc<Self>) -> Trust {
        self.refresh().await;
        self.lock().trust.clone()
    }

    /// Returns the test whether the CRLs in the file name a certificate, whichever CA has issued it and however late the
    /// CRLs are: such a device must not come back under another CA. `None` if there are no CRLs.
    pub(super) async fn revoked(self: &Arc<Self>) -> Option<impl Fn(&[u8]) -> bool + use<>> {
        self.refresh().await;
        let revoked = self.lock().revoked.clone()?;
        Some(move |certificate: &[u8]| revoked.contains(certificate))
    }

    /// Reads the file if it has changed, where reading and parsing hold up no other task. If the future is dropped, that
    /// goes on.
    async fn refresh(self: &Arc<Self>) {
        if self.crl.is_none() {
            return;
        }
        let mut failure = self.turn.clone().lock_owned().await;
        let this = self.clone();
        let read = tokio::task::spawn_blocking(move || this.read_if_changed(&mut failure));
        let _ = read.await; // at the end of the runtime it does not run
    }

    fn read_if_changed(&self, failure: &mut Option<Failure>) {
        let Some(crl) = &self.crl else { return };
        let stamp = stamp(crl);
        if stamp == self.lock().stamp {
            return;
        }
        let (now, earlier) = (Instant::now(), failure.as_ref().filter(|failure| failure.stamp == stamp));
        if earlier.is_some_and(|earlier| now.saturating_duration_since(earlier.time) < AFTER_FAILURE) {
            return;
        }
        let is_new = earlier.is_none();
        *failure = None;
        if let Err(error) = self.read(crl, stamp) {
            if is_new {
                tracing::error!(%error, "the CRLs cannot be read; the last ones stay in force");
            }
            *failure = Some(Failure { stamp, time: now });
        }
    }

    /// Reads the file, which has this stamp.
    fn read(&self, crl: &Path, stamp: Option<Stamp>) -> Result<(), ConfigError> {
        let wrong = |error: &dyn core::fmt::Display| ConfigError::new(crl, error);
        let crls = files::read_crls(crl).map_err(|error| wrong(&error))?;
        let revoked = Revoked::read(&crls).map_err(|error| wrong(&error))?;
        let mut contents = Contents { crls, revoked };
        loop {
            let (anchors, times) = {
                let current = self.lock();
                (current.anchors.clone(), current.times)
            };
            let trust = anchors.with_crls(&contents.crls).map_err(|error| wrong(&error))?;
            match self.lock().take(contents, trust, times, stamp) {
                Ok(()) => return Ok(()),
                Err(unused) => contents = unused,
            }
        }
    }

    /// Returns the trust without CRLs: for certificates that are new.
    pub(super) fn anchors(&self) -> Trust {
        self.lock().anchors.clone()
    }

    /// Trusts other anchors from now on. Returns whether they can be.
    pub(super) fn replace_anchors(&self, anchors: &[CertificateDer<'_>]) -> bool {
        let Ok(anchors) = Trust::new(anchors) else { return false };
        let mut current = self.lock();
        let trust = match &current.crls {
            Some(crls) => anchors.clone().with_crls(crls),
            None => Ok(anchors.clone()),
        };
        let Ok(trust) = trust else { return false };
        (current.anchors, current.trust) = (anchors, trust);
        current.times = current.times.wrapping_add(1);
        true
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        // Nothing panics while this is locked.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    /// Takes the contents of a file, and the trust by them, unless there are other anchors since.
    fn take(&mut self, contents: Contents, trust: Trust, times: u64, stamp: Option<Stamp>) -> Result<(), Contents> {
        if self.times != times {
            return Err(contents);
        }
        (self.trust, self.stamp) = (trust, stamp);
        (self.crls, self.revoked) = (Some(contents.crls), Some(Arc::new(contents.revoked)));
        Ok(())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// How long a file that cannot be read is left alone, unless it changes.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
