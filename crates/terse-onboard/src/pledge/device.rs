//! What a device is born with: the IDevID with its key, in files or elsewhere, and the trust anchors of its manufacturer.

use alloc::sync::Arc;
use core::fmt;
use std::path::{Path, PathBuf};

use pki_types::CertificateDer;
use serde::Deserialize;
use terse_brski::certificate::public_key;
use terse_brski::pledge::PledgeConfig;
use terse_net::files;
use terse_net::tokio::AsyncSigner;
use terse_tls::Credential;

use super::signer::{KeyElsewhere, LateSigner};
use crate::config::{self, ConfigError};
use crate::discovery::{self, Place};

/// A device with its IDevID.
#[derive(Clone, Debug)]
pub struct Device {
    idevid: Credential,
    config: Arc<PledgeConfig>,
    /// Asks for the signatures of the IDevID's key, if it is elsewhere.
    signer: Option<LateSigner>,
}

/// The configuration file of a pledge. Its paths are relative to its own folder.
///
/// ```toml
/// idevid = "WI-3005.pem"
/// key = "WI-3005.key"
/// masa_ca = "masa-ca.pem"
/// out = "credentials"
/// registrars = ["[fe80::1%eth0]:8443"]   # without any, multicast DNS finds them
/// accept_nonceless = true
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
}

/// Why there is no such device. It displays as one line.
#[derive(Debug)]
pub struct DeviceError(String);

impl Device {
    /// Creates a device.
    pub fn new(idevid: Credential, config: PledgeConfig) -> Self {
        Self { idevid, config: Arc::new(config), signer: None }
    }

    /// Creates a device whose key is elsewhere, such as in a secure element, and signs later: `signer` is asked for the
    /// signatures of handshakes and of voucher requests. `idevid` is the chain of its certificates, leaf first; `anchors` are
    /// the certificates under which the manufacturer signs vouchers.
    ///
    /// A [`SignatureRequest`](terse_tls::SignatureRequest) has the message, not its hash, and the scheme. The key is on P-256 or
    /// P-384, or for Ed25519 or RSA; an RSA key signs handshakes with PSS, and voucher requests with PKCS #1 v1.5. A signer
    /// that has not answered after a minute has failed; its future is dropped then. In a handshake it has 5 seconds if another
    /// proxy is due.
    ///
    /// ```no_run
    /// use terse_onboard::pledge::Device;
    /// use terse_tls::crypto::CryptoError;
    /// # async fn secure_element(_: u16, _: Vec<u8>) -> Option<Vec<u8>> { None }
    /// # fn device(chain: Vec<pki_types::CertificateDer<'static>>, anchors: Vec<pki_types::CertificateDer<'static>>)
    /// # -> Result<(), terse_onboard::pledge::DeviceError> {
    ///
    /// let device = Device::with_signer(chain, anchors, std::sync::Arc::new(|request| {
    ///     let (scheme, message) = (request.scheme().0, request.message().to_vec());
    ///     Box::pin(async move { secure_element(scheme, message).await.ok_or(CryptoError::SigningFailed) })
    /// }))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_signer(
        idevid: Vec<CertificateDer<'static>>,
        anchors: Vec<CertificateDer<'static>>,
        signer: AsyncSigner,
    ) -> Result<Self, DeviceError> {
        let unusable = |error: &dyn fmt::Display| DeviceError(error.to_string());
        let leaf = idevid.first().ok_or_else(|| unusable(&"the IDevID has no certificate"))?;
        let public_key =
            public_key(leaf).map_err(|error| unusable(&format_args!("the IDevID cannot be used: {error}")))?;
        let key = KeyElsewhere::new(public_key).ok_or_else(|| {
            unusable(&"the IDevID cannot be used: its key must be on P-256 or P-384, or for Ed25519 or RSA")
        })?;
        let credential = Credential::new(idevid, Arc::new(key)).map_err(|error| unusable(&error))?;
        let config = PledgeConfig::new(&terse_aws_lc::PROVIDER, credential.clone(), anchors);
        let config = Arc::new(config.map_err(|error| unusable(&error))?);
        Ok(Self { idevid: credential, config, signer: Some(LateSigner::new(signer)) })
    }

    /// Reads the IDevID with the certificates above it, its key, and the certificates that the manufacturer signs vouchers
    /// under.
    pub fn read(idevid: &Path, key: &Path, masa_ca: &Path) -> Result<Self, DeviceError> {
        let chain = files::read_certificates(idevid)?;
        let private = files::read_private_key(key, None)?;
        let private = terse_aws_lc::PROVIDER.load_key(&private).map_err(|error| in_file(key, error))?;
        let credential = Credential::new(chain, private).map_err(|error| in_file(idevid, error))?;
        let anchors = files::read_certificates(masa_ca)?;
        let config = PledgeConfig::new(&terse_aws_lc::PROVIDER, credential.clone(), anchors);
        Ok(Self::new(credential, config.map_err(|error| in_file(idevid, error))?))
    }

    /// Sets whether vouchers without a nonce are accepted.
    #[must_use]
    pub fn accept_nonceless(self, accept: bool) -> Self {
        let config = Arc::unwrap_or_clone(self.config).accept_nonceless(accept);
        Self { config: Arc::new(config), ..self }
    }

    /// Returns the serial number of the IDevID.
    pub fn serial_number(&self) -> &str {
        self.config.serial_number()
    }

    pub(super) const fn idevid(&self) -> &Credential {
        &self.idevid
    }

    pub(super) const fn signer(&self) -> Option<&LateSigner> {
        self.signer.as_ref()
    }

    pub(super) const fn config(&self) -> &Arc<PledgeConfig> {
        &self.config
    }
}

impl PledgeFile {
    /// Reads a configuration file, and makes its paths those of files.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let mut file: Self = config::read(path)?;
        for own in [&mut file.idevid, &mut file.key, &mut file.masa_ca, &mut file.out] {
            *own = config::beside(path, own);
        }
        Ok(file)
    }

    /// Reads the files that it names.
    pub fn device(&self) -> Result<Device, DeviceError> {
        Ok(Device::read(&self.idevid, &self.key, &self.masa_ca)?.accept_nonceless(self.accept_nonceless))
    }
}

const fn yes() -> bool {
    true
}

fn in_file(path: &Path, error: impl fmt::Display) -> DeviceError {
    DeviceError(format!("{}: {error}", path.display()))
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for DeviceError {}

impl From<files::FileError> for DeviceError {
    fn from(error: files::FileError) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests;
