//! The domain's CA, and its CRLs, which are read again when their file changes.
//!
//! What must always hold: the CRLs in force were read from a whole file; a file that is damaged or gone leaves the last ones
//! in force, until their nextUpdate.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use terse_net::files;
use terse_pki::Authority;
use terse_tls::Trust;

use super::config::{Config, Enrolment};
use crate::config::{ConfigError, beside};

/// The domain's CA.
pub(super) struct Domain {
    pub(super) authority: Authority,
    pub(super) days: u32,
    /// The names of devices, as they are configured.
    pub(super) names: Vec<String>,
    anchors: Trust,
    crl: PathBuf,
    current: Mutex<Current>,
}

/// The trust in the CA with the CRLs of a file.
struct Current {
    stamp: Option<Stamp>,
    trust: Trust,
}

/// What changes when a file is written: when that was, and its length.
type Stamp = (SystemTime, u64);

impl Domain {
    /// Loads the CA that the configuration at `path` names, if it names one.
    pub(super) fn load(path: &Path, config: &Config) -> Result<Option<Self>, ConfigError> {
        let Some(enrolment) = &config.enrolment else { return Ok(None) };
        check(path, config, enrolment)?;
        let directory = beside(path, &enrolment.ca);
        let authority = Authority::load(&directory).map_err(|error| ConfigError::new(path, error))?;
        // A leaf without its intermediates is known as well.
        let anchors: Vec<_> = authority.certificates().cloned().collect();
        let anchors = Trust::new(&anchors).map_err(|error| ConfigError::new(&directory, error))?;
        let crl = directory.join("crl.pem");
        let stamp = stamp(&crl); // before the contents: what is written meanwhile has another one
        let trust = match stamp {
            Some(_) => with_crls(&anchors, &crl)?,
            None => anchors.clone(),
        };
        let current = Mutex::new(Current { stamp, trust });
        Ok(Some(Self { authority, days: enrolment.days, names: enrolment.names.clone(), anchors, crl, current }))
    }

    /// Returns the trust in LDevIDs, by the CRLs that are in the directory of the CA now.
    pub(super) fn trust(&self) -> Trust {
        // Nothing panics while this is locked.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.crl);
        if stamp != current.stamp {
            current.stamp = stamp;
            match with_crls(&self.anchors, &self.crl) {
                Ok(trust) => current.trust = trust,
                Err(error) => tracing::error!(%error, "the CRLs cannot be read; the last ones stay in force"),
            }
        }
        current.trust.clone()
    }
}

fn check(path: &Path, config: &Config, enrolment: &Enrolment) -> Result<(), ConfigError> {
    let wrong = |problem: &dyn core::fmt::Display| ConfigError::new(path, problem);
    if enrolment.days == 0 {
        return Err(wrong(&"days is 0; give 1 or more"));
    }
    for name in &enrolment.names {
        // Serial numbers of two manufacturers may be the same, and their devices must not share a name.
        if !name.contains("{serial}") {
            return Err(wrong(&format_args!("the name {name:?} would be that of all devices; put {{serial}} into it")));
        }
        if config.manufacturers.len() > 1 && !name.contains("{manufacturer}") {
            let problem = "could be that of devices of two manufacturers; put {manufacturer} into it";
            return Err(wrong(&format_args!("the name {name:?} {problem}")));
        }
    }
    Ok(())
}

fn with_crls(anchors: &Trust, crl: &Path) -> Result<Trust, ConfigError> {
    let crls = files::read_crls(crl).map_err(|error| ConfigError::new(crl, error))?;
    anchors.clone().with_crls(&crls).map_err(|error| ConfigError::new(crl, error))
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
