//! DAOs (RFC 6550, 9): when a node sends them, how often again, and what the root makes of them.

use core::time::Duration;
use std::net::Ipv6Addr;

use super::{Node, Repair, Transmit, global, link_local};
use crate::Time;
use crate::chance::Purpose;
use crate::rpl::messages::{Dao, DaoAck, Dio, Message};
use crate::rpl::options::{Advertisement, Target, Transit};
use crate::rpl::routes::NO_PATH;
use crate::rpl::sequence::Sequence;

/// When a node sends its next DAO.
#[derive(Debug)]
pub(super) struct DaoSender {
    /// When the next DAO is due: the first one, one that was not acknowledged, or one that renews the path.
    at: Option<Time>,
    /// How often the present one was sent; 0 if it is new.
    tries: u8,
    /// Whether a DAO-ACK is missing.
    is_waiting: bool,
    sequence: Sequence,
    path_sequence: Sequence,
    /// How many delays were drawn.
    draws: u64,
}

impl Default for DaoSender {
    fn default() -> Self {
        let (sequence, path_sequence) = (Sequence::FIRST, Sequence::FIRST);
        Self { at: None, tries: 0, is_waiting: false, sequence, path_sequence, draws: 0 }
    }
}

impl DaoSender {
    pub(super) const fn next_time(&self) -> Option<Time> {
        self.at
    }

    pub(super) const fn stop(&mut self) {
        (self.at, self.is_waiting) = (None, false);
    }

    /// Counts for a DAO with other information than the one before (9.2.1 and 9.3, rule 1).
    const fn count(&mut self) {
        self.sequence = self.sequence.next();
        self.path_sequence = self.path_sequence.next();
    }
}

impl Node {
    /// Makes the node send a DAO with news after DelayDAO, unless one with news is on its way already (9.5).
    pub(super) fn renew_dao(&mut self, now: Time) {
        if self.dao.tries == 0 && self.dao.at.is_some() {
            return;
        }
        (self.dao.tries, self.dao.is_waiting) = (0, false);
        let delay = self.draw_around(self.options.dao_delay);
        self.dao.at = Some(now + delay);
    }

    /// Sends the DAO that is due.
    pub(super) fn send_dao(&mut self, now: Time) {
        if self.dao.at.is_none_or(|at| now < at) {
            return;
        }
        let Some((next_hop, lifetime, unit)) = self.dodag.as_ref().and_then(|dodag| {
            let configuration = &dodag.configuration;
            Some((dodag.parent?, configuration.default_lifetime, configuration.lifetime_unit))
        }) else {
            return self.dao.stop();
        };
        // After the last try in vain, it waits for the time of renewal.
        let is_given_up = self.dao.is_waiting && self.dao.tries > self.options.dao_retries;
        if is_given_up || !self.dao.is_waiting {
            self.dao.count();
            self.dao.tries = 0;
        }
        let expects_ack = self.options.dao_ack_timeout.is_some();
        let dao = self.dao_message(next_hop, lifetime, expects_ack);
        self.send_to_root(next_hop, dao);
        self.dao.tries = self.dao.tries.saturating_add(1);
        self.dao.is_waiting = expects_ack;
        let is_last = self.dao.tries > self.options.dao_retries;
        self.dao.at = match self.options.dao_ack_timeout {
            Some(timeout) if !is_last => Some(now + timeout),
            _ => self.renewal(now, lifetime, unit),
        };
    }

    /// Handles the root's answer.
    pub(super) fn handle_dao_ack(&mut self, now: Time, ack: &DaoAck) {
        let Some(dodag) = &self.dodag else { return };
        let is_mine = ack.instance == dodag.instance && ack.dodag_id.is_none_or(|id| id == dodag.id);
        if !is_mine || !self.dao.is_waiting || ack.sequence != self.dao.sequence {
            return;
        }
        if ack.status >= REJECTION {
            // A rejection is as good as no answer: the DAO is sent again, as often as the options say. If this node has started
            // anew, the root may know a newer Path Sequence of its life before. It is overtaken by steps that it can follow.
            (0..REJECTED_STEP).for_each(|_| self.dao.count());
            return;
        }
        let (lifetime, unit) = (dodag.configuration.default_lifetime, dodag.configuration.lifetime_unit);
        self.dao.is_waiting = false;
        self.dao.at = self.renewal(now, lifetime, unit);
    }

    /// Sends DAOs again, and makes others do so, if the parent wants it (9.6).
    pub(super) fn follow_dtsn(&mut self, now: Time, source: Ipv6Addr, dio: &Dio) {
        let before = self.neighbours.note_dtsn(source, dio.dtsn);
        let is_newer = before.is_some_and(|before| dio.dtsn.is_newer_than(before));
        let Some(dodag) = self.dodag.as_mut().filter(|dodag| is_newer && dodag.parent == Some(source)) else { return };
        dodag.dtsn = dodag.dtsn.next();
        dodag.trickle.reset(now);
        self.renew_dao(now);
    }

    /// Says that there is no path to this node, through a neighbour that is not its parent.
    pub(super) fn send_no_path(&mut self, next_hop: Ipv6Addr) {
        self.dao.count();
        let dao = self.dao_message(next_hop, NO_PATH, false);
        self.send_to_root(next_hop, dao);
    }

    /// Handles a DAO at the root: what it says of parents, and whether its sender needs another version.
    pub(super) fn handle_dao(&mut self, now: Time, source: Ipv6Addr, dao: &Dao) {
        let (Some(root), Some(dodag)) = (&mut self.root, &self.dodag) else { return };
        if dao.instance != dodag.instance || dao.dodag_id.is_some_and(|id| id != dodag.id) {
            return;
        }
        let mut status = 0;
        for Advertisement { targets, transits } in &dao.advertisements {
            for target in targets {
                // Routes lead to nodes, not to prefixes.
                let node = (target.prefix_length == 128).then_some(target.prefix);
                let unit = dodag.configuration.lifetime_unit;
                let result = node.map(|node| root.routes.update(now, node, transits, unit));
                match result {
                    Some(Ok(true)) => {}
                    Some(Ok(false)) => {
                        if let Repair::Global { interval } = self.options.repair {
                            let at = now.max(root.version_began + interval);
                            root.repair_at = Some(root.repair_at.map_or(at, |present| present.min(at)));
                        }
                    }
                    Some(Err(_)) | None => status = REJECTION,
                }
            }
        }
        if dao.expects_ack {
            let ack = DaoAck { instance: dao.instance, dodag_id: None, sequence: dao.sequence, status };
            let (source, destination) = (self.address, source);
            self.send(Transmit { source, destination, next_hop: None, message: Message::DaoAck(ack) });
        }
    }

    fn dao_message(&self, parent: Ipv6Addr, path_lifetime: u8, expects_ack: bool) -> Dao {
        let transit = Transit {
            is_external: false,
            path_control: MOST_PREFERRED,
            path_sequence: self.dao.path_sequence.0,
            path_lifetime,
            parent: Some(global(parent, self.address)),
        };
        let target = Target { prefix_length: 128, prefix: self.address };
        let advertisements = vec![Advertisement { targets: vec![target], transits: vec![transit] }];
        let instance = self.dodag.as_ref().map_or(self.options.instance, |dodag| dodag.instance);
        Dao { instance, expects_ack, dodag_id: None, sequence: self.dao.sequence, advertisements }
    }

    fn send_to_root(&mut self, next_hop: Ipv6Addr, dao: Dao) {
        let Some(destination) = self.dodag.as_ref().map(|dodag| dodag.id) else { return };
        debug_assert_eq!(next_hop, link_local(next_hop));
        let (source, next_hop) = (self.address, Some(next_hop));
        self.send(Transmit { source, destination, next_hop, message: Message::Dao(dao) });
    }

    /// Returns when a path is renewed: after about half of its lifetime.
    fn renewal(&mut self, now: Time, lifetime: u8, unit: u16) -> Option<Time> {
        let half = Duration::from_secs(u64::from(lifetime) * u64::from(unit) / 2);
        (lifetime != u8::MAX).then(|| now + self.draw_around(half).max(Duration::from_secs(1)))
    }

    /// Draws a duration from three quarters to five quarters of `mean`, so that nodes do not send all at once.
    fn draw_around(&mut self, mean: Duration) -> Duration {
        let mean = u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX);
        self.dao.draws += 1;
        let drawn = self.chance.below(mean / 2, Purpose::Dao, self.id(), self.dao.draws);
        Duration::from_nanos((mean - mean / 4).saturating_add(drawn))
    }
}

/// Path Control of the only parent: the first bit of PC1 (6.7.8, figure 27).
const MOST_PREFERRED: u8 = 0x80;
/// Half of SEQUENCE_WINDOW (7.2).
const REJECTED_STEP: u8 = 8;
/// The least status that is a rejection. 127 is in both of the RFC's ranges (6.5.1).
const REJECTION: u8 = 128;
