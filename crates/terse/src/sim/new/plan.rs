//! What follows from the answers: the slotframe, timers, and how long devices should spread their handshakes.
//!
//! What must always hold: a timer is longer than a round trip over the most hops in a network where one device connects.

use core::time::Duration;

use terse_sim::scenario::{CellKind, Length, ScheduleOptions, Shape, SlotLength, Topology};

use super::answers::{MOST_DEVICES, Place};

/// What a fixed schedule for a tree comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    /// How long a slotframe takes: each link has a cell each way in it.
    pub(super) slotframe: f64,
    /// The number of devices whose frames go over the busiest link.
    pub(super) behind: u64,
    /// The most hops.
    hops: u64,
    /// The share of frames that arrive on a link.
    delivery: f64,
}

impl Fixed {
    /// Returns the schedule, or what would be right if it cannot be: `percent` is the duty cycle.
    pub(super) fn new(devices: u64, place: Place, slot_ms: u64, loss: f64, percent: f64) -> Result<Self, String> {
        let Place::Tree { hops, branching } = place else {
            return Err("only a tree can have a fixed schedule: msf".into());
        };
        let shape = Shape::CompleteTree { motes: devices, branching };
        let topology = Topology { shape, ..Topology::default() };
        let slotframe = |percent: f64| {
            let options = ScheduleOptions {
                cells: vec![CellKind::Shared, CellKind::Up, CellKind::Down],
                length: Length::DutyCycle(percent / 100.0),
                ..ScheduleOptions::default()
            };
            slot(slot_ms).as_secs_f64() * f64::from(options.lay_out(&topology).0)
        };
        let delivery = 1.0 - loss / 100.0;
        let fixed = Self { slotframe: slotframe(percent), behind: behind_first(&topology), hops, delivery };
        if fixed.flight() <= LONGEST_TIMER {
            return Ok(fixed);
        }
        let is_enough = |percent: &f64| Self { slotframe: slotframe(*percent), ..fixed }.flight() <= LONGEST_TIMER;
        let least = (1..=1_000).map(|tenths| f64::from(tenths) / 10.0).find(is_enough);
        let right = least.map_or_else(|| "fewer hops".into(), |least| format!("{least} at least"));
        Err(format!(
            "with {percent} % a slotframe takes {:.1} s, and a flight of messages longer than a timer of DTLS can be: {right}",
            fixed.slotframe
        ))
    }

    /// Returns the first timeout of DTLS in seconds: a flight each way, in which each frame waits for the cell of each hop.
    pub(super) fn first_timeout(&self) -> f64 {
        self.flight().ceil().clamp(LEAST_TIMER, LONGEST_TIMER)
    }

    /// Returns how long parts of a packet wait for the others in seconds: as long as thirty cells of a link.
    pub(super) fn reassembly_timeout(&self) -> f64 {
        (30.0 * self.slotframe).ceil().max(10.0)
    }

    /// Returns how long a report waits for its answer in seconds.
    pub(super) fn report_timeout(&self) -> f64 {
        (4.0 * self.hops as f64 * self.slotframe / self.delivery).ceil().max(30.0)
    }

    /// Returns the seconds that the busiest link takes for full handshakes of all devices behind it.
    pub(super) fn busy(&self) -> f64 {
        self.behind as f64 * FRAMES_OF_A_HANDSHAKE * self.slotframe / self.delivery
    }

    /// Returns the least number of seconds between reports that the busiest link carries.
    pub(super) fn least_period(&self) -> u64 {
        (self.behind as f64 * self.slotframe / self.delivery).ceil() as u64
    }

    /// Returns the seconds between reports by default, of which the busiest link has a quarter of its cells full at most.
    pub(super) fn period(&self) -> u64 {
        nice((4 * self.least_period()) as f64)
    }

    /// Returns the seconds over which handshakes are spread by default: with twice as many the busiest link is never full.
    pub(super) fn spread(&self) -> u64 {
        nice(2.5 * self.busy())
    }

    fn flight(&self) -> f64 {
        2.0 * (FRAMES_OF_A_FLIGHT + self.hops as f64) * self.slotframe / self.delivery
    }
}

/// Returns the seconds over which the handshakes of so many devices are spread by default in a network that forms itself.
pub(super) fn spread_of_msf(devices: u64) -> u64 {
    nice(SECONDS_PER_DEVICE * devices as f64)
}

/// Returns the virtual time after which a run ends, in seconds: eight hours, or four times the spread.
pub(super) fn limit(spread: u64) -> u64 {
    (4 * spread).clamp(28_800, 86_400)
}

/// Returns the least round time that is not below this one, in seconds: ten minutes to half a day.
fn nice(seconds: f64) -> u64 {
    let round = [600, 1_200, 1_800, 3_600, 5_400, 7_200, 10_800, 14_400, 21_600, 28_800];
    round.into_iter().find(|round| *round as f64 >= seconds).unwrap_or(MOST_SPREAD)
}

/// Returns a time in words.
pub(super) fn in_words(seconds: u64) -> String {
    match seconds {
        0 => "at once".into(),
        s if s.is_multiple_of(3_600) => format!("{} h", s / 3_600),
        s if s.is_multiple_of(60) => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// Returns the number of devices behind the first child of the root, which has the most, itself included.
fn behind_first(topology: &Topology) -> u64 {
    let is_behind = |mote: &u64| {
        let next = |mote: &u64| topology.parent(*mote).filter(|parent| *parent > 0);
        core::iter::successors(Some(*mote), next).last() == Some(1)
    };
    (1..=topology.motes().min(MOST_DEVICES)).filter(is_behind).count() as u64
}

/// Returns the length of a slot.
fn slot(milliseconds: u64) -> Duration {
    match milliseconds {
        10 => SlotLength::Ms10,
        15 => SlotLength::Ms15,
        _ => SlotLength::Ms20,
    }
    .duration()
}

/// The most seconds over which handshakes are spread.
pub(super) const MOST_SPREAD: u64 = 43_200;

/// The frames of the longest datagram of a handshake, of 1,037 bytes.
const FRAMES_OF_A_FLIGHT: f64 = 12.0;

/// The frames of a full handshake on a link, each way, with those that are sent again: as measured with certificates of P-256.
const FRAMES_OF_A_HANDSHAKE: f64 = 21.0;

/// The seconds that each device adds to the spread of a network that forms itself.
const SECONDS_PER_DEVICE: f64 = 14.4;

/// The longest timeout of DTLS that a scenario can have, in seconds.
pub(super) const LONGEST_TIMER: f64 = 600.0;

/// The shortest first timeout, in seconds: computing and other devices take time, too.
const LEAST_TIMER: f64 = 10.0;
