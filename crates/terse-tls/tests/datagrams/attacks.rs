//! Attacks by those who can send datagrams from the peer's address, and see what is sent, but have no keys. Each of them
//! also runs with its defence taken away, and succeeds there.

use terse_testkit::allocator::measure;
use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_tls::{AlertDescription, Datagrams, Defence, Error, PeerMisbehaved, ProtocolVersion};

use crate::modes::{CHAIN, mutual};
use crate::outcome::SEED;

/// Content types.
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// A record as anybody can make it.
fn record(content_type: u8, epoch: u16, number: u64, content: &[u8]) -> Vec<u8> {
    let number = u64::from(epoch) << 48 | number;
    let len = (content.len() as u16).to_be_bytes();
    [&[content_type, 254, 253][..], &number.to_be_bytes(), &len, content].concat()
}

/// A handshake message in the clear, whole.
fn message(kind: u8, seq: u16, body: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (body.len() as u32).to_be_bytes();
    let fragment = [&[kind][..], &length, &seq.to_be_bytes(), &[0; 3], &length, body].concat();
    record(HANDSHAKE, 0, 1_000, &fragment)
}

/// Small datagrams, so that there is much to attack.
fn pair(settings: Datagrams) -> DatagramPair {
    mutual(CHAIN).over(ProtocolVersion::TLS_1_2, Datagrams { max_datagram: 228, ..settings }).datagram_pair(SEED)
}

fn without(defence: Defence) -> Datagrams {
    Datagrams { without: Some(defence), ..Datagrams::default() }
}

/// Runs a handshake, with data at the end, in which `forge` sends something just before each datagram arrives.
fn attacked(settings: Datagrams, forge: impl Fn(&Datagram) -> Vec<Vec<u8>>) -> DatagramPair {
    over(settings, |datagram| {
        let forged = forge(datagram).into_iter().map(|bytes| (DELAY - 1, bytes));
        forged.chain(datagram.arrives()).collect()
    })
}

/// The same, over any network.
fn over(settings: Datagrams, network: impl Fn(&Datagram) -> Fate) -> DatagramPair {
    let mut pair = pair(settings);
    if pair.run(&network).is_ok() && pair.client.is_connected() && pair.server.is_connected() {
        pair.send(Side::Client, b"to the server").unwrap();
        pair.send(Side::Server, b"to the client").unwrap();
        let _ = pair.run(&network);
    }
    pair
}

fn is_well(pair: &DatagramPair) -> bool {
    pair.received == [vec![b"to the client".to_vec()], vec![b"to the server".to_vec()]]
        && Side::BOTH.iter().all(|side| pair.failure(*side).is_none())
}

/// No retransmission was needed: the attack has not even made anybody wait.
fn is_undisturbed(pair: &DatagramPair) -> bool {
    is_well(pair) && pair.client.summary().retransmissions + pair.server.summary().retransmissions == 0
}

#[test]
fn records_are_not_replayed() {
    for (settings, times) in [(Datagrams::default(), 1), (without(Defence::ReplayProtection), 3)] {
        let mut pair = pair(settings);
        pair.run_well().unwrap();
        for side in Side::BOTH {
            pair.send(side, b"pay").unwrap();
        }
        pair.run(|datagram| [DELAY, DELAY + 1, 5_000].map(|delay| (delay, datagram.bytes.clone())).into()).unwrap();
        for side in Side::BOTH {
            assert_eq!(pair.received[side as usize], vec![b"pay"; times]);
            assert_eq!(pair.side(side).0.summary().dropped.replayed, 3 - times as u32);
        }
    }
}

/// The last messages of both sides, forged in the clear, when protected ones are due and before.
#[test]
fn messages_in_the_clear_do_not_replace_protected_ones() {
    // ClientHello, Certificate, ClientKeyExchange, CertificateVerify, Finished; ServerHello, Certificate,
    // ServerKeyExchange, CertificateRequest, ServerHelloDone, Finished
    let finished = |datagram: &Datagram| match datagram.from {
        Side::Client => message(20, 4, &[0; 12]),
        Side::Server => message(20, 5, &[0; 12]),
    };
    let forge = |datagram: &Datagram| vec![finished(datagram)];
    assert!(is_well(&attacked(Datagrams::default(), forge)));
    let pair = attacked(without(Defence::Epochs), forge);
    assert_eq!(pair.failure(Side::Server), Some(&PeerMisbehaved::BadFinished.into()));
    // Only once they are due: between what precedes a protected record, and that.
    let network = |datagram: &Datagram| {
        let at = datagram.bytes.windows(4).position(|bytes| bytes == [254, 253, 0, 1]);
        let Some(at) = at else { return datagram.arrives() };
        let (before, protected) = datagram.bytes.split_at(at - 1);
        [before, &finished(datagram), protected]
            .into_iter()
            .zip(DELAY..)
            .map(|(bytes, at)| (at, bytes.to_vec()))
            .collect()
    };
    assert!(is_well(&over(Datagrams::default(), network)));
    let pair = over(without(Defence::Epochs), network);
    assert_eq!(pair.failure(Side::Server), Some(&PeerMisbehaved::BadFinished.into()));
}

#[test]
fn alerts_in_the_clear_end_nothing() {
    for description in [AlertDescription::HANDSHAKE_FAILURE, AlertDescription::INTERNAL_ERROR] {
        let forge = |_: &Datagram| vec![record(ALERT, 0, 1_000, &[2, description.0])];
        assert!(is_undisturbed(&attacked(Datagrams::default(), forge)));
        let credulous = Datagrams { believe_unprotected_alerts: true, ..Datagrams::default() };
        let pair = attacked(credulous, forge);
        assert_eq!(pair.failure(Side::Server), Some(&Error::AlertReceived(description)));
    }
}

/// CVE-2014-0224 has no place here, for ChangeCipherSpec changes nothing; nor does a forged one end a handshake.
#[test]
fn change_cipher_spec_in_the_wrong_place_changes_nothing() {
    for content in [&[1][..], &[], &[7; 40]] {
        let forge = |_: &Datagram| vec![record(CHANGE_CIPHER_SPEC, 0, 1_000, content)];
        assert!(is_undisturbed(&attacked(Datagrams::default(), forge)));
        let pair = attacked(without(Defence::ChangeCipherSpec), forge);
        assert_eq!(pair.failure(Side::Server), Some(&PeerMisbehaved::BadChangeCipherSpec.into()));
    }
}

/// One datagram with the highest number, at the beginning.
#[test]
fn a_number_that_nobody_vouches_for_keeps_out_no_other() {
    let forge = |datagram: &Datagram| match datagram.number {
        0 => vec![record(CHANGE_CIPHER_SPEC, 0, (1 << 48) - 1, &[1])],
        _ => vec![],
    };
    assert!(is_undisturbed(&attacked(Datagrams::default(), forge)));
    let pair = attacked(without(Defence::UnverifiedNumbers), forge);
    assert_eq!(pair.failure(Side::Client), Some(&Error::TimedOut));
}

/// Records of an epoch to come, as many as go into a minute.
#[test]
fn what_says_that_it_is_of_the_future_takes_little_room() {
    let flooded = |settings| {
        let mut pair = pair(settings);
        let ((), heap) = measure(|| {
            for number in 0..1_000 {
                let flood = record(APPLICATION_DATA, 1 + (number % 3) as u16, number, &[7; 1_000]);
                pair.deliver(Side::Server, flood).unwrap();
            }
        });
        pair.run_well().unwrap();
        assert!(pair.client.is_connected() && pair.server.is_connected());
        heap.kept
    };
    assert!((1_000..3_000).contains(&flooded(Datagrams::default())));
    assert!(flooded(without(Defence::HeldBound)) > 300_000);
}

#[test]
fn garbage_is_dropped() {
    let kinds: [&dyn Fn(u8) -> Vec<u8>; 7] = [
        &|byte| vec![byte; 50],
        &|byte| vec![22, 254, 253, 0, byte],
        &|byte| record(HANDSHAKE, 1, byte.into(), &[byte; 40]),
        &|byte| record(APPLICATION_DATA, 1, byte.into(), &[byte; 400]),
        &|byte| record(ALERT, 1, byte.into(), &[2; 26]),
        &|byte| record(25, 1, byte.into(), &[byte; 60]),
        &|byte| record(byte, byte.into(), 0, &[]),
    ];
    let forge = |datagram: &Datagram| kinds.map(|kind| kind(datagram.number as u8)).into();
    assert!(is_undisturbed(&attacked(Datagrams::default(), forge)));
    for kind in [kinds[0], kinds[2]] {
        let forge = |datagram: &Datagram| vec![kind(datagram.number as u8)];
        assert!(is_undisturbed(&attacked(Datagrams::default(), forge)));
        assert!(!is_well(&attacked(without(Defence::Dropping), forge)));
    }
}

/// Whoever forges a ClientHello twice a second for an hour, in the name of a client that is gone.
#[test]
fn a_server_sends_its_flight_only_so_often() {
    let sent = |settings| {
        let mut pair = pair(settings);
        let mut hello = Vec::new();
        pair.transmit(Side::Client, &mut |datagram: &Datagram| {
            hello.push(datagram.bytes.clone());
            Vec::new()
        });
        for tick in 0..7_200 {
            pair.now.monotonic.0 = 500 * tick;
            for bytes in hello.clone() {
                let _ = pair.deliver(Side::Server, bytes);
            }
            pair.transmit(Side::Server, &mut |_: &Datagram| Vec::new());
            let now = pair.now;
            let _ = pair.server.handle_timeout(now);
            pair.transmit(Side::Server, &mut |_: &Datagram| Vec::new());
        }
        (pair.server.summary().sent.record_bytes, pair.server.is_handshaking())
    };
    let (few, waits) = sent(Datagrams::default());
    assert!(!waits, "it has given up");
    let (many, waits) = sent(without(Defence::RepeatBound));
    assert!(waits, "it never does");
    assert!(many > 4 * few, "{many}, {few}");
}
