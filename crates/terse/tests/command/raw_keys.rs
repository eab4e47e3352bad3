//! Raw public keys work through the command line: a key pair on each side, and no certificates.

use crate::common::{Outcome, Pki, SERVER, Server, run};

/// Returns a PKI with `server.pub` and `client.pub`, which belong to `server.key` and `client.key`.
fn pki(chain: &str) -> Pki {
    let pki = Pki::with_chain(chain);
    for name in ["server", "client"] {
        let key = terse_net::files::read_private_key(pki.path(&format!("{name}.key")), None).unwrap();
        let key = terse_aws_lc::PROVIDER.load_key(&key).unwrap();
        pki.write(&format!("{name}.pub"), &terse_pki::to_pem("PUBLIC KEY", &key.public_key()));
    }
    pki
}

fn server(pki: &Pki, options: &str) -> Server {
    Server::start(pki.command("server --listen 127.0.0.1:0 --key @server.key --echo --json", options))
}

fn client(pki: &Pki, server: &Server, options: &str) -> Outcome {
    run(pki.command(&format!("client --connect {} --json --send x --expect 1", server.address), options))
}

#[test]
fn both_sides_know_each_other_by_their_keys() {
    for chain in ["p256x2", "ed25519x2", "rsa2048x2"] {
        let pki = pki(chain);
        for version in ["1.2", "1.3"] {
            let server = server(&pki, &format!("--peer-key @client.pub --require-client-cert --tls {version}"));
            let client = client(&pki, &server, "--peer-key @server.pub --key @client.key").object();
            let report = server.report();
            for object in [&client, &report] {
                assert!(object["error"].is_null());
                assert_eq!(object["signatures_verified"], 0);
                assert!(object["received"]["messages"]["Certificate"].as_u64() < Some(350), "{object}");
                assert!(object["received"]["messages"]["CertificateVerify"].is_u64() || version == "1.2");
            }
        }
    }
}

#[test]
fn another_key_is_refused() {
    let pki = pki("p256x2");
    for version in ["1.2", "1.3"] {
        let server = server(&pki, &format!("--peer-key @client.pub --require-client-cert --tls {version}"));
        assert_eq!(client(&pki, &server, "--peer-key @client.pub --key @client.key").code, Some(1));
        assert!(server.report()["error"].is_string());
        assert_eq!(client(&pki, &server, "--peer-key @server.pub --key @server.key").code, Some(1));
        assert!(server.report()["error"].is_string());
        assert_eq!(client(&pki, &server, "--peer-key @server.pub").code, Some(1));
        assert!(server.report()["error"].is_string());
    }
}

#[test]
fn one_of_several_keys_is_enough() {
    let pki = pki("p256x2");
    let server = server(&pki, "--peer-key @client.pub");
    for own in ["", "--key @client.key", "--tls 1.2", "--tls 1.2 --key @client.key"] {
        let client = client(&pki, &server, &format!("--peer-key @client.pub --peer-key @server.pub {own}"));
        assert!(client.object()["error"].is_null());
        let is_known = server.report()["peer"]["authenticated_by"] != "none";
        assert_eq!(is_known, own.contains("--key"), "{own}");
    }
}

#[test]
fn a_client_may_trust_a_ca_and_a_key() {
    let pki = pki("p256x2");
    for with_certificate in [true, false] {
        let server = if with_certificate { pki.server("--echo") } else { server(&pki, "") };
        let options = format!("--ca @ca.pem --peer-key @server.pub --server-name {SERVER}");
        assert!(client(&pki, &server, &options).object()["error"].is_null());
    }
}

#[test]
fn a_certificate_where_a_key_is_expected_and_the_reverse() {
    let pki = pki("p256x2");
    for version in ["1.2", "1.3"] {
        let raw = server(&pki, &format!("--tls {version}"));
        client(&pki, &raw, "--ca @ca.pem").refused(1, &["unsupported_certificate", "raw public key"]);
        assert!(raw.report()["error"].as_str().unwrap().contains("raw public key"));
        let certified = pki.server(&format!("--tls {version}"));
        client(&pki, &certified, "--peer-key @server.pub").refused(1, &["unsupported_certificate", "raw public key"]);
    }
}

#[test]
fn the_server_needs_something_to_prove_itself_with() {
    let pki = pki("p256x2");
    run(pki.command("server --listen 127.0.0.1:0", "")).refused(2, &["--cert", "--key", "--psk-identity"]);
    run(pki.command("client --connect 127.0.0.1:1", "")).refused(2, &["--ca", "--peer-key", "--psk-identity"]);
    run(pki.command("client --connect 127.0.0.1:1 --peer-key @server.key", ""))
        .refused(1, &["server.key", "holds no public key, but a private key"]);
}
