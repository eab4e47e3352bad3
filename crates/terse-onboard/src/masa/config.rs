//! The configuration file of a MASA, `masa.toml`.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use terse_brski::masa::Policy;
use terse_pki::MasaUrl;

use crate::config::{self, ConfigError, beside};
use crate::pages::PagesConfig;
use crate::store::Database;

/// The configuration of a MASA. Paths are relative to the file.
///
/// ```
/// # use std::path::Path;
/// use terse_onboard::masa::MasaConfig;
///
/// let text = r#"
///     listen = "[::]:9443"
///     database = "masa.db"
///
///     [tls]
///     chain = "masa.pem"
///     key = "masa.key"
///
///     [voucher_signer]
///     chain = "voucher.pem"
///     key = "voucher.key"
///
///     [manufacturer]
///     anchors = "ca/ca.pem"
///     voucher_anchors = "voucher-ca/ca.pem"
///     masa_url = "masa.maker.example:9443"
///
///     [policy]
///     claims = "sales-list"
///
///     [[customer]]
///     name = "plant"
///     secret_file = "plant.secret"
/// "#;
/// let config = MasaConfig::parse(Path::new("/etc/terse/masa.toml"), text)?;
/// assert_eq!(config.database.to_string(), "/etc/terse/masa.db");
/// # Ok::<_, terse_onboard::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MasaConfig {
    /// Where to listen; port 0 picks one.
    pub listen: SocketAddr,
    /// Where a plain HTTP listener answers GET /health, for load balancers. Without it there is none; the other listener
    /// answers it as well.
    pub health: Option<SocketAddr>,
    /// Whether that listener also answers GET /metrics, for Prometheus: `false` unless it is given.
    #[serde(default)]
    pub metrics: bool,
    /// The status pages, for operators. Without it there are none.
    pub pages: Option<PagesConfig>,
    /// Devices, vouchers and audit logs: a file of SQLite, or a database of a PostgreSQL server.
    pub database: Database,
    /// Whether registrars must authenticate themselves. The default is [`Authentication::Optional`].
    #[serde(default)]
    pub authentication: Authentication,
    /// The certificate of the HTTPS server.
    pub tls: KeyFiles,
    /// The certificate that vouchers are signed with.
    pub voucher_signer: KeyFiles,
    /// Whose devices these are.
    pub manufacturer: ManufacturerConfig,
    /// What is decided, and how.
    #[serde(default)]
    pub policy: Policy,
    /// Whether CRLs are looked up.
    #[serde(default)]
    pub revocation: RevocationConfig,
    /// What a request may cost.
    #[serde(default)]
    pub limits: MasaLimits,
    /// The customers whose registrars are known.
    #[serde(default, rename = "customer")]
    pub customers: Vec<CustomerConfig>,
}

/// Whether registrars must authenticate themselves as customers (RFC 8995, 5.4.1), besides signing their requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Authentication {
    /// Every registrar is answered. Vouchers without a nonce and sales lists may need a customer nonetheless.
    #[default]
    Optional,
    /// Who is no customer gets a 401.
    Required,
}

/// A certificate chain and its private key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFiles {
    /// The certificates, leaf first, without the root.
    pub chain: PathBuf,
    /// The private key of the leaf.
    pub key: PathBuf,
}

/// The manufacturer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManufacturerConfig {
    /// The roots of IDevIDs.
    pub anchors: PathBuf,
    /// The CAs that issue voucher signers and nothing else. Devices get them as the anchors of vouchers, beside the certificate of
    /// [`MasaConfig::voucher_signer`]. Without them a device knows only that certificate.
    pub voucher_anchors: Option<PathBuf>,
    /// The directory of the CA that issues IDevIDs. Only the factory needs it.
    pub ca: Option<PathBuf>,
    /// The MASA URL in IDevIDs.
    #[serde(deserialize_with = "masa_url")]
    pub masa_url: MasaUrl,
}

/// How the revocation of registrars' certificates is looked up (RFC 8995, 5.5.3), where they name a CRL.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RevocationConfig {
    /// Whether it is looked up at all. The default is `true`. Without it, and where it fails, the policy decides
    /// (`unknown_revocation_is_accepted`).
    pub look_up: bool,
    /// Whether CRLs may also be at addresses that are not of the public Internet. The default is `false`: the URLs are
    /// written by strangers, who could reach into the MASA's own network.
    pub private_addresses: bool,
}

impl Default for RevocationConfig {
    fn default() -> Self {
        Self { look_up: true, private_addresses: false }
    }
}

/// What requests may cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MasaLimits {
    /// The most connections at a time. One address has half of them, and a newcomer gets the place of one that has proven nothing and
    /// was idle longest. The default is 1,000.
    pub connections: usize,
    /// The most requests from an address in a minute. The default is 600: a registrar makes two for each device.
    pub requests_per_minute: u32,
    /// How many seconds the body of a request may take. The default is 20.
    pub body_seconds: u64,
    /// How many seconds a registrar waits for a voucher before it is told to come back. The default is 20.
    pub voucher_seconds: u64,
    /// The most vouchers that are being issued at a time. The default is 256.
    pub vouchers_under_way: usize,
    /// The most vouchers for one device in a day. The default is 100.
    pub vouchers_per_device_and_day: u32,
}

impl Default for MasaLimits {
    fn default() -> Self {
        Self {
            connections: 1_000,
            requests_per_minute: 600,
            body_seconds: 20,
            voucher_seconds: 20,
            vouchers_under_way: 256,
            vouchers_per_device_and_day: 100,
        }
    }
}

impl MasaLimits {
    pub(super) const fn body_time(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }

    pub(super) const fn voucher_time(&self) -> Duration {
        Duration::from_secs(self.voucher_seconds)
    }
}

/// A customer, by whose name a registrar is known that authenticates itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomerConfig {
    /// The name: the user name of HTTP Basic (RFC 7617), and the name in sales lists.
    pub name: String,
    /// A file whose first line is the password of HTTP Basic, of at least 16 characters.
    pub secret_file: Option<PathBuf>,
    /// The roots of the customer's registrars: for client certificates, and for signers of voucher requests.
    pub ca: Option<PathBuf>,
}

impl MasaConfig {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Ok(config::read::<Self>(path)?.beside(path))
    }

    /// Parses the text of the file at `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        Ok(config::parse::<Self>(path, text)?.beside(path))
    }

    /// Makes the paths relative to the folder of the file.
    fn beside(mut self, file: &Path) -> Self {
        self.database = self.database.beside(file);
        if let Some(pages) = &mut self.pages {
            pages.resolve(file);
        }
        let customers = self.customers.iter_mut();
        let of_customers = customers.flat_map(|customer| [customer.secret_file.as_mut(), customer.ca.as_mut()]);
        let own = [
            &mut self.tls.chain,
            &mut self.tls.key,
            &mut self.voucher_signer.chain,
            &mut self.voucher_signer.key,
            &mut self.manufacturer.anchors,
        ];
        let manufacturer = [self.manufacturer.voucher_anchors.as_mut(), self.manufacturer.ca.as_mut()];
        for path in own.into_iter().chain(manufacturer.into_iter().flatten()).chain(of_customers.flatten()) {
            *path = beside(file, path);
        }
        self
    }
}

fn masa_url<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<MasaUrl, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
