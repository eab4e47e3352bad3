//! The client and the server in C, with valgrind and with sanitizers: against each other, the `terse` command and OpenSSL. What is not
//! here is said, and its tests are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.
#![allow(unreachable_pub)]

mod world;

use world::{Pki, Running, SERVER, Watch, openssl, run, terse};

/// Makes a test of each scenario for each way to watch the C programs.
macro_rules! scenarios {
    ($($name:ident,)*) => {
        mod sanitizers {
            $(#[test]
            fn $name() {
                super::watched(super::Watch::Sanitizers, super::$name);
            })*
        }
        mod valgrind {
            $(#[test]
            fn $name() {
                super::watched(super::Watch::Valgrind, super::$name);
            })*
        }
    };
}

scenarios! {
    c_client_with_openssl,
    c_client_with_openssl_of_another_name_or_ca,
    c_server_with_openssl,
    c_server_with_openssl_over_datagrams,
    c_client_with_terse,
    c_server_with_terse,
    c_with_c,
    c_with_c_and_keys_outside,
}

fn watched(watch: Watch, scenario: fn(Watch)) {
    if watch.is_here() {
        scenario(watch);
    }
}

/// Returns the C server on any port, with its certificate, and the port.
fn c_server(watch: Watch, pki: &Pki, options: &str) -> (Running, String) {
    started(pki.with(watch.program("server"), &format!("-c @server.pem -k @server.key {options} 0")))
}

fn started(command: std::process::Command) -> (Running, String) {
    let mut server = Running::start(command);
    let port = server.port("listening ");
    (server, port)
}

/// Runs the C client to a server on this machine.
fn c_client(watch: Watch, pki: &Pki, port: &str, options: &str) -> world::Outcome {
    run(pki.with(watch.program("client"), &format!("{options} 127.0.0.1 {port} {SERVER}")))
}

/// The modes of the connections that were reported.
fn modes(text: &str) -> Vec<&str> {
    text.split_whitespace().filter_map(|word| word.strip_prefix("mode=")).collect()
}

/// Starts `openssl s_server`, which sends each line back in reverse, for one client.
fn openssl_server(pki: &Pki, options: &str) -> Option<(Running, String)> {
    let always = "s_server -accept 127.0.0.1:0 -naccept 1 -cert @server.pem -key @server.key -rev";
    let mut server = Running::start(pki.with(openssl()?, &format!("{always} {options}")));
    let port = server.port("ACCEPT ");
    Some((server, port))
}

fn c_client_with_openssl(watch: Watch) {
    let pki = Pki::new();
    for (version, own, report) in [("-tls1_3", "", "TLS 1.3 "), ("-tls1_2", "-2", "TLS 1.2 ")] {
        let mutual = format!("{version} -Verify 1 -verify_return_error -CAfile @ca.pem");
        let Some((_server, port)) = openssl_server(&pki, &mutual) else { return };
        let command = pki.with(watch.program("client"), "-a @ca.pem -c @client.pem -k @client.key");
        let mut command = pki.with(command, own);
        command.args(["-m", "hello\n", "127.0.0.1", &port, SERVER]);
        run(command).printed(&[report, "mode=full", "olleh", SERVER]);
    }
}

fn c_client_with_openssl_of_another_name_or_ca(watch: Watch) {
    let pki = Pki::new();
    let Some((_server, port)) = openssl_server(&pki, "") else { return };
    let options = format!("-a @ca.pem 127.0.0.1 {port} other.example");
    let outcome = run(pki.with(watch.program("client"), &options));
    outcome.refused(&["TERSE_ERROR_CERTIFICATE_WRONG_NAME (alert 42)", "not valid for"]);
    let Some((_server, port)) = openssl_server(&pki, "") else { return };
    let outcome = c_client(watch, &pki, &port, "-a @other.pem");
    outcome.refused(&["TERSE_ERROR_CERTIFICATE_UNKNOWN_ISSUER (alert 48)", "no CA that is trusted"]);
}

/// Connects `openssl s_client`, sends a line, and checks that it comes back.
fn openssl_client(pki: &Pki, port: &str, options: &str) -> bool {
    let Some(command) = openssl() else { return false };
    let always = format!("s_client -connect 127.0.0.1:{port} -CAfile @ca.pem -verify_return_error");
    let mut client = Running::start(pki.with(command, &format!("{always} -verify_hostname {SERVER} {options}")));
    client.line("Verify return code: 0 (ok)");
    client.write("a line that comes back\n");
    client.line("a line that comes back");
    client.close_input();
    client.finish().printed(&[]);
    true
}

fn c_server_with_openssl(watch: Watch) {
    let pki = Pki::new();
    let (mut server, port) = c_server(watch, &pki, "-a @ca.pem -n 3");
    for version in ["-tls1_3", "-tls1_2"] {
        if !openssl_client(&pki, &port, &format!("{version} -cert @client.pem -key @client.key")) {
            return;
        }
    }
    // A client without a certificate is refused, and the server stays.
    let options = format!("s_client -connect 127.0.0.1:{port} -CAfile @ca.pem -tls1_2");
    run(pki.with(openssl().unwrap(), &options)).refused(&["handshake failure"]);
    let outcome = server.finish();
    outcome.printed(&["TLS 1.3 ", "TLS 1.2 ", "peer=sensor17.plant.example"]);
    assert_eq!(modes(&outcome.stdout), ["full", "full"]);
}

fn c_server_with_openssl_over_datagrams(watch: Watch) {
    let pki = Pki::new();
    let (mut server, port) = c_server(watch, &pki, "-d -2 -n 1");
    if openssl_client(&pki, &port, "-dtls1_2") {
        server.finish().printed(&["DTLS 1.2 "]);
    }
}

fn c_client_with_terse(watch: Watch) {
    let pki = Pki::new();
    let always = "server --listen 127.0.0.1:0 --cert @server.pem --key @server.key --client-ca @ca.pem \
                  --require-client-cert --echo --cache-file @server.cache";
    for (own, theirs, report) in [("", "", "TLS 1.3 "), ("-d", "--dtls", "DTLS 1.3 ")] {
        let Some(command) = terse() else { return };
        let (_server, port) = started(pki.with(command, &format!("{always} {theirs}")));
        let options = format!("{own} -a @ca.pem -c @client.pem -k @client.key -s @store");
        for (mode, verified) in [("mode=full", "verified=1"), ("mode=compact", "verified=0")] {
            c_client(watch, &pki, &port, &options).printed(&[report, mode, verified, "hello"]);
        }
    }
}

fn c_server_with_terse(watch: Watch) {
    let pki = Pki::new();
    for (own, theirs) in [("", ""), ("-d", "--dtls")] {
        let (mut server, port) = c_server(watch, &pki, &format!("{own} -a @ca.pem -C -n 2"));
        let Some(command) = terse() else { return };
        let always = format!(
            "client --connect 127.0.0.1:{port} --server-name {SERVER} --ca @ca.pem --cert @client.pem --timeout 250"
        );
        let options =
            format!("{theirs} --key @client.key --send hello --expect 5 --repeat 2 --cache-file @client.cache");
        run(pki.with(command, &format!("{always} {options}"))).printed(&[]);
        let outcome = server.finish();
        outcome.printed(&["peer=sensor17.plant.example"]);
        assert_eq!(modes(&outcome.stdout), ["full", "compact"], "{own}: {outcome:#?}");
    }
}

fn c_with_c(watch: Watch) {
    let pki = Pki::new();
    for (link, version, kept, mode) in [
        ("", "", "-C", "compact"),
        ("", "-2", "-R", "resumed"),
        ("-d", "", "-R", "resumed"),
        ("-d", "-2", "-C", "compact"),
    ] {
        let (mut server, port) = c_server(watch, &pki, &format!("{link} {version} -a @ca.pem {kept} -n 2"));
        let resumes = if kept == "-R" { "-r" } else { "" };
        let options = format!("{link} {resumes} -a @ca.pem -c @client.pem -k @client.key -s @store");
        c_client(watch, &pki, &port, &options).printed(&["mode=full", "hello"]);
        c_client(watch, &pki, &port, &options).printed(&[&format!("mode={mode}"), "verified=0", "hello"]);
        let outcome = server.finish();
        outcome.printed(&["peer=sensor17.plant.example"]);
        assert_eq!(modes(&outcome.stdout), ["full", mode]);
    }
}

fn c_with_c_and_keys_outside(watch: Watch) {
    if openssl().is_none() {
        return;
    }
    let pki = Pki::new();
    for link in ["", "-d"] {
        let command = pki.with_signer(watch.program("server"), "server");
        let (mut server, port) = started(pki.with(command, &format!("{link} -c @server.pem -a @ca.pem -n 1 0")));
        let command = pki.with_signer(watch.program("client"), "client");
        let options = format!("{link} -a @ca.pem -c @client.pem 127.0.0.1 {port} {SERVER}");
        run(pki.with(command, &options)).printed(&["TLS 1.3 ", "mode=full", "hello"]);
        server.finish().printed(&["peer=sensor17.plant.example"]);
    }
    // A signer that fails ends the handshake.
    let (_server, port) = c_server(watch, &pki, "-a @ca.pem");
    let options = format!("-S false -a @ca.pem -c @client.pem 127.0.0.1 {port} {SERVER}");
    run(pki.with(watch.program("client"), &options)).refused(&["TERSE_ERROR_CRYPTO_SIGNING_FAILED (alert 80)"]);
}
