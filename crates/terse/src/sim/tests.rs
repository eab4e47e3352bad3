//! The pages on 6TiSCH say what the command says of the scenarios that they name.

use terse_sim::scenario::{Forming, Outcome, ScenarioFile, Statistics};

use super::measure::{self, Keeps, Measured};
use super::parties::Maker;
use crate::compare::report::thousands;

mod fleet;

fn page(name: &str) -> String {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the page is there")
}

fn run(source: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<Measured> {
    let mut file = ScenarioFile::parse("scenario.toml", source).expect("a scenario");
    file.rows.retain(|row| is_wanted(&row.name));
    measure::all(&file, &Maker::default(), None, Keeps::Nothing).expect("it runs")
}

fn grouped(number: f64) -> String {
    thousands(number.round_ties_even() as usize)
}

fn find<'m>(measured: &'m [Measured], name: &str) -> &'m Measured {
    measured.iter().find(|measured| measured.row.name == name).unwrap_or_else(|| panic!("no row {name}"))
}

fn formed(measured: &Measured, of: impl Fn(&Forming) -> f64) -> f64 {
    Statistics::of(measured.forming().map(of)).median
}

#[test]
fn the_page_has_the_numbers_of_section_4() {
    let page = page("sixtisch-paper.md");
    let measured = run(include_str!("../../../../scenarios/paper-001/section4.toml"), |_| true);
    assert!(measured.iter().all(|measured| measured.connected().count() == 20), "all are connected");
    let row =
        |name: &str, protocol: &str, hops: u8| find(&measured, &format!("{name}{protocol}, topology.hops {hops}"));
    for (protocol, hops) in ["TLS 1.2", "DTLS 1.2"].into_iter().flat_map(|name| [1, 2, 3].map(|hops| (name, hops))) {
        let cells = ["msf, ", "pid, ", "msf, tunnel, "].map(|name| {
            let row = row(name, protocol, hops);
            let (seconds, bytes) = (row.latency().median, grouped(row.bytes().median));
            format!("{seconds:.1} | {bytes} | {:.1}", row.charge().median)
        });
        let expected = format!("| {protocol}, {hops} | {} |", cells.join(" | "));
        assert!(page.contains(&expected), "not on the page: {expected}");
    }
    let marked = |measured: &Measured| Statistics::of(measured.values(|outcome: &Outcome| outcome.marked as f64)).mean;
    for hops in [1, 2, 3] {
        let cells = ["msf, ecn", "msf, tunnel, ecn"].map(|name| {
            let row = row(name, "", hops);
            format!("{:.1} | {} | {:.2}", row.latency().median, grouped(row.bytes().median), marked(row))
        });
        let expected = format!("| {hops} | {} |", cells.join(" | "));
        assert!(page.contains(&expected), "not on the page: {expected}");
    }
    let tunnels = [1, 2, 3].map(|hops| {
        let row = row("msf, tunnel, ", "TLS 1.2", hops);
        let seconds = row.forming().filter_map(|forming| forming.tunnel).map(|tunnel| tunnel.time.as_secs_f64());
        format!("{:.1}", Statistics::of(seconds).median)
    });
    let expected = format!("which takes {}, {} and {} s more", tunnels[0], tunnels[1], tunnels[2]);
    assert!(page.contains(&expected), "not on the page: {expected}");
}

/// Two of the eight ways to connect, and what the network takes beside them.
#[test]
fn the_page_has_the_numbers_of_networks_that_form_themselves() {
    let page = page("sixtisch-forming.md");
    let is_wanted = |name: &str| name.starts_with("TLS 1.3, full") || name.starts_with("DTLS 1.3, identity");
    let measured = run(include_str!("../../../../scenarios/forming.toml"), is_wanted);
    let charge = |measured: &Measured| {
        Statistics::of(measured.connected().filter_map(|outcome| outcome.charge).map(|charge| charge.all)).median
    };
    for (version, mode) in [("TLS 1.3", "full"), ("DTLS 1.3", "identity")] {
        let cells = [1, 3, 5].map(|hops| {
            let row = find(&measured, &format!("{version}, {mode}, topology.hops {hops}"));
            let (seconds, bytes) = (row.latency().median, grouped(row.bytes().median));
            format!("{seconds:.1} | {bytes} | {:.2} | {:.1}", row.charge().median, charge(row))
        });
        let expected = format!("| {version}, `{mode}` | {} |", cells.join(" | "));
        assert!(page.contains(&expected), "not on the page: {expected}");
    }
    for hops in 1..=5 {
        let row = find(&measured, &format!("TLS 1.3, full, topology.hops {hops}"));
        let meanwhile = Statistics::of(row.values(|outcome| outcome.air.network_bytes as f64)).median;
        let expected = format!(
            "| {hops} | {} | {} | {:.1} | {:.1} | {} |",
            grouped(formed(row, |forming| forming.time.as_secs_f64())),
            grouped(formed(row, |forming| forming.frames as f64)),
            formed(row, |forming| forming.bytes as f64) / 1e3,
            formed(row, |forming| forming.charge.expect("energy is counted")) / 1e3,
            grouped(meanwhile),
        );
        assert!(page.contains(&expected), "not on the page: {expected}");
    }
}
