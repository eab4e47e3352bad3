//! Stores in memory, of fixed capacity: for devices, for tests, and under the stores that save.
//!
//! What must always hold: never more than `capacity` records or rows, and the least recently used goes first.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use spin::Mutex;

use super::store::{ClientStore, Commit, NotSaved, Row, Save, ServerStore};
use super::{Scope, ScopeRecord, Ticket};
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
    rows: Mutex<Lru<Ticket, LinkedRow>>,
}

/// A row with its place in its lineage. A ticket has one child at most: the next one replaces it.
#[derive(Debug)]
struct LinkedRow {
    row: Row,
    parent: Option<Ticket>,
    child: Option<Ticket>,
}

impl MemoryServerStore {
    /// An empty store for at most `capacity` tickets.
    pub fn new(capacity: usize) -> Self {
        Self { rows: Mutex::new(Lru::new(capacity)) }
    }

    /// How many tickets are kept.
    pub fn len(&self) -> usize {
        self.rows.lock().len()
    }

    /// Whether no ticket is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows, least recently used first.
    pub(super) fn commits(&self) -> Vec<Commit> {
        let rows = self.rows.lock();
        (rows.oldest_first())
            .map(|(ticket, linked)| Commit { ticket: *ticket, row: linked.row.clone(), parent: linked.parent })
            .collect()
    }

    /// A store with `commits`, least recently used first, as [`Self::commits`] gave them.
    pub(super) fn from_commits(capacity: usize, commits: Vec<Commit>) -> Self {
        let mut rows = Lru::new(capacity);
        let mut links = Vec::new();
        for Commit { ticket, row, parent } in commits {
            rows.insert(ticket, LinkedRow { row, parent: None, child: None });
            links.extend(parent.map(|parent| (parent, ticket)));
        }
        for (parent, child) in links {
            // What no lineage looks like is left unlinked.
            if !rows.contains(&child) || rows.peek(&parent).is_none_or(|row| row.child.is_some() || parent == child) {
                continue;
            }
            rows.peek(&parent).into_iter().for_each(|row| row.child = Some(child));
            rows.peek(&child).into_iter().for_each(|row| row.parent = Some(parent));
        }
        Self { rows: Mutex::new(rows) }
    }
}

impl ServerStore for MemoryServerStore {
    fn find(&self, ticket: &Ticket) -> Option<Row> {
        // Only `commit` counts as a use: whoever shows a ticket has proven nothing yet.
        self.rows.lock().peek(ticket).map(|linked| linked.row.clone())
    }

    fn commit(&self, commit: Commit) -> Result<(), NotSaved> {
        let Commit { ticket, row, parent } = commit;
        let mut rows = self.rows.lock();
        let parent = parent.filter(|parent| *parent != ticket && rows.contains(parent));
        if let Some(linked) = parent.and_then(|parent| rows.touch(&parent)) {
            let obsolete = [linked.parent.take(), linked.child.replace(ticket)];
            for ticket in obsolete.into_iter().flatten() {
                rows.remove(&ticket);
            }
        }
        rows.insert(ticket, LinkedRow { row, parent, child: None });
        Ok(())
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.rows.lock().remove(ticket);
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
