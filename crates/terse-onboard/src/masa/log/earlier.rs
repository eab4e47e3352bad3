//! The entries of earlier versions, which had no chain, get their links once.
//!
//! What must always hold: it is done in one transaction, which has the lock, and never again: later on an entry without a link
//! is one that nobody has issued.

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::LogHead;
use super::entry::{Entry, sha256};
use super::rows::{PAGE, count, damaged, head, set_head};
use crate::store::{Connection, Pool};

/// Links the entries that are there when the tables have just been brought to this version.
pub(in crate::masa) async fn link_earlier(pool: &Pool) -> Result<(), sqlx::Error> {
    // Once it is done, nobody waits for the lock.
    if sqlx::query("SELECT id FROM audit_head WHERE hash IS NULL").fetch_optional(pool).await?.is_none() {
        return Ok(());
    }
    let mut transaction = pool.begin().await?;
    if head(&mut transaction).await?.is_some() {
        return Ok(()); // by another process, which had the lock before
    }
    // Who takes the hash away by hand does not get all entries linked anew.
    if count(&mut transaction, "SELECT COUNT(*) FROM audit_log WHERE position IS NOT NULL").await? > 0 {
        return Err(damaged("head of the audit log"));
    }
    let (mut end, mut last) = (LogHead::EMPTY, (String::new(), Vec::new(), 0));
    loop {
        let entries = page(&mut transaction, &last).await?;
        let Some(entry) = entries.last() else { break };
        last = (entry.serial_number.clone(), entry.idevid_issuer.clone(), entry.number);
        for entry in &entries {
            end = LogHead { length: end.length.saturating_add(1), hash: entry.link(&end.hash) };
            link(&mut transaction, entry, &end).await?;
        }
    }
    set_head(&mut transaction, &end).await?;
    transaction.commit().await
}

/// Returns the next entries in the order of the primary key, with what is known of their vouchers.
async fn page(transaction: &mut Connection, after: &(String, Vec<u8>, i64)) -> Result<Vec<Entry>, sqlx::Error> {
    let query = format!(
        "SELECT a.serial_number, a.idevid_issuer, a.number, a.date, a.domain_id, a.domain_key, a.nonce, a.assertion, \
         a.voucher_sha256, v.request, v.voucher, v.expires_on FROM audit_log a LEFT JOIN issued_vouchers v \
         ON v.serial_number = a.serial_number AND v.idevid_issuer = a.idevid_issuer AND v.number = a.number \
         WHERE (a.serial_number, a.idevid_issuer, a.number) > ($1, $2, $3) \
         ORDER BY a.serial_number, a.idevid_issuer, a.number LIMIT {PAGE}"
    );
    let query = sqlx::query(&query).bind(&after.0).bind(&after.1).bind(after.2);
    query.fetch_all(&mut *transaction).await?.iter().map(entry).collect()
}

fn entry(row: &AnyRow) -> Result<Entry, sqlx::Error> {
    let voucher: Option<Vec<u8>> = row.try_get("voucher")?;
    Ok(Entry { voucher_sha256: voucher.map(|voucher| sha256(&[&voucher]).to_vec()), ..Entry::read(row)? })
}

async fn link(transaction: &mut Connection, entry: &Entry, link: &LogHead) -> Result<(), sqlx::Error> {
    let query = "UPDATE audit_log SET position = $1, hash = $2, request = $3, voucher_sha256 = $4, expires_on = $5 \
                 WHERE serial_number = $6 AND idevid_issuer = $7 AND number = $8";
    sqlx::query(query)
        .bind(link.length)
        .bind(link.hash.as_slice())
        .bind(&entry.request)
        .bind(&entry.voucher_sha256)
        .bind(entry.expires_on)
        .bind(&entry.serial_number)
        .bind(&entry.idevid_issuer)
        .bind(entry.number)
        .execute(&mut *transaction)
        .await
        .map(drop)
}
