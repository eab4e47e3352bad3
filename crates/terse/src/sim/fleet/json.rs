//! Whole networks for machines: statistics over runs, and each device of the first run.

use core::time::Duration;

use serde::Serialize;
use terse_sim::scenario::Statistics;
use terse_sim::scenario::fleet::{Device, Fleet};

use super::{connected_share, days, handshake, of_devices, over_runs};
use crate::sim::measure::Measured;

/// A whole network in JSON: statistics over runs. A time is `None` in runs in which it never happened, which count nowhere then.
#[derive(Serialize)]
pub(in crate::sim) struct FleetObject {
    event: &'static str,
    devices: usize,
    connected_share: Statistics,
    half_connected_s: Statistics,
    p95_connected_s: Statistics,
    all_connected_s: Statistics,
    measured_s: Statistics,
    handshake_median_s: Statistics,
    handshake_p95_s: Statistics,
    bytes: Statistics,
    frames: Statistics,
    network_bytes: Statistics,
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<ChargeObject>,
    attempts_per_device: Statistics,
    connections: Statistics,
    fallbacks: Statistics,
    failures: Statistics,
    #[serde(skip_serializing_if = "Option::is_none")]
    reports: Option<ReportsObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    battery: Option<BatteryObject>,
    pool_peak: Statistics,
    /// Each device in the first run.
    first_run: Vec<DeviceObject>,
}

#[derive(Serialize)]
struct ChargeObject {
    all_mc: Statistics,
    device_median_mc: Statistics,
    device_p95_mc: Statistics,
    device_computing_median_mc: Statistics,
}

#[derive(Serialize)]
struct ReportsObject {
    sent: Statistics,
    received: Statistics,
    reliability: Statistics,
    latency_median_s: Statistics,
    latency_p95_s: Statistics,
}

#[derive(Serialize)]
struct BatteryObject {
    median_days: Statistics,
    least_days: Statistics,
    median_duty_cycle: Statistics,
}

/// A device in the first run.
#[derive(Serialize)]
struct DeviceObject {
    mote: u16,
    parent: Option<u16>,
    hops: Option<u8>,
    synchronised_s: Option<f64>,
    joined_s: Option<f64>,
    connected_s: Option<f64>,
    handshake_s: Option<f64>,
    attempts: u32,
    bytes: u64,
    charge_mc: Option<f64>,
    duty_cycle: Option<f64>,
    battery_days: Option<f64>,
}

impl FleetObject {
    /// Returns the object of a row, if it is about a whole network.
    pub(in crate::sim) fn new(measured: &Measured) -> Option<Self> {
        let first = measured.fleets().next()?;
        let of = |of: &dyn Fn(&Fleet) -> Option<f64>| over_runs(measured, of);
        let until = |share| of(&|fleet| fleet.time_until(share).map(|time| time.as_secs_f64()));
        Some(Self {
            event: first.event.text(),
            devices: first.devices.len(),
            connected_share: of(&connected_share),
            half_connected_s: until(0.5),
            p95_connected_s: until(0.95),
            all_connected_s: until(1.0),
            measured_s: of(&|fleet| Some(fleet.measured.as_secs_f64())),
            handshake_median_s: of(&|fleet| of_devices(fleet, handshake, |over| over.median)),
            handshake_p95_s: of(&|fleet| of_devices(fleet, handshake, |over| over.p95)),
            bytes: of(&|fleet| Some(fleet.bytes as f64)),
            frames: of(&|fleet| Some(fleet.frames as f64)),
            network_bytes: of(&|fleet| Some(fleet.network_bytes as f64)),
            charge: ChargeObject::new(measured),
            attempts_per_device: of(&|fleet| {
                of_devices(fleet, |device| Some(device.attempts.into()), |over| over.mean)
            }),
            connections: of(&|fleet| Some(fleet.connections as f64)),
            fallbacks: of(&|fleet| Some(fleet.fallbacks as f64)),
            failures: of(&|fleet| Some(fleet.failures as f64)),
            reports: ReportsObject::new(measured),
            battery: BatteryObject::new(measured),
            pool_peak: of(&|fleet| fleet.pools.iter().max().map(|peak| f64::from(*peak))),
            first_run: first.devices.iter().map(DeviceObject::from).collect(),
        })
    }
}

impl ChargeObject {
    fn new(measured: &Measured) -> Option<Self> {
        let device_median_mc =
            over_runs(measured, |fleet| of_devices(fleet, |device| device.charge, |over| over.median));
        (device_median_mc.count > 0).then(|| Self {
            all_mc: over_runs(measured, |fleet| fleet.charge),
            device_median_mc,
            device_p95_mc: over_runs(measured, |fleet| of_devices(fleet, |device| device.charge, |over| over.p95)),
            device_computing_median_mc: over_runs(measured, |fleet| {
                of_devices(fleet, |device| device.computing, |over| over.median)
            }),
        })
    }
}

impl ReportsObject {
    fn new(measured: &Measured) -> Option<Self> {
        let reliability = over_runs(measured, |fleet| fleet.reports.reliability());
        let latency = |of: fn(&Statistics) -> f64| {
            over_runs(measured, |fleet| {
                let statistics = Statistics::of(fleet.reports.latencies.iter().copied());
                (statistics.count > 0).then(|| of(&statistics))
            })
        };
        (reliability.count > 0).then(|| Self {
            sent: over_runs(measured, |fleet| Some(fleet.reports.sent as f64)),
            received: over_runs(measured, |fleet| Some(fleet.reports.received as f64)),
            reliability,
            latency_median_s: latency(|over| over.median),
            latency_p95_s: latency(|over| over.p95),
        })
    }
}

impl BatteryObject {
    fn new(measured: &Measured) -> Option<Self> {
        let median_days = over_runs(measured, |fleet| of_devices(fleet, days, |over| over.median));
        (median_days.count > 0).then(|| Self {
            median_days,
            least_days: over_runs(measured, |fleet| of_devices(fleet, days, |over| over.least)),
            median_duty_cycle: over_runs(measured, |fleet| {
                of_devices(fleet, |device| Some(device.observed?.duty_cycle), |over| over.median)
            }),
        })
    }
}

impl From<&Device> for DeviceObject {
    fn from(device: &Device) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Self {
            mote: device.mote,
            parent: device.parent,
            hops: device.hops,
            synchronised_s: seconds(device.synchronised),
            joined_s: seconds(device.joined),
            connected_s: seconds(device.connected),
            handshake_s: seconds(device.handshake),
            attempts: device.attempts,
            bytes: device.bytes,
            charge_mc: device.charge,
            duty_cycle: device.observed.map(|observed| observed.duty_cycle),
            battery_days: days(device),
        }
    }
}
