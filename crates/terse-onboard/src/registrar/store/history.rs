//! What this domain has asked for, and for how long what came of it is kept.
//!
//! What must always hold: of each device there are at most [`MAX_REMEMBERED`] nonces, the newest ones, and its newest voucher;
//! everything else about its requests goes once a pledge does not repeat them any more; removing costs the same however
//! many devices there are.

use pki_types::UnixTime;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;
use terse_brski::registrar::PledgeRequest;
use terse_brski::voucher::Nonce;

use super::super::audit::KnownVouchers;
use super::rows::seconds;
use super::{FORGOTTEN_AFTER, Store};
use crate::store::Transaction;

impl Store {
    /// Returns the domainIDs that vouchers for a device have pinned, and the nonces for which this domain has asked: the
    /// newest ones. An event of this domain in an audit log that is older than those counts as one of somebody else, until
    /// an operator accepts the device.
    pub(in super::super) async fn history(&self, idevid: &Sha256) -> Result<KnownVouchers, sqlx::Error> {
        let rows = sqlx::query("SELECT nonce, domain_id FROM history WHERE idevid = $1 ORDER BY number DESC LIMIT $2")
            .bind(&idevid[..])
            .bind(MAX_REMEMBERED)
            .fetch_all(&self.pool)
            .await?;
        known_vouchers(&rows)
    }

    /// Returns the same of all devices with this serial number.
    pub(in super::super) async fn history_of_serial(
        &self,
        manufacturer: &str,
        serial_number: &str,
    ) -> Result<KnownVouchers, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT nonce, domain_id FROM history WHERE serial_number = $1 AND manufacturer = $2 \
             ORDER BY number DESC LIMIT $3",
        )
        .bind(serial_number)
        .bind(manufacturer)
        .bind(MAX_REMEMBERED)
        .fetch_all(&self.pool)
        .await?;
        known_vouchers(&rows)
    }

    /// Removes requests that are older than a pledge repeats them, but for the newest one of each device that has a voucher.
    /// Others write in between, if there are many.
    pub(in super::super) async fn prune(&self, time: UnixTime) -> Result<(), sqlx::Error> {
        loop {
            let mut transaction = self.begin().await?;
            let query = sqlx::query(PRUNE).bind(seconds(time).saturating_sub(FORGOTTEN_AFTER)).bind(MAX_PRUNED);
            let removed = query.execute(&mut *transaction).await?.rows_affected();
            transaction.commit().await?;
            if i64::try_from(removed).is_ok_and(|removed| removed < MAX_PRUNED) {
                return Ok(());
            }
        }
    }
}

/// Adds the nonce of a request that goes to the MASA, and drops the oldest ones of the device.
pub(super) async fn add(
    transaction: &mut Transaction,
    request: &PledgeRequest,
    manufacturer: &str,
) -> Result<(), sqlx::Error> {
    // If the MASA is asked anew, it is there already.
    sqlx::query(
        "INSERT INTO history (request, idevid, number, nonce, serial_number, manufacturer) \
         SELECT $1, $2, COALESCE(MAX(number), 0) + 1, $3, $4, $5 FROM history WHERE idevid = $2 \
         ON CONFLICT (request) DO NOTHING",
    )
    .bind(&request.sha256()[..])
    .bind(&request.client()[..])
    .bind(request.nonce().as_bytes())
    .bind(&request.idevid().serial_number)
    .bind(manufacturer)
    .execute(&mut **transaction)
    .await?;
    sqlx::query(
        "DELETE FROM history WHERE idevid = $1 AND number <= (SELECT MAX(number) FROM history WHERE idevid = $1) - $2",
    )
    .bind(&request.client()[..])
    .bind(MAX_REMEMBERED)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// Notes what the voucher for a request pins, and that it takes the place of the device's earlier ones.
pub(super) async fn answered(
    transaction: &mut Transaction,
    request: &PledgeRequest,
    domain_id: Option<&[u8]>,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE history SET domain_id = $2 WHERE request = $1")
        .bind(&request.sha256()[..])
        .bind(domain_id)
        .execute(&mut **transaction)
        .await?;
    sqlx::query("UPDATE requests SET state = 'superseded' WHERE idevid = $1 AND state = 'answered' AND request <> $2")
        .bind(&request.client()[..])
        .bind(&request.sha256()[..])
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

fn known_vouchers(rows: &[AnyRow]) -> Result<KnownVouchers, sqlx::Error> {
    let mut known = KnownVouchers::default();
    for row in rows {
        known.nonces.extend(Nonce::new(&row.try_get::<Vec<u8>, _>("nonce")?));
        known.domain_ids.extend(row.try_get::<Option<Vec<u8>>, _>("domain_id")?);
    }
    known.domain_ids.sort();
    known.domain_ids.dedup();
    Ok(known)
}

/// The states are named so that the index by state is used: most requests were answered, and stay.
pub(super) const PRUNE: &str = "DELETE FROM requests WHERE request IN (SELECT request FROM requests WHERE received < $1 \
                                AND state IN ('awaiting-operator', 'allowed', 'rejected', 'forwarded', 'superseded') \
                                LIMIT $2)";

/// The most requests that one transaction removes.
pub(super) const MAX_PRUNED: i64 = 1_000;

/// The most nonces of one device: as many as an audit log has events (RFC 8995, 5.8.1).
pub(super) const MAX_REMEMBERED: i64 = 1_024;
