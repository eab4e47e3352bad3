//! Tests of the receiving half.

use proptest::prelude::*;

use super::*;

const ALL: usize = usize::MAX;

fn receiver() -> Receiver {
    Receiver::new(MAX_MESSAGE, MAX_FRAGMENT)
}

/// Returns a receiver with the key `seed`, and the same key to make records with.
fn keyed(seed: u8) -> (Receiver, RecordKey) {
    let mut receiver = receiver();
    receiver.new_keys(&tls13(seed)).unwrap();
    (receiver, record_key(seed))
}

fn messages(lens: &[usize]) -> Vec<Event> {
    lens.iter().map(|len| Event::Message(message(*len))).collect()
}

fn unexpected(content_type: ContentType) -> Result<Vec<Event>, Error> {
    Err(PeerMisbehaved::UnexpectedRecord(content_type).into())
}

/// RFC 9846, 5.1: messages may be coalesced, and fragmented anywhere.
#[test]
fn messages_are_joined_wherever_they_are_split() {
    let flight = [message(0), message(1), message(40), message(3)].concat();
    for split in 1..flight.len() {
        let (first, second) = flight.split_at(split);
        let records = [plaintext(ContentType::HANDSHAKE, first), plaintext(ContentType::HANDSHAKE, second)].concat();
        for stretch in [1, 7, ALL] {
            let received = receive(&mut receiver(), &records, stretch).unwrap();
            assert_eq!(received, messages(&[0, 1, 40, 3]), "split at {split}, received by {stretch}");
        }
    }
    let records: Vec<u8> = flight.iter().flat_map(|byte| plaintext(ContentType::HANDSHAKE, &[*byte])).collect();
    assert_eq!(receive(&mut receiver(), &records, ALL).unwrap(), messages(&[0, 1, 40, 3]));
}

#[test]
fn protected_records_arrive_in_any_stretches() {
    for stretch in [1, 2, 5, 21, 22, 23, 100, ALL] {
        let (mut receiver, mut key) = keyed(1);
        let records = [
            protected(&mut key, ContentType::HANDSHAKE, &message(40)),
            protected(&mut key, ContentType::APPLICATION_DATA, b"one"),
            protected(&mut key, ContentType::APPLICATION_DATA, b"two"),
            protected(&mut key, ContentType::ALERT, &[1, 0]),
        ];
        let mut expected = messages(&[40]);
        expected.push(Event::Data(b"one".to_vec()));
        expected.push(Event::Data(b"two".to_vec()));
        let close_notify = Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY };
        expected.push(Event::Alert(close_notify));
        assert_eq!(receive(&mut receiver, &records.concat(), stretch).unwrap(), expected);
        assert_eq!((receiver.partial.capacity(), receiver.joined.capacity()), (0, 0));
        assert!(receiver.plaintext.bytes.capacity() <= KEPT_BUFFER);
    }
}

fn came(taken: usize, len: usize, received: Received) -> Record {
    Record { taken, received, len, is_dropped: false, newest: None }
}

/// The length is reported once the record is complete, however its bytes came.
#[test]
fn the_length_of_a_record_is_told() {
    let (mut receiver, mut key) = keyed(1);
    let mut record = protected(&mut key, ContentType::ALERT, &[1, 0]);
    let len = record.len();
    let (front, end) = record.split_at_mut(len - 1);
    assert_eq!(receiver.receive(NOW, front).unwrap(), came(len - 1, 0, Received::Nothing));
    let close_notify = Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY };
    assert_eq!(receiver.receive(NOW, end).unwrap(), came(1, len, Received::Alert(close_notify)));
}

#[test]
fn nothing_is_taken_while_data_waits() {
    let (mut receiver, mut key) = keyed(1);
    let first = protected(&mut key, ContentType::APPLICATION_DATA, b"first");
    let second = protected(&mut key, ContentType::APPLICATION_DATA, b"second");
    let mut stream = [&first[..], &second].concat();
    let data = |record: &[u8]| came(record.len(), record.len(), Received::ApplicationData);
    assert_eq!(receiver.receive(NOW, &mut stream).unwrap(), data(&first));
    let rest = &mut stream[first.len()..];
    assert_eq!(receiver.receive(NOW, rest).unwrap(), came(0, 0, Received::Nothing));
    let mut two = [0; 2];
    assert_eq!((receiver.plaintext_mut().read(&mut two), two), (2, *b"fi"));
    assert_eq!(receiver.plaintext_mut().read(&mut []), 0);
    assert_eq!(receiver.receive(NOW, rest).unwrap(), came(0, 0, Received::Nothing));
    assert_eq!(take_data(&mut receiver), b"rst");
    assert!(receiver.plaintext.bytes.capacity() <= KEPT_BUFFER);
    assert_eq!(receiver.receive(NOW, rest).unwrap(), data(&second));
    assert_eq!(take_data(&mut receiver), b"second");
}

/// A message that is too large is refused as soon as its header shows it.
#[test]
fn a_message_that_is_too_large_is_refused_by_its_header() {
    let longest = plaintext(ContentType::HANDSHAKE, &message(MAX_MESSAGE));
    assert_eq!(receive(&mut receiver(), &longest, ALL).unwrap(), messages(&[MAX_MESSAGE]));

    let header = &message(MAX_MESSAGE + 1)[..MESSAGE_HEADER_LEN];
    let mut receiver = receiver();
    assert_eq!(receive(&mut receiver, &plaintext(ContentType::HANDSHAKE, &header[..3]), ALL).unwrap(), []);
    let error = receive(&mut receiver, &plaintext(ContentType::HANDSHAKE, &header[3..]), ALL).unwrap_err();
    assert_eq!(error, InvalidMessage::HandshakeTooLarge.into());
    assert_eq!(receiver.joined.len(), MESSAGE_HEADER_LEN);
}

/// The messages of this peer never end where a record does.
#[test]
fn what_was_consumed_does_not_add_up() {
    let (mut receiver, mut key) = keyed(1);
    let stream: Vec<u8> = (0..300).flat_map(|_| message(500)).collect();
    let mut count = 0;
    for fragment in stream[..stream.len() - 1].chunks(599) {
        let record = protected(&mut key, ContentType::HANDSHAKE, fragment);
        count += receive(&mut receiver, &record, ALL).unwrap().len();
        assert!(receiver.joined.len() <= 504 + 599 && receiver.joined.capacity() <= 2 * (504 + 599));
    }
    assert_eq!(count, 299);
}

/// The five bytes of a header are enough to refuse a record.
#[test]
fn a_bad_header_is_refused_before_its_record_is_kept() {
    let refused = |make: &dyn Fn() -> Receiver, header: &[u8]| {
        let mut slowly = make();
        let error = receive(&mut slowly, header, 1).unwrap_err();
        assert_eq!(slowly.partial.len(), HEADER_LEN);
        let mut at_once = make();
        let whole = [header, &[0; 0x1_0000]].concat();
        assert_eq!(receive(&mut at_once, &whole, ALL).unwrap_err(), error);
        assert_eq!(at_once.partial.capacity(), 0);
        error
    };
    let too_large = InvalidMessage::RecordTooLarge.into();
    assert_eq!(refused(&receiver, &[22, 3, 1, 0x40, 1]), too_large);
    assert_eq!(refused(&|| keyed(1).0, &[23, 3, 3, 0x41, 1]), too_large);
    let limited = || {
        let mut receiver = keyed(1).0;
        receiver.limit_records(64);
        receiver
    };
    assert_eq!(refused(&limited, &[23, 3, 3, 1, 64]), too_large, "64 + 256");
    assert_eq!(receive(&mut limited(), &[23, 3, 3, 1, 63, 0, 0], 1).unwrap(), []);
    let unknown_type = Error::from(InvalidMessage::UnknownContentType);
    assert_eq!(unknown_type.alert(), Some(AlertDescription::UNEXPECTED_MESSAGE));
    for content_type in (0..=255).filter(|content_type| !(20..=23).contains(content_type)) {
        assert_eq!(refused(&receiver, &[content_type, 3, 3, 0, 1]), unknown_type);
        assert_eq!(refused(&|| keyed(1).0, &[content_type, 3, 3, 0, 1]), unknown_type);
    }
}

#[test]
fn the_longest_records_are_received() {
    let content = vec![7; MAX_FRAGMENT];
    let data = protected(&mut record_key(1), ContentType::APPLICATION_DATA, &content);
    for stretch in [1000, ALL] {
        assert_eq!(receive(&mut keyed(1).0, &data, stretch).unwrap(), [Event::Data(content.clone())]);
    }
    let (mut receiver, mut key) = keyed(1);
    receiver.limit_records(100);
    let fits = protected(&mut key, ContentType::APPLICATION_DATA, &[7; 99]);
    assert_eq!(receive(&mut receiver, &fits, ALL).unwrap(), [Event::Data(vec![7; 99])]);
    let too_long = protected(&mut key, ContentType::APPLICATION_DATA, &[7; 100]);
    assert_eq!(receive(&mut receiver, &too_long, ALL).unwrap_err(), InvalidMessage::RecordTooLarge.into());
}

#[test]
fn a_record_must_be_protected_exactly_when_keys_are_agreed() {
    let data = protected(&mut record_key(1), ContentType::APPLICATION_DATA, b"data");
    assert_eq!(receive(&mut receiver(), &data, ALL), unexpected(ContentType::APPLICATION_DATA));
    let handshake = plaintext(ContentType::HANDSHAKE, &message(1));
    assert_eq!(receive(&mut keyed(1).0, &handshake, ALL), unexpected(ContentType::HANDSHAKE));
    let wrong_key = receive(&mut keyed(2).0, &data, ALL).unwrap_err();
    assert_eq!(wrong_key.alert(), Some(AlertDescription::BAD_RECORD_MAC));
}

/// A peer that failed before it had the new keys can send an unprotected alert; nobody can, once a protected record was
/// received.
#[test]
fn an_unprotected_alert_counts_only_before_the_first_protected_record() {
    let alert = plaintext(ContentType::ALERT, &[2, 40]);
    let (mut receiver, mut key) = keyed(1);
    let failure = Alert { level: Alert::FATAL, description: AlertDescription::HANDSHAKE_FAILURE };
    assert_eq!(receive(&mut receiver, &alert, ALL).unwrap(), [Event::Alert(failure)]);
    receive(&mut receiver, &protected(&mut key, ContentType::HANDSHAKE, &message(1)), ALL).unwrap();
    assert_eq!(receive(&mut receiver, &alert, ALL), unexpected(ContentType::ALERT));
    receiver.new_keys(&tls13(2)).unwrap();
    assert_eq!(receive(&mut receiver, &alert, ALL), unexpected(ContentType::ALERT));
}

/// RFC 9846, 4.3.10: early data is skipped by its content type after HelloRetryRequest, and because it cannot be
/// decrypted after ServerHello.
#[test]
fn unwanted_early_data_is_skipped() {
    let mut early_key = record_key(9);
    let mut early = |len: usize| protected(&mut early_key, ContentType::APPLICATION_DATA, &vec![7; len]);
    let mut receiver = receiver();
    receiver.skip_early_data(0x8000);
    assert_eq!(receive(&mut receiver, &early(MAX_FRAGMENT), 1000).unwrap(), []);
    assert_eq!(receive(&mut receiver, &early(3), ALL).unwrap(), []);
    let second_client_hello = plaintext(ContentType::HANDSHAKE, &message(9));
    assert_eq!(receive(&mut receiver, &second_client_hello, ALL).unwrap(), messages(&[9]));
    receiver.skip_early_data(0);
    assert_eq!(receive(&mut receiver, &early(3), ALL), unexpected(ContentType::APPLICATION_DATA));

    let (mut receiver, mut key) = keyed(1);
    receiver.skip_early_data(0x8000);
    for _ in 0..20 {
        assert_eq!(receive(&mut receiver, &early(100), 7).unwrap(), []);
    }
    let finished = protected(&mut key, ContentType::HANDSHAKE, &message(32));
    assert_eq!(receive(&mut receiver, &finished, ALL).unwrap(), messages(&[32]), "the first under its key");
    assert_eq!(receive(&mut receiver, &early(3), ALL).unwrap_err().alert(), Some(AlertDescription::BAD_RECORD_MAC));
}

#[test]
fn early_data_is_skipped_up_to_a_limit() {
    // A record counts as 17 bytes less than its length, and at least as 8 bytes.
    for (limit, content, records) in [(0x8000, 1000, 32), (1000, 100, 10), (999, 100, 9), (80, 1, 10), (79, 8, 9)] {
        for (mut receiver, refused) in [
            (receiver(), PeerMisbehaved::UnexpectedRecord(ContentType::APPLICATION_DATA).into()),
            (keyed(1).0, Error::Crypto(CryptoError::DecryptFailed)),
        ] {
            receiver.skip_early_data(limit);
            let early = protected(&mut record_key(9), ContentType::APPLICATION_DATA, &vec![7; content]);
            for _ in 0..records {
                assert_eq!(receive(&mut receiver, &early, ALL).unwrap(), []);
            }
            assert_eq!(receive(&mut receiver, &early, ALL), Err(refused));
        }
    }
}

#[test]
fn an_inner_type_must_be_known() {
    for content_type in (1..=255).map(ContentType).filter(|known| !matches!(known.0, 21..=23)) {
        let (mut receiver, mut key) = keyed(1);
        let record = protected(&mut key, content_type, &[1]);
        assert_eq!(receive(&mut receiver, &record, ALL), unexpected(content_type));
    }
}

#[test]
fn change_cipher_spec_is_ignored_only_when_and_as_it_may_come() {
    let bad = Err(PeerMisbehaved::BadChangeCipherSpec.into());
    let change = plaintext(ContentType::CHANGE_CIPHER_SPEC, &[1]);
    for mut receiver in [receiver(), keyed(1).0] {
        assert_eq!(receive(&mut receiver, &change, ALL), bad, "not before the ClientHello, nor after Finished");
        receiver.ignore_change_cipher_spec(true);
        assert_eq!(receive(&mut receiver, &change, 1).unwrap(), []);
        for content in [&[][..], &[0], &[2], &[1, 1]] {
            let record = plaintext(ContentType::CHANGE_CIPHER_SPEC, content);
            assert_eq!(receive(&mut receiver, &record, ALL), bad, "{content:?}");
        }
        receiver.ignore_change_cipher_spec(false);
        assert_eq!(receive(&mut receiver, &change, ALL), bad);
    }
    let mut receiver = receiver();
    receiver.ignore_change_cipher_spec(true);
    receive(&mut receiver, &plaintext(ContentType::HANDSHAKE, &message(9)[..5]), ALL).unwrap();
    assert_eq!(receive(&mut receiver, &change, ALL), bad, "within a handshake message");
}

/// Padding makes an empty record look like any other.
#[test]
fn empty_handshake_and_alert_records_are_refused() {
    let empty = Err(PeerMisbehaved::EmptyFragment.into());
    for content_type in [ContentType::HANDSHAKE, ContentType::ALERT] {
        assert_eq!(receive(&mut receiver(), &plaintext(content_type, &[]), ALL), empty);
        for padding in [0, 1, 50] {
            let (mut receiver, mut key) = keyed(1);
            // All bytes after the content type are padding.
            let inner = [&[content_type.0][..], &vec![0; padding]].concat();
            let record = protected(&mut key, ContentType(0), &inner);
            assert_eq!(receive(&mut receiver, &record, ALL), empty);
        }
    }
}

#[test]
fn records_that_bring_nothing_are_counted() {
    type Make = fn(&mut RecordKey) -> Vec<u8>;
    let nothing: [Make; 2] = [
        |key| protected(key, ContentType::APPLICATION_DATA, &[]),
        |_| plaintext(ContentType::CHANGE_CIPHER_SPEC, &[1]),
    ];
    for make in nothing {
        let (mut receiver, mut key) = keyed(1);
        receiver.ignore_change_cipher_spec(true);
        let something = [(ContentType::APPLICATION_DATA, b"data".to_vec()), (ContentType::HANDSHAKE, message(1))];
        for (content_type, content) in something {
            for _ in 0..MAX_IGNORED_RECORDS {
                receive(&mut receiver, &make(&mut key), ALL).unwrap();
            }
            receive(&mut receiver, &protected(&mut key, content_type, &content), ALL).unwrap();
        }
        for _ in 0..MAX_IGNORED_RECORDS {
            receive(&mut receiver, &make(&mut key), ALL).unwrap();
        }
        let error = receive(&mut receiver, &make(&mut key), ALL).unwrap_err();
        assert_eq!(error, PeerMisbehaved::TooManyEmptyRecords.into());
    }
}

/// RFC 9846, 5.1: a record of type alert has exactly one message. Its level has no meaning.
#[test]
fn alerts_come_whole_and_alone() {
    for level in [0, 1, 2, 255] {
        for description in 0..=255 {
            let alert = Alert { level, description: AlertDescription(description) };
            let record = plaintext(ContentType::ALERT, &[level, description]);
            assert_eq!(receive(&mut receiver(), &record, ALL).unwrap(), [Event::Alert(alert)]);
        }
    }
    let half = receive(&mut receiver(), &plaintext(ContentType::ALERT, &[2]), ALL).unwrap_err();
    assert_eq!(half, InvalidMessage::Truncated.into());
    let two = receive(&mut receiver(), &plaintext(ContentType::ALERT, &[1, 90, 1, 0]), ALL).unwrap_err();
    assert_eq!(two, InvalidMessage::TrailingData.into());
}

#[test]
fn nothing_comes_between_the_parts_of_a_handshake_message() {
    for (content_type, content) in [(ContentType::APPLICATION_DATA, &b"data"[..]), (ContentType::ALERT, &[1, 0])] {
        for split in 1..message(9).len() {
            let (mut receiver, mut key) = keyed(1);
            let first = protected(&mut key, ContentType::HANDSHAKE, &message(9)[..split]);
            assert_eq!(receive(&mut receiver, &first, ALL).unwrap(), []);
            let between = protected(&mut key, content_type, content);
            assert_eq!(receive(&mut receiver, &between, ALL).unwrap_err(), PeerMisbehaved::InterleavedRecord.into());
        }
    }
}

/// RFC 9846, 5.1: messages before a key change end with their record.
#[test]
fn a_change_of_keys_leaves_nothing_behind() {
    let crosses = Err(PeerMisbehaved::MessageCrossesKeyChange.into());
    for waiting in [&message(9)[..1], &message(9)[..12], &message(9)] {
        let mut receiver = receiver();
        receiver.receive(NOW, &mut plaintext(ContentType::HANDSHAKE, waiting)).unwrap();
        assert_eq!(receiver.new_keys(&tls13(1)), crosses);
    }
    let mut receiver = receiver();
    receiver.receive(NOW, &mut plaintext(ContentType::HANDSHAKE, &[message(9), message(2)].concat())).unwrap();
    receiver.consume(message(9).len());
    assert_eq!(receiver.new_keys(&tls13(1)), crosses, "one message read, one to go");
    receiver.consume(message(2).len());
    assert_eq!(receiver.new_keys(&tls13(1)), Ok(()));
}

#[test]
fn each_key_counts_from_zero_and_ends_the_one_before() {
    let mut receiver = receiver();
    for seed in 1..4 {
        receiver.new_keys(&tls13(seed)).unwrap();
        let mut key = record_key(seed);
        for _ in 0..3 {
            let record = protected(&mut key, ContentType::APPLICATION_DATA, &[seed]);
            assert_eq!(receive(&mut receiver, &record, ALL).unwrap(), [Event::Data(vec![seed])]);
        }
    }
    receiver.new_keys(&tls13(4)).unwrap();
    let late = protected(&mut record_key(3), ContentType::APPLICATION_DATA, b"late");
    assert_eq!(receive(&mut receiver, &late, ALL).unwrap_err(), CryptoError::DecryptFailed.into());
}

#[test]
fn each_byte_of_a_protected_stream_counts() {
    let mut key = record_key(1);
    let mut stream = protected(&mut key, ContentType::HANDSHAKE, &message(20));
    let (first, mut unprotected) = (stream.len(), 0);
    stream.extend(protected(&mut key, ContentType::APPLICATION_DATA, b"data"));
    for place in 0..stream.len() {
        let mut changed = stream.clone();
        changed[place] ^= 1;
        match receive(&mut keyed(1).0, &changed, ALL) {
            Ok(received) => {
                // With a greater length the link waits for more bytes.
                assert!(place == 3 || place == 4 || place == first + 3 || place == first + 4);
                assert!(received.len() < 2);
                unprotected += 1;
            }
            Err(error) => assert!(
                matches!(error, Error::Crypto(_) | Error::PeerMisbehaved(PeerMisbehaved::UnexpectedRecord(_))),
                "byte {place}: {error:?}"
            ),
        }
    }
    assert!(unprotected <= 4);
}

/// Generates the type and content of a record, and whether it is protected as it should be.
fn any_record() -> impl Strategy<Value = (u8, Vec<u8>, bool)> {
    let content_type = prop_oneof![8 => 20u8..24, 1 => any::<u8>()];
    let content = prop_oneof![
        (0usize..50).prop_map(message),
        prop::collection::vec(any::<u8>(), 0..40),
        Just(vec![1]),
        Just(vec![1, 90]),
    ];
    (content_type, content, prop::bool::weighted(0.8))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn garbage_never_panics(
        garbage in prop::collection::vec(any::<u8>(), 0..200),
        stretch in 1usize..50,
        has_key in any::<bool>(),
    ) {
        let mut receiver = if has_key { keyed(1).0 } else { receiver() };
        receiver.ignore_change_cipher_spec(true);
        let _ = receive(&mut receiver, &garbage, stretch); // this checks the bounds
    }

    /// The chunks in which bytes are received change nothing.
    #[test]
    fn records_in_any_order_never_panic(
        records in prop::collection::vec(any_record(), 0..20),
        stretch in 1usize..100,
        has_key in any::<bool>(),
    ) {
        let make = || if has_key { keyed(1).0 } else { receiver() };
        let mut key = record_key(1);
        let stream: Vec<u8> = (records.into_iter())
            .flat_map(|(content_type, content, as_it_should)| match as_it_should == has_key {
                true => protected(&mut key, ContentType(content_type), &content),
                false => plaintext(ContentType(content_type), &content),
            })
            .collect();
        let received = [stretch, ALL].map(|stretch| {
            let mut receiver = make();
            receiver.ignore_change_cipher_spec(true);
            receive(&mut receiver, &stream, stretch)
        });
        prop_assert_eq!(&received[0], &received[1]);
    }
}
