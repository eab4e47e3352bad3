//! The trust in LDevIDs: the anchors of the domain, the CRLs of a file, which is read again when it changes, and the list that
//! the registrar signs by itself.
//!
//! What must always hold: the CRLs in force were read from a whole file; a file that is damaged or gone leaves the last ones
//! in force, until their nextUpdate, and is read again until that works; so do new anchors; a file is read beside the tasks
//! of the runtime. Of the CA whose list the registrar signs, that list says what is current, and what the file lists is revoked
//! as well, however late the file is.

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
    /// How often anchors, CRLs or the own list were replaced.
    times: u64,
    crls: Option<Arc<Crls>>,
    /// The list that the registrar signs.
    own: Option<CertificateRevocationListDer<'static>>,
    trust: Trust,
    revoked: Option<Arc<Revoked>>,
}

/// The CRLs of a file.
pub(super) type Crls = Vec<CertificateRevocationListDer<'static>>;

/// What changes when a file is written: when that was, and its length.
type Stamp = (SystemTime, u64);

/// The file could not be read.
struct Failure {
    stamp: Option<Stamp>,
    time: Instant,
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
        let current =
            Current { stamp: None, trust: anchors.clone(), anchors, times: 0, crls: None, own: None, revoked: None };
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

    /// Returns the test whether the CRLs in the file, or the own list, name a certificate, whichever CA has issued it and however
    /// late they are: such a device must not come back under another CA. `None` if there are none.
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
        let crls = Arc::new(files::read_crls(crl).map_err(|error| wrong(&error))?);
        loop {
            let (anchors, own, times) = {
                let current = self.lock();
                (current.anchors.clone(), current.own.clone(), current.times)
            };
            let judged = Judged::by(anchors, &crls, own.as_ref()).map_err(|error| wrong(&error))?;
            let mut current = self.lock();
            if current.take(judged, times) {
                (current.crls, current.stamp) = (Some(crls), stamp);
                return Ok(());
            }
        }
    }

    /// Returns the trust without CRLs: for certificates that are new.
    pub(super) fn anchors(&self) -> Trust {
        self.lock().anchors.clone()
    }

    /// Trusts other anchors from now on: those of another CA than the registrar's, which has no own list. Returns whether they
    /// can be.
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

    /// Returns the CRLs that are in the file now, or were there last.
    pub(super) async fn file(self: &Arc<Self>) -> Option<Arc<Crls>> {
        self.refresh().await;
        self.lock().crls.clone()
    }

    /// Takes the list that the registrar signs. This takes time, and waits for nobody.
    pub(super) fn take_own(&self, own: CertificateRevocationListDer<'static>) -> Result<(), String> {
        loop {
            let (anchors, crls, times) = {
                let current = self.lock();
                (current.anchors.clone(), current.crls.clone().unwrap_or_default(), current.times)
            };
            let judged = Judged::by(anchors, &crls, Some(&own))?;
            let mut current = self.lock();
            if current.take(judged, times) {
                current.own = Some(own);
                return Ok(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        // Nothing panics while this is locked.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    /// Takes what was found, unless something else was replaced since. Returns whether it was not.
    fn take(&mut self, judged: Judged, times: u64) -> bool {
        if self.times != times {
            return false;
        }
        (self.trust, self.revoked) = (judged.trust, Some(Arc::new(judged.revoked)));
        self.times = times.wrapping_add(1);
        true
    }
}

/// What follows from CRLs.
struct Judged {
    trust: Trust,
    revoked: Revoked,
}

impl Judged {
    /// Judges by the CRLs of a file and the list that the registrar signs. In the trust that one takes the place of those of the
    /// same issuer in the file, which may be late: what these list is looked up by [`DomainTrust::revoked`].
    fn by(anchors: Trust, crls: &Crls, own: Option<&CertificateRevocationListDer<'static>>) -> Result<Self, String> {
        let wrong = |error: &dyn core::fmt::Display| error.to_string();
        let revoked = Revoked::read(crls.iter().chain(own)).map_err(|error| wrong(&error))?;
        let Some(own) = own else {
            return Ok(Self { trust: anchors.with_crls(crls).map_err(|error| wrong(&error))?, revoked });
        };
        let issuer = revoked::issuer(own).map_err(|error| wrong(&error))?;
        let mut all = vec![own.clone()];
        for crl in crls {
            if revoked::issuer(crl).map_err(|error| wrong(&error))? != issuer {
                all.push(crl.clone());
            }
        }
        Ok(Self { trust: anchors.with_crls(&all).map_err(|error| wrong(&error))?, revoked })
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
