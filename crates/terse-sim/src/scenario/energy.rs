//! What a run takes of batteries.

use core::time::Duration;

use super::options::{EnergyOptions, NO_ENERGY, Scenario};
use super::outcome::Charge;
use crate::Time;
use crate::energy::{Battery, Energy, Meter, Models, Processor, RadioModel};
use crate::tsch::Mesh;

/// The models of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Batteries {
    radio: RadioModel,
    processor: Option<Processor>,
    battery: Battery,
    slot: Duration,
}

/// The counts of all motes at a time.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) slots: u64,
    pub(super) meters: Vec<Meter>,
}

impl Batteries {
    /// Returns the models, unless energy is not counted.
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        let EnergyOptions { radio, processor, battery_mah } = &scenario.energy;
        let models = Models::built_in();
        let radio = models.radio(radio).filter(|_| radio != NO_ENERGY)?.clone();
        let processor = models.processor(processor).cloned();
        let battery = Battery { milliampere_hours: *battery_mah, ..Battery::AA };
        Some(Self { radio, processor, battery, slot: scenario.schedule.slot.duration() })
    }

    /// Returns the charge of all motes between two readings, in millicoulombs.
    pub(super) fn charge_of_all(&self, from: &Reading, to: &Reading) -> f64 {
        let motes = 0..to.meters.len();
        motes.filter_map(|mote| self.energy(from, to, mote, Duration::ZERO)).map(|energy| energy.charge()).sum::<f64>()
            / MICRO_IN_MILLI
    }

    /// Returns what a handshake took from one reading to another, whose client has computed so long. Before the first one there was
    /// an `earlier` one, after which the mote did nothing but stay in the network.
    pub(super) fn charge(&self, client: u16, readings: [&Reading; 3], computed: Duration) -> Option<Charge> {
        let [earlier, from, to] = readings;
        let mote = usize::from(client);
        let energy = self.energy(from, to, mote, computed)?;
        let idle = self.energy(earlier, from, mote, Duration::ZERO)?;
        let computing = energy.computing / MICRO_IN_MILLI;
        Some(Charge {
            client: energy.charge() / MICRO_IN_MILLI,
            computing,
            all: self.charge_of_all(from, to) + computing,
            duty_cycle: energy.duty_cycle,
            days: idle.days(&self.battery),
            least_days: self.standing(earlier, from).skip(1).map(|(.., days)| days).fold(f64::INFINITY, f64::min),
        })
    }

    /// Returns what each mote took between two readings: its mean current, the share of time in which its radio was on, and the days
    /// that its battery lasts.
    pub(super) fn standing(&self, from: &Reading, to: &Reading) -> impl Iterator<Item = (f64, f64, f64)> {
        let energies = (0..to.meters.len()).filter_map(|mote| self.energy(from, to, mote, Duration::ZERO));
        energies.map(|energy| (energy.current(), energy.duty_cycle, energy.days(&self.battery)))
    }

    /// Returns the charge of a mote between two of its counts, in millicoulombs, and what its processor took of that.
    pub(super) fn charge_of_mote(&self, [from, to]: [&Meter; 2], slots: u64, computed: Duration) -> (f64, f64) {
        let energy = self.energy_of([from, to], slots, computed);
        (energy.charge() / MICRO_IN_MILLI, energy.computing / MICRO_IN_MILLI)
    }

    fn energy_of(&self, [from, to]: [&Meter; 2], slots: u64, computed: Duration) -> Energy {
        let mut meter = to.since(from);
        meter.compute(computed);
        let none = Processor::NONE;
        let processor = self.processor.as_ref().unwrap_or(&none);
        meter.energy(&self.radio, processor, slots, self.slot)
    }

    fn energy(&self, from: &Reading, to: &Reading, mote: usize, computed: Duration) -> Option<Energy> {
        let meters = [from.meters.get(mote)?, to.meters.get(mote)?];
        Some(self.energy_of(meters, to.slots.saturating_sub(from.slots), computed))
    }
}

impl Reading {
    /// Reads the counts of all motes.
    pub(super) fn of(mesh: &Mesh, now: Time) -> Self {
        let motes = 0..mesh.config().motes.len() as u16; // a mesh has no more
        Self { slots: mesh.slots(now), meters: motes.filter_map(|mote| mesh.meter(mote, now)).collect() }
    }
}

const MICRO_IN_MILLI: f64 = 1_000.0;
