//! Packets are classified as an observer sees them.

use std::net::{IpAddr, Ipv4Addr};

use smoltcp::wire::{IpProtocol, TcpPacket, TcpSeqNumber};

use super::*;
use crate::packet::Packet;
use crate::tcp::Ecn;

fn segment(sequence: i32, flags: &str, payload: usize) -> Packet {
    let mut bytes = vec![0; 20 + payload];
    let mut tcp = TcpPacket::new_unchecked(&mut bytes);
    tcp.set_src_port(1);
    tcp.set_dst_port(2);
    tcp.set_header_len(20);
    tcp.set_seq_number(TcpSeqNumber(sequence));
    tcp.set_syn(flags.contains('S'));
    tcp.set_fin(flags.contains('F'));
    tcp.set_rst(flags.contains('R'));
    tcp.set_ack(flags.contains('A'));
    let address = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
    Packet::new(address(1), address(2), IpProtocol::Tcp, Ecn::NotEct, &bytes).expect("one family")
}

#[test]
fn segments_are_told_apart() {
    // Sequence numbers wrap in the middle of this connection.
    let first = -20;
    let script = [
        (segment(first, "S", 0), Kind::Syn),
        (segment(first, "S", 0), Kind::Retransmission),
        (segment(first + 1, "A", 0), Kind::Acknowledgement),
        (segment(first + 1, "A", 100), Kind::Data),
        (segment(first + 101, "A", 50), Kind::Data),
        (segment(first + 1, "A", 100), Kind::Retransmission),
        (segment(first + 51, "A", 200), Kind::Retransmission),
        (segment(first + 251, "A", 10), Kind::Data),
        (segment(first + 261, "FA", 0), Kind::Fin),
        (segment(first + 261, "FA", 0), Kind::Retransmission),
        (segment(first + 262, "R", 0), Kind::Reset),
        (segment(5000, "S", 0), Kind::Syn),
        (segment(5001, "FA", 7), Kind::Data),
    ];
    let mut classifier = Classifier::default();
    for (number, (packet, kind)) in script.iter().enumerate() {
        assert_eq!(classifier.classify(packet), *kind, "segment {number}");
    }
}
