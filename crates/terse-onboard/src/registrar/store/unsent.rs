//! What a MASA could not take: because it could not be reached, or because it asks to come again.
//!
//! What must always hold: whichever process comes first sends it again, at once or when the MASA says; what was sent again
//! meanwhile is not touched.

use pki_types::UnixTime;
use terse_brski::digest::Sha256;

use super::audits::AUDIT_TASK;
use super::rows::{audit_task, seconds};
use super::{ANSWER_SECONDS, AuditTask, Store};

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

    /// Returns the devices of a manufacturer, at most [`MAX_UNSENT`], for whose audit logs the MASA could not be reached, and not
    /// after `since`: those that have waited longest.
    pub(in super::super) async fn audits_unsent(
        &self,
        manufacturer: &str,
        since: UnixTime,
    ) -> Result<Vec<AuditTask>, sqlx::Error> {
        let query = format!(
            "{AUDIT_TASK} AND j.audit_unsent = 1 AND j.manufacturer = $1 AND j.audit_tried <= $2 \
             ORDER BY j.audit_tried LIMIT {MAX_UNSENT}"
        );
        let rows = sqlx::query(&query).bind(manufacturer).bind(seconds(since)).fetch_all(&self.pool).await?;
        rows.iter().map(audit_task).collect()
    }

    /// Puts one of them behind the others, so that it does not keep those from being asked for that have another MASA.
    pub(in super::super) async fn move_back(&self, task: &AuditTask, since: UnixTime) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE joinings SET audit_tried = $3 WHERE idevid = $1 AND request = $2 AND audit = 'requested' \
             AND audit_unsent = 1 AND audit_tried < $3",
        )
        .bind(&task.idevid[..])
        .bind(&task.request[..])
        .bind(seconds(since).saturating_add(1))
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

/// The most devices of a manufacturer whose logs are asked for at once.
pub(in super::super) const MAX_UNSENT: usize = 16;
