//! `terse-bench cache-entries` measures what an entry of a cache takes, in memory and in a file, on both sides. It
//! makes a thousand entries from what one connection of `compact` left, each in a scope or under a ticket of its own.
//!
//! The numbers include the index and the order of use. Names are listed apart, because their lengths vary; so are a
//! second ticket, which comes and goes, and a CertificateRequest, which is as long as its list of CAs.

use std::sync::Arc;

use serde::Serialize;
use terse_interop::case::{Asks, Case};
use terse_net::OsRng;
use terse_tls::cache::{
    ClientCache, ClientStore, Commit, MemoryClientStore, MemoryServerStore, PeerEntry, Row, Save, Schemes, Scope,
    ScopeRecord, ServerCache, Ticket, snapshot,
};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Connection, LearnedIssuers, ProtocolVersion};

use crate::clock;
use crate::probe::{HeapProbe, Probe};
use crate::stack::Side;
use crate::table::lay_out;

/// The chains whose entries are measured.
pub const CHAINS: [&str; 3] = ["p256x3", "ed25519x3", "rsa2048x3"];

/// The bytes of an entry.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// The certificates.
    pub chain: &'static str,
    /// The side that has the cache.
    #[serde(serialize_with = "side_name")]
    pub side: Side,
    /// The bytes in memory, without the fields below.
    pub heap: usize,
    /// The bytes in a file, without the fields below.
    pub file: usize,
    /// The additional heap of a second ticket.
    pub second_ticket: usize,
    /// The additional heap of a CertificateRequest without names of CAs, which only clients keep.
    pub request: usize,
    /// The bytes of names, equal in memory and in the file.
    pub names: usize,
}

fn side_name<S: serde::Serializer>(side: &Side, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{side:?}").to_lowercase())
}

/// Measures the entries of both sides.
pub fn measure(chain: &'static str) -> Result<[Entry; 2], String> {
    let (plain, mutual) = (Learned::new(chain, Asks::No)?, Learned::new(chain, Asks::Required)?);
    let entry = plain.record.server_entry().ok_or("the client keeps the server's Certificate")?;
    let one = plain.client()?;
    let twice = Learned { record: plain.twice.clone(), ..plain.clone() };
    let client = Entry {
        chain,
        side: Side::Client,
        heap: one.heap - names(entry),
        file: one.file - names(entry),
        second_ticket: twice.client()?.heap - one.heap,
        request: mutual.client()?.heap - one.heap,
        names: names(entry),
    };
    let entry = mutual.row.entry.as_ref().ok_or("the server keeps the client's Certificate")?;
    let one = mutual.server(false)?;
    let server = Entry {
        chain,
        side: Side::Server,
        heap: one.heap - names(entry),
        file: one.file - names(entry),
        second_ticket: mutual.server(true)?.heap - one.heap,
        request: 0,
        names: names(entry),
    };
    Ok([client, server])
}

/// Returns the table of all entries.
pub fn render(entries: &[Entry]) -> String {
    let header = ["bytes per entry", "heap", "file", "second ticket", "CertificateRequest", "names"];
    let row = |entry: &Entry| {
        let Entry { chain, side, heap, file, second_ticket, request, names } = entry;
        let numbers = [heap, file, second_ticket, request, names].map(|number| match number {
            0 => "-".to_owned(),
            number => number.to_string(),
        });
        [format!("{chain}, {}", format!("{side:?}").to_lowercase())].into_iter().chain(numbers).collect()
    };
    let rows: Vec<Vec<String>> =
        core::iter::once(header.map(str::to_owned).to_vec()).chain(entries.iter().map(row)).collect();
    lay_out(&rows)
}

/// What a connection left on both sides: a client's record and a server's row.
#[derive(Clone)]
pub(crate) struct Learned {
    pub(crate) scope: Scope,
    /// The record with one ticket; `twice` has two.
    pub(crate) record: ScopeRecord,
    twice: ScopeRecord,
    pub(crate) row: Row,
}

/// The bytes of one entry, on average.
struct Taken {
    heap: usize,
    file: usize,
}

const COUNT: u16 = 1000;

impl Learned {
    pub(crate) fn new(chain: &'static str, asks: Asks) -> Result<Self, String> {
        let provider: &'static CryptoProvider = &terse_aws_lc::PROVIDER;
        let (client, server) = (Arc::new(MemoryClientStore::new(1)), Arc::new(MemoryServerStore::new(1)));
        let schemes = Schemes::COMPACT;
        let case = Case {
            chain,
            asks,
            our_versions: vec![ProtocolVersion::TLS_1_3],
            client_cache: Some(ClientCache::new(client.clone(), schemes)),
            server_cache: Some(ServerCache::new(server.clone(), schemes)),
            ..Case::mutual(provider)
        };
        let only = || client.records().pop().ok_or("the client keeps nothing");
        connect(&case, true)?;
        let (scope, record) = only()?;
        let ticket = server.lineages().first().and_then(|lineage| lineage.tickets().next());
        let row = ticket.and_then(|ticket| server.find(&ticket)).ok_or("the server keeps nothing")?;
        connect(&case, false)?;
        let (_, twice) = only()?;
        match (record.tickets(), twice.tickets()) {
            (1, 2) => Ok(Self { scope, record, twice, row }),
            other => Err(format!("there are {other:?} tickets")),
        }
    }

    fn client(&self) -> Result<Taken, String> {
        let (store, heap) = counted(|| {
            let store = MemoryClientStore::new(COUNT.into());
            for port in 0..COUNT {
                let _ = store.update(
                    &Scope::new(
                        self.scope.clone().server,
                        port,
                        self.scope.clone().transport,
                        self.scope.clone().credential,
                    ),
                    &mut |record| {
                        *record = self.record.clone();
                        Save::Later
                    },
                );
            }
            store
        });
        taken(
            heap,
            store.len(),
            COUNT.into(),
            snapshot::encode(&store, &MemoryServerStore::new(0), &LearnedIssuers::new()),
        )
    }

    /// Measures a server's row, with a second ticket in each lineage if `twice`.
    fn server(&self, twice: bool) -> Result<Taken, String> {
        let rounds = if twice { 2 } else { 1 };
        let (store, heap) = counted(|| {
            let store = MemoryServerStore::new(COUNT.into());
            for round in 0..rounds {
                for client in 0..COUNT {
                    let parent = (round > 0).then(|| ticket(client, 0));
                    let commit = Commit::new(ticket(client, round), self.row.clone(), parent, None);
                    let _ = store.commit(commit);
                }
            }
            store
        });
        let expected = usize::from(COUNT) * usize::from(rounds);
        taken(heap, store.len(), expected, snapshot::encode(&MemoryClientStore::new(0), &store, &LearnedIssuers::new()))
    }
}

fn taken<E: core::fmt::Display>(
    heap: i64,
    len: usize,
    expected: usize,
    file: Result<Vec<u8>, E>,
) -> Result<Taken, String> {
    if len != expected {
        return Err(format!("{len} are kept, not {expected}"));
    }
    let file = file.map_err(|error| error.to_string())?.len();
    let heap = usize::try_from(heap).map_err(|error| error.to_string())?;
    let each = |bytes: usize| bytes.div_ceil(COUNT.into());
    Ok(Taken { heap: each(heap), file: each(file) })
}

/// Returns the result of `make`, and the heap that it uses.
fn counted<T>(make: impl FnOnce() -> T) -> (T, i64) {
    let (mut probe, mut make, mut made) = (HeapProbe::new(), Some(make), None);
    probe.call(Side::Client, &mut || made = make.take().map(|make| make()));
    let heap = probe.heap(Side::Client).in_use;
    (made.expect("a probe calls"), heap)
}

/// Returns a ticket; tickets are spread like the values of a hash.
fn ticket(client: u16, round: u8) -> Ticket {
    Ticket((u64::from(client) << 8 | u64::from(round)).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
}

fn names(entry: &PeerEntry) -> usize {
    let identity = entry.peer().identity();
    let lens = [identity.subject_der().len(), identity.subject_alt_name_der().len(), entry.server().to_string().len()];
    lens.into_iter().map(|len| len + 1).sum()
}

/// Makes a connection. If it `confirms`, the client then knows that the server has its ticket.
pub(crate) fn connect(case: &Case, confirms: bool) -> Result<(), String> {
    let text = |error: terse_tls::Error| error.to_string();
    let now = clock::now();
    let mut client = Connection::client(case.client_config(), case.address(), now, &mut OsRng).map_err(text)?;
    let mut server = Connection::server(case.server_config(), now).map_err(text)?;
    for _ in 0..4 {
        carry(&mut client, &mut server)?;
        carry(&mut server, &mut client)?;
    }
    if !client.is_connected() || !server.is_connected() {
        return Err("the handshake does not end".into());
    }
    if confirms {
        server.send(b"data").map_err(|error| error.to_string())?;
        carry(&mut server, &mut client)?;
    }
    Ok(())
}

fn carry(from: &mut Connection, to: &mut Connection) -> Result<(), String> {
    let mut bytes = [0; 0x4400];
    while let Some(len) = from.poll_transmit(clock::now(), &mut bytes) {
        let mut taken = 0;
        while taken < len {
            let more = to.handle_input(clock::now(), &mut OsRng, &mut bytes[taken..len]);
            taken += more.map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
