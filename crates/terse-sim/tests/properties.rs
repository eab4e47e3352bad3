//! These properties hold on every link, whatever it does to packets: nothing is lost without a cause, nothing is
//! invented, the balances agree with the link, the same seed gives the same bytes, and no sender exceeds its rate or
//! duty cycle.

mod world;

use core::time::Duration;

use proptest::prelude::*;
use terse_sim::Time;
use terse_sim::ledger::{Kind, Record};
use terse_sim::link::{Direction, Framing, Link};
use world::{Scenario, World, links, scenarios};

/// Returns how many bytes a capture has before each frame that are not on the link.
fn capture_header(link: &Link) -> usize {
    if matches!(link.framing, Framing::LoraWan(_)) { 15 } else { 0 }
}

/// Returns when a frame began and ended.
fn span(link: &Link, record: &Record) -> (Time, Time) {
    let len = record.layers.sum();
    let on_air = match &link.framing {
        Framing::LoraWan(options) => options.time_on_air(record.direction, len),
        framing => {
            let before = if matches!(framing, Framing::Ieee802154(_)) { 6 } else { 0 };
            let rate = link.path(record.direction).rate;
            rate.map_or(Duration::ZERO, |rate| {
                Duration::from_nanos((8_000_000_000 * (len + before) as u64).div_ceil(rate))
            })
        }
    };
    (record.at, record.at + on_air)
}

/// Returns the frames of one direction, in the order of time.
fn sent(world: &World, direction: Direction) -> Vec<Record> {
    let records = world.network.ledger(world.link).records().iter();
    let mut records: Vec<_> = records.filter(|record| record.direction == direction).copied().collect();
    records.sort_by_key(|record| record.at);
    records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_books_are_what_was_on_the_link(scenario in scenarios()) {
        let world = scenario.run();
        let total = world.network.ledger(world.link).total();
        let captured = world.network.captured();
        let header = capture_header(&scenario.link);
        let bytes: usize = captured.entries().iter().map(|entry| entry.bytes.len() - header).sum();
        let frames = world.network.conservation().frames.sent;
        prop_assert_eq!((bytes, captured.entries().len() as u64), (total.bytes(), total.frames));
        prop_assert_eq!((frames.bytes, frames.number), (total.bytes() as u64, total.frames));
        let by_direction: usize = Direction::BOTH.map(|way| world.network.ledger(world.link).total_towards(way).bytes())
            .iter().sum();
        prop_assert_eq!(by_direction, total.bytes());
        let ledger = world.network.ledger(world.link);
        let kinds = [Kind::Datagram, Kind::LinkAcknowledgement].map(|kind| ledger.total_for(kind));
        prop_assert_eq!(kinds.iter().map(|of_kind| of_kind.frames).sum::<u64>(), total.frames);
    }

    #[test]
    fn what_arrives_was_sent_and_is_whole(scenario in scenarios()) {
        let world = scenario.run();
        let [first, second] = world.nodes.map(|node| &world.network.node(node).application);
        for (from, to, path) in [(first, second, &scenario.link.up), (second, first, &scenario.link.down)] {
            for datagram in &to.received {
                prop_assert!(from.sent.contains(datagram), "{} bytes that nobody sent", datagram.len());
            }
            // Where frames are late, a frame whose acknowledgement was lost can come again after many others.
            if path.duplication == 0.0 && path.reordering == 0.0 {
                prop_assert!(to.received.len() <= from.sent.len());
            }
        }
        let packets = world.network.conservation().packets;
        prop_assert_eq!(packets.delivered.number as usize, first.received.len() + second.received.len());
        prop_assert_eq!(packets.sent.number as usize, first.sent.len() + second.sent.len());
    }

    #[test]
    fn a_good_link_delivers_everything_in_order(
        link in links(), lengths in proptest::collection::vec(0_usize..1200, 1..6),
    ) {
        let link = link.with_paths(|path| {
            (path.loss, path.duplication, path.reordering, path.queue) = (0.0, 0.0, 0.0, 10);
        });
        let traffic = lengths.iter().map(|len| (1, *len)).collect();
        let world = Scenario { link, traffic: [traffic, Vec::new()], seed: 0 }.run();
        let [first, second] = world.nodes.map(|node| &world.network.node(node).application);
        prop_assert_eq!(&second.received, &first.sent);
        prop_assert_eq!(world.network.conservation().packets.dropped_in_all().number, 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_capture(scenario in scenarios()) {
        let [one, other] = [0; 2].map(|_| scenario.run().network.captured().to_pcapng(""));
        prop_assert!(one == other);
    }

    #[test]
    fn nobody_is_faster_or_louder_than_the_link_allows(scenario in scenarios()) {
        let world = scenario.run();
        for direction in Direction::BOTH {
            let records: Vec<_> = sent(&world, direction).into_iter()
                .filter(|record| record.kind != Kind::LinkAcknowledgement).collect();
            let spans: Vec<_> = records.iter().map(|record| span(&scenario.link, record)).collect();
            for pair in spans.windows(2) {
                prop_assert!(pair[1].0 >= pair[0].1, "one frame begins before the other ends");
            }
            // The interval is from the beginning of any frame to the beginning of any later one.
            let duty_cycle = scenario.link.path(direction).duty_cycle;
            for first in 0..spans.len() {
                let mut on_air = Duration::ZERO;
                for (begin, end) in &spans[first..] {
                    let window = begin.since(spans[first].0);
                    prop_assert!(on_air.as_secs_f64() <= duty_cycle * window.as_secs_f64() * (1.0 + 1e-9));
                    on_air += end.since(*begin);
                }
            }
        }
        if scenario.link.half_duplex {
            let mut all: Vec<_> = world.network.ledger(world.link).records().iter()
                .map(|record| span(&scenario.link, record)).collect();
            all.sort();
            for pair in all.windows(2) {
                prop_assert!(pair[1].0 >= pair[0].1, "both ways at once");
            }
        }
    }
}
