//! Tests of the sending half.

use proptest::prelude::*;

use super::*;
use crate::crypto::Tls13Suite;
use crate::test_crypto::suite;
use crate::wire::Transport;

fn transmitted(sender: &mut Sender) -> Vec<u8> {
    let mut out = vec![0; sender.pending()];
    assert_eq!(sender.transmit(Instant(0), &mut out), out.len());
    assert_eq!(sender.transmit(Instant(0), &mut [0; 10]), 0, "there is no more");
    out
}

/// Returns the content types and lengths of records.
fn headers(mut stream: &[u8]) -> Vec<(u8, usize)> {
    let mut headers = Vec::new();
    while let Some((header, rest)) = stream.split_first_chunk() {
        let header = Header::parse(*header);
        headers.push((header.content_type.0, header.len));
        stream = &rest[header.len..];
    }
    assert!(stream.is_empty());
    headers
}

fn push(sender: &mut Sender, len: usize) {
    let expected = message(len);
    let pushed = sender.push(HandshakeType::FINISHED, &Finished(&expected[MESSAGE_HEADER_LEN..])).unwrap();
    assert_eq!(pushed, expected);
}

#[test]
fn a_flight_takes_as_few_records_as_possible() {
    let mut sender = Sender::new(false);
    [0, 10, 300].into_iter().for_each(|len| push(&mut sender, len));
    assert_eq!(sender.pending(), 0, "nothing leaves before the flight is complete");
    sender.end_of_flight().unwrap();
    let stream = transmitted(&mut sender);
    assert_eq!(stream, plaintext(ContentType::HANDSHAKE, &[message(0), message(10), message(300)].concat()));
    assert_eq!(sender.produced(), stream.len() as u64);
    sender.end_of_flight().unwrap();
    assert_eq!(sender.pending(), 0, "no record without content");
    assert_eq!(sender.transport(), Transport::Stream);
}

#[test]
fn records_are_as_long_as_the_limit_allows() {
    for (limit, expected) in [(63, vec![63, 63, 63, 15]), (204, vec![204]), (203, vec![203, 1])] {
        let mut sender = Sender::new(false);
        sender.limits().limit(limit);
        assert_eq!(sender.max_fragment(), limit);
        push(&mut sender, 200);
        sender.end_of_flight().unwrap();
        let lens: Vec<_> = headers(&transmitted(&mut sender)).into_iter().map(|(_, len)| len).collect();
        assert_eq!(lens, expected);
    }
    let mut sender = Sender::new(false);
    sender.limits().limit(0xffff);
    assert_eq!(sender.max_fragment(), MAX_FRAGMENT, "never more than the protocol's own limit");
    push(&mut sender, MAX_FRAGMENT);
    sender.end_of_flight().unwrap();
    assert_eq!(headers(&transmitted(&mut sender)), [(22, MAX_FRAGMENT), (22, MESSAGE_HEADER_LEN)]);
}

/// RFC 9846, 5.1: messages before a key change end with their record.
#[test]
fn what_was_pushed_before_new_keys_goes_under_the_old_ones() {
    let mut sender = Sender::new(false);
    push(&mut sender, 1);
    sender.new_keys(&tls13(1)).unwrap();
    push(&mut sender, 2);
    sender.new_keys(&tls13(2)).unwrap();
    sender.record(ContentType::APPLICATION_DATA, b"data").unwrap();
    let stream = transmitted(&mut sender);
    let expected = [
        plaintext(ContentType::HANDSHAKE, &message(1)),
        protected(&mut record_key(1), ContentType::HANDSHAKE, &message(2)),
        protected(&mut record_key(2), ContentType::APPLICATION_DATA, b"data"),
    ];
    assert_eq!(stream, expected.concat());
    assert_eq!(sender.produced(), stream.len() as u64);
}

/// RFC 9846, E.4
#[test]
fn change_cipher_spec_is_sent_once_and_only_in_compatibility_mode() {
    let change = plaintext(ContentType::CHANGE_CIPHER_SPEC, &[1]);
    let mut sender = Sender::new(false);
    sender.compatibility_point().unwrap();
    assert_eq!(sender.pending(), 0);
    sender.compatibility_mode();
    push(&mut sender, 1);
    sender.compatibility_point().unwrap();
    assert_eq!(transmitted(&mut sender), [plaintext(ContentType::HANDSHAKE, &message(1)), change.clone()].concat());
    sender.compatibility_point().unwrap();
    assert_eq!(sender.pending(), 0, "once is enough");

    let mut client = Sender::new(true);
    client.compatibility_point().unwrap();
    client.new_keys(&tls13(1)).unwrap();
    assert_eq!(transmitted(&mut client), change, "unprotected");
    assert_eq!(client.produced(), change.len() as u64);
}

/// RFC 9846, 6.1 and 6.2
#[test]
fn nothing_follows_the_last_alert() {
    let close_notify = Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY };
    let fatal = Alert { level: Alert::FATAL, description: AlertDescription::DECODE_ERROR };
    for alert in [close_notify, fatal] {
        let mut sender = Sender::new(true);
        push(&mut sender, 1);
        sender.end_of_flight().unwrap();
        push(&mut sender, 2);
        sender.last_alert(alert).unwrap();
        let expected = [
            plaintext(ContentType::HANDSHAKE, &message(1)),
            plaintext(ContentType::ALERT, &[alert.level, alert.description.0]),
        ];
        assert_eq!(transmitted(&mut sender), expected.concat(), "not what was incomplete");

        sender.record(ContentType::APPLICATION_DATA, b"data").unwrap();
        sender.compatibility_point().unwrap();
        push(&mut sender, 3);
        sender.end_of_flight().unwrap();
        sender.new_keys(&tls13(1)).unwrap();
        sender.last_alert(fatal).unwrap();
        assert_eq!(sender.pending(), 0);
        assert_eq!(sender.produced(), expected.concat().len() as u64);
    }
}

#[test]
fn a_record_that_cannot_be_protected_leaves_nothing_behind() {
    let mut sender = Sender::new(false);
    sender.new_keys(&tls13(1)).unwrap();
    let error = sender.record(ContentType::APPLICATION_DATA, &vec![0; MAX_FRAGMENT + 1]).unwrap_err();
    assert_eq!(error, CryptoError::InvalidLength.into());
    assert_eq!((sender.pending(), sender.produced()), (0, 0));
}

#[test]
fn a_message_longer_than_its_header_can_say_is_refused() {
    let mut sender = Sender::new(false);
    let body = vec![0; 1 << 24];
    let error = sender.push(HandshakeType::FINISHED, &Finished(&body)).unwrap_err();
    assert_eq!(error, Error::Unencodable);
    assert!(sender.output.is_empty());
    assert_eq!(sender.push(HandshakeType::FINISHED, &Finished(&body[1..])).unwrap()[..4], [20, 0xff, 0xff, 0xff]);
}

#[test]
fn the_key_wears_out() {
    static SIX: Tls13Suite = suite(6);
    let mut sender = Sender::new(false);
    assert!(!sender.key_nears_limit(), "there is none");
    sender.new_keys(&EpochKeys::Tls13(traffic_secret(&SIX, 1))).unwrap();
    for _ in 0..3 {
        assert!(!sender.key_nears_limit());
        sender.record(ContentType::APPLICATION_DATA, b"data").unwrap();
    }
    assert!(sender.key_nears_limit());
    sender.new_keys(&EpochKeys::Tls13(traffic_secret(&SIX, 2))).unwrap();
    assert!(!sender.key_nears_limit());
}

#[test]
fn a_slow_reader_costs_no_more_than_what_waits() {
    let mut sender = Sender::new(false);
    sender.new_keys(&tls13(1)).unwrap();
    let (mut receiver, mut received) = (Receiver::new(MAX_MESSAGE, MAX_FRAGMENT), Vec::new());
    receiver.new_keys(&tls13(1)).unwrap();
    let mut out = [0; 500];
    for _ in 0..200 {
        while sender.pending() < 2000 {
            sender.record(ContentType::APPLICATION_DATA, &[7; 300]).unwrap();
        }
        let len = sender.transmit(Instant(0), &mut out);
        received.extend(receive(&mut receiver, &out[..len], usize::MAX).unwrap());
        assert!(sender.output.len() <= 2 * (2000 + 322));
    }
    received.extend(receive(&mut receiver, &transmitted(&mut sender), usize::MAX).unwrap());
    assert!(received.len() > 300 && received.iter().all(|event| *event == Event::Data(vec![7; 300])));
    assert!(sender.output.capacity() <= KEPT_BUFFER);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// The other side reads what one side pushes, for any sizes.
    #[test]
    fn flights_arrive(
        flights in prop::collection::vec(prop::collection::vec(0usize..400, 0..5), 1..4),
        limit in 63usize..500,
        stretch in 1usize..600,
        room in 1usize..600,
    ) {
        let (mut sender, mut receiver) = (Sender::new(false), Receiver::new(MAX_MESSAGE, MAX_FRAGMENT));
        sender.limits().limit(limit);
        for (seed, flight) in flights.iter().enumerate() {
            flight.iter().for_each(|len| push(&mut sender, *len));
            sender.end_of_flight().unwrap();
            let mut stream = Vec::new();
            let mut out = vec![0; room];
            while sender.pending() > 0 {
                let len = sender.transmit(Instant(0), &mut out);
                stream.extend_from_slice(&out[..len]);
            }
            let sent: Vec<_> = flight.iter().map(|len| Event::Message(message(*len))).collect();
            prop_assert_eq!(receive(&mut receiver, &stream, stretch).unwrap(), sent);
            sender.new_keys(&tls13(seed as u8)).unwrap();
            receiver.new_keys(&tls13(seed as u8)).unwrap();
        }
    }
}
