use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

use super::{MAX_COUNT, abridged};
use crate::masa::LogEntry;
use crate::voucher::{Assertion, Nonce};

fn entry(date: u64, domain: u8, has_nonce: bool) -> LogEntry {
    LogEntry {
        date: UnixTime::since_unix_epoch(Duration::from_secs(date)),
        domain_id: Vec::from([domain]),
        key: [domain; 32],
        nonce: has_nonce.then(|| Nonce::new(&date.to_be_bytes()).unwrap()),
        assertion: Assertion::Logged,
    }
}

fn dates(log: &[LogEntry], max_events: usize) -> Vec<u64> {
    abridged(log, max_events).events.iter().map(|event| event.date.as_secs()).collect()
}

#[test]
fn a_short_log_is_whole_and_newest_first() {
    let log = [entry(1, 1, true), entry(3, 1, true), entry(2, 2, false)];
    let whole = abridged(&log, 3);
    assert_eq!(dates(&log, 3), [3, 2, 1]);
    assert_eq!((whole.version, whole.nonced_duplicates, whole.nonceless_duplicates, whole.arbitrary), (1, 0, 0, 0));
    assert!(whole.events.iter().all(|event| event.truncated == 0));
    assert_eq!(whole.events[0].nonce, log[1].nonce);
    assert_eq!(whole.events[1].nonce, None);
    assert_eq!(whole.events[1].domain_id, [2]);
}

#[test]
fn a_long_log_loses_the_earlier_events_of_each_domain_first() {
    let log = [
        entry(1, 1, true),
        entry(2, 1, false),
        entry(3, 2, true),
        entry(4, 1, false),
        entry(5, 1, true),
        entry(6, 1, true),
    ];
    let log = abridged(&log, 4);
    let kept: Vec<_> =
        log.events.iter().map(|event| (event.date.as_secs(), event.nonce.is_some(), event.truncated)).collect();
    assert_eq!(kept, [(6, true, 2), (4, false, 1), (3, true, 0)]);
    assert_eq!((log.nonced_duplicates, log.nonceless_duplicates, log.arbitrary), (2, 1, 0));
}

#[test]
fn a_log_of_many_domains_loses_the_oldest_and_counts_them() {
    let log: Vec<_> = (0..10).map(|number| entry(u64::from(number), number, true)).collect();
    assert_eq!(dates(&log, 3), [9, 8, 7]);
    assert_eq!(abridged(&log, 3).arbitrary, 7);
    assert_eq!(abridged(&log, 0).arbitrary, 10);
}

#[test]
fn an_event_of_another_key_under_the_same_domain_id_is_not_left_out() {
    let impostor = LogEntry { key: [9; 32], ..entry(1, 1, true) };
    let log = [impostor.clone(), entry(2, 1, true), entry(3, 1, true), entry(4, 1, true)];
    let log = abridged(&log, 3);
    let kept: Vec<_> = log.events.iter().map(|event| (event.date.as_secs(), event.truncated)).collect();
    assert_eq!(kept, [(4, 2), (1, 0)]);
    assert_eq!(log.events[1].nonce, impostor.nonce);
}

#[test]
fn counts_end_at_1024() {
    let log: Vec<_> = (0..3_000).map(|date| entry(date, 1, true)).collect();
    let log = abridged(&log, 2);
    assert_eq!(log.events.len(), 1);
    assert_eq!((log.events[0].truncated, log.nonced_duplicates), (MAX_COUNT, MAX_COUNT));
}
