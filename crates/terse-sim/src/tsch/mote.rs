//! A node of the mesh: its queue, its frame buffers, and what it knows of packets that are not complete.

use std::collections::{BTreeMap, VecDeque};

use super::config::{MacOptions, PoolOptions};
use super::firsts::Firsts;
use super::formation::{AUTONOMOUS, MINIMAL};
use super::frame::{BROADCAST, Frame};
use super::pool::Pool;
use super::power::Power;
use super::schedule::{Cell, CellKind, Schedule};
use super::stack::Stack;
use super::{MeshStatistics, Share};
use crate::Time;
use crate::asn::Asn;
use crate::sixtop::message::SixpCell;

/// A node.
#[derive(Debug)]
pub(super) struct Mote {
    pub(super) eui64: [u8; 8],
    pub(super) parent: Option<u16>,
    /// What a node of a network that forms itself runs.
    pub(super) stack: Option<Box<Stack>>,
    pub(super) power: Power,
    pub(super) schedule: Schedule,
    pub(super) queue: VecDeque<Frame>,
    pub(super) pool: Pool,
    /// The back-off in the cells that all share, and in the autonomous cells of neighbours.
    pub(super) back_off: BackOff,
    pub(super) back_offs: Vec<(u16, BackOff)>,
    /// Packets of which fragments wait for others.
    pub(super) partial: Vec<Partial>,
    /// Packets whose fragments are forwarded: virtual reassembly buffers (RFC 8930).
    pub(super) forwarding: Vec<Forwarding>,
    pub(super) statistics: MeshStatistics,
    /// The frames on the air for its host.
    pub(super) share: Share,
    next_sequence: u8,
    /// macEbsn: beacons are numbered by themselves.
    next_beacon: u8,
    /// The sequence number of the last frame from each neighbour: a frame whose acknowledgement was lost comes again.
    heard: BTreeMap<u16, (u8, Asn)>,
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
    /// Where the first one went: all others follow it, though the parent may be another one by now.
    pub(super) next_hop: u16,
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

    /// Handles a transmission without an acknowledgement in a shared cell, of which another one comes after so many slots.
    /// `random` decides how many pass by.
    const fn failed(&mut self, mac: &MacOptions, random: u64) -> u64 {
        let skipped = random & ((1 << self.exponent) - 1);
        self.exponent = if self.exponent < mac.max_be { self.exponent + 1 } else { mac.max_be };
        skipped
    }
}

impl Mote {
    pub(super) fn new(
        eui64: [u8; 8],
        parent: Option<u16>,
        schedule: Schedule,
        pool: PoolOptions,
        mac: &MacOptions,
    ) -> Self {
        Self {
            eui64,
            parent,
            stack: None,
            power: Power::default(),
            schedule,
            queue: VecDeque::new(),
            pool: Pool::new(pool),
            back_off: BackOff::new(mac),
            back_offs: Vec::new(),
            partial: Vec::new(),
            forwarding: Vec::new(),
            statistics: MeshStatistics::default(),
            share: Share::default(),
            next_sequence: 0,
            next_beacon: 0,
            heard: BTreeMap::new(),
        }
    }

    /// Returns the first slot from `asn` on in which the node has something to send. `autonomous` are the cells in which nodes
    /// listen for all.
    pub(super) fn next_opportunity(
        &self,
        mac: &MacOptions,
        autonomous: &[SixpCell],
        firsts: &mut Firsts,
        asn: Asn,
    ) -> Option<Asn> {
        let mut first = self.next_beacon(asn);
        self.opportunities(mac, autonomous, firsts, |cell, from, _| {
            let at = self.schedule.next(cell, from.max(asn));
            first = Some(first.map_or(at, |first| first.min(at)));
        });
        first
    }

    /// Returns the cell in which the node sends in this slot, and the index of the frame: `None` for a beacon. Of several cells
    /// that of the lowest slotframe counts.
    pub(super) fn choose(
        &self,
        mac: &MacOptions,
        autonomous: &[SixpCell],
        firsts: &mut Firsts,
        asn: Asn,
    ) -> Option<(Cell, Option<usize>)> {
        let mut best: Option<(Cell, Option<usize>)> = None;
        self.opportunities(mac, autonomous, firsts, |cell, from, index| {
            let is_better = best.is_none_or(|(best, _)| cell.slotframe < best.slotframe);
            if from <= asn && is_better && self.schedule.occurs(cell, asn) {
                best = Some((*cell, Some(index)));
            }
        });
        if best.is_some_and(|(cell, _)| cell.slotframe == MINIMAL) || self.next_beacon(asn) != Some(asn) {
            return best;
        }
        self.minimal_cell().map(|cell| (*cell, None)).or(best)
    }

    /// Visits the cells in which the node could send something, each with the first slot in which it may, and the index of the
    /// frame.
    fn opportunities(
        &self,
        mac: &MacOptions,
        autonomous: &[SixpCell],
        firsts: &mut Firsts,
        mut visit: impl FnMut(&Cell, Asn, usize),
    ) {
        if self.queue.is_empty() {
            return;
        }
        firsts.find(&self.queue);
        for cell in self.schedule.sending() {
            let found = match (cell.kind, cell.peer) {
                (CellKind::Shared, _) => match firsts.of(BROADCAST) {
                    Some(index) => Some((index, self.queue[index].ready)),
                    None if mac.unicast_in_shared_cells => {
                        let first = firsts.of_all().next();
                        first.map(|(_, index)| (index, self.queue[index].ready.max(self.back_off.until)))
                    }
                    None => None,
                },
                (_, Some(peer)) => firsts.of(peer).map(|index| (index, self.queue[index].ready)),
                (_, None) => None,
            };
            if let Some((index, from)) = found {
                visit(cell, from, index);
            }
        }
        if self.stack.is_none() {
            return;
        }
        for (peer, index) in firsts.of_all() {
            // RFC 9033, 3: the AutoTxCell is there as long as no negotiated cell is.
            let Some(cell) = autonomous.get(usize::from(peer)).filter(|_| !self.schedule.sends_to(peer)) else {
                continue;
            };
            let cell = Cell {
                slotframe: AUTONOMOUS,
                slot: cell.slot_offset,
                channel_offset: cell.channel_offset as u8, // below 16
                kind: CellKind::Shared,
                peer: Some(peer),
            };
            visit(&cell, self.queue[index].ready.max(self.backs_off_until(peer)), index);
        }
    }

    /// Returns the slot in which the node sends its next beacon, if that is `asn` or later.
    fn next_beacon(&self, asn: Asn) -> Option<Asn> {
        self.stack.as_ref()?.joined()?.beacon_at.filter(|at| *at >= asn)
    }

    fn minimal_cell(&self) -> Option<&Cell> {
        self.schedule.cells().first().filter(|cell| cell.slotframe == MINIMAL)
    }

    /// Handles a transmission in a shared cell, and whether it was acknowledged. `random` decides how many such cells pass by if it
    /// was not: those of the neighbour, if it is an autonomous cell.
    pub(super) fn note_shared(
        &mut self,
        mac: &MacOptions,
        (cell, asn): (&Cell, Asn),
        is_acknowledged: bool,
        random: u64,
    ) {
        let Some(peer) = cell.peer else {
            if is_acknowledged {
                self.back_off = BackOff::new(mac);
            } else {
                let skipped = self.back_off.failed(mac, random);
                self.back_off.until = self.schedule.shared_after(asn, skipped);
            }
            return;
        };
        if is_acknowledged {
            return self.back_offs.retain(|(other, _)| *other != peer);
        }
        let index = self.back_offs.iter().position(|(other, _)| *other == peer).unwrap_or_else(|| {
            self.back_offs.push((peer, BackOff::new(mac)));
            self.back_offs.len() - 1
        });
        let back_off = &mut self.back_offs[index].1;
        back_off.until = asn + (back_off.failed(mac, random) + 1) * self.schedule.length(cell);
    }

    /// Returns the first slot in which the node sends in a neighbour's autonomous cell again.
    fn backs_off_until(&self, peer: u16) -> Asn {
        self.back_offs.iter().find(|(other, _)| *other == peer).map_or(Asn(0), |(_, back_off)| back_off.until)
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

    /// Returns the sequence number of a beacon that is sent now (IEEE 802.15.4-2020, 7.3.1).
    pub(super) const fn number_beacon(&mut self) -> u8 {
        let sequence = self.next_beacon;
        self.next_beacon = sequence.wrapping_add(1);
        sequence
    }

    /// Whether a frame from a neighbour came before, not longer ago than `longest` slots, after which nobody repeats one. It is
    /// remembered from now on.
    pub(super) fn has_heard(&mut self, from: u16, sequence: u8, asn: Asn, longest: u64) -> bool {
        let last = self.heard.insert(from, (sequence, asn));
        last.is_some_and(|(last, at)| last == sequence && asn.0 - at.0 <= longest)
    }

    /// Forgets all that a node has until it loses the network, but for its queue and the fragments that wait.
    pub(super) fn forget(&mut self, mac: &MacOptions) {
        self.schedule.clear();
        self.parent = None;
        self.forwarding.clear();
        self.back_off = BackOff::new(mac);
        self.back_offs.clear();
        self.heard.clear();
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
