//! Ethernet II (IEEE 802.3, RFC 894, RFC 2464): destination, source, EtherType. No FCS, no padding.

use smoltcp::wire::{ETHERNET_HEADER_LEN, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr};

use super::{Coded, Station};
use crate::layers::Layers;
use crate::packet::Packet;

/// One direction of an Ethernet link.
#[derive(Debug)]
pub(crate) struct Ethernet {
    pub(crate) from: Station,
    pub(crate) to: Station,
}

impl Ethernet {
    pub(crate) fn encode(&self, packet: &Packet) -> Coded {
        let mut bytes = vec![0; ETHERNET_HEADER_LEN + packet.len()];
        let repr = EthernetRepr {
            src_addr: EthernetAddress(self.from.ethernet),
            dst_addr: EthernetAddress(self.to.ethernet),
            ethertype: if packet.is_ipv6() { EthernetProtocol::Ipv6 } else { EthernetProtocol::Ipv4 },
        };
        repr.emit(&mut EthernetFrame::new_unchecked(&mut bytes));
        bytes[ETHERNET_HEADER_LEN..].copy_from_slice(packet.bytes());
        Coded { bytes, layers: Layers { link: ETHERNET_HEADER_LEN, ..packet.layers() }, fragment: None }
    }

    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<Packet> {
        let frame = EthernetFrame::new_checked(bytes).ok()?;
        if frame.dst_addr().as_bytes() != self.to.ethernet {
            return None;
        }
        let packet = Packet::parse(frame.payload().to_vec()).ok()?;
        let says_ipv6 = frame.ethertype() == EthernetProtocol::Ipv6;
        (packet.is_ipv6() == says_ipv6).then_some(packet)
    }
}
