//! The clients of a registrar: of the MASAs, and of an EST server.

use alloc::sync::Arc;
use std::path::{Path, PathBuf};

use base64ct::{Base64, Encoding};
use pki_types::CertificateDer;
use terse_brski::registrar::Manufacturer;
use terse_net::{Clock, files};
use terse_tls::{ClientConfig, Credential, Trust};
use zeroize::Zeroizing;

use super::{PROVIDER, certificates, credential, credential_files};
use crate::config::{ConfigError, beside};
use crate::registrar::config::{Config, EstServerConfig, ManufacturerConfig};
use crate::registrar::est_server::EstServer;
use crate::registrar::https::HttpsClient;
use crate::registrar::masa::MasaClient;

/// How the registrar authenticates itself to a server, as it is configured.
struct Authentication<'a> {
    /// The configuration.
    path: &'a Path,
    /// What stands before the names of the keys.
    prefix: &'a str,
    /// Where the keys are, for people.
    place: String,
    chain: Option<&'a PathBuf>,
    key: Option<&'a PathBuf>,
    user: Option<&'a str>,
    password_file: Option<&'a PathBuf>,
}

/// Returns the client for the MASA of a manufacturer, which authenticates itself by the registrar's certificate unless
/// there is another one for it.
pub(super) fn masa_client(
    path: &Path,
    config: &Config,
    own: &ManufacturerConfig,
    manufacturer: &Manufacturer,
    registrar: &Credential,
    clock: Clock,
) -> Result<MasaClient, ConfigError> {
    let anchors = match &own.masa_anchors {
        Some(file) => certificates(path, file)?,
        None => manufacturer.anchors.iter().map(|der| CertificateDer::from(der.clone())).collect(),
    };
    let authentication = Authentication {
        path,
        prefix: "masa_",
        place: format!("manufacturer {:?}", own.name),
        chain: own.masa_chain.as_ref(),
        key: own.masa_key.as_ref(),
        user: own.masa_user.as_deref(),
        password_file: own.masa_password_file.as_ref(),
    };
    let (client, authorization) = authentication.client(&anchors, registrar)?;
    let limits = &config.limits;
    let https = HttpsClient::new(client, clock, authorization, limits.masa_connections, limits.masa_seconds);
    Ok(MasaClient::new(https))
}

/// Returns the client for the EST server.
pub(super) fn est_server(
    path: &Path,
    config: &Config,
    own: &EstServerConfig,
    registrar: &Credential,
    clock: Clock,
) -> Result<EstServer, ConfigError> {
    let authentication = Authentication {
        path,
        prefix: "",
        place: "est_server".into(),
        chain: own.chain.as_ref(),
        key: own.key.as_ref(),
        user: own.user.as_deref(),
        password_file: own.password_file.as_ref(),
    };
    let (client, authorization) = authentication.client(&certificates(path, &own.anchors)?, registrar)?;
    let limits = &config.limits;
    let https = HttpsClient::new(client, clock, authorization, limits.est_connections, limits.est_seconds);
    let problem = || format!("{:?} is no https URL of a host; write it as in \"https://est.example:8443\"", own.url);
    EstServer::new(https, &own.url).ok_or_else(|| authentication.wrong(&problem()))
}

impl Authentication<'_> {
    fn wrong(&self, problem: &dyn core::fmt::Display) -> ConfigError {
        ConfigError::new(self.path, format_args!("{}: {problem}", self.place))
    }

    /// Returns the TLS client for a server under these anchors, and the field Authorization of its requests.
    fn client(
        &self,
        anchors: &[CertificateDer<'_>],
        registrar: &Credential,
    ) -> Result<(Arc<ClientConfig>, Option<Zeroizing<String>>), ConfigError> {
        let credential = self.credential(registrar)?;
        let authorization = self.authorization()?;
        let trust = Trust::new(anchors).map_err(|error| self.wrong(&error))?;
        let mut client = ClientConfig::builder(PROVIDER);
        client.trust(trust).credential(credential);
        Ok((Arc::new(client.build().map_err(|error| self.wrong(&error))?), authorization))
    }

    fn credential(&self, registrar: &Credential) -> Result<Credential, ConfigError> {
        let prefix = self.prefix;
        match (self.chain, self.key) {
            (Some(chain), Some(key)) => {
                let chain = beside(self.path, chain);
                let (certificates, key) = credential_files(&chain, &beside(self.path, key))?;
                credential(&chain, &certificates, &key)
            }
            (None, None) => Ok(registrar.clone()),
            _ => Err(self.wrong(&format_args!("{prefix}chain and {prefix}key belong together; give both"))),
        }
    }

    /// Returns the credentials of RFC 7617.
    fn authorization(&self) -> Result<Option<Zeroizing<String>>, ConfigError> {
        let prefix = self.prefix;
        match (self.user, self.password_file) {
            (Some(user), _) if user.contains(':') => {
                Err(self.wrong(&format_args!("{prefix}user has a colon, which HTTP does not allow")))
            }
            (Some(user), Some(file)) => {
                let password = files::read_passphrase(beside(self.path, file));
                let password = password.map_err(|error| ConfigError::new(self.path, error))?;
                let pair = Zeroizing::new([user.as_bytes(), b":", &password].concat());
                Ok(Some(Zeroizing::new(format!("Basic {}", *Zeroizing::new(Base64::encode_string(&pair))))))
            }
            (None, None) => Ok(None),
            _ => Err(self.wrong(&format_args!("{prefix}user and {prefix}password_file belong together; give both"))),
        }
    }
}
