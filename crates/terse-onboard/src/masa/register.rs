//! Devices are registered that another factory has made: their IDevIDs come from a PKI of its own (RFC 8995, 2.3).
//!
//! What must always hold: a device is registered only by an IDevID that leads to an anchor of the manufacturer, verified as the
//! MASA verifies that of a pledge; its serial number and issuer are those of that certificate.

use core::fmt;
use core::time::Duration;
use std::path::{Path, PathBuf};

use pki_types::UnixTime;
use terse_aws_lc::PROVIDER;
use terse_brski::masa::{Buyer, Device, Masa, Refusal};
use terse_net::files::{FileError, read_certificates};

use super::config::MasaConfig;
use super::error::MasaError;
use super::keys;
use super::service::open_store;
use super::store::{MasaStore, Record};

/// What is recorded of devices when they are registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The customers to whom they were sold.
    pub sold_to: Vec<String>,
    /// Whether they support raw public keys alone, so that their vouchers pin the registrar's key
    /// ([`Device::raw_public_keys_only`]).
    pub raw_public_keys_only: bool,
}

impl DeviceOptions {
    pub(super) fn apply(&self, device: &mut Device) {
        device.sold_to = self.sold_to.iter().cloned().map(Buyer::Customer).collect();
        device.raw_public_keys_only = self.raw_public_keys_only;
    }
}

/// What became of a file with an IDevID.
#[derive(Debug)]
#[non_exhaustive]
pub enum Registration {
    /// The device with this serial number is registered.
    New(String),
    /// The device with this serial number was registered before, and nothing was changed.
    Known(String),
    /// No device was registered.
    Refused(NotRegistered),
}

/// Why a file registers no device. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotRegistered {
    /// The file cannot be read, or holds no certificate.
    File(FileError),
    /// The certificate in this file is no IDevID of this manufacturer.
    Idevid(PathBuf, Refusal),
    /// The device with this serial number was registered before as sold to others, and to whom it was sold is not changed.
    Sold(String),
    /// The device with this serial number was registered before as one that supports certificates, which is not changed.
    Certificates(String),
}

/// Registers the devices whose IDevIDs are in these files: each file has the certificate of one device first, and then those
/// above it that are no anchors. `observe` is told what became of each file, in their order, as soon as that is known; what is
/// wrong with one does not keep the others from being registered.
pub async fn register_idevids(
    config: &MasaConfig,
    files: &[PathBuf],
    options: &DeviceOptions,
    now: u64,
    mut observe: impl FnMut(&Path, &Registration),
) -> Result<(), MasaError> {
    let (masa, _) = keys::masa(&PROVIDER, config)?;
    let time = UnixTime::since_unix_epoch(Duration::from_secs(now));
    let store = open_store(config).await?;
    let mut done = Ok(());
    for file in files {
        let registration = match read(&masa, file, time) {
            Ok(device) => register(&store, device, options).await,
            Err(refused) => Ok(Registration::Refused(refused)),
        };
        match registration {
            Ok(registration) => observe(file, &registration),
            Err(error) => {
                done = Err(error);
                break;
            }
        }
    }
    store.close().await;
    done
}

fn read(masa: &Masa, file: &Path, time: UnixTime) -> Result<Device, NotRegistered> {
    let chain = read_certificates(file).map_err(NotRegistered::File)?;
    masa.read_idevid(&chain, time).map_err(|refusal| NotRegistered::Idevid(file.into(), refusal))
}

async fn register(store: &MasaStore, mut device: Device, options: &DeviceOptions) -> Result<Registration, MasaError> {
    options.apply(&mut device);
    if let Some(transaction) = store.register(&device).await? {
        transaction.commit().await?;
        return Ok(Registration::New(device.serial_number));
    }
    let records = store.devices(&device.serial_number).await?;
    let is_same = |record: &&Record| record.device.idevid_issuer == device.idevid_issuer;
    let known = records.iter().find(is_same).map(|record| &record.device);
    if !options.sold_to.is_empty() && known.is_none_or(|known| known.sold_to != device.sold_to) {
        return Ok(Registration::Refused(NotRegistered::Sold(device.serial_number)));
    }
    if options.raw_public_keys_only && known.is_none_or(|known| !known.raw_public_keys_only) {
        return Ok(Registration::Refused(NotRegistered::Certificates(device.serial_number)));
    }
    Ok(Registration::Known(device.serial_number))
}

impl fmt::Display for NotRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Idevid(file, refusal) => {
                let advice = match refusal {
                    Refusal::PledgeCertificate(_) => {
                        "; give its certificate first, then those up to an anchor of `anchors` in [manufacturer]"
                    }
                    _ => "",
                };
                write!(f, "{}: {refusal}{advice}", file.display())
            }
            Self::Sold(serial_number) => write!(
                f,
                "the device {serial_number} is registered already, and to whom it was sold is not changed; leave out --sold-to"
            ),
            Self::Certificates(serial_number) => write!(
                f,
                "the device {serial_number} is registered already, as one that supports certificates, and that is not changed; \
                 leave out --raw-public-keys"
            ),
        }
    }
}

impl core::error::Error for NotRegistered {}
