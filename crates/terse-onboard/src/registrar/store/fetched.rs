//! Vouchers without a nonce that an operator has fetched in advance.
//!
//! What must always hold: a request is stored before it is sent, because the audit log of the device names it; one voucher of
//! a device is kept, and what a pledge gets of it is stored with the pledge's request.

use pki_types::UnixTime;
use serde::Serialize;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;
use terse_brski::registrar::{ExpectedDevice, NoncelessRequest, PledgeRequest, ReceivedVoucher};

use super::super::audit::KnownVouchers;
use super::history::{self, MAX_REMEMBERED};
use super::rows::{digest, seconds, time, unsigned};
use super::{DAY, JoiningAudit, Store, has_too_many, insert, join};

/// A voucher that can be used.
pub(in super::super) struct StoredVoucher {
    request: Sha256,
    pub(in super::super) idevid_issuer: Vec<u8>,
    registrar_request: Vec<u8>,
    created_on: i64,
    pub(in super::super) voucher: Vec<u8>,
    audit: String,
    audit_reason: Option<String>,
}

/// A voucher that an operator has fetched for a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FetchedVoucher {
    /// The serial number of the device.
    pub serial_number: String,
    /// The name of its manufacturer.
    pub manufacturer: String,
    /// When the voucher was asked for, in seconds since 1970.
    pub fetched: u64,
    /// When it ends, in seconds since 1970; `None` if it has no end.
    pub expires_on: Option<u64>,
    /// What the audit log of the device said then: `requested` if it did not come, `good` or `bad`.
    pub audit: String,
    /// Why the audit log is bad, or why it did not come.
    pub audit_reason: Option<String>,
}

impl Store {
    /// Whether an operator has rejected a device with this serial number.
    pub(in super::super) async fn is_rejected(&self, device: &ExpectedDevice) -> Result<bool, sqlx::Error> {
        let row = sqlx::query(
            "SELECT COUNT(*) FROM decisions WHERE manufacturer = $1 AND serial_number = $2 AND is_allowed = 0",
        )
        .bind(&device.manufacturer)
        .bind(&device.serial_number)
        .fetch_one(&self.pool)
        .await?;
        Ok(row.try_get::<i64, _>(0)? > 0)
    }

    /// Returns the last request for a device, if the MASA has not answered it and takes it still: it is sent again, so that
    /// it has one event in the audit log.
    pub(in super::super) async fn unanswered_fetch(
        &self,
        device: &ExpectedDevice,
        now: UnixTime,
    ) -> Result<Option<(Sha256, Vec<u8>)>, sqlx::Error> {
        let row = sqlx::query(
            "SELECT request, registrar_request FROM fetched WHERE manufacturer = $1 AND serial_number = $2 \
             AND idevid_issuer = $3 AND created_on > $4 AND voucher IS NULL AND registrar_request IS NOT NULL \
             ORDER BY created_on DESC LIMIT 1",
        )
        .bind(&device.manufacturer)
        .bind(&device.serial_number)
        .bind(&device.idevid_issuer[..])
        .bind(seconds(now).saturating_sub(FRESH_SECONDS))
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        sqlx::query("UPDATE fetched SET sent = $2 WHERE request = $1")
            .bind(row.try_get::<&[u8], _>("request")?)
            .bind(seconds(now))
            .execute(&self.pool)
            .await?;
        Ok(Some((digest(&row, "request")?, row.try_get("registrar_request")?)))
    }

    /// Stores a request that is about to be sent. Returns whether there are not too many for the device of late.
    pub(in super::super) async fn begin_fetch(
        &self,
        device: &ExpectedDevice,
        request: &Sha256,
        registrar_request: &[u8],
        now: UnixTime,
    ) -> Result<bool, sqlx::Error> {
        let mut transaction = self.begin().await?;
        let count: i64 = sqlx::query(
            "SELECT COUNT(*) FROM fetched WHERE manufacturer = $1 AND serial_number = $2 AND created_on > $3",
        )
        .bind(&device.manufacturer)
        .bind(&device.serial_number)
        .bind(seconds(now).saturating_sub(DAY))
        .fetch_one(&mut *transaction)
        .await?
        .try_get(0)?;
        if count >= MAX_FETCHES_A_DAY {
            return Ok(false);
        }
        // One that can be used stays.
        sqlx::query(
            "DELETE FROM fetched WHERE manufacturer = $1 AND serial_number = $2 AND voucher IS NULL AND created_on < \
             (SELECT MIN(newest.created_on) FROM (SELECT created_on FROM fetched WHERE manufacturer = $1 \
             AND serial_number = $2 ORDER BY created_on DESC LIMIT $3) AS newest)",
        )
        .bind(&device.manufacturer)
        .bind(&device.serial_number)
        .bind(MAX_REMEMBERED)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO fetched (request, manufacturer, serial_number, idevid_issuer, registrar_request, created_on, \
             sent, audit) VALUES ($1, $2, $3, $4, $5, $6, $6, 'requested') ON CONFLICT (request) DO NOTHING",
        )
        .bind(&request[..])
        .bind(&device.manufacturer)
        .bind(&device.serial_number)
        .bind(&device.idevid_issuer[..])
        .bind(registrar_request)
        .bind(seconds(now))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Notes that the MASA has refused a request: a later one is another request. A voucher that the device has already stays: it
    /// was given for a time.
    pub(in super::super) async fn fetch_refused(&self, request: &Sha256) -> Result<(), sqlx::Error> {
        let query = sqlx::query("UPDATE fetched SET registrar_request = NULL WHERE request = $1 AND voucher IS NULL");
        query.bind(&request[..]).execute(&self.pool).await?;
        Ok(())
    }

    /// Stores a voucher, in place of the one that the device has.
    pub(in super::super) async fn fetched(
        &self,
        device: &ExpectedDevice,
        request: &Sha256,
        received: &ReceivedVoucher,
    ) -> Result<(), sqlx::Error> {
        let findings = received.findings.as_ref();
        let mut transaction = self.begin().await?;
        sqlx::query(
            "UPDATE fetched SET voucher = NULL, registrar_request = NULL \
             WHERE manufacturer = $1 AND serial_number = $2 AND idevid_issuer = $3 AND request <> $4",
        )
        .bind(&device.manufacturer)
        .bind(&device.serial_number)
        .bind(&device.idevid_issuer[..])
        .bind(&request[..])
        .execute(&mut *transaction)
        .await?;
        sqlx::query("UPDATE fetched SET voucher = $2, expires = $3, domain_id = $4 WHERE request = $1")
            .bind(&request[..])
            .bind(&received.voucher)
            .bind(findings.and_then(|findings| findings.expires_on).map(seconds))
            .bind(findings.and_then(|findings| findings.domain_id.as_deref()))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Stores what the audit log said: nothing that is wrong, or what that is; or why it did not come.
    pub(in super::super) async fn fetch_audited(
        &self,
        request: &Sha256,
        audit: &str,
        reason: Option<&str>,
    ) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE fetched SET audit = $2, audit_reason = $3 WHERE request = $1")
            .bind(&request[..])
            .bind(audit)
            .bind(reason)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Returns the vouchers that were fetched for devices with this serial number and have not expired, the newest first.
    pub(in super::super) async fn usable(
        &self,
        manufacturer: &str,
        serial_number: &str,
        now: UnixTime,
    ) -> Result<Vec<StoredVoucher>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT request, idevid_issuer, registrar_request, created_on, voucher, audit, audit_reason FROM fetched \
             WHERE manufacturer = $1 AND serial_number = $2 AND voucher IS NOT NULL AND (expires IS NULL OR expires > $3) \
             ORDER BY created_on DESC LIMIT 8",
        )
        .bind(manufacturer)
        .bind(serial_number)
        .bind(seconds(now))
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(stored_voucher).collect()
    }

    /// Stores that a pledge gets such a voucher, and that the device joins with it and with the audit log that came with it.
    /// Returns `Some(false)` if another task has answered the request, and `None` if the device has sent too many.
    pub(in super::super) async fn answer_with(
        &self,
        request: &PledgeRequest,
        manufacturer: &str,
        stored: &StoredVoucher,
        received: &ReceivedVoucher,
        now: UnixTime,
    ) -> Result<Option<bool>, sqlx::Error> {
        let mut transaction = self.begin().await?;
        let known = sqlx::query("SELECT state FROM requests WHERE request = $1").bind(&request.sha256()[..]);
        if known.fetch_optional(&mut *transaction).await?.is_none() {
            if has_too_many(&mut transaction, request, now).await? {
                return Ok(None);
            }
            insert(request, manufacturer, now, "allowed").execute(&mut *transaction).await?;
        }
        // A request with the pledge's nonce may have been sent: it stays, and the audit log can be asked for with either.
        let done = sqlx::query(
            "UPDATE requests SET state = 'answered', content_type = $2, voucher = $3, fetched = $4, \
             registrar_request = COALESCE(registrar_request, $5), created_on = COALESCE(created_on, $6), \
             sent = COALESCE(sent, $6), failure_status = NULL, failure_text = NULL \
             WHERE request = $1 AND state IN ('awaiting-operator', 'allowed', 'forwarded')",
        )
        .bind(&request.sha256()[..])
        .bind(&received.content_type)
        .bind(&stored.voucher)
        .bind(&stored.request[..])
        .bind(&stored.registrar_request)
        .bind(stored.created_on)
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() == 1 {
            let domain_id = received.findings.as_ref().and_then(|findings| findings.domain_id.as_deref());
            history::answered(&mut transaction, request, domain_id).await?;
            let (state, reason) = (stored.audit.as_str(), stored.audit_reason.as_deref());
            let audit = JoiningAudit { state, reason, fetched: Some(stored.created_on) };
            join(&mut transaction, request, manufacturer, &audit, now).await?;
        }
        transaction.commit().await?;
        Ok(Some(done.rows_affected() == 1))
    }

    /// Returns what is known of the vouchers that were fetched for devices with this serial number.
    pub(in super::super) async fn fetched_history(
        &self,
        manufacturer: &str,
        serial_number: &str,
    ) -> Result<KnownVouchers, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT created_on, sent, domain_id FROM fetched WHERE manufacturer = $1 AND serial_number = $2 \
             ORDER BY created_on DESC LIMIT $3",
        )
        .bind(manufacturer)
        .bind(serial_number)
        .bind(MAX_REMEMBERED)
        .fetch_all(&self.pool)
        .await?;
        let mut known = KnownVouchers::default();
        for row in rows {
            let (first_sent, last_sent) = (time(row.try_get("created_on")?), time(row.try_get("sent")?));
            known.nonceless.push(NoncelessRequest { first_sent, last_sent });
            known.domain_ids.extend(row.try_get::<Option<Vec<u8>>, _>("domain_id")?);
        }
        Ok(known)
    }

    /// Returns the vouchers that have not expired, the newest first.
    pub(in super::super) async fn fetched_vouchers(&self, now: UnixTime) -> Result<Vec<FetchedVoucher>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT serial_number, manufacturer, created_on, expires, audit, audit_reason FROM fetched \
             WHERE voucher IS NOT NULL AND (expires IS NULL OR expires > $1) ORDER BY created_on DESC LIMIT $2",
        )
        .bind(seconds(now))
        .bind(super::operator::MAX_REPORTED)
        .fetch_all(&self.pool)
        .await?;
        let report = |row: &AnyRow| {
            Ok(FetchedVoucher {
                serial_number: row.try_get("serial_number")?,
                manufacturer: row.try_get("manufacturer")?,
                fetched: unsigned(row.try_get("created_on")?),
                expires_on: row.try_get::<Option<i64>, _>("expires")?.map(unsigned),
                audit: row.try_get("audit")?,
                audit_reason: row.try_get("audit_reason")?,
            })
        };
        rows.iter().map(report).collect()
    }

    /// Returns the manufacturers of which a voucher for a device with this serial number was fetched.
    pub(in super::super) async fn manufacturers_fetched(
        &self,
        serial_number: &str,
    ) -> Result<Vec<String>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT DISTINCT manufacturer FROM fetched WHERE serial_number = $1 AND voucher IS NOT NULL \
             ORDER BY manufacturer LIMIT $2",
        )
        .bind(serial_number)
        .bind(super::operator::MAX_REPORTED)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| row.try_get(0)).collect()
    }

    /// Withdraws the vouchers for devices with this serial number. That they were asked for stays.
    pub(in super::super) async fn withdraw_fetched(
        &self,
        manufacturer: &str,
        serial_number: &str,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE fetched SET voucher = NULL, registrar_request = NULL WHERE manufacturer = $1 AND serial_number = $2",
        )
        .bind(manufacturer)
        .bind(serial_number)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Removes vouchers that have expired. That they were asked for stays, because the audit log of the device names them.
    pub(in super::super) async fn prune_fetched(&self, now: UnixTime) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE fetched SET voucher = NULL, registrar_request = NULL WHERE voucher IS NOT NULL AND expires <= $1",
        )
        .bind(seconds(now))
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

fn stored_voucher(row: &AnyRow) -> Result<StoredVoucher, sqlx::Error> {
    Ok(StoredVoucher {
        request: digest(row, "request")?,
        idevid_issuer: row.try_get("idevid_issuer")?,
        registrar_request: row.try_get("registrar_request")?,
        created_on: row.try_get("created_on")?,
        voucher: row.try_get("voucher")?,
        audit: row.try_get("audit")?,
        audit_reason: row.try_get("audit_reason")?,
    })
}

/// How long the same request is sent to a MASA again: it may refuse an old one as stale.
const FRESH_SECONDS: i64 = DAY / 2;

/// The most requests for one device in a day.
const MAX_FETCHES_A_DAY: i64 = 16;
