//! The stores in which a server keeps sessions under handles: the trait, and a store in memory.
//!
//! What must always hold: calls are atomic. In particular, no two calls of [`ServerSessionStore::take`] return the same
//! session, which protects early data against replay.

use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;
use zeroize::Zeroizing;

use super::{Binding, Session};
use crate::cache::NotSaved;
use crate::crypto::{CryptoError, Rng};
use crate::error::InvalidMessage;
use crate::lru::Lru;
use crate::wire::{Encode, Parse, Reader, Writer};

#[cfg(test)]
mod tests;

/// A store of a server's sessions, by handle. Servers with different names and client CAs, and several machines, may
/// share it.
pub trait ServerSessionStore: Send + Sync {
    /// Keeps `record` under `id`, at most until [`SessionRecord::expires`]. Returns an error if it is not kept.
    fn put(&self, id: SessionId, record: SessionRecord) -> Result<(), NotSaved>;

    /// Returns the record under `id`. Changes nothing, not even the order of eviction, since the client has proven
    /// nothing yet.
    fn find(&self, id: &SessionId) -> Option<SessionRecord>;

    /// Removes the record under `id`, and returns it to one caller only.
    fn take(&self, id: &SessionId) -> Option<SessionRecord>;
}

/// A random handle: a TLS 1.3 ticket, or a TLS 1.2 session ID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    pub(crate) fn random(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut id = [0; 16];
        rng.fill(&mut id)?;
        Ok(Self(id))
    }
}

/// Does not print the handle, since it would link connections.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId")
    }
}

/// The record of a session under its handle. It holds a secret, which is wiped on drop and not printed.
#[derive(Clone)]
pub struct SessionRecord {
    pub(super) binding: Binding,
    pub(super) expires: u64,
    pub(super) session: Session,
}

impl SessionRecord {
    /// Returns when the session expires, in seconds since 1970.
    pub const fn expires(&self) -> u64 {
        self.expires
    }

    /// Encodes the record for stores outside of this process. The bytes are as secret as a private key.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.to_vec().unwrap_or_default()) // only sessions that fit are kept, so no length overflows
    }

    /// Parses the bytes of [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidMessage> {
        Self::parse_all(bytes)
    }
}

impl fmt::Debug for SessionRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.session.fmt(f)
    }
}

impl Parse<'_> for SessionRecord {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let VERSION = reader.u8()? else { return Err(InvalidMessage::IllegalValue) };
        Ok(Self { binding: Binding::parse(reader)?, expires: reader.u64()?, session: Session::parse(reader)? })
    }
}

impl Encode for SessionRecord {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(VERSION);
        self.binding.encode(writer);
        writer.u64(self.expires);
        self.session.encode(writer);
    }
}

/// The version of the format.
const VERSION: u8 = 1;

/// A store in memory for at most `capacity` sessions. The least recently used one is dropped first.
pub struct MemorySessionStore {
    records: Mutex<Lru<SessionId, SessionRecord>>,
}

impl MemorySessionStore {
    /// Creates an empty store.
    pub fn new(capacity: usize) -> Self {
        Self { records: Mutex::new(Lru::new(capacity)) }
    }

    /// Returns how many sessions are kept.
    pub fn len(&self) -> usize {
        self.records.lock().len()
    }

    /// Whether no session is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ServerSessionStore for MemorySessionStore {
    fn put(&self, id: SessionId, record: SessionRecord) -> Result<(), NotSaved> {
        self.records.lock().insert(id, record);
        Ok(())
    }

    fn find(&self, id: &SessionId) -> Option<SessionRecord> {
        self.records.lock().peek(id).cloned()
    }

    fn take(&self, id: &SessionId) -> Option<SessionRecord> {
        self.records.lock().remove(id).map(|(_, record)| record)
    }
}

impl fmt::Debug for MemorySessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessionStore").field("len", &self.len()).finish_non_exhaustive()
    }
}
