//! What a registrar runs with: the files that its configuration names, read and checked.
//!
//! What must always hold: everything that can be wrong is found before the first pledge arrives, and the message names the
//! file; no key leaves this module in a form that prints.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::path::Path;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::certificate::{SerialNumberField, domain_id};
use terse_brski::registrar::{AuditPolicy, Devices, Manufacturer, NoncelessEvents, Policy, Registrar};
use terse_net::{Clock, files};
use terse_tls::crypto::{CryptoProvider, SigningKey};
use terse_tls::{CertificateType, ClientAuthentication, Credential, ServerConfig, SignatureScheme, Trust};

use super::coaps::server_config;
use super::config::{AuditConfig, Config, ManufacturerConfig, SerialField, WhichDevices, WhoseVouchers};
use super::domain::Domain;
use super::identity::IdentityKeys;
use super::masa::MasaClient;
use super::names;
use crate::config::{ConfigError, beside};
use crate::pages::{PagesConfig, PagesSettings};
use crate::store::Database;

mod clients;

use clients::{est_server, masa_client};

/// The cryptography of the registrar.
pub(super) const PROVIDER: &CryptoProvider = &terse_aws_lc::PROVIDER;

/// A configuration whose files were read.
pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) database: Database,
    pub(super) decisions: Registrar,
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: Arc<dyn SigningKey>,
    /// The scheme by which the key signs voucher requests.
    pub(super) scheme: SignatureScheme,
    /// Whether COSE has the scheme.
    has_cose: bool,
    pub(super) server: Arc<ServerConfig>,
    /// The same for datagrams, if devices of constrained BRSKI are served.
    pub(super) coaps: Option<Arc<ServerConfig>>,
    pub(super) identity: Option<IdentityKeys>,
    pub(super) audits: BTreeMap<String, AuditPolicy>,
    pub(super) masas: BTreeMap<String, MasaClient>,
    pub(super) domain: Option<Domain>,
    /// The status pages, and the files that they need.
    pub(super) pages: Option<PagesSettings>,
    /// The domainIDs of the registrar's certificates, any of which a MASA may pin.
    pub(super) domain_ids: Vec<Vec<u8>>,
}

impl Settings {
    /// Reads what the configuration at `path` names.
    pub(super) fn load(path: &Path, clock: Clock) -> Result<Self, ConfigError> {
        let config: Config = crate::config::read(path)?;
        let wrong = |problem: &dyn core::fmt::Display| ConfigError::new(path, problem);
        check_limits(path, &config)?;
        if config.metrics && config.health.is_none() {
            return Err(wrong(
                &"metrics = true needs health, the address where they are; add health, or remove metrics",
            ));
        }
        let chain_file = beside(path, &config.chain);
        let (chain, key) = credential_files(&chain_file, &beside(path, &config.key))?;
        let credential = credential(&chain_file, &chain, &key)?;
        // Whether a form has the scheme is found out with a message that nobody gets.
        let time = UnixTime::since_unix_epoch(Duration::ZERO);
        let fits = |format, scheme| Unsigned::new(format, PROVIDER, b"", &chain, scheme, time).is_ok();
        let problem = "its key signs no voucher requests; use P-256, P-384, Ed25519 or RSA";
        let scheme = key.schemes().iter().copied().find(|scheme| fits(Format::CmsJson, *scheme));
        let scheme = scheme.ok_or_else(|| ConfigError::new(&chain_file, problem))?;
        let has_cose = fits(Format::CoseCbor, scheme);

        let mut policy = Policy::default();
        let (mut audits, mut masas) = (BTreeMap::new(), BTreeMap::new());
        for own in &config.manufacturers {
            if audits.contains_key(&own.name) {
                return Err(wrong(&format_args!("two manufacturers have the name {:?}; rename one", own.name)));
            }
            let manufacturer = manufacturer(path, own)?;
            let masa = masa_client(path, &config, own, &manufacturer, &credential, clock)?;
            audits.insert(own.name.clone(), manufacturer.audit.clone());
            masas.insert(own.name.clone(), masa);
            policy.manufacturers.push(manufacturer);
        }
        policy.own_names.clone_from(&config.names);
        let listen = config.listen.parse::<SocketAddr>().ok().filter(|address| !address.ip().is_unspecified());
        policy.own_names.extend(listen.map(|address| address.ip().to_string()));
        let decisions = Registrar::new(PROVIDER, chain.clone(), policy).map_err(|error| wrong(&error))?;

        let domain = match &config.enrolment {
            Some(enrolment) => {
                let est_server = |own: &_| est_server(path, &config, own, &credential, clock);
                Some(Domain::load(path, &config, enrolment, est_server)?)
            }
            None => None,
        };
        let coaps = match &config.coaps {
            Some(_) if !has_cose => return Err(ConfigError::new(&chain_file, NO_COSE)),
            Some(own) if own.mtu < MIN_MTU => {
                return Err(wrong(&format_args!("the mtu of [coaps] is less than {MIN_MTU}; give more")));
            }
            Some(own) => {
                // Devices that accept no certificates get nothing here but identity keys.
                let keys = config.identity.as_ref().map(|_| &key);
                Some(server_config(credential.clone(), keys, own.mtu).map_err(|error| wrong(&error))?)
            }
            None => None,
        };
        let identity = config.identity.as_ref().map(|own| IdentityKeys::load(path, &config, own)).transpose()?;
        let unverified = Trust::unverified(&[CertificateType::X509]).map_err(|error| wrong(&error))?;
        let mut server = ServerConfig::builder(PROVIDER);
        server.credential(credential).client_authentication(ClientAuthentication::Required(unverified));
        let server = Arc::new(server.build().map_err(|error| wrong(&error))?);
        let domain_ids = chain.iter().map(|certificate| domain_id(PROVIDER, certificate));
        let domain_ids = domain_ids.collect::<Result<_, _>>().map_err(|error| ConfigError::new(&chain_file, error))?;
        let database = config.database.beside(path);
        let own = (&*chain_file, &*beside(path, &config.key));
        let pages = config.pages.clone().map(|pages| pages_settings(path, pages, own, clock)).transpose()?;
        Ok(Self {
            config,
            database,
            decisions,
            chain,
            key,
            scheme,
            has_cose,
            server,
            coaps,
            identity,
            audits,
            masas,
            domain,
            pages,
            domain_ids,
        })
    }

    /// Whether the key can sign voucher requests of this form: COSE has no RSA.
    pub(super) fn signs(&self, format: Format) -> bool {
        self.has_cose || format == Format::CmsJson
    }
}

const NO_COSE: &str =
    "[coaps] needs a key for COSE, which has no RSA; use P-256, P-384 or Ed25519, or leave [coaps] out";

/// The least packet in which a message of DTLS makes sense, with the header of a join proxy.
const MIN_MTU: u16 = 256;

/// Checks what no file says.
fn check_limits(path: &Path, config: &Config) -> Result<(), ConfigError> {
    let limits = &config.limits;
    let at_least_one = [
        ("connections", limits.connections),
        ("requests_per_second", limits.requests_per_second as usize),
        ("requests_at_once", limits.requests_at_once as usize),
        ("masa_connections", limits.masa_connections),
        ("masa_seconds", limits.masa_seconds as usize),
        ("est_connections", limits.est_connections),
        ("est_seconds", limits.est_seconds as usize),
    ];
    // After a minute another task may send the same request.
    for (name, seconds) in [("masa_seconds", limits.masa_seconds), ("est_seconds", limits.est_seconds)] {
        if seconds > 60 {
            return Err(ConfigError::new(path, format_args!("{name} is more than 60; give less")));
        }
    }
    match at_least_one.into_iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(ConfigError::new(path, format_args!("{name} is 0; give 1 or more"))),
        None => Ok(()),
    }
}

fn pages_settings(
    path: &Path,
    mut config: PagesConfig,
    own: (&Path, &Path),
    clock: Clock,
) -> Result<PagesSettings, ConfigError> {
    config.resolve(path);
    PagesSettings::load(path, &config, own, clock)
}

fn certificates(path: &Path, file: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    files::read_certificates(beside(path, file)).map_err(|error| ConfigError::new(path, error))
}

/// Reads a chain and its key.
fn credential_files(
    chain: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, Arc<dyn SigningKey>), ConfigError> {
    let certificates = files::read_certificates(chain).map_err(|error| ConfigError::new(chain, error))?;
    let der = files::read_private_key(key, None).map_err(|error| ConfigError::new(key, error))?;
    let key = PROVIDER.load_key(&der).map_err(|error| ConfigError::new(key, error))?;
    Ok((certificates, key))
}

fn credential(
    file: &Path,
    chain: &[CertificateDer<'static>],
    key: &Arc<dyn SigningKey>,
) -> Result<Credential, ConfigError> {
    Credential::new(chain.to_vec(), key.clone()).map_err(|error| ConfigError::new(file, error))
}

fn manufacturer(path: &Path, config: &ManufacturerConfig) -> Result<Manufacturer, ConfigError> {
    let der = |certificates: Vec<CertificateDer<'_>>| certificates.iter().map(|one| one.to_vec()).collect();
    let mut manufacturer = Manufacturer::new(&config.name, der(certificates(path, &config.anchors)?));
    manufacturer.serial_number_field = match config.serial_field {
        SerialField::SerialNumber => SerialNumberField::SubjectSerialNumber,
        SerialField::CommonName => SerialNumberField::CommonName,
    };
    manufacturer.ignores_not_after = config.ignore_not_after;
    manufacturer.devices = match config.devices {
        WhichDevices::All => Devices::All,
        WhichDevices::List => Devices::Listed(config.serial_numbers.clone()),
        WhichDevices::Ask => Devices::ListedOrAsked(config.serial_numbers.clone()),
    };
    manufacturer.masa_url.clone_from(&config.masa_url);
    if let Some(anchors) = &config.voucher_anchors {
        manufacturer.voucher_anchors = der(certificates(path, anchors)?);
    }
    manufacturer.opaque_vouchers = config.opaque_vouchers;
    manufacturer.audit = audit_policy(path, &config.audit)?;
    Ok(manufacturer)
}

fn audit_policy(path: &Path, config: &AuditConfig) -> Result<AuditPolicy, ConfigError> {
    let mut policy = AuditPolicy::default();
    policy.is_ignored = config.ignore;
    for domain in &config.known_domains {
        let problem = || ConfigError::new(path, format_args!("{domain:?} is no domainID; write hexadecimal digits"));
        policy.known_domains.push(names::from_hex(domain).ok_or_else(problem)?);
    }
    policy.accepts_unknown_domains = config.accept_unknown_domains;
    policy.since = config.since.map(|since| UnixTime::since_unix_epoch(Duration::from_secs(since)));
    policy.nonceless = match config.nonceless {
        WhoseVouchers::Own => NoncelessEvents::Own,
        WhoseVouchers::Known => NoncelessEvents::Known,
        WhoseVouchers::All => NoncelessEvents::All,
    };
    policy.accepts_arbitrary_truncation = config.accept_truncation;
    policy.accepts_later_versions = config.accept_later_versions;
    Ok(policy)
}
