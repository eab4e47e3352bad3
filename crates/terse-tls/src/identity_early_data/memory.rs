//! Ephemeral secret tickets in memory.

use core::fmt;

use spin::Mutex;

use super::{SecretTicketId, SecretTicketRecord, SecretTicketStore};
use crate::cache::{AddressId, NotSaved};
use crate::lru::Lru;

/// A store in memory for at most `capacity` tickets, the oldest of which are dropped first. After a restart clients are
/// refused their early data once, and get new tickets.
pub struct MemorySecretTickets {
    records: Mutex<Lru<SecretTicketId, Kept>>,
}

struct Kept {
    record: SecretTicketRecord,
    /// Whether the ticket was used as a proof of its client's address.
    is_spent: bool,
}

impl MemorySecretTickets {
    /// Creates an empty store. A ticket takes about 250 bytes.
    pub fn new(capacity: usize) -> Self {
        Self { records: Mutex::new(Lru::new(capacity)) }
    }

    /// Returns how many tickets are kept.
    pub fn len(&self) -> usize {
        self.records.lock().len()
    }

    /// Returns whether no ticket is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Wipes the tickets that have expired at `now`, in seconds since 1970. Each new ticket has the same effect; a server
    /// that is idle for long should call this from time to time.
    pub fn forget_expired(&self, now: u64) {
        let mut records = self.records.lock();
        let expired = |records: &Lru<SecretTicketId, Kept>| {
            let (id, kept) = records.oldest_first().next()?;
            (kept.record.expires <= now).then_some(*id)
        };
        while let Some(id) = expired(&records) {
            records.remove(&id);
        }
    }

    /// Returns the records, the oldest first, for stores that keep them elsewhere as well.
    pub fn for_each(&self, mut act: impl FnMut(&SecretTicketId, &SecretTicketRecord)) {
        self.records.lock().oldest_first().for_each(|(id, kept)| act(id, &kept.record));
    }
}

impl SecretTicketStore for MemorySecretTickets {
    fn put(&self, id: SecretTicketId, record: SecretTicketRecord, now: u64) -> Result<(), NotSaved> {
        self.forget_expired(now);
        self.records.lock().insert(id, Kept { record, is_spent: false });
        Ok(())
    }

    fn find(&self, id: &SecretTicketId) -> Option<SecretTicketRecord> {
        self.records.lock().peek(id).map(|kept| kept.record.clone())
    }

    fn take(&self, id: &SecretTicketId) -> bool {
        self.records.lock().remove(id).is_some()
    }

    fn spend(&self, id: &SecretTicketId, address: AddressId) -> bool {
        let mut records = self.records.lock();
        let Some(kept) = records.peek(id) else { return false };
        kept.record.address == Some(address) && !core::mem::replace(&mut kept.is_spent, true)
    }
}

impl fmt::Debug for MemorySecretTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySecretTickets").field("len", &self.len()).finish_non_exhaustive()
    }
}
