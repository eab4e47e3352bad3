//! Certification requests are passed on to an EST server (RFC 7030, 4.2), in a task that goes on when the device has gone.
//!
//! What must always hold: a request is checked before it leaves; that it leaves is stored first, so that of several tasks and
//! processes one sends it; the certificate that comes is checked, and stored before the device gets it; how long an EST
//! server takes holds up no device for longer than configured.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::certificate::{public_key, validity};
use terse_brski::digest::sha256;
use terse_brski::registrar::Refusal;
use terse_pki::{CertificationRequest, LdevidPolicy, NotAsRequested};
use terse_tls::Expect;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::Service;
use super::est::{issued, revoked, too_many};
use super::est_server::EstError;
use super::external_ca::{ExternalCa, Need};
use super::reply::Reply;
use super::settings::PROVIDER;
use super::store::{Claim, Issued, Known, Outcome, Passed, PassedOn, RequestKey, Stored};

/// A request on its way.
pub(super) struct Errand {
    pub(super) key: RequestKey,
    pub(super) request: CertificationRequest,
    pub(super) policy: LdevidPolicy,
    pub(super) serial_number: String,
    pub(super) manufacturer: String,
    /// The LDevID that is renewed, if the device has one.
    pub(super) renewed: Option<CertificateDer<'static>>,
}

/// Why there is no certificate for a request.
enum Failure {
    Est(EstError),
    Database(sqlx::Error),
}

impl Service {
    /// Passes a request on, unless that was done already. Returns what became of it, if that is known until this
    /// time; otherwise the device comes again.
    pub(super) async fn pass_on(&self, ca: &Arc<ExternalCa>, errand: Errand, until: Instant) -> Result<Reply, Reply> {
        errand.policy.check_request(&errand.request).map_err(|error| Reply::text(400, &error.to_string()))?;
        // Without them the certificate that comes could not be checked.
        self.current_ca_certificates(ca, until).await?;
        // Another task can be faster, once for each state that a request goes through.
        for _ in 0..3 {
            let now = self.now();
            let earlier = self.inner.store.passed_on(&errand.key).await?;
            if let Some(reply) = earlier.as_ref().and_then(|earlier| reply_of(earlier, now)) {
                return Ok(reply);
            }
            let Some(place) = ca.server.place() else { return Ok(Reply::later(SHORT_RETRY)) };
            match self.inner.store.pass_on(&errand.key, earlier.as_ref(), now).await? {
                Passed::Stored(claim) => return Ok(self.send(ca, errand, claim, place, until).await),
                Passed::Lost => {}
                Passed::Issued(certificate) => return Ok(issued(certificate)),
                Passed::Full => return Ok(Reply::later(LONG_RETRY)),
                Passed::TooMany => return Err(too_many()),
            }
        }
        Ok(Reply::later(SHORT_RETRY))
    }

    async fn send(
        &self,
        ca: &Arc<ExternalCa>,
        errand: Errand,
        claim: Claim,
        place: OwnedSemaphorePermit,
        until: Instant,
    ) -> Reply {
        let (sender, answer) = oneshot::channel();
        let (service, ca) = (self.clone(), ca.clone());
        tokio::spawn(async move {
            let reply = service.run_errand(&ca, &errand, claim).await.unwrap_or_else(|reply| reply);
            drop(place);
            drop(sender.send(reply)); // the device may have gone
        });
        match tokio::time::timeout_at(until, answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) | Err(_) => Reply::later(SHORT_RETRY),
        }
    }

    /// Sends a request to the EST server, and stores what comes of it.
    async fn run_errand(&self, ca: &Arc<ExternalCa>, errand: &Errand, claim: Claim) -> Result<Reply, Reply> {
        let (serial_number, manufacturer) = (&errand.serial_number, &errand.manufacturer);
        let (certificate, not_after) = match self.certify(ca, errand).await {
            Ok(certified) => certified,
            Err(Failure::Est(error)) => return self.not_certified(ca, errand, claim, &error).await,
            Err(Failure::Database(error)) => return Err(error.into()),
        };
        let (sha256, store) = (sha256(PROVIDER, &certificate), &self.inner.store);
        if let Some(certificate) = store.issued(&errand.key.request, &errand.key.client, self.now()).await? {
            return Ok(issued(certificate)); // another process was faster, and its certificate counts
        }
        let record = Issued { key: errand.key, sha256, certificate: &certificate, not_after };
        match store.issue(&record, self.now()).await? {
            Stored::Certificate(certificate) => {
                store.forget_passed_on(&errand.key).await?;
                self.inner.metrics.certificate_issued(errand.renewed.is_some());
                tracing::info!(serial_number, manufacturer, "a device gets a certificate of the EST server");
                Ok(issued(certificate))
            }
            Stored::Known(certificate) => {
                // The server is not asked for it again and again.
                self.not_certified(ca, errand, claim, &EstError::Known).await?;
                Ok(issued(certificate))
            }
            Stored::TooMany => self.not_certified(ca, errand, claim, &EstError::TooMany).await,
            Stored::Rejected => {
                tracing::warn!(serial_number, manufacturer, "the EST server certifies a rejected device, in vain");
                store.forget_passed_on(&errand.key).await?;
                Err(Refusal::Rejected.into())
            }
            Stored::Revoked => {
                store.forget_passed_on(&errand.key).await?;
                Err(revoked())
            }
        }
    }

    /// Returns the certificate for a request, and the end of its validity.
    async fn certify(&self, ca: &Arc<ExternalCa>, errand: &Errand) -> Result<(CertificateDer<'static>, u64), Failure> {
        let Errand { request, policy, .. } = errand;
        let asked = ca.server.enroll(request.der()).await;
        ca.seen.note(!matches!(&asked, Err(error) if error.is_outage()), self.now());
        self.inner.metrics.est_asked(asked.as_ref().map_or_else(EstError::outcome, |_| "certificate"));
        let certificates = asked?;
        let certificate = self.choose(ca, errand, certificates).await?;
        policy.check_certificate(request, &certificate).map_err(EstError::NotAsRequested)?;
        let (not_before, not_after) = validity(&certificate).map_err(EstError::Malformed)?;
        if self.check_path(ca, &certificate, not_before).is_err() {
            // The CA may have a new certificate.
            let asked = tokio::time::timeout(ca.server.time(), self.ask_for_ca_certificates(ca, Need::Newer));
            let _ = asked.await; // what has come by then counts
            self.check_path(ca, &certificate, not_before)?;
        }
        Ok((certificate, not_after.as_secs()))
    }

    /// Chooses the certificate with the key of a request: some servers send those above it as well, or earlier ones of the
    /// same key. One that nobody has is preferred to one that this device has.
    async fn choose(
        &self,
        ca: &ExternalCa,
        Errand { key, request, .. }: &Errand,
        certificates: Vec<CertificateDer<'static>>,
    ) -> Result<CertificateDer<'static>, Failure> {
        let own = request.subject_public_key_info();
        let mut error = EstError::NotAsRequested(NotAsRequested::Key);
        let mut known = None;
        for certificate in certificates.into_iter().filter(|one| public_key(one).is_ok_and(|key| key == own)) {
            let holder = match self.inner.store.client(&sha256(PROVIDER, &certificate)).await? {
                None => return Ok(certificate),
                Some(Known::Joining(holder) | Known::Earlier(holder)) => holder.joining.idevid,
            };
            error = EstError::Known;
            let is_revoked = ca.trust.revoked().await.is_some_and(|is_revoked| is_revoked(&certificate));
            if holder == key.idevid && !is_revoked {
                known = Some(certificate);
            }
        }
        known.ok_or(Failure::Est(error))
    }

    /// Checks that the CA certificates stand for a certificate by itself: devices present it so.
    fn check_path(
        &self,
        ca: &ExternalCa,
        certificate: &CertificateDer<'static>,
        not_before: UnixTime,
    ) -> Result<(), EstError> {
        // The clock of the CA may be ahead.
        let latest = UnixTime::since_unix_epoch(Duration::from_secs(self.now().as_secs().saturating_add(CLOCK_SKEW)));
        let time = self.now().max(not_before.min(latest));
        let checked = ca.anchors().check(PROVIDER, std::slice::from_ref(certificate), Expect::Client, Some(time));
        checked.map(|_| ()).map_err(EstError::Path)
    }

    /// Notes why there is no certificate, so that the same request has the same answer until the server is asked again.
    async fn not_certified(
        &self,
        ca: &ExternalCa,
        errand: &Errand,
        claim: Claim,
        error: &EstError,
    ) -> Result<Reply, Reply> {
        let Errand { key, serial_number, manufacturer, .. } = errand;
        let url = ca.server.base();
        tracing::warn!(serial_number, manufacturer, url, %error, "the EST server gives no certificate");
        let (status, text) = (error.status(), error.text());
        let (seconds, refusals) = match (error, error.retry_after()) {
            (_, Some(seconds)) => (seconds.clamp(1, LONGEST_WAIT), claim.refusals),
            (EstError::TooMany, None) => (LONGEST_WAIT, claim.refusals),
            (_, None) => (refusal_stands(claim.refusals), claim.refusals.saturating_add(1)),
        };
        let next = self.now().as_secs().saturating_add(seconds);
        let outcome = Outcome { next, refusals, status, text: &text };
        self.inner.store.not_certified(key, claim, &outcome).await?;
        Ok(answer(status, &text, seconds))
    }
}

impl From<EstError> for Failure {
    fn from(error: EstError) -> Self {
        Self::Est(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// Returns the answer to a request that was passed on before; `None` if it is time to send it again.
fn reply_of(earlier: &PassedOn, now: UnixTime) -> Option<Reply> {
    let seconds = earlier.next.checked_sub(now.as_secs()).filter(|seconds| *seconds > 0)?;
    Some(match &earlier.outcome {
        None => Reply::later(SHORT_RETRY),
        Some((status, text)) => answer(*status, text, seconds),
    })
}

/// Returns the answer while a request is not sent again for so many seconds.
fn answer(status: u16, text: &str, seconds: u64) -> Reply {
    match status {
        202 => Reply::text(202, text).retry_after(u32::try_from(seconds).unwrap_or(u32::MAX)),
        429 => too_many(),
        _ => Reply::text(status, text),
    }
}

/// Returns how many seconds a refusal stands before the EST server is asked again, after so many before it.
fn refusal_stands(earlier: u32) -> u64 {
    REFUSAL_SECONDS.saturating_mul(1 << earlier.min(16)).min(LONGEST_WAIT)
}

/// Retry-After while the EST server takes its time.
const SHORT_RETRY: u32 = 5;

/// Retry-After while other requests of the device come first.
const LONG_RETRY: u32 = 60;

/// How long the first refusal stands before the EST server is asked again; each one after it stands twice as long.
const REFUSAL_SECONDS: u64 = 60;

/// How long a request waits at most, whatever the EST server says or refuses: one mistake there keeps a device out no longer.
const LONGEST_WAIT: u64 = 3_600;

/// The seconds by which the clock of the CA may be ahead of this one.
const CLOCK_SKEW: u64 = 60;
