//! Stores for tests: new ones whose content can be inspected, and some that never change.

use alloc::sync::Arc;
use core::task::Poll;
use std::sync::OnceLock;

use terse_tls::LearnedIssuers;
use terse_tls::cache::{
    AddressId, ClientStore, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Save, Scope, ScopeRecord,
    ServerStore, Ticket, snapshot,
};
use terse_tls::identity_early_data::{SecretTicketId, SecretTicketRecord, SecretTicketStore};
use terse_tls::resume::{
    ClientSessionStore, MemoryClientSessions, MemorySessionStore, ServerSessionStore, SessionId, SessionRecord,
    StoredSession,
};

use crate::pair::Side;

/// The stores of both sides.
pub struct Stores {
    /// The client's cache.
    pub client_cache: Arc<MemoryClientStore>,
    /// The client's sessions.
    pub client_sessions: Arc<MemoryClientSessions>,
    /// The server's cache.
    pub server_cache: Arc<MemoryServerStore>,
    /// The server's sessions.
    pub server_sessions: Arc<MemorySessionStore>,
}

impl Default for Stores {
    fn default() -> Self {
        Self {
            client_cache: Arc::new(MemoryClientStore::new(4)),
            client_sessions: Arc::new(MemoryClientSessions::new(4)),
            server_cache: Arc::new(MemoryServerStore::new(4)),
            server_sessions: Arc::new(MemorySessionStore::new(4)),
        }
    }
}

impl Stores {
    /// Returns how many bytes the cache of `side` would have in a file, and how many sessions it has. A client also
    /// remembers that a handshake failed.
    pub fn size(&self, side: Side) -> (usize, usize) {
        let (no_client, no_server) = (MemoryClientStore::new(0), MemoryServerStore::new(0));
        let (bytes, sessions) = match side {
            Side::Client => {
                (snapshot::encode(&self.client_cache, &no_server, &LearnedIssuers::new()), self.client_sessions.len())
            }
            Side::Server => {
                (snapshot::encode(&no_client, &self.server_cache, &LearnedIssuers::new()), self.server_sessions.len())
            }
        };
        (bytes.expect("a small cache").len(), sessions)
    }
}

/// A store that keeps the first session, and returns it each time.
#[derive(Default)]
pub(super) struct FirstSession(OnceLock<Vec<u8>>);

impl ClientSessionStore for FirstSession {
    fn put(&self, _: &Scope, session: StoredSession) {
        self.0.get_or_init(|| session.to_bytes().to_vec());
    }

    fn take(&self, _: &Scope) -> Option<StoredSession> {
        self.0.get().map(|bytes| StoredSession::from_bytes(bytes).expect("what a session gave"))
    }
}

/// A store that keeps the first session of a server, however often it is taken.
#[derive(Default)]
pub(super) struct FirstSessionOfServer(OnceLock<(SessionId, SessionRecord)>);

impl ServerSessionStore for FirstSessionOfServer {
    fn put(&self, id: SessionId, record: SessionRecord) -> Result<(), NotSaved> {
        self.0.get_or_init(|| (id, record));
        Ok(())
    }

    fn find(&self, id: &SessionId) -> Option<SessionRecord> {
        self.0.get().filter(|(kept, _)| kept == id).map(|(_, record)| record.clone())
    }

    fn take(&self, id: &SessionId) -> Option<SessionRecord> {
        self.find(id)
    }
}

/// A store of ephemeral secret tickets that keeps the first one, however often it is taken.
#[derive(Default)]
pub struct FirstSecretTicket(OnceLock<(SecretTicketId, SecretTicketRecord)>);

impl SecretTicketStore for FirstSecretTicket {
    fn put(&self, id: SecretTicketId, record: SecretTicketRecord, _: u64) -> Result<(), NotSaved> {
        self.0.get_or_init(|| (id, record));
        Ok(())
    }

    fn find(&self, id: &SecretTicketId) -> Option<SecretTicketRecord> {
        self.0.get().filter(|(kept, _)| kept == id).map(|(_, record)| record.clone())
    }

    fn take(&self, id: &SecretTicketId) -> bool {
        self.find(id).is_some()
    }

    fn spend(&self, _: &SecretTicketId, _: AddressId) -> bool {
        false
    }
}

/// A store that forgets what is written to it.
pub(super) struct Frozen<S>(pub(super) Arc<S>);

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
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        Poll::Ready(self.0.find(ticket))
    }

    fn commit(&self, _: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Ready(Ok(()))
    }

    fn spend(&self, _: &Ticket, _: AddressId) -> Result<bool, NotSaved> {
        Ok(false)
    }

    fn remove(&self, _: &Ticket) -> Result<(), NotSaved> {
        Ok(())
    }
}
