//! What an operator asks of the registrar's database, beside the running registrar.

use alloc::collections::BTreeSet;
use core::fmt;
use std::path::Path;

use pki_types::UnixTime;
use terse_net::Clock;

use super::config::Config;
use super::store::{Device, DeviceReport, EndingCertificate, FetchedVoucher, Pending, Store};
use crate::config::ConfigError;

mod revoke;

pub use revoke::{Revoked, Revoker, SignedCrl};

/// The database of a registrar, for its operator.
pub struct Operator {
    store: Store,
    now: UnixTime,
    revoker: Revoker,
}

/// What became of rejecting a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It is rejected; the name of its manufacturer.
    Rejected(String),
    /// It has not asked yet, and so its certificate is unknown: the voucher that was fetched for it is withdrawn, and it can be
    /// rejected when it has asked. The name of its manufacturer.
    Withdrawn(String),
}

/// Why something that an operator wants does not happen. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum OperatorError {
    /// The configuration cannot be read.
    Config(ConfigError),
    /// There is no database yet.
    NoDatabase(ConfigError),
    /// The database fails.
    Database(ConfigError),
    /// No device with this serial number has asked.
    Unknown(String),
    /// Devices of these manufacturers have this serial number.
    Ambiguous(Vec<String>),
    /// The CA behind the EST server issues the certificates, and revokes them.
    OtherCa,
    /// There is no CA.
    NoCa,
    /// The registrar has signed no list of revoked certificates yet.
    NoCrl,
}

impl Operator {
    /// Opens the database that the configuration at `path` names.
    pub async fn open(path: &Path, clock: Clock) -> Result<Self, OperatorError> {
        let config: Config = crate::config::read(path).map_err(OperatorError::Config)?;
        let database = config.database.beside(path);
        if database.is_missing() {
            let problem = "there is no database yet; start the registrar first";
            return Err(OperatorError::NoDatabase(database.error(problem)));
        }
        let store = Store::open(&database).await;
        let store = store.map_err(|error| OperatorError::Database(database.error(error)))?;
        let now = clock.now().unix.unwrap_or(UnixTime::since_unix_epoch(core::time::Duration::ZERO));
        Ok(Self { store, now, revoker: Revoker::of(path, config.enrolment.as_ref()) })
    }

    /// Returns the devices that wait for a decision.
    pub async fn pending(&self) -> Result<Vec<Pending>, OperatorError> {
        self.store.pending(self.now).await.map_err(database)
    }

    /// Returns the devices that have had a voucher.
    pub async fn devices(&self) -> Result<Vec<DeviceReport>, OperatorError> {
        self.store.devices().await.map_err(database)
    }

    /// Returns the newest LDevID of each device that ends within so many days, or has ended since as many, the first one first.
    pub async fn ending(&self, days: u32) -> Result<Vec<EndingCertificate>, OperatorError> {
        self.store.certificates_ending(days, self.now).await.map_err(database)
    }

    /// Returns the vouchers that were fetched in advance and have not expired.
    pub async fn fetched_vouchers(&self) -> Result<Vec<FetchedVoucher>, OperatorError> {
        self.store.fetched_vouchers(self.now).await.map_err(database)
    }

    /// Allows a device to join, also with the audit log that it has: the one with this serial number, of this manufacturer
    /// if one is given. Returns the name of its manufacturer.
    pub async fn accept(&self, serial_number: &str, manufacturer: Option<&str>) -> Result<String, OperatorError> {
        let name = self.decide(serial_number, manufacturer, true).await?;
        name.ok_or_else(|| OperatorError::Unknown(serial_number.into()))
    }

    /// Rejects a device, as [`Self::accept`] allows one. It gets neither a voucher nor a certificate any more; a certificate
    /// that it has is good until [`Self::revoke`], or the CA, revokes it. Of one that has not asked yet, the voucher is
    /// withdrawn that was fetched for it.
    pub async fn reject(&self, serial_number: &str, manufacturer: Option<&str>) -> Result<Rejection, OperatorError> {
        if let Some(name) = self.decide(serial_number, manufacturer, false).await? {
            return Ok(Rejection::Rejected(name));
        }
        let makers = self.store.manufacturers_fetched(serial_number).await.map_err(database)?;
        let is_wanted = |maker: &String| manufacturer.is_none_or(|name| name == maker);
        let maker = the_only(makers.into_iter().filter(is_wanted).collect())?;
        let maker = maker.ok_or_else(|| OperatorError::Unknown(serial_number.into()))?;
        self.store.withdraw_fetched(&maker, serial_number).await.map_err(database)?;
        Ok(Rejection::Withdrawn(maker))
    }

    /// Returns the device with this serial number, of this manufacturer if one is given, and the name of its manufacturer. It
    /// can have several IDevIDs, and each is a device here.
    async fn named(
        &self,
        serial_number: &str,
        manufacturer: Option<&str>,
    ) -> Result<(Option<String>, Vec<Device>), OperatorError> {
        let devices = self.store.devices_named(serial_number).await.map_err(database)?;
        let is_wanted = |device: &Device| manufacturer.is_none_or(|name| name == device.manufacturer);
        let devices: Vec<Device> = devices.into_iter().filter(is_wanted).collect();
        Ok((the_only(devices.iter().map(|device| device.manufacturer.clone()).collect())?, devices))
    }

    /// Returns the name of the manufacturer, or `None` if the device is not known.
    async fn decide(
        &self,
        serial_number: &str,
        manufacturer: Option<&str>,
        is_allowed: bool,
    ) -> Result<Option<String>, OperatorError> {
        let (name, mut devices) = self.named(serial_number, manufacturer).await?;
        while let Some(device) = devices.pop() {
            self.store.decide(&device, is_allowed, self.now).await.map_err(database)?;
        }
        Ok(name)
    }
}

/// Returns the one manufacturer, if there is one.
fn the_only(mut makers: BTreeSet<String>) -> Result<Option<String>, OperatorError> {
    match makers.len() {
        0 | 1 => Ok(makers.pop_first()),
        _ => Err(OperatorError::Ambiguous(makers.into_iter().collect())),
    }
}

fn database(error: sqlx::Error) -> OperatorError {
    OperatorError::Database(ConfigError::new(Path::new("the database"), error))
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) | Self::NoDatabase(error) => error.fmt(f),
            Self::Database(error) => write!(f, "{error}; check the file and its folder, or the server"),
            Self::Unknown(serial_number) => {
                write!(f, "no device with the serial number {serial_number:?} has asked; see `terse registrar pending`")
            }
            Self::Ambiguous(makers) => {
                write!(f, "{} have devices with this serial number; give --manufacturer", makers.join(" and "))
            }
            Self::OtherCa => f.write_str("the certificates are of the CA behind the EST server; revoke them there"),
            Self::NoCa => f.write_str("this registrar issues no certificates; configure [enrolment] first"),
            Self::NoCrl => f.write_str("the registrar has signed no list yet; start it first"),
        }
    }
}

impl core::error::Error for OperatorError {}
