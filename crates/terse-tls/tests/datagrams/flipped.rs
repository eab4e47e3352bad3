//! Datagrams of which a bit arrives flipped, in each region of each: what is protected is dropped as if it were lost, what
//! is not fails the handshake at the worst.

use terse_testkit::datagrams::{DELAY, Datagram};

use super::modes::SCENARIOS;
use super::outcome::{Outcome, SEED};

/// A byte of each field of the first record's header and of the first fragment's, some of the content, and the last one.
fn places(datagram: &Datagram) -> Vec<usize> {
    let len = datagram.bytes.len();
    let fields = [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 24, 25];
    fields.into_iter().chain([len / 3, len / 2, len - 1]).filter(|place| *place < len).collect()
}

/// Whether all of it is protected: its first record is of epoch 1.
fn is_protected(datagram: &Datagram) -> bool {
    datagram.bytes[3..5] == [0, 1]
}

#[test]
fn each_datagram_with_a_bit_flipped() {
    let mut outcomes = [0; 3];
    for scenario in &*SCENARIOS {
        for (flipped, original) in scenario.datagrams.iter().enumerate() {
            let places = places(original);
            // Some of them each, in turn; all of them in small handshakes.
            let some = if scenario.datagrams.len() > 6 { 2 } else { places.len() };
            for place in places.iter().copied().cycle().skip(flipped * some % places.len()).take(some) {
                let what = format!("byte {place} of {flipped} is changed");
                let outcome = scenario.run(&what, SEED, |datagram| {
                    let mut bytes = datagram.bytes.clone();
                    if datagram.number == flipped {
                        bytes[place] ^= 1 << (place % 8);
                    }
                    vec![(DELAY, bytes)]
                });
                assert!(!is_protected(original) || outcome == Outcome::Connected, "{}: {what}", scenario.name);
                outcomes[outcome as usize] += 1;
            }
        }
    }
    println!("{outcomes:?} connected, failed, half connected");
    assert!(outcomes[Outcome::Connected as usize] > 0 && outcomes[Outcome::Failed as usize] > 0);
}
