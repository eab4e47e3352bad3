//! The headers of RPL in front of LOWPAN_IPHC, compressed (RFC 8138): the RPL Packet Information on the way to the root, a
//! source route on the way from it.
//!
//! What must always hold: a router that forwards a packet down has removed itself from the source route (RFC 8138, 5.3).
//! There is no IP-in-IP encapsulation, and no instance but the global one, 0.

/// The routing headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routing<'a> {
    /// RPI-6LoRH: the packet goes up, from a node of this rank.
    Up {
        /// SenderRank. Its low octet is compressed if it is zero: a multiple of the usual MinHopRankIncrease, 256.
        sender_rank: u16,
        /// R: a router has met a Rank that was not greater than its own (RFC 6550, 11.2.2.2).
        rank_error: bool,
    },
    /// SRH-6LoRH: the packet goes down over these routers, of which each is named by its interface identifier. The last one
    /// is the parent of the destination, which stands in LOWPAN_IPHC.
    Down {
        /// The routers that are still to come, the next one first; at most 32 ([`MAX_ROUTERS`]).
        routers: &'a [[u8; 8]],
    },
}

impl Routing<'_> {
    /// Returns the length of the encoding.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Up { sender_rank, .. } => up_len(*sender_rank),
            Self::Down { routers: [] } => 1,
            Self::Down { routers } => 3 + 8 * routers.len(),
        }
    }

    /// Appends the encoding, with the dispatch of page 1 before it (RFC 8025, 5).
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(PAGE_1);
        match self {
            Self::Up { sender_rank, rank_error } => {
                let flags = CRITICAL | INSTANCE_ELIDED | if *rank_error { RANK_ERROR } else { 0 };
                match sender_rank.to_be_bytes() {
                    [high, 0] => out.extend([flags | RANK_COMPRESSED, RPI, high]),
                    [high, low] => out.extend([flags, RPI, high, low]),
                }
            }
            Self::Down { routers } => {
                if let Some(size) = routers.len().checked_sub(1) {
                    out.extend([CRITICAL | (size.min(MAX_ROUTERS - 1)) as u8, SRH_OF_8]);
                    out.extend(routers.as_flattened());
                }
            }
        }
    }
}

/// Returns what follows the routing headers: LOWPAN_IPHC. `None` if they are not understood.
pub(crate) fn skip(bytes: &[u8]) -> Option<&[u8]> {
    let (PAGE_1, mut rest) = bytes.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    while let [dispatch, kind, ..] = *rest
        && dispatch & 0b1110_0000 == CRITICAL
    {
        let len = match kind {
            RPI => {
                let instance = if dispatch & INSTANCE_ELIDED == 0 { 1 } else { 0 };
                let rank = if dispatch & RANK_COMPRESSED == 0 { 2 } else { 1 };
                2 + instance + rank
            }
            0..=4 => 2 + (usize::from(dispatch & 0b1_1111) + 1) * (1 << kind),
            _ => return None,
        };
        rest = rest.get(len..)?;
    }
    Some(rest)
}

/// Returns the length of the headers of a packet that goes up.
pub(crate) const fn up_len(sender_rank: u16) -> usize {
    if sender_rank.is_multiple_of(256) { 4 } else { 5 }
}

/// The most hops of one SRH-6LoRH (RFC 8138, 5.1).
pub(crate) const MAX_ROUTERS: usize = 32;

const PAGE_1: u8 = 0xF1;
/// A critical 6LoRH (RFC 8138, 4.2).
const CRITICAL: u8 = 0b1000_0000;
/// R (RFC 8138, 6.3).
const RANK_ERROR: u8 = 0b1000;
const INSTANCE_ELIDED: u8 = 0b10;
const RANK_COMPRESSED: u8 = 0b1;
/// The type of the RPI-6LoRH (RFC 8138, 6.3).
const RPI: u8 = 5;
/// The type of an SRH-6LoRH whose addresses are compressed to eight bytes (RFC 8138, figure 7).
const SRH_OF_8: u8 = 3;

#[cfg(test)]
mod tests;
