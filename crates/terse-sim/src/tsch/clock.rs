//! The durations within a timeslot (IEEE 802.15.4-2020, 6.2.6).

use core::time::Duration;

use crate::Time;
use crate::asn::Asn;

/// The durations within a timeslot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeslot {
    /// The length of the slot, in ticks of [`Self::ticks_per_second`]: macTsTimeslotLength.
    pub length_ticks: u32,
    /// The frequency of the clock: the slots of a device with a crystal of 32,768 Hz are whole numbers of its ticks.
    pub ticks_per_second: u32,
    /// From the beginning of the slot to the first bit of the frame: macTsTxOffset.
    pub tx_offset: Duration,
    /// From the end of a frame to the first bit of its acknowledgement: macTsTxAckDelay.
    pub tx_ack_delay: Duration,
    /// For so long a receiver listens before and after the moment at which a frame should begin: half of macTsRxWait.
    pub guard: Duration,
}

impl Timeslot {
    /// The default timeslot of the standard: 10 ms (IEEE 802.15.4-2020: the defaults of macTsTimeslotLength, macTsTxOffset and macTsTxAckDelay at 2.4 GHz).
    pub const STANDARD_10_MS: Self = Self {
        length_ticks: 10_000,
        ticks_per_second: 1_000_000,
        tx_offset: Duration::from_micros(2_120),
        tx_ack_delay: Duration::from_micros(1_000),
        guard: Duration::from_micros(1_100),
    };

    /// OpenWSN's timeslot of 15 ms: 492 ticks of 32,768 Hz. Its offsets are those of the firmware until April 2020; later
    /// firmware has a template for 10 and for 20 ms only. The guard time (TsLongGT) is 43 ticks.
    pub const OPENWSN_15_MS: Self = Self {
        length_ticks: 492,
        ticks_per_second: 32_768,
        tx_offset: Duration::from_micros(4_000),
        tx_ack_delay: Duration::from_micros(4_606),
        guard: Duration::from_micros(1_312),
    };

    /// OpenWSN's timeslot of 20 ms on the OpenMote-CC2538: 655 ticks of 32,768 Hz, which are 19.989 ms. The guard time is that
    /// of 15 ms.
    pub const OPENWSN_20_MS: Self = Self {
        length_ticks: 655,
        ticks_per_second: 32_768,
        tx_offset: Duration::from_micros(5_215),
        tx_ack_delay: Duration::from_micros(5_521),
        guard: Duration::from_micros(1_312),
    };

    /// Returns the beginning of a slot.
    pub fn start(&self, asn: Asn) -> Time {
        let ticks = u128::from(asn.0) * u128::from(self.length_ticks);
        let nanos = (ticks * NANOS).div_ceil(u128::from(self.ticks_per_second));
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the first slot that begins after `time`: the first one in which something can be sent that is ready then.
    pub fn after(&self, time: Time) -> Asn {
        let ticks = u128::from(time.as_nanos()) * u128::from(self.ticks_per_second) / NANOS;
        let asn = ticks / u128::from(self.length_ticks);
        let asn = Asn(u64::try_from(asn).unwrap_or(u64::MAX));
        // Beginnings are rounded up to nanoseconds, so that one more slot may have to be passed over.
        if self.start(asn) > time { asn } else { asn + 1 }
    }

    /// Returns the resolution of the clock.
    pub(super) fn resolution(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.ticks_per_second.max(1)))
    }

    /// Returns how long a slot is.
    pub fn length(&self) -> Duration {
        self.start(Asn(1)).since(Time::ZERO)
    }

    /// Returns when the last bit of a frame of `len` bytes arrives that is sent in this slot.
    pub fn frame_end(&self, asn: Asn, len: usize) -> Time {
        self.start(asn) + self.tx_offset + on_air(len)
    }

    /// Returns when the acknowledgement of a frame of `len` bytes has ended: a receiver then takes the frame.
    pub fn acknowledgement_end(&self, asn: Asn, len: usize, acknowledgement_len: usize) -> Time {
        self.frame_end(asn, len) + self.tx_ack_delay + on_air(acknowledgement_len)
    }

    /// Whether the longest frame and its acknowledgement fit into the slot.
    pub(super) fn is_possible(&self) -> bool {
        self.length_ticks > 0
            && self.ticks_per_second > 0
            && self.acknowledgement_end(Asn(0), LONGEST_FRAME, super::frame::ACKNOWLEDGEMENT_LEN) <= self.start(Asn(1))
    }
}

/// Returns how long a frame of `len` bytes is on the air, with preamble, SFD and PHR: 6 bytes more at 250 kbit/s, which are
/// 32 µs a byte (IEEE 802.15.4-2020, 12.1).
fn on_air(len: usize) -> Duration {
    Duration::from_micros(32 * (len as u64 + 6))
}

const NANOS: u128 = 1_000_000_000;
/// aMaxPhyPacketSize.
const LONGEST_FRAME: usize = 127;
