//! Bounds, and the order in which sessions are taken.

use super::super::super::test_data::*;
use super::*;

fn put(store: &MemoryClientSessions, port: u16, received: u64) {
    store.put(&scope(port), StoredSession { received, ..stored() });
}

fn take(store: &MemoryClientSessions, port: u16) -> Option<u64> {
    store.take(&scope(port)).map(|session| session.received)
}

#[test]
fn a_session_is_taken_once_the_latest_first() {
    let store = MemoryClientSessions::new(2);
    put(&store, 1, 10);
    put(&store, 1, 11);
    assert_eq!([(); 3].map(|()| take(&store, 1)), [Some(11), Some(10), None]);
    assert!(store.is_empty());
}

#[test]
fn no_scope_sees_the_sessions_of_another() {
    let store = MemoryClientSessions::new(2);
    put(&store, 1, 10);
    assert_eq!(take(&store, 2), None);
    assert_eq!(take(&store, 1), Some(10));
}

#[test]
fn scopes_and_sessions_are_bounded() {
    let store = MemoryClientSessions::new(2);
    (0..6).for_each(|received| put(&store, 1, received));
    assert_eq!([(); 5].map(|()| take(&store, 1)), [Some(5), Some(4), Some(3), Some(2), None]);
    (1..=3).for_each(|port| put(&store, port, 0));
    assert_eq!((store.len(), take(&store, 1)), (2, None));
}

#[test]
fn all_of_it_comes_back_from_bytes() {
    let store = MemoryClientSessions::new(4);
    [(1, 10), (2, 20), (1, 11), (3, 30)].into_iter().for_each(|(port, received)| put(&store, port, received));
    let again = MemoryClientSessions::from_bytes(&store.to_bytes(), 2).unwrap();
    assert_eq!((again.len(), take(&again, 2)), (2, None), "the least recently used goes first");
    assert_eq!([1, 1, 3].map(|port| take(&again, port)), [Some(11), Some(10), Some(30)]);
    let bytes = store.to_bytes();
    assert!(MemoryClientSessions::from_bytes(&bytes[..bytes.len() - 1], 2).is_err());
    assert!(MemoryClientSessions::from_bytes(&[], 2).unwrap().is_empty());
}
