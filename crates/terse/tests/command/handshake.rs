//! Handshakes run between `terse client` and `terse server`.

use crate::common::{CLIENT, Pki, SERVER, run, validity};
use serde_json::Value;
use terse_pki::{Authority, AuthorityOptions, LeafOptions};

#[test]
fn data_goes_both_ways() {
    let pki = Pki::new();
    let server = pki.server("--echo");
    let client = run(pki.command(
        &format!("client --connect {} --server-name {SERVER} --ca @ca.pem --send hello --expect 5", server.address),
        "",
    ));
    assert_eq!(client.code, Some(0), "{client:#?}");
    assert_eq!(client.stdout.lines().next(), Some("hello"));
    let report = server.report();
    assert_eq!(report["mode"], "full");
    assert!(report["error"].is_null());
}

#[test]
fn a_reply_reaches_a_client_that_only_listens() {
    let pki = Pki::new();
    let server = pki.server("--reply noted");
    let outcome = pki.client(&server, "--expect 5");
    assert!(outcome.object()["error"].is_null());
    assert!(server.report()["error"].is_null());
}

#[test]
fn both_sides_prove_who_they_are() {
    let pki = Pki::new();
    let server = pki.server("--client-ca @ca.pem --require-client-cert --echo");
    let client = pki.client(&server, "--cert @client.pem --key @client.key --send hello --expect 5").object();
    let report = server.report();
    assert_eq!(client["peer"]["name"], SERVER);
    assert_eq!(client["peer"]["authenticated_by"], "certificate");
    assert_eq!(report["peer"]["name"], CLIENT);
    assert_eq!(report["peer"]["authenticated_by"], "certificate");
    assert_eq!(client["signatures_verified"], 2); // leaf and intermediate
    assert_eq!(report["signatures_verified"], 2);
    assert!(client["sent"]["messages"]["Certificate"].as_u64() > Some(500));
    assert_eq!(client["sent"]["messages"], report["received"]["messages"]);
    assert_eq!(client["received"]["messages"], report["sent"]["messages"]);
    assert_eq!(client["sent"]["record_bytes"], report["received"]["record_bytes"]);
    assert_eq!(client["received"]["record_bytes"], report["sent"]["record_bytes"]);
}

/// Each server receives the certificate of the CA that it names, whatever the order.
#[test]
fn a_client_with_two_certificates_shows_the_one_whose_ca_is_named() {
    let pki = Pki::new();
    let options = AuthorityOptions::new("ed25519x2".parse().unwrap(), validity());
    let second = Authority::new(&AuthorityOptions { name: "Second CA".into(), ..options }).unwrap();
    let own = second.issue(&LeafOptions::new(CLIENT, validity())).unwrap();
    pki.write("ca2.pem", &second.root_pem());
    pki.write("client2.pem", &own.chain_pem());
    pki.write("client2.key", &own.key_pem());
    let own = "--cert @client.pem --key @client.key --cert @client2.pem --key @client2.key --send x --expect 1";
    // One chain has an intermediate, the other one has none.
    for (ca, signatures) in [("@ca.pem", 2), ("@ca2.pem", 1)] {
        let server = pki.server(&format!("--client-ca {ca} --ca-names --require-client-cert --echo"));
        pki.client(&server, own).object();
        assert_eq!(server.report()["signatures_verified"], signatures);
    }
    let server = pki.server("--echo");
    pki.client(&server, "--cert @client.pem --cert @client2.pem --key @client.key")
        .refused(2, &["each --cert its --key"]);
}

#[test]
fn a_server_with_two_certificates_shows_the_one_that_the_client_can_verify() {
    let (pki, other) = (Pki::new(), Pki::with_chain("ed25519x2"));
    for (file, copy) in [("ca.pem", "ca2.pem"), ("server.pem", "server2.pem"), ("server.key", "server2.key")] {
        pki.write(copy, &std::fs::read_to_string(other.path(file)).unwrap());
    }
    let server = pki.server("--cert @server2.pem --key @server2.key --echo");
    let command = format!("client --connect {} --server-name {SERVER} --json --send x --expect 1", server.address);
    let signatures = |options: &str| run(pki.command(&command, options)).object()["signatures_verified"].clone();
    assert_eq!(signatures("--ca @ca.pem"), 2); // the preferred one, with an intermediate
    assert_eq!(signatures("--ca @ca2.pem --sigalg ed25519"), 1);
    run(pki.command(&command, "--ca @ca.pem --sigalg ed25519")).refused(1, &["the chain of"]);
}

#[test]
fn a_client_certificate_may_be_optional() {
    let pki = Pki::new();
    let server = pki.server("--client-ca @ca.pem --ca-names");
    let client = pki.client(&server, "").object();
    assert!(client["received"]["messages"]["CertificateRequest"].is_u64());
    let report = server.report();
    assert_eq!(report["peer"]["authenticated_by"], "none");
    assert!(report["peer"]["name"].is_null());
}

#[test]
fn ca_names_make_the_request_longer() {
    let pki = Pki::new();
    let request_len = |options: &str| -> Option<u64> {
        let server = pki.server(options);
        pki.client(&server, "").object()["received"]["messages"]["CertificateRequest"].as_u64()
    };
    let bare = request_len("--client-ca @ca.pem");
    assert!(bare.is_some());
    assert!(request_len("--client-ca @ca.pem --ca-names") > bare);
    assert_eq!(request_len(""), None);
}

#[test]
fn every_suite_and_group() {
    let pki = Pki::new();
    let server = pki.server("--echo");
    let check = |options: &str, field: &str, value: &str| {
        let client = pki.client(&server, &format!("{options} --send x --expect 1")).object();
        assert_eq!(client[field], value);
        assert_eq!(server.report()[field], value);
    };
    for suite in [
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    ] {
        check(&format!("--suite {suite}"), "cipher_suite", suite);
        check(&format!("--suite {suite} --crypto rustcrypto"), "cipher_suite", suite);
    }
    for group in ["x25519", "secp256r1", "secp384r1"] {
        check(&format!("--group {group}"), "group", group);
    }
}

#[test]
fn a_server_may_insist_on_another_group() {
    let pki = Pki::new();
    let server = pki.server("--group secp384r1 --hello-retry-cookie --echo");
    let client = pki.client(&server, "--group x25519 --group secp384r1 --send x --expect 1").object();
    assert_eq!(client["group"], "secp384r1");
    assert_eq!(client["round_trips"], 2);
    assert_eq!(server.report()["round_trips"], 2);
}

#[test]
fn the_options_of_the_protocol_reach_the_wire() {
    let pki = Pki::new();
    let server = pki.server("--alpn mqtt --echo");
    let hello = |options: &str| -> (Value, u64) {
        let client = pki.client(&server, &format!("{options} --send x --expect 1")).object();
        server.report();
        let len = client["sent"]["messages"]["ClientHello"].as_u64().unwrap();
        (client, len)
    };
    let (plain, len) = hello("");
    assert_eq!(plain.get("alpn"), None);
    assert_eq!(hello("--no-sni").1, len - 9 - SERVER.len() as u64);
    assert_eq!(hello("--compat").1, len + 32 + 6); // a session id, and ec_point_formats
    assert_eq!(hello("--record-size-limit 512").1, len + 6);
    assert_eq!(hello("--max-fragment-length 512").1, len + 5);
    let device = "--cert @client.pem --key @client.key";
    assert_eq!(hello(device).1, len + 4); // the empty client_cached_info
    assert_eq!(hello(&format!("{device} --cache off")).1, len - 4); // the empty compact_cache
    let (client, _) = hello("--alpn coap --alpn mqtt");
    assert_eq!(client["alpn"], "mqtt");
}

#[test]
fn long_data_through_small_records() {
    let pki = Pki::new();
    let server = pki.server("--echo --record-size-limit 64");
    let text = "0123456789".repeat(2_000);
    let client = pki.client(&server, &format!("--record-size-limit 100 --send {text} --expect {}", text.len()));
    assert!(client.object()["error"].is_null());
    assert!(server.report()["error"].is_null());
}

#[test]
fn keys_are_updated_on_both_sides() {
    let pki = Pki::new();
    let server = pki.server("--echo");
    let client = pki.client(&server, "--send hello --key-update --expect 5").object();
    assert!(client["sent"]["post_handshake_bytes"].as_u64() > Some(0), "{client}");
    let report = server.report();
    assert!(report["sent"]["post_handshake_bytes"].as_u64() > Some(0), "{report}");
    assert!(report["error"].is_null());
    for object in [&client, &report] {
        for direction in ["sent", "received"] {
            assert!(object[direction]["messages"]["KeyUpdate"].is_null(), "{object}"); // not of the handshake
        }
    }
}

#[test]
fn both_sides_export_the_same() {
    let pki = Pki::new();
    let server = pki.server("--export EXPORTER-test");
    let client = pki.client(&server, "--export EXPORTER-test").object();
    let exported = client["exported"].as_str().unwrap();
    assert_eq!(exported.len(), 64);
    assert_eq!(server.report()["exported"], exported);
    let other = pki.client(&server, "--export EXPORTER-other").object();
    assert_ne!(server.report()["exported"], other["exported"]);
}

#[test]
fn many_clients_at_a_time() {
    let pki = Pki::new();
    let mut server = pki.server("--echo --max-connections 8");
    let address = &server.address;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(pki.client_at(address, "--send x --expect 1 --repeat 2").objects().len(), 2));
        }
    });
    for _ in 0..8 {
        assert!(server.report()["error"].is_null());
    }
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn rsa_and_ed25519_certificates() {
    for chain in ["rsa2048x3", "ed25519x2", "p384x2"] {
        let pki = Pki::with_chain(chain);
        let server = pki.server("--client-ca @ca.pem --require-client-cert --echo");
        let options = "--cert @client.pem --key @client.key --send x --expect 1 --repeat 2";
        let modes: Vec<_> = pki.client(&server, options).objects().iter().map(|o| o["mode"].clone()).collect();
        assert_eq!(modes, ["full", "compact"], "{chain}");
    }
}
