//! What a device is born with: the IDevID with its key, in files or elsewhere, and the trust anchors of its manufacturer.

use alloc::sync::Arc;
use core::fmt;
use std::path::Path;

use pki_types::CertificateDer;
use terse_brski::certificate::public_key;
use terse_brski::pledge::{Form, Https, PledgeConfig};
use terse_net::files;
use terse_net::tokio::AsyncSigner;
use terse_tls::Credential;

use super::signer::{KeyElsewhere, LateSigner};

/// A device with its IDevID, which speaks one form of BRSKI: that over HTTPS, unless [`Self::with_form`] says otherwise.
#[derive(Clone, Debug)]
pub struct Device<F: Form = Https> {
    idevid: Credential,
    config: Arc<PledgeConfig<F>>,
    /// Asks for the signatures of the IDevID's key, if it is elsewhere.
    signer: Option<LateSigner>,
}

/// Why there is no such device. It displays as one line.
#[derive(Debug)]
pub struct DeviceError(String);

impl Device {
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
}

impl<F: Form> Device<F> {
    /// Creates a device.
    pub fn new(idevid: Credential, config: PledgeConfig<F>) -> Self {
        Self { idevid, config: Arc::new(config), signer: None }
    }

    /// Returns the same device with another form of BRSKI. Fails if its key cannot sign the voucher requests of that form: in
    /// constrained BRSKI an RSA key cannot.
    ///
    /// ```no_run
    /// use terse_brski::pledge::Coaps;
    /// use terse_onboard::pledge::Device;
    ///
    /// # fn device() -> Result<Device<Coaps>, terse_onboard::pledge::DeviceError> {
    /// let device = Device::read("idevid.pem".as_ref(), "idevid.key".as_ref(), "masa-ca.pem".as_ref())?;
    /// let device = device.with_form(Coaps::default())?;
    /// # Ok(device)
    /// # }
    /// ```
    pub fn with_form<G: Form>(self, form: G) -> Result<Device<G>, DeviceError> {
        let config = Arc::unwrap_or_clone(self.config).into_form(form);
        let config = Arc::new(config.map_err(|error| DeviceError(error.to_string()))?);
        Ok(Device { idevid: self.idevid, config, signer: self.signer })
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

    pub(super) const fn config(&self) -> &Arc<PledgeConfig<F>> {
        &self.config
    }
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
