//! What comes under the keys of a handshake, in records of every size (RFC 9846, 5.1 and 5.4; RFC 5246, 6.2.1): a
//! hostile peer cuts and glues its own messages as it likes. Where a message may be cut, the handshake succeeds.

use alloc::sync::Arc;

use terse_testkit::forge::{Forge, KeyLogLines, records};
use terse_testkit::pair::{Pair, Side, at};
use terse_tls::{AlertDescription as Alert, ContentType, Error, InvalidMessage, PeerMisbehaved};

use super::attack::{Verdict, run};
use super::change_cipher_spec::spec;
use super::modes::{SCENARIOS, Scenario, TLS12, TLS13, mutual};

const HANDSHAKE: ContentType = ContentType::HANDSHAKE;

/// The last flight of `sender`: what of it is clear, and the messages that are protected.
struct Opened {
    clear: Vec<u8>,
    messages: Vec<u8>,
    forge: Forge,
}

/// Runs the handshake of `pair` up to the protected flight of `sender`, and opens it.
fn open(scenario: &Scenario, pair: &mut Pair, log: &KeyLogLines, sender: Side) -> Opened {
    let is_tls12 = scenario.version == TLS12;
    let mut side = Side::Client;
    loop {
        let flight = records(&pair.transmit(side));
        let key_at = |record: &Vec<u8>| match is_tls12 {
            true => *record == spec(&[1]),
            false => record[0] == ContentType::APPLICATION_DATA.0,
        };
        if let Some(at) = flight.iter().position(key_at).filter(|_| side == sender) {
            let at = if is_tls12 { at + 1 } else { at };
            let [mut opener, forge] = [0, 1].map(|_| match is_tls12 {
                true => Forge::of_finished(pair, &terse_aws_lc::PROVIDER, log, sender),
                false => {
                    let label = if sender == Side::Server { "SERVER" } else { "CLIENT" };
                    let suite = terse_aws_lc::PROVIDER.tls13_suites[0]; // preferred by both
                    Forge::new(suite, &log.secret(&format!("{label}_HANDSHAKE_TRAFFIC_SECRET")))
                }
            });
            let open = |record: &Vec<u8>| opener.open(record).expect("under these keys").1;
            let messages = flight[at..].iter().flat_map(open).collect();
            return Opened { clear: flight[..at].concat(), messages, forge };
        }
        pair.deliver(side.other(), flight.concat()).unwrap();
        side = side.other();
    }
}

/// Has `make` send the messages of the protected flight of `sender` in records of its own.
fn send(scenario: &Scenario, sender: Side, make: impl FnOnce(&mut Forge, &[u8]) -> Vec<u8>) -> Verdict {
    let mut setup = scenario.setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.common(sender).set_key_log(log.clone());
    run(&setup, sender.other(), |pair| {
        let mut opened = open(scenario, pair, &log, sender);
        let bytes = [opened.clear, make(&mut opened.forge, &opened.messages)].concat();
        drop(pair.deliver(sender.other(), bytes));
        // In TLS 1.2 the numbers of records do not start anew: the sender's own records cannot follow.
        if scenario.version == TLS13 {
            drop(pair.run());
        } else {
            let _ = pair.side(sender).0.handle_end_of_input(at(0));
        }
    })
}

fn in_pieces(forge: &mut Forge, pieces: &[&[u8]]) -> Vec<u8> {
    pieces.iter().flat_map(|piece| forge.record(HANDSHAKE, piece)).collect()
}

/// Every mode, but that in which the client's last flight begins under other keys; and who sends.
fn cases() -> impl Iterator<Item = (&'static Scenario, Side)> {
    let plain = SCENARIOS.iter().filter(|scenario| scenario.setup.early_data.is_empty());
    plain.flat_map(|scenario| Side::BOTH.map(|sender| (scenario, sender)))
}

fn len_of(scenario: &Scenario, sender: Side) -> usize {
    let mut len = 0;
    let verdict = send(scenario, sender, |forge, messages| {
        len = messages.len();
        forge.record(HANDSHAKE, messages)
    });
    assert!(verdict.connected, "{}, {}, {sender:?}: {verdict:?}", scenario.version, scenario.name);
    len
}

#[test]
fn split_everywhere() {
    for (scenario, sender) in cases() {
        let len = len_of(scenario, sender);
        let points = if scenario.is_first_of_its_kind() { 100 } else { 20 };
        for split in (1..len).step_by(len / points + 1) {
            let verdict =
                send(scenario, sender, |forge, messages| in_pieces(forge, &[&messages[..split], &messages[split..]]));
            let context = format!("{}, {}, {sender:?}, {split}: {verdict:?}", scenario.version, scenario.name);
            assert!(verdict.connected && verdict.error.is_none(), "{context}");
        }
        let verdict = send(scenario, sender, |forge, messages| {
            messages.chunks(1).flat_map(|byte| forge.record(HANDSHAKE, byte)).collect()
        });
        assert!(verdict.connected, "{}, {}, {sender:?}: {verdict:?}", scenario.version, scenario.name);
    }
}

/// RFC 9846, 5.4: as much as there is room for.
#[test]
fn padded() {
    for sender in Side::BOTH {
        for padding in [1, 255, 0x2000] {
            let verdict = send(mutual(TLS13), sender, |forge, messages| {
                forge.seal(&[messages, &[HANDSHAKE.0], &vec![0; padding]].concat())
            });
            assert!(verdict.connected, "{verdict:?}");
        }
    }
}

#[test]
fn refused() {
    for (scenario, sender) in cases() {
        let check = |name: &str, error: Error, make: &dyn Fn(&mut Forge, &[u8]) -> Vec<u8>| {
            let verdict = send(scenario, sender, make);
            let context = format!("{}, {}, {sender:?}, {name}: {verdict:?}", scenario.version, scenario.name);
            assert_eq!(verdict.refused(), Some(&error), "{context}");
            assert_eq!(verdict.alert, error.alert(), "{context}");
        };
        let data = ContentType::APPLICATION_DATA;
        check("empty", PeerMisbehaved::EmptyFragment.into(), &|f, all| in_pieces(f, &[&all[..3], &[], &all[3..]]));
        check("empty at first", PeerMisbehaved::EmptyFragment.into(), &|f, all| in_pieces(f, &[&[], all]));
        check("data within a message", PeerMisbehaved::InterleavedRecord.into(), &|f, all| {
            [f.record(HANDSHAKE, &all[..3]), f.record(data, b"x"), f.record(HANDSHAKE, &all[3..])].concat()
        });
        check("an alert within a message", PeerMisbehaved::InterleavedRecord.into(), &|f, all| {
            [f.record(HANDSHAKE, &all[..3]), f.record(ContentType::ALERT, &[1, 90]), f.record(HANDSHAKE, &all[3..])]
                .concat()
        });
        check("too large", InvalidMessage::RecordTooLarge.into(), &|f, all| {
            f.record(HANDSHAKE, &[all, &vec![0; 0x4001 - all.len()]].concat())
        });
    }
    for sender in Side::BOTH {
        // The first message of the next keys, which in TLS 1.2 are the same.
        let verdict = send(mutual(TLS13), sender, |f, all| f.record(HANDSHAKE, &[all, &[24, 0, 0, 1, 0]].concat()));
        assert_eq!(verdict.error, Some(PeerMisbehaved::MessageCrossesKeyChange.into()));
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
    }
}
