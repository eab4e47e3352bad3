//! This module has the stores in memory, for devices, for tests, and as the base of stores that save.
//!
//! They find scopes and tickets by a keyed hash, because others can influence both: a client makes tickets, and
//! somebody may choose where a client connects to. The first connection draws the key, unless the application sets it
//! (`with_hash_key`).
//!
//! What must always hold: a store never has more than `capacity` scopes or clients, as many tickets of clients without
//! a certificate, or more bytes than were set for them; the least recently used goes first.

use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Poll;

use spin::Mutex;

use super::lineage::{self, Lineages, TicketRow};
use super::record::{self, Scopes};
use super::store::{ClientStore, Commit, NotSaved, Row, Save, ServerStore};
use super::table::{HashKey, RecordPosition, Table, Use};
use super::{AddressId, Lineage, Scope, ScopeRecord, Ticket};
use crate::crypto::Rng;

/// Returns how many bytes a store has by default: for each entry the size of one with an RSA key of 4,096 bits and long
/// names, and once the size of the largest entry.
const fn default_bytes(capacity: usize) -> usize {
    const EACH: usize = 1024;
    const LARGEST: usize = 0x8000;
    capacity.saturating_mul(EACH).saturating_add(LARGEST)
}

/// A store in memory for a client.
pub struct MemoryClientStore {
    table: Mutex<ScopeTable>,
    is_keyed: AtomicBool,
}

type ScopeTable = Table<Scopes, { record::SHARED }>;

impl MemoryClientStore {
    /// Creates an empty store for at most `capacity` scopes, of 1 KiB each on average. It takes memory as it is filled,
    /// in small steps.
    pub fn new(capacity: usize) -> Self {
        Self { table: Mutex::new(Table::new(capacity, default_bytes(capacity))), is_keyed: AtomicBool::new(false) }
    }

    /// Creates an empty store of `bytes` altogether for at most `capacity` scopes, and takes all its memory at once. A
    /// change then needs memory only while it is made.
    pub fn fixed(capacity: usize, bytes: usize) -> Self {
        Self { table: Mutex::new(Table::fixed(capacity, bytes)), is_keyed: AtomicBool::new(false) }
    }

    /// Sets the key of the hash that finds scopes, which nobody else should know. Without it, the first connection
    /// draws one.
    pub fn with_hash_key(self, key: [u8; 16]) -> Self {
        self.set_hash_key(key);
        self
    }

    fn set_hash_key(&self, key: HashKey) {
        self.table.lock().set_hash_key(key);
        self.is_keyed.store(true, Ordering::Release);
    }

    /// Returns how many scopes have a record.
    pub fn len(&self) -> usize {
        self.table.lock().len()
    }

    /// Returns whether no scope has a record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all records, least recently used first.
    pub fn records(&self) -> Vec<(Scope, ScopeRecord)> {
        let table = self.table.lock();
        let records = table.iter().filter_map(|view| ScopeRecord::from_packed(view).ok());
        records
            .map(|(scope, record)| (scope, record.without_holds()))
            .filter(|(_, record)| !record.is_empty())
            .collect()
    }

    /// Adds a record as the most recently used.
    pub(super) fn insert(&self, scope: &Scope, record: &ScopeRecord) {
        insert(&mut self.table.lock(), scope, record);
    }
}

/// Keeps `record`, unless it is empty or too large.
fn insert(table: &mut ScopeTable, scope: &Scope, record: &ScopeRecord) {
    let old = table.find(scope.into()).map(|(place, _)| place);
    match record.to_packed(scope) {
        Ok(packed) if !record.is_empty() => table.put(old, &packed, Use::Now),
        _ => old.into_iter().for_each(|old| table.remove(old)),
    }
}

impl ClientStore for MemoryClientStore {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut table = self.table.lock();
        let kept = table.find(scope.into()).and_then(|(place, _)| ScopeRecord::from_packed(table.view(place)).ok());
        let mut record = kept.map(|(_, record)| record).unwrap_or_default();
        change(&mut record);
        insert(&mut table, scope, &record);
        Ok(())
    }

    fn seed(&self, rng: &mut dyn Rng) {
        draw(rng, &self.is_keyed).into_iter().for_each(|key| self.set_hash_key(key));
    }
}

/// Draws a key for a store that has none. If there is no randomness, the next connection may have some.
fn draw(rng: &mut dyn Rng, is_keyed: &AtomicBool) -> Option<HashKey> {
    let mut key = HashKey::default();
    let is_drawn = !is_keyed.load(Ordering::Acquire) && rng.fill(&mut key).is_ok();
    is_drawn.then_some(key)
}

impl fmt::Debug for MemoryClientStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryClientStore").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A store in memory for a server.
pub struct MemoryServerStore {
    tables: Mutex<Tables>,
    is_keyed: AtomicBool,
}

/// The tables of lineages, which are found by ticket.
struct Tables {
    /// The lineages of clients with a certificate.
    clients: LineageTable,
    /// The tickets of clients without a certificate, which cannot push out the others. Each stands alone.
    anonymous: LineageTable,
}

type LineageTable = Table<Lineages, { lineage::SHARED }>;

/// How many bytes a ticket without a client certificate takes, without the shared values.
const BYTES_PER_ANONYMOUS: usize = 48;

impl Tables {
    /// Returns the lineage with `ticket`, its table, and its place there.
    fn find(&mut self, ticket: &Ticket) -> Option<(&mut LineageTable, Found)> {
        for table in [&mut self.clients, &mut self.anonymous] {
            if let Some((place, number)) = table.find(*ticket) {
                let lineage = Lineage::from_packed(table.view(place)).ok()?;
                return Some((table, Found { place, number, lineage }));
            }
        }
        None
    }

    fn insert(&mut self, old: Option<RecordPosition>, lineage: &Lineage) {
        let table = if lineage.entry.is_some() { &mut self.clients } else { &mut self.anonymous };
        if let Ok(packed) = lineage.to_packed() {
            table.put(old, &packed, Use::Now);
        }
    }
}

struct Found {
    place: RecordPosition,
    /// The number of the ticket that the lineage was found by.
    number: usize,
    lineage: Lineage,
}

impl MemoryServerStore {
    /// Creates an empty store for at most `capacity` clients, of 1 KiB each on average, and as many tickets that were
    /// made without a client certificate. It takes memory as it is filled, in small steps.
    pub fn new(capacity: usize) -> Self {
        let clients = Table::new(capacity, default_bytes(capacity));
        let anonymous = Table::new(capacity, capacity.saturating_mul(BYTES_PER_ANONYMOUS));
        Self { tables: Mutex::new(Tables { clients, anonymous }), is_keyed: AtomicBool::new(false) }
    }

    /// Creates an empty store of `bytes` altogether for clients, and for `anonymous` tickets without a client
    /// certificate, and takes all its memory at once. A change then needs memory only while it is made.
    pub fn fixed(capacity: usize, bytes: usize, anonymous: usize) -> Self {
        let clients = Table::fixed(capacity, bytes);
        let anonymous = Table::fixed(anonymous, anonymous.saturating_mul(BYTES_PER_ANONYMOUS));
        Self { tables: Mutex::new(Tables { clients, anonymous }), is_keyed: AtomicBool::new(false) }
    }

    /// Sets the key of the hash that finds tickets, which nobody else should know. Without it, the first connection
    /// draws one.
    pub fn with_hash_key(self, key: [u8; 16]) -> Self {
        self.set_hash_key(key);
        self
    }

    fn set_hash_key(&self, key: HashKey) {
        let mut tables = self.tables.lock();
        tables.clients.set_hash_key(key);
        tables.anonymous.set_hash_key(key);
        self.is_keyed.store(true, Ordering::Release);
    }

    /// Returns how many tickets are kept.
    pub fn len(&self) -> usize {
        let tables = self.tables.lock();
        tables.clients.keys() + tables.anonymous.keys()
    }

    /// Returns whether no ticket is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all lineages: first those of clients with a certificate, then those without, each least recently used
    /// first.
    pub fn lineages(&self) -> Vec<Lineage> {
        let tables = self.tables.lock();
        let views = tables.clients.iter().chain(tables.anonymous.iter());
        views.filter_map(|view| Lineage::from_packed(view).ok()).collect()
    }

    /// Returns at once what [`ServerStore::find`] finds.
    pub fn find(&self, ticket: &Ticket) -> Option<Row> {
        // Only `commit` counts as a use: whoever shows a ticket has proven nothing yet.
        let mut tables = self.tables.lock();
        let (_, found) = tables.find(ticket)?;
        found.lineage.row(found.number)
    }

    /// Does at once what [`ServerStore::commit`] does.
    pub fn commit(&self, commit: Commit) -> Result<(), NotSaved> {
        let Commit { ticket, row: Row { entry, seen, address }, parent, time } = commit;
        let mut tables = self.tables.lock();
        // A ticket that is already known occurs once in 2^64: then the lineage that had it loses it.
        if let Some((table, found)) = tables.find(&ticket) {
            table.remove(found.place);
        }
        let time = time.map_or(0, |time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
        let latest = TicketRow { ticket, seen, address };
        let parent = parent.filter(|_| entry.is_some()).and_then(|parent| tables.find(&parent));
        let (old, parent, made) = match parent {
            Some((_, Found { place, number, lineage })) if lineage.entry.is_some() => {
                let row = if number == 0 { Some(lineage.latest) } else { lineage.parent };
                (Some(place), row, lineage.made)
            }
            _ => (None, None, time),
        };
        tables.insert(old, &Lineage { entry, latest, parent, made, used: time });
        Ok(())
    }

    /// Adds a lineage as the most recently used, unless one of its tickets is known.
    pub(super) fn insert(&self, lineage: &Lineage) {
        let mut tables = self.tables.lock();
        let known = |tables: &mut Tables| lineage.tickets().any(|ticket| tables.find(&ticket).is_some());
        let is_twice = lineage.parent.is_some_and(|parent| parent.ticket == lineage.latest.ticket);
        if !known(&mut tables) && !is_twice {
            tables.insert(None, lineage);
        }
    }
}

impl ServerStore for MemoryServerStore {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        Poll::Ready(Self::find(self, ticket))
    }

    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Ready(Self::commit(self, commit.clone()))
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        let mut tables = self.tables.lock();
        let Some((table, Found { place, number, mut lineage })) = tables.find(ticket) else { return Ok(false) };
        let row = if number == 0 { Some(&mut lineage.latest) } else { lineage.parent.as_mut() };
        let is_proof = row.is_some_and(|row| row.address.take_if(|own| *own == address).is_some());
        if is_proof {
            let packed = lineage.to_packed().map_err(|_| NotSaved)?;
            table.put(Some(place), &packed, Use::Same);
        }
        Ok(is_proof)
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        let mut tables = self.tables.lock();
        let Some((table, Found { place, number, lineage })) = tables.find(ticket) else { return Ok(()) };
        match lineage.without(number).map(|rest| rest.to_packed()) {
            Some(Ok(rest)) => table.put(Some(place), &rest, Use::Same),
            _ => table.remove(place),
        }
        Ok(())
    }
    fn seed(&self, rng: &mut dyn Rng) {
        draw(rng, &self.is_keyed).into_iter().for_each(|key| self.set_hash_key(key));
    }
}

impl fmt::Debug for MemoryServerStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryServerStore").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
