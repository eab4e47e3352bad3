//! A node of the mesh: its queue, its frame buffers, and what it knows of packets that are not complete.

use std::collections::{BTreeMap, VecDeque};

use super::MeshStatistics;
use super::clock::Asn;
use super::config::{MacOptions, PoolOptions};
use super::frame::Frame;
use super::pool::Pool;
use super::schedule::{Cell, CellKind, Schedule};
use crate::Time;

/// A node.
#[derive(Debug)]
pub(super) struct Mote {
    pub(super) eui64: [u8; 8],
    pub(super) parent: Option<u16>,
    /// How many hops away the root is.
    pub(super) depth: u8,
    pub(super) schedule: Schedule,
    pub(super) queue: VecDeque<Frame>,
    pub(super) pool: Pool,
    pub(super) back_off: BackOff,
    /// Packets of which fragments wait for others.
    pub(super) partial: Vec<Partial>,
    /// Packets whose fragments are forwarded: virtual reassembly buffers (RFC 8930).
    pub(super) forwarding: Vec<Forwarding>,
    pub(super) statistics: MeshStatistics,
    next_sequence: u8,
    /// The sequence number of the last frame from each neighbour: a frame whose acknowledgement was lost comes again.
    heard: BTreeMap<u16, u8>,
}

/// Fragments of a packet that wait for others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    pub(super) datagram: u32,
    /// The fragments that came, a bit each.
    pub(super) pieces: u64,
}

/// A packet whose fragments are forwarded as they come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forwarding {
    /// The number of the packet; its place in the table may be another one's by now.
    pub(super) number: u64,
    /// The fragments that did not come yet, a bit each.
    pub(super) missing: u64,
    pub(super) until: Time,
}

/// The back-off in shared cells (IEEE 802.15.4-2020, 6.2.5.3): how many of them pass by before the node sends there again.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackOff {
    exponent: u8,
    /// The first slot in which the node sends in a shared cell again.
    pub(super) until: Asn,
}

impl BackOff {
    const fn new(mac: &MacOptions) -> Self {
        Self { exponent: mac.min_be, until: Asn(0) }
    }

    /// Handles an acknowledgement in a shared cell.
    pub(super) const fn succeeded(&mut self, mac: &MacOptions) {
        *self = Self::new(mac);
    }

    /// Handles a transmission in a shared cell without an acknowledgement. `random` decides how many cells pass by.
    pub(super) fn failed(&mut self, mac: &MacOptions, schedule: &Schedule, asn: Asn, random: u64) {
        let skipped = random & ((1 << self.exponent) - 1);
        self.until = schedule.shared_after(asn, skipped);
        self.exponent = (self.exponent + 1).min(mac.max_be);
    }
}

impl Mote {
    pub(super) fn new(
        (eui64, parent, depth): ([u8; 8], Option<u16>, u8),
        schedule: Schedule,
        pool: PoolOptions,
        mac: &MacOptions,
    ) -> Self {
        Self {
            eui64,
            parent,
            depth,
            schedule,
            queue: VecDeque::new(),
            pool: Pool::new(pool),
            back_off: BackOff::new(mac),
            partial: Vec::new(),
            forwarding: Vec::new(),
            statistics: MeshStatistics::default(),
            next_sequence: 0,
            heard: BTreeMap::new(),
        }
    }

    /// Returns the first slot from `asn` on in which the node has something to send.
    pub(super) fn next_opportunity(&self, mac: &MacOptions, asn: Asn) -> Option<Asn> {
        if self.queue.is_empty() {
            return None;
        }
        let in_cell = |cell: &Cell| {
            let from = match cell.kind {
                CellKind::Shared => {
                    self.queue.front().filter(|_| mac.unicast_in_shared_cells)?.ready.max(self.back_off.until)
                }
                _ => self.queue.iter().find(|frame| Some(frame.next_hop) == cell.peer)?.ready,
            };
            Some(self.schedule.next(cell, from.max(asn)))
        };
        self.schedule.sending().filter_map(in_cell).min()
    }

    /// Returns the cell in which the node sends in this slot, and the index of the frame.
    pub(super) fn choose(&self, mac: &MacOptions, asn: Asn) -> Option<(Cell, usize)> {
        if self.queue.is_empty() {
            return None;
        }
        self.schedule.sending().filter(|cell| self.schedule.occurs(cell, asn)).find_map(|cell| {
            let index = match cell.kind {
                CellKind::Shared => {
                    let may_send = mac.unicast_in_shared_cells && self.back_off.until <= asn;
                    self.queue.front().filter(|frame| may_send && frame.ready <= asn).map(|_| 0)
                }
                _ => self.queue.iter().position(|frame| Some(frame.next_hop) == cell.peer && frame.ready <= asn),
            };
            index.map(|index| (*cell, index))
        })
    }

    /// Returns the sequence number of a frame, which it keeps when it is sent again.
    pub(super) fn number(&mut self, index: usize) -> u8 {
        let frame = &mut self.queue[index];
        *frame.sequence.get_or_insert_with(|| {
            let sequence = self.next_sequence;
            self.next_sequence = sequence.wrapping_add(1);
            sequence
        })
    }

    /// Whether a frame from a neighbour came before. It is remembered from now on.
    pub(super) fn has_heard(&mut self, from: u16, sequence: u8) -> bool {
        self.heard.insert(from, sequence) == Some(sequence)
    }

    /// Notes that a fragment came. Returns all that came of the packet, and whether it is the first one.
    pub(super) fn collect(&mut self, datagram: u32, piece: u8) -> (u64, bool) {
        let bit = 1 << piece;
        match self.partial.iter_mut().find(|partial| partial.datagram == datagram) {
            Some(partial) => {
                partial.pieces |= bit;
                (partial.pieces, false)
            }
            None => {
                self.partial.push(Partial { datagram, pieces: bit });
                (bit, true)
            }
        }
    }

    /// Takes the fragments of a packet.
    pub(super) fn take_partial(&mut self, datagram: u32) -> Option<Partial> {
        let index = self.partial.iter().position(|partial| partial.datagram == datagram)?;
        Some(self.partial.swap_remove(index))
    }
}
