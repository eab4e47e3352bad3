//! Hosts with programs, over TCP.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::address;
use crate::host::{Application, Host, SocketEvent, SocketId, Sockets};
use crate::ledger::Kind;
use crate::link::{Direction, Link};
use crate::network::{LinkId, Network, NodeId};
use crate::tcp::{Config, Failure, Nagle};
use crate::{Random, Time};

/// A program that listens and echoes, or connects, sends, and reads until the peer has finished.
struct Program {
    config: Config,
    connects_to: Option<SocketAddr>,
    to_send: Vec<u8>,
    work: Duration,
    received: Vec<u8>,
    events: Vec<SocketEvent>,
}

impl Program {
    fn server(config: Config) -> Self {
        let (to_send, received, events) = (Vec::new(), Vec::new(), Vec::new());
        Self { config, connects_to: None, to_send, work: Duration::ZERO, received, events }
    }

    fn client(config: Config, to: SocketAddr, to_send: Vec<u8>) -> Self {
        Self { connects_to: Some(to), to_send, ..Self::server(config) }
    }

    fn is_peer_finished(&self) -> bool {
        self.events.iter().any(|event| matches!(event, SocketEvent::PeerFinished(_)))
    }

    fn push(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        let taken = sockets.send(socket, &self.to_send);
        self.to_send.drain(..taken);
        if self.to_send.is_empty() && (self.connects_to.is_some() || self.is_peer_finished()) {
            sockets.close(socket);
        }
    }
}

impl Application for Program {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        match self.connects_to {
            Some(remote) => assert!(sockets.connect(remote, self.config.clone()).is_some()),
            None => {
                assert!(sockets.listen(443, self.config.clone()).is_some());
                assert_eq!(sockets.listen(443, self.config.clone()), None, "the port is taken");
            }
        }
    }

    fn handle_event(&mut self, _now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        self.events.push(event);
        match event {
            SocketEvent::Connected(socket) | SocketEvent::Writable(socket) => self.push(socket, sockets),
            SocketEvent::Readable(socket) => {
                let mut buffer = vec![0; sockets.readable(socket)];
                assert_eq!(sockets.recv(socket, &mut buffer), buffer.len());
                if self.connects_to.is_none() {
                    sockets.busy(self.work);
                    self.to_send.extend(&buffer);
                    self.push(socket, sockets);
                }
                self.received.extend(buffer);
            }
            SocketEvent::PeerFinished(socket) => self.push(socket, sockets),
            _ => {}
        }
    }
}

struct World {
    network: Network<Host<Program>>,
    client: NodeId,
    server: NodeId,
    link: LinkId,
}

fn world(ipv6: bool, link: Link, config: Config, port: u16, content: Vec<u8>, work: Duration) -> World {
    let mut network = Network::new(5);
    let addresses: [IpAddr; 2] = [address(ipv6, 1), address(ipv6, 2)];
    let to = SocketAddr::new(addresses[1], port);
    let client = Host::new(addresses[0], Program::client(config.clone(), to, content), Random::new(5, 100));
    let server = Program { work, ..Program::server(config) };
    let server = Host::new(addresses[1], server, Random::new(5, 101));
    let (client, server) = (network.add(client), network.add(server));
    let link = network.connect(client, server, link);
    World { network, client, server, link }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|number| (number * 7 + number / 251) as u8).collect()
}

fn finish(world: &mut World) {
    // SCHC waits for missing fragments for half a day.
    world.network.run_until(Time::from_millis(24 * 3_600_000));
    let books = world.network.conservation();
    assert!(books.holds() && books.packets.queued.number == 0, "{books}");
}

#[test]
fn bytes_are_echoed_over_every_link_that_loses_some() {
    for (name, ipv6, config) in [
        ("ethernet", false, Config::linux()),
        ("ethernet", true, Config::linux()),
        ("ethernet-127", false, Config::linux()),
        ("ieee802154", true, Config::constrained()),
        ("nb-iot", true, Config::linux()),
        ("lorawan-sf7", true, Config::constrained()),
    ] {
        let link: Link = name.parse().expect("a profile");
        let link = link.with_paths(|path| {
            path.loss = 0.05;
            path.duplication = 0.02;
            path.reordering = 0.02;
            // With a duty cycle of 1 % a segment would take minutes, and the connection would fail.
            path.duty_cycle = 1.0;
        });
        let sent = content(8000);
        let mut world = world(ipv6, link, config, 443, sent.clone(), Duration::ZERO);
        finish(&mut world);
        for node in [world.client, world.server] {
            let program = &world.network.node(node).application;
            assert_eq!(program.received.len(), sent.len(), "{name}");
            assert!(program.received == sent, "{name}");
            assert!(matches!(program.events.last(), Some(SocketEvent::Closed(_))), "{name}: {:?}", program.events);
        }
        let ledger = world.network.ledger(world.link);
        // IEEE 802.15.4 repairs its losses itself.
        assert_eq!(ledger.total_for(Kind::Retransmission).packets > 0, name != "ieee802154", "{name}");
        // Retransmissions count, so there is more than what was sent.
        assert!(ledger.total_towards(Direction::Up).layers.application >= sent.len(), "{name}");
    }
}

#[test]
fn a_handshake_and_a_close_have_the_packets_of_the_books() {
    let config = Config { nagle: Nagle::Off, ..Config::linux() };
    let mut world = world(false, "ethernet".parse().expect("a profile"), config, 443, content(100), Duration::ZERO);
    world.network.capture(world.link, crate::capture::View::Frames);
    finish(&mut world);
    let ledger = world.network.ledger(world.link);
    let syn = ledger.total_for(Kind::Syn);
    // Linux's SYN: 20 B of header and 20 B of options (MSS, SACK permitted, timestamps, window scale).
    assert_eq!((syn.packets, syn.layers.transport, syn.layers.network, syn.layers.link), (2, 80, 40, 28));
    let data = ledger.total_for(Kind::Data);
    assert_eq!((data.packets, data.layers.application, data.layers.transport), (2, 200, 64));
    assert_eq!(ledger.total_for(Kind::Retransmission).packets, 0);
    let captured: usize = world.network.captured().entries().iter().map(|entry| entry.bytes.len()).sum();
    assert_eq!(captured, ledger.total().bytes());
}

#[test]
fn nobody_listens() {
    let mut world = world(false, Link::lossless(), Config::linux(), 80, content(10), Duration::ZERO);
    finish(&mut world);
    let events = &world.network.node(world.client).application.events;
    assert!(matches!(events[..], [SocketEvent::Failed(_, Failure::Refused)]), "{events:?}");
    assert_eq!(world.network.ledger(world.link).total_for(Kind::Reset).packets, 1);
}

#[test]
fn a_peer_that_does_not_answer() {
    let link = Link::lossless().with_paths(|path| path.loss = 1.0);
    let mut world = world(false, link, Config::linux(), 443, content(10), Duration::ZERO);
    finish(&mut world);
    let events = &world.network.node(world.client).application.events;
    assert!(matches!(events[..], [SocketEvent::Failed(_, Failure::TimedOut)]), "{events:?}");
}

#[test]
fn work_delays_the_answer_but_not_the_acknowledgement() {
    let work = Duration::from_millis(500);
    let mut world = world(false, Link::lossless(), Config::linux(), 443, content(100), work);
    finish(&mut world);
    let records = world.network.ledger(world.link).records();
    let at = |direction, kind| {
        let found = records.iter().find(|record| record.direction == direction && record.kind == kind);
        found.expect("there is one").at.as_millis()
    };
    assert_eq!(at(Direction::Up, Kind::Data), 0);
    assert_eq!(at(Direction::Down, Kind::Data), 500);
    assert!(at(Direction::Down, Kind::Acknowledgement) < 500);
}

#[test]
fn the_segments_fit_the_link() {
    let mut world =
        world(false, "ethernet-127".parse().expect("a profile"), Config::linux(), 443, content(1000), Duration::ZERO);
    finish(&mut world);
    let longest = world.network.ledger(world.link).records().iter().map(|record| record.layers.sum()).max();
    assert_eq!(longest, Some(127 + 14));
    assert_eq!(world.network.conservation().packets.dropped_in_all().number, 0);
}

#[test]
fn an_aborted_connection_is_reset() {
    let mut world = world(false, Link::lossless(), Config::linux(), 443, content(100), Duration::from_secs(1));
    world.network.run_until(Time::from_millis(500));
    let now = world.network.now();
    world.network.node_mut(world.client).act(now, |program, sockets| match program.events[..] {
        [SocketEvent::Connected(socket)] => {
            sockets.abort(socket);
            assert_eq!(sockets.send(socket, b"too late"), 0);
            assert!(sockets.connection(socket).is_none(), "the program needs not be told");
        }
        _ => panic!("{:?}", program.events),
    });
    finish(&mut world);
    let events = &world.network.node(world.server).application.events;
    assert!(matches!(events.last(), Some(SocketEvent::Failed(_, Failure::Reset))), "{events:?}");
    assert_eq!(world.network.ledger(world.link).total_for(Kind::Reset).packets, 1);
}
