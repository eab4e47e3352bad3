//! Counts of what a node does, and the charge, the current and the lifetime that follow.
//!
//! What must always hold: a slot is counted once, and what is not counted is sleep; a count costs no more than an addition.

use core::time::Duration;

use super::{Processor, RadioModel, SlotKind};

/// Counts of what a node did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// The slots of each kind, and the bytes of their frames.
    slots: [(u64, u64); 6],
    computing: Duration,
}

/// What a node used in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// The time.
    pub elapsed: Duration,
    /// The charge of the slots of each kind, in microcoulombs, in the order of [`SlotKind::ALL`].
    pub slots: [f64; 6],
    /// The charge of sleep, in microcoulombs.
    pub sleep: f64,
    /// The charge of computing, in microcoulombs.
    pub computing: f64,
    /// The share of time in which the radio was on.
    pub duty_cycle: f64,
}

/// A battery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    /// Its capacity.
    pub milliampere_hours: f64,
    /// Its voltage.
    pub volts: f64,
}

impl Meter {
    /// Counts a slot with a frame of `len` bytes: the MAC frame without its FCS; 0 if there was none.
    pub fn count(&mut self, kind: SlotKind, len: usize) {
        let (slots, bytes) = &mut self.slots[kind as usize];
        (*slots, *bytes) = (*slots + 1, *bytes + len as u64);
    }

    /// Counts slots without frames: those that were passed over.
    pub fn count_slots(&mut self, kind: SlotKind, slots: u64) {
        self.slots[kind as usize].0 += slots;
    }

    /// Counts time of computing.
    pub fn compute(&mut self, time: Duration) {
        self.computing += time;
    }

    /// Returns the slots of a kind.
    pub const fn slots(&self, kind: SlotKind) -> u64 {
        self.slots[kind as usize].0
    }

    /// Returns the slots in which the node did not sleep.
    pub fn active(&self) -> u64 {
        self.slots.iter().map(|(slots, _)| slots).sum()
    }

    /// Returns the time of computing.
    pub const fn computing(&self) -> Duration {
        self.computing
    }

    /// Returns what was counted since `earlier`, a copy of this meter as it was.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for ((slots, bytes), (before, bytes_before)) in difference.slots.iter_mut().zip(earlier.slots) {
            (*slots, *bytes) = (slots.saturating_sub(before), bytes.saturating_sub(bytes_before));
        }
        difference.computing = self.computing.saturating_sub(earlier.computing);
        difference
    }

    /// Returns what the node used in a time of so many slots of this length.
    ///
    /// Charges are those of the model's timeslots. The parts of a longer one in which the radio is off are counted as sleep.
    pub fn energy(&self, radio: &RadioModel, processor: &Processor, all: u64, slot: Duration) -> Energy {
        let elapsed = slot.as_secs_f64() * all as f64;
        let measured = radio.timeslot.as_secs_f64().min(slot.as_secs_f64());
        // Scanning takes the whole slot, however long it is.
        let scanning = self.slots(SlotKind::Scan) as f64;
        let awake = measured * (self.active() as f64 - scanning) + slot.as_secs_f64() * scanning;
        let asleep = (elapsed - awake).max(0.0);
        let charge = |kind: SlotKind| {
            let (slots, bytes) = self.slots[kind as usize];
            let longer = if kind == SlotKind::Scan { slot.as_secs_f64() / radio.timeslot.as_secs_f64() } else { 1.0 };
            radio.charge(kind).of(slots, bytes) * longer
        };
        let on = |kind: SlotKind| {
            let (slots, bytes) = self.slots[kind as usize];
            match radio.on(kind).filter(|_| kind != SlotKind::Scan) {
                Some(on) => on.of(slots, bytes) / MICRO,
                None => slots as f64 * slot.as_secs_f64(),
            }
        };
        let on: f64 = SlotKind::ALL.into_iter().map(on).sum();
        Energy {
            elapsed: Duration::try_from_secs_f64(elapsed).unwrap_or(Duration::MAX),
            slots: SlotKind::ALL.map(charge),
            sleep: asleep * radio.sleep_milliamperes * MILLI,
            computing: self.computing.as_secs_f64() * processor.active_milliamperes * MILLI,
            duty_cycle: if elapsed > 0.0 { on / elapsed } else { 0.0 },
        }
    }
}

impl Energy {
    /// Returns the charge in microcoulombs.
    pub fn charge(&self) -> f64 {
        self.slots.iter().sum::<f64>() + self.sleep + self.computing
    }

    /// Returns the mean current in microamperes; 0 if no time has passed.
    pub fn current(&self) -> f64 {
        let elapsed = self.elapsed.as_secs_f64();
        if elapsed > 0.0 { self.charge() / elapsed } else { 0.0 }
    }

    /// Returns the energy from this battery, in millijoules.
    pub fn millijoules(&self, battery: &Battery) -> f64 {
        self.charge() * battery.volts / MILLI
    }

    /// Returns the days that a battery lasts if the node goes on like this; infinite if it uses nothing. Its discharge of its
    /// own is left out.
    pub fn days(&self, battery: &Battery) -> f64 {
        battery.milliampere_hours * MILLI / self.current() / 24.0
    }
}

impl Battery {
    /// The AA cells of the 6TiSCH Simulator (bin/compute_kpis.py: BATTERY_AA_CAPACITY_mAh), with the 3 V that two
    /// alkaline cells have.
    pub const AA: Self = Self { milliampere_hours: 2_821.5, volts: 3.0 };
}

/// Microseconds in a second.
const MICRO: f64 = 1e6;
/// Micro in milli: µC of 1 mA in 1 s, µJ in 1 mJ, µA in 1 mA.
const MILLI: f64 = 1e3;

#[cfg(test)]
mod tests;
