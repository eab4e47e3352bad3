//! IEEE 802.15.4 without TSCH, at 2.4 GHz, under [6LoWPAN](crate::sixlowpan).
//!
//! | number | source (IEEE 802.15.4-2020) |
//! |---|---|
//! | 127 B for a frame with its FCS | aMaxPhyPacketSize, 11.3 |
//! | 21 B before the payload, 2 B FCS | FCF 2, sequence 1, PAN 2, two extended addresses of 8; no security (7.2, 7.3) |
//! | 250 kbit/s, 16 µs a symbol; 6 B before each frame | O-QPSK, 12.1; preamble, SFD and PHR. Time, but no bytes of the frame |
//! | acknowledgement 5 B, 192 µs after the frame; 864 µs until it is missed | Imm-Ack, 7.3.3; aTurnaroundTime 12 symbols; macAckWaitDuration 54 symbols |
//! | 3 retries | macMaxFrameRetries, 8.4 |
//! | before each frame 0 to 7 times 320 µs, then 128 µs and 192 µs | unslotted CSMA-CA, 6.2.5: macMinBe 3, aUnitBackoffPeriod 20 symbols; CCA 8 symbols; aTurnaroundTime |
//!
//! Not modelled: collisions (there are two stations, and they take turns), interframe spaces, security, beacons,
//! joining. An acknowledgement takes no time to travel.

#[cfg(test)]
mod tests;

use core::time::Duration;
use std::collections::VecDeque;

use crc::{CRC_16_KERMIT, Crc};
use smoltcp::wire::{
    Ieee802154Address, Ieee802154Frame, Ieee802154FrameType, Ieee802154FrameVersion, Ieee802154Pan, Ieee802154Repr,
};

use super::{Coded, Station};
use crate::Time;
use crate::cause::Cause;
use crate::decoded::Decoded;
use crate::layers::Layers;
use crate::packet::Packet;
use crate::sixlowpan::{Context, Piece, Sixlowpan};

/// The options of IEEE 802.15.4 on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ieee802154 {
    /// The length of the longest frame, FCS included.
    pub frame_len: usize,
    /// The most times that a frame is sent again; `None` if frames are not acknowledged.
    pub retries: Option<u8>,
    /// Whether a sender waits before each frame (CSMA-CA).
    pub backs_off: bool,
    /// The PAN identifier.
    pub pan: u16,
    /// 6LoWPAN's context 0: a prefix of 64 bits that is not sent. Without one only link-local addresses are short, and
    /// Wireshark needs no configuration.
    pub context: Option<[u8; 8]>,
    /// How many packets a receiver reassembles at a time.
    pub reassembly_buffers: usize,
}

impl Ieee802154 {
    /// The standard's defaults.
    pub const DEFAULT: Self =
        Self { frame_len: 127, retries: Some(3), backs_off: true, pan: 0xABCD, context: None, reassembly_buffers: 4 };
}

/// The MAC layer of one direction.
#[derive(Debug)]
pub(crate) struct Mac {
    options: Ieee802154,
    from: Station,
    to: Station,
    next_sequence: u8,
    /// The sequence numbers of the last frames that arrived.
    heard: VecDeque<u8>,
    sixlowpan: Sixlowpan,
}

impl Mac {
    pub(crate) fn new(options: &Ieee802154, from: Station, to: Station) -> Self {
        let context =
            Context { from: Some(from.eui64), to: Some(to.eui64), prefix: options.context, compresses_udp: true };
        Self {
            options: options.clone(),
            from,
            to,
            next_sequence: 0,
            heard: VecDeque::new(),
            sixlowpan: Sixlowpan::new(context, options.reassembly_buffers),
        }
    }

    pub(crate) fn encode(&mut self, packet: &Packet) -> Result<Vec<Coded>, Cause> {
        let room = self.options.frame_len.saturating_sub(HEADER_LEN + FCS_LEN);
        let pieces = self.sixlowpan.encode(packet, room)?;
        let frame = |piece: Piece| Coded {
            bytes: self.frame(&piece.bytes),
            layers: Layers { link: HEADER_LEN + FCS_LEN, ..piece.layers },
            fragment: piece.fragment,
        };
        Ok(pieces.into_iter().map(frame).collect())
    }

    pub(crate) fn decode(&mut self, now: Time, bytes: &[u8], id: u64) -> Decoded {
        let Some((sequence, payload)) = self.unframe(bytes) else { return Decoded::Dropped(Cause::Malformed) };
        // A frame whose acknowledgement was lost arrives again with the same number.
        if self.heard.contains(&sequence) {
            return Decoded::Repeated;
        }
        self.heard.push_back(sequence);
        if self.heard.len() > REMEMBERED {
            self.heard.pop_front();
        }
        let payload = payload.to_vec();
        self.sixlowpan.decode(now, &payload, id)
    }

    pub(crate) const fn sixlowpan(&mut self) -> &mut Sixlowpan {
        &mut self.sixlowpan
    }

    pub(crate) const fn sixlowpan_ref(&self) -> &Sixlowpan {
        &self.sixlowpan
    }

    fn frame(&mut self, payload: &[u8]) -> Vec<u8> {
        let pan = Ieee802154Pan(self.options.pan);
        let repr = Ieee802154Repr {
            frame_type: Ieee802154FrameType::Data,
            security_enabled: false,
            frame_pending: false,
            ack_request: self.options.retries.is_some(),
            sequence_number: Some(self.next_sequence),
            pan_id_compression: true,
            frame_version: Ieee802154FrameVersion::Ieee802154_2006,
            dst_pan_id: Some(pan),
            dst_addr: Some(Ieee802154Address::Extended(self.to.eui64)),
            src_pan_id: Some(pan),
            src_addr: Some(Ieee802154Address::Extended(self.from.eui64)),
        };
        self.next_sequence = self.next_sequence.wrapping_add(1);
        let mut bytes = vec![0; HEADER_LEN];
        repr.emit(&mut Ieee802154Frame::new_unchecked(&mut bytes));
        bytes.extend(payload);
        with_fcs(bytes)
    }

    fn unframe<'a>(&self, bytes: &'a [u8]) -> Option<(u8, &'a [u8])> {
        let (content, fcs) = bytes.split_last_chunk()?;
        if FCS.checksum(content) != u16::from_le_bytes(*fcs) {
            return None;
        }
        let frame = Ieee802154Frame::new_checked(content).ok()?;
        let for_us = frame.dst_addr() == Some(Ieee802154Address::Extended(self.to.eui64))
            && frame.dst_pan_id() == Some(Ieee802154Pan(self.options.pan));
        for_us.then_some((frame.sequence_number()?, frame.payload()?))
    }
}

/// Returns the acknowledgement of a frame (Imm-Ack).
pub(crate) fn acknowledgement(frame: &[u8]) -> Vec<u8> {
    with_fcs(vec![0x02, 0x00, frame.get(2).copied().unwrap_or(0)])
}

/// Returns how long CSMA-CA waits before a frame, with three random bits.
pub(crate) const fn back_off(random: u32) -> Duration {
    symbols(20 * (random % 8) + 8 + 12)
}

/// Returns the length of a frame on the air, with the preamble, SFD and PHR before it.
pub(crate) const fn on_air_len(len: usize) -> usize {
    len + 6
}

const fn symbols(number: u32) -> Duration {
    Duration::from_micros(16 * number as u64)
}

pub(crate) fn with_fcs(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(FCS.checksum(&bytes).to_le_bytes());
    bytes
}

/// aTurnaroundTime.
pub(crate) const TURNAROUND: Duration = symbols(12);
/// macAckWaitDuration.
pub(crate) const ACKNOWLEDGEMENT_WAIT: Duration = symbols(54);
/// The number of sequence numbers that are remembered: a late frame whose acknowledgement was lost may arrive after
/// others.
const REMEMBERED: usize = 16;
const HEADER_LEN: usize = 21;
const FCS_LEN: usize = 2;
/// The FCS of IEEE 802.15.4, 7.2.11: ITU-T's polynomial with the initial value 0.
const FCS: Crc<u16> = Crc::<u16>::new(&CRC_16_KERMIT);
