//! An export is read into an empty database: to move from one database to another, or after one was lost.
//!
//! What must always hold: nothing is written before all of the export was verified, and all of it is one transaction, at whose end
//! the database is verified as always.

use std::path::Path;

use pki_types::CertificateDer;

use super::file::{Content, Contents, Export, LoggedEntry};
use super::head::from_hex;
use super::line::DeviceLine;
use super::rows::{self, count, insert, set_head};
use super::signature::signers_of;
use super::verify::Verification;
use super::{LogHead, Progress};
use crate::config::ConfigError;
use crate::masa::config::MasaConfig;
use crate::masa::error::MasaError;
use crate::masa::service::open_store;
use crate::masa::store;
use crate::store::Connection;

/// What was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The head of the chain.
    pub head: LogHead,
    /// How many devices there are.
    pub devices: u64,
    /// How many vouchers there are. Those that were replaced by later ones are in no export.
    pub vouchers: u64,
}

/// Imports an export into the database of a configuration, which has no devices yet, or creates that. `signers` are the
/// certificates of those who may have signed it; without any, that of the voucher signer in the configuration counts.
pub async fn import_log(
    config: &MasaConfig,
    file: &Path,
    signers: &[CertificateDer<'static>],
    progress: Progress<'_>,
) -> Result<Imported, MasaError> {
    let export = Export::open(file, &signers_of(config, signers)?)?;
    export.verify(&mut |_, _| ())?;
    let contents = export.contents()?;
    let store = open_store(config).await?;
    let imported = async {
        let mut transaction = store.pool().begin().await?;
        let is_empty = count(&mut transaction, "SELECT COUNT(*) FROM devices").await? == 0
            && count(&mut transaction, "SELECT COUNT(*) FROM audit_log").await? == 0
            && rows::head(&mut transaction).await? == Some(LogHead::EMPTY);
        if !is_empty {
            let problem = "the database has devices already; import into an empty one";
            return Err(config.database.error(problem).into());
        }
        let imported = Import::new(&mut transaction, file).run(contents, export.head(), progress).await?;
        Verification::new(&mut transaction).run(&mut |_, _| ()).await?;
        transaction.commit().await?;
        Ok(imported)
    };
    let imported = imported.await;
    store.close().await;
    imported
}

/// An import under way.
struct Import<'a> {
    transaction: &'a mut Connection,
    file: &'a Path,
    devices: u64,
    vouchers: u64,
}

impl<'a> Import<'a> {
    const fn new(transaction: &'a mut Connection, file: &'a Path) -> Self {
        Self { transaction, file, devices: 0, vouchers: 0 }
    }

    async fn run(
        mut self,
        mut contents: Contents,
        head: LogHead,
        progress: Progress<'_>,
    ) -> Result<Imported, MasaError> {
        while let Some(content) = contents.next()? {
            match content {
                Content::Device(device) => self.device(&device).await?,
                Content::Entry(logged) => {
                    self.entry(&logged).await?;
                    progress(logged.link.length, head.length);
                }
            }
        }
        set_head(self.transaction, &head).await?;
        Ok(Imported { head, devices: self.devices, vouchers: self.vouchers })
    }

    async fn device(&mut self, device: &DeviceLine) -> Result<(), MasaError> {
        let damaged = || MasaError::from(ConfigError::new(self.file, "a device in it is damaged"));
        let issuer = from_hex(&device.idevid_issuer).ok_or_else(damaged)?;
        let owner = match &device.owner {
            Some(owner) => Some(from_hex(owner).filter(|owner| owner.len() == 32).ok_or_else(damaged)?),
            None => None,
        };
        let query = "INSERT INTO devices (serial_number, idevid_issuer, is_registered, is_blocked, sold_to, \
                     raw_public_keys_only, owner, entries) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        sqlx::query(query)
            .bind(&device.serial_number)
            .bind(issuer)
            .bind(i64::from(device.registered))
            .bind(i64::from(device.blocked))
            .bind(store::to_json(&device.sold_to))
            .bind(i64::from(device.raw_public_keys_only))
            .bind(owner)
            .bind(device.entries)
            .execute(&mut *self.transaction)
            .await?;
        self.devices += 1;
        Ok(())
    }

    async fn entry(&mut self, logged: &LoggedEntry) -> Result<(), MasaError> {
        let LoggedEntry { entry, link, voucher } = logged;
        insert(self.transaction, entry, link).await?;
        let Some(voucher) = voucher else { return Ok(()) };
        let query = "INSERT INTO issued_vouchers (request, voucher, expires_on, serial_number, idevid_issuer, number) \
                     VALUES ($1, $2, $3, $4, $5, $6)";
        sqlx::query(query)
            .bind(&entry.request)
            .bind(voucher)
            .bind(entry.expires_on)
            .bind(&entry.serial_number)
            .bind(&entry.idevid_issuer)
            .bind(entry.number)
            .execute(&mut *self.transaction)
            .await?;
        self.vouchers += 1;
        Ok(())
    }
}
