//! The chain in the database: its rows and its head.
//!
//! What must always hold: an entry and the head that it makes are written by the same transaction, which has the lock.

use sqlx::Row as _;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;

use super::LogHead;
use super::entry::{Entry, NO_LINK};
use crate::store::Connection;

/// A row of the audit log, with the voucher that belongs to it.
pub(super) struct Row {
    pub(super) position: i64,
    /// Missing if it cannot be one.
    pub(super) hash: Option<Sha256>,
    /// Missing if a value cannot be of its column.
    pub(super) entry: Option<Entry>,
    pub(super) voucher: Option<StoredVoucher>,
}

/// A row of the issued vouchers.
pub(super) struct StoredVoucher {
    pub(super) request: Vec<u8>,
    pub(super) voucher: Vec<u8>,
    pub(super) expires_on: Option<i64>,
}

/// Adds an entry to the chain.
pub(in crate::masa) async fn append(transaction: &mut Connection, entry: &Entry) -> Result<(), sqlx::Error> {
    let head = head(transaction).await?.ok_or_else(|| damaged("head of the audit log"))?;
    let next = LogHead { length: head.length.saturating_add(1), hash: entry.link(&head.hash) };
    insert(transaction, entry, &next).await?;
    set_head(transaction, &next).await
}

/// Returns the head, unless it waits for the links of earlier entries.
pub(super) async fn head(connection: &mut Connection) -> Result<Option<LogHead>, sqlx::Error> {
    let row = sqlx::query("SELECT length, hash FROM audit_head").fetch_optional(&mut *connection).await?;
    let row = row.ok_or_else(|| damaged("head of the audit log"))?;
    let Some(hash) = row.try_get::<Option<Vec<u8>>, _>("hash")? else { return Ok(None) };
    let hash = hash.try_into().map_err(|_| damaged("head of the audit log"))?;
    Ok(Some(LogHead { length: row.try_get("length")?, hash }))
}

pub(super) async fn set_head(transaction: &mut Connection, head: &LogHead) -> Result<(), sqlx::Error> {
    let query =
        sqlx::query("UPDATE audit_head SET length = $1, hash = $2").bind(head.length).bind(head.hash.as_slice());
    query.execute(&mut *transaction).await.map(drop)
}

/// Inserts an entry as the link that makes this head.
pub(super) async fn insert(transaction: &mut Connection, entry: &Entry, link: &LogHead) -> Result<(), sqlx::Error> {
    let query = "INSERT INTO audit_log (serial_number, idevid_issuer, number, date, domain_id, domain_key, nonce, assertion, \
                 request, voucher_sha256, expires_on, position, hash) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    sqlx::query(query)
        .bind(&entry.serial_number)
        .bind(&entry.idevid_issuer)
        .bind(entry.number)
        .bind(entry.date)
        .bind(&entry.domain_id)
        .bind(&entry.domain_key)
        .bind(&entry.nonce)
        .bind(&entry.assertion)
        .bind(&entry.request)
        .bind(&entry.voucher_sha256)
        .bind(entry.expires_on)
        .bind(link.length)
        .bind(link.hash.as_slice())
        .execute(&mut *transaction)
        .await
        .map(drop)
}

/// Returns the next entries of the chain after a position, a bounded number.
pub(super) async fn page(connection: &mut Connection, after: i64) -> Result<Vec<Row>, sqlx::Error> {
    let columns = Entry::COLUMNS;
    let query = format!(
        "SELECT a.position, a.hash, {columns}, v.request AS stored_request, v.voucher AS stored_voucher, \
         v.expires_on AS stored_expires_on FROM audit_log a LEFT JOIN issued_vouchers v \
         ON v.serial_number = a.serial_number AND v.idevid_issuer = a.idevid_issuer AND v.number = a.number \
         WHERE a.position > $1 ORDER BY a.position LIMIT {PAGE}"
    );
    sqlx::query(&query).bind(after).fetch_all(&mut *connection).await?.iter().map(row).collect()
}

fn row(row: &AnyRow) -> Result<Row, sqlx::Error> {
    let hash = row.try_get::<Option<Vec<u8>>, _>("hash").ok().flatten();
    let voucher = match row.try_get::<Option<Vec<u8>>, _>("stored_request")? {
        Some(request) => Some(StoredVoucher {
            request,
            voucher: row.try_get("stored_voucher")?,
            expires_on: row.try_get("stored_expires_on")?,
        }),
        None => None,
    };
    Ok(Row {
        position: row.try_get("position")?,
        hash: hash.and_then(|hash| hash.try_into().ok()),
        entry: Entry::read(row).ok(),
        voucher,
    })
}

/// Returns the number that a query has.
pub(super) async fn count(connection: &mut Connection, query: &str) -> Result<i64, sqlx::Error> {
    sqlx::query(query).fetch_one(&mut *connection).await?.try_get(0)
}

pub(super) fn damaged(what: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(format!("the {what} is damaged; restore the database from a copy").into())
}

impl Row {
    /// Returns the head that this row says it makes.
    pub(super) fn link(&self) -> LogHead {
        LogHead { length: self.position, hash: self.hash.unwrap_or(NO_LINK) }
    }

    /// Whether the entry is the link after `previous`, as its hash says.
    pub(super) fn follows(&self, previous: &LogHead) -> bool {
        self.hash.is_some() && self.entry.as_ref().map(|entry| entry.link(&previous.hash)) == self.hash
    }
}

/// How many rows are read at a time. A voucher has 16 kB at most.
pub(super) const PAGE: usize = 200;
