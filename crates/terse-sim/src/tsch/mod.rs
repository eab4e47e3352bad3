//! A 6TiSCH mesh: TSCH (IEEE 802.15.4-2020, 6.2.6) and 6LoWPAN over several hops, with a static schedule, or with one that the
//! network makes for itself by 6P, MSF and RPL.
//!
//! ```text
//! host ── 6LoWPAN: compress, cut ── pool of frames ── cells ──> air ──> cells ── pool ── ... ── root ── serial ── gateway
//!          datagram                   mote              slot               adaptation            serial
//! ```
//!
//! The mesh is a medium with as many ends as nodes. A node that forwards does so here; its host never sees the packets of
//! others. End 0 is the gateway behind the root, which compresses, reassembles and knows all routes, as OpenVisualizer does
//! (non-storing mode of RPL; with a static schedule the routes are static, too).
//!
//! Slots in which nobody has anything to send are passed over: a wheel knows each node's next opportunity.
//! [`MeshConfig::steps_every_slot`] steps through all of them, with the same results.
//!
//! What must always hold: every chance is a hash of the node and the slot; a slot is worked off before
//! anything else that happens at its beginning; a packet is counted once, whatever becomes of its fragments.

mod adaptation;
mod capture;
mod clock;
mod config;
mod consequences;
mod datagram;
mod firsts;
mod formation;
mod forming;
mod frame;
mod membership;
mod mote;
mod pool;
mod power;
mod questions;
mod record;
mod schedule;
mod serial;
mod slab;
mod slot;
mod stack;
#[cfg(test)]
mod tests;
mod wheel;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

pub use crate::asn::Asn;
use capture::MeshTap;
pub use clock::Timeslot;
pub use config::{
    ConfigError, LossOptions, MacOptions, MeshConfig, MoteOptions, PoolOptions, SerialOptions, SixlowpanOptions,
};
use datagram::Datagrams;
use firsts::Firsts;
pub use formation::{AUTONOMOUS, BeaconOptions, FormationOptions, Function, MINIMAL, NEGOTIATED};
use forming::Forming;
use frame::{Frame, Piece};
use mote::{Mote, Partial};
use schedule::Schedule;
pub use schedule::{Cell, CellKind};
use serial::Serial;
use slot::Transmission;
use stack::State;
use wheel::Wheel;

use crate::Time;
use crate::capture::Capture;
use crate::cause::Cause;
use crate::chance::Chance;
use crate::conservation::{Balance, Conservation};
use crate::energy::{Meter, SlotKind};
use crate::ledger::{Classifier, Ledger};
use crate::packet::Packet;
use crate::radio::{Air, RadioChange};
use crate::sixlowpan::routing::MAX_ROUTERS;
use crate::verdict::Verdict;

/// The most hops from a node to the root: a source route names 32 routers.
pub const MAX_HOPS: usize = MAX_ROUTERS + 1;

/// A mesh, and everything on it.
#[derive(Debug)]
pub struct Mesh {
    config: MeshConfig,
    chance: Chance,
    air: Air,
    motes: Vec<Mote>,
    /// What a network that forms itself has.
    forming: Option<Forming>,
    by_address: BTreeMap<Ipv6Addr, u16>,
    datagrams: Datagrams,
    pub(crate) ledger: Ledger,
    frames: Balance,
    classifiers: [Classifier; 2],
    taps: Vec<MeshTap>,
    wheel: Wheel,
    next_tag: u16,
    next_number: u64,
    /// The gateway: frames to the root, fragments from it, packets of which some are missing.
    to_root: Serial<Frame>,
    from_root: Serial<Piece>,
    at_gateway: Vec<Partial>,
    /// Packets that nodes have received as a whole: when their hosts get them, and over how many routers they came.
    deliveries: VecDeque<(Time, u16, u32, u8)>,
    /// When reassembly may give up: the node, and the number of the packet.
    expiries: BinaryHeap<Reverse<(Time, u16, u32, u64)>>,
    /// Packets that have arrived and that nodes have not taken yet.
    arrivals: VecDeque<Arrival>,
    /// How many changes of the radio were made.
    radio_changes: usize,
    /// After so many slots nobody repeats a frame.
    longest_repetition: u64,
    /// The next slot to step through, if every slot is.
    next_slot: Asn,
    armed_slot: Option<Asn>,
    armed_due: Option<Time>,
    /// Events for the queue of the network.
    events: VecDeque<(Time, MeshEvent)>,
    /// Memory that slots use again.
    senders: Vec<u16>,
    transmissions: Vec<Transmission>,
    heard: Vec<(usize, u16)>,
    firsts: Firsts,
}

/// An event of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeshEvent {
    /// A slot begins.
    Slot(Asn),
    /// A frame leaves the serial line, a host gets a packet, or a timeout of reassembly may be over.
    Due,
}

impl MeshEvent {
    /// Whether the event comes before all others of its time. A slot does, so that it makes no difference when its event was
    /// put into the queue.
    pub(crate) const fn comes_first(self) -> bool {
        matches!(self, Self::Slot(_))
    }
}

/// A packet that arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The end at which it arrived.
    pub(crate) end: u16,
    /// The number to report its fate by.
    pub(crate) number: u64,
    pub(crate) packet: Packet,
}

/// What a node has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeshStatistics {
    /// Data frames sent, repetitions included.
    pub transmissions: u64,
    /// Data frames that were acknowledged.
    pub acknowledged: u64,
    /// Data frames that were given up after the last retry.
    pub given_up: u64,
    /// Data frames received.
    pub received: u64,
    /// Data frames received that had been received before.
    pub repeated: u64,
    /// Packets that it marked as having met congestion (RFC 3168).
    pub marked: u64,
    /// When it was synchronised, if it is in a network that forms itself.
    pub joined_at: Option<Time>,
}

/// The frames with packets of a node's host, and to it, on all hops, without acknowledgements of the MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The number of frames, with each repetition.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Share {
    fn count(&mut self, len: usize) {
        self.frames += 1;
        self.bytes += len as u64;
    }
}

impl Mesh {
    /// Creates a mesh whose chances follow from `seed`.
    pub(crate) fn new(config: MeshConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let mote = |(number, options): (usize, &MoteOptions)| {
            let (eui64, cells) = (eui64_of(options.address), &options.cells[..]);
            let pool = config.root_pool.filter(|_| number == 0).unwrap_or(config.pool);
            let cells = if config.formation.is_some() { &[] } else { cells };
            Mote::new(eui64, options.parent, Schedule::new(cells, &config.slotframes), pool, &config.mac)
        };
        let motes: Vec<Mote> = config.motes.iter().enumerate().map(mote).collect();
        let by_address = (0..).zip(&config.motes).map(|(number, options)| (options.address, number)).collect();
        let slotframe = config.slotframes.iter().copied().max().unwrap_or(1);
        let repetitions = (u64::from(config.mac.max_retries) + 1) << config.mac.max_be.min(16);
        let longest_repetition = repetitions * u64::from(slotframe);
        let mut mesh = Self {
            chance: Chance::new(seed),
            air: Air::new(&config.radio, motes.len()),
            forming: config.formation.as_ref().map(|options| Forming::new(&config, options)),
            wheel: Wheel::new(motes.len()),
            by_address,
            motes,
            datagrams: Datagrams::default(),
            ledger: Ledger::new(),
            frames: Balance::default(),
            classifiers: [Classifier::default(), Classifier::default()],
            taps: Vec::new(),
            next_tag: 0,
            next_number: 0,
            to_root: Serial::down(config.serial.down),
            from_root: Serial::up(config.serial.up),
            at_gateway: Vec::new(),
            deliveries: VecDeque::new(),
            expiries: BinaryHeap::new(),
            arrivals: VecDeque::new(),
            radio_changes: 0,
            longest_repetition,
            next_slot: Asn(0),
            armed_slot: None,
            armed_due: None,
            events: VecDeque::new(),
            senders: Vec::new(),
            transmissions: Vec::new(),
            heard: Vec::new(),
            firsts: Firsts::default(),
            config,
        };
        mesh.begin_forming();
        mesh.arm();
        Ok(mesh)
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &MeshConfig {
        &self.config
    }

    /// Returns what a node has done, if there is such a node.
    pub fn statistics(&self, mote: u16) -> Option<MeshStatistics> {
        self.motes.get(usize::from(mote)).map(|mote| mote.statistics)
    }

    /// Returns which frames on the air were for a node's host until now.
    pub fn share(&self, mote: u16) -> Share {
        self.motes.get(usize::from(mote)).map(|mote| mote.share).unwrap_or_default()
    }

    /// Returns the most frames that a node had at a time, and how many it had no room for.
    pub fn pool_peak(&self, mote: u16) -> Option<(u8, u64)> {
        self.motes.get(usize::from(mote)).map(|mote| mote.pool.peak_and_refused())
    }

    /// Returns how many frames of a node's pool are in use.
    pub fn pool_used(&self, mote: u16) -> Option<u8> {
        self.motes.get(usize::from(mote)).map(|mote| mote.pool.used())
    }

    /// Begins to note the occupancy of a node's pool.
    pub fn trace_pool(&mut self, mote: u16) {
        if let Some(mote) = self.motes.get_mut(usize::from(mote)) {
            mote.pool.begin_trace();
        }
    }

    /// Returns the frames in use in a node's pool after each call of its allocator, since [`Self::trace_pool`].
    pub fn pool_trace(&self, mote: u16) -> &[u8] {
        self.motes.get(usize::from(mote)).map_or(&[], |mote| mote.pool.trace())
    }

    /// Returns how many packets were dropped until now, by cause, without those of the network itself.
    pub fn dropped(&self) -> &BTreeMap<Cause, u64> {
        &self.datagrams.dropped
    }

    /// Returns what a node's radio has done until now, for its energy.
    pub fn meter(&self, mote: u16, now: Time) -> Option<Meter> {
        let asn = self.config.timeslot.after(now);
        let mote = self.motes.get(usize::from(mote))?;
        let mut meter = mote.power.meter(&mote.schedule, asn);
        if let Some(State::Scanning { since, .. }) = mote.stack.as_ref().map(|stack| &stack.state) {
            meter.count_slots(SlotKind::Scan, asn.0.saturating_sub(since.0));
        }
        Some(meter)
    }

    /// Returns how many slots have begun.
    pub fn slots(&self, now: Time) -> u64 {
        self.config.timeslot.after(now).0
    }

    /// Returns the number that the next packet gets, as [`crate::ledger::Record::packet`] has it.
    pub(crate) const fn next_packet(&self) -> u64 {
        self.next_number
    }

    /// Handles an event.
    pub(crate) fn handle(&mut self, now: Time, event: MeshEvent) {
        match event {
            MeshEvent::Slot(asn) => {
                if self.armed_slot != Some(asn) {
                    return;
                }
                self.armed_slot = None;
                if self.config.steps_every_slot || self.wheel.first() == Some(asn) {
                    self.slot(asn);
                    self.next_slot = asn + 1;
                }
            }
            MeshEvent::Due => {
                if self.armed_due.is_some_and(|at| at <= now) {
                    self.armed_due = None;
                }
                self.due(now);
            }
        }
        self.arm();
    }

    /// Changes links now.
    pub(crate) fn change_radio(&mut self, changes: &[RadioChange]) {
        changes.iter().for_each(|change| self.air.change(change));
    }

    /// Returns the next event for the queue of the network.
    pub(crate) fn poll_event(&mut self) -> Option<(Time, MeshEvent)> {
        self.events.pop_front()
    }

    /// Returns the next packet that has arrived.
    pub(crate) fn poll_arrival(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// Takes the verdict of a node on a packet that arrived there.
    pub(crate) fn arrived(&mut self, number: u64, verdict: Verdict) {
        self.datagrams.arrived(number as u32, verdict); // as it was given
    }

    /// Returns the balances, with everything under way counted where it is. A frame is never under way between two events: a
    /// slot is worked off at once.
    pub(crate) fn conservation(&self) -> Conservation {
        Conservation { packets: self.datagrams.balance(), frames: self.frames.clone() }
    }

    /// Returns the captures of the taps.
    pub(crate) fn captures(&self) -> impl Iterator<Item = Capture> {
        self.taps.iter().map(MeshTap::capture)
    }

    /// Puts the next events into the queue after something else than an event has happened.
    pub(crate) fn rearm(&mut self) {
        self.arm();
    }

    /// Puts the next events into the queue, unless they are there already.
    fn arm(&mut self) {
        let slot = if self.config.steps_every_slot { Some(self.next_slot) } else { self.wheel.first() };
        if let Some(asn) = slot.filter(|asn| self.armed_slot.is_none_or(|armed| *asn < armed)) {
            self.armed_slot = Some(asn);
            self.events.push_back((self.config.timeslot.start(asn), MeshEvent::Slot(asn)));
        }
        let delivery = self.deliveries.front().map(|(at, ..)| *at);
        let expiry = self.expiries.peek().map(|Reverse((at, ..))| *at);
        let change = self.config.radio_changes.get(self.radio_changes).map(|change| Time::ZERO + change.after);
        let due = [self.to_root.next_time(), self.from_root.next_time(), delivery, expiry, change];
        let due = due.into_iter().flatten().min();
        if let Some(at) = due.filter(|at| self.armed_due.is_none_or(|armed| *at < armed)) {
            self.armed_due = Some(at);
            self.events.push_back((at, MeshEvent::Due));
        }
    }

    /// Sets a node's place on the wheel after its queue has changed. It can send from `asn` on.
    fn reschedule(&mut self, mote: u16, asn: Asn) {
        if !self.config.steps_every_slot {
            self.wheel.pass(asn);
            let autonomous = self.forming.as_ref().map_or(&[][..], |forming| &forming.autonomous);
            let of_mote = &self.motes[usize::from(mote)];
            let timer = of_mote.stack.as_ref().and_then(|stack| stack.timer).map(|timer| timer.max(asn));
            let opportunity = of_mote.next_opportunity(&self.config.mac, autonomous, &mut self.firsts, asn);
            self.wheel.set(mote, opportunity.into_iter().chain(timer).min());
        }
    }

    /// Returns the node with this address.
    fn find(&self, address: IpAddr) -> Option<u16> {
        match address {
            IpAddr::V6(address) => self.by_address.get(&address).copied(),
            IpAddr::V4(_) => None,
        }
    }
}

/// Returns the EUI-64 from which the interface identifier of an address is made (RFC 4291, appendix A).
fn eui64_of(address: Ipv6Addr) -> [u8; 8] {
    let mut eui64 = identifier_of(address);
    eui64[0] ^= 0x02;
    eui64
}

/// Returns the interface identifier of an address.
fn identifier_of(address: Ipv6Addr) -> [u8; 8] {
    let octets = address.octets();
    core::array::from_fn(|index| octets[8 + index])
}
