//! The Enhanced Beacon (IEEE 802.15.4-2020, 7.3.1 and 7.4) with what RFC 8180, 4.5.2, wants in it: time and Join Metric, the
//! timeslot, the hopping sequence, and the cells with which a node begins.
//!
//! What must always hold: reading does not panic, whatever it is given; what was written is read back. There is no security.

use crate::link::ieee802154::with_fcs;

/// An Enhanced Beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnhancedBeacon {
    pub(crate) pan: u16,
    /// The EUI-64 of the sender.
    pub(crate) source: [u8; 8],
    pub(crate) sequence: u8,
    /// The absolute slot number, of which 40 bits are sent.
    pub(crate) asn: u64,
    /// The lower, the closer to the root: DAGRank - 1 (RFC 8180, 6.1).
    pub(crate) join_metric: u8,
    /// macTimeslotTemplateId: 0 is the standard's.
    pub(crate) timeslot: u8,
    /// macHoppingSequenceId: 0 is the standard's.
    pub(crate) hopping_sequence: u8,
    pub(crate) slotframes: Vec<Slotframe>,
}

/// A slotframe, and its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slotframe {
    pub(crate) handle: u8,
    /// In slots.
    pub(crate) size: u16,
    pub(crate) links: Vec<Link>,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) slot: u16,
    pub(crate) channel_offset: u16,
    /// Bits from the lowest: TX, RX, Shared, Timekeeping, Priority (RFC 8180, 4.2).
    pub(crate) options: u8,
}

impl Link {
    /// TX, RX, Shared and Timekeeping.
    pub(crate) const MINIMAL_OPTIONS: u8 = 0x0F;
}

impl EnhancedBeacon {
    /// Returns a beacon with the schedule of RFC 8180, 4.1: one cell in slot 0 on channel offset 0.
    pub(crate) fn minimal(pan: u16, source: [u8; 8], asn: u64, join_metric: u8, slotframe: u16) -> Self {
        let link = Link { slot: 0, channel_offset: 0, options: Link::MINIMAL_OPTIONS };
        let slotframes = vec![Slotframe { handle: 0, size: slotframe, links: vec![link] }];
        Self { pan, source, sequence: 0, asn, join_metric, timeslot: 0, hopping_sequence: 0, slotframes }
    }

    /// Returns the frame, its FCS included. Fails if it has more slotframes or cells than a frame has room for.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend(FRAME_CONTROL.to_le_bytes());
        bytes.push(self.sequence);
        bytes.extend(self.pan.to_le_bytes());
        bytes.extend(BROADCAST.to_le_bytes());
        // Addresses are sent from the last octet on.
        bytes.extend(self.source.iter().rev());
        self.encode_elements(&mut bytes);
        (bytes.len() <= LONGEST - FCS_LEN).then(|| with_fcs(bytes))
    }

    /// Reads a frame, its FCS included. Returns `None` for all other frames, and for beacons that lack time or schedule.
    pub(crate) fn parse(frame: &[u8]) -> Option<Self> {
        let (content, fcs) = frame.split_last_chunk::<FCS_LEN>()?;
        if with_fcs(content.to_vec()).last_chunk() != Some(fcs) {
            return None;
        }
        let (header, elements) = content.split_first_chunk::<HEADER_LEN>()?;
        let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        if word(0) != FRAME_CONTROL || word(5) != BROADCAST {
            return None;
        }
        let mut source: [u8; 8] = *header.last_chunk()?;
        source.reverse();
        let mut beacon = Self {
            pan: word(3),
            source,
            sequence: header[2],
            asn: 0,
            join_metric: 0,
            timeslot: 0,
            hopping_sequence: 0,
            slotframes: Vec::new(),
        };
        beacon.take_elements(elements)?;
        Some(beacon)
    }

    fn encode_elements(&self, bytes: &mut Vec<u8>) {
        let mut nested = Vec::new();
        let mut short = |id: u8, content: &[u8]| {
            // A content that does not fit into its length does not fit into a frame, either.
            nested.extend((u16::from(id) << 8 | content.len() as u16 & 0xFF).to_le_bytes());
            nested.extend(content);
        };
        let mut time = self.asn.to_le_bytes()[..ASN_LEN].to_vec();
        time.push(self.join_metric);
        short(sub_id::TSCH_SYNCHRONIZATION, &time);
        short(sub_id::TSCH_TIMESLOT, &[self.timeslot]);
        // The only one with a long descriptor here: type 1, four bits of ID, eleven of length.
        nested.extend((0x8000 | u16::from(sub_id::CHANNEL_HOPPING) << 11 | 1).to_le_bytes());
        nested.push(self.hopping_sequence);
        let mut schedule = vec![self.slotframes.len() as u8];
        for Slotframe { handle, size, links } in &self.slotframes {
            schedule.push(*handle);
            schedule.extend(size.to_le_bytes());
            schedule.push(links.len() as u8);
            for Link { slot, channel_offset, options } in links {
                schedule.extend(slot.to_le_bytes());
                schedule.extend(channel_offset.to_le_bytes());
                schedule.push(*options);
            }
        }
        nested.extend((u16::from(sub_id::TSCH_SLOTFRAME_AND_LINK) << 8).to_le_bytes());
        let at = nested.len() - 2;
        nested[at] = schedule.len().min(255) as u8;
        nested.extend(schedule);
        bytes.extend(HEADER_TERMINATION_1.to_le_bytes());
        bytes.extend((0x8000 | MLME << 11 | nested.len() as u16 & 0x07FF).to_le_bytes());
        bytes.extend(nested);
    }

    /// Reads the information elements: the end of the header's, and the MLME's nested ones. Others are passed over.
    fn take_elements(&mut self, bytes: &[u8]) -> Option<()> {
        let (termination, mut rest) = take_word(bytes)?;
        if termination != HEADER_TERMINATION_1 {
            return None;
        }
        let (mut has_time, mut has_schedule) = (false, false);
        while !rest.is_empty() {
            let (descriptor, after) = take_word(rest)?;
            let (content, after) = after.split_at_checked(usize::from(descriptor & 0x07FF))?;
            rest = after;
            if descriptor >> 11 != 0x10 | MLME {
                continue;
            }
            let mut nested = content;
            while !nested.is_empty() {
                let (descriptor, after) = take_word(nested)?;
                let is_long = descriptor & 0x8000 != 0;
                let len = if is_long { descriptor & 0x07FF } else { descriptor & 0xFF };
                let id = (if is_long { descriptor >> 11 & 0x0F } else { descriptor >> 8 & 0x7F }) as u8;
                let (content, after) = after.split_at_checked(len.into())?;
                nested = after;
                match id {
                    sub_id::TSCH_SYNCHRONIZATION if !is_long => {
                        let [a, b, c, d, e, join_metric] = *content.first_chunk()?;
                        self.asn = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
                        (self.join_metric, has_time) = (join_metric, true);
                    }
                    sub_id::TSCH_TIMESLOT if !is_long => self.timeslot = *content.first()?,
                    sub_id::CHANNEL_HOPPING if is_long => self.hopping_sequence = *content.first()?,
                    sub_id::TSCH_SLOTFRAME_AND_LINK if !is_long => {
                        self.slotframes = slotframes(content)?;
                        has_schedule = true;
                    }
                    _ => {}
                }
            }
        }
        (has_time && has_schedule).then_some(())
    }
}

/// Reads the content of a TSCH Slotframe and Link IE.
fn slotframes(content: &[u8]) -> Option<Vec<Slotframe>> {
    let (count, mut rest) = content.split_first()?;
    let mut all = Vec::new();
    for _ in 0..*count {
        let ([handle, low, high, links], after) = rest.split_first_chunk()?;
        let (cells, after) = after.split_at_checked(usize::from(*links) * LINK_LEN)?;
        rest = after;
        let link = |[s, t, c, d, options]: &[u8; LINK_LEN]| Link {
            slot: u16::from_le_bytes([*s, *t]),
            channel_offset: u16::from_le_bytes([*c, *d]),
            options: *options,
        };
        let links = cells.as_chunks().0.iter().map(link).collect();
        all.push(Slotframe { handle: *handle, size: u16::from_le_bytes([*low, *high]), links });
    }
    Some(all)
}

fn take_word(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u16::from_le_bytes(*word), rest))
}

/// Frame control (7.2.2): type 0, PAN ID compression (the destination's PAN alone), information elements, destination short,
/// version 2, source extended.
const FRAME_CONTROL: u16 = 0xEA40;
const BROADCAST: u16 = 0xFFFF;
/// Frame control 2, sequence number 1, PAN 2, destination 2, source 8.
const HEADER_LEN: usize = 15;
const FCS_LEN: usize = 2;
const ASN_LEN: usize = 5;
const LINK_LEN: usize = 5;
/// aMaxPhyPacketSize.
const LONGEST: usize = 127;
/// Header Termination 1: payload information elements follow (7.4.1): element 0x7e, length 0.
const HEADER_TERMINATION_1: u16 = 0x3F00;
/// The group of the MLME's payload information element (7.4.3).
const MLME: u16 = 1;

/// The nested information elements (7.4.4).
mod sub_id {
    pub(super) const CHANNEL_HOPPING: u8 = 0x09;
    pub(super) const TSCH_SYNCHRONIZATION: u8 = 0x1A;
    pub(super) const TSCH_SLOTFRAME_AND_LINK: u8 = 0x1B;
    pub(super) const TSCH_TIMESLOT: u8 = 0x1C;
}

#[cfg(test)]
mod tests;
