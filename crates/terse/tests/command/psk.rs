//! Pre-shared keys work through the command line, without certificates.

use crate::common::{Outcome, Pki, Server, run};
use serde_json::Value;

const KEY: &str = "--psk-identity sensor-17 --psk-file @device.psk";

fn pki() -> Pki {
    let pki = Pki::new();
    pki.write("device.psk", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
    pki.write("other.psk", "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
    pki
}

fn server(pki: &Pki, options: &str) -> Server {
    Server::start(pki.command("server --listen 127.0.0.1:0 --echo --json", options))
}

fn client(pki: &Pki, server: &Server, options: &str) -> Outcome {
    run(pki.command(&format!("client --connect {} --json --send x --expect 1", server.address), options))
}

#[track_caller]
fn check(client: &Value, report: &Value) {
    for object in [client, report] {
        assert_eq!(object["mode"], "psk");
        assert_eq!(object["peer"], serde_json::json!({"name": "sensor-17", "authenticated_by": "psk"}));
        assert_eq!(object["signatures_verified"], 0);
        assert!(object["sent"]["messages"]["Certificate"].is_null());
        assert!(object["sent"]["messages"]["CertificateVerify"].is_null());
    }
}

#[test]
fn both_versions_and_all_their_suites() {
    let pki = pki();
    let server = server(&pki, KEY);
    for (options, version, suite) in [
        ("", "TLS 1.3", None),
        ("--tls 1.2", "TLS 1.2", Some("TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256")),
        ("--suite TLS_PSK_WITH_AES_128_CCM_8", "TLS 1.2", Some("TLS_PSK_WITH_AES_128_CCM_8")),
        ("--suite TLS_AES_128_CCM_8_SHA256", "TLS 1.3", Some("TLS_AES_128_CCM_8_SHA256")),
        ("--crypto rustcrypto", "TLS 1.3", None),
    ] {
        let client = client(&pki, &server, &format!("{KEY} {options}")).object();
        let report = server.report();
        check(&client, &report);
        assert_eq!(client["version"], version);
        if let Some(suite) = suite {
            assert_eq!(client["cipher_suite"], suite);
        }
        let forward_secret = suite != Some("TLS_PSK_WITH_AES_128_CCM_8");
        assert_eq!(client["group"].is_string(), forward_secret, "{client}");
    }
}

#[test]
fn imported_keys_need_the_same_context() {
    let pki = pki();
    for import in ["--psk-import", "--psk-import plant-7"] {
        let server = server(&pki, &format!("{KEY} {import}"));
        let outcome = client(&pki, &server, &format!("{KEY} {import}"));
        check(&outcome.object(), &server.report());
        for other in ["", "--psk-import plant-8"] {
            assert_eq!(client(&pki, &server, &format!("{KEY} {other}")).code, Some(1), "{import} / {other}");
            assert!(server.report()["error"].is_string());
        }
    }
}

#[test]
fn a_wrong_key_or_identity_is_refused() {
    let pki = pki();
    for version in ["1.2", "1.3"] {
        let server = server(&pki, &format!("{KEY} --tls {version}"));
        let wrong_key = client(&pki, &server, "--psk-identity sensor-17 --psk-file @other.psk");
        wrong_key.refused(1, &["pre-shared key"]);
        assert!(server.report()["error"].is_string());
        let wrong_name = client(&pki, &server, "--psk-identity sensor-18 --psk-file @device.psk");
        assert_eq!(wrong_name.code, Some(1), "{wrong_name:?}");
        assert!(server.report()["error"].is_string());
    }
}

#[test]
fn a_server_may_have_both_a_certificate_and_a_key() {
    let pki = pki();
    let server = pki.server(&format!("{KEY} --echo"));
    check(&client(&pki, &server, KEY).object(), &server.report());
    assert_eq!(pki.client(&server, "--send x --expect 1").object()["peer"]["authenticated_by"], "certificate");
}

#[test]
fn files_and_options_that_cannot_be() {
    let pki = pki();
    pki.write("short.psk", "0011");
    pki.write("words.psk", "correct horse battery staple");
    let refused = |options: &str, code: i32, parts: &[&str]| {
        run(pki.command("client --connect 127.0.0.1:1", options)).refused(code, parts);
    };
    refused("--psk-identity x --psk-file @missing.psk", 1, &["missing.psk", "cannot be read"]);
    refused("--psk-identity x --psk-file @short.psk", 1, &["short.psk", "can be guessed", "openssl rand"]);
    refused("--psk-identity x --psk-file @words.psk", 1, &["words.psk", "hexadecimal"]);
    refused(&format!("{KEY} --psk-import --tls 1.2"), 2, &["--psk-import", "TLS 1.3"]);
    assert_eq!(run(pki.command("client --connect 127.0.0.1:1 --ca @ca.pem --psk-identity x", "")).code, Some(2));
    assert_eq!(run(pki.command("client --connect 127.0.0.1:1 --ca @ca.pem --psk-import", "")).code, Some(2));
}
