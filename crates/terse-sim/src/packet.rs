//! IP packets as bytes: IPv4 (RFC 791), IPv6 (RFC 8200), with the codepoints of ECN (RFC 3168).
//!
//! A [`Packet`] was parsed or built once: its header is whole and its length is what the header says. IPv4 packets are
//! atomic datagrams (RFC 6864: identification 0, DF set), for no link here fragments IPv4.

mod icmpv6;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IPV4_HEADER_LEN, IPV6_HEADER_LEN, IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr, TcpPacket,
    UDP_HEADER_LEN, UdpPacket, UdpRepr,
};

use crate::layers::Layers;
use crate::tcp::{Ecn, PseudoHeader, Segment, Transmit};

/// How long the IP header is of what a host with this address sends: it has no options.
pub(crate) const fn ip_header_len(address: IpAddr) -> usize {
    if address.is_ipv4() { IPV4_HEADER_LEN } else { IPV6_HEADER_LEN }
}

/// The hop limit of a host's packets: the one that RFC 6282 compresses to nothing.
const HOP_LIMIT: u8 = 64;

/// An IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    bytes: Vec<u8>,
}

/// The bytes are no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Packet {
    /// Builds a packet from `source` to `destination`. Returns `None` if they are of two families, or the payload is
    /// too long.
    pub fn new(source: IpAddr, destination: IpAddr, protocol: IpProtocol, ecn: Ecn, payload: &[u8]) -> Option<Self> {
        let header = ip_header_len(source);
        // The lengths in both headers have 16 bits; in IPv4 the header counts.
        if header + payload.len() > usize::from(u16::MAX) {
            return None;
        }
        let mut bytes = vec![0; header + payload.len()];
        bytes[header..].copy_from_slice(payload);
        match (source, destination) {
            (IpAddr::V4(src_addr), IpAddr::V4(dst_addr)) => {
                let repr = Ipv4Repr {
                    src_addr,
                    dst_addr,
                    next_header: protocol,
                    payload_len: payload.len(),
                    hop_limit: HOP_LIMIT,
                };
                let mut packet = Ipv4Packet::new_unchecked(&mut bytes);
                repr.emit(&mut packet, &ChecksumCapabilities::ignored());
                packet.set_ecn(ecn.bits());
                packet.fill_checksum();
            }
            (IpAddr::V6(src_addr), IpAddr::V6(dst_addr)) => {
                let repr = Ipv6Repr {
                    src_addr,
                    dst_addr,
                    next_header: protocol,
                    payload_len: payload.len(),
                    hop_limit: HOP_LIMIT,
                };
                let mut packet = Ipv6Packet::new_unchecked(&mut bytes);
                repr.emit(&mut packet);
                packet.set_traffic_class(ecn.bits());
            }
            _ => return None,
        }
        Some(Self { bytes })
    }

    /// Builds a UDP datagram (RFC 768). Returns `None` if the addresses are of two families, or the payload is too
    /// long.
    pub fn udp(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Option<Self> {
        if source.is_ipv4() != destination.is_ipv4() || payload.len() > usize::from(u16::MAX) - UDP_HEADER_LEN {
            return None;
        }
        let mut datagram = vec![0; UDP_HEADER_LEN + payload.len()];
        UdpRepr { src_port: source.port(), dst_port: destination.port() }.emit(
            &mut UdpPacket::new_unchecked(&mut datagram),
            &IpAddress::from(source.ip()),
            &IpAddress::from(destination.ip()),
            payload.len(),
            |out| out.copy_from_slice(payload),
            &ChecksumCapabilities::default(),
        );
        Self::new(source.ip(), destination.ip(), IpProtocol::Udp, Ecn::NotEct, &datagram)
    }

    /// Builds a packet of a TCP segment. Returns `None` if the addresses are of two families, or the segment is too
    /// long.
    pub fn tcp(source: IpAddr, destination: IpAddr, transmit: &Transmit) -> Option<Self> {
        let addresses = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => PseudoHeader::V4(source, destination),
            (IpAddr::V6(source), IpAddr::V6(destination)) => PseudoHeader::V6(source, destination),
            _ => return None,
        };
        let mut segment = transmit.segment.encode();
        Segment::fill_checksum(&mut segment, &addresses);
        Self::new(source, destination, IpProtocol::Tcp, transmit.ecn, &segment)
    }

    /// Parses a packet, which must fill `bytes`.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Malformed> {
        let whole = match bytes.first().map(|first| first >> 4) {
            Some(4) => Ipv4Packet::new_checked(&bytes).is_ok_and(|packet| {
                packet.verify_checksum()
                    && usize::from(packet.total_len()) == bytes.len()
                    && usize::from(packet.header_len()) >= IPV4_HEADER_LEN
            }),
            Some(6) => Ipv6Packet::new_checked(&bytes).is_ok_and(|packet| packet.total_len() == bytes.len()),
            _ => false,
        };
        whole.then_some(Self { bytes }).ok_or(Malformed)
    }

    /// Returns the bytes, from the IP header on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the length, with the IP header.
    #[allow(clippy::len_without_is_empty)] // there is always a header
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether this is an IPv6 packet.
    pub fn is_ipv6(&self) -> bool {
        self.bytes[0] >> 4 == 6
    }

    /// Returns the source address.
    pub fn source(&self) -> IpAddr {
        if self.is_ipv6() { self.v6().src_addr().into() } else { self.v4().src_addr().into() }
    }

    /// Returns the destination address.
    pub fn destination(&self) -> IpAddr {
        if self.is_ipv6() { self.v6().dst_addr().into() } else { self.v4().dst_addr().into() }
    }

    /// Returns the protocol of the payload. Extension headers of IPv6 are not read.
    pub fn protocol(&self) -> IpProtocol {
        if self.is_ipv6() { self.v6().next_header() } else { self.v4().next_header() }
    }

    /// Returns the length of the IP header.
    pub fn header_len(&self) -> usize {
        if self.is_ipv6() { IPV6_HEADER_LEN } else { usize::from(self.v4().header_len()) }
    }

    /// Returns the bytes after the IP header.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.header_len()..]
    }

    /// Returns the hop limit, which IPv4 calls the time to live.
    pub fn hop_limit(&self) -> u8 {
        if self.is_ipv6() { self.v6().hop_limit() } else { self.v4().hop_limit() }
    }

    /// Sets the hop limit.
    pub fn set_hop_limit(&mut self, hop_limit: u8) {
        if self.is_ipv6() {
            Ipv6Packet::new_unchecked(&mut self.bytes).set_hop_limit(hop_limit);
        } else {
            let mut packet = Ipv4Packet::new_unchecked(&mut self.bytes);
            packet.set_hop_limit(hop_limit);
            packet.fill_checksum();
        }
    }

    /// Returns the ECN codepoint.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(if self.is_ipv6() { self.v6().traffic_class() } else { self.v4().ecn() })
    }

    /// Marks congestion, if the transport understands that (RFC 3168, 5). Returns whether it does.
    pub fn mark_congestion(&mut self) -> bool {
        if self.ecn() == Ecn::NotEct {
            return false;
        }
        if self.is_ipv6() {
            let mut packet = Ipv6Packet::new_unchecked(&mut self.bytes);
            let class = packet.traffic_class();
            packet.set_traffic_class(class | Ecn::Ce.bits());
        } else {
            let mut packet = Ipv4Packet::new_unchecked(&mut self.bytes);
            packet.set_ecn(Ecn::Ce.bits());
            packet.fill_checksum();
        }
        true
    }

    /// Whether the checksum of the TCP segment, UDP datagram or ICMPv6 message within is right; true for other protocols.
    pub fn checksum_is_right(&self) -> bool {
        let (source, destination) = (IpAddress::from(self.source()), IpAddress::from(self.destination()));
        match self.protocol() {
            IpProtocol::Udp => UdpPacket::new_checked(self.payload())
                .is_ok_and(|datagram| datagram.verify_checksum(&source, &destination)),
            IpProtocol::Tcp => TcpPacket::new_checked(self.payload())
                .is_ok_and(|segment| segment.verify_checksum(&source, &destination)),
            IpProtocol::Icmpv6 => self.icmpv6_checksum_is_right(),
            _ => true,
        }
    }

    /// Returns how many bytes belong to each layer.
    pub fn layers(&self) -> Layers {
        let network = self.header_len();
        let payload = self.payload();
        let transport = match self.protocol() {
            IpProtocol::Udp => UDP_HEADER_LEN.min(payload.len()),
            IpProtocol::Tcp => {
                TcpPacket::new_checked(payload).map_or(payload.len(), |segment| usize::from(segment.header_len()))
            }
            _ => payload.len(),
        };
        Layers { application: payload.len() - transport, transport, network, link: 0 }
    }

    fn v4(&self) -> Ipv4Packet<&[u8]> {
        Ipv4Packet::new_unchecked(&self.bytes)
    }

    fn v6(&self) -> Ipv6Packet<&[u8]> {
        Ipv6Packet::new_unchecked(&self.bytes)
    }
}
