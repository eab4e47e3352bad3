//! Frames have the format of IEEE 802.15.4, and the MAC repairs losses.

use std::net::{Ipv6Addr, SocketAddr};

use super::*;
use crate::ledger::Kind;
use crate::link::{Framing, Link};
use crate::network::{Network, Node, NodeId, Verdict};

fn station(last: u16) -> Station {
    Station::of(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into())
}

fn datagram(payload: usize) -> Packet {
    let address = |last| SocketAddr::new(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into(), 5683);
    Packet::udp(address(1), address(2), &vec![0x5A; payload]).expect("it fits")
}

#[test]
fn a_frame_has_the_bytes_of_the_standard() {
    let mut mac = Mac::new(&Ieee802154::DEFAULT, station(1), station(2));
    let frames = mac.encode(&datagram(3)).expect("IPv6");
    let bytes = &frames[0].bytes;
    // Data, acknowledgement requested, one PAN; 2006; both addresses long.
    assert_eq!(bytes[..5], [0x61, 0xDC, 0, 0xCD, 0xAB]);
    assert_eq!(bytes[5..13], [2, 0, 0, 0, 0, 0, 0, 2], "destination, the last octet first");
    assert_eq!(frames[0].layers.link, 23);
    let mut damaged = bytes.clone();
    damaged[22] ^= 1;
    assert_eq!(mac.decode(Time::ZERO, &damaged, 0), Decoded::Dropped(Cause::Malformed));
    assert_eq!(mac.decode(Time::ZERO, bytes, 0), Decoded::Packet(datagram(3), 0));
    assert_eq!(mac.decode(Time::ZERO, bytes, 0), Decoded::Repeated);
    let mut other = Mac::new(&Ieee802154::DEFAULT, station(1), station(3));
    assert_eq!(other.decode(Time::ZERO, bytes, 0), Decoded::Dropped(Cause::Malformed), "for somebody else");
}

#[test]
fn a_late_frame_that_comes_again_is_known() {
    let mut mac = Mac::new(&Ieee802154::DEFAULT, station(1), station(2));
    let frames: Vec<_> = (0..20).map(|_| mac.encode(&datagram(3)).expect("IPv6").remove(0).bytes).collect();
    let mut decode = |number: usize| mac.decode(Time::ZERO, &frames[number], 0);
    assert_eq!(decode(0), Decoded::Packet(datagram(3), 0));
    assert_eq!(decode(1), Decoded::Packet(datagram(3), 0));
    assert_eq!(decode(0), Decoded::Repeated);
    assert!((2..20).all(|number| decode(number) != Decoded::Repeated));
    assert_ne!(decode(0), Decoded::Repeated, "sequence numbers are used again some day");
}

/// This is the example in the standard's text on the FCS (7.2.11).
#[test]
fn an_acknowledgement_has_five_bytes() {
    assert_eq!(acknowledgement(&[0x61, 0xDC, 0x6A]), [0x02, 0x00, 0x6A, 0xE4, 0x79]);
}

/// A node that sends its packets, and counts those that arrive.
#[derive(Default)]
struct Script {
    to_send: Vec<Packet>,
    got: usize,
}

impl Node for Script {
    fn address(&self) -> Option<std::net::IpAddr> {
        let last = if self.to_send.is_empty() { 2 } else { 1 };
        Some(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into())
    }

    fn handle_packet(&mut self, _now: Time, _interface: usize, _packet: Packet) -> Verdict {
        self.got += 1;
        Verdict::Delivered
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<(usize, Packet)> {
        self.to_send.pop().map(|packet| (0, packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn handle_timeout(&mut self, _now: Time) {}
}

fn world(link: Link, packets: Vec<Packet>) -> (Network<Script>, NodeId, crate::network::LinkId) {
    let mut network = Network::new(3);
    let sender = network.add(Script { to_send: packets, got: 0 });
    let receiver = network.add(Script::default());
    let link = network.connect(sender, receiver, link);
    (network, receiver, link)
}

#[test]
fn frames_and_acknowledgements_take_turns_at_250_kbit() {
    let mut link = Link::ieee802154();
    link.framing = Framing::Ieee802154(Ieee802154 { backs_off: false, ..Ieee802154::DEFAULT });
    let (mut network, receiver, id) = world(link, vec![datagram(230)]);
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.node(receiver).got, 1);
    let times: Vec<_> =
        network.ledger(id).records().iter().map(|it| (it.at.as_nanos() / 1000, it.layers.sum(), it.kind)).collect();
    // 32 µs a byte, 6 bytes before each frame; 192 µs to turn around; 11 bytes of acknowledgement.
    // 278 bytes are 239 without what is compressed; 97, 96 and 46 of them go into frames, behind 27 or 28 bytes.
    let (mut at, mut expected) = (0, Vec::new());
    for len in [124, 124, 74] {
        expected.push((at, len, Kind::Datagram));
        at += 32 * (len as u64 + 6) + 192;
        expected.push((at, 5, Kind::LinkAcknowledgement));
        at += 32 * 11;
    }
    assert_eq!(times, expected);
    assert!(network.conservation().holds());
}

#[test]
fn a_sender_gives_up_after_its_retries() {
    let (mut network, receiver, id) = world(Link::ieee802154().with_paths(|path| path.loss = 1.0), vec![datagram(230)]);
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.node(receiver).got, 0);
    let books = network.conservation();
    assert!(books.holds(), "{books}");
    assert_eq!(books.packets.dropped_for(Cause::RetriesExhausted), 1);
    let attempts: Vec<u8> = network.ledger(id).records().iter().map(|it| it.attempt).collect();
    assert_eq!(attempts, [0, 1, 2, 3], "only the first fragment, four times");
}

#[test]
fn a_lost_acknowledgement_delivers_nothing_twice() {
    let mut link = Link::ieee802154();
    link.down.loss = 1.0;
    let (mut network, receiver, _) = world(link, vec![datagram(10)]);
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.node(receiver).got, 1);
    let books = network.conservation();
    assert!(books.holds(), "{books}");
    assert_eq!((books.frames.sent.number, books.frames.dropped_for(Cause::Lost)), (8, 4));
    assert_eq!(books.packets.delivered.number, 1);
}

#[test]
fn retries_repair_what_a_plain_link_loses() {
    let lossy = |retries| {
        let mut link = Link::ieee802154().with_paths(|path| path.loss = 0.2);
        link.framing = Framing::Ieee802154(Ieee802154 { retries, ..Ieee802154::DEFAULT });
        let (mut network, receiver, _) = world(link, vec![datagram(200); 19]);
        network.run_for(Duration::from_secs(100));
        let books = network.conservation();
        assert!(books.holds() && books.packets.queued.number == 0, "{books}");
        network.node(receiver).got
    };
    assert!(lossy(Some(3)) > lossy(None));
}
