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
use super::store::{Commit, NotSaved, Row, Seen};
use super::{Fingerprint, PeerEntry, Scope, ScopeRecord, Ticket};
use crate::error::InvalidMessage;
use crate::wire::{Encode, Parse, Reader, Writer};

/// The version of the format. To be kept with the bytes, and compared before [`decode`].
pub const VERSION: u16 = 5;

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
        let seen = list(reader, Seen::parse)?;
        let commits = list(reader, |reader| {
            let ticket = Ticket::parse(reader)?;
            let entry = indexed(&entries, reader)?;
            let seen = indexed(&seen, reader)?;
            let row = Row { entry, seen, address: Option::parse(reader)? };
            Ok(Commit { ticket, row, parent: Option::parse(reader)? })
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
        // The rows of a lineage share an entry, and most rows have seen the same: each is written once, in the order of the
        // first row that has it. Indices count from 1, and never exceed the bytes of their vector.
        let mut entries = BTreeMap::new();
        writer.vec::<4>(|writer| {
            for entry in self.commits.iter().filter_map(|commit| commit.row.entry.as_ref()) {
                let next = entries.len() as u32 + 1;
                entries.entry(Arc::as_ptr(entry)).or_insert_with(|| {
                    entry.encode(writer);
                    next
                });
            }
        });
        let mut all_seen = BTreeMap::new();
        writer.vec::<4>(|writer| {
            for seen in self.commits.iter().filter_map(|commit| commit.row.seen) {
                let next = all_seen.len() as u32 + 1;
                all_seen.entry(seen).or_insert_with(|| {
                    seen.encode(writer);
                    next
                });
            }
        });
        writer.vec::<4>(|writer| {
            for Commit { ticket, row, parent } in &self.commits {
                ticket.encode(writer);
                let entry = row.entry.as_ref().and_then(|entry| entries.get(&Arc::as_ptr(entry)));
                let seen = row.seen.and_then(|seen| all_seen.get(&seen));
                for index in [entry, seen] {
                    writer.bytes(&index.copied().unwrap_or(NONE).to_be_bytes());
                }
                row.address.encode(writer);
                parent.encode(writer);
            }
        });
    }
}

impl Parse<'_> for Seen {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self { certificate: Fingerprint::parse(reader)?, request: Option::parse(reader)? })
    }
}

impl Encode for Seen {
    fn encode(&self, writer: &mut Writer<'_>) {
        self.certificate.encode(writer);
        self.request.encode(writer);
    }
}

/// The index of what is not there.
const NONE: u32 = 0;

/// One of `values`, by an index that counts from 1, or none.
fn indexed<T: Clone>(values: &[T], reader: &mut Reader<'_>) -> Result<Option<T>, InvalidMessage> {
    match u32::from_be_bytes(reader.array()?) {
        NONE => Ok(None),
        index => Ok(Some(values.get(index as usize - 1).ok_or(InvalidMessage::IllegalValue)?.clone())),
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
