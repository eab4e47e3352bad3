//! A client's sessions in memory, and all of them as bytes, for programs that keep them in a file.
//!
//! What must always hold: never more than `capacity` scopes, and in each [`MAX_SESSIONS`] sessions.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;
use zeroize::Zeroizing;

use super::{ClientSessionStore, StoredSession};
use crate::cache::Scope;
use crate::error::InvalidMessage;
use crate::lru::Lru;
use crate::wire::{Encode, Parse, Reader, Writer};

#[cfg(test)]
mod tests;

/// A store in memory: the least recently used scope goes first.
pub struct MemoryClientSessions {
    scopes: Mutex<Lru<Arc<Scope>, VecDeque<StoredSession>>>,
}

/// Sessions in one scope: for as many connections at once.
const MAX_SESSIONS: usize = 4;

impl MemoryClientSessions {
    /// An empty store for at most `capacity` scopes.
    pub fn new(capacity: usize) -> Self {
        Self { scopes: Mutex::new(Lru::new(capacity)) }
    }

    /// How many scopes have a session.
    pub fn len(&self) -> usize {
        self.scopes.lock().len()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All sessions, with the order of use. Secret, see [`StoredSession::to_bytes`].
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let scopes = self.scopes.lock();
        let all = scopes.oldest_first().flat_map(|(scope, all)| all.iter().map(move |one| (scope, one)));
        // What fits into a store fits into the length fields.
        let kept = all.map(|(scope, session)| Zeroizing::new(Kept { scope, session }.to_vec().unwrap_or_default()));
        let kept: Vec<_> = kept.collect();
        // Of its final size at once: a buffer that grows leaves copies behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(kept.iter().map(|one| one.len()).sum()));
        kept.iter().for_each(|one| bytes.extend_from_slice(one));
        bytes
    }

    /// What [`Self::to_bytes`] gave, now for `capacity` scopes.
    pub fn from_bytes(bytes: &[u8], capacity: usize) -> Result<Self, InvalidMessage> {
        let store = Self::new(capacity);
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let scope = Scope::parse(&mut reader)?;
            store.put(&scope, StoredSession::parse(&mut reader)?);
        }
        Ok(store)
    }
}

impl ClientSessionStore for MemoryClientSessions {
    fn put(&self, scope: &Scope, session: StoredSession) {
        let mut scopes = self.scopes.lock();
        let (scope, mut sessions) = scopes.remove(scope).unwrap_or_else(|| (Arc::new(scope.clone()), VecDeque::new()));
        if sessions.len() == MAX_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back(session);
        scopes.insert(scope, sessions);
    }

    fn take(&self, scope: &Scope) -> Option<StoredSession> {
        let mut scopes = self.scopes.lock();
        let (scope, mut sessions) = scopes.remove(scope)?;
        let session = sessions.pop_back();
        if !sessions.is_empty() {
            scopes.insert(scope, sessions);
        }
        session
    }
}

impl fmt::Debug for MemoryClientSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryClientSessions").field("len", &self.len()).finish_non_exhaustive()
    }
}

struct Kept<'a> {
    scope: &'a Scope,
    session: &'a StoredSession,
}

impl Encode for Kept<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.scope.encode(writer);
        self.session.encode(writer);
    }
}
