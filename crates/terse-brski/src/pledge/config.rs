//! What a pledge is born with: its IDevID, the trust anchors of its manufacturer, and its policy.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::slice;

use pki_types::CertificateDer;
use terse_tls::crypto::CryptoProvider;
use terse_tls::{ApiMisuse, CertificateType, Credential, Expect, SignatureScheme, Trust};

use super::certificates::in_order;
use super::form::{Credentials, Form, Https};
use crate::certificate::{Idevid, SerialNumberField};
use crate::est::MAX_BODY_LEN;
use crate::{Malformed, SignatureRefused};

/// The configuration of a pledge.
///
/// # Defaults
///
/// - Vouchers without a nonce are accepted, as RFC 8995, 7.2 requires.
/// - A registrar that matches the pin by a path must have the extended key usage cmcRA.
/// - The serial number is the subject's attribute serialNumber; [`Self::with_serial_number_field`] takes another field.
/// - Responses of the authenticated registrar have up to [`MAX_BODY_LEN`] bytes, 32 kB.
/// - The form is BRSKI over HTTPS; [`Self::with_form`] takes another one.
/// - Chains are validated with path building; [`Self::with_paths`] takes another way.
#[derive(Clone)]
pub struct PledgeConfig<F: Form = Https> {
    pub(super) form: F,
    pub(super) provider: CryptoProvider,
    pub(super) idevid: Credential,
    /// The scheme that the IDevID's key signs with.
    pub(super) scheme: SignatureScheme,
    pub(super) manufacturer: Vec<CertificateDer<'static>>,
    /// Those of them that are CAs of voucher signers. Dates are checked if there is a clock (RFC 8995, 2.6.1).
    pub(super) manufacturer_trust: Trust,
    /// Whether others have issued the IDevID, so that only their own keys sign vouchers.
    pub(super) has_device_ca: bool,
    pub(super) paths: Paths,
    pub(super) serial_number: String,
    pub(super) issuer: Option<Vec<u8>>,
    pub(super) accept_nonceless: bool,
    pub(super) require_cmc_ra: bool,
    pub(super) max_response: usize,
}

/// How a pledge validates the chains of the manufacturer and of the domain: [`Trust::new`] or [`Trust::without_path_building`],
/// under these trust anchors.
pub type Paths = fn(&[CertificateDer<'_>]) -> Result<Trust, ApiMisuse>;

impl PledgeConfig {
    /// Returns the configuration of the device with this IDevID, whose vouchers are signed under one of the certificates
    /// `manufacturer`: those of voucher signers, whose keys count whatever their certificates say; or those of CAs that issue only
    /// voucher signers.
    ///
    /// A certificate to which the IDevID leads is that of a CA with other customers. Only its own key signs vouchers, and no
    /// certificate that it has issued. Below the others, no device signs vouchers, and no certificate with an extended key usage.
    pub fn new(
        provider: &CryptoProvider,
        idevid: Credential,
        manufacturer: Vec<CertificateDer<'static>>,
    ) -> Result<Self, ConfigError> {
        Self::with_form(Https, provider, idevid, manufacturer, SerialNumberField::default())
    }

    /// Returns the same as [`Self::new`] for a device that has its serial number in this field of the IDevID.
    pub fn with_serial_number_field(
        provider: &CryptoProvider,
        idevid: Credential,
        manufacturer: Vec<CertificateDer<'static>>,
        field: SerialNumberField,
    ) -> Result<Self, ConfigError> {
        Self::with_form(Https, provider, idevid, manufacturer, field)
    }
}

impl<F: Form> PledgeConfig<F> {
    /// Returns the same as [`PledgeConfig::with_serial_number_field`] for a device that speaks this form of BRSKI.
    pub fn with_form(
        form: F,
        provider: &CryptoProvider,
        idevid: Credential,
        manufacturer: Vec<CertificateDer<'static>>,
        field: SerialNumberField,
    ) -> Result<Self, ConfigError> {
        Self::with_paths(form, provider, idevid, manufacturer, field, Trust::new)
    }

    /// Returns the same as [`Self::with_form`] for a device that validates chains in this way. With
    /// [`Trust::without_path_building`] a firmware has no `rustls-webpki`, and takes 30 kB less flash; certificates of the
    /// manufacturer and of the domain must then be such as it accepts. Certificates that come in any order are put in order first.
    pub fn with_paths(
        form: F,
        provider: &CryptoProvider,
        idevid: Credential,
        manufacturer: Vec<CertificateDer<'static>>,
        field: SerialNumberField,
        paths: Paths,
    ) -> Result<Self, ConfigError> {
        let scheme = scheme_of::<F>(provider, &idevid)?;
        let leaf = idevid.chain().first().ok_or(ConfigError::NoCertificate)?;
        let Idevid { serial_number, issuer, .. } = Idevid::read(provider, leaf, field)?;
        let mut of_signers = Vec::new();
        for anchor in &manufacturer {
            let trust = paths(slice::from_ref(anchor))?.accept_without_clock();
            if trust.check(provider, &in_order(idevid.chain()), Expect::AnyUsage, None).is_err() {
                of_signers.push(anchor.clone());
            }
        }
        let has_device_ca = of_signers.len() < manufacturer.len();
        let manufacturer_trust = match of_signers.is_empty() && has_device_ca {
            true => Trust::nobody(),
            false => paths(&of_signers)?.accept_without_clock(),
        };
        Ok(Self {
            form,
            provider: *provider,
            idevid,
            scheme,
            manufacturer,
            manufacturer_trust,
            has_device_ca,
            paths,
            serial_number,
            issuer,
            accept_nonceless: true,
            require_cmc_ra: true,
            max_response: MAX_BODY_LEN,
        })
    }

    /// Returns the same configuration for a device that speaks another form of BRSKI. Fails if the key of the IDevID cannot sign
    /// the voucher requests of that form.
    pub fn into_form<G: Form>(self, form: G) -> Result<PledgeConfig<G>, ConfigError> {
        let scheme = scheme_of::<G>(&self.provider, &self.idevid)?;
        let Self { provider, idevid, manufacturer, manufacturer_trust, paths, serial_number, issuer, .. } = self;
        let Self { has_device_ca, accept_nonceless, require_cmc_ra, max_response, .. } = self;
        Ok(PledgeConfig {
            form,
            provider,
            idevid,
            scheme,
            manufacturer,
            manufacturer_trust,
            has_device_ca,
            paths,
            serial_number,
            issuer,
            accept_nonceless,
            require_cmc_ra,
            max_response,
        })
    }

    /// Sets whether vouchers without a nonce are accepted. They can be replayed until they expire, and for ever to a
    /// pledge without a clock.
    #[must_use]
    pub fn accept_nonceless(self, accept_nonceless: bool) -> Self {
        Self { accept_nonceless, ..self }
    }

    /// Sets whether a registrar whose certificate leads to the pinned one must have the extended key usage cmcRA. Without
    /// that, every holder of a certificate of the domain could pass for a registrar towards a pledge whose voucher has no
    /// nonce.
    #[must_use]
    pub fn require_cmc_ra(self, require_cmc_ra: bool) -> Self {
        Self { require_cmc_ra, ..self }
    }

    /// Sets how many bytes a response of the authenticated registrar may have, at most [`MAX_BODY_LEN`]: a larger number
    /// counts as that one. Before the voucher is verified it is [`MAX_LEN`](crate::voucher::MAX_LEN).
    #[must_use]
    pub fn max_response(self, max_response: usize) -> Self {
        Self { max_response: max_response.min(MAX_BODY_LEN), ..self }
    }

    /// Returns what the registrar is to present: a certificate chain, or a raw public key.
    pub fn certificate_type(&self) -> CertificateType {
        match self.form.credentials() {
            Credentials::IdentityKey => CertificateType::RAW_PUBLIC_KEY,
            Credentials::Certificate | Credentials::CertificateAndIdentityKey => CertificateType::X509,
        }
    }

    /// Returns the serial number of the device.
    pub fn serial_number(&self) -> &str {
        &self.serial_number
    }
}

impl<F: Form> fmt::Debug for PledgeConfig<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PledgeConfig")
            .field("form", &self.form)
            .field("serial_number", &self.serial_number)
            .field("idevid", &self.idevid)
            .field("manufacturer", &self.manufacturer.len())
            .field("accept_nonceless", &self.accept_nonceless)
            .field("require_cmc_ra", &self.require_cmc_ra)
            .finish_non_exhaustive()
    }
}

/// Why there is no pledge with such a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The IDevID is a raw public key, and has no certificate.
    NoCertificate,
    /// The certificate of the IDevID, or of its issuer, cannot be used.
    Idevid(Malformed),
    /// The key of the IDevID cannot sign voucher requests, for the reason of [`cms::Unsigned::new`](crate::cms::Unsigned::new) or
    /// [`cose::Unsigned::new`](crate::cose::Unsigned::new).
    Key(SignatureRefused),
    /// The trust anchors of the manufacturer cannot be used.
    Manufacturer(ApiMisuse),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCertificate => f.write_str("the IDevID has no certificate"),
            Self::Idevid(malformed) => write!(f, "the IDevID cannot be used: {malformed}"),
            Self::Key(refused) => write!(f, "the IDevID cannot sign voucher requests: {refused}"),
            Self::Manufacturer(misuse) => write!(f, "the trust anchors of the manufacturer cannot be used: {misuse}"),
        }
    }
}

impl core::error::Error for ConfigError {}

impl From<Malformed> for ConfigError {
    fn from(malformed: Malformed) -> Self {
        Self::Idevid(malformed)
    }
}

impl From<ApiMisuse> for ConfigError {
    fn from(misuse: ApiMisuse) -> Self {
        Self::Manufacturer(misuse)
    }
}

/// Returns the first scheme of the IDevID's key that voucher requests can be signed with.
fn scheme_of<F: Form>(provider: &CryptoProvider, idevid: &Credential) -> Result<SignatureScheme, ConfigError> {
    let mut refused = SignatureRefused::Algorithm;
    for scheme in idevid.key().schemes() {
        match F::unsigned(provider, &[], idevid, *scheme, None) {
            Ok(_) => return Ok(*scheme),
            Err(error) => refused = error,
        }
    }
    Err(ConfigError::Key(refused))
}

#[cfg(test)]
mod tests;
