//! The tables of devices that join and enrol, and of what they say.

use pki_types::UnixTime;
use sqlx::Row;
use terse_brski::digest::Sha256;
use terse_brski::registrar::{Sender, Telemetry, Topic};

use super::revocation::is_kept_out;
use super::rows::{digest, seconds, stored_joining};
use super::{DAY, RequestKey, Store, StoredJoining, Transaction};

/// A client that is known by its certificate.
pub(in super::super) enum Known {
    /// A device with the IDevID by which it got a voucher, or with the LDevID that it got last.
    Joining(Box<StoredJoining>),
    /// A device with an earlier LDevID.
    Earlier(Box<StoredJoining>),
}

/// A certificate that was issued.
pub(in super::super) struct Issued<'a> {
    pub(in super::super) key: RequestKey,
    pub(in super::super) sha256: Sha256,
    pub(in super::super) certificate: &'a [u8],
    pub(in super::super) not_after: u64,
}

/// What became of storing a certificate.
pub(in super::super) enum Stored {
    /// This one is to be sent: another one, if another task has issued it for the same request.
    Certificate(Vec<u8>),
    /// The device has this one already. It is to be sent, and nothing new is stored.
    Known(Vec<u8>),
    /// The device has got too many of late.
    TooMany,
    /// An operator has rejected the device meanwhile.
    Rejected,
    /// An operator has revoked the certificates of the device meanwhile.
    Revoked,
}

impl Store {
    /// Returns the device whose IDevID or LDevID has this SHA-256.
    pub(in super::super) async fn client(&self, certificate: &Sha256) -> Result<Option<Known>, sqlx::Error> {
        // The two are different indices, so that each is looked up by its own.
        let row = sqlx::query(
            "SELECT j.idevid, j.serial_number, j.manufacturer, j.request, j.voucher_status, j.audit, j.ldevid, \
             j.enroll_status, d.is_allowed, k.since AS kept_out FROM joinings j LEFT JOIN decisions d ON d.idevid = j.idevid \
             LEFT JOIN kept_out k ON k.idevid = j.idevid \
             WHERE j.idevid = $1 OR j.ldevid = $1",
        )
        .bind(&certificate[..])
        .fetch_optional(&self.pool)
        .await?;
        if let Some(row) = row {
            return Ok(Some(Known::Joining(Box::new(stored_joining(&row)?))));
        }
        let row = sqlx::query(
            "SELECT j.idevid, j.serial_number, j.manufacturer, j.request, j.voucher_status, j.audit, j.ldevid, \
             j.enroll_status, d.is_allowed, k.since AS kept_out FROM certificates c JOIN joinings j ON j.idevid = c.idevid \
             LEFT JOIN decisions d ON d.idevid = j.idevid LEFT JOIN kept_out k ON k.idevid = j.idevid WHERE c.certificate_sha256 = $1",
        )
        .bind(&certificate[..])
        .fetch_optional(&self.pool)
        .await?;
        row.map(|row| Ok(Known::Earlier(Box::new(stored_joining(&row)?)))).transpose()
    }

    /// Notes that a device gets an identity key, unless that is noted already.
    pub(in super::super) async fn gave_identity_key(
        &self,
        device: &StoredJoining,
        time: UnixTime,
    ) -> Result<(), sqlx::Error> {
        let query = "UPDATE joinings SET identity_key_given = $2 WHERE idevid = $1 AND request = $3 AND identity_key_given IS NULL";
        let query = sqlx::query(query).bind(&device.joining.idevid[..]).bind(seconds(time));
        query.bind(&device.request[..]).execute(&self.pool).await.map(drop)
    }

    /// Stores a status message of a device, and what it changes. The newest of each device are kept.
    pub(in super::super) async fn log_status(
        &self,
        stored: &StoredJoining,
        topic: Topic,
        telemetry: &Telemetry,
        time: UnixTime,
    ) -> Result<(), sqlx::Error> {
        let idevid = &stored.joining.idevid[..];
        let mut transaction = self.begin().await?;
        if telemetry.joining.is_some() {
            let query = match topic {
                Topic::Voucher => "UPDATE joinings SET voucher_status = $3 WHERE idevid = $1 AND request = $2",
                Topic::Enrolment => "UPDATE joinings SET enroll_status = $3 WHERE idevid = $1 AND request = $2",
            };
            let query = sqlx::query(query).bind(idevid).bind(&stored.request[..]);
            query.bind(i64::from(telemetry.status.status)).execute(&mut *transaction).await?;
        }
        sqlx::query(
            "INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention) \
             SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7 FROM telemetry WHERE idevid = $1",
        )
        .bind(idevid)
        .bind(seconds(time))
        .bind(topic_name(topic))
        .bind(sender_name(telemetry.sender))
        .bind(i64::from(telemetry.status.status))
        .bind(telemetry.status.reason.as_ref().map(|reason| reason.replace('\0', "\u{fffd}"))) // PostgreSQL takes no NUL
        .bind(i64::from(telemetry.needs_attention))
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "DELETE FROM telemetry WHERE idevid = $1 AND number <= \
             (SELECT MAX(number) FROM telemetry WHERE idevid = $1) - $2",
        )
        .bind(idevid)
        .bind(MAX_MESSAGES)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await
    }

    /// Returns the certificate that was issued for this request to this client, unless it has expired.
    pub(in super::super) async fn issued(
        &self,
        request: &Sha256,
        client: &Sha256,
        time: UnixTime,
    ) -> Result<Option<Vec<u8>>, sqlx::Error> {
        let row =
            sqlx::query("SELECT certificate FROM certificates WHERE request = $1 AND client = $2 AND not_after > $3")
                .bind(&request[..])
                .bind(&client[..])
                .bind(seconds(time))
                .fetch_optional(&self.pool)
                .await?;
        row.map(|row| row.try_get("certificate")).transpose()
    }

    /// Returns the LDevIDs of a device that have not expired and the last ones that have, the newest first and at most so
    /// many; without those that were issued before an operator has accepted the device.
    pub(in super::super) async fn standing_ldevids(
        &self,
        idevid: &Sha256,
        time: UnixTime,
    ) -> Result<Vec<Vec<u8>>, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT certificate FROM certificates c WHERE idevid = $1 AND (not_after > $2 OR issued = \
             (SELECT MAX(newest.issued) FROM certificates newest WHERE newest.idevid = c.idevid)) AND NOT EXISTS \
             (SELECT 1 FROM decisions d WHERE d.idevid = c.idevid AND d.is_allowed = 1 AND d.decided > c.issued) \
             ORDER BY issued DESC LIMIT $3",
        )
        .bind(&idevid[..])
        .bind(seconds(time))
        .bind(MAX_STANDING)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| row.try_get("certificate")).collect()
    }

    /// Removes certificates that have expired, but for the newest of each device: that may be revoked.
    pub(super) async fn prune_certificates(&self, time: UnixTime) -> Result<(), sqlx::Error> {
        sqlx::query(
            "DELETE FROM certificates WHERE not_after <= $1 AND EXISTS (SELECT 1 FROM certificates newer \
             WHERE newer.idevid = certificates.idevid AND newer.issued > certificates.issued)",
        )
        .bind(seconds(time))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Stores a certificate as the newest of a device.
    pub(in super::super) async fn issue(&self, issued: &Issued<'_>, time: UnixTime) -> Result<Stored, sqlx::Error> {
        let mut transaction = self.begin().await?;
        let rejected = sqlx::query("SELECT 1 FROM decisions WHERE idevid = $1 AND is_allowed = 0");
        if rejected.bind(&issued.key.idevid[..]).fetch_optional(&mut *transaction).await?.is_some() {
            return Ok(Stored::Rejected);
        }
        if is_kept_out(&mut transaction, &issued.key.idevid).await? {
            return Ok(Stored::Revoked);
        }
        let known = sqlx::query("SELECT 1 FROM certificates WHERE certificate_sha256 = $1 AND idevid = $2");
        let known = known.bind(&issued.sha256[..]).bind(&issued.key.idevid[..]);
        if known.fetch_optional(&mut *transaction).await?.is_some() {
            set_newest(&mut transaction, &issued.key.idevid, &issued.sha256).await?;
            transaction.commit().await?;
            return Ok(Stored::Known(issued.certificate.into()));
        }
        let count: i64 = sqlx::query("SELECT COUNT(*) FROM certificates WHERE idevid = $1 AND issued > $2")
            .bind(&issued.key.idevid[..])
            .bind(seconds(time).saturating_sub(DAY))
            .fetch_one(&mut *transaction)
            .await?
            .try_get(0)?;
        if count >= MAX_CERTIFICATES_A_DAY {
            return Ok(Stored::TooMany);
        }
        // What has expired makes room.
        sqlx::query("DELETE FROM certificates WHERE request = $1 AND client = $2 AND not_after <= $3")
            .bind(&issued.key.request[..])
            .bind(&issued.key.client[..])
            .bind(seconds(time))
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "INSERT INTO certificates (request, client, idevid, certificate_sha256, certificate, issued, not_after) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (request, client) DO NOTHING",
        )
        .bind(&issued.key.request[..])
        .bind(&issued.key.client[..])
        .bind(&issued.key.idevid[..])
        .bind(&issued.sha256[..])
        .bind(issued.certificate)
        .bind(seconds(time))
        .bind(i64::try_from(issued.not_after).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await?;
        let row =
            sqlx::query("SELECT certificate, certificate_sha256 FROM certificates WHERE request = $1 AND client = $2")
                .bind(&issued.key.request[..])
                .bind(&issued.key.client[..])
                .fetch_one(&mut *transaction)
                .await?;
        let sha256 = digest(&row, "certificate_sha256")?;
        set_newest(&mut transaction, &issued.key.idevid, &sha256).await?;
        transaction.commit().await?;
        Ok(Stored::Certificate(row.try_get("certificate")?))
    }
}

/// Notes which LDevID a device has got last; it has not said anything of that.
async fn set_newest(transaction: &mut Transaction, idevid: &Sha256, ldevid: &Sha256) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE joinings SET ldevid = $2, enroll_status = NULL WHERE idevid = $1 AND (ldevid IS NULL OR ldevid <> $2)",
    )
    .bind(&idevid[..])
    .bind(&ldevid[..])
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

const fn topic_name(topic: Topic) -> &'static str {
    match topic {
        Topic::Voucher => "voucher",
        Topic::Enrolment => "enrolment",
    }
}

const fn sender_name(sender: Sender) -> &'static str {
    match sender {
        Sender::Idevid => "idevid",
        Sender::Ldevid => "ldevid",
        Sender::Other => "other",
    }
}

/// The most status messages that are kept of one device.
const MAX_MESSAGES: i64 = 32;

/// The most LDevIDs of a device that are looked for in CRLs: those of some days at least.
const MAX_STANDING: i64 = 4 * MAX_CERTIFICATES_A_DAY;

/// The most certificates for one device in a day.
pub(super) const MAX_CERTIFICATES_A_DAY: i64 = 32;
