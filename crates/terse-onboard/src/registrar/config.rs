//! The configuration of a registrar, `registrar.toml`.
//!
//! What must always hold: a key that is not known is an error; paths are relative to the file's own folder; what is not
//! given has the default that its field names.

use std::path::PathBuf;

use serde::Deserialize;

use crate::discovery::coap;
use crate::pages::PagesConfig;
use crate::store::Database;

/// A registrar.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// The address where pledges arrive: `[::]:8443`. Port 0 picks one.
    pub listen: String,
    /// The address of a plain HTTP listener that answers GET /health, for load balancers. Without it there is none; the
    /// listener for pledges answers it as well, to those with a client certificate.
    pub health: Option<String>,
    /// Whether that listener also answers GET /metrics, for Prometheus: `false` unless it is given.
    #[serde(default)]
    pub metrics: bool,
    /// The status pages, for operators. Without it there are none.
    pub pages: Option<PagesConfig>,
    /// What constrained BRSKI needs. Without it, devices come over HTTPS alone.
    pub coaps: Option<CoapsConfig>,
    /// Whether the registrar is announced by multicast DNS, for join proxies: `false` unless it is given.
    #[serde(default)]
    pub announce: bool,
    /// The DNS names and addresses of the registrar. No MASA URL of a certificate may lead to one of them.
    #[serde(default)]
    pub names: Vec<String>,
    /// The registrar's certificates, its own first, up to the highest that a MASA may pin.
    pub chain: PathBuf,
    /// The private key of the first one.
    pub key: PathBuf,
    /// The database: a file of SQLite, which is made if it is not there, or a database of a PostgreSQL server.
    pub database: Database,
    /// Where devices get their LDevIDs. Without it the registrar gives vouchers alone, and with `identity` identity keys.
    pub enrolment: Option<Enrolment>,
    /// What devices of constrained BRSKI need to get an identity key. Without it they get certificates alone. With it those that
    /// accept no certificates see the raw public key of `key` (RFC 7250).
    pub identity: Option<IdentityConfig>,
    /// The manufacturers whose devices may join.
    #[serde(default, rename = "manufacturer")]
    pub manufacturers: Vec<ManufacturerConfig>,
    /// The limits.
    #[serde(default)]
    pub limits: LimitsConfig,
}

/// Where devices of constrained BRSKI arrive, over DTLS.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CoapsConfig {
    /// The address where devices and stateful join proxies send to: `[2001:db8::1]:5684`. Port 0 picks one.
    pub listen: String,
    /// The address where stateless join proxies send to. Without it there is none.
    pub jpy: Option<String>,
    /// The size of the largest IP packet that is sent: 1,024 unless it is given.
    #[serde(default = "mtu")]
    pub mtu: u16,
    /// Whether devices and join proxies are answered that ask for registrars by CoAP: `false` unless it is given.
    #[serde(default)]
    pub discovery: bool,
    /// The port where they ask: 5,683, which is that of CoAP, unless it is given. Port 0 picks one.
    #[serde(default = "discovery_port")]
    pub discovery_port: u16,
}

const fn mtu() -> u16 {
    1_024
}

const fn discovery_port() -> u16 {
    coap::PORT
}

/// Who issues the LDevIDs, and what they have: either `ca` or `est_server` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Enrolment {
    /// The directory of the registrar's own CA, as `terse pki init` makes it. What its `crl.pem` lists is revoked, if it is
    /// there.
    pub ca: Option<PathBuf>,
    /// The directory of the CA that has issued LDevIDs before `ca`, which its devices renew by `ca`. Its keys need not be there;
    /// its `crl.pem` counts, if it is there: what it lists is revoked for ever, and while it is late no LDevID of that CA is
    /// renewed. Without `former_ca` only LDevIDs of `ca` are renewed.
    pub former_ca: Option<PathBuf>,
    /// Whether `former_ca` signs no more lists, so that its last one is all that it has revoked, and stops no renewal of others
    /// when it is late: `false` unless it is given.
    #[serde(default)]
    pub former_ca_is_closed: bool,
    /// The EST server to which certification requests are passed on.
    pub est_server: Option<EstServerConfig>,
    /// How many days an LDevID of the own CA is valid: 365 unless it is given.
    pub days: Option<u32>,
    /// How many days a list of revoked certificates (CRL) of the own CA is valid: 7 unless it is given. It is signed anew at
    /// half its time, and when something is revoked.
    pub crl_days: Option<u32>,
    /// The address of a plain HTTP listener that answers GET /crl/domain.crl with that list. Without it there is none.
    pub crl_listen: Option<String>,
    /// The http URL where certificates of the own CA say that the list is. Without it they do not say it.
    pub crl_url: Option<String>,
    /// The subject of a device's certificate, as attributes: `O={manufacturer}` and `serialNumber={serial}` unless it is given.
    /// `{serial}` stands for the serial number of the device, and `{manufacturer}` for the name of its manufacturer here. What the
    /// device asks for does not count. An EST server takes the subject from the request of the device, which must ask for this one.
    /// With `{idevid}` as the only attribute, it must ask for that of its IDevID, which its manufacturer has chosen.
    pub subject: Option<Vec<String>>,
    /// The DNS names that a device must ask for in its certification request, by the CSR attributes: none unless they are
    /// given. `{serial}` stands for its serial number, and `{manufacturer}` for the name of its manufacturer here.
    #[serde(default)]
    pub names: Vec<String>,
}

/// An EST server (RFC 7030) that issues the LDevIDs, with this registrar as its registration authority.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EstServerConfig {
    /// Its https URL: of the host alone, or with the path to which the names of EST's requests are added. A CA label is at
    /// the end of that: `https://est.example/.well-known/est/plant`.
    pub url: String,
    /// The CAs to which the certificate of the server leads (RFC 7030, 3.6.1). Its name is that of the URL.
    pub anchors: PathBuf,
    /// The certificates by which the registrar authenticates itself to it: its own unless they are given.
    pub chain: Option<PathBuf>,
    /// The private key of `chain`.
    pub key: Option<PathBuf>,
    /// The user name for it (RFC 7617).
    pub user: Option<String>,
    /// The file whose first line is the password for it.
    pub password_file: Option<PathBuf>,
    /// The CRLs of the CA behind it, which count for re-enrolments. Without them revocation is not checked.
    pub crl: Option<PathBuf>,
}

/// The generator (PKG) of identity keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct IdentityConfig {
    /// The directory of the generator, as `terse pkg init` makes it without a passphrase.
    pub pkg: PathBuf,
    /// The name of a device: `{serial}` unless it is given, where `{serial}` stands for its serial number, and
    /// `{manufacturer}` for the name of its manufacturer here.
    #[serde(default = "serial")]
    pub name: String,
}

fn serial() -> String {
    "{serial}".into()
}

/// A manufacturer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ManufacturerConfig {
    /// The name, for people and for the database. No two have the same.
    pub name: String,
    /// The CAs to which its IDevIDs lead.
    pub anchors: PathBuf,
    /// The MASA, in place of the one that IDevIDs name: an authority or an https URL. It may be in the own network.
    pub masa_url: Option<String>,
    /// The CAs to which the certificate of the MASA's server leads: `anchors` unless it is given.
    pub masa_anchors: Option<PathBuf>,
    /// The certificates by which the registrar authenticates itself to the MASA: its own unless they are given.
    pub masa_chain: Option<PathBuf>,
    /// The private key of `masa_chain`.
    pub masa_key: Option<PathBuf>,
    /// The user name for the MASA (RFC 7617).
    pub masa_user: Option<String>,
    /// The file whose first line is the password for it.
    pub masa_password_file: Option<PathBuf>,
    /// The field of an IDevID's subject with the serial number: `serial-number` unless it is given.
    #[serde(default)]
    pub serial_field: SerialField,
    /// Whether an IDevID counts after its notAfter (RFC 8995, 2.6.2): `false` unless it is given.
    #[serde(default)]
    pub ignore_not_after: bool,
    /// Which devices may join: `ask` unless it is given.
    #[serde(default)]
    pub devices: WhichDevices,
    /// The serial numbers for `list`, and those for which `ask` does not ask.
    #[serde(default)]
    pub serial_numbers: Vec<String>,
    /// The CAs to which the certificates lead that sign its vouchers. Without them the pledge alone checks that.
    pub voucher_anchors: Option<PathBuf>,
    /// Whether vouchers of types that are not understood here go to pledges that accept them: `false` unless it is given.
    #[serde(default)]
    pub opaque_vouchers: bool,
    /// What audit logs may have.
    #[serde(default)]
    pub audit: AuditConfig,
}

/// The field of a subject that has the serial number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SerialField {
    /// The attribute serialNumber.
    #[default]
    SerialNumber,
    /// The common name.
    CommonName,
}

/// Which devices of a manufacturer may join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhichDevices {
    /// All.
    All,
    /// Those of the list.
    List,
    /// Those of the list, and those that an operator accepts.
    #[default]
    Ask,
}

/// The policy for audit logs (RFC 8995, 5.8.3).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AuditConfig {
    /// Whether audit logs are not asked for.
    pub ignore: bool,
    /// The domainIDs, in hexadecimal digits, of others who may have had the devices.
    pub known_domains: Vec<String>,
    /// Whether any domain may have had them.
    pub accept_unknown_domains: bool,
    /// The seconds since 1970 before which events do not count.
    pub since: Option<u64>,
    /// Whose vouchers may have no nonce: `own`, `known` or `all`.
    pub nonceless: WhoseVouchers,
    /// Whether events may be missing that no later one of their domain stands for.
    pub accept_truncation: bool,
    /// Whether a log of a later version counts as one of version 1.
    pub accept_later_versions: bool,
}

/// Whose vouchers may have no nonce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhoseVouchers {
    /// Those of this domain.
    #[default]
    Own,
    /// Those of `known_domains`, too.
    Known,
    /// Those of anybody.
    All,
}

/// The limits of a registrar.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The most connections at a time, over HTTPS, and as many over CoAPS. One address has half of them, and a newcomer gets the place
    /// of one that has proven nothing and was idle longest.
    pub connections: usize,
    /// The most requests in a second of one address, in the long run. A join proxy has one address for all its pledges.
    pub requests_per_second: u32,
    /// The most requests of one address at once.
    pub requests_at_once: u32,
    /// The most connections to the MASA of one manufacturer at a time.
    pub masa_connections: usize,
    /// How many seconds the MASA may take.
    pub masa_seconds: u32,
    /// The most connections to the EST server at a time.
    pub est_connections: usize,
    /// How many seconds the EST server may take.
    pub est_seconds: u32,
    /// How many milliseconds a pledge is kept waiting for its voucher or certificate, before it is told to come again.
    pub hold_milliseconds: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            connections: 1_000,
            requests_per_second: 100,
            requests_at_once: 2_000,
            masa_connections: 32,
            masa_seconds: 30,
            est_connections: 32,
            est_seconds: 30,
            hold_milliseconds: 3_000,
        }
    }
}
