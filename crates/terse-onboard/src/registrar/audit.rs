//! The audit log of a device is fetched, and compared with the policy (RFC 8995, 5.8).
//!
//! What must always hold: EST stays closed until a log has come that is as the policy wants it; a log that does not come
//! is asked for again, also after a restart, and also if the device never said what became of its voucher; soon, if the MASA
//! could not be reached (`outage`).

use core::pin::pin;
use core::time::Duration;
use std::sync::PoisonError;

use pki_types::UnixTime;
use terse_brski::audit_log::AuditLog;
use terse_brski::digest::Sha256;
use terse_brski::http::{JSON, is};
use terse_brski::registrar::{AuditRefused, History, MasaUrl, NoncelessRequest, Refusal};
use terse_brski::voucher::Nonce;
use tokio::time::Instant;

use super::Service;
use super::forward::Place;
use super::masa::MAX_AUDIT_LOG_LEN;
use super::metrics::Asked;
use super::outage::{Masa, retry_after};
use super::reply::Reply;
use super::store::{AuditTask, MAX_UNSENT};
use crate::client::Incoming;

/// What became of starting to ask for a log.
enum Started {
    Begun,
    /// It is being asked for already.
    Running,
    /// There is no place for it now.
    NoPlace(AuditTask),
}

/// Why a log did not come.
struct NotCome {
    problem: String,
    /// Whether the MASA could not be reached.
    is_unsent: bool,
}

impl Service {
    /// Asks for the audit log of a device, if it has not come yet and is not being asked for; unless the MASA has answered
    /// something else just now.
    pub(super) async fn ask_for_audit_log(&self, idevid: &Sha256) -> Result<(), Reply> {
        let task = self.inner.store.audit_task(idevid).await?;
        if let Some(task) = task.filter(|task| task.due <= self.now()) {
            self.start_audit(task); // without a place the next request of the device asks again
        }
        Ok(())
    }

    /// Asks for the logs of devices that have had their voucher for a while.
    pub(super) async fn ask_for_late_audit_logs(&self) {
        let before = self.now().as_secs().saturating_sub(PATIENCE_SECONDS);
        let before = UnixTime::since_unix_epoch(Duration::from_secs(before));
        match self.inner.store.audits_due(before).await {
            Ok(tasks) => {
                for task in tasks {
                    self.ask_for_late_audit_log(task).await;
                }
            }
            Err(error) => tracing::error!(%error, "the database does not answer"),
        }
    }

    /// Asks for one of them, or puts it behind the others: it must not keep them from being asked for.
    async fn ask_for_late_audit_log(&self, task: AuditTask) {
        let Started::NoPlace(task) = self.start_audit(task) else { return };
        let (store, settings, now) = (&self.inner.store, &self.inner.settings, self.now());
        let (problem, is_unsent) = match settings.decisions.masa_url(&task.manufacturer, task.masa_url.as_deref()) {
            Ok(_) => ("the MASA cannot be asked now".to_owned(), true),
            Err(Refusal::UnknownManufacturer) => (NOT_CONFIGURED.to_owned(), false),
            Err(refusal) => (refusal.to_string(), false),
        };
        if let Err(error) = store.audit_did_not_come(&task, &problem, is_unsent, now).await {
            tracing::error!(%error, "the database does not answer");
        }
    }

    /// Asks for the logs for which a MASA could not be reached, and not after `since`: some at a time. Returns since when there
    /// may be more.
    pub(super) async fn ask_for_unsent_audit_logs(&self, since: UnixTime) -> Option<UnixTime> {
        let (mut has_begun, mut has_more) = (false, false);
        for manufacturer in self.inner.settings.masas.keys() {
            match self.ask_for_some_unsent(manufacturer, since).await {
                Ok((begun, more)) => (has_begun, has_more) = (has_begun | begun, has_more | more),
                Err(error) => tracing::error!(%error, "the database does not answer"),
            }
        }
        match has_begun {
            true => Some(self.now()), // those that had no place may have one soon
            false => has_more.then_some(since),
        }
    }

    /// Returns whether it has begun with any, and whether there are more.
    async fn ask_for_some_unsent(&self, manufacturer: &str, since: UnixTime) -> Result<(bool, bool), sqlx::Error> {
        let store = &self.inner.store;
        let tasks = store.audits_unsent(manufacturer, since).await?;
        let (mut has_begun, has_more) = (false, tasks.len() >= MAX_UNSENT);
        for task in tasks {
            match self.start_audit(task) {
                Started::Begun => has_begun = true,
                Started::Running => {}
                Started::NoPlace(task) => store.move_back(&task, since).await?,
            }
        }
        Ok((has_begun, has_more))
    }

    /// Returns after how many seconds the audit log of a device is asked for again, if the MASA cannot be reached, or has
    /// answered something else.
    pub(super) async fn audit_retry(&self, idevid: &Sha256) -> Result<Option<u32>, Reply> {
        let Some(task) = self.inner.store.audit_task(idevid).await? else { return Ok(None) };
        let left = task.due.as_secs().saturating_sub(self.now().as_secs());
        if left > 0 {
            return Ok(Some(retry_after(Duration::from_secs(left))));
        }
        let masa = self.inner.settings.decisions.masa_url(&task.manufacturer, task.masa_url.as_deref());
        let wait = masa.ok().and_then(|masa| self.inner.outages.wait(&Masa::of(&task.manufacturer, &masa)));
        Ok(wait.map(retry_after))
    }

    /// Asks for a log, unless that is being done or there is no place for it.
    fn start_audit(&self, task: AuditTask) -> Started {
        let settings = &self.inner.settings;
        let is_ignored = settings.audits.get(&task.manufacturer).is_some_and(|policy| policy.is_ignored);
        let place = match settings.decisions.masa_url(&task.manufacturer, task.masa_url.as_deref()) {
            Ok(masa) if !is_ignored => match self.free_place(&task.manufacturer, &masa) {
                Some(place) => Some((masa, place)),
                None => return Started::NoPlace(task),
            },
            Err(_) if !is_ignored => return Started::NoPlace(task),
            _ => None,
        };
        // Nothing panics while this is locked.
        let mut running = self.inner.audits.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(task.idevid) {
            return Started::Running;
        }
        drop(running);
        let service = self.clone();
        tokio::spawn(async move {
            service.audit(&task, place).await;
            service.inner.audits.lock().unwrap_or_else(PoisonError::into_inner).remove(&task.idevid);
            service.inner.audited.notify_waiters();
        });
        Started::Begun
    }

    /// Waits until the audit log of a device is not being asked for any more, or until `until`.
    pub(super) async fn until_audited(&self, idevid: &Sha256, until: Instant) {
        let ended = async {
            loop {
                let mut next = pin!(self.inner.audited.notified());
                next.as_mut().enable(); // so that no end is missed between the look and the wait
                if !self.inner.audits.lock().unwrap_or_else(PoisonError::into_inner).contains(idevid) {
                    return;
                }
                next.await;
            }
        };
        let _ = tokio::time::timeout_at(until, ended).await; // what has come meanwhile is in the database
    }

    async fn audit(&self, task: &AuditTask, place: Option<(MasaUrl, Place)>) {
        let (serial_number, manufacturer) = (&task.serial_number, &task.manufacturer);
        let outcome = match place {
            Some((masa, place)) => self.audit_outcome(task, &masa, place).await,
            None => Ok(None), // the policy ignores it
        };
        let store = &self.inner.store;
        let stored = match outcome {
            Ok(None) => {
                tracing::info!(serial_number, manufacturer, "the audit log is good");
                store.audited(task, None).await
            }
            Ok(Some(problem)) => {
                tracing::warn!(serial_number, manufacturer, problem, "the audit log is refused");
                store.audited(task, Some(&problem)).await
            }
            Err(NotCome { problem, is_unsent }) => {
                tracing::warn!(serial_number, manufacturer, problem, "the audit log did not come");
                store.audit_did_not_come(task, &problem, is_unsent, self.now()).await
            }
        };
        if let Err(error) = stored {
            tracing::error!(%error, "the database does not answer");
        }
    }

    /// Returns what is wrong with the log of a device, or nothing if it is good. Fails if the log did not come.
    async fn audit_outcome(&self, task: &AuditTask, masa: &MasaUrl, place: Place) -> Result<Option<String>, NotCome> {
        let settings = &self.inner.settings;
        let client = settings.masas.get(&task.manufacturer).ok_or(NOT_CONFIGURED)?;
        let begun = Instant::now();
        let asked = client.request_audit_log(&settings.decisions, masa, &task.registrar_request).await;
        let is_unsent = place.ended(&asked).is_some();
        self.saw_masa(&task.manufacturer, &asked);
        let count = |outcome| self.inner.metrics.masa_asked(Asked::AuditLog, begun.elapsed(), outcome);
        let judged = match asked {
            Ok(response) => self.judge_response(task, &response).await.map_err(NotCome::from),
            Err(error) => {
                count(error.outcome());
                return Err(NotCome { problem: error.to_string(), is_unsent });
            }
        };
        count(match &judged {
            Ok(None) => "good",
            Ok(Some(_)) => "bad",
            Err(_) => "unusable",
        });
        judged
    }

    /// Returns what is wrong with the log in an answer of a MASA, or nothing if it is good. Fails if there is none.
    async fn judge_response(&self, task: &AuditTask, response: &Incoming) -> Result<Option<String>, String> {
        let Some(log) = read_audit_log(response)? else { return Ok(Some(AuditRefused::NotNamed.to_string())) };
        let (store, manufacturer, serial_number) = (&self.inner.store, &task.manufacturer, &task.serial_number);
        let known = async {
            let known = store.history(&task.idevid).await?;
            Ok::<_, sqlx::Error>(known.and(store.fetched_history(manufacturer, serial_number).await?))
        };
        let known = known.await.map_err(|error| error.to_string())?;
        self.judge(manufacturer, &log, task.nonce.as_ref(), &known)
    }

    /// Compares a log with the policy for a manufacturer. `nonce` is that of the voucher that was had last. Returns what is
    /// wrong, or nothing if it is good.
    pub(super) fn judge(
        &self,
        manufacturer: &str,
        log: &AuditLog,
        nonce: Option<&Nonce>,
        known: &KnownVouchers,
    ) -> Result<Option<String>, String> {
        let settings = &self.inner.settings;
        let domain_ids: Vec<&[u8]> = settings.domain_ids.iter().chain(&known.domain_ids).map(Vec::as_slice).collect();
        let requested = Some(&*known.nonces);
        let history = History { domain_ids: &domain_ids, nonce, nonces: requested, nonceless: &known.nonceless };
        let policy = settings.audits.get(manufacturer).ok_or(NOT_CONFIGURED)?;
        Ok(policy.check(log, &history).err().map(|refused| refused.to_string()))
    }
}

/// What this domain knows of the vouchers for a device.
#[derive(Debug, Default)]
pub(super) struct KnownVouchers {
    /// The domainIDs that they have pinned.
    pub(super) domain_ids: Vec<Vec<u8>>,
    /// The nonces for which it has asked.
    pub(super) nonces: Vec<Nonce>,
    /// When it has asked for vouchers without a nonce.
    pub(super) nonceless: Vec<NoncelessRequest>,
}

impl KnownVouchers {
    pub(super) fn and(mut self, other: Self) -> Self {
        self.domain_ids.extend(other.domain_ids);
        self.nonces.extend(other.nonces);
        self.nonceless.extend(other.nonceless);
        self
    }
}

/// Reads the answer of a MASA. Returns `None` if it knows of no voucher for this domain (RFC 8995, 5.8).
pub(super) fn read_audit_log(response: &Incoming) -> Result<Option<AuditLog>, String> {
    match response.status {
        200 if is(response.content_type.as_deref(), JSON) => {}
        200 => return Err("the MASA sent something of another type than application/json".into()),
        404 => return Ok(None),
        status => return Err(format!("the MASA answers {status}")),
    }
    AuditLog::from_json(&response.body, MAX_AUDIT_LOG_LEN).map(Some).map_err(|error| error.to_string())
}

impl From<String> for NotCome {
    fn from(problem: String) -> Self {
        Self { problem, is_unsent: false }
    }
}

impl From<&str> for NotCome {
    fn from(problem: &str) -> Self {
        problem.to_owned().into()
    }
}

const NOT_CONFIGURED: &str = "the manufacturer is not configured any more";

/// How long a device has to say what became of its voucher, before its audit log is asked for all the same.
const PATIENCE_SECONDS: u64 = 60;
