//! The configuration file of a pledge.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use terse_brski::pledge::{Coaps, Credentials, Proximity};

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
/// credentials = "certificate-and-identity-key"
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
    /// With CoAPS: what the device wants of its domain: `certificate`, `certificate-and-identity-key` or `identity-key`.
    #[serde(default, deserialize_with = "credentials")]
    pub credentials: Option<Credentials>,
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
        file.check().map_err(|problem| ConfigError::new(path, problem))?;
        Ok(file)
    }

    /// Checks that what belongs to constrained BRSKI is there with that alone, and fits together.
    fn check(&self) -> Result<(), &'static str> {
        if self.form == FormName::Https && (self.dtls.is_some() || self.proximity.is_some()) {
            return Err("dtls and proximity are for constrained BRSKI: add form = \"coaps\", or remove them");
        }
        let credentials = self.credentials.unwrap_or_default();
        if self.form != FormName::Coaps && credentials != Credentials::Certificate {
            return Err("only CoAPS has identity keys: set form = \"coaps\", or remove credentials");
        }
        if credentials == Credentials::IdentityKey && self.proximity == Some(Proximity::Certificate) {
            return Err("without certificates there is none to name the registrar by: remove proximity = \"cert\"");
        }
        Ok(())
    }

    /// Reads the files that it names. [`Device::with_form`] gives the device its form: [`Self::coaps`] for CoAPS.
    pub fn device(&self) -> Result<Device, DeviceError> {
        Ok(Device::read(&self.idevid, &self.key, &self.masa_ca)?.accept_nonceless(self.accept_nonceless))
    }

    /// Returns the form of a device that speaks CoAPS.
    pub fn coaps(&self) -> Coaps {
        let (proximity, credentials) = (self.proximity.unwrap_or_default(), self.credentials.unwrap_or_default());
        Coaps::default().with_proximity(proximity).with_credentials(credentials)
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

fn credentials<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Credentials>, D::Error> {
    match &*String::deserialize(deserializer)? {
        "certificate" => Ok(Some(Credentials::Certificate)),
        "certificate-and-identity-key" => Ok(Some(Credentials::CertificateAndIdentityKey)),
        "identity-key" => Ok(Some(Credentials::IdentityKey)),
        other => {
            let names = &["certificate", "certificate-and-identity-key", "identity-key"];
            Err(serde::de::Error::unknown_variant(other, names))
        }
    }
}

#[cfg(test)]
mod tests;
