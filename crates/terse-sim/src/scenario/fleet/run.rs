//! A run: the network forms itself and all devices connect; what happens to it happens; all connect again; and it is observed.
//!
//! What must always hold: times of a device are those at which things happened; bytes and charges are read a look later at most.

use alloc::sync::Arc;
use core::time::Duration;
use std::collections::BTreeMap;

use terse_tls::ClientConfig;
use terse_tls::summary::Mode;

use super::super::energy::{Batteries, Reading};
use super::super::options::{EventKind, Scenario};
use super::built::Built;
use super::outcome::{Device, Fleet, Observed, Reports};
use crate::cause::Cause;
use crate::chance::{Chance, Purpose};
use crate::energy::Meter;
use crate::engine::device::Established;
use crate::ledger::Kind;
use crate::radio::RadioChange;
use crate::tsch::{Mesh, Share};
use crate::{Random, Time};

/// A run under way.
pub(super) struct Run<'s, 'b, 'w, 'a> {
    scenario: &'s Scenario,
    seed: u64,
    batteries: Option<&'s Batteries>,
    built: &'b mut Built<'w, 'a>,
    /// The mode of handshakes that is asked for.
    mode: Mode,
    /// The motes whose devices are not switched on.
    off: Vec<u16>,
    /// When each mote had a place in the network, from mote 1 on.
    joined: Vec<Option<Time>>,
}

/// What was read at a time.
struct Counts {
    at: Time,
    reading: Option<Reading>,
    shares: Vec<Share>,
    network_bytes: u64,
    attempts: Vec<u32>,
    computing: Vec<Duration>,
    failures: u64,
    connections: u64,
    dropped: BTreeMap<Cause, u64>,
}

/// What was read of a device when it was connected.
#[derive(Clone, Copy)]
struct Back {
    at: Time,
    established: Option<Established>,
    share: Share,
    attempts: u32,
    meter: Option<Meter>,
    slots: u64,
    computing: Duration,
}

impl<'s, 'b, 'w, 'a> Run<'s, 'b, 'w, 'a> {
    pub(super) fn new(
        scenario: &'s Scenario,
        seed: u64,
        batteries: Option<&'s Batteries>,
        built: &'b mut Built<'w, 'a>,
        mode: Mode,
    ) -> Self {
        let off: Vec<u16> = built.motes().collect();
        let joined = vec![None; off.len()];
        Self { scenario, seed, batteries, built, mode, off, joined }
    }

    /// Runs everything, and returns what became of it, and which packets were dropped from the event on. `renewed` are the devices'
    /// configurations with new certificates.
    pub(super) fn run(&mut self, renewed: &[Arc<ClientConfig>]) -> Result<(Fleet, BTreeMap<Cause, u64>), String> {
        let event = &self.scenario.event;
        if event.kind != EventKind::PowerCut {
            self.begin()?;
            self.go_on(event.after);
        }
        let before = self.read();
        let faded = self.happen(renewed);
        let backs = self.come_back(before.at, faded.as_deref());
        let after = self.read();
        self.check()?;
        let dropped = after.dropped.iter().map(|(cause, number)| (*cause, number - of(&before.dropped, cause)));
        let dropped = dropped.filter(|(_, number)| *number > 0).collect();
        let until = self.now() + event.observed;
        self.built.server_mut().into_iter().for_each(|server| server.note_reports(after.at, until));
        for mote in self.built.motes() {
            let device = self.built.device_mut(mote);
            device.into_iter().for_each(|device| device.history.counted = Some((after.at, until)));
        }
        self.go_on(event.observed);
        let observed = self.read();
        self.go_on(self.given_up());
        self.check()?;
        Ok((self.fleet(&backs, [&before, &after, &observed]), dropped))
    }

    /// Runs until all devices are connected for the first time, or the limit of forming is over.
    fn begin(&mut self) -> Result<(), String> {
        let end = self.now() + self.scenario.forming.limit;
        let mut waits: Vec<u16> = self.built.motes().collect();
        while !waits.is_empty() && self.now() < end {
            self.look(LOOK);
            waits.retain(|mote| self.established(*mote, Time::ZERO, false).is_none());
        }
        self.check()?;
        let motes = self.joined.len();
        if waits.len() == motes {
            return Err(format!(
                "none of {motes} devices was connected before the event: try a longer forming.limit_ms, longer timeouts or better \
                 links{}",
                self.cause()
            ));
        }
        Ok(())
    }

    /// Lets the event happen. Returns the links as they were, if they have changed.
    fn happen(&mut self, renewed: &[Arc<ClientConfig>]) -> Option<Vec<RadioChange>> {
        let (now, event) = (self.now(), &self.scenario.event);
        match event.kind {
            EventKind::PowerCut => None,
            EventKind::ServerRestart => {
                let server = self.built.server_mut();
                server.into_iter().for_each(|server| server.restart(now, now + event.lasts));
                None
            }
            EventKind::Renewal => {
                let mut random = Random::new(self.seed, RENEWALS);
                for (mote, config) in (1..).zip(renewed) {
                    let share = f64::from(random.next_u32()) / (f64::from(u32::MAX) + 1.0);
                    self.built.renew_at(mote, now + event.lasts.mul_f64(share), config.clone());
                }
                None
            }
            EventKind::LinkFade => {
                for mote in self.built.motes() {
                    self.built.device_mut(mote).into_iter().for_each(|device| device.history.watched = Some(now));
                }
                let (faded, before) = self.fade();
                self.built.change_radio(&faded);
                Some(before)
            }
        }
    }

    /// Returns links as they are while they are weak, and as they were before.
    fn fade(&self) -> (Vec<RadioChange>, Vec<RadioChange>) {
        let Some(mesh) = self.built.mesh() else { return (Vec::new(), Vec::new()) };
        let (chance, radio) = (Chance::new(self.seed), &mesh.config().radio);
        let channels = || core::iter::once(None).chain((11..=26).map(Some));
        let mut before = Vec::new();
        for (from, to, _) in radio.links() {
            // Both ways fade together.
            let pair = u64::from(from.min(to)) << 16 | u64::from(from.max(to));
            if chance.happens(self.scenario.event.share, Purpose::Fade, pair, 0) {
                before.extend(channels().filter_map(|channel| {
                    radio.own_quality(from, to, channel).map(|(delivery, rssi)| RadioChange {
                        after: Duration::ZERO,
                        from,
                        to,
                        channel,
                        delivery,
                        rssi,
                    })
                }));
            }
        }
        let weaker =
            |change: &RadioChange| RadioChange { delivery: change.delivery * self.scenario.event.delivery, ..*change };
        (before.iter().map(weaker).collect(), before)
    }

    /// Runs until all devices are connected again, or the limit is over. `faded` are links to be restored.
    fn come_back(&mut self, event_at: Time, faded: Option<&[RadioChange]>) -> Vec<Option<Back>> {
        let end = event_at + self.scenario.repetitions.limit;
        let mut restore = faded.map(|links| (event_at + self.scenario.event.lasts, links));
        let mut backs: Vec<Option<Back>> = vec![None; self.joined.len()];
        let mut waits: Vec<u16> = self.built.motes().collect();
        while self.now() < end && (!waits.is_empty() || restore.is_some()) {
            if let Some((_, links)) = restore.take_if(|(at, _)| *at <= self.now()) {
                self.built.change_radio(links);
            }
            self.look(LOOK);
            waits.retain(|mote| {
                let back = self.back(*mote, event_at);
                if let Some(place) = backs.get_mut(usize::from(*mote) - 1) {
                    *place = back;
                }
                back.is_none()
            });
            if self.built.server().is_some_and(|server| server.failure.is_some()) {
                break;
            }
        }
        if let Some((_, links)) = restore {
            self.built.change_radio(links);
        }
        backs
    }

    /// Returns what a device has cost until now if it is connected again.
    fn back(&self, mote: u16, event_at: Time) -> Option<Back> {
        let (device, _) = self.built.device(mote)?;
        let (at, established) = match self.scenario.event.kind {
            EventKind::LinkFade => (device.history.answered?, None),
            _ => {
                let is_renewed = self.scenario.event.kind == EventKind::Renewal;
                let (at, established) = self.established(mote, event_at, is_renewed)?;
                (at, Some(established))
            }
        };
        let (mesh, now) = (self.built.mesh()?, self.now());
        Some(Back {
            at,
            established,
            share: mesh.share(mote),
            attempts: established.map_or(device.history.attempts, |established| established.number),
            meter: mesh.meter(mote, now),
            slots: mesh.slots(now),
            computing: device.computing(),
        })
    }

    /// Returns when a device was connected, on both sides, by a handshake that began at a time or later, with a new certificate if
    /// that is wanted.
    fn established(&self, mote: u16, from: Time, is_renewed: bool) -> Option<(Time, Established)> {
        let (device, address) = self.built.device(mote)?;
        let established = device.history.connection.filter(|connection| connection.began >= from)?;
        if is_renewed && !established.is_renewed {
            return None;
        }
        let of_server = self.built.server()?.peer(address)?.connected.filter(|at| *at >= established.began)?;
        Some((established.at.max(of_server), established))
    }

    /// Goes on for a while, and switches devices on whose motes are part of the network.
    fn look(&mut self, time: Duration) {
        let now = self.now();
        let Self { built, off, joined, .. } = self;
        let mut ready = Vec::new();
        if let Some(mesh) = built.mesh() {
            off.retain(|mote| {
                let is_ready = mesh.is_settled(now, *mote);
                ready.extend(is_ready.then_some(*mote));
                !is_ready
            });
        }
        for mote in ready {
            built.start(mote);
            joined.get_mut(usize::from(mote) - 1).into_iter().for_each(|joined| *joined = Some(now));
        }
        built.run_for(time);
    }

    /// Goes on for so long.
    fn go_on(&mut self, time: Duration) {
        let end = self.now() + time;
        while self.now() < end {
            self.look(LOOK.min(end.since(self.now())));
        }
    }

    /// Returns after how long no report is under way any more that was made before.
    fn given_up(&self) -> Duration {
        let traffic = &self.scenario.traffic;
        match traffic.period.is_zero() || self.scenario.event.observed.is_zero() {
            true => Duration::ZERO,
            false => traffic.timeout.saturating_mul((2 << traffic.retries) - 1).min(LATEST_REPORT),
        }
    }

    fn now(&self) -> Time {
        self.built.network.now()
    }

    fn read(&self) -> Counts {
        let (built, now) = (&self.built, self.now());
        let ledger = built.ledger();
        let devices = || built.motes().filter_map(|mote| built.device(mote));
        let peers = || devices().filter_map(|(_, address)| built.server()?.peer(address));
        Counts {
            at: now,
            reading: built.mesh().map(|mesh| Reading::of(mesh, now)),
            shares: built.motes().map(|mote| built.mesh().map_or(Share::default(), |mesh| mesh.share(mote))).collect(),
            network_bytes: Kind::OF_NETWORK.map(|kind| ledger.total_for(kind).bytes() as u64).iter().sum(),
            attempts: devices().map(|(device, _)| device.history.attempts).collect(),
            computing: devices().map(|(device, _)| device.computing()).collect(),
            failures: devices().map(|(device, _)| u64::from(device.history.failures)).sum(),
            connections: peers().map(|peer| peer.connections).sum(),
            dropped: built.mesh().map(|mesh| mesh.dropped().clone()).unwrap_or_default(),
        }
    }

    /// Fails if the run means nothing.
    fn check(&self) -> Result<(), String> {
        if let Some(failure) = self.built.server().and_then(|server| server.failure.clone()) {
            return Err(format!("server: {failure}"));
        }
        let mut devices = self.built.motes().filter_map(|mote| self.built.device(mote));
        match devices.find_map(|(device, _)| device.history.no_time.clone()) {
            Some(no_time) => Err(format!("a device: {no_time}")),
            None => Ok(()),
        }
    }

    /// Returns why the last handshake failed that did, for a message.
    pub(super) fn cause(&self) -> String {
        let mut devices = self.built.motes().filter_map(|mote| self.built.device(mote));
        let failure = devices.find_map(|(device, _)| device.history.failure.clone());
        failure.map(|failure| format!("; a handshake failed: {failure}")).unwrap_or_default()
    }

    fn fleet(&self, backs: &[Option<Back>], [before, after, observed]: [&Counts; 3]) -> Fleet {
        let is_observed = observed.at > after.at;
        let standing: Vec<Observed> = match (self.batteries, &after.reading, &observed.reading) {
            (Some(batteries), Some(from), Some(to)) if is_observed => {
                let of_mote = |(microamperes, duty_cycle, days)| Observed { microamperes, duty_cycle, days };
                batteries.standing(from, to).map(of_mote).collect()
            }
            _ => Vec::new(),
        };
        let mut devices = Vec::new();
        for (place, (mote, back)) in (1..).zip(backs).enumerate() {
            devices.push(Device {
                observed: standing.get(usize::from(mote)).copied(),
                reports: self.reports(mote),
                ..self.device(place, mote, back.as_ref(), [before, after])
            });
        }
        let mut reports = Reports::default();
        for device in &devices {
            reports.sent += device.reports.sent;
            reports.received += device.reports.received;
            reports.latencies.extend(&device.reports.latencies);
        }
        let wanted = match self.scenario.event.kind {
            EventKind::Renewal => Mode::Full,
            _ => self.mode,
        };
        let pools = self.built.mesh().map(pools).unwrap_or_default();
        let others = backs.iter().flatten().filter_map(|back| back.established).filter(|one| one.mode != wanted);
        let sums = |of: &dyn Fn(&Share) -> u64| {
            let sum = |counts: &Counts| counts.shares.iter().map(of).sum::<u64>();
            sum(after) - sum(before)
        };
        let computed: Duration = after.computing.iter().zip(&before.computing).map(|(to, from)| *to - *from).sum();
        let charge = self.batteries.zip(before.reading.as_ref()).zip(after.reading.as_ref());
        let charge = charge.map(|((batteries, from), to)| {
            let none = Meter::default();
            batteries.charge_of_all(from, to) + batteries.charge_of_mote([&none, &none], 0, computed).1
        });
        Fleet {
            event: self.scenario.event.kind,
            measured: after.at.since(before.at),
            bytes: sums(&|share| share.bytes),
            frames: sums(&|share| share.frames),
            network_bytes: after.network_bytes - before.network_bytes,
            charge,
            reports,
            connections: after.connections - before.connections,
            fallbacks: others.count() as u64,
            failures: after.failures - before.failures,
            pools: pools.iter().map(|(peak, _)| *peak).collect(),
            refused: pools.iter().map(|(_, refused)| *refused).collect(),
            devices,
        }
    }

    /// Returns what a device cost from the event on until it was connected, or until the end.
    fn device(&self, place: usize, mote: u16, back: Option<&Back>, [before, after]: [&Counts; 2]) -> Device {
        let since = |at: Time| at.since(before.at);
        let mesh = self.built.mesh();
        let share = |counts: &Counts| counts.shares.get(place).copied().unwrap_or_default();
        let at_the_end = (share(after), after.attempts.get(place).copied().unwrap_or(0));
        let (until, attempts) = back.map_or(at_the_end, |back| (back.share, back.attempts));
        let meter = |counts: &Counts| counts.reading.as_ref()?.meters.get(usize::from(mote)).copied();
        let slots = |counts: &Counts| counts.reading.as_ref().map_or(0, |reading| reading.slots);
        let computing = |counts: &Counts| counts.computing.get(place).copied().unwrap_or_default();
        let to = match back {
            Some(back) => back.meter.map(|meter| (meter, back.slots, back.computing)),
            None => meter(after).map(|meter| (meter, slots(after), computing(after))),
        };
        let charge = self.batteries.zip(meter(before)).zip(to).map(|((batteries, from), (to, until, computed))| {
            batteries.charge_of_mote([&from, &to], until - slots(before), computed - computing(before))
        });
        let synchronised = mesh.and_then(|mesh| mesh.statistics(mote)?.joined_at);
        let joined = self.joined.get(place).copied().flatten();
        let is_power_cut = self.scenario.event.kind == EventKind::PowerCut;
        Device {
            mote,
            parent: mesh.and_then(|mesh| mesh.parent(mote)),
            hops: mesh.and_then(|mesh| mesh.hops(mote)),
            // Other events leave the motes in the network.
            synchronised: synchronised.filter(|_| is_power_cut).map(since),
            joined: joined.filter(|_| is_power_cut).map(since),
            connected: back.map(|back| since(back.at)),
            handshake: back
                .and_then(|back| back.established)
                .map(|established| established.at.since(established.began)),
            attempts: attempts - before.attempts.get(place).copied().unwrap_or(0),
            bytes: until.bytes - share(before).bytes,
            charge: charge.map(|(charge, _)| charge),
            computing: charge.map(|(_, computing)| computing),
            observed: None,
            reports: Reports::default(),
        }
    }

    /// Returns what a device reported while the network was observed.
    fn reports(&self, mote: u16) -> Reports {
        let Some((device, address)) = self.built.device(mote) else { return Reports::default() };
        let peer = self.built.server().and_then(|server| server.peer(address));
        let latencies: Vec<f64> =
            peer.map(|peer| peer.latencies.iter().map(Duration::as_secs_f64).collect()).unwrap_or_default();
        Reports { sent: device.history.reports, received: latencies.len() as u64, latencies }
    }
}

fn pools(mesh: &Mesh) -> Vec<(u8, u64)> {
    let motes = 0..mesh.config().motes.len() as u16; // a mesh has no more
    motes.filter_map(|mote| mesh.pool_peak(mote)).collect()
}

fn of(dropped: &BTreeMap<Cause, u64>, cause: &Cause) -> u64 {
    dropped.get(cause).copied().unwrap_or(0)
}

/// How often devices are looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Reports that took longer are lost.
const LATEST_REPORT: Duration = Duration::from_secs(900);

/// The random stream of renewals.
const RENEWALS: u64 = 1 << 36;
