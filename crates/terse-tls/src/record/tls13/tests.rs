//! Tests of TLS 1.3 records: their nonces, and records that are refused.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::record::stream::{MAX_FRAGMENT, RecordKey};
use crate::schedule::EpochKeys;
use crate::test_crypto::{SUITE, suite, traffic_secret};

const MAX_INNER: usize = MAX_FRAGMENT + 1;

fn key(seed: u8) -> RecordKey {
    RecordKey::new(&EpochKeys::Tls13(traffic_secret(&SUITE, seed))).unwrap()
}

fn protected(key: &mut RecordKey, content_type: ContentType, fragment: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    key.append(content_type, fragment, &mut record).unwrap();
    record
}

/// Returns the first record under the key `seed`, with `inner` as its TLSInnerPlaintext.
fn sealed(seed: u8, inner: &[u8]) -> Vec<u8> {
    let protection = Protection::new(&traffic_secret(&SUITE, seed)).unwrap();
    let header = Header { content_type: ContentType::APPLICATION_DATA, len: inner.len() + 16 }.bytes();
    let mut record = [&header, inner].concat();
    let mut tag = [0; 16];
    protection.key.seal(&protection.iv, &header, &mut record[HEADER_LEN..], &mut tag).unwrap();
    record.extend_from_slice(&tag);
    record
}

fn opened(key: &mut RecordKey, mut record: Vec<u8>) -> Result<(ContentType, Vec<u8>), Error> {
    let (content_type, content) = key.deprotect(&mut record, MAX_INNER)?;
    Ok((content_type, content.to_vec()))
}

const BAD_RECORD_MAC: Error = Error::Crypto(CryptoError::DecryptFailed);

#[test]
fn a_protected_record_is_laid_out_as_in_section_5_2() {
    let record = protected(&mut key(1), ContentType::HANDSHAKE, b"hello");
    assert_eq!(record[..HEADER_LEN], [23, 3, 3, 0, 5 + 1 + 16]);
    assert_eq!(record.len(), HEADER_LEN + 5 + 1 + 16);
    assert_eq!(opened(&mut key(1), record).unwrap(), (ContentType::HANDSHAKE, b"hello".to_vec()));
}

#[test]
fn the_sequence_number_stands_at_the_end_of_the_nonce() {
    let iv = *b"twelve bytes";
    for number in [0, 1, 2, 0x0102_0304_0506_0708, u64::MAX] {
        let difference: Vec<u8> = nonce(&iv, number).iter().zip(iv).map(|(a, b)| a ^ b).collect();
        assert_eq!(difference, [&[0; 4][..], &number.to_be_bytes()].concat());
    }
}

#[test]
fn records_open_once_and_in_order() {
    let (mut seal, mut open) = (key(1), key(1));
    let first = protected(&mut seal, ContentType::APPLICATION_DATA, b"first");
    let second = protected(&mut seal, ContentType::APPLICATION_DATA, b"second");
    assert_eq!(opened(&mut key(1), second.clone()), Err(BAD_RECORD_MAC), "too early");
    assert_eq!(opened(&mut open, first.clone()).unwrap().1, b"first");
    assert_eq!(opened(&mut open, first), Err(BAD_RECORD_MAC), "a second time");
    assert_eq!(opened(&mut key(2), second), Err(BAD_RECORD_MAC), "under another key");
}

#[test]
fn every_changed_byte_is_noticed() {
    let record = protected(&mut key(1), ContentType::APPLICATION_DATA, b"some content");
    for place in 0..record.len() {
        for bit in 0..8 {
            let mut changed = record.clone();
            changed[place] ^= 1 << bit;
            assert_eq!(opened(&mut key(1), changed), Err(BAD_RECORD_MAC), "bit {bit} of byte {place}");
        }
    }
}

#[test]
fn a_truncated_or_longer_record_is_refused() {
    let record = protected(&mut key(1), ContentType::APPLICATION_DATA, b"some content");
    for len in 0..record.len() {
        assert_eq!(opened(&mut key(1), record[..len].to_vec()), Err(BAD_RECORD_MAC), "{len} bytes");
    }
    assert_eq!(opened(&mut key(1), [&record[..], &[0]].concat()), Err(BAD_RECORD_MAC));
}

#[test]
fn padding_is_removed() {
    for padding in [1, 2, 255, 1000] {
        let inner = [b"data\x00\x17".as_slice(), &vec![0; padding]].concat();
        let record = sealed(1, &inner);
        assert_eq!(opened(&mut key(1), record).unwrap(), (ContentType::APPLICATION_DATA, b"data\x00".to_vec()));
    }
}

/// RFC 9846, 5.4
#[test]
fn an_inner_plaintext_without_a_type_is_refused() {
    for zeros in [0, 1, 100] {
        let record = sealed(1, &vec![0; zeros]);
        let error = opened(&mut key(1), record).unwrap_err();
        assert_eq!(error, PeerMisbehaved::UnexpectedRecord(ContentType(0)).into());
        assert_eq!(error.alert(), Some(crate::AlertDescription::UNEXPECTED_MESSAGE));
    }
}

/// The link decides about unknown types.
#[test]
fn every_other_inner_type_is_handed_on() {
    for content_type in 1..=255 {
        let record = sealed(1, &[7, content_type]);
        assert_eq!(opened(&mut key(1), record).unwrap(), (ContentType(content_type), vec![7]));
    }
}

/// RFC 9846, 5.4 and RFC 8449, 4: the limit covers content, type and padding.
#[test]
fn the_limit_covers_type_and_padding() {
    for (len, limit) in [(MAX_INNER, MAX_INNER), (64, 64), (513, 513)] {
        let content = vec![1; len - 1];
        let full = protected(&mut key(1), ContentType::APPLICATION_DATA, &content);
        assert!(key(1).deprotect(&mut full.clone(), limit).is_ok());
        let padded = sealed(1, &[&content[..], &[23, 0]].concat());
        let error = key(1).deprotect(&mut padded.clone(), limit).unwrap_err();
        assert_eq!(error, InvalidMessage::RecordTooLarge.into());
        assert_eq!(error.alert(), Some(crate::AlertDescription::RECORD_OVERFLOW));
    }
}

#[test]
fn no_record_with_too_much_content_is_made() {
    let (mut key, mut out) = (key(1), Vec::new());
    let long = vec![0; MAX_FRAGMENT + 1];
    assert_eq!(key.append(ContentType::APPLICATION_DATA, &long, &mut out), Err(CryptoError::InvalidLength));
    assert_eq!(out.len(), 0);
    key.append(ContentType::APPLICATION_DATA, &long[1..], &mut out).unwrap();
    assert_eq!(opened(&mut self::key(1), out).unwrap().1.len(), MAX_FRAGMENT);
}

#[test]
fn empty_content_is_a_record_too() {
    let record = protected(&mut key(1), ContentType::APPLICATION_DATA, &[]);
    assert_eq!(opened(&mut key(1), record).unwrap(), (ContentType::APPLICATION_DATA, vec![]));
}

#[test]
fn a_key_nears_its_limit_at_half_of_it() {
    static FOUR: crate::crypto::Tls13Suite = suite(4);
    let mut key = RecordKey::new(&EpochKeys::Tls13(traffic_secret(&FOUR, 1))).unwrap();
    let worn: Vec<bool> = (0..3)
        .map(|_| {
            let worn = key.nears_limit();
            protected(&mut key, ContentType::APPLICATION_DATA, b"data");
            worn
        })
        .collect();
    assert_eq!(worn, [false, false, true]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_is_protected_is_opened(
        fragments in prop::collection::vec((1u8.., prop::collection::vec(any::<u8>(), 0..300)), 1..4),
    ) {
        let (mut seal, mut open) = (key(1), key(1));
        for (content_type, fragment) in fragments {
            let record = protected(&mut seal, ContentType(content_type), &fragment);
            prop_assert_eq!(opened(&mut open, record).unwrap(), (ContentType(content_type), fragment));
        }
    }

    #[test]
    fn garbage_is_refused(garbage in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert_eq!(opened(&mut key(1), garbage), Err(BAD_RECORD_MAC));
    }
}
