//! Configurations of a client and a server that fit together, for tests to change.

use alloc::sync::Arc;

#[cfg(feature = "issue")]
use terse_tls::Credential;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
#[cfg(feature = "issue")]
use terse_tls::crypto::CryptoProvider;
#[cfg(feature = "identities")]
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::identity::KnownPeers;
#[cfg(feature = "identities")]
use terse_tls::identity_early_data::{FirstContactMemory, SecretTickets};
use terse_tls::resume::{
    ClientResumption, ExternalPsk, MemoryClientSessions, MemoryPskStore, ServerEarlyData, ServerResumption, TicketKeys,
};
#[cfg(any(feature = "identities", feature = "issue"))]
use terse_tls::{ClientAuthentication, Trust};
use terse_tls::{
    ClientConfig, ClientIdentity, Common, ConfigBuilder, Connection, Datagrams, ProtocolVersion, ServerConfig,
    ServerIdentity,
};

use crate::datagrams::DatagramPair;
#[cfg(feature = "identities")]
use crate::identity::{self, IdentityKeys};
use crate::pair::{Pair, Side};
#[cfg(feature = "issue")]
use crate::pki::Pki;

mod stores;

pub use stores::{FirstSecretTicket, Stores};
use stores::{FirstSession, FirstSessionOfServer, Frozen};

/// The identity of the key in [`Setup::with_psk`].
pub const PSK_IDENTITY: &[u8] = b"sensor-17";

/// The lifetime of sessions, in seconds.
const LIFETIME: u32 = 7200;

/// The configurations of a client and a server.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The client's configuration; it has a credential.
    pub client: ConfigBuilder<ClientConfig>,
    /// The server.
    pub server: ConfigBuilder<ServerConfig>,
    /// The early data that the client of a pair sends.
    pub early_data: Vec<u8>,
    /// Whether each pair of [`Self::pair`] has new stores, for all that can be kept, in [`Pair::stores`].
    pub keeps: bool,
    /// The identities of both sides, if they have any: each pair has copies of their stores.
    pub identities: Option<(ClientIdentity, ServerIdentity, [Arc<KnownPeers>; 2])>,
    /// Whether the server of each pair has a new memory for early data at first contact.
    pub meets_first: bool,
}

#[cfg(feature = "issue")]
impl Setup {
    /// Creates a setup with certificates from the shared PKI for `chain`; the server requests no certificate of the
    /// client.
    pub fn new(client: &CryptoProvider, server: &CryptoProvider, chain: &str) -> Self {
        let pki = Pki::shared(chain);
        let mut setup = Self {
            client: ClientConfig::builder(client),
            server: ServerConfig::builder(server),
            early_data: Vec::new(),
            keeps: false,
            identities: None,
            meets_first: false,
        };
        setup.client.trust(pki.trust());
        setup.server.credential(pki.server(server));
        setup.client.credentials(vec![pki.client(client)]);
        setup
    }

    /// Creates a setup with certificates from the shared PKI for `chain`; the server requires a certificate of the
    /// client.
    pub fn mutual(client: &CryptoProvider, server: &CryptoProvider, chain: &str) -> Self {
        let mut setup = Self::new(client, server, chain);
        setup.server.client_authentication(ClientAuthentication::Required(Pki::shared(chain).trust()));
        setup
    }

    /// Creates a setup of mutual authentication with raw public keys, those of the shared PKI's certificates for
    /// `chain`.
    pub fn raw_public_keys(client: &CryptoProvider, server: &CryptoProvider, chain: &str) -> Self {
        let pki = Pki::shared(chain);
        let own = |provider: &CryptoProvider, issued: &terse_pki::Credential| {
            let key = provider.load_key(issued.key()).expect("a key that the provider signs with");
            Credential::raw_public_key(key).expect("a key with a public half")
        };
        let trust =
            |peer: &Credential| Trust::raw_public_keys(&[peer.public_key()]).expect("a key that the provider verifies");
        let (of_client, of_server) = (own(client, &pki.client), own(server, &pki.server));
        let mut setup = Self::mutual(client, server, chain);
        setup.client.trust(trust(&of_server));
        setup.server.client_authentication(ClientAuthentication::Required(trust(&of_client)));
        setup.client.credentials(vec![of_client]);
        setup.server.credentials(vec![of_server]);
        setup
    }
}

impl Setup {
    /// Allows one version alone on both sides.
    pub fn only(mut self, version: ProtocolVersion) -> Self {
        for side in Side::BOTH {
            self.common(side).set_versions(vec![version]);
        }
        self
    }

    /// Uses datagrams, with this version of DTLS alone.
    pub fn over(self, version: ProtocolVersion, datagrams: Datagrams) -> Self {
        self.only(version).in_datagrams(datagrams)
    }

    /// Uses datagrams, with the versions that were allowed before.
    pub fn in_datagrams(mut self, datagrams: Datagrams) -> Self {
        for side in Side::BOTH {
            self.common(side).set_datagrams(Some(datagrams));
        }
        self
    }

    /// Makes the server request another key share, with or without a cookie.
    pub fn with_hello_retry(mut self, cookie: bool) -> Self {
        let first = self.client.config().common().groups()[0];
        self.server.edit_groups(|list| list.retain(|group| *group != first));
        self.server.hello_retry_cookie(cookie);
        self
    }

    /// Runs handshakes until all that `schemes` can leave out is cached. Later handshakes do not change this cache.
    pub fn with_frozen_cache(mut self, schemes: Schemes) -> Self {
        let (client, server) = (Arc::new(MemoryClientStore::new(4)), Arc::new(MemoryServerStore::new(4)));
        self.client.cache(Some(ClientCache::new(client.clone(), schemes)));
        self.server.cache(Some(ServerCache::new(server.clone(), schemes)));
        self.handshake(0);
        self.handshake(1);
        self.client.cache(Some(ClientCache::new(Arc::new(Frozen(client)), schemes)));
        self.server.cache(Some(ServerCache::new(Arc::new(Frozen(server)), schemes)));
        self
    }

    /// Lets both sides resume by tickets, for which the server keeps nothing.
    pub fn with_resumption(mut self) -> Self {
        let aead = self.server.config().common().provider().tls13_suites[0].aead;
        let keys = TicketKeys::new(aead, LIFETIME, 64).expect("two hours are allowed");
        self.server.resumption(Some(ServerResumption::Stateless(Arc::new(keys))));
        self.client.resumption(Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(4)))));
        self
    }

    /// Runs a handshake for its session. Every later handshake resumes that session.
    pub fn with_frozen_session(mut self) -> Self {
        self = self.with_resumption();
        self.client.resumption(Some(ClientResumption::new(Arc::new(FirstSession::default()))));
        self.handshake(0);
        self
    }

    /// Runs a handshake for a session that the server keeps. Every later handshake resumes it, with `early_data` in TLS
    /// 1.3 unless that is empty.
    pub fn with_frozen_stateful_session(mut self, early_data: &[u8]) -> Self {
        let store = Arc::new(FirstSessionOfServer::default());
        self.server.resumption(Some(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME }));
        let mut resumption = ClientResumption::new(Arc::new(FirstSession::default()));
        if !early_data.is_empty() {
            self.server.early_data(Some(ServerEarlyData::new(0x1000)));
            resumption.early_data = true;
        }
        self.client.resumption(Some(resumption));
        self.handshake(0);
        self.early_data = early_data.to_vec();
        self
    }

    /// Gives both sides an external key, [`PSK_IDENTITY`].
    pub fn with_psk(mut self) -> Self {
        let psk = ExternalPsk::new(PSK_IDENTITY, &[7; 32]).expect("long enough");
        self.client.psks(vec![psk.clone()]);
        self.server.psks(Arc::new(MemoryPskStore::new([psk])));
        self
    }

    /// Gives both sides identity keys. Without `falls_back` nobody has or believes certificates.
    #[cfg(feature = "identities")]
    pub fn with_identities(mut self, algorithm: IdentityAlgorithm, falls_back: bool) -> Self {
        let keys = IdentityKeys::shared(algorithm);
        let stores = [Arc::new(KnownPeers::new(64)), Arc::new(KnownPeers::new(64))];
        let server = ServerIdentity::new([keys.server.clone()]);
        self.identities = Some((ClientIdentity::new(keys.client.clone()), server, stores));
        if !falls_back {
            self.client.trust(Trust::nobody());
            self.client.credentials(vec![]);
            self.server.credentials(vec![]);
            self.server.client_authentication(ClientAuthentication::None);
        }
        self
    }

    /// Runs a handshake, after which both sides know the public part of the other's key in all pairs.
    #[cfg(feature = "identities")]
    pub fn with_known_peers(mut self) -> Self {
        let (client, server, _) = self.configurations();
        match client.common().datagrams() {
            Some(_) => DatagramPair::new(&client, &server, 0).run_well().expect("a handshake"),
            None => Pair::new(&client, &server, 0).handshake().expect("a handshake"),
        }
        if let (Some((.., stores)), Some(client), Some(server)) =
            (&mut self.identities, client.identity(), server.identity())
        {
            *stores = [client.store().clone(), server.store().clone()];
        }
        self
    }

    /// Runs a handshake for a ticket. Every later handshake uses it for `early_data`.
    #[cfg(feature = "identities")]
    pub fn with_frozen_secret_ticket(mut self, early_data: &[u8]) -> Self {
        self.server.early_data(ServerEarlyData::new(0x1000));
        if let Some((client, server, _)) = &mut self.identities {
            let store = Arc::new(FirstSecretTicket::default());
            *client = client.clone().early_data(true);
            *server = server.clone().tickets(SecretTickets::Stateful { store, lifetime_seconds: LIFETIME });
        }
        let mut setup = self.with_known_peers();
        setup.early_data = early_data.to_vec();
        setup
    }

    /// Lets every handshake have `early_data` at first contact. Each pair has a new memory of its server.
    #[cfg(feature = "identities")]
    pub fn with_first_contact(self, early_data: &[u8]) -> Self {
        let mut setup = self.with_known_peers();
        setup.server.early_data(ServerEarlyData::new(0x1000));
        if let Some((client, ..)) = &mut setup.identities {
            *client = client.clone().first_contact(0x1000);
        }
        setup.early_data = early_data.to_vec();
        setup.meets_first = true;
        setup
    }

    /// Lets the server forget what it knew, so that it sends a HelloRetryRequest to a client that relies on it.
    #[cfg(feature = "identities")]
    pub fn with_forgetful_server(self) -> Self {
        let mut setup = self.with_known_peers();
        if let Some((.., stores)) = &mut setup.identities {
            stores[1] = Arc::new(KnownPeers::new(64));
        }
        setup
    }

    /// Gives each pair new and empty stores for all that can be kept, and lets the server keep sessions unless it puts
    /// them into tickets.
    pub fn keeping(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// Returns the configuration of one side that both sides have in common.
    pub fn common(&mut self, side: Side) -> &mut Common {
        match side {
            Side::Client => self.client.common_mut(),
            Side::Server => self.server.common_mut(),
        }
    }

    /// Creates a new connection.
    pub fn pair(&self, seed: u64) -> Pair {
        let (client, server, stores) = self.configurations();
        let mut pair = Pair::new(&client, &server, seed);
        self.send_early_data(&mut pair.client);
        pair.stores = stores;
        pair
    }

    /// Creates a new connection over datagrams.
    pub fn datagram_pair(&self, seed: u64) -> DatagramPair {
        let (client, server, _) = self.configurations();
        let mut pair = DatagramPair::new(&client, &server, seed);
        self.send_early_data(&mut pair.client);
        pair
    }

    fn send_early_data(&self, client: &mut Connection) {
        if !self.early_data.is_empty() {
            let taken = client.send_early_data(&self.early_data);
            assert_eq!(taken, Ok(self.early_data.len()), "there is a session with early data");
        }
    }

    fn configurations(&self) -> (Arc<ClientConfig>, Arc<ServerConfig>, Option<Stores>) {
        let (mut client, mut server) = (self.client.clone(), self.server.clone());
        let stores = self.keeps.then(Stores::default);
        if let Some(stores) = &stores {
            let schemes = Schemes::BITHAC;
            client.cache(Some(ClientCache::new(stores.client_cache.clone(), schemes)));
            client.resumption(Some(ClientResumption::new(stores.client_sessions.clone())));
            server.cache(Some(ServerCache::new(stores.server_cache.clone(), schemes)));
            let store = stores.server_sessions.clone();
            if server.config().resumption().is_none() {
                server.resumption(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME });
            }
        }
        #[cfg(feature = "identities")]
        if let Some((of_client, of_server, known)) = &self.identities {
            client.identity(of_client.clone().known_peers(identity::copy(&known[0])));
            let mut of_server = of_server.clone().known_peers(identity::copy(&known[1]));
            if self.meets_first {
                of_server =
                    of_server.first_contact(Arc::new(FirstContactMemory::trusting_clock(4, crate::pki::NOW - 1000)));
            }
            server.identity(of_server);
        }
        let (client, server) = (client.build(), server.build());
        (Arc::new(client.expect("a valid configuration")), Arc::new(server.expect("a valid configuration")), stores)
    }

    /// Runs a connection in which everything is kept that can be.
    fn handshake(&self, seed: u64) {
        if self.client.config().common().datagrams().is_some() {
            let mut pair = self.datagram_pair(seed);
            pair.run_well().expect("a handshake");
            pair.send(Side::Server, b"confirmed").expect("data");
            return pair.run_well().expect("a good path");
        }
        let mut pair = self.pair(seed);
        pair.handshake().expect("a handshake");
        pair.carry(Side::Server, b"confirmed").expect("data");
    }
}
