//! Tests of DTLS 1.3 records against RFC 9147, with a second implementation of nonce, additional data and mask.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::test_crypto::{SUITE, traffic_secret};

const ALL: usize = 0x4001;

fn write_epoch() -> WriteEpoch {
    WriteEpoch::new(&traffic_secret(&SUITE, 1)).unwrap()
}

fn read_epoch() -> ReadEpoch {
    ReadEpoch::new(&traffic_secret(&SUITE, 1)).unwrap()
}

fn sealed(epoch: &mut WriteEpoch, content_type: ContentType, cid: &[u8], with_length: bool, content: &[u8]) -> Vec<u8> {
    let head = epoch.head_len(cid, with_length);
    let mut record = vec![0xee; head + content.len() + epoch.tail_len(content.len())];
    record[head..head + content.len()].copy_from_slice(content);
    epoch.seal(content_type, cid, with_length, content.len(), &mut record).unwrap();
    record
}

fn opened(epoch: &mut ReadEpoch, cid_len: usize, record: &[u8]) -> Result<(ContentType, Vec<u8>, u64), Refused> {
    let mut record = record.to_vec();
    let header = Header::parse(&record, cid_len).ok_or(Refused::Malformed)?;
    let Opened { content_type, content, number } = epoch.open(&header, &mut record, ALL)?;
    Ok((content_type, content.to_vec(), number))
}

/// RFC 9147, 4 and 4.2.3, computed by hand: the shortest header, its encrypted number, and the rest under the AEAD.
#[test]
fn a_record_is_what_the_rfc_says() {
    let secret = traffic_secret(&SUITE, 1);
    let mut epoch = write_epoch();
    for number in 0..3 {
        let record = sealed(&mut epoch, ContentType::HANDSHAKE, &[], false, b"content");
        assert_eq!(record.len(), 2 + 7 + 1 + 16);
        assert_eq!(record[0], 0b0010_0000 | secret.epoch() as u8 & 3, "no connection ID, 8 bits, no length");
        let mut key = [0; 16];
        secret.sn_key(&mut key).unwrap();
        let mask = SUITE.record_numbers.key(&key).unwrap().mask(record[2..18].try_into().unwrap());
        assert_eq!(record[1] ^ mask[0], number);
        secret.write_key(&mut key).unwrap();
        let mut nonce = secret.write_iv().unwrap();
        nonce[11] ^= number;
        let mut body = record[2..].to_vec();
        let len = SUITE.aead.key(&key).unwrap().open(&nonce, &[record[0], number], &mut body).unwrap();
        assert_eq!(&body[..len], b"content\x16");
    }
}

#[test]
fn headers_have_what_is_asked_for() {
    let mut epoch = write_epoch();
    let record = sealed(&mut epoch, ContentType::ALERT, b"cid", true, b"ab");
    assert_eq!(record[0] & !EPOCH, FIXED | CID | LENGTH);
    assert_eq!(&record[1..4], b"cid");
    assert_eq!(u16::from_be_bytes([record[5], record[6]]), 2 + 1 + 16);
    let header = Header::parse(&[&record[..], b"rest"].concat(), 3).unwrap();
    assert_eq!((header.record_len(), header.cid(&record)), (record.len(), Some(&b"cid"[..])));
    assert_eq!(Header::parse(&record, 0), None, "none was agreed on");
    assert_eq!(opened(&mut read_epoch(), 3, &record), Ok((ContentType::ALERT, b"ab".to_vec(), 0)));
}

/// RFC 9147, 4.2.3: the ciphertext has at least 16 bytes, which the mask needs.
#[test]
fn short_content_is_padded_where_the_tag_is_short() {
    let secret = traffic_secret(&crate::test_crypto::CCM_8, 1);
    let mut epoch = WriteEpoch::new(&secret).unwrap();
    let mut reader = ReadEpoch::new(&secret).unwrap();
    for len in 0..20 {
        let content = vec![7; len];
        let record = sealed(&mut epoch, ContentType::APPLICATION_DATA, &[], false, &content);
        assert_eq!(record.len(), 2 + (len + 1 + 8).max(16), "{len}");
        assert_eq!(opened(&mut reader, 0, &record), Ok((ContentType::APPLICATION_DATA, content, len as u64)));
    }
}

#[test]
fn what_is_too_short_for_a_mask_is_not_authentic() {
    for len in 2..18 {
        let record = vec![FIXED; len];
        assert_eq!(opened(&mut read_epoch(), 0, &record), Err(Refused::NotAuthentic), "{len}");
    }
}

/// One sender hears nothing, another one hears its peer now and then.
#[test]
fn numbers_are_long_when_the_peer_may_have_missed_many() {
    let mut epoch = write_epoch();
    let mut is_long = |_| sealed(&mut epoch, ContentType::APPLICATION_DATA, &[], false, b"")[0] & LONG_NUMBER != 0;
    let silent: Vec<_> = (0..100).map(&mut is_long).collect();
    assert!((0..64).all(|number| silent[number] == (number % 32 == 31)));
    assert!(silent[64..].iter().all(|long| *long));
    epoch.peer_is_there();
    assert_eq!(sealed(&mut epoch, ContentType::APPLICATION_DATA, &[], false, b"")[0] & LONG_NUMBER, 0);
}

/// Records are soon accepted again, however many in a row were lost.
#[test]
fn a_receiver_finds_back_after_losses() {
    for (lost, heard) in [(100, false), (127, true), (200, true), (1_000, true), (1_000, false), (30_000, true)] {
        let (mut writer, mut reader) = (write_epoch(), read_epoch());
        opened(&mut reader, 0, &sealed(&mut writer, ContentType::APPLICATION_DATA, &[], false, b"")).unwrap();
        for _ in 0..lost {
            sealed(&mut writer, ContentType::APPLICATION_DATA, &[], false, b"");
            if heard {
                writer.peer_is_there(); // the peer sends, but receives nothing
            }
        }
        let until = (0..32).position(|_| {
            let record = sealed(&mut writer, ContentType::APPLICATION_DATA, &[], false, b"");
            if heard {
                writer.peer_is_there();
            }
            opened(&mut reader, 0, &record).is_ok()
        });
        assert!(until.is_some(), "{lost} {heard}");
        assert!(heard || until == Some(0), "{lost}");
        let record = sealed(&mut writer, ContentType::APPLICATION_DATA, &[], false, b"");
        opened(&mut reader, 0, &record).unwrap();
    }
}

/// RFC 9147, 4.2.2: the result is compared with the definition.
#[test]
fn numbers_are_reconstructed_as_the_closest_ones() {
    let mut epoch = read_epoch();
    for newest in [None, Some(0), Some(5), Some(127), Some(128), Some(255), Some(256), Some(40_000), Some(70_000)] {
        epoch.seen = Window::default();
        if let Some(newest) = newest {
            epoch.seen.note(newest);
        }
        let expected = newest.map_or(0, |newest| newest + 1);
        for low in 0..=255_u8 {
            let got = epoch.reconstruct(&[low]);
            let all = (0..expected / 256 + 2).map(|high| high * 256 + u64::from(low));
            let best = all.map(|number| number.abs_diff(expected)).min().unwrap();
            assert_eq!((got as u8, got.abs_diff(expected)), (low, best), "{newest:?}");
        }
        for number in expected.saturating_sub(32_000)..expected + 32_000 {
            assert_eq!(epoch.reconstruct(&(number as u16).to_be_bytes()), number);
        }
    }
}

#[test]
fn a_record_counts_once_and_a_forgery_is_counted() {
    let (mut writer, mut reader) = (write_epoch(), read_epoch());
    let record = sealed(&mut writer, ContentType::HANDSHAKE, &[], false, b"once");
    assert!(opened(&mut reader, 0, &record).is_ok());
    assert_eq!(opened(&mut reader, 0, &record), Err(Refused::Replayed));
    assert_eq!(reader.forged, 0, "it was authentic");
    let next = sealed(&mut writer, ContentType::HANDSHAKE, &[], false, b"next");
    for bit in 0..next.len() * 8 {
        let mut forged = next.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(opened(&mut reader, 0, &forged).is_err(), "{bit}");
    }
    assert!(reader.forged > 16 * 8);
    assert_eq!(reader.newest(), Some(0), "a forgery moves nothing");
    assert!(opened(&mut reader, 0, &next).is_ok());
}

/// RFC 9147, 4.5.3
#[test]
fn after_too_many_forgeries_nothing_is_opened() {
    let secret = traffic_secret(&crate::test_crypto::CCM_8, 1);
    let (mut writer, mut reader) = (WriteEpoch::new(&secret).unwrap(), ReadEpoch::new(&secret).unwrap());
    let good = sealed(&mut writer, ContentType::HANDSHAKE, &[], false, b"good");
    let mut forged = good.clone();
    *forged.last_mut().unwrap() ^= 1;
    for count in 0..128 {
        assert_eq!((reader.has_many_forgeries(), reader.is_exhausted()), (count >= 64, false));
        assert_eq!(opened(&mut reader, 0, &forged), Err(Refused::NotAuthentic));
    }
    assert!(reader.is_exhausted());
    assert_eq!(opened(&mut reader, 0, &good), Err(Refused::NotAuthentic));
}

#[test]
fn no_number_is_used_beyond_the_limit() {
    static SHORT: crate::crypto::Tls13Suite = crate::test_crypto::suite(100);
    let mut epoch = WriteEpoch::new(&traffic_secret(&SHORT, 1)).unwrap();
    for number in 0..100 {
        assert_eq!((epoch.nears_limit(), epoch.is_exhausted()), (number >= 50, number >= 36), "{number}");
        sealed(&mut epoch, ContentType::APPLICATION_DATA, &[], false, b"");
    }
    let mut record = vec![0; 100];
    assert!(epoch.seal(ContentType::ALERT, &[], false, 2, &mut record).is_err());
}

proptest! {
    #[test]
    fn any_record_comes_back(
        cid in prop::collection::vec(any::<u8>(), 0..20),
        contents in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..300)), 1..80),
    ) {
        let (mut writer, mut reader) = (write_epoch(), read_epoch());
        for (number, (with_length, content)) in (0..).zip(contents) {
            let mut record = sealed(&mut writer, ContentType::APPLICATION_DATA, &cid, with_length, &content);
            let len = record.len();
            if with_length {
                record.extend_from_slice(b"another one");
            }
            prop_assert_eq!(Header::parse(&record, cid.len()).map(|header| header.record_len()), Some(len));
            prop_assert_eq!(opened(&mut reader, cid.len(), &record), Ok((ContentType::APPLICATION_DATA, content, number)));
        }
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..60), cid_len in 0..20_usize) {
        let mut record = bytes;
        if let Some(first) = record.first_mut() {
            *first = *first & !FIXED_MASK | FIXED;
        }
        if let Some(header) = Header::parse(&record, cid_len) {
            prop_assert!(header.record_len() <= record.len());
            prop_assert!(opened(&mut read_epoch(), cid_len, &record).is_err());
        }
    }
}
