//! Configurations of a client and a server that fit together, for tests to change.

use alloc::sync::Arc;
use std::sync::OnceLock;

#[cfg(feature = "issue")]
use terse_tls::ClientAuthentication;
use terse_tls::cache::{
    ClientCache, ClientStore, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Save, Schemes, Scope,
    ScopeRecord, ServerCache, ServerStore, Ticket,
};
#[cfg(feature = "issue")]
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{
    ClientResumption, ClientSessionStore, MemoryClientSessions, ServerResumption, StoredSession, TicketKeys,
};
use terse_tls::{ClientConfig, Common, ProtocolVersion, ServerConfig};

use crate::pair::{Pair, Side};
#[cfg(feature = "issue")]
use crate::pki::Pki;

/// A client and a server.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The client; it has a credential.
    pub client: ClientConfig,
    /// The server.
    pub server: ServerConfig,
}

#[cfg(feature = "issue")]
impl Setup {
    /// Certificates from the shared PKI for `chain`; the server does not ask the client for its own.
    pub fn new(client: &CryptoProvider, server: &CryptoProvider, chain: &str) -> Self {
        let pki = Pki::shared(chain);
        let mut setup = Self {
            client: ClientConfig::new(client, pki.trust(client)),
            server: ServerConfig::new(server, pki.server(server)),
        };
        setup.client.credential = Some(pki.client(client));
        setup
    }

    /// The same, but the server requires a certificate of the client.
    pub fn mutual(client: &CryptoProvider, server: &CryptoProvider, chain: &str) -> Self {
        let mut setup = Self::new(client, server, chain);
        setup.server.client_authentication = ClientAuthentication::Required(Pki::shared(chain).trust(server));
        setup
    }
}

impl Setup {
    /// On both sides one version alone.
    pub fn only(mut self, version: ProtocolVersion) -> Self {
        for side in Side::BOTH {
            self.common(side).versions = vec![version];
        }
        self
    }

    /// Has the server ask for another key share, with or without a cookie.
    pub fn with_hello_retry(mut self, cookie: bool) -> Self {
        let first = self.client.common.groups[0];
        self.server.common.groups.retain(|group| *group != first);
        self.server.hello_retry_cookie = cookie;
        self
    }

    /// Runs handshakes until all that `schemes` can leave out is cached; from here on every handshake starts from that.
    pub fn with_frozen_cache(mut self, schemes: Schemes) -> Self {
        let (client, server) = (Arc::new(MemoryClientStore::new(4)), Arc::new(MemoryServerStore::new(4)));
        self.client.cache = Some(ClientCache { store: client.clone(), schemes });
        self.server.cache = Some(ServerCache { store: server.clone(), schemes });
        for seed in 0..2 {
            let mut pair = self.pair(seed);
            pair.handshake().expect("a handshake");
            pair.carry(Side::Server, b"confirmed").expect("data");
        }
        self.client.cache = Some(ClientCache { store: Arc::new(Frozen(client)), schemes });
        self.server.cache = Some(ServerCache { store: Arc::new(Frozen(server)), schemes });
        self
    }

    /// Has both sides resume, the server without keeping anything.
    pub fn with_resumption(mut self) -> Self {
        let aead = self.server.common.provider.tls13_suites[0].aead;
        let keys = TicketKeys::new(aead, 7200, 64).expect("two hours are allowed");
        self.server.resumption = Some(ServerResumption::Stateless(Arc::new(keys)));
        self.client.resumption = Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(4))));
        self
    }

    /// Runs a handshake for its session; from here on every handshake resumes that one.
    pub fn with_frozen_session(mut self) -> Self {
        self = self.with_resumption();
        self.client.resumption = Some(ClientResumption::new(Arc::new(FirstSession::default())));
        self.pair(0).handshake().expect("a handshake");
        self
    }

    /// What both sides configure alike, of one side.
    pub fn common(&mut self, side: Side) -> &mut Common {
        match side {
            Side::Client => &mut self.client.common,
            Side::Server => &mut self.server.common,
        }
    }

    /// A new connection.
    pub fn pair(&self, seed: u64) -> Pair {
        Pair::new(&Arc::new(self.client.clone()), &Arc::new(self.server.clone()), seed)
    }
}

/// A store that keeps the first session, and gives it to everybody.
#[derive(Default)]
struct FirstSession(OnceLock<Vec<u8>>);

impl ClientSessionStore for FirstSession {
    fn put(&self, _: &Scope, session: StoredSession) {
        self.0.get_or_init(|| session.to_bytes().to_vec());
    }

    fn take(&self, _: &Scope) -> Option<StoredSession> {
        self.0.get().map(|bytes| StoredSession::from_bytes(bytes).expect("what a session gave"))
    }
}

/// A store that forgets what is written to it.
struct Frozen<S>(Arc<S>);

impl ClientStore for Frozen<MemoryClientStore> {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut copy = ScopeRecord::default();
        self.0.update(scope, &mut |record| {
            copy = record.clone();
            Save::Later
        })?;
        change(&mut copy);
        Ok(())
    }
}

impl ServerStore for Frozen<MemoryServerStore> {
    fn find(&self, ticket: &Ticket) -> Option<Row> {
        self.0.find(ticket)
    }

    fn commit(&self, _: Commit) -> Result<(), NotSaved> {
        Ok(())
    }

    fn remove(&self, _: &Ticket) -> Result<(), NotSaved> {
        Ok(())
    }
}
