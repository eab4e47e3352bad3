//! What the status pages show.
//!
//! What must always hold: a query goes by an index and ends with its page, however large the tables are; the next page
//! begins behind the last row of this one, and not by counting rows.

use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;

use super::operator::Device;
use super::rows::{digest, not_a_digest, seconds, unsigned};
use super::{FORGOTTEN_AFTER, NEWEST_LDEVIDS, Store};

mod lists;

pub(in super::super) use lists::{Asked, Certificate, DeviceHistory, Ending, Failure};

/// The rows of a page, and where the next page begins if there is one.
pub(in super::super) struct Rows<T, K> {
    pub(in super::super) rows: Vec<T>,
    pub(in super::super) next: Option<K>,
}

/// Where a page begins that is in the order of serial numbers: behind this serial number and IDevID.
pub(in super::super) type BySerial = (String, Vec<u8>);

/// Where a page begins that is in the order of time: behind this time and digest.
pub(in super::super) type ByTime = (i64, Vec<u8>);

/// A device that waits for an operator.
pub(in super::super) struct Waiting {
    pub(in super::super) idevid: Sha256,
    pub(in super::super) serial_number: String,
    pub(in super::super) manufacturer: String,
    pub(in super::super) since: u64,
    pub(in super::super) masa: Option<String>,
    /// Its certificate, unless that is one of an earlier version of the tables.
    pub(in super::super) certificate: Option<Vec<u8>>,
    /// What is wrong with its audit log, if it has a voucher.
    pub(in super::super) audit_reason: Option<String>,
}

/// A device, and how far it came.
pub(in super::super) struct Standing {
    pub(in super::super) idevid: Sha256,
    pub(in super::super) serial_number: String,
    pub(in super::super) manufacturer: String,
    /// What an operator has decided.
    pub(in super::super) is_allowed: Option<bool>,
    /// Whether its certificates were revoked, and it was not accepted since.
    pub(in super::super) is_revoked: bool,
    /// The state of its newest request.
    pub(in super::super) request: Option<String>,
    pub(in super::super) joining: Option<Progress>,
}

/// How far a device with a voucher came.
pub(in super::super) struct Progress {
    pub(in super::super) voucher: u64,
    pub(in super::super) voucher_status: Option<bool>,
    pub(in super::super) audit: String,
    pub(in super::super) audit_reason: Option<String>,
    pub(in super::super) has_ldevid: bool,
    pub(in super::super) not_after: Option<u64>,
    pub(in super::super) identity_key: Option<u64>,
    pub(in super::super) enroll_status: Option<bool>,
}

/// How many rows there are, counted up to [`MAX_COUNTED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Overview {
    pub(in super::super) waiting: u64,
    pub(in super::super) bad_audits: u64,
    pub(in super::super) joined: u64,
    pub(in super::super) enrolled: u64,
    pub(in super::super) rejected: u64,
    pub(in super::super) failures: u64,
    pub(in super::super) ending: u64,
}

impl Store {
    /// Counts what the overview shows: certificates that end within so many days, and failures of the last day.
    pub(in super::super) async fn overview(
        &self,
        now: pki_types::UnixTime,
        days: i64,
    ) -> Result<Overview, sqlx::Error> {
        let now = seconds(now);
        let (forgotten, yesterday) = (now.saturating_sub(FORGOTTEN_AFTER), now.saturating_sub(super::DAY));
        let end = now.saturating_add(days.saturating_mul(super::DAY));
        Ok(Overview {
            waiting: self.count(&format!("requests r WHERE {}", lists::FIRST_OF_WAITING), &[forgotten]).await?,
            bad_audits: self.count(&format!("joinings j WHERE {}", lists::BAD_AUDIT), &[]).await?,
            joined: self.count("joinings", &[]).await?,
            enrolled: self.count(ENROLLED, &[]).await?,
            rejected: self.count("decisions WHERE is_allowed = 0", &[]).await?,
            failures: self.count("telemetry WHERE status = 0 AND received >= $1", &[yesterday]).await?,
            ending: self
                .count(&format!("{NEWEST_LDEVIDS} WHERE c.not_after > $1 AND c.not_after <= $2"), &[now, end])
                .await?,
        })
    }

    /// Counts rows, and stops at [`MAX_COUNTED`].
    async fn count(&self, rows: &str, times: &[i64]) -> Result<u64, sqlx::Error> {
        let query = format!("SELECT COUNT(*) FROM (SELECT 1 AS one FROM {rows} LIMIT {MAX_COUNTED}) AS counted");
        let query = times.iter().fold(sqlx::query(&query), |query, time| query.bind(*time));
        Ok(unsigned(query.fetch_one(&self.pool).await?.try_get(0)?))
    }

    /// Returns devices in the order of serial numbers, behind `after`: those whose serial number begins with `prefix`, of
    /// which at most [`MAX_EXAMINED`] are looked at and a page is kept of those that `is_wanted`.
    pub(in super::super) async fn standings(
        &self,
        prefix: &str,
        after: Option<BySerial>,
        is_wanted: impl Fn(&Standing) -> bool,
    ) -> Result<Rows<Standing, BySerial>, sqlx::Error> {
        // A digest is greater than no bytes, and no character is greater than the one behind the prefix.
        let (serial, idevid) = after.unwrap_or_else(|| (prefix.to_owned(), Vec::new()));
        let query = standings_query();
        let query = sqlx::query(&query).bind(serial).bind(idevid).bind(prefix).bind(format!("{prefix}\u{10ffff}"));
        let rows = query.bind(MAX_EXAMINED).fetch_all(&self.pool).await?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == MAX_EXAMINED);
        let mut page = Rows { rows: Vec::<Standing>::new(), next: None };
        let mut last = None;
        for row in &rows {
            let standing = standing(row)?;
            let key = (standing.serial_number.clone(), standing.idevid.to_vec());
            // A device whose manufacturer has another name now is there twice.
            if !is_wanted(&standing) || page.rows.last().is_some_and(|other| other.idevid == standing.idevid) {
                last = Some(key);
                continue;
            }
            if page.rows.len() == PAGE {
                page.next = last;
                return Ok(page);
            }
            page.rows.push(standing);
            last = Some(key);
        }
        page.next = last.filter(|_| is_full);
        Ok(page)
    }

    /// Returns the device with this IDevID.
    pub(in super::super) async fn standing(&self, idevid: &Sha256) -> Result<Option<Standing>, sqlx::Error> {
        let source = |table: &str| {
            format!(
                "SELECT * FROM (SELECT serial_number, idevid, manufacturer FROM {table} WHERE idevid = $1 LIMIT 1) AS of_{table}"
            )
        };
        let keys = ["joinings", "requests", "decisions"].map(source).join(" UNION ");
        let query = format!("SELECT {STANDING} FROM (SELECT * FROM ({keys}) AS every LIMIT 1) AS k {OF_STANDING}");
        let row = sqlx::query(&query).bind(&idevid[..]).fetch_optional(&self.pool).await?;
        row.as_ref().map(standing).transpose()
    }

    /// Returns the device with this IDevID, to be decided about.
    pub(in super::super) async fn device(&self, idevid: &Sha256) -> Result<Option<Device>, sqlx::Error> {
        let device =
            |Standing { idevid, serial_number, manufacturer, .. }| Device { idevid, serial_number, manufacturer };
        Ok(self.standing(idevid).await?.map(device))
    }
}

fn standings_query() -> String {
    let source = |table: &str| {
        format!(
            "SELECT * FROM (SELECT DISTINCT serial_number, idevid, manufacturer FROM {table} \
                 WHERE (serial_number, idevid) > ($1, $2) AND serial_number >= $3 AND serial_number < $4 \
                 ORDER BY serial_number, idevid LIMIT $5) AS of_{table}"
        )
    };
    let keys = ["joinings", "requests", "decisions"].map(source).join(" UNION ");
    format!(
        "SELECT {STANDING} FROM (SELECT * FROM ({keys}) AS every ORDER BY serial_number, idevid LIMIT $5) AS k \
             {OF_STANDING} ORDER BY k.serial_number, k.idevid"
    )
}

fn standing(row: &AnyRow) -> Result<Standing, sqlx::Error> {
    let flag = |name| -> Result<Option<bool>, sqlx::Error> {
        Ok(row.try_get::<Option<i64>, _>(name)?.map(|value| value != 0))
    };
    let time = |name| -> Result<Option<u64>, sqlx::Error> { Ok(row.try_get::<Option<i64>, _>(name)?.map(unsigned)) };
    let joining = match time("begun")? {
        Some(voucher) => Some(Progress {
            voucher,
            voucher_status: flag("voucher_status")?,
            audit: row.try_get("audit")?,
            audit_reason: row.try_get("audit_reason")?,
            has_ldevid: row.try_get::<Option<Vec<u8>>, _>("ldevid")?.is_some(),
            not_after: time("not_after")?,
            identity_key: time("identity_key_given")?,
            enroll_status: flag("enroll_status")?,
        }),
        None => None,
    };
    Ok(Standing {
        idevid: digest(row, "idevid")?,
        serial_number: row.try_get("serial_number")?,
        manufacturer: row.try_get("manufacturer")?,
        is_allowed: flag("is_allowed")?,
        is_revoked: time("kept_out")?.is_some(),
        request: row.try_get("request_state")?,
        joining,
    })
}

fn optional_digest(row: &AnyRow, column: &str) -> Result<Option<Sha256>, sqlx::Error> {
    let digest = row.try_get::<Option<Vec<u8>>, _>(column)?;
    digest.map(|digest| digest.try_into().map_err(|_| not_a_digest())).transpose()
}

/// The columns of a [`Standing`].
const STANDING: &str = "k.idevid, k.serial_number, k.manufacturer, j.begun, j.voucher_status, j.audit, j.audit_reason, j.ldevid, \
                        j.identity_key_given, j.enroll_status, d.is_allowed, c.not_after, o.since AS kept_out, (SELECT r.state FROM requests r \
                        WHERE r.idevid = k.idevid ORDER BY r.received DESC LIMIT 1) AS request_state";

/// The tables of a [`Standing`].
const OF_STANDING: &str = "LEFT JOIN joinings j ON j.idevid = k.idevid LEFT JOIN decisions d ON d.idevid = k.idevid \
                           LEFT JOIN kept_out o ON o.idevid = k.idevid \
                           LEFT JOIN certificates c ON c.certificate_sha256 = j.ldevid";

/// The devices with a certificate or an identity key, of the first ones.
const ENROLLED: &str = "(SELECT ldevid, identity_key_given FROM joinings LIMIT 10000) AS j \
                        WHERE ldevid IS NOT NULL OR identity_key_given IS NOT NULL";

/// The rows of a page.
pub(in super::super) const PAGE: usize = 50;

/// The most devices that are looked at for one page.
const MAX_EXAMINED: i64 = 500;

/// The most rows that are counted.
pub(in super::super) const MAX_COUNTED: i64 = 10_000;

#[cfg(test)]
mod tests;
