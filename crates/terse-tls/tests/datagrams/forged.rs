//! What those without keys can send in DTLS 1.3 beyond what they can in DTLS 1.2: acknowledgements, and records of which
//! nobody can tell at once that they are nothing.

use terse_testkit::allocator::measure;
use terse_testkit::datagrams::{DELAY, Datagram};

use terse_testkit::pair::Side;
use terse_tls::crypto::CryptoError;
use terse_tls::{CipherSuite, Datagrams, Defence, Error, ProtocolVersion};

use super::attacks::{ACK, attacked, is_undisturbed, is_well, record, without};
use super::key_updates::{carries, connected, setup};
use super::modes::{CHAIN, SCENARIOS, mutual};
use super::outcome::SEED;
use super::wire::{listen, records};

const VERSION: ProtocolVersion = ProtocolVersion::TLS_1_3;

/// An ACK in the clear.
fn ack(numbers: impl IntoIterator<Item = (u64, u64)>) -> Vec<u8> {
    let numbers: Vec<u8> =
        numbers.into_iter().flat_map(|(epoch, number)| [epoch.to_be_bytes(), number.to_be_bytes()].concat()).collect();
    record(ACK, 0, 1_000, &[&(numbers.len() as u16).to_be_bytes()[..], &numbers].concat())
}

/// Returns an ACK of all records that were sent or will be.
fn of_everything() -> Vec<u8> {
    ack((0..4).flat_map(|epoch| (0..60).map(move |number| (epoch, number))))
}

/// Acknowledgements that everything arrived, that nothing did, and that make no sense.
fn forgeries() -> [Vec<u8>; 6] {
    let in_epoch = |epoch| ack((0..60).map(move |number| (epoch, number)));
    [of_everything(), ack([]), in_epoch(0), in_epoch(2), record(ACK, 0, 1_000, &[]), record(ACK, 0, 1_000, &[0, 17, 0])]
}

#[test]
fn acknowledgements_in_the_clear_change_little() {
    for forgery in forgeries() {
        let pair = attacked(VERSION, Datagrams::default(), |_| vec![forgery.clone(), forgery.clone()]);
        assert!(is_well(&pair));
        let again = pair.client.summary().retransmissions + pair.server.summary().retransmissions;
        assert!(again <= 6, "{again} datagrams were sent again");
    }
    // What speaks of protected records, or of nothing at all, is dropped.
    for forgery in &forgeries()[3..] {
        let pair = attacked(VERSION, Datagrams::default(), |_| vec![forgery.clone()]);
        assert!(is_undisturbed(&pair));
        let dropped = [&pair.client, &pair.server].map(|connection| connection.summary().dropped);
        assert!(dropped.iter().all(|dropped| dropped.malformed > 0), "{dropped:?}");
    }
}

/// RFC 9147, 7.2, would have a record for acknowledged that appears in any ACK. But nobody vouches for these: what they
/// speak of is sent again all the same if it is missing, at the next timeout.
#[test]
fn what_is_acknowledged_in_the_clear_is_not_taken_for_granted() {
    for scenario in
        SCENARIOS.iter().filter(|scenario| scenario.version == VERSION && scenario.name.contains(", mutual"))
    {
        for lost in 0..scenario.datagrams.len().min(12) {
            for forgery in &forgeries()[..3] {
                scenario.survives(&format!("{lost} is lost, and acknowledged by somebody"), |datagram| {
                    // To whoever sent it, who hears nothing else.
                    let mut fate = if datagram.number == lost { Vec::new() } else { datagram.arrives() };
                    fate.push((DELAY + 1, forgery.clone()));
                    fate.push((0, forgery.clone()));
                    fate
                });
            }
        }
    }
}

/// Many, and long ones: nothing is kept of them, little is sent for them.
#[test]
fn floods_of_acknowledgements_cost_nothing() {
    for victim in Side::BOTH {
        let mut pair = setup().datagram_pair(SEED);
        // The client waits for a ServerHello that does not come, the server for an answer.
        pair.transmit(Side::Client, &mut |_: &Datagram| Vec::new());
        if victim == Side::Server {
            let hello = pair.sent[0].bytes.clone();
            pair.deliver(Side::Server, hello).unwrap();
            pair.transmit(Side::Server, &mut |_: &Datagram| Vec::new());
        }
        let before = pair.sent.len();
        let ((), heap) = measure(|| {
            for number in 0..500 {
                let forgery = match number % 2 {
                    0 => ack((0..1_000).map(|at| (0, number + at))),
                    _ => ack([]),
                };
                pair.deliver(victim, forgery).unwrap();
                pair.now.monotonic.0 += 1;
            }
        });
        assert!(heap.kept < 500, "{victim:?}: {}", heap.kept);
        pair.transmit(victim, &mut |_: &Datagram| Vec::new());
        let sent: usize = pair.sent[before..].iter().map(|datagram| datagram.bytes.len()).sum();
        let flight: usize = pair.sent[..before]
            .iter()
            .filter(|datagram| datagram.from == victim)
            .map(|datagram| datagram.bytes.len())
            .sum();
        assert!(sent <= 2 * flight, "{victim:?}: {sent} bytes for a flight of {flight}");
    }
}

/// Records that look like the peer's, of every epoch, one before each of it; also such as could be of the next key.
#[test]
fn records_under_no_keys_are_dropped() {
    let forge = |datagram: &Datagram| {
        let bytes = |first: u8, len: usize| [&[first][..], &vec![datagram.number as u8; len]].concat();
        (0..4).flat_map(|epoch| [0b0010_0000 | epoch, 0b0010_1000 | epoch].map(|first| bytes(first, 50))).collect()
    };
    let pair = attacked(VERSION, Datagrams::default(), forge);
    assert!(is_undisturbed(&pair));
    assert!(!is_well(&attacked(VERSION, without(Defence::Dropping), forge)));
    let dropped = [&pair.client, &pair.server].map(|connection| connection.summary().dropped);
    assert!(dropped.iter().all(|dropped| dropped.not_authentic > 0 && dropped.wrong_epoch > 0), "{dropped:?}");
}

/// Everything that was sent, again, at the end: nobody says a word.
#[test]
fn replays_are_not_answered() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.version == VERSION) {
        let mut pair = scenario.setup.datagram_pair(SEED);
        pair.run_well().unwrap();
        let sent = pair.sent.clone();
        for datagram in sent.iter().chain(sent.iter().rev()) {
            pair.deliver(datagram.from.other(), datagram.bytes.clone()).unwrap();
            pair.run_well().unwrap();
        }
        assert_eq!(pair.sent.len(), sent.len(), "{}", scenario.name);
        for side in Side::BOTH {
            carries(&mut pair, side);
        }
    }
}

/// A record whose bits are flipped, in each place, comes before the real one: the number that it seems to have keeps out no
/// other.
#[test]
fn damaged_copies_keep_out_no_originals() {
    let (mut pair, _) = connected(setup());
    for flipped in 0..300 {
        for side in Side::BOTH {
            pair.send(side, &[7; 20]).unwrap();
        }
        pair.run(|datagram| {
            let mut damaged = datagram.bytes.clone();
            let place = flipped % (8 * damaged.len());
            damaged[place / 8] ^= 1 << (place % 8);
            vec![(DELAY, damaged), (DELAY, datagram.bytes.clone())]
        })
        .unwrap();
        assert!(Side::BOTH.iter().all(|side| pair.received[*side as usize].len() == flipped + 1), "bit {flipped}");
    }
}

/// RFC 9147, 4.5.3 and Appendix B.3: tags of 8 bytes can be guessed, so few guesses are taken under one key.
#[test]
fn a_key_with_short_tags_does_not_live_to_see_many_forgeries() {
    let short = || {
        let mut setup = mutual(CHAIN).over(VERSION, Datagrams::default().short_tags(true));
        setup.client.suites(vec![CipherSuite::TLS_AES_128_CCM_8_SHA256]);
        setup
    };
    let forgery = |number: u8| [&[0b0010_0011][..], &[number; 30]].concat();
    let mut setup = short();
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap();
    for round in 0..5 {
        for number in 0..100 {
            // Under the bits of the epoch in force: one more each round.
            let mut forged = forgery(number);
            forged[0] = 0b0010_0000 | ((3 + round) % 4);
            pair.deliver(Side::Client, forged).unwrap();
        }
        pair.run_well().unwrap();
        carries(&mut pair, Side::Client);
        carries(&mut pair, Side::Server);
    }
    let updates =
        records(&pair, &log).iter().filter(|record| record.parts().iter().any(|part| part.kind.0 == 24)).count();
    assert_eq!(updates, 2 * 5, "each time the client asks for another key");
    // Faster than the peer can answer.
    let mut pair = short().datagram_pair(SEED);
    pair.run_well().unwrap();
    for number in 0..127 {
        pair.deliver(Side::Client, forgery(number)).unwrap();
    }
    let over = pair.deliver(Side::Client, forgery(127)).and_then(|()| pair.deliver(Side::Client, forgery(128)));
    assert_eq!(over.unwrap_err().error, Error::Crypto(CryptoError::DecryptFailed));
    // Tags of other suites cannot be guessed.
    let (mut pair, _) = connected(self::setup());
    for number in 0..10_000 {
        pair.deliver(Side::Client, forgery(number as u8)).unwrap();
    }
    carries(&mut pair, Side::Server);
}
