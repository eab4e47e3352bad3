//! Who makes room for a newcomer, by example, and compared with a simple model.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn origin(address: &str) -> Origin {
    Origin::of(SocketAddr::new(address.parse().unwrap(), 5684))
}

#[test]
fn origins_are_addresses_or_the_first_half_of_them() {
    assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
    assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:0:0:1"));
    assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
    // A listener for both versions shows IPv4 addresses so.
    assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
    assert_ne!(origin("::ffff:192.0.2.1"), origin("::ffff:192.0.2.2"));
}

/// Enters newcomers from these addresses one after the other, each with its number, into a table for `capacity`. Returns
/// whose places were taken.
fn evictions(capacity: usize, newcomers: &[&str]) -> Vec<Option<usize>> {
    let mut table = Table::new(capacity);
    newcomers.iter().enumerate().map(|(number, address)| table.enter(origin(address), number).1).collect()
}

const A: &str = "192.0.2.1";
const B: &str = "192.0.2.2";
const C: &str = "2001:db8::3";

#[test]
fn the_oldest_of_the_address_with_most_makes_room() {
    assert_eq!(evictions(4, &[B, A, A, A, C]), [None, None, None, None, Some(1)]);
    assert_eq!(evictions(4, &[B, A, A, A, A]), [None, None, None, None, Some(1)], "the newcomer counts");
    assert_eq!(evictions(3, &[B, A, A, B, C]), [None, None, None, Some(0), Some(1)]);
}

#[test]
fn among_equals_the_oldest_of_all_makes_room() {
    assert_eq!(evictions(4, &[A, B, B, A, C]), [None, None, None, None, Some(0)]);
    assert_eq!(evictions(3, &[C, B, A, "192.0.2.4"]), [None, None, None, Some(0)]);
    assert_eq!(evictions(1, &[A, B, A]), [None, Some(0), Some(1)]);
    assert_eq!(evictions(0, &[A, B]), [None, Some(0)], "there is one place at least");
}

#[test]
fn connections_that_wait_make_no_room() {
    let mut table = Table::new(4);
    let entries: Vec<_> = (0..4).map(|number| table.enter(origin(A), number).0).collect();
    assert!(table.has_room(), "a handshake makes room");
    assert!(table.complete(entries[0]));
    assert!(table.has_room());
    assert!(table.complete(entries[1]));
    assert!(!table.has_room(), "half of the table waits for the application");
    assert_eq!(table.len(), (2, 2));
    table.take();
    assert!(table.has_room());
    assert!(!table.complete(entries[0]), "it is complete already");
    assert_eq!(table.remove(entries[2]), Some(2));
    assert_eq!(table.remove(entries[2]), None);
    assert_eq!(table.len(), (1, 1));
    assert_eq!(table.clear().collect::<Vec<_>>(), [3]);
    assert!(!table.complete(entries[3]));
    assert_eq!(table.len(), (0, 1));
}

/// What the policy says, as slowly as one likes.
fn expected_victim(handshakes: &[(u64, Origin)], waiting: usize, capacity: usize) -> Option<u64> {
    if handshakes.len() + waiting <= capacity {
        return None;
    }
    let count = |of: Origin| handshakes.iter().filter(|(_, origin)| *origin == of).count();
    let most = handshakes.iter().map(|(_, origin)| count(*origin)).max()?;
    handshakes.iter().filter(|(_, origin)| count(*origin) == most).map(|(number, _)| *number).min()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_the_model_does(capacity in 1..12_usize, steps in prop::collection::vec((0..6_u8, 0..5_u8), 0..200)) {
        let mut table = Table::new(capacity);
        let (mut handshakes, mut entries, mut waiting) = (Vec::new(), Vec::new(), 0_usize);
        for (step, who) in steps {
            let origin = Origin::V6(who.into());
            match step {
                0..=2 if table.has_room() => {
                    let (entry, evicted) = table.enter(origin, entries.len() as u64);
                    handshakes.push((entries.len() as u64, origin));
                    entries.push(entry);
                    prop_assert_eq!(evicted, expected_victim(&handshakes, waiting, capacity));
                    prop_assert_ne!(evicted, Some(entries.len() as u64 - 1), "never the newcomer itself");
                    handshakes.retain(|(number, _)| Some(*number) != evicted);
                }
                3 | 4 if !entries.is_empty() => {
                    let number = usize::from(who) * entries.len() / 5;
                    let is_there = handshakes.iter().any(|(other, _)| *other == number as u64);
                    if step == 3 {
                        prop_assert_eq!(table.complete(entries[number]), is_there);
                        waiting += usize::from(is_there);
                    } else {
                        prop_assert_eq!(table.remove(entries[number]).is_some(), is_there);
                    }
                    handshakes.retain(|(other, _)| *other != number as u64);
                }
                _ => {
                    table.take();
                    waiting = waiting.saturating_sub(1);
                }
            }
            prop_assert_eq!(table.len(), (handshakes.len(), waiting));
            prop_assert!(handshakes.len() + waiting <= capacity);
        }
    }
}
