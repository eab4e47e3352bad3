//! Both sides of a comparison, and how a mode configures them.

use alloc::sync::Arc;
use core::fmt;

use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache, snapshot};
use terse_tls::crypto::IdentityKey;
use terse_tls::identity::KnownPeers;
use terse_tls::identity_early_data::{FirstContactMemory, MemorySecretTickets, SecretTickets};
use terse_tls::resume::{
    ClientResumption, ExternalPsk, MAX_LIFETIME, MemoryClientSessions, MemoryPskStore, MemorySessionStore,
    ServerEarlyData, ServerResumption, TicketKeys,
};
use terse_tls::summary::Transport;
use terse_tls::{
    ApiMisuse, CipherSuite, ClientAuthentication, ClientConfig, ClientIdentity, Common, ConfigBuilder, Datagrams,
    EndpointLimits, LearnedIssuers, NamedGroup, ProtocolVersion, ServerAddress, ServerConfig, ServerIdentity, Trust,
};

use super::row::Sides;
use super::setting::{Mode, Setting, Version};
use crate::Exchange;
use crate::computing::{CountingIdentityKey, is_counting};

/// The two sides, in what all modes share: their certificates, trust anchors and algorithms.
#[derive(Clone, Debug)]
pub struct Parties {
    /// The client's configuration. Version, caching, resumption, pre-shared keys and datagrams are set by the mode.
    pub client: ConfigBuilder<ClientConfig>,
    /// The server's configuration. Version, caching, resumption, pre-shared keys and datagrams are set by the mode.
    pub server: ConfigBuilder<ServerConfig>,
    /// The server as the client knows it.
    pub address: ServerAddress,
    /// The curve of the certificates' keys, if they have one: in TLS 1.2 peers must say that they take it (RFC 8422, 5.1.1).
    pub curve: Option<NamedGroup>,
    /// The key for [`Mode::Psk`].
    pub psk: ExternalPsk,
    /// The keys for [`Mode::IdentityFirst`] and [`Mode::Identity`].
    pub ristretto255: IdentityKeys,
    /// The keys for [`Mode::IdentityBls12381`].
    pub bls12381: IdentityKeys,
    /// Timers and sizes of DTLS; [`Datagrams::max_datagram`] follows the link.
    pub datagrams: Datagrams,
    /// The limits of a server for datagrams.
    pub limits: EndpointLimits,
}

/// The identity keys of both sides, of one authority and algorithm.
#[derive(Clone)]
pub struct IdentityKeys {
    /// The client's key.
    pub client: Arc<dyn IdentityKey>,
    /// The server's key.
    pub server: Arc<dyn IdentityKey>,
}

impl fmt::Debug for IdentityKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentityKeys({}, {})", self.client.identity(), self.server.identity())
    }
}

/// The two sides of one mode. All connections of a pair share its caches and sessions.
#[derive(Clone, Debug)]
pub struct Pair {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) address: ServerAddress,
    pub(crate) limits: EndpointLimits,
    caches: Option<(Arc<MemoryClientStore>, Arc<MemoryServerStore>)>,
    known_peers: Option<(Arc<KnownPeers>, Arc<KnownPeers>)>,
}

impl Pair {
    /// Returns the sizes of the client's and the server's cache, in bytes as in a cache file, or of the public parts of
    /// identity keys that they keep; 0 if nothing is kept.
    pub fn cached_bytes(&self) -> (usize, usize) {
        if let Some((client, server)) = &self.known_peers {
            let empty = KnownPeers::new(0).snapshot().len();
            return (client.snapshot().len() - empty, server.snapshot().len() - empty);
        }
        let Some((client, server)) = &self.caches else { return (0, 0) };
        let (no_client, no_server) = (MemoryClientStore::new(0), MemoryServerStore::new(0));
        let nobody = LearnedIssuers::default();
        let size = |client, server| snapshot::encode(client, server, &nobody).map_or(0, |file| file.len());
        let empty = size(&no_client, &no_server);
        (size(client, &no_server).saturating_sub(empty), size(&no_client, server).saturating_sub(empty))
    }
}

impl Parties {
    /// Whether the operations of both sides' providers are [counted](crate::computing::counting).
    pub(crate) fn are_counted(&self) -> bool {
        is_counting(self.client.config().common().provider()) && is_counting(self.server.config().common().provider())
    }

    /// Returns the two sides for a setting's version, mode and messages, with datagrams of at most `max_datagram` bytes.
    ///
    /// Fails if the configurations cannot be used so.
    pub fn pair(&self, setting: &Setting, max_datagram: usize) -> Result<Pair, ApiMisuse> {
        let datagrams = self.datagrams.max_datagram(max_datagram);
        self.pair_over(setting, Sides { client: datagrams, server: datagrams })
    }

    /// Returns the two sides as [`Self::pair`] does, with these timers and sizes of DTLS.
    ///
    /// Fails if the configurations cannot be used so.
    pub fn pair_over(&self, setting: &Setting, datagrams: Sides<Datagrams>) -> Result<Pair, ApiMisuse> {
        let mut pairs = self.pairs_over(setting, datagrams, 1)?;
        Ok(pairs.remove(0))
    }

    /// Returns one server and so many clients, each with caches and sessions of its own, which share their certificate and its key.
    /// Each is in a pair with the server.
    ///
    /// Fails if the configurations cannot be used so.
    pub fn pairs_over(
        &self,
        setting: &Setting,
        datagrams: Sides<Datagrams>,
        clients: usize,
    ) -> Result<Vec<Pair>, ApiMisuse> {
        let Setting { version, mode, exchange, .. } = *setting;
        let capacity = CAPACITY.max(clients * SESSIONS_OF_CLIENT);
        let (mut client, mut server) = (self.client.clone(), self.server.clone());
        for (common, datagrams) in [(client.common_mut(), datagrams.client), (server.common_mut(), datagrams.server)] {
            common.set_versions(Vec::from([version.protocol_version()]));
            if let Some(curve) = self.curve.filter(|_| version.protocol_version() == ProtocolVersion::TLS_1_2)
                && !common.groups().contains(&curve)
            {
                let groups = [common.groups(), &[curve]].concat();
                common.set_groups(groups);
            }
            common.set_datagrams((version.transport() == Transport::Datagram).then_some(datagrams));
        }
        let schemes = match mode {
            Mode::Rfc7924 => Some(Schemes::RFC7924),
            Mode::Bithac => Some(Schemes::BITHAC),
            Mode::Compact => Some(Schemes::COMPACT),
            _ => None,
        };
        let mut made = Vec::with_capacity(clients);
        let server_store = schemes.map(|schemes| with_server_cache(&mut server, schemes, capacity));
        let mut server_known = None;
        match mode {
            Mode::Full | Mode::Rfc7924 | Mode::Bithac | Mode::Compact => {}
            Mode::Resumed => with_server_sessions(&mut server, version, exchange, capacity),
            Mode::Psk => with_key(&mut client, &mut server, version, &self.psk),
            Mode::IdentityFirst | Mode::Identity | Mode::IdentityBls12381 => {
                server_known = Some(with_server_identity(&mut server, self.identity_keys(mode), setting, capacity));
            }
        }
        let server = Arc::new(server.build()?);
        for _ in 0..clients {
            let mut client = client.clone();
            let caches = server_store.clone().zip(schemes);
            let caches = caches.map(|(store, schemes)| (with_client_cache(&mut client, schemes), store));
            if mode == Mode::Resumed {
                let sessions = ClientResumption::new(Arc::new(MemoryClientSessions::new(CAPACITY)));
                client.resumption(Some(sessions.early_data(exchange.early_data)));
            }
            let known_peers = server_known
                .clone()
                .map(|known| (with_client_identity(&mut client, self.identity_keys(mode), setting), known));
            made.push(Pair {
                client: Arc::new(client.build()?),
                server: server.clone(),
                address: self.address.clone(),
                limits: match exchange.early_data {
                    // A cookie would cost a client at first contact its early data.
                    true => self.limits.first_contacts_per_second(u32::MAX),
                    false => self.limits,
                },
                caches,
                known_peers,
            });
        }
        Ok(made)
    }

    /// Returns the keys of an identity-based mode.
    const fn identity_keys(&self, mode: Mode) -> &IdentityKeys {
        match mode {
            Mode::IdentityBls12381 => &self.bls12381,
            _ => &self.ristretto255,
        }
    }
}

fn with_server_cache(
    server: &mut ConfigBuilder<ServerConfig>,
    schemes: Schemes,
    capacity: usize,
) -> Arc<MemoryServerStore> {
    let store = Arc::new(MemoryServerStore::new(capacity));
    server.cache(Some(ServerCache::new(store.clone(), schemes)));
    store
}

fn with_client_cache(client: &mut ConfigBuilder<ClientConfig>, schemes: Schemes) -> Arc<MemoryClientStore> {
    let store = Arc::new(MemoryClientStore::new(CAPACITY));
    client.cache(Some(ClientCache::new(store.clone(), schemes)));
    store
}

/// As in BiTHaC, V-A: by session ID in TLS 1.2, by ticket in TLS 1.3.
fn with_server_sessions(
    server: &mut ConfigBuilder<ServerConfig>,
    version: Version,
    exchange: Exchange,
    capacity: usize,
) {
    let by_id = || {
        let store = Arc::new(MemorySessionStore::new(capacity));
        ServerResumption::Stateful { store, lifetime_seconds: LIFETIME }
    };
    let recorded_hellos = if exchange.early_data { RECORDED_HELLOS } else { CAPACITY };
    let by_ticket = |common: &Common| {
        let aead = common.provider().tls13_suites.first()?.aead;
        TicketKeys::new(aead, LIFETIME, recorded_hellos).ok().map(|keys| ServerResumption::Stateless(Arc::new(keys)))
    };
    let resumption = match version {
        Version::Tls13 | Version::Dtls13 => by_ticket(server.config().common()).unwrap_or_else(by_id),
        Version::Tls12 | Version::Dtls12 => by_id(),
    };
    server.resumption(resumption);
    if exchange.early_data {
        let size = u32::try_from(exchange.request).unwrap_or(u32::MAX);
        server.early_data(ServerEarlyData::new(size).window_seconds(EARLY_DATA_WINDOW));
    }
}

fn with_key(
    client: &mut ConfigBuilder<ClientConfig>,
    server: &mut ConfigBuilder<ServerConfig>,
    version: Version,
    psk: &ExternalPsk,
) {
    if version.protocol_version() == ProtocolVersion::TLS_1_2 {
        // In TLS 1.2 the cipher suite names the authentication; this suite is forward secret (RFC 8442).
        for common in [client.common_mut(), server.common_mut()] {
            common.set_suites(Vec::from([CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256]));
        }
    }
    client.trust(Trust::nobody());
    client.credentials(Vec::new());
    client.psks(Vec::from([psk.clone()]));
    server.credentials(Vec::new());
    server.client_authentication(ClientAuthentication::None);
    server.psks(Arc::new(MemoryPskStore::new([psk.clone()])));
}

/// Nobody has certificates, and there is nothing to fall back on.
fn with_server_identity(
    server: &mut ConfigBuilder<ServerConfig>,
    keys: &IdentityKeys,
    setting: &Setting,
    capacity: usize,
) -> Arc<KnownPeers> {
    let known = Arc::new(KnownPeers::new(capacity));
    let mut of_server = ServerIdentity::new([counting(&keys.server) as Arc<dyn IdentityKey>]);
    let Exchange { early_data, .. } = setting.exchange;
    if early_data {
        server.early_data(ServerEarlyData::new(early_data_size(setting)).window_seconds(EARLY_DATA_WINDOW));
        if setting.mode.needs_earlier() {
            let store = Arc::new(MemorySecretTickets::new(capacity));
            of_server = of_server.tickets(SecretTickets::Stateful { store, lifetime_seconds: LIFETIME });
        } else {
            of_server = of_server.first_contact(Arc::new(FirstContactMemory::trusting_clock(RECORDED_HELLOS, 0)));
        }
    }
    server.credentials(Vec::new());
    server.client_authentication(ClientAuthentication::None);
    server.identity(of_server.known_peers(known.clone()));
    known
}

fn with_client_identity(
    client: &mut ConfigBuilder<ClientConfig>,
    keys: &IdentityKeys,
    setting: &Setting,
) -> Arc<KnownPeers> {
    let known = Arc::new(KnownPeers::new(CAPACITY));
    let mut of_client = ClientIdentity::new(counting(&keys.client)).server(keys.server.identity().clone());
    if setting.exchange.early_data {
        if setting.mode.needs_earlier() {
            of_client = of_client.early_data(true);
        } else {
            // At first contact the client has the public part of the server's key in its own file.
            let (authority, of_key) = (keys.server.parameters().authority(), keys.server.public_part());
            if !of_key.is_empty() {
                known.provide(authority, keys.server.identity(), of_key);
            }
            of_client = of_client.first_contact(early_data_size(setting));
        }
    }
    client.trust(Trust::nobody());
    client.credentials(Vec::new());
    client.identity(of_client.known_peers(known.clone()));
    known
}

fn counting(key: &Arc<dyn IdentityKey>) -> Arc<CountingIdentityKey> {
    Arc::new(CountingIdentityKey::new(key.clone()))
}

fn early_data_size(setting: &Setting) -> u32 {
    u32::try_from(setting.exchange.request).unwrap_or(u32::MAX)
}

/// The capacity of caches and session stores. Connections run one after the other, so that few entries are needed.
const CAPACITY: usize = 8;

/// How many sessions a server keeps of each of its clients.
const SESSIONS_OF_CLIENT: usize = 4;

/// The lifetime of sessions in seconds: the longest that is allowed, and longer than any simulated connection.
const LIFETIME: u32 = MAX_LIFETIME;

/// The window in which a ClientHello with early data counts as fresh, in seconds. It is longer than a handshake takes on
/// the slowest link.
const EARLY_DATA_WINDOW: u32 = 600;

/// How many ClientHellos with early data a server remembers: more than a client sends in the window.
const RECORDED_HELLOS: usize = 65_536;
