//! Tests of the limit, and that each session is taken once.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::super::test_data::*;
use super::*;
use crate::wire::ProtocolVersion;

fn record() -> SessionRecord {
    SessionRecord { binding: binding(ProtocolVersion::TLS_1_3), expires: TODAY + 60, session: session() }
}

#[test]
fn forgets_the_oldest() {
    let store = MemorySessionStore::new(2);
    for n in 0..3 {
        store.put(SessionId([n; 16]), record()).unwrap();
    }
    assert_eq!([0, 1, 2].map(|n| store.find(&SessionId([n; 16])).is_some()), [false, true, true]);
    assert_eq!(store.len(), 2);
}

#[test]
fn looking_keeps_nothing_alive() {
    let store = MemorySessionStore::new(2);
    for n in 0..3 {
        store.put(SessionId([n; 16]), record()).unwrap();
        assert!(n == 2 || store.find(&SessionId([0; 16])).is_some());
    }
    assert!(store.find(&SessionId([0; 16])).is_none());
}

#[test]
fn one_taker_only() {
    let store = MemorySessionStore::new(200);
    let taken = AtomicUsize::new(0);
    (0..200).for_each(|n| store.put(SessionId([n; 16]), record()).unwrap());
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let won = (0..200).filter(|n| store.take(&SessionId([*n; 16])).is_some()).count();
                taken.fetch_add(won, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((taken.into_inner(), store.is_empty()), (200, true));
}

#[test]
fn a_record_comes_back_from_bytes() {
    let bytes = record().to_bytes();
    let again = SessionRecord::from_bytes(&bytes).unwrap();
    assert_eq!((again.binding, again.expires()), (record().binding, TODAY + 60));
    assert_eq!(again.to_bytes(), bytes);
    for len in 0..bytes.len() {
        assert!(SessionRecord::from_bytes(&bytes[..len]).is_err());
    }
    let mut other_format = bytes.clone();
    other_format[0] += 1;
    assert_eq!(SessionRecord::from_bytes(&other_format).err(), Some(InvalidMessage::IllegalValue));
}

#[test]
fn nothing_secret_is_printed() {
    let printed = alloc::format!("{:?} {:?}", record(), SessionId([5; 16]));
    assert!(!printed.contains("5, 5"), "{printed}");
}
