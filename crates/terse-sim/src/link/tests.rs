//! Links have the numbers of their profiles, and the headers around a packet.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::*;
use crate::decoded::Decoded;
use crate::packet::Packet;

#[test]
fn every_profile_has_the_name_it_is_called_by() {
    for name in PROFILES {
        let link: Link = name.parse().expect("a profile");
        assert_eq!(link.name, *name);
    }
    let error = "token-ring".parse::<Link>().expect_err("no profile");
    assert!(error.to_string().contains("ethernet-576"), "{error}");
}

#[test]
fn an_ethernet_header_as_rfc_894_and_rfc_2464_say() {
    let v4 = |last| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), 5684);
    let v6 = |last| SocketAddr::new(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into(), 5684);
    for (source, destination, header) in [
        (v4(1), v4(2), [2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1, 0x08, 0x00]),
        (v6(1), v6(2), [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xDD]),
    ] {
        let (from, to) = (Station::of(source.ip()), Station::of(destination.ip()));
        let packet = Packet::udp(source, destination, b"hello").expect("it fits");
        let mut codec = Codec::new(&Framing::Ethernet, Direction::Up, from, to);
        let frames = codec.encode(&packet).expect("Ethernet carries both");
        assert_eq!(frames[0].bytes[..14], header);
        assert_eq!(frames[0].layers.sum(), frames[0].bytes.len());
        assert_eq!(codec.decode(crate::Time::ZERO, &frames[0].bytes, 5), Decoded::Packet(packet, 5));
    }
}
