//! What a client caches of servers: in memory, and in the program's store what must outlive it.
//!
//! What must always hold: a ticket that a running connection holds is offered by no other one, so the memory knows of holds,
//! which are never saved.

use alloc::sync::Arc;

use terse_tls::cache::{ClientStore, MemoryClientStore, NotSaved, Save, Scope, ScopeRecord};
use terse_tls::crypto::Rng;

use super::key_value::{KeyValue, Kind};

pub(super) struct Records {
    memory: MemoryClientStore,
    key_value: Option<Arc<KeyValue>>,
}

impl Records {
    pub(super) fn new(capacity: usize, key_value: Option<Arc<KeyValue>>) -> Self {
        Self { memory: MemoryClientStore::new(capacity), key_value }
    }
}

impl ClientStore for Records {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let Some(key_value) = &self.key_value else { return self.memory.update(scope, change) };
        let mut saved = Ok(());
        self.memory.update(scope, &mut |record| {
            if record.is_empty() {
                *record = load(key_value, scope).unwrap_or_default();
            }
            let save = change(record);
            if save == Save::Now {
                saved = store(key_value, scope, record);
            }
            save
        })?;
        saved
    }

    fn seed(&self, rng: &mut dyn Rng) {
        self.memory.seed(rng);
    }
}

/// Returns the record of `scope`, unless the program's store returns something else.
fn load(key_value: &KeyValue, scope: &Scope) -> Option<ScopeRecord> {
    let value = key_value.load(Kind::Record, scope)?;
    let (found, record) = ScopeRecord::from_bytes(&value).ok()?;
    (found == *scope).then_some(record)
}

fn store(key_value: &KeyValue, scope: &Scope, record: &ScopeRecord) -> Result<(), NotSaved> {
    let is_saved = match record.is_empty() {
        true => key_value.remove(Kind::Record, scope),
        false => key_value.save(Kind::Record, scope, &record.to_bytes(scope)?),
    };
    if is_saved { Ok(()) } else { Err(NotSaved) }
}
