//! Hosts with several interfaces and addresses.

use std::net::{IpAddr, SocketAddr};

use super::Program;
use crate::host::{Application, Host, SendError, SocketEvent, Sockets};
use crate::link::Link;
use crate::network::{Cause, Network, Node, NodeId, Verdict};
use crate::packet::Packet;
use crate::tcp::Config;
use crate::{Random, Time};

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn at(text: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip(text), port)
}

fn echo(port: u16) -> Program {
    Program { port, echoes: true, ..Program::default() }
}

/// Returns a server between two links, with two addresses on the first, a client at each link, and its other address.
fn server_between_clients() -> (Network<Host<Program>>, [NodeId; 3]) {
    let server = Host::new(ip("2001:db8:a::1"), echo(9), Random::new(1, 1))
        .with_address(0, ip("2001:db8:a::1"), 64)
        .with_address(0, ip("2001:db8:a::99"), 64)
        .with_address(1, ip("2001:db8:b::1"), 64);
    let client =
        |address, stream| Host::new(ip(address), Program { port: 7, ..Program::default() }, Random::new(1, stream));
    let mut network = Network::new(1);
    let nodes = [network.add(server), network.add(client("2001:db8:a::2", 2)), network.add(client("2001:db8:b::2", 3))];
    network.connect(nodes[0], nodes[1], Link::lossless());
    network.connect(nodes[0], nodes[2], Link::ethernet(1280));
    network.run_until(Time::ZERO);
    (network, nodes)
}

fn send(network: &mut Network<Host<Program>>, from: NodeId, to: SocketAddr, datagram: &[u8]) -> Result<(), SendError> {
    let now = network.now();
    network.node_mut(from).act(now, |program, sockets| sockets.send_to(program.socket.expect("bound"), to, datagram))
}

#[test]
fn an_answer_has_the_address_that_was_asked() {
    let (mut network, [_, first, second]) = server_between_clients();
    for (client, asked) in [
        (first, "2001:db8:a::99"),
        (first, "2001:db8:a::1"),
        // The address of another interface is the host's too.
        (first, "2001:db8:b::1"),
        (second, "2001:db8:b::1"),
        (second, "2001:db8:a::99"),
    ] {
        send(&mut network, client, at(asked, 9), b"hello").expect("it fits");
        network.run_for(core::time::Duration::from_secs(1));
        let (_, from, _) = network.node(client).application.seen.last().expect("an answer");
        assert_eq!(*from, at(asked, 9));
    }
    let books = network.conservation();
    assert!(books.holds() && books.packets.dropped_in_all().number == 0, "{books}");
}

#[test]
fn each_link_has_its_mtu() {
    let (mut network, [server, ..]) = server_between_clients();
    assert_eq!(send(&mut network, server, at("2001:db8:a::2", 7), &[0; 1453]), Err(SendError::TooLong(1452)));
    assert_eq!(send(&mut network, server, at("2001:db8:b::2", 7), &[0; 1453]), Err(SendError::TooLong(1232)));
    assert_eq!(send(&mut network, server, at("10.0.0.1", 7), &[0]), Err(SendError::Unreachable));
    let now = network.now();
    network.node_mut(server).act(now, |_, sockets| {
        assert_eq!(sockets.longest_datagram_to(ip("2001:db8:b::2")), Some(1232));
        assert_eq!(sockets.longest_datagram_to(ip("10.0.0.1")), None);
        assert_eq!(sockets.mtu(), 1500);
        let socket = sockets.connect(at("2001:db8:b::2", 1), Config::linux()).expect("one family");
        assert_eq!(sockets.connection(socket).expect("it waits").segment_size(), 1220);
    });
}

/// Two families at two interfaces, and two addresses at one.
fn mixed() -> Host<Program> {
    let mut host = Host::new(ip("10.0.0.1"), echo(9), Random::new(1, 1))
        .with_address(1, ip("fe80::1"), 64)
        .with_address(1, ip("2001:db8::1"), 64)
        .with_address(2, ip("fe80::2"), 64)
        .with_address(2, ip("2001:db8:1::1"), 64);
    for interface in 0..3 {
        host.attach(interface, 1500);
    }
    host.handle_timeout(Time::ZERO);
    host
}

fn source_and_interface(host: &mut Host<Program>, to: SocketAddr) -> (usize, IpAddr) {
    host.act(Time::ZERO, |program, sockets| sockets.send_to(program.socket.expect("bound"), to, b"x"))
        .expect("a route");
    let (interface, packet) = host.poll_transmit(Time::ZERO).expect("a packet");
    (interface, packet.source())
}

#[test]
fn a_packet_leaves_by_its_prefix_or_by_default() {
    let mut host = mixed();
    assert_eq!(source_and_interface(&mut host, at("10.0.0.7", 1)), (0, ip("10.0.0.1")));
    assert_eq!(source_and_interface(&mut host, at("192.0.2.7", 1)), (0, ip("10.0.0.1")));
    assert_eq!(source_and_interface(&mut host, at("2001:db8:1::7", 1)), (2, ip("2001:db8:1::1")));
    assert_eq!(source_and_interface(&mut host, at("2001:db8::7", 1)), (1, ip("2001:db8::1")));
    // Without a route, the first interface with an address of the family.
    assert_eq!(source_and_interface(&mut host, at("bbbb::7", 1)).0, 1);
    let mut host = mixed().with_default_interface(2);
    assert_eq!(source_and_interface(&mut host, at("bbbb::7", 1)).0, 2);
}

#[test]
fn a_link_local_answer_leaves_through_the_link_of_its_address() {
    let mut host = mixed();
    for (own, interface) in [("fe80::1", 1), ("fe80::2", 2)] {
        let request = Packet::udp(at("fe80::7", 1), at(own, 9), b"x").expect("one family");
        assert_eq!(host.handle_packet(Time::ZERO, interface, request), Verdict::Delivered);
        let (leaving, answer) = host.poll_transmit(Time::ZERO).expect("an answer");
        assert_eq!((leaving, answer.source()), (interface, ip(own)));
    }
}

#[test]
fn a_socket_is_bound_to_one_address_or_to_all() {
    let mut host = mixed();
    host.act(Time::ZERO, |_, sockets| {
        assert!(sockets.bind_at(at("10.0.0.1", 100)).is_some());
        assert!(sockets.bind_at(at("10.0.0.1", 100)).is_none(), "the port is taken there");
        assert!(sockets.bind_at(at("fe80::1", 100)).is_some(), "and free elsewhere");
        assert!(sockets.bind(100).is_none(), "so not free everywhere");
        assert!(sockets.bind_at(at("10.0.0.1", 9)).is_none(), "the port is taken everywhere");
        assert!(sockets.bind_at(at("10.0.0.2", 101)).is_none(), "the address is another host's");
        let listener = sockets.listen_at(at("2001:db8::1", 443), Config::linux());
        assert!(listener.is_some() && sockets.listen(443, Config::linux()).is_none());
        assert!(sockets.listen_at(at("10.0.0.1", 443), Config::linux()).is_some());
        assert!(sockets.connect_from(ip("10.0.0.2"), at("10.0.0.3", 1), Config::linux()).is_none());
        assert_eq!(sockets.addresses().count(), 5);
        sockets.close(listener.expect("it listens"));
        assert!(sockets.listen_at(at("2001:db8::1", 443), Config::linux()).is_some(), "the port is free again");
    });
    let mut to = |own: &str| {
        let datagram = Packet::udp(at(if own.contains(':') { "bbbb::2" } else { "10.0.0.2" }, 1), at(own, 100), b"x");
        host.handle_packet(Time::ZERO, 0, datagram.expect("one family"))
    };
    assert_eq!((to("10.0.0.1"), to("fe80::1")), (Verdict::Delivered, Verdict::Delivered));
    assert_eq!(to("2001:db8::1"), Verdict::Dropped(Cause::NobodyListens));
    assert_eq!(to("10.0.0.2"), Verdict::Dropped(Cause::Misdirected));
}

/// Connects, or takes connections.
struct Stream(Option<(IpAddr, SocketAddr)>, Vec<SocketEvent>);

impl Application for Stream {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        let socket = match self.0 {
            Some((source, remote)) => sockets.connect_from(source, remote, Config::linux()),
            None => sockets.listen(443, Config::linux()),
        };
        assert!(socket.is_some());
    }

    fn handle_event(&mut self, _now: Time, event: SocketEvent, _sockets: &mut Sockets<'_>) {
        self.1.push(event);
    }
}

#[test]
fn a_connection_keeps_the_address_that_was_asked() {
    let (a, b) = ((ip("2001:db8:a::1"), ip("2001:db8:a::9")), (ip("2001:db8:b::1"), ip("2001:db8:b::9")));
    let to = SocketAddr::new(b.1, 443);
    let client = Host::new(a.0, Stream(Some((a.1, to)), Vec::new()), Random::new(1, 1)).with_address(0, a.1, 64);
    let server = Host::new(b.0, Stream(None, Vec::new()), Random::new(1, 2)).with_address(0, b.1, 64);
    let mut network = Network::new(1);
    let (client, server) = (network.add(client), network.add(server));
    network.connect(client, server, Link::lossless());
    network.run_for(core::time::Duration::from_secs(1));
    let [SocketEvent::Connected(socket)] = network.node(client).application.1[..] else { panic!("not connected") };
    let [SocketEvent::Accepted { socket: accepted, remote, .. }] = network.node(server).application.1[..] else {
        panic!("not accepted")
    };
    let now = network.now();
    network.node_mut(client).act(now, |_, sockets| assert_eq!(sockets.local_address(socket), Some(remote)));
    network.node_mut(server).act(now, |_, sockets| assert_eq!(sockets.local_address(accepted), Some(to)));
    assert_eq!(remote.ip(), a.1);
}
