//! After the handshake, keys are replaced (RFC 9846, 4.7.3; RFC 9147, 8). The side that begins asks the other side to
//! follow.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use super::{Cell, Feature, case};
use crate::datagrams::pair::Pair;
use crate::datagrams::records::records;
use crate::peer::Role;
use crate::pki::Side;
use crate::process::LIMIT;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls13("key_update_by_ours", |cell| key_update(cell, ours(cell))),
        Feature::dtls13("key_update_by_the_peer", |cell| key_update(cell, ours(cell).other())),
    ]
}

pub(super) const fn ours(cell: Cell) -> Side {
    match cell.role {
        Role::Client => Side::Client,
        Role::Server => Side::Server,
    }
}

/// Both directions use the next epoch soon after the acknowledgement of the KeyUpdate.
fn key_update(cell: Cell, by: Side) {
    let mut pair = Pair::in_process(cell.peer, cell.role, &cell.case(&case()));
    let mut words = 0;
    exchange(&mut pair, &mut words);
    for round in 1..=3 {
        match by {
            Side::Client => pair.client.update_keys(),
            Side::Server => pair.server.update_keys(),
        }
        let has_new_keys = |pair: &Pair, side| latest_epoch(pair, side) == (3 + round) % 4;
        let follow = |pair: &Pair| [Side::Client, Side::Server].iter().all(|side| has_new_keys(pair, *side));
        exchange_until(&mut pair, &mut words, "new keys of both sides", follow);
    }
    pair.close();
}

/// Sends words each way until `is_done`, which is about `what`, with pauses, since acknowledgements may be delayed.
pub(super) fn exchange_until(pair: &mut Pair, words: &mut usize, what: &str, is_done: impl Fn(&Pair) -> bool) {
    let start = Instant::now();
    while !is_done(pair) {
        assert!(start.elapsed() < LIMIT, "after {words} words each way: no {what}");
        exchange(pair, words);
        thread::sleep(PAUSE);
    }
}

/// The time between two words.
const PAUSE: Duration = Duration::from_millis(20);

/// Sends another word each way, the one after the first `words`.
pub(super) fn exchange(pair: &mut Pair, words: &mut usize) {
    *words += 1;
    let [ping, pong] = ["ping", "pong"].map(|word| format!("{word} {words}\n").into_bytes());
    pair.client.send(&ping);
    if pair.server.echoes() {
        return pair.client.expect(&ping);
    }
    pair.server.expect(&ping);
    pair.server.send(&pong);
    pair.client.expect(&pong);
}

/// Returns the two low bits of the epoch of a side's latest record.
fn latest_epoch(pair: &Pair, side: Side) -> u16 {
    let passed = pair.relay.passed();
    let latest = passed.iter().rfind(|datagram| datagram.side == side).expect("it has said something");
    records(&latest.bytes, 0).expect("records").last().expect("a record").epoch
}
