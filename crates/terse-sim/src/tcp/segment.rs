//! The codec of segments (RFC 9293, 3.1), with the options of RFC 2018 and RFC 7323.
//!
//! Options are written in the order and with the padding of Linux, so that headers have its sizes: a SYN with
//! everything takes 40 bytes, a segment with timestamps 32. The parser ignores unknown options; urgent data is ordinary
//! data.

use super::SequenceNumber;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use smoltcp::wire::{IpAddress, TcpPacket, TcpSeqNumber};

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The port it comes from.
    pub source_port: u16,
    /// The port it goes to.
    pub destination_port: u16,
    /// SEG.SEQ: the number of the SYN, if there is one, else of the first octet of the payload.
    pub sequence: SequenceNumber,
    /// SEG.ACK, with the ACK bit: the next number expected from the other side.
    pub acknowledgement: Option<SequenceNumber>,
    /// The control bits other than ACK.
    pub flags: Flags,
    /// The window field as it is in the header: not scaled.
    pub window: u16,
    /// The options.
    pub options: Options,
    /// The data.
    pub payload: Vec<u8>,
}

/// Control bits; ACK is [`Segment::acknowledgement`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The sender has no more data.
    pub fin: bool,
    /// Sequence numbers are synchronised.
    pub syn: bool,
    /// The connection is reset.
    pub rst: bool,
    /// Data is to be given to the application at once.
    pub psh: bool,
    /// Echo of congestion experienced (RFC 3168, 6.1).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168, 6.1).
    pub cwr: bool,
}

/// The options after the fixed header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The most payload that the sender takes in a segment, in bytes, options not counted (RFC 9293, 3.7.1).
    pub maximum_segment_size: Option<u16>,
    /// By how many bits the sender shifts its window field (RFC 7323, 2).
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements may be sent (RFC 2018, 2).
    pub sack_permitted: bool,
    /// The blocks of data that arrived out of order, at most four (RFC 2018, 3).
    pub sack: Vec<SackBlock>,
    /// TSval and TSecr (RFC 7323, 3).
    pub timestamps: Option<(u32, u32)>,
}

/// A block of data that arrived out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    /// The first octet of the block.
    pub left: SequenceNumber,
    /// The octet after the last one.
    pub right: SequenceNumber,
}

/// The addresses that the checksum covers (RFC 9293, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PseudoHeader {
    /// IPv4: source and destination.
    V4(Ipv4Addr, Ipv4Addr),
    /// IPv6: source and destination.
    V6(Ipv6Addr, Ipv6Addr),
}

/// The bytes are no TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedSegment;

impl Segment {
    /// Returns the length of the header, options and padding included: 20 to 60 bytes.
    pub fn header_len(&self) -> usize {
        FIXED_HEADER + self.options.encode().len()
    }

    /// Returns the sequence space of the segment: the payload, SYN and FIN.
    pub fn sequence_len(&self) -> u32 {
        let payload = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        payload.saturating_add(u32::from(self.flags.syn)).saturating_add(u32::from(self.flags.fin))
    }

    /// Returns the sequence number after the segment.
    pub fn end(&self) -> SequenceNumber {
        self.sequence + self.sequence_len()
    }

    /// Returns the segment that answers this one where there is no connection (RFC 9293, 3.10.7.1), or `None` if this
    /// is a reset.
    pub fn reset(&self) -> Option<Self> {
        if self.flags.rst {
            return None;
        }
        let (sequence, acknowledgement) = match self.acknowledgement {
            Some(acknowledgement) => (acknowledgement, None),
            None => (SequenceNumber(0), Some(self.end())),
        };
        Some(Self {
            source_port: self.destination_port,
            destination_port: self.source_port,
            sequence,
            acknowledgement,
            flags: Flags { rst: true, ..Flags::default() },
            ..Self::default()
        })
    }

    /// Encodes the segment. The checksum field is 0; the IP layer calls [`fill_checksum`](Self::fill_checksum).
    pub fn encode(&self) -> Vec<u8> {
        let options = self.options.encode();
        let header_len = FIXED_HEADER + options.len();
        let mut bytes = vec![0; FIXED_HEADER];
        bytes.extend_from_slice(&options);
        bytes.extend_from_slice(&self.payload);
        let mut packet = TcpPacket::new_unchecked(&mut bytes[..]);
        packet.set_src_port(self.source_port);
        packet.set_dst_port(self.destination_port);
        packet.set_seq_number(TcpSeqNumber(self.sequence.0 as i32));
        packet.set_header_len(header_len as u8);
        if let Some(acknowledgement) = self.acknowledgement {
            packet.set_ack(true);
            packet.set_ack_number(TcpSeqNumber(acknowledgement.0 as i32));
        }
        packet.set_fin(self.flags.fin);
        packet.set_syn(self.flags.syn);
        packet.set_rst(self.flags.rst);
        packet.set_psh(self.flags.psh);
        packet.set_ece(self.flags.ece);
        packet.set_cwr(self.flags.cwr);
        packet.set_window_len(self.window);
        bytes
    }

    /// Parses a segment that fills `bytes`. [`verify_checksum`](Self::verify_checksum) checks the checksum.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedSegment> {
        let packet = TcpPacket::new_checked(bytes).map_err(|_| MalformedSegment)?;
        Ok(Self {
            source_port: packet.src_port(),
            destination_port: packet.dst_port(),
            sequence: SequenceNumber(packet.seq_number().0 as u32),
            acknowledgement: packet.ack().then(|| SequenceNumber(packet.ack_number().0 as u32)),
            flags: Flags {
                fin: packet.fin(),
                syn: packet.syn(),
                rst: packet.rst(),
                psh: packet.psh(),
                ece: packet.ece(),
                cwr: packet.cwr(),
            },
            window: packet.window_len(),
            options: Options::parse(packet.options()),
            payload: packet.payload().to_vec(),
        })
    }

    /// Fills in the checksum of an encoded segment. Bytes shorter than a header stay as they are.
    pub fn fill_checksum(bytes: &mut [u8], addresses: &PseudoHeader) {
        if bytes.len() >= FIXED_HEADER {
            let (source, destination) = addresses.split();
            TcpPacket::new_unchecked(bytes).fill_checksum(&source, &destination);
        }
    }

    /// Whether the checksum of an encoded segment is right.
    pub fn verify_checksum(bytes: &[u8], addresses: &PseudoHeader) -> bool {
        let (source, destination) = addresses.split();
        bytes.len() >= FIXED_HEADER && TcpPacket::new_unchecked(bytes).verify_checksum(&source, &destination)
    }
}

impl Options {
    /// Encodes the options, padded to a multiple of four bytes, at most 40. SACK blocks that do not fit are left out.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(size) = self.maximum_segment_size {
            bytes.extend_from_slice(&[KIND_MAXIMUM_SEGMENT_SIZE, 4]);
            bytes.extend_from_slice(&size.to_be_bytes());
        }
        // SACK-permitted takes the place of the padding that timestamps need.
        let padding = if self.sack_permitted { [KIND_SACK_PERMITTED, 2] } else { [KIND_NO_OPERATION; 2] };
        if let Some((value, echo)) = self.timestamps {
            bytes.extend_from_slice(&padding);
            bytes.extend_from_slice(&[KIND_TIMESTAMPS, 10]);
            bytes.extend_from_slice(&value.to_be_bytes());
            bytes.extend_from_slice(&echo.to_be_bytes());
        } else if self.sack_permitted {
            bytes.extend_from_slice(&[KIND_NO_OPERATION; 2]);
            bytes.extend_from_slice(&padding);
        }
        if let Some(shift) = self.window_scale {
            bytes.extend_from_slice(&[KIND_NO_OPERATION, KIND_WINDOW_SCALE, 3, shift]);
        }
        let blocks = self.sack.len().min(sack_blocks_in(MAXIMUM_OPTIONS - bytes.len()));
        if blocks > 0 {
            bytes.extend_from_slice(&[KIND_NO_OPERATION, KIND_NO_OPERATION, KIND_SACK, 2 + 8 * blocks as u8]);
            for block in &self.sack[..blocks] {
                bytes.extend_from_slice(&block.left.0.to_be_bytes());
                bytes.extend_from_slice(&block.right.0.to_be_bytes());
            }
        }
        bytes
    }

    /// Parses the known options in `bytes`, up to the first malformed one.
    fn parse(mut bytes: &[u8]) -> Self {
        let mut options = Self::default();
        while let [kind, rest @ ..] = bytes {
            if *kind == KIND_END {
                break;
            }
            if *kind == KIND_NO_OPERATION {
                bytes = rest;
                continue;
            }
            let Some(length) = rest.first().map(|length| usize::from(*length)) else { break };
            let Some(value) = bytes.get(2..length) else { break };
            options.take(*kind, value);
            bytes = &bytes[length..];
        }
        options
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        let word = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
        match (kind, value.len()) {
            (KIND_MAXIMUM_SEGMENT_SIZE, 2) => {
                self.maximum_segment_size = Some(u16::from_be_bytes([value[0], value[1]]));
            }
            (KIND_WINDOW_SCALE, 1) => self.window_scale = Some(value[0]),
            (KIND_SACK_PERMITTED, 0) => self.sack_permitted = true,
            (KIND_TIMESTAMPS, 8) => self.timestamps = Some((word(0), word(4))),
            (KIND_SACK, 8 | 16 | 24 | 32) => {
                self.sack = (0..value.len() / 8)
                    .map(|block| SackBlock {
                        left: SequenceNumber(word(8 * block)),
                        right: SequenceNumber(word(8 * block + 4)),
                    })
                    .collect();
            }
            _ => {}
        }
    }
}

impl PseudoHeader {
    fn split(&self) -> (IpAddress, IpAddress) {
        match *self {
            Self::V4(source, destination) => (source.into(), destination.into()),
            Self::V6(source, destination) => (source.into(), destination.into()),
        }
    }
}

impl fmt::Display for MalformedSegment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("not a TCP segment")
    }
}

impl core::error::Error for MalformedSegment {}

/// Returns how many SACK blocks fit into `space` bytes of options, padding included.
pub(super) fn sack_blocks_in(space: usize) -> usize {
    (space.saturating_sub(4) / 8).min(4)
}

/// The length of timestamps in a segment, with their padding.
pub(super) const TIMESTAMPS_LEN: usize = 12;
/// The length of a header without options.
pub(super) const FIXED_HEADER: usize = 20;
/// The most bytes of options that the data offset allows.
pub(super) const MAXIMUM_OPTIONS: usize = 40;

const KIND_END: u8 = 0;
const KIND_NO_OPERATION: u8 = 1;
const KIND_MAXIMUM_SEGMENT_SIZE: u8 = 2;
const KIND_WINDOW_SCALE: u8 = 3;
const KIND_SACK_PERMITTED: u8 = 4;
const KIND_SACK: u8 = 5;
const KIND_TIMESTAMPS: u8 = 8;

#[cfg(test)]
pub(super) mod tests;
