//! A case says once, for both sides, how a client and a server are configured, whichever of them is ours.

use std::sync::{Arc, LazyLock};

use terse_net::Clock;
use terse_pki::{KeyAlgorithm, OcspStatus};
use terse_tls::cache::{ClientCache, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{
    ClientResumption, ExternalPsk, MemoryClientSessions, MemoryPskStore, MemorySessionStore, ServerEarlyData,
    ServerResumption, TicketKeys,
};
use terse_tls::{
    CipherSuite, ClientAuthentication, ClientConfig, ClientIdentity, Common, Credential, MaxFragmentLength, NamedGroup,
    ProtocolVersion, ServerAddress, ServerConfig, ServerIdentity, SignatureScheme, Stapling, Trace, Trust,
};

use crate::datagrams::Datagrams;
use crate::pki::{Files, Holder, PSK, PSK_IDENTITY, Pki, SERVER_NAME, Side, WRONG_NAME};

/// The label of the exporter on both sides.
pub const EXPORTER_LABEL: &str = "EXPORTER-terse-interop";

/// The length of the exported keying material.
pub const EXPORTER_LEN: usize = 32;

/// The early data of clients.
pub const EARLY_DATA: &str = "early words\n";

/// Whether the server requests a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// It does not request one.
    #[default]
    No,
    /// It requests one, and continues without one.
    Optional,
    /// It requires one.
    Required,
}

/// The means of authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Means {
    /// Both sides have certificates.
    #[default]
    Certificates,
    /// Both sides know the other's raw public key (RFC 7250), which is that of the certificate.
    RawPublicKeys,
    /// Both sides have a pre-shared key.
    PreSharedKey,
}

/// The way in which a server keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// It keeps them in memory: session IDs in TLS 1.2, short tickets in TLS 1.3.
    Kept,
    /// It seals them into tickets.
    Sealed,
}

/// The configuration of a client and a server. Empty lists stand for a side's own defaults.
#[derive(Clone, Debug)]
pub struct Case {
    /// Our crypto provider.
    pub provider: &'static CryptoProvider,
    /// The versions of our side.
    pub our_versions: Vec<ProtocolVersion>,
    /// The versions of the peer.
    pub peer_versions: Vec<ProtocolVersion>,
    /// The number of connections, one after the other. The client offers to resume in the later ones.
    pub connections: usize,
    /// The means of authentication.
    pub means: Means,
    /// The way in which sessions can be resumed; with `None`, peers have their defaults, and our side cannot resume.
    pub sessions: Option<Sessions>,
    /// Whether a client that resumes sends early data, and a server takes it.
    pub early_data: bool,
    /// Whether the pre-shared key is imported (RFC 9258) by our side.
    pub imports_key: bool,
    /// Whether the peer goes without the extended master secret (RFC 7627).
    pub peer_lacks_extended_master_secret: bool,
    /// Whether our side requires the extended master secret (RFC 7627).
    pub requires_extended_master_secret: bool,
    /// The CA, for example `p256x3`.
    pub chain: &'static str,
    /// The leaves' keys, if they differ from the CA's.
    pub leaf: Option<KeyAlgorithm>,
    /// Whether the server requests a certificate.
    pub asks: Asks,
    /// The server's certificate.
    pub server: Holder,
    /// The client's certificate.
    pub client: Option<Holder>,
    /// Cipher suites of both sides.
    pub suites: Vec<CipherSuite>,
    /// Groups of the client; it sends a share for the first one only.
    pub client_groups: Vec<NamedGroup>,
    /// Groups of the server.
    pub server_groups: Vec<NamedGroup>,
    /// Signature schemes that both sides accept.
    pub schemes: Vec<SignatureScheme>,
    /// Application protocols of the client.
    pub client_protocols: Vec<&'static str>,
    /// Application protocols of the server.
    pub server_protocols: Vec<&'static str>,
    /// Whether the client sends the server's name.
    pub sends_name: bool,
    /// Whether a peer's server shows the name that it was asked for. OpenSSL's then sends no intermediates.
    pub shows_name: bool,
    /// Whether the client expects a name that is not in the server's certificate.
    pub expects_wrong_name: bool,
    /// Whether the client asks for compatibility mode.
    pub compatibility_mode: bool,
    /// Whether the server sends a cookie.
    pub cookie: bool,
    /// Whether the server names its CAs.
    pub ca_names: bool,
    /// The `record_size_limit` of our side.
    pub our_record_size_limit: Option<u16>,
    /// The largest record that the peer wants.
    pub peer_record_size: Option<u16>,
    /// The `max_fragment_length` of the client.
    pub max_fragment_length: Option<MaxFragmentLength>,
    /// Whether the peer prints keying material.
    pub exporter: bool,
    /// Whether a peer's server closes on a command.
    pub server_closes: bool,
    /// Whether the peer sends no tickets after the handshake.
    pub no_tickets: bool,
    /// The options for datagrams; `None` over a stream.
    pub datagrams: Option<Datagrams>,
    /// The trace of our messages.
    pub trace: Option<Arc<dyn Trace>>,
    /// The status in the OCSP response that the server staples, if it can.
    pub staple: Option<OcspStatus>,
    /// Whether our side requests a staple from the peer.
    pub stapling: Stapling,
    /// Our client's cache.
    pub client_cache: Option<ClientCache>,
    /// Our server's cache.
    pub server_cache: Option<ServerCache>,
    /// Our client's sessions.
    pub client_resumption: Option<ClientResumption>,
    /// Our server's sessions.
    pub server_resumption: Option<ServerResumption>,
    /// Our client's identity key.
    pub client_identity: Option<ClientIdentity>,
    /// Our server's identity key.
    pub server_identity: Option<ServerIdentity>,
}

impl Case {
    /// Returns a case of server authentication only, with each side's defaults otherwise.
    pub fn new(provider: &'static CryptoProvider) -> Self {
        Self {
            provider,
            our_versions: Vec::new(),
            peer_versions: Vec::new(),
            connections: 1,
            means: Means::Certificates,
            sessions: None,
            early_data: false,
            imports_key: false,
            peer_lacks_extended_master_secret: false,
            requires_extended_master_secret: true,
            chain: "p256x3",
            leaf: None,
            asks: Asks::No,
            server: Holder::Member,
            client: None,
            suites: Vec::new(),
            client_groups: Vec::new(),
            server_groups: Vec::new(),
            schemes: Vec::new(),
            client_protocols: Vec::new(),
            server_protocols: Vec::new(),
            sends_name: true,
            shows_name: false,
            expects_wrong_name: false,
            compatibility_mode: false,
            cookie: false,
            ca_names: false,
            our_record_size_limit: None,
            peer_record_size: None,
            max_fragment_length: None,
            exporter: false,
            server_closes: false,
            no_tickets: false,
            datagrams: None,
            trace: None,
            staple: None,
            stapling: Stapling::Off,
            client_cache: None,
            server_cache: None,
            client_resumption: None,
            server_resumption: None,
            client_identity: None,
            server_identity: None,
        }
    }

    /// Returns a case of mutual authentication.
    pub fn mutual(provider: &'static CryptoProvider) -> Self {
        Self { asks: Asks::Required, client: Some(Holder::Member), ..Self::new(provider) }
    }

    /// Lets sessions be resumed on both sides, over `connections` connections.
    #[must_use]
    pub fn with_sessions(self, sessions: Sessions, connections: usize) -> Self {
        let store = Arc::new(MemoryClientSessions::new(8));
        let server = match sessions {
            Sessions::Kept => {
                ServerResumption::Stateful { store: Arc::new(MemorySessionStore::new(8)), lifetime_seconds: 600 }
            }
            Sessions::Sealed => {
                let aead = self.provider.tls13_suites[0].aead;
                ServerResumption::Stateless(Arc::new(
                    TicketKeys::new(aead, 600, 8).expect("a lifetime below the maximum"),
                ))
            }
        };
        let client = ClientResumption::new(store).early_data(self.early_data);
        Self {
            connections,
            sessions: Some(sessions),
            client_resumption: Some(client),
            server_resumption: Some(server),
            ..self
        }
    }

    /// Returns the CA.
    pub fn pki(&self) -> Arc<Pki> {
        Pki::shared(self.chain, self.leaf)
    }

    /// Creates the files for a peer's program.
    pub fn files(&self, side: Side) -> Files {
        let holder = if side == Side::Client { self.client } else { Some(self.server) };
        let holder = holder.filter(|_| self.means != Means::PreSharedKey);
        let mut files = self.pki().files(side, holder);
        if self.means == Means::RawPublicKeys {
            files.raw_keys = Some(self.pki().raw_key_files(self.provider, side, &files));
        }
        files
    }

    /// Returns the OCSP response that the server staples.
    pub fn ocsp_response(&self) -> Option<Vec<u8>> {
        self.staple.map(|status| self.pki().ocsp_response(Side::Server, status))
    }

    /// Returns the version that both sides must agree on: the highest that both have.
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.our_versions.iter().filter(|version| self.peer_versions.contains(version)).max().copied()
    }

    /// Returns the name that the client expects.
    pub fn name(&self) -> &'static str {
        if self.expects_wrong_name { WRONG_NAME } else { SERVER_NAME }
    }

    /// Returns the server's address for our client. The port only separates caches: the cells of one server get new
    /// ones.
    pub fn address(&self) -> ServerAddress {
        let name = pki_types::ServerName::try_from(self.name()).expect("a valid name");
        ServerAddress::new(name, 8883)
    }

    /// Returns our client's configuration.
    pub fn client_config(&self) -> Arc<ClientConfig> {
        let mut config = ClientConfig::builder(self.provider);
        config.trust(self.trust(Side::Client));
        self.common(config.common_mut(), &self.client_groups, &self.client_protocols);
        config.credentials(
            self.client.and_then(|holder| self.credential(Side::Client, holder)).into_iter().collect::<Vec<_>>(),
        );
        config.psks((self.means == Means::PreSharedKey).then(psk).into_iter().collect::<Vec<_>>());
        config.resumption(self.client_resumption.clone());
        config.send_server_name(self.sends_name);
        config.max_fragment_length(self.max_fragment_length);
        config.compatibility_mode(self.compatibility_mode);
        config.cache(self.client_cache.clone());
        config.identity(self.client_identity.clone());
        Arc::new(config.build().expect("a valid configuration"))
    }

    /// Returns our server's configuration.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::builder(self.provider);
        config.credentials(self.credential(Side::Server, self.server).into_iter().collect::<Vec<_>>());
        for (credential, response) in config.config().credentials().iter().zip(self.ocsp_response()) {
            credential.set_staple(self.provider, Some(&response)).expect("it is about the server's certificate");
        }
        if self.means == Means::PreSharedKey {
            config.psks(Arc::new(MemoryPskStore::new([psk()])));
        }
        self.common(config.common_mut(), &self.server_groups, &self.server_protocols);
        config.client_authentication(match self.asks {
            Asks::No => ClientAuthentication::None,
            Asks::Optional => ClientAuthentication::Optional(self.trust(Side::Server)),
            Asks::Required => ClientAuthentication::Required(self.trust(Side::Server)),
        });
        config.resumption(self.server_resumption.clone());
        config.early_data(self.early_data.then(|| ServerEarlyData::new(1024)));
        config.certificate_authorities(self.ca_names && self.asks != Asks::No);
        config.hello_retry_cookie(self.cookie);
        config.cache(self.server_cache.clone());
        config.identity(self.server_identity.clone());
        Arc::new(config.build().expect("a valid configuration"))
    }

    fn trust(&self, side: Side) -> Trust {
        match self.means {
            Means::Certificates => self.pki().trust().with_stapling(self.stapling),
            Means::RawPublicKeys => self.pki().raw_trust(self.provider, side),
            Means::PreSharedKey => Trust::nobody(),
        }
    }

    fn credential(&self, side: Side, holder: Holder) -> Option<Credential> {
        match self.means {
            Means::Certificates => Some(self.pki().credential(self.provider, side, holder)),
            Means::RawPublicKeys => Some(self.pki().raw_credential(self.provider, side)),
            Means::PreSharedKey => None,
        }
    }

    fn common(&self, common: &mut Common, groups: &[NamedGroup], protocols: &[&str]) {
        if !self.our_versions.is_empty() {
            common.set_versions(self.our_versions.clone());
        }
        if !self.suites.is_empty() {
            common.set_suites(self.suites.clone());
        }
        if !groups.is_empty() {
            common.set_groups(groups);
        }
        if !self.schemes.is_empty() {
            common.set_signature_schemes(self.schemes.clone());
        }
        common.set_require_extended_master_secret(self.requires_extended_master_secret);
        common.set_alpn_protocols(protocols.iter().map(|name| name.as_bytes()));
        common.set_record_size_limit(self.our_record_size_limit);
        common.set_datagrams(
            self.datagrams
                .as_ref()
                .map(|datagrams| terse_tls::Datagrams::default().connection_id(datagrams.our_connection_id)),
        );
        if let Some(trace) = &self.trace {
            common.set_trace(trace.clone());
        }
    }
}

fn psk() -> ExternalPsk {
    ExternalPsk::new(PSK_IDENTITY.as_bytes(), &PSK).expect("a key that is long enough")
}

/// Returns the clock of all our sides: those that share a cache must share a clock.
pub fn clock() -> Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);
    *CLOCK
}
