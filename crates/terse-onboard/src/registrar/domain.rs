//! Who issues the LDevIDs of the domain: its own CA, or an EST server to which certification requests are passed on.

use alloc::sync::Arc;
use std::path::Path;

use terse_brski::digest::Sha256;
use terse_pki::{Authority, ca_certificates};

use super::config::{Config, Enrolment, EstServerConfig};
use super::crl::DomainTrust;
use super::est_server::EstServer;
use super::external_ca::ExternalCa;
use super::names::{DEFAULT_SUBJECT, IDEVID, SubjectTemplate};
use super::own_crl::{OwnCrl, issuer_of};
use super::signing::Turns;
use crate::config::{ConfigError, beside};

/// The domain.
pub(super) struct Domain {
    /// The subjects of devices. Without it, which only an EST server makes possible, they are those of IDevIDs.
    pub(super) subject: Option<SubjectTemplate>,
    /// The names of devices, as they are configured.
    pub(super) names: Vec<String>,
    pub(super) issuer: Issuer,
}

/// Who issues the LDevIDs.
pub(super) enum Issuer {
    Own(Arc<OwnCa>),
    External(Arc<ExternalCa>),
}

/// The domain's own CA.
pub(super) struct OwnCa {
    pub(super) authority: Authority,
    pub(super) days: u32,
    pub(super) trust: Arc<DomainTrust>,
    /// The CA before, whose LDevIDs still count.
    pub(super) former: Option<FormerCa>,
    /// Who may use the key, if it is elsewhere.
    pub(super) turns: Turns,
    pub(super) crl: OwnCrl,
}

/// The CA before the domain's own one.
pub(super) struct FormerCa {
    /// Its anchors, and what its `crl.pem` lists.
    pub(super) trust: Arc<DomainTrust>,
    /// Its name in the database, where its certificates are that were revoked.
    pub(super) issuer: Sha256,
    /// Whether it signs no more lists, so that a late one is its last.
    pub(super) is_closed: bool,
}

impl Domain {
    /// Loads what the configuration at `path` says of the enrolment. `est_server` makes the client of an EST server.
    pub(super) fn load(
        path: &Path,
        config: &Config,
        enrolment: &Enrolment,
        est_server: impl FnOnce(&EstServerConfig) -> Result<EstServer, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let wrong = |problem| ConfigError::new(path, problem);
        check_names(path, config, enrolment)?;
        let issuer = match (&enrolment.ca, &enrolment.est_server) {
            (Some(ca), None) => Issuer::Own(Arc::new(OwnCa::load(path, ca, enrolment)?)),
            (None, Some(_)) if enrolment.former_ca.is_some() => {
                return Err(wrong(
                    "former_ca is for a CA of the registrar; an EST server says which CAs count: remove it",
                ));
            }
            (None, Some(_)) if enrolment.days.is_some() => {
                return Err(wrong("days is for a CA of the registrar; the EST server decides it: remove days"));
            }
            (None, Some(_)) if has_list(enrolment) => return Err(wrong(FOREIGN_LIST)),
            (None, Some(own)) => Issuer::External(Arc::new(external(path, own, est_server(own)?)?)),
            (Some(_), Some(_)) => {
                return Err(wrong("[enrolment] has ca and est_server; remove one: only one can issue certificates"));
            }
            (None, None) => {
                return Err(wrong("[enrolment] needs ca, a directory of `terse pki init`, or the table est_server"));
            }
        };
        let manufacturers: Vec<_> = config.manufacturers.iter().map(|manufacturer| &*manufacturer.name).collect();
        let template = |attributes: &[String]| {
            SubjectTemplate::new(attributes, &manufacturers).map_err(|problem| ConfigError::new(path, problem))
        };
        let subject = match (&enrolment.subject, &issuer) {
            (Some(attributes), Issuer::External(_)) if *attributes == [IDEVID] => None,
            (Some(attributes), Issuer::Own(_)) if *attributes == [IDEVID] => return Err(wrong(IDEVID_SUBJECT)),
            (Some(attributes), _) => Some(template(attributes)?),
            (None, _) => Some(template(&DEFAULT_SUBJECT.map(String::from))?),
        };
        Ok(Self { subject, names: enrolment.names.clone(), issuer })
    }

    /// Returns the trust in the LDevIDs of the domain.
    pub(super) fn trust(&self) -> &Arc<DomainTrust> {
        match &self.issuer {
            Issuer::Own(ca) => &ca.trust,
            Issuer::External(ca) => &ca.trust,
        }
    }

    /// Returns the CA before, if there was one and its LDevIDs still count.
    pub(super) fn former(&self) -> Option<&FormerCa> {
        match &self.issuer {
            Issuer::Own(ca) => ca.former.as_ref(),
            Issuer::External(_) => None,
        }
    }
}

impl OwnCa {
    fn load(path: &Path, directory: &Path, enrolment: &Enrolment) -> Result<Self, ConfigError> {
        let days = enrolment.days.unwrap_or(DAYS);
        if days == 0 {
            return Err(ConfigError::new(path, "days is 0; give 1 or more"));
        }
        let directory = beside(path, directory);
        let authority = Authority::load(&directory).map_err(|error| ConfigError::new(path, error))?;
        // The keys of the CAs above it are for an operator alone.
        if !authority.has_key(authority.certificates().len().saturating_sub(1)) {
            return Err(ConfigError::new(&directory, NO_KEY));
        }
        // A leaf without its intermediates is known as well.
        let anchors: Vec<_> = authority.certificates().cloned().collect();
        let trust = DomainTrust::new(&anchors, Some(directory.join("crl.pem")))?;
        let former = enrolment.former_ca.as_ref();
        if former.is_none() && enrolment.former_ca_is_closed {
            return Err(ConfigError::new(path, "former_ca_is_closed needs former_ca; give that, or remove it"));
        }
        let former = former.map(|former| FormerCa::load(&beside(path, former), enrolment.former_ca_is_closed));
        let crl = OwnCrl::load(path, enrolment, &authority)?;
        Ok(Self { authority, days, trust, former: former.transpose()?, turns: Turns::default(), crl })
    }
}

impl FormerCa {
    fn load(directory: &Path, is_closed: bool) -> Result<Self, ConfigError> {
        let anchors = ca_certificates(directory).map_err(|error| ConfigError::new(directory, error))?;
        let issuer = issuer_of(directory, anchors.last())?;
        Ok(Self { trust: DomainTrust::new(&anchors, Some(directory.join("crl.pem")))?, issuer, is_closed })
    }
}

/// Whether something is said of the list that an own CA signs.
const fn has_list(enrolment: &Enrolment) -> bool {
    enrolment.crl_days.is_some() || enrolment.crl_listen.is_some() || enrolment.crl_url.is_some()
}

fn external(path: &Path, own: &EstServerConfig, server: EstServer) -> Result<ExternalCa, ConfigError> {
    let crl = own.crl.as_ref().map(|crl| beside(path, crl));
    if let Some(missing) = crl.as_ref().filter(|crl| !crl.exists()) {
        return Err(ConfigError::new(missing, "there are no CRLs; write them there, or remove crl from est_server"));
    }
    Ok(ExternalCa::new(server, DomainTrust::new(&[], crl)?))
}

fn check_names(path: &Path, config: &Config, enrolment: &Enrolment) -> Result<(), ConfigError> {
    let wrong = |problem: &dyn core::fmt::Display| ConfigError::new(path, problem);
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

const IDEVID_SUBJECT: &str = "the registrar's own CA takes no subject from an IDevID, which a manufacturer has chosen; write a subject with \
                              {serial}";

const FOREIGN_LIST: &str = "crl_days, crl_listen and crl_url are for a CA of the registrar; the CA behind the EST server has its own \
                            list: remove them";

/// How long an LDevID of the own CA is valid unless that is configured.
const DAYS: u32 = 365;

const NO_KEY: &str = "the key of the CA that issues is not there; put back its .key, or write its .key-uri";
