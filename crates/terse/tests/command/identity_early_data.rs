//! Early data of identity keys through the command line: what files keep from one run to the next.

use crate::common::{Outcome, Pki, SERVER, Server, run};
use serde_json::Value;

const DEVICE: &str = "eui64:0200000000000017";

/// A generator, and the keys of a server and a client, which knows the public part of the server's key.
fn world() -> Pki {
    let pki = Pki::with_chain("ed25519x2");
    for command in [
        "init --out @pkg".to_owned(),
        format!("extract dns:{SERVER} --pkg @pkg --out @server.id"),
        format!("extract {DEVICE} --pkg @pkg --out @client.id --with dns:{SERVER}"),
    ] {
        run(pki.command("pkg --json", &command)).object();
    }
    pki
}

fn server(pki: &Pki, options: &str) -> Server {
    Server::start(pki.command("server --listen 127.0.0.1:0 --echo --json --identity-key @server.id", options))
}

/// Sends `22.5` early, or late if that is rejected, and waits for the echo.
fn connect(pki: &Pki, server: &Server, options: &str) -> Outcome {
    let always = format!(
        "client --connect {} --server-name {SERVER} --json --identity-key @client.id --early-data 22.5 --expect 4",
        server.address
    );
    run(pki.command(&always, options))
}

/// Both sides say the same.
#[track_caller]
fn check(client: &Value, report: &Value, status: &str, protection: Option<&str>) {
    for object in [client, report] {
        assert_eq!(object["mode"], "identity");
        assert_eq!(object["early_data"], status, "{object}");
        assert_eq!(object["early_data_protection"].as_str(), protection, "{object}");
    }
}

#[test]
fn tickets_in_files_outlive_both_programs() {
    for transport in ["", "--dtls"] {
        let pki = world();
        let files = format!("{transport} --early-data-size 64 --secret-tickets @server.tickets");
        for (run, expected) in [("none", None), ("accepted", Some("ticket")), ("accepted", Some("ticket"))] {
            let server = server(&pki, &files);
            let client = connect(&pki, &server, &format!("{transport} --identity-file @client.peers")).object();
            check(&client, &server.report(), run, expected);
        }
    }
}

#[test]
fn tickets_in_memory_are_gone_after_a_restart() {
    for kept in ["", "--secret-tickets memory", "--secret-tickets sealed"] {
        let pki = world();
        let kept = &format!("--early-data-size 64 {kept}");
        let first = server(&pki, kept);
        for (status, protection) in [("none", None), ("accepted", Some("ticket"))] {
            let client = connect(&pki, &first, "--identity-file @client.peers").object();
            check(&client, &first.report(), status, protection);
        }
        drop(first);
        let again = server(&pki, kept);
        for (status, protection) in [("rejected", None), ("accepted", Some("ticket"))] {
            let client = connect(&pki, &again, "--identity-file @client.peers").object();
            check(&client, &again.report(), status, protection);
        }
    }
}

/// Right after its start a server cannot know what it has accepted before. The text comes after the handshake then.
#[test]
fn a_server_that_has_just_begun_takes_nothing_at_first_contact() {
    for (transport, of_server) in [("", ""), ("--dtls", "--first-contacts-per-second 2")] {
        let pki = world();
        let server = server(&pki, &format!("{transport} --early-data-size 64 --first-contact {of_server}"));
        let client = connect(&pki, &server, &format!("{transport} --first-contact")).object();
        check(&client, &server.report(), "rejected", None);
    }
}

#[test]
fn a_server_takes_none_by_default_or_without_tickets() {
    for options in ["", "--no-tickets --early-data-size 64", "--early-data-size 0"] {
        let pki = world();
        let server = server(&pki, options);
        for _ in 0..2 {
            let client = connect(&pki, &server, "--identity-file @client.peers").object();
            check(&client, &server.report(), "none", None);
        }
    }
}

#[test]
fn wrong_use_is_explained() {
    let pki = world();
    let client = |options| run(pki.command("client --connect 127.0.0.1:1 --json --early-data x", options));
    client("--ca @ca.pem").refused(2, &["--resume-file", "--identity-file"]);
    client("--ca @ca.pem --resume-file @sessions --first-contact").refused(2, &["required"]);
    let server = |options| run(pki.command("server --listen 127.0.0.1:0 --identity-key @server.id", options));
    server("--first-contact").refused(2, &["--early-data-size"]);
    server("--first-contact --early-data-size 0").refused(2, &["--early-data-size"]);
    server("--dtls --early-data-size 64 --first-contact").refused(2, &["--first-contacts-per-second"]);
    server("--secret-tickets @nowhere/tickets").refused(1, &["ticket file", "cannot be written"]);
    let trusting = "--identity-key @client.id --first-contact --ca @ca.pem";
    client(trusting).refused(1, &["TLS 1.3 only"]);
}
