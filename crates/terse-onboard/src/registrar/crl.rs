//! The trust in LDevIDs: the anchors of the domain, and the CRLs of a file, which is read again when it changes.
//!
//! What must always hold: the CRLs in force were read from a whole file; a file that is damaged or gone leaves the last ones
//! in force, until their nextUpdate; so do new anchors.

use alloc::sync::Arc;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use pki_types::{CertificateDer, CertificateRevocationListDer};
use terse_net::files;
use terse_tls::Trust;

use crate::config::ConfigError;

mod revoked;

use revoked::Revoked;

/// The trust in LDevIDs.
pub(super) struct DomainTrust {
    crl: Option<PathBuf>,
    current: Mutex<Current>,
}

/// The trust as it is now.
struct Current {
    stamp: Option<Stamp>,
    anchors: Trust,
    crls: Option<Vec<CertificateRevocationListDer<'static>>>,
    trust: Trust,
    revoked: Option<Arc<Revoked>>,
}

/// What changes when a file is written: when that was, and its length.
type Stamp = (SystemTime, u64);

impl DomainTrust {
    /// Trusts these anchors, or nobody yet if there are none, and reads the CRLs if there is a file.
    pub(super) fn new(anchors: &[CertificateDer<'_>], crl: Option<PathBuf>) -> Result<Self, ConfigError> {
        let place = crl.clone().unwrap_or_default();
        let anchors = match anchors {
            [] => Ok(Trust::nobody()),
            anchors => Trust::new(anchors).map_err(|error| ConfigError::new(&place, error)),
        }?;
        let stamp = crl.as_deref().and_then(stamp); // before the contents: what is written meanwhile has another one
        let mut current = Current { stamp, trust: anchors.clone(), anchors, crls: None, revoked: None };
        if let Some(crl) = crl.as_deref().filter(|_| stamp.is_some()) {
            current.read(crl)?;
        }
        Ok(Self { crl, current: Mutex::new(current) })
    }

    /// Returns the trust by the CRLs that are in the file now.
    pub(super) fn get(&self) -> Trust {
        let mut current = self.lock();
        let Some(crl) = &self.crl else { return current.trust.clone() };
        let stamp = stamp(crl);
        if stamp != current.stamp {
            current.stamp = stamp;
            if let Err(error) = current.read(crl) {
                tracing::error!(%error, "the CRLs cannot be read; the last ones stay in force");
            }
        }
        current.trust.clone()
    }

    /// Returns the test whether the CRLs in the file name a certificate, whichever CA has issued it and however late the
    /// CRLs are: such a device must not come back under another CA. `None` if there are no CRLs.
    pub(super) fn revoked(&self) -> Option<impl Fn(&[u8]) -> bool + use<>> {
        self.get();
        let revoked = self.lock().revoked.clone()?;
        Some(move |certificate: &[u8]| revoked.contains(certificate))
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
        true
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        // Nothing panics while this is locked.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn read(&mut self, crl: &Path) -> Result<(), ConfigError> {
        let crls = files::read_crls(crl).map_err(|error| ConfigError::new(crl, error))?;
        let revoked = Revoked::read(&crls).map_err(|error| ConfigError::new(crl, error))?;
        self.trust = self.anchors.clone().with_crls(&crls).map_err(|error| ConfigError::new(crl, error))?;
        (self.crls, self.revoked) = (Some(crls), Some(Arc::new(revoked)));
        Ok(())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
