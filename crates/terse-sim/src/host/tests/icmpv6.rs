//! What hosts answer by ICMPv6, as smoltcp reads it.

use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{Icmpv6DstUnreachable, Icmpv6Packet, Icmpv6Repr};

use super::Program;
use crate::host::Host;
use crate::network::{Cause, Node, Verdict};
use crate::packet::Packet;
use crate::{Random, Time};

const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const PEER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

fn host() -> Host<Program> {
    let program = Program { port: 9, echoes: true, ..Program::default() };
    let mut host = Host::new(OWN.into(), program, Random::new(1, 1));
    host.attach(0, 1500);
    host.handle_timeout(Time::ZERO);
    host
}

fn answer(host: &mut Host<Program>) -> Option<Packet> {
    host.poll_transmit(Time::ZERO).map(|(interface, packet)| {
        assert_eq!((interface, packet.destination()), (0, IpAddr::from(PEER)));
        assert!(packet.checksum_is_right());
        packet
    })
}

fn read(packet: &Packet) -> Icmpv6Repr<'_> {
    let (IpAddr::V6(source), IpAddr::V6(destination)) = (packet.source(), packet.destination()) else { panic!("IPv4") };
    let message = Icmpv6Packet::new_checked(packet.payload()).expect("a message");
    Icmpv6Repr::parse(&source, &destination, &message, &ChecksumCapabilities::default()).expect("a known message")
}

fn datagram(destination: Ipv6Addr, port: u16, len: usize) -> Packet {
    let (from, to) = (SocketAddr::new(PEER.into(), 7), SocketAddr::new(destination.into(), port));
    Packet::udp(from, to, &vec![1; len]).expect("it fits")
}

#[test]
fn an_echo_request_is_answered() {
    let all_nodes = [Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xff03, 0, 0, 0, 0, 0, 0, 1)];
    for asked in [OWN].into_iter().chain(all_nodes) {
        let mut host = host();
        let request = Packet::echo_request(PEER, asked, 0x1234, 5, b"are you there?").expect("it fits");
        assert!(matches!(read(&request), Icmpv6Repr::EchoRequest { ident: 0x1234, seq_no: 5, .. }));
        assert_eq!(host.handle_packet(Time::ZERO, 0, request), Verdict::Delivered);
        let reply = answer(&mut host).expect("a reply");
        assert_eq!(reply.source(), IpAddr::from(OWN));
        let expected = Icmpv6Repr::EchoReply { ident: 0x1234, seq_no: 5, data: b"are you there?" };
        assert_eq!(read(&reply), expected);
    }
}

#[test]
fn other_messages_are_not_answered() {
    let mut host = host();
    let request = Packet::echo_request(PEER, OWN, 1, 1, b"x").expect("it fits");
    let mut damaged = request.bytes().to_vec();
    *damaged.last_mut().expect("a byte") ^= 1;
    let mut cases = vec![
        (Packet::parse(damaged).expect("the header is whole"), Cause::Checksum),
        (request.echo_reply(OWN.into()).expect("a reply"), Cause::Misdirected),
        (Packet::echo_request(Ipv6Addr::UNSPECIFIED, OWN, 1, 1, b"x").expect("it fits"), Cause::NobodyListens),
        (datagram(OWN, 9, 1).port_unreachable().expect("a report"), Cause::Misdirected),
    ];
    let back = Packet::echo_request(OWN, PEER, 1, 1, b"x").and_then(|request| request.echo_reply(PEER.into()));
    cases.push((back.expect("a reply"), Cause::NobodyListens));
    let protocol = smoltcp::wire::IpProtocol::Icmpv6;
    for len in 0..8 {
        let short = Packet::new(PEER.into(), OWN.into(), protocol, crate::tcp::Ecn::NotEct, &vec![128; len]);
        cases.push((short.expect("it fits"), Cause::Checksum));
    }
    for (packet, cause) in cases {
        assert_eq!(host.handle_packet(Time::ZERO, 0, packet), Verdict::Dropped(cause));
        assert_eq!(host.poll_transmit(Time::ZERO), None);
    }
}

#[test]
fn a_port_without_a_socket_is_reported_if_the_host_does_so() {
    let dropped = Verdict::Dropped(Cause::NobodyListens);
    let mut silent = host();
    assert_eq!(silent.handle_packet(Time::ZERO, 0, datagram(OWN, 10, 5)), dropped);
    assert_eq!(answer(&mut silent), None);

    let mut host = host().with_port_unreachable();
    assert_eq!(host.handle_packet(Time::ZERO, 0, datagram(OWN, 9, 5)), Verdict::Delivered);
    assert_eq!(answer(&mut host).expect("the echo").protocol(), smoltcp::wire::IpProtocol::Udp);
    for len in [5, 1400] {
        let lost = datagram(OWN, 10, len);
        assert_eq!(host.handle_packet(Time::ZERO, 0, lost.clone()), dropped);
        let report = answer(&mut host).expect("a report");
        let Icmpv6Repr::DstUnreachable { reason: Icmpv6DstUnreachable::PortUnreachable, .. } = read(&report) else {
            panic!("{report:?}")
        };
        let quoted = &report.payload()[8..];
        assert_eq!(quoted, &lost.bytes()[..quoted.len()]);
        assert_eq!(report.len(), (lost.len() + 48).min(1280));
    }
    // RFC 4443, 2.4 (e): nothing is said about a group.
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    assert_eq!(host.handle_packet(Time::ZERO, 0, datagram(group, 10, 5)), dropped);
    assert_eq!(answer(&mut host), None);
    assert_eq!(host.handle_packet(Time::ZERO, 0, datagram(group, 9, 5)), Verdict::Delivered);
    assert_eq!(answer(&mut host).expect("the echo").source(), IpAddr::from(OWN));
}

#[test]
fn reports_are_ten_a_second_after_the_first_ten() {
    let mut host = host().with_port_unreachable();
    let mut reports = |now: Time| {
        for _ in 0..100 {
            host.handle_packet(now, 0, datagram(OWN, 10, 5));
        }
        core::iter::from_fn(|| host.poll_transmit(now)).count()
    };
    assert_eq!(reports(Time::ZERO), 10);
    assert_eq!(reports(Time::from_millis(99)), 0);
    assert_eq!(reports(Time::from_millis(500)), 5);
    assert_eq!(reports(Time::ZERO + Duration::from_secs(60)), 10);
}
