//! `terse compare` is run as a program: its outputs, and its errors after wrong use.

use std::process::{Command, Output};

fn compare(options: &str) -> Output {
    let words = options.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_terse")).arg("compare").args(words).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let output = compare("--certificates p256x3 --mode full --mode compact --mtu 1500 --mtu 127 --runs 1 --cpu --json");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(rows.len(), 4 * 2 * 2, "four versions, two modes, two MTUs");
    for row in &rows {
        let bytes = &row["bytes"];
        let of = |name: &str| bytes[name].as_u64().unwrap_or_else(|| panic!("bytes.{name} in {row}"));
        let layers = ["tls", "application", "transport", "network", "link"].map(of);
        assert_eq!(of("total"), layers.iter().sum::<u64>(), "{row}");
        assert!(bytes["messages"]["ClientHello"].as_u64().is_some_and(|bytes| bytes > 50), "{row}");
        for name in ["packets", "round_trips", "mtu"] {
            assert!(row[name].as_u64().is_some(), "{name} in {row}");
        }
        for name in ["signatures_verified", "cache_entry_bytes", "cpu"] {
            assert!(
                row[name]["client"].as_u64().is_some() && row[name]["server"].as_u64().is_some(),
                "{name} in {row}"
            );
        }
        let is_compact = row["mode"] == "compact";
        assert_eq!(row["cache_entry_bytes"]["client"].as_u64() > Some(0), is_compact, "{row}");
        assert_eq!(row["cpu"]["unit"], "ns");
        assert_eq!(row["certificates"], "p256x3");
        let datagram = row["version"].as_str().is_some_and(|version| version.starts_with("DTLS"));
        assert_eq!(row["transport"], if datagram { "datagram" } else { "stream" });
    }
}

#[test]
fn files_are_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let [csv, html, pcapng, keylog] = ["a.csv", "a.html", "a.pcapng", "a.keys"].map(path);
    let output = compare(&format!(
        "--tls 1.3 --runs 2 --csv {csv} --html {html} --pcapng {pcapng} --keylog {keylog} --messages"
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for word in ["TLS 1.3 over TCP", "DTLS 1.3 over UDP", "paper saved", "54.9 %", "ClientHello", "compact"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    let read = |path: &str| std::fs::read(path).expect("the file is there");
    let lines = text(&read(&csv));
    assert_eq!(lines.lines().count(), 1 + 2 * 9, "a header, two versions, nine modes");
    assert!(lines.starts_with("mode,version,transport,certificates,link,mtu,"), "{lines}");
    let page = text(&read(&html));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && page.contains("BiTHaC"));
    assert!(!page.contains("http://") || !page.contains("<script"), "a report stands alone");
    assert!(!page.contains("src=") && !page.contains("href="), "a report stands alone");
    assert_eq!(read(&pcapng)[..4], [0x0a, 0x0d, 0x0d, 0x0a], "pcapng");
    assert!(text(&read(&keylog)).contains("CLIENT_TRAFFIC_SECRET_0"));
}

#[test]
fn own_certificates() {
    let dir = tempfile::tempdir().expect("a directory");
    let pki = dir.path().join("pki");
    let terse = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_terse")).args(words).output().expect("the program runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let out = pki.display().to_string();
    terse(&["pki", "init", "--algorithm", "p256", "--chain", "2", "--out", &out]);
    for name in ["broker.example", "sensor.example"] {
        terse(&["pki", "issue", name, "--ca", &out, "--out", &out]);
    }
    let own = format!(
        "--cert {out}/broker.example.pem --key {out}/broker.example.key --ca {out}/ca.pem --server-name broker.example \
         --client-cert {out}/sensor.example.pem --client-key {out}/sensor.example.key --tls 1.3 --mode bithac --runs 1 --json"
    );
    let output = compare(&own);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\"certificates\":\"own certificates\""));
    let output = compare(&own.replace("--server-name broker.example", "--server-name other.example"));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not valid for"), "{}", text(&output.stderr));
}

#[test]
fn wrong_use_is_told_what_to_do() {
    for (options, code, wanted) in [
        ("--link ethernot", 2, "ethernet"),
        ("--mode cached", 2, "bithac"),
        ("--memory", 2, "--crypto rustcrypto"),
        ("--mtu 20", 2, "--mtu"),
        ("--loss 100", 2, "below 100"),
        ("--certificates p256", 2, "p256"),
        ("--suite TLS_AES_128_GCM_SHA256 --tls 1.2", 2, "suite"),
        ("--cert a.pem", 2, "--key"),
        ("--mode full --tls 1.3 --transport stream --runs 1 --csv /nowhere/a.csv", 1, "/nowhere/a.csv"),
        ("--html /nowhere/a.html", 1, "make it first"),
        ("--json --csv -", 2, "standard output"),
        ("--link lorawan-sf9 --rate 5", 2, "spreading factor"),
        ("--delay -1", 2, "from 0 on"),
        ("--device cortex-m5", 2, "cortex-m4"),
        ("--device server,", 2, "there is no device"),
        ("--devices a.toml", 2, "--device"),
        ("--device server --devices /nowhere/a.toml", 1, "/nowhere/a.toml"),
        ("--device server --memory --crypto rustcrypto", 2, "cannot be used with"),
    ] {
        let output = compare(options);
        assert_eq!(output.status.code(), Some(code), "{options}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(wanted), "{options}: {}", text(&output.stderr));
    }
    let links = compare("--link list");
    assert!(links.status.success() && text(&links.stdout).contains("lorawan"), "{}", text(&links.stdout));
}

/// With a device, a connection takes its time, and all outputs say so.
#[test]
fn devices_compute() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let [csv, html, devices] = ["a.csv", "a.html", "a.toml"].map(path);
    std::fs::write(
        &devices,
        "[slow]\ndescription = \"a slow sensor\"\nsource = \"a guess\"\n[slow.microseconds]\nx25519-generate = 1e6\n\
         x25519-agree = 2e6\nsha-256-per-kb = 0\naes-128-gcm-per-kb = 0\n[slow.notes]\nx25519-agree = \"a bold guess\"\n",
    )
    .expect("a file");
    let common = format!("--devices {devices} --certificates p256x3 --tls 1.3 --transport stream --runs 1");
    let output = compare(&format!("--device slow,server {common} --mode psk --json --csv {csv} --html {html}"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(row["device"], serde_json::json!({ "client": "slow", "server": "server" }));
    assert_eq!(row["computing_ms"]["client"], 3000.0, "{row}");
    assert!(row["computing_ms"]["server"].as_f64().is_some_and(|ms| ms > 0.02 && ms < 1.0), "{row}");
    let times = &row["time_ms"];
    assert!(times["connected"].as_f64().is_some_and(|ms| ms > 3000.0 && ms < 3001.0), "{row}");
    // From the ClientHello, which the client computed a second for, to its Finished.
    assert!(times["server_connected"].as_f64().is_some_and(|ms| ms > 2000.0 && ms < 2001.0), "{row}");
    let lines = text(&std::fs::read(&csv).expect("the file is there"));
    assert!(lines.contains("server_connected_ms") && lines.contains(",slow,server,3000.0,"), "{lines}");
    let page = text(&std::fs::read(&html).expect("the file is there"));
    for words in ["a slow sensor", "a guess", "computing ms", "computing on slow (client) and server (server)"] {
        assert!(page.contains(words), "{words} in {page}");
    }
    assert!(!page.contains("the network alone"), "{page}");

    let output = compare(&format!("--device slow {common} --mode psk --mode full"));
    assert_eq!(output.status.code(), Some(1));
    let (table, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(table.contains("computing on slow (client) and slow (server)"), "{table}");
    assert!(table.contains("computing ms") && table.contains("3000.0 + 3000.0"), "{table}");
    assert!(errors.contains("TLS 1.3 full") && errors.contains("slow has no time for ecdsa-p256-sign"), "{errors}");
    assert!(errors.contains("--device list"), "{errors}");

    let without = compare(&format!("{} --mode psk --json", common.replace(&format!("--devices {devices} "), "")));
    let row: serde_json::Value = serde_json::from_slice(&without.stdout).expect("an object");
    assert!(row.get("device").is_none() && row.get("computing_ms").is_none(), "{row}");
    assert!(row["time_ms"]["server_connected"].as_f64().is_some_and(|ms| ms > 0.0 && ms < 1.0), "{row}");
}

#[test]
fn devices_are_listed_with_their_operations_and_sources() {
    let list = compare("--device list");
    assert!(list.status.success(), "{}", text(&list.stderr));
    let list = text(&list.stdout);
    for words in ["cortex-m4: Cortex-M4 at 64 MHz", "server: ", "QEMU", "terse-bench operations", "bls12381-pairing"] {
        assert!(list.contains(words), "{words} in {list}");
    }
    let line = list.lines().find(|line| line.contains("ecdsa-p256-sign") && line.contains("125 ms"));
    assert!(line.is_some(), "a signature of a Cortex-M4 in {list}");
    let output = compare("--device list --json");
    let devices: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let m4 = devices.iter().find(|device| device["device"] == "cortex-m4").expect("a Cortex-M4");
    assert_eq!(m4["microseconds"]["ecdsa-p256-sign"], 125_000.0);
    assert!(m4["notes"]["x25519-generate"].is_string() && m4["source"].is_string(), "{m4}");
}

/// Modes without early data send the request with their last flight.
#[test]
fn early_data_is_sent_where_a_mode_has_it() {
    let common = "--early-data --tls 1.3 --runs 1 --certificates p256x3 --delay 50";
    let output = compare(&format!("{common} --json"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    for row in &rows {
        let mode = row["mode"].as_str().expect("a mode");
        let is_stream = row["transport"] == "stream";
        let expected = mode.starts_with("identity") || (mode == "resumed" && is_stream);
        assert_eq!(row["early_data"], expected, "{row}");
        let requested = row["time_ms"]["requested"].as_f64().expect("a time");
        let one_way = if is_stream { 150.0 } else { 50.0 };
        assert_eq!(requested < one_way + 10.0, expected, "{mode} {requested}");
        assert!(row["bytes"]["until_request"].as_u64() < row["bytes"]["total"].as_u64(), "{row}");
    }
    let output = compare(common);
    assert!(text(&output.stdout).contains("request B  request ms") && text(&output.stdout).contains("early 150."));
    assert!(!text(&compare("--tls 1.3 --mode psk --runs 1").stdout).contains("request ms"));
}

#[test]
fn comma_separated_values_instead_of_the_table() {
    let output = compare(
        "--tls 1.3 --transport stream --mode full --runs 1 --delay 0 --csv - --link ethernet --link ethernet --mtu 1500 --mtu 1500",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    assert_eq!(lines.lines().count(), 2, "a header and one row, though it was asked for twice: {lines}");
    assert!(lines.starts_with("mode,version,") && !lines.contains("over TCP"), "{lines}");
}

/// A reader of the report alone sees which rows are missing, and how it was made.
#[test]
fn a_report_says_what_could_not_be_measured() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.html").display().to_string();
    let output = compare(&format!(
        "--certificates p256x3 --tls 1.3 --transport datagram --mode full --mode psk --link lorawan-sf12 --runs 1 --html {path}"
    ));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--dtls-timeout"), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(&path).expect("the file is there");
    for words in ["What could not be measured", "DTLS 1.3 full, lorawan-sf12", "terse compare --certificates p256x3"] {
        assert!(page.contains(words), "{words} in {page}");
    }
}

#[test]
fn the_evaluation_of_a_paper_is_repeated() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("itls.html").display().to_string();
    let output = compare(&format!("--paper itls --runs 2 --json --html {path}"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let rows: Vec<_> = lines.iter().filter(|line| line["table"].is_u64()).collect();
    assert_eq!(rows.len(), 2 * 7, "two tables");
    for row in &rows {
        let has_paper = row["paper"]["client"].is_u64() && row["paper"]["server"].is_u64();
        assert_eq!(has_paper, row["row"] != "compact", "{row}");
        assert!(row["client"].as_u64() > Some(100) && row["server"].as_u64() > Some(100), "{row}");
    }
    // Two levels and six curves, in figure 8 seven; figure 4 has one point and one MTU, the others have two MTUs.
    let points: Vec<_> = lines.iter().filter(|line| line["mode"].is_string()).collect();
    for (figure, unit, per_curve) in [(4, "ms", 1), (5, "ms", 20), (6, "%", 16), (7, "kbit/s", 10), (8, "ms", 21)] {
        let of_figure: Vec<_> = points.iter().filter(|point| point["figure"] == figure).collect();
        assert_eq!(of_figure.len(), 12 * per_curve, "figure {figure}");
        for point in of_figure {
            assert!(point["ours"].as_f64() > Some(0.0) && point["x"].is_f64() && point["x_unit"] == unit, "{point}");
        }
    }
    let beside_paper = points.iter().filter(|point| point["paper"].is_f64()).count();
    assert_eq!(beside_paper, 8 * 5, "eight sentences of four values, of which both identity algorithms stand for one");
    let ratios = lines.iter().filter(|line| line["ratio"].is_array());
    assert!(ratios.clone().all(|ratio| ratio["ours"]["least"].as_f64() > Some(0.0)) && ratios.count() > 10);

    let page = std::fs::read_to_string(&path).expect("the file is there");
    for words in
        ["Figure 4", "Figure 8", "12740.7", "6003", "as long as the device server", "terse compare --paper itls"]
    {
        assert!(page.contains(words), "{words} is not in the report");
    }
    assert_eq!(page.matches("<svg").count(), 1 + 4 * (4 + 1), "bars; four drawings and a legend of each other figure");
    assert!(!page.contains("cannot be drawn"));
}

#[test]
fn papers_are_known_by_name_and_choose_the_rest_themselves() {
    let unknown = compare("--paper nonsense");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("possible values: itls"), "{}", text(&unknown.stderr));
    for other in ["--mtu 127", "--early-data", "--mode full", "--certificates p256x3", "--loss 5", "--csv -"] {
        let output = compare(&format!("--paper itls {other}"));
        assert_eq!(output.status.code(), Some(2), "{other}");
        assert!(text(&output.stderr).contains("cannot be used with"), "{other}: {}", text(&output.stderr));
    }
    let no_rsa = compare("--paper itls --device cortex-m4,server --runs 1");
    assert_eq!(no_rsa.status.code(), Some(1), "the device has no time for RSA");
    assert!(text(&no_rsa.stderr).contains("rsa-3072-sign"), "{}", text(&no_rsa.stderr));
    assert!(text(&no_rsa.stdout).contains("Figure 7"), "the other curves are there");
}
