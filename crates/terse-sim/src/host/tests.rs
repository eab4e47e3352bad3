//! Hosts with programs, over UDP.

mod icmpv6;
mod interfaces;
mod tcp;

use core::time::Duration;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::*;
use crate::link::Link;
use crate::network::{Cause, Network, NodeId};

/// A program that answers every datagram, after working on it.
#[derive(Default)]
struct Program {
    port: u16,
    work: Duration,
    echoes: bool,
    socket: Option<SocketId>,
    seen: Vec<(Time, SocketAddr, Vec<u8>)>,
}

impl Application for Program {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.socket = sockets.bind(self.port);
        assert_eq!(sockets.bind(self.port), None, "the port is taken");
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let SocketEvent::Readable(socket) = event else { return };
        while let Some((remote, datagram)) = sockets.recv_from(socket) {
            if self.echoes {
                sockets.busy(self.work);
                sockets.send_to(socket, remote, &datagram).expect("what came fits");
            }
            self.seen.push((now, remote, datagram));
        }
    }
}

fn address(ipv6: bool, last: u8) -> IpAddr {
    if ipv6 {
        Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last.into()).into()
    } else {
        Ipv4Addr::new(10, 0, 0, last).into()
    }
}

/// Returns a network of a client at port 7 and an echo server at port 9.
fn world(ipv6: bool, work: Duration) -> (Network<Host<Program>>, NodeId, NodeId) {
    let mut network = Network::new(1);
    let client = Program { port: 7, ..Program::default() };
    let server = Program { port: 9, echoes: true, work, ..Program::default() };
    let client = network.add(Host::new(address(ipv6, 1), client, Random::new(1, 100)));
    let server = network.add(Host::new(address(ipv6, 2), server, Random::new(1, 101)));
    let link = Link::lossless().with_paths(|path| path.delay = Duration::from_millis(10));
    network.connect(client, server, link);
    network.run_until(Time::ZERO);
    (network, client, server)
}

fn send(network: &mut Network<Host<Program>>, from: NodeId, to: SocketAddr, datagram: &[u8]) -> Result<(), SendError> {
    let now = network.now();
    network.node_mut(from).act(now, |program, sockets| sockets.send_to(program.socket.expect("started"), to, datagram))
}

#[test]
fn a_datagram_is_echoed() {
    for ipv6 in [false, true] {
        let (mut network, client, server) = world(ipv6, Duration::ZERO);
        let remote = SocketAddr::new(address(ipv6, 2), 9);
        send(&mut network, client, remote, b"hello").expect("it fits");
        network.run_for(Duration::from_secs(1));
        let local = SocketAddr::new(address(ipv6, 1), 7);
        assert_eq!(network.node(server).application.seen, [(Time::from_millis(10), local, b"hello".to_vec())]);
        assert_eq!(network.node(client).application.seen, [(Time::from_millis(20), remote, b"hello".to_vec())]);
        assert!(network.conservation().holds());
    }
}

#[test]
fn work_delays_what_is_sent_and_what_is_seen() {
    let (mut network, client, server) = world(false, Duration::from_millis(100));
    let remote = SocketAddr::new(address(false, 2), 9);
    send(&mut network, client, remote, b"one").expect("it fits");
    send(&mut network, client, remote, b"two").expect("it fits");
    network.run_for(Duration::from_secs(1));
    let times =
        |node| -> Vec<u64> { network.node(node).application.seen.iter().map(|(at, ..)| at.as_millis()).collect() };
    // The second datagram waits until the first was worked on.
    assert_eq!(times(server), [10, 110]);
    assert_eq!(times(client), [120, 220]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (mut network, client, _) = world(true, Duration::ZERO);
    let remote = SocketAddr::new(address(true, 2), 9);
    assert_eq!(send(&mut network, client, remote, &[0; 1453]), Err(SendError::TooLong(1452)));
    assert_eq!(send(&mut network, client, remote, &[0; 1452]), Ok(()));
    let elsewhere = SocketAddr::new(address(false, 2), 9);
    assert_eq!(send(&mut network, client, elsewhere, &[0]), Err(SendError::Unreachable));
}

#[test]
fn a_host_drops_what_is_not_for_it_and_says_why() {
    let (mut network, client, server) = world(false, Duration::ZERO);
    send(&mut network, client, SocketAddr::new(address(false, 2), 10), b"no such port").expect("it fits");
    send(&mut network, client, SocketAddr::new(address(false, 3), 9), b"no such host").expect("it fits");
    for _ in 0..150 {
        let packet = Packet::udp(SocketAddr::new(address(false, 1), 7), SocketAddr::new(address(false, 2), 9), b"x");
        let mut damaged = packet.expect("it fits").bytes().to_vec();
        *damaged.last_mut().expect("a byte") ^= 1;
        let damaged = Packet::parse(damaged).expect("the header is whole");
        assert_eq!(network.node_mut(server).handle_packet(Time::ZERO, 0, damaged), Verdict::Dropped(Cause::Checksum));
    }
    network.run_for(Duration::from_secs(1));
    let books = network.conservation();
    assert!(books.holds(), "{books}");
    assert_eq!(books.packets.dropped_for(Cause::NobodyListens), 1);
    assert_eq!(books.packets.dropped_for(Cause::Misdirected), 1);
}

#[test]
fn a_closed_socket_hears_no_more_and_its_port_is_free() {
    let (mut network, client, server) = world(false, Duration::ZERO);
    let now = network.now();
    network.node_mut(server).act(now, |program, sockets| {
        sockets.close(program.socket.expect("started"));
        assert!(sockets.bind(9).is_some(), "the port is free again");
        let first = sockets.bind(0).expect("a free port");
        assert_ne!(sockets.bind(0), Some(first));
    });
    let remote = SocketAddr::new(address(false, 2), 9);
    send(&mut network, client, remote, b"hello").expect("it fits");
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.conservation().packets.dropped_for(Cause::NobodyListens), 0);
}

#[test]
fn so_many_datagrams_wait_for_a_busy_program() {
    let (mut network, client, _) = world(false, Duration::from_secs(3600));
    let remote = SocketAddr::new(address(false, 2), 9);
    for number in 0..150_u8 {
        send(&mut network, client, remote, &[number]).expect("it fits");
    }
    network.run_for(Duration::from_secs(1));
    // The first datagram is worked on, and 128 wait.
    assert_eq!(network.conservation().packets.dropped_for(Cause::SocketFull), 21);
    assert!(network.conservation().holds());
}
