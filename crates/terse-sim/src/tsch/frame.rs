//! Frames on the air: data frames and enhanced acknowledgements (IEEE 802.15.4-2020, 7.2 and 7.3).
//!
//! A [`Frame`] in a queue has no bytes: it names its packet and the fragment. Bytes are made for a capture only.

use super::clock::Asn;
use crate::link::ieee802154::with_fcs;

/// A frame that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The number of the packet in the table.
    pub(super) datagram: u32,
    /// The index of the fragment; 0 for a packet that is not fragmented.
    pub(super) piece: u8,
    /// How many routers have forwarded the packet.
    pub(super) hop: u8,
    pub(super) next_hop: u16,
    /// How often the frame was sent in vain.
    pub(super) tries: u8,
    /// The sequence number, from the first transmission on.
    pub(super) sequence: Option<u8>,
    /// The first slot in which the frame can be sent.
    pub(super) ready: Asn,
}

/// The addresses and the number in the header of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) pan: u16,
    pub(super) from: [u8; 8],
    pub(super) to: [u8; 8],
    pub(super) sequence: u8,
}

impl Header {
    /// Returns a data frame that asks for an acknowledgement.
    pub(super) fn data(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = self.begin(DATA);
        bytes.extend(payload);
        with_fcs(bytes)
    }

    /// Returns the enhanced acknowledgement of a frame with this header: its addresses are exchanged, and it has a time
    /// correction of 0.
    pub(super) fn acknowledgement(&self) -> Vec<u8> {
        let answer = Self { from: self.to, to: self.from, ..*self };
        let mut bytes = answer.begin(ENHANCED_ACKNOWLEDGEMENT);
        bytes.extend(TIME_CORRECTION);
        with_fcs(bytes)
    }

    fn begin(&self, frame_control: u16) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend(frame_control.to_le_bytes());
        bytes.push(self.sequence);
        bytes.extend(self.pan.to_le_bytes());
        // Addresses are sent from the last octet on (IEEE 802.15.4-2020, 7.1).
        bytes.extend(self.to.iter().rev());
        bytes.extend(self.from.iter().rev());
        bytes
    }
}

/// The header of a data frame, and its FCS: frame control 2, sequence number 1, PAN 2, two extended addresses of 8; 2.
pub(super) const OVERHEAD: usize = 23;

/// The length of an enhanced acknowledgement: a data frame's header with a time correction IE of 4, and the FCS.
pub(super) const ACKNOWLEDGEMENT_LEN: usize = 27;

/// Frame control (IEEE 802.15.4-2020, 7.2.2) of both kinds of frames: version 2, both addresses extended, a destination PAN.
const BOTH: u16 = 0xEC00;
/// Type 1, with AR: an acknowledgement is requested.
const DATA: u16 = BOTH | 0x0021;
/// Type 2, with an information element.
const ENHANCED_ACKNOWLEDGEMENT: u16 = BOTH | 0x0202;
/// A header IE of two bytes, element 0x1e: time correction (7.4.2.7).
const TIME_CORRECTION: [u8; 4] = [0x02, 0x0F, 0, 0];
const LONGEST: usize = 127;

#[cfg(test)]
mod tests;
