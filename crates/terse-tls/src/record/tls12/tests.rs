//! Tests of TLS 1.2 records: their layout, their nonces, and records that are refused.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::crypto::Tls12Suite;
use crate::record::stream::{HEADER_LEN, MAX_FRAGMENT, RecordKey};
use crate::schedule::EpochKeys;
use crate::test_crypto::{AES_128_CCM_8, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305, key_block};
use crate::wire::ContentType;

/// All suites with the lengths of the explicit nonce and of the tag.
const EXPANSION: [(&Tls12Suite, usize, usize); 4] =
    [(&AES_128_GCM, 8, 16), (&AES_256_GCM, 8, 16), (&AES_128_CCM_8, 8, 8), (&CHACHA20_POLY1305, 0, 16)];

const BAD_RECORD_MAC: Error = Error::Crypto(CryptoError::DecryptFailed);

fn key(suite: &'static Tls12Suite, seed: u8) -> RecordKey {
    RecordKey::new(&EpochKeys::Tls12(key_block(suite, seed).client)).unwrap()
}

fn protected(key: &mut RecordKey, content_type: ContentType, fragment: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    key.append(content_type, fragment, &mut record).unwrap();
    record
}

fn opened(key: &mut RecordKey, mut record: Vec<u8>) -> Result<(ContentType, Vec<u8>), Error> {
    let (content_type, content) = key.deprotect(&mut record, MAX_FRAGMENT)?;
    Ok((content_type, content.to_vec()))
}

/// The layout of RFC 5246, 6.2.3.3, RFC 5288, 3 and RFC 7905, 2, is computed by hand.
#[test]
fn a_record_is_laid_out_as_its_rfc_says() {
    for (suite, explicit_len, tag_len) in EXPANSION {
        let keys = key_block(suite, 1).client;
        let mut seal = key(suite, 1);
        for sequence_number in 0..3_u64 {
            let record = protected(&mut seal, ContentType::HANDSHAKE, b"hello");
            let explicit = &sequence_number.to_be_bytes()[..explicit_len];
            let header = [22, 3, 3, 0, (explicit_len + 5 + tag_len) as u8];
            let nonce: Vec<u8> = match suite.nonce {
                Tls12Nonce::Explicit => [&keys.write_iv()[..4], explicit].concat(),
                Tls12Nonce::Implicit => {
                    let padded = [&[0; 4][..], &sequence_number.to_be_bytes()].concat();
                    keys.write_iv().iter().zip(padded).map(|(a, b)| a ^ b).collect()
                }
            };
            let additional_data = [&sequence_number.to_be_bytes()[..], &[22, 3, 3, 0, 5]].concat();
            let mut content = *b"hello";
            let mut tag = vec![0; tag_len];
            let aead = suite.aead.key(keys.write_key()).unwrap();
            aead.seal(&nonce.try_into().unwrap(), &additional_data, &mut content, &mut tag).unwrap();
            assert_eq!(record, [&header[..], explicit, &content, &tag].concat());
        }
    }
}

/// The peer may choose the explicit part of the nonce freely (RFC 5288, 3); it does not replace the sequence number.
#[test]
fn any_explicit_nonce_is_accepted_in_order() {
    let keys = key_block(&AES_128_GCM, 1).client;
    let aead = AES_128_GCM.aead.key(keys.write_key()).unwrap();
    let sealed = |explicit: [u8; 8], sequence_number: u64| {
        let nonce = [&keys.write_iv()[..4], &explicit].concat();
        let additional_data = [&sequence_number.to_be_bytes()[..], &[23, 3, 3, 0, 4]].concat();
        let mut record = [&[23, 3, 3, 0, 28], &explicit[..], b"data"].concat();
        let mut tag = [0; 16];
        aead.seal(&nonce.try_into().unwrap(), &additional_data, &mut record[HEADER_LEN + 8..], &mut tag).unwrap();
        [&record[..], &tag].concat()
    };
    let mut open = key(&AES_128_GCM, 1);
    for (sequence_number, explicit) in [[0xff; 8], [7; 8], *b"whatever"].into_iter().enumerate() {
        let record = sealed(explicit, sequence_number as u64);
        assert_eq!(opened(&mut open, record.clone()), Ok((ContentType::APPLICATION_DATA, b"data".to_vec())));
        assert_eq!(opened(&mut open, record), Err(BAD_RECORD_MAC), "a second time");
    }
    assert_eq!(opened(&mut open, sealed([9; 8], 4)), Err(BAD_RECORD_MAC), "one is missing");
}

#[test]
fn records_open_once_and_in_order() {
    for (suite, ..) in EXPANSION {
        let (mut seal, mut open) = (key(suite, 1), key(suite, 1));
        let first = protected(&mut seal, ContentType::APPLICATION_DATA, b"first");
        let second = protected(&mut seal, ContentType::APPLICATION_DATA, b"second");
        assert_eq!(opened(&mut open, second.clone()), Err(BAD_RECORD_MAC), "too early");
        assert_eq!(opened(&mut open, first.clone()).unwrap().1, b"first");
        assert_eq!(opened(&mut open, first.clone()), Err(BAD_RECORD_MAC), "a second time");
        assert_eq!(opened(&mut key(suite, 2), first.clone()), Err(BAD_RECORD_MAC), "under another key");
        let mut reflected = RecordKey::new(&EpochKeys::Tls12(key_block(suite, 1).server)).unwrap();
        assert_eq!(opened(&mut reflected, first), Err(BAD_RECORD_MAC), "in the other direction");
    }
}

/// The type and the version are authenticated in the header; its length is only used by the link.
#[test]
fn every_changed_byte_is_noticed() {
    for (suite, ..) in EXPANSION {
        let record = protected(&mut key(suite, 1), ContentType::APPLICATION_DATA, b"some content");
        for place in (0..record.len()).filter(|place| !(3..HEADER_LEN).contains(place)) {
            for bit in 0..8 {
                let mut changed = record.clone();
                changed[place] ^= 1 << bit;
                assert_eq!(opened(&mut key(suite, 1), changed), Err(BAD_RECORD_MAC), "bit {bit} of byte {place}");
            }
        }
    }
}

/// The shortest of these records ends within the explicit part of the nonce.
#[test]
fn a_truncated_or_longer_record_is_refused() {
    for (suite, ..) in EXPANSION {
        for content in [&b"some content"[..], &[]] {
            let record = protected(&mut key(suite, 1), ContentType::APPLICATION_DATA, content);
            for len in 0..record.len() {
                assert_eq!(opened(&mut key(suite, 1), record[..len].to_vec()), Err(BAD_RECORD_MAC), "{len} bytes");
            }
            assert_eq!(opened(&mut key(suite, 1), [&record[..], &[0]].concat()), Err(BAD_RECORD_MAC));
        }
    }
}

/// RFC 8449, 4: the limit counts the content only; RFC 5246, 6.2.1, limits all records.
#[test]
fn the_limit_covers_the_content_alone() {
    for (suite, explicit_len, tag_len) in EXPANSION {
        let sealed = |len| {
            let protection = Protection::new(&key_block(suite, 1).client).unwrap();
            let mut record = [&vec![0; explicit_len][..], &vec![7; len], &vec![0; tag_len]].concat();
            protection.seal(0, &Binding::Kind([23, 3, 3]), &mut record).unwrap();
            [&[23, 3, 3, 0, 0], &record[..]].concat()
        };
        for (limit, longest) in [(64, 64), (MAX_FRAGMENT, MAX_FRAGMENT), (MAX_FRAGMENT + 1, MAX_FRAGMENT)] {
            let mut key = key(suite, 1);
            assert_eq!(key.max_len(limit), explicit_len + longest + tag_len);
            let mut too_long = sealed(longest + 1);
            assert_eq!(key.deprotect(&mut too_long, limit), Err(InvalidMessage::RecordTooLarge.into()));
            let mut fits = sealed(longest);
            assert_eq!(key.deprotect(&mut fits, limit).unwrap().1, vec![7; longest]);
        }
    }
}

#[test]
fn no_record_with_too_much_content_is_made() {
    let (mut key, mut out) = (key(&AES_128_GCM, 1), Vec::new());
    let long = vec![0; MAX_FRAGMENT + 1];
    assert_eq!(key.append(ContentType::APPLICATION_DATA, &long, &mut out), Err(CryptoError::InvalidLength));
    assert_eq!(out.len(), 0);
    key.append(ContentType::APPLICATION_DATA, &long[1..], &mut out).unwrap();
    assert_eq!(opened(&mut self::key(&AES_128_GCM, 1), out).unwrap().1.len(), MAX_FRAGMENT);
}

/// Over datagrams the number begins with the epoch, and the version differs.
#[test]
fn the_number_and_the_version_are_the_callers() {
    let number = 0x0001_0000_0000_0007;
    for (suite, explicit_len, tag_len) in EXPANSION {
        let protection = Protection::new(&key_block(suite, 1).client).unwrap();
        let mut sealed = [&vec![0; explicit_len][..], b"data", &vec![0; tag_len]].concat();
        protection.seal(number, &Binding::Kind([23, 254, 253]), &mut sealed).unwrap();
        let open =
            |number, kind| protection.open(number, &Binding::Kind(kind), &mut sealed.clone(), 4).map(<[u8]>::to_vec);
        assert_eq!(open(number, [23, 254, 253]), Ok(b"data".to_vec()));
        assert_eq!(open(7, [23, 254, 253]), Err(Unopened::NotAuthentic), "another epoch");
        assert_eq!(open(number, [23, 3, 3]), Err(Unopened::NotAuthentic));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_is_protected_is_opened(
        suite in 0usize..4,
        fragments in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 1..4),
    ) {
        let (suite, explicit_len, tag_len) = EXPANSION[suite];
        let (mut seal, mut open) = (key(suite, 1), key(suite, 1));
        for (content_type, fragment) in fragments {
            let record = protected(&mut seal, ContentType(content_type), &fragment);
            prop_assert_eq!(record.len(), HEADER_LEN + explicit_len + fragment.len() + tag_len);
            prop_assert_eq!(opened(&mut open, record).unwrap(), (ContentType(content_type), fragment));
        }
    }

    #[test]
    fn garbage_is_refused(suite in 0usize..4, garbage in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert_eq!(opened(&mut key(EXPANSION[suite].0, 1), garbage), Err(BAD_RECORD_MAC));
    }
}
