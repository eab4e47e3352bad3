//! Frames on the air: data frames and enhanced acknowledgements (IEEE 802.15.4-2020, 7.2 and 7.3).
//!
//! A [`Frame`] in a queue has no bytes: it names what it carries. Bytes are made for a capture only.

use crate::asn::Asn;
use crate::link::ieee802154::with_fcs;

/// A frame that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) content: Content,
    /// The neighbour, or [`BROADCAST`].
    pub(super) next_hop: u16,
    /// How often the frame was sent in vain.
    pub(super) tries: u8,
    /// The sequence number, from the first transmission on.
    pub(super) sequence: Option<u8>,
    /// The first slot in which the frame can be sent.
    pub(super) ready: Asn,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A packet, or a fragment of one.
    Piece(Piece),
    /// A 6P message, by its number in the table.
    Sixp(u32),
    /// A packet for all neighbours, by its number in the table.
    Multicast(u32),
    /// Nothing: the acknowledgement tells the time.
    KeepAlive,
    /// An Enhanced Beacon, which is made when it is sent and never waits.
    Beacon,
}

/// A packet, or a fragment of one, on one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The number of the packet in the table.
    pub(super) datagram: u32,
    /// The index of the fragment; 0 for a packet that is not fragmented.
    pub(super) index: u8,
    /// How many routers have forwarded the packet.
    pub(super) hop: u8,
    /// The RPL Packet Information of the first fragment of a packet that goes up.
    pub(super) information: Information,
}

/// What the RPL Packet Information says of a packet that goes up (RFC 6550, 11.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Information {
    /// SenderRank.
    pub(super) sender_rank: u16,
    /// R: a router has met a Rank that was not greater than its own.
    pub(super) rank_error: bool,
}

impl Frame {
    /// Creates a frame that was not sent yet.
    pub(super) const fn new(content: Content, next_hop: u16, ready: Asn) -> Self {
        Self { content, next_hop, tries: 0, sequence: None, ready }
    }

    /// Returns the packet, or the fragment, if the frame has one.
    pub(super) const fn piece(&self) -> Option<Piece> {
        match self.content {
            Content::Piece(piece) => Some(piece),
            _ => None,
        }
    }

    /// Whether the frame goes before those with packets.
    pub(super) const fn comes_first(&self) -> bool {
        matches!(self.content, Content::Sixp(_) | Content::KeepAlive)
    }
}

/// The next hop of frames for all neighbours. No node has this number: there are 65,535 at most.
pub(super) const BROADCAST: u16 = u16::MAX;

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
        self.frame(DATA, payload)
    }

    /// Returns a data frame with information elements and no payload, which asks for an acknowledgement.
    pub(super) fn elements(&self, elements: &[u8]) -> Vec<u8> {
        self.frame(DATA | ELEMENTS, elements)
    }

    /// Returns a data frame for all neighbours.
    pub(super) fn broadcast(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend(BROADCAST_DATA.to_le_bytes());
        bytes.push(self.sequence);
        bytes.extend(self.pan.to_le_bytes());
        bytes.extend(BROADCAST_ADDRESS.to_le_bytes());
        bytes.extend(self.from.iter().rev());
        bytes.extend(payload);
        with_fcs(bytes)
    }

    fn frame(&self, frame_control: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = self.begin(frame_control);
        bytes.extend(content);
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

/// The same of a frame for all neighbours: a short destination address instead of an extended one.
pub(super) const BROADCAST_OVERHEAD: usize = 17;

/// The length of an enhanced acknowledgement: a data frame's header with a time correction IE of 4, and the FCS.
pub(super) const ACKNOWLEDGEMENT_LEN: usize = 27;

/// Frame control (IEEE 802.15.4-2020, 7.2.2) of both kinds of frames: version 2, both addresses extended, a destination PAN.
const BOTH: u16 = 0xEC00;
/// Type 1, with AR: an acknowledgement is requested.
const DATA: u16 = BOTH | 0x0021;
/// Information elements are present.
const ELEMENTS: u16 = 0x0200;
/// Version 2, source extended, destination short, PAN ID compression, type 1; no acknowledgement is requested.
const BROADCAST_DATA: u16 = 0xE841;
const BROADCAST_ADDRESS: u16 = 0xFFFF;
/// Type 2, with an information element.
const ENHANCED_ACKNOWLEDGEMENT: u16 = BOTH | 0x0202;
/// A header IE of two bytes, element 0x1e: time correction (7.4.2.7).
const TIME_CORRECTION: [u8; 4] = [0x02, 0x0F, 0, 0];
const LONGEST: usize = 127;

#[cfg(test)]
mod tests;
