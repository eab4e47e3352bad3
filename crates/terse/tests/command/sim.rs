//! `terse sim` is run as a program: its outputs, and its errors after wrong use and for bad files.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const TABLE_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/paper-001/table2.toml");

fn sim(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_terse")).arg("sim").args(words).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeeds(words: &[&str]) -> String {
    let output = sim(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{words:?}");
    text(&output.stdout)
}

fn json(words: &[&str]) -> Vec<Value> {
    let lines = succeeds(words);
    lines.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Writes a scenario, and returns its path.
fn scenario(directory: &Path, source: &str) -> String {
    let path = directory.join("scenario.toml");
    std::fs::write(&path, source).expect("the directory is there");
    path.display().to_string()
}

/// The engine in a few rows, over streams and datagrams.
const ENGINE: &str = "title = \"a few\"\npeers = \"engine\"\nrepetitions = 2\n[matrix]\n\
                      engine.version = [\"TLS 1.3\", \"DTLS 1.3\"]\nengine.mode = [\"full\", \"compact\", \"identity\"]\n";

#[test]
fn a_scenario_runs_and_says_what_it_costs() {
    let table = succeeds(&["run", TABLE_2, "--seeds", "3"]);
    for word in ["Table 2", "tls mss=844 nagle", "dtls mfl=1024", "2681 ± 0.0", "3102", "0/3"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    let rows = json(&["run", TABLE_2, "--seeds", "3", "--row", "dtls mfl=1024", "--row", "dtls mfl=512", "--json"]);
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[0]["row"], &rows[0]["runs"], &rows[0]["failed"]),
        (&"dtls mfl=1024".into(), &3.into(), &0.into())
    );
    assert_eq!((&rows[0]["bytes"]["mean"], &rows[0]["bytes"]["paper"]), (&2681.0.into(), &2680.0.into()));
    assert_eq!((&rows[1]["bytes"]["mean"], &rows[1]["latency_s"]["paper"]), (&2840.0.into(), &3.891.into()));
    for name in ["mean", "sd", "median", "p95", "least", "greatest", "lower_quartile", "upper_quartile"] {
        assert!(rows[0]["latency_s"][name].is_number(), "{name} in {}", rows[0]);
    }
}

#[test]
fn output_does_not_depend_on_threads_nor_on_the_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let lossy = "loss.fragments = 0.05\nrepetitions = 8\n[[row]]\nname = \"TLS\"\n\
                 [[row]]\nname = \"DTLS\"\nmbedtls.protocol = \"DTLS 1.2\"\n";
    for source in [lossy, ENGINE] {
        let path = scenario(directory.path(), source);
        let first = succeeds(&["run", &path, "--json", "--jobs", "1"]);
        assert_eq!(first, succeeds(&["run", &path, "--json", "--jobs", "3"]), "{source}");
        let other = succeeds(&["run", &path, "--json", "--seed", "2"]);
        assert_ne!(first, other, "another seed, other runs");
    }
}

#[test]
fn the_engine_runs_in_every_mode() {
    let directory = tempfile::tempdir().expect("a directory");
    let rows = json(&["run", &scenario(directory.path(), ENGINE), "--json"]);
    let bytes = |name: &str| {
        let row = rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("{name} in {rows:?}"));
        assert_eq!(row["failed"], 0, "{row}");
        row["bytes"]["mean"].as_f64().expect("a number")
    };
    for version in ["TLS 1.3", "DTLS 1.3"] {
        let of = |mode: &str| bytes(&format!("{version}, {mode}"));
        assert!(of("full") > 1.3 * of("compact") && of("compact") > of("identity"), "{version}: {rows:?}");
    }
}

#[test]
fn files_are_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let [csv, html, pcapng, keylog] = ["a.csv", "a.html", "a.pcapng", "a.keys"].map(path);
    let file = scenario(directory.path(), ENGINE);
    let files = ["--csv", &csv, "--html", &html, "--pcapng", &pcapng, "--keylog", &keylog];
    let table = succeeds(&[&["run", &file][..], &files].concat());
    assert_eq!(table, succeeds(&["run", &file]), "captures change nothing");
    let read = |path: &str| std::fs::read(path).expect("the file is there");
    let lines = text(&read(&csv));
    let names = "row,run,seed,connected,latency_s,bytes,acknowledgement_bytes,frames,packets,retransmissions,dropped,pool_peak,\
                 marked,network_bytes,client_charge_mc,all_charge_mc,formed_s,formed_bytes,formed_charge_mc,tunnel_s,\
                 tunnel_cells,hops,devices,connected_devices,connected_50_s,connected_95_s,\
                 handshake_s_median,handshake_s_p95,device_bytes_median,device_charge_mc_median,handshakes,\
                 handshakes_failed,fallbacks,reports_sent,reports_received,battery_days_median\n";
    assert!(lines.starts_with(names), "{lines}");
    assert_eq!(lines.lines().count(), 1 + 6 * 2, "a line for each run");
    let report = text(&read(&html));
    for word in ["<svg", "a few", "TLS 1.3, full", "To do it again", "calls of the allocator"] {
        assert!(report.contains(word), "{word}");
    }
    assert!(!report.contains("http://") || !report.contains("<script"), "it is one file");
    assert_eq!(read(&pcapng)[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header block");
    let keys = text(&read(&keylog));
    let randoms = keys.lines().filter(|line| line.starts_with("CLIENT_HANDSHAKE_TRAFFIC_SECRET"));
    let randoms: std::collections::BTreeSet<_> = randoms.filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(randoms.len(), 6, "each row has secrets that can be told apart: {keys}");
    assert_eq!(succeeds(&["run", &file, "--csv", "-"]), lines);
}

#[test]
fn what_is_shown_means_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let shown = succeeds(&["show", TABLE_2]);
    assert!(shown.contains("max_retries = 15") && shown.contains("rto_initial_ms = 3000"), "{shown}");
    let again = scenario(directory.path(), &shown);
    assert_eq!(succeeds(&["show", &again]), shown);
    let run = |path: &str| succeeds(&["run", path, "--seeds", "2", "--json"]);
    assert_eq!(run(&again), run(TABLE_2));
}

#[test]
fn bad_files_are_refused_with_their_lines() {
    let directory = tempfile::tempdir().expect("a directory");
    let bad = scenario(directory.path(), "[schedule]\nslotframe = 0\n\n[loss]\nfragmants = 0.05\n");
    for words in [&["run", &bad][..], &["check", &bad], &["show", &bad]] {
        let output = sim(words);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()), "{words:?}");
        let expected = format!(
            "terse: {bad}:2: schedule.slotframe: 0 is no length of a slotframe: a number of slots from 1 to 65535\n\
             {bad}:5: loss.fragmants: there is no such key; did you mean fragments?\n"
        );
        assert_eq!(text(&output.stderr), expected, "{words:?}");
    }
    let output = sim(&["check", "nothing.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("terse: cannot read nothing.toml: "), "{}", text(&output.stderr));
}

#[test]
fn rows_that_never_connect_are_a_failure() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = scenario(directory.path(), "radio.delivery = 0\nlimit_ms = 50_000\nrepetitions = 2\n");
    let output = sim(&["run", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("2/2"), "{}", text(&output.stdout));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("terse: scenario: client: ") && errors.contains("1 of 1 rows were never connected"),
        "{errors}"
    );
}

#[test]
fn every_scenario_that_comes_along_is_right() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let all = [directory.join("paper-001"), directory].into_iter().flat_map(|directory| {
        let entries = std::fs::read_dir(directory).expect("the directory is there");
        entries.map(|entry| entry.expect("an entry").path())
    });
    let files: Vec<_> = all.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    assert!(files.len() >= 7, "{files:?}");
    for path in files {
        let checked = succeeds(&["check", &path.display().to_string()]);
        assert!(checked.contains("nothing is wrong"), "{checked}");
    }
}

#[test]
fn wrong_use_is_2() {
    for words in [
        &["run"][..],
        &["run", TABLE_2, "--seeds", "0"],
        &["run", TABLE_2, "--row", "tls mss=1"],
        &["run", TABLE_2, "--json", "--csv", "-"],
        &["run", TABLE_2, "--jobs", "0"],
        &["paper", "--row", "x"],
        &["walk"],
        &[],
    ] {
        let output = sim(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty(), "{words:?}");
    }
    let output = sim(&["run", TABLE_2, "--row", "tls mss=1"]);
    let message = text(&output.stderr);
    assert!(message.contains("there is no row tls mss=1; there are tls mss=844 nagle; tls mss=844;"), "{message}");
}

#[test]
fn every_help_has_an_example() {
    for command in ["run", "sweep", "merge", "new", "show", "check", "paper"] {
        let help = succeeds(&[command, "--help"]);
        assert!(help.contains(&format!("Example:\n  terse sim {command}")), "{help}");
    }
}

#[test]
fn the_paper_has_the_fields_of_the_contract() {
    let directory = tempfile::tempdir().expect("a directory");
    let html = directory.path().join("paper.html").display().to_string();
    let lines = json(&["paper", "--seeds", "3", "--json", "--html", &html]);
    let rows: Vec<&Value> = lines.iter().filter(|line| !line["table"].is_null()).collect();
    assert_eq!(rows.len(), 6 + 2, "the rows of tables 2 and 3");
    let row = rows.iter().find(|line| line["row"] == "tls mss=844 nagle").expect("the first row");
    assert_eq!(
        (&row["table"], &row["bytes"]["paper"], &row["latency_s"]["paper"]),
        (&2.into(), &3102.0.into(), &4.495.into())
    );
    for name in ["mean", "sd"] {
        assert!(row["bytes"][name].is_f64() && row["latency_s"][name].is_f64(), "{name} in {row}");
    }
    let effects: Vec<&Value> = lines.iter().filter(|line| !line["figure"].is_null()).collect();
    for figure in [5, 6, 7, 10] {
        assert!(effects.iter().any(|effect| effect["figure"] == figure), "figure {figure}");
    }
    for effect in effects {
        assert!(effect["check"].is_string() && effect["holds"].is_boolean(), "{effect}");
    }
    let report = std::fs::read_to_string(html).expect("the file is there");
    for word in ["Table 2", "Table 3", "Figure 5", "Figure 6", "Figure 7", "Figure 10", "Checks", "<svg"] {
        assert!(report.contains(word), "{word}");
    }
}

/// The forms of onboarding in the order of `terse sim onboarding`.
const FORMS: [&str; 7] = [
    "DTLS 1.2",
    "DTLS 1.2, whole paths",
    "DTLS 1.2, certificate",
    "DTLS 1.3",
    "DTLS 1.3, whole paths",
    "DTLS 1.3, certificate",
    "HTTPS, TLS 1.3",
];

#[test]
fn an_onboarding_says_what_each_step_costs() {
    let table = succeeds(&["onboarding"]);
    for word in FORMS.iter().chain(&["handshake 2", "crts", "acks"]) {
        assert!(table.contains(word), "{word} in {table}");
    }
    let rows = json(&["onboarding", "--json"]);
    assert_eq!(rows.iter().map(|row| row["form"].as_str().unwrap()).collect::<Vec<_>>(), FORMS);
    for row in &rows {
        let steps = row["steps"].as_array().unwrap();
        let sum = |of: &dyn Fn(&Value) -> u64| steps.iter().map(of).sum::<u64>();
        let bytes = sum(&|step| step["up"]["bytes"].as_u64().unwrap() + step["down"]["bytes"].as_u64().unwrap());
        assert_eq!(row["bytes"].as_u64().unwrap(), bytes, "{row}");
        assert_eq!((&row["lost_frames"], &row["repeated_attempts"]), (&0.into(), &0.into()));
    }
    let bytes = |row: usize| rows[row]["bytes"].as_u64().unwrap();
    assert!(bytes(0) < bytes(1) && bytes(0) < bytes(2) && bytes(2) < bytes(6), "{rows:?}");
}

/// Certificates and keys are new each time, and have the same sizes.
#[test]
fn an_onboarding_with_one_seed_is_the_same_again() {
    let words = ["onboarding", "--link", "ethernet", "--mtu", "127", "--loss", "10", "--seed", "7"];
    let first = succeeds(&words);
    assert_eq!(first, succeeds(&words));
    let other = [&words[..8], &["8"]].concat();
    assert_ne!(first, succeeds(&other));
}

#[test]
fn an_onboarding_names_the_links_that_there_are() {
    let output = sim(&["onboarding", "--link", "string"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("ieee802154"), "{}", text(&output.stderr));
}

#[test]
fn an_onboarding_over_hops_says_what_motes_take_of_batteries() {
    let table = succeeds(&["onboarding", "--hops", "3"]);
    for word in ["DTLS 1.2", "DTLS 1.3", "pledge mC", "proxy mC", "handshake 2"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    let words = ["onboarding", "--hops", "3", "--loss", "2", "--seed", "5", "--json"];
    let rows = json(&words);
    assert_eq!(rows, json(&words));
    for row in &rows {
        let steps = row["steps"].as_array().unwrap();
        let bytes: u64 = steps.iter().map(|step| step["bytes"]["all"].as_u64().unwrap()).sum();
        assert_eq!((&row["hops"], row["bytes"]["all"].as_u64().unwrap()), (&3.into(), bytes), "{row}");
        assert!(row["is_reported"].is_boolean(), "{row}");
        assert!(row["pledge_mc"]["all"].as_f64() > row["pledge_mc"]["idle"].as_f64(), "{row}");
    }
    let output = sim(&["onboarding", "--hops", "3", "--mtu", "500"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
