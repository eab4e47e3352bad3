//! ICMPv6 messages that answer a packet (RFC 4443).

use std::net::{IpAddr, Ipv6Addr};

use smoltcp::wire::{Icmpv6Message, Icmpv6Packet, IpProtocol};

use super::Packet;
use crate::tcp::Ecn;

impl Packet {
    /// Builds an Echo Request (RFC 4443, 4.1).
    pub fn echo_request(
        source: Ipv6Addr,
        destination: Ipv6Addr,
        identifier: u16,
        sequence_number: u16,
        data: &[u8],
    ) -> Option<Self> {
        let mut message = vec![0; HEADER_LEN];
        message.extend_from_slice(data);
        let mut request = Icmpv6Packet::new_unchecked(&mut message[..]);
        request.set_msg_type(Icmpv6Message::EchoRequest);
        request.set_echo_ident(identifier);
        request.set_echo_seq_no(sequence_number);
        Self::icmpv6(source, destination, message)
    }

    /// Returns the Echo Reply from `source` to this packet, if it is an Echo Request from one node (RFC 4443, 4.2).
    pub(crate) fn echo_reply(&self, source: IpAddr) -> Option<Self> {
        let (IpAddr::V6(source), IpAddr::V6(asking)) = (source, self.source()) else { return None };
        let mut message = self.icmpv6_payload()?.to_vec();
        let mut reply = Icmpv6Packet::new_unchecked(&mut message[..]);
        if reply.msg_type() != Icmpv6Message::EchoRequest || !is_one_node(asking) {
            return None;
        }
        reply.set_msg_type(Icmpv6Message::EchoReply);
        reply.set_msg_code(0);
        Self::icmpv6(source, asking, message)
    }

    /// Returns the message Destination Unreachable, port unreachable, about this packet, from its destination (RFC 4443,
    /// 3.1). Returns `None` if nothing may be said about it (RFC 4443, 2.4 (e)).
    pub(crate) fn port_unreachable(&self) -> Option<Self> {
        let (IpAddr::V6(source), IpAddr::V6(destination)) = (self.source(), self.destination()) else { return None };
        let is_error = self.icmpv6_payload().is_some_and(|message| message[0] & 0x80 == 0);
        if is_error || !is_one_node(source) || destination.is_multicast() {
            return None;
        }
        // RFC 4443, 2.4 (c): as much of the packet as fits into the least MTU of IPv6.
        let quoted = &self.bytes[..self.bytes.len().min(LEAST_MTU - self.header_len() - HEADER_LEN)];
        let mut message = vec![0; HEADER_LEN];
        message.extend_from_slice(quoted);
        let mut report = Icmpv6Packet::new_unchecked(&mut message[..]);
        report.set_msg_type(Icmpv6Message::DstUnreachable);
        report.set_msg_code(PORT_UNREACHABLE);
        Self::icmpv6(destination, source, message)
    }

    /// Whether the checksum of an ICMPv6 message is right.
    pub(super) fn icmpv6_checksum_is_right(&self) -> bool {
        let (IpAddr::V6(source), IpAddr::V6(destination)) = (self.source(), self.destination()) else { return true };
        let message = self.payload();
        message.len() >= LEAST_LEN && Icmpv6Packet::new_unchecked(message).verify_checksum(&source, &destination)
    }

    /// Returns an ICMPv6 message, if this packet has one that is no shorter than those of RFC 4443.
    fn icmpv6_payload(&self) -> Option<&[u8]> {
        let payload = self.payload();
        (self.is_ipv6() && self.protocol() == IpProtocol::Icmpv6 && payload.len() >= HEADER_LEN).then_some(payload)
    }

    fn icmpv6(source: Ipv6Addr, destination: Ipv6Addr, mut message: Vec<u8>) -> Option<Self> {
        Icmpv6Packet::new_unchecked(&mut message[..]).fill_checksum(&source, &destination);
        Self::new(source.into(), destination.into(), IpProtocol::Icmpv6, Ecn::NotEct, &message)
    }
}

/// Whether an address stands for one node, so that it can be answered.
const fn is_one_node(address: Ipv6Addr) -> bool {
    !address.is_multicast() && !address.is_unspecified()
}

/// Type, code and checksum (RFC 4443, 2.1), which every message has. A DIS (RFC 6550, 6.2) is two octets longer.
const LEAST_LEN: usize = 4;
/// The length of what precedes the data of RFC 4443's messages: type, code, checksum, and four octets of the message's own.
const HEADER_LEN: usize = 8;
/// The code of Destination Unreachable for a port (RFC 4443, 3.1).
const PORT_UNREACHABLE: u8 = 4;
/// The least MTU of a link with IPv6 (RFC 8200, 5).
const LEAST_MTU: usize = 1280;
