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
    use core::time::Duration;

    use pki_types::{DnsName, ServerName, UnixTime};
    use terse_device::random::{SEED_LEN, SeededRng};
    use terse_pki::{AuthorityOptions, LeafOptions, Validity};
    use terse_rustcrypto::PROVIDER;
    use terse_tls::cache::{ClientCache, Schemes, ServerCache};
    use terse_tls::identity::{Authority, Identity};
    use terse_tls::resume::{ClientResumption, MemorySessionStore, ServerResumption};
    use terse_tls::{ClientConfig, Connection, Credential, Instant, Now, ServerAddress, ServerConfig, Trust};

    use super::*;

    const TODAY: u64 = 1_767_225_600;

    /// Returns a memory of a server that caches and resumes, and of a peer with an identity.
    fn filled() -> Memory {
        let memory = Memory::from_bytes(&[]);
        let validity = Validity::without_end(TODAY);
        let ca = terse_pki::Authority::new(&AuthorityOptions::new("p256x2".parse().unwrap(), validity)).unwrap();
        let issued = ca.issue(&LeafOptions::new("a.example", validity)).unwrap();
        let key = PROVIDER.load_key(issued.key()).unwrap();
        let mut server = ServerConfig::builder(&PROVIDER);
        server.credential(Credential::new(issued.chain().to_vec(), key).unwrap());
        server.cache(ServerCache::new(Arc::new(MemoryServerStore::new(4)), Schemes::COMPACT));
        let store = Arc::new(MemorySessionStore::new(4));
        server.resumption(ServerResumption::Stateful { store, lifetime_seconds: 3_600 });
        let mut client = ClientConfig::builder(&PROVIDER);
        client.trust(Trust::without_path_building(&[ca.root().clone()]).unwrap());
        client.cache(ClientCache::new(memory.cache.clone(), Schemes::COMPACT));
        client.resumption(ClientResumption::new(memory.sessions.clone()));

        let now = Now::new(Instant(0), Some(UnixTime::since_unix_epoch(Duration::from_secs(TODAY))));
        let address = ServerAddress::new(ServerName::try_from("a.example").unwrap(), 4_433);
        let mut rng = SeededRng::new([7; SEED_LEN]);
        let mut client = Connection::client(Arc::new(client.build().unwrap()), address, now, &mut rng).unwrap();
        let mut server = Connection::server(Arc::new(server.build().unwrap()), now).unwrap();
        for _ in 0..3 {
            carry(&mut client, &mut server, now, &mut rng);
            carry(&mut server, &mut client, now, &mut rng);
        }
        let peer = Identity::dns_name(&DnsName::try_from("b.example").unwrap()).unwrap();
        memory.peers.provide(Authority([1; 8]), &peer, &[2; 32]);
        memory
    }

    fn carry(from: &mut Connection, to: &mut Connection, now: Now, rng: &mut SeededRng) {
        let mut buffer = [0; 4_096];
        while let Some(len) = from.poll_transmit(now, &mut buffer) {
            let mut input = &mut buffer[..len];
            while !input.is_empty() {
                let taken = to.handle_input(now, rng, input).unwrap();
                input = &mut input[taken..];
            }
        }
    }

    /// Returns how much there is in each part.
    fn counts(memory: &Memory) -> [usize; 3] {
        [memory.cache.len(), memory.sessions.len(), memory.peers.len()]
    }

    /// Returns where the content of each part begins and ends.
    fn parts(bytes: &[u8]) -> [[usize; 2]; 3] {
        let mut end = 0;
        [(); 3].map(|()| {
            let begin = end + 4;
            end = begin + u32::from_be_bytes(*bytes[end..].first_chunk().unwrap()) as usize;
            [begin, end]
        })
    }

    #[test]
    fn what_is_remembered_comes_back() {
        let bytes = filled().to_bytes();
        let again = Memory::from_bytes(&bytes);
        assert_eq!(counts(&again), [1, 1, 1]);
        assert_eq!(again.to_bytes(), bytes);
    }

    #[test]
    fn what_is_cut_short_is_empty() {
        let bytes = filled().to_bytes();
        let parts = parts(&bytes);
        for len in 0..bytes.len() {
            let expected = parts.map(|[_, end]| usize::from(end <= len));
            assert_eq!(counts(&Memory::from_bytes(&bytes[..len])), expected, "{len}");
        }
    }

    /// Nothing here detects damage, which the storage does by its hash. But no damage may do more than change what it hits.
    #[test]
    fn damage_leaves_the_other_parts() {
        let bytes = filled().to_bytes();
        for (part, [begin, end]) in parts(&bytes).into_iter().enumerate() {
            for byte in begin..end {
                let mut damaged = bytes.clone();
                damaged[byte] ^= 0x40;
                let memory = Memory::from_bytes(&damaged);
                let counts = counts(&memory);
                assert!(counts[part] <= 1, "{byte}: {counts:?}");
                assert!((0..3).all(|other| other == part || counts[other] == 1), "{byte}: {counts:?}");
                let again = Memory::from_bytes(&memory.to_bytes());
                assert_eq!(again.to_bytes(), memory.to_bytes(), "{byte}");
            }
        }
    }
}
