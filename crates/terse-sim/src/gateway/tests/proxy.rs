//! Connections that the proxy splits.

use core::time::Duration;
use std::net::SocketAddr;

use super::world::{Program, World, content, ip, server};
use crate::cause::Cause;
use crate::direction::Direction;
use crate::gateway::{Gateway, INTERNET, MESH, ProxyConfig, ServerPattern};
use crate::ledger::Kind;
use crate::link::Link;
use crate::network::{Node, Verdict};
use crate::packet::Packet;
use crate::tcp::{Config, Ecn, Failure, Flags, Segment, SequenceNumber, State, Transmit};
use crate::{Random, Time};

fn wire(delay: u64, loss: f64) -> Link {
    Link::ethernet(1280).with_paths(|path| {
        path.delay = Duration::from_millis(delay);
        path.loss = loss;
    })
}

/// A mesh of 400 ms one way, and an Internet of ten milliseconds.
fn links(loss: [f64; 2]) -> [Link; 2] {
    [wire(400, loss[0]), wire(10, loss[1])]
}

fn echo(len: usize) -> [Program; 2] {
    let client = Program::client(Config::constrained(), vec![server()], content(len));
    [client, Program::server(Config::linux())]
}

fn after(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// The most that anything here takes, with every timer.
const END: u64 = 4 * 3600;

#[test]
fn bytes_go_both_ways_whichever_side_loses_some() {
    for (loss, seed) in [([0.0, 0.0], 1), ([0.1, 0.0], 2), ([0.0, 0.1], 3), ([0.1, 0.1], 4)] {
        for seed in seed * 10..seed * 10 + 3 {
            let mut world = World::new(links(loss), echo(20_000), Some(ProxyConfig::default()), seed);
            world.run_until(after(600));
            for node in [world.device, world.server] {
                let stream = world.program(node).only();
                assert!(stream.received == content(20_000), "{loss:?}, seed {seed}: {} B", stream.received.len());
                assert!(stream.closed.is_some() && stream.failed.is_none(), "{loss:?}, seed {seed}");
            }
            // Each side repairs its own losses.
            let repeated =
                [world.mesh, world.internet].map(|link| world.network.ledger(link).total_for(Kind::Retransmission));
            for (loss, repeated) in loss.into_iter().zip(repeated) {
                assert_eq!(repeated.packets > 0, loss > 0.0, "seed {seed}: {repeated:?}");
            }
            assert_eq!(world.program(world.server).peers[0].ip(), ip("bbbb::2"), "the server sees the device");
            assert_eq!(world.proxy().statistics().split, 1);
            world.run_until(after(END));
            assert_eq!(world.proxy().connections().count(), 0, "it is forgotten");
            assert_eq!(world.network.next_time(), None);
        }
    }
}

#[test]
fn the_server_sees_the_round_trips_of_the_internet() {
    // A second is more than the initial timeout of a server: it repeats its SYN-ACK, and its first data.
    let slow = || [wire(1200, 0.0), wire(10, 0.0)];
    let mut direct = World::new(slow(), echo(3000), None, 1);
    let mut split = World::new(slow(), echo(3000), Some(ProxyConfig::default()), 1);
    for world in [&mut direct, &mut split] {
        world.run_until(after(60));
        assert!(world.program(world.device).only().received == content(3000));
    }
    let repeated_by_server = |world: &World| {
        let ledger = world.network.ledger(world.internet);
        ledger.total_of(|way, kind| way == Direction::Down && kind == Kind::Retransmission).packets
    };
    assert!(repeated_by_server(&direct) > 0);
    assert_eq!(repeated_by_server(&split), 0);
    // The server's data is acknowledged within a round trip of the Internet, and what a kernel delays.
    let records = split.network.ledger(split.internet).records();
    let data = records.iter().filter(|record| record.direction == Direction::Down && record.kind == Kind::Data);
    for record in data {
        let arrived = record.arrived.expect("nothing is lost");
        let answer = records.iter().find(|later| later.direction == Direction::Up && later.at >= arrived);
        assert!(answer.expect("an acknowledgement").at.since(arrived) <= Duration::from_millis(40), "{record:?}");
    }
    let connection = split.proxy().connections().next().expect("it lingers");
    assert!(connection.internet().round_trip_time().expect("a sample") < Duration::from_millis(100));
    assert!(connection.mesh().round_trip_time().expect("a sample") > Duration::from_millis(2000));
    assert_eq!(connection.mesh().statistics().timeouts, 0, "the proxy's timeout is longer than the mesh's round trip");
}

#[test]
fn the_proxy_answers_before_the_server_does() {
    let mut world = World::new([wire(10, 0.0), wire(2000, 0.0)], echo(100), Some(ProxyConfig::default()), 1);
    world.run_until(after(60));
    let connected = |node| world.program(node).only().connected.expect("it was").as_millis();
    assert_eq!(connected(world.device), 20);
    // The SYN to the server left when the device's arrived: one way, and a round trip.
    assert_eq!(connected(world.server), 10 + 3 * 2000);
    assert!(world.program(world.device).only().received == content(100));
}

#[test]
fn a_slow_side_holds_the_fast_one_back() {
    // The device does not read: of what the server sends, only the buffers are filled.
    let config = ProxyConfig::default();
    let client =
        Program { is_deaf: true, stays: true, ..Program::client(Config::constrained(), vec![server()], vec![]) };
    let sends = Program { to_send: content(1_000_000), ..Program::server(Config::linux()) };
    let buffers = config.mesh.send_buffer + config.internet.receive_window + Config::constrained().receive_window;
    let mut world = World::new(links([0.0; 2]), [client, sends], Some(config), 1);
    world.run_until(after(300));
    let sent = world.proxy().connections().next().expect("it is open").internet().statistics().bytes_received;
    let read = world.proxy().connections().next().expect("it is open").mesh().statistics().bytes_sent;
    assert!(sent as usize <= buffers && sent as usize > buffers / 2, "{sent} of {buffers}");
    assert!(read as usize <= Config::constrained().receive_window, "{read}");
    // When it reads, everything arrives.
    world.act(world.device, |program, _| program.is_deaf = false);
    let device = world.device;
    world.act(device, |program, sockets| {
        let (socket, stream) = program.connections.iter_mut().next().expect("it is connected");
        let mut buffer = vec![0; sockets.readable(*socket)];
        sockets.recv(*socket, &mut buffer);
        stream.received.extend(buffer);
    });
    world.run_until(after(3 * 3600));
    assert!(world.program(world.device).only().received == content(1_000_000));
}

#[test]
fn a_side_that_has_finished_still_receives() {
    // The client closes its side with its last byte; the server's answer of 30 kB follows after that.
    let client = Program::client(Config::constrained(), vec![server()], content(10));
    let answers = Program { to_send: content(30_000), ..Program::server(Config::linux()) };
    let mut world = World::new(links([0.05, 0.05]), [client, answers], Some(ProxyConfig::default()), 7);
    world.run_until(after(600));
    let (at_device, at_server) = (world.program(world.device).only(), world.program(world.server).only());
    assert!(at_server.received == content(10) && at_server.peer_finished.is_some());
    let mut expected = content(30_000);
    expected.extend(content(10));
    assert!(at_device.received == expected && at_device.closed.is_some());
    assert!(at_server.peer_finished < at_device.closed);
}

#[test]
fn a_server_that_refuses_resets_the_device() {
    let client = Program::client(Config::constrained(), vec![SocketAddr::new(ip("bbbb::1"), 444)], content(10));
    let mut world =
        World::new(links([0.0; 2]), [client, Program::server(Config::linux())], Some(ProxyConfig::default()), 1);
    world.run_until(after(10));
    let (at, failure) = world.program(world.device).only().failed.expect("it fails");
    assert_eq!(failure, Failure::Reset, "the proxy had answered already");
    // The reset follows a round trip of the Internet after the SYN-ACK.
    assert_eq!(at.as_millis(), 800 + 20);
    let connection = world.proxy().connections().next().expect("it lingers");
    assert!(connection.is_over() && connection.internet().failure() == Some(Failure::Refused));
    world.run_until(after(70));
    assert_eq!(world.proxy().connections().count(), 0);
}

#[test]
fn a_reset_ends_both_sides() {
    for aborts_device in [true, false] {
        let [client, server] = echo(10).map(|program| Program { stays: true, ..program });
        let mut world = World::new(links([0.0; 2]), [client, server], Some(ProxyConfig::default()), 1);
        world.run_until(after(10));
        let (aborts, other) = if aborts_device { (world.device, world.server) } else { (world.server, world.device) };
        world.act(aborts, |program, sockets| {
            sockets.abort(*program.connections.keys().next().expect("it is connected"));
        });
        world.run_until(after(20));
        let (at, failure) = world.program(other).only().failed.expect("it is reset");
        assert_eq!((at.as_millis(), failure), (10_410, Failure::Reset));
        world.run_until(after(100));
        assert_eq!(world.proxy().connections().count(), 0);
        assert_eq!(world.network.ledger(world.mesh).total_for(Kind::Reset).packets, 1);
        assert_eq!(world.network.ledger(world.internet).total_for(Kind::Reset).packets, 1);
    }
}

#[test]
fn a_silent_server_times_out() {
    let mut world = World::new(links([0.0, 1.0]), echo(5000), Some(ProxyConfig::default()), 1);
    world.run_until(after(END));
    // Six repetitions of the SYN, after 1, 2, 4, ... 64 s.
    let (at, failure) = world.program(world.device).only().failed.expect("it fails");
    assert_eq!((at.as_millis(), failure), (400 + 127_000 + 400, Failure::Reset));
    assert_eq!(world.proxy().connections().count(), 0);
}

#[test]
fn a_device_that_vanishes_is_forgotten() {
    // While there is something to send, retransmissions end; while there is nothing, the idle timeout does.
    for (server_sends, most) in [(30_000, 3600), (0, 2 * 3600 + 600)] {
        let client = Program { stays: true, ..Program::client(Config::constrained(), vec![server()], content(10)) };
        let sends = Program { to_send: content(server_sends), stays: true, ..Program::server(Config::linux()) };
        let mut world = World::new(links([0.0; 2]), [client, sends], Some(ProxyConfig::default()), 1);
        world.run_until(after(3));
        let mesh = world.mesh;
        world.network.change_link(mesh, |link| *link = link.clone().with_paths(|path| path.loss = 1.0));
        world.run_until(after(most));
        let failed = world.program(world.server).only().failed;
        assert!(matches!(failed, Some((_, Failure::Reset))), "{failed:?}");
        assert_eq!(world.proxy().connections().count(), 0);
    }
}

#[test]
fn a_hundred_connections() {
    let client = Program::client(Config::constrained(), vec![server(); 100], content(2000));
    let programs = [client, Program::server(Config::linux())];
    let mut world = World::new(links([0.05, 0.05]), programs, Some(ProxyConfig::default()), 5);
    world.run_until(after(600));
    let device = world.program(world.device);
    assert!(device.connections.values().all(|stream| stream.received == content(2000) && stream.closed.is_some()));
    assert_eq!((device.connections.len(), world.proxy().statistics().split), (100, 100));
    world.run_until(after(END));
    assert_eq!(world.proxy().connections().count(), 0);
}

#[test]
fn connections_without_room_are_forwarded_as_they_are() {
    let config = ProxyConfig { maximum_connections: 3, ..ProxyConfig::default() };
    let client = Program::client(Config::constrained(), vec![server(); 10], content(2000));
    // SYNs are repeated: they must not be split later, when there is room again.
    let mut world = World::new(links([0.2, 0.1]), [client, Program::server(Config::linux())], Some(config.clone()), 9);
    world.run_until(after(900));
    let device = world.program(world.device);
    assert!(device.connections.values().all(|stream| stream.received == content(2000)));
    let statistics = *world.proxy().statistics();
    assert!(statistics.split >= 3 && statistics.split < 10 && statistics.unsplit >= 7 - (statistics.split - 3));
    assert!(world.proxy().connections().count() <= 3);

    // One after the other, each takes the place of one that is over.
    let client = Program::client(Config::constrained(), vec![server()], content(100));
    let config = ProxyConfig { maximum_connections: 1, ..config };
    let mut world = World::new(links([0.0; 2]), [client, Program::server(Config::linux())], Some(config), 9);
    for seconds in [20, 40, 60] {
        world.run_until(after(seconds));
        assert_eq!(world.proxy().connections().count(), 1);
        world.act(world.device, |program, sockets| {
            let socket = sockets.connect(server(), Config::constrained()).expect("one family");
            program.connections.entry(socket).or_default();
        });
    }
    world.run_until(after(80));
    assert_eq!((world.proxy().statistics().split, world.proxy().statistics().unsplit), (4, 0));
}

#[test]
fn the_proxy_splits_what_it_is_told() {
    let prefix = |text: &str| Some(text.parse().expect("a prefix"));
    for (servers, is_split) in [
        (vec![], true),
        (vec![ServerPattern::default()], true),
        (vec![ServerPattern { prefix: None, port: Some(443) }], true),
        (vec![ServerPattern { prefix: None, port: Some(8883) }], false),
        (vec![ServerPattern { prefix: prefix("2001:db8::/32"), port: None }], false),
        (
            vec![
                ServerPattern { prefix: None, port: Some(1) },
                ServerPattern { prefix: prefix("bbbb::1"), port: None },
            ],
            true,
        ),
    ] {
        let config = ProxyConfig { servers, ..ProxyConfig::default() };
        let mut world = World::new(links([0.0; 2]), echo(10), Some(config), 1);
        world.run_until(after(30));
        assert_eq!(world.program(world.device).only().received, content(10));
        assert_eq!(world.proxy().statistics().split, u64::from(is_split));
    }
}

#[test]
fn damaged_and_stray_segments() {
    let mut gateway = super::gateway().with_proxy(ProxyConfig::default(), Random::new(1, 1));
    let segment = |flags, acknowledgement| Segment {
        source_port: 50_000,
        destination_port: 443,
        sequence: SequenceNumber(7),
        acknowledgement,
        flags,
        ..Segment::default()
    };
    let packet = |segment: Segment| {
        Packet::tcp(ip("bbbb::2"), ip("bbbb::1"), &Transmit { segment, ecn: Ecn::NotEct }).expect("one family")
    };
    let syn = Flags { syn: true, ..Flags::default() };
    let mut take = |packet: Packet| {
        let verdict = gateway.handle_packet(Time::ZERO, MESH, packet);
        let sent: Vec<_> = core::iter::from_fn(|| gateway.poll_transmit(Time::ZERO)).collect();
        (verdict, sent)
    };
    // What is of no connection is forwarded: the server resets it.
    for flags in [
        Flags::default(),
        Flags { fin: true, ..syn },
        Flags { rst: true, ..syn },
        Flags { rst: true, ..Flags::default() },
    ] {
        let (verdict, sent) = take(packet(segment(flags, (!flags.syn).then_some(SequenceNumber(1)))));
        assert_eq!((verdict, sent.len(), sent[0].0), (Verdict::Forwarded, 1, INTERNET), "{flags:?}");
    }
    let (verdict, _) = take(packet(segment(syn, Some(SequenceNumber(1)))));
    assert_eq!(verdict, Verdict::Forwarded, "a SYN-ACK opens nothing");
    let mut damaged = packet(segment(syn, None)).bytes().to_vec();
    *damaged.last_mut().expect("a byte") ^= 1;
    let (verdict, sent) = take(Packet::parse(damaged).expect("the header is whole"));
    assert_eq!((verdict, sent.len()), (Verdict::Dropped(Cause::Checksum), 0));
    let (verdict, sent) = take(packet(segment(syn, None)));
    assert_eq!(verdict, Verdict::Delivered);
    let to: Vec<_> =
        sent.iter().map(|(interface, packet)| (*interface, packet.source(), packet.destination())).collect();
    let (device, server) = (ip("bbbb::2"), ip("bbbb::1"));
    assert_eq!(to, [(MESH, server, device), (INTERNET, device, server)]);
    // A repeated SYN gets the SYN-ACK once more, and opens nothing more.
    let (verdict, sent) = take(packet(segment(syn, None)));
    assert_eq!((verdict, sent.len(), sent[0].0), (Verdict::Delivered, 1, MESH));
    let proxy = gateway.proxy().expect("there is one");
    assert_eq!(proxy.connections().count(), 1);
    let connection = proxy.connections().next().expect("there is one");
    assert_eq!((connection.device().port(), connection.server().port()), (50_000, 443));
    assert_eq!((connection.mesh().state(), connection.internet().state()), (State::SynReceived, State::SynSent));
}

/// Gives the gateway a segment of a device, and returns the verdict and the interfaces of what it sends.
fn from_device(gateway: &mut Gateway, now: Time, port: u16, flags: Flags, sequence: u32) -> (Verdict, Vec<usize>) {
    let segment = Segment {
        source_port: port,
        destination_port: 443,
        sequence: SequenceNumber(sequence),
        flags,
        ..Segment::default()
    };
    let packet = Packet::tcp(ip("bbbb::2"), ip("bbbb::1"), &Transmit { segment, ecn: Ecn::NotEct });
    let verdict = gateway.handle_packet(now, MESH, packet.expect("one family"));
    (verdict, core::iter::from_fn(|| gateway.poll_transmit(now)).map(|(interface, _)| interface).collect())
}

const SYN: Flags = Flags { syn: true, fin: false, rst: false, psh: false, ece: false, cwr: false };
const RST: Flags = Flags { syn: false, rst: true, ..SYN };

#[test]
fn a_repeated_syn_is_not_split_after_the_first_was_forwarded() {
    let config = ProxyConfig { maximum_connections: 1, ..ProxyConfig::default() };
    let mut gateway = super::gateway().with_proxy(config, Random::new(1, 1));
    let split = (Verdict::Delivered, vec![MESH, INTERNET]);
    let forwarded = (Verdict::Forwarded, vec![INTERNET]);
    assert_eq!(from_device(&mut gateway, after(0), 1000, SYN, 7), split);
    assert_eq!(from_device(&mut gateway, after(0), 1001, SYN, 7), forwarded);
    // The reset makes room, but the server may have answered the SYN that was forwarded.
    assert_eq!(from_device(&mut gateway, after(1), 1000, RST, 8), (Verdict::Delivered, vec![]));
    assert_eq!(from_device(&mut gateway, after(1), 1001, SYN, 7), forwarded);
    assert_eq!(from_device(&mut gateway, after(200), 1001, SYN, 7), forwarded);
    // Four minutes after the last SYN this is another connection.
    assert_eq!(from_device(&mut gateway, after(200 + 240), 1001, SYN, 7), split);
}

#[test]
fn ports_can_be_used_again() {
    let mut gateway = super::gateway().with_proxy(ProxyConfig::default(), Random::new(1, 1));
    let split = (Verdict::Delivered, vec![MESH, INTERNET]);
    assert_eq!(from_device(&mut gateway, after(0), 1000, SYN, 7), split);
    assert_eq!(from_device(&mut gateway, after(1), 1000, RST, 8), (Verdict::Delivered, vec![]));
    // What is still under way is answered here, and a SYN opens another connection.
    assert_eq!(from_device(&mut gateway, after(2), 1000, Flags { psh: true, syn: false, ..SYN }, 8).1, [MESH]);
    assert_eq!(from_device(&mut gateway, after(3), 1000, SYN, 100), split);
    let proxy = gateway.proxy().expect("there is one");
    assert_eq!((proxy.connections().count(), proxy.statistics().split), (1, 2));
}

#[test]
fn a_connection_that_is_used_is_not_idle() {
    let config = ProxyConfig { idle_timeout: Duration::from_secs(100), ..ProxyConfig::default() };
    let [client, server] = echo(10).map(|program| Program { stays: true, ..program });
    let mut world = World::new(links([0.0; 2]), [client, server], Some(config), 1);
    for seconds in (60..400).step_by(60) {
        world.run_until(after(seconds));
        world.act(world.device, |program, sockets| {
            sockets.send(*program.connections.keys().next().expect("it is connected"), b"again");
        });
    }
    world.run_until(after(390));
    assert_eq!(world.program(world.device).only().failed, None);
    assert_eq!(world.program(world.device).only().received.len(), 10 + 6 * 5);
    world.run_until(after(600));
    assert!(matches!(world.program(world.device).only().failed, Some((_, Failure::Reset))));
    assert!(matches!(world.program(world.server).only().failed, Some((_, Failure::Reset))));
}

#[test]
fn the_same_seed_gives_the_same_capture() {
    let run = |seed| {
        let mut world = World::new(links([0.1, 0.1]), echo(5000), Some(ProxyConfig::default()), seed);
        world.run_until(after(600));
        world.network.captured().to_pcapng("")
    };
    assert!(run(3) == run(3));
    assert!(run(3) != run(4));
}
