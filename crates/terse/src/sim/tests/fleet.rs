//! Whole networks: what happens to them, and that all devices come back.

use core::time::Duration;

use terse_sim::scenario::fleet::{Device, Fleet};
use terse_sim::scenario::{Outcome, Prepared, ScenarioFile};

use super::super::columns::Column;
use super::super::fleet;
use super::super::measure::Measured;
use super::super::parties::Maker;
use super::run;

/// A tree of twelve motes, ten next to the root's two children, whose radio is ideal.
const TREE: &str = "peers = \"engine\"
repetitions = 1
limit_ms = 3_600_000
topology.clients = \"all\"
topology.parents = [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
schedule.slot_ms = 10
serial.up_ms = 0
serial.down_ms = 0
engine.client_device = \"cortex-m4\"
dtls.client_timeout_ms = 20_000
dtls.server_timeout_ms = 20_000
pool.root_frames = 100
sixlowpan.reassembly_buffers = 8
";

fn outcome(keys: &str) -> Outcome {
    outcomes(keys).remove(0)
}

fn outcomes(keys: &str) -> Vec<Outcome> {
    let rows = run(&format!("{TREE}{keys}"), |_| true);
    rows.into_iter().flat_map(|row| row.outcomes).collect()
}

fn back(keys: &str) -> Fleet {
    let outcome = outcome(keys);
    assert_eq!(outcome.failure, None, "{keys}");
    outcome.fleet.expect("a whole network")
}

fn seconds(time: Option<Duration>) -> f64 {
    time.expect("it happened").as_secs_f64()
}

#[test]
fn every_device_is_connected_after_a_power_cut_by_every_version_and_mode() {
    let matrix = "[matrix]
engine.version = [\"TLS 1.2\", \"TLS 1.3\", \"DTLS 1.2\", \"DTLS 1.3\"]
engine.mode = [\"full\", \"rfc7924\", \"bithac\", \"compact\", \"resumed\", \"psk\", \"identity-first\", \"identity\"]
";
    let rows = run(&format!("{TREE}{matrix}"), |_| true);
    assert!(rows.len() > 20, "{}", rows.len());
    for row in rows {
        let (name, outcome) = (&row.row.name, &row.outcomes[0]);
        assert!(outcome.is_connected(), "{name}: {:?}", outcome.failure);
        let fleet = outcome.fleet.as_ref().expect("a whole network");
        assert_eq!((fleet.connected(), fleet.devices.len()), (12, 12), "{name}");
        assert_eq!((fleet.fallbacks, outcome.latency), (0, fleet.time_until(1.0)), "{name}");
        assert!(fleet.connections >= 12, "{name}: {}", fleet.connections);
        let half = fleet.time_until(0.5).expect("half of them are connected");
        assert!(half <= fleet.time_until(0.95).expect("nearly all are"), "{name}");
        for device in &fleet.devices {
            let hops = if device.mote <= 2 { 1 } else { 2 };
            assert_eq!(device.hops, Some(hops), "{name}: mote {}", device.mote);
            assert!(device.attempts >= 1 && device.handshake <= device.connected, "{name}: {device:?}");
            assert!(device.charge > device.computing, "{name}: {device:?}");
        }
        let of_devices: u64 = fleet.devices.iter().map(|device| device.bytes).sum();
        assert!(of_devices <= fleet.bytes, "{name}: what followed until the last one was connected counts as well");
    }
}

#[test]
fn less_is_sent_by_a_whole_network_that_leaves_out_what_is_cached() {
    let bytes = |keys: &str| back(&format!("engine.version = \"DTLS 1.3\"\n{keys}")).bytes;
    let [full, compact, identity] =
        ["full", "compact", "identity"].map(|mode| bytes(&format!("engine.mode = \"{mode}\"\n")));
    assert!(2 * full > 3 * compact && compact > identity, "{full} {compact} {identity}");
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let keys = "repetitions = 2\nreconnect.spread_ms = 60_000\ntraffic.period_ms = 30_000\nradio.delivery = 0.9\n";
    let source = format!("{TREE}{keys}").replacen("repetitions = 1\n", "", 1);
    let both = [run(&source, |_| true), run(&source, |_| true)].map(|rows| rows[0].outcomes.clone());
    assert_eq!(both[0], both[1]);
    assert_ne!(both[0][0].fleet, both[0][1].fleet, "another seed is another run");
}

#[test]
fn devices_wait_for_a_random_time_before_they_connect() {
    let times = |keys: &str| back(keys).curve(|device| device.connected);
    let (at_once, spread) = (times(""), times("reconnect.spread_ms = 1_200_000\n"));
    let last = |times: &[Duration]| times.last().copied().expect("twelve").as_secs_f64();
    assert!(last(&at_once) < 300.0, "{}", last(&at_once));
    // The greatest of twelve random times is below a half once in 4,096 cases.
    assert!((600.0..1_500.0).contains(&last(&spread)), "{}", last(&spread));
    assert!(spread[0].as_secs_f64() < 600.0);
}

#[test]
fn devices_notice_by_their_reports_that_the_server_has_begun_anew() {
    let keys = "engine.version = \"DTLS 1.3\"
engine.mode = \"compact\"
traffic.period_ms = 60_000
traffic.timeout_ms = 10_000
event = { kind = \"server-restart\", after_ms = 120_000, lasts_ms = 90_000 }
";
    for keys in [keys.to_owned(), keys.replace("DTLS", "TLS")] {
        let fleet = back(&keys);
        let first = fleet.curve(|device| device.connected)[0];
        assert!(first >= Duration::from_secs(90), "nobody is connected while the server is away: {first:?}");
        assert_eq!(fleet.fallbacks, 0, "the server has kept what it had cached");
        assert!(fleet.devices.iter().all(|device| device.synchronised.is_none() && device.joined.is_none()));
        assert_eq!(fleet.reports.reliability(), Some(1.0), "afterwards all reports get through");
    }
}

#[test]
fn a_device_with_a_new_certificate_connects_in_full() {
    let keys = "engine.version = \"DTLS 1.3\"
engine.mode = \"compact\"
event = { kind = \"renewal\", after_ms = 10_000, lasts_ms = 600_000, enrol_request_bytes = 300, enrol_reply_bytes = 600 }
";
    let renewed = back(keys);
    assert_eq!((renewed.connected(), renewed.fallbacks, renewed.connections), (12, 0, 12));
    assert!(seconds(renewed.time_until(1.0)) < 900.0 && seconds(renewed.time_until(0.01)) < 300.0);
    // Each has asked for its certificate on the old connection, and sent a certificate that nobody has cached.
    let compact = back("engine.version = \"DTLS 1.3\"\nengine.mode = \"compact\"\n");
    let far = |fleet: &Fleet| fleet.devices.iter().find(|device| device.mote == 12).map_or(0, |device| device.bytes);
    assert!(far(&renewed) > 3 * far(&compact), "{} {}", far(&renewed), far(&compact));
}

#[test]
fn reports_come_back_when_links_do() {
    let keys = "traffic.period_ms = 20_000
traffic.timeout_ms = 5_000
event = { kind = \"link-fade\", after_ms = 60_000, lasts_ms = 300_000, delivery = 0.0 }
";
    let dead = back(keys);
    assert!(seconds(dead.time_until(0.01)) >= 300.0, "nothing gets through before");
    assert!(seconds(dead.time_until(1.0)) < 1_500.0);
    let weak = back(&keys.replace("delivery = 0.0", "delivery = 0.7"));
    assert!(seconds(weak.time_until(1.0)) < 300.0, "seven of ten frames are enough, with repetitions");
    let half = outcomes(
        &keys
            .replace("delivery = 0.0", "delivery = 0.0, share = 0.5")
            .replace("after_ms = 60_000", "after_ms = 61_000"),
    );
    let early = half[0].fleet.as_ref().expect("a whole network").devices.iter();
    let early = early.filter(|device| device.connected.is_some_and(|time| time < Duration::from_secs(300))).count();
    assert!((1..12).contains(&early), "those with links that have not faded: {early}");
}

#[test]
fn a_device_that_cannot_be_reached_tries_again_and_is_named_in_the_failure() {
    let keys =
        "limit_ms = 7_200_000\nengine.version = \"DTLS 1.3\"\n[[radio.link]]\nfrom = 12\nto = 2\ndelivery = 0.0\n";
    let source = format!("{TREE}{keys}").replacen("limit_ms = 3_600_000\n", "", 1);
    let outcome = run(&source, |_| true).remove(0).outcomes.remove(0);
    let failure = outcome.failure.as_deref().unwrap_or_default();
    assert!(failure.starts_with("11 of 12 devices were connected within the limit; a handshake failed: "), "{failure}");
    let fleet = outcome.fleet.expect("a whole network");
    assert_eq!((fleet.time_until(1.0), outcome.latency), (None, None));
    let lost: Vec<&Device> = fleet.devices.iter().filter(|device| device.connected.is_none()).collect();
    assert!(lost.len() == 1 && lost[0].mote == 12 && lost[0].attempts > 3, "{lost:?}");
    assert!(lost[0].charge.is_some() && fleet.failures >= 3, "its charge is that until the end");
}

#[test]
fn what_is_counted_of_one_client_only_has_no_value_in_a_whole_network() {
    let value = |outcome: &Outcome, name: &str| {
        let column = Column::all().iter().find(|column| column.name == name).expect("a column");
        column.of(outcome).number()
    };
    let whole = outcome("");
    let single = run("peers = \"engine\"\nrepetitions = 1\n", |_| true).remove(0).outcomes.remove(0);
    for name in ["acknowledgement_bytes", "packets", "retransmissions", "pool_peak", "marked"] {
        assert_eq!(value(&whole, name), None, "{name}");
        assert!(value(&single, name).is_some(), "{name}");
    }
    assert_eq!((value(&whole, "devices"), value(&single, "devices")), (Some(12.0), None));
}

#[test]
fn reports_are_counted_where_they_come_from() {
    let keys = "engine.version = \"DTLS 1.3\"\ntraffic.period_ms = 30_000\nevent.observed_ms = 3_600_000\n";
    let ideal = back(keys);
    let (sent, received) = (ideal.reports.sent, ideal.reports.received);
    assert_eq!(sent, 12 * 120, "one each half minute");
    assert_eq!(received, sent, "also the last ones");
    assert!(ideal.reports.latencies.iter().all(|latency| (0.0..5.0).contains(latency)));
    let of_devices: u64 = ideal.devices.iter().map(|device| device.reports.received).sum();
    assert_eq!((of_devices, ideal.reports.latencies.len() as u64), (received, received));
    let silent = back("");
    assert_eq!((silent.reports.sent, silent.reports.reliability()), (0, None));
    let days = |fleet: &Fleet| fleet.statistics(|device| device.observed.map(|observed| observed.days)).median;
    assert!(days(&ideal) < days(&silent), "reports cost batteries");
}

#[test]
fn a_network_that_forms_itself_comes_back_as_its_motes_join() {
    let keys = "peers = \"engine\"
repetitions = 1
limit_ms = 14_400_000
topology = { grid = 15, spacing_m = 40, root = \"centre\", clients = \"all\" }
schedule.slot_ms = 10
forming.function = \"msf\"
engine = { version = \"DTLS 1.3\", mode = \"compact\" }
dtls = { client_timeout_ms = 60_000, server_timeout_ms = 60_000, longest_timeout_ms = 240_000 }
";
    let rows = run(keys, |_| true);
    let outcome = &rows[0].outcomes[0];
    assert_eq!(outcome.failure, None);
    let fleet = outcome.fleet.as_ref().expect("a whole network");
    for device in &fleet.devices {
        // A mote that loses the network is synchronised anew, after it had joined.
        assert!(device.joined < device.connected && device.joined.is_some(), "{device:?}");
        assert!(device.parent.is_some() && device.hops.is_some(), "{device:?}");
    }
    assert!(fleet.network_bytes > 0 && fleet.pools.len() == 16 && fleet.refused.len() == 16);
}

#[test]
fn tls_of_a_whole_network_goes_through_a_proxy() {
    let [direct, proxied] =
        ["false", "true"].map(|proxy| back(&format!("engine.version = \"TLS 1.3\"\ngateway.proxy = {proxy}\n")));
    assert_eq!((proxied.connected(), proxied.fallbacks), (12, 0));
    // The gateway answers for the server, with the segments and timers of its own.
    assert_ne!(direct.bytes, proxied.bytes);
}

#[test]
fn a_capture_of_a_whole_network_has_all_its_secrets() {
    let file = ScenarioFile::parse("tree.toml", &format!("{TREE}engine.version = \"DTLS 1.3\"\n")).expect("a scenario");
    let prepared = Prepared::new(&file.rows[0].scenario, &Maker::default()).expect("it can be run");
    let (outcome, captured) = prepared.capture(0, 0, None).expect("it runs");
    assert_eq!(outcome, prepared.run(0).expect("it runs"), "a capture changes nothing");
    let secrets = captured.key_log.lines().filter(|line| line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")).count();
    assert_eq!(secrets, 12);
}

/// Two of the five rows, which take least.
#[test]
fn the_page_has_the_numbers_of_a_hundred_devices_after_a_power_cut() {
    let page = super::page("sixtisch-whole.md");
    let is_wanted = |name: &str| name == "DTLS 1.3 compact" || name == "DTLS 1.3 identity";
    let rows = run(include_str!("../../../../../scenarios/rejoin/100.toml"), is_wanted);
    assert_eq!(rows.len(), 2);
    for row in rows {
        let cells = cells(&row, &["50 % s", "95 % s", "all s", "shake s", "kB", "net kB", "C", "mC"]);
        let expected = format!("\n| {} | {cells} |\n", row.row.name);
        assert!(page.contains(&expected), "not on the page: {expected}");
    }
}

/// One row of each table.
#[test]
fn the_page_has_the_numbers_of_a_plan() {
    let page = super::page("planning.md");
    let plan = include_str!("../../../../../scenarios/planning.toml");
    let row = |source: &str| run(source, |name| name == "DTLS 1.3 identity").remove(0);
    let expected = cells(&row(plan), &["50 % s", "95 % s", "all s", "shake s", "kB", "mC"]);
    assert!(page.contains(&format!("\n| DTLS 1.3 identity | {expected} |\n")), "not on the page: {expected}");
    let sooner = plan.replace("spread_ms = 10_800_000", "spread_ms = 1_800_000");
    assert_ne!(sooner, plan);
    let sooner = row(&sooner);
    assert_eq!(sooner.connected().count(), sooner.outcomes.len(), "all of them, in every run");
    let [all, rest] = [&["all s"][..], &["tries", "kB", "mC"]].map(|names| cells(&sooner, names));
    let expected = format!("\n| DTLS 1.3 identity | {all} | 100 % | {rest} |\n");
    assert!(page.contains(&expected), "not on the page: {expected}");
}

/// Returns cells of the table that the command prints.
fn cells(row: &Measured, names: &[&str]) -> String {
    let columns = fleet::table::columns(&[row]);
    let cell = |name: &&str| {
        let column = columns.iter().find(|column| column.name == *name);
        column.unwrap_or_else(|| panic!("no column {name}")).cell(row)
    };
    names.iter().map(cell).collect::<Vec<_>>().join(" | ")
}
