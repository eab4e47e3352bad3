//! Autonomous cells (RFC 9033, 3): every node knows those of every other one.

use super::options::AutonomousHash;
use crate::sixtop::message::SixpCell;

/// Returns the cell in which the node with this EUI-64 listens, and others send to it without having negotiated: any but the
/// first slot of the slotframe, which has `slotframe_length` slots, and one of `channel_offsets` channel offsets.
pub(crate) fn autonomous_cell(
    hash: AutonomousHash,
    eui64: [u8; 8],
    slotframe_length: u16,
    channel_offsets: u16,
) -> SixpCell {
    let slots = slotframe_length.saturating_sub(1).max(1);
    let hash = |most: u16| match hash {
        AutonomousHash::Sax => sax(eui64, most),
        AutonomousHash::OpenWsn => u16::from_be_bytes([eui64[6], eui64[7]]) % most,
    };
    SixpCell::new(1 + hash(slots), hash(channel_offsets.max(1)))
}

/// The hash function SAX (RFC 9033, appendix A), for a table of `length` places, which is not 0.
fn sax(eui64: [u8; 8], length: u16) -> u16 {
    let step = |hash: u32, byte: u8| {
        let sum = (hash << L_BIT) + (hash >> R_BIT) + u32::from(byte);
        (sum ^ hash) % u32::from(length)
    };
    eui64.into_iter().fold(H0, step) as u16 // less than the length
}

const H0: u32 = 0;
const L_BIT: u32 = 0;
const R_BIT: u32 = 1;
