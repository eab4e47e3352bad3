//! Whole networks, in which every mote is a device that connects: their table, their JSON and their part of the report.
//!
//! What must always hold: a run in which some device was never connected counts in every quantity that it has; nothing that
//! happened to other devices is hidden by it.

use terse_sim::scenario::Statistics;
use terse_sim::scenario::fleet::{Device, Fleet};

use super::measure::Measured;
use super::table as single;

mod chart;
pub(super) mod json;
pub(super) mod kpis;
mod layout;
#[cfg(test)]
mod made_up;
mod map;
pub(super) mod report;
pub(super) mod table;
#[cfg(test)]
mod tests;

/// Returns the places of motes in metres in the first run of a row, from the root on, if it has any.
pub(super) type Places<'p> = dyn Fn(&Measured) -> Option<Vec<(f64, f64)>> + 'p;

/// Returns the places of the motes in the first run of a row, if they are known.
pub(super) fn places(measured: &Measured) -> Option<Vec<(f64, f64)>> {
    let seed = measured.outcomes.first()?.seed;
    let places = measured.row.scenario.places(seed).ok()??;
    Some(places.iter().map(|place| (place.x, place.y)).collect())
}

/// Returns the rows about whole networks, and those in which one client connects.
pub(super) fn by_kind(measured: &[Measured]) -> (Vec<&Measured>, Vec<&Measured>) {
    measured.iter().partition(|measured| measured.row.scenario.is_whole())
}

/// Returns the tables of all rows for people: one for each kind of rows that there is.
pub(super) fn tables(title: &str, measured: &[Measured]) -> String {
    let (whole, clients) = by_kind(measured);
    match (whole.is_empty(), clients.is_empty()) {
        (true, _) => single::rows(title, &clients),
        (false, true) => table::rows(title, &whole),
        (false, false) => format!("{}\n{}", single::rows(title, &clients), table::rows("", &whole)),
    }
}

/// Returns a quantity over the runs that have it.
fn over_runs(measured: &Measured, of: impl Fn(&Fleet) -> Option<f64>) -> Statistics {
    Statistics::of(measured.fleets().filter_map(of))
}

/// Returns the seconds until this share of the devices was connected, the median over runs; `None` if it never happened in the
/// run in the middle.
fn median_until(measured: &Measured, share: f64) -> Option<f64> {
    let seconds = |fleet: &Fleet| fleet.time_until(share).map_or(f64::INFINITY, |time| time.as_secs_f64());
    let median = Statistics::of(measured.fleets().map(seconds)).median;
    (median.is_finite() && measured.fleets().next().is_some()).then_some(median)
}

/// Returns the share of devices that were connected.
fn connected_share(fleet: &Fleet) -> Option<f64> {
    (!fleet.devices.is_empty()).then(|| fleet.connected() as f64 / fleet.devices.len() as f64)
}

/// Returns a quantity of the distribution of another one over the devices of a run that have it.
fn of_devices(
    fleet: &Fleet,
    of: impl Fn(&Device) -> Option<f64>,
    quantity: impl Fn(&Statistics) -> f64,
) -> Option<f64> {
    let statistics = fleet.statistics(of);
    (statistics.count > 0).then(|| quantity(&statistics))
}

/// Returns the seconds that a device's handshake took.
fn handshake(device: &Device) -> Option<f64> {
    device.handshake.map(|time| time.as_secs_f64())
}

/// Returns the days that a device's battery lasts.
fn days(device: &Device) -> Option<f64> {
    device.observed.map(|observed| observed.days)
}

/// Returns how many runs did not connect every device.
fn failed(measured: &Measured) -> usize {
    measured.outcomes.len() - measured.connected().count()
}
