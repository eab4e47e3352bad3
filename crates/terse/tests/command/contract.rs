//! The machine-readable output is a contract: the fields of the JSON summary and their types, the key log, the trace,
//! the demo.

use std::fs;

use crate::common::{self, Pki, mode, run, terse};
use serde_json::Value;

const FIELDS: [&str; 17] = [
    "version",
    "transport",
    "cipher_suite",
    "group",
    "mode",
    "cached",
    "peer",
    "signatures_verified",
    "signatures_saved",
    "round_trips",
    "early_data",
    "fallback",
    "sent",
    "received",
    "retransmissions",
    "handshake_ms",
    "error",
];

#[track_caller]
fn check_summary(object: &Value) {
    check_summary_of(object, false);
}

#[track_caller]
fn check_summary_of(object: &Value, is_datagram: bool) {
    let keys: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = FIELDS.to_vec();
    expected.extend(is_datagram.then_some("dropped"));
    let mut found = keys.clone();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(object["version"], if is_datagram { "DTLS 1.3" } else { "TLS 1.3" });
    assert_eq!(object["transport"], if is_datagram { "datagram" } else { "stream" });
    assert_eq!(object["early_data"], "none");
    for text in ["cipher_suite", "mode"] {
        assert!(object[text].is_string(), "{text}: {object}");
    }
    assert_eq!(object["group"].is_string(), object["mode"] != "identity", "{object}");
    assert!(object["cached"].as_array().unwrap().iter().all(Value::is_string));
    assert!(object["peer"]["authenticated_by"].is_string());
    for number in ["signatures_verified", "signatures_saved", "round_trips", "retransmissions", "handshake_ms"] {
        assert!(object[number].is_u64(), "{number}: {object}");
    }
    assert!(object["fallback"].is_null() || object["fallback"].is_string());
    assert!(object["error"].is_null());
    for direction in ["sent", "received"] {
        let traffic = &object[direction];
        let messages = traffic["messages"].as_object().unwrap();
        let sum: u64 = messages.values().map(|len| len.as_u64().unwrap()).sum();
        assert_eq!(traffic["handshake_bytes"], sum);
        assert!(traffic["record_bytes"].as_u64() > Some(sum));
        // The post-handshake bytes are a ticket, which is acknowledged over datagrams.
        let has_ticket = object["mode"] == "resumed" && (direction == "received" || is_datagram);
        assert_eq!(traffic["post_handshake_bytes"].as_u64().unwrap() > 0, has_ticket);
        assert_eq!(traffic["datagrams"].as_u64().unwrap() > 0, is_datagram);
        assert_eq!(traffic.as_object().unwrap().len(), 5);
    }
}

#[test]
fn the_summary_has_its_fields() {
    let pki = Pki::new();
    let server = pki.server("--client-ca @ca.pem --require-client-cert --echo");
    let client = pki.client(&server, "--cert @client.pem --key @client.key --send hello --expect 5 --repeat 2");
    for object in client.objects() {
        check_summary(&object);
        assert_eq!(object["round_trips"], 1);
        check_summary(&server.report());
    }
}

#[test]
fn a_failure_has_its_fields_too() {
    let pki = Pki::new();
    let server = pki.server("--client-ca @ca.pem --require-client-cert");
    let outcome = pki.client(&server, "");
    assert_eq!(outcome.code, Some(1));
    for object in [outcome.lines().remove(0), server.report()] {
        let keys: Vec<_> = object.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), FIELDS.len());
        assert!(object["error"].is_string());
    }
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
}

#[test]
fn the_key_log_is_in_the_nss_format() {
    let pki = Pki::new();
    let server = pki.server("--keylog @server.log");
    pki.client(&server, "--keylog @client.log --export EXPORTER-x").object();
    server.report();
    let read = |file: &str| {
        let log = fs::read_to_string(pki.path(file)).unwrap();
        let mut lines: Vec<_> = log.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let lines = read("client.log");
    assert_eq!(lines, read("server.log"));
    let mut labels = Vec::new();
    for line in &lines {
        let parts: Vec<_> = line.split(' ').collect();
        let [label, random, secret] = parts[..] else { panic!("{line}") };
        assert!([random, secret].iter().all(|hex| hex.bytes().all(|b| b"0123456789abcdef".contains(&b))), "{line}");
        assert_eq!(random.len(), 64);
        assert!([64, 96].contains(&secret.len()), "{line}");
        labels.push(label);
    }
    for label in [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ] {
        assert!(labels.contains(&label), "{label} is not in {labels:?}");
    }
    assert_eq!(mode(pki.path("client.log")), 0o600);
    pki.client(&server, "--keylog @client.log").object();
    assert_eq!(read("client.log").len(), 2 * lines.len());
}

#[test]
fn the_trace_names_the_messages_and_what_was_left_out() {
    let pki = Pki::new();
    let server = pki.server("--client-ca @ca.pem --require-client-cert --echo");
    let outcome = pki.client(&server, "-v --cert @client.pem --key @client.key --send x --expect 1 --repeat 2");
    assert_eq!(outcome.objects().len(), 2); // the trace is not on standard output
    for part in
        ["-> ClientHello, ", "<- ServerHello, ", "<- CertificateVerify, ", "-> Finished, ", "server_certificate"]
    {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
}

#[test]
fn the_human_form_is_a_table() {
    let pki = Pki::new();
    let server = pki.server("--reply noted");
    let command = format!("client --connect {} --server-name {} --ca @ca.pem", server.address, common::SERVER);
    let outcome = run(pki.command(&command, "--expect 5"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for part in ["noted\n", "version", "TLS 1.3", "cipher suite", "x25519", common::SERVER, "full", "2 verified"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
}

#[test]
fn the_server_prints_a_line_for_people() {
    let pki = Pki::new();
    let server = common::Server::start(
        pki.command("server --listen 127.0.0.1:0 --cert @server.pem --key @server.key", "--max-connections 1"),
    );
    pki.client(&server, "").object();
    let line = server.line();
    assert!(line.starts_with("127.0.0.1:") && line.contains("TLS 1.3") && line.contains("full"), "{line}");
}

#[test]
fn the_demo_saves_step_by_step() {
    for options in [
        &["--algorithm", "p256"][..],
        &["--algorithm", "ed25519", "--chain", "2"],
        &["--chain", "8"],
        &["--algorithm", "rsa2048"],
    ] {
        let mut command = terse();
        command.args(["demo", "--json"]).args(options);
        let mut steps = run(command).objects();
        check_onboarding(&steps.remove(0));
        let names: Vec<_> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
        let stream = ["full", "rfc7924", "cached", "resumed", "identity"];
        let datagrams = ["dtls_full", "dtls_cached", "dtls_resumed", "dtls_identity"];
        assert_eq!(names, [&stream[..], &datagrams].concat());
        let modes = ["full", "rfc7924", "compact", "resumed", "identity", "full", "compact", "resumed", "identity"];
        let mut last = u64::MAX;
        for ((step, mode), name) in steps.iter().zip(modes).zip(names) {
            assert_eq!(step["ok"], true, "{step}");
            assert!(step["ms"].is_f64());
            let is_datagram = name.starts_with("dtls");
            if is_datagram && mode == "full" {
                last = u64::MAX;
            }
            check_summary_of(&step["summary"], is_datagram);
            assert_eq!(step["summary"]["mode"], mode);
            let bytes = |direction: &str| step["summary"][direction]["record_bytes"].as_u64().unwrap();
            let sum = bytes("sent") + bytes("received");
            // The ticket of a session has the names of the client in it, and is longer than one of `compact`; over datagrams
            // that one also replaces a cookie. Which of the two saves more depends on the names.
            assert!(sum < last || name.ends_with("resumed"), "{mode}: {sum} of {last}");
            last = sum;
        }
    }
}

fn check_onboarding(step: &serde_json::Value) {
    assert_eq!((&step["step"], &step["ok"]), (&"onboard".into(), &true.into()), "{step}");
    assert_eq!((&step["serial"], &step["assertion"]), (&"sensor17".into(), &"proximity".into()));
    let phases: Vec<_> = step["phases"].as_array().unwrap().iter().map(|one| one["phase"].as_str().unwrap()).collect();
    assert!(phases.contains(&"request_voucher") && phases.contains(&"enrollstatus"), "{phases:?}");
    assert!(step["ms"].as_f64().unwrap() > 0.0);
    let processes: Vec<_> = step["processes"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(processes, ["masa", "registrar", "join-proxy", "pledge"]);
}

#[test]
fn the_demo_shows_a_table() {
    let mut command = terse();
    command.arg("demo");
    let outcome = run(command);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for part in [
        "RFC 8995",
        "terse masa, terse registrar, terse join-proxy and terse pledge",
        "TLS 1.3",
        "DTLS 1.3",
        "full",
        "rfc7924",
        "compact",
        "resumed",
        "identity",
        "server Certificate",
        "client Certificate",
        "saved",
        " %",
        "datagrams",
    ] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 100));
}
