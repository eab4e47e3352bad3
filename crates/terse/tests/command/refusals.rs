//! Certificates, files and options are refused with a line that says why.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use crate::common::{CLIENT, Pki, SERVER, now, run, terse, validity};
use terse_aws_lc::PROVIDER;
use terse_net::{Clock, Stream};
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::{Connection, Credential, ServerConfig};

#[test]
fn an_expired_certificate() {
    let pki = Pki::new();
    let expired = Validity { not_before: 1_767_225_600, not_after: 1_772_323_200 };
    pki.issue("server", &LeafOptions::new(SERVER, expired));
    let server = pki.server("");
    let outcome = pki.client(&server, "");
    outcome.refused(1, &["terse: the certificate of broker.plant.example expired on 2026-03-01; "]);
    let objects = outcome.lines();
    assert_eq!(objects.len(), 1);
    assert!(objects[0]["error"].as_str().unwrap().contains("expired on 2026-03-01"));
    let report = server.report();
    assert!(report["error"].as_str().unwrap().contains("certificate_expired"), "{report}");
}

#[test]
fn a_certificate_that_will_have_expired() {
    let pki = Pki::new();
    let server = pki.server("");
    let outcome = pki.client(&server, &format!("--at {}", now() + 31 * 86_400));
    outcome.refused(1, &["of broker.plant.example expired on"]);
    pki.client(&server, &format!("--at {}", now() - 2 * 86_400)).refused(1, &["valid from", "clock"]);
}

#[test]
fn another_name() {
    let pki = Pki::new();
    let server = pki.server("");
    let command = format!("client --connect {} --ca @ca.pem --server-name other.example", server.address);
    run(pki.command(&command, "")).refused(1, &["not valid for other.example"]);
    let command = format!("client --connect {} --ca @ca.pem", server.address);
    run(pki.command(&command, "")).refused(1, &["not valid for 127.0.0.1"]);
}

#[test]
fn an_unknown_ca() {
    let pki = Pki::new();
    let options =
        AuthorityOptions { name: "Other CA".into(), ..AuthorityOptions::new("p256x3".parse().unwrap(), validity()) };
    let other = Authority::new(&options).unwrap();
    let mut server = pki.server("--client-ca @ca.pem --require-client-cert");
    pki.write("other.pem", &other.root_pem());
    let command = format!("client --connect {} --server-name {SERVER} --ca @other.pem", server.address);
    run(pki.command(&command, "")).refused(1, &["of broker.plant.example was issued by no CA that is trusted"]);
    assert!(server.report()["error"].as_str().unwrap().contains("unknown_ca"));
    // The server refuses the client's certificate.
    let credential = other.issue(&LeafOptions::new(CLIENT, validity())).unwrap();
    pki.write("stranger.pem", &credential.chain_pem());
    pki.write("stranger.key", &credential.key_pem());
    let outcome = pki.client(&server, "--cert @stranger.pem --key @stranger.key");
    outcome.refused(1, &["unknown_ca"]);
    assert!(server.report()["error"].as_str().unwrap().contains("no CA that is trusted here"));
    assert!(server.end().contains("no CA that is trusted here"));
}

#[test]
fn a_ca_of_the_same_name() {
    let (pki, other) = (Pki::new(), Pki::new());
    let server = pki.server("");
    pki.write("ca.pem", &other.authority.root_pem());
    pki.client(&server, "").refused(1, &["a signature in the certificate chain", "not one of the same name"]);
}

#[test]
fn a_client_without_certificate() {
    let pki = Pki::new();
    let server = pki.server("--client-ca @ca.pem --require-client-cert --echo");
    for options in ["", "--send hello", "--send hello --expect 5"] {
        pki.client(&server, options).refused(1, &["certificate_required", "give one, with its key"]);
        assert!(server.report()["error"].as_str().unwrap().contains("sent no certificate"));
    }
}

#[test]
fn a_failed_connection_does_not_stop_the_server() {
    let pki = Pki::new();
    let mut server = pki.server("--max-connections 3");
    drop(std::net::TcpStream::connect(&server.address).unwrap());
    assert!(server.report()["error"].as_str().unwrap().contains("during the handshake"));
    let mut noise = std::net::TcpStream::connect(&server.address).unwrap();
    std::io::Write::write_all(&mut noise, b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(server.report()["error"].as_str().unwrap().contains("is the peer speaking TLS?"));
    drop(noise);
    pki.client(&server, "").object();
    assert!(server.report()["error"].is_null());
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_revoked_certificate() {
    let pki = Pki::new();
    let server = pki.server("");
    let leaf = terse_net::files::read_certificates(pki.path("server.pem")).unwrap().remove(0);
    pki.authority.revoke(pki.directory.path(), &[leaf], validity()).unwrap();
    pki.client(&server, "--crl @crl.pem").refused(1, &["broker.plant.example was revoked"]);
    server.report();
    pki.client(&server, "").object();
}

#[test]
fn nothing_in_common() {
    let pki = Pki::new();
    let server = pki.server("--suite TLS_AES_128_CCM_8_SHA256");
    pki.client(&server, "--suite TLS_AES_128_GCM_SHA256").refused(1, &["handshake_failure"]);
    assert!(server.report()["error"].as_str().unwrap().contains("no cipher suite"));
    let server = pki.server("--alpn mqtt");
    pki.client(&server, "--alpn coap").refused(1, &["no_application_protocol"]);
}

#[test]
fn a_peer_that_does_not_answer() {
    let pki = Pki::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("client --ca @ca.pem --timeout 1 --connect {}", silent.local_addr().unwrap());
    run(pki.command(&connect, "")).refused(1, &["did not finish the handshake in time"]);
    let server = pki.server("");
    // The handshake is over by then, also on a busy machine.
    pki.client(&server, "--timeout 5 --expect 5").refused(1, &["did not answer in time"]);
    let closing = pki.server("--reply abc");
    pki.client(&closing, "--timeout 5 --expect 5").refused(1, &["did not answer in time"]);
}

/// However a conversation fails, a client that is connected sends a close_notify.
#[test]
fn a_server_that_closes_early_hears_close_notify() {
    let pki = Pki::new();
    let issued = pki.authority.issue(&LeafOptions::new(SERVER, validity())).unwrap();
    let key = PROVIDER.load_key(issued.key()).unwrap();
    let credential = Credential::new(issued.chain().to_vec(), key).unwrap();
    let config = Arc::new(ServerConfig::builder(&PROVIDER).credential(credential).build().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    for (options, problem) in [
        ("--expect 5", "closed the connection after 2 of 5 expected bytes"),
        ("--tls 1.2 --key-update", "TLS 1.2"), // which the client finds out when it is connected
    ] {
        let outcome = thread::scope(|scope| {
            let server = scope.spawn(|| {
                let clock = Clock::new();
                let connection = Connection::server(config.clone(), clock.now()).unwrap();
                let mut stream = Stream::new(connection, listener.accept().unwrap().0, clock);
                stream.handshake().unwrap();
                stream.send(b"no").unwrap();
                stream.close().unwrap();
                stream.receive(&mut [0; 16])
            });
            let outcome = pki.client_at(&address, options);
            assert_eq!(server.join().unwrap().unwrap(), 0, "{outcome:?}");
            outcome
        });
        outcome.refused(1, &[problem]);
    }
}

#[test]
fn a_port_where_nobody_listens() {
    let pki = Pki::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = run(pki.command(&format!("client --ca @ca.pem --json --connect {address}"), ""));
    outcome.refused(1, &["refused", "check the address"]);
    assert!(outcome.lines()[0]["error"].is_string());
}

#[test]
fn files_are_checked_before_connecting() {
    let pki = Pki::new();
    pki.write("empty.pem", "");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap(); // a connection would hang
    let connect = format!("client --connect {}", silent.local_addr().unwrap());
    let refused = |options: &str, parts: &[&str]| run(pki.command(&connect, options)).refused(1, parts);
    refused("--ca @missing.pem", &["missing.pem", "cannot be read"]);
    refused("--ca @empty.pem", &["empty.pem"]);
    refused("--ca @client.key", &["client.key", "holds no certificate, but a private key"]);
    refused("--ca @ca.pem --cert @client.pem --key @server.key", &["server.key", "does not belong", "client.pem"]);
    refused("--ca @ca.pem --cert @client.pem --key @ca.pem", &["ca.pem", "private key"]);
    refused("--ca @ca.pem --crl @empty.pem", &["empty.pem"]);
    refused("--ca @ca.pem --keylog @no/such/directory", &["no/such/directory"]);
    refused("--ca @ca.pem --cache-file @no/such/directory", &["no/such/directory"]);
}

#[test]
fn an_encrypted_key_needs_its_passphrase() {
    let pki = Pki::new();
    let credential = pki.authority.issue(&LeafOptions::new(SERVER, validity())).unwrap();
    pki.write("server.pem", &credential.chain_pem());
    pki.write("server.key", &credential.encrypted_key_pem(b"open sesame").unwrap());
    pki.write("right", "open sesame\n");
    pki.write("wrong", "open barley\n");
    let server = "server --listen 127.0.0.1:0 --cert @server.pem --key @server.key";
    run(pki.command(server, "")).refused(1, &["server.key", "encrypted", "--passphrase-file"]);
    run(pki.command(server, "--passphrase-file @wrong")).refused(1, &["server.key", "passphrase does not open"]);
    let server = pki.server("--passphrase-file @right");
    pki.client(&server, "").object();
}

#[test]
fn rsa_keys_on_the_device_provider() {
    let pki = Pki::with_chain("rsa2048x2");
    let command = "server --listen 127.0.0.1:0 --cert @server.pem --key @server.key --crypto rustcrypto";
    run(pki.command(command, "")).refused(1, &["server.key", "does not sign with RSA keys"]);
}

#[test]
fn a_port_that_is_taken() {
    let pki = Pki::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let command = format!("server --cert @server.pem --key @server.key --listen {}", taken.local_addr().unwrap());
    run(pki.command(&command, "")).refused(1, &["cannot listen on 127.0.0.1", "in use"]);
}

#[test]
fn wrong_use_is_exit_code_2() {
    let pki = Pki::new();
    let refused = |words: &str| {
        let outcome = run(pki.command(words, ""));
        assert_eq!(outcome.code, Some(2), "{words}: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{words}");
        outcome.stderr
    };
    refused("");
    refused("clientt");
    refused("client");
    let client = "client --connect 127.0.0.1:1 --ca @ca.pem";
    for wrong in [
        "--cert @client.pem", // without its key
        "--tls 1.1",
        "--mtu 576",
        "--early-data x",
        "--psk-import",
        "--crl @crl.pem --psk-identity x",
        "--mtu 500",
        "--psk-identity x",
        "--certificate x",
        "--cache everything",
        "--crypto openssl",
        "--record-size-limit 63",
        "--max-fragment-length 1000",
        "--repeat 0",
        "--at tomorrow",
        "--server-name not/a/name",
    ] {
        refused(&format!("{client} {wrong}"));
    }
    assert!(refused("client --ca @ca.pem --connect localhost").contains("HOST:PORT"));
    assert!(refused(&format!("{client} --suite RC4")).contains("TLS_AES_128_GCM_SHA256"));
    assert!(refused(&format!("{client} --suite RC4")).contains("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"));
    let conflict = refused(&format!("{client} --tls 1.2 --suite TLS_AES_128_GCM_SHA256"));
    assert!(conflict.contains("add one, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), "{conflict}");
    assert!(refused(&format!("{client} --group x448")).contains("secp256r1"));
    assert!(refused(&format!("{client} --sigalg sha1")).contains("ecdsa_secp256r1_sha256"));
    let server = "server --listen 127.0.0.1:0 --cert @server.pem --key @server.key";
    assert!(refused(&format!("{server} --require-client-cert")).contains("give --client-ca or --peer-key"));
    refused(&format!("{server} --no-tickets --stateful-tickets"));
    refused(&format!("{server} --ca-names"));
    assert!(refused(&format!("{server} --cert @client.pem")).contains("give each --cert its --key"));
    refused(&format!("{server} --echo --reply x"));
}

#[test]
fn help_shows_an_example_and_succeeds() {
    for subcommand in ["", "client", "server", "demo"] {
        let mut command = terse();
        command.args(subcommand.split_whitespace()).arg("--help");
        let outcome = run(command);
        assert_eq!(outcome.code, Some(0));
        assert!(outcome.stdout.contains(&format!("Example:\n  terse {subcommand}")), "{}", outcome.stdout);
    }
    let mut command = terse();
    command.arg("--version");
    assert_eq!(run(command).stdout, concat!("terse ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// The validator of devices, which searches no paths, can be tried from the command line, on both sides.
#[test]
fn chains_out_of_order_are_refused_without_path_building() {
    let pki = Pki::with_chain("p256x3");
    let server = "--echo --client-ca @ca.pem --require-client-cert";
    let client = "--cert @client.pem --key @client.key --send x --expect 1";
    let connect = |of_server: &str, of_client: &str| {
        let server = pki.server(&format!("{server} {of_server}"));
        pki.client(&server, &format!("{client} {of_client}")).code
    };
    let strict = "--no-path-building";
    assert_eq!(connect(strict, strict), Some(0), "these are in order");
    for name in ["server.pem", "client.pem"] {
        let in_order = std::fs::read_to_string(pki.path(name)).unwrap();
        let end = "-----END CERTIFICATE-----\n";
        let (leaf, issuers) = in_order.split_once(end).unwrap();
        let root = std::fs::read_to_string(pki.path("ca.pem")).unwrap();
        pki.write(name, &format!("{leaf}{end}{root}{issuers}"));
        assert_eq!(connect("", ""), Some(0), "{name}: a path is found");
        let [of_server, of_client] = if name == "server.pem" { ["", strict] } else { [strict, ""] };
        assert_eq!(connect(of_server, of_client), Some(1), "{name}");
        pki.write(name, &in_order);
    }
}
