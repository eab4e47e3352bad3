//! Tests of JPY: what is written is read as the same, and everything else is refused.

use core::net::{Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use super::*;

const PROXY: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5684);

fn path(header: &[u8]) -> Path {
    Path::new(PROXY, header).unwrap()
}

/// Returns the message with this header and content.
fn framed(jpy: Jpy, header: &[u8], content: &[u8]) -> Vec<u8> {
    let mut out = vec![0; jpy.overhead()];
    let len = jpy.write(&path(header), content.len(), &mut out).unwrap();
    [&out[..len], content].concat()
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        header in proptest::collection::vec(any::<u8>(), 0..=64),
        content in proptest::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let datagram = framed(Jpy::new(), &header, &content);
        prop_assert!(datagram.len() <= content.len() + Jpy::new().overhead());
        let (from, range) = Jpy::new().read(PROXY, &datagram).unwrap();
        prop_assert_eq!(from, path(&header));
        prop_assert_eq!(&datagram[range], &content[..]);
        // And nothing that is shorter or longer.
        for len in 0..datagram.len() {
            prop_assert_eq!(Jpy::new().read(PROXY, &datagram[..len]), Err(Misframed::Malformed));
        }
        let longer = [&datagram[..], &[0]].concat();
        prop_assert_eq!(Jpy::new().read(PROXY, &longer), Err(Misframed::Malformed));
    }

    /// Whatever is read is written again as the same path and content, in the shortest form.
    #[test]
    fn anything_that_is_read_is_written(
        datagram in proptest::collection::vec(any::<u8>(), 0..100),
        array in proptest::option::of(0x82..0x90u8),
    ) {
        let mut datagram = datagram;
        if let (Some(array), Some(first)) = (array, datagram.first_mut()) {
            *first = array;
        }
        if let Ok((from, range)) = Jpy::new().read(PROXY, &datagram) {
            let again = framed(Jpy::new(), from.header(), &datagram[range.clone()]);
            prop_assert!(again.len() <= datagram.len());
            let (from_again, range_again) = Jpy::new().read(PROXY, &again).unwrap();
            prop_assert_eq!((from_again, &again[range_again]), (from, &datagram[range]));
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_draft() {
    assert_eq!(framed(Jpy::new(), &[1, 2, 3], b"dtls"), [&[0x82, 0x43, 1, 2, 3, 0x44][..], b"dtls"].concat());
    let longer = framed(Jpy::new(), &[7; 24], &[9; 300]);
    assert_eq!(longer, [&[0x82, 0x58, 24][..], &[7; 24], &[0x59, 1, 44], &[9; 300]].concat());
}

/// The draft's header of 32 bytes costs 38 bytes, the longest one 70, and neither costs more for any content.
#[test]
fn the_overhead_is_the_longest_prefix() {
    for (max, overhead) in [(0, 5), (23, 28), (24, 30), (32, 38), (64, 70), (1_000, 70)] {
        let jpy = Jpy::new().max_header(max);
        assert_eq!(jpy.overhead(), overhead, "{max}");
        let longest = framed(jpy, &vec![7; max.min(64)], &[0; 65_000]);
        assert_eq!(longest.len(), 65_000 + overhead, "{max}");
    }
    assert_eq!(Jpy::default().overhead(), 70);
}

#[test]
fn a_header_that_is_too_long_is_refused_as_such() {
    for (jpy, max) in [(Jpy::new(), 64), (Jpy::new().max_header(32), 32), (Jpy::new().max_header(500), 64)] {
        for len in 0..100 {
            let mut datagram = vec![0x82, 0x58, len];
            datagram.extend(vec![7; len.into()]);
            datagram.extend(b"\x44dtls");
            let read = jpy.read(PROXY, &datagram).map(|(from, _)| from.header().len());
            let expected = if len <= max { Ok(len.into()) } else { Err(Misframed::HeaderTooLong) };
            assert_eq!(read, expected, "{len}");
        }
    }
    // And not written, where it came from elsewhere.
    let jpy = Jpy::new().max_header(8);
    assert_eq!(jpy.write(&path(&[7; 64]), 1_000, &mut vec![0; jpy.overhead()]), None);
}

#[test]
fn everything_else_is_refused() {
    let refused: [(&str, &[u8]); 16] = [
        ("nothing", b""),
        ("a record of DTLS", &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]),
        ("an array of indefinite length", b"\x9f\x41a\x41b\xff"),
        ("a header of indefinite length", b"\x82\x5f\x41a\xff\x41b"),
        ("content of indefinite length", b"\x82\x41a\x5f\x41b\xff"),
        ("one element", b"\x81\x41a"),
        ("no element", b"\x80"),
        ("an element that is missing", b"\x83\x41a\x41b"),
        ("more elements than bytes", b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x41a\x41b\x01\x01"),
        ("text", b"\x82\x61a\x41b"),
        ("text as content", b"\x82\x41a\x61b"),
        ("a number", b"\x82\x41a\x01"),
        ("a tag", b"\xc1\x82\x41a\x41b"),
        ("a tag within", b"\x82\xc1\x41a\x41b"),
        ("a length without end", b"\x82\x5b\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("another message behind", b"\x82\x41a\x41b\x82\x41a\x41b"),
    ];
    for (name, datagram) in refused {
        assert_eq!(Jpy::new().read(PROXY, datagram), Err(Misframed::Malformed), "{name}");
    }
    assert_eq!(Jpy::new().read(PROXY, b"\x82\x40\x40"), Ok((PROXY.into(), 3..3)), "both may be empty");
}

/// "JPY messages with more than two elements": the first two count.
#[test]
fn further_elements_are_skipped() {
    let further: [&[u8]; 12] = [
        b"\x83\x41a\x42bc\x41c",
        b"\x83\x41a\x42bc\x01",
        b"\x84\x41a\x42bc\x39\x01\x00\xfb\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x83\x41a\x42bc\x80",
        b"\x83\x41a\x42bc\x82\x63abc\xa1\x01\xf6",
        b"\x83\x41a\x42bc\x9f\x01\x9f\xff\xff",
        b"\x84\x41a\x42bc\xbf\x01\x02\xff\x5f\x41a\xff",
        b"\x84\x41a\x42bc\x82\x9f\xff\x01\x02",
        b"\x83\x41a\x42bc\xc1\x01",
        b"\x83\x41a\x42bc\x7f\x61a\xff",
        b"\x83\x41a\x42bc\xf9\x3c\x00",
        b"\x98\x03\x41a\x42bc\x41c",
    ];
    for datagram in further {
        let (from, range) = Jpy::new().read(PROXY, datagram).unwrap_or_else(|_| panic!("{datagram:x?}"));
        assert_eq!((from, &datagram[range]), (path(b"a"), &b"bc"[..]));
        let behind = [datagram, b"\x00"].concat();
        assert_eq!(Jpy::new().read(PROXY, &behind), Err(Misframed::Malformed), "{behind:x?}");
        for len in 0..datagram.len() {
            assert_eq!(Jpy::new().read(PROXY, &datagram[..len]), Err(Misframed::Malformed), "{len} of {datagram:x?}");
        }
    }
}

/// What nests deeper than the bound is refused, however deep it is.
#[test]
fn skipping_is_bounded() {
    for head in [b"\x81", b"\x9f", b"\xc1", b"\xbf"] {
        for depth in [MAX_DEPTH, 60_000] {
            let mut datagram = b"\x83\x41a\x41b".to_vec();
            datagram.extend(head.repeat(depth));
            datagram.push(1);
            datagram.extend([0xff].repeat(depth));
            assert_eq!(Jpy::new().read(PROXY, &datagram), Err(Misframed::Malformed), "{head:x?}");
        }
    }
    let nested = [&b"\x83\x41a\x41b"[..], &[0x81; MAX_DEPTH - 1], &[1]].concat();
    assert!(Jpy::new().read(PROXY, &nested).is_ok());
    let broken: [&[u8]; 3] = [b"\x83\x41a\x41b\xff", b"\x83\x41a\x41b\x82\x01\xff", b"\x83\x41a\x41b\x1c"];
    for datagram in broken {
        assert_eq!(Jpy::new().read(PROXY, datagram), Err(Misframed::Malformed), "{datagram:x?}");
    }
}
