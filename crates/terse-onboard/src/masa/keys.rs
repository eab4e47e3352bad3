//! What the files that a configuration names hold.
//!
//! What must always hold: every mistake in them is found before the service listens, and its message names the file.

use alloc::sync::Arc;
use std::path::Path;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::certificate::same_key;
use terse_brski::masa::Masa;
use terse_net::files::{read_certificates, read_private_key};
use terse_tls::crypto::{CryptoProvider, SigningKey};
use terse_tls::{CertificateError, CertificateType, ClientAuthentication, Credential, Expect, ServerConfig, Trust};

use super::config::{KeyFiles, MasaConfig};
use super::customers::Customers;
use super::signer::Signer;
use super::watched::Ends;
use crate::config::ConfigError;
use crate::metrics::first_end;

/// The keys and certificates of a MASA.
pub(super) struct Keys {
    pub(super) tls: ServerConfig,
    pub(super) signer: Signer,
    pub(super) masa: Masa,
    pub(super) customers: Customers,
    pub(super) ends: Ends,
}

impl Keys {
    pub(super) fn read(provider: &CryptoProvider, config: &MasaConfig, time: UnixTime) -> Result<Self, ConfigError> {
        if config.metrics && config.health.is_none() {
            return Err(ConfigError::new("metrics".as_ref(), NO_ADDRESS));
        }
        let customers = Customers::read(provider, &config.customers)?;
        let anchors_path = &config.manufacturer.anchors;
        let unusable = |error| ConfigError::new(anchors_path, error);
        let (masa, anchors) = masa(provider, config)?;
        let masa = match &customers.anchors()[..] {
            [] => masa,
            anchors => masa.customers(anchors).map_err(unusable)?,
        };
        let (own, tls) = server(provider, &config.tls, customers.have_certificates(), time)?;
        let signer = voucher_signer(provider, config, time)?;
        let ends = Ends {
            own: first_end(own.first()),
            chain: first_end(own.iter().skip(1)),
            voucher_signer: first_end(signer.chain()),
            anchors: first_end(&anchors),
        };
        Ok(Self { tls, signer, masa, customers, ends })
    }
}

/// Returns the MASA without customers, and the anchors of its devices.
pub(super) fn masa(
    provider: &CryptoProvider,
    config: &MasaConfig,
) -> Result<(Masa, Vec<CertificateDer<'static>>), ConfigError> {
    let anchors_path = &config.manufacturer.anchors;
    let anchors = read_certificates(anchors_path)?;
    let masa = Masa::new(provider, &anchors, config.policy.clone());
    Ok((masa.map_err(|error| ConfigError::new(anchors_path, error))?, anchors))
}

/// Returns the voucher signer alone.
pub(super) fn voucher_signer(
    provider: &CryptoProvider,
    config: &MasaConfig,
    time: UnixTime,
) -> Result<Signer, ConfigError> {
    let devices = read_certificates(&config.manufacturer.anchors)?;
    let Some(path) = &config.manufacturer.voucher_anchors else {
        return signer(provider, &config.voucher_signer, &devices, time);
    };
    let anchors = read_certificates(path)?;
    let issues_devices = |anchor: &CertificateDer<'_>| devices.iter().any(|device| same_key(device, anchor));
    match anchors.iter().any(issues_devices) {
        true => Err(ConfigError::new(path, ISSUES_DEVICES)),
        false => signer(provider, &config.voucher_signer, &anchors, time),
    }
}

/// Returns the certificates and the configuration of the HTTPS server. Registrars have private CAs, so that their certificates are looked at
/// after the handshake.
fn server(
    provider: &CryptoProvider,
    files: &KeyFiles,
    asks_certificates: bool,
    time: UnixTime,
) -> Result<(Vec<CertificateDer<'static>>, ServerConfig), ConfigError> {
    let (chain, key) = read(provider, files)?;
    check_validity(provider, &files.chain, &chain, time)?;
    let unusable = |error: &dyn core::fmt::Display| ConfigError::new(&files.chain, error);
    let credential = Credential::new(chain.clone(), key).map_err(|error| unusable(&error))?;
    let mut server = ServerConfig::builder(provider);
    server.credential(credential);
    if asks_certificates {
        let trust = Trust::unverified(&[CertificateType::X509]).map_err(|error| unusable(&error))?;
        server.client_authentication(ClientAuthentication::Optional(trust));
    }
    Ok((chain, server.build().map_err(|error| unusable(&error))?))
}

/// Checks that a certificate is valid now. Who has issued it is for registrars to know.
fn check_validity(
    provider: &CryptoProvider,
    path: &Path,
    chain: &[CertificateDer<'_>],
    time: UnixTime,
) -> Result<(), ConfigError> {
    match Trust::nobody().check(provider, chain, Expect::AnyUsage, Some(time)) {
        Ok(_) | Err(CertificateError::UnknownIssuer) => Ok(()),
        Err(error) => Err(ConfigError::new(path, error.of(&"the HTTPS server"))),
    }
}

fn signer(
    provider: &CryptoProvider,
    files: &KeyFiles,
    anchors: &[CertificateDer<'_>],
    time: UnixTime,
) -> Result<Signer, ConfigError> {
    let (chain, key) = read(provider, files)?;
    let unusable = |error: &dyn core::fmt::Display| ConfigError::new(&files.chain, error);
    // A device accepts the voucher by these anchors, or by this certificate.
    let trust = Trust::new(anchors).map_err(|error| unusable(&error))?;
    trust.check(provider, &chain, Expect::Unrestricted, Some(time)).map_err(|error| match error {
        CertificateError::UnknownIssuer => unusable(&UNKNOWN_SIGNER),
        error => unusable(&error.of(&"the voucher signer")),
    })?;
    Signer::new(provider, chain, key).map_err(|problem| unusable(&problem))
}

fn read(
    provider: &CryptoProvider,
    files: &KeyFiles,
) -> Result<(Vec<CertificateDer<'static>>, Arc<dyn SigningKey>), ConfigError> {
    let chain = read_certificates(&files.chain)?;
    let key = read_private_key(&files.key, None)?;
    let key = provider.load_key(&key).map_err(|error| ConfigError::new(&files.key, error))?;
    Ok((chain, key))
}

const ISSUES_DEVICES: &str = "a CA of devices is among the anchors of vouchers; make one that issues only voucher signers, and give its \
                              certificate as voucher_anchors";

const UNKNOWN_SIGNER: &str = "the voucher signer was issued by none of the anchors; give the certificate of the CA that has issued it as \
                              voucher_anchors in [manufacturer]";

const NO_ADDRESS: &str = "metrics = true needs health, the address where they are; add health, or remove metrics";
