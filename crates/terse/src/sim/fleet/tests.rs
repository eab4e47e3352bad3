//! What is said about whole networks, of made-up ones.

use core::time::Duration;

use serde_json::Value;
use terse_sim::scenario::fleet::{Device, Fleet, Observed, Reports};

use super::made_up::row;
use super::tables;
use crate::sim::export::Object;
use crate::sim::measure::Measured;

mod drawings;
mod page;

/// Returns a network of four devices that were connected at these seconds.
fn four(connected: [Option<u64>; 4]) -> Fleet {
    let device = |(mote, connected): (u16, Option<u64>)| Device {
        mote,
        parent: Some(mote - 1),
        hops: Some(mote as u8),
        synchronised: Some(Duration::from_secs(10)),
        joined: Some(Duration::from_secs(20 * u64::from(mote))),
        connected: connected.map(Duration::from_secs),
        handshake: connected.map(|_| Duration::from_secs(u64::from(mote))),
        attempts: u32::from(mote),
        bytes: 1_000 * u64::from(mote),
        charge: Some(100.0 * f64::from(mote)),
        computing: Some(5.0),
        observed: None,
        reports: Reports::default(),
    };
    Fleet {
        devices: (1..).zip(connected).map(device).collect(),
        measured: Duration::from_secs(500),
        bytes: 10_000,
        network_bytes: 70_000,
        charge: Some(2_500.0),
        fallbacks: 1,
        pools: vec![9, 4, 3, 2, 1],
        ..Fleet::default()
    }
}

/// Returns the cells of a row in the table, without its name.
fn cells(table: &str, name: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.trim_start().starts_with(name)).expect("the row is there");
    let values = line.trim_start().trim_start_matches(name).trim().split("  ");
    values.map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

fn json(measured: &Measured) -> Value {
    serde_json::to_value(Object::new(measured)).expect("it is JSON")
}

#[test]
fn the_table_has_the_numbers_counted_by_hand() {
    let measured = row("all of them", vec![four([Some(100), Some(200), Some(300), Some(400)])]);
    let table = tables("A title", &[measured]);
    assert!(table.starts_with("A title\n"), "{table}");
    // 95 % of four are four.
    let expected =
        ["4", "200.0", "400.0", "400.0", "2.50", "3.85", "10.0", "70.0", "2.50", "250.0", "2.50", "1", "0/1"];
    assert_eq!(cells(&table, "all of them"), expected, "{table}");
}

#[test]
fn the_table_counts_runs_in_which_a_device_is_missing() {
    let whole = || four([Some(100), Some(200), Some(300), Some(400)]);
    let broken = || four([Some(120), Some(220), Some(320), None]);
    let row_of = |fleets| vec![row("of many", fleets)];
    // Two of three runs did not connect all: the one in the middle did not, either.
    let table = tables("", &row_of(vec![whole(), broken(), broken()]));
    let line = cells(&table, "of many");
    assert_eq!(line[1..4], ["220.0", "-", "- (75.0 %)"], "{table}");
    assert_eq!(line.last().map(String::as_str), Some("2/3"));
    let table = tables("", &row_of(vec![whole(), broken(), whole()]));
    let line = cells(&table, "of many");
    assert_eq!(line[1..4], ["200.0", "400.0", "400.0"], "{table}");
    let table = tables("", &row_of(vec![four([None; 4])]));
    assert_eq!(cells(&table, "of many")[1..4], ["-", "-", "- (0.0 %)"], "{table}");
}

#[test]
fn what_no_row_has_takes_no_column() {
    let plain = || row("plain", vec![four([Some(100), Some(200), Some(300), Some(400)])]);
    let header = |table: &str| table.lines().next().map(str::to_owned).unwrap_or_default();
    let table = tables("", &[plain()]);
    assert!(!header(&table).contains("days") && !header(&table).contains("reports"), "{table}");
    let mut fleet = four([Some(100), Some(200), Some(300), Some(400)]);
    fleet.reports = Reports { sent: 8, received: 6, latencies: vec![0.5; 6] };
    for (device, days) in fleet.devices.iter_mut().zip([400.0, 300.0, 200.0, 100.0]) {
        device.observed = Some(Observed { microamperes: 100.0, duty_cycle: 0.01, days });
    }
    let table = tables("", &[plain(), row("observed", vec![fleet])]);
    assert!(header(&table).contains("reports") && header(&table).contains("least"), "{table}");
    assert_eq!(cells(&table, "observed")[12..15], ["75.0", "250", "100"], "{table}");
    assert_eq!(cells(&table, "plain")[12..15], ["-", "-", "-"], "{table}");
}

#[test]
fn the_table_fits_a_terminal() {
    let (fleet, _) = super::made_up::fleet(1_000, 1, 30.0, Some(7));
    let table = tables("A title", &[row("DTLS 1.3, identity, spread 60s", vec![fleet])]);
    assert!(table.lines().all(|line| line.chars().count() <= 160), "{table}");
}

#[test]
fn each_kind_of_rows_has_its_table() {
    let whole = || row("whole", vec![four([Some(1); 4])]);
    let client = || {
        let mut client = row("client", Vec::new());
        client.row.scenario.topology.clients = terse_sim::scenario::Clients::One;
        client
    };
    let both = tables("A title", &[client(), whole()]);
    assert!(both.starts_with("A title") && both.contains("devices") && both.contains("dropped"), "{both}");
    assert!(!tables("", &[client()]).contains("devices") && !tables("", &[whole()]).contains("dropped"));
}

#[test]
fn json_has_statistics_over_all_runs_and_the_devices_of_the_first() {
    let fleets =
        vec![four([Some(100), Some(200), Some(300), None]), four([Some(110), Some(210), Some(310), Some(410)])];
    let object = json(&row("two runs", fleets));
    let fleet = &object["fleet"];
    assert_eq!((fleet["event"].as_str(), fleet["devices"].as_u64()), (Some("power-cut"), Some(4)));
    assert_eq!(fleet["half_connected_s"]["median"], 205.0);
    assert_eq!((&fleet["all_connected_s"]["count"], &fleet["all_connected_s"]["median"]), (&1.into(), &410.0.into()));
    assert_eq!((&fleet["connected_share"]["least"], &object["failed"]), (&0.75.into(), &1.into()));
    assert_eq!(fleet["charge"]["all_mc"]["mean"], 2_500.0);
    let devices = fleet["first_run"].as_array().expect("a list");
    assert_eq!(devices.len(), 4);
    assert_eq!((&devices[1]["mote"], &devices[1]["parent"], &devices[1]["hops"]), (&2.into(), &1.into(), &2.into()));
    assert_eq!((&devices[1]["connected_s"], &devices[3]["connected_s"]), (&200.0.into(), &Value::Null));
    let client = {
        let mut client = row("client", Vec::new());
        client.row.scenario.topology.clients = terse_sim::scenario::Clients::One;
        client
    };
    assert!(json(&client).get("fleet").is_none() && json(&client).get("kpis").is_none());
}

#[test]
fn indicators_have_the_names_of_the_other_simulator() {
    let mut fleet = four([Some(100), Some(200), Some(300), Some(400)]);
    fleet.devices[0].reports = Reports { sent: 4, received: 3, latencies: vec![1.0, 2.0, 3.0] };
    fleet.devices[1].reports = Reports { sent: 1, received: 0, latencies: Vec::new() };
    let kpis = json(&row("observed", vec![fleet]))["kpis"]["0"].clone();
    let names = |object: &Value| -> Vec<String> { object.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(names(&kpis), ["1", "2", "3", "4", "global-stats"]);
    let mote = &kpis["1"];
    let expected = [
        "avg_current_uA",
        "avg_hops",
        "join_time_s",
        "latencies",
        "latency_avg_s",
        "latency_max_s",
        "latency_min_s",
        "lifetime_AA_years",
        "sync_time_s",
        "upstream_num_lost",
        "upstream_num_rx",
        "upstream_num_tx",
        "upstream_reliability",
    ];
    assert_eq!(names(mote), expected);
    assert_eq!((&mote["upstream_num_lost"], &mote["upstream_reliability"]), (&1.into(), &0.75.into()));
    assert_eq!(mote["avg_current_uA"], 1_000.0, "100 mC in 100 s");
    assert!(kpis["2"].get("upstream_reliability").is_none(), "as there: nothing was received");
    let global = &kpis["global-stats"];
    let expected = [
        "app-packets-sent",
        "app_packets_lost",
        "app_packets_received",
        "current-consumed",
        "e2e-upstream-delivery",
        "e2e-upstream-latency",
        "joining-time",
        "network_lifetime",
    ];
    assert_eq!(names(global), expected);
    assert_eq!(global["e2e-upstream-delivery"][0]["value"], 0.6);
    assert_eq!(
        (&global["e2e-upstream-latency"][0]["mean"], &global["e2e-upstream-latency"][0]["unit"]),
        (&2.0.into(), &"s".into())
    );
    let joining = &global["joining-time"][0];
    // The slots of this row take 10 ms.
    assert_eq!(
        (&joining["unit"], &joining["min"], &joining["max"]),
        (&"slots".into(), &2_000.0.into(), &8_000.0.into())
    );
    assert_eq!(global["app-packets-sent"][0]["total"], 5);
}

#[test]
fn a_network_without_devices_has_no_numbers() {
    let measured = row("empty", vec![Fleet::default()]);
    let table = tables("", &[row("empty", vec![Fleet::default()])]);
    assert_eq!(cells(&table, "empty")[..2], ["0", "-"], "{table}");
    let object = json(&measured);
    assert_eq!(object["fleet"]["all_connected_s"]["count"], 0);
    assert_eq!(object["kpis"]["0"]["global-stats"]["joining-time"][0]["mean"], "N/A");
}
