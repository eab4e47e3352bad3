//! Headers agree with bytes written by hand.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn v4(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

fn v6(last: u16) -> IpAddr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into()
}

#[test]
fn an_ipv4_header_as_rfc_791_draws_it() {
    let packet = Packet::new(v4(1), v4(2), IpProtocol::Tcp, Ecn::Ect0, &[0xAB; 3]).expect("one family");
    let expected = [0x45, 0x02, 0, 23, 0, 0, 0x40, 0, 64, 6, 0x26, 0xDD, 10, 0, 0, 1, 10, 0, 0, 2, 0xAB, 0xAB, 0xAB];
    let mut sum: u32 = expected[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    sum = (sum & 0xFFFF) + (sum >> 16);
    assert_eq!(sum, 0xFFFF, "the checksum written above is right");
    assert_eq!(packet.bytes(), expected);
}

#[test]
fn an_ipv6_header_as_rfc_8200_draws_it() {
    let packet = Packet::new(v6(1), v6(2), IpProtocol::Udp, Ecn::NotEct, &[1, 2]).expect("one family");
    assert_eq!(packet.bytes()[..8], [0x60, 0, 0, 0, 0, 2, 17, 64]);
    assert_eq!(packet.len(), 42);
}

#[test]
fn congestion_is_marked_only_where_it_is_understood() {
    for (source, destination) in [(v4(1), v4(2)), (v6(1), v6(2))] {
        for (ecn, marked) in [(Ecn::NotEct, Ecn::NotEct), (Ecn::Ect0, Ecn::Ce), (Ecn::Ect1, Ecn::Ce)] {
            let mut packet = Packet::new(source, destination, IpProtocol::Tcp, ecn, &[]).expect("one family");
            assert_eq!(packet.ecn(), ecn);
            assert_eq!(packet.mark_congestion(), ecn != Ecn::NotEct);
            assert_eq!(packet.ecn(), marked);
            assert_eq!(Packet::parse(packet.bytes().to_vec()).as_ref(), Ok(&packet), "the checksum is right");
        }
    }
}

#[test]
fn families_do_not_mix_and_lengths_have_16_bits() {
    assert_eq!(Packet::new(v4(1), v6(2), IpProtocol::Udp, Ecn::NotEct, &[]), None);
    assert_eq!(Packet::udp(SocketAddr::new(v4(1), 1), SocketAddr::new(v4(2), 2), &[0; 65_508]), None);
    assert!(Packet::udp(SocketAddr::new(v4(1), 1), SocketAddr::new(v4(2), 2), &[0; 65_507]).is_some());
}

/// RFC 4443, 2.1: type, code and checksum are all that every message has. The DIS of RFC 6550, 6.2, has six octets.
#[test]
fn the_checksum_of_a_short_icmpv6_message_is_right() {
    let source = Ipv6Addr::new(0xFE80, 0, 0, 0, 0x1615, 0x92CC, 0, 5);
    let destination = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);
    let with = |message: &[u8]| {
        let packet = Packet::new(source.into(), destination.into(), IpProtocol::Icmpv6, Ecn::NotEct, message);
        packet.expect("one family").checksum_is_right()
    };
    let dis = [155, 0, 0xBE, 0x3A, 0, 0];
    // The pseudo-header (RFC 8200, 8.1) and the message add up to 0xffff.
    let octets = [&source.octets()[..], &destination.octets(), &[0, 6, 0, 58], &dis].concat();
    let sum: u32 = octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF, "the checksum written above is right");
    assert!(with(&dis));
    assert!(!with(&[155, 0, 0xBE, 0x3B, 0, 0]));
    assert!(!with(&dis[..3]));
}

proptest! {
    #[test]
    fn datagrams_come_back(payload in proptest::collection::vec(any::<u8>(), 0..200), ports: (u16, u16), ipv6: bool) {
        let address = |last: u8| if ipv6 { v6(last.into()) } else { v4(last) };
        let (source, destination) = (SocketAddr::new(address(1), ports.0), SocketAddr::new(address(2), ports.1));
        let packet = Packet::udp(source, destination, &payload).expect("a short datagram");
        let parsed = Packet::parse(packet.bytes().to_vec()).expect("what was built");
        prop_assert!(parsed.checksum_is_right());
        prop_assert_eq!((parsed.source(), parsed.destination()), (source.ip(), destination.ip()));
        prop_assert_eq!(&parsed.payload()[8..], &payload[..]);
        prop_assert_eq!(parsed.layers().sum(), parsed.len());
        prop_assert_eq!(parsed.layers().application, payload.len());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), version in 0_u8..16) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | (*first & 0xF);
        }
        if let Ok(mut packet) = Packet::parse(bytes) {
            packet.checksum_is_right();
            packet.mark_congestion();
            prop_assert_eq!(packet.layers().sum(), packet.len());
        }
    }
}
