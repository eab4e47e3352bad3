//! A small world: nodes, a queue each, and one transmission of each node in a slot.

use core::fmt;
use std::collections::VecDeque;

use super::super::Asn;
use super::super::Sixtop;
use super::super::cells::CellTable;
use super::super::fixed::Fixed;
use super::super::message::{Body, CellList, CellOptions, Change, Message, Request, SixpCell};
use super::super::scheduling::SchedulingFunction;
use super::super::transaction::Outgoing;
use crate::chance::Chance;

pub(super) const LENGTH: u16 = 101;
pub(super) const TIMEOUT: u64 = 400;
/// macMaxFrameRetries.
pub(super) const RETRIES: u8 = 2;

/// What becomes of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    /// The frame arrives, its acknowledgement does not: the frame is sent again.
    Unacknowledged,
    Lost,
    /// The frame waits for so many slots before it is sent.
    Waits(u64),
}

/// A transmission: who sends, what, and the how manieth one in this world it is.
pub(super) struct Attempt<'a> {
    pub(super) from: u16,
    pub(super) message: &'a Message,
    pub(super) number: usize,
    pub(super) tries: u8,
}

pub(super) struct World {
    pub(super) now: Asn,
    pub(super) nodes: Vec<Sixtop>,
    /// For each node the messages, how often each was sent in vain, from when on it can be sent, and whether it has arrived.
    queues: Vec<VecDeque<(Outgoing, u8, Asn, bool)>>,
    pub(super) fate: Box<dyn FnMut(Attempt<'_>) -> Fate>,
    /// All transmissions: who sent what.
    pub(super) sent: Vec<(u16, Message)>,
    /// Whether a request arrived of which its sender thinks that it did not, or that a CLEAR has overtaken, or its answer. The next one can
    /// have the same SeqNum then (RFC 8480, 3.4.6), and the answer to one can be taken for that to the other.
    pub(super) has_unknown_request: bool,
    /// Whether timeouts are looked at after every slot, and not only after those that nodes name.
    pub(super) steps_every_slot: bool,
}

impl World {
    /// Creates nodes with a static schedule, whose messages all arrive.
    pub(super) fn new(nodes: u16) -> Self {
        Self::with(nodes, &|_| Box::new(Fixed { timeout: TIMEOUT }))
    }

    /// Creates nodes with these scheduling functions.
    pub(super) fn with(nodes: u16, function: &dyn Fn(u16) -> Box<dyn SchedulingFunction>) -> Self {
        let node = |node| Self::node(node, function(node));
        let nodes: Vec<Sixtop> = (0..nodes).map(node).collect();
        let queues = nodes.iter().map(|_| VecDeque::new()).collect();
        Self {
            now: Asn(0),
            nodes,
            queues,
            fate: Box::new(|_| Fate::Arrives),
            sent: Vec::new(),
            has_unknown_request: false,
            steps_every_slot: false,
        }
    }

    pub(super) fn node(node: u16, function: Box<dyn SchedulingFunction>) -> Sixtop {
        Sixtop::new(node, Chance::new(5), CellTable::new(LENGTH, 16, &[0]), function, 3)
    }

    /// Switches a node off and on again.
    pub(super) fn power_cycle(&mut self, node: u16) {
        self.nodes[usize::from(node)] = Self::node(node, Box::new(Fixed { timeout: TIMEOUT }));
        self.queues[usize::from(node)].clear();
    }

    /// Begins a transaction, if that is possible.
    pub(super) fn request(&mut self, from: u16, to: u16, request: Request) -> bool {
        self.nodes[usize::from(from)].request(self.now, to, request)
    }

    /// Runs until nothing is under way and no timeout is left, at most so many slots.
    pub(super) fn settle(&mut self) {
        for _ in 0..20_000 {
            self.step();
            let is_quiet = self.queues.iter().all(VecDeque::is_empty);
            if is_quiet && self.nodes.iter().all(|node| node.poll_timeout().is_none()) {
                return;
            }
        }
        panic!("the world does not come to rest: {self:?}");
    }

    /// Runs one slot.
    pub(super) fn step(&mut self) {
        let now = self.now;
        for from in 0..self.nodes.len() {
            self.collect(from);
            let Some((outgoing, tries, ready, _)) = self.queues[from].front().copied() else { continue };
            if ready > now {
                continue;
            }
            let (number, message) = (self.sent.len(), &outgoing.message);
            let fate = (self.fate)(Attempt { from: from as u16, message, number, tries });
            if let Fate::Waits(slots) = fate {
                self.queues[from][0].2 = now + slots;
                continue;
            }
            self.sent.push((from as u16, outgoing.message));
            if matches!(message.body, Body::Request(Request::Clear { .. })) {
                let others = &self.queues[usize::from(outgoing.peer)];
                let is_overtaken = others.iter().any(|(other, ..)| kind(&other.message) == 0);
                self.has_unknown_request |= is_overtaken || self.queues[from].len() > 1;
            }
            let is_acknowledged = fate == Fate::Arrives;
            self.queues[from][0].3 |= fate == Fate::Unacknowledged;
            if is_acknowledged || tries >= RETRIES {
                let has_arrived = self.queues[from][0].3;
                self.has_unknown_request |= !is_acknowledged && has_arrived && kind(message) == 0;
                self.queues[from].pop_front();
                self.nodes[from].sent(now, outgoing.token, is_acknowledged);
            } else {
                self.queues[from][0].1 += 1;
            }
            if fate != Fate::Lost {
                self.nodes[usize::from(outgoing.peer)].receive(now, from as u16, &outgoing.message);
            }
        }
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if self.steps_every_slot || node.poll_timeout().is_some_and(|due| due <= now) {
                node.handle_timeout(now);
                assert!(node.poll_timeout().is_none_or(|due| due > now), "node {index} at {now:?}");
            }
        }
        (0..self.nodes.len()).for_each(|from| self.collect(from));
        self.now = now + 1;
    }

    /// Returns the cells that a node has with another one: what it does there, and where.
    pub(super) fn cells(&self, node: u16, peer: u16) -> Vec<(CellOptions, SixpCell)> {
        self.nodes[usize::from(node)].cells().with(peer).map(|cell| (cell.options, cell.cell)).collect()
    }

    /// Whether both nodes have the same cells with each other.
    pub(super) fn agree(&self, a: u16, b: u16) -> bool {
        let mirrored: Vec<_> = self.cells(b, a).into_iter().map(|(options, cell)| (options.mirrored(), cell)).collect();
        self.cells(a, b) == mirrored
    }

    fn collect(&mut self, from: usize) {
        while let Some(outgoing) = self.nodes[from].poll_transmit() {
            self.queues[from].push_back((outgoing, 0, self.now, false));
        }
        while self.nodes[from].poll_change().is_some() {}
        while self.nodes[from].poll_quarantine().is_some() {}
    }
}

impl fmt::Debug for World {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "at {:?}", self.now)?;
        self.sent.iter().rev().take(12).try_for_each(|(from, message)| writeln!(out, "{from}: {message:?}"))
    }
}

/// Returns a list of cells.
pub(super) fn list(cells: &[(u16, u16)]) -> CellList {
    cells.iter().map(|(slot, channel)| SixpCell::new(*slot, *channel)).collect()
}

/// Returns the fields of a request for cells in which the node that asks sends.
pub(super) fn change(num_cells: u8, cells: &[(u16, u16)]) -> Change {
    Change { metadata: 0, cell_options: CellOptions::TX, num_cells, cell_list: list(cells) }
}

/// Returns the type of a message.
pub(super) const fn kind(message: &Message) -> usize {
    match message.body {
        Body::Request(_) => 0,
        Body::Response(..) => 1,
        Body::Confirmation(..) => 2,
    }
}
