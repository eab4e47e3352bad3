//! An attacker can send datagrams from the peer's address, and sees what is sent, but has no keys. Each attack also runs
//! with its defence taken away, and succeeds there.

use terse_testkit::allocator::measure;
use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_tls::{AlertDescription, Datagrams, Defence, Error, PeerMisbehaved, ProtocolVersion};

use super::modes::{BOTH_VERSIONS, CHAIN, mutual};
use super::outcome::SEED;

/// Content types.
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
pub(crate) const ACK: u8 = 26;

/// Makes a record as anybody can make it.
pub(crate) fn record(content_type: u8, epoch: u16, number: u64, content: &[u8]) -> Vec<u8> {
    let number = u64::from(epoch) << 48 | number;
    let len = (content.len() as u16).to_be_bytes();
    [&[content_type, 254, 253][..], &number.to_be_bytes(), &len, content].concat()
}

/// Makes a whole handshake message in the clear.
pub(crate) fn message(kind: u8, seq: u16, body: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (body.len() as u32).to_be_bytes();
    let fragment = [&[kind][..], &length, &seq.to_be_bytes(), &[0; 3], &length, body].concat();
    record(HANDSHAKE, 0, 1_000, &fragment)
}

/// Makes a protected record of DTLS 1.3 as anybody can make it, under no keys.
fn unified(epoch: u8, byte: u8, len: usize) -> Vec<u8> {
    let first = 0b0010_1100 | epoch & 0b11;
    [&[first, byte, byte][..], &(len as u16).to_be_bytes(), &vec![byte; len]].concat()
}

/// Small datagrams, so that there is much to attack.
pub(crate) fn pair(version: ProtocolVersion, settings: Datagrams) -> DatagramPair {
    mutual(CHAIN).over(version, settings.max_datagram(228)).datagram_pair(SEED)
}

pub(crate) fn without(defence: Defence) -> Datagrams {
    Datagrams::default().without(Some(defence))
}

/// Runs a handshake, with data at the end, in which `forge` sends something just before each datagram arrives.
pub(crate) fn attacked(
    version: ProtocolVersion,
    settings: Datagrams,
    forge: impl Fn(&Datagram) -> Vec<Vec<u8>>,
) -> DatagramPair {
    over(version, settings, |datagram| {
        let forged = forge(datagram).into_iter().map(|bytes| (DELAY - 1, bytes));
        forged.chain(datagram.arrives()).collect()
    })
}

/// Runs a connection over `network`, and sends data both ways if it succeeds.
fn over(version: ProtocolVersion, settings: Datagrams, network: impl Fn(&Datagram) -> Fate) -> DatagramPair {
    let mut pair = pair(version, settings);
    if pair.run(&network).is_ok() && pair.client.is_connected() && pair.server.is_connected() {
        pair.send(Side::Client, b"to the server").unwrap();
        pair.send(Side::Server, b"to the client").unwrap();
        let _ = pair.run(&network);
    }
    pair
}

pub(crate) fn is_well(pair: &DatagramPair) -> bool {
    pair.received == [vec![b"to the client".to_vec()], vec![b"to the server".to_vec()]]
        && Side::BOTH.iter().all(|side| pair.failure(*side).is_none())
}

/// Returns whether no retransmission was needed: the attack has not even made anybody wait.
pub(crate) fn is_undisturbed(pair: &DatagramPair) -> bool {
    is_well(pair) && pair.client.summary().retransmissions + pair.server.summary().retransmissions == 0
}

/// Returns where the first protected record of a datagram begins.
fn first_protected(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(record) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if record[0] & 0b1110_0000 == 0b0010_0000 || record[3..5] != [0, 0] {
            return Some(at);
        }
        at += 13 + usize::from(u16::from_be_bytes([record[11], record[12]]));
    }
    None
}

#[test]
fn records_are_not_replayed() {
    for version in BOTH_VERSIONS {
        for (settings, times) in [(Datagrams::default(), 1), (without(Defence::ReplayProtection), 3)] {
            let mut pair = pair(version, settings);
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
}

/// The last messages of both sides are forged in the clear, when protected ones are due and before.
#[test]
fn messages_in_the_clear_do_not_replace_protected_ones() {
    for version in BOTH_VERSIONS {
        // DTLS 1.2: ClientHello, Certificate, ClientKeyExchange, CertificateVerify, Finished; ServerHello, Certificate,
        // ServerKeyExchange, CertificateRequest, ServerHelloDone, Finished. DTLS 1.3: ClientHello, Certificate,
        // CertificateVerify, Finished; ServerHello, EncryptedExtensions, CertificateRequest, Certificate,
        // CertificateVerify, Finished
        let (of_client, len) = if version == ProtocolVersion::TLS_1_2 { (4, 12) } else { (3, 32) };
        let finished = |datagram: &Datagram| match datagram.from {
            Side::Client => message(20, of_client, &vec![0; len]),
            Side::Server => message(20, 5, &vec![0; len]),
        };
        let forge = |datagram: &Datagram| vec![finished(datagram)];
        assert!(is_well(&attacked(version, Datagrams::default(), forge)));
        // In DTLS 1.3 the server's messages are protected as well, and its Finished is the first to be due.
        let victim = if version == ProtocolVersion::TLS_1_2 { Side::Server } else { Side::Client };
        let pair = attacked(version, without(Defence::Epochs), forge);
        assert_eq!(pair.failure(victim), Some(&PeerMisbehaved::BadFinished.into()));
        // Only once they are due: between what precedes a protected record, and that.
        let network = |datagram: &Datagram| {
            let Some(at) = first_protected(&datagram.bytes) else { return datagram.arrives() };
            let (before, protected) = datagram.bytes.split_at(at);
            [before, &finished(datagram), protected]
                .into_iter()
                .zip(DELAY..)
                .map(|(bytes, at)| (at, bytes.to_vec()))
                .collect()
        };
        assert!(is_well(&over(version, Datagrams::default(), network)));
        let pair = over(version, without(Defence::Epochs), network);
        assert_eq!(pair.failure(victim), Some(&PeerMisbehaved::BadFinished.into()));
    }
}

#[test]
fn alerts_in_the_clear_end_nothing() {
    for version in BOTH_VERSIONS {
        for description in [AlertDescription::HANDSHAKE_FAILURE, AlertDescription::INTERNAL_ERROR] {
            let forge = |_: &Datagram| vec![record(ALERT, 0, 1_000, &[2, description.0])];
            assert!(is_undisturbed(&attacked(version, Datagrams::default(), forge)));
            let credulous = Datagrams::default().believe_unprotected_alerts(true);
            let pair = attacked(version, credulous, forge);
            assert_eq!(pair.failure(Side::Server), Some(&Error::AlertReceived(description)));
        }
    }
}

/// CVE-2014-0224 has no place here, because ChangeCipherSpec changes nothing; nor does a forged one end a handshake.
#[test]
fn change_cipher_spec_in_the_wrong_place_changes_nothing() {
    for version in BOTH_VERSIONS {
        for content in [&[1][..], &[], &[7; 40]] {
            let forge = |_: &Datagram| vec![record(CHANGE_CIPHER_SPEC, 0, 1_000, content)];
            assert!(is_undisturbed(&attacked(version, Datagrams::default(), forge)));
            let pair = attacked(version, without(Defence::ChangeCipherSpec), forge);
            assert_eq!(pair.failure(Side::Server), Some(&PeerMisbehaved::BadChangeCipherSpec.into()));
        }
    }
}

/// One datagram comes at the beginning, with the highest record number.
#[test]
fn a_number_that_nobody_vouches_for_keeps_out_no_other() {
    for version in BOTH_VERSIONS {
        let forge = |datagram: &Datagram| match datagram.number {
            0 => vec![record(CHANGE_CIPHER_SPEC, 0, (1 << 48) - 1, &[1])],
            _ => vec![],
        };
        assert!(is_undisturbed(&attacked(version, Datagrams::default(), forge)));
        let pair = attacked(version, without(Defence::UnverifiedNumbers), forge);
        assert_eq!(pair.failure(Side::Client), Some(&Error::TimedOut));
    }
}

/// An attacker sends records of a later epoch, as many as go into a minute.
#[test]
fn what_says_that_it_is_of_the_future_takes_little_room() {
    for version in BOTH_VERSIONS {
        let flooded = |settings| {
            let mut pair = pair(version, settings);
            let ((), heap) = measure(|| {
                for number in 0..1_000 {
                    let flood = match version {
                        ProtocolVersion::TLS_1_2 => {
                            record(APPLICATION_DATA, 1 + number % 3, number.into(), &[7; 1_000])
                        }
                        _ => unified((1 + number % 3) as u8, number as u8, 1_000),
                    };
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
}

#[test]
fn garbage_is_dropped() {
    let kinds: [&dyn Fn(u8) -> Vec<u8>; 11] = [
        &|byte| vec![byte; 50],
        &|byte| vec![22, 254, 253, 0, byte],
        &|byte| record(HANDSHAKE, 1, byte.into(), &[byte; 40]),
        &|byte| record(APPLICATION_DATA, 1, byte.into(), &[byte; 400]),
        &|byte| record(ALERT, 1, byte.into(), &[2; 26]),
        &|byte| record(25, 1, byte.into(), &[byte; 60]),
        &|byte| record(byte, byte.into(), 0, &[]),
        &|byte| unified(byte, byte, 40),
        &|byte| unified(byte, byte, 15),
        &|byte| unified(byte, byte, 40)[..usize::from(byte % 40)].to_vec(),
        &|byte| vec![0b0010_0000 | byte; 3 + usize::from(byte)],
    ];
    for version in BOTH_VERSIONS {
        let forge = |datagram: &Datagram| kinds.map(|kind| kind(datagram.number as u8)).into();
        assert!(is_undisturbed(&attacked(version, Datagrams::default(), forge)));
        let worst = if version == ProtocolVersion::TLS_1_2 { kinds[2] } else { kinds[7] };
        for kind in [kinds[0], worst] {
            let forge = |datagram: &Datagram| vec![kind(datagram.number as u8)];
            assert!(is_undisturbed(&attacked(version, Datagrams::default(), forge)));
            assert!(!is_well(&attacked(version, without(Defence::Dropping), forge)));
        }
    }
}

/// An attacker forges a ClientHello twice a second for an hour, in the name of a client that is gone, or asks for the
/// server's flight with empty ACKs (RFC 9147, 7.1).
#[test]
fn a_server_sends_its_flight_only_so_often() {
    for (version, asks) in
        [(ProtocolVersion::TLS_1_2, false), (ProtocolVersion::TLS_1_3, false), (ProtocolVersion::TLS_1_3, true)]
    {
        let sent = |settings| {
            let mut pair = pair(version, settings);
            let mut hello = Vec::new();
            pair.transmit(Side::Client, &mut |datagram: &Datagram| {
                hello.push(datagram.bytes.clone());
                Vec::new()
            });
            for tick in 0..7_200 {
                pair.now.monotonic.0 = 500 * tick;
                let forged = if asks && tick > 0 { vec![record(ACK, 0, 9, &[0, 0])] } else { hello.clone() };
                for bytes in forged {
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
        // A peer that cannot read the flight is sent the ServerHello alone, but as often.
        assert!(asks || many > 4 * few, "{many}, {few}");
    }
}

/// RFC 9147, 7: DTLS 1.2 has no ACKs, and who speaks it may take one for an error. They are not acknowledged either if they
/// came before the ServerHello did, which says which version it is.
#[test]
fn records_of_another_version_are_not_acknowledged() {
    let forged = [&[0x2e, 0, 0, 0, 32][..], &[7; 32]].concat();
    for versions in [vec![ProtocolVersion::TLS_1_2], vec![ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2]] {
        for is_before in [false, true] {
            let mut setup = mutual(CHAIN).over(ProtocolVersion::TLS_1_2, Datagrams::default().max_datagram(228));
            setup.client.versions(versions.clone());
            let mut pair = setup.datagram_pair(SEED);
            let fate = |datagram: &Datagram| match datagram.from {
                // At first, only the first datagram of the server's flight arrives.
                Side::Server if (2..12).contains(&datagram.number) => vec![(DELAY, forged.clone())],
                Side::Server if is_before && datagram.number == 1 => {
                    vec![(DELAY - 1, forged.clone()), (DELAY, datagram.bytes.clone())]
                }
                _ => datagram.arrives(),
            };
            pair.run(fate).unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected());
            assert!(pair.sent.iter().all(|datagram| datagram.bytes[0] != ACK), "an ACK in DTLS 1.2");
        }
    }
}
