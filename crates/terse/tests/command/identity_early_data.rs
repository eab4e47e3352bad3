//! Early data of identity keys through the command line: what files keep from one run to the next.

use core::time::Duration;
use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, TcpListener};
use std::thread;
use std::time::Instant;

use crate::common::{self, Outcome, Patience, Pki, SERVER, Server, run};
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
    connect_to(pki, &server.address, options)
}

fn connect_to(pki: &Pki, address: &str, options: &str) -> Outcome {
    let always = format!(
        "client --connect {address} --server-name {SERVER} --json --identity-key @client.id --early-data 22.5 --expect 4"
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
        let server = server(&pki, &format!("{transport} --early-data-size 64 --first-contact @horizon {of_server}"));
        let client = connect(&pki, &server, &format!("{transport} --first-contact")).object();
        check(&client, &server.report(), "rejected", None);
    }
}

/// Connects through an attacker, who records what the client sends.
fn connect_recorded(pki: &Pki, server: &Server, options: &str) -> (Value, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, to) = (listener.local_addr().unwrap().to_string(), server.address.clone());
    let attacker = thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        let mut server = common::connect(&to);
        let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let back = thread::spawn(move || {
            let _ = copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Write);
        });
        let mut recorded = Vec::new();
        let mut chunk = [0; 0x1000];
        while let Ok(len @ 1..) = client.read(&mut chunk) {
            recorded.extend_from_slice(&chunk[..len]);
            server.write_all(&chunk[..len]).unwrap();
        }
        let _ = server.shutdown(Shutdown::Write);
        back.join().unwrap();
        recorded
    });
    let client = connect_to(pki, &address, options).object();
    (client, attacker.join().unwrap())
}

/// Sends again what was recorded, and returns what the server says of it.
fn replay(server: &Server, recorded: &[u8]) -> Value {
    let mut stream = common::connect(&server.address);
    let _ = stream.write_all(recorded); // the server may end the connection before
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
    server.report()["early_data"].clone()
}

/// The clock of a server is set back while it is down, and it gets a first flight that it has taken before.
#[test]
fn after_a_restart_with_the_clock_set_back_a_first_flight_is_not_taken_again() {
    let pki = world();
    let start =
        |horizon: &str, at: u64| server(&pki, &format!("--early-data-size 64 --first-contact @{horizon} --at {at}"));
    let begin = common::now();
    let first = start("horizon", begin);
    let (begun, patience) = (Instant::now(), Patience::new());
    // A client whose clock is a bit ahead need not wait for the window after the start.
    let (at, flight) = loop {
        let at = begin + begun.elapsed().as_secs() + 9;
        let (client, flight) = connect_recorded(&pki, &first, &format!("--first-contact --at {at}"));
        first.report();
        if client["early_data"] == "accepted" {
            break (at, flight);
        }
        patience.wait(client);
    };
    drop(first);

    // With a new file the attack works, as soon as the clock has come near the time of the flight.
    let mut number = 0;
    'control: loop {
        number += 1;
        let (server, control) = (start("horizon", at - 12), start(&format!("new{number}"), at - 12));
        let begun = Instant::now();
        while begun.elapsed().as_secs() < 40 {
            assert_eq!(replay(&server, &flight), "rejected");
            if replay(&control, &flight) == "accepted" {
                break 'control;
            }
            thread::sleep(Duration::from_millis(50));
        }
        patience.wait(number);
    }
    for back in [12, 3_600, 86_400] {
        let server = start("horizon", at - back);
        assert_eq!(replay(&server, &flight), "rejected");
        // An honest client only loses its early data.
        let client = connect(&pki, &server, &format!("--first-contact --at {}", at - back)).object();
        check(&client, &server.report(), "rejected", None);
    }
}

#[test]
fn a_damaged_file_of_first_contacts_costs_the_early_data_and_no_connection() {
    let pki = world();
    pki.write("horizon", "terse$f\n and then something else");
    let mut server = server(&pki, "--early-data-size 64 --first-contact @horizon");
    let client = connect(&pki, &server, "--first-contact").object();
    check(&client, &server.report(), "rejected", None);
    let said = server.end();
    assert!(said.contains("first-contact file") && said.contains("remove the file"), "{said}");
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
    server("--early-data-size 64 --first-contact").refused(2, &["--first-contact <FILE>"]);
    server("--first-contact @horizon").refused(2, &["--early-data-size"]);
    server("--first-contact @horizon --early-data-size 0").refused(2, &["--early-data-size"]);
    server("--dtls --early-data-size 64 --first-contact @horizon").refused(2, &["--first-contacts-per-second"]);
    server("--secret-tickets @nowhere/tickets").refused(1, &["ticket file", "cannot be written"]);
    server("--early-data-size 64 --first-contact @nowhere/horizon")
        .refused(1, &["first-contact file", "cannot be written"]);
    let trusting = "--identity-key @client.id --first-contact --ca @ca.pem";
    client(trusting).refused(1, &["TLS 1.3 only"]);
}
