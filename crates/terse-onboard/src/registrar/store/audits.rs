//! What is known of the audit logs of devices that join, and which of them have not come.
//!
//! What must always hold: a log counts for the voucher by which it was asked for; a bad one stays bad until a voucher of the MASA
//! has another one, or an operator accepts the device; a MASA is not asked for the log of a device again at once.

use pki_types::UnixTime;
use terse_brski::digest::Sha256;
use terse_brski::registrar::PledgeRequest;
use terse_brski::voucher::Nonce;

use super::Store;
use super::rows::{audit_task, seconds};
use crate::store::Transaction;

/// What the audit log of a device is asked for with.
pub(in super::super) struct AuditTask {
    pub(in super::super) idevid: Sha256,
    pub(in super::super) serial_number: String,
    pub(in super::super) manufacturer: String,
    pub(in super::super) masa_url: Option<String>,
    pub(in super::super) request: Sha256,
    /// The nonce of the voucher, if it has one.
    pub(in super::super) nonce: Option<Nonce>,
    pub(in super::super) registrar_request: Vec<u8>,
    /// When it may be asked for again at the earliest; the start of 1970 unless the MASA has answered something else just now.
    pub(in super::super) due: UnixTime,
}

impl Store {
    /// Returns the devices, at most a few, whose audit log has not come, and has not been asked for since `before`: those
    /// that have waited longest.
    pub(in super::super) async fn audits_due(&self, before: UnixTime) -> Result<Vec<AuditTask>, sqlx::Error> {
        let query = format!("{AUDIT_TASK} AND j.audit_tried <= $1 ORDER BY j.audit_tried LIMIT 16");
        let rows = sqlx::query(&query).bind(seconds(before)).fetch_all(&self.pool).await?;
        rows.iter().map(audit_task).collect()
    }

    /// Returns what the audit log of a device is asked for with, if that has not come.
    pub(in super::super) async fn audit_task(&self, idevid: &Sha256) -> Result<Option<AuditTask>, sqlx::Error> {
        let query = format!("{AUDIT_TASK} AND j.idevid = $1");
        let row = sqlx::query(&query).bind(&idevid[..]).fetch_optional(&self.pool).await?;
        row.as_ref().map(audit_task).transpose()
    }

    /// Notes why the audit log did not come: because the MASA could not be reached, or because it has answered something else.
    pub(in super::super) async fn audit_did_not_come(
        &self,
        task: &AuditTask,
        problem: &str,
        is_unsent: bool,
        time: UnixTime,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE joinings SET audit_reason = $3, audit_tried = $4, audit_unsent = $5 \
             WHERE idevid = $1 AND request = $2 AND audit = 'requested'",
        )
        .bind(&task.idevid[..])
        .bind(&task.request[..])
        .bind(problem)
        .bind(seconds(time))
        .bind(i64::from(is_unsent))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Stores what the audit log said, for the voucher by which it was asked for.
    pub(in super::super) async fn audited(&self, task: &AuditTask, problem: Option<&str>) -> Result<(), sqlx::Error> {
        let state = if problem.is_some() { "bad" } else { "good" };
        sqlx::query(
            "UPDATE joinings SET audit = $3, audit_reason = $4, audit_unsent = 0 \
             WHERE idevid = $1 AND request = $2 AND audit = 'requested'",
        )
        .bind(&task.idevid[..])
        .bind(&task.request[..])
        .bind(state)
        .bind(problem)
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

/// What is known of the audit log of a device that joins.
pub(super) struct JoiningAudit<'a> {
    pub(super) state: &'a str,
    pub(super) reason: Option<&'a str>,
    /// When the voucher was fetched, if that was in advance.
    pub(super) fetched: Option<i64>,
}

impl Default for JoiningAudit<'_> {
    fn default() -> Self {
        Self { state: "requested", reason: None, fetched: None }
    }
}

/// Stores that a device joins with the voucher that it has just got, and what its audit log said. One that came with a voucher
/// that was fetched in advance is old: it takes the place neither of a bad one, nor of what an operator has accepted since.
pub(super) async fn join(
    transaction: &mut Transaction,
    request: &PledgeRequest,
    manufacturer: &str,
    audit: &JoiningAudit<'_>,
    time: UnixTime,
) -> Result<(), sqlx::Error> {
    // A good state that still has a reason is a bad one that an operator has accepted.
    let is_kept = "CAST($8 AS BIGINT) IS NOT NULL AND (joinings.audit = 'bad' OR (joinings.audit = 'good' \
                   AND joinings.audit_reason IS NOT NULL AND EXISTS (SELECT 1 FROM decisions d \
                   WHERE d.idevid = joinings.idevid AND d.is_allowed = 1 AND d.decided >= CAST($8 AS BIGINT))))";
    let query = format!(
        "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_reason, audit_tried) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $9) ON CONFLICT (idevid) DO UPDATE SET \
         request = excluded.request, begun = excluded.begun, \
         audit = CASE WHEN {is_kept} THEN joinings.audit ELSE excluded.audit END, \
         audit_reason = CASE WHEN {is_kept} THEN joinings.audit_reason ELSE excluded.audit_reason END, \
         audit_tried = excluded.audit_tried, audit_unsent = 0, voucher_status = NULL, ldevid = NULL, \
         identity_key_given = NULL, enroll_status = NULL",
    );
    sqlx::query(&query)
        .bind(&request.client()[..])
        .bind(&request.idevid().serial_number)
        .bind(manufacturer)
        .bind(&request.sha256()[..])
        .bind(seconds(time))
        .bind(audit.state)
        .bind(audit.reason)
        .bind(audit.fetched)
        .bind(seconds(time).saturating_sub(if audit.reason.is_some() { AUDIT_SECONDS } else { 0 })) // it is due
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

/// What audit logs are asked for with, of the devices whose logs have not come. What a MASA has not been asked, or could not
/// take, is due at once; otherwise it has answered something else, and is left alone for [`AUDIT_SECONDS`].
pub(super) const AUDIT_TASK: &str = "SELECT j.idevid, j.serial_number, j.manufacturer, r.masa, r.request, r.nonce, \
                          r.registrar_request, r.fetched, \
                          CASE WHEN j.audit_reason IS NULL OR j.audit_unsent = 1 THEN 0 ELSE j.audit_tried + 5 END AS due \
                          FROM joinings j JOIN requests r ON r.request = j.request WHERE j.audit = 'requested'";

/// How long a MASA is left alone that has answered something else than the audit log of a device; [`AUDIT_TASK`] has it, too.
pub(super) const AUDIT_SECONDS: i64 = 5;
