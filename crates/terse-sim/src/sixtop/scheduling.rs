//! What a scheduling function is to 6top (RFC 8480, 4).

use core::fmt;

use super::Asn;
use super::cells::{CellTable, NegotiatedCell};
use super::message::{CellList, CellOptions, Command, Request, ReturnCode, SixpCell};
use super::transaction::Conclusion;
use crate::chance::Chance;

/// Decides which cells a node has with which neighbours.
///
/// Everything that it is told happens in the slot [`View::now`], in the order of slots. Its decisions are
/// [actions](Action), taken by [`Self::poll_action`] after each call.
pub(crate) trait SchedulingFunction: fmt::Debug {
    /// Returns the identifier of the scheduling function.
    fn sfid(&self) -> u8;

    /// Returns the 6P timeout, in slots.
    fn timeout(&self) -> u64;

    /// Brings counters up to date before cells change: `view` has them as they were.
    fn settle(&mut self, _view: View<'_>) {}

    /// Handles that cells have changed.
    fn changed(&mut self, _view: View<'_>) {}

    /// Handles a new parent, or that there is none.
    fn set_parent(&mut self, _view: View<'_>, _parent: Option<u16>) {}

    /// Handles a transmission to a neighbour in a negotiated cell.
    fn transmitted(&mut self, _view: View<'_>, _cell: &NegotiatedCell) {}

    /// Handles a frame of a neighbour.
    fn received(&mut self, _view: View<'_>, _peer: u16, _cell: ReceivedIn) {}

    /// Whether a request of a neighbour can be served; if not, the code for the answer.
    fn admit(&self, _view: View<'_>, _peer: u16, _request: &Request) -> Result<(), ReturnCode> {
        Ok(())
    }

    /// Selects up to `count` cells among the candidates of a neighbour. `options` are those of this node's end.
    fn select(&self, view: View<'_>, selection: &Selection) -> CellList {
        selection.candidates.iter().filter(|cell| view.cells.is_free(cell.slot_offset)).take(selection.count).collect()
    }

    /// Selects cells to offer to a neighbour, which then chooses `count` of them.
    fn offer(&self, view: View<'_>, count: usize) -> CellList {
        view.cells.choose_free(view.chance, view.node, view.now.0, (count + SPARE_CANDIDATES).max(5))
    }

    /// Handles the end of a transaction, of either side. Cells have changed already.
    fn ended(&mut self, _view: View<'_>, _conclusion: &Conclusion) {}

    /// Handles that a neighbour has cleared the schedule with this node.
    fn cleared(&mut self, _view: View<'_>, _peer: u16) {}

    /// Wants a tunnel to the root: cells on all hops. Returns whether the scheduling function can do that.
    fn open_tunnel(&mut self, _view: View<'_>, _request: TunnelRequest) -> bool {
        false
    }

    /// Wants the node's tunnels to be removed.
    fn close_tunnels(&mut self) {}

    /// Returns the slot after which [`Self::handle_timeout`] must be called, before the next slot.
    fn poll_timeout(&self, _view: View<'_>) -> Option<Asn> {
        None
    }

    /// Handles that a slot is over.
    fn handle_timeout(&mut self, _view: View<'_>) {}

    /// Returns the next thing to do. `may_begin` says whether a transaction with a neighbour can begin now; the question is
    /// asked again when one has ended.
    fn poll_action(&mut self, _view: View<'_>, _may_begin: &dyn Fn(u16, Command) -> bool) -> Option<Action> {
        None
    }
}

/// A tunnel that a node wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TunnelRequest {
    /// How many hops away the root is.
    pub(crate) hops: u8,
    /// How many cells each hop gets, at most 8.
    pub(crate) cells: u8,
    /// Whether frames go to the root, or come from it.
    pub(crate) goes_up: bool,
}

/// What a scheduling function sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) now: Asn,
    pub(crate) node: u16,
    pub(crate) chance: Chance,
    pub(crate) cells: &'a CellTable,
    /// How many frames wait for the parent.
    pub(crate) waiting: u16,
}

/// The cell in which a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceivedIn {
    /// A negotiated cell, in this slot of the slotframe.
    Negotiated(u16),
    /// The node's AutoRxCell (RFC 9033, 3).
    Autonomous,
    /// A cell of another slotframe.
    Other,
}

/// A choice to be made among a neighbour's candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection {
    pub(crate) options: CellOptions,
    pub(crate) metadata: u16,
    pub(crate) candidates: CellList,
    pub(crate) count: usize,
}

/// What a scheduling function wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Begins a transaction with a neighbour.
    Request { peer: u16, request: Request },
    /// Removes all cells with a neighbour here, whatever it does itself.
    Forget { peer: u16 },
    /// Drops all frames of a neighbour until this slot, and removes it from all tables.
    Quarantine { peer: u16, until: Asn },
    /// Sets the numbers of the cells with a neighbour to 0.
    ResetCounters { peer: u16 },
}

/// What became of a cell, for the schedule of the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellChange {
    pub(crate) peer: u16,
    pub(crate) cell: SixpCell,
    /// What this node does in the cell.
    pub(crate) options: CellOptions,
    pub(crate) is_added: bool,
}

/// How many more cells than needed a node offers.
const SPARE_CANDIDATES: usize = 4;
