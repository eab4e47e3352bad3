//! A table against a queue that is searched from end to end, and its shared values.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::cache::shared::Value;

/// Records with one key or two, which are the first bytes of the body.
#[derive(Debug)]
struct Bytes;

impl Kind<2> for Bytes {
    type Key<'a> = u8;
    const KEYS: usize = 2;

    fn key(view: &View<'_, 2>, number: usize) -> Option<u8> {
        view.body.get(number).copied().filter(|key| number == 0 || *key != NO_KEY)
    }

    fn equals(one: &u8, other: &u8) -> bool {
        one == other
    }
}

const NO_KEY: u8 = 0xff;

type Kept = (Vec<u8>, [Option<Value>; 2]);

#[derive(Clone, Debug)]
enum Step {
    Put { keys: [u8; 2], more: usize, shared: [Option<u8>; 2], used: bool },
    Remove(u8),
    Rekey(u8),
}

fn step(longest: usize) -> impl Strategy<Value = Step> {
    let keys = (0..8_u8, prop::option::of(100..108_u8)).prop_map(|(key, other)| [key, other.unwrap_or(NO_KEY)]);
    let put = (keys, 0..longest, any::<[Option<u8>; 2]>(), any::<bool>())
        .prop_map(|(keys, more, shared, used)| Step::Put { keys, more, shared, used });
    prop_oneof![8 => put, 2 => (0..8_u8).prop_map(Step::Remove), 1 => any::<u8>().prop_map(Step::Rekey)]
}

fn all(table: &Table<Bytes, 2>) -> Vec<Kept> {
    table.iter().map(|view| (view.body.to_vec(), view.shared.map(|value| value.copied()))).collect()
}

/// What a table does, slowly. The limit of bytes is checked beside it.
fn put(queue: &mut VecDeque<Kept>, capacity: usize, kept: Kept, used: bool) {
    let place = queue.iter().position(|(body, _)| body[0] == kept.0[0]);
    let old = place.and_then(|place| queue.remove(place)).map_or(0, |(body, _)| body.len());
    let is_shorter = kept.0.len() == old || kept.0.len() + 2 <= old;
    match place.filter(|_| !used && is_shorter) {
        Some(place) => queue.insert(place, kept),
        None => queue.push_back(kept),
    }
    if queue.len() > capacity {
        queue.pop_front();
    }
}

/// Does `steps` with a table and with a queue. So many bytes are never reached by `capacity` records.
fn compare(mut table: Table<Bytes, 2>, capacity: usize, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (is_fixed, room) = (table.log.capacity() > 0, table.log.capacity());
    let mut queue = VecDeque::new();
    for (filler, step) in (0..).zip(steps) {
        match step {
            Step::Put { keys, more, shared, used } => {
                let is_other = |(body, _): &&Kept| body[0] != keys[0] && body[1] == keys[1] && keys[1] != NO_KEY;
                let keys = if queue.iter().any(|kept| is_other(&kept)) { [keys[0], NO_KEY] } else { keys };
                let body = [&keys[..], &vec![filler; more]].concat();
                let shared = shared.map(|value| value.map(|value| [value % 4; 32]));
                let old = table.find(keys[0]).map(|(place, _)| place);
                table.put(old, &Record { shared, body: body.clone() }, if used { Use::Now } else { Use::Same });
                put(&mut queue, capacity, (body, shared), used);
            }
            Step::Remove(key) => {
                table.find(key).into_iter().for_each(|(place, _)| table.remove(place));
                queue.retain(|(body, _)| body[0] != key);
            }
            Step::Rekey(key) => table.set_hash_key([key; 16]),
        }
        let kept = all(&table);
        prop_assert!(table.log.len() <= table.max_bytes && kept.len() <= capacity);
        prop_assert_eq!(table.len(), kept.len());
        prop_assert!(queue.iter().eq(&kept));
        let bytes: usize = kept.iter().map(|(body, _)| body.len() + 4).sum();
        prop_assert!(table.log.live() == bytes, "{} {bytes}", table.log.live());
        let keys: Vec<u8> =
            kept.iter().flat_map(|(body, _)| body[..2].iter().copied()).filter(|key| *key != NO_KEY).collect();
        prop_assert_eq!(table.keys(), keys.len());
        for (place, number) in keys.iter().filter_map(|key| table.find(*key)) {
            prop_assert!(keys.contains(&table.view(place).body[number]));
        }
        prop_assert_eq!(keys.iter().filter(|key| table.find(**key).is_none()).count(), 0);
        prop_assert!(!is_fixed || table.log.capacity() == room);
    }
    Ok(())
}

proptest! {
    #[test]
    fn table_does_what_a_queue_does(capacity in 0..6_usize, steps in prop::collection::vec(step(40), 0..60), is_fixed: bool) {
        let table = if is_fixed { Table::fixed(capacity, 600) } else { Table::new(capacity, 600) };
        compare(table, capacity, steps)?;
    }

    /// Of several chunks, with room for the holes that are allowed and none to spare.
    #[test]
    fn large_table_does_what_a_queue_does(steps in prop::collection::vec(step(0x6000), 0..80), is_fixed: bool) {
        const BYTES: usize = 2 * 8 * 0x8000;
        let table = if is_fixed { Table::fixed(8, BYTES) } else { Table::new(8, BYTES) };
        compare(table, 8, steps)?;
    }
}

fn record(key: u8, len: usize, shared: u8) -> Record<2> {
    Record { shared: [Some([shared; 32]), None], body: [&[key, NO_KEY][..], &vec![7; len]].concat() }
}

fn keys(table: &Table<Bytes, 2>) -> Vec<u8> {
    table.iter().map(|view| view.body[0]).collect()
}

#[test]
fn bytes_are_bounded_and_the_oldest_go() {
    let mut table = Table::<Bytes, 2>::new(100, 100);
    (0..5).for_each(|key| table.put(None, &record(key, 14, 1), Use::Now)); // of 20 bytes each
    assert_eq!(keys(&table), [0, 1, 2, 3, 4]);
    table.put(None, &record(5, 15, 1), Use::Now);
    assert_eq!(keys(&table), [2, 3, 4, 5]);
    let old = table.find(2).map(|(place, _)| place);
    table.put(old, &record(2, 94, 1), Use::Same);
    assert_eq!(keys(&table), [2], "it fits alone");
    let old = table.find(2).map(|(place, _)| place);
    table.put(old, &record(2, 95, 1), Use::Now);
    assert_eq!((table.len(), table.keys()), (0, 0), "it does not fit at all");
}

#[test]
fn records_of_more_than_32_kib_are_not_kept() {
    let mut table = Table::<Bytes, 2>::new(100, 1 << 20);
    for used in [Use::Now, Use::Same] {
        for len in [0x7ffa, 0xfffa] {
            table.put(None, &record(1, 0x7ff9, 1), used);
            assert_eq!(table.log.len(), 0x7fff);
            let old = table.find(1).map(|(place, _)| place);
            table.put(old, &record(1, len, 1), used);
            assert_eq!((table.len(), table.log.len()), (0, 0));
        }
    }
}

/// Eight numbers: a ninth value takes that of an unused one, or stands in its record.
#[test]
fn numbers_of_shared_values_are_used_again() {
    let mut table = Table::<Bytes, 2>::new(16, 4096);
    (0..8).for_each(|n| table.put(None, &record(n, 0, n), Use::Now));
    assert_eq!(table.log.len(), 8 * 6);
    table.put(None, &record(8, 0, 8), Use::Now);
    assert_eq!(table.log.len(), 9 * 6 + 32, "all are in use");
    let third = table.find(3).map(|(place, _)| place).unwrap();
    table.remove(third);
    table.put(None, &record(9, 0, 9), Use::Now);
    assert_eq!(table.log.len(), 9 * 6 + 32, "the number of 3 was free");
    assert_eq!(table.shared.values().len(), 8);
    for n in (0..10).filter(|n| *n != 3) {
        let (place, _) = table.find(n).unwrap();
        assert_eq!(table.view(place).shared, [Some(&[n; 32]), None]);
    }
}

/// Both values of one record are new, and the first must not lose its number to the second.
#[test]
fn new_values_of_one_record_have_two_numbers() {
    let mut table = Table::<Bytes, 2>::new(1, 4096);
    for n in 0..20_u8 {
        let old = table.find(1).map(|(place, _)| place);
        let shared = [Some([2 * n; 32]), Some([2 * n + 1; 32])];
        table.put(old, &Record { shared, body: vec![1, NO_KEY] }, Use::Now);
        let (place, _) = table.find(1).unwrap();
        assert_eq!(table.view(place).shared.map(|value| value.copied()), shared);
        assert!(table.shared.values().len() <= 8);
    }
}

/// Whatever is used, the holes that it leaves are closed again, by steps that are small at any size.
#[test]
fn holes_never_take_more_than_an_eighth() {
    const COUNT: u32 = 20_000;
    let mut table = Table::<Numbers, 1>::new(COUNT as usize, 1 << 27);
    let record =
        |key: u32, len: usize| Record { shared: [None], body: [&key.to_be_bytes()[..], &vec![7; len]].concat() };
    (0..COUNT).for_each(|key| table.put(None, &record(key, 196), Use::Now));
    assert_eq!(table.log.live(), COUNT as usize * 203);
    assert!(table.log.len() < table.log.live() + COUNT as usize, "no more than the ends of chunks");
    let mut seed = 1_u32;
    let mut most = 0;
    for round in 0..3 * COUNT {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Every record in turn, any, or only a few of them.
        let key = [round % COUNT, seed % COUNT, seed % 100][(round / COUNT) as usize];
        let bytes = key.to_be_bytes();
        let place = table.find(&bytes).map(|(place, _)| place);
        table.put(place, &record(key, 190 + (seed >> 8) as usize % 12), Use::Now);
        most = most.max(table.log.len());
    }
    assert_eq!(table.len(), COUNT as usize);
    let live = table.log.live();
    assert!(most < live + live / 7 + 0x2_0000, "{most} for {live}");
}

#[derive(Debug)]
struct Numbers;

impl Kind<1> for Numbers {
    type Key<'a> = &'a [u8];
    const KEYS: usize = 1;

    fn key<'a>(view: &View<'a, 1>, _: usize) -> Option<&'a [u8]> {
        view.body.get(..4)
    }

    fn equals(one: &&[u8], other: &&[u8]) -> bool {
        one == other
    }
}

/// Also while records come and go, with many or few bytes each.
#[test]
fn small_table_is_swept_at_once() {
    let mut table = Table::<Numbers, 1>::new(8, 1 << 15);
    for key in 0..1000_u32 {
        table.put(None, &Record { shared: [None], body: [&key.to_be_bytes()[..], &[7; 426]].concat() }, Use::Now);
    }
    assert!(table.log.capacity() < 10 * 433, "{}", table.log.capacity());
}
