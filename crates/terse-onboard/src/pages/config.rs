//! The keys of `[pages]`.
//!
//! What must always hold: pages that others than this machine's users can reach need authentication and TLS, or the service
//! does not start.

use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use terse_net::{Clock, files};
use terse_tls::{ClientAuthentication, Credential, ServerConfig, Trust};

use super::host::Hosts;
use super::password::Hashes;
use crate::config::{ConfigError, beside};

/// Where the status pages are, and who may see them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PagesConfig {
    /// The address: `127.0.0.1:8081`. Port 0 picks one. At any other than a loopback address, `client_ca` or `[[pages.user]]`
    /// must be given, and TLS is used.
    pub listen: SocketAddr,
    /// The DNS names by which browsers reach the pages over TLS. Addresses need not be given.
    #[serde(default)]
    pub names: Vec<String>,
    /// The certificates of the HTTPS server: those of the service unless they are given. At a loopback address TLS is used
    /// if this or `client_ca` is given.
    pub chain: Option<PathBuf>,
    /// The private key of `chain`.
    pub key: Option<PathBuf>,
    /// The CAs of client certificates, one of which a browser must have then.
    pub client_ca: Option<PathBuf>,
    /// The users, one of whom must log in if there are any.
    #[serde(default, rename = "user")]
    pub users: Vec<UserConfig>,
}

/// A user of the status pages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UserConfig {
    /// The name, which the log has with each decision.
    pub name: String,
    /// The hash of the password, as `terse registrar hash-password` and `terse masa hash-password` print it.
    pub password_hash: HashedPassword,
}

/// A hash of a password by argon2id, in the PHC string format. It is not displayed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct HashedPassword(pub(super) String);

impl fmt::Debug for HashedPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashedPassword(..)")
    }
}

/// A configuration of status pages whose files were read.
#[derive(Clone)]
pub(crate) struct PagesSettings {
    pub(super) listen: SocketAddr,
    pub(super) hosts: Hosts,
    /// TLS, unless the pages are plain.
    pub(super) server: Option<Arc<ServerConfig>>,
    pub(super) users: Hashes,
    pub(super) clock: Clock,
}

impl PagesConfig {
    /// Makes the paths relative to the folder of the configuration at `path`.
    pub(crate) fn resolve(&mut self, path: &Path) {
        for file in [&mut self.chain, &mut self.key, &mut self.client_ca].into_iter().flatten() {
            *file = beside(path, file);
        }
    }

    /// Whether the pages are encrypted.
    fn has_tls(&self) -> bool {
        !self.listen.ip().is_loopback() || self.chain.is_some() || self.client_ca.is_some()
    }
}

impl PagesSettings {
    /// Returns the address where the pages will be.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.listen
    }

    /// Reads what the configuration names, whose paths were resolved. `path` is the file that it is in, and `own` the
    /// certificates and the key of the service.
    pub(crate) fn load(
        path: &Path,
        config: &PagesConfig,
        own: (&Path, &Path),
        clock: Clock,
    ) -> Result<Self, ConfigError> {
        let users = Hashes::check(path, &config.users)?;
        if !config.listen.ip().is_loopback() && users.is_empty() && config.client_ca.is_none() {
            return Err(ConfigError::new(path, format_args!("[pages] listens at {}: {OPEN}", config.listen)));
        }
        if config.chain.is_some() != config.key.is_some() {
            return Err(ConfigError::new(path, "[pages] has only one of chain and key; give both, or neither"));
        }
        let server = match config.has_tls() {
            true => {
                let (chain, key) = match (&config.chain, &config.key) {
                    (Some(chain), Some(key)) => (&**chain, &**key),
                    _ => own,
                };
                Some(Arc::new(server(chain, key, config.client_ca.as_deref())?))
            }
            false => None,
        };
        let hosts = Hosts::new(config.names.clone(), server.is_some());
        Ok(Self { listen: config.listen, hosts, server, users, clock })
    }
}

fn server(chain: &Path, key: &Path, client_ca: Option<&Path>) -> Result<ServerConfig, ConfigError> {
    let provider = &terse_aws_lc::PROVIDER;
    let unusable = |error: &dyn fmt::Display| ConfigError::new(chain, error);
    let der = files::read_private_key(key, None)?;
    let signer = provider.load_key(&der).map_err(|error| ConfigError::new(key, error))?;
    let credential = Credential::new(files::read_certificates(chain)?, signer).map_err(|error| unusable(&error))?;
    let mut server = ServerConfig::builder(provider);
    server.credential(credential);
    if let Some(path) = client_ca {
        let anchors = files::read_certificates(path)?;
        let trust = Trust::new(&anchors).map_err(|error| ConfigError::new(path, error))?;
        server.client_authentication(ClientAuthentication::Required(trust));
    }
    server.build().map_err(|error| unusable(&error))
}

/// What is missing at an address that others can reach.
const OPEN: &str = "others can reach that, and nobody has to authenticate himself; add client_ca with the CA of the operators' \
                    certificates, or a [[pages.user]] with name and password_hash (terse registrar hash-password), or listen at \
                    127.0.0.1";
