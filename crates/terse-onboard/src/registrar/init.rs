//! Makes what a registrar needs to begin: a domain CA, the registrar's certificate and key, and a configuration.
//!
//! What must always hold: no file is replaced; keys are for their owner alone; the registrar starts with what is written.

use core::fmt;
use core::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use terse_brski::certificate::is_unprintable;
use terse_net::{Clock, files};
use terse_pki::{Authority, AuthorityOptions, Error, RegistrarOptions, Validity, to_pem, write_file};

/// What is to be made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InitOptions {
    /// The folder, which is made if it is not there.
    pub out: PathBuf,
    /// The DNS name or address of the registrar.
    pub name: String,
    /// The certificates of the CA of the first manufacturer.
    pub manufacturer_ca: PathBuf,
    /// The name of the manufacturer, for people.
    pub manufacturer: String,
    /// Where pledges arrive.
    pub listen: SocketAddr,
    /// Where devices of constrained BRSKI arrive, if they are to.
    pub coaps: Option<SocketAddr>,
    /// Where stateless join proxies send to, if `coaps` is given.
    pub jpy: Option<SocketAddr>,
}

impl InitOptions {
    /// Names the first manufacturer `manufacturer`, and listens at port 8443 of every address.
    pub fn new(out: PathBuf, name: String, manufacturer_ca: PathBuf) -> Self {
        Self {
            out,
            name,
            manufacturer_ca,
            manufacturer: "manufacturer".into(),
            listen: (Ipv6Addr::UNSPECIFIED, 8443).into(),
            coaps: None,
            jpy: None,
        }
    }
}

/// Why nothing, or not all, was made. It displays as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum InitError {
    /// The certificates of the manufacturer cannot be read.
    ManufacturerCa(files::FileError),
    /// The CA or a file cannot be made.
    Pki(Error),
    /// The name of the manufacturer cannot stand in the configuration.
    Manufacturer,
}

/// Makes the files of a registrar. Returns their paths, the configuration first.
pub fn init(options: &InitOptions, clock: Clock) -> Result<Vec<PathBuf>, InitError> {
    if options.manufacturer.is_empty() || options.manufacturer.contains(['"', '\\']) || has_control(options) {
        return Err(InitError::Manufacturer);
    }
    let makers = files::read_certificates(&options.manufacturer_ca).map_err(InitError::ManufacturerCa)?;
    let out = |name: &str| options.out.join(name);
    let config = out("registrar.toml");
    if config.exists() {
        return Err(InitError::Pki(Error::Exists(config)));
    }
    let now = clock.now().unix.map_or(0, |now| now.as_secs());
    let validity = Validity { not_before: now.saturating_sub(3_600), ..Validity::days(now, CA_DAYS) };
    let chain = "p256x3".parse().map_err(InitError::Pki)?;
    let ca =
        AuthorityOptions { name: "Domain".into(), key_identifiers: true, ..AuthorityOptions::new(chain, validity) };
    let authority = Authority::new(&ca).map_err(InitError::Pki)?;
    let validity = Validity { not_before: validity.not_before, ..Validity::days(now, REGISTRAR_DAYS) };
    let credential = authority.issue_registrar(&RegistrarOptions::new(&options.name, validity));
    let credential = credential.map_err(InitError::Pki)?;

    let mut written = authority.save(&out("ca"), false).map_err(InitError::Pki)?;
    let mut write = |path: PathBuf, contents: &[u8], is_secret| -> Result<(), InitError> {
        write_file(&path, contents, is_secret, false).map_err(InitError::Pki)?;
        written.push(path);
        Ok(())
    };
    write(out("registrar.key"), credential.key_pem().as_bytes(), true)?;
    // With the root, which a MASA may pin.
    write(out("registrar.pem"), (credential.chain_pem() + &authority.root_pem()).as_bytes(), false)?;
    let makers: String = makers.iter().map(|certificate| to_pem("CERTIFICATE", certificate)).collect();
    write(out("manufacturer-ca.pem"), makers.as_bytes(), false)?;
    // Last: with it, all is there.
    write(config.clone(), text(options).as_bytes(), false)?;
    written.rotate_right(1);
    Ok(written)
}

fn has_control(options: &InitOptions) -> bool {
    options.manufacturer.chars().any(is_unprintable)
}

fn text(InitOptions { name, manufacturer, listen, coaps, jpy, .. }: &InitOptions) -> String {
    let coaps = match coaps {
        Some(listen) => {
            let jpy = jpy.map(|jpy| format!("jpy = \"{jpy}\"\n")).unwrap_or_default();
            format!(
                "# Devices of constrained BRSKI, over DTLS, and the messages of stateless join proxies.\n[coaps]\nlisten = \"{listen}\"\n{jpy}\n"
            )
        }
        None => COAPS.into(),
    };
    format!(
        r#"# The registrar of a domain (RFC 8995). Paths are relative to this file.
listen = "{listen}"
# Plain HTTP: GET /health for load balancers, and /health/dependencies; with metrics, GET /metrics for Prometheus as well:
# health = "127.0.0.1:9080"
# metrics = true
# Join proxies find the registrar by multicast DNS:
# announce = true
names = ["{name}"]
chain = "registrar.pem"
key = "registrar.key"
database = "registrar.db"

{coaps}# Status pages for operators, at http://localhost:8081 on this machine; at any other address they need users or client_ca.
# [pages]
# listen = "127.0.0.1:8081"

[enrolment]
ca = "ca"
days = 365
# The subject of certificates, whatever devices ask for:
# subject = ["O={{manufacturer}}", "serialNumber={{serial}}"]
# names = ["{{serial}}.devices.example"]
# The list of revoked certificates (CRL) for those who verify certificates of devices: where it is over plain HTTP, where
# certificates say that it is, and how many days it is valid:
# crl_listen = "0.0.0.0:8080"
# crl_url = "http://{name}:8080/crl/domain.crl"
# crl_days = 7

[[manufacturer]]
name = "{manufacturer}"
anchors = "manufacturer-ca.pem"
# Which devices may join: "all", those of a "list", or "ask": `terse registrar pending`, `accept` and `reject`.
devices = "ask"
serial_numbers = []
# The MASA, if it is not the one that IDevIDs name, or if it is in the own network:
# masa_url = "masa.maker.example:9443"
# The CA of the MASA's server, if it is not the manufacturer's:
# masa_anchors = "masa-ca.pem"
"#
    )
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManufacturerCa(error) => error.fmt(f),
            Self::Pki(Error::Exists(path)) => {
                write!(f, "{}: exists already; choose another --out, or remove it", path.display())
            }
            Self::Pki(error) => error.fmt(f),
            Self::Manufacturer => {
                f.write_str("the name of the manufacturer has a quotation mark or the like; use letters and digits")
            }
        }
    }
}

impl core::error::Error for InitError {}

/// What is written for [`InitOptions::coaps`] if that is not given.
const COAPS: &str = "# Devices of constrained BRSKI, over DTLS, and the messages of stateless join proxies:
# [coaps]
# listen = \"[2001:db8::1]:5684\"
# jpy = \"[2001:db8::1]:5685\"
# discovery = true

";

const CA_DAYS: u32 = 3_650;

const REGISTRAR_DAYS: u32 = 365;

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;
    use crate::config::{parse, uncommented};

    #[test]
    fn what_is_commented_out_can_be_used() {
        let options = InitOptions::new("plant".into(), "registrar.plant.example".into(), "maker.pem".into());
        let text = text(&options);
        assert!(parse::<Config>("registrar.toml".as_ref(), &text).unwrap().pages.is_none());
        let config: Config = parse("registrar.toml".as_ref(), &uncommented(&text)).unwrap();
        assert!(config.coaps.is_some() && config.health.is_some() && config.manufacturers[0].masa_url.is_some());
        assert_eq!(config.pages.unwrap().listen, "127.0.0.1:8081".parse().unwrap());
    }
}
