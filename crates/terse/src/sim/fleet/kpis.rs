//! The first run of a whole network under the names of the 6TiSCH Simulator's `bin/compute_kpis.py`, for scripts that read its files.
//!
//! What must always hold: names, units and shape are those of that script's file, an object a run with an object a mote and
//! `global-stats`; what a network did not do stands there as not available (`NOTHING`), and is left out of a mote, as the script does.

use serde_json::{Map, Value, json};
use terse_sim::scenario::Statistics;
use terse_sim::scenario::fleet::{Device, Fleet};

use crate::sim::measure::Measured;

/// Returns the file of a row's first run, if it is about a whole network.
pub(in crate::sim) fn of_row(measured: &Measured) -> Option<Value> {
    let slot = measured.row.scenario.schedule.slot.duration().as_secs_f64();
    measured.fleets().next().map(|fleet| json!({ "0": of_run(fleet, slot) }))
}

/// Returns the object of a run with slots of so many seconds.
fn of_run(fleet: &Fleet, slot: f64) -> Value {
    let mut run: Map<String, Value> =
        fleet.devices.iter().map(|device| (device.mote.to_string(), of_mote(fleet, device))).collect();
    run.insert("global-stats".into(), global(fleet, slot));
    Value::Object(run)
}

/// Returns the object of a mote.
fn of_mote(fleet: &Fleet, device: &Device) -> Value {
    let reports = &device.reports;
    let seconds = |time: Option<core::time::Duration>| time.map(|time| time.as_secs_f64());
    let current = microamperes(fleet, device);
    let mut mote = json!({
        "upstream_num_tx": reports.sent,
        "upstream_num_rx": reports.received,
        "upstream_num_lost": reports.sent.saturating_sub(reports.received),
        "join_time_s": seconds(device.joined),
        "sync_time_s": seconds(device.synchronised),
        "latencies": reports.latencies,
        "avg_current_uA": current,
        "lifetime_AA_years": current.map(years),
    });
    if let (Some(reliability), true, Value::Object(mote)) =
        (reports.reliability(), !reports.latencies.is_empty(), &mut mote)
    {
        let over = Statistics::of(reports.latencies.iter().copied());
        mote.insert("latency_min_s".into(), json!(over.least));
        mote.insert("latency_avg_s".into(), json!(over.mean));
        mote.insert("latency_max_s".into(), json!(over.greatest));
        mote.insert("upstream_reliability".into(), json!(reliability));
        if let Some(hops) = device.hops {
            mote.insert("avg_hops".into(), json!(f64::from(hops)));
        }
    }
    mote
}

/// Returns what all motes came to.
fn global(fleet: &Fleet, slot: f64) -> Value {
    let sum = |of: fn(&Device) -> u64| fleet.devices.iter().map(of).sum::<u64>();
    let [sent, received] = [sum(|device| device.reports.sent), sum(|device| device.reports.received)];
    let lost = sum(|device| device.reports.sent.saturating_sub(device.reports.received));
    // The script calls shares percent.
    let share = |number: f64| if sent > 0 { json!(number / sent as f64) } else { json!(NOTHING) };
    let latencies: Vec<f64> =
        fleet.devices.iter().flat_map(|device| device.reports.latencies.iter().copied()).collect();
    let joined: Vec<f64> = fleet.curve(|device| device.joined).iter().map(|time| time.as_secs_f64()).collect();
    let in_slots = |seconds: &[f64]| -> Vec<f64> { seconds.iter().map(|seconds| seconds / slot).collect() };
    let asns: Vec<f64> = in_slots(&joined).into_iter().map(f64::round).collect();
    let currents: Vec<f64> = fleet.devices.iter().filter_map(|device| microamperes(fleet, device)).collect();
    let milliamperes: Vec<f64> = currents.iter().map(|current| current / 1e3).collect();
    let lifetimes = Statistics::of(currents.iter().copied().map(years));
    let total = |name: &str, total: u64| json!([{ "name": name, "total": total }]);
    json!({
        "e2e-upstream-delivery": [
            { "name": "E2E Upstream Delivery Ratio", "unit": "%", "value": share(sent.saturating_sub(lost) as f64) },
            { "name": "E2E Upstream Loss Rate", "unit": "%", "value": share(lost as f64) },
        ],
        "e2e-upstream-latency": [
            distribution("E2E Upstream Latency", "s", &latencies),
            distribution("E2E Upstream Latency", "slots", &in_slots(&latencies)),
        ],
        "current-consumed": [distribution("Current Consumed", "mA", &milliamperes)],
        "network_lifetime": [{
            "name": "Network Lifetime",
            "unit": "years",
            "min": if lifetimes.count > 0 { json!(lifetimes.least) } else { json!(NOTHING) },
            "total_capacity_mAh": BATTERY_MAH,
        }],
        "joining-time": [
            distribution("Joining Time", "slots", &asns),
            distribution("Joining Time", "s", &joined),
        ],
        "app-packets-sent": total("Number of application packets sent", sent),
        "app_packets_received": total("Number of application packets received", received),
        "app_packets_lost": total("Number of application packets lost", lost),
    })
}

/// Returns a distribution with the names that the script has.
fn distribution(name: &str, unit: &str, values: &[f64]) -> Value {
    let over = Statistics::of(values.iter().copied());
    let some = |value: f64| if over.count > 0 { json!(value) } else { json!(NOTHING) };
    json!({
        "name": name,
        "unit": unit,
        "mean": some(over.mean),
        "min": some(over.least),
        "max": some(over.greatest),
        "99%": Statistics::quantile(values.iter().copied(), 0.99).map_or_else(|| json!(NOTHING), |value| json!(value)),
    })
}

/// Returns the mean current of a device in microamperes: while the network is observed, otherwise until it was connected.
fn microamperes(fleet: &Fleet, device: &Device) -> Option<f64> {
    if let Some(observed) = device.observed {
        return Some(observed.microamperes);
    }
    let seconds = device.connected.unwrap_or(fleet.measured).as_secs_f64();
    let current = device.charge? * 1e3 / seconds;
    (current.is_finite() && current > 0.0).then_some(current)
}

/// Returns the years that the script's battery lasts at a current in microamperes.
fn years(microamperes: f64) -> f64 {
    BATTERY_MAH * 1e3 / microamperes / (24.0 * 365.0)
}

/// What stands for values that there are none of.
const NOTHING: &str = "N/A";

/// The capacity of the script's battery, two AA cells, in milliampere hours.
const BATTERY_MAH: f64 = 2_821.5;
