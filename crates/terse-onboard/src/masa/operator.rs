//! What an operator wants of the database of a MASA, also while it serves: the audit log of a device, and a change of who may
//! have it.
//!
//! What must always hold: no entry of an audit log is changed or removed.

use terse_brski::audit_log::{AuditLog, Event};

use super::config::MasaConfig;
use super::error::MasaError;
use super::service::open_store;
use super::store::{MasaStore, Record};
use crate::config::ConfigError;

/// A change of who may have a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Nobody has it any more: the next domain may claim it. A device without record is registered by this.
    Release,
    /// No vouchers are issued for it: it was stolen, or taken out of service.
    Block,
    /// Vouchers are issued again.
    Unblock,
}

/// A device, and the newest events of its audit log.
#[derive(Clone, Debug)]
pub struct DeviceLog {
    /// The device.
    pub record: Record,
    /// The newest events, at most [`MAX_EVENTS`](terse_brski::audit_log::MAX_EVENTS); what is left out is counted.
    pub log: AuditLog,
}

/// Returns the devices with this serial number: there is one for each CA of the manufacturer, at most.
pub async fn device_logs(config: &MasaConfig, serial_number: &str) -> Result<Vec<DeviceLog>, MasaError> {
    let store = open_existing(config).await?;
    let mut logs = Vec::new();
    for record in known(&store, serial_number).await? {
        let count = u32::try_from(terse_brski::audit_log::MAX_EVENTS).unwrap_or(u32::MAX);
        let entries = store.newest(&record.device, count).await?;
        let mut log = AuditLog::default();
        log.version = 1;
        log.arbitrary = u64::try_from(record.entries).unwrap_or_default().saturating_sub(entries.len() as u64);
        let event =
            |entry: terse_brski::masa::LogEntry| Event::new(entry.date, entry.domain_id, entry.nonce, entry.assertion);
        log.events = entries.into_iter().map(event).collect();
        logs.push(DeviceLog { record, log });
    }
    store.close().await;
    Ok(logs)
}

/// Changes all devices with this serial number, and returns them.
pub async fn change_device(config: &MasaConfig, serial_number: &str, change: Change) -> Result<Vec<Record>, MasaError> {
    let store = open_existing(config).await?;
    store.change(serial_number, change).await?;
    let records = known(&store, serial_number).await;
    store.close().await;
    records
}

/// Returns the devices with this serial number, at least one.
async fn known(store: &MasaStore, serial_number: &str) -> Result<Vec<Record>, MasaError> {
    match store.devices(serial_number).await? {
        records if records.is_empty() => Err(MasaError::UnknownDevice(serial_number.into())),
        records => Ok(records),
    }
}

/// Opens a database that is there: who looks into one wants no new one.
pub(super) async fn open_existing(config: &MasaConfig) -> Result<MasaStore, ConfigError> {
    if config.database.is_missing() {
        return Err(config.database.error("there is no such database; `terse masa` makes it when it starts"));
    }
    open_store(config).await
}
