//! The time on air agrees with published figures; packets survive SCHC there and back.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;
use smoltcp::wire::IpProtocol;

use super::schc::Context;
use super::*;
use crate::tcp::Ecn;

/// The figures are those of the calculators of Semtech and of The Things Network, for 51 bytes of payload and 13 around
/// them.
#[test]
fn time_on_air_as_calculators_have_it() {
    for (spreading_factor, len, microseconds) in
        [(7, 64, 118_016), (8, 64, 215_552), (9, 64, 390_144), (10, 64, 698_368), (12, 64, 2_793_472), (7, 13, 46_336)]
    {
        let time = LoraWan::eu868(spreading_factor).time_on_air(Direction::Up, len);
        assert_eq!(time.as_micros(), microseconds, "SF{spreading_factor}, {len} B");
    }
    // A downlink has no CRC, and is never longer.
    let options = LoraWan::eu868(12);
    assert!((0..255).all(|len| options.time_on_air(Direction::Down, len) <= options.time_on_air(Direction::Up, len)));
}

fn address(last: u16) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, last).into()
}

fn schc(ports: Option<(u16, u16)>) -> Schc {
    Schc::new(Context { from: address(1), to: address(2), ports }, Direction::Up)
}

fn datagram(ports: (u16, u16), payload: &[u8]) -> Packet {
    Packet::udp(SocketAddr::new(address(1), ports.0), SocketAddr::new(address(2), ports.1), payload).expect("it fits")
}

#[test]
fn ports_of_the_context_cost_nothing() {
    let packet = datagram((5683, 5684), &[7; 20]);
    for (ports, rule, len) in [(Some((5683, 5684)), 1, 20), (Some((1, 2)), 2, 24), (None, 2, 24)] {
        let mut schc = schc(ports);
        let messages = schc.encode(&packet, 51).expect("IPv6");
        assert_eq!((messages[0].rule, messages[0].payload.len(), messages.len()), (rule, len, 1));
        assert_eq!(messages[0].layers.sum(), len);
        assert_eq!(schc.decode(Time::ZERO, rule, &messages[0].payload, 3), Decoded::Packet(packet.clone(), 3));
    }
}

#[test]
fn what_no_rule_has_goes_in_full() {
    let mut schc = schc(None);
    let marked = Packet::new(address(1), address(2), IpProtocol::Tcp, Ecn::Ect0, &[0; 20]).expect("one family");
    let from_elsewhere =
        Packet::new(address(3), address(2), IpProtocol::Tcp, Ecn::NotEct, &[0; 20]).expect("one family");
    for packet in [marked, from_elsewhere] {
        let messages = schc.encode(&packet, 242).expect("IPv6");
        assert_eq!((messages[0].rule, messages[0].payload.len()), (4, 60));
        assert_eq!(schc.decode(Time::ZERO, 4, &messages[0].payload, 0), Decoded::Packet(packet, 0));
    }
    let v4 = |last| IpAddr::from([10, 0, 0, last]);
    let packet = Packet::new(v4(1), v4(2), IpProtocol::Tcp, Ecn::NotEct, &[0; 20]).expect("one family");
    assert_eq!(schc.encode(&packet, 242).expect_err("IPv4"), Cause::NotCarried);
}

#[test]
fn a_fragment_that_is_missing_is_noticed() {
    let packet = datagram((1, 2), &[7; 200]);
    for missing in 0..5 {
        let mut schc = schc(None);
        let messages = schc.encode(&packet, 51).expect("IPv6");
        assert_eq!(messages.len(), 5, "205 bytes, 50 a fragment, 46 in the last");
        let results: Vec<_> = messages
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != missing)
            .map(|(_, message)| schc.decode(Time::ZERO, message.rule, &message.payload, 9))
            .collect();
        if missing < 4 {
            assert_eq!(results.last(), Some(&Decoded::Dropped(Cause::Incomplete)));
            continue;
        }
        // Without the last fragment, reassembly waits for twelve hours, or for the next packet.
        let limit = Time::ZERO + core::time::Duration::from_secs(12 * 3600);
        assert_eq!((schc.poll_timeout(), schc.held()), (Some(limit), vec![9]));
        assert_eq!(schc.abandoned(Time::from_millis(12 * 3_600_000 - 1)), []);
        let next = schc.encode(&packet, 51).expect("IPv6");
        schc.decode(Time::ZERO, next[0].rule, &next[0].payload, 10);
        assert_eq!(schc.abandoned(Time::ZERO), [(9, Cause::Incomplete)]);
        assert_eq!(schc.abandoned(limit), [(10, Cause::ReassemblyTimedOut)]);
    }
}

proptest! {
    #[test]
    fn packets_come_back_and_every_byte_has_its_layer(
        payload in proptest::collection::vec(any::<u8>(), 0..1200),
        ports: (u16, u16), known: bool, spreading_factor in 7_u8..=12,
    ) {
        let packet = datagram(ports, &payload);
        let mut options = LoraWan::eu868(spreading_factor);
        options.ports = known.then_some(ports);
        let station = |last| Station::of(address(last));
        let mut mac = Mac::new(&options, Direction::Up, station(1), station(2));
        let frames = mac.encode(&packet).expect("IPv6");
        let mut result = None;
        for frame in &frames {
            prop_assert!(frame.bytes.len() <= options.payload_len + 13);
            prop_assert_eq!(frame.layers.sum(), frame.bytes.len());
            result = Some(mac.decode(Time::ZERO, &frame.bytes, 1));
        }
        prop_assert_eq!(frames.iter().map(|frame| frame.layers.application).sum::<usize>(), payload.len());
        prop_assert_eq!(result, Some(Decoded::Packet(packet, 1)));
    }

    #[test]
    fn no_bytes_make_it_panic(frames in proptest::collection::vec(
        (0_u8..25, proptest::collection::vec(any::<u8>(), 0..60)), 0..20,
    )) {
        let mut schc = schc(Some((1, 2)));
        for (rule, payload) in frames {
            schc.decode(Time::ZERO, rule, &payload, 0);
        }
        prop_assert!(schc.held().len() <= 1);
    }
}
