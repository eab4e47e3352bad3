//! Stores in memory, of fixed capacity: for devices, for tests, and under the stores that save.
//!
//! What must always hold: never more than `capacity` records or rows, and as many rows of clients without a certificate;
//! the least recently used goes first.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;

use super::store::{ClientStore, Commit, NotSaved, Row, Save, ServerStore};
use super::{AddressId, Scope, ScopeRecord, Ticket};
use crate::lru::Lru;

/// What a client keeps, in memory.
pub struct MemoryClientStore {
    records: Mutex<Lru<Arc<Scope>, ScopeRecord>>,
}

impl MemoryClientStore {
    /// An empty store for at most `capacity` scopes.
    pub fn new(capacity: usize) -> Self {
        Self { records: Mutex::new(Lru::new(capacity)) }
    }

    /// How many scopes have a record.
    pub fn len(&self) -> usize {
        self.records.lock().len()
    }

    /// Whether no scope has a record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All records, least recently used first, without holds.
    pub(super) fn records(&self) -> Vec<(Arc<Scope>, ScopeRecord)> {
        let records = self.records.lock();
        (records.oldest_first())
            .map(|(scope, record)| (scope.clone(), record.without_holds()))
            .filter(|(_, record)| !record.is_empty())
            .collect()
    }

    /// Adds a record as the most recently used.
    pub(super) fn insert(&self, scope: Scope, record: ScopeRecord) {
        self.records.lock().insert(Arc::new(scope), record);
    }
}

impl ClientStore for MemoryClientStore {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut records = self.records.lock();
        let (scope, mut record) =
            records.remove(scope).unwrap_or_else(|| (Arc::new(scope.clone()), ScopeRecord::default()));
        change(&mut record);
        if !record.is_empty() {
            records.insert(scope, record);
        }
        Ok(())
    }
}

impl fmt::Debug for MemoryClientStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryClientStore").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What a server keeps, in memory.
pub struct MemoryServerStore {
    tables: Mutex<Tables>,
}

/// Rows by ticket.
struct Tables {
    /// Of clients with a certificate.
    rows: Lru<Ticket, LinkedRow>,
    /// Of those without, who cannot push out the others. These stand alone.
    anonymous: Lru<Ticket, Row>,
}

/// A row with its place in its lineage. A ticket has one child at most: the next one replaces it.
#[derive(Debug)]
struct LinkedRow {
    row: Row,
    parent: Option<Ticket>,
    child: Option<Ticket>,
}

impl Tables {
    const fn new(capacity: usize) -> Self {
        Self { rows: Lru::new(capacity), anonymous: Lru::new(capacity) }
    }

    /// Adds a row that stands alone.
    fn insert(&mut self, ticket: Ticket, row: Row) {
        if row.entry.is_some() {
            self.rows.insert(ticket, LinkedRow { row, parent: None, child: None });
        } else {
            self.anonymous.insert(ticket, row);
        }
    }
}

impl MemoryServerStore {
    /// An empty store for at most `capacity` tickets, and as many that were made without a client certificate.
    pub fn new(capacity: usize) -> Self {
        Self { tables: Mutex::new(Tables::new(capacity)) }
    }

    /// How many tickets are kept.
    pub fn len(&self) -> usize {
        let tables = self.tables.lock();
        tables.rows.len() + tables.anonymous.len()
    }

    /// Whether no ticket is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows, least recently used first.
    pub(super) fn commits(&self) -> Vec<Commit> {
        let tables = self.tables.lock();
        let rows = (tables.rows.oldest_first()).map(|(ticket, linked)| Commit {
            ticket: *ticket,
            row: linked.row.clone(),
            parent: linked.parent,
        });
        let anonymous = (tables.anonymous.oldest_first()).map(|(ticket, row)| Commit {
            ticket: *ticket,
            row: row.clone(),
            parent: None,
        });
        rows.chain(anonymous).collect()
    }

    /// A store with `commits`, least recently used first, as [`Self::commits`] gave them.
    pub(super) fn from_commits(capacity: usize, commits: Vec<Commit>) -> Self {
        let mut tables = Tables::new(capacity);
        let mut links = Vec::new();
        for Commit { ticket, row, parent } in commits {
            tables.insert(ticket, row);
            links.extend(parent.map(|parent| (parent, ticket)));
        }
        let rows = &mut tables.rows;
        for (parent, child) in links {
            // What no lineage looks like is left unlinked.
            if !rows.contains(&child) || rows.peek(&parent).is_none_or(|row| row.child.is_some() || parent == child) {
                continue;
            }
            rows.peek(&parent).into_iter().for_each(|row| row.child = Some(child));
            rows.peek(&child).into_iter().for_each(|row| row.parent = Some(parent));
        }
        Self { tables: Mutex::new(tables) }
    }
}

impl ServerStore for MemoryServerStore {
    fn find(&self, ticket: &Ticket) -> Option<Row> {
        // Only `commit` counts as a use: whoever shows a ticket has proven nothing yet.
        let mut tables = self.tables.lock();
        let row = tables.rows.peek(ticket).map(|linked| linked.row.clone());
        row.or_else(|| tables.anonymous.peek(ticket).cloned())
    }

    fn commit(&self, commit: Commit) -> Result<(), NotSaved> {
        let Commit { ticket, row, parent } = commit;
        let mut tables = self.tables.lock();
        let rows = &mut tables.rows;
        let parent = parent.filter(|parent| row.entry.is_some() && *parent != ticket && rows.contains(parent));
        if let Some(linked) = parent.and_then(|parent| rows.touch(&parent)) {
            let obsolete = [linked.parent.take(), linked.child.replace(ticket)];
            for ticket in obsolete.into_iter().flatten() {
                rows.remove(&ticket);
            }
        }
        tables.insert(ticket, row);
        if let Some(linked) = tables.rows.peek(&ticket) {
            linked.parent = parent;
        }
        Ok(())
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        let mut tables = self.tables.lock();
        let Tables { rows, anonymous } = &mut *tables;
        let row = rows.peek(ticket).map(|linked| &mut linked.row).or_else(|| anonymous.peek(ticket));
        Ok(row.is_some_and(|row| row.address.take_if(|own| *own == address).is_some()))
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        let mut tables = self.tables.lock();
        tables.rows.remove(ticket);
        tables.anonymous.remove(ticket);
        Ok(())
    }
}

impl fmt::Debug for MemoryServerStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryServerStore").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
