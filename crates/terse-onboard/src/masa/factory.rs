//! The factory: a MASA is set up, and devices get their IDevIDs and are registered (RFC 8995, 2.3).
//!
//! What must always hold: no file is replaced; a private key has the mode 0600; a device is registered if and only if its
//! files were written.

use core::net::SocketAddr;
use std::fs;
use std::path::{Path, PathBuf};

use pki_types::CertificateDer;
use terse_aws_lc::PROVIDER;
use terse_brski::certificate::{Idevid, SerialNumberField};
use terse_brski::masa::Device;
use terse_net::files::read_certificates;
use terse_pki::{
    Authority, AuthorityOptions, Chain, Credential, Error, IdevidOptions, LeafOptions, MasaUrl, Usage, Validity,
    VoucherSignerOptions, to_pem, write_file,
};

use super::config::MasaConfig;
use super::error::MasaError;
use super::register::DeviceOptions;
use super::service::open_store;
use super::signer::Signer;
use super::store::MasaStore;
use crate::config::ConfigError;

/// The options of a new MASA.
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// The directory to write.
    pub out: PathBuf,
    /// The DNS name or IP address by which registrars reach the MASA.
    pub name: String,
    /// Where it listens. Its port stands in the MASA URL, unless it is 443, or 0 because the system picks one.
    pub listen: SocketAddr,
    /// The key algorithm, and how many certificates there are from an IDevID to the root.
    pub chain: Chain,
    /// The name of the manufacturer's CA.
    pub ca_name: String,
    /// How many days the certificates for HTTPS and for vouchers are valid.
    pub days: u32,
    /// The time, in UNIX seconds.
    pub now: u64,
}

/// A file that was written, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// What it is for.
    pub purpose: &'static str,
}

/// Makes all that a MASA needs: a CA for devices and a certificate for HTTPS, another CA for the signer of vouchers and nothing
/// else, a database, and `masa.toml` last.
pub async fn init(options: &InitOptions) -> Result<Vec<Written>, MasaError> {
    let InitOptions { out, name, listen, now, .. } = options;
    let masa_url = masa_url(name, listen.port())?;
    let config_path = out.join("masa.toml");
    if config_path.exists() {
        return Err(Error::Exists(config_path).into());
    }
    // Certificates start early, for peers whose clocks are slow.
    let start = now.saturating_sub(3_600);
    let authority = |name: String| {
        let validity = Validity::without_end(start);
        Authority::new(&AuthorityOptions {
            name,
            key_identifiers: true,
            ..AuthorityOptions::new(options.chain, validity)
        })
    };
    let (devices, signers) = (authority(options.ca_name.clone())?, authority(of_vouchers(&options.ca_name))?);
    let validity = Validity { not_before: start, ..Validity::days(*now, options.days) };
    let server = LeafOptions { names: names(name), usage: Usage::Server, ..LeafOptions::new(name, validity) };
    let server = devices.issue(&server)?;
    let signer = signers.issue_voucher_signer(&VoucherSignerOptions::new(&of_vouchers(name), validity))?;
    let unusable = |problem: &dyn core::fmt::Display| ConfigError::new(&out.join("voucher.key"), problem);
    let key = PROVIDER.load_key(signer.key()).map_err(|error| unusable(&error))?;
    Signer::new(&PROVIDER, signer.chain().to_vec(), key).map_err(|problem| unusable(&problem))?;

    devices.save(&out.join("ca"), false)?;
    signers.save(&out.join("voucher-ca"), false)?;
    let mut written = vec![
        Written { path: out.join("ca/ca.pem"), purpose: "the root of devices and of HTTPS, for registrars" },
        Written { path: out.join("ca/ca.key"), purpose: "its key" },
        Written { path: out.join("voucher-ca/ca.pem"), purpose: "the root of voucher signers, for devices" },
        Written { path: out.join("voucher-ca/ca.key"), purpose: "its key, which is not needed in the network" },
    ];
    for (name, credential, purpose) in [
        ("masa", &server, "certificate chain for HTTPS, without the root"),
        ("voucher", &signer, "certificate chain for vouchers, without the root"),
    ] {
        written.extend(write_credential(out, name, credential, purpose)?);
    }
    write_file(&config_path, configuration(listen, &masa_url).as_bytes(), false, false)?;
    let config = MasaConfig::read(&config_path)?;
    open_store(&config).await?.close().await;
    written.push(Written { path: out.join(DATABASE), purpose: "devices, vouchers and audit logs" });
    written.push(Written { path: config_path, purpose: "the configuration" });
    Ok(written)
}

/// Issues an IDevID with a new key, and registers the device. The configuration that is written for one with raw public keys alone
/// makes it ask for an identity key over CoAPS, and for no certificate.
pub async fn make_idevid(
    config: &MasaConfig,
    serial_number: &str,
    options: &DeviceOptions,
    out: &Path,
    now: u64,
) -> Result<Vec<Written>, MasaError> {
    let authority = read_authority(config)?;
    let anchors = config.manufacturer.voucher_anchors.as_deref().map(read_certificates).transpose();
    let mut anchors = anchors.map_err(ConfigError::from)?.unwrap_or_default();
    // No certificates come with a voucher in COSE: a device must have the signer's own.
    let signer = read_certificates(&config.voucher_signer.chain).map_err(ConfigError::from)?.into_iter().next();
    anchors.extend(signer.filter(|signer| !anchors.contains(signer)));
    let credential = authority.issue_idevid(&IdevidOptions {
        masa_url: Some(config.manufacturer.masa_url.clone()),
        ..IdevidOptions::new(serial_number, now.saturating_sub(3_600))
    })?;
    let idevid = Idevid::read(&PROVIDER, credential.leaf(), SerialNumberField::SubjectSerialNumber);
    let idevid = idevid.map_err(|_| Error::InvalidSerialNumber(serial_number.into()))?;
    let mut device = Device::new(idevid.serial_number, idevid.issuer.unwrap_or_default());
    options.apply(&mut device);

    let store = open_store(config).await?;
    let form = if options.raw_public_keys_only { RAW_PUBLIC_KEYS } else { "" };
    let made = register(&store, &device, || write_device(out, &credential, &anchors, serial_number, form)).await;
    store.close().await;
    made
}

/// Registers a device whose files `write` writes. They go again if the registration fails.
async fn register(
    store: &MasaStore,
    device: &Device,
    write: impl FnOnce() -> Result<Vec<Written>, MasaError>,
) -> Result<Vec<Written>, MasaError> {
    let transaction = store.register(device).await?;
    let transaction = transaction.ok_or_else(|| MasaError::Registered(device.serial_number.clone()))?;
    let written = write()?;
    if let Err(error) = transaction.commit().await {
        written.iter().for_each(|file| drop(fs::remove_file(&file.path))); // the first error is the one to report
        return Err(error.into());
    }
    Ok(written)
}

/// Reads the manufacturer's CA, and checks that devices which it makes lead to the anchors.
pub(super) fn read_authority(config: &MasaConfig) -> Result<Authority, ConfigError> {
    let anchors_path = &config.manufacturer.anchors;
    let Some(ca) = &config.manufacturer.ca else {
        return Err(ConfigError::new(anchors_path, "the configuration names no CA; add `ca` to [manufacturer]"));
    };
    let problem = |error: Error| match error {
        Error::File { path, problem } => ConfigError::new(&path, problem),
        error => ConfigError::new(ca, error),
    };
    let authority = Authority::load(ca).map_err(problem)?;
    if !read_certificates(anchors_path)?.contains(authority.root()) {
        return Err(ConfigError::new(anchors_path, "the root of the CA is not among the anchors; add it"));
    }
    Ok(authority)
}

fn write_device(
    out: &Path,
    credential: &Credential,
    anchors: &[CertificateDer<'_>],
    serial_number: &str,
    form: &str,
) -> Result<Vec<Written>, MasaError> {
    fs::create_dir_all(out)
        .map_err(|e| ConfigError::new(out, format_args!("cannot be made: {e}; choose another directory")))?;
    let name = file_name(serial_number);
    let anchors_path = out.join(format!("{name}-anchors.pem"));
    let config_path = out.join(format!("{name}.toml"));
    let pair = ["pem", "key"].map(|ending| out.join(format!("{name}.{ending}")));
    for path in pair.into_iter().chain([anchors_path.clone(), config_path.clone()]) {
        if path.exists() {
            return Err(Error::Exists(path).into());
        }
    }
    let mut written = write_credential(out, &name, credential, "IDevID, without the root")?;
    let anchors: String = anchors.iter().map(|anchor| to_pem("CERTIFICATE", anchor)).collect();
    write_file(&anchors_path, anchors.as_bytes(), false, false)?;
    written.push(Written { path: anchors_path, purpose: "the anchors of vouchers, for the device" });
    // The name has no mark that means something in TOML.
    let config = format!(
        "# A device: `terse pledge --config {name}.toml`. Paths are relative to this file.\nidevid = \"{name}.pem\"\n\
         key = \"{name}.key\"\nmasa_ca = \"{name}-anchors.pem\"\nout = \"credential\"\n\
         # Join proxies or registrars; without any, multicast DNS finds them.\nregistrars = []\n{form}"
    );
    write_file(&config_path, config.as_bytes(), false, false)?;
    written.push(Written { path: config_path, purpose: "the configuration of the device" });
    Ok(written)
}

fn write_credential(
    out: &Path,
    name: &str,
    credential: &Credential,
    purpose: &'static str,
) -> Result<Vec<Written>, MasaError> {
    let (chain, key) = (out.join(format!("{name}.pem")), out.join(format!("{name}.key")));
    write_file(&key, credential.key_pem().as_bytes(), true, false)?;
    write_file(&chain, credential.chain_pem().as_bytes(), false, false)?;
    Ok(vec![Written { path: chain, purpose }, Written { path: key, purpose: "its key" }])
}

/// Returns a file name without marks that mean something to a file system or a shell.
fn file_name(serial_number: &str) -> String {
    let is_usual = |c: char| c.is_alphanumeric() || "-.:".contains(c);
    let name: String = serial_number.chars().map(|c| if is_usual(c) { c } else { '_' }).collect();
    // No name is hidden, or the parent directory.
    if name.starts_with('.') { format!("_{name}") } else { name }
}

/// Returns the common name of a CA or signer of vouchers. It is for people, and has at most 64 characters.
fn of_vouchers(name: &str) -> String {
    format!("{} vouchers", name.chars().take(55).collect::<String>())
}

/// Returns the names of the HTTPS server. Who says `localhost` may connect to either loopback address.
fn names(name: &str) -> Vec<String> {
    match name {
        "localhost" => ["localhost", "127.0.0.1", "::1"].map(Into::into).into(),
        name => vec![name.into()],
    }
}

/// Returns the MASA URL: an authority, whose port is left out if it is that of https, or not known yet.
fn masa_url(name: &str, port: u16) -> Result<MasaUrl, Error> {
    let host = if name.contains(':') { format!("[{name}]") } else { name.into() };
    match port {
        0 | 443 => host.parse(),
        port => format!("{host}:{port}").parse(),
    }
}

fn configuration(listen: &SocketAddr, masa_url: &MasaUrl) -> String {
    format!(
        r#"# A MASA: `terse masa --config masa.toml`. Paths are relative to this file.
listen = "{listen}"
# Plain HTTP: GET /health for load balancers, and /health/dependencies; with metrics, GET /metrics for Prometheus as well:
# health = "127.0.0.1:9081"
# metrics = true
database = "{DATABASE}"
# "required" answers customers only.
authentication = "optional"

# Status pages for operators, at http://localhost:8082 on this machine; at any other address they need users or client_ca.
# [pages]
# listen = "127.0.0.1:8082"

[tls]
chain = "masa.pem"
key = "masa.key"

[voucher_signer]
chain = "voucher.pem"
key = "voucher.key"

[manufacturer]
anchors = "ca/ca.pem"
# The CAs that issue voucher signers and nothing else. Devices verify vouchers by them.
voucher_anchors = "voucher-ca/ca.pem"
masa_url = "{masa_url}"
# Only for `terse masa make-idevid`. A MASA in the network should not have it.
ca = "ca"

[policy]
# Who may have a device: "first-come", "sales-list" or "always".
claims = "first-come"

[limits]
requests_per_minute = 600

# A customer, whose registrars authenticate themselves by a password, by certificates of a CA, or by either.
# [[customer]]
# name = "plant"
# secret_file = "plant.secret"
# ca = "plant-ca.pem"
"#
    )
}

/// What the configuration of a device says that supports raw public keys alone.
const RAW_PUBLIC_KEYS: &str = "# Constrained BRSKI with raw public keys: the device gets an identity key, and no certificate.\n\
                               form = \"coaps\"\ncredentials = \"identity-key\"\n";

/// The database of a new MASA.
const DATABASE: &str = "masa.db";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::uncommented;

    #[test]
    fn what_is_commented_out_can_be_used() {
        let text = configuration(&"[::]:9443".parse().unwrap(), &masa_url("masa.maker.example", 9_443).unwrap());
        assert!(MasaConfig::parse("masa.toml".as_ref(), &text).unwrap().pages.is_none());
        let config = MasaConfig::parse("masa.toml".as_ref(), &uncommented(&text)).unwrap();
        assert!(config.health.is_some() && config.customers[0].ca.is_some());
        assert_eq!(config.pages.unwrap().listen, "127.0.0.1:8082".parse().unwrap());
    }
}
