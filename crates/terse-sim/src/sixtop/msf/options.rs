//! The constants of MSF, as profiles with their sources.

use core::time::Duration;

/// The options of MSF. The names are those of RFC 9033, 14.
#[derive(Clone, Debug, PartialEq)]
pub struct MsfOptions {
    /// Whether cells are added and deleted as the traffic wants (5.1).
    pub adapts: bool,
    /// MAX_NUM_CELLS: after so many cells the usage is looked at.
    pub max_num_cells: u16,
    /// LIM_NUMCELLSUSED_HIGH: if more were used, a cell is added.
    pub lim_num_cells_used_high: u16,
    /// LIM_NUMCELLSUSED_LOW: if fewer were used, a cell is deleted.
    pub lim_num_cells_used_low: u16,
    /// HOUSEKEEPINGCOLLISION_PERIOD: how often cells are compared with each other.
    pub housekeeping_collision_period: Duration,
    /// RELOCATE_PDRTHRES: a cell whose delivery ratio is lower than the best one by more than this is relocated.
    pub relocate_pdr_threshold: f64,
    /// QUARANTINE_DURATION: how long nothing is heard of a neighbour that answers with certain errors.
    pub quarantine_duration: Duration,
    /// WAIT_DURATION_MIN and WAIT_DURATION_MAX: how long a node waits if its neighbour is busy.
    pub wait_duration: [Duration; 2],
    /// How many cells are proposed to add one (8).
    pub candidates: u8,
    /// The 6P timeout. `None`: as section 9 computes it.
    pub timeout: Option<Duration>,
    /// After how much silence the cells of a neighbour are removed. RFC 9033, 5.1 wants such a rule and has none.
    pub cleanup_after: Duration,
    /// How a node's autonomous cells follow from its EUI-64.
    pub hash: AutonomousHash,
}

/// The hash of an EUI-64 that gives the coordinates of autonomous cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutonomousHash {
    /// SAX, with the parameters of RFC 9033, appendix A.
    Sax,
    /// OpenWSN: the last two bytes, modulo the number of places.
    OpenWsn,
}

impl MsfOptions {
    /// The values that RFC 9033, 14 recommends.
    pub const RFC_9033: Self = Self {
        adapts: true,
        max_num_cells: 100,
        lim_num_cells_used_high: 75,
        lim_num_cells_used_low: 25,
        housekeeping_collision_period: Duration::from_secs(60),
        relocate_pdr_threshold: 0.5,
        quarantine_duration: Duration::from_secs(300),
        wait_duration: [Duration::from_secs(30), Duration::from_secs(60)],
        candidates: 5,
        timeout: None,
        cleanup_after: Duration::from_secs(600),
        hash: AutonomousHash::Sax,
    };

    /// OpenWSN, as `msf.h` and `sixtop.h` of openwsn-fw have it: shorter counts, adaptation off unless it is compiled in, a
    /// timeout of 65,535 ms, housekeeping twice as often.
    pub const OPENWSN: Self = Self {
        adapts: false,
        max_num_cells: 32,
        lim_num_cells_used_high: 24,
        lim_num_cells_used_low: 8,
        housekeeping_collision_period: Duration::from_secs(30),
        timeout: Some(Duration::from_millis(65_535)),
        hash: AutonomousHash::OpenWsn,
        ..Self::RFC_9033
    };
}

/// What scheduling functions need of the MAC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MacTiming {
    /// How long a slot is.
    pub(crate) slot: Duration,
    /// The slots of the slotframe.
    pub(crate) slotframe_length: u16,
    /// macMaxBe.
    pub(crate) max_be: u8,
    /// macMaxFrameRetries.
    pub(crate) max_retries: u8,
}

impl MacTiming {
    /// Returns how many slots a duration takes, at least one.
    pub(crate) fn slots(&self, duration: Duration) -> u64 {
        let slots = duration.as_nanos().div_ceil(self.slot.as_nanos().max(1));
        u64::try_from(slots).unwrap_or(u64::MAX).max(1)
    }

    /// Returns the 6P timeout of RFC 9033, 9: the response comes with the last retry, and each one waits longest. Without retries
    /// or back-off that would be nothing: both ways take a slotframe each, and as much again is left for others in the queue.
    pub(crate) fn sixp_timeout(&self) -> u64 {
        let longest_back_off = (1_u64 << self.max_be.min(32)) - 1;
        (longest_back_off * u64::from(self.max_retries)).max(LEAST_TIMEOUT) * u64::from(self.slotframe_length)
    }
}

/// In slotframes.
const LEAST_TIMEOUT: u64 = 4;

/// The durations of the options, in slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    pub(super) timeout: u64,
    pub(super) housekeeping: u64,
    pub(super) quarantine: u64,
    pub(super) wait_min: u64,
    pub(super) wait_max: u64,
    pub(super) cleanup: u64,
}

impl Periods {
    pub(super) fn new(options: &MsfOptions, timing: &MacTiming) -> Self {
        let [min, max] = options.wait_duration.map(|duration| timing.slots(duration));
        Self {
            timeout: options.timeout.map_or_else(|| timing.sixp_timeout(), |duration| timing.slots(duration)),
            housekeeping: timing.slots(options.housekeeping_collision_period),
            quarantine: timing.slots(options.quarantine_duration),
            wait_min: min,
            wait_max: max.max(min),
            cleanup: timing.slots(options.cleanup_after),
        }
    }
}
