//! What a device remembers of its servers: the cache, sessions, and the peers of its identity.

use alloc::sync::Arc;
use alloc::vec::Vec;

use terse_tls::LearnedIssuers;
use terse_tls::cache::{MemoryClientStore, MemoryServerStore, snapshot};
use terse_tls::identity::KnownPeers;
use terse_tls::resume::MemoryClientSessions;
use zeroize::Zeroizing;

/// The stores of a device. Each starts empty if what was kept cannot be read, which costs a full handshake.
pub struct Memory {
    /// What may be left out.
    pub cache: Arc<MemoryClientStore>,
    /// What may be resumed.
    pub sessions: Arc<MemoryClientSessions>,
    /// What is known of peers with identities.
    pub peers: Arc<KnownPeers>,
}

impl Memory {
    /// Reads what [`to_bytes`](Self::to_bytes) has given.
    pub fn from_bytes(mut bytes: &[u8]) -> Self {
        let mut part = || {
            let (len, rest) = bytes.split_first_chunk()?;
            let (part, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
            bytes = rest;
            Some(part)
        };
        let [cache, sessions, peers] = [part(), part(), part()];
        let cache = cache.and_then(|bytes| {
            let (client, _, _) = snapshot::decode_into(bytes, empty(), MemoryServerStore::new(0)).ok()?;
            Some(client)
        });
        let sessions = sessions.and_then(|bytes| MemoryClientSessions::from_bytes(bytes, SERVERS).ok());
        let peers = peers.and_then(|bytes| KnownPeers::from_snapshot(SERVERS, bytes));
        Self {
            cache: Arc::new(cache.unwrap_or_else(empty)),
            sessions: Arc::new(sessions.unwrap_or_else(|| MemoryClientSessions::new(SERVERS))),
            peers: Arc::new(peers.unwrap_or_else(|| KnownPeers::new(SERVERS))),
        }
    }

    /// Returns everything as bytes, which are as secret as a session.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let cache = snapshot::encode(&self.cache, &MemoryServerStore::new(0), &LearnedIssuers::default());
        let (cache, sessions, peers) = (cache.unwrap_or_default(), self.sessions.to_bytes(), self.peers.snapshot());
        let parts = [&cache[..], &sessions, &peers];
        let mut bytes = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| 4 + part.len()).sum()));
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }
}

fn empty() -> MemoryClientStore {
    MemoryClientStore::fixed(SERVERS, CACHE_LEN)
}

/// How many servers a device remembers.
const SERVERS: usize = 2;

/// The bytes of its cache.
const CACHE_LEN: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_memories_are_empty() {
        let empty = Memory::from_bytes(&[]).to_bytes();
        assert_eq!(Memory::from_bytes(&empty).to_bytes(), empty);
        for byte in 0..empty.len() {
            let mut damaged = empty.clone();
            damaged[byte] ^= 0x40;
            assert!(Memory::from_bytes(&damaged).cache.is_empty(), "{byte}");
        }
        assert!(Memory::from_bytes(&empty[..empty.len() - 1]).peers.is_empty());
    }
}
