//! The configuration file of a pledge.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use terse_brski::pledge::{Coaps, Proximity};

use super::{Device, DeviceError, DtlsVersion};
use crate::config::{self, ConfigError};
use crate::discovery::{self, Place};

/// The configuration file of a pledge. Its paths are relative to its own folder.
///
/// ```toml
/// idevid = "WI-3005.pem"
/// key = "WI-3005.key"
/// masa_ca = "masa-ca.pem"
/// out = "credentials"
/// registrars = ["[fe80::1%eth0]:5684"]   # without any, multicast DNS finds them
/// accept_nonceless = true
/// form = "coaps"                         # constrained BRSKI, or "any" for both; without it, BRSKI over HTTPS
/// dtls = "1.3"
/// proximity = "pubk-sha256"
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PledgeFile {
    /// The IDevID and the certificates above it.
    pub idevid: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates under which the manufacturer signs vouchers.
    pub masa_ca: PathBuf,
    /// Where the credential of the domain is stored.
    pub out: PathBuf,
    /// Join proxies or registrars to try, in the place of those that multicast DNS would find.
    #[serde(default, deserialize_with = "discovery::places")]
    pub registrars: Vec<Place>,
    /// Whether vouchers without a nonce are accepted: yes unless this says otherwise (RFC 8995, 7.2).
    #[serde(default = "yes")]
    pub accept_nonceless: bool,
    /// The form of BRSKI.
    #[serde(default)]
    pub form: FormName,
    /// With CoAPS: the version of DTLS.
    #[serde(default)]
    pub dtls: Option<DtlsVersion>,
    /// With CoAPS: what voucher requests name the registrar by: `pubk-sha256`, `pubk` or `cert`.
    #[serde(default, deserialize_with = "proximity")]
    pub proximity: Option<Proximity>,
}

/// A form of BRSKI, as configurations name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormName {
    /// BRSKI over HTTPS (RFC 8995).
    #[default]
    Https,
    /// Constrained BRSKI over CoAPS.
    Coaps,
    /// Both in turn, CoAPS first.
    Any,
}

impl FormName {
    /// Returns the name: `https`, `coaps` or `any`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Coaps => "coaps",
            Self::Any => "any",
        }
    }
}

impl PledgeFile {
    /// Reads a configuration file, and makes its paths those of files.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let mut file: Self = config::read(path)?;
        for own in [&mut file.idevid, &mut file.key, &mut file.masa_ca, &mut file.out] {
            *own = config::beside(path, own);
        }
        if file.form == FormName::Https && (file.dtls.is_some() || file.proximity.is_some()) {
            let problem = "dtls and proximity are for constrained BRSKI: add form = \"coaps\", or remove them";
            return Err(ConfigError::new(path, problem));
        }
        Ok(file)
    }

    /// Reads the files that it names. [`Device::with_form`] gives the device its form: [`Self::coaps`] for CoAPS.
    pub fn device(&self) -> Result<Device, DeviceError> {
        Ok(Device::read(&self.idevid, &self.key, &self.masa_ca)?.accept_nonceless(self.accept_nonceless))
    }

    /// Returns the form of a device that speaks CoAPS.
    pub fn coaps(&self) -> Coaps {
        Coaps::default().with_proximity(self.proximity.unwrap_or_default())
    }
}

const fn yes() -> bool {
    true
}

fn proximity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Proximity>, D::Error> {
    match &*String::deserialize(deserializer)? {
        "pubk-sha256" => Ok(Some(Proximity::PublicKeySha256)),
        "pubk" => Ok(Some(Proximity::PublicKey)),
        "cert" => Ok(Some(Proximity::Certificate)),
        other => Err(serde::de::Error::unknown_variant(other, &["pubk-sha256", "pubk", "cert"])),
    }
}

#[cfg(test)]
mod tests;
