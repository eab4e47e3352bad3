//! Events come in order, and packets between two scripted nodes have the right fate.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use super::queue::Queue;
use super::*;
use crate::link::Path;
use crate::packet::Packet;
use crate::tcp::Ecn;

/// A node that sends what it is given, and keeps what it gets.
#[derive(Default)]
struct Script {
    to_send: VecDeque<Packet>,
    got: Vec<(Time, Packet)>,
    refuses: bool,
}

impl Node for Script {
    fn handle_packet(&mut self, now: Time, _interface: usize, packet: Packet) -> Verdict {
        if self.refuses {
            return Verdict::Dropped(Cause::NobodyListens);
        }
        self.got.push((now, packet));
        Verdict::Delivered
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<(usize, Packet)> {
        self.to_send.pop_front().map(|packet| (0, packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn handle_timeout(&mut self, _now: Time) {}
}

fn packet(len: usize) -> Packet {
    let address = |last| SocketAddr::new(Ipv4Addr::new(10, 0, 0, last).into(), 1000);
    Packet::udp(address(1), address(2), &vec![0x5A; len - 28]).expect("a short packet")
}

/// Returns a network of two nodes, of which the first sends `packets`.
fn world(link: Link, packets: impl IntoIterator<Item = Packet>) -> (Network<Script>, NodeId, LinkId) {
    let mut network = Network::new(7);
    let first = network.add(Script { to_send: packets.into_iter().collect(), ..Script::default() });
    let second = network.add(Script::default());
    let link = network.connect(first, second, link);
    (network, second, link)
}

fn one_way(change: impl Fn(&mut Path)) -> Link {
    Link::lossless().with_paths(change)
}

#[test]
fn events_at_one_time_keep_their_order() {
    let mut queue = Queue::new();
    for (at, event) in [(2, 'c'), (1, 'a'), (2, 'd'), (1, 'b')] {
        queue.push(Time::from_millis(at), event);
    }
    let order: String = core::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
    assert_eq!(order, "abcd");
}

#[test]
fn packets_follow_each_other_at_the_rate_of_the_link() {
    // 100 bytes of IP and 14 of Ethernet, at 8 bits per microsecond: 114 µs each, and a delay of 1 ms.
    let link = one_way(|path| {
        path.rate = Some(8_000_000);
        path.delay = Duration::from_millis(1);
    });
    let (mut network, second, link) = world(link, [packet(100), packet(100)]);
    network.run_until(Time::from_nanos(1_114_000));
    assert_eq!(network.node(second).got.len(), 1);
    assert_eq!(network.conservation().packets.queued.number, 1, "the second is in flight");
    assert!(network.conservation().holds());
    network.run_for(Duration::from_secs(1));
    let times: Vec<u64> = network.node(second).got.iter().map(|(at, _)| at.as_nanos() / 1000).collect();
    assert_eq!(times, [1114, 1228]);
    assert_eq!(network.ledger(link).total().bytes(), 228);
    assert!(network.conservation().holds());
}

#[test]
fn what_does_not_arrive_has_a_cause() {
    let drops = |link: Link, packets: Vec<Packet>, cause| {
        let (mut network, _, id) = world(link, packets);
        network.run_for(Duration::from_secs(1));
        let books = network.conservation_of(id);
        assert!(books.holds(), "{books}");
        assert_eq!(books, network.conservation());
        books.packets.dropped_for(cause)
    };
    assert_eq!(drops(one_way(|path| path.loss = 1.0), vec![packet(50); 3], Cause::Lost), 3);
    assert_eq!(drops(Link::lossless(), vec![packet(1500), packet(1501)], Cause::TooLong), 1);
    let slow = one_way(|path| {
        path.rate = Some(1000);
        path.queue = 2;
    });
    // One is being sent, two wait.
    assert_eq!(drops(slow, vec![packet(50); 5], Cause::QueueFull), 2);
}

#[test]
fn a_node_that_has_no_use_for_a_packet_says_so() {
    let (mut network, second, _) = world(Link::lossless(), [packet(50)]);
    network.node_mut(second).refuses = true;
    network.run_for(Duration::from_secs(1));
    let books = network.conservation();
    assert!(books.holds(), "{books}");
    assert_eq!(books.packets.dropped_for(Cause::NobodyListens), 1);
    assert_eq!(books.frames.delivered.number, 1, "the frame arrived");
}

#[test]
fn duplicates_are_delivered_and_counted() {
    let (mut network, second, _) = world(one_way(|path| path.duplication = 1.0), [packet(50), packet(60)]);
    network.run_for(Duration::from_secs(1));
    let lengths: Vec<usize> = network.node(second).got.iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(lengths, [50, 50, 60, 60]);
    let books = network.conservation();
    assert_eq!((books.packets.sent.number, books.packets.duplicated.number), (2, 2));
    assert!(books.holds(), "{books}");
}

#[test]
fn a_late_frame_is_overtaken() {
    let link = one_way(|path| {
        path.reordering = 1.0;
        path.late_by = Duration::from_millis(3);
    });
    let (mut network, second, id) = world(link, [packet(50)]);
    network.step();
    network.change_link(id, |link| link.up.reordering = 0.0);
    network.node_mut(NodeId(0)).to_send.push_back(packet(60));
    network.run_for(Duration::from_secs(1));
    let lengths: Vec<usize> = network.node(second).got.iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(lengths, [60, 50]);
}

#[test]
fn a_queue_that_fills_up_is_marked() {
    let address = |last| std::net::IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
    let segment = crate::tcp::Transmit { segment: crate::tcp::Segment::default(), ecn: Ecn::Ect0 };
    let packet = Packet::tcp(address(1), address(2), &segment).expect("one family");
    let link = one_way(|path| {
        path.rate = Some(1000);
        path.queue = 4;
        path.mark_at = Some(0.75);
    });
    let (mut network, second, _) = world(link, vec![packet; 6]);
    network.run_for(Duration::from_secs(10));
    let marks: Vec<Ecn> = network.node(second).got.iter().map(|(_, packet)| packet.ecn()).collect();
    // One is being sent and four wait: with three of four places taken, the queue is three quarters full.
    assert_eq!(marks, [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ce]);
    assert_eq!(network.conservation().packets.dropped_for(Cause::QueueFull), 1);
}

#[test]
fn a_sender_is_silent_after_its_share_of_the_air() {
    // 100 bytes of IP and 14 of Ethernet at 1 byte per millisecond: 114 ms of sending, 1026 ms of silence.
    let link = one_way(|path| {
        path.rate = Some(8000);
        path.duty_cycle = 0.1;
    });
    let (mut network, second, _) = world(link, [packet(100), packet(100)]);
    network.run_for(Duration::from_secs(10));
    let times: Vec<u64> = network.node(second).got.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(times, [114, 114 + 1026 + 114]);
}
