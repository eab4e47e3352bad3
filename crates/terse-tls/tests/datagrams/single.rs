//! Each datagram of each handshake lost, doubled, late, out of order, or cut short.

use terse_testkit::datagrams::{DELAY, Datagram};
use terse_testkit::pair::Side;
use terse_tls::{Datagrams, ProtocolVersion};

use crate::modes::{BOTH_VERSIONS, CHAIN, SCENARIOS, mutual};
use crate::outcome::SEED;

/// Which datagrams each loss has sent again, in which version; and how many each loss would, if flights went again whole.
#[test]
fn each_datagram_lost() {
    for version in BOTH_VERSIONS {
        let (mut again, mut lost, mut flights) = (0, 0, 0);
        for scenario in SCENARIOS.iter().filter(|scenario| scenario.version == version) {
            let mut own = (0, 0);
            for (number, original) in scenario.datagrams.iter().enumerate() {
                let is_of_flight = |datagram: &&Datagram| (datagram.from, datagram.sent) == (original.from, original.sent);
                flights += scenario.datagrams.iter().filter(is_of_flight).count();
                own.1 += 1;
                let a = scenario.survives(&format!("{number} is lost"), |datagram| match datagram.number == number {
                    true => Vec::new(),
                    false => datagram.arrives(),
                });
                if a > 1 { println!("   {} {number}/{}: {a}", scenario.name, scenario.datagrams.len()); }
                own.0 += a;
            }
            println!("{}: {} for {}", scenario.name, own.0, own.1);
            again += own.0;
            lost += own.1;
        }
        println!("D{version}: {again} datagrams sent again for {lost}, whose flights have {flights}");
    }
}

/// At once, and when its flight was handled.
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

/// Past one timeout, and past several.
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

/// To nothing, within its header, to it, behind it, to a half, and by one byte. What is left of it is worth nothing.
#[test]
fn each_datagram_cut_short() {
    for scenario in &*SCENARIOS {
        for (cut, original) in scenario.datagrams.iter().enumerate() {
            let len = original.bytes.len();
            let lens = [0, 1, 12, 13, 14, 13 + 12, len / 2, len - 1];
            // Two of them each, in turn; all of them in small handshakes.
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
