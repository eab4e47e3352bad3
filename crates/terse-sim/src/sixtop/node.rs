//! A node's 6top: its transactions, its cells and its scheduling function together.

use std::collections::VecDeque;

use super::Asn;
use super::cells::CellTable;
use super::message::{Answer, CellList, CellOptions, Change, Command, Message, Request, ReturnCode, SixpCell};
use super::scheduling::{Action, CellChange, ReceivedIn, SchedulingFunction, Selection, TunnelRequest, View};
use super::transaction::{Conclusion, Outcome, Outgoing, Step, Token, Transactions};
use crate::chance::Chance;

/// The 6top of a node.
///
/// Each call has the slot in which something happened. [`Self::poll_timeout`] names a slot: [`Self::handle_timeout`] must be
/// called once that slot was worked off, and before anything of the next one. After each call, messages are taken with
/// [`Self::poll_transmit`], changes of the schedule with [`Self::poll_change`], and quarantines with
/// [`Self::poll_quarantine`].
#[derive(Debug)]
pub(crate) struct Sixtop {
    node: u16,
    chance: Chance,
    transactions: Transactions,
    cells: CellTable,
    function: Box<dyn SchedulingFunction>,
    changes: VecDeque<CellChange>,
    quarantines: VecDeque<(u16, Asn)>,
    waiting: u16,
}

impl Sixtop {
    /// Creates the 6top of a node. It takes part in `capacity` transactions at a time.
    pub(crate) fn new(
        node: u16,
        chance: Chance,
        cells: CellTable,
        function: Box<dyn SchedulingFunction>,
        capacity: usize,
    ) -> Self {
        let transactions = Transactions::new(function.sfid(), function.timeout(), capacity);
        let (changes, quarantines) = (VecDeque::new(), VecDeque::new());
        Self { node, chance, transactions, cells, function, changes, quarantines, waiting: 0 }
    }

    /// Returns the negotiated cells.
    pub(crate) const fn cells(&self) -> &CellTable {
        &self.cells
    }

    /// Adds a cell as though it had been negotiated.
    #[cfg(test)]
    pub(super) fn occupy(&mut self, peer: u16, cell: SixpCell) {
        self.cells.add(peer, CellOptions::RX, 0, cell);
    }

    /// Returns the SeqNum with a neighbour.
    pub(crate) fn seq_num(&self, peer: u16) -> u8 {
        self.transactions.seq_num(peer)
    }

    /// Handles a new parent, or that there is none: that of the root, or of a node without a rank.
    pub(crate) fn set_parent(&mut self, now: Asn, parent: Option<u16>) {
        self.tell(now, |function, view| function.set_parent(view, parent));
    }

    /// Notes how many frames wait for the parent. The scheduling function looks at it when its period is over.
    pub(crate) const fn set_waiting(&mut self, waiting: u16) {
        self.waiting = waiting;
    }

    /// Opens a tunnel to the root. Returns whether the scheduling function can do that.
    pub(crate) fn open_tunnel(&mut self, now: Asn, request: TunnelRequest) -> bool {
        let mut is_possible = false;
        self.tell(now, |function, view| is_possible = function.open_tunnel(view, request));
        is_possible
    }

    /// Removes this node's tunnels, hop by hop.
    pub(crate) fn close_tunnels(&mut self, now: Asn) {
        self.tell(now, |function, _| function.close_tunnels());
    }

    /// Handles a transmission in a negotiated cell.
    pub(crate) fn transmitted(&mut self, now: Asn, peer: u16, slot_offset: u16, is_acknowledged: bool) {
        let Some(cell) = self.cells.find_mut(peer, slot_offset) else { return };
        cell.num_tx += 1;
        cell.num_tx_ack += u16::from(is_acknowledged);
        if cell.num_tx >= MAX_NUMTX {
            (cell.num_tx, cell.num_tx_ack, cell.is_significant) = (cell.num_tx / 2, cell.num_tx_ack / 2, true);
        }
        let cell = *cell;
        self.tell(now, |function, view| function.transmitted(view, &cell));
    }

    /// Handles a valid frame of a neighbour, and the cell in which it came.
    pub(crate) fn received(&mut self, now: Asn, peer: u16, cell: ReceivedIn) {
        self.tell(now, |function, view| function.received(view, peer, cell));
    }

    /// Handles a 6P message of a neighbour.
    pub(crate) fn receive(&mut self, now: Asn, from: u16, message: &Message) {
        let step = self.transactions.receive(now, from, message);
        self.handle(now, step);
        self.act(now);
    }

    /// Handles that a message was acknowledged or given up.
    pub(crate) fn sent(&mut self, now: Asn, token: Token, is_acknowledged: bool) {
        let step = self.transactions.sent(now, token, is_acknowledged);
        self.handle(now, step);
        self.act(now);
    }

    /// Removes the cells in which this node sends to a neighbour that does not hear it there. It may have lost the network and
    /// begun anew: then only the autonomous cell, which is used as long as no negotiated one is, brings it the answers that make
    /// both agree again (RFC 8480, 3.4.6).
    pub(crate) fn abandon_tx(&mut self, now: Asn, peer: u16) {
        self.inform(now, |function, view| function.settle(view));
        let tx = |cells: &CellTable| {
            let mut with = cells.with(peer);
            with.find(|cell| cell.options.has(CellOptions::TX)).map(|cell| (cell.options, cell.cell))
        };
        while let Some((options, cell)) = tx(&self.cells) {
            self.remove(peer, options, cell);
        }
        self.inform(now, |function, view| function.changed(view));
        self.act(now);
    }

    /// Begins a transaction that the scheduling function has not asked for. Returns whether that was possible.
    pub(crate) fn request(&mut self, now: Asn, peer: u16, request: Request) -> bool {
        let has_begun = self.begin(now, peer, request);
        self.act(now);
        has_begun
    }

    /// Refuses a request of a version of 6P that this node does not know.
    pub(crate) fn refuse_version(&mut self, from: u16, sfid: u8, seq_num: u8) {
        self.transactions.refuse_version(from, sfid, seq_num);
    }

    /// Whether this node has found out that its cells and the neighbour's differ, or may do. CLEAR ends that.
    pub(crate) fn is_inconsistent(&self, peer: u16) -> bool {
        self.transactions.is_inconsistent(peer)
    }

    /// Returns the next message to send.
    pub(crate) fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.transactions.poll_transmit()
    }

    /// Returns the next change for the schedule of the MAC.
    pub(crate) fn poll_change(&mut self) -> Option<CellChange> {
        self.changes.pop_front()
    }

    /// Returns the next neighbour whose frames are dropped, and until when.
    pub(crate) fn poll_quarantine(&mut self) -> Option<(u16, Asn)> {
        self.quarantines.pop_front()
    }

    /// Returns the slot after which [`Self::handle_timeout`] must be called.
    pub(crate) fn poll_timeout(&self) -> Option<Asn> {
        let own = self.function.poll_timeout(self.view(Asn(0)));
        self.transactions.poll_timeout().into_iter().chain(own).min()
    }

    /// Handles that the slot `now` is over.
    pub(crate) fn handle_timeout(&mut self, now: Asn) {
        loop {
            match self.transactions.expire(now) {
                Step::Nothing => break,
                step => self.handle(now, step),
            }
        }
        self.tell(now, |function, view| function.handle_timeout(view));
    }

    fn view(&self, now: Asn) -> View<'_> {
        View { now, node: self.node, chance: self.chance, cells: &self.cells, waiting: self.waiting }
    }

    fn tell(&mut self, now: Asn, what: impl FnOnce(&mut dyn SchedulingFunction, View<'_>)) {
        self.inform(now, what);
        self.act(now);
    }

    fn inform(&mut self, now: Asn, what: impl FnOnce(&mut dyn SchedulingFunction, View<'_>)) {
        let Self { node, chance, cells, function, waiting, .. } = self;
        what(&mut **function, View { now, node: *node, chance: *chance, cells, waiting: *waiting });
    }

    /// Does what the scheduling function wants.
    fn act(&mut self, now: Asn) {
        // A scheduling function that never ends to want something must not stop the node.
        for _ in 0..MOST_ACTIONS {
            let Self { node, chance, transactions, cells, function, waiting, .. } = self;
            let view = View { now, node: *node, chance: *chance, cells, waiting: *waiting };
            let may_begin = |peer, command| transactions.may_begin(peer, command);
            let Some(action) = function.poll_action(view, &may_begin) else { return };
            match action {
                Action::Request { peer, request } => {
                    if !self.begin(now, peer, request) {
                        let (outcome, answer) = (Outcome::Code(ReturnCode::RC_ERR_BUSY), Answer::Nothing);
                        let conclusion = Conclusion { peer, request, is_own: true, outcome, answer };
                        self.inform(now, |function, view| function.ended(view, &conclusion));
                    }
                }
                Action::Forget { peer } => self.remove_all(now, peer),
                Action::Quarantine { peer, until } => self.quarantines.push_back((peer, until)),
                Action::ResetCounters { peer } => self.cells.reset_counters(peer),
            }
        }
    }

    fn begin(&mut self, _: Asn, peer: u16, request: Request) -> bool {
        if !self.transactions.begin(peer, request) {
            return false;
        }
        // RFC 8480, 3.1.1: the candidates are locked until the response. So are cells that are to go.
        let mut cells = CellList::EMPTY;
        if let Request::Add(change) | Request::Delete(change) | Request::Relocate(change, _) = &request {
            cells = change.cell_list;
        }
        if let Request::Relocate(_, candidates) = &request {
            let _ = candidates.iter().all(|cell| cells.push(cell));
        }
        self.cells.lock(peer, &cells);
        true
    }

    fn handle(&mut self, now: Asn, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Asked { peer, request } => {
                self.cells.unlock(peer);
                let (code, answer) = match self.decide(now, peer, &request) {
                    Ok((code, answer)) => (code, answer),
                    Err(code) => (code, Answer::Nothing),
                };
                if request.command() != Command::List {
                    self.cells.lock(peer, &answer.cells());
                }
                self.transactions.respond(peer, code, answer);
            }
            Step::Offered { peer, request, candidates } => {
                let cells = match &request {
                    Request::Add(change) | Request::Relocate(change, _) => {
                        let (options, metadata) = (change.cell_options, change.metadata);
                        let count = usize::from(change.num_cells);
                        self.function.select(self.view(now), &Selection { options, metadata, candidates, count })
                    }
                    _ => CellList::EMPTY,
                };
                self.cells.lock(peer, &cells);
                self.transactions.confirm(peer, ReturnCode::RC_SUCCESS, cells);
            }
            Step::Cleared { peer, aborted } => {
                self.cells.unlock(peer);
                self.remove_all(now, peer);
                if let Some(request) = aborted {
                    let (outcome, answer) = (Outcome::LinkFailure, Answer::Nothing);
                    let conclusion = Conclusion { peer, request, is_own: true, outcome, answer };
                    self.inform(now, |function, view| function.ended(view, &conclusion));
                }
                self.inform(now, |function, view| function.cleared(view, peer));
            }
            Step::Ended(conclusion) => {
                self.cells.unlock(conclusion.peer);
                if conclusion.outcome.is_success() {
                    self.apply(now, &conclusion);
                }
                self.inform(now, |function, view| function.ended(view, &conclusion));
            }
        }
    }

    /// Decides about a request of a neighbour (RFC 8480, 3.3).
    fn decide(&self, now: Asn, peer: u16, request: &Request) -> Result<(ReturnCode, Answer), ReturnCode> {
        self.function.admit(self.view(now), peer, request)?;
        let cells = match request {
            Request::Add(change) if change.cell_list.is_empty() => {
                self.function.offer(self.view(now), change.num_cells.into())
            }
            Request::Add(change) => self.select(now, peer, change, &change.cell_list)?,
            Request::Delete(change) => self.cells_to_delete(peer, change)?,
            Request::Relocate(change, candidates) => {
                self.check_scheduled(peer, change)?;
                if candidates.is_empty() {
                    self.function.offer(self.view(now), change.num_cells.into())
                } else {
                    self.select(now, peer, change, candidates)?
                }
            }
            Request::Count { cell_options, .. } => {
                let count = self.cells.with(peer).filter(|cell| cell_options.selects(cell.options)).count();
                return Ok((ReturnCode::RC_SUCCESS, Answer::NumCells(count as u16))); // one cell a slot at most
            }
            Request::List { cell_options, offset, max_num_cells, .. } => {
                let selected = || self.cells.with(peer).filter(|cell| cell_options.selects(cell.options));
                let (offset, most) = (usize::from(*offset), usize::from(*max_num_cells));
                let list: CellList = selected().skip(offset).take(most).map(|cell| cell.cell).collect();
                let is_end = offset + list.len() >= selected().count();
                let code = if is_end { ReturnCode::RC_EOL } else { ReturnCode::RC_SUCCESS };
                return Ok((code, Answer::Cells(list)));
            }
            // No scheduling function here signals; what belongs to a CLEAR happened before.
            Request::Signal { .. } => return Err(ReturnCode::RC_ERR),
            Request::Clear { .. } => return Ok((ReturnCode::RC_SUCCESS, Answer::Nothing)),
        };
        Ok((ReturnCode::RC_SUCCESS, Answer::Cells(cells)))
    }

    fn select(&self, now: Asn, peer: u16, change: &Change, candidates: &CellList) -> Result<CellList, ReturnCode> {
        let (options, metadata) = (change.cell_options.mirrored(), change.metadata);
        let (candidates, count) = (*candidates, usize::from(change.num_cells));
        let selected = self.function.select(self.view(now), &Selection { options, metadata, candidates, count });
        let are_locked = candidates.iter().any(|cell| self.cells.is_locked_for(peer, cell));
        // RFC 8480, 3.4.3
        if selected.is_empty() && count > 0 && are_locked { Err(ReturnCode::RC_ERR_LOCKED) } else { Ok(selected) }
    }

    fn cells_to_delete(&self, peer: u16, change: &Change) -> Result<CellList, ReturnCode> {
        let (options, count) = (change.cell_options.mirrored(), usize::from(change.num_cells));
        if change.cell_list.is_empty() {
            let cells: CellList = self.cells.matching(peer, options).map(|cell| cell.cell).take(count).collect();
            return if cells.len() == count { Ok(cells) } else { Err(ReturnCode::RC_ERR_CELLLIST) };
        }
        self.check_scheduled(peer, change)?;
        Ok(change.cell_list.iter().take(count).collect())
    }

    /// Checks that all cells of a list are scheduled with the neighbour, with the options that it names.
    fn check_scheduled(&self, peer: u16, change: &Change) -> Result<(), ReturnCode> {
        let options = change.cell_options.mirrored();
        let is_scheduled = |cell: SixpCell| self.cells.matching(peer, options).any(|own| own.cell == cell);
        if !change.cell_list.iter().all(is_scheduled) {
            return Err(ReturnCode::RC_ERR_CELLLIST);
        }
        let are_locked = change.cell_list.iter().any(|cell| self.cells.is_locked_for(peer, cell));
        if are_locked { Err(ReturnCode::RC_ERR_LOCKED) } else { Ok(()) }
    }

    /// Changes the cells as both nodes have agreed.
    fn apply(&mut self, now: Asn, conclusion: &Conclusion) {
        let Conclusion { peer, request, is_own, answer, .. } = conclusion;
        let own = |options: CellOptions| if *is_own { options } else { options.mirrored() };
        let cells = answer.cells();
        self.inform(now, |function, view| function.settle(view));
        match request {
            Request::Add(change) => {
                for cell in cells.iter() {
                    self.add(*peer, own(change.cell_options), change.metadata, cell);
                }
            }
            Request::Delete(change) => {
                for cell in cells.iter() {
                    self.remove(*peer, own(change.cell_options), cell);
                }
            }
            // RFC 8480, 3.3.3: the first cells of the list are relocated, in the same order.
            Request::Relocate(change, _) => {
                let options = own(change.cell_options);
                let pairs = || change.cell_list.iter().zip(cells.iter());
                let metadata = change.metadata;
                pairs().for_each(|(from, _)| self.remove(*peer, options, from));
                pairs().for_each(|(_, to)| self.add(*peer, options, metadata, to));
            }
            Request::Clear { .. } => self.remove_all(now, *peer),
            Request::Count { .. } | Request::List { .. } | Request::Signal { .. } => {}
        }
        self.inform(now, |function, view| function.changed(view));
    }

    fn add(&mut self, peer: u16, options: CellOptions, metadata: u16, cell: SixpCell) {
        if self.cells.add(peer, options, metadata, cell) {
            self.changes.push_back(CellChange { peer, cell, options, is_added: true });
        }
    }

    fn remove(&mut self, peer: u16, options: CellOptions, cell: SixpCell) {
        if self.cells.remove(peer, options, cell).is_some() {
            self.changes.push_back(CellChange { peer, cell, options, is_added: false });
        }
    }

    fn remove_all(&mut self, now: Asn, peer: u16) {
        self.inform(now, |function, view| function.settle(view));
        let first = |cells: &CellTable| cells.with(peer).next().map(|cell| (cell.options, cell.cell));
        while let Some((options, cell)) = first(&self.cells) {
            self.remove(peer, options, cell);
        }
        self.inform(now, |function, view| function.changed(view));
    }
}

/// After so many transmissions both counters of a cell are halved (RFC 9033, 14). A power of two.
const MAX_NUMTX: u16 = 256;
/// The most actions at once: those towards an old parent, a new one, and neighbours that are gone.
const MOST_ACTIONS: usize = 32;
