//! The frames of one handshake, one after the other, for a picture of how it went.
//!
//! What must always hold: the frames of the handshake are those that [`Air`](super::Air) counts, and they are in the order of sending.

use core::time::Duration;

use crate::direction::Direction;
use crate::ledger::{Fate, Kind, Record};

/// The frames of a handshake, and those of the network itself meanwhile, without acknowledgements of the MAC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The motes on the client's way to the root when it began, the client first and the root last.
    pub motes: Vec<u16>,
    /// The frames of the handshake, whoever sent them, and those that motes on the way sent to keep the network. Of a longer run
    /// these are the first [`MOST_FRAMES`].
    pub frames: Vec<TimelineFrame>,
}

/// A frame of a [`Timeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineFrame {
    /// When it was sent, since the client began.
    pub at: Duration,
    /// The mote that sent it.
    pub sender: u16,
    /// Whether it went towards the root, or away from it.
    pub direction: Direction,
    /// The purpose of the packet in it.
    pub kind: Kind,
    /// How often the MAC had sent it before.
    pub attempt: u8,
    /// Whether it arrived.
    pub has_arrived: bool,
    /// Its bytes.
    pub bytes: u16,
    /// Whether it is one of the handshake; the others are of the network itself.
    pub is_of_handshake: bool,
}

/// The most frames that a timeline has.
pub const MOST_FRAMES: usize = 5_000;

impl TimelineFrame {
    /// Returns the frame of a record, if the client began before it was sent.
    pub(super) fn new(record: &Record, began: crate::Time) -> Option<Self> {
        Some(Self {
            at: (record.at >= began).then(|| record.at.since(began))?,
            sender: record.sender,
            direction: record.direction,
            kind: record.kind,
            attempt: record.attempt,
            has_arrived: record.fate == Fate::Delivered,
            bytes: record.layers.sum() as u16, // a frame has 127 at most
            is_of_handshake: !record.kind.is_of_network(),
        })
    }
}

#[cfg(test)]
mod tests;
