//! Segments survive the codec, have Linux's header sizes, and other bytes are refused.

use super::{Flags, Options, PseudoHeader, SackBlock, Segment};
use crate::tcp::SequenceNumber;
use core::net::Ipv4Addr;
use proptest::prelude::*;

#[test]
fn headers_have_the_sizes_of_linux() {
    let len = |options: Options| Segment { options, ..Segment::default() }.header_len();
    let block = SackBlock { left: SequenceNumber(1), right: SequenceNumber(2) };
    let everything = Options {
        maximum_segment_size: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((1, 0)),
        ..Options::default()
    };
    assert_eq!(len(everything), 40);
    let constrained = Options { maximum_segment_size: Some(844), sack_permitted: true, ..Options::default() };
    assert_eq!(len(constrained), 28);
    assert_eq!(len(Options { timestamps: Some((1, 1)), ..Options::default() }), 32);
    assert_eq!(len(Options { sack: vec![block], ..Options::default() }), 32);
    // With timestamps there is no room for the fourth block.
    assert_eq!(len(Options { sack: vec![block; 4], timestamps: Some((1, 1)), ..Options::default() }), 60);
    assert_eq!(len(Options { sack: vec![block; 4], ..Options::default() }), 56);
}

/// A SYN of Linux has MSS, SACK-permitted, timestamps, no-operation and window scale, byte by byte.
#[test]
fn a_syn_is_laid_out_as_linux_does() {
    let syn = Segment {
        source_port: 0x1234,
        destination_port: 443,
        sequence: SequenceNumber(0x0102_0304),
        flags: Flags { syn: true, ..Flags::default() },
        window: 64240,
        options: Options {
            maximum_segment_size: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((0x0a0b_0c0d, 0)),
            sack: Vec::new(),
        },
        ..Segment::default()
    };
    let expected = [
        0x12, 0x34, 0x01, 0xbb, 0x01, 0x02, 0x03, 0x04, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0, 0, 0, 0, 2, 4, 0x05,
        0xb4, 4, 2, 8, 10, 0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    assert_eq!(syn.encode(), expected);
}

#[test]
fn a_checksum_covers_the_addresses() {
    let addresses = PseudoHeader::V4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut bytes = Segment { payload: b"abc".to_vec(), ..Segment::default() }.encode();
    Segment::fill_checksum(&mut bytes, &addresses);
    assert!(Segment::verify_checksum(&bytes, &addresses));
    let others = PseudoHeader::V4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 3));
    assert!(!Segment::verify_checksum(&bytes, &others));
    bytes[21] ^= 1;
    assert!(!Segment::verify_checksum(&bytes, &addresses));
}

#[test]
fn options_that_are_broken_end_the_list() {
    let mut bytes =
        Segment { options: Options { timestamps: Some((1, 2)), ..Options::default() }, ..Segment::default() }.encode();
    // A length of 0 instead of 10 would make the parser loop; a length of 200 would reach outside.
    for length in [0, 1, 200] {
        bytes[23] = length;
        assert_eq!(Segment::parse(&bytes).map(|segment| segment.options), Ok(Options::default()));
    }
}

pub(in crate::tcp) fn segments() -> impl Strategy<Value = Segment> {
    let flags = any::<[bool; 6]>().prop_map(|[fin, syn, rst, psh, ece, cwr]| Flags { fin, syn, rst, psh, ece, cwr });
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=3);
    let options = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), blocks, any::<Option<(u32, u32)>>());
    let ports = any::<(u16, u16)>();
    let payload = prop::collection::vec(any::<u8>(), 0..100);
    (ports, any::<u32>(), any::<Option<u32>>(), flags, any::<u16>(), options, payload).prop_map(
        |((source_port, destination_port), sequence, acknowledgement, flags, window, options, payload)| {
            let (maximum_segment_size, window_scale, sack_permitted, blocks, timestamps) = options;
            let sack = blocks
                .into_iter()
                .map(|(left, right)| SackBlock { left: SequenceNumber(left), right: SequenceNumber(right) });
            Segment {
                source_port,
                destination_port,
                sequence: SequenceNumber(sequence),
                acknowledgement: acknowledgement.map(SequenceNumber),
                flags,
                window,
                options: Options {
                    maximum_segment_size,
                    window_scale,
                    sack_permitted,
                    sack: sack.collect(),
                    timestamps,
                },
                payload,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(mut segment in segments()) {
        let bytes = segment.encode();
        prop_assert_eq!(bytes.len(), segment.header_len() + segment.payload.len());
        prop_assert_eq!(segment.header_len() % 4, 0);
        // Not all blocks fit beside all other options.
        segment.options.sack.truncate((segment.header_len() - segment.options_without_sack()) / 8);
        prop_assert_eq!(Segment::parse(&bytes), Ok(segment));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        if let Ok(segment) = Segment::parse(&bytes) {
            prop_assert!(segment.header_len() <= 60);
            prop_assert!(segment.options.sack.len() <= 4);
        }
    }
}

impl Segment {
    fn options_without_sack(&self) -> usize {
        let options = Options { sack: Vec::new(), ..self.options.clone() };
        Self { options, ..self.clone() }.header_len()
    }
}
