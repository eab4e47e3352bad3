//! Each datagram of each handshake is lost, doubled, late, out of order, or cut short.

use terse_testkit::datagrams::{DELAY, Datagram};
use terse_testkit::pair::Side;
use terse_tls::{Datagrams, ProtocolVersion};

use super::modes::{BOTH_VERSIONS, CHAIN, SCENARIOS, mutual};
use super::outcome::SEED;

/// Who lost one sends its flight again: only where that is the last one, or all of it, its peer must ask with its own. In
/// DTLS 1.3 only what is missing goes again, but for a ClientHello, and what had to be asked for with something else.
#[test]
fn each_datagram_lost() {
    for version in BOTH_VERSIONS {
        let (mut again, mut expected) = (0, 0);
        for scenario in SCENARIOS.iter().filter(|scenario| scenario.version == version) {
            for (lost, original) in scenario.datagrams.iter().enumerate() {
                let is_of_flight =
                    |datagram: &&Datagram| (datagram.from, datagram.sent) == (original.from, original.sent);
                let flight = scenario.datagrams.iter().filter(is_of_flight).count();
                let is_hello = original.from == Side::Client && original.bytes.starts_with(&[22]);
                expected += if version == ProtocolVersion::TLS_1_2 || is_hello { flight } else { 1 };
                again += scenario.survives(&format!("{lost} is lost"), |datagram| match datagram.number == lost {
                    true => Vec::new(),
                    false => datagram.arrives(),
                });
            }
        }
        println!("D{version}: {again} datagrams sent again, {expected} at least");
        let is_tls12 = version == ProtocolVersion::TLS_1_2;
        let most = if is_tls12 { expected + expected / 10 } else { expected + expected / 3 };
        assert!((expected..most).contains(&again), "{again} datagrams sent again, {expected} at least");
    }
}

/// The second copy comes at once, or when its flight was handled.
#[test]
fn each_datagram_doubled() {
    for scenario in &*SCENARIOS {
        for doubled in 0..scenario.datagrams.len() {
            let later = [1, DELAY * 3, 900][doubled % 3];
            scenario.survives(&format!("{doubled} comes again {later} ms later"), |datagram| {
                let mut fate = datagram.arrives();
                if datagram.number == doubled {
                    fate.push((DELAY + later, datagram.bytes.clone()));
                }
                fate
            });
        }
        for later in [0, 1, 600, 2_000] {
            scenario.survives(&format!("all come again {later} ms later"), |datagram| {
                [datagram.arrives(), datagram.arrives_after(DELAY + later)].concat()
            });
        }
    }
}

/// The datagram comes after one timeout, or after several.
#[test]
fn each_datagram_late() {
    for scenario in &*SCENARIOS {
        for late in 0..scenario.datagrams.len() {
            let delay = [1_500, 4_000, 30_000][late % 3];
            scenario.survives(&format!("{late} takes {delay} ms"), |datagram| match datagram.number == late {
                true => datagram.arrives_after(delay),
                false => datagram.arrives(),
            });
        }
    }
}

/// A network that keeps the order, 2 ms apart, so that a datagram can be moved.
fn in_order(datagram: &Datagram) -> u64 {
    DELAY + 2 * (datagram.number as u64 % 200)
}

#[test]
fn each_datagram_after_its_successor() {
    for scenario in &*SCENARIOS {
        for moved in 0..scenario.datagrams.len() {
            scenario.survives(&format!("{moved} comes after the next"), |datagram| {
                let by = if datagram.number == moved { 3 } else { 0 };
                datagram.arrives_after(in_order(datagram) + by)
            });
        }
    }
}

#[test]
fn each_flight_reversed() {
    for scenario in &*SCENARIOS {
        scenario.survives("all flights come reversed", |datagram| {
            datagram.arrives_after(DELAY + 1_000 - in_order(datagram))
        });
    }
}

/// Data that comes before the end of the handshake is dropped, and counted there and then.
#[test]
fn the_last_flight_after_data() {
    let mut pair = mutual(CHAIN).over(ProtocolVersion::TLS_1_2, Datagrams::default()).datagram_pair(SEED);
    while !pair.server.is_connected() {
        pair.step(&mut Datagram::arrives, u64::MAX).expect("a handshake").unwrap();
    }
    pair.send(Side::Server, b"early").unwrap();
    let flight = pair.sent.len();
    let mut fate = |datagram: &Datagram| match datagram.number == flight {
        true => datagram.arrives_after(2 * DELAY),
        false => datagram.arrives(),
    };
    pair.step(&mut fate, u64::MAX).expect("data arrives").unwrap();
    assert!(!pair.client.is_connected());
    assert_eq!(pair.client.summary().dropped.not_due, 1);
    pair.run(fate).unwrap();
    assert!(pair.client.is_connected() && pair.received[Side::Client as usize].is_empty());
}

/// A datagram is cut to nothing, within its header, to its header, behind it, to a half, and by one byte. What is left of
/// it is worth nothing.
#[test]
fn each_datagram_cut_short() {
    for scenario in &*SCENARIOS {
        for (cut, original) in scenario.datagrams.iter().enumerate() {
            let len = original.bytes.len();
            let lens = [0, 1, 12, 13, 14, 13 + 12, len / 2, len - 1];
            // Each datagram gets two of these cuts in turn; in small handshakes, it gets all of them.
            let some = if scenario.datagrams.len() > 8 { 2 } else { lens.len() };
            for len in lens.into_iter().cycle().skip(cut * some % lens.len()).take(some) {
                scenario.survives(&format!("{cut} is cut to {len} bytes"), |datagram| match datagram.number == cut {
                    true => vec![(DELAY, datagram.bytes[..len.min(datagram.bytes.len())].to_vec())],
                    false => datagram.arrives(),
                });
            }
        }
    }
}
