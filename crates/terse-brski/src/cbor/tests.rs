use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

/// Skips one item, which must be all.
fn skip(cbor: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(cbor);
    let item = reader.skip()?;
    reader.finish()?;
    assert_eq!(item, cbor);
    Ok(())
}

#[test]
fn every_kind_of_item_is_skipped() {
    for item in [
        &b"\x00"[..],
        b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x40",
        b"\x43abc",
        b"\x5f\x42ab\x41c\xff",
        b"\x63abc",
        b"\x7f\x62ab\x61c\xff",
        b"\x80",
        b"\x82\x01\x82\x02\x03",
        b"\x9f\x01\x9f\xff\xff",
        b"\xa0",
        b"\xa1\x01\xa1\x02\x03",
        b"\xbf\x01\xbf\x02\x03\xff\xff",
        b"\xc1\xc2\x80",
        b"\xf4",
        b"\xf6",
        b"\xf7",
        b"\xf8\xff",
        b"\xf9\x00\x00",
        b"\xfa\x00\x00\x00\x00",
        b"\xfb\x00\x00\x00\x00\x00\x00\x00\x00",
    ] {
        assert_eq!(skip(item), Ok(()), "{item:x?}");
        for len in 0..item.len() {
            assert_eq!(skip(&item[..len]), Err(Malformed::Cbor), "{item:x?}, {len}");
        }
    }
}

#[test]
fn what_is_not_well_formed_is_not_skipped() {
    for item in [
        &b"\xff"[..],
        b"\x1c",
        b"\x5f\x61a\xff",
        b"\x5f\x5f\xff\xff",
        b"\x61\xff",
        b"\x81\xff",
        b"\xa1\x01\xff",
        b"\xbf\x01\xff",
        b"\xc1\xff",
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x00",
        b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00",
        b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff\x00",
    ] {
        assert_eq!(skip(item), Err(Malformed::Cbor), "{item:x?}");
    }
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [(&b"\x81"[..], &b""[..]), (b"\x9f", b"\xff"), (b"\xa1\x00", b""), (b"\xbf\x00", b"\xff")] {
        let nested = |depth: usize| [open.repeat(depth), vec![0], close.repeat(depth)].concat();
        assert_eq!(skip(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(skip(&nested(MAX_DEPTH + 1)), Err(Malformed::Cbor));
        assert_eq!(skip(&open.repeat(16_000)), Err(Malformed::Cbor));
    }
    // Tags contain nothing that would have to be remembered.
    assert_eq!(skip(&[b"\xc1".repeat(16_000), vec![0]].concat()), Ok(()));
    // Containers beside each other are not in each other.
    assert_eq!(skip(&[&b"\x9f"[..], &b"\x80".repeat(16_000), b"\xff"].concat()), Ok(()));
}

#[test]
fn heads_have_the_length_that_is_said() {
    for len in [0, 23, 24, 255, 256, 65_535, 65_536] {
        let mut writer = Writer::with_capacity(0);
        writer.bytes(&vec![0; len]);
        assert_eq!(writer.into_vec().len(), encoded_len(len));
    }
}

proptest! {
    /// What is skipped here, `minicbor` skips as far.
    #[test]
    fn skipping_ends_where_another_reader_ends(cbor in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut reader = Reader::new(&cbor);
        if reader.skip().is_ok() {
            let mut other = Decoder::new(&cbor);
            prop_assert!(other.skip().is_ok());
            prop_assert_eq!(other.position(), reader.position());
        }
    }

    #[test]
    fn strings_are_put_together(chunks in prop::collection::vec("\\PC{0,4}", 0..5)) {
        for is_text in [false, true] {
            let mut cbor: Vec<u8> = vec![if is_text { 0x7f } else { 0x5f }];
            for chunk in &chunks {
                cbor.push(if is_text { 0x60 } else { 0x40 } | chunk.len() as u8);
                cbor.extend_from_slice(chunk.as_bytes());
            }
            cbor.push(0xff);
            let mut reader = Reader::new(&cbor);
            if is_text {
                prop_assert_eq!(reader.text().unwrap(), chunks.concat());
            } else {
                let expected = chunks.concat();
                prop_assert_eq!(reader.bytes().unwrap(), expected.as_bytes());
            }
            prop_assert!(reader.finish().is_ok());
        }
    }
}
