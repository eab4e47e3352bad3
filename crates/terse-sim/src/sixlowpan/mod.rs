//! 6LoWPAN: IPv6 over frames that are far too short for it (RFC 4944, RFC 6282).
//!
//! Modelled: LOWPAN_IPHC with every mode for traffic class, hop limit and addresses, context 0 or stateless;
//! LOWPAN_NHC for UDP with its checksum in line; FRAG1 and FRAGN with reassembly. Not modelled: mesh and broadcast
//! headers, multicast addresses by a context, extension headers, contexts other than 0. TCP has no
//! compression.
//!
//! [`Sixlowpan`] is the whole layer of a link with two ends. Where nodes forward, [`routing`] has the headers that are added
//! (RFC 8138), and [`crate::tsch`] forwards fragments and reassembles them.

mod fragment;
mod iphc;
pub(crate) mod routing;
#[cfg(test)]
mod tests;

use core::ops::Range;
use std::net::IpAddr;

use crate::Time;
use crate::cause::Cause;
use crate::decoded::Decoded;
use crate::layers::Layers;
use crate::packet::Packet;
pub(crate) use iphc::{Context, compress, decompress};

use fragment::Reassembly;
use smoltcp::wire::{SixlowpanFragPacket, SixlowpanFragRepr};

/// The adaptation layer of one direction: its sender and its receiver.
#[derive(Debug)]
pub(crate) struct Sixlowpan {
    context: Context,
    next_tag: u16,
    reassembly: Reassembly,
}

/// The content of one frame.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) layers: Layers,
    pub(crate) fragment: Option<u16>,
}

impl Sixlowpan {
    pub(crate) const fn new(context: Context, buffers: usize) -> Self {
        Self { context, next_tag: 0, reassembly: Reassembly::new(buffers) }
    }

    /// Compresses a packet, and fragments it if it does not fit into `room` bytes.
    pub(crate) fn encode(&mut self, packet: &Packet, room: usize) -> Result<Vec<Piece>, Cause> {
        let (IpAddr::V6(_), IpAddr::V6(_)) = (packet.source(), packet.destination()) else {
            return Err(Cause::NotCarried);
        };
        let compressed = compress(packet, &self.context);
        let layers = compressed.layers;
        if compressed.bytes.len() <= room {
            return Ok(vec![Piece { bytes: compressed.bytes, layers, fragment: None }]);
        }
        let size = u16::try_from(packet.len()).ok().filter(|size| *size <= LONGEST).ok_or(Cause::TooLong)?;
        let tag = self.next_tag;
        self.next_tag = self.next_tag.wrapping_add(1);

        let saved = packet.len() - compressed.bytes.len();
        let most = [room.saturating_sub(FRAG1_LEN), room.saturating_sub(FRAGN_LEN)];
        let cuts = cut(compressed.bytes.len(), compressed.header_len, saved, most).ok_or(Cause::TooLong)?;
        let piece = |(index, range): (usize, Range<usize>)| {
            let (from, to) = (range.start, range.end);
            let offset = if from == 0 { 0 } else { from + saved };
            let mut bytes = fragment_header(size, tag, offset).ok_or(Cause::TooLong)?;
            let mut part = layers.part(from, to);
            part.network += bytes.len();
            bytes.extend(&compressed.bytes[from..to]);
            Ok(Piece { bytes, layers: part, fragment: u16::try_from(index).ok() })
        };
        cuts.into_iter().enumerate().map(piece).collect()
    }

    /// Decodes the content of a frame.
    pub(crate) fn decode(&mut self, now: Time, bytes: &[u8], id: u64) -> Decoded {
        if bytes.first().is_some_and(|dispatch| dispatch & 0b1110_0000 == 0b0110_0000) {
            let packet = decompress(bytes, None, &self.context).and_then(|bytes| Packet::parse(bytes).ok());
            return packet.map_or(Decoded::Dropped(Cause::Malformed), |packet| Decoded::Packet(packet, id));
        }
        let Ok(fragment) = SixlowpanFragPacket::new_checked(bytes) else { return Decoded::Dropped(Cause::Malformed) };
        let size = usize::from(fragment.datagram_size());
        let first = fragment.is_first_fragment();
        let (offset, content) = if first {
            let Some(content) = decompress(fragment.payload(), Some(size), &self.context) else {
                return Decoded::Dropped(Cause::Malformed);
            };
            (0, content)
        } else {
            (usize::from(fragment.datagram_offset()) * 8, fragment.payload().to_vec())
        };
        self.reassembly.add(now, (fragment.datagram_tag(), size), id, offset, &content)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.reassembly.poll_timeout()
    }

    pub(crate) fn abandoned(&mut self, now: Time) -> Vec<(u64, Cause)> {
        self.reassembly.abandoned(now)
    }

    pub(crate) fn held(&self) -> Vec<u64> {
        self.reassembly.held()
    }
}

/// Cuts a compressed packet of `len` bytes into fragments. Each but the last one ends at a multiple of eight bytes of the packet
/// as it was before compression, which made it `saved` bytes shorter (RFC 4944, 5.3). `most` is what fits into the first
/// fragment and into each other. Returns `None` if the compressed headers do not fit into the first one, or others carry
/// nothing.
pub(crate) fn cut(len: usize, header_len: usize, saved: usize, most: [usize; 2]) -> Option<Vec<Range<usize>>> {
    let mut cuts = Vec::new();
    let mut from = 0;
    while from < len {
        let mut to = len.min(from + if from == 0 { most[0] } else { most[1] });
        if to < len {
            to -= ((to + saved) % 8).min(to);
        }
        if to <= from || to < header_len.min(len) {
            return None;
        }
        cuts.push(from..to);
        from = to;
    }
    Some(cuts)
}

/// Returns the header of the fragment at `offset` of the packet as it was before compression: FRAG1 for 0, else FRAGN. `None` if
/// the offset has no encoding.
pub(crate) fn fragment_header(size: u16, tag: u16, offset: usize) -> Option<Vec<u8>> {
    let repr = match offset {
        0 => SixlowpanFragRepr::FirstFragment { size, tag },
        _ => SixlowpanFragRepr::Fragment { size, tag, offset: u8::try_from(offset / 8).ok()? },
    };
    let mut bytes = vec![0; repr.buffer_len()];
    repr.emit(&mut SixlowpanFragPacket::new_unchecked(&mut bytes));
    Some(bytes)
}

/// The length of the header of a first fragment (RFC 4944, 5.3).
pub(crate) const FRAG1_LEN: usize = 4;

/// The length of the header of every other fragment.
pub(crate) const FRAGN_LEN: usize = 5;

/// `datagram_size` has 11 bits (RFC 4944, 5.3).
pub(crate) const LONGEST: u16 = 2047;
