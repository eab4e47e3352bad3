//! The audit log of a device is fetched, and compared with the policy (RFC 8995, 5.8).
//!
//! What must always hold: EST stays closed until a log has come that is as the policy wants it; a log that does not come
//! is asked for again, also after a restart, and also if the device never said what became of its voucher.

use core::pin::pin;
use core::time::Duration;
use std::sync::PoisonError;

use pki_types::UnixTime;
use terse_brski::audit_log::AuditLog;
use terse_brski::digest::Sha256;
use terse_brski::http::{JSON, is};
use terse_brski::registrar::{AuditRefused, History};
use tokio::sync::OwnedSemaphorePermit;

use super::Service;
use super::masa::MAX_AUDIT_LOG_LEN;
use super::reply::Reply;
use super::store::AuditTask;

impl Service {
    /// Asks for the audit log of a device, if it has not come yet and is not being asked for.
    pub(super) async fn ask_for_audit_log(&self, idevid: &Sha256) -> Result<(), Reply> {
        if let Some(task) = self.inner.store.audit_due(idevid).await? {
            // Without a place the next request of the device asks again.
            if let Some(place) = self.place(&task.manufacturer) {
                self.spawn_audit(task, place);
            }
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
        let problem = match self.place(&task.manufacturer) {
            Some(place) => return self.spawn_audit(task, place),
            None if self.inner.settings.masas.contains_key(&task.manufacturer) => "the MASA is being asked too much",
            None => NOT_CONFIGURED,
        };
        if let Err(error) = self.inner.store.audit_failed(&task, problem, self.now()).await {
            tracing::error!(%error, "the database does not answer");
        }
    }

    fn spawn_audit(&self, task: AuditTask, place: OwnedSemaphorePermit) {
        // Nothing panics while this is locked.
        let mut running = self.inner.audits.lock().unwrap_or_else(PoisonError::into_inner);
        if running.insert(task.idevid) {
            drop(running);
            let service = self.clone();
            tokio::spawn(async move {
                service.audit(&task, place).await;
                service.inner.audits.lock().unwrap_or_else(PoisonError::into_inner).remove(&task.idevid);
                service.inner.audited.notify_waiters();
            });
        }
    }

    /// Waits until the audit log of a device is not being asked for any more, for as long as a pledge is kept waiting.
    pub(super) async fn until_audited(&self, idevid: &Sha256) {
        let hold = Duration::from_millis(self.inner.settings.config.limits.hold_milliseconds.into());
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
        let _ = tokio::time::timeout(hold, ended).await; // what has come meanwhile is in the database
    }

    async fn audit(&self, task: &AuditTask, _place: OwnedSemaphorePermit) {
        let (serial_number, manufacturer) = (&task.serial_number, &task.manufacturer);
        let stored = match self.audit_outcome(task).await {
            Ok(None) => {
                tracing::info!(serial_number, manufacturer, "the audit log is good");
                self.inner.store.audited(task, None).await
            }
            Ok(Some(problem)) => {
                tracing::warn!(serial_number, manufacturer, problem, "the audit log is refused");
                self.inner.store.audited(task, Some(&problem)).await
            }
            Err(problem) => {
                tracing::warn!(serial_number, manufacturer, problem, "the audit log did not come");
                self.inner.store.audit_failed(task, &problem, self.now()).await
            }
        };
        if let Err(error) = stored {
            tracing::error!(%error, "the database does not answer");
        }
    }

    /// Returns what is wrong with the log of a device, or nothing if it is good. Fails if the log did not come.
    async fn audit_outcome(&self, task: &AuditTask) -> Result<Option<String>, String> {
        let settings = &self.inner.settings;
        let text = |error: &dyn core::fmt::Display| error.to_string();
        let policy = settings.audits.get(&task.manufacturer).ok_or(NOT_CONFIGURED)?;
        if policy.is_ignored {
            return Ok(None);
        }
        let client = settings.masas.get(&task.manufacturer).ok_or(NOT_CONFIGURED)?;
        let url = settings.decisions.masa_url(&task.manufacturer, task.masa_url.as_deref());
        let url = url.map_err(|error| text(&error))?;
        let response = client.request_audit_log(&settings.decisions, &url, &task.registrar_request).await;
        let response = response.map_err(|error| text(&error))?;
        match response.status {
            200 if is(response.content_type.as_deref(), JSON) => {}
            200 => return Err("the MASA sent something of another type than application/json".into()),
            // RFC 8995, 5.8: the MASA knows of no voucher for this domain.
            404 => return Ok(Some(AuditRefused::NotNamed.to_string())),
            status => return Err(format!("the MASA answers {status}")),
        }
        let log = AuditLog::from_json(&response.body, MAX_AUDIT_LOG_LEN).map_err(|error| text(&error))?;
        let (pinned, nonces) = self.inner.store.history(&task.idevid).await.map_err(|error| text(&error))?;
        let domain_ids: Vec<&[u8]> = settings.domain_ids.iter().chain(&pinned).map(Vec::as_slice).collect();
        let history = History { domain_ids: &domain_ids, nonce: &task.nonce, nonces: Some(&nonces) };
        Ok(policy.check(&log, &history).err().map(|refused| refused.to_string()))
    }
}

const NOT_CONFIGURED: &str = "the manufacturer is not configured any more";

/// How long a device has to say what became of its voucher, before its audit log is asked for all the same.
const PATIENCE_SECONDS: u64 = 60;
