//! These tests show what is acknowledged, when, and what is sent again for it (RFC 9147, 7).

use std::collections::{BTreeMap, BTreeSet};

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::{ContentType, Datagrams, Defence, Error, ProtocolVersion};

use super::modes::{CHAIN, SIZES, mutual};
use super::outcome::SEED;
use super::wire::{Record, forge, listen, records};

fn sized(chain: &str, max_datagram: usize) -> Setup {
    mutual(chain).over(ProtocolVersion::TLS_1_3, Datagrams::default().max_datagram(max_datagram))
}

/// Runs a handshake over a network with this `fate`, and opens what was sent.
fn run(setup: &Setup, fate: impl FnMut(&Datagram) -> Fate) -> (DatagramPair, Vec<Record>) {
    let mut setup = setup.clone();
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    pair.run(fate).unwrap();
    assert!(pair.client.is_connected() && pair.server.is_connected());
    let records = records(&pair, &log);
    (pair, records)
}

/// Returns a fate that loses datagrams by their number.
fn without(lost: &[usize]) -> impl FnMut(&Datagram) -> Fate {
    |datagram| if lost.contains(&datagram.number) { Vec::new() } else { datagram.arrives() }
}

/// A byte of a message: sender, epoch, message and place.
type Byte = (usize, u64, u16, usize);

fn bytes_of(record: &Record) -> impl Iterator<Item = Byte> {
    let (from, epoch) = (record.from as usize, record.number.0);
    record
        .parts()
        .into_iter()
        .flat_map(move |part| (part.start..part.end).map(move |at| (from, epoch, part.message_seq, at)))
}

/// Returns what was sent more than once although its first copy was not in the datagram that is `lost`.
fn sent_for_nothing(records: &[Record], lost: usize) -> BTreeSet<Byte> {
    let mut datagrams = BTreeMap::<Byte, Vec<usize>>::new();
    for record in records {
        bytes_of(record).for_each(|byte| datagrams.entry(byte).or_default().push(record.datagram));
    }
    datagrams.into_iter().filter(|(_, sent)| sent.len() > 1 && sent[0] != lost).map(|(byte, _)| byte).collect()
}

/// Each datagram of each handshake is lost: no byte that the peer has is sent again.
#[test]
fn only_what_is_missing_is_sent_again() {
    let mut counts = [0; 4];
    for (chain, size) in
        [CHAIN, "rsa2048x3"].into_iter().flat_map(|chain| [79].into_iter().chain(SIZES).map(move |size| (chain, size)))
    {
        let setup = sized(chain, size);
        let (_, good) = run(&setup, Datagram::arrives);
        for (lost, epochs) in epochs_by_datagram(&good).into_iter().enumerate() {
            let (pair, records) = run(&setup, without(&[lost]));
            let again = sent_for_nothing(&records, lost);
            let of = good.iter().find(|record| record.datagram == lost).expect("it has records");
            let is_alone =
                good.iter().all(|record| record.datagram == lost || (record.from, record.sent) != (of.from, of.sent));
            let what = format!("{chain}, {size}: {lost} is lost, {again:?}");
            let case = if epochs.contains(&0) && of.from == Side::Client {
                // There are no keys with which a ClientHello could be acknowledged, nor does its server keep anything.
                assert!(again.iter().all(|byte| (byte.0, byte.1) == (Side::Client as usize, 0)), "{what}");
                0
            } else if let Some(numbers) = of.acknowledges() {
                // An ACK itself cannot be acknowledged.
                let unheard =
                    good.iter().filter(|record| numbers.contains(&record.number) && record.from == Side::Client);
                assert!(again.is_subset(&unheard.flat_map(bytes_of).collect()), "{what}");
                1
            } else if is_alone {
                2 // a whole flight: the peer asks with its own, which this side has
            } else {
                // Records that came under keys that were not there yet are kept, but not without end.
                let dropped = pair.client.summary().dropped.wrong_epoch as usize;
                assert!(again.len() <= dropped * size, "{what}");
                assert!(again.is_empty() || (epochs.contains(&0) && chain != CHAIN), "{what}");
                3
            };
            counts[case] += 1;
        }
    }
    println!("{counts:?} first flights, acknowledgements, whole flights, parts of flights");
    assert!(counts.into_iter().all(|count| count > 3) && counts[3] > 200);
}

/// Returns the epochs of the records of each datagram.
fn epochs_by_datagram(records: &[Record]) -> Vec<BTreeSet<u64>> {
    let mut epochs = Vec::new();
    for record in records {
        epochs.resize_with(record.datagram + 1, BTreeSet::new);
        epochs[record.datagram].insert(record.number.0);
    }
    epochs
}

/// Returns the protected datagrams of the server's flight.
fn of_server(records: &[Record]) -> Vec<usize> {
    let is_one = |record: &&Record| record.from == Side::Server && record.number.0 == 2;
    let mut datagrams: Vec<_> = records.iter().filter(is_one).map(|record| record.datagram).collect();
    datagrams.dedup();
    datagrams
}

/// Returns when each ACK of a side was sent, and what is in it.
fn acks(records: &[Record], from: Side) -> Vec<(u64, Vec<(u64, u64)>)> {
    let of_side = records.iter().filter(|record| record.from == from);
    of_side.filter_map(|record| Some((record.sent, record.acknowledges()?))).collect()
}

/// A side acknowledges at once (RFC 9147, 7.1).
#[test]
fn a_gap_is_told_at_once() {
    let setup = sized(CHAIN, 228);
    let (_, good) = run(&setup, Datagram::arrives);
    let flight = of_server(&good);
    for lost in &flight[1..flight.len() - 1] {
        let (pair, records) = run(&setup, without(&[*lost]));
        let (sent, numbers) = acks(&records, Side::Client).swap_remove(0);
        assert_eq!(sent, 2 * DELAY, "when the one after it came");
        let before: Vec<_> = good
            .iter()
            .filter(|record| {
                flight.contains(&record.datagram) && record.datagram != *lost && record.datagram <= lost + 1
            })
            .map(|record| record.number)
            .collect();
        assert_eq!(numbers, before, "{lost}");
        let again: Vec<_> =
            records.iter().filter(|record| record.from == Side::Server && record.sent == 3 * DELAY).collect();
        assert_eq!(again.iter().map(|record| record.datagram).collect::<BTreeSet<_>>().len(), 1, "{lost}");
        assert_eq!(pair.client.summary().handshake_ms, 4 * DELAY, "no timer had to run out");
        assert_eq!(pair.server.summary().retransmissions, 1);
    }
}

/// A side acknowledges after a quarter of the timer (RFC 9147, 7.1).
#[test]
fn a_flight_that_breaks_off_is_told_after_a_quarter_of_the_timer() {
    for (initial_timeout, delay, quarter) in [(1_000, DELAY, 250), (9_000, DELAY, 2_250), (9_000, 700, 2_250)] {
        let mut setup = sized(CHAIN, 228);
        for side in Side::BOTH {
            setup.common(side).edit_datagrams(|datagrams| datagrams.initial_timeout = initial_timeout);
        }
        let (_, good) = run(&setup, Datagram::arrives);
        let last = of_server(&good).pop().unwrap();
        let (pair, records) = run(&setup, |datagram| match datagram.number == last {
            true => Vec::new(),
            false => datagram.arrives_after(delay),
        });
        let (sent, numbers) = acks(&records, Side::Client).swap_remove(0);
        // The client has measured a round trip by then: 2 delays, and 4 times half of them.
        let quarter = if initial_timeout > 1_000 { (6 * delay).max(1_000) / 4 } else { quarter };
        assert_eq!(sent, 2 * delay + quarter, "{initial_timeout}, {delay}");
        let arrived = good.iter().filter(|record| {
            record.from == Side::Server && (1..last).contains(&record.datagram) && record.sent == DELAY
        });
        assert_eq!(numbers, arrived.map(|record| record.number).collect::<Vec<_>>());
        assert_eq!(pair.client.summary().handshake_ms, 4 * delay + quarter);
        assert_eq!(pair.server.summary().retransmissions, 1);
    }
}

/// RFC 9147, 7.1: without keys for what came, a client acknowledges nothing, and says that something came. What it has is
/// not sent again.
#[test]
fn without_the_server_hello_an_empty_ack_asks_for_it() {
    for size in [99, 228] {
        let setup = sized(CHAIN, size);
        let (_, good) = run(&setup, Datagram::arrives);
        let hello: Vec<_> = epochs_by_datagram(&good)
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, epochs)| epochs.contains(&0))
            .map(|(number, _)| number)
            .filter(|number| good.iter().any(|record| record.datagram == *number && record.from == Side::Server))
            .collect();
        let (pair, records) = run(&setup, without(&hello));
        let acks = acks(&records, Side::Client);
        assert_eq!(acks[0], (2 * DELAY + 250, vec![]), "{size}");
        let answer: Vec<_> =
            records.iter().filter(|record| record.from == Side::Server && record.sent == 3 * DELAY + 250).collect();
        assert!(!answer.is_empty() && answer.iter().all(|record| record.number.0 == 0), "{size}: {answer:?}");
        assert!(pair.client.summary().handshake_ms < 1_000, "no timer had to run out");
    }
}

/// Few records are kept whose keys are not there yet. The rest is asked for again, once.
#[test]
fn what_was_not_kept_is_not_acknowledged() {
    let setup = sized("rsa2048x3", 228);
    let (pair, records) = run(&setup, without(&[1]));
    let dropped = pair.client.summary().dropped.wrong_epoch as usize;
    assert!(dropped > 0, "the test needs a longer flight");
    let again: BTreeMap<Byte, usize> = records
        .iter()
        .filter(|record| record.from == Side::Server)
        .flat_map(bytes_of)
        .fold(BTreeMap::new(), |mut counts, byte| {
            *counts.entry(byte).or_default() += 1;
            counts
        });
    assert!(again.values().all(|count| *count <= 2));
}

/// A server that is connected, and the records of the client's last flight in a datagram of its own.
fn after_the_last_flight() -> (DatagramPair, impl FnMut(u64) -> Vec<u8>) {
    let mut setup = sized(CHAIN, 1_232);
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap();
    let records = records(&pair, &log);
    let flight = records.iter().find(|record| record.from == Side::Client && record.number.0 == 2).expect("one record");
    let content = flight.content.clone();
    let mut client = forge(&pair, &log, Side::Client, 2).expect("keys of the handshake");
    let again = move |number| client.at(number).record(ContentType::HANDSHAKE, &content);
    (pair, again)
}

/// Returns how many datagrams the server answers with, at once or later.
fn answer(pair: &mut DatagramPair, datagram: Vec<u8>) -> usize {
    let before = pair.sent.len();
    pair.deliver(Side::Server, datagram).unwrap();
    pair.run_well().unwrap();
    pair.sent.len() - before
}

/// The last flight is acknowledged for twice the longest life of a segment (RFC 9147, 5.8.1), which is two minutes (RFC
/// 9293, 3.4.1).
#[test]
fn the_last_flight_is_acknowledged_again_for_four_minutes() {
    for (seconds, is_answered) in [(0, true), (1, true), (60, true), (239, true), (241, false), (100_000, false)] {
        let (mut pair, mut again) = after_the_last_flight();
        pair.now.monotonic.0 += 1_000 * seconds;
        for number in [5, 6] {
            assert_eq!(answer(&mut pair, again(number)), usize::from(is_answered), "after {seconds} s");
        }
        assert_eq!(answer(&mut pair, again(5)), 0, "a record that came before");
        assert_eq!(pair.failure(Side::Server), None);
    }
}

/// The keys of the handshake go when a new epoch has their two bits: four KeyUpdates later.
#[test]
fn the_last_flight_is_forgotten_before_its_bits_come_again() {
    for (updates, is_answered) in [(0, 1), (1, 1), (2, 1), (3, 0), (4, 0)] {
        let (mut pair, mut again) = after_the_last_flight();
        for _ in 0..updates {
            pair.client.update_keys(false).unwrap();
            pair.run_well().unwrap();
        }
        assert_eq!(answer(&mut pair, again(5)), is_answered, "{updates} updates");
        pair.send(Side::Client, b"data").unwrap();
        pair.run_well().unwrap();
        assert_eq!(pair.received[Side::Server as usize], [b"data"]);
    }
}

/// The last ACK is lost, again and again: the client asks, with what is not acknowledged, and gives up in the end.
#[test]
fn the_last_ack_is_sent_again_when_the_client_asks() {
    for losses in 0..=8 {
        let mut pair = sized(CHAIN, 228).datagram_pair(SEED);
        let (mut lost, mut acks) = (0, Vec::new());
        let _ = pair.run(|datagram| {
            let is_ack = datagram.from == Side::Server && datagram.bytes[0] & 0b1110_0011 == 0b0010_0011;
            if is_ack {
                acks.push(datagram.sent);
            }
            if is_ack && lost < losses {
                lost += 1;
                return Vec::new();
            }
            datagram.arrives()
        });
        assert!(pair.server.is_connected());
        assert_eq!(pair.client.is_connected(), losses < 8, "{losses} losses");
        assert_eq!(pair.failure(Side::Client), (losses == 8).then_some(&Error::TimedOut));
        let times: Vec<_> =
            [60, 1_060, 3_060, 7_060, 15_060, 31_060, 63_060, 123_060].into_iter().take(losses + 1).collect();
        assert_eq!(acks, times);
    }
}

/// Without acknowledgements of parts, flights go again as they do in DTLS 1.2: whole. But the last one is acknowledged.
#[test]
fn without_partial_acks_flights_are_sent_again_whole() {
    for lost in 1..9 {
        let mut setup = sized(CHAIN, 228);
        for side in Side::BOTH {
            setup.common(side).edit_datagrams(|datagrams| datagrams.without = Some(Defence::PartialAcks));
        }
        let (pair, records) = run(&setup, without(&[lost]));
        assert!(!sent_for_nothing(&records, lost).is_empty(), "{lost}");
        assert!(acks(&records, Side::Client).is_empty());
        assert!(pair.client.summary().retransmissions + pair.server.summary().retransmissions > 1);
    }
}

/// What fills a gap from its beginning is in its place, though something is still missing after it.
#[test]
fn what_fills_a_gap_is_no_gap() {
    let setup = sized("rsa2048x3", 228);
    let (_, good) = run(&setup, Datagram::arrives);
    let lost = &of_server(&good)[2..5];
    // Sent again in vain, and then when the last ACK is long ago: the second ACK may be older than what was sent again.
    let (pair, records) = run(&setup, |datagram| {
        let is_again = datagram.from == Side::Server && (3 * DELAY..1_000).contains(&datagram.sent);
        if is_again || lost.contains(&datagram.number) { Vec::new() } else { datagram.arrives() }
    });
    let acks: Vec<_> = acks(&records, Side::Client).into_iter().map(|(sent, _)| sent).collect();
    assert_eq!(acks, [2 * DELAY, 2 * DELAY + 250]);
    assert_eq!(pair.server.summary().retransmissions, 2 * 3);
}
