//! Captures of a mesh: frames with IEEE 802.15.4 TAP headers, of all nodes or of one, and the IPv6 packets at the gateway.

use core::iter;

use super::Mesh;
use crate::Time;
use crate::asn::Asn;
use crate::capture::{Capture, Tap, View};
use crate::direction::Direction;
use crate::packet::Packet;

/// A tap on a mesh.
#[derive(Debug)]
pub(super) struct MeshTap {
    tap: Tap,
    /// The node whose frames are captured; `None` for all.
    node: Option<u16>,
}

impl MeshTap {
    pub(super) fn capture(&self) -> Capture {
        self.tap.capture()
    }
}

impl Mesh {
    /// Begins a capture: of all frames, or of those that one node sends and receives, or of the packets at the gateway. A frame to
    /// a node alone is in its capture also if it was lost, a frame for all only if the node has heard it.
    pub(crate) fn tap(&mut self, view: View, node: Option<u16>) {
        let name = match (view, node) {
            (View::Packets, _) => format!("{} (IP)", self.config.name),
            (View::Frames, None) => self.config.name.clone(),
            (View::Frames, Some(node)) => format!("{} (node {node})", self.config.name),
        };
        self.taps.push(MeshTap { tap: Tap::of_mesh(name, view), node });
    }

    /// Captures a frame in all taps that want it. `concerns` says of a node whether it sends the frame, or receives it.
    pub(super) fn capture_frame(
        &mut self,
        at: Time,
        (asn, channel): (Asn, u8),
        concerns: impl Fn(u16) -> bool,
        direction: Direction,
        is_lost: bool,
        frame: impl FnOnce(&Self) -> Vec<u8>,
    ) {
        let wants = |tap: &MeshTap| tap.tap.view() == View::Frames && tap.node.is_none_or(&concerns);
        if !self.taps.iter().any(wants) {
            return;
        }
        let bytes = [&tap_header(asn, channel)[..], &frame(self)].concat();
        for tap in self.taps.iter_mut().filter(|tap| wants(tap)) {
            let number = tap.tap.note(at, direction, &bytes);
            tap.tap.decide(number, is_lost);
        }
    }

    /// Captures a packet at the gateway.
    pub(super) fn capture_packet(&mut self, at: Time, direction: Direction, packet: &Packet) {
        for tap in self.taps.iter_mut().filter(|tap| tap.tap.view() == View::Packets) {
            tap.tap.note(at, direction, packet.bytes());
        }
    }
}

/// Returns the header of link type 283: version 0, and a list of types, lengths and values in 4 bytes each.
fn tap_header(asn: Asn, channel: u8) -> Vec<u8> {
    let channel = u16::from(channel).to_le_bytes();
    let values: [(u16, Vec<u8>); 3] = [
        (FCS_TYPE, vec![FCS_OF_16_BITS]),
        (CHANNEL_ASSIGNMENT, vec![channel[0], channel[1], PAGE_0]),
        (ABSOLUTE_SLOT_NUMBER, asn.0.to_le_bytes().to_vec()),
    ];
    let mut list = Vec::new();
    for (kind, value) in values {
        list.extend(kind.to_le_bytes());
        list.extend((value.len() as u16).to_le_bytes());
        let padding = value.len().next_multiple_of(4) - value.len();
        list.extend(value);
        list.extend(iter::repeat_n(0, padding));
    }
    let mut header = vec![0, 0];
    header.extend((list.len() as u16 + 4).to_le_bytes());
    header.extend(list);
    header
}

/// Types of the TAP link type's values (IEEE 802.15.4 TAP Link Type Specification, 3).
const FCS_TYPE: u16 = 0;
const CHANNEL_ASSIGNMENT: u16 = 3;
const ABSOLUTE_SLOT_NUMBER: u16 = 7;
const FCS_OF_16_BITS: u8 = 1;
/// Channel page 0: 2.4 GHz, O-QPSK.
const PAGE_0: u8 = 0;
