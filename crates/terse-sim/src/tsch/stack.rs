//! What a node of a network that forms itself runs above its MAC: synchronisation, RPL, 6top.

use std::collections::BTreeSet;

use super::formation::{FormationOptions, Function};
use crate::Time;
use crate::asn::Asn;
use crate::chance::Chance;
use crate::rpl;
use crate::sixtop::Sixtop;
use crate::sixtop::cells::CellTable;
use crate::sixtop::msf::{MacTiming, Msf};
use crate::sixtop::pid::Pid;
use crate::sixtop::scheduling::SchedulingFunction;
use crate::sixtop::tunnel::Tunnels;
use crate::synchronization::{BeaconChance, Clock, Drift, Joining, KeepAlive};

/// The stack of a node.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) state: State,
    /// How fast the node's clock is.
    pub(super) drift: Drift,
    /// The slot after which something is due.
    pub(super) timer: Option<Asn>,
}

/// Where a node is on its way into the network.
#[derive(Debug)]
pub(super) enum State {
    /// It is switched off.
    Off,
    /// It listens for beacons.
    Scanning {
        joining: Joining,
        /// The first slot in which it did.
        since: Asn,
    },
    /// It is synchronised.
    Joined(Box<Joined>),
}

/// A node that is synchronised.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) sixtop: Sixtop,
    pub(super) rpl: rpl::Node,
    pub(super) clock: Clock,
    /// The time source; none for the root.
    pub(super) source: Option<u16>,
    /// None for the root.
    pub(super) keep_alive: Option<KeepAlive>,
    /// The neighbours of which it has heard a frame for all, since it joined.
    pub(super) neighbours: BTreeSet<u16>,
    /// In one of how many minimal cells a beacon is sent; 0 for in none.
    one_in: u16,
    /// When the next beacon is sent.
    pub(super) beacon_at: Option<Asn>,
    /// Neighbours whose frames are dropped, and until when.
    pub(super) quarantines: Vec<(u16, Asn)>,
}

/// What a node knows from the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub(super) number: u16,
    pub(super) address: core::net::Ipv6Addr,
    pub(super) chance: Chance,
    pub(super) options: &'a FormationOptions,
    pub(super) timing: MacTiming,
    pub(super) channel_offsets: u16,
    /// The slot of the AutoRxCell.
    pub(super) auto_rx: u16,
}

impl Stack {
    /// Creates the stack of a node that is switched on and begins to listen for beacons.
    pub(super) fn scanning(identity: &Identity<'_>, asn: Asn) -> Self {
        let joining = Joining::new(identity.options.join, identity.chance, identity.number.into());
        Self { state: State::Scanning { joining, since: asn }, drift: identity.drift(), timer: None }
    }

    /// Creates the stack of the root, which has the time and the first Rank.
    pub(super) fn root(identity: &Identity<'_>) -> Self {
        let joined = identity.joined(Clock::new(Drift::default(), Time::ZERO), true, Time::ZERO);
        Self { state: State::Joined(Box::new(joined)), drift: Drift::default(), timer: Some(Asn(0)) }
    }

    pub(super) const fn joined(&self) -> Option<&Joined> {
        match &self.state {
            State::Joined(joined) => Some(joined),
            _ => None,
        }
    }

    pub(super) const fn joined_mut(&mut self) -> Option<&mut Joined> {
        match &mut self.state {
            State::Joined(joined) => Some(joined),
            _ => None,
        }
    }
}

impl Identity<'_> {
    /// Returns what a node begins with once it is synchronised.
    pub(super) fn joined(&self, clock: Clock, is_root: bool, now: Time) -> Joined {
        let cells = CellTable::new(self.timing.slotframe_length, self.channel_offsets, &[0, self.auto_rx]);
        let function: Box<dyn SchedulingFunction> = match &self.options.function {
            Function::Msf(msf) => Box::new(Msf::new(msf, &self.timing, self.auto_rx)),
            Function::Pid(pid) => Box::new(Pid::new(pid, &self.timing, self.auto_rx)),
        };
        let function = Box::new(Tunnels::around(function));
        let rpl = match is_root {
            true => rpl::Node::root(self.options.rpl, self.chance, self.address, now),
            false => rpl::Node::router(self.options.rpl, self.chance, self.address, now),
        };
        Joined {
            sixtop: Sixtop::new(self.number, self.chance, cells, function, MOST_TRANSACTIONS),
            rpl,
            clock,
            source: None,
            keep_alive: None,
            neighbours: BTreeSet::new(),
            one_in: 0,
            beacon_at: None,
            quarantines: Vec::new(),
        }
    }

    fn drift(&self) -> Drift {
        let greatest = Drift::ppm(self.options.greatest_drift_ppm.into());
        Drift::draw(self.chance, self.number.into(), greatest)
    }
}

impl Joined {
    /// Whether the node has a parent and a negotiated cell to it; the root needs neither.
    pub(super) fn is_settled(&self, number: u16, parent: Option<u16>) -> bool {
        number == 0 || parent.is_some_and(|parent| self.sixtop.cells().has_tx(parent))
    }

    /// Looks for the slot of the next beacon from `asn` on, if the last one was sent, or the probability is another one now.
    pub(super) fn plan_beacon(&mut self, (chance, number): (Chance, u16), one_in: u16, asn: Asn, slotframe: u16) {
        if self.one_in == one_in && self.beacon_at.is_none_or(|at| at >= asn) {
            return;
        }
        self.one_in = one_in;
        let length = u64::from(slotframe.max(1));
        let next = BeaconChance::new(chance, number.into(), one_in).next(asn.0.div_ceil(length));
        self.beacon_at = next.map(|cell| Asn(cell * length)); // the minimal cell is in slot 0
    }

    /// Whether frames of a neighbour are dropped.
    pub(super) fn is_quarantined(&self, asn: Asn, peer: u16) -> bool {
        self.quarantines.iter().any(|(other, until)| *other == peer && asn < *until)
    }

    /// Notes a word from a neighbour: the clock is set by its time source.
    pub(super) fn hear_time(
        &mut self,
        asn: Asn,
        now: Time,
        from: u16,
        clock: &Clock,
        resolution: core::time::Duration,
    ) {
        if self.source == Some(from) {
            self.clock.synchronise(now, clock, resolution);
            if let Some(keep_alive) = &mut self.keep_alive {
                keep_alive.handle_synchronised(asn.0);
            }
        }
    }
}

/// How many 6P transactions a node takes part in at a time.
const MOST_TRANSACTIONS: usize = 8;
