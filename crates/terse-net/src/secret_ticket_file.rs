//! A file of a server's ephemeral secret tickets, so that clients are not refused their early data after a restart.
//!
//! What must always hold: a ticket that was taken is not in the file any more when its early data is delivered, so that no
//! restart brings it back; if the file cannot be written, nothing is delivered.
//!
//! Forward secrecy needs that private keys are really gone. This file is written anew whenever a ticket is taken, but a
//! file system or flash memory may keep the old blocks for some time: whoever can read these, and learns the identity key
//! of the server, can read that early data. [`MemorySecretTickets`] has no such traces.

use core::fmt;
use std::path::Path;

use terse_tls::cache::{AddressId, NotSaved};
use terse_tls::identity_early_data::{MemorySecretTickets, SecretTicketId, SecretTicketRecord, SecretTicketStore};
use zeroize::Zeroizing;

use crate::saved_file::{Damage, Format, SavedFile, SavedFileError};

/// The file of a [`MemorySecretTickets`], with mode 0600. A file that others could have read is not used.
///
/// Each ticket that is taken costs a write of the whole file, about 250 bytes for each ticket in it.
///
/// The file is for one process at a time: two would each take a ticket once, and so could deliver a replay.
pub struct SecretTicketFile {
    file: SavedFile,
    tickets: MemorySecretTickets,
}

static FORMAT: Format = Format { name: "ticket file", magic: *b"terse$e\n", version: 1, secret: true };

const ID_LEN: usize = 16;

impl SecretTicketFile {
    /// Opens the file, or prepares to create it, for at most `capacity` tickets.
    ///
    /// Fails if the path cannot be used. The second value of the result says why existing content was not used; the
    /// file is then overwritten when there is something to save.
    pub fn open(path: impl AsRef<Path>, capacity: usize) -> Result<(Self, Option<Damage>), SavedFileError> {
        let decode = |bytes: &[u8], changes: &[&[u8]]| {
            let tickets = MemorySecretTickets::new(capacity);
            let mut rest = bytes;
            while !rest.is_empty() {
                let (len, after) = rest.split_first_chunk()?;
                let (entry, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
                put(&tickets, entry)?;
                rest = after;
            }
            changes.iter().try_for_each(|entry| put(&tickets, entry))?;
            Some(tickets)
        };
        let (file, tickets, damage) = SavedFile::open(&FORMAT, path.as_ref(), decode)?;
        let tickets = tickets.unwrap_or_else(|| MemorySecretTickets::new(capacity));
        Ok((Self { file, tickets }, damage))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns why changes cannot be saved. The error is returned once, until a change could be saved again.
    pub fn take_error(&self) -> Option<SavedFileError> {
        self.file.take_error()
    }

    /// Returns how many tickets are kept.
    pub fn len(&self) -> usize {
        self.tickets.len()
    }

    /// Returns whether no ticket is kept.
    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    /// Returns the contents of the file: tickets with their lengths, the oldest first.
    fn snapshot(&self) -> Zeroizing<Vec<u8>> {
        let mut len = 0;
        self.tickets.for_each(|id, record| len += 2 + entry(id, record).len());
        let mut out = Zeroizing::new(Vec::with_capacity(len)); // growing would leave copies of secrets behind
        self.tickets.for_each(|id, record| {
            let entry = entry(id, record);
            out.extend_from_slice(&(entry.len() as u16).to_be_bytes()); // some 800 bytes at most
            out.extend_from_slice(&entry);
        });
        out
    }
}

/// Encodes a ticket: its handle, and its record.
fn entry(id: &SecretTicketId, record: &SecretTicketRecord) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([&id.0[..], &record.to_bytes()].concat())
}

/// Keeps a ticket of the file. Returns `None` if it is malformed.
fn put(tickets: &MemorySecretTickets, entry: &[u8]) -> Option<()> {
    let (id, record) = entry.split_first_chunk::<ID_LEN>()?;
    let record = SecretTicketRecord::from_bytes(record).ok()?;
    tickets.put(SecretTicketId(*id), record, 0).ok()
}

impl SecretTicketStore for SecretTicketFile {
    fn put(&self, id: SecretTicketId, record: SecretTicketRecord, now: u64) -> Result<(), NotSaved> {
        let entry = entry(&id, &record);
        let (result, number) = self.file.change(|| (self.tickets.put(id, record, now), Some(entry.to_vec())));
        result?;
        self.file.commit(number, || Ok(self.snapshot()))
    }

    fn find(&self, id: &SecretTicketId) -> Option<SecretTicketRecord> {
        self.tickets.find(id)
    }

    fn take(&self, id: &SecretTicketId) -> bool {
        self.tickets.take(id) && self.file.save(|| Ok(self.snapshot())).is_ok()
    }

    fn spend(&self, id: &SecretTicketId, address: AddressId) -> bool {
        self.tickets.spend(id, address)
    }
}

impl fmt::Debug for SecretTicketFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretTicketFile").field("path", &self.path()).field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
