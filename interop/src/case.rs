//! What a client and a server are to do when they meet, said once for both, whichever of them is ours.

use std::sync::{Arc, LazyLock};

use terse_net::Clock;
use terse_pki::KeyAlgorithm;
use terse_tls::cache::{ClientCache, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{
    CipherSuite, ClientAuthentication, ClientConfig, Common, MaxFragmentLength, NamedGroup, ProtocolVersion,
    ServerAddress, ServerConfig, SignatureScheme, Trace,
};

use crate::pki::{Files, Holder, Pki, SERVER_NAME, Side, WRONG_NAME};

/// Label of the exporter that both sides are asked for.
pub const EXPORTER_LABEL: &str = "EXPORTER-terse-interop";

/// How many bytes of it.
pub const EXPORTER_LEN: usize = 32;

/// Whether the server asks for a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// It does not.
    #[default]
    No,
    /// It asks, and goes on without one.
    Optional,
    /// It insists.
    Required,
}

/// What a client and a server are to do. Empty lists stand for a side's own defaults.
#[derive(Clone, Debug)]
pub struct Case {
    /// Our cryptography.
    pub provider: &'static CryptoProvider,
    /// The versions of our side.
    pub our_versions: Vec<ProtocolVersion>,
    /// The versions of the peer.
    pub peer_versions: Vec<ProtocolVersion>,
    /// How many connections there will be, one after the other: a client's later ones offer to resume.
    pub connections: usize,
    /// The CA, as in `p256x3`.
    pub chain: &'static str,
    /// The leaves' keys, if they differ from the CA's.
    pub leaf: Option<KeyAlgorithm>,
    /// Whether the server asks for a certificate.
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
    /// Whether a peer's server is to show which name it was asked for. OpenSSL's then sends no intermediates.
    pub shows_name: bool,
    /// The client expects a name that is not in the server's certificate.
    pub expects_wrong_name: bool,
    /// Whether the client asks for compatibility mode.
    pub compatibility_mode: bool,
    /// Whether the server sends a cookie.
    pub cookie: bool,
    /// Whether the server names its CAs.
    pub ca_names: bool,
    /// `record_size_limit` of our side.
    pub our_record_size_limit: Option<u16>,
    /// The largest record that the peer wants.
    pub peer_record_size: Option<u16>,
    /// `max_fragment_length` of the client.
    pub max_fragment_length: Option<MaxFragmentLength>,
    /// Whether the peer prints keying material.
    pub exporter: bool,
    /// A peer's server is to close when it is told to.
    pub server_closes: bool,
    /// The peer sends no tickets after the handshake.
    pub no_tickets: bool,
    /// Who hears of our messages.
    pub trace: Option<Arc<dyn Trace>>,
    /// Our client's cache.
    pub client_cache: Option<ClientCache>,
    /// Our server's cache.
    pub server_cache: Option<ServerCache>,
}

impl Case {
    /// Server authentication only, everything else as each side has it by default.
    pub fn new(provider: &'static CryptoProvider) -> Self {
        Self {
            provider,
            our_versions: Vec::new(),
            peer_versions: Vec::new(),
            connections: 1,
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
            trace: None,
            client_cache: None,
            server_cache: None,
        }
    }

    /// Both sides authenticate.
    pub fn mutual(provider: &'static CryptoProvider) -> Self {
        Self { asks: Asks::Required, client: Some(Holder::Member), ..Self::new(provider) }
    }

    /// The CA.
    pub fn pki(&self) -> Arc<Pki> {
        Pki::shared(self.chain, self.leaf)
    }

    /// Files for a peer's program.
    pub fn files(&self, side: Side) -> Files {
        match side {
            Side::Client => self.pki().files(side, self.client),
            Side::Server => self.pki().files(side, Some(self.server)),
        }
    }

    /// The version that both sides must agree on: the highest that both have.
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.our_versions.iter().filter(|version| self.peer_versions.contains(version)).max().copied()
    }

    /// The name that the client expects.
    pub fn name(&self) -> &'static str {
        if self.expects_wrong_name { WRONG_NAME } else { SERVER_NAME }
    }

    /// The server for our client. The port separates caches and is not connected to: cells of one server get new ones.
    pub fn address(&self) -> ServerAddress {
        let name = pki_types::ServerName::try_from(self.name()).expect("a valid name");
        ServerAddress { name, port: 8883 }
    }

    /// Our client.
    pub fn client_config(&self) -> Arc<ClientConfig> {
        let pki = self.pki();
        let mut config = ClientConfig::new(self.provider, pki.trust(self.provider));
        self.common(&mut config.common, &self.client_groups, &self.client_protocols);
        config.credential = self.client.map(|holder| pki.credential(self.provider, Side::Client, holder));
        config.send_server_name = self.sends_name;
        config.max_fragment_length = self.max_fragment_length;
        config.compatibility_mode = self.compatibility_mode;
        config.cache = self.client_cache.clone();
        Arc::new(config)
    }

    /// Our server.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        let pki = self.pki();
        let mut config = ServerConfig::new(self.provider, pki.credential(self.provider, Side::Server, self.server));
        self.common(&mut config.common, &self.server_groups, &self.server_protocols);
        config.client_authentication = match self.asks {
            Asks::No => ClientAuthentication::None,
            Asks::Optional => ClientAuthentication::Optional(pki.trust(self.provider)),
            Asks::Required => ClientAuthentication::Required(pki.trust(self.provider)),
        };
        config.certificate_authorities = self.ca_names;
        config.hello_retry_cookie = self.cookie;
        config.cache = self.server_cache.clone();
        Arc::new(config)
    }

    fn common(&self, common: &mut Common, groups: &[NamedGroup], protocols: &[&str]) {
        if !self.our_versions.is_empty() {
            common.versions.clone_from(&self.our_versions);
        }
        if !self.suites.is_empty() {
            common.suites.clone_from(&self.suites);
        }
        if !groups.is_empty() {
            common.groups = groups.into();
        }
        if !self.schemes.is_empty() {
            common.signature_schemes.clone_from(&self.schemes);
        }
        common.alpn_protocols = protocols.iter().map(|name| name.as_bytes().into()).collect();
        common.record_size_limit = self.our_record_size_limit;
        common.trace.clone_from(&self.trace);
    }
}

/// The clock of all our sides: those that share a cache must share a clock.
pub fn clock() -> Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);
    *CLOCK
}
