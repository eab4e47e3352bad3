//! This module writes the contents of the stores in memory as bytes, for stores that save, such as `CacheFile` of
//! `terse-net`.
//!
//! There are three tables: of scopes, of clients, and of tickets without a client certificate. Each has its shared
//! values (a byte says how many) and its records, least recently used first, as `table` keeps them, behind their length
//! in four bytes. The issuers of the certificates follow, as far as they are needed ([`LearnedIssuers`]).
//!
//! The bytes carry no checksum; whoever keeps them adds one. Whoever can write them can name peers as verified, so they
//! must come from a place that only this program writes.
//!
//! What must always hold: [`decode`] never panics, and allocates no more than a small multiple of its input.

use alloc::vec::Vec;

use super::lineage;
use super::memory::{MemoryClientStore, MemoryServerStore};
use super::record;
use super::shared::{Record, Shared, View};
use super::store::NotSaved;
use super::{Lineage, ScopeRecord};
use crate::cert::LearnedIssuers;
use crate::error::InvalidMessage;
use crate::wire::{Encode, EncodeError, Parse, Reader};

/// The version of the format, which is to be kept with the bytes and compared before [`decode`].
pub const VERSION: u16 = 7;

/// The contents that [`encode`] takes and [`decode`] gives back.
pub type Contents = (MemoryClientStore, MemoryServerStore, LearnedIssuers);

/// Returns everything in `client` and `server`, with the order of use, and `issuers` as bytes. Holds of running
/// connections are left out.
///
/// Fails only if a table is longer than 4 GiB.
pub fn encode(
    client: &MemoryClientStore,
    server: &MemoryServerStore,
    issuers: &LearnedIssuers,
) -> Result<Vec<u8>, NotSaved> {
    encode_rows(client, server, issuers, true)
}

/// Does the same as [`encode`], without the tickets of clients that had no certificate: anybody can make those, and a
/// store that saves may want to write nothing for them. After a restart they cost a full handshake each.
pub fn encode_authenticated(
    client: &MemoryClientStore,
    server: &MemoryServerStore,
    issuers: &LearnedIssuers,
) -> Result<Vec<u8>, NotSaved> {
    encode_rows(client, server, issuers, false)
}

fn encode_rows(
    client: &MemoryClientStore,
    server: &MemoryServerStore,
    issuers: &LearnedIssuers,
    with_anonymous: bool,
) -> Result<Vec<u8>, NotSaved> {
    let scopes = client.records();
    let (clients, mut anonymous): (Vec<_>, Vec<_>) =
        server.lineages().into_iter().partition(|lineage| lineage.entry().is_some());
    if !with_anonymous {
        anonymous.clear();
    }
    let mut bytes = Vec::new();
    write_table(scopes.iter().map(|(scope, record)| record.to_packed(scope)), &mut bytes)?;
    write_table(clients.iter().map(Lineage::to_packed), &mut bytes)?;
    write_table(anonymous.iter().map(Lineage::to_packed), &mut bytes)?;
    bytes.extend_from_slice(&issuers.to_vec().map_err(|_| NotSaved)?);
    Ok(bytes)
}

/// Reads what [`encode`] wrote, for `capacity` scopes and as many clients. If that is less than before, the least
/// recently used are left out.
pub fn decode(bytes: &[u8], capacity: usize) -> Result<Contents, InvalidMessage> {
    decode_into(bytes, MemoryClientStore::new(capacity), MemoryServerStore::new(capacity))
}

/// Reads what [`encode`] wrote into empty stores.
pub fn decode_into(
    bytes: &[u8],
    client: MemoryClientStore,
    server: MemoryServerStore,
) -> Result<Contents, InvalidMessage> {
    let mut reader = Reader::new(bytes);
    read_table::<{ record::SHARED }>(&mut reader, |view| {
        let (scope, record) = ScopeRecord::from_packed(view)?;
        client.insert(&scope, &record);
        Ok(())
    })?;
    for has_entry in [true, false] {
        read_table::<{ lineage::SHARED }>(&mut reader, |view| {
            let lineage = Lineage::from_packed(view)?;
            if lineage.entry().is_some() != has_entry || (!has_entry && lineage.parent.is_some()) {
                return Err(InvalidMessage::IllegalValue);
            }
            server.insert(&lineage);
            Ok(())
        })?;
    }
    let issuers = LearnedIssuers::parse(&mut reader)?;
    reader.finish()?;
    Ok((client, server, issuers))
}

fn write_table<const R: usize>(
    records: impl Iterator<Item = Result<Record<R>, EncodeError>>,
    bytes: &mut Vec<u8>,
) -> Result<(), NotSaved> {
    let (mut shared, mut packed) = (Shared::of_file(), Vec::new());
    for record in records {
        packed.extend_from_slice(&record.map_err(|_| NotSaved)?.pack(&mut shared));
    }
    bytes.push(shared.values().len() as u8); // there are not more
    shared.values().iter().for_each(|value| bytes.extend_from_slice(value));
    bytes.extend_from_slice(&u32::try_from(packed.len()).map_err(|_| NotSaved)?.to_be_bytes());
    bytes.extend_from_slice(&packed);
    Ok(())
}

fn read_table<'a, const R: usize>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(View<'_, R>) -> Result<(), InvalidMessage>,
) -> Result<(), InvalidMessage> {
    let shared = Shared::parse(reader)?;
    let len = reader.u32()? as usize;
    let mut records = Reader::new(reader.take(len)?);
    while !records.is_empty() {
        each(View::parse(&mut records, &shared)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
