//! What the status pages show.
//!
//! What must always hold: a query goes by an index and ends with its page, however large the tables are; the next page
//! begins behind the last row of this one, and not by counting rows.

use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::masa::{Device, LogEntry};

use super::{MasaStore, Record, log_entry, record};

/// The rows of a page, and where the next page begins if there is one.
pub(in super::super) struct Rows<T, K> {
    pub(in super::super) rows: Vec<T>,
    pub(in super::super) next: Option<K>,
}

/// A device by its serial number and issuer, which it is found by.
pub(in super::super) type DeviceKey = (String, Vec<u8>);

/// A voucher, by its entry in the audit log of its device.
pub(in super::super) struct Issued {
    pub(in super::super) serial_number: String,
    pub(in super::super) idevid_issuer: Vec<u8>,
    /// The number of the entry.
    pub(in super::super) number: i64,
    pub(in super::super) entry: LogEntry,
    pub(in super::super) expires_on: Option<u64>,
}

/// How many rows there are, counted up to [`MAX_COUNTED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Counts {
    pub(in super::super) devices: u64,
    pub(in super::super) blocked: u64,
    pub(in super::super) vouchers: u64,
}

impl MasaStore {
    /// Counts what the overview shows.
    pub(in super::super) async fn counts(&self) -> Result<Counts, sqlx::Error> {
        let count = async |rows: &str| {
            let query = format!("SELECT COUNT(*) FROM (SELECT 1 AS one FROM {rows} LIMIT {MAX_COUNTED}) AS counted");
            let count: i64 = sqlx::query(&query).fetch_one(&self.pool).await?.try_get(0)?;
            Ok::<_, sqlx::Error>(u64::try_from(count).unwrap_or_default())
        };
        Ok(Counts {
            devices: count("devices").await?,
            blocked: count("devices WHERE is_blocked = 1").await?,
            vouchers: count("issued_vouchers").await?,
        })
    }

    /// Returns devices in the order of serial numbers, behind `after`: those whose serial number begins with `prefix`, of
    /// which at most [`MAX_EXAMINED`] are looked at and a page is kept of those that `is_wanted`.
    pub(in super::super) async fn records(
        &self,
        prefix: &str,
        after: Option<DeviceKey>,
        is_wanted: impl Fn(&Record) -> bool,
    ) -> Result<Rows<Record, DeviceKey>, sqlx::Error> {
        // The first one may have no issuer: its CA has no key identifier.
        let is_behind = if after.is_some() { ">" } else { ">=" };
        let (serial, issuer) = after.unwrap_or_else(|| (prefix.to_owned(), Vec::new()));
        let query = format!(
            "{SELECT_DEVICE} WHERE (serial_number, idevid_issuer) {is_behind} ($1, $2) AND serial_number >= $3 \
             AND serial_number < $4 ORDER BY serial_number, idevid_issuer LIMIT $5"
        );
        let query = sqlx::query(&query).bind(serial).bind(issuer).bind(prefix).bind(format!("{prefix}\u{10ffff}"));
        let rows = query.bind(MAX_EXAMINED).fetch_all(&self.pool).await?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == MAX_EXAMINED);
        let mut page = Rows { rows: Vec::new(), next: None };
        let mut last = None;
        for row in &rows {
            let record = record(row)?;
            let key = (record.device.serial_number.clone(), record.device.idevid_issuer.clone());
            if is_wanted(&record) {
                if page.rows.len() == PAGE {
                    page.next = last;
                    return Ok(page);
                }
                page.rows.push(record);
            }
            last = Some(key);
        }
        page.next = last.filter(|_| is_full);
        Ok(page)
    }

    /// Returns one device.
    pub(in super::super) async fn record(&self, (serial, issuer): &DeviceKey) -> Result<Option<Record>, sqlx::Error> {
        let query = format!("{SELECT_DEVICE} WHERE serial_number = $1 AND idevid_issuer = $2");
        let row = sqlx::query(&query).bind(serial).bind(issuer).fetch_optional(&self.pool).await?;
        row.as_ref().map(record).transpose()
    }

    /// Returns the audit log of a device, the newest entry first, from before an entry.
    pub(in super::super) async fn log(&self, device: &Device, before: i64) -> Result<Rows<Issued, i64>, sqlx::Error> {
        let query = format!(
            "SELECT {ISSUED} FROM audit_log a LEFT JOIN issued_vouchers v ON v.serial_number = a.serial_number \
             AND v.idevid_issuer = a.idevid_issuer AND v.number = a.number \
             WHERE a.serial_number = $1 AND a.idevid_issuer = $2 AND a.number < $3 ORDER BY a.number DESC LIMIT $4"
        );
        let query = sqlx::query(&query).bind(&device.serial_number).bind(&device.idevid_issuer).bind(before);
        let rows = query.bind(MORE).fetch_all(&self.pool).await?;
        page(&rows, |last| last.number)
    }

    /// Returns the vouchers of devices whose serial number begins with `prefix`, in the order of serial numbers, behind one.
    pub(in super::super) async fn vouchers(
        &self,
        prefix: &str,
        after: Option<(String, Vec<u8>, i64)>,
    ) -> Result<Rows<Issued, (String, Vec<u8>, i64)>, sqlx::Error> {
        let (serial, issuer, number) = after.unwrap_or_else(|| (prefix.to_owned(), Vec::new(), 0));
        let query = format!(
            "SELECT {ISSUED} FROM issued_vouchers v JOIN audit_log a ON a.serial_number = v.serial_number \
             AND a.idevid_issuer = v.idevid_issuer AND a.number = v.number \
             WHERE (v.serial_number, v.idevid_issuer, v.number) > ($1, $2, $3) AND v.serial_number >= $4 \
             AND v.serial_number < $5 ORDER BY v.serial_number, v.idevid_issuer, v.number LIMIT $6"
        );
        let query = sqlx::query(&query).bind(serial).bind(issuer).bind(number).bind(prefix);
        let rows = query.bind(format!("{prefix}\u{10ffff}")).bind(MORE).fetch_all(&self.pool).await?;
        page(&rows, |last| (last.serial_number.clone(), last.idevid_issuer.clone(), last.number))
    }
}

fn page<K>(rows: &[AnyRow], key: impl Fn(&Issued) -> K) -> Result<Rows<Issued, K>, sqlx::Error> {
    let has_more = rows.len() > PAGE;
    let rows: Vec<Issued> = rows.iter().take(PAGE).map(issued).collect::<Result<_, _>>()?;
    let next = rows.last().filter(|_| has_more).map(key);
    Ok(Rows { rows, next })
}

fn issued(row: &AnyRow) -> Result<Issued, sqlx::Error> {
    let expires_on: Option<i64> = row.try_get("expires_on")?;
    Ok(Issued {
        serial_number: row.try_get("serial_number")?,
        idevid_issuer: row.try_get("idevid_issuer")?,
        number: row.try_get("number")?,
        entry: log_entry(row)?,
        expires_on: expires_on.and_then(|seconds| u64::try_from(seconds).ok()),
    })
}

const SELECT_DEVICE: &str = "SELECT serial_number, idevid_issuer, is_registered, is_blocked, sold_to, raw_public_keys_only, \
                             owner, entries FROM devices";

/// The columns of an [`Issued`].
const ISSUED: &str = "a.serial_number, a.idevid_issuer, a.number, a.date, a.domain_id, a.domain_key, a.nonce, a.assertion, \
                      v.expires_on";

/// The rows of a page.
pub(in super::super) const PAGE: usize = 50;

/// A page and the row that says that there is a next one.
const MORE: i64 = PAGE as i64 + 1;

/// The most devices that are looked at for one page.
const MAX_EXAMINED: i64 = 500;

/// The most rows that are counted.
pub(in super::super) const MAX_COUNTED: i64 = 10_000;
