//! Tests of the receiving half against an arbitrary network and an arbitrary peer.

use alloc::vec::Vec;

use alloc::vec;

use super::*;
use crate::record::datagram12::WriteEpoch;
use crate::test_crypto::{AES_128_GCM, key_block};
use crate::wire::HandshakeType;

const MAX_MESSAGE: usize = 1_000;

const NOW: Instant = Instant(0);

/// The result of a datagram.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Message(Vec<u8>),
    Data(Vec<u8>),
    Alert(Alert),
    Repeated,
    Check(ReturnRoutabilityCheck),
}

fn keys(seed: u8) -> EpochKeys {
    EpochKeys::Tls12(key_block(&AES_128_GCM, seed).client)
}

fn receiver_with(cid: Option<&[u8]>) -> Receiver {
    Receiver::new(MAX_MESSAGE, MAX_FRAGMENT, &Datagrams::default(), cid.map(Into::into))
}

fn receiver() -> Receiver {
    receiver_with(None)
}

/// The peer, which makes records in epoch 0 and, once it has keys, in epoch 1.
struct Peer {
    epochs: Vec<WriteEpoch>,
    cid: Vec<u8>,
}

impl Peer {
    fn new() -> Self {
        let EpochKeys::Tls12(keys) = keys(1) else { unreachable!("keys of TLS 1.2") };
        Self { epochs: vec![WriteEpoch::unprotected(0), WriteEpoch::new(1, &keys).unwrap()], cid: Vec::new() }
    }

    fn record(&mut self, epoch: usize, content_type: ContentType, content: &[u8]) -> Vec<u8> {
        let (epoch, cid) = (&mut self.epochs[epoch], &self.cid);
        let head = epoch.head_len(cid);
        let mut record = vec![0; head + content.len() + epoch.tail_len(cid)];
        record[head..head + content.len()].copy_from_slice(content);
        epoch.seal(content_type, cid, &mut record).unwrap();
        record
    }

    fn message(&mut self, epoch: usize, seq: u16, len: usize) -> Vec<u8> {
        self.record(epoch, ContentType::HANDSHAKE, &message(seq, len))
    }

    fn data(&mut self, data: &[u8]) -> Vec<u8> {
        self.record(1, ContentType::APPLICATION_DATA, data)
    }
}

/// Returns a message with `len` bytes of body, in one fragment.
fn message(seq: u16, len: usize) -> Vec<u8> {
    let header = FragmentHeader::whole(HandshakeType::CERTIFICATE, seq, len);
    header.bytes().into_iter().chain((0..len).map(|byte| byte as u8)).collect()
}

/// Returns the fragment of a message that has the bytes `from` to `to` of its body.
fn fragment(seq: u16, len: usize, from: usize, to: usize) -> Vec<u8> {
    let whole = FragmentHeader::whole(HandshakeType::CERTIFICATE, seq, len);
    let header = FragmentHeader { fragment_offset: from, fragment_length: to - from, ..whole };
    header.bytes().into_iter().chain((from..to).map(|byte| byte as u8)).collect()
}

/// Receives a datagram as a connection does.
fn receive(receiver: &mut Receiver, datagram: &[u8]) -> Vec<Event> {
    let mut datagram = datagram.to_vec();
    let (mut events, mut taken) = (Vec::new(), 0);
    while taken < datagram.len() || receiver.has_waiting() {
        let Record { taken: len, received, .. } = receiver.receive(NOW, &mut datagram[taken..]).unwrap();
        taken += len;
        match received {
            Received::Nothing => {}
            Received::Handshake => {
                while let Some(message) = receiver.message().unwrap().map(<[u8]>::to_vec) {
                    receiver.consume(message.len());
                    events.push(Event::Message(message));
                }
            }
            Received::ApplicationData => {
                let mut data = vec![0; receiver.plaintext().len()];
                receiver.plaintext_mut().read(&mut data);
                events.push(Event::Data(data));
            }
            Received::Alert(alert) => events.push(Event::Alert(alert)),
            Received::Repeated => events.push(Event::Repeated),
            Received::ReturnRoutabilityCheck(check) => events.push(Event::Check(check)),
            Received::Ack { .. } => panic!("nothing was acknowledged"),
        }
    }
    events
}

fn messages(seqs: impl IntoIterator<Item = u16>) -> Vec<Event> {
    seqs.into_iter().map(|seq| Event::Message(message(seq, 20))).collect()
}

#[test]
fn messages_come_in_order_whatever_the_order_of_the_datagrams() {
    let mut peer = Peer::new();
    let datagrams: Vec<_> = (0..3).map(|seq| peer.message(0, seq, 20)).collect();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut receiver = receiver();
        let events: Vec<_> = order.into_iter().flat_map(|number| receive(&mut receiver, &datagrams[number])).collect();
        assert_eq!(events, messages(0..3));
    }
}

#[test]
fn a_datagram_may_have_several_records_and_a_record_several_fragments() {
    let mut peer = Peer::new();
    let content = [message(0, 20), fragment(1, 20, 0, 7), fragment(1, 20, 7, 20)].concat();
    let datagram = [peer.record(0, ContentType::HANDSHAKE, &content), peer.message(0, 2, 20)].concat();
    assert_eq!(receive(&mut receiver(), &datagram), messages(0..3));
}

/// RFC 6347, 4.1.2.7: the rest of the datagram is dropped as well, since the start of the next record is unknown.
#[test]
fn what_is_no_record_is_dropped() {
    let mut receiver = receiver();
    let good = Peer::new().message(0, 0, 20);
    for garbage in [&[0][..], &[22, 3, 3, 0, 1, 7], &[0xff; 100], &good[..good.len() - 1]] {
        assert_eq!(receive(&mut receiver, garbage), []);
    }
    let mut half = FragmentHeader::whole(HandshakeType::CERTIFICATE, 0, 20).bytes().to_vec();
    half.push(0);
    for content in [&[][..], &[1], &half] {
        assert_eq!(receive(&mut receiver, &Peer::new().record(0, ContentType::HANDSHAKE, content)), []);
    }
    assert_eq!(receiver.dropped().malformed, 6, "an empty record is none");
    assert_eq!(receive(&mut receiver, &[&good[..], &[1, 2, 3]].concat()), messages([0]));
    assert_eq!(receiver.dropped().total(), 7);
}

/// Returns a receiver that has handled the message with number 0, and has keys.
fn with_keys() -> (Receiver, Peer) {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    receive(&mut receiver, &peer.message(0, 0, 20));
    receiver.new_keys(&keys(1)).unwrap();
    (receiver, peer)
}

#[test]
fn what_overtook_the_change_of_keys_is_opened_after_it() {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    let (finished, data) = (peer.message(1, 1, 20), peer.data(b"data"));
    assert_eq!(receive(&mut receiver, &[&finished[..], &data].concat()), []);
    assert_eq!(receive(&mut receiver, &peer.message(0, 0, 20)), messages([0]));
    assert!(!receiver.has_waiting());
    receiver.new_keys(&keys(1)).unwrap();
    assert!(receiver.has_waiting());
    let expected: Vec<_> = messages([1]).into_iter().chain([Event::Data(b"data".to_vec())]).collect();
    assert_eq!(receive(&mut receiver, &[]), expected);
    assert_eq!(receive(&mut receiver, &finished), [], "it is a replay now");
    assert_eq!(receiver.dropped(), Dropped { replayed: 1, ..Dropped::default() });
}

#[test]
fn little_is_held_for_later() {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    for _ in 0..100 {
        receive(&mut receiver, &peer.data(&[0; 300]));
    }
    let held: usize = receiver.held.records.iter().map(|record| record.len()).sum();
    assert!((MAX_HELD - 400..=MAX_HELD).contains(&held), "{held}");
    assert_eq!(receiver.dropped().wrong_epoch as usize, 100 - receiver.held.records.len());
}

/// Records of other epochs are not kept: no other epoch follows.
#[test]
fn nothing_is_held_once_there_are_keys() {
    let (mut receiver, mut peer) = with_keys();
    for epoch in [0, 2, 3, u16::MAX] {
        let mut record = peer.data(b"data");
        record[3..5].copy_from_slice(&epoch.to_be_bytes());
        assert_eq!(receive(&mut receiver, &record), []);
    }
    assert!(receiver.held.records.is_empty());
    assert_eq!(receiver.dropped().wrong_epoch, 4);
}

/// The counters do not overflow.
#[test]
fn counts_end_at_their_maximum() {
    let (mut receiver, mut peer) = with_keys();
    let full = u32::MAX;
    let all = Dropped { malformed: full, wrong_epoch: full, bad_fragment: full, ..Dropped::default() };
    receiver.dropped.counters = all;
    let mut of_epoch_7 = peer.data(b"data");
    of_epoch_7[4] = 7;
    let too_long = FragmentHeader::whole(HandshakeType::CERTIFICATE, 1, MAX_MESSAGE + 1).bytes();
    let too_long = [&too_long[..], &vec![0; MAX_MESSAGE + 1]].concat();
    for datagram in [
        vec![0],
        of_epoch_7,
        peer.record(1, ContentType::HANDSHAKE, &[1]),
        peer.record(1, ContentType::HANDSHAKE, &too_long),
    ] {
        assert_eq!(receive(&mut receiver, &datagram), []);
    }
    assert_eq!(receiver.dropped(), all);
    let mut receiver = self::receiver();
    receiver.dropped.counters = all;
    receive(&mut receiver, &Peer::new().data(&[0; MAX_HELD]));
    assert_eq!(receiver.dropped(), all);
}

/// An attacker without keys sends Finished and later messages before the key change, or after it.
#[test]
fn what_came_in_the_clear_does_not_count_once_there_are_keys() {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    receive(&mut receiver, &peer.message(0, 1, 20));
    assert_eq!(receive(&mut receiver, &peer.message(0, 0, 20)), messages(0..2), "until then it does");

    let (mut receiver, mut peer) = (self::receiver(), Peer::new());
    receive(&mut receiver, &peer.record(0, ContentType::HANDSHAKE, &fragment(1, 20, 0, 19)));
    receive(&mut receiver, &peer.message(0, 0, 20));
    receiver.new_keys(&keys(1)).unwrap();
    assert_eq!(receive(&mut receiver, &peer.message(0, 1, 20)), []);
    assert_eq!(receive(&mut receiver, &peer.record(0, ContentType::APPLICATION_DATA, b"data")), []);
    let genuine: Vec<_> = message(1, 30);
    assert_eq!(receive(&mut receiver, &peer.message(1, 1, 30)), [Event::Message(genuine)]);
}

#[test]
fn application_data_in_the_clear_is_dropped() {
    let mut receiver = receiver();
    for content_type in [ContentType::APPLICATION_DATA, ContentType(99)] {
        assert_eq!(receive(&mut receiver, &Peer::new().record(0, content_type, b"data")), []);
    }
    assert_eq!(receiver.dropped(), Dropped { not_due: 2, ..Dropped::default() });
}

/// RFC 9853, 4: only protected return routability check messages of known types are handled.
#[test]
fn checks_of_return_routability_are_protected_and_of_known_types() {
    let kind = ContentType::RETURN_ROUTABILITY_CHECK;
    let mut unprotected = receiver();
    assert_eq!(receive(&mut unprotected, &Peer::new().record(0, kind, &[1, 1, 2, 3, 4, 5, 6, 7, 8])), []);
    assert_eq!(unprotected.dropped(), Dropped { not_due: 1, ..Dropped::default() });
    let (mut receiver, mut peer) = with_keys();
    let check = Event::Check(ReturnRoutabilityCheck::PathResponse([1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(receive(&mut receiver, &peer.record(1, kind, &[1, 1, 2, 3, 4, 5, 6, 7, 8])), [check]);
    for content in [&[3, 1, 2, 3, 4, 5, 6, 7, 8][..], &[1, 1, 2, 3, 4, 5, 6, 7], &[0; 10], &[]] {
        assert_eq!(receive(&mut receiver, &peer.record(1, kind, content)), []);
    }
    assert_eq!(receiver.dropped(), Dropped { malformed: 4, ..Dropped::default() });
}

#[test]
fn change_cipher_spec_changes_nothing() {
    let change = |peer: &mut Peer, epoch| peer.record(epoch, ContentType::CHANGE_CIPHER_SPEC, &[1]);
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    assert_eq!(receive(&mut receiver, &change(&mut peer, 0)), []);
    assert_eq!(receive(&mut receiver, &peer.message(0, 0, 20)), messages([0]));
    receiver.new_keys(&keys(1)).unwrap();
    assert_eq!(receive(&mut receiver, &change(&mut peer, 0)), []);
    assert_eq!(receive(&mut receiver, &change(&mut peer, 1)), []);
    assert_eq!(receive(&mut receiver, &peer.message(1, 1, 20)), messages([1]));
    assert_eq!(receiver.dropped(), Dropped { not_due: 1, ..Dropped::default() }, "the protected one");
}

/// RFC 9146, 3 and 4: protected records must have the negotiated connection ID.
#[test]
fn records_have_the_connection_id_that_was_agreed_on() {
    for (theirs, is_taken) in [(&b"1234"[..], true), (b"4321", false), (b"", false), (b"123", false), (b"12345", false)]
    {
        let (mut receiver, mut peer) = (receiver_with(Some(b"1234")), Peer::new());
        receive(&mut receiver, &peer.message(0, 0, 20));
        receiver.expect_connection_id();
        receiver.new_keys(&keys(1)).unwrap();
        peer.cid = theirs.into();
        let events = receive(&mut receiver, &peer.data(b"data"));
        assert_eq!(!events.is_empty(), is_taken, "{theirs:?}");
        assert_eq!(receiver.dropped().total() == 0, is_taken);
    }
    // No connection ID was negotiated, or an empty one.
    for (own, agreed) in [(Some(&b""[..]), true), (Some(b"1234"), false), (None, false)] {
        let (mut receiver, mut peer) = (receiver_with(own), Peer::new());
        if agreed {
            receiver.expect_connection_id();
        }
        receiver.new_keys(&keys(1)).unwrap();
        assert_eq!(receive(&mut receiver, &peer.data(b"data")), [Event::Data(b"data".to_vec())]);
        peer.cid = b"1234".to_vec();
        assert_eq!(receive(&mut receiver, &peer.data(b"data")), []);
    }
}

/// Without the check, a peer could send any connection ID in an authentic record, so that others look for the
/// connection in the wrong place.
#[cfg(terse_testing)]
#[test]
fn without_the_check_any_connection_id_will_do() {
    for theirs in [&b"4321"[..], b""] {
        let (mut receiver, mut peer) = (receiver_with(Some(b"1234")), Peer::new());
        receiver.defences.without = Some(crate::config::Defence::ConnectionIds);
        receiver.expect_connection_id();
        receiver.new_keys(&keys(1)).unwrap();
        peer.cid = theirs.into();
        assert_eq!(receive(&mut receiver, &peer.data(b"data")), [Event::Data(b"data".to_vec())], "{theirs:?}");
    }
}

/// A record of another connection is not authentic, with this connection's ID or its own: if an address belongs to
/// another connection now, only the record is lost.
#[test]
fn a_record_of_another_connection_is_dropped() {
    for theirs in [&b"1234"[..], b"4321"] {
        let (mut receiver, mut peer) = (receiver_with(Some(b"1234")), Peer::new());
        receiver.expect_connection_id();
        receiver.new_keys(&keys(2)).unwrap();
        peer.cid = theirs.into();
        assert_eq!(receive(&mut receiver, &peer.data(b"data")), []);
        let is_ours = u32::from(theirs == b"1234");
        let expected = Dropped { not_authentic: is_ours, connection_id: 1 - is_ours, ..Dropped::default() };
        assert_eq!(receiver.dropped(), expected);
    }
}

const REFUSED: [u8; 2] = [2, AlertDescription::BAD_CERTIFICATE.0];

#[test]
fn an_alert_that_nobody_vouches_for_is_remembered_until_somebody_goes_on() {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    assert_eq!(receive(&mut receiver, &peer.record(0, ContentType::ALERT, &[1, 0])), [], "a warning");
    assert_eq!(receiver.unprotected_alert(), None);
    assert_eq!(receive(&mut receiver, &peer.record(0, ContentType::ALERT, &REFUSED)), []);
    assert_eq!(receiver.unprotected_alert(), Some(AlertDescription::BAD_CERTIFICATE));
    receive(&mut receiver, &peer.message(0, 0, 20));
    assert_eq!(receiver.unprotected_alert(), None);
    assert_eq!(receiver.dropped(), Dropped { unprotected_alert: 2, ..Dropped::default() });
}

/// A server that refuses the client's flight has not changed its own keys yet, while the client already expects the new
/// ones.
#[test]
fn an_alert_under_the_keys_before_is_remembered() {
    let (mut receiver, mut peer) = with_keys();
    assert_eq!(receive(&mut receiver, &peer.record(0, ContentType::ALERT, &REFUSED)), []);
    assert_eq!(receiver.unprotected_alert(), Some(AlertDescription::BAD_CERTIFICATE));
    receive(&mut receiver, &peer.message(1, 1, 20));
    assert_eq!(receiver.unprotected_alert(), None);
}

#[test]
fn a_protected_alert_is_believed() {
    let (mut receiver, mut peer) = with_keys();
    let events = receive(&mut receiver, &peer.record(1, ContentType::ALERT, &REFUSED));
    let alert = Alert { level: Alert::FATAL, description: AlertDescription::BAD_CERTIFICATE };
    assert_eq!(events, [Event::Alert(alert)]);
    assert_eq!(receive(&mut receiver, &peer.record(1, ContentType::ALERT, &[2])), []);
    assert_eq!(receiver.dropped().malformed, 1);
}

#[test]
fn data_waits_to_be_read_before_more_is_taken() {
    let (mut receiver, mut peer) = with_keys();
    let mut datagram = [peer.data(b"first"), peer.data(b""), peer.data(b"second")].concat();
    let Record { taken, received, .. } = receiver.receive(NOW, &mut datagram).unwrap();
    assert_eq!(received, Received::ApplicationData);
    let waits = receiver.receive(NOW, &mut datagram[taken..]).unwrap();
    assert_eq!((waits.taken, waits.received), (0, Received::Nothing));
    let mut data = [0; 3];
    assert_eq!((receiver.plaintext_mut().read(&mut data), &data), (3, b"fir"));
    assert!(!receiver.plaintext().is_empty());
    assert_eq!((receiver.plaintext_mut().read(&mut data), &data[..2]), (2, &b"st"[..]));
    assert_eq!(receive(&mut receiver, &datagram[taken..]), [Event::Data(b"second".to_vec())]);
}

/// RFC 6347, 4.2.4: a flight is retransmitted when its answer was lost, which the end of the flight shows.
#[test]
fn a_flight_that_comes_again_asks_for_its_answer() {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    receive(&mut receiver, &[peer.message(0, 0, 20), peer.message(0, 1, 20)].concat());
    assert_eq!(receive(&mut receiver, &peer.message(0, 1, 20)), [], "there is no answer yet");
    receiver.answered();
    assert_eq!(receive(&mut receiver, &peer.message(0, 0, 20)), [], "not its end");
    let mut part =
        |from, to| receive(&mut receiver, &peer.record(0, ContentType::HANDSHAKE, &fragment(1, 20, from, to)));
    assert_eq!((part(0, 19), part(19, 20)), (vec![], vec![Event::Repeated]));
    let both = peer.record(0, ContentType::HANDSHAKE, &[message(1, 20), message(2, 20)].concat());
    assert_eq!(receive(&mut receiver, &both), messages([2]), "the peer goes on");
}

/// If a part of the next flight was lost, the peer retransmits all of it. An incomplete flight must not cause the
/// retransmission of this side's flight before it, which may be long.
#[test]
fn a_flight_that_comes_again_because_some_of_it_was_lost_asks_for_nothing() {
    for has_keys in [false, true] {
        let (mut receiver, mut peer) = (receiver(), Peer::new());
        receive(&mut receiver, &peer.message(0, 0, 20));
        receiver.answered();
        receive(&mut receiver, &peer.message(0, 1, 20));
        if has_keys {
            receiver.new_keys(&keys(1)).unwrap();
        }
        for seq in [0, 1] {
            assert_eq!(receive(&mut receiver, &peer.message(0, seq, 20)), [], "message {seq}");
        }
    }
}

#[test]
fn a_flight_under_the_keys_before_asks_for_its_answer_until_something_came_under_the_new_ones() {
    let (mut receiver, mut peer) = with_keys();
    receiver.answered();
    assert_eq!(receive(&mut receiver, &peer.message(0, 0, 20)), [Event::Repeated]);
    assert_eq!(receive(&mut receiver, &peer.message(1, 1, 20)), messages([1]));
    receiver.answered();
    // Anybody can send these records now.
    for seq in 0..3 {
        assert_eq!(receive(&mut receiver, &peer.message(0, seq, 20)), [], "message {seq}");
    }
    assert_eq!(receiver.dropped(), Dropped { wrong_epoch: 3, ..Dropped::default() });
    assert_eq!(receive(&mut receiver, &peer.message(1, 1, 20)), [Event::Repeated]);
}

/// A signature that was awaited is a step of the handshake, but not a message.
#[test]
fn what_was_not_handled_is_not_consumed() {
    let (mut receiver, mut peer) = (receiver(), Peer::new());
    let mut datagram = peer.message(0, 0, 20);
    let record = receiver.receive(NOW, &mut datagram).unwrap();
    assert_eq!((record.taken, record.received), (datagram.len(), Received::Handshake));
    receiver.consume(0);
    assert_eq!(receiver.message(), Ok(Some(&message(0, 20)[..])));
}

/// RFC 8449, 4: `record_size_limit` applies to protected records only. A peer packs its unprotected messages into
/// records as long as datagrams.
#[test]
fn the_limit_of_records_is_for_protected_ones() {
    let mut receiver = Receiver::new(MAX_MESSAGE, 100, &Datagrams::default(), None);
    let mut peer = Peer::new();
    let seqs = peer.record(0, ContentType::HANDSHAKE, &[message(0, 200), message(1, 20)].concat());
    let events: Vec<_> = [Event::Message(message(0, 200))].into_iter().chain(messages([1])).collect();
    assert_eq!(receive(&mut receiver, &seqs), events);
    receiver.new_keys(&keys(1)).unwrap();
    assert_eq!(receive(&mut receiver, &peer.data(&[7; 101])), []);
    assert_eq!(receive(&mut receiver, &peer.data(&[7; 100])), [Event::Data(vec![7; 100])]);
    receiver.limit_records(50);
    assert_eq!(receive(&mut receiver, &peer.data(&[7; 51])), []);
    assert_eq!(receiver.dropped(), Dropped { malformed: 2, ..Dropped::default() });
}
