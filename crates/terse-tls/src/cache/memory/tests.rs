//! Bounds, the order of use, and lineages.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::record::Slot;
use super::super::test_data::*;
use super::super::*;
use crate::crypto::{CryptoError, Rng};

fn learn(store: &MemoryClientStore, port: u16) {
    let slot = Slot { ticket: ticket(port.into()), own_certificate: Some(OWN), entries: None };
    update(store, port, |record| record.confirm(slot));
}

fn update<T>(store: &MemoryClientStore, port: u16, change: impl Fn(&mut ScopeRecord) -> T) -> T {
    let mut result = None;
    let saved = store.update(&Scope { port, ..scope() }, &mut |record| {
        result = Some(change(record));
        Save::Later
    });
    assert_eq!(saved, Ok(()));
    result.expect("called")
}

#[test]
fn client_store_forgets_the_least_recently_used_scope() {
    let store = MemoryClientStore::new(2);
    learn(&store, 1);
    learn(&store, 2);
    update(&store, 1, |_| ());
    learn(&store, 3);
    assert_eq!(store.len(), 2);
    let known = |port| !update(&store, port, |record| record.is_empty());
    assert_eq!([1, 2, 3].map(known), [true, false, true]);
}

#[test]
fn client_store_keeps_no_empty_record() {
    let store = MemoryClientStore::new(2);
    update(&store, 1, |_| ());
    assert!(store.is_empty());
    learn(&store, 1);
    update(&store, 1, ScopeRecord::drop_tickets);
    assert!(store.is_empty());
}

#[test]
fn server_store_forgets_the_least_recently_used_client() {
    let store = MemoryServerStore::new(2);
    let row = row(entry(OWN));
    let commit = |n, parent: Option<u64>| {
        store.commit(Commit { ticket: ticket(n), row: row.clone(), parent: parent.map(ticket), time: None })
    };
    assert_eq!([commit(1, None), commit(2, None)], [Ok(()), Ok(())]);
    assert_eq!(commit(3, Some(1)), Ok(()));
    assert_eq!(commit(4, None), Ok(()));
    assert_eq!([1, 2, 3, 4].map(|n| store.find(&ticket(n)).is_some()), [true, false, true, true]);
    assert_eq!((store.len(), store.lineages().len()), (3, 2));
}

#[test]
fn ticket_that_is_only_shown_does_not_stay_longer() {
    let store = MemoryServerStore::new(2);
    let row = row(entry(OWN));
    let commit = |n| store.commit(Commit { ticket: ticket(n), row: row.clone(), parent: None, time: None });
    assert_eq!([commit(1), commit(2)], [Ok(()), Ok(())]);
    assert!(store.find(&ticket(1)).is_some());
    assert_eq!(commit(3), Ok(()));
    assert_eq!([1, 2, 3].map(|n| store.find(&ticket(n)).is_some()), [false, true, true]);
}

/// Anybody can make a row without a client certificate: they push out each other, and nobody else.
#[test]
fn rows_without_a_client_certificate_have_a_quota_of_their_own() {
    let store = MemoryServerStore::new(2);
    let commit = |n, row: &Row, parent: Option<u64>| {
        store.commit(Commit { ticket: ticket(n), row: row.clone(), parent: parent.map(ticket), time: None })
    };
    let seen = Some(ServerObjects { certificate: SERVER, request: None });
    let (client, anonymous) = (Row { seen, ..row(entry(OWN)) }, Row { entry: None, seen, address: None });
    assert_eq!([commit(1, &client, None), commit(2, &client, None)], [Ok(()), Ok(())]);
    for n in 10..20 {
        // It stands alone, whatever it says: the lineage of 1 is not its own.
        assert_eq!(commit(n, &anonymous, Some(1)), Ok(()));
    }
    let known: Vec<_> = (0..20).filter(|n| store.find(&ticket(*n)).is_some()).collect();
    assert_eq!((known, store.len()), (vec![1, 2, 18, 19], 4));
    assert_eq!(commit(3, &client, Some(1)), Ok(()));
    let known: Vec<_> = (0..20).filter(|n| store.find(&ticket(*n)).is_some()).collect();
    assert_eq!(known, [1, 2, 3, 18, 19]);
    assert_eq!(store.remove(&ticket(19)), Ok(()));
    assert_eq!(store.find(&ticket(18)), Some(anonymous));
    assert_eq!(store.find(&ticket(19)), None);
}

/// Counts up, and how often it is asked.
struct Counting(u8);

impl Rng for Counting {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        self.0 += 1;
        out.fill(self.0);
        Ok(())
    }
}

/// And what was there before is found.
#[test]
fn stores_draw_the_key_of_their_hash_once() {
    let (server, client) = (MemoryServerStore::new(4), MemoryClientStore::new(4));
    let row = row(entry(OWN));
    let commit = |n| server.commit(Commit { ticket: ticket(n), row: row.clone(), parent: None, time: None });
    assert_eq!(commit(1), Ok(()));
    learn(&client, 1);
    let mut rng = Counting(0);
    for _ in 0..3 {
        server.seed(&mut rng);
        client.seed(&mut rng);
    }
    assert_eq!(rng.0, 2);
    assert_eq!(commit(2), Ok(()));
    assert!([1, 2].iter().all(|n| server.find(&ticket(*n)).is_some()) && server.find(&ticket(3)).is_none());
    assert_eq!(client.len(), 1);
    assert!(!update(&client, 1, |record| record.is_empty()));

    MemoryServerStore::new(4).with_hash_key([7; 16]).seed(&mut rng);
    MemoryClientStore::new(4).with_hash_key([7; 16]).seed(&mut rng);
    assert_eq!(rng.0, 2, "they have one");
}

#[test]
fn stores_without_capacity_keep_nothing() {
    let store = MemoryClientStore::new(0);
    learn(&store, 1);
    assert!(store.is_empty());
    let store = MemoryServerStore::new(0);
    let row = row(entry(OWN));
    assert_eq!(store.commit(Commit { ticket: ticket(1), row, parent: Some(ticket(1)), time: None }), Ok(()));
    assert!(store.is_empty());
}

#[test]
fn parallel_threads_lose_no_update() {
    extern crate std;
    let store = MemoryClientStore::new(1);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..500).for_each(|_| update(&store, 1, |record| record.holders += 1)));
        }
    });
    assert_eq!(update(&store, 1, |record| record.holders), 2000);
}

proptest! {
    /// Whatever is used in whatever order: a lineage has a ticket and its parent at most, and the store its capacity.
    #[test]
    fn lineage_never_has_more_than_parent_and_child(
        capacity in 1..10_usize,
        handshakes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..40),
    ) {
        let store = MemoryServerStore::new(capacity);
        let row = row(entry(OWN));
        let mut lineages = BTreeMap::new();
        for (n, (used, first_contact)) in (1..).zip(handshakes) {
            let rows = commits(&store);
            let parent = if first_contact || rows.is_empty() { None } else { Some(rows[used.index(rows.len())].ticket) };
            let lineage = parent.map_or(n, |parent| lineages[&parent]);
            lineages.insert(ticket(n), lineage);
            prop_assert_eq!(store.commit(Commit { ticket: ticket(n), row: row.clone(), parent, time: None }), Ok(()));
            prop_assert!(store.lineages().len() <= capacity);
            let members = commits(&store).iter().filter(|commit| lineages[&commit.ticket] == lineage).count();
            prop_assert!(members <= 2);
        }
    }
}

#[test]
fn a_ticket_proves_one_address_once() {
    let store = MemoryServerStore::new(4);
    let (here, elsewhere) = (AddressId([1; 4]), AddressId([2; 4]));
    let seen = Some(ServerObjects { certificate: SERVER, request: None });
    for (n, entry) in [(1, Some(Arc::new(entry(OWN)))), (2, None)] {
        let row = Row { entry, seen, address: Some(here) };
        store.commit(Commit { ticket: ticket(n), row, parent: None, time: None }).unwrap();
        let spend = |address| store.spend(&ticket(n), address);
        assert_eq!([elsewhere, here, here, elsewhere].map(spend), [Ok(false), Ok(true), Ok(false), Ok(false)]);
        assert_eq!(store.find(&ticket(n)).map(|row| (row.seen, row.address)), Some((seen, None)), "it stays");
    }
    assert_eq!(store.spend(&ticket(3), here), Ok(false), "unknown");
}
