//! The audit log is written to a file, with the devices and the vouchers, and signed.
//!
//! What must always hold: what is signed was verified, and is one state of the database.

use std::io::Write;

use base64ct::{Base64, Encoding as _};
use pki_types::UnixTime;
use serde_json::to_vec;
use sqlx::Row as _;
use sqlx::any::AnyRow;
use terse_aws_lc::PROVIDER;
use terse_brski::date;
use terse_tls::crypto::HashContext;

use super::head::hex;
use super::line::{DeviceLine, EndLine, EntryLine, Line, LogLine, VERSION};
use super::rows::{self, PAGE};
use super::verify::Verification;
use super::{LogHead, Progress};
use crate::masa::config::MasaConfig;
use crate::masa::error::MasaError;
use crate::masa::operator::open_existing;
use crate::masa::signer::{Signer, VoucherSigner};
use crate::masa::{keys, store};
use crate::store::Connection;

/// Verifies the audit log of the database, writes all of it to `out`, and returns its head. `signer` signs instead of the key that
/// the configuration names; its public key is the same.
pub async fn export_log(
    config: &MasaConfig,
    out: &mut dyn Write,
    signer: Option<VoucherSigner>,
    now: u64,
    progress: Progress<'_>,
) -> Result<LogHead, MasaError> {
    let time = UnixTime::since_unix_epoch(core::time::Duration::from_secs(now));
    let mut own = keys::voucher_signer(&PROVIDER, config, time)?;
    own.sign = signer.unwrap_or(own.sign);
    let store = open_existing(config).await?;
    let exported = async {
        let mut snapshot = store.pool().snapshot().await?;
        let head = Verification::new(&mut snapshot).run(&mut |_, _| ()).await?;
        let mut export = Export { out, hash: PROVIDER.sha256.start() };
        export.line(&Line::Log(LogLine { version: VERSION }))?;
        export.devices(&mut snapshot).await?;
        export.entries(&mut snapshot, &head, progress).await?;
        export.end(&head, &own, time).await?;
        Ok(head)
    };
    let exported = exported.await;
    store.close().await;
    exported
}

/// An export that is being written.
struct Export<'a> {
    out: &'a mut dyn Write,
    hash: Box<dyn HashContext>,
}

impl Export<'_> {
    fn line(&mut self, line: &Line) -> Result<(), MasaError> {
        let mut text = to_vec(line).expect("strings and numbers can be encoded");
        text.push(b'\n');
        self.hash.update(&text);
        self.out.write_all(&text).map_err(MasaError::Output)
    }

    async fn devices(&mut self, snapshot: &mut Connection) -> Result<(), MasaError> {
        let query = format!(
            "SELECT serial_number, idevid_issuer, is_registered, is_blocked, sold_to, raw_public_keys_only, owner, entries \
             FROM devices WHERE (serial_number, idevid_issuer) > ($1, $2) \
             ORDER BY serial_number, idevid_issuer LIMIT {PAGE}"
        );
        let (mut serial_number, mut issuer) = (String::new(), Vec::<u8>::new());
        loop {
            let page = sqlx::query(&query).bind(&serial_number).bind(&issuer).fetch_all(&mut *snapshot).await?;
            let Some(last) = page.last() else { return Ok(()) };
            (serial_number, issuer) = (last.try_get("serial_number")?, last.try_get("idevid_issuer")?);
            for row in &page {
                self.line(&Line::Device(device(row)?))?;
            }
        }
    }

    async fn entries(
        &mut self,
        snapshot: &mut Connection,
        head: &LogHead,
        progress: Progress<'_>,
    ) -> Result<(), MasaError> {
        let mut position = 0;
        loop {
            let page = rows::page(snapshot, position).await?;
            let Some(last) = page.last() else { return Ok(()) };
            position = last.position;
            for row in &page {
                let line = row.entry.as_ref().and_then(|entry| EntryLine::of(row, entry));
                let line = line.ok_or_else(|| rows::damaged("date of an entry"))?;
                self.line(&Line::Entry(Box::new(line)))?;
            }
            progress(position, head.length);
        }
    }

    /// Writes the last line.
    async fn end(self, head: &LogHead, signer: &Signer, time: UnixTime) -> Result<(), MasaError> {
        let mut end = EndLine {
            length: head.length,
            head: head.hash_hex(),
            time: date::format(time),
            sha256: hex(self.hash.finish().as_ref()),
            signature: String::new(),
        };
        let statement = to_vec(&end.statement()).expect("strings and numbers can be encoded");
        let signed = signer.sign_data(&PROVIDER, &statement, time).await.map_err(MasaError::NotSigned)?;
        end.signature = Base64::encode_string(&signed);
        let mut text = to_vec(&Line::End(end)).expect("strings and numbers can be encoded");
        text.push(b'\n');
        self.out.write_all(&text).and_then(|()| self.out.flush()).map_err(MasaError::Output)
    }
}

fn device(row: &AnyRow) -> Result<DeviceLine, sqlx::Error> {
    let store::Record { device, is_registered, entries } = store::record(row)?;
    Ok(DeviceLine {
        serial_number: device.serial_number,
        idevid_issuer: hex(&device.idevid_issuer),
        registered: is_registered,
        blocked: device.is_blocked,
        sold_to: device.sold_to,
        raw_public_keys_only: device.raw_public_keys_only,
        owner: device.owner.map(|owner| hex(&owner)),
        entries,
    })
}
