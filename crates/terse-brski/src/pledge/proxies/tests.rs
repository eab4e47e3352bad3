//! The order of proxies, on a virtual clock.

use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

use terse_testkit::rng::{SeededRng, seeds};
use terse_tls::crypto::CryptoError;

use super::*;

type Table = ProxyTable<u8>;

fn table(count: u32) -> Table {
    let mut table = Table::new();
    table.found(Instant(0), &(0..count).map(Proxy).collect::<Vec<_>>());
    table
}

/// Lets every attempt fail at once, until `end`, and returns when each began and through which proxy.
fn attempts(table: &mut Table, rng: &mut SeededRng, end: u64) -> Vec<(u64, u32)> {
    let mut begun = Vec::new();
    while let Some(now) = table.next_due().filter(|due| due.0 < end) {
        let (proxy, _) = table.begin(now, rng).expect("an attempt is due");
        begun.push((now.0, proxy.0));
        table.failed(now, rng, None);
    }
    begun
}

#[test]
fn attempts_are_3_to_5_seconds_apart_and_go_to_each_proxy_in_turn() {
    for seed in seeds(50) {
        let begun = attempts(&mut table(5), &mut SeededRng::new(seed), 60_000);
        let first: Vec<_> = begun.iter().take(5).map(|(_, proxy)| *proxy).collect();
        assert_eq!(first, [0, 1, 2, 3, 4], "seed {seed}");
        for pair in begun.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= 3_000, "seed {seed}: {pair:?}");
        }
        for pair in begun[..5].windows(2) {
            assert!(pair[1].0 - pair[0].0 <= 5_000, "seed {seed}: {pair:?}");
        }
    }
}

#[test]
fn the_back_off_of_a_proxy_doubles_to_an_hour() {
    for seed in seeds(20) {
        let begun = attempts(&mut table(1), &mut SeededRng::new(seed), 24 * 3_600_000);
        let mut backoff = 5_000;
        for pair in begun.windows(2) {
            let waited = pair[1].0 - pair[0].0;
            assert!((backoff * 3 / 4..=backoff).contains(&waited), "seed {seed}: {waited} of {backoff}");
            backoff = (backoff * 2).min(3_600_000);
        }
        assert_eq!(backoff, 3_600_000);
        assert!(begun.len() > 20);
    }
}

#[test]
fn each_proxy_backs_off_on_its_own() {
    let rng = &mut SeededRng::new(1);
    let mut table = table(1);
    attempts(&mut table, rng, 3_600_000);
    let now = Instant(3_600_000);
    table.found(now, &[Proxy(7)]);
    assert_eq!(table.next_due(), Some(now));
    assert_eq!(table.begin(now, rng), Some((Proxy(7), None)));
}

#[test]
fn a_change_of_the_link_ends_the_back_offs() {
    let rng = &mut SeededRng::new(2);
    let mut table = table(2);
    attempts(&mut table, rng, 3_600_000);
    let now = Instant(3_600_000);
    assert!(table.next_due() > Some(now));
    table.reset_backoffs(now);
    let begun = attempts(&mut table, rng, 3_620_000);
    assert_eq!(begun[0].0, now.0);
    assert!(begun.len() >= 3, "{begun:?}");
}

#[test]
fn a_registrar_that_is_waited_for_gives_way_to_others_and_has_its_turn() {
    let rng = &mut SeededRng::new(3);
    let mut table = table(2);
    assert_eq!(table.begin(Instant(0), rng), Some((Proxy(0), None)));
    table.wait(Instant(60_000), Box::new(42));
    let now = table.next_due().expect("the other proxy is there");
    assert!(now < Instant(5_001));
    assert_eq!(table.begin(now, rng), Some((Proxy(1), None)));
    table.wait(Instant(61_000), Box::new(43));
    assert_eq!(table.next_due(), Some(Instant(60_000)));
    table.reset_backoffs(now); // Retry-After counts nevertheless
    assert_eq!(table.next_due(), Some(Instant(60_000)));
    assert_eq!(table.begin(Instant(59_999), rng), None);
    assert_eq!(table.begin(Instant(61_000), rng), Some((Proxy(0), Some(Box::new(42)))));
}

#[test]
fn the_proxy_of_the_attempt_under_way_is_no_other_proxy() {
    let rng = &mut SeededRng::new(4);
    let mut table = table(1);
    table.begin(Instant(0), rng);
    assert_eq!(table.next_due(), None);
    table.failed(Instant(0), rng, None);
    assert!(table.next_due().is_some());
    table.gone(Proxy(0));
    assert_eq!(table.next_due(), None);
    assert_eq!(table.begin(Instant(1_000_000), rng), None);
}

#[test]
fn a_proxy_that_is_gone_makes_room_at_once_even_if_an_attempt_goes_through_it() {
    let rng = &mut SeededRng::new(7);
    let mut table = table(MAX_PROXIES as u32);
    assert_eq!(table.begin(Instant(0), rng), Some((Proxy(0), None)));
    table.gone(Proxy(0));
    table.found(Instant(0), &[Proxy(50), Proxy(51)]);
    let proxies = |table: &Table| table.entries.iter().map(|entry| entry.proxy.0).collect::<Vec<_>>();
    assert_eq!(proxies(&table), vec![0, 1, 2, 3, 4, 5, 6, 7, 50], "there is room for one");
    table.failed(Instant(0), rng, None);
    assert_eq!(proxies(&table), vec![1, 2, 3, 4, 5, 6, 7, 50]);
    // One that is found again meanwhile stays.
    let now = table.next_due().expect("proxies are there");
    table.begin(now, rng);
    table.gone(Proxy(1));
    table.found(now, &[Proxy(1)]);
    table.failed(now, rng, None);
    assert!(proxies(&table).contains(&1));
}

#[test]
fn a_flood_of_announcements_takes_no_untried_place_and_never_grows_the_table() {
    let rng = &mut SeededRng::new(5);
    let mut table = table(1);
    let mut tried = BTreeSet::new();
    for round in 0..500_u32 {
        let flood: Vec<_> = (0..20).map(|number| Proxy(1_000 + round * 20 + number)).collect();
        table.found(Instant(u64::from(round) * 10_000), &flood);
        assert_eq!(table.entries.len(), MAX_PROXIES);
        let now = table.next_due().expect("proxies are there").max(Instant(u64::from(round) * 10_000));
        let (proxy, _) = table.begin(now, rng).expect("an attempt is due");
        tried.insert(proxy);
        table.failed(now, rng, None);
        if round == 0 {
            assert_eq!(proxy, Proxy(0), "the first one had its turn");
        }
    }
    assert!(tried.len() > 400, "{}", tried.len());
}

#[test]
fn a_full_table_gives_up_the_longest_back_off_first_and_registrars_that_are_waited_for_last() {
    let rng = &mut SeededRng::new(6);
    let mut table = table(MAX_PROXIES as u32);
    let mut now = Instant(0);
    for number in 0..MAX_PROXIES as u32 {
        now = table.next_due().expect("proxies are there");
        assert_eq!(table.begin(now, rng).map(|(proxy, _)| proxy), Some(Proxy(number)));
        match number {
            3 => table.failed(now, rng, None),
            _ => table.wait(Instant(now.0 + 60_000), Box::new(0)),
        }
    }
    let proxies = |table: &Table| table.entries.iter().map(|entry| entry.proxy.0).collect::<Vec<_>>();
    table.found(now, &[Proxy(50)]);
    assert_eq!(proxies(&table), vec![0, 1, 2, 4, 5, 6, 7, 50]);
    // Nothing is dispensable before the new one had its turn.
    table.found(now, &[Proxy(51)]);
    assert_eq!(proxies(&table), vec![0, 1, 2, 4, 5, 6, 7, 50]);
    now = table.next_due().expect("proxies are there");
    assert_eq!(table.begin(now, rng), Some((Proxy(50), None)));
    table.wait(Instant(now.0 + 60_000), Box::new(0));
    // Registrars that answer 202 cannot keep others out: all are such now.
    table.found(now, &[Proxy(51)]);
    assert_eq!(proxies(&table).len(), MAX_PROXIES);
    assert!(proxies(&table).contains(&51));
}

#[test]
fn without_randomness_the_longest_intervals_count() {
    struct Broken;
    impl Rng for Broken {
        fn fill(&mut self, _: &mut [u8]) -> Result<(), CryptoError> {
            Err(CryptoError::RandomFailed)
        }
    }
    let mut table = table(2);
    table.begin(Instant(0), &mut Broken);
    table.failed(Instant(0), &mut Broken, None);
    assert_eq!(table.next_due(), Some(Instant(5_000)));
}
