//! What a MASA remembers, in its database: devices, issued vouchers and audit logs (RFC 8995, 5.6 and 5.8).
//!
//! What must always hold: a voucher, its entry in the audit log, which is the next link of the chain, and the new owner of the
//! device are committed together or not at all; the commit fails if the audit log, the owner or the registration has changed since
//! it was looked at, whichever process has done that; a look-up costs the same however long an audit log is.

use core::time::Duration;

use pki_types::UnixTime;
use prometheus_client::metrics::counter::Counter;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::certificate::{domain_id, is_same_issuer};
use terse_brski::digest::{Sha256, public_key_sha256};
use terse_brski::masa::{Buyer, Device, Issuance, IssuedVoucher, LogEntry, RegistrarRequest};
use terse_brski::voucher::{Assertion, Nonce};
use terse_tls::crypto::CryptoProvider;

use super::log::{Entry, append, link_earlier, sha256};
use super::operator::Change;
use crate::store::{Database, Migrations, Pool, Transaction};

pub(super) mod pages;

/// The database of a MASA. A clone uses the same connections.
#[derive(Clone, Debug)]
pub struct MasaStore {
    pool: Pool,
}

/// What is known of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The device.
    pub device: Device,
    /// Whether the factory has registered it. Else there is only an audit log, of a device whose IDevID was proof enough.
    pub is_registered: bool,
    /// How many entries its audit log has.
    pub entries: i64,
}

/// What the decision about a request needs of the database.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) issued: Option<IssuedVoucher>,
    pub(super) record: Option<Record>,
    /// The last entry of the audit log, and those that have a domainID of the request under another key. The last is last.
    pub(super) log: Vec<LogEntry>,
    /// How many vouchers there were since the day before, counted up to the limit.
    pub(super) recent: u32,
}

/// Whether a voucher was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Committed,
    /// The device has changed since it was looked up. Nothing was stored.
    Superseded,
}

impl MasaStore {
    /// Returns the number of statements that the database did not carry out.
    pub(super) fn errors(&self) -> Counter {
        self.pool.errors().clone()
    }

    /// Opens the database, and creates it if it is a file that is not there.
    pub async fn open(database: &Database) -> Result<Self, sqlx::Error> {
        let pool = database.open(&Migrations::MASA).await?;
        link_earlier(&pool).await?;
        Ok(Self { pool })
    }

    pub(super) const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Fails unless the database answers.
    pub(super) async fn check(&self) -> Result<(), sqlx::Error> {
        sqlx::query("SELECT entries FROM devices LIMIT 1").fetch_optional(&self.pool).await.map(drop)
    }

    /// Returns the devices with this serial number: as many as the manufacturer has CAs, at most.
    pub async fn devices(&self, serial_number: &str) -> Result<Vec<Record>, sqlx::Error> {
        let query = "SELECT serial_number, idevid_issuer, is_registered, is_blocked, sold_to, raw_public_keys_only, owner, \
                     entries FROM devices WHERE serial_number = $1";
        sqlx::query(query).bind(serial_number).fetch_all(&self.pool).await?.iter().map(record).collect()
    }

    /// Changes all devices with this serial number.
    pub(super) async fn change(&self, serial_number: &str, change: Change) -> Result<(), sqlx::Error> {
        let query = match change {
            // Of a device that is not registered the audit log would still say who has it.
            Change::Release => "UPDATE devices SET owner = NULL, is_registered = 1 WHERE serial_number = $1",
            Change::Block => "UPDATE devices SET is_blocked = 1 WHERE serial_number = $1",
            Change::Unblock => "UPDATE devices SET is_blocked = 0 WHERE serial_number = $1",
        };
        sqlx::query(query).bind(serial_number).execute(&self.pool).await.map(drop)
    }

    /// Begins to register a device, whose `owner` and audit log are empty. Returns `None` if it is registered already. The
    /// device is there once the transaction is committed.
    pub(super) async fn register(&self, device: &Device) -> Result<Option<Transaction>, sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        // A device without record may have an audit log already.
        let query = "INSERT INTO devices (serial_number, idevid_issuer, is_registered, is_blocked, sold_to, \
                     raw_public_keys_only, owner, entries) \
                     VALUES ($1, $2, 1, $3, $4, $5, NULL, 0) ON CONFLICT (serial_number, idevid_issuer) \
                     DO UPDATE SET is_registered = 1, sold_to = excluded.sold_to, \
                     raw_public_keys_only = excluded.raw_public_keys_only WHERE devices.is_registered = 0";
        let done = sqlx::query(query)
            .bind(&device.serial_number)
            .bind(&device.idevid_issuer)
            .bind(i64::from(device.is_blocked))
            .bind(to_json(&device.sold_to))
            .bind(i64::from(device.raw_public_keys_only))
            .execute(&mut *transaction)
            .await?;
        Ok((done.rows_affected() == 1).then_some(transaction))
    }

    /// Looks up what a decision about `request` needs. Vouchers since `day_before` count as recent, up to `limit` of them.
    pub(super) async fn look_up(
        &self,
        provider: &CryptoProvider,
        request: &RegistrarRequest,
        day_before: UnixTime,
        limit: u32,
    ) -> Result<Known, sqlx::Error> {
        // The record first: whatever is stored from here on makes the log longer than the decision takes it to be.
        let devices = self.devices(request.serial_number()).await?;
        let mut known = Known { record: devices.into_iter().find(|record| is_of(record, request)), ..Known::default() };
        known.issued = self.issued(request.sha256()).await?;
        let Some(device) = known.record.as_ref().map(|record| &record.device) else { return Ok(known) };

        for certificate in request.path().certificates() {
            let names = (domain_id(provider, certificate), public_key_sha256(provider, certificate));
            let (Ok(domain_id), Ok(key)) = names else { continue }; // such a certificate cannot be pinned
            // Another key is below this one or above it; an index finds either at once.
            for side in ["<", ">"] {
                let query = format!("{SELECT_LOG} AND domain_id = $3 AND domain_key {side} $4 LIMIT 1");
                let query = sqlx::query(&query).bind(&device.serial_number).bind(&device.idevid_issuer);
                let row = query.bind(&domain_id).bind(key.as_slice()).fetch_optional(&self.pool).await?;
                known.log.extend(row.as_ref().map(log_entry).transpose()?);
            }
        }
        known.log.extend(self.newest(device, 1).await?);
        // The oldest with the nonce are enough: all others followed them for the same domain.
        if let Some(nonce) = request.nonce() {
            let query = format!("{SELECT_LOG} AND nonce = $3 ORDER BY number LIMIT 8");
            let query = sqlx::query(&query).bind(&device.serial_number).bind(&device.idevid_issuer);
            let rows = query.bind(nonce.as_bytes()).fetch_all(&self.pool).await?;
            known.log.extend(rows.iter().map(log_entry).collect::<Result<Vec<_>, _>>()?);
        }
        let query = "SELECT COUNT(*) AS recent FROM (SELECT date FROM audit_log \
                     WHERE serial_number = $1 AND idevid_issuer = $2 ORDER BY number DESC LIMIT $3) AS newest \
                     WHERE date > $4";
        let query = sqlx::query(query).bind(&device.serial_number).bind(&device.idevid_issuer);
        let row = query.bind(i64::from(limit)).bind(seconds(day_before)).fetch_one(&self.pool).await?;
        known.recent = u32::try_from(row.try_get::<i64, _>("recent")?).unwrap_or(u32::MAX);
        Ok(known)
    }

    async fn issued(&self, request: &Sha256) -> Result<Option<IssuedVoucher>, sqlx::Error> {
        let query = sqlx::query("SELECT voucher, expires_on FROM issued_vouchers WHERE request = $1");
        let Some(row) = query.bind(request.as_slice()).fetch_optional(&self.pool).await? else { return Ok(None) };
        let expires_on: Option<i64> = row.try_get("expires_on")?;
        Ok(Some(IssuedVoucher {
            request: *request,
            voucher: row.try_get("voucher")?,
            expires_on: expires_on.map(time).transpose()?,
        }))
    }

    /// Stores a signed voucher, its entry in the audit log, and the owner. `known` is what the decision was made with.
    pub(super) async fn store(
        &self,
        request: &RegistrarRequest,
        known: &Known,
        issuance: &Issuance,
        signed: &[u8],
    ) -> Result<Stored, sqlx::Error> {
        let entry = &issuance.entry;
        let issuer = request.idevid_issuer().unwrap_or_default();
        let (issuer, entries) =
            known.record.as_ref().map_or((issuer, 0), |record| (&record.device.idevid_issuer, record.entries));
        let number = entries.saturating_add(1);
        let mut transaction = self.pool.begin().await?;
        let query = match known.record {
            Some(_) => sqlx::query(
                "UPDATE devices SET entries = $1, owner = $2 \
                 WHERE serial_number = $3 AND idevid_issuer = $4 AND entries = $5 AND is_blocked = 0 \
                 AND owner IS NOT DISTINCT FROM $6 AND is_registered = $7",
            ),
            None => sqlx::query(
                "INSERT INTO devices (entries, owner, serial_number, idevid_issuer, is_registered, is_blocked, sold_to) \
                 VALUES ($1, $2, $3, $4, $5, 0, '[]') ON CONFLICT (serial_number, idevid_issuer) DO NOTHING",
            ),
        };
        let mut query = query.bind(number).bind(entry.key.as_slice()).bind(request.serial_number()).bind(issuer);
        query = query.bind(entries); // 0 also says that a new device is not registered
        if let Some(record) = &known.record {
            // To whom it was sold, and what it supports, changes only when it is registered.
            let owner = record.device.owner.as_ref().map(|owner| owner.as_slice());
            query = query.bind(owner).bind(i64::from(record.is_registered));
        }
        if query.execute(&mut *transaction).await?.rows_affected() != 1 {
            return Ok(Stored::Superseded);
        }
        let entry = &Entry {
            serial_number: request.serial_number().into(),
            idevid_issuer: issuer.to_vec(),
            number,
            date: seconds(entry.date),
            domain_id: entry.domain_id.clone(),
            domain_key: entry.key.to_vec(),
            nonce: entry.nonce.as_ref().map(|nonce| nonce.as_bytes().to_vec()),
            assertion: entry.assertion.name().into(),
            request: Some(request.sha256().to_vec()),
            voucher_sha256: Some(sha256(&[signed]).to_vec()),
            expires_on: issuance.voucher.expires_on.map(seconds),
        };
        append(&mut transaction, entry).await?;
        // An earlier voucher for the same request is replaced only after it has expired.
        let query = "INSERT INTO issued_vouchers (request, voucher, expires_on, serial_number, idevid_issuer, number) \
                     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (request) DO UPDATE SET voucher = excluded.voucher, \
                     expires_on = excluded.expires_on, number = excluded.number WHERE issued_vouchers.expires_on < $7";
        let done = sqlx::query(query)
            .bind(request.sha256().as_slice())
            .bind(signed)
            .bind(entry.expires_on)
            .bind(request.serial_number())
            .bind(issuer)
            .bind(number)
            .bind(entry.date)
            .execute(&mut *transaction)
            .await?;
        if done.rows_affected() != 1 {
            return Ok(Stored::Superseded); // the transaction is rolled back
        }
        transaction.commit().await?;
        Ok(Stored::Committed)
    }

    /// Returns the audit log of the device that `request` names, as far as an answer to this requester needs it: the newest
    /// entries, and the last one of each certificate of the request.
    pub(super) async fn audit_log(
        &self,
        provider: &CryptoProvider,
        request: &RegistrarRequest,
    ) -> Result<Vec<LogEntry>, sqlx::Error> {
        let devices = self.devices(request.serial_number()).await?;
        let Some(record) = devices.into_iter().find(|record| is_of(record, request)) else { return Ok(Vec::new()) };
        let device = &record.device;
        let mut own = Vec::new();
        for certificate in request.path().certificates() {
            let Ok(key) = public_key_sha256(provider, certificate) else { continue };
            let query = format!("{SELECT_LOG} AND domain_key = $3 ORDER BY number DESC LIMIT 1");
            let query = sqlx::query(&query).bind(&device.serial_number).bind(&device.idevid_issuer);
            let row = query.bind(key.as_slice()).fetch_optional(&self.pool).await?;
            own.extend(row.as_ref().map(log_entry).transpose()?);
        }
        // Who never had the device costs no more than this.
        if own.is_empty() {
            return Ok(own);
        }
        let mut log = self.newest(device, MAX_ENTRIES).await?;
        own.retain(|entry| !log.contains(entry));
        log.extend(own);
        Ok(log)
    }

    /// Returns the newest entries of a device's audit log, the newest first.
    pub async fn newest(&self, device: &Device, count: u32) -> Result<Vec<LogEntry>, sqlx::Error> {
        let query = format!("{SELECT_LOG} ORDER BY number DESC LIMIT $3");
        let query = sqlx::query(&query).bind(&device.serial_number).bind(&device.idevid_issuer).bind(i64::from(count));
        query.fetch_all(&self.pool).await?.iter().map(log_entry).collect()
    }
}

/// Whether a record is that of the device which a request names.
fn is_of(record: &Record, request: &RegistrarRequest) -> bool {
    let issuer = request.idevid_issuer().unwrap_or_default();
    record.device.idevid_issuer == issuer || is_same_issuer(&record.device.idevid_issuer, issuer)
}

pub(super) fn record(row: &AnyRow) -> Result<Record, sqlx::Error> {
    let owner: Option<Vec<u8>> = row.try_get("owner")?;
    let sold_to: String = row.try_get("sold_to")?;
    let flag = |name| row.try_get::<i64, _>(name).map(|flag| flag != 0);
    let device = Device {
        serial_number: row.try_get("serial_number")?,
        idevid_issuer: row.try_get("idevid_issuer")?,
        is_blocked: flag("is_blocked")?,
        sold_to: serde_json::from_str(&sold_to).map_err(|error| sqlx::Error::Decode(error.into()))?,
        raw_public_keys_only: flag("raw_public_keys_only")?,
        owner: owner.map(|owner| digest(&owner)).transpose()?,
    };
    Ok(Record { device, is_registered: flag("is_registered")?, entries: row.try_get("entries")? })
}

fn log_entry(row: &AnyRow) -> Result<LogEntry, sqlx::Error> {
    let nonce: Option<Vec<u8>> = row.try_get("nonce")?;
    let assertion: String = row.try_get("assertion")?;
    Ok(LogEntry {
        date: time(row.try_get("date")?)?,
        domain_id: row.try_get("domain_id")?,
        key: digest(&row.try_get::<Vec<u8>, _>("domain_key")?)?,
        nonce: nonce.map(|nonce| Nonce::new(&nonce)).transpose().map_err(|error| sqlx::Error::Decode(error.into()))?,
        assertion: Assertion::of_name(&assertion).ok_or(damaged("assertion"))?,
    })
}

fn digest(bytes: &[u8]) -> Result<Sha256, sqlx::Error> {
    bytes.try_into().map_err(|_| damaged("digest"))
}

fn time(seconds: i64) -> Result<UnixTime, sqlx::Error> {
    let seconds = u64::try_from(seconds).map_err(|_| damaged("date"))?;
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
}

/// Returns the seconds since 1970; the last ones there are for times that are later.
fn seconds(time: UnixTime) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

pub(super) fn to_json(sold_to: &[Buyer]) -> String {
    serde_json::to_string(sold_to).expect("names and numbers can be encoded")
}

fn damaged(what: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(format!("a row has a damaged {what}").into())
}

const SELECT_LOG: &str = "SELECT date, domain_id, domain_key, nonce, assertion FROM audit_log \
                          WHERE serial_number = $1 AND idevid_issuer = $2";

/// The most entries of an audit log that are looked at. What is left out is counted up to 1,024 (RFC 8995, 5.8.1), and a log
/// that is sent has 1,024 events at most, so that no more could be told of a longer one.
const MAX_ENTRIES: u32 = 4_096;
