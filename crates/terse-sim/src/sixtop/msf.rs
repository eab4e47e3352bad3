//! MSF, the Minimal Scheduling Function (RFC 9033): cells with the parent follow the traffic.
//!
//! Elapsed cells are not counted one by one: [`Usage`] adds up the occurrences of all cells whenever cells change, and knows the
//! slot in which the sum reaches MAX_NUM_CELLS.
//!
//! What must always hold: a node begins transactions with its parent alone, apart from CLEAR; it has one negotiated cell to
//! its parent at least, or works on it; cells of other users of 6P (their metadata is not 0) are neither counted nor deleted.

mod autonomous;
mod options;
#[cfg(test)]
mod tests;
mod usage;

pub(crate) use autonomous::autonomous_cell;
pub use options::{AutonomousHash, MsfOptions};
pub(crate) use options::{MacTiming, Periods};
use usage::Usage;

use std::collections::VecDeque;

use super::Asn;
use super::cells::NegotiatedCell;
use super::message::{CellList, CellOptions, Change, Command, Request, ReturnCode, SixpCell};
use super::scheduling::{Action, ReceivedIn, SchedulingFunction, View};
use super::transaction::{Conclusion, Outcome};
use crate::chance::Purpose;

/// The state of MSF in a node.
#[derive(Debug)]
pub(crate) struct Msf {
    options: MsfOptions,
    periods: Periods,
    /// The slot of the AutoRxCell, which counts beside the negotiated cells for receiving.
    auto_rx: u16,
    parent: Option<u16>,
    /// The parent before, until its cells are replaced (5.2).
    old: Option<OldParent>,
    tx: Usage,
    rx: Usage,
    /// Whether cells to the parent are added and deleted as MSF has it; those from it are in any case that it adapts at all.
    adapts_tx: bool,
    /// How many cells are to be added, or deleted.
    wanted_tx: i8,
    wanted_rx: i8,
    /// Cells on which frames seem to collide (5.3).
    to_relocate: CellList,
    /// Neighbours to which a CLEAR must go.
    to_clear: Vec<ToClear>,
    actions: VecDeque<Action>,
    /// When each neighbour that has cells here was heard last.
    heard: Vec<(u16, Asn)>,
    housekeeping: Asn,
    /// The first slot in which a transaction with the parent may begin again, after a failure.
    retry: Option<Asn>,
    failures: u32,
    /// The slot in which enough cells have elapsed, in one of the two directions.
    full: Option<Asn>,
}

/// A neighbour to which a CLEAR must go. RFC 9033 sends one, which may fail; here it is sent again, as a neighbour that did not
/// get it would go on to use cells that are gone.
#[derive(Clone, Copy, Debug)]
struct ToClear {
    peer: u16,
    tries: u32,
    /// Until when the node waits after a failure.
    wait: Option<Asn>,
}

/// A parent that was given up, and how many cells the node has with it.
#[derive(Clone, Copy, Debug)]
struct OldParent {
    peer: u16,
    tx: usize,
    rx: usize,
}

impl Msf {
    /// Creates the MSF of a node that was switched on, with this slot for its AutoRxCell.
    pub(crate) fn new(options: &MsfOptions, timing: &MacTiming, auto_rx: u16) -> Self {
        let periods = Periods::new(options, timing);
        Self {
            options: options.clone(),
            periods,
            auto_rx,
            parent: None,
            old: None,
            tx: Usage::default(),
            rx: Usage::default(),
            adapts_tx: true,
            wanted_tx: 0,
            wanted_rx: 0,
            to_relocate: CellList::EMPTY,
            to_clear: Vec::new(),
            actions: VecDeque::new(),
            heard: Vec::new(),
            housekeeping: Asn(periods.housekeeping),
            retry: None,
            failures: 0,
            full: None,
        }
    }

    /// Leaves the number of cells to the parent to [`Self::want_tx`].
    pub(crate) const fn without_adapting_tx(mut self) -> Self {
        self.adapts_tx = false;
        self
    }

    /// Returns the parent.
    pub(crate) const fn parent(&self) -> Option<u16> {
        self.parent
    }

    /// Wants so many more cells to the parent, or fewer: for scheduling functions that decide this in another way.
    pub(crate) const fn want_tx(&mut self, cells: i8) {
        self.wanted_tx = cells;
    }

    /// Returns the slots of the cells for sending to the parent, and for receiving from it, which count.
    fn counted(&self, view: View<'_>, options: CellOptions) -> Vec<u16> {
        let Some(parent) = self.parent else { return Vec::new() };
        let negotiated = view.cells.matching(parent, options).filter(|cell| cell.metadata == METADATA);
        let auto_rx = (options == CellOptions::RX).then_some(self.auto_rx);
        negotiated.map(|cell| cell.cell.slot_offset).chain(auto_rx).collect()
    }

    /// Decides whether the cells are enough (5.1), once enough of them have elapsed.
    fn adapt(&mut self, view: View<'_>, parent: u16) {
        let options = &self.options;
        let judge = |usage: &mut Usage, cells: usize, least: usize| -> i8 {
            if usage.elapsed < options.max_num_cells.into() {
                return 0;
            }
            let used = usage.used;
            usage.restart();
            match () {
                () if used > options.lim_num_cells_used_high.into() => 1,
                () if used < options.lim_num_cells_used_low.into() && cells > least => -1,
                () => 0,
            }
        };
        let count = |options| own_cells(view, parent, options).count();
        let (tx, rx) = (count(CellOptions::TX), count(CellOptions::RX));
        let (wanted_tx, wanted_rx) = (judge(&mut self.tx, tx, 1), judge(&mut self.rx, rx, 0));
        if wanted_tx != 0 && self.adapts_tx {
            self.wanted_tx = wanted_tx;
        }
        if wanted_rx != 0 {
            self.wanted_rx = wanted_rx;
        }
    }

    /// Looks for cells on which frames collide (5.3), and for neighbours that are gone (5.1, at the end).
    fn keep_house(&mut self, view: View<'_>) {
        if let Some(parent) = self.parent {
            let significant = || own_cells(view, parent, CellOptions::TX).filter(|cell| cell.is_significant);
            let best = significant().map(NegotiatedCell::pdr).fold(0.0, f64::max);
            let threshold = self.options.relocate_pdr_threshold;
            self.to_relocate =
                significant().filter(|cell| best - cell.pdr() > threshold).map(|cell| cell.cell).collect();
        }
        let (after, now) = (self.periods.cleanup, view.now.0);
        let of_session = [self.parent, self.old.map(|old| old.peer)];
        let is_gone = |(peer, last): &(u16, Asn)| !of_session.contains(&Some(*peer)) && now - last.0 >= after;
        for (peer, _) in self.heard.extract_if(.., |heard| is_gone(heard)) {
            if view.cells.with(peer).next().is_some() {
                self.actions.push_back(Action::Forget { peer });
                add_to_clear(&mut self.to_clear, peer);
            }
        }
    }

    /// Returns how many cells for sending and receiving the node lacks: the first one, or as many as it had with the parent
    /// before (5.2).
    fn missing(&self, view: View<'_>, parent: u16) -> (i8, i8) {
        let (least_tx, least_rx) = self.old.map_or((1, 0), |old| (old.tx.max(1), old.rx));
        let missing = |least: usize, options| {
            least.saturating_sub(own_cells(view, parent, options).count()).min(MOST_AT_ONCE) as i8
        };
        (missing(least_tx, CellOptions::TX), missing(least_rx, CellOptions::RX))
    }

    /// Returns the next request for the parent.
    fn next_request(&mut self, view: View<'_>, parent: u16) -> Option<Request> {
        let (missing_tx, missing_rx) = self.missing(view, parent);
        if missing_tx > 0 {
            return self.add(view, CellOptions::TX, missing_tx);
        }
        if missing_rx > 0 {
            return self.add(view, CellOptions::RX, missing_rx);
        }
        for (wanted, options, least) in [(self.wanted_tx, CellOptions::TX, 1), (self.wanted_rx, CellOptions::RX, 0)] {
            let request = match wanted {
                1.. => self.add(view, options, wanted),
                0 => None,
                _ => delete(view, parent, options, wanted.unsigned_abs().into(), least),
            };
            if request.is_some() {
                return request;
            }
        }
        (self.wanted_tx, self.wanted_rx) = (0, 0);
        self.relocate(view, parent)
    }

    fn add(&self, view: View<'_>, cell_options: CellOptions, cells: i8) -> Option<Request> {
        let wanted = usize::from(cells.unsigned_abs());
        let moment = view.now.0 << 1 | u64::from(cell_options == CellOptions::RX);
        // Section 8: five or more.
        let count = (wanted + usize::from(self.options.candidates) - 1).max(wanted);
        let cell_list = view.cells.choose_free(view.chance, view.node, moment, count);
        let num_cells = wanted.min(cell_list.len()) as u8; // a list has 22 cells at most
        // Without candidates it would be a transaction of three steps.
        (num_cells > 0).then_some(Request::Add(Change { metadata: METADATA, cell_options, num_cells, cell_list }))
    }

    fn relocate(&mut self, view: View<'_>, parent: u16) -> Option<Request> {
        let is_there = |cell: &SixpCell| own_cells(view, parent, CellOptions::TX).any(|own| own.cell == *cell);
        let cell = self.to_relocate.iter().find(is_there);
        self.to_relocate = self.to_relocate.iter().filter(|other| is_there(other) && Some(*other) != cell).collect();
        let cell_list: CellList = [cell?].into_iter().collect();
        let count = self.options.candidates.into();
        let candidates = view.cells.choose_free(view.chance, view.node, view.now.0 << 1, count);
        let change = Change { metadata: METADATA, cell_options: CellOptions::TX, num_cells: 1, cell_list };
        (!candidates.is_empty()).then_some(Request::Relocate(change, candidates))
    }

    /// Handles a transaction of this node that ended without an error.
    fn succeeded(&mut self, view: View<'_>, conclusion: &Conclusion) {
        self.failures = 0;
        match &conclusion.request {
            Request::Clear { .. } => self.to_clear.retain(|entry| entry.peer != conclusion.peer),
            // The neighbour could use none of the candidates: others may do.
            Request::Add(_) if conclusion.answer.cells().is_empty() => self.back_off(view),
            Request::Add(change) | Request::Delete(change) => match change.cell_options {
                CellOptions::TX => self.wanted_tx = 0,
                _ => self.wanted_rx = 0,
            },
            _ => {}
        }
    }

    /// Handles a failure (12, table 1).
    fn failed(&mut self, view: View<'_>, peer: u16, outcome: Outcome, request: &Request) {
        match outcome {
            Outcome::Code(ReturnCode::RC_ERR_BUSY | ReturnCode::RC_ERR_LOCKED) => {
                let Periods { wait_min, wait_max, .. } = self.periods;
                let wait = view.chance.draw(Purpose::Retry, view.node.into(), view.now.0) % (wait_max - wait_min + 1);
                self.retry = Some(view.now + (wait_min + wait));
            }
            Outcome::Code(ReturnCode::RC_ERR_SEQNUM | ReturnCode::RC_ERR_CELLLIST) | Outcome::Inconsistent => {
                self.clear(peer);
            }
            Outcome::Code(_) => {
                self.clear(peer);
                let until = view.now + self.periods.quarantine;
                self.actions.push_back(Action::Quarantine { peer, until });
                if self.parent == Some(peer) {
                    self.retry = Some(until);
                }
            }
            // RFC 9033 has no rule for these: they are repeated, ever more seldom.
            Outcome::Timeout | Outcome::LinkFailure if request.command() == Command::Clear => {
                self.to_clear.retain(|entry| entry.peer != peer || entry.tries < MAX_FAILURES);
                if let Some(entry) = self.to_clear.iter_mut().find(|entry| entry.peer == peer) {
                    entry.wait = Some(view.now + back_off(view, entry.tries));
                }
            }
            Outcome::Timeout | Outcome::LinkFailure => self.back_off(view),
        }
    }

    fn clear(&mut self, peer: u16) {
        self.actions.push_back(Action::Forget { peer });
        add_to_clear(&mut self.to_clear, peer);
    }

    /// Waits before the next request for the parent.
    fn back_off(&mut self, view: View<'_>) {
        self.failures = (self.failures + 1).min(MAX_FAILURES);
        self.retry = Some(view.now + back_off(view, self.failures));
    }

    fn note_heard(&mut self, view: View<'_>, peer: u16) {
        match self.heard.iter_mut().find(|(other, _)| *other == peer) {
            Some((_, last)) => *last = view.now,
            None => self.heard.push((peer, view.now)),
        }
    }
}

impl SchedulingFunction for Msf {
    fn sfid(&self) -> u8 {
        SFID
    }

    fn timeout(&self) -> u64 {
        self.periods.timeout
    }

    fn settle(&mut self, view: View<'_>) {
        if !self.options.adapts {
            return;
        }
        let (tx, rx) = (self.counted(view, CellOptions::TX), self.counted(view, CellOptions::RX));
        self.tx.settle(&tx, view.cells.length(), view.now);
        self.rx.settle(&rx, view.cells.length(), view.now);
    }

    fn changed(&mut self, view: View<'_>) {
        let full = |usage: &Usage, options| {
            let slots = self.counted(view, options);
            usage.reaches(self.options.max_num_cells.into(), &slots, view.cells.length())
        };
        let directions = [full(&self.tx, CellOptions::TX), full(&self.rx, CellOptions::RX)];
        self.full = directions.into_iter().flatten().min().filter(|_| self.options.adapts && self.parent.is_some());
    }

    fn set_parent(&mut self, view: View<'_>, parent: Option<u16>) {
        if parent == self.parent {
            return;
        }
        if let Some(before) = self.old.take().filter(|before| Some(before.peer) != parent) {
            add_to_clear(&mut self.to_clear, before.peer);
        }
        if let Some(peer) = self.parent {
            let count = |options| own_cells(view, peer, options).count();
            let (tx, rx) = (count(CellOptions::TX), count(CellOptions::RX));
            match parent {
                Some(_) => self.old = Some(OldParent { peer, tx, rx }),
                None => add_to_clear(&mut self.to_clear, peer),
            }
        }
        self.parent = parent;
        (self.tx, self.rx) = (Usage::from(view.now), Usage::from(view.now));
        (self.wanted_tx, self.wanted_rx, self.failures) = (0, 0, 0);
        (self.retry, self.to_relocate) = (None, CellList::EMPTY);
        if let Some(peer) = parent {
            self.actions.push_back(Action::ResetCounters { peer });
        }
        self.changed(view);
    }

    fn transmitted(&mut self, _: View<'_>, cell: &NegotiatedCell) {
        if Some(cell.peer) == self.parent && cell.options == CellOptions::TX && cell.metadata == METADATA {
            self.tx.used += 1;
        }
    }

    fn received(&mut self, view: View<'_>, peer: u16, cell: ReceivedIn) {
        let counts = match cell {
            ReceivedIn::Negotiated(slot) => {
                own_cells(view, peer, CellOptions::RX).any(|own| own.cell.slot_offset == slot)
            }
            ReceivedIn::Autonomous => true,
            ReceivedIn::Other => false,
        };
        if Some(peer) == self.parent {
            self.rx.used += u64::from(counts);
        } else if let Some((_, last)) = self.heard.iter_mut().find(|(other, _)| *other == peer) {
            *last = view.now;
        }
    }

    fn ended(&mut self, view: View<'_>, conclusion: &Conclusion) {
        let Conclusion { peer, request, is_own, outcome, .. } = conclusion;
        match outcome {
            Outcome::Code(code) if !code.is_error() && *is_own => self.succeeded(view, conclusion),
            Outcome::Code(code) if !code.is_error() => self.note_heard(view, *peer),
            Outcome::Inconsistent => self.failed(view, *peer, *outcome, request),
            _ if *is_own => self.failed(view, *peer, *outcome, request),
            // The neighbour that has begun the transaction repeats it.
            _ => {}
        }
    }

    fn cleared(&mut self, _: View<'_>, peer: u16) {
        self.to_clear.retain(|entry| entry.peer != peer);
    }

    fn poll_timeout(&self, _: View<'_>) -> Option<Asn> {
        let mut due = self.housekeeping;
        for wait in self.to_clear.iter().filter_map(|entry| entry.wait).chain(self.retry) {
            due = due.min(wait);
        }
        Some(self.full.map_or(due, |full| full.min(due)))
    }

    fn handle_timeout(&mut self, view: View<'_>) {
        self.retry = self.retry.filter(|retry| *retry > view.now);
        for entry in &mut self.to_clear {
            entry.wait = entry.wait.filter(|wait| *wait > view.now);
        }
        if let Some(parent) = self.parent.filter(|_| self.options.adapts) {
            self.settle(view);
            self.adapt(view, parent);
            self.changed(view);
        }
        if self.housekeeping <= view.now {
            self.keep_house(view);
            self.housekeeping = view.now + self.periods.housekeeping;
        }
    }

    fn poll_action(&mut self, view: View<'_>, may_begin: &dyn Fn(u16, Command) -> bool) -> Option<Action> {
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        let has_all = |msf: &Self| msf.parent.is_some_and(|parent| msf.missing(view, parent) == (0, 0));
        if let Some(old) = self.old.filter(|_| has_all(self)) {
            self.old = None;
            add_to_clear(&mut self.to_clear, old.peer);
        }
        let is_due = |entry: &&mut ToClear| entry.wait.is_none() && may_begin(entry.peer, Command::Clear);
        if let Some(entry) = self.to_clear.iter_mut().find(is_due) {
            entry.tries += 1;
            let request = Request::Clear { metadata: METADATA };
            return Some(Action::Request { peer: entry.peer, request });
        }
        let parent = self.parent.filter(|peer| self.retry.is_none() && may_begin(*peer, Command::Add))?;
        if self.to_clear.iter().any(|entry| entry.peer == parent) {
            return None;
        }
        let request = self.next_request(view, parent)?;
        Some(Action::Request { peer: parent, request })
    }
}

/// Returns the cells that MSF has negotiated with a neighbour.
fn own_cells(view: View<'_>, peer: u16, options: CellOptions) -> impl Iterator<Item = &NegotiatedCell> {
    view.cells.matching(peer, options).filter(|cell| cell.metadata == METADATA)
}

fn add_to_clear(to_clear: &mut Vec<ToClear>, peer: u16) {
    if !to_clear.iter().any(|entry| entry.peer == peer) {
        to_clear.push(ToClear { peer, tries: 0, wait: None });
    }
}

/// Returns how many slots a node waits after so many failures: some slotframes, up to 2, 4, 8 and so on, 32 at most.
fn back_off(view: View<'_>, failures: u32) -> u64 {
    let draw = view.chance.draw(Purpose::Retry, view.node.into(), view.now.0);
    (1 + draw % (1 << failures.min(MAX_FAILURES))) * u64::from(view.cells.length())
}

/// Deletes the cells on which most was lost, and leaves `least` of them.
fn delete(view: View<'_>, parent: u16, cell_options: CellOptions, cells: usize, least: usize) -> Option<Request> {
    let count = own_cells(view, parent, cell_options).count().saturating_sub(least).min(cells).min(MOST_AT_ONCE);
    let mut cell_list = CellList::EMPTY;
    for _ in 0..count {
        let left = own_cells(view, parent, cell_options).filter(|own| !cell_list.contains(own.cell));
        let worst = left.min_by(|one, other| one.pdr().total_cmp(&other.pdr()))?.cell;
        cell_list.push(worst);
    }
    let num_cells = cell_list.len() as u8; // a list has 22 cells at most
    (num_cells > 0).then_some(Request::Delete(Change { metadata: METADATA, cell_options, num_cells, cell_list }))
}

/// The identifier of MSF (RFC 9033, 7).
const SFID: u8 = 0;
/// MSF does not use the metadata (11).
const METADATA: u16 = 0;
/// The most cells of one request.
const MOST_AT_ONCE: usize = 8;
/// After so many failures the node does not wait longer and longer any more, and gives up to clear.
const MAX_FAILURES: u32 = 5;
