//! Forwarding, and the proxy.

mod handshake;
mod proxy;
mod world;

use std::net::SocketAddr;

use super::*;
use crate::direction::Direction;
use crate::ledger::Kind;
use crate::link::Link;
use crate::packet::Packet;
use crate::tcp::Config;
use world::{Program, World};

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn packet(from: &str, to: &str) -> Packet {
    Packet::udp(SocketAddr::new(ip(from), 1), SocketAddr::new(ip(to), 2), b"x").expect("one family")
}

/// The paper's gateway: the server has an address of the mesh's prefix, on the Internet's side.
fn gateway() -> Gateway {
    let prefix = |text: &str| text.parse().expect("a prefix");
    let gateway = Gateway::new(ip("bbbb::1415:92cc:0:1"), prefix("bbbb::/64"));
    gateway.with_route(prefix("bbbb::1"), INTERNET).with_route(prefix("2001:db8::7"), MESH)
}

#[test]
fn packets_are_forwarded_by_prefix() {
    let mut gateway = gateway();
    for (from, source, destination, to) in [
        (MESH, "bbbb::1415:92cc:0:2", "bbbb::1", INTERNET),
        (INTERNET, "bbbb::1", "bbbb::1415:92cc:0:2", MESH),
        (MESH, "bbbb::1415:92cc:0:2", "2001:db8::1", INTERNET),
        (INTERNET, "2001:db8::1", "2001:db8::7", MESH),
        (MESH, "bbbb::1415:92cc:0:2", "bbbb::1415:92cc:0:3", MESH),
        (MESH, "192.0.2.1", "198.51.100.1", INTERNET),
    ] {
        let sent = packet(source, destination);
        assert_eq!(gateway.handle_packet(Time::ZERO, from, sent.clone()), Verdict::Forwarded);
        let (interface, mut forwarded) = gateway.poll_transmit(Time::ZERO).expect("it is forwarded");
        assert_eq!((interface, forwarded.hop_limit()), (to, 63), "{destination}");
        assert!(forwarded.checksum_is_right() && Packet::parse(forwarded.bytes().to_vec()).is_ok());
        forwarded.set_hop_limit(64);
        assert_eq!(forwarded, sent);
    }
    assert_eq!(gateway.poll_transmit(Time::ZERO), None);
}

#[test]
fn some_packets_are_not_forwarded() {
    let mut gateway = gateway();
    for (from, source, destination) in [
        (INTERNET, "2001:db8::1", "2001:db8::2"),
        (MESH, "fe80::2", "bbbb::1"),
        (MESH, "bbbb::2", "fe80::1"),
        (MESH, "bbbb::2", "ff02::1"),
        (INTERNET, "2001:db8::1", "ff03::1"),
        (MESH, "::", "bbbb::1"),
        (MESH, "bbbb::2", "::1"),
    ] {
        let verdict = gateway.handle_packet(Time::ZERO, from, packet(source, destination));
        assert_eq!(verdict, Verdict::Dropped(Cause::Misdirected), "{source} to {destination}");
    }
    assert_eq!(gateway.poll_transmit(Time::ZERO), None);
}

#[test]
fn the_last_hop_is_the_end() {
    let send = |gateway: &mut Gateway, hop_limit| {
        let mut packet = packet("bbbb::2", "bbbb::1");
        packet.set_hop_limit(hop_limit);
        let verdict = gateway.handle_packet(Time::ZERO, MESH, packet);
        (verdict, gateway.poll_transmit(Time::ZERO).map(|(_, packet)| packet.hop_limit()))
    };
    let exceeded = (Verdict::Dropped(Cause::HopLimitExceeded), None);
    assert_eq!(send(&mut gateway(), 0), exceeded);
    assert_eq!(send(&mut gateway(), 1), exceeded);
    assert_eq!(send(&mut gateway(), 2), (Verdict::Forwarded, Some(1)));
    let mut unchanged = gateway().with_unchanged_hop_limits();
    for hop_limit in [0, 1, 64] {
        assert_eq!(send(&mut unchanged, hop_limit), (Verdict::Forwarded, Some(hop_limit)));
    }
}

#[test]
fn the_gateway_answers_echo_requests() {
    let mut gateway = gateway();
    let (IpAddr::V6(device), IpAddr::V6(own)) = (ip("bbbb::2"), ip("bbbb::1415:92cc:0:1")) else { unreachable!() };
    let request = Packet::echo_request(device, own, 1, 2, b"x").expect("it fits");
    assert_eq!(gateway.handle_packet(Time::ZERO, MESH, request.clone()), Verdict::Delivered);
    let (interface, reply) = gateway.poll_transmit(Time::ZERO).expect("a reply");
    assert_eq!((interface, reply.source(), reply.destination()), (MESH, own.into(), device.into()));
    let other = packet("bbbb::2", "bbbb::1415:92cc:0:1");
    assert_eq!(gateway.handle_packet(Time::ZERO, MESH, other), Verdict::Dropped(Cause::NobodyListens));
    let mut damaged = request.bytes().to_vec();
    *damaged.last_mut().expect("a byte") ^= 1;
    let damaged = Packet::parse(damaged).expect("the header is whole");
    assert_eq!(gateway.handle_packet(Time::ZERO, MESH, damaged), Verdict::Dropped(Cause::Checksum));
}

#[test]
fn a_decremented_hop_limit_is_an_octet_more_in_6lowpan() {
    let run = |gateway: Gateway| {
        let client = Program::client(Config::constrained(), vec![world::server()], vec![1; 100]);
        let links = [Link::ieee802154(), Link::ethernet(1280)];
        let mut world = World::through(gateway, links, [client, Program::server(Config::linux())], 1);
        world.run_until(Time::from_millis(10_000));
        assert_eq!(world.program(world.device).only().received, [1; 100]);
        let ledger = world.network.ledger(world.mesh);
        let of = |direction| ledger.total_of(|way, kind| way == direction && kind != Kind::LinkAcknowledgement);
        (of(Direction::Up), of(Direction::Down))
    };
    let (up, down) = run(world::gateway(None, 1));
    let (up_unchanged, down_unchanged) = run(world::gateway(None, 1).with_unchanged_hop_limits());
    assert_eq!(up.bytes(), up_unchanged.bytes());
    assert_eq!((down.frames, down.packets), (down_unchanged.frames, down_unchanged.packets));
    assert_eq!(down.bytes(), down_unchanged.bytes() + down.packets as usize);
}
