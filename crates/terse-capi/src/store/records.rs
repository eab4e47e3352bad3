//! What a client caches of servers: in memory, and in the program's store what must outlive it.
//!
//! What must always hold: a ticket that a running connection holds is offered by no other one. Holds are never saved, and the memory
//! may forget a record while a connection runs, so they are kept beside it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use spin::Mutex;
use terse_tls::cache::{ClientStore, MemoryClientStore, NotSaved, Save, Scope, ScopeRecord};
use terse_tls::crypto::Rng;

use super::key_value::{KeyValue, Kind};

pub(super) struct Records {
    memory: MemoryClientStore,
    holds: Mutex<Holds>,
    key_value: Option<Arc<KeyValue>>,
}

impl Records {
    pub(super) fn new(capacity: usize, key_value: Option<Arc<KeyValue>>) -> Self {
        Self { memory: MemoryClientStore::new(capacity), holds: Mutex::default(), key_value }
    }
}

impl ClientStore for Records {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut holds = self.holds.lock();
        let mut saved = Ok(());
        self.memory.update(scope, &mut |record| {
            if let Some(key_value) = self.key_value.as_ref().filter(|_| record.is_empty()) {
                *record = load(key_value, scope).unwrap_or_default();
            }
            record.set_holders(holds.of(scope));
            let save = change(record);
            holds.set(scope, record.holders());
            record.set_holders(0);
            if let Some(key_value) = self.key_value.as_ref().filter(|_| save == Save::Now) {
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

/// How many running connections hold a ticket, of the scopes of which there is one: in order, to be found fast.
#[derive(Default)]
struct Holds(Vec<(Scope, u32)>);

impl Holds {
    fn of(&self, scope: &Scope) -> u32 {
        self.find(scope).map_or(0, |place| self.0[place].1)
    }

    fn set(&mut self, scope: &Scope, holders: u32) {
        match self.find(scope) {
            Ok(place) if holders == 0 => drop(self.0.remove(place)),
            Ok(place) => self.0[place].1 = holders,
            Err(_) if holders == 0 => {}
            Err(place) => self.0.insert(place, (scope.clone(), holders)),
        }
    }

    fn find(&self, scope: &Scope) -> Result<usize, usize> {
        self.0.binary_search_by(|(held, _)| held.cmp(scope))
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
