//! What a node's radio does, slot by slot, for its energy.
//!
//! Slots in which a node listens and hears nothing are not counted one by one: they are those of its schedule, less those in which
//! something happened.
//!
//! What must always hold: the schedule changes after [`Power::settle`] only.

use super::schedule::Schedule;
use crate::asn::Asn;
use crate::energy::{Meter, SlotKind};

/// The counts of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Power {
    meter: Meter,
    /// The first slot whose idle listening was not counted.
    settled: Asn,
    /// The slots since then in which the schedule would listen, and something was sent or received.
    busy: u64,
}

impl Power {
    /// Counts a slot in which a frame of `len` bytes was sent or received, its FCS included.
    pub(super) fn count(&mut self, kind: SlotKind, len: usize, schedule: &Schedule, asn: Asn) {
        self.meter.count(kind, len.saturating_sub(FCS_LEN));
        self.busy += u64::from(schedule.listening(asn).is_some());
    }

    /// Counts slots in which a node listened for beacons.
    pub(super) fn scan(&mut self, slots: u64) {
        self.meter.count_slots(SlotKind::Scan, slots);
    }

    /// Counts idle listening before `asn`.
    pub(super) fn settle(&mut self, schedule: &Schedule, asn: Asn) {
        let listened = schedule.listened(asn).saturating_sub(schedule.listened(self.settled));
        self.meter.count_slots(SlotKind::Idle, listened.saturating_sub(self.busy));
        (self.settled, self.busy) = (asn, 0);
    }

    /// Returns the counts of all slots before `asn`.
    pub(super) fn meter(&self, schedule: &Schedule, asn: Asn) -> Meter {
        let mut settled = *self;
        settled.settle(schedule, asn);
        settled.meter
    }
}

const FCS_LEN: usize = 2;
