//! Tests of DTLS 1.2 records against RFC 6347 and RFC 9146, with a second implementation of nonce and additional data.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::crypto::{AeadKey, Tls12Nonce, Tls12Suite};
use crate::test_crypto::{AES_128_CCM_8, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305, key_block, suite12};

/// The suites with the lengths of explicit nonce and tag.
const SUITES: [(&Tls12Suite, usize, usize); 4] =
    [(&AES_128_GCM, 8, 16), (&AES_256_GCM, 8, 16), (&AES_128_CCM_8, 8, 8), (&CHACHA20_POLY1305, 0, 16)];

const ALL: usize = MAX_FRAGMENT;

fn keys(suite: &'static Tls12Suite) -> RecordKeys {
    key_block(suite, 1).client
}

fn write_epoch(suite: &'static Tls12Suite) -> WriteEpoch {
    WriteEpoch::new(1, &keys(suite)).unwrap()
}

fn read_epoch(suite: &'static Tls12Suite) -> ReadEpoch {
    ReadEpoch::new(1, &keys(suite)).unwrap()
}

fn sealed(epoch: &mut WriteEpoch, content_type: ContentType, cid: &[u8], content: &[u8]) -> Vec<u8> {
    let head = epoch.head_len(cid);
    let mut record = vec![0; head + content.len() + epoch.tail_len(cid)];
    record[head..head + content.len()].copy_from_slice(content);
    epoch.seal(content_type, cid, &mut record).unwrap();
    record
}

fn opened(epoch: &mut ReadEpoch, cid_len: usize, mut record: Vec<u8>) -> Result<(ContentType, Vec<u8>), Refused> {
    let header = Header::parse(&record, cid_len).ok_or(Refused::Malformed)?;
    let (content_type, content) = epoch.open(&header, &mut record, ALL)?;
    Ok((content_type, content.to_vec()))
}

/// Decrypts `AEADEncrypted` with the nonces of RFC 5288, 3 and RFC 7905, 2, and with additional data of the caller.
fn open_by_hand(suite: &'static Tls12Suite, number: u64, fragment: &[u8], aad: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let keys = keys(suite);
    let key: Box<dyn AeadKey> = suite.aead.key(keys.write_key()).unwrap();
    let mut nonce = *keys.write_iv();
    let sealed = match suite.nonce {
        Tls12Nonce::Explicit => {
            nonce[4..].copy_from_slice(&fragment[..8]);
            &fragment[8..]
        }
        Tls12Nonce::Implicit => {
            nonce.iter_mut().skip(4).zip(number.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
            fragment
        }
    };
    let mut sealed = sealed.to_vec();
    let aad = aad(sealed.len() - suite.aead.tag_len());
    let len = key.open(&nonce, &aad, &mut sealed).unwrap();
    sealed.truncate(len);
    sealed
}

/// RFC 6347, 4.1 and 4.1.2.1; RFC 5246, 6.2.3.3.
#[test]
fn a_record_has_the_form_of_the_rfc() {
    for (suite, explicit, tag) in SUITES {
        let mut epoch = write_epoch(suite);
        for number in 0..3_u64 {
            let record = sealed(&mut epoch, ContentType::HANDSHAKE, &[], b"content");
            let full = 1 << 48 | number;
            let header: [&[u8]; 3] = [&[22, 254, 253], &full.to_be_bytes(), &[0, (explicit + 7 + tag) as u8]];
            assert_eq!(record[..13], header.concat());
            assert_eq!(record.len(), 13 + explicit + 7 + tag);
            let aad = |len| [&full.to_be_bytes()[..], &[22, 254, 253], &(len as u16).to_be_bytes()].concat();
            assert_eq!(open_by_hand(suite, full, &record[13..], aad), b"content");
        }
    }
}

/// RFC 9146, 4 and 5.3.
#[test]
fn a_record_with_a_connection_id_has_the_form_of_the_rfc() {
    for (suite, explicit, tag) in SUITES {
        for cid in [&[7][..], b"connection", &[9; 255]] {
            let record = sealed(&mut write_epoch(suite), ContentType::HANDSHAKE, cid, b"content");
            let full = 1_u64 << 48;
            let len = ((explicit + 8 + tag) as u16).to_be_bytes();
            assert_eq!(record[..13 + cid.len()], [&[25, 254, 253], &full.to_be_bytes()[..], cid, &len].concat());
            let aad = |len| {
                let mut aad = vec![0xff; 8]; // seq_num_placeholder
                aad.push(25); // tls12_cid
                aad.push(cid.len() as u8); // cid_length
                aad.push(25); // tls12_cid
                aad.extend([254, 253]); // DTLSCiphertext.version
                aad.extend([0, 1]); // epoch
                aad.extend([0; 6]); // sequence_number
                aad.extend(cid);
                aad.extend((len as u16).to_be_bytes()); // length_of_DTLSInnerPlaintext
                aad
            };
            let inner = open_by_hand(suite, full, &record[13 + cid.len()..], aad);
            assert_eq!(inner, b"content\x16");
            assert_eq!(opened(&mut read_epoch(suite), cid.len(), record).unwrap().0, ContentType::HANDSHAKE);
        }
    }
}

#[test]
fn a_record_that_is_not_protected_is_its_header_and_its_content() {
    let mut epoch = WriteEpoch::unprotected(5);
    let record = sealed(&mut epoch, ContentType::ALERT, b"no connection ID here", &[2, 40]);
    assert_eq!(record, [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 5, 0, 2, 2, 40]);
    assert_eq!(opened(&mut ReadEpoch::unprotected(), 9, record), Ok((ContentType::ALERT, vec![2, 40])));
}

#[test]
fn each_bit_that_changes_is_noticed() {
    for (suite, ..) in SUITES {
        for cid in [&[][..], b"id"] {
            let record = sealed(&mut write_epoch(suite), ContentType::APPLICATION_DATA, cid, b"some content");
            for bit in 0..8 * record.len() {
                let mut changed = record.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(opened(&mut read_epoch(suite), cid.len(), changed).is_err(), "bit {bit}");
            }
            assert!(opened(&mut read_epoch(suite), cid.len(), record).is_ok());
        }
    }
}

#[test]
fn what_is_cut_short_is_no_record() {
    for cid in [&[][..], b"id"] {
        let record = sealed(&mut write_epoch(&AES_128_GCM), ContentType::HANDSHAKE, cid, b"some content");
        for len in 0..record.len() {
            assert_eq!(Header::parse(&record[..len], cid.len()), None, "{len}");
        }
    }
    // The header is right, but the record is too short.
    for (suite, explicit, tag) in SUITES {
        for len in 0..explicit + tag {
            let header = [&[23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, len as u8][..], &vec![0; len]].concat();
            assert_eq!(opened(&mut read_epoch(suite), 0, header), Err(Refused::NotAuthentic));
        }
    }
}

/// RFC 9146, 4: zeros may follow the type; a record of zeros only is malformed.
#[test]
fn padding_is_taken_off() {
    let (suite, cid) = (&AES_128_GCM, b"id");
    let padded = |inner: &[u8]| {
        let mut epoch = write_epoch(suite);
        let (head, tail) = (epoch.head_len(cid), epoch.tail_len(cid));
        // The last byte of `inner` is placed where the sender writes the type.
        let (last, content) = inner.split_last().unwrap();
        let mut record = [&vec![0; head][..], content, &vec![0; tail]].concat();
        epoch.seal(ContentType(*last), cid, &mut record).unwrap();
        opened(&mut read_epoch(suite), cid.len(), record)
    };
    assert_eq!(padded(b"a\x16"), Ok((ContentType::HANDSHAKE, b"a".to_vec())));
    assert_eq!(padded(b"a\x16\0\0\0"), Ok((ContentType::HANDSHAKE, b"a".to_vec())));
    assert_eq!(padded(b"\x17"), Ok((ContentType::APPLICATION_DATA, vec![])));
    assert_eq!(padded(b"\0\0"), Err(Refused::Malformed));
}

#[test]
fn a_number_is_taken_once() {
    let mut write = write_epoch(&AES_128_GCM);
    let records: Vec<_> = (0..70).map(|_| sealed(&mut write, ContentType::HANDSHAKE, &[], b"x")).collect();
    let mut read = read_epoch(&AES_128_GCM);
    for number in [3, 0, 3, 69, 69, 6, 5, 3] {
        let expected = match number {
            3 if read.newest().is_some() => Err(Refused::Replayed),
            69 if read.newest() == Some(69) => Err(Refused::Replayed),
            5 => Err(Refused::Replayed), // too old to tell
            _ => Ok((ContentType::HANDSHAKE, b"x".to_vec())),
        };
        assert_eq!(opened(&mut read, 0, records[number].clone()), expected, "{number}");
    }
}

/// A forged record does not move the replay window either.
#[test]
fn a_forged_record_takes_no_number_away() {
    let mut write = write_epoch(&AES_128_GCM);
    let record = sealed(&mut write, ContentType::HANDSHAKE, &[], b"x");
    let mut read = read_epoch(&AES_128_GCM);
    for number in [0, MAX_NUMBER] {
        let mut forged = record.clone();
        forged[5..11].copy_from_slice(&number.to_be_bytes()[2..]);
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(opened(&mut read, 0, forged), Err(Refused::NotAuthentic));
    }
    assert_eq!(read.newest(), None);
    assert!(opened(&mut read, 0, record).is_ok());
}

/// Anybody can send an unprotected record with the highest number.
#[test]
fn before_there_are_keys_no_number_keeps_others_out() {
    let mut read = ReadEpoch::unprotected();
    for number in [MAX_NUMBER, 0, 1, 1] {
        let record = sealed(&mut WriteEpoch::unprotected(number), ContentType::HANDSHAKE, &[], b"x");
        assert!(opened(&mut read, 0, record).is_ok(), "{number}");
    }
    assert_eq!(read.newest(), Some(MAX_NUMBER));
}

#[test]
fn numbers_are_used_up_at_the_end() {
    let mut write = WriteEpoch { next: MAX_NUMBER, ..write_epoch(&AES_128_GCM) };
    let record = sealed(&mut write, ContentType::ALERT, &[], &[1, 0]);
    assert_eq!(record[3..11], [0, 1, 255, 255, 255, 255, 255, 255]);
    assert!(opened(&mut read_epoch(&AES_128_GCM), 0, record).is_ok());
    for _ in 0..2 {
        assert_eq!(write.seal(ContentType::ALERT, &[], &mut [0; 64]), Err(CryptoError::InvalidLength));
    }
}

/// Some records remain for alerts.
#[test]
fn application_data_ends_before_the_key_is_exhausted() {
    static FEW: Tls12Suite = suite12(RESERVED + 2);
    let mut write = write_epoch(&FEW);
    for _ in 0..2 {
        assert!(!write.is_exhausted());
        sealed(&mut write, ContentType::APPLICATION_DATA, &[], b"");
    }
    assert!(write.is_exhausted());
    for _ in 0..RESERVED {
        sealed(&mut write, ContentType::ALERT, &[], b"");
    }
    let unprotected = WriteEpoch { next: MAX_NUMBER, ..WriteEpoch::unprotected(0) };
    assert!(!unprotected.is_exhausted());
}

#[test]
fn a_key_wears_out_by_what_is_not_authentic() {
    let mut read = read_epoch(&AES_128_GCM);
    let forged = |read: &mut ReadEpoch| {
        let record = [&[23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 40][..], &[0; 40]].concat();
        assert_eq!(opened(read, 0, record), Err(Refused::NotAuthentic));
    };
    forged(&mut read);
    assert_eq!(read.forged, 1);
    read.forged = INTEGRITY_LIMIT - 1;
    forged(&mut read);
    assert!(!read.is_exhausted());
    forged(&mut read);
    assert!(read.is_exhausted());
}

/// The limit counts the content only, with and without a connection ID.
#[test]
fn the_limit_is_that_of_the_content() {
    for (suite, ..) in SUITES {
        for cid in [&[][..], b"id"] {
            for (len, fits) in [(64, true), (65, false)] {
                let mut record = sealed(&mut write_epoch(suite), ContentType::HANDSHAKE, cid, &vec![1; len]);
                let header = Header::parse(&record, cid.len()).unwrap();
                let mut read = read_epoch(suite);
                assert_eq!(read.open(&header, &mut record, 64).is_ok(), fits, "{len}");
                assert_eq!(read.newest().is_some(), fits);
            }
        }
    }
    let mut record = sealed(&mut WriteEpoch::unprotected(0), ContentType::HANDSHAKE, &[], &[1; 65]);
    let header = Header::parse(&record, 0).unwrap();
    assert_eq!(ReadEpoch::unprotected().open(&header, &mut record, 64), Err(Refused::Malformed));
}

#[test]
fn no_record_is_longer_than_its_length_can_say() {
    let mut write = write_epoch(&AES_128_GCM);
    assert_eq!(
        write.seal(ContentType::HANDSHAKE, &[], &mut vec![0; HEADER_LEN + 0x1_0000]),
        Err(CryptoError::InvalidLength)
    );
    assert_eq!(write.seal(ContentType::HANDSHAKE, &[], &mut [0; HEADER_LEN - 1]), Err(CryptoError::InvalidLength));
    assert_eq!(
        write.seal(ContentType::HANDSHAKE, b"id", &mut [0; HEADER_LEN + 2 + 8]),
        Err(CryptoError::InvalidLength)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Every field is parsed as it was written, and bytes after the record do not belong to it.
    #[test]
    fn a_header_says_what_was_written(
        content_type: u8,
        minor: u8,
        epoch: u16,
        number in 0..=MAX_NUMBER,
        cid in prop::collection::vec(any::<u8>(), 0..20),
        content in prop::collection::vec(any::<u8>(), 0..100),
        after in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let has_cid = content_type == 25;
        let cid_field = if has_cid { &cid[..] } else { &[] };
        let bytes = [
            &[content_type, 254, minor], &epoch.to_be_bytes()[..], &number.to_be_bytes()[2..], cid_field,
            &(content.len() as u16).to_be_bytes(), &content, &after,
        ].concat();
        let header = Header::parse(&bytes, cid.len()).unwrap();
        prop_assert_eq!((header.content_type.0, header.epoch, header.number), (content_type, epoch, number));
        prop_assert_eq!(header.cid(&bytes), cid_field);
        prop_assert_eq!(header.header_len(), 13 + cid_field.len());
        prop_assert_eq!(&bytes[header.header_len()..header.record_len()], &content[..]);
        prop_assert_eq!(header.record_len(), bytes.len() - after.len());
    }

    #[test]
    fn whatever_comes_a_header_stays_within_it(bytes in prop::collection::vec(any::<u8>(), 0..80), cid_len in 0..300_usize) {
        if let Some(header) = Header::parse(&bytes, cid_len) {
            prop_assert!(header.record_len() <= bytes.len());
            prop_assert_eq!(bytes[1], 254);
            let _ = opened(&mut ReadEpoch::new(header.epoch, &keys(&AES_128_GCM)).unwrap(), cid_len, bytes);
        }
    }

    #[test]
    fn what_is_sealed_is_opened(
        suite in 0..4_usize,
        cid in prop::collection::vec(any::<u8>(), 0..5),
        fragments in prop::collection::vec((1..=255_u8, prop::collection::vec(any::<u8>(), 0..300)), 1..4),
    ) {
        let (mut write, mut read) = (write_epoch(SUITES[suite].0), read_epoch(SUITES[suite].0));
        for (content_type, content) in fragments {
            prop_assume!(!cid.is_empty() || content_type != 25);
            let record = sealed(&mut write, ContentType(content_type), &cid, &content);
            prop_assert_eq!(opened(&mut read, cid.len(), record), Ok((ContentType(content_type), content)));
        }
    }
}
