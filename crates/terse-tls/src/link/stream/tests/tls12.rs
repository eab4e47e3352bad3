//! Tests of both halves in TLS 1.2: ChangeCipherSpec is accepted in one place only, and records keep their types.

use proptest::prelude::*;

use super::*;
use crate::crypto::Tls12Suite;
use crate::test_crypto::{AES_128_GCM, key_block, suite12};

const ALL: usize = usize::MAX;

/// How many bytes [`AES_128_GCM`] adds to a record: the explicit part of the nonce, and the tag.
const EXPANSION: usize = 8 + 16;

fn tls12(seed: u8) -> EpochKeys {
    EpochKeys::Tls12(key_block(&AES_128_GCM, seed).client)
}

fn record_key(seed: u8) -> RecordKey {
    RecordKey::new(&tls12(seed)).unwrap()
}

fn change_cipher_spec() -> Vec<u8> {
    plaintext(ContentType::CHANGE_CIPHER_SPEC, &[1])
}

/// Returns a receiver that has keys, and waits for ChangeCipherSpec.
fn waiting() -> Receiver {
    let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
    receiver.new_keys(&tls12(1)).unwrap();
    receiver
}

/// Returns a receiver after ChangeCipherSpec, and the key to make records with.
fn changed() -> (Receiver, RecordKey) {
    let mut receiver = waiting();
    assert_eq!(receive(&mut receiver, &change_cipher_spec(), ALL).unwrap(), []);
    (receiver, record_key(1))
}

fn bad_change_cipher_spec() -> Result<Vec<Event>, Error> {
    Err(PeerMisbehaved::BadChangeCipherSpec.into())
}

#[test]
fn the_keys_change_with_change_cipher_spec() {
    let mut key = record_key(1);
    let flight = [
        plaintext(ContentType::HANDSHAKE, &[message(40), message(3)].concat()),
        change_cipher_spec(),
        protected(&mut key, ContentType::HANDSHAKE, &message(12)),
        protected(&mut key, ContentType::APPLICATION_DATA, b"data"),
        protected(&mut key, ContentType::ALERT, &[1, 0]),
    ];
    let close_notify = Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY };
    for stretch in [1, 2, 5, 6, 7, ALL] {
        let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
        let before = receive(&mut receiver, &flight[0], stretch).unwrap();
        assert_eq!(before, [Event::Message(message(40)), Event::Message(message(3))]);
        receiver.new_keys(&tls12(1)).unwrap();
        let after = receive(&mut receiver, &flight[1..].concat(), stretch).unwrap();
        assert_eq!(
            after,
            [Event::Message(message(12)), Event::Data(b"data".to_vec()), Event::Alert(close_notify)],
            "received by {stretch}"
        );
    }
}

/// CVE-2014-0224: a ChangeCipherSpec before there are keys is refused.
#[test]
fn an_early_change_cipher_spec_is_refused() {
    let error = receive(&mut Receiver::new(MAX_MESSAGE, MAX_FRAGMENT), &change_cipher_spec(), ALL);
    assert_eq!(error, bad_change_cipher_spec());
    assert_eq!(error.unwrap_err().alert(), Some(AlertDescription::UNEXPECTED_MESSAGE));

    // Before the ServerHello it is ignored as in TLS 1.3, and refused when TLS 1.2 is negotiated.
    let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
    receiver.ignore_change_cipher_spec(true);
    assert_eq!(receive(&mut receiver, &change_cipher_spec(), ALL).unwrap(), []);
    receiver.ignore_change_cipher_spec(false);
    assert_eq!(receiver.new_keys(&tls12(1)), Err(PeerMisbehaved::BadChangeCipherSpec.into()));
    assert_eq!(receiver.new_keys(&tls13(1)), Ok(()));
}

#[test]
fn a_second_change_cipher_spec_is_refused() {
    assert_eq!(receive(&mut changed().0, &change_cipher_spec(), ALL), bad_change_cipher_spec());
    let (mut receiver, mut key) = changed();
    receive(&mut receiver, &protected(&mut key, ContentType::HANDSHAKE, &message(12)), ALL).unwrap();
    assert_eq!(receive(&mut receiver, &change_cipher_spec(), ALL), bad_change_cipher_spec(), "after Finished");
    let (mut receiver, mut key) = changed();
    let renegotiation = protected(&mut key, ContentType::CHANGE_CIPHER_SPEC, &[1]);
    assert_eq!(receive(&mut receiver, &renegotiation, ALL), bad_change_cipher_spec(), "protected");
}

#[test]
fn a_change_cipher_spec_has_one_byte_of_value_one() {
    for content in [&[][..], &[0], &[2], &[1, 1]] {
        let record = plaintext(ContentType::CHANGE_CIPHER_SPEC, content);
        for stretch in [1, ALL] {
            assert_eq!(receive(&mut waiting(), &record, stretch), bad_change_cipher_spec(), "{content:?}");
        }
    }
}

/// A Finished before ChangeCipherSpec is refused, protected or not, and so is application data.
#[test]
fn a_missing_change_cipher_spec_is_noticed() {
    for content_type in [ContentType::HANDSHAKE, ContentType::APPLICATION_DATA] {
        let unexpected = Err(PeerMisbehaved::UnexpectedRecord(content_type).into());
        let content = message(12);
        assert_eq!(receive(&mut waiting(), &plaintext(content_type, &content), ALL), unexpected);
        assert_eq!(receive(&mut waiting(), &protected(&mut record_key(1), content_type, &content), ALL), unexpected);
        assert_eq!(receive(&mut waiting(), &plaintext(content_type, &[]), ALL), unexpected);
    }
}

/// A peer that fails before it changes its keys sends an unprotected alert.
#[test]
fn an_alert_may_come_instead_of_change_cipher_spec() {
    let mut receiver = waiting();
    let alert = Alert { level: Alert::FATAL, description: AlertDescription::HANDSHAKE_FAILURE };
    assert_eq!(receive(&mut receiver, &plaintext(ContentType::ALERT, &[2, 40]), ALL).unwrap(), [Event::Alert(alert)]);
    let warning = Alert { level: Alert::WARNING, description: AlertDescription(90) };
    assert_eq!(receive(&mut receiver, &plaintext(ContentType::ALERT, &[1, 90]), ALL).unwrap(), [Event::Alert(warning)]);
    assert_eq!(receive(&mut receiver, &change_cipher_spec(), ALL).unwrap(), [], "it is still due");
}

#[test]
fn no_handshake_message_crosses_the_change() {
    // The beginning of a message is followed by ChangeCipherSpec, while the handshake has no keys yet.
    for split in 1..message(9).len() {
        let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
        receive(&mut receiver, &plaintext(ContentType::HANDSHAKE, &message(9)[..split]), ALL).unwrap();
        assert_eq!(receive(&mut receiver, &change_cipher_spec(), ALL), bad_change_cipher_spec());
    }
    // The record of the last message before the keys has more bytes.
    for more in [&message(9)[..1], &message(9)] {
        let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
        receiver.receive(NOW, &mut plaintext(ContentType::HANDSHAKE, &[&message(5), more].concat())).unwrap();
        receiver.consume(message(5).len());
        assert_eq!(receiver.new_keys(&tls12(1)), Err(PeerMisbehaved::MessageCrossesKeyChange.into()));
    }
}

/// Unprotected records of all types are refused, even alerts, which TLS 1.3 would still accept.
#[test]
fn after_the_change_everything_is_protected() {
    let bad_record_mac = Err(CryptoError::DecryptFailed.into());
    for (content_type, content) in [
        (ContentType::ALERT, vec![2, 40]),
        (ContentType::HANDSHAKE, message(12)),
        (ContentType::HANDSHAKE, message(60)),
        (ContentType::APPLICATION_DATA, b"data".to_vec()),
        (ContentType::APPLICATION_DATA, vec![]),
    ] {
        assert_eq!(receive(&mut changed().0, &plaintext(content_type, &content), ALL), bad_record_mac);
    }
}

#[test]
fn records_keep_their_types_and_these_are_authenticated() {
    let types = [ContentType::ALERT, ContentType::HANDSHAKE, ContentType::APPLICATION_DATA];
    for content_type in types {
        for other in types.into_iter().filter(|other| *other != content_type) {
            let (mut receiver, mut key) = changed();
            let mut record = protected(&mut key, content_type, &[1, 0]);
            assert_eq!(record[0], content_type.0);
            record[0] = other.0;
            assert_eq!(receive(&mut receiver, &record, ALL), Err(CryptoError::DecryptFailed.into()));
        }
        for unknown in [0, 19, 24, 255] {
            let (mut receiver, mut key) = changed();
            let record = protected(&mut key, ContentType(unknown), &[1, 0]);
            assert_eq!(receive(&mut receiver, &record, ALL), Err(InvalidMessage::UnknownContentType.into()));
        }
    }
}

#[test]
fn a_record_that_ends_within_nonce_or_tag_is_refused() {
    for len in 0..EXPANSION {
        let record = [&[23, 3, 3, 0, len as u8][..], &vec![0; len]].concat();
        for stretch in [1, ALL] {
            let refused = receive(&mut changed().0, &record, stretch).unwrap_err();
            assert_eq!(refused.alert(), Some(AlertDescription::BAD_RECORD_MAC), "{len} bytes");
        }
    }
}

/// RFC 8449, 4: the limit counts the content only. A header is checked against the expansion of the suite.
#[test]
fn records_are_limited_by_their_content() {
    let limited = |limit: Option<usize>| {
        let (mut receiver, key) = changed();
        limit.into_iter().for_each(|limit| receiver.limit_records(limit));
        (receiver, key)
    };
    let cases = [(None, MAX_FRAGMENT), (Some(MAX_FRAGMENT + 1), MAX_FRAGMENT), (Some(64), 64), (Some(513), 513)];
    for (limit, longest) in cases {
        let (mut receiver, mut key) = limited(limit);
        let record = protected(&mut key, ContentType::APPLICATION_DATA, &vec![7; longest]);
        assert_eq!(receive(&mut receiver, &record, 1000).unwrap(), [Event::Data(vec![7; longest])]);
        let [high, low] = ((longest + EXPANSION + 1) as u16).to_be_bytes();
        let mut receiver = limited(limit).0;
        let refused = receive(&mut receiver, &[23, 3, 3, high, low], 1).unwrap_err();
        assert_eq!(refused, InvalidMessage::RecordTooLarge.into());
        assert_eq!(receiver.partial.len(), HEADER_LEN, "before anything of it is kept");
    }
    // The limit applies to protected records only.
    let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
    receiver.limit_records(64);
    let long = plaintext(ContentType::HANDSHAKE, &message(200));
    assert_eq!(receive(&mut receiver, &long, ALL).unwrap(), [Event::Message(message(200))]);
}

#[test]
fn application_data_needs_keys() {
    let record = plaintext(ContentType::APPLICATION_DATA, b"data");
    let unexpected = Err(PeerMisbehaved::UnexpectedRecord(ContentType::APPLICATION_DATA).into());
    assert_eq!(receive(&mut Receiver::new(MAX_MESSAGE, MAX_FRAGMENT), &record, ALL), unexpected);
}

/// RFC 5246, 6.2.1: empty application data is allowed against traffic analysis; other records must have content.
#[test]
fn empty_records() {
    let (mut receiver, mut key) = changed();
    let mut empty = || protected(&mut key, ContentType::APPLICATION_DATA, &[]);
    for _ in 0..MAX_IGNORED_RECORDS {
        assert_eq!(receive(&mut receiver, &empty(), ALL).unwrap(), [Event::Data(vec![])]);
    }
    assert_eq!(receive(&mut receiver, &empty(), ALL), Err(PeerMisbehaved::TooManyEmptyRecords.into()));
    for content_type in [ContentType::HANDSHAKE, ContentType::ALERT] {
        let (mut receiver, mut key) = changed();
        let record = protected(&mut key, content_type, &[]);
        assert_eq!(receive(&mut receiver, &record, ALL), Err(PeerMisbehaved::EmptyFragment.into()));
    }
}

#[test]
fn nothing_comes_between_the_parts_of_a_handshake_message() {
    for (content_type, content) in [(ContentType::APPLICATION_DATA, &b"data"[..]), (ContentType::ALERT, &[1, 0])] {
        let (mut receiver, mut key) = changed();
        let first = protected(&mut key, ContentType::HANDSHAKE, &message(9)[..5]);
        assert_eq!(receive(&mut receiver, &first, ALL).unwrap(), []);
        let between = protected(&mut key, content_type, content);
        assert_eq!(receive(&mut receiver, &between, ALL), Err(PeerMisbehaved::InterleavedRecord.into()));
    }
}

fn push(sender: &mut Sender, len: usize) {
    sender.push(HandshakeType::FINISHED, &Finished(&message(len)[MESSAGE_HEADER_LEN..])).unwrap();
}

fn transmitted(sender: &mut Sender) -> Vec<u8> {
    let mut out = vec![0; sender.pending()];
    assert_eq!(sender.transmit(Instant(0), &mut out), out.len());
    out
}

#[test]
fn new_keys_send_the_flight_and_change_cipher_spec() {
    for compatibility_mode in [false, true] {
        let mut sender = Sender::new(compatibility_mode);
        push(&mut sender, 40);
        push(&mut sender, 3);
        sender.new_keys(&tls12(1)).unwrap();
        push(&mut sender, 12);
        sender.end_of_flight().unwrap();
        sender.record(ContentType::APPLICATION_DATA, b"data").unwrap();
        sender.compatibility_point().unwrap();
        sender.last_alert(Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY }).unwrap();
        let mut key = record_key(1);
        let expected = [
            plaintext(ContentType::HANDSHAKE, &[message(40), message(3)].concat()),
            change_cipher_spec(),
            protected(&mut key, ContentType::HANDSHAKE, &message(12)),
            protected(&mut key, ContentType::APPLICATION_DATA, b"data"),
            protected(&mut key, ContentType::ALERT, &[1, 0]),
        ];
        assert_eq!(transmitted(&mut sender), expected.concat());
        assert_eq!(sender.produced(), expected.concat().len() as u64);
    }
}

#[test]
fn no_change_cipher_spec_follows_the_last_alert() {
    let mut sender = Sender::new(false);
    sender.last_alert(Alert { level: Alert::FATAL, description: AlertDescription::HANDSHAKE_FAILURE }).unwrap();
    sender.new_keys(&tls12(1)).unwrap();
    assert_eq!(transmitted(&mut sender), plaintext(ContentType::ALERT, &[2, 40]));
}

/// RFC 8449, 4: unprotected records are not subject to the limit.
#[test]
fn record_size_limit_leaves_the_flight_before_new_keys_whole() {
    let mut sender = Sender::new(false);
    sender.limits().limit_protected(64);
    push(&mut sender, 200);
    sender.new_keys(&tls12(1)).unwrap();
    push(&mut sender, 96);
    sender.end_of_flight().unwrap();
    let mut key = record_key(1);
    let expected = [
        plaintext(ContentType::HANDSHAKE, &message(200)),
        change_cipher_spec(),
        protected(&mut key, ContentType::HANDSHAKE, &message(96)[..64]),
        protected(&mut key, ContentType::HANDSHAKE, &message(96)[64..]),
    ];
    assert_eq!(transmitted(&mut sender), expected.concat());
}

#[test]
fn the_key_is_exhausted_and_not_worn() {
    static SUITE12: Tls12Suite = suite12(64 + 3);
    let mut sender = Sender::new(false);
    assert!(!sender.key_is_exhausted(), "there is none");
    sender.new_keys(&EpochKeys::Tls12(key_block(&SUITE12, 1).client)).unwrap();
    for _ in 0..3 {
        assert!(!sender.key_is_exhausted());
        sender.record(ContentType::APPLICATION_DATA, b"data").unwrap();
    }
    assert!(sender.key_is_exhausted() && !sender.key_nears_limit());
}

/// Generates the type and content of a record, and whether it is protected.
fn any_record() -> impl Strategy<Value = (u8, Vec<u8>, bool)> {
    let content_type = prop_oneof![8 => 20u8..24, 1 => any::<u8>()];
    let content = prop_oneof![
        (0usize..50).prop_map(message),
        prop::collection::vec(any::<u8>(), 0..40),
        Just(vec![1]),
        Just(vec![1, 90]),
    ];
    (content_type, content, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// The chunks in which bytes are received change nothing, and no data is accepted without ChangeCipherSpec and
    /// keys.
    #[test]
    fn records_in_any_order_never_panic(
        records in prop::collection::vec(any_record(), 0..12),
        stretch in 1usize..100,
        changes_first in any::<bool>(),
    ) {
        let mut key = record_key(1);
        let stream: Vec<u8> = (records.iter())
            .flat_map(|(content_type, content, is_protected)| match is_protected {
                true => protected(&mut key, ContentType(*content_type), content),
                false => plaintext(ContentType(*content_type), content),
            })
            .collect();
        let received = [stretch, ALL].map(|stretch| {
            let mut receiver = if changes_first { changed().0 } else { waiting() };
            receive(&mut receiver, &stream, stretch)
        });
        prop_assert_eq!(&received[0], &received[1]);
        let all_protected = records.iter().all(|(.., is_protected)| *is_protected);
        if changes_first && !all_protected {
            prop_assert!(received[0].is_err());
        }
    }

    /// The other side reads what one side pushes, for any sizes.
    #[test]
    fn a_flight_arrives(
        before in prop::collection::vec(0usize..400, 1..5),
        after in prop::collection::vec(0usize..400, 0..3),
        limit in 64usize..500,
        stretch in 1usize..600,
    ) {
        let (mut sender, mut receiver) = (Sender::new(false), Receiver::new(MAX_MESSAGE, MAX_FRAGMENT));
        before.iter().for_each(|len| push(&mut sender, *len));
        sender.end_of_flight().unwrap();
        let sent: Vec<_> = before.iter().map(|len| Event::Message(message(*len))).collect();
        prop_assert_eq!(receive(&mut receiver, &transmitted(&mut sender), stretch).unwrap(), sent);
        receiver.new_keys(&tls12(1)).unwrap();
        receiver.limit_records(limit);
        sender.new_keys(&tls12(1)).unwrap();
        sender.limits().limit_protected(limit);
        after.iter().for_each(|len| push(&mut sender, *len));
        sender.end_of_flight().unwrap();
        let sent: Vec<_> = after.iter().map(|len| Event::Message(message(*len))).collect();
        prop_assert_eq!(receive(&mut receiver, &transmitted(&mut sender), stretch).unwrap(), sent);
    }
}
