//! Identity keys for devices, from the generator (PKG) of the domain, for handshakes without certificates.
//!
//! A device asks with its LDevID; or with its IDevID, as one does that supports raw public keys alone, and never has an LDevID. For
//! the latter it must be let in as for its first certificate, at a registrar without a CA as well.
//!
//! What must always hold: a device gets the key of its own serial number alone, when its voucher and its audit log are good; a
//! key is in no log, and in no memory that is not erased.

use std::path::Path;

use terse_ibc::Generator;
use terse_ibc::files::KeyFile;
use terse_tls::identity::{Identity, IdentityType};
use zeroize::Zeroizing;

use super::Service;
use super::config::{Config, IdentityConfig};
use super::reply::{Content, Received, Reply};
use super::store::StoredJoining;
use crate::config::{ConfigError, beside};

/// The generator, and the names that it makes keys for.
pub(super) struct IdentityKeys {
    generator: Generator,
    name: String,
}

impl IdentityKeys {
    /// Reads the generator of a configuration at `path`.
    pub(super) fn load(path: &Path, config: &Config, own: &IdentityConfig) -> Result<Self, ConfigError> {
        let is_unique = own.name.contains("{manufacturer}") || config.manufacturers.len() < 2;
        if !own.name.contains("{serial}") || !is_unique {
            return Err(ConfigError::new(path, NOT_UNIQUE));
        }
        let secret = beside(path, &own.pkg).join("pkg.pem");
        let pem = Zeroizing::new(std::fs::read_to_string(&secret).map_err(|error| {
            ConfigError::new(&secret, format_args!("{error}; make a generator with terse pkg init"))
        })?);
        let generator = Generator::from_pem(&pem).map_err(|error| match pem.contains("ENCRYPTED") {
            true => ConfigError::new(&secret, "it is encrypted; the registrar reads only one without a passphrase"),
            false => ConfigError::new(&secret, error),
        })?;
        Ok(Self { generator, name: own.name.clone() })
    }

    /// Makes the key file of a device.
    fn key_file(&self, device: &StoredJoining) -> Result<Zeroizing<String>, String> {
        let name = self.name.replace("{serial}", &device.serial_number).replace("{manufacturer}", &device.manufacturer);
        let identity = Identity::new(IdentityType::DEVICE_NAME, name.as_bytes()).map_err(|error| error.to_string())?;
        let key = self.generator.extract(&identity).map_err(|error| error.to_string())?;
        KeyFile { key, known_peers: Vec::new() }.to_pem().map_err(|error| error.to_string())
    }
}

impl Service {
    /// Gives a device its identity key: the same whenever it asks, until the generator's next epoch.
    pub(super) async fn identity_key(&self, received: &Received) -> Result<Reply, Reply> {
        let keys = self.inner.settings.identity.as_ref();
        let keys = keys.ok_or_else(|| Reply::text(404, "this registrar has no identity keys"))?;
        let device = self.admit_device(received).await?.device;
        let (serial_number, manufacturer) = (&device.serial_number, &device.manufacturer);
        let file = keys.key_file(&device).map_err(|error| {
            tracing::error!(serial_number, manufacturer, %error, "no identity key can be made");
            Reply::text(500, "no identity key can be made for the serial number; an operator must look into it")
        })?;
        self.inner.store.gave_identity_key(&device, self.now()).await?;
        self.inner.metrics.identity_key_given();
        tracing::info!(serial_number, manufacturer, "a device gets an identity key");
        Ok(Reply::of(Content::IdentityKey(file)))
    }
}

const NOT_UNIQUE: &str = "the name of [identity] must have {serial}, and with several manufacturers {manufacturer}, since two of \
                          them may have a device with the same serial number";
