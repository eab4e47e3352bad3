//! Packets are classified by their purpose, as an observer on the link sees it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use smoltcp::wire::{IpProtocol, TcpPacket, TcpSeqNumber};

use super::Kind;
use crate::packet::Packet;

/// The next sequence number of each TCP flow in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classifier {
    next: BTreeMap<Flow, TcpSeqNumber>,
}

type Flow = (IpAddr, u16, IpAddr, u16);

impl Classifier {
    pub(crate) fn classify(&mut self, packet: &Packet) -> Kind {
        match packet.protocol() {
            IpProtocol::Udp => Kind::Datagram,
            IpProtocol::Tcp => match TcpPacket::new_checked(packet.payload()) {
                Ok(segment) => self.segment((packet.source(), packet.destination()), &segment),
                Err(_) => Kind::Other,
            },
            _ => Kind::Other,
        }
    }

    fn segment(&mut self, (source, destination): (IpAddr, IpAddr), segment: &TcpPacket<&[u8]>) -> Kind {
        if segment.rst() {
            return Kind::Reset;
        }
        // Data, SYN and FIN take sequence numbers (RFC 9293, 3.4).
        let taken = segment.payload().len() + usize::from(segment.syn()) + usize::from(segment.fin());
        if taken == 0 {
            return Kind::Acknowledgement;
        }
        let flow = (source, segment.src_port(), destination, segment.dst_port());
        let (first, next) = (segment.seq_number(), segment.seq_number() + taken);
        let known = self.next.entry(flow).or_insert(first);
        // A SYN with an unexpected number begins another connection of the same ports.
        if segment.syn() && next != *known {
            *known = first;
        }
        let seen = first < *known;
        if next > *known {
            *known = next;
        }
        match (seen, segment.syn(), segment.payload().is_empty()) {
            (true, ..) => Kind::Retransmission,
            (false, true, _) => Kind::Syn,
            (false, false, true) => Kind::Fin,
            (false, false, false) => Kind::Data,
        }
    }
}
