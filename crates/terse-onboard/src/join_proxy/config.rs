//! The configuration of a join proxy, `join-proxy.toml`.

use core::time::Duration;
use std::path::Path;

use serde::Deserialize;

use super::{Limits, MAX_REGISTRARS, UdpConfig};
use crate::config::{self, ConfigError};
use crate::discovery::{self, Place};

/// The configuration of a join proxy.
///
/// ```
/// # use std::path::Path;
/// use terse_onboard::join_proxy::JoinProxyConfig;
///
/// let text = r#"
///     listen = "[fe80::1%eth0]:8443"
///     registrars = ["registrar.plant.example:8443"]   # without any, multicast DNS finds them
///     announce = true                                 # by multicast DNS, for devices; by default not
///
///     [limits]
///     connections = 256                               # at a time; one makes room for a newcomer
///     per_address = 4                                 # of these, with one device
///     idle_seconds = 90                               # a connection on which nothing comes ends
///     total_seconds = 900                             # each connection ends
///     bytes = 1048576                                 # on one connection, both ways together
///
///     [udp]                                           # datagrams; by default none
///     mode = "stateless"                              # or "stateful"
///     listen = "[fe80::1%eth0]:5684"
///     registrars = ["registrar.plant.example:5685"]   # stateless: where it takes JPY
///     discovery = true                                # answers devices that ask by CoAP; by default not
///     on_link = ["2001:db8::/64"]                     # devices with such addresses, too; by default link-local ones alone
///     mtu = 1280
///     per_address = 2                                 # stateful: ports of one address at a time
///     per_interface = 10                              # stateful: devices at a time
///     idle_seconds = 30                               # stateful: a device that is silent is forgotten
///     datagrams_per_second = 1000                     # of an interface
/// "#;
/// let config = JoinProxyConfig::parse(Path::new("join-proxy.toml"), text)?;
/// assert!(config.announce);
/// # Ok::<_, terse_onboard::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JoinProxyConfig {
    /// Where devices arrive by TCP: a host and a port. Port 0 picks one. Without it the proxy is for datagrams alone.
    pub listen: Option<String>,
    /// The registrars, at most [`MAX_REGISTRARS`]. Without any, multicast DNS finds them.
    #[serde(default, deserialize_with = "discovery::places")]
    pub registrars: Vec<Place>,
    /// Whether multicast DNS announces the proxy.
    #[serde(default)]
    pub announce: bool,
    /// What the connections of devices may take.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// What the proxy does for datagrams.
    pub udp: Option<UdpConfig>,
}

/// What the connections of devices may take. Each number is 1 or more.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The most connections at a time: 256 unless it is given. One of them makes room for a newcomer.
    pub connections: u32,
    /// The most connections of one address at a time: 4 unless it is given.
    pub per_address: u32,
    /// The seconds after which a connection ends on which nothing came: 90 unless it is given.
    pub idle_seconds: u32,
    /// The seconds after which a connection ends: 900 unless it is given.
    pub total_seconds: u32,
    /// The bytes after which a connection ends, both ways together: 1,048,576 unless it is given.
    pub bytes: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { connections: 256, per_address: 4, idle_seconds: 90, total_seconds: 900, bytes: 1 << 20 }
    }
}

impl JoinProxyConfig {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        config::read::<Self>(path)?.checked(path)
    }

    /// Parses the text of the file at `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        config::parse::<Self>(path, text)?.checked(path)
    }

    fn checked(self, path: &Path) -> Result<Self, ConfigError> {
        let LimitsConfig { connections, per_address, idle_seconds, total_seconds, bytes } = self.limits;
        if [connections, per_address, idle_seconds, total_seconds].contains(&0) || bytes == 0 {
            return Err(ConfigError::new(path, "a limit is 0, with which no device comes through; give 1 or more"));
        }
        if connections > MAX_CONNECTIONS {
            let problem = format_args!("connections is more than {MAX_CONNECTIONS}; give less");
            return Err(ConfigError::new(path, problem));
        }
        if self.registrars.len() > MAX_REGISTRARS {
            let problem = format_args!("there are more than {MAX_REGISTRARS} registrars; leave some out");
            return Err(ConfigError::new(path, problem));
        }
        if self.listen.is_none() && self.udp.is_none() {
            return Err(ConfigError::new(path, "no device can arrive; give listen, or [udp]"));
        }
        if let Some(problem) = self.udp.as_ref().and_then(UdpConfig::problem) {
            return Err(ConfigError::new(path, format_args!("[udp]: {problem}")));
        }
        Ok(self)
    }
}

impl From<LimitsConfig> for Limits {
    fn from(config: LimitsConfig) -> Self {
        Self {
            connections: config.connections as usize,
            per_address: config.per_address as usize,
            idle: Duration::from_secs(config.idle_seconds.into()),
            total: Duration::from_secs(config.total_seconds.into()),
            bytes: config.bytes,
            ..Self::default()
        }
    }
}

/// The most connections at a time: each has two sockets, and buffers.
const MAX_CONNECTIONS: u32 = 65_536;
