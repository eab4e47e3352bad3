//! A client's slots against a server's lineages, while flights are lost and sides crash (docs/caching.md, 4.2).

use crate::proof::FinishedProof;
use alloc::sync::Arc;
use alloc::vec::Vec;

use proptest::prelude::*;
use spin::Mutex;

use super::client::ClientSession;
use super::test_data::*;
use super::*;
use crate::cert::LearnedIssuers;

const DAY: u64 = 24 * 60 * 60;

/// A client's store, and what a restart would find of it.
struct SavingStore {
    memory: MemoryClientStore,
    saved: Mutex<Vec<u8>>,
}

impl SavingStore {
    fn load(saved: Vec<u8>) -> Arc<Self> {
        let (memory, ..) = snapshot::decode(&saved, 8).expect("own encoding");
        Arc::new(Self { memory, saved: Mutex::new(saved) })
    }
}

impl ClientStore for SavingStore {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut save = Save::Later;
        self.memory.update(scope, &mut |record| {
            save = change(record);
            save
        })?;
        if save == Save::Now {
            *self.saved.lock() = snapshot::encode(&self.memory, &MemoryServerStore::new(0), &LearnedIssuers::new())?;
        }
        Ok(())
    }
}

/// The last thing that a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// The ClientHello is sent.
    ClientHello,
    /// The client reads the selection.
    Selection,
    /// The client verifies the server's Finished.
    ServerFinished,
    /// The client sends its Finished, which is lost.
    Finished,
    /// The server commits, and what it sends then is lost.
    Commit,
    /// The client reads application data.
    Confirmation,
}

/// What the client knows of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It ends the connection itself.
    Drop,
    TimeOut,
    Alert,
    /// It loses its memory.
    Crash,
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![
        1 => Just(Reach::ClientHello),
        1 => Just(Reach::Selection),
        1 => Just(Reach::ServerFinished),
        2 => Just(Reach::Finished),
        3 => Just(Reach::Commit),
        3 => Just(Reach::Confirmation),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![3 => Just(End::Drop), 2 => Just(End::TimeOut), 1 => Just(End::Alert), 1 => Just(End::Crash)]
}

fn scheme() -> impl Strategy<Value = Scheme> {
    prop::sample::select(alloc::vec![Scheme::Bithac, Scheme::Compact])
}

/// Both sides of one connection.
struct Connection {
    client: ClientSession,
    server: ServerSession,
    own_certificate: Fingerprint,
    cached: bool,
    reached: Reach,
}

struct World {
    scheme: Scheme,
    client: Arc<SavingStore>,
    server: Arc<MemoryServerStore>,
    tickets: u64,
    now: u64,
}

/// What the server shows.
const SEEN: ServerObjects = ServerObjects { certificate: SERVER, request: Some(REQUEST) };

impl World {
    fn new(scheme: Scheme) -> Self {
        let empty = snapshot::encode(&MemoryClientStore::new(0), &MemoryServerStore::new(0), &LearnedIssuers::new())
            .expect("small");
        let server = Arc::new(MemoryServerStore::new(100));
        Self { scheme, client: SavingStore::load(empty), server, tickets: 0, now: TODAY }
    }

    fn client_hello(&self, own_certificate: Fingerprint) -> Connection {
        let (now, host_name) = (at(self.now), Some(&b"device.example"[..]));
        let answers = |_: &RequestEntry, own: Option<Fingerprint>| own == Some(own_certificate);
        let context = Context { now, own_certificates: &[own_certificate], answers: &answers, ..context() };
        let schemes = if self.scheme == Scheme::Compact { Schemes::COMPACT } else { Schemes::BITHAC };
        let cache = ServerCache { store: self.server.clone(), schemes };
        let client = ClientCache::new(self.client.clone(), schemes);
        Connection {
            client: ClientSession::begin(&client, scope(), context),
            server: match self.scheme {
                Scheme::Compact => ServerSession::begin_compact(&cache, SEEN, Some(ASKED), host_name, now, false),
                _ => ServerSession::begin_bithac(&cache, Some(ASKED), host_name, now, false),
            },
            own_certificate,
            cached: false,
            reached: Reach::ClientHello,
        }
    }

    /// One step further.
    fn advance(&mut self, connection: &mut Connection) {
        let Connection { client, server, own_certificate, cached, reached } = connection;
        match reached {
            Reach::ClientHello => {
                let mut selection = Selection { scheme: Some(self.scheme), ..Selection::default() };
                if let Some(ticket) = client.ticket_of(self.scheme) {
                    match self.scheme {
                        Scheme::Compact => selection = server.select_everything(look_up(&*self.server, [ticket])),
                        _ => {
                            selection.client_certificate = server.select(look_up(&*self.server, [ticket])) == Some(0);
                            selection.uses_ticket = selection.client_certificate;
                        }
                    }
                }
                *cached = selection.client_certificate;
                if *cached {
                    let selected = server.client_certificate().map(PeerEntry::fingerprint);
                    assert_eq!(selected, Some(*own_certificate), "the client cannot honour the selection");
                }
                client.selected(selection);
                *reached = Reach::Selection;
            }
            Reach::Selection => {
                client.server_finished(client.offered_ticket().is_some() && !*cached);
                *reached = Reach::ServerFinished;
            }
            Reach::ServerFinished => {
                self.tickets += 1;
                let client_certificate = Some(*own_certificate);
                let parts =
                    Parts { server_certificate: SERVER, certificate_request: Some(REQUEST), client_certificate };
                let subject = client.names(parts).filter(|_| client.supports(self.scheme));
                client.finished(Learned {
                    ticket: subject.map(|subject| (ticket(self.tickets), subject)),
                    ..learned(None)
                });
                *reached = Reach::Finished;
            }
            Reach::Finished => {
                if let Some(ticket) = client.own_ticket() {
                    let entry = server.entry(*own_certificate, &peer()).expect("caching is on");
                    server.commit(FinishedProof::after_finished(), ticket, Some(entry)).done().expect("in memory");
                }
                *reached = Reach::Commit;
            }
            Reach::Commit => {
                client.confirmed();
                *reached = Reach::Confirmation;
            }
            Reach::Confirmation => {}
        }
    }

    fn end(&mut self, mut connection: Connection, end: End) {
        match end {
            End::Drop => {}
            End::TimeOut => connection.client.failed(Failure::TimeoutOrClose, at(self.now)),
            End::Alert => connection.client.failed(Failure::AlertOrFailedCheck, at(self.now)),
            End::Crash => self.crash(),
        }
    }

    fn crash(&mut self) {
        let saved = self.client.saved.lock().clone();
        self.client = SavingStore::load(saved);
    }
}

#[test]
fn failures_are_remembered_over_restarts_in_every_scheme() {
    [Scheme::Bithac, Scheme::Compact].into_iter().for_each(failures_are_remembered_over_restarts);
}

fn failures_are_remembered_over_restarts(scheme: Scheme) {
    let mut world = World::new(scheme);
    let connect = |world: &mut World, reach, end| {
        let mut connection = world.client_hello(OWN);
        let reason = connection.client.reason();
        while connection.reached < reach {
            world.advance(&mut connection);
        }
        world.end(connection, end);
        world.crash();
        reason
    };
    connect(&mut world, Reach::Confirmation, End::Drop);
    assert_eq!(connect(&mut world, Reach::ClientHello, End::TimeOut), None);
    assert_eq!(connect(&mut world, Reach::ClientHello, End::TimeOut), None);
    let full = connect(&mut world, Reach::Confirmation, End::Drop);
    assert_eq!(full, Some(FallbackReason::FullAttempt));
    assert_eq!(connect(&mut world, Reach::ClientHello, End::TimeOut), None);
    for _ in 0..2 {
        let off = connect(&mut world, Reach::Confirmation, End::Drop);
        assert_eq!(off, Some(FallbackReason::SwitchedOff));
    }
}

#[test]
fn a_device_without_clock_that_restarts_for_each_connection_is_not_off_for_ever() {
    let mut world = World::new(Scheme::Bithac);
    let mut record = ScopeRecord::default();
    record.health = health::Health::Off { until: None, connections: 3 };
    world.client.memory.insert(&scope(), &record);
    let mut off = 0;
    for _ in 0..10 {
        let context = Context { now: no_clock(), ..context() };
        let session = ClientSession::begin(&client_cache(world.client.clone()), scope(), context);
        off += u32::from(session.reason() == Some(FallbackReason::SwitchedOff));
        world.crash();
    }
    assert_eq!(off, 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// One connection a day, so that what was switched off is on again. An unconfirmed handshake that both sides ended
    /// well costs nothing; each loss, crash or alert costs one full handshake at most, besides the first.
    #[test]
    fn each_fault_costs_one_full_handshake_at_most(
        scheme in scheme(),
        connections in prop::collection::vec((reach(), end()), 1..60),
    ) {
        let mut world = World::new(scheme);
        let (mut full, mut faults) = (0, 0);
        for (reach, end) in connections {
            let mut connection = world.client_hello(OWN);
            while connection.reached < reach {
                world.advance(&mut connection);
            }
            if reach >= Reach::Finished && !connection.cached {
                full += 1;
            }
            if reach < Reach::Commit || !matches!(end, End::Drop) {
                faults += 1;
            }
            world.end(connection, end);
            world.now += DAY;
            prop_assert!(full <= 1 + faults, "{full} full handshakes, {faults} faults");
        }
        // Whatever happened: once all goes well, everything is cached from the second connection on, or from the third
        // after two unanswered offers, which make the first of them full.
        let mut cached = [false; 4];
        for cached in &mut cached {
            let mut connection = world.client_hello(OWN);
            (0..5).for_each(|_| world.advance(&mut connection));
            *cached = connection.cached;
            world.end(connection, End::Drop);
            world.now += DAY;
        }
        prop_assert!(cached[2..] == [true, true], "{cached:?}");
    }

    /// Several connections at once, of a client that changes its certificate and crashes at any time.
    #[test]
    fn server_never_selects_what_the_client_cannot_honour(
        scheme in scheme(),
        steps in prop::collection::vec((0..8_u8, any::<prop::sample::Index>(), end()), 1..200),
    ) {
        let mut world = World::new(scheme);
        let mut running: Vec<Connection> = Vec::new();
        let mut own_certificate = OWN;
        for (kind, which, end) in steps {
            let which = if running.is_empty() { None } else { Some(which.index(running.len())) };
            match (kind, which) {
                (0, _) if end == End::Crash => {
                    world.crash();
                    running.clear();
                }
                (0, _) if end == End::Alert => own_certificate = if own_certificate == OWN { SERVER } else { OWN },
                (0, Some(which)) => {
                    let connection = running.swap_remove(which);
                    world.end(connection, if end == End::Crash { End::Drop } else { end });
                }
                (1, _) | (_, None) => running.push(world.client_hello(own_certificate)),
                (_, Some(which)) => world.advance(&mut running[which]),
            }
            let mut offered: Vec<_> = running.iter().filter_map(|running| running.client.offered_ticket()).collect();
            offered.sort();
            offered.dedup();
            let all = running.iter().filter(|running| running.client.offered_ticket().is_some()).count();
            prop_assert_eq!(offered.len(), all, "two running connections showed one ticket");
        }
    }
}
