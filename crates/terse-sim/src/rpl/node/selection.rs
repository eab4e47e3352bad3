//! Which neighbour is the parent (RFC 6550, 8.2.2.4; RFC 6552, 4.2.1), and what a node does that has none.

use std::net::Ipv6Addr;

use super::neighbours::Neighbour;
use super::{Dodag, Event, Node, Repair};
use crate::Time;
use crate::rpl::messages::INFINITE_RANK;
use crate::rpl::of0::Of0;

impl Node {
    /// Chooses the parent and computes the Rank. Must be called after all that may change either.
    pub(super) fn select_parent(&mut self, now: Time) {
        let of0 = self.of0();
        let repair = self.options.repair;
        let (None, Some(dodag)) = (&self.root, &mut self.dodag) else { return };
        let is_poor = |link: &_| of0.rank_through(0, link).is_none();
        self.neighbours.mark_poor(now, self.options.forget_after, is_poor);
        let candidates = self.neighbours.iter().filter_map(|neighbour| dodag.rank_as_parent(&of0, repair, neighbour));
        let mut best: Option<(u16, Ipv6Addr)> = None;
        let mut present = None;
        for candidate in candidates {
            best = Some(best.map_or(candidate, |best| best.min(candidate)));
            if Some(candidate.1) == dodag.parent {
                present = Some(candidate);
            }
        }
        // RFC 8180, 6.4.
        let chosen = match (present, best) {
            (Some(present), Some(best)) if !of0.is_worth_a_switch(present.0, best.0) => Some(present),
            _ => best,
        };
        let old = dodag.parent;
        dodag.parent = chosen.map(|(_, address)| address);
        dodag.rank = chosen.map_or(INFINITE_RANK, |(rank, _)| rank);
        dodag.lowest = dodag.lowest.min(dodag.rank);
        if dodag.parent == old {
            return;
        }
        // A node that has joined tells others soon, and so does one that poisons its routes.
        dodag.trickle.reset(now);
        let new = dodag.parent;
        self.note(Event::Parent { old, new });
        if new.is_some() {
            self.dis_at = None;
            self.renew_dao(now);
        } else {
            self.dao.stop();
            self.ask_for_repair();
            self.solicit_later(now);
        }
    }

    /// Tells the root that this node is lost among routers that must not become its parents, by a No-Path for itself through one
    /// of them. Each time it is another one: some lead here again.
    pub(super) fn ask_for_repair(&mut self) {
        let of0 = self.of0();
        let (Repair::Global { .. }, Some(dodag)) = (self.options.repair, &self.dodag) else { return };
        let is_way = |neighbour: &&Neighbour| {
            neighbour.version == dodag.version && of0.rank_through(neighbour.rank, &neighbour.link).is_some()
        };
        let mut ways: Vec<&Neighbour> = self.neighbours.iter().filter(is_way).collect();
        ways.sort_by_key(|neighbour| (neighbour.rank, neighbour.address));
        let turn = usize::try_from(self.solicitations).unwrap_or(0);
        if let Some(way) = (!ways.is_empty()).then(|| ways[turn % ways.len()].address) {
            self.send_no_path(way);
        }
    }
}

impl Dodag {
    /// Returns the Rank that a neighbour would give as the parent, and its address; `None` if it must not be the parent.
    fn rank_as_parent(&self, of0: &Of0, repair: Repair, neighbour: &Neighbour) -> Option<(u16, Ipv6Addr)> {
        if neighbour.version != self.version {
            return None;
        }
        let rank = of0.rank_through(neighbour.rank, &neighbour.link)?;
        // 8.2.2.4, rule 3.
        let limit = self.configuration.max_rank_increase;
        if limit > 0 && rank > self.lowest.saturating_add(limit) {
            return None;
        }
        // Whoever became the parent with a lower Rank than this node's lowest may stay the parent: its own lowest Rank only
        // falls.
        let is_below = Some(neighbour.address) == self.parent || neighbour.rank < self.lowest;
        (is_below || repair == Repair::Local).then_some((rank, neighbour.address))
    }
}
