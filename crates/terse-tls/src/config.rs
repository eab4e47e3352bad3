//! The configuration of a client or a server, which many connections share.
//!
//! What must always hold: only [`ConfigBuilder`] makes a configuration, and finds every mistake that can be found without a
//! peer.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::ServerName;

use crate::cache::{ClientCache, Scope, ServerCache};
use crate::cert::{Credential, Expect, KeyPurposeId, SuitableCredentials, Trust};
use crate::crypto::CryptoProvider;
use crate::error::{ApiMisuse, IdentityRefused, Setting};
use crate::identity_early_data::SecretTickets;
use crate::resume::{ClientResumption, ExternalPsk, PskStore, ServerEarlyData, ServerResumption};
use crate::wire::{CipherSuite, MaxFragmentLength, ProtocolVersion};

mod builder;
mod code;
mod common;
mod datagrams;
mod identity;
mod parts;
mod scope;
mod watch;

use crate::behind::Behind;
pub use builder::{ConfigBuilder, Configuration};
use code::{BeginKept, CachedCode, CertificateCode, OfferPsks, OfferSession, TakeTickets};
pub use common::Common;
pub use datagrams::Datagrams;
#[cfg(terse_testing)]
pub use datagrams::Defence;
#[cfg(not(terse_testing))]
pub(crate) use datagrams::Defence;
pub(crate) use identity::check_epoch;
pub use identity::{ClientIdentity, ServerIdentity};
pub use parts::ClientParts;
#[cfg(terse_testing)]
pub use watch::Fault;
pub use watch::{KeyLog, Trace, TraceEvent};

/// A client's configuration, which connections share. [`Self::builder`] begins one.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    pub(crate) common: Common,
    pub(crate) parts: ClientParts,
    /// What begins with the cache and sessions, if [`ConfigBuilder::cache`] or [`ConfigBuilder::resumption`] was called.
    pub(crate) begin_kept: Option<BeginKept>,
    /// The code that offers pre-shared keys in TLS 1.3, if there are any, or sessions.
    pub(crate) offer_psks: Option<OfferPsks>,
    /// The code that offers a session in TLS 1.3, if there is resumption.
    pub(crate) offer_session: Option<OfferSession>,
    /// The code that makes sessions of the tickets of TLS 1.3, if there is resumption.
    pub(crate) take_tickets: Option<TakeTickets>,
    /// The code of handshakes with certificates in TLS 1.3, if [`ConfigBuilder::trust`] was called.
    pub(crate) certificates: Option<&'static CertificateCode>,
    /// The code for cached certificates in TLS 1.3, if [`ConfigBuilder::cache`] was called.
    pub(crate) cached: Option<&'static CachedCode>,
    pub(crate) trust: Trust,
    pub(crate) server_usage: Option<KeyPurposeId>,
    pub(crate) credentials: Vec<Credential>,
    pub(crate) send_server_name: bool,
    pub(crate) max_fragment_length: Option<MaxFragmentLength>,
    pub(crate) compatibility_mode: bool,
    pub(crate) cache: Option<ClientCache>,
    pub(crate) resumption: Option<ClientResumption>,
    pub(crate) psks: Vec<ExternalPsk>,
    pub(crate) identity: Option<Behind<ClientIdentity>>,
}

impl ClientConfig {
    /// Begins a configuration with the defaults of [`ConfigBuilder`], and all parts of the engine.
    pub fn builder(provider: &CryptoProvider) -> ConfigBuilder<Self> {
        Self::builder_of(provider, ClientParts::ALL)
    }

    /// Begins a configuration that has these parts of the engine alone. Its versions are those of the parts, and the other
    /// settings have the defaults of [`ConfigBuilder`].
    pub fn builder_of(provider: &CryptoProvider, parts: ClientParts) -> ConfigBuilder<Self> {
        ConfigBuilder::new(Self {
            common: Common::new(provider, parts.versions()),
            parts,
            begin_kept: None,
            offer_psks: None,
            offer_session: None,
            take_tickets: None,
            cached: None,
            certificates: None,
            trust: Trust::nobody(),
            server_usage: None,
            credentials: Vec::new(),
            send_server_name: true,
            max_fragment_length: None,
            compatibility_mode: false,
            cache: None,
            resumption: None,
            psks: Vec::new(),
            identity: None,
        })
    }

    /// Begins another configuration with what this one says.
    pub fn to_builder(&self) -> ConfigBuilder<Self> {
        ConfigBuilder::new(self.clone())
    }

    /// Returns the settings that servers have as well.
    pub const fn common(&self) -> &Common {
        &self.common
    }

    /// Returns the policy by which servers are authenticated.
    pub const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Returns the extended key usage that is expected of servers instead of a name.
    pub const fn server_usage(&self) -> Option<KeyPurposeId> {
        self.server_usage
    }

    /// Returns whether there are external pre-shared keys.
    pub const fn has_psks(&self) -> bool {
        !self.psks.is_empty()
    }

    /// Returns the configuration of handshake caching, or `None` if the client does not cache.
    pub const fn cache(&self) -> Option<&ClientCache> {
        self.cache.as_ref()
    }

    /// Returns the configuration of resumption, or `None` if the client does not resume.
    pub const fn resumption(&self) -> Option<&ClientResumption> {
        self.resumption.as_ref()
    }

    /// Returns the credentials by which the client proves its identity, preferred first.
    pub fn credentials(&self) -> &[Credential] {
        &self.credentials
    }

    /// Returns the configuration of identity-based handshakes, or `None` if the client has no identity key.
    pub fn identity(&self) -> Option<&ClientIdentity> {
        self.identity.as_deref()
    }

    /// Returns whether servers can prove their identity with certificates. Otherwise it is pre-shared keys alone, or an
    /// identity key.
    pub(crate) fn trusts_certificates(&self) -> bool {
        !self.trust.certificate_types().is_empty()
    }

    /// Returns the identity and the key that TLS 1.2 uses: it has room for one pre-shared key.
    pub(crate) fn tls12_psk(&self) -> Option<(&[u8], &[u8])> {
        self.psks.iter().find_map(|psk| Some((psk.identity(), psk.tls12_key()?)))
    }

    /// Returns the suites that this client can offer. Suites of TLS 1.2 for certificates need trust in certificates, and those
    /// for pre-shared keys need such a key.
    pub(crate) fn offered_suites(&self) -> impl Iterator<Item = CipherSuite> {
        let (has_psk, has_trust) = (self.tls12_psk().is_some(), !self.trust.certificate_types().is_empty());
        let fits = move |id: &CipherSuite| match self.common.provider.tls12_suite(*id) {
            Some(suite) => {
                if suite.key_exchange.has_certificates() {
                    has_trust
                } else {
                    has_psk
                }
            }
            None => true,
        };
        self.common.enabled_suites().filter(fits)
    }

    /// Checks that nothing is kept of servers that are taken unverified, and that they have no other way in.
    fn check_unverified(&self) -> Result<(), ApiMisuse> {
        check_unverified(
            self.trust.is_unverified(),
            &[
                (Setting::Cache, self.cache.is_some()),
                (Setting::Resumption, self.resumption.is_some()),
                (Setting::PreSharedKeys, !self.psks.is_empty()),
                (Setting::Identity, self.identity.is_some()),
                (Setting::ServerUsage, self.server_usage.is_some()),
            ],
        )
    }

    /// Returns what is expected of the server `name`.
    pub(crate) const fn expect<'a>(&self, name: &'a ServerName<'a>) -> Expect<'a> {
        match self.server_usage {
            Some(usage) => Expect::Usage(usage),
            None => Expect::Server(name),
        }
    }

    /// Returns the scope under which connections with this configuration keep what they cache of `server`.
    pub fn scope(&self, server: &ServerAddress) -> Scope {
        scope::of(self, server)
    }
}

impl Configuration for ClientConfig {
    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn check(&self) -> Result<(), ApiMisuse> {
        if self.psks.is_empty() && self.trust.certificate_types().is_empty() && self.identity.is_none() {
            return Err(ApiMisuse::EmptyConfiguration(Setting::ProofOfServer));
        }
        let first_contact = self.identity.as_ref().is_some_and(|identity| identity.first_contact > 0);
        if first_contact && self.trusts_certificates() && self.common.enables(ProtocolVersion::TLS_1_2) {
            return Err(ApiMisuse::FirstContactWithTls12);
        }
        if self.identity.is_some() && (!self.psks.is_empty() || !self.common.enables(ProtocolVersion::TLS_1_3)) {
            return Err(ApiMisuse::IdentityConfiguration);
        }
        self.trust.check_configuration(&self.common.provider)?;
        self.check_unverified()?;
        self.psks.iter().try_for_each(|psk| psk.check(&self.common.provider))?;
        self.common.check()?;
        self.parts.check(self)?;
        // An identity stands in the place of a key share.
        if self.trusts_certificates() || self.identity.is_none() {
            self.common.check_groups()?;
        }
        self.common.check_max_record(self.max_fragment_length)?;
        check_credentials(&self.credentials)?;
        if self.trusts_certificates() { self.common.check_signature_schemes() } else { Ok(()) }
    }
}

/// A server's configuration, which connections share. [`Self::builder`] begins one.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub(crate) common: Common,
    pub(crate) credentials: Vec<Credential>,
    pub(crate) client_authentication: ClientAuthentication,
    pub(crate) certificate_authorities: bool,
    pub(crate) hello_retry_cookie: bool,
    pub(crate) cache: Option<ServerCache>,
    pub(crate) resumption: Option<ServerResumption>,
    pub(crate) early_data: Option<ServerEarlyData>,
    pub(crate) psks: Option<Arc<dyn PskStore>>,
    pub(crate) identity: Option<ServerIdentity>,
}

impl ServerConfig {
    /// Begins a configuration with the defaults of [`ConfigBuilder`].
    pub fn builder(provider: &CryptoProvider) -> ConfigBuilder<Self> {
        ConfigBuilder::new(Self {
            common: Common::new(provider, [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2]),
            credentials: Vec::new(),
            client_authentication: ClientAuthentication::None,
            certificate_authorities: false,
            hello_retry_cookie: false,
            cache: None,
            resumption: None,
            early_data: None,
            psks: None,
            identity: None,
        })
    }

    /// Begins another configuration with what this one says.
    pub fn to_builder(&self) -> ConfigBuilder<Self> {
        ConfigBuilder::new(self.clone())
    }

    /// Returns the settings that clients have as well.
    pub const fn common(&self) -> &Common {
        &self.common
    }

    /// Returns the credentials by which the server proves its identity, preferred first.
    pub fn credentials(&self) -> &[Credential] {
        &self.credentials
    }

    /// Returns the configuration of early data, or `None` if the server accepts none.
    pub const fn early_data(&self) -> Option<ServerEarlyData> {
        self.early_data
    }

    /// Returns whether the CertificateRequest names the accepted CAs.
    pub const fn names_authorities(&self) -> bool {
        self.certificate_authorities
    }

    /// Returns the configuration of handshake caching, or `None` if the server does not cache.
    pub const fn cache(&self) -> Option<&ServerCache> {
        self.cache.as_ref()
    }

    /// Returns the configuration of resumption, or `None` if the server issues no tickets and takes none.
    pub const fn resumption(&self) -> Option<&ServerResumption> {
        self.resumption.as_ref()
    }

    /// Returns the configuration of identity-based handshakes, or `None` if the server has no identity key.
    pub const fn identity(&self) -> Option<&ServerIdentity> {
        self.identity.as_ref()
    }

    /// Checks that a client may prove no identity with an identity key. A server with an identity admits only clients that
    /// prove who they are: otherwise whoever leaves the extension out would be let in. `refused` says why the identity
    /// that the client has offered is not used, if it has offered one.
    pub(crate) const fn check_without_identity(&self, refused: IdentityRefused) -> Result<(), IdentityRefused> {
        match (&self.identity, &self.client_authentication) {
            (None, _) | (_, ClientAuthentication::Required(_)) => Ok(()),
            (Some(identity), _) if identity.anonymous_clients => Ok(()),
            (Some(_), _) => Err(refused),
        }
    }

    /// Checks that nothing is kept of clients that are taken unverified, and that they have no other way in.
    fn check_unverified(&self) -> Result<(), ApiMisuse> {
        check_unverified(
            self.client_authentication.trust().is_some_and(Trust::is_unverified),
            &[
                (Setting::Cache, self.cache.is_some()),
                (Setting::Resumption, self.resumption.is_some()),
                (Setting::EarlyData, self.early_data.is_some()),
                (Setting::PreSharedKeys, self.psks.is_some()),
                (Setting::Identity, self.identity.is_some()),
            ],
        )
    }

    /// Returns whether clients are asked for a certificate.
    pub const fn client_authentication(&self) -> &ClientAuthentication {
        &self.client_authentication
    }
}

impl Configuration for ServerConfig {
    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn check(&self) -> Result<(), ApiMisuse> {
        self.resumption.as_ref().map_or(Ok(()), ServerResumption::check)?;
        let has_identity = self.identity.as_ref().is_some_and(|identity| !identity.keys.is_empty());
        if self.credentials.is_empty() && self.psks.is_none() && !has_identity {
            return Err(ApiMisuse::EmptyConfiguration(Setting::OwnProof));
        }
        if self.identity.is_some() && !self.common.enables(ProtocolVersion::TLS_1_3) {
            return Err(ApiMisuse::IdentityConfiguration);
        }
        let tickets = self.identity.as_ref().and_then(|identity| identity.tickets.as_ref());
        tickets.map_or(Ok(()), SecretTickets::check)?;
        let at_first_contact = self.identity.as_ref().is_some_and(|identity| identity.first_contact.is_some());
        let has_tickets = self.resumption.is_some() || tickets.is_some() || at_first_contact;
        if self.early_data.is_some() && !has_tickets {
            return Err(ApiMisuse::EarlyDataWithoutResumption);
        }
        let trust = self.client_authentication.trust();
        if self.certificate_authorities && trust.is_none() {
            return Err(ApiMisuse::NoClientIsAsked);
        }
        trust.map_or(Ok(()), |trust| trust.check_configuration(&self.common.provider))?;
        self.check_unverified()?;
        self.common.check()?;
        self.common.check_groups()?;
        self.common.check_max_record(None)?;
        check_credentials(&self.credentials)?;
        if self.credentials.is_empty() { Ok(()) } else { self.common.check_signature_schemes() }
    }
}

fn check_credentials(credentials: &[Credential]) -> Result<(), ApiMisuse> {
    if credentials.len() > SuitableCredentials::MAX { Err(ApiMisuse::TooManyCredentials) } else { Ok(()) }
}

/// Refuses peers that are taken unverified beside any of `others` that is configured.
fn check_unverified(is_unverified: bool, others: &[(Setting, bool)]) -> Result<(), ApiMisuse> {
    match others.iter().find(|(_, is_configured)| is_unverified && *is_configured) {
        Some((what, _)) => Err(ApiMisuse::UnverifiedWith(*what)),
        None => Ok(()),
    }
}

/// Whether a server asks clients for a certificate.
#[derive(Clone, Debug)]
pub enum ClientAuthentication {
    /// Clients are not asked for a certificate.
    None,
    /// Clients are asked for a certificate, and may have none. A certificate that is sent must be valid.
    Optional(Trust),
    /// Clients are asked for a certificate, and refused if they have none.
    Required(Trust),
}

impl ClientAuthentication {
    /// Returns the policy by which clients are authenticated, or `None` if none are asked.
    pub const fn trust(&self) -> Option<&Trust> {
        match self {
            Self::None => None,
            Self::Optional(trust) | Self::Required(trust) => Some(trust),
        }
    }
}

/// The server that a client connects to: its name or IP address, checked against its certificate, and its port, which
/// separates what is cached for two servers on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerAddress {
    /// The name or IP address.
    pub name: ServerName<'static>,
    /// The TCP or UDP port.
    pub port: u16,
}

impl ServerAddress {
    /// Creates the address of the server with this name or IP address at this port.
    pub const fn new(name: ServerName<'static>, port: u16) -> Self {
        Self { name, port }
    }
}
