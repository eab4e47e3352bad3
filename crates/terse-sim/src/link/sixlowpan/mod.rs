//! 6LoWPAN: IPv6 over frames that are far too short for it (RFC 4944, RFC 6282).
//!
//! Modelled: LOWPAN_IPHC with every mode for traffic class, hop limit and unicast addresses, context 0 or stateless;
//! LOWPAN_NHC for UDP with its checksum in line; FRAG1 and FRAGN with reassembly. Not modelled: mesh and broadcast
//! headers, compressed multicast addresses (they go in full), extension headers, contexts other than 0. TCP has no
//! compression.

mod fragment;
mod iphc;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use super::Decoded;
use crate::Time;
use crate::cause::Cause;
use crate::layers::Layers;
use crate::packet::Packet;
pub(crate) use iphc::Context;

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
        let compressed = iphc::compress(packet, &self.context);
        let layers = compressed.layers;
        if compressed.bytes.len() <= room {
            return Ok(vec![Piece { bytes: compressed.bytes, layers, fragment: None }]);
        }
        let size = u16::try_from(packet.len()).ok().filter(|size| *size <= LONGEST).ok_or(Cause::TooLong)?;
        let tag = self.next_tag;
        self.next_tag = self.next_tag.wrapping_add(1);

        // Fragments begin at multiples of eight bytes of the packet as it was before compression (RFC 4944, 5.3).
        let saved = packet.len() - compressed.bytes.len();
        let mut pieces = Vec::new();
        let mut from = 0;
        while from < compressed.bytes.len() {
            let repr = if from == 0 {
                SixlowpanFragRepr::FirstFragment { size, tag }
            } else {
                let offset = u8::try_from((from + saved) / 8).map_err(|_| Cause::TooLong)?;
                SixlowpanFragRepr::Fragment { size, tag, offset }
            };
            let header = repr.buffer_len();
            let most = room.saturating_sub(header);
            let mut to = compressed.bytes.len().min(from + most);
            if to < compressed.bytes.len() {
                to -= (to + saved) % 8;
            }
            // The compressed headers must fit into the first fragment, and every other must carry something.
            if to <= from || to < compressed.header_len.min(compressed.bytes.len()) {
                return Err(Cause::TooLong);
            }
            let mut bytes = vec![0; header + to - from];
            repr.emit(&mut SixlowpanFragPacket::new_unchecked(&mut bytes));
            bytes[header..].copy_from_slice(&compressed.bytes[from..to]);
            let mut part = layers.part(from, to);
            part.network += header;
            let fragment = u16::try_from(pieces.len()).ok();
            pieces.push(Piece { bytes, layers: part, fragment });
            from = to;
        }
        Ok(pieces)
    }

    /// Decodes the content of a frame.
    pub(crate) fn decode(&mut self, now: Time, bytes: &[u8], id: u64) -> Decoded {
        if bytes.first().is_some_and(|dispatch| dispatch & 0b1110_0000 == 0b0110_0000) {
            let packet = iphc::decompress(bytes, None, &self.context).and_then(|bytes| Packet::parse(bytes).ok());
            return packet.map_or(Decoded::Dropped(Cause::Malformed), |packet| Decoded::Packet(packet, id));
        }
        let Ok(fragment) = SixlowpanFragPacket::new_checked(bytes) else { return Decoded::Dropped(Cause::Malformed) };
        let size = usize::from(fragment.datagram_size());
        let first = fragment.is_first_fragment();
        let (offset, content) = if first {
            let Some(content) = iphc::decompress(fragment.payload(), Some(size), &self.context) else {
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

/// `datagram_size` has 11 bits (RFC 4944, 5.3).
const LONGEST: u16 = 2047;
