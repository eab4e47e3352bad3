//! The contents of the stores in memory as bytes, for stores that save: `CacheFile` of `terse-net` is one.
//!
//! The bytes carry no checksum; whoever keeps them adds one. Whoever can write them can name peers as verified, so they
//! must come from a place that only this program writes.
//!
//! What must always hold: [`decode`] never panics, and allocates no more than a small multiple of its input.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::memory::{MemoryClientStore, MemoryServerStore};
use super::store::{Commit, NotSaved, Row};
use super::{PeerEntry, Scope, ScopeRecord, Ticket};
use crate::error::InvalidMessage;
use crate::wire::{Encode, Parse, Reader, Writer};

/// The version of the format. To be kept with the bytes, and compared before [`decode`].
pub const VERSION: u16 = 2;

/// Everything in `client` and `server`, with the order of use. Holds of running connections are left out.
///
/// Fails only past 4 GiB.
pub fn encode(client: &MemoryClientStore, server: &MemoryServerStore) -> Result<Vec<u8>, NotSaved> {
    Snapshot { records: client.records(), commits: server.commits() }.to_vec().map_err(|_| NotSaved)
}

/// The stores that [`encode`] got, now for `capacity` scopes and as many tickets. If that is less than before, the
/// least recently used are left out.
pub fn decode(bytes: &[u8], capacity: usize) -> Result<(MemoryClientStore, MemoryServerStore), InvalidMessage> {
    let Snapshot { records, commits } = Snapshot::parse_all(bytes)?;
    let client = MemoryClientStore::new(capacity);
    for (scope, record) in records {
        client.insert(scope, record);
    }
    Ok((client, MemoryServerStore::from_commits(capacity, commits)))
}

/// Both tables, least recently used first.
struct Snapshot<S> {
    records: Vec<(S, ScopeRecord)>,
    commits: Vec<Commit>,
}

impl Parse<'_> for Snapshot<Scope> {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let records = list(reader, |reader| Ok((Scope::parse(reader)?, ScopeRecord::parse(reader)?)))?;
        let entries = list(reader, |reader| PeerEntry::parse(reader).map(Arc::new))?;
        let commits = list(reader, |reader| {
            let ticket = Ticket::parse(reader)?;
            let index = u32::from_be_bytes(reader.array()?) as usize;
            let entry = entries.get(index).ok_or(InvalidMessage::IllegalValue)?.clone();
            Ok(Commit { ticket, row: Row { entry }, parent: Option::parse(reader)? })
        })?;
        Ok(Self { records, commits })
    }
}

impl Encode for Snapshot<Arc<Scope>> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vec::<4>(|writer| {
            for (scope, record) in &self.records {
                scope.encode(writer);
                record.encode(writer);
            }
        });
        // The rows of a lineage share an entry: it is written once, in the order of the first row that has it.
        let mut indices = BTreeMap::new();
        writer.vec::<4>(|writer| {
            for Commit { row, .. } in &self.commits {
                let next = indices.len() as u32; // no more than bytes in this vector
                indices.entry(Arc::as_ptr(&row.entry)).or_insert_with(|| {
                    row.entry.encode(writer);
                    next
                });
            }
        });
        writer.vec::<4>(|writer| {
            for Commit { ticket, row, parent } in &self.commits {
                ticket.encode(writer);
                let index = indices.get(&Arc::as_ptr(&row.entry)).copied().unwrap_or_default(); // never absent
                writer.bytes(&index.to_be_bytes());
                parent.encode(writer);
            }
        });
    }
}

/// The values of a vector with a length of four bytes.
fn list<'a, T>(
    reader: &mut Reader<'a>,
    parse: impl Fn(&mut Reader<'a>) -> Result<T, InvalidMessage>,
) -> Result<Vec<T>, InvalidMessage> {
    let len = u32::from_be_bytes(reader.array()?) as usize;
    let mut reader = Reader::new(reader.take(len)?);
    let mut values = Vec::new();
    while !reader.is_empty() {
        values.push(parse(&mut reader)?);
    }
    Ok(values)
}

#[cfg(test)]
mod tests;
