//! Tests of headers, and of the limits of both versions' keys.

use super::*;
use crate::test_crypto::{AES_128_GCM, SUITE, key_block, suite12, traffic_secret};

impl RecordKey {
    /// Appends a record to `out`, or nothing if it cannot be protected.
    pub(crate) fn append(
        &mut self,
        content_type: ContentType,
        fragment: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CryptoError> {
        let start = out.len();
        out.resize(start + self.head_len(), 0);
        out.extend_from_slice(fragment);
        self.protect(content_type, out, start)
    }
}

#[test]
fn plaintext_is_laid_out_as_in_section_5_1() {
    let mut record = Vec::new();
    write_plaintext(ContentType::ALERT, &[2, 40], &mut record);
    assert_eq!(record, [21, 3, 3, 0, 2, 2, 40]);
    assert_eq!(Header::parse(*record.first_chunk().unwrap()), Header { content_type: ContentType::ALERT, len: 2 });
}

#[test]
fn headers_are_checked_before_anything_is_read() {
    let check = |content_type, len, max| Header { content_type: ContentType(content_type), len }.check(max);
    for content_type in 0..=255 {
        let expected = match content_type {
            20..=23 => Ok(()),
            _ => Err(InvalidMessage::UnknownContentType),
        };
        assert_eq!(check(content_type, 0, 0), expected);
        assert_eq!(check(content_type, MAX_FRAGMENT, MAX_FRAGMENT), expected);
    }
    assert_eq!(check(22, 0x4001, MAX_FRAGMENT), Err(InvalidMessage::RecordTooLarge));
    assert_eq!(check(23, 0x4000 + 256, MAX_ENCRYPTED), Ok(()));
    assert_eq!(check(23, 0x4000 + 257, MAX_ENCRYPTED), Err(InvalidMessage::RecordTooLarge));
    assert_eq!(check(23, 0xffff, MAX_ENCRYPTED), Err(InvalidMessage::RecordTooLarge));
}

/// RFC 9846, 5.1: `legacy_record_version` is ignored for all purposes.
#[test]
fn the_version_of_a_header_says_nothing() {
    for version in [[3, 0], [3, 1], [3, 3], [3, 4], [0xff, 0xff]] {
        let header = Header::parse([22, version[0], version[1], 1, 2]);
        assert_eq!(header, Header { content_type: ContentType::HANDSHAKE, len: 0x0102 });
    }
}

/// Returns keys of both versions.
fn both() -> [EpochKeys; 2] {
    [EpochKeys::Tls13(traffic_secret(&SUITE, 1)), EpochKeys::Tls12(key_block(&AES_128_GCM, 1).client)]
}

/// RFC 9846, 5.3; RFC 5246, 6.1: no sequence number is used twice.
#[test]
fn the_sequence_number_does_not_wrap() {
    for keys in both() {
        let key = |sequence_number| RecordKey { sequence_number, ..RecordKey::new(&keys).unwrap() };
        let mut record = Vec::new();
        let mut last = key(u64::MAX - 1);
        last.append(ContentType::ALERT, &[1, 0], &mut record).unwrap();
        let content = (ContentType::ALERT, &[1, 0][..]);
        assert_eq!(key(u64::MAX - 1).deprotect(&mut record.clone(), MAX_FRAGMENT + 1), Ok(content));
        let none_left = Err(CryptoError::InvalidLength.into());
        assert_eq!(key(u64::MAX).deprotect(&mut record, MAX_FRAGMENT + 1), none_left);
        record.clear();
        assert_eq!(last.append(ContentType::ALERT, &[1, 0], &mut record), Err(CryptoError::InvalidLength));
        assert_eq!(record, [], "nothing is sent");
    }
}

#[test]
fn a_record_that_cannot_be_opened_does_not_count() {
    for keys in both() {
        let mut key = RecordKey::new(&keys).unwrap();
        let mut record = Vec::new();
        RecordKey::new(&keys).unwrap().append(ContentType::APPLICATION_DATA, b"data", &mut record).unwrap();
        let mut wrong = record.clone();
        wrong[HEADER_LEN + 9] ^= 1;
        let refused = key.deprotect(&mut wrong, MAX_FRAGMENT);
        assert_eq!(refused, Err(CryptoError::DecryptFailed.into()));
        assert_eq!(key.deprotect(&mut record, MAX_FRAGMENT).unwrap().1, b"data");
    }
}

/// A key of TLS 1.2 cannot be updated: it is exhausted early enough to send alerts.
#[test]
fn a_key_of_tls_1_2_is_exhausted_before_its_limit() {
    static LIMIT: u64 = RESERVED_FOR_ALERTS + 2;
    static SUITE12: crate::crypto::Tls12Suite = suite12(LIMIT);
    let mut key = RecordKey::new(&EpochKeys::Tls12(key_block(&SUITE12, 1).client)).unwrap();
    for record in 0..LIMIT {
        assert_eq!((key.is_exhausted(), key.nears_limit()), (record >= 2, false));
        key.append(ContentType::APPLICATION_DATA, b"data", &mut Vec::new()).unwrap();
    }
    static SMALL: crate::crypto::Tls12Suite = suite12(3);
    assert!(RecordKey::new(&EpochKeys::Tls12(key_block(&SMALL, 1).client)).unwrap().is_exhausted());
}
