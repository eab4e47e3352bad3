//! DTLS runs through the command line.

use std::net::UdpSocket;

use crate::common::{self, CLIENT, Pki, SERVER, run};
use serde_json::{Value, json};
use terse_pki::{Authority, AuthorityOptions};

const MUTUAL: &str = "--dtls --client-ca @ca.pem --require-client-cert --ca-names --echo";
const DEVICE: &str = "--dtls --cert @client.pem --key @client.key --send hello --expect 5";

fn modes(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["mode"].as_str().unwrap()).collect()
}

#[test]
fn full_and_cached() {
    let pki = Pki::new();
    // Both versions are the default, and the cookie costs a round trip in each.
    for (only, version, cookie, round_trips) in [
        ("", "DTLS 1.3", ("ServerHello", 206), 2),
        ("--tls 1.3", "DTLS 1.3", ("ServerHello", 206), 2),
        ("--tls 1.2", "DTLS 1.2", ("HelloVerifyRequest", 23), 3),
    ] {
        // A busy machine sends nothing twice then.
        let patient = "--initial-timeout 30000";
        let server = pki.server(&format!("{MUTUAL} {patient}"));
        let objects = pki.client(&server, &format!("{DEVICE} --repeat 2 {only} {patient}")).objects();
        assert_eq!(modes(&objects), ["full", "compact"]);
        for (object, peer) in objects.iter().flat_map(|object| [(object.clone(), SERVER), (server.report(), CLIENT)]) {
            assert_eq!((&object["version"], &object["transport"]), (&json!(version), &json!("datagram")));
            assert_eq!(object["peer"]["name"], peer);
            assert_eq!((&object["dropped"], &object["error"]), (&json!({}), &Value::Null));
            assert!(object["sent"]["datagrams"].as_u64() > Some(1), "{object}");
            assert!(object["received"]["datagrams"].as_u64() >= Some(1), "{object}");
        }
        let bytes = |object: &Value| object["received"]["record_bytes"].as_u64();
        assert!(bytes(&objects[1]) < bytes(&objects[0]));
        assert_eq!(objects[0]["received"]["messages"][cookie.0], cookie.1);
        assert_eq!(objects[0]["round_trips"], round_trips);
        assert_eq!(objects[1]["round_trips"], round_trips - 1, "the ticket stands for the cookie");
    }
}

#[test]
fn a_cookie_for_everybody() {
    let pki = Pki::new();
    let server = pki.server(&format!("{MUTUAL} --always-cookie"));
    let objects = pki.client(&server, &format!("{DEVICE} --repeat 2")).objects();
    assert_eq!(modes(&objects), ["full", "compact"]);
    assert_eq!([0, 1].map(|n| objects[n]["round_trips"].as_u64()), [Some(2), Some(2)]);
}

#[test]
fn each_side_may_have_one_version_alone() {
    let pki = Pki::new();
    for (of_server, of_client, version) in
        [("--tls 1.2", "", "DTLS 1.2"), ("--tls 1.3", "", "DTLS 1.3"), ("", "--tls 1.2", "DTLS 1.2")]
    {
        let server = pki.server(&format!("{MUTUAL} {of_server}"));
        let object = pki.client(&server, &format!("{DEVICE} {of_client}")).object();
        assert_eq!(object["version"], version);
    }
    let server = pki.server(&format!("{MUTUAL} --tls 1.3"));
    pki.client(&server, &format!("{DEVICE} --tls 1.2")).refused(1, &["protocol_version"]);
}

#[test]
fn keys_are_replaced() {
    let pki = Pki::new();
    let server = pki.server(&format!("{MUTUAL} --tls 1.3"));
    let object = pki.client(&server, &format!("{DEVICE} --key-update")).object();
    assert_eq!((&object["error"], &object["version"]), (&Value::Null, &json!("DTLS 1.3")));
    assert!(
        object["sent"]["post_handshake_bytes"].as_u64() > Some(30),
        "KeyUpdate, and its acknowledgements: {object}"
    );
    assert!(server.report()["error"].is_null());
}

#[test]
fn early_data_goes_with_the_first_datagrams() {
    let pki = Pki::new();
    let command = "--dtls --cert @client.pem --key @client.key --resume-file @sessions --early-data early --expect 5";
    for (options, expected) in [
        ("--no-cookie --early-data-size 64", ["none", "accepted"]),
        ("--no-cookie", ["none", "none"]),
        ("", ["none", "none"]),
    ] {
        let server = pki.server(&format!("{MUTUAL} {options}"));
        let objects = pki.client(&server, &format!("{command} --repeat 2")).objects();
        assert_eq!(modes(&objects), ["full", "resumed"]);
        assert_eq!(objects.iter().map(|object| object["early_data"].as_str().unwrap()).collect::<Vec<_>>(), expected);
        std::fs::remove_file(pki.path("sessions")).unwrap();
    }
}

#[test]
fn the_data_and_a_table_for_people() {
    let pki = Pki::new();
    let server = common::Server::start(
        pki.command("server --dtls --listen 127.0.0.1:0 --cert @server.pem --key @server.key", "--reply noted"),
    );
    let command = format!("client --dtls --connect {} --server-name {SERVER} --ca @ca.pem", server.address);
    let outcome = run(pki.command(&command, "--expect 5"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for part in ["noted\n", "DTLS 1.3", "datagrams     3 sent, 0 of them again; 2 received"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    let line = server.line();
    assert!(line.starts_with("127.0.0.1:") && line.contains("DTLS 1.3") && line.contains("datagrams"), "{line}");
}

#[test]
fn sessions_are_resumed() {
    let pki = Pki::new();
    for options in ["", "--stateful-tickets"] {
        let server = pki.server(&format!("{MUTUAL} {options}"));
        let objects = pki.client(&server, &format!("{DEVICE} --repeat 3 --resume-file @sessions")).objects();
        assert_eq!(modes(&objects)[1..], ["resumed", "resumed"]);
        assert_eq!(objects[1]["peer"]["name"], SERVER);
        std::fs::remove_file(pki.path("sessions")).unwrap();
    }
}

#[test]
fn a_cache_file_outlives_the_client() {
    let pki = Pki::new();
    let server = pki.server(&format!("{MUTUAL} --cache-file @server.cache"));
    let connect = || pki.client(&server, &format!("{DEVICE} --cache-file @client.cache")).object();
    assert_eq!(connect()["mode"], "full");
    assert_eq!(connect()["mode"], "compact");
    // TLS is another matter: what is cached belongs to a transport.
    let stream = pki.server("--client-ca @ca.pem --require-client-cert --echo --cache-file @server.cache --tls 1.2");
    let device = DEVICE.strip_prefix("--dtls ").unwrap();
    assert_eq!(pki.client(&stream, &format!("{device} --cache-file @client.cache")).object()["mode"], "full");
}

#[test]
fn pre_shared_keys_and_raw_public_keys() {
    let pki = Pki::new();
    pki.write("key.psk", "00112233445566778899aabbccddeeff\n");
    let psk = "--psk-identity sensor-17 --psk-file @key.psk";
    let server = pki.server(&format!("--dtls --echo {psk}"));
    for suite in ["TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256", "TLS_PSK_WITH_AES_128_CCM_8"] {
        let client = pki.client(&server, &format!("--dtls --send x --expect 1 {psk} --suite {suite}")).object();
        assert_eq!((&client["mode"], &client["cipher_suite"]), (&json!("psk"), &json!(suite)));
        assert_eq!(server.report()["peer"]["name"], "sensor-17");
    }
    for name in ["server", "client"] {
        let key = terse_net::files::read_private_key(pki.path(&format!("{name}.key")), None).unwrap();
        let key = terse_aws_lc::PROVIDER.load_key(&key).unwrap();
        pki.write(&format!("{name}.pub"), &terse_pki::to_pem("PUBLIC KEY", &key.public_key()));
    }
    let server = common::Server::start(pki.command(
        "server --dtls --listen 127.0.0.1:0 --key @server.key --json",
        "--peer-key @client.pub --require-client-cert --echo",
    ));
    let command = format!("client --dtls --connect {} --json --send x --expect 1", server.address);
    let client = run(pki.command(&command, "--peer-key @server.pub --key @client.key")).object();
    for object in [client, server.report()] {
        assert_eq!((&object["mode"], &object["error"]), (&json!("full"), &Value::Null));
        assert_eq!(object["signatures_verified"], 0);
    }
}

#[test]
fn small_packets_and_small_records() {
    let pki = Pki::new();
    for (server, client) in [
        ("--mtu 256", "--mtu 128"),
        ("--mtu 576", ""),
        ("", "--max-fragment-length 512"),
        ("--record-size-limit 128", "--record-size-limit 80"),
        ("--connection-id 8", "--connection-id 4 --mtu 200"),
        ("--connection-id 20 --mtu 128", "--connection-id 20 --mtu 128"),
    ] {
        let server = pki.server(&format!("{MUTUAL} {server}"));
        let object = pki.client(&server, &format!("{DEVICE} {client}")).object();
        assert!(object["error"].is_null(), "{object}");
        let report = server.report();
        assert!(report["error"].is_null(), "{report}");
        if client == "--mtu 128" {
            assert!(object["sent"]["datagrams"].as_u64() > Some(10), "{object}");
        }
    }
}

#[test]
fn a_message_must_fit() {
    let pki = Pki::new();
    let server = pki.server("--dtls --echo");
    let text = "x".repeat(300);
    let outcome = pki.client(&server, &format!("--dtls --mtu 256 --send {text} --expect 300"));
    outcome.refused(1, &["does not fit into one datagram: send less at once"]);
    pki.client(&server, &format!("--dtls --send {text} --expect 300")).object();
}

#[test]
fn several_clients_at_a_time() {
    let pki = Pki::new();
    let mut server = pki.server(&format!("{MUTUAL} --max-connections 8"));
    let address = &server.address;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(pki.client_at(address, &format!("{DEVICE} --repeat 2")).objects().len(), 2));
        }
    });
    for _ in 0..8 {
        assert!(server.report()["error"].is_null());
    }
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn another_ca() {
    let pki = Pki::new();
    let options = AuthorityOptions {
        name: "Other CA".into(),
        ..AuthorityOptions::new("p256x3".parse().unwrap(), common::validity())
    };
    pki.write("other.pem", &Authority::new(&options).unwrap().root_pem());
    let server = pki.server("--dtls");
    let command = format!("client --dtls --connect {} --server-name {SERVER} --ca @other.pem", server.address);
    run(pki.command(&command, "")).refused(1, &["of broker.plant.example was issued by no CA that is trusted"]);
    assert!(server.report()["error"].as_str().unwrap().contains("unknown_ca"));
    // In DTLS 1.2 the server's alert is not protected, so that the client believes it late.
    for (version, part) in [("1.2", "not protected"), ("1.3", "does not trust the CA")] {
        let server = pki.server(&format!("--dtls --tls {version} --client-ca @other.pem --require-client-cert"));
        let outcome = pki.client(&server, DEVICE);
        outcome.refused(1, &["refused the connection with the alert unknown_ca", part]);
        assert!(server.report()["error"].as_str().unwrap().contains("no CA that is trusted"));
    }
}

#[test]
fn nobody_answers() {
    let pki = Pki::new();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let outcome = pki.client_at(&address, "--dtls --timeout 2 --initial-timeout 100 -v");
    let line = outcome.stderr.lines().last().unwrap_or_default();
    for part in ["did not answer, asked ", "check the address"] {
        assert!(line.contains(part), "{part}: {outcome:#?}");
    }
    // On a busy machine it may be a little later.
    let waited = line.split_once(" times in ").and_then(|(_, rest)| rest.split_once(" s"));
    let waited: f64 = waited.expect("how long that took").0.parse().expect("a number of seconds");
    assert!(waited >= 2.0, "{outcome:#?}");
    assert!(outcome.stderr.contains("the flight is sent again"), "{outcome:#?}");
    let report = &outcome.lines()[0];
    assert_eq!(report["transport"], "datagram");
    assert!(report["error"].as_str().unwrap().contains("did not answer"));
    assert!(report["retransmissions"].as_u64() > Some(0), "{report}");
}

#[test]
fn an_idle_connection_is_forgotten() {
    let pki = Pki::new();
    let server = pki.server("--dtls --idle-timeout 1");
    // The client waits for data that does not come, and learns that the connection is over.
    pki.client(&server, "--dtls --expect 5 --timeout 120").refused(1, &["closed the connection after 0 of 5"]);
    assert!(server.report()["error"].as_str().unwrap().contains("did not answer in time"));
    let server = pki.server("--idle-timeout 1");
    pki.client(&server, "--expect 5 --timeout 120").refused(1, &["closed the connection after 0 of 5"]);
}

#[test]
fn options_that_make_no_sense() {
    let pki = Pki::new();
    pki.write("key.psk", "00112233445566778899aabbccddeeff\n");
    for (options, parts) in [
        ("--compat", ["--compat with --dtls", "leave it out"]),
        (
            "--tls 1.2 --psk-import --psk-identity a --psk-file @key.psk",
            ["--psk-import is for TLS 1.3", "leave it out"],
        ),
        ("--mtu 99", ["--mtu", "99 is not in 100"]),
        ("--connection-id 21", ["--connection-id", "21 is not in"]),
    ] {
        pki.client_at("127.0.0.1:9", &format!("--dtls {options}")).refused(2, &parts);
    }
    for (options, parts) in [
        ("--early-data-size 5", ["--early-data-size with --dtls", "add --no-cookie"]),
        ("--hello-retry-cookie", ["--hello-retry-cookie with --dtls", "gets a cookie"]),
    ] {
        let always = "server --dtls --listen 127.0.0.1:0 --cert @server.pem --key @server.key";
        run(pki.command(always, options)).refused(2, &parts);
    }
    for option in ["--mtu 576", "--constrained", "--initial-timeout 100", "--connection-id 8"] {
        let outcome = pki.client_at("127.0.0.1:9", option);
        assert!(outcome.code == Some(2) && outcome.stderr.contains("--dtls"), "{outcome:#?}");
    }
}

#[test]
fn a_port_that_is_taken() {
    let pki = Pki::new();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let command = format!("server --dtls --listen {address} --cert @server.pem --key @server.key");
    run(pki.command(&command, "")).refused(1, &["cannot listen on", "another program uses this port"]);
}
