//! TLS 1.2 works through the command line, and versions are negotiated.

use std::io::{Read, Write};

use crate::common::{CLIENT, Pki, SERVER};
use serde_json::json;

const MUTUAL: &str = "--client-ca @ca.pem --require-client-cert --ca-names --echo";
const DEVICE: &str = "--cert @client.pem --key @client.key --send hello --expect 5";

#[test]
fn the_newest_version_that_both_allow() {
    let pki = Pki::new();
    for (server_allows, client_allows, expected) in [
        ("", "", "TLS 1.3"),
        ("--tls 1.2 --tls 1.3", "--tls 1.3 --tls 1.2", "TLS 1.3"),
        ("--tls 1.2", "", "TLS 1.2"),
        ("", "--tls 1.2", "TLS 1.2"),
        ("--suite TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", "", "TLS 1.2"),
        ("", "--suite TLS_AES_128_CCM_8_SHA256 --suite TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", "TLS 1.3"),
    ] {
        let server = pki.server(&format!("{server_allows} --echo"));
        let client = pki.client(&server, &format!("{client_allows} --send x --expect 1")).object();
        assert_eq!(client["version"], expected, "{server_allows} / {client_allows}");
        assert_eq!(server.report()["version"], expected);
    }
}

#[test]
fn no_common_version() {
    let pki = Pki::new();
    for (server, client) in [("1.2", "1.3"), ("1.3", "1.2")] {
        let server = pki.server(&format!("--tls {server}"));
        pki.client(&server, &format!("--tls {client}")).refused(1, &["protocol_version", "allow more of them"]);
        assert!(server.report()["error"].as_str().unwrap().contains("no protocol version"));
    }
}

#[test]
fn every_suite_with_both_providers() {
    let suites = |chain: &str, suites: &[&str]| {
        let pki = Pki::with_chain(chain);
        let server = pki.server("--tls 1.2 --echo");
        for suite in suites {
            for crypto in ["rustcrypto", "aws-lc"] {
                let options = format!("--suite {suite} --crypto {crypto} --send x --expect 1");
                let client = pki.client(&server, &options).object();
                assert_eq!(client["cipher_suite"], *suite);
                assert_eq!(server.report()["cipher_suite"], *suite);
            }
        }
    };
    suites(
        "p256x3",
        &[
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_CCM",
            "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8",
        ],
    );
    suites("ed25519x2", &["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]);
    suites(
        "rsa2048x2",
        &[
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        ],
    );
}

#[test]
fn rsa_keys_sign_with_either_padding() {
    let pki = Pki::with_chain("rsa2048x2");
    let server = pki.server("--tls 1.2 --echo");
    for scheme in ["rsa_pkcs1_sha256", "rsa_pkcs1_sha384", "rsa_pkcs1_sha512", "rsa_pss_rsae_sha256"] {
        // The chain of the CA is signed with PKCS#1 and SHA-256.
        let options = format!("--sigalg {scheme} --sigalg rsa_pkcs1_sha256 --send x --expect 1");
        assert!(pki.client(&server, &options).object()["error"].is_null(), "{scheme}");
    }
}

#[test]
fn both_sides_prove_who_they_are() {
    let pki = Pki::new();
    let server = pki.server(&format!("--tls 1.2 {MUTUAL}"));
    let client = pki.client(&server, DEVICE).object();
    let report = server.report();
    assert_eq!(client["peer"]["name"], SERVER);
    assert_eq!(report["peer"]["name"], CLIENT);
    assert_eq!(report["peer"]["authenticated_by"], "certificate");
    assert_eq!(client["round_trips"], 2);
    assert_eq!(client["sent"]["messages"], report["received"]["messages"]);
    assert_eq!(client["received"]["messages"], report["sent"]["messages"]);
    assert_eq!(client["sent"]["record_bytes"], report["received"]["record_bytes"]);
    assert_eq!(client["received"]["record_bytes"], report["sent"]["record_bytes"]);
}

#[test]
fn a_client_without_certificate_is_refused() {
    let pki = Pki::new();
    let server = pki.server(&format!("--tls 1.2 {MUTUAL}"));
    pki.client(&server, "").refused(1, &["handshake_failure", "a certificate"]);
    assert!(server.report()["error"].as_str().unwrap().contains("sent no certificate"));
}

/// BiTHaC: with headers 37, 37 and 4 bytes.
#[test]
fn cached_messages_have_the_lengths_of_the_paper() {
    let pki = Pki::with_chain("rsa2048x3");
    let server = pki.server(&format!("--tls 1.2 {MUTUAL}"));
    let objects = pki.client(&server, &format!("{DEVICE} --repeat 2 --cache bithac")).objects();
    assert_eq!(objects[0]["mode"], "full");
    assert_eq!(objects[1]["mode"], "bithac");
    assert_eq!(objects[1]["cached"], json!(["server_certificate", "certificate_request", "client_certificate"]));
    assert_eq!(objects[1]["received"]["messages"]["Certificate"], 37);
    assert_eq!(objects[1]["received"]["messages"]["CertificateRequest"], 37);
    assert_eq!(objects[1]["sent"]["messages"]["Certificate"], 4);
    assert_eq!(objects[1]["signatures_verified"], 0);
    assert_eq!(objects[1]["peer"], json!({"name": SERVER, "authenticated_by": "cached_certificate"}));
}

#[test]
fn both_sides_export_the_same() {
    let pki = Pki::new();
    let server = pki.server("--tls 1.2 --export EXPORTER-test");
    let client = pki.client(&server, "--export EXPORTER-test").object();
    assert_eq!(client["exported"].as_str().unwrap().len(), 64);
    assert_eq!(server.report()["exported"], client["exported"]);
}

#[test]
fn the_key_log_has_the_master_secret() {
    let pki = Pki::new();
    let server = pki.server("--tls 1.2 --keylog @server.log");
    pki.client(&server, "--keylog @client.log").object();
    server.report();
    let log = std::fs::read_to_string(pki.path("client.log")).unwrap();
    assert_eq!(log, std::fs::read_to_string(pki.path("server.log")).unwrap());
    let parts: Vec<_> = log.trim_end().split(' ').collect();
    assert_eq!((parts[0], parts[1].len(), parts[2].len(), parts.len()), ("CLIENT_RANDOM", 64, 96, 3));
}

#[test]
fn long_data_through_small_records() {
    let pki = Pki::new();
    let text = "0123456789".repeat(2_000);
    for (server_limit, client_limit) in
        [("--record-size-limit 64", "--record-size-limit 100"), ("", "--max-fragment-length 512")]
    {
        let server = pki.server(&format!("--tls 1.2 --echo {server_limit}"));
        let client = pki.client(&server, &format!("{client_limit} --send {text} --expect {}", text.len()));
        assert!(client.object()["error"].is_null());
        assert!(server.report()["error"].is_null());
    }
}

#[test]
fn application_protocols_are_agreed_on() {
    let pki = Pki::new();
    let server = pki.server("--tls 1.2 --alpn mqtt");
    assert_eq!(pki.client(&server, "--alpn coap --alpn mqtt").object()["alpn"], "mqtt");
    pki.client(&server, "--alpn coap").refused(1, &["no_application_protocol"]);
}

#[test]
fn keys_are_not_updated() {
    let pki = Pki::new();
    let server = pki.server("--tls 1.2 --echo");
    pki.client(&server, "--send x --key-update --expect 1").refused(1, &["TLS 1.2"]);
}

/// A client without it is refused (RFC 7627, 5.2), unless that check is switched off.
#[test]
fn a_client_without_the_extended_master_secret() {
    let pki = Pki::new();
    let handshake_failure = [21, 3, 3, 0, 2, 2, 40];
    for (options, expected) in [("", &handshake_failure[..]), ("--no-extended-master-secret", &[22, 3, 3])] {
        let server = pki.server(&format!("--tls 1.2 {options}"));
        let mut client = std::net::TcpStream::connect(&server.address).unwrap();
        client.write_all(&client_hello()).unwrap();
        let mut answer = vec![0; expected.len()];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer, expected, "{options}");
        drop(client);
        let error = server.report()["error"].to_string();
        assert_eq!(error.contains("no extended master secret"), options.is_empty(), "{error}");
    }
}

/// Returns the ClientHello of a TLS 1.2 client with supported_groups and signature_algorithms alone.
fn client_hello() -> Vec<u8> {
    let suites = [0, 4, 0xc0, 0x2b, 0, 0xff]; // TLS_EMPTY_RENEGOTIATION_INFO_SCSV is the second
    let extensions = [0, 16, 0, 10, 0, 4, 0, 2, 0, 23, 0, 13, 0, 4, 0, 2, 4, 3];
    let body = [&[3, 3][..], &[7; 32], &[0], &suites, &[1, 0], &extensions].concat();
    let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    [&[22, 3, 1, 0, message.len() as u8][..], &message].concat()
}
