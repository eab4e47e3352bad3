//! Tests of the sending half: flights are fragmented, packed and retransmitted, and kept for a limited time.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::flights::KEPT;
use super::*;
use crate::link::datagram::ack::Arrived;
use crate::link::datagram::fragment::FragmentHeader;
use crate::link::datagram::fragment::{Inserted, Reassembler};
use crate::record::datagram::RecordNumber;
use crate::record::datagram12::{Header, ReadEpoch};
use crate::test_crypto::{AES_128_GCM, key_block};
use crate::wire::AlertDescription;
use crate::wire::Finished;

const SETTINGS: Datagrams = Datagrams {
    max_datagram: 1_232,
    initial_timeout: 1_000,
    min_timeout: 1_000,
    max_timeout: 60_000,
    max_retransmissions: 7,
    connection_id: None,
    return_routability_check: true,
    short_tags: false,
    believe_unprotected_alerts: false,
    #[cfg(terse_testing)]
    without: None,
};

fn sender(max_datagram: usize) -> Sender {
    Sender::new(&Datagrams { max_datagram, ..SETTINGS }, None)
}

fn keys() -> EpochKeys {
    EpochKeys::Tls12(key_block(&AES_128_GCM, 1).client)
}

/// Pushes a flight like that of a client: messages of these lengths, new keys, Finished.
fn push(sender: &mut Sender, lens: &[usize], with_keys: bool) {
    for len in lens {
        let body: Vec<_> = (0..*len).map(|byte| byte as u8).collect();
        sender.push(HandshakeType::CERTIFICATE, &Finished(&body)).unwrap();
    }
    if with_keys {
        sender.new_keys(&keys()).unwrap();
        sender.push(HandshakeType::FINISHED, &Finished(&[7; 12])).unwrap();
    }
    sender.end_of_flight().unwrap();
}

fn transmit_at(sender: &mut Sender, now: u64) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    let mut out = vec![0; 0x1_0000];
    while let len @ 1.. = sender.transmit(Instant(now), &mut out) {
        datagrams.push(out[..len].to_vec());
    }
    datagrams
}

/// A peer that decrypts records. It has the lengths of the complete messages, and the number of ChangeCipherSpecs.
#[derive(Default)]
struct Peer {
    epochs: Vec<ReadEpoch>,
    messages: Option<Reassembler>,
    lens: Vec<usize>,
    changes: usize,
    data: Vec<Vec<u8>>,
    cid: usize,
}

impl Peer {
    fn new() -> Self {
        let EpochKeys::Tls12(keys) = keys() else { unreachable!("keys of TLS 1.2") };
        let epochs = vec![ReadEpoch::unprotected(), ReadEpoch::new(1, &keys).unwrap()];
        Self { epochs, messages: Some(Reassembler::new(0x1_0000, 0)), ..Self::default() }
    }

    fn receive(&mut self, datagram: &[u8]) {
        let mut datagram = datagram.to_vec();
        let mut rest = &mut datagram[..];
        let messages = self.messages.as_mut().expect("it has one");
        while !rest.is_empty() {
            let header = Header::parse(rest, self.cid).expect("a record");
            let (record, after) = rest.split_at_mut(header.record_len());
            rest = after;
            let epoch = &mut self.epochs[usize::from(header.epoch)];
            let (content_type, mut content) = epoch.open(&header, record, MAX_FRAGMENT).expect("an authentic one");
            match content_type {
                ContentType::CHANGE_CIPHER_SPEC => self.changes += 1,
                ContentType::HANDSHAKE => {
                    while let Some((header, body)) = content.split_first_chunk() {
                        let header = FragmentHeader::parse(header);
                        let (body, after) = body.split_at(header.fragment_length);
                        assert!(body.len() == header.length || after.is_empty(), "a part, and more in its record");
                        assert!(!matches!(messages.insert(header, body), Inserted::Dropped(_)));
                        content = after;
                    }
                }
                _ => self.data.push(content.to_vec()),
            }
            while let Some(message) = messages.message() {
                self.lens.push(message.len() - HEADER_LEN);
                messages.consume();
            }
        }
    }
}

fn received(datagrams: &[Vec<u8>]) -> Peer {
    let mut peer = Peer::new();
    datagrams.iter().for_each(|datagram| peer.receive(datagram));
    peer
}

#[test]
fn a_flight_takes_as_few_datagrams_and_records_as_possible() {
    let mut sender = sender(1_232);
    push(&mut sender, &[100, 0, 300], true);
    assert_eq!(sender.pending(), 112 + 12 + 312 + 1 + 24);
    let datagrams = transmit_at(&mut sender, 0);
    // three messages in a record, ChangeCipherSpec, Finished
    assert_eq!(datagrams.iter().map(Vec::len).collect::<Vec<_>>(), [13 + 436 + 13 + 1 + 13 + 8 + 24 + 16]);
    let peer = received(&datagrams);
    assert_eq!((&peer.lens[..], peer.changes), (&[100, 0, 300, 12][..], 1));
    let sent = Sent { record_bytes: 524, datagrams: 1, ..Sent::default() };
    assert_eq!((sender.take_sent(), sender.take_sent()), (Some(sent), None));
    assert_eq!(sender.pending(), 0);
}

/// With every datagram size, each datagram but the last one is full, or has no room for another fragment.
#[test]
fn a_flight_is_cut_to_datagrams() {
    for max_datagram in (50..400).chain([1_000]) {
        let mut sender = sender(max_datagram);
        push(&mut sender, &[100, 0, 900, 1], true);
        let datagrams = transmit_at(&mut sender, 0);
        assert!(datagrams.iter().all(|datagram| datagram.len() <= max_datagram));
        assert!(datagrams.len() <= 1 + 1_100 / (max_datagram - 49) * 2, "{max_datagram}: {}", datagrams.len());
        assert_eq!(received(&datagrams).lens, [100, 0, 900, 1, 12], "{max_datagram}");
        // The datagrams arrive in any order.
        let mut peer = Peer::new();
        datagrams.iter().rev().for_each(|datagram| peer.receive(datagram));
        assert_eq!(peer.lens, [100, 0, 900, 1, 12], "{max_datagram}, reversed");
    }
}

/// RFC 6347, 4.1: a retransmission has new record numbers. The flight is complete whatever is lost of either
/// transmission.
#[test]
fn a_flight_that_is_sent_again_has_new_numbers() {
    let mut sender = sender(200);
    push(&mut sender, &[100, 500], true);
    let first = transmit_at(&mut sender, 0);
    assert_eq!(sender.deadline(), Some(Instant(1_000)));
    assert!(!sender.expired(Instant(999)));
    assert_eq!(transmit_at(&mut sender, 999), Vec::<Vec<u8>>::new());
    assert!(!sender.expired(Instant(1_000)));
    let second = transmit_at(&mut sender, 1_000);
    assert_eq!(first.len(), second.len());
    let numbers: BTreeSet<_> = first.iter().chain(&second).map(|datagram| &datagram[3..11]).collect();
    assert_eq!(numbers.len(), first.len() + second.len());
    for lost in 0..first.len() {
        let mut peer = Peer::new();
        let came = first.iter().enumerate().filter(|(number, _)| *number != lost).map(|(_, datagram)| datagram);
        came.chain(&second).for_each(|datagram| peer.receive(datagram));
        assert_eq!(peer.lens, [100, 500, 12]);
    }
    assert_eq!(sender.take_sent().unwrap().retransmissions as usize, second.len());
}

#[test]
fn an_answer_stops_the_timer_and_ends_the_flight() {
    let mut sender = sender(200);
    push(&mut sender, &[10], false);
    transmit_at(&mut sender, 0);
    sender.heard(Instant(900));
    assert_eq!(sender.deadline(), Some(Instant(900 + 2_700)), "a part of the answer: 900 + 4 * 450");
    push(&mut sender, &[20], true);
    sender.handled(Instant(901), false);
    assert_eq!(sender.deadline(), None, "until the next flight is sent");
    assert_eq!(received(&transmit_at(&mut sender, 901)).messages.map(|messages| messages.next_seq()), Some(0), "seq 1");
    assert_eq!(sender.deadline(), Some(Instant(901 + 2_700)));
    sender.handled(Instant(1_801), true);
    assert_eq!(sender.deadline(), None);
    assert_eq!(sender.flight.bytes.capacity(), 0, "nothing is kept");
    sender.repeat(Instant(9_999));
    assert_eq!(transmit_at(&mut sender, 9_999), Vec::<Vec<u8>>::new());
}

/// Returns a sender whose last flight, which nobody answers, was sent at 0.
fn after_the_last_flight() -> Sender {
    let mut sender = sender(200);
    push(&mut sender, &[10], true);
    sender.handled(Instant(0), true);
    assert_eq!(transmit_at(&mut sender, 0).len(), 1);
    sender
}

/// RFC 6347, 4.2.4.
#[test]
fn the_last_flight_is_sent_again_when_the_peer_repeats_its_own() {
    let mut sender = after_the_last_flight();
    assert_eq!(sender.deadline(), None);
    sender.handled(Instant(10), true);
    sender.repeat(Instant(249));
    assert_eq!(transmit_at(&mut sender, 249).len(), 0, "a duplicate on the way");
    sender.repeat(Instant(250));
    assert_eq!(transmit_at(&mut sender, 250).len(), 1);
    assert_eq!(sender.deadline(), None);
    sender.repeat(Instant(250 + KEPT));
    assert_eq!(transmit_at(&mut sender, 250 + KEPT).len(), 1);
    sender.repeat(Instant(250 + 2 * KEPT + 1));
    assert_eq!(transmit_at(&mut sender, 250 + 2 * KEPT + 1).len(), 0, "it is too old");
    assert_eq!(sender.flight.bytes.capacity(), 0);
}

/// Earlier retransmissions of this side do not delay the last flight: the peer's timer does not depend on them.
#[test]
fn the_last_flight_is_sent_again_soon_after_losses() {
    let mut sender = sender(200);
    push(&mut sender, &[10], false);
    for now in [0, 1_000, 3_000, 7_000] {
        assert!(!sender.expired(Instant(now)));
        transmit_at(&mut sender, now);
    }
    push(&mut sender, &[10], true);
    sender.handled(Instant(7_500), true);
    transmit_at(&mut sender, 7_500);
    assert_eq!(sender.timer.value(), 8_000);
    sender.repeat(Instant(7_749));
    assert_eq!(transmit_at(&mut sender, 7_749).len(), 0);
    sender.repeat(Instant(7_750));
    assert_eq!(transmit_at(&mut sender, 7_750).len(), 1);
}

/// A short request causes a long flight, and restarts the timer. Endless requests are not answered endlessly, and do
/// not keep this side from giving up.
#[test]
fn a_flight_is_not_sent_again_without_end() {
    let mut sender = sender(200);
    push(&mut sender, &[1_000], false);
    transmit_at(&mut sender, 0);
    let (mut count, mut is_given_up) = (0, false);
    for now in (100..700_000).step_by(100) {
        sender.repeat(Instant(now));
        count += usize::from(!transmit_at(&mut sender, now).is_empty());
        is_given_up |= sender.expired(Instant(now));
        count += usize::from(!transmit_at(&mut sender, now).is_empty());
    }
    assert_eq!((count, is_given_up), (2 * usize::from(SETTINGS.max_retransmissions), true));
}

#[test]
fn nothing_is_sent_again_after_the_last_alert() {
    let mut sender = after_the_last_flight();
    sender.last_alert(Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY }).unwrap();
    sender.record(ContentType::APPLICATION_DATA, b"more").unwrap();
    sender.repeat(Instant(5_000));
    assert_eq!(received(&transmit_at(&mut sender, 5_000)).data, [[1, 0]]);
}

#[test]
fn an_alert_takes_the_place_of_a_flight_that_is_not_complete() {
    let mut sender = sender(200);
    sender.push(HandshakeType::CERTIFICATE, &Finished(&[0; 100])).unwrap();
    sender.last_alert(Alert { level: Alert::FATAL, description: AlertDescription::DECODE_ERROR }).unwrap();
    let peer = received(&transmit_at(&mut sender, 0));
    assert_eq!((peer.lens, peer.data), (vec![], vec![vec![2, 50]]));
}

/// RFC 6347, 4.1.1.1.
#[test]
fn datagrams_become_smaller_when_flights_are_lost() {
    let mut sender = sender(1_472);
    push(&mut sender, &[3_000], true);
    let mut now = 0;
    let largest: Vec<_> = (0..6)
        .map(|_| {
            let largest = transmit_at(&mut sender, now).iter().map(Vec::len).max().unwrap();
            now = sender.deadline().unwrap().0;
            assert!(!sender.expired(Instant(now)));
            largest
        })
        .collect();
    assert_eq!(largest, [1_472, 1_472, 1_232, 528, 208, 208]);
    assert_eq!(sender.max_fragment(), 208 - 13 - 8 - 16, "for application data as well");
}

#[test]
fn datagrams_keep_their_size_when_small_ones_are_lost() {
    for (is_finished, len, size) in [(true, 100, 1_472), (true, 300, 208), (true, 1_100, 208), (false, 100, 208)] {
        let mut sender = sender(1_472);
        sender.is_finished = is_finished;
        push(&mut sender, &[len], false);
        let mut now = 0;
        for _ in 0..6 {
            transmit_at(&mut sender, now);
            now = sender.deadline().unwrap().0;
            assert!(!sender.expired(Instant(now)));
        }
        assert_eq!(sender.max_fragment(), size - 13, "{len}");
    }
}

/// Datagrams become smaller whether the timer or the peer noticed the loss.
#[test]
fn datagrams_become_smaller_when_the_peer_does_not_get_them() {
    let mut sender = sender(1_472);
    push(&mut sender, &[3_000], false);
    let mut now = 0;
    for largest in [1_472, 1_472, 1_232, 528] {
        assert_eq!(transmit_at(&mut sender, now).iter().map(Vec::len).max(), Some(largest));
        now += 100_000;
        sender.repeat(Instant(now));
    }
}

/// A connection ID may need more room than the smallest datagram has.
#[test]
fn datagrams_stay_large_enough_for_a_connection_id() {
    for cid_is_known in [true, false] {
        let mut sender = sender(1_472);
        if cid_is_known {
            sender.use_connection_id(&[5; 255]);
        }
        push(&mut sender, &[300], false);
        let mut now = 0;
        for _ in 0..6 {
            transmit_at(&mut sender, now);
            now = sender.deadline().unwrap().0;
            assert!(!sender.expired(Instant(now)));
        }
        transmit_at(&mut sender, now);
        sender.handled(Instant(now), false);
        sender.use_connection_id(&[5; 255]);
        push(&mut sender, &[300], true);
        let datagrams = transmit_at(&mut sender, now);
        let mut peer = Peer { cid: 255, ..Peer::new() };
        peer.messages.as_mut().unwrap().set_next_seq(1);
        datagrams.iter().for_each(|datagram| peer.receive(datagram));
        assert_eq!(peer.lens, [300, 12], "known before: {cid_is_known}");
    }
}

#[test]
fn a_record_of_application_data_is_a_datagram() {
    let mut sender = after_the_last_flight();
    assert_eq!(sender.max_fragment(), 200 - 13 - 8 - 16);
    sender.record(ContentType::APPLICATION_DATA, &[1; 163]).unwrap();
    sender.record(ContentType::APPLICATION_DATA, &[2]).unwrap();
    assert_eq!(sender.pending(), 200 + 38);
    let datagrams = transmit_at(&mut sender, 1);
    assert_eq!(received(&datagrams).data, [&[1; 163][..], &[2]]);
    assert_eq!(datagrams[0].len(), 200);
    assert_eq!(sender.pending(), 0);
    sender.limits().limit_protected(100);
    assert_eq!((sender.max_fragment(), sender.limits().of(true)), (100, 100));
}

/// Application data waits for a buffer that it fits into. A flight counts as lost, and is retransmitted.
#[test]
fn a_buffer_that_is_too_small_stops_nothing() {
    let mut sender = after_the_last_flight();
    sender.record(ContentType::APPLICATION_DATA, &[1; 100]).unwrap();
    assert_eq!(sender.transmit(Instant(0), &mut [0; 20]), 0);
    assert_eq!(transmit_at(&mut sender, 0).len(), 1);
    push(&mut sender, &[30], false);
    assert_eq!(sender.transmit(Instant(0), &mut []), 0);
    assert!(!sender.expired(Instant(1_000)));
    assert_eq!(transmit_at(&mut sender, 1_000).len(), 1);
}

#[test]
fn the_peer_is_given_up_in_the_end() {
    let mut sender = sender(200);
    push(&mut sender, &[10], false);
    let mut now = 0;
    for _ in 0..SETTINGS.max_retransmissions {
        transmit_at(&mut sender, now);
        now = sender.deadline().unwrap().0;
        assert!(!sender.expired(Instant(now)));
    }
    transmit_at(&mut sender, now);
    let now = sender.deadline().unwrap();
    assert_eq!(now, Instant(183_000));
    assert!(sender.expired(now));
    assert_eq!(sender.deadline(), None);
}

/// A datagram that has no room for one byte of a message under these keys is refused.
#[test]
fn datagrams_have_room_for_a_fragment() {
    let least = 13 + 8 + 12 + 1 + 16;
    for (max_datagram, result) in [(least, Ok(())), (least - 1, Err(ApiMisuse::DatagramOutOfRange.into()))] {
        assert_eq!(sender(max_datagram).new_keys(&keys()), result);
    }
}

/// RFC 9147, 7.1: an ACK must arrive before the peer's timer expires, whose value may not have grown.
#[test]
fn a_long_round_trip_does_not_hold_acks_back() {
    let mut sender = sender(1_232);
    push(&mut sender, &[100], false);
    transmit_at(&mut sender, 0);
    sender.heard(Instant(10_000));
    assert!(sender.timer.value() >= 10_000);
    let numbers = vec![RecordNumber { epoch: HANDSHAKE, sequence_number: 0 }];
    sender.arrived(Instant(10_000), Arrived { numbers, ..Arrived::default() });
    assert_eq!(sender.acks.deadline(), Some(Instant(10_250)));
}
