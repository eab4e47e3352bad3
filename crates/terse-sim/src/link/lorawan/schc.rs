//! SCHC: header compression by rules that both ends know, and fragmentation (RFC 8724), over LoRaWAN (RFC 9011).
//!
//! The RuleID is LoRaWAN's FPort. Four rules compress, for the two addresses of the link, hop limit 64 and no flow
//! label:
//!
//! | RuleID | what | sent |
//! |---|---|---|
//! | 1 | UDP, ports of the context | nothing of IPv6 and UDP |
//! | 2 | UDP, other ports | the ports, 4 B |
//! | 3 | TCP | the TCP header as it is |
//! | 4 | any other packet | all of it |
//!
//! Lengths and the UDP checksum are computed anew (RFC 8724, 10.11). Rules 20 (up) and 21 (down) fragment, in the
//! **No-ACK mode** (RFC 8724, 8.4.1): a byte of DTag (7 bits) and FCN (1 bit), and an RCS of 4 B (CRC-32) in the last;
//! the first fragment begins with the RuleID of the packet, as in RFC 9011, 5.6. These are as many bytes as RFC 9011's
//! headers have; what it does beyond (acknowledgements and repetition of tiles, ACK-on-Error up and ACK-Always down) is
//! not modelled: a lost fragment loses the packet, and TCP or DTLS repeat it. Inactivity timer: 12 hours (RFC 9011,
//! 5.6.2).

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use crc::{CRC_32_ISO_HDLC, Crc};
use smoltcp::wire::{IpProtocol, UdpPacket};

use crate::Time;
use crate::cause::Cause;
use crate::decoded::Decoded;
use crate::layers::Layers;
use crate::link::Direction;
use crate::packet::Packet;
use crate::tcp::Ecn;

/// The context that both ends know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// Source and destination port.
    pub(crate) ports: Option<(u16, u16)>,
}

/// A payload of LoRaWAN, and its FPort.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) rule: u8,
    pub(crate) payload: Vec<u8>,
    pub(crate) layers: Layers,
    pub(crate) fragment: Option<u16>,
}

/// The SCHC layer of one direction: its sender and its receiver.
#[derive(Debug)]
pub(crate) struct Schc {
    context: Context,
    fragments: u8,
    next_tag: u8,
    partial: Option<Partial>,
    abandoned: Vec<(u64, Cause)>,
}

#[derive(Debug)]
struct Partial {
    tag: u8,
    id: u64,
    touched: Time,
    bytes: Vec<u8>,
}

impl Schc {
    pub(crate) const fn new(context: Context, direction: Direction) -> Self {
        let fragments = match direction {
            Direction::Up => FRAGMENTS_UP,
            Direction::Down => FRAGMENTS_DOWN,
        };
        Self { context, fragments, next_tag: 0, partial: None, abandoned: Vec::new() }
    }

    /// Compresses a packet, and fragments it if it does not fit into `room` bytes.
    pub(crate) fn encode(&mut self, packet: &Packet, room: usize) -> Result<Vec<Message>, Cause> {
        if !packet.is_ipv6() {
            return Err(Cause::NotCarried);
        }
        let whole = self.compress(packet);
        if whole.payload.len() <= room {
            return Ok(vec![whole]);
        }
        // In fragments the RuleID is part of the packet, and counts as part of its network header.
        let bytes = [&[whole.rule][..], &whole.payload].concat();
        let layers = Layers { network: whole.layers.network + 1, ..whole.layers };
        let tag = self.next_tag;
        self.next_tag = (tag + 1) % 128;
        if room <= 1 + RCS_LEN {
            return Err(Cause::TooLong);
        }
        let mut messages = Vec::new();
        let mut from = 0;
        loop {
            let last = bytes.len() - from <= room - 1 - RCS_LEN;
            // At least one byte is left for the last fragment.
            let to = if last { bytes.len() } else { (from + room - 1).min(bytes.len() - 1) };
            let mut payload = vec![tag << 1 | u8::from(last)];
            if last {
                payload.extend(CRC.checksum(&bytes).to_be_bytes());
            }
            let mut part = layers.part(from, to);
            part.network += payload.len();
            payload.extend(&bytes[from..to]);
            let fragment = u16::try_from(messages.len()).ok();
            messages.push(Message { rule: self.fragments, payload, layers: part, fragment });
            if last {
                return Ok(messages);
            }
            from = to;
        }
    }

    /// Decodes a payload that arrived at the FPort `rule`.
    pub(crate) fn decode(&mut self, now: Time, rule: u8, payload: &[u8], id: u64) -> Decoded {
        if rule != self.fragments {
            return self
                .decompress(rule, payload)
                .map_or(Decoded::Dropped(Cause::Malformed), |packet| Decoded::Packet(packet, id));
        }
        self.expire(now);
        let Some((header, rest)) = payload.split_first() else { return Decoded::Dropped(Cause::Malformed) };
        let (tag, last) = (header >> 1, header & 1 == 1);
        if self.partial.as_ref().is_some_and(|partial| partial.tag != tag)
            && let Some(unfinished) = self.partial.take()
        {
            self.abandoned.push((unfinished.id, Cause::Incomplete));
        }
        let partial = self.partial.get_or_insert_with(|| Partial { tag, id, touched: now, bytes: Vec::new() });
        partial.touched = now;
        if !last {
            if partial.bytes.len() + rest.len() > LONGEST {
                self.partial = None;
                return Decoded::Dropped(Cause::TooLong);
            }
            partial.bytes.extend(rest);
            return Decoded::Partial;
        }
        let Some((rcs, tile)) = rest.split_first_chunk::<RCS_LEN>() else { return Decoded::Dropped(Cause::Malformed) };
        let Some(mut whole) = self.partial.take() else { return Decoded::Dropped(Cause::Incomplete) };
        whole.bytes.extend(tile);
        if CRC.checksum(&whole.bytes) != u32::from_be_bytes(*rcs) {
            return Decoded::Dropped(Cause::Incomplete);
        }
        let packet = whole.bytes.split_first().and_then(|(rule, payload)| self.decompress(*rule, payload));
        packet.map_or(Decoded::Dropped(Cause::Malformed), |packet| Decoded::Packet(packet, whole.id))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.partial.as_ref().map(|partial| partial.touched + INACTIVITY)
    }

    pub(crate) fn abandoned(&mut self, now: Time) -> Vec<(u64, Cause)> {
        self.expire(now);
        core::mem::take(&mut self.abandoned)
    }

    pub(crate) fn held(&self) -> Vec<u64> {
        self.partial.iter().map(|partial| partial.id).collect()
    }

    fn expire(&mut self, now: Time) {
        if self.poll_timeout().is_some_and(|at| at <= now)
            && let Some(late) = self.partial.take()
        {
            self.abandoned.push((late.id, Cause::ReassemblyTimedOut));
        }
    }

    fn compress(&self, packet: &Packet) -> Message {
        let plain = packet.layers();
        let message = |rule, payload: &[&[u8]], network, transport| Message {
            rule,
            payload: payload.concat(),
            layers: Layers { network, transport, application: plain.application, link: 0 },
            fragment: None,
        };
        let content = packet.payload();
        match packet.protocol() {
            _ if !self.matches(packet) => {}
            IpProtocol::Udp if packet.checksum_is_right() => {
                if let Ok(datagram) = UdpPacket::new_checked(content)
                    && usize::from(datagram.len()) == content.len()
                    && datagram.checksum() != 0
                {
                    return if self.context.ports == Some((datagram.src_port(), datagram.dst_port())) {
                        message(UDP_OF_CONTEXT, &[&content[8..]], 0, 0)
                    } else {
                        message(UDP, &[&content[..4], &content[8..]], 0, 4)
                    };
                }
            }
            IpProtocol::Tcp => return message(TCP, &[content], 0, plain.transport),
            _ => {}
        }
        message(UNCOMPRESSED, &[packet.bytes()], plain.network, plain.transport)
    }

    /// Whether the IPv6 header is the one of the rules.
    fn matches(&self, packet: &Packet) -> bool {
        let rebuilt = Packet::new(self.context.from, self.context.to, packet.protocol(), Ecn::NotEct, packet.payload());
        rebuilt.as_ref() == Some(packet)
    }

    fn decompress(&self, rule: u8, payload: &[u8]) -> Option<Packet> {
        let Context { from, to, ports } = self.context;
        let udp = |(source, destination), content| {
            Packet::udp(SocketAddr::new(from, source), SocketAddr::new(to, destination), content)
        };
        match rule {
            UDP_OF_CONTEXT => udp(ports?, payload),
            UDP => {
                let ([a, b, c, d], content) = payload.split_first_chunk()?;
                udp((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])), content)
            }
            TCP => Packet::new(from, to, IpProtocol::Tcp, Ecn::NotEct, payload),
            UNCOMPRESSED => Packet::parse(payload.to_vec()).ok(),
            _ => None,
        }
    }
}

const UDP_OF_CONTEXT: u8 = 1;
const UDP: u8 = 2;
const TCP: u8 = 3;
const UNCOMPRESSED: u8 = 4;
/// The RuleIDs of RFC 9011, 5.1.
const FRAGMENTS_UP: u8 = 20;
const FRAGMENTS_DOWN: u8 = 21;
const RCS_LEN: usize = 4;
const INACTIVITY: Duration = Duration::from_secs(12 * 60 * 60);
/// The longest packet that is reassembled: longer than the MTU of any link here.
const LONGEST: usize = 65_536;
/// The RCS of RFC 8724, 8.2.3: polynomial 0xEDB88320 (reversed).
const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
