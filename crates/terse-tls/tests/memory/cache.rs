//! These tests bound what the stores of the cache take: the bytes per entry, and nothing more once they have their memory.

use alloc::sync::Arc;

use terse_testkit::allocator::measure;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::{
    AddressId, ClientCache, ClientStore, Commit, MemoryClientStore, MemoryServerStore, PeerEntry, Row, Save, Schemes,
    Scope, ScopeRecord, ServerCache, ServerStore, Ticket, snapshot,
};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{ClientAuthentication, LearnedIssuers};

/// What one connection of `compact` left on both sides.
struct Learned {
    scope: Scope,
    record: ScopeRecord,
    row: Row,
}

impl Learned {
    /// With a ticket that is confirmed, and if `twice`, one more that is not.
    fn new(chain: &str, twice: bool, mutual: bool) -> Self {
        let provider: &CryptoProvider =
            if chain.starts_with("rsa") { &terse_aws_lc::PROVIDER } else { &terse_rustcrypto::PROVIDER };
        let mut setup = Setup::mutual(provider, provider, chain);
        if !mutual {
            setup.server.client_authentication(ClientAuthentication::None);
        }
        let (client, server) = (Arc::new(MemoryClientStore::new(4)), Arc::new(MemoryServerStore::new(4)));
        let schemes = Schemes::COMPACT;
        setup.client.cache(Some(ClientCache::new(client.clone(), schemes)));
        setup.server.cache(Some(ServerCache::new(server.clone(), schemes)));
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        pair.carry(Side::Server, b"data").unwrap();
        drop(pair);
        if twice {
            setup.pair(2).handshake().unwrap();
        }
        let (scope, record) = client.records().remove(0);
        assert_eq!((record.tickets(), record.certificate_requests()), (1 + usize::from(twice), usize::from(mutual)));
        let ticket = server.lineages()[0].tickets().next().unwrap();
        Self { scope, record, row: server.find(&ticket).unwrap() }
    }

    fn fill_client(&self, store: &MemoryClientStore, count: u16) {
        for port in 0..count {
            let mut scope = self.scope.clone();
            scope.port = port;
            put(store, &scope, &self.record);
        }
    }

    fn fill_server(&self, store: &MemoryServerStore, tickets: core::ops::Range<u64>) {
        for n in tickets {
            let commit = Commit::new(ticket(n), self.row.clone(), None, None);
            store.commit(commit).unwrap();
        }
    }
}

fn put(store: &MemoryClientStore, scope: &Scope, record: &ScopeRecord) {
    let saved = store.update(scope, &mut |kept| {
        *kept = record.clone();
        Save::Later
    });
    saved.unwrap();
}

/// Returns a ticket; tickets are spread as the values of a hash are.
fn ticket(n: u64) -> Ticket {
    Ticket(n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
}

/// Returns the bytes of names, with their lengths. Names are as long as somebody chose.
fn names(entry: &PeerEntry) -> usize {
    let identity = entry.peer().identity();
    let lens = [identity.subject_der().len(), identity.subject_alt_name_der().len(), entry.server().to_string().len()];
    assert!(lens.iter().all(|len| *len < 0x80));
    lens.iter().map(|len| len + 1).sum()
}

/// Returns the bytes per entry, without names, in the heap and in the file.
fn per_entry(heap: i64, file: usize, entry: &PeerEntry) -> (usize, usize) {
    (heap as usize / COUNT - names(entry), file / COUNT - names(entry))
}

const COUNT: usize = 1000;

fn client_entry(learned: &Learned) -> (usize, usize) {
    let (store, heap) = measure(|| {
        let store = MemoryClientStore::new(COUNT);
        learned.fill_client(&store, COUNT as u16);
        store
    });
    assert_eq!(store.len(), COUNT);
    let file = snapshot::encode(&store, &MemoryServerStore::new(0), &LearnedIssuers::new()).unwrap().len();
    per_entry(heap.kept, file, learned.record.server_entry().unwrap())
}

fn server_entry(learned: &Learned) -> (usize, usize) {
    let (store, heap) = measure(|| {
        let store = MemoryServerStore::new(COUNT);
        learned.fill_server(&store, 0..COUNT as u64);
        store
    });
    assert_eq!(store.len(), COUNT);
    let file = snapshot::encode(&MemoryClientStore::new(0), &store, &LearnedIssuers::new()).unwrap().len();
    per_entry(heap.kept, file, learned.row.entry.as_ref().unwrap())
}

/// Entries are as small as documented. A second ticket of a scope, which is kept only until the server is known to have
/// it, takes its 8 bytes and a little of what a table grows by.
#[test]
fn entries_are_as_small_as_they_are_said_to_be() {
    for (chain, most) in [("p256x3", 128), ("ed25519x3", 128), ("rsa2048x3", 340)] {
        let [one, two] = [false, true].map(|twice| client_entry(&Learned::new(chain, twice, false)));
        let with_request = client_entry(&Learned::new(chain, false, true));
        let server = server_entry(&Learned::new(chain, false, true));
        println!("{chain}: client {one:?}, second ticket {two:?}, request {with_request:?}; server {server:?}");
        assert!(one.0 <= most && server.0 <= most, "{chain}");
        assert!(two.0 <= one.0 + 12 && with_request.0 <= one.0 + 63, "{chain}");
        assert!(one.1 <= one.0 && two.1 <= two.0 && server.1 <= server.0, "a file is not larger");
    }
}

/// Entries without a client certificate must be small, because they have a quota of their own, of as many as there may be
/// clients.
#[test]
fn tickets_without_a_client_certificate_take_40_bytes() {
    let mut learned = Learned::new("p256x3", false, false);
    assert!(learned.row.entry.is_none() && learned.row.seen.is_some());
    learned.row.address = Some(AddressId([1; 4]));
    let (store, heap) = measure(|| {
        let store = MemoryServerStore::new(COUNT);
        learned.fill_server(&store, 0..COUNT as u64);
        store
    });
    assert_eq!(store.len(), COUNT);
    assert!(heap.kept as usize / COUNT <= 40, "{heap:?}");
}

/// Thousands of entries, tickets and updates come and go: what they need while they are made is given back.
#[test]
fn fixed_stores_never_take_more() {
    let [learned, twice] = [false, true].map(|twice| Learned::new("p256x3", twice, true));
    let (client, own) = measure(|| MemoryClientStore::fixed(50, 10_000));
    assert!((10_000..12_000).contains(&own.kept), "{own:?}");
    let ((), later) = measure(|| {
        for round in 0..60_u8 {
            for port in 0..100 {
                let mut scope = learned.scope.clone();
                scope.port = port;
                scope.credential.as_mut().expect("it has one").0[0] = round; // values to share come and go
                put(&client, &scope, [&learned.record, &twice.record][usize::from(round % 2)]);
            }
        }
    });
    assert_eq!(later.kept, 0);
    assert!((25..=50).contains(&client.len()), "{}", client.len());
    assert!(later.peak < 0x2000, "{later:?}");

    let (server, own) = measure(|| MemoryServerStore::fixed(50, 8_000, 20));
    assert!((8_000..11_000).contains(&own.kept), "{own:?}");
    let ((), later) = measure(|| {
        for n in 0..6_000_u64 {
            let mut row = learned.row.clone();
            row.entry = row.entry.filter(|_| n % 3 != 0);
            row.seen.as_mut().expect("compact").certificate.0[0] = (n / 500) as u8;
            let parent = (n % 2 == 0).then(|| ticket(n.saturating_sub(7)));
            server.commit(Commit::new(ticket(n), row, parent, None)).unwrap();
            if n % 10 == 0 {
                server.remove(&ticket(n.saturating_sub(5))).unwrap();
            }
        }
    });
    assert_eq!(later.kept, 0);
    let (known, unknown): (Vec<_>, Vec<_>) =
        server.lineages().into_iter().partition(|lineage| lineage.entry().is_some());
    assert!(
        (20..=50).contains(&known.len()) && (10..=20).contains(&unknown.len()),
        "{} {}",
        known.len(),
        unknown.len()
    );
    assert!(later.peak < 0x2000, "{later:?}");
}

/// The bound also holds for entries of the largest size, and while nobody set a bound of bytes.
#[test]
fn bytes_are_bounded() {
    let learned = Learned::new("rsa2048x3", true, true);
    let (store, heap) = measure(|| {
        let store = MemoryClientStore::fixed(1000, 4_000);
        learned.fill_client(&store, 1000);
        store
    });
    assert!((5..10).contains(&store.len()) && heap.kept < 4_000 + 1000 * 11 + 32 * 40, "{} {heap:?}", store.len());
    let (store, heap) = measure(|| {
        let store = MemoryClientStore::new(8);
        learned.fill_client(&store, 1000);
        store
    });
    assert!(store.len() == 8 && heap.kept < 8 * 500, "{heap:?}");
}
