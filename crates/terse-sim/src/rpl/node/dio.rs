//! DIOs and DIS (RFC 6550, 8.2 and 8.3): how a node joins a DODAG, moves on to another version, and lets others join.

use core::time::Duration;
use std::net::Ipv6Addr;

use super::{Dodag, Event, Node};
use crate::Time;
use crate::chance::Purpose;
use crate::rpl::messages::{ALL_RPL_NODES, Dio, Dis, INFINITE_RANK, Message, NON_STORING};
use crate::rpl::of0::Of0;
use crate::rpl::options::DodagConfiguration;
use crate::rpl::sequence::Sequence;
use crate::rpl::trickle::Trickle;

impl Node {
    /// Answers a neighbour that asks for DIOs (8.3). Asking all means to have no parent, be it that the neighbour has started anew:
    /// whoever has it as the parent must look for another one.
    pub(super) fn handle_dis(&mut self, now: Time, source: Ipv6Addr, is_multicast: bool, dis: &Dis) {
        if is_multicast && self.neighbours.lose(source) {
            self.select_parent(now);
        }
        let Some(dodag) = &mut self.dodag else { return };
        let matches = dis.solicited.is_none_or(|wanted| {
            wanted.version.is_none_or(|version| version == dodag.version.0)
                && wanted.instance.is_none_or(|instance| instance == dodag.instance)
                && wanted.dodag_id.is_none_or(|id| id == dodag.id)
        });
        if !matches || dodag.rank == INFINITE_RANK {
            return;
        }
        if is_multicast {
            dodag.trickle.reset(now);
        } else {
            self.send_dio(source);
        }
    }

    /// Handles a DIO (8.2).
    pub(super) fn handle_dio(&mut self, now: Time, source: Ipv6Addr, dio: &Dio) {
        if self.root.is_some() {
            return self.handle_dio_at_root(now, dio);
        }
        if dio.mode_of_operation != NON_STORING || source.is_multicast() || source == self.link_local() {
            return;
        }
        if self.parent().is_none() && dio.rank != INFINITE_RANK {
            self.join(now, dio);
        }
        let Some(dodag) = self.dodag.as_mut().filter(|dodag| dodag.is_of(dio)) else { return };
        let before = (dodag.version, dodag.rank, dodag.parent);
        let is_heard = self.neighbours.hear(source, dio, dodag.parent);
        if !is_heard {
            return;
        }
        if dio.version != dodag.version {
            self.handle_other_version(now, source, dio);
        }
        self.select_parent(now);
        self.follow_dtsn(now, source, dio);
        let Some(dodag) = &mut self.dodag else { return };
        if before != (dodag.version, dodag.rank, dodag.parent) || dio.version != dodag.version {
            return;
        }
        let of0 = Of0 { min_hop_rank_increase: dodag.configuration.min_hop_rank_increase, ..self.options.of0 };
        if dio.rank == INFINITE_RANK && dodag.rank != INFINITE_RANK {
            dodag.trickle.reset(now); // the neighbour looks for a parent
        } else if of0.dag_rank(dio.rank) < of0.dag_rank(dodag.rank) {
            dodag.trickle.hear_consistent(); // 8.3
        }
    }

    /// The root has no parent. For a neighbour that is behind or lost its Trickle timer begins anew.
    fn handle_dio_at_root(&mut self, now: Time, dio: &Dio) {
        let Some(dodag) = self.dodag.as_mut().filter(|dodag| dodag.is_of(dio)) else { return };
        if dio.version != dodag.version || dio.rank == INFINITE_RANK {
            dodag.trickle.reset(now);
        }
    }

    /// Takes part in the DODAG of a DIO, without a parent yet, unless it is already this node's.
    fn join(&mut self, now: Time, dio: &Dio) {
        // A version that cannot be compared is another life of the root; without a parent, there is nothing to lose.
        let is_known = self.dodag.as_ref().is_some_and(|dodag| {
            dodag.is_of(dio) && (dio.version == dodag.version || dio.version.compare(dodag.version).is_some())
        });
        let Some(configuration) = dio.configuration.filter(|configuration| configuration.objective_code_point == 0)
        else {
            return;
        };
        if is_known {
            return;
        }
        self.neighbours.clear();
        self.dodag = Some(Dodag {
            id: dio.dodag_id,
            instance: dio.instance,
            version: dio.version,
            configuration,
            is_grounded: dio.is_grounded,
            preference: dio.preference,
            dtsn: Sequence::FIRST,
            rank: INFINITE_RANK,
            lowest: INFINITE_RANK,
            parent: None,
            trickle: self.start_trickle(configuration, now),
        });
    }

    /// Migrates to the version of a DIO if it is newer and its sender can be a parent (8.2.2.4, rule 5); makes those that are
    /// behind hear of the present one soon.
    fn handle_other_version(&mut self, now: Time, source: Ipv6Addr, dio: &Dio) {
        let of0 = self.of0();
        let rank = self.neighbours.find(source).and_then(|neighbour| of0.rank_through(neighbour.rank, &neighbour.link));
        let Some(dodag) = &mut self.dodag else { return };
        match dio.version.compare(dodag.version) {
            Some(order) if order.is_gt() => {
                if rank.is_none() {
                    return;
                }
                dodag.version = dio.version;
                if let Some(configuration) = dio.configuration {
                    dodag.configuration = configuration;
                }
                (dodag.is_grounded, dodag.preference) = (dio.is_grounded, dio.preference);
                dodag.lowest = INFINITE_RANK;
                dodag.trickle.reset(now);
                self.note(Event::Version(dio.version));
            }
            Some(_) => dodag.trickle.reset(now),
            None => {}
        }
    }

    /// Sends a DIO: the Rank is infinite if there is no parent, which poisons the routes through this node (8.2.2.5).
    pub(super) fn send_dio(&mut self, destination: Ipv6Addr) {
        let Some(dodag) = &self.dodag else { return };
        let dio = Dio {
            instance: dodag.instance,
            version: dodag.version,
            rank: dodag.rank,
            is_grounded: dodag.is_grounded,
            mode_of_operation: NON_STORING,
            preference: dodag.preference,
            dtsn: dodag.dtsn,
            dodag_id: dodag.id,
            configuration: Some(dodag.configuration),
            prefix: None,
        };
        self.send_to_neighbour(destination, Message::Dio(dio));
    }

    /// Asks for DIOs, and if routers are there that must not become parents, for another version.
    pub(super) fn solicit(&mut self, now: Time) {
        self.dis_at = None;
        if self.parent().is_some() || self.root.is_some() {
            return;
        }
        self.send_to_neighbour(ALL_RPL_NODES, Message::Dis(Dis::default()));
        self.ask_for_repair();
        self.solicit_later(now);
    }

    /// Sets the timer for a DIS, from half to one and a half of the interval ahead; the first one may be earlier.
    pub(super) fn solicit_later(&mut self, now: Time) {
        let interval = u64::try_from(self.options.dis_interval.as_nanos()).unwrap_or(u64::MAX);
        let drawn = self.chance.below(interval, Purpose::Solicitation, self.id(), self.solicitations);
        let least = if self.solicitations == 0 { 0 } else { interval / 2 };
        self.solicitations += 1;
        self.dis_at = Some(now + Duration::from_nanos(least.saturating_add(drawn)));
    }

    fn start_trickle(&mut self, configuration: DodagConfiguration, now: Time) -> Trickle {
        // The timer of another DODAG may have used numbers.
        self.interval = self.dodag.as_ref().map_or(self.interval, |dodag| dodag.trickle.number());
        Trickle::new(configuration.trickle, self.chance, self.id(), self.interval, now)
    }
}

impl Dodag {
    fn is_of(&self, dio: &Dio) -> bool {
        (self.id, self.instance) == (dio.dodag_id, dio.instance)
    }
}
