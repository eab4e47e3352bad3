//! What stands beside the chain: vouchers and devices, which must fit it.

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::rows::{PAGE, count};
use super::{Finding, LogHead, Problem};
use crate::masa::error::MasaError;
use crate::store::Connection;

/// Looks for vouchers without an entry, if there are others than those that have one.
pub(super) async fn check_vouchers(connection: &mut Connection, with_entry: i64) -> Result<(), MasaError> {
    if count(connection, "SELECT COUNT(*) FROM issued_vouchers").await? == with_entry {
        return Ok(());
    }
    let query = "SELECT v.serial_number, v.number FROM issued_vouchers v WHERE NOT EXISTS (SELECT 1 FROM audit_log a \
                 WHERE a.serial_number = v.serial_number AND a.idevid_issuer = v.idevid_issuer AND a.number = v.number) \
                 LIMIT 1";
    let row = sqlx::query(query).fetch_optional(&mut *connection).await?;
    let serial_number = row.as_ref().and_then(|row| row.try_get("serial_number").ok());
    let number = row.as_ref().and_then(|row| row.try_get("number").ok());
    Err(Finding::of_device(serial_number, number, Problem::VoucherUnlogged).into())
}

/// Compares each device with its entries, all of which are in the chain.
pub(super) async fn check_devices(connection: &mut Connection, head: &LogHead) -> Result<(), MasaError> {
    let of_device = "FROM audit_log a WHERE a.serial_number = d.serial_number AND a.idevid_issuer = d.idevid_issuer";
    let query = format!(
        "SELECT d.serial_number, d.idevid_issuer, d.owner, d.entries, (SELECT COUNT(*) {of_device}) AS counted, \
         (SELECT a.number {of_device} ORDER BY a.number DESC LIMIT 1) AS last_number, \
         (SELECT a.domain_key {of_device} ORDER BY a.number DESC LIMIT 1) AS last_key \
         FROM devices d WHERE (d.serial_number, d.idevid_issuer) > ($1, $2) \
         ORDER BY d.serial_number, d.idevid_issuer LIMIT {PAGE}"
    );
    let (mut serial_number, mut issuer, mut entries) = (String::new(), Vec::<u8>::new(), 0);
    loop {
        let page = sqlx::query(&query).bind(&serial_number).bind(&issuer).fetch_all(&mut *connection).await?;
        for row in &page {
            (serial_number, issuer) = (row.try_get("serial_number")?, row.try_get("idevid_issuer")?);
            if let Some(problem) = problem(row)? {
                return Err(Finding::of_device(Some(serial_number), None, problem).into());
            }
            entries += row.try_get::<i64, _>("counted")?;
        }
        if page.is_empty() {
            break;
        }
    }
    match entries == head.length {
        true => Ok(()),
        false => Err(Finding::of_device(None, None, Problem::DeviceMissing).into()),
    }
}

/// Returns what is wrong with a device.
fn problem(row: &AnyRow) -> Result<Option<Problem>, sqlx::Error> {
    let (recorded, counted): (i64, i64) = (row.try_get("entries")?, row.try_get("counted")?);
    // The numbers are different, so that the highest is their count unless one is missing.
    let last_number = row.try_get::<Option<i64>, _>("last_number")?.unwrap_or(0);
    if recorded != counted || last_number != counted {
        return Ok(Some(Problem::Entries));
    }
    let owner: Option<Vec<u8>> = row.try_get("owner")?;
    let last_key: Option<Vec<u8>> = row.try_get("last_key")?;
    Ok((owner.is_some() && owner != last_key).then_some(Problem::Owner)) // without an owner, it was released
}
