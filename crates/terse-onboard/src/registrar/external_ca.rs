//! The CA behind an EST server: its certificates (RFC 7030, 4.1), and the trust in what it has issued.
//!
//! What must always hold: the certificates came from the EST server over a connection on which that was verified, and were
//! those of CAs; they are stored, and the last ones count until others come, however long the server is away; those that
//! another process on the same database has stored count, too; one task of a process asks for them at a time, and nobody
//! waits for it who has some.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pki_types::CertificateDer;
use terse_tls::{Expect, KeyPurposeId, Trust};
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::Service;
use super::crl::DomainTrust;
use super::domain::{Domain, Issuer};
use super::est_server::{EstError, EstServer};
use super::reply::Reply;
use super::settings::PROVIDER;
use crate::seen::LastSeen;

/// The CA behind an EST server.
pub(super) struct ExternalCa {
    pub(super) server: EstServer,
    pub(super) trust: Arc<DomainTrust>,
    /// Whether the server could be reached last.
    pub(super) seen: LastSeen,
    known: Mutex<Known>,
    /// The turn of the task that asks for the certificates.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// Why the certificates are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// There are none yet.
    Missing,
    /// Those that are there do not do: an answer must have been asked for after now.
    Newer,
}

/// What is known of the certificates. Times are in seconds since 1970.
#[derive(Default)]
struct Known {
    certificates: Option<Arc<[CertificateDer<'static>]>>,
    fetched: u64,
    /// When they were asked for last.
    tried: u64,
    /// How often they were asked for.
    times: u64,
    /// When the database was looked into last because of a client of an unknown CA.
    looked: Option<Instant>,
}

impl ExternalCa {
    pub(super) fn new(server: EstServer, trust: Arc<DomainTrust>) -> Self {
        Self { server, trust, seen: LastSeen::default(), known: Mutex::default(), turn: Arc::default() }
    }

    /// Returns the trust in what the CA issues now. CRLs do not count: those that are late would keep all devices out.
    pub(super) fn anchors(&self) -> Trust {
        self.trust.anchors()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Whatever is in there can be used.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn certificates(&self) -> Option<Arc<[CertificateDer<'static>]>> {
        self.lock().certificates.clone()
    }

    /// Whether there are no certificates, or such that came no later than at this time.
    fn gives_way_to(&self, fetched: u64) -> bool {
        let known = self.lock();
        known.certificates.is_none() || known.fetched <= fetched // two can be of one second
    }

    /// Whether there is still a need that arose when the certificates had been asked for so often.
    fn needs(&self, need: Need, times: u64) -> bool {
        let known = self.lock();
        let is_met = need == Need::Missing && known.certificates.is_some();
        // Another task may have asked meanwhile, from beginning to end.
        !is_met && known.times == times
    }

    /// Whether the database may be looked into now because of a client of an unknown CA.
    fn may_look(&self) -> bool {
        let (mut known, now) = (self.lock(), Instant::now());
        let is_due = known.looked.is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK_INTERVAL);
        if is_due {
            known.looked = Some(now);
        }
        is_due
    }

    /// Takes certificates. Returns whether they are others than before, if some were here.
    fn take(&self, certificates: Vec<CertificateDer<'static>>, fetched: u64) -> Result<bool, EstError> {
        let mut known = self.lock();
        let is_here = known.certificates.as_deref().is_some_and(|here| here == certificates);
        if !is_here && !self.trust.replace_anchors(&certificates) {
            return Err(EstError::CaCertificates("no path can be made of them"));
        }
        let is_changed = known.certificates.is_some() && !is_here;
        known.certificates = Some(certificates.into());
        known.fetched = fetched;
        Ok(is_changed)
    }
}

impl Service {
    /// Returns the certificates of the CA behind the EST server: the last ones that came. Without any it is asked, and a
    /// device waits until this time.
    pub(super) async fn current_ca_certificates(
        &self,
        ca: &Arc<ExternalCa>,
        until: Instant,
    ) -> Result<Arc<[CertificateDer<'static>]>, Reply> {
        if ca.certificates().is_none() {
            self.read_stored(ca).await?;
        }
        match ca.certificates() {
            Some(certificates) => {
                self.refresh(ca);
                Ok(certificates)
            }
            None => {
                let _ = timeout_at(until, self.ask_for_ca_certificates(ca, Need::Missing)).await; // what has come by then counts
                ca.certificates().ok_or_else(|| Reply::text(503, NONE).retry_after(RETRY_SECONDS))
            }
        }
    }

    /// Returns the trust in the LDevIDs of the domain. A device waits for it until this time at most.
    pub(super) async fn trust(&self, domain: &Domain, until: Instant) -> Result<Trust, Reply> {
        match &domain.issuer {
            Issuer::Own(ca) => Ok(ca.trust.get().await),
            Issuer::External(ca) => {
                self.current_ca_certificates(ca, until).await?;
                Ok(ca.trust.get().await)
            }
        }
    }

    /// Returns the trust after a client that the database knows was found to be of an unknown CA: another process on the
    /// same database may have learned of that CA. `None` if nothing is new.
    pub(super) async fn newer_trust(&self, domain: &Domain) -> Result<Option<Trust>, Reply> {
        let Issuer::External(ca) = &domain.issuer else { return Ok(None) };
        if !ca.may_look() {
            return Ok(None);
        }
        self.read_stored(ca).await?;
        Ok(Some(ca.trust.get().await))
    }

    /// Takes what another process has stored, and asks for the CA certificates if they are old or missing, without waiting.
    pub(super) async fn refresh_ca_certificates(&self) {
        let Some(Issuer::External(ca)) = self.inner.settings.domain.as_ref().map(|domain| &domain.issuer) else {
            return;
        };
        if self.read_stored(ca).await.is_err() && ca.certificates().is_none() {
            return; // that was logged
        }
        self.refresh(ca);
    }

    /// Asks for the CA certificates, unless another task meets the need before this one has its turn. If the future is
    /// dropped, a request under way goes on.
    pub(super) async fn ask_for_ca_certificates(&self, ca: &Arc<ExternalCa>, need: Need) {
        let times = ca.lock().times;
        let turn = ca.turn.clone().lock_owned().await;
        if ca.needs(need, times) {
            let _ = self.spawn_asking(ca, turn).await; // what has come is there
        }
    }

    fn refresh(&self, ca: &Arc<ExternalCa>) {
        let Ok(turn) = ca.turn.clone().try_lock_owned() else { return };
        let now = self.now().as_secs();
        let is_due = {
            let known = ca.lock();
            // The clock may have been set back.
            now.abs_diff(known.fetched) >= HOUR && now.abs_diff(known.tried) >= MINUTE
        };
        if is_due {
            self.spawn_asking(ca, turn);
        }
    }

    fn spawn_asking(&self, ca: &Arc<ExternalCa>, turn: OwnedMutexGuard<()>) -> JoinHandle<()> {
        {
            let mut known = ca.lock();
            known.tried = self.now().as_secs();
            known.times = known.times.wrapping_add(1);
        }
        let (service, ca) = (self.clone(), ca.clone());
        tokio::spawn(async move {
            if let Err(error) = service.fetch_ca_certificates(&ca).await {
                let url = ca.server.base();
                tracing::error!(url, %error, "the EST server gives no CA certificates; the last ones stay in force");
            }
            drop(turn);
        })
    }

    async fn fetch_ca_certificates(&self, ca: &ExternalCa) -> Result<(), EstError> {
        let asked = ca.server.ca_certificates().await;
        ca.seen.note(!matches!(&asked, Err(error) if error.is_outage()), self.now());
        let certificates = asked?;
        let (url, now) = (ca.server.base(), self.now());
        if ca.take(certificates.clone(), now.as_secs())? {
            tracing::warn!(url, "the EST server has other CA certificates than before");
        }
        // Devices that have enrolled know no other CA.
        let own =
            ca.anchors().check(PROVIDER, &self.inner.settings.chain, Expect::Usage(KeyPurposeId::CMC_RA), Some(now));
        if let Err(error) = own {
            let error = error.of(&"the registrar").to_string();
            tracing::warn!(
                error,
                "devices will not know the registrar when they renew: its certificate is of another CA"
            );
        }
        if let Err(error) = self.inner.store.store_ca_certificates(url, &certificates, now).await {
            tracing::error!(%error, "the database does not answer");
        }
        Ok(())
    }

    /// Takes what this process, or another one on the same database, has stored, unless what is here is newer.
    async fn read_stored(&self, ca: &ExternalCa) -> Result<(), Reply> {
        let Some((certificates, fetched)) = self.inner.store.ca_certificates(ca.server.base()).await? else {
            return Ok(());
        };
        if !ca.gives_way_to(fetched) {
            return Ok(()); // they may have come meanwhile
        }
        match ca.take(certificates, fetched) {
            Ok(true) => tracing::warn!(url = ca.server.base(), "the EST server has other CA certificates than before"),
            Ok(false) => {}
            Err(error) => tracing::error!(%error, "the CA certificates in the database are of no use"),
        }
        Ok(())
    }
}

const NONE: &str = "the EST server of the domain has given no CA certificates yet; repeat the same request";

/// Retry-After while there are no CA certificates.
const RETRY_SECONDS: u32 = 30;

/// How often clients of an unknown CA make this process look into the database.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How often they are asked for anew.
const HOUR: u64 = 3_600;

/// How often that is tried if it fails.
const MINUTE: u64 = 60;
