//! LOWPAN_IPHC and, for UDP, LOWPAN_NHC (RFC 6282, 3.1 and 4.3). smoltcp's types leave out the traffic class, ECN with
//! it, and contexts; so this is written here.

use smoltcp::wire::{IPV6_HEADER_LEN, IpProtocol, UdpPacket};

use crate::layers::Layers;
use crate::packet::Packet;

/// The context that both ends share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The EUI-64 of the sender. Without one, no address is taken from the frame: where nodes forward, the frame's addresses
    /// are those of a hop.
    pub(crate) from: Option<[u8; 8]>,
    /// The EUI-64 of the receiver, likewise.
    pub(crate) to: Option<[u8; 8]>,
    /// Context 0, if there is one: a prefix of 64 bits.
    pub(crate) prefix: Option<[u8; 8]>,
    /// Whether the sender compresses headers of UDP.
    pub(crate) compresses_udp: bool,
}

/// A packet with its headers compressed.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(crate) bytes: Vec<u8>,
    /// The length of the compressed headers, which must not be split.
    pub(crate) header_len: usize,
    pub(crate) layers: Layers,
}

/// Compresses the headers of an IPv6 packet.
pub(crate) fn compress(packet: &Packet, context: &Context) -> Compressed {
    let header = &packet.bytes()[..IPV6_HEADER_LEN];
    let payload = packet.payload();
    let mut bytes = vec![0b0110_0000, 0];

    // TF: RFC 6282 puts ECN before DSCP, the IPv6 header puts it after.
    let class = header[0] << 4 | header[1] >> 4;
    let (turned, dscp) = (class.rotate_right(2), class >> 2);
    let label = [header[1] & 0x0F, header[2], header[3]];
    match (class, label == [0; 3]) {
        (0, true) => bytes[0] |= 0b11 << 3,
        (_, true) => {
            bytes[0] |= 0b10 << 3;
            bytes.push(turned);
        }
        _ if dscp == 0 => {
            bytes[0] |= 0b01 << 3;
            bytes.extend([turned | label[0], label[1], label[2]]);
        }
        _ => bytes.extend([turned, label[0], label[1], label[2]]),
    }

    let udp = if context.compresses_udp { compress_udp(packet) } else { None };
    if udp.is_some() {
        bytes[0] |= 1 << 2;
    } else {
        bytes.push(header[6]);
    }

    match header[7] {
        1 => bytes[0] |= 0b01,
        64 => bytes[0] |= 0b10,
        255 => bytes[0] |= 0b11,
        other => bytes.push(other),
    }

    let source: [u8; 16] = *header[8..].first_chunk().expect("the header has 40 bytes");
    let destination: [u8; 16] = *header[24..].first_chunk().expect("the header has 40 bytes");
    if source == [0; 16] {
        // The unspecified address is stateful, with nothing in line.
        bytes[1] |= 0b0100_0000;
    } else {
        bytes[1] |= compress_address(&source, context.from, context.prefix, &mut bytes) << 4;
    }
    if destination[0] == 0xFF {
        bytes[1] |= 0b1000 | compress_group(&destination, &mut bytes);
    } else {
        bytes[1] |= compress_address(&destination, context.to, context.prefix, &mut bytes);
    }

    let network = bytes.len();
    let plain = packet.layers();
    let (transport, content) = match &udp {
        Some(nhc) => {
            bytes.extend(nhc);
            (nhc.len(), &payload[8..])
        }
        None => (plain.transport, payload),
    };
    let header_len = if udp.is_some() { bytes.len() } else { network };
    bytes.extend(content);
    Compressed { bytes, header_len, layers: Layers { network, transport, application: plain.application, link: 0 } }
}

/// Returns the packet that was compressed. If `bytes` is only the first fragment of a packet of `size` bytes, the
/// result is the beginning of that packet.
pub(crate) fn decompress(bytes: &[u8], size: Option<usize>, context: &Context) -> Option<Vec<u8>> {
    let mut reader = Reader(bytes);
    let [first, second] = reader.take()?;
    if first >> 5 != 0b011 || second & 0b1000_0000 != 0 {
        return None;
    }
    let (class, label) = match first >> 3 & 0b11 {
        0b00 => {
            let [class, a, b, c] = reader.take()?;
            (class.rotate_left(2), [a & 0x0F, b, c])
        }
        0b01 => {
            let [a, b, c] = reader.take()?;
            ((a & 0b1100_0000).rotate_left(2), [a & 0x0F, b, c])
        }
        0b10 => (reader.byte()?.rotate_left(2), [0; 3]),
        _ => (0, [0; 3]),
    };
    let compressed = first & 0b100 != 0;
    let next_header = if compressed { u8::from(IpProtocol::Udp) } else { reader.byte()? };
    let hop_limit = match first & 0b11 {
        0b00 => reader.byte()?,
        0b01 => 1,
        0b10 => 64,
        _ => 255,
    };
    let source = match second >> 4 & 0b111 {
        0b100 => [0; 16],
        mode => reader.address(mode, context.from, context.prefix)?,
    };
    let destination = match second & 0b1111 {
        mode if mode & 0b1100 == 0b1000 => reader.group(mode & 0b11)?,
        mode if mode & 0b1000 == 0 => reader.address(mode & 0b111, context.to, context.prefix)?,
        _ => return None,
    };

    let mut packet = vec![0x60 | class >> 4, class << 4 | label[0], label[1], label[2], 0, 0, next_header, hop_limit];
    packet.extend(source);
    packet.extend(destination);
    if compressed {
        let [ports @ .., high, low] = reader.udp()?;
        packet.extend(ports);
        packet.extend([0, 0, high, low]);
    }
    packet.extend(reader.0);
    let size = size.unwrap_or(packet.len());
    let len = u16::try_from(size.checked_sub(IPV6_HEADER_LEN)?).ok()?;
    if packet.len() > size {
        return None;
    }
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    if compressed {
        packet[44..46].copy_from_slice(&len.to_be_bytes());
    }
    Some(packet)
}

/// Compresses the UDP header, if the packet has one that can be restored.
fn compress_udp(packet: &Packet) -> Option<Vec<u8>> {
    if packet.protocol() != IpProtocol::Udp {
        return None;
    }
    let payload = packet.payload();
    let datagram = UdpPacket::new_checked(payload).ok()?;
    if usize::from(datagram.len()) != payload.len() {
        return None;
    }
    let (source, destination) = (datagram.src_port(), datagram.dst_port());
    let short = |port: u16| port >> 8 == 0xF0;
    let mut nhc = if source >> 4 == 0xF0B && destination >> 4 == 0xF0B {
        vec![0b1111_0011, ((source & 0xF) << 4 | destination & 0xF) as u8]
    } else if short(destination) {
        vec![0b1111_0001, (source >> 8) as u8, source as u8, destination as u8]
    } else if short(source) {
        vec![0b1111_0010, source as u8, (destination >> 8) as u8, destination as u8]
    } else {
        let [a, b] = source.to_be_bytes();
        let [c, d] = destination.to_be_bytes();
        vec![0b1111_0000, a, b, c, d]
    };
    nhc.extend(datagram.checksum().to_be_bytes());
    Some(nhc)
}

/// Writes the part of an address that is not elided, and returns SAC and SAM (or DAC and DAM).
fn compress_address(address: &[u8; 16], eui64: Option<[u8; 8]>, prefix: Option<[u8; 8]>, out: &mut Vec<u8>) -> u8 {
    let (net, identifier) = address.split_at(8);
    let stateful = if *net == LINK_LOCAL {
        0
    } else if prefix.is_some_and(|prefix| prefix == net) {
        0b100
    } else {
        out.extend(address);
        return 0;
    };
    if eui64.is_some_and(|eui64| *identifier == identifier_of(eui64)) {
        stateful | 0b11
    } else if identifier[..6] == SHORT {
        out.extend(&identifier[6..]);
        stateful | 0b10
    } else {
        out.extend(identifier);
        stateful | 0b01
    }
}

/// Writes the part of a multicast address that is not elided, and returns DAM (RFC 6282, 3.1.1, M = 1 and DAC = 0).
fn compress_group(address: &[u8; 16], out: &mut Vec<u8>) -> u8 {
    let are_zero = |from: usize, to: usize| address[from..to].iter().all(|octet| *octet == 0);
    if address[1] == 0x02 && are_zero(2, 15) {
        out.push(address[15]);
        0b11
    } else if are_zero(2, 13) {
        out.push(address[1]);
        out.extend(&address[13..]);
        0b10
    } else if are_zero(2, 11) {
        out.push(address[1]);
        out.extend(&address[11..]);
        0b01
    } else {
        out.extend(address);
        0b00
    }
}

/// Returns the interface identifier of an EUI-64 (RFC 4291, appendix A).
fn identifier_of(mut eui64: [u8; 8]) -> [u8; 8] {
    eui64[0] ^= 0x02;
    eui64
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    /// Reads an address whose mode has three bits: SAC and SAM, or DAC and DAM.
    fn address(&mut self, mode: u8, eui64: Option<[u8; 8]>, prefix: Option<[u8; 8]>) -> Option<[u8; 16]> {
        if mode == 0 {
            return self.take();
        }
        let net = if mode & 0b100 == 0 { LINK_LOCAL } else { prefix? };
        let identifier = match mode & 0b11 {
            0b01 => self.take()?,
            0b10 => {
                let [a, b] = self.take()?;
                let [c, d, e, f, g, h] = SHORT;
                [c, d, e, f, g, h, a, b]
            }
            0b11 => identifier_of(eui64?),
            _ => return None,
        };
        let mut address = [0; 16];
        address[..8].copy_from_slice(&net);
        address[8..].copy_from_slice(&identifier);
        Some(address)
    }

    /// Reads a multicast address that was compressed in a mode of two bits, DAM.
    fn group(&mut self, mode: u8) -> Option<[u8; 16]> {
        let mut address = [0; 16];
        address[..2].copy_from_slice(&[0xFF, 0x02]);
        match mode {
            0b00 => return self.take(),
            0b01 => {
                let [scope, rest @ ..] = self.take::<6>()?;
                address[1] = scope;
                address[11..].copy_from_slice(&rest);
            }
            0b10 => {
                let [scope, rest @ ..] = self.take::<4>()?;
                address[1] = scope;
                address[13..].copy_from_slice(&rest);
            }
            _ => address[15] = self.byte()?,
        }
        Some(address)
    }

    /// Reads a compressed UDP header: two ports and a checksum.
    fn udp(&mut self) -> Option<[u8; 6]> {
        let nhc = self.byte()?;
        // An elided checksum is not modelled.
        if nhc >> 2 != 0b11_1100 {
            return None;
        }
        let ports = match nhc & 0b11 {
            0b00 => self.take()?,
            0b01 => {
                let [a, b, c] = self.take()?;
                [a, b, 0xF0, c]
            }
            0b10 => {
                let [a, b, c] = self.take()?;
                [0xF0, a, b, c]
            }
            _ => {
                let both = self.byte()?;
                [0xF0, 0xB0 | both >> 4, 0xF0, 0xB0 | both & 0xF]
            }
        };
        let [a, b, c, d] = ports;
        let [high, low] = self.take()?;
        Some([a, b, c, d, high, low])
    }
}

/// The prefix fe80::/64.
const LINK_LOCAL: [u8; 8] = [0xFE, 0x80, 0, 0, 0, 0, 0, 0];
/// The beginning of an interface identifier that holds a short address.
const SHORT: [u8; 6] = [0, 0, 0, 0xFF, 0xFE, 0];
