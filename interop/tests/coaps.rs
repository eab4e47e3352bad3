//! wolfSSL speaks DTLS 1.3 with the registrar of constrained BRSKI. No client of CoAP for DTLS 1.3 is known, so that the bytes
//! of its request are written here.

use std::path::Path;
use std::process::Command;

use terse_interop::compile::built_by_cargo;
use terse_interop::peer::wolfssl;
use terse_interop::process::Process;

/// A GET of `/.well-known/core?rt=brski.rv` (RFC 7252, 3; RFC 6690, 4): confirmable, with a token of one byte. The program sends
/// whole lines, so that an elective option without meaning (RFC 7252, 5.4.1), 65000, ends it with a line feed.
const REQUEST: &[u8] = b"\x41\x01\x00\x07\x2a\xbb.well-known\x04core\x4brt=brski.rv\xe1\xfc\xcc\n";

/// An acknowledgement with the message ID and the token of the request, 2.05 (RFC 7252, 5.2.1), in Content-Format 40, with the link
/// of the resource.
const ANSWER: &[u8] = b"\x61\x45\x00\x07\x2a\xc1\x28\xff</b/rv>;rt=brski.rv;ct=836";

/// Returns a command that runs `program` in a folder, with arguments that are separated by spaces.
fn command(program: &Path, folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).current_dir(folder);
    command
}

/// Returns the words of a device for wolfSSL's program.
fn words(port: &str, suite: &str) -> [String; 8] {
    [
        format!("port={port}"),
        "datagrams=1".into(),
        "versions=1.3".into(),
        format!("suites={suite}"),
        "ca=plant/ca/ca.pem".into(),
        "name=registrar.plant.example".into(),
        "chain=devices/WI-3005.pem".into(),
        "key=devices/WI-3005.key".into(),
    ]
}

#[test]
fn wolfssl_speaks_dtls_1_3_with_the_registrar_of_constrained_brski() {
    let required = std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1");
    if let Err(reason) = wolfssl::program() {
        assert!(!required, "wolfSSL is required: {reason}");
        println!("skipped: {reason}");
        return;
    }
    let program = built_by_cargo("terse").expect("a build of terse");
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &str| {
        let status = Process::without_files(command(&program, folder.path(), arguments)).wait();
        assert!(status.success(), "terse {arguments}: {status}");
    };
    run("masa init --out maker --name localhost --listen 127.0.0.1:0");
    run("masa make-idevid WI-3005 --config maker/masa.toml --out devices");
    run("registrar init --out plant --name registrar.plant.example --manufacturer-ca maker/ca/ca.pem \
         --listen 127.0.0.1:0 --coaps 127.0.0.1:0 --jpy 127.0.0.1:0");
    let registrar = Process::without_files(command(&program, folder.path(), "registrar --config plant/registrar.toml"));
    let address = registrar.wait_for_line("coaps ");
    let port = address.rsplit(':').next().expect("a port");

    // AES-128 in GCM, CCM, and CCM with tags of 8 bytes.
    for suite in ["1301", "1304", "1305"] {
        let mut command = wolfssl::program().expect("it was here before");
        command.arg("client").args(words(port, suite)).current_dir(folder.path());
        let mut client = Process::without_files(command);
        client.write(REQUEST);
        client.wait_for_data(ANSWER);
        assert_eq!(client.wait_for_line("suite "), suite);
        client.end_input();
        let status = client.wait();
        assert!(status.success(), "{suite}: {status}");
    }
}
