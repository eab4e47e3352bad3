//! What a network that forms itself is asked: whether it is formed, who is whose parent, which cells there are.

use super::mote::Mote;
use super::stack::State;
use super::{Cell, Mesh};
use crate::Time;
use crate::asn::Asn;
use crate::direction::Direction;
use crate::sixtop::cells::NegotiatedCell;
use crate::sixtop::message::CellOptions;
use crate::sixtop::scheduling::TunnelRequest;
use crate::sixtop::tunnel::tunnel_of;

/// What a network that forms itself is asked.
impl Mesh {
    /// Whether every node that is switched on is joined, has a parent and a negotiated cell to it, and the root has a route to it.
    /// A network with a static schedule is so from the beginning.
    pub fn is_formed(&self, now: Time) -> bool {
        self.unsettled(now).next().is_none()
    }

    /// Whether a node is switched off, or has all that [`Self::is_formed`] wants.
    pub fn is_settled(&self, now: Time, number: u16) -> bool {
        let Some(mote) = self.motes.get(usize::from(number)) else { return false };
        let Some(stack) = &mote.stack else { return true };
        match &stack.state {
            State::Off => true,
            State::Scanning { .. } => false,
            State::Joined(joined) => {
                let address = self.config.motes[usize::from(number)].address;
                let routes = || self.joined(0).and_then(|root| root.rpl.routes());
                let is_reached = || number == 0 || routes().is_some_and(|routes| routes.route(now, address).is_ok());
                joined.is_settled(number, mote.parent) && is_reached()
            }
        }
    }

    /// Returns how many nodes are switched on and have all that [`Self::is_formed`] wants; the root is one.
    pub fn settled(&self, now: Time) -> usize {
        let is_off = |mote: &&Mote| mote.stack.as_ref().is_some_and(|stack| matches!(stack.state, State::Off));
        self.motes.len() - self.unsettled(now).count() - self.motes.iter().filter(is_off).count()
    }

    /// Returns the nodes that are switched on and do not have all that [`Self::is_formed`] wants.
    pub fn unsettled(&self, now: Time) -> impl Iterator<Item = u16> {
        (0..).zip(&self.motes).map(|(number, _)| number).filter(move |number| !self.is_settled(now, *number))
    }

    /// Returns the parent of a node, if it has one.
    pub fn parent(&self, number: u16) -> Option<u16> {
        self.motes.get(usize::from(number))?.parent
    }

    /// Returns how many hops a node is from the root, if its parents lead there.
    pub fn hops(&self, number: u16) -> Option<u8> {
        let (mut at, mut hops) = (number, 0);
        while at != 0 {
            at = self.parent(at)?;
            hops += 1;
            if usize::from(hops) > super::MAX_HOPS {
                return None;
            }
        }
        Some(hops)
    }

    /// Returns how many cells a tunnel that a node wants has on the hop to the root, or from it, that has the fewest; 0 if it is not
    /// open. A router that has fewer free slots than were asked for gives fewer.
    pub fn tunnel_cells(&self, number: u16, direction: Direction) -> usize {
        let options = if direction == Direction::Up { CellOptions::TX } else { CellOptions::RX };
        let metadata = tunnel_of(number);
        let (mut at, mut fewest) = (number, usize::MAX);
        for _ in 0..super::MAX_HOPS {
            if at == 0 {
                return fewest;
            }
            let (Some(parent), Some(joined)) = (self.parent(at), self.joined(at)) else { return 0 };
            let cells = joined.sixtop.cells().matching(parent, options).filter(|cell| cell.metadata == metadata);
            fewest = fewest.min(cells.count());
            at = parent;
        }
        0
    }

    /// Returns the slots of a node's negotiated cells that belong to the tunnel of another one, or of itself.
    pub fn tunnel_slots(&self, number: u16, of: u16) -> Vec<u16> {
        let Some(joined) = self.joined(number) else { return Vec::new() };
        let is_of_tunnel = |cell: &&NegotiatedCell| cell.metadata == tunnel_of(of);
        joined.sixtop.cells().all().iter().filter(is_of_tunnel).map(|cell| cell.cell.slot_offset).collect()
    }

    /// Returns the cells of a node's schedule now.
    pub fn cells(&self, number: u16) -> &[Cell] {
        self.motes.get(usize::from(number)).map_or(&[], |mote| mote.schedule.cells())
    }

    /// Opens a tunnel of so many cells on each hop from a node to the root, or from the root to it. Returns whether the node can.
    pub(crate) fn open_tunnel(&mut self, now: Time, number: u16, cells: u8, goes_up: bool) -> bool {
        let ready = self.config.timeslot.after(now);
        let Some(hops) = self.hops(number) else { return false };
        let Some(joined) = self.joined_mut(number) else { return false };
        let request = TunnelRequest { hops, cells, goes_up };
        let is_possible = joined.sixtop.open_tunnel(Asn(ready.0.saturating_sub(1)), request);
        self.flush(now, ready, number);
        self.reschedule(number, ready);
        is_possible
    }
}
