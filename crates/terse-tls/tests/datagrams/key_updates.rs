//! KeyUpdates, tickets and data after the handshake, over a network that loses some of them (RFC 9147, 5.8.4 and 8).

use alloc::sync::Arc;

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::forge::KeyLogLines;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::{ApiMisuse, ContentType, Datagrams, Error, HandshakeType, ProtocolVersion};

use crate::modes::{CHAIN, mutual};
use crate::outcome::SEED;
use crate::wire::{Record, forge, listen, records};

fn setup() -> Setup {
    mutual(CHAIN).over(ProtocolVersion::TLS_1_3, Datagrams::default())
}

/// Two sides that are connected, with nothing on the way; and their secrets.
fn connected(mut setup: Setup) -> (DatagramPair, Arc<KeyLogLines>) {
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap();
    assert!(pair.client.is_connected() && pair.server.is_connected());
    (pair, log)
}

fn lost(_: &Datagram) -> Fate {
    Vec::new()
}

/// Sends data from a side, which must arrive.
fn carries(pair: &mut DatagramPair, from: Side) {
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
