//! Resumption and early data work through the command line.

use std::fs;

use crate::common::{self, CLIENT, Pki, SERVER, Server, mode};
use serde_json::Value;

const MUTUAL: &str = "--client-ca @ca.pem --require-client-cert --echo";
const DEVICE: &str = "--cert @client.pem --key @client.key --send hello --expect 5 --resume-file @client.sessions";

fn modes(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["mode"].as_str().unwrap()).collect()
}

#[test]
fn sessions_are_resumed_by_later_runs() {
    for version in ["1.2", "1.3"] {
        for tickets in ["", "--stateful-tickets"] {
            let pki = Pki::new();
            let server = pki.server(&format!("{MUTUAL} --tls {version} {tickets}"));
            for expected in ["full", "resumed", "resumed"] {
                let client = pki.client(&server, DEVICE).object();
                let report = server.report();
                assert_eq!(
                    (&client["mode"], &report["mode"]),
                    (&expected.into(), &expected.into()),
                    "{version} {tickets}"
                );
                assert_eq!(client["peer"]["name"], SERVER);
                assert_eq!(report["peer"]["name"], CLIENT);
                assert_eq!(client["sent"]["messages"]["Certificate"].is_u64(), expected == "full");
                assert_eq!(client["signatures_verified"], if expected == "full" { 2 } else { 0 });
                assert_eq!(mode(pki.path("client.sessions")), 0o600);
            }
        }
    }
}

#[test]
fn one_run_resumes_its_own_sessions() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    let objects = pki.client(&server, &format!("{DEVICE} --repeat 3")).objects();
    assert_eq!(modes(&objects), ["full", "resumed", "resumed"]);
}

#[test]
fn without_a_file_nothing_is_offered() {
    let pki = Pki::new();
    let server = pki.server("--echo");
    let objects = pki.client(&server, "--send x --expect 1 --repeat 2 --cache off").objects();
    assert_eq!(modes(&objects), ["full", "full"]);
    let with_file = pki.client(&server, "--send x --expect 1 --cache off --resume-file @s").object();
    let hello = |object: &Value| object["sent"]["messages"]["ClientHello"].as_u64().unwrap();
    assert!(hello(&objects[0]) < hello(&with_file));
    assert_eq!(objects[0]["received"]["post_handshake_bytes"], 0);
}

#[test]
fn a_server_that_does_not_resume() {
    let pki = Pki::new();
    for (version, rest) in [("1.2", ""), ("1.3", "")] {
        let server = pki.server(&format!("--echo --no-tickets --tls {version} {rest}"));
        let objects = pki.client(&server, "--send x --expect 1 --repeat 2 --cache off --resume-file @none").objects();
        assert_eq!(modes(&objects), ["full", "full"]);
        assert_eq!(objects[0]["received"]["post_handshake_bytes"], 0);
    }
}

/// The keys of tickets, and the sessions behind handles, end with the process.
#[test]
fn a_server_that_was_restarted_makes_a_full_handshake() {
    let pki = Pki::new();
    let mut address = "127.0.0.1:0".to_owned();
    for expected in ["full", "full"] {
        let command = format!("server --listen {address} --cert @server.pem --key @server.key --json");
        let server = Server::start(pki.command(&command, MUTUAL));
        address.clone_from(&server.address);
        assert_eq!(pki.client(&server, DEVICE).object()["mode"], expected);
        assert_eq!(pki.client(&server, DEVICE).object()["mode"], "resumed");
    }
}

#[test]
fn another_version_or_trust_resumes_nothing() {
    let pki = Pki::new();
    let server = pki.server("--echo");
    let client = |options: &str| {
        let always = "--send x --expect 1 --cache off --resume-file @client.sessions";
        pki.client(&server, &format!("{always} {options}")).object()["mode"].clone()
    };
    assert_eq!(client("--tls 1.2"), "full");
    assert_eq!(client("--tls 1.3"), "full");
    assert_eq!(client("--tls 1.3"), "resumed");
    let other = Pki::new();
    fs::copy(other.path("ca.pem"), pki.path("more.pem")).unwrap();
    let both = fs::read_to_string(pki.path("ca.pem")).unwrap() + &fs::read_to_string(pki.path("more.pem")).unwrap();
    pki.write("ca.pem", &both);
    assert_eq!(client("--tls 1.3"), "full");
}

#[test]
fn a_damaged_session_file_is_reported_and_costs_one_full_handshake() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    assert_eq!(pki.client(&server, DEVICE).object()["mode"], "full");
    let mut bytes = fs::read(pki.path("client.sessions")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(pki.path("client.sessions"), bytes).unwrap();
    let outcome = pki.client(&server, DEVICE);
    assert_eq!(outcome.object()["mode"], "full");
    assert!(outcome.stderr.contains("client.sessions") && outcome.stderr.contains("starting afresh"), "{outcome:?}");
    let outcome = pki.client(&server, DEVICE);
    assert_eq!(outcome.object()["mode"], "resumed");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn early_data_goes_out_with_the_first_flight() {
    let pki = Pki::new();
    for tickets in ["", "--stateful-tickets"] {
        let server = pki.server(&format!("--echo --early-data-size 1024 {tickets}"));
        let file = format!("--resume-file @sessions{}", tickets.len());
        for expected in ["none", "accepted", "accepted"] {
            let outcome = pki.client(&server, &format!("{file} --early-data early- --send late --expect 10"));
            let (client, report) = (outcome.object(), server.report());
            assert_eq!(client["early_data"], expected, "{outcome:?}");
            assert_eq!(report["early_data"], expected);
        }
    }
}

/// The text arrives once, in its place, whether it was early data or not.
#[test]
fn early_data_that_is_not_accepted_is_sent_after_the_handshake() {
    let pki = Pki::new();
    let server = pki.server("--echo --early-data-size 4");
    let command = format!("client --connect {} --server-name {SERVER} --ca @ca.pem --resume-file @s", server.address);
    for _ in 0..2 {
        let outcome = common::run(pki.command(&command, "--early-data early- --send late --expect 10"));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.stdout.lines().next(), Some("early-late"));
    }
}

/// A server that nobody has told how much may come twice offers no early data in its tickets.
#[test]
fn early_data_is_off_by_default() {
    let pki = Pki::new();
    for options in ["", "--stateful-tickets", "--early-data-size 0"] {
        let server = pki.server(&format!("--echo {options}"));
        let file = format!("--resume-file @t{}", options.len());
        let outcome = pki.client(&server, &format!("{file} --early-data early- --expect 6 --repeat 2"));
        let objects = outcome.objects();
        assert_eq!((&objects[1]["mode"], &objects[1]["early_data"]), (&"resumed".into(), &"none".into()), "{options}");
        for _ in 0..2 {
            assert_eq!(server.report()["early_data"], "none", "{options}");
        }
    }
}

#[test]
fn caching_and_resumption_do_not_mix() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    let objects = pki.client(&server, &format!("{DEVICE} --cache bithac --repeat 2")).objects();
    assert_eq!(objects[1]["mode"], "resumed");
    assert_eq!(objects[1]["cached"], serde_json::json!([]));
}
