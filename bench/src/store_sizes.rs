//! `terse-bench store-sizes` measures a server's handshake beside many entries of its cache, and a change of each store
//! in memory alone.
//!
//! All sizes are measured in turn, so that other load of the machine affects all alike.

use std::sync::{Arc, Mutex};

use terse_interop::case::{Asks, Case, Sessions};
use terse_tls::cache::{
    ClientStore, Commit, Fingerprint, MemoryClientStore, MemoryServerStore, NotSaved, Save, Scope, ScopeRecord, Ticket,
};
use terse_tls::resume::{
    ClientSessionStore, MemoryClientSessions, MemorySessionStore, ServerResumption, ServerSessionStore, SessionId,
    SessionRecord, StoredSession,
};

use crate::cache_entries::{Learned, connect};
use crate::measure::{Warm, cpu_seconds};
use crate::probe::{Probe, Unwatched};
use crate::stack::{Mode, Profile, Setting, Side, Version};
use crate::stacks::terse::AWS_LC;
use crate::table::lay_out;

/// Returns the table: microseconds, each the median of `rounds`.
pub fn measure(sizes: &[u32], rounds: u16) -> Result<String, String> {
    let setting = Setting::new(Version::Tls13, Profile::Ec3, Mode::Compact);
    let left = Left::new()?;
    let mut columns = Vec::new();
    for size in sizes {
        eprintln!("filling stores with {size}");
        columns.push(Column::new(*size, &left, setting)?);
    }
    let mut full = (Warm::new(&AWS_LC, Setting { mode: Mode::Full, ..setting })?, Vec::new());
    for round in 0..rounds {
        for column in &mut columns {
            column.turn(&left, round)?;
        }
        full.1.push(handshake(&mut full.0)?);
    }
    let header = [
        "microseconds",
        "compact",
        "full",
        "server store",
        "longest",
        "client store",
        "server sessions",
        "client sessions",
    ];
    let full = median(&mut full.1);
    let rows = columns.iter_mut().map(|column| {
        let [compact, server, others @ ..] = column.times.each_mut().map(|times| median(times));
        let times = [compact, full, server, column.longest].into_iter().chain(others).map(|time| format!("{time:.1}"));
        [format!("beside {}", column.size)].into_iter().chain(times).collect()
    });
    let rows: Vec<Vec<String>> = core::iter::once(header.map(str::to_owned).to_vec()).chain(rows).collect();
    Ok(lay_out(&rows))
}

/// What one connection left, by caching and by sessions.
struct Left {
    learned: Learned,
    record: SessionRecord,
    /// The session as bytes, since it cannot be cloned.
    session: Vec<u8>,
}

impl Left {
    fn new() -> Result<Self, String> {
        let learned = Learned::new("p256x3", Asks::Required)?;
        let mut case = Case::mutual(&terse_aws_lc::PROVIDER).with_sessions(Sessions::Kept, 2);
        let last = Arc::new(LastSession::default());
        case.server_resumption = Some(ServerResumption::Stateful { store: last.clone(), lifetime_seconds: 600 });
        let client = Arc::new(LastSession::default());
        if let Some(resumption) = &mut case.client_resumption {
            resumption.store = client.clone();
        }
        connect(&case, true)?;
        let record =
            last.record.lock().ok().and_then(|mut record| record.take()).ok_or("the server keeps no session")?;
        let session = client.session.lock().ok().and_then(|mut session| session.take());
        Ok(Self { learned, record, session: session.ok_or("the client keeps no session")? })
    }
}

/// Stores that keep only the last entry.
#[derive(Default)]
struct LastSession {
    record: Mutex<Option<SessionRecord>>,
    session: Mutex<Option<Vec<u8>>>,
}

impl ServerSessionStore for LastSession {
    fn put(&self, _: SessionId, record: SessionRecord) -> Result<(), NotSaved> {
        *self.record.lock().map_err(|_| NotSaved)? = Some(record);
        Ok(())
    }

    fn find(&self, _: &SessionId) -> Option<SessionRecord> {
        None
    }

    fn take(&self, _: &SessionId) -> Option<SessionRecord> {
        None
    }
}

impl ClientSessionStore for LastSession {
    fn put(&self, _: &Scope, session: StoredSession) {
        if let Ok(mut last) = self.session.lock() {
            *last = Some(session.to_bytes().to_vec());
        }
    }

    fn take(&self, _: &Scope) -> Option<StoredSession> {
        None
    }
}

/// The stores of one size.
struct Column {
    size: u32,
    /// The time of the longest commit while the store was filled.
    longest: f64,
    handshakes: Warm,
    server: Arc<MemoryServerStore>,
    client: MemoryClientStore,
    server_sessions: MemorySessionStore,
    client_sessions: MemoryClientSessions,
    /// The times of handshakes, and of changes of each store.
    times: [Vec<f64>; 5],
    /// The latest ticket of each client.
    tickets: Vec<Ticket>,
}

impl Column {
    fn new(size: u32, left: &Left, setting: Setting) -> Result<Self, String> {
        let room = size as usize + 8;
        let Learned { scope, record, row, .. } = &left.learned;
        let (server, client) = (Arc::new(MemoryServerStore::new(room)), MemoryClientStore::new(room));
        let (server_sessions, client_sessions) = (MemorySessionStore::new(room), MemoryClientSessions::new(room));
        let tickets: Vec<_> = (0..size).map(|number| ticket(number, 0)).collect();
        let mut longest = 0.0_f64;
        for number in 0..size {
            let commit = Commit::new(ticket(number, 0), row.clone(), None, None);
            let mut saved = Ok(());
            longest = timed(|| saved = server.commit(commit)).max(longest);
            saved.map_err(|error| error.to_string())?;
            put(&client, &scope_of(scope, number), record);
            let _ = server_sessions.put(session_id(number), left.record.clone());
            client_sessions.put(&scope_of(scope, number), session(&left.session)?);
        }
        let handshakes = Warm::of(AWS_LC.world_with(server.clone(), setting)?, setting)?;
        let times = Default::default();
        Ok(Self { size, longest, handshakes, server, client, server_sessions, client_sessions, times, tickets })
    }

    fn turn(&mut self, left: &Left, round: u16) -> Result<(), String> {
        let Learned { scope, record, row, .. } = &left.learned;
        let place = (u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15) % u64::from(self.size)) as u32;
        let latest = &mut self.tickets[place as usize];
        let commit = Commit::new(ticket(place, round + 1), row.clone(), Some(*latest), None);
        let [handshakes, server_store, client_store, server_sessions, client_sessions] = &mut self.times;

        let mut is_known = false;
        server_store.push(timed(|| {
            is_known = self.server.find(latest).is_some();
            let _ = self.server.commit(commit.clone());
        }));
        *latest = commit.ticket;
        let scope = scope_of(scope, place);
        client_store.push(timed(|| put(&self.client, &scope, record)));
        server_sessions.push(timed(|| {
            let record = self.server_sessions.take(&session_id(place));
            is_known &= record.is_some_and(|record| self.server_sessions.put(session_id(place), record).is_ok());
        }));
        client_sessions.push(timed(|| {
            let session = self.client_sessions.take(&scope);
            is_known &= session.is_some();
            session.into_iter().for_each(|session| self.client_sessions.put(&scope, session));
        }));
        handshakes.push(handshake(&mut self.handshakes)?);
        if is_known { Ok(()) } else { Err("a store has lost something".into()) }
    }
}

fn timed(run: impl FnOnce()) -> f64 {
    let start = cpu_seconds();
    run();
    (cpu_seconds() - start) * 1e6
}

/// Returns the server's time of one handshake.
fn handshake(warm: &mut Warm) -> Result<f64, String> {
    let mut probe = TimeProbe(0.0);
    warm.open(&mut probe)?;
    warm.end(&mut Unwatched)?;
    Ok(probe.0 * 1e6)
}

/// A probe that counts the CPU seconds of the server's calls.
struct TimeProbe(f64);

impl Probe for TimeProbe {
    fn call(&mut self, side: Side, call: &mut dyn FnMut()) {
        let start = cpu_seconds();
        call();
        if side == Side::Server {
            self.0 += cpu_seconds() - start;
        }
    }
}

fn put(store: &MemoryClientStore, scope: &Scope, record: &ScopeRecord) {
    let _ = store.update(scope, &mut |kept| {
        *kept = record.clone();
        Save::Later
    });
}

/// Returns the scope of the same server on another port, and for another credential where there are not enough ports.
fn scope_of(scope: &Scope, number: u32) -> Scope {
    Scope::new(
        scope.clone().server,
        number as u16,
        scope.clone().transport,
        Some(Fingerprint([(number >> 16) as u8; 32])),
    )
}

fn session_id(number: u32) -> SessionId {
    SessionId(u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes())
}

fn session(bytes: &[u8]) -> Result<StoredSession, String> {
    StoredSession::from_bytes(bytes).map_err(|error| error.to_string())
}

/// Returns a ticket; tickets are spread like the values of a hash.
fn ticket(client: u32, round: u16) -> Ticket {
    Ticket((u64::from(client) << 16 | u64::from(round)).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
