//! KeyUpdates, tickets and data after the handshake, over a network that loses some of them (RFC 9147, 5.8.4 and 8).

use alloc::sync::Arc;

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::forge::KeyLogLines;
use terse_testkit::pair::Side;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::{ApiMisuse, ContentType, Datagrams, Error, HandshakeType, ProtocolVersion};

use super::modes::{CHAIN, mutual};
use super::outcome::SEED;
use super::wire::{Record, Tap, listen, records};

pub(crate) fn setup() -> Setup {
    mutual(CHAIN).over(ProtocolVersion::TLS_1_3, Datagrams::default())
}

/// Two sides that are connected, with nothing on the way; and their secrets.
pub(crate) fn connected(mut setup: Setup) -> (DatagramPair, Arc<KeyLogLines>) {
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap();
    assert!(pair.client.is_connected() && pair.server.is_connected());
    (pair, log)
}

/// Sends data from a side, which must arrive.
pub(crate) fn carries(pair: &mut DatagramPair, from: Side) {
    let (to, data) = (from.other() as usize, pair.sent.len().to_be_bytes());
    pair.send(from, &data).unwrap();
    pair.run_well().unwrap();
    assert_eq!(pair.received[to].last(), Some(&data.to_vec()));
}

/// The epochs that a side sent data under, each once.
fn epochs_of_data(records: &[Record], from: Side) -> Vec<u64> {
    let is_data = |record: &&Record| record.from == from && record.content_type == ContentType::APPLICATION_DATA;
    let mut epochs: Vec<_> = records.iter().filter(is_data).map(|record| record.number.0).collect();
    epochs.dedup();
    epochs
}

fn of_kind(records: &[Record], kind: HandshakeType) -> Vec<&Record> {
    records.iter().filter(|record| record.parts().iter().any(|part| part.kind == kind)).collect()
}

/// RFC 9147, 8: the new key is not used before the KeyUpdate was acknowledged, nor another one sent.
#[test]
fn a_new_key_is_used_once_the_peer_has_it() {
    for (side, requests) in [(Side::Client, false), (Side::Client, true), (Side::Server, false), (Side::Server, true)] {
        let (mut pair, log) = connected(setup());
        for _ in 0..9 {
            pair.side(side).0.update_keys(requests).unwrap();
            assert_eq!(pair.side(side).0.update_keys(false), Err(ApiMisuse::KeyUpdateUnderWay.into()));
            pair.send(side, b"under the old key").unwrap();
            pair.run_well().unwrap();
            carries(&mut pair, side);
            carries(&mut pair, side.other());
        }
        let records = records(&pair, &log);
        assert_eq!(epochs_of_data(&records, side), (3..=12).collect::<Vec<_>>());
        let of_peer = if requests { (4..=12).collect() } else { vec![3] };
        assert_eq!(epochs_of_data(&records, side.other()), of_peer);
        assert_eq!(of_kind(&records, HandshakeType::KEY_UPDATE).len(), if requests { 18 } else { 9 });
        for side in Side::BOTH {
            assert_eq!(pair.side(side).0.summary().dropped.total(), 0);
        }
    }
}

#[test]
fn both_sides_ask_at_once() {
    let (mut pair, log) = connected(setup());
    for _ in 0..5 {
        for side in Side::BOTH {
            pair.side(side).0.update_keys(true).unwrap();
        }
        pair.run_well().unwrap();
        // An answer that had to wait for an ACK goes out with the next data.
        for side in Side::BOTH {
            carries(&mut pair, side);
            carries(&mut pair, side);
        }
    }
    let records = records(&pair, &log);
    for side in Side::BOTH {
        let epochs = epochs_of_data(&records, side);
        assert_eq!(*epochs.last().unwrap(), 3 + 2 * 5, "one of its own each time, and one that was asked for");
    }
}

/// The answer to a KeyUpdate goes into the datagram that acknowledges it.
#[test]
fn an_answer_costs_no_datagram() {
    let (mut pair, _) = connected(setup());
    let before = pair.sent.len();
    pair.client.update_keys(true).unwrap();
    pair.run_well().unwrap();
    assert_eq!(pair.sent.len() - before, 3, "KeyUpdate; ACK and KeyUpdate; ACK");
}

/// The first datagrams that carry a KeyUpdate, or its ACK, are lost: it is sent again, and no new key is used before.
#[test]
fn a_lost_key_update_is_sent_again() {
    for (losses, of_ack) in (0..=7).flat_map(|losses| [(losses, false), (losses, true)]) {
        let (mut pair, log) = connected(setup());
        let start = pair.now.monotonic.0;
        pair.client.update_keys(false).unwrap();
        pair.send(Side::Server, b"meanwhile").unwrap();
        let mut count = 0;
        let lossy = |datagram: &Datagram| {
            let is_it = (datagram.from == Side::Client) != of_ack && datagram.bytes.len() != DATA_LEN;
            count += usize::from(is_it);
            if is_it && count <= losses { Vec::new() } else { datagram.arrives() }
        };
        pair.run(lossy).unwrap();
        assert!(pair.client.is_connected() && pair.server.is_connected());
        let took = pair.now.monotonic.0 - start;
        assert_eq!(took, [0, 1, 3, 7, 15, 31, 63, 123][losses] * 1_000 + 2 * DELAY);
        carries(&mut pair, Side::Client);
        assert_eq!(epochs_of_data(&records(&pair, &log), Side::Client), [4]);
    }
}

/// The length of `b"meanwhile"` in a datagram.
const DATA_LEN: usize = 2 + 9 + 1 + 16;

/// RFC 9147, 8: a KeyUpdate that nobody acknowledges ends the connection: its sender could never change keys again.
#[test]
fn a_key_update_that_is_never_acknowledged_ends_the_connection() {
    for side in Side::BOTH {
        let (mut pair, _) = connected(setup());
        pair.side(side).0.update_keys(false).unwrap();
        let start = pair.now.monotonic.0;
        pair.run(|datagram| if datagram.from == side { datagram.arrives() } else { Vec::new() }).unwrap_err();
        assert_eq!(pair.failure(side), Some(&Error::TimedOut));
        assert_eq!(pair.now.monotonic.0 - start, 183_000);
        assert_eq!(pair.failure(side.other()), None, "it has acknowledged it each time");
    }
}

/// What a network makes of a datagram from which it takes the records that `is_lost` says, and forwards the others.
fn lossy(tap: &mut Tap, datagram: &Datagram, mut is_lost: impl FnMut(&Record) -> bool) -> Fate {
    let kept = tap.open(datagram).into_iter().filter(|(record, _)| !is_lost(record));
    let bytes: Vec<_> = kept.flat_map(|(_, range)| &datagram.bytes[range]).copied().collect();
    if bytes.is_empty() { Vec::new() } else { vec![(DELAY, bytes)] }
}

fn is_ticket(record: &Record) -> bool {
    record.parts().iter().any(|part| part.kind == HandshakeType::NEW_SESSION_TICKET)
}

/// A ticket is nothing that the connection rests on.
#[test]
fn a_ticket_that_is_never_acknowledged_is_given_up() {
    let mut setup = setup().with_resumption().keeping();
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    let (mut tap, mut tickets) = (Tap::new(&log), Vec::new());
    pair.run(|datagram| {
        lossy(&mut tap, datagram, |record| {
            if is_ticket(record) {
                tickets.push(record.sent);
            }
            is_ticket(record)
        })
    })
    .unwrap();
    assert_eq!(tickets, [60, 1_060, 3_060, 7_060, 15_060, 31_060, 63_060, 123_060]);
    assert_eq!((pair.server.poll_timeout(), pair.now.monotonic.0), (None, 183_060));
    for side in Side::BOTH {
        pair.side(side).0.update_keys(false).unwrap();
        pair.run_well().unwrap();
        carries(&mut pair, side);
    }
}

/// Each has as many attempts as any, whatever was given up before or is on the way.
#[test]
fn a_ticket_does_not_use_up_the_attempts_of_a_key_update() {
    for after in [500, 2_000, 20_000, 100_000, 180_000, 400_000] {
        let mut setup = setup().with_resumption().keeping();
        let log = listen(&mut setup);
        let mut pair = setup.datagram_pair(SEED);
        let mut tap = Tap::new(&log);
        let (mut updates, mut first) = (0, None);
        let mut fate = |datagram: &Datagram| {
            lossy(&mut tap, datagram, |record| {
                let is_update = record.parts().iter().any(|part| part.kind == HandshakeType::KEY_UPDATE);
                updates += usize::from(is_update);
                // The KeyUpdate gets through at the sixth attempt, and only then a ticket.
                let start = *first.get_or_insert(record.sent);
                updates < 6 && (is_update || (is_ticket(record) && record.sent >= start))
            })
        };
        while pair.step(&mut fate, 60 + after).is_some() {}
        pair.now.monotonic.0 = 60 + after;
        pair.server.update_keys(false).unwrap();
        pair.run(&mut fate).unwrap();
        assert!(pair.server.is_connected(), "{after}");
        for side in Side::BOTH {
            carries(&mut pair, side);
        }
        let records = records(&pair, &log);
        assert_eq!(epochs_of_data(&records, Side::Server), [4]);
        assert!(!of_kind(&records, HandshakeType::NEW_SESSION_TICKET).is_empty());
    }
}

/// A KeyUpdate that overtakes a ticket waits for it: its sender keeps the old key for as long, so that nothing is lost.
#[test]
fn a_key_update_that_overtakes_a_ticket_loses_nothing() {
    for delay in [100, 900, 3_000, 30_000] {
        let mut setup = setup().with_resumption().keeping();
        let log = listen(&mut setup);
        let mut pair = setup.datagram_pair(SEED);
        let mut tap = Tap::new(&log);
        let mut fate = |datagram: &Datagram| {
            let mut late = Vec::new();
            let mut fate = lossy(&mut tap, datagram, |record| {
                if is_ticket(record) {
                    late.push(record.number);
                }
                is_ticket(record)
            });
            if !late.is_empty() {
                // All of the datagram again: what came already is a replay.
                fate.extend(datagram.arrives_after(delay));
            }
            fate
        };
        while !pair.server.is_connected() {
            pair.step(&mut fate, u64::MAX).unwrap().unwrap();
        }
        pair.server.update_keys(false).unwrap();
        let mut expected = Vec::new();
        for number in 0..40_u8 {
            pair.send(Side::Server, &[number]).unwrap();
            expected.push(vec![number]);
            let end = pair.now.monotonic.0 + delay / 10;
            while pair.step(&mut fate, end).is_some() {}
            pair.now.monotonic.0 = end;
        }
        pair.run(&mut fate).unwrap();
        assert_eq!(pair.received[Side::Client as usize], expected, "{delay}");
        assert_eq!(epochs_of_data(&records(&pair, &log), Side::Server), [3, 4], "{delay}");
    }
}

/// When the first copy of a record arrives, its epoch, and what it says.
type Arrival = (u64, u64, Vec<u8>);

/// A network that loses, doubles and reorders, and notes what arrives: of data, and of KeyUpdates.
struct Network {
    percent: usize,
    rng: SeededRng,
    tap: Tap,
    data: [Vec<Arrival>; 2],
    updates: [Vec<Arrival>; 2],
}

impl Network {
    fn fate(&mut self, datagram: &Datagram) -> Fate {
        let mut copies = Vec::new();
        for _ in 0..1 + self.rng.below(10) / 9 {
            if self.rng.below(100) >= self.percent {
                copies.extend(datagram.arrives_after(DELAY + self.rng.below(60) as u64));
            }
        }
        let first = copies.iter().map(|(delay, _)| datagram.sent + delay).min();
        let to = datagram.from.other() as usize;
        for (record, _) in self.tap.open(datagram) {
            let is_update = record.parts().iter().any(|part| part.kind == HandshakeType::KEY_UPDATE);
            let Some(time) = first else { continue };
            match record.content_type {
                ContentType::APPLICATION_DATA => self.data[to].push((time, record.number.0, record.content)),
                ContentType::HANDSHAKE if is_update => self.updates[to].push((time, record.number.0, record.content)),
                _ => {}
            }
        }
        copies
    }

    /// Whether the data may have come after two changes of keys: one epoch before the one in force is kept.
    fn is_overtaken(&self, side: Side, (time, epoch, _): &Arrival) -> bool {
        self.updates[side as usize].iter().any(|(came, of, _)| *of > *epoch && came <= time)
    }
}

/// Data, KeyUpdates and answers to them both ways, at random: whatever arrives is received, once, and nobody gives up.
#[test]
fn traffic_over_a_bad_network() {
    let mut overtaken = 0;
    for (percent, seed) in [0, 5, 15, 25].into_iter().flat_map(|percent| (0..8).map(move |seed| (percent, seed))) {
        let mut setup = setup().with_resumption().keeping();
        let log = listen(&mut setup);
        let mut pair = setup.datagram_pair(seed);
        pair.run_well().unwrap();
        let (tap, mut rng) = (Tap::new(&log), SeededRng::new(percent << 10 | seed));
        let mut network = Network {
            percent: percent as usize,
            rng: rng.clone(),
            tap,
            data: Default::default(),
            updates: Default::default(),
        };
        pair.sent.iter().for_each(|datagram| drop(network.tap.open(datagram)));
        let mut updates = 0;
        for number in 0..300_u16 {
            let side = Side::BOTH[rng.below(2)];
            if rng.below(10) == 0 {
                updates += usize::from(pair.side(side).0.update_keys(rng.below(2) == 0).is_ok());
            } else {
                pair.send(side, &number.to_be_bytes()).unwrap();
            }
            let end = pair.now.monotonic.0 + rng.below(100 + 20 * percent as usize) as u64;
            while pair.step(&mut |datagram| network.fate(datagram), end).is_some() {}
            pair.now.monotonic.0 = end;
        }
        let what = format!("{percent} %, seed {seed}, {updates} updates");
        pair.run(|datagram| network.fate(datagram)).unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
        assert!(updates >= 5, "{what}");
        for side in Side::BOTH {
            let mut received = pair.received[side as usize].clone();
            for arrival in &network.data[side as usize] {
                match received.iter().position(|data| *data == arrival.2) {
                    Some(place) => drop(received.swap_remove(place)),
                    None => {
                        overtaken += 1;
                        assert!(network.is_overtaken(side, arrival), "{what}, {side:?}: {arrival:?}");
                    }
                }
            }
            assert!(received.is_empty(), "{what}, {side:?}: {received:?}");
            assert_eq!(pair.side(side).0.poll_timeout(), None, "{what}, {side:?}");
        }
        for side in Side::BOTH {
            carries(&mut pair, side);
        }
    }
    println!("{overtaken} were overtaken by two changes of keys");
    assert!(overtaken < 20, "{overtaken}");
}

/// The client's flight comes when the server's is to be sent again, and is not yet.
#[test]
fn a_ticket_takes_the_place_of_a_flight_that_waits() {
    let bytes = |is_late| {
        let mut pair = setup().with_resumption().keeping().datagram_pair(SEED);
        while !pair.client.is_connected() {
            pair.step(&mut Datagram::arrives, u64::MAX).unwrap().unwrap();
        }
        let mut flight = Vec::new();
        pair.transmit(Side::Client, &mut |datagram: &Datagram| {
            flight.push(datagram.bytes.clone());
            Vec::new()
        });
        if is_late {
            pair.now.monotonic.0 = pair.server.poll_timeout().unwrap().0;
            let now = pair.now;
            pair.server.handle_timeout(now).unwrap();
        }
        flight.into_iter().for_each(|datagram| pair.deliver(Side::Server, datagram).unwrap());
        pair.run_well().unwrap();
        pair.server.summary().sent.post_handshake_bytes
    };
    assert_eq!(bytes(true), bytes(false));
}

/// Who has said goodbye sends nothing more, but still acknowledges.
#[test]
fn keys_change_towards_a_side_that_has_closed() {
    for side in Side::BOTH {
        let (mut pair, _) = connected(setup());
        pair.side(side.other()).0.close();
        pair.run_well().unwrap();
        pair.side(side).0.update_keys(true).unwrap();
        pair.run_well().unwrap();
        assert_eq!(pair.side(side).0.poll_timeout(), None);
        carries(&mut pair, side);
        pair.side(side).0.update_keys(false).unwrap();
        assert_eq!(pair.side(side.other()).0.update_keys(false), Err(ApiMisuse::Closed.into()));
    }
}

/// A server that says goodbye at once, and whose ACK comes later than that.
#[test]
fn the_last_flight_is_acknowledged_after_the_close() {
    let mut pair = setup().datagram_pair(SEED);
    while !pair.server.is_connected() {
        pair.step(&mut Datagram::arrives, u64::MAX).unwrap().unwrap();
    }
    pair.transmit(Side::Server, &mut |datagram: &Datagram| datagram.arrives_after(3 * DELAY));
    pair.server.close();
    pair.run_well().unwrap();
    assert!(pair.client.is_connected() && pair.client.poll_timeout().is_none());
    assert_eq!(pair.client.summary().retransmissions, 0);
}
