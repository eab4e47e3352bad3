//! What an operator sees and decides.
//!
//! What must always hold: a decision is about one device, by its whole IDevID: two manufacturers may use the same serial
//! number.

use serde::Serialize;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;

use super::rows::{digest, seconds, unsigned};
use super::{DAY, FORGOTTEN_AFTER, Store};

/// A device that waits for an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pending {
    /// Its serial number.
    pub serial_number: String,
    /// The name of its manufacturer.
    pub manufacturer: String,
    /// Since when it waits, in seconds since 1970.
    pub since: u64,
    /// What it waits for.
    pub reason: PendingReason,
}

/// What a device waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PendingReason {
    /// It wants to join.
    Join,
    /// Its audit log is not as the policy wants it, and this is why.
    AuditLog(String),
}

/// A device that has had a voucher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// Its serial number.
    pub serial_number: String,
    /// The name of its manufacturer.
    pub manufacturer: String,
    /// When it got the voucher, in seconds since 1970.
    pub voucher: u64,
    /// What it said of the voucher.
    pub voucher_status: Option<bool>,
    /// What its audit log said: `requested`, `good` or `bad`.
    pub audit: String,
    /// Why the audit log is bad, or why it did not come.
    pub audit_reason: Option<String>,
    /// The SHA-256 of its newest LDevID, in hexadecimal digits.
    pub ldevid: Option<String>,
    /// When that ends, in seconds since 1970.
    pub ldevid_not_after: Option<u64>,
    /// When it first got an identity key, in seconds since 1970.
    pub identity_key: Option<u64>,
    /// What it said of its enrolment, by a certificate or by an identity key.
    pub enroll_status: Option<bool>,
    /// The reason that it gave last, in its own words.
    pub last_reason: Option<String>,
    /// Whether an operator has rejected it.
    pub is_rejected: bool,
}

/// The newest LDevID of a device, which ends soon or has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EndingCertificate {
    /// The serial number of the device.
    pub serial_number: String,
    /// The name of its manufacturer.
    pub manufacturer: String,
    /// The last second of the certificate, in seconds since 1970.
    pub not_after: u64,
    /// Whether it has ended.
    pub has_ended: bool,
}

/// A device as an operator names it.
pub(in super::super) struct Device {
    pub(in super::super) idevid: Sha256,
    pub(in super::super) serial_number: String,
    pub(in super::super) manufacturer: String,
}

impl Store {
    /// Returns the newest LDevID of each device that ends within so many days, or has ended since as many, the first one first.
    pub(in super::super) async fn certificates_ending(
        &self,
        days: u32,
        now: pki_types::UnixTime,
    ) -> Result<Vec<EndingCertificate>, sqlx::Error> {
        let (now, span) = (seconds(now), i64::from(days).saturating_mul(DAY));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.ending(now.saturating_sub(span), now.saturating_add(span), after).await?;
            found.extend(page.rows.into_iter().map(|one| EndingCertificate {
                serial_number: one.serial_number,
                manufacturer: one.manufacturer,
                not_after: one.not_after,
                has_ended: i64::try_from(one.not_after).is_ok_and(|end| end <= now),
            }));
            let Some(next) = page.next else { return Ok(found) };
            after = Some(next);
        }
    }

    /// Returns what waits for an operator, the longest first.
    pub(in super::super) async fn pending(&self, now: pki_types::UnixTime) -> Result<Vec<Pending>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT serial_number, manufacturer, MIN(received) AS since, NULL AS reason FROM requests r \
             WHERE state = 'awaiting-operator' AND received > $1 \
             AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.idevid = r.idevid) \
             GROUP BY idevid, serial_number, manufacturer \
             UNION ALL SELECT serial_number, manufacturer, begun AS since, audit_reason AS reason FROM joinings j \
             WHERE audit = 'bad' AND NOT EXISTS \
             (SELECT 1 FROM decisions d WHERE d.idevid = j.idevid AND d.is_allowed = 0) ORDER BY since LIMIT $2",
        )
        .bind(seconds(now).saturating_sub(FORGOTTEN_AFTER))
        .bind(MAX_REPORTED)
        .fetch_all(&self.pool)
        .await?;
        let pending = |row: &AnyRow| {
            let reason = row.try_get::<Option<String>, _>("reason")?;
            Ok(Pending {
                serial_number: row.try_get("serial_number")?,
                manufacturer: row.try_get("manufacturer")?,
                since: unsigned(row.try_get("since")?),
                reason: reason.map_or(PendingReason::Join, PendingReason::AuditLog),
            })
        };
        rows.iter().map(pending).collect()
    }

    /// Returns the devices that are known with this serial number: their requests are forgotten after some days, and what was
    /// decided about them is not.
    pub(in super::super) async fn devices_named(&self, serial_number: &str) -> Result<Vec<Device>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT idevid, serial_number, manufacturer FROM requests WHERE serial_number = $1 \
             UNION SELECT idevid, serial_number, manufacturer FROM joinings WHERE serial_number = $1 \
             UNION SELECT idevid, serial_number, manufacturer FROM decisions WHERE serial_number = $1 LIMIT $2",
        )
        .bind(serial_number)
        .bind(MAX_REPORTED)
        .fetch_all(&self.pool)
        .await?;
        let device = |row: &AnyRow| {
            Ok(Device {
                idevid: digest(row, "idevid")?,
                serial_number: row.try_get("serial_number")?,
                manufacturer: row.try_get("manufacturer")?,
            })
        };
        rows.iter().map(device).collect()
    }

    /// Stores what an operator has decided about a device. Accepting it also accepts the audit log that it has.
    pub(in super::super) async fn decide(
        &self,
        device: &Device,
        is_allowed: bool,
        now: pki_types::UnixTime,
    ) -> Result<(), sqlx::Error> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "INSERT INTO decisions (idevid, serial_number, manufacturer, is_allowed, decided) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (idevid) DO UPDATE SET \
             is_allowed = excluded.is_allowed, decided = excluded.decided",
        )
        .bind(&device.idevid[..])
        .bind(&device.serial_number)
        .bind(&device.manufacturer)
        .bind(i64::from(is_allowed))
        .bind(seconds(now))
        .execute(&mut *transaction)
        .await?;
        if is_allowed {
            sqlx::query("UPDATE joinings SET audit = 'good' WHERE idevid = $1 AND audit = 'bad'")
                .bind(&device.idevid[..])
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// Returns the devices that have had a voucher, the newest first.
    pub(in super::super) async fn devices(&self) -> Result<Vec<DeviceReport>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT j.serial_number, j.manufacturer, j.begun, j.voucher_status, j.audit, j.audit_reason, j.ldevid, \
             j.identity_key_given, j.enroll_status, d.is_allowed, c.not_after, (SELECT t.reason FROM telemetry t WHERE t.idevid = j.idevid \
             ORDER BY t.number DESC LIMIT 1) AS last_reason FROM joinings j \
             LEFT JOIN decisions d ON d.idevid = j.idevid \
             LEFT JOIN certificates c ON c.certificate_sha256 = j.ldevid ORDER BY j.begun DESC LIMIT $1",
        )
        .bind(MAX_REPORTED)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(report).collect()
    }
}

fn report(row: &AnyRow) -> Result<DeviceReport, sqlx::Error> {
    let flag = |name| -> Result<Option<bool>, sqlx::Error> {
        Ok(row.try_get::<Option<i64>, _>(name)?.map(|value| value != 0))
    };
    let ldevid = row.try_get::<Option<Vec<u8>>, _>("ldevid")?;
    Ok(DeviceReport {
        serial_number: row.try_get("serial_number")?,
        manufacturer: row.try_get("manufacturer")?,
        voucher: unsigned(row.try_get("begun")?),
        voucher_status: flag("voucher_status")?,
        audit: row.try_get("audit")?,
        audit_reason: row.try_get("audit_reason")?,
        ldevid: ldevid.map(|digest| digest.iter().map(|byte| format!("{byte:02x}")).collect()),
        ldevid_not_after: row.try_get::<Option<i64>, _>("not_after")?.map(unsigned),
        identity_key: row.try_get::<Option<i64>, _>("identity_key_given")?.map(unsigned),
        enroll_status: flag("enroll_status")?,
        last_reason: row.try_get("last_reason")?,
        is_rejected: flag("is_allowed")? == Some(false),
    })
}

/// The most devices of one report.
pub(super) const MAX_REPORTED: i64 = 10_000;
