//! 6P tunnels: cells on every hop to the root, for a burst of frames.
//!
//! The paper on TLS over 6TiSCH proposes them (section 4.3, figure 11): the two bytes of metadata of 6P ADD instruct the scheduling
//! function to forward the request to its parent, until it reaches the root; the slots of the hops follow each other, so that a
//! frame crosses all of them in as many slots; a deletion cleans up likewise. The paper does not say what the bytes are, how
//! slots are found, and what happens when one hop fails. Here:
//!
//! - The metadata is 0x8000 and the number of the node at the end of the tunnel, so that tunnels are told apart.
//! - The node at the end proposes slots as far from each other as the tunnel has hops. Each router accepts those that are
//!   followed by a free slot, and proposes exactly the next ones to its parent; if the parent cannot use them, those after.
//! - For frames from the root it is the other way round: each router proposes the slot before.
//! - Nobody tells the end that the tunnel is complete: the paper's request has no answer from the root. A hop that fails is
//!   tried three times; the hops below keep their cells, and serve as any cells do.
//! - The MAC sends any frame for the neighbour in these cells, not those of the tunnel alone.
//!
//! What must always hold: a router has cells of a tunnel to its parent only as long as it has cells of it with its child. The
//! cells themselves say so: what a router remembers is which tunnels there are.

use super::Asn;
use super::cells::NegotiatedCell;
use super::message::{CellList, CellOptions, Change, Command, Request, ReturnCode, SixpCell};
use super::scheduling::{Action, ReceivedIn, SchedulingFunction, Selection, TunnelRequest, View};
use super::transaction::Conclusion;
use crate::chance::Purpose;

/// Tunnels, around another scheduling function.
#[derive(Debug)]
pub(crate) struct Tunnels {
    inner: Box<dyn SchedulingFunction>,
    parent: Option<u16>,
    legs: Vec<Leg>,
    /// The first slot in which a failed hop is tried again.
    retry: Option<Asn>,
}

/// One hop of a tunnel, from a node to its parent.
#[derive(Clone, Copy, Debug)]
struct Leg {
    metadata: u16,
    /// What this node does in the cells towards its parent.
    options: CellOptions,
    /// The neighbour from which the tunnel comes: none at its end.
    child: Option<u16>,
    cells: u8,
    /// The slots from one cell to the next, at the end of the tunnel.
    stride: u8,
    failures: u8,
    is_closing: bool,
}

impl Tunnels {
    /// Adds tunnels to a scheduling function that does not use the metadata.
    pub(crate) fn around(inner: Box<dyn SchedulingFunction>) -> Self {
        Self { inner, parent: None, legs: Vec::new(), retry: None }
    }

    /// Returns the next request for the parent.
    fn next_request(&mut self, view: View<'_>, parent: u16) -> Option<Request> {
        for leg in &mut self.legs {
            let cell_list: CellList = leg.outbound(view, parent).map(|cell| cell.cell).collect();
            let (metadata, cell_options) = (leg.metadata, leg.options);
            if leg.is_closing {
                let num_cells = cell_list.len() as u8; // a list has 22 cells at most
                return Some(Request::Delete(Change { metadata, cell_options, num_cells, cell_list }));
            }
            if cell_list.is_empty() && leg.failures < MAX_FAILURES {
                let cell_list = leg.candidates(view);
                let num_cells = leg.cells.min(cell_list.len() as u8);
                if num_cells > 0 {
                    return Some(Request::Add(Change { metadata, cell_options, num_cells, cell_list }));
                }
                leg.failures = MAX_FAILURES;
            }
        }
        None
    }

    /// Closes hops whose child has no cells any more, and forgets those that are closed.
    fn tidy(&mut self, view: View<'_>) {
        let parent = self.parent;
        for leg in &mut self.legs {
            leg.is_closing |= leg.child.is_some() && leg.inbound(view).next().is_none();
        }
        let is_left = |leg: &Leg| parent.is_some_and(|parent| leg.outbound(view, parent).next().is_some());
        self.legs.retain(|leg| !leg.is_closing || is_left(leg));
    }

    fn find(&mut self, metadata: u16, options: CellOptions) -> Option<&mut Leg> {
        self.legs.iter_mut().find(|leg| (leg.metadata, leg.options) == (metadata, options))
    }

    fn back_off(&mut self, view: View<'_>) {
        let draw = view.chance.draw(Purpose::Retry, view.node.into(), !view.now.0);
        self.retry = Some(view.now + (1 + draw % 4) * u64::from(view.cells.length()));
    }
}

impl Leg {
    /// Returns the cells with the child.
    fn inbound<'a>(&self, view: View<'a>) -> impl Iterator<Item = &'a NegotiatedCell> {
        let (child, metadata, options) = (self.child, self.metadata, self.options.mirrored());
        view.cells
            .all()
            .iter()
            .filter(move |cell| Some(cell.peer) == child && (cell.metadata, cell.options) == (metadata, options))
    }

    /// Returns the cells with the parent.
    fn outbound<'a>(&self, view: View<'a>, parent: u16) -> impl Iterator<Item = &'a NegotiatedCell> {
        let metadata = self.metadata;
        view.cells.matching(parent, self.options).filter(move |cell| cell.metadata == metadata)
    }

    /// Returns the candidates for the cells with the parent, the best ones first.
    fn candidates(&self, view: View<'_>) -> CellList {
        let bits = view.chance.draw(Purpose::Cells, view.node.into(), !view.now.0);
        let cell = |slot: u16| {
            SixpCell::new(slot, (bits.rotate_left(slot.into()) % u64::from(view.cells.channel_offsets())) as u16)
        };
        let length = view.cells.length();
        if self.child.is_some() {
            let after = |distance: u16| {
                self.inbound(view)
                    .map(move |inbound| neighbour(inbound.cell.slot_offset, self.options, distance, length))
            };
            let mut list = CellList::EMPTY;
            for slot in (1..length.min(MAX_DISTANCE)).flat_map(after) {
                if view.cells.is_free(slot) && !list.has_slot(slot) {
                    list.push(cell(slot));
                }
            }
            return list;
        }
        // At the end of the tunnel: the first beginning for which all cells are free, or else the one with most of them.
        let strides = length / u16::from(self.stride.max(1));
        let wanted = usize::from(self.cells) + SPARE_CANDIDATES;
        let from = |start: u16| -> CellList {
            let slot = |number: u16| {
                ((u32::from(start) + u32::from(number) * u32::from(self.stride)) % u32::from(length)) as u16
            };
            (0..strides).map(slot).filter(|slot| view.cells.is_free(*slot)).take(wanted).map(cell).collect()
        };
        let start = (bits % u64::from(length)) as u16;
        let mut best = CellList::EMPTY;
        for step in 0..length {
            let list = from(((u32::from(start) + u32::from(step)) % u32::from(length)) as u16);
            if list.len() > best.len() {
                best = list;
            }
            if best.len() >= wanted {
                break;
            }
        }
        best
    }
}

impl SchedulingFunction for Tunnels {
    fn sfid(&self) -> u8 {
        self.inner.sfid()
    }

    fn timeout(&self) -> u64 {
        self.inner.timeout()
    }

    fn settle(&mut self, view: View<'_>) {
        self.inner.settle(view);
    }

    fn changed(&mut self, view: View<'_>) {
        self.inner.changed(view);
    }

    fn set_parent(&mut self, view: View<'_>, parent: Option<u16>) {
        if parent != self.parent {
            // The inner scheduling function clears the old parent. All hops are built again, to the new one.
            (self.parent, self.retry) = (parent, None);
            self.legs.iter_mut().for_each(|leg| leg.failures = 0);
        }
        self.inner.set_parent(view, parent);
    }

    fn transmitted(&mut self, view: View<'_>, cell: &NegotiatedCell) {
        self.inner.transmitted(view, cell);
    }

    fn received(&mut self, view: View<'_>, peer: u16, cell: ReceivedIn) {
        self.inner.received(view, peer, cell);
    }

    fn admit(&self, view: View<'_>, peer: u16, request: &Request) -> Result<(), ReturnCode> {
        let is_new = |change: &Change| {
            let same = |leg: &&Leg| (leg.metadata, leg.options) == (change.metadata, change.cell_options);
            change.metadata & TUNNEL != 0 && self.legs.iter().find(same).is_none()
        };
        match request {
            Request::Add(change) if is_new(change) && self.legs.len() >= MAX_LEGS => Err(ReturnCode::RC_ERR_BUSY),
            _ => self.inner.admit(view, peer, request),
        }
    }

    fn select(&self, view: View<'_>, selection: &Selection) -> CellList {
        if selection.metadata & TUNNEL == 0 {
            return self.inner.select(view, selection);
        }
        let options = selection.options.mirrored();
        let next = |cell: SixpCell| neighbour(cell.slot_offset, options, 1, view.cells.length());
        let mut list = CellList::EMPTY;
        // First those after which the next hop can follow, and then any others.
        for leads_on in [true, false] {
            for cell in selection.candidates.iter().filter(|cell| view.cells.is_free(cell.slot_offset)) {
                let meets_another =
                    list.has_slot(next(cell)) || list.iter().any(|other| next(other) == cell.slot_offset);
                let can_lead_on = self.parent.is_none() || view.cells.is_free(next(cell)) && !meets_another;
                if list.len() < selection.count && !list.contains(cell) && (can_lead_on || !leads_on) {
                    list.push(cell);
                }
            }
        }
        list
    }

    fn offer(&self, view: View<'_>, count: usize) -> CellList {
        self.inner.offer(view, count)
    }

    fn ended(&mut self, view: View<'_>, conclusion: &Conclusion) {
        let Conclusion { peer, request, is_own, outcome, answer } = conclusion;
        let is_tunnel = request.metadata() & TUNNEL != 0;
        let change = match request {
            Request::Add(change) | Request::Delete(change) if is_tunnel => change,
            _ => return self.inner.ended(view, conclusion),
        };
        let (metadata, options) = (change.metadata, change.cell_options);
        let is_success = outcome.is_success() && !answer.cells().is_empty();
        if *is_own && !is_success {
            let is_empty_answer = outcome.is_success();
            self.back_off(view);
            if let Some(leg) = self.find(metadata, options) {
                leg.failures = leg.failures.saturating_add(1);
            }
            // Errors of the neighbour are handled as those of all other requests.
            if !is_empty_answer {
                self.inner.ended(view, conclusion);
            }
            return;
        }
        if outcome.is_success() && request.command() == Command::Add && !*is_own && self.parent.is_some() {
            let cells = answer.cells().len() as u8; // a list has 22 cells at most
            let child = Some(*peer);
            match self.find(metadata, options) {
                Some(leg) => (leg.child, leg.cells, leg.failures, leg.is_closing) = (child, cells, 0, false),
                None if cells > 0 => {
                    let (stride, failures, is_closing) = (1, 0, false);
                    self.legs.push(Leg { metadata, options, child, cells, stride, failures, is_closing });
                }
                None => {}
            }
        }
        // The tunnel may have been given up while the parent was asked: then the cells go again.
        if request.command() == Command::Add && *is_own && self.find(metadata, options).is_none() {
            let (child, cells, stride, failures, is_closing) = (None, 0, 1, 0, true);
            self.legs.push(Leg { metadata, options, child, cells, stride, failures, is_closing });
        }
        if !*is_own {
            self.inner.ended(view, conclusion);
        }
    }

    fn cleared(&mut self, view: View<'_>, peer: u16) {
        self.inner.cleared(view, peer);
    }

    fn open_tunnel(&mut self, view: View<'_>, request: TunnelRequest) -> bool {
        let TunnelRequest { hops, cells, goes_up } = request;
        let options = if goes_up { CellOptions::TX } else { CellOptions::RX };
        let metadata = tunnel_of(view.node);
        if self.parent.is_none() || self.legs.len() >= MAX_LEGS || cells == 0 || cells > MOST_CELLS {
            return false;
        }
        if self.find(metadata, options).is_some() {
            return false;
        }
        let (stride, failures, is_closing) = (hops.max(1), 0, false);
        self.legs.push(Leg { metadata, options, child: None, cells, stride, failures, is_closing });
        true
    }

    fn close_tunnels(&mut self) {
        for leg in self.legs.iter_mut().filter(|leg| leg.child.is_none()) {
            leg.is_closing = true;
        }
    }

    fn poll_timeout(&self, view: View<'_>) -> Option<Asn> {
        self.inner.poll_timeout(view).into_iter().chain(self.retry).min()
    }

    fn handle_timeout(&mut self, view: View<'_>) {
        self.retry = self.retry.filter(|retry| *retry > view.now);
        self.inner.handle_timeout(view);
    }

    fn poll_action(&mut self, view: View<'_>, may_begin: &dyn Fn(u16, Command) -> bool) -> Option<Action> {
        if let Some(action) = self.inner.poll_action(view, may_begin) {
            return Some(action);
        }
        if self.legs.is_empty() {
            return None;
        }
        self.tidy(view);
        let peer = self.parent.filter(|peer| self.retry.is_none() && may_begin(*peer, Command::Add))?;
        let request = self.next_request(view, peer)?;
        Some(Action::Request { peer, request })
    }
}

/// Returns the metadata of the tunnel of a node.
pub(crate) const fn tunnel_of(node: u16) -> u16 {
    TUNNEL | node & !TUNNEL
}

/// Returns the slot at which the next hop has a cell, as near as `distance` slots: after this one if this node sends to its
/// parent, before it if it receives.
fn neighbour(slot: u16, options: CellOptions, distance: u16, length: u16) -> u16 {
    let ahead = if options == CellOptions::TX { distance % length } else { length - distance % length };
    ((u32::from(slot) + u32::from(ahead)) % u32::from(length)) as u16
}

/// The bit of the metadata that makes a request one for a tunnel. The others are the number of the node at its end.
const TUNNEL: u16 = 0x8000;
/// The most tunnels through a node.
const MAX_LEGS: usize = 16;
/// The most cells of a tunnel on a hop.
const MOST_CELLS: u8 = 8;
/// How often a hop is tried.
const MAX_FAILURES: u8 = 3;
/// How many slots further than the next one a router looks.
const MAX_DISTANCE: u16 = 16;
/// How many cells more than needed the end of a tunnel proposes.
const SPARE_CANDIDATES: usize = 4;
