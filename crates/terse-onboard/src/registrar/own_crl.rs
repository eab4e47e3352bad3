//! The list of revoked certificates (CRL; RFC 5280, 5) of the registrar's own CA, which this process or another one on the same
//! database signs.
//!
//! What must always hold: all processes on a database serve the bytes that are stored there; what is revoked is listed within
//! seconds, and a list is signed anew at half its time; if it cannot be signed, the last one goes on; what `crl.pem` of the CA
//! lists is listed, and stays listed when that file is gone; signing and parsing hold up no other task.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pki_types::{CertificateDer, CertificateRevocationListDer};
use terse_brski::digest::{Sha256, public_key_sha256};
use terse_pki::{Authority, CrlUrl, Revocation, Validity};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Service;
use super::config::Enrolment;
use super::crl::Crls;
use super::domain::{Domain, Issuer, OwnCa};
use super::settings::PROVIDER;
use super::store::revocation::{CrlState, StoredCrl};
use crate::config::ConfigError;
use crate::live::Live;
use crate::stop::stopped;

/// The list of the own CA that issues LDevIDs.
pub(super) struct OwnCrl {
    /// The SHA-256 of the public key of the CA.
    pub(super) issuer: Sha256,
    /// The number of the CA, counted from 0, the root.
    level: usize,
    /// How many days a list is valid.
    pub(super) days: u32,
    /// Where LDevIDs say that the list is.
    pub(super) url: Option<CrlUrl>,
    published: Mutex<Option<Arc<Published>>>,
    /// The content of `crl.pem` that is in the database.
    added: Mutex<Option<Arc<Crls>>>,
}

/// A list as it is served.
pub(super) struct Published {
    /// The CRL number.
    pub(super) number: u64,
    pub(super) next_update: u64,
    pub(super) der: Bytes,
}

/// Why the list could not be brought up to date.
#[derive(Debug)]
enum CrlError {
    Database(sqlx::Error),
    /// The CA does not sign.
    Ca(terse_pki::Error),
    /// The key of the CA is elsewhere, and others wait for it already.
    NoTurn,
    /// The list in the database is of no use.
    Unusable(String),
    /// The runtime ends.
    Ended,
}

/// Looks after the list until `stop` becomes true.
pub(super) async fn keep_crl(live: Live<Service>, mut stop: watch::Receiver<bool>) {
    let mut pause = LOOK;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stopped(&mut stop) => return,
        }
        pause = match live.current().refresh_crl().await {
            true => LOOK,
            false => AFTER_FAILURE,
        };
    }
}

impl OwnCrl {
    /// Reads what the configuration at `path` says of the list.
    pub(super) fn load(path: &Path, enrolment: &Enrolment, authority: &Authority) -> Result<Self, ConfigError> {
        let wrong = |problem: &dyn fmt::Display| ConfigError::new(path, problem);
        let days = enrolment.crl_days.unwrap_or(DAYS);
        if days == 0 {
            return Err(wrong(&"crl_days is 0; give 1 or more"));
        }
        let url = enrolment.crl_url.as_ref().map(|url| url.parse::<CrlUrl>());
        let url = url.transpose().map_err(|error| wrong(&format_args!("crl_url: {error}")))?;
        let level = authority.certificates().len().saturating_sub(1);
        let issuing = authority.certificates().next_back();
        let issuer = issuer_of(path, issuing)?;
        Ok(Self { issuer, level, days, url, published: Mutex::default(), added: Mutex::default() })
    }

    /// Returns the list that is served, if there is one yet.
    pub(super) fn published(&self) -> Option<Arc<Published>> {
        // Nothing panics while it is locked.
        self.published.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, published: Arc<Published>) {
        *self.published.lock().unwrap_or_else(PoisonError::into_inner) = Some(published);
    }

    /// Whether a list is to be signed: there is none, it is not complete, or it has had half its time. What was the time of the
    /// last one counts as well, so that processes with other `crl_days` do not sign in turn.
    fn is_due(&self, state: Option<CrlState>, last: u64, now: u64) -> bool {
        let Some(list) = state else { return true };
        let time = list.next_update.saturating_sub(list.this_update).max(u64::from(self.days) * 86_400);
        list.complete_to < last || list.next_update.saturating_sub(now) <= time / 2
    }
}

/// Returns the name of a CA in the database, the SHA-256 of its public key, by its certificate, which `path` names.
pub(super) fn issuer_of(path: &Path, certificate: Option<&CertificateDer<'_>>) -> Result<Sha256, ConfigError> {
    let issuer = certificate.and_then(|certificate| public_key_sha256(PROVIDER, certificate).ok());
    issuer.ok_or_else(|| ConfigError::new(path, "the certificate of the CA cannot be read; restore it"))
}

/// Lets a CA that was loaded again go on with the list that there is.
pub(super) fn take_over(earlier: Option<&Domain>, later: Option<&Domain>) {
    let (Some(earlier), Some(later)) = (own_ca(earlier), own_ca(later)) else { return };
    if earlier.crl.issuer == later.crl.issuer
        && let Some(list) = earlier.crl.published()
        && later.trust.take_own(list.der.to_vec().into()).is_ok()
    {
        later.crl.publish(list); // else it is read from the database
    }
}

fn own_ca(domain: Option<&Domain>) -> Option<&OwnCa> {
    match &domain?.issuer {
        Issuer::Own(ca) => Some(ca),
        Issuer::External(_) => None,
    }
}

impl Service {
    pub(super) fn own_ca(&self) -> Option<&OwnCa> {
        own_ca(self.inner.settings.domain.as_ref())
    }

    /// Returns where LDevIDs say that the list is.
    pub(super) fn crl_url(&self) -> Option<CrlUrl> {
        self.own_ca()?.crl.url.clone()
    }

    /// Whether the own CA, or the one before, has revoked a certificate: by the database, or by its `crl.pem`.
    pub(super) async fn is_revoked(&self, certificate: &CertificateDer<'_>) -> Result<bool, sqlx::Error> {
        let Some(ca) = self.own_ca() else { return Ok(false) };
        let Ok(revocation) = Revocation::new(certificate, 0) else { return Ok(true) };
        let former = ca.former.as_ref().map(|former| (&former.trust, &former.issuer));
        for (trust, issuer) in core::iter::once((&ca.trust, &ca.crl.issuer)).chain(former) {
            if trust.revoked().await.is_some_and(|is_revoked| is_revoked(certificate))
                || self.inner.store.is_revoked(issuer, revocation.serial_number()).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Brings the list up to date before the first request, if that takes no long time.
    pub(super) async fn begin_crl(&self) {
        let _ = tokio::time::timeout(FIRST_LIST, self.refresh_crl()).await; // else it comes later
    }

    /// Signs the list if that is due, and takes the one that is in the database. Returns whether that works.
    async fn refresh_crl(&self) -> bool {
        let Some(ca) = self.own_ca() else { return true };
        let refreshed = self.try_refresh(ca).await;
        if let Err(error) = &refreshed {
            tracing::error!(%error, "the list of revoked certificates cannot be brought up to date; the last one goes on");
        }
        refreshed.is_ok()
    }

    async fn try_refresh(&self, ca: &OwnCa) -> Result<(), CrlError> {
        self.add_from_file(ca).await?;
        let (state, last) = self.inner.store.crl_state(&ca.crl.issuer).await?;
        let is_due = ca.crl.is_due(state, last, self.now().as_secs());
        let signed = if is_due { self.sign_crl(ca, state).await } else { Ok(()) };
        let number = ca.crl.published().map(|list| list.number);
        if is_due || number != state.map(|state| state.number) {
            self.take_stored(ca).await?; // also if another process has signed it
        }
        signed
    }

    /// Adds to the database what `crl.pem` lists of the issuing CA, so that all processes list it.
    async fn add_from_file(&self, ca: &OwnCa) -> Result<(), CrlError> {
        let Some(file) = ca.trust.file().await else { return Ok(()) };
        let is_same = |added: &Arc<Crls>| Arc::ptr_eq(added, &file);
        if ca.crl.added.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let (service, crls) = (self.clone(), file.clone());
        let listed = tokio::task::spawn_blocking(move || service.own_ca().map(|ca| ca.listed(&crls)));
        let listed = listed.await.map_err(|_| CrlError::Ended)?.unwrap_or_default();
        let (store, issuer) = (&self.inner.store, &ca.crl.issuer);
        let known = store.revoked(issuer, None).await?.entries;
        let known: BTreeSet<&[u8]> = known.iter().map(Revocation::serial_number).collect();
        let new: Vec<_> = listed.into_iter().filter(|one| !known.contains(one.serial_number())).collect();
        // No certificate outlives its CA.
        let end = ca.authority.not_after()?;
        store.add_revoked(issuer, &new, end).await?;
        *ca.crl.added.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        Ok(())
    }

    async fn sign_crl(&self, ca: &OwnCa, previous: Option<CrlState>) -> Result<(), CrlError> {
        let (store, issuer) = (&self.inner.store, &ca.crl.issuer);
        let revoked = store.revoked(issuer, previous).await?;
        let now = self.now().as_secs();
        let validity = Validity { not_before: now.saturating_sub(SLOW_CLOCK), ..Validity::days(now, ca.crl.days) };
        // The numbers of `terse pki crl` are times as well.
        let number = previous.map_or(0, |list| list.number.saturating_add(1)).max(now);
        let state = CrlState {
            number,
            this_update: validity.not_before,
            next_update: validity.not_after,
            complete_to: revoked.last,
        };
        let (service, entries) = (self.clone(), revoked.entries);
        let turn = match ca.authority.signs_elsewhere() {
            true => Some(ca.turns.next(Instant::now() + SIGNING).await.ok_or(CrlError::NoTurn)?),
            false => None,
        };
        let signed = tokio::task::spawn_blocking(move || {
            let crl = service.own_ca().map(|ca| ca.authority.numbered_crl(ca.crl.level, &entries, validity, number));
            drop(turn); // a thread that waits for the key keeps it
            crl
        });
        // The thread goes on, with its turn; the next list is signed when another one is free.
        let signed = tokio::time::timeout(SIGNING, signed).await.map_err(|_| CrlError::NoTurn)?;
        let Some(crl) = signed.map_err(|_| CrlError::Ended)? else { return Ok(()) };
        let list = StoredCrl { state, crl: crl?.to_vec() };
        if store.store_crl(issuer, previous.map(|list| list.number), &list).await? {
            let (count, length) = (revoked.unlisted.len(), list.crl.len());
            for serial in revoked.unlisted.iter().take(MAX_LINES) {
                let serial: String = serial.iter().map(|byte| format!("{byte:02x}")).collect();
                tracing::info!(serial, "a certificate is revoked");
            }
            tracing::debug!(number, count, length, "the list of revoked certificates is signed");
        }
        Ok(())
    }

    /// Serves the list that is in the database, and judges LDevIDs by it.
    async fn take_stored(&self, ca: &OwnCa) -> Result<(), CrlError> {
        let Some(StoredCrl { state, crl }) = self.inner.store.crl(&ca.crl.issuer).await? else { return Ok(()) };
        let (service, der) = (self.clone(), CertificateRevocationListDer::from(crl.clone()));
        let taken = tokio::task::spawn_blocking(move || service.own_ca().map_or(Ok(()), |ca| ca.trust.take_own(der)));
        taken.await.map_err(|_| CrlError::Ended)?.map_err(CrlError::Unusable)?;
        let CrlState { number, next_update, .. } = state;
        ca.crl.publish(Arc::new(Published { number, next_update, der: crl.into() }));
        Ok(())
    }
}

impl OwnCa {
    /// Returns what CRLs list of the issuing CA.
    fn listed(&self, crls: &Crls) -> Vec<Revocation> {
        // Those of other CAs count elsewhere.
        let read = crls.iter().filter_map(|crl| self.authority.read_crl(crl).ok());
        read.filter(|(level, _)| *level == self.crl.level).flat_map(|(_, listed)| listed).collect()
    }
}

impl From<sqlx::Error> for CrlError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<terse_pki::Error> for CrlError {
    fn from(error: terse_pki::Error) -> Self {
        Self::Ca(error)
    }
}

impl fmt::Display for CrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => write!(f, "the database does not answer: {error}"),
            Self::Ca(error) => write!(f, "the CA does not sign it: {error}"),
            Self::NoTurn => f.write_str("the key of the CA does not answer in time; look at its token and module"),
            Self::Unusable(problem) => write!(f, "the list in the database is of no use: {problem}"),
            Self::Ended => f.write_str("the registrar ends"),
        }
    }
}

/// How many days a list is valid unless that is configured.
const DAYS: u32 = 7;

/// How often the database is asked whether something is revoked.
const LOOK: Duration = Duration::from_secs(2);

/// How long that is left alone after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// How long a turn is waited for with a key that is elsewhere, and how long a signature may take.
const SIGNING: Duration = Duration::from_secs(10);

/// How long the first request waits for a list.
const FIRST_LIST: Duration = Duration::from_secs(5);

/// The seconds by which lists start early, for those whose clocks are slow: as certificates do.
const SLOW_CLOCK: u64 = 3_600;

/// The most lines about certificates in one list.
const MAX_LINES: usize = 100;

#[cfg(test)]
mod tests;
