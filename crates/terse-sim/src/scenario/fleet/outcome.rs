//! What happened to a whole network: to each device, and together.
//!
//! What must always hold: times are counted from the event; a device that never came back has none.

use core::time::Duration;

use super::super::options::EventKind;
use super::super::statistics::Statistics;

/// What happened to a whole network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// The event.
    pub event: EventKind,
    /// What happened to each device, from mote 1 on.
    pub devices: Vec<Device>,
    /// The time from the event until every device was connected, and links that had faded were restored, or until the run's limit
    /// was over.
    pub measured: Duration,
    /// Bytes of frames with packets of devices and to them in that time, all hops and repetitions, without acknowledgements of the
    /// MAC.
    pub bytes: u64,
    /// The frames that they were in.
    pub frames: u64,
    /// Bytes of frames that the network sent in that time to form itself and to stay: beacons, keep-alives, 6P, RPL.
    pub network_bytes: u64,
    /// The charge of all motes with the root in that time, in millicoulombs; `None` if energy is not counted.
    pub charge: Option<f64>,
    /// What the devices reported, and what came of it, while the network was observed after that time.
    pub reports: Reports,
    /// Handshakes that were complete on the server from the event on.
    pub connections: u64,
    /// Devices that came back by a handshake of another mode than the scenario asks for.
    pub fallbacks: u64,
    /// Handshakes that failed on a device.
    pub failures: u64,
    /// The most frames in the pool of each mote, from the root on.
    pub pools: Vec<u8>,
    /// How many frames each mote had no room for since the beginning of the run, from the root on.
    pub refused: Vec<u64>,
}

/// What happened to a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Its mote.
    pub mote: u16,
    /// Its parent when the run ended.
    pub parent: Option<u16>,
    /// How many hops it was from the root then, if its parents lead there.
    pub hops: Option<u8>,
    /// When it was synchronised.
    pub synchronised: Option<Duration>,
    /// When it had a parent, a cell to it and a route from the root.
    pub joined: Option<Duration>,
    /// When it was connected, on both sides. After links have faded: when its first report from then on was answered.
    pub connected: Option<Duration>,
    /// How long that handshake took, from its first packet.
    pub handshake: Option<Duration>,
    /// How many handshakes it began until then.
    pub attempts: u32,
    /// Bytes of frames with its packets until then: each hop and repetition, without acknowledgements of the MAC.
    pub bytes: u64,
    /// Its charge until then, in millicoulombs; until the end of the measurement if it never was connected.
    pub charge: Option<f64>,
    /// What its processor took of that.
    pub computing: Option<f64>,
    /// What it takes of its battery while the network is observed, if it is.
    pub observed: Option<Observed>,
    /// What it reported meanwhile.
    pub reports: Reports,
}

/// What a mote takes of its battery.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// The mean current in microamperes.
    pub microamperes: f64,
    /// The share of time in which its radio is on.
    pub duty_cycle: f64,
    /// The days that its battery lasts.
    pub days: f64,
}

/// Reports of devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reports {
    /// Reports that were made.
    pub sent: u64,
    /// Reports that came to the server.
    pub received: u64,
    /// The seconds that each of those took to the server, repetitions by the device included.
    pub latencies: Vec<f64>,
}

impl Fleet {
    /// Returns how long it took until this share of the devices was connected; `None` if it never was.
    pub fn time_until(&self, share: f64) -> Option<Duration> {
        let times = self.curve(|device| device.connected);
        // 95 % of 20 devices are 19, also in binary fractions.
        let wanted = (share * self.devices.len() as f64 - 1e-6).ceil() as usize;
        times.get(wanted.checked_sub(1)?).copied()
    }

    /// Returns the times of all devices at which something was so, in order.
    pub fn curve(&self, of: impl Fn(&Device) -> Option<Duration>) -> Vec<Duration> {
        let mut times: Vec<Duration> = self.devices.iter().filter_map(of).collect();
        times.sort();
        times
    }

    /// Returns how many devices are connected.
    pub fn connected(&self) -> usize {
        self.devices.iter().filter(|device| device.connected.is_some()).count()
    }

    /// Returns how many handshakes devices began until they were connected.
    pub fn attempts(&self) -> u64 {
        self.devices.iter().map(|device| u64::from(device.attempts)).sum()
    }

    /// Returns the distribution of a quantity over the devices that have it.
    pub fn statistics(&self, of: impl Fn(&Device) -> Option<f64>) -> Statistics {
        Statistics::of(self.devices.iter().filter_map(of))
    }
}

impl Reports {
    /// Returns the share of reports that came to the server; `None` if there were none.
    pub fn reliability(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.received as f64 / self.sent as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_devices_is_rounded_up_to_whole_ones() {
        let connected = |number: u64| Device { connected: Some(Duration::from_secs(number)), ..Device::default() };
        for devices in 1..=1_000 {
            let fleet = Fleet { devices: (1..=devices).map(connected).collect(), ..Fleet::default() };
            for (percent, share) in [(1, 0.01), (50, 0.5), (95, 0.95), (100, 1.0)] {
                let expected = Duration::from_secs((percent * devices).div_ceil(100));
                assert_eq!(fleet.time_until(share), Some(expected), "{percent} % of {devices}");
            }
        }
        let lost = Fleet { devices: vec![connected(7), Device::default()], ..Fleet::default() };
        assert_eq!((lost.time_until(0.5), lost.time_until(0.95)), (Some(Duration::from_secs(7)), None));
        assert_eq!(Fleet::default().time_until(1.0), None, "there are no devices");
    }
}
