//! What a MASA could not take: because it could not be reached, or because it asks to come again.
//!
//! What must always hold: whichever process comes first sends it again, at once or when the MASA says; what was sent again
//! meanwhile is not touched.

use pki_types::UnixTime;
use terse_brski::digest::Sha256;

use super::rows::{audit_task, seconds};
use super::{ANSWER_SECONDS, AUDIT_TASK, AuditTask, Store};

impl Store {
    /// Notes that the MASA wants the request that was sent at this time again, after so many seconds.
    pub(in super::super) async fn delayed(
        &self,
        request: &Sha256,
        sent: UnixTime,
        retry_after: u32,
        time: UnixTime,
    ) -> Result<(), sqlx::Error> {
        // A request is sent again when it was sent so many seconds ago.
        let as_if_sent = seconds(time).saturating_add(retry_after.into()).saturating_sub(ANSWER_SECONDS + 1);
        sqlx::query(
            "UPDATE requests SET sent = $3, failure_status = 202, failure_text = '' \
             WHERE request = $1 AND state = 'forwarded' AND sent = $2",
        )
        .bind(&request[..])
        .bind(seconds(sent))
        .bind(as_if_sent)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Notes that the request that was sent at this time has not reached the MASA.
    pub(in super::super) async fn unsent(&self, request: &Sha256, sent: UnixTime) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE requests SET sent = 0, failure_status = 202, failure_text = '' \
             WHERE request = $1 AND state = 'forwarded' AND sent = $2",
        )
        .bind(&request[..])
        .bind(seconds(sent))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Notes that the MASA could not be reached for an audit log, and why.
    pub(in super::super) async fn audit_unsent(
        &self,
        task: &AuditTask,
        problem: &str,
        time: UnixTime,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE joinings SET audit_reason = $3, audit_tried = $4, audit_unsent = 1 \
             WHERE idevid = $1 AND request = $2 AND audit = 'requested'",
        )
        .bind(&task.idevid[..])
        .bind(&task.request[..])
        .bind(problem)
        .bind(seconds(time))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns the devices of a manufacturer, at most a few, for whose audit logs the MASA could not be reached: those that
    /// have waited longest.
    pub(in super::super) async fn audits_unsent(&self, manufacturer: &str) -> Result<Vec<AuditTask>, sqlx::Error> {
        let query =
            format!("{AUDIT_TASK} AND j.audit_unsent = 1 AND j.manufacturer = $1 ORDER BY j.audit_tried LIMIT 16");
        let rows = sqlx::query(&query).bind(manufacturer).fetch_all(&self.pool).await?;
        rows.iter().map(audit_task).collect()
    }
}
