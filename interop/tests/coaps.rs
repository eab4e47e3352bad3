//! wolfSSL speaks DTLS 1.3 with the registrar of constrained BRSKI. No client of CoAP for DTLS 1.3 is known, so that the bytes
//! of its request are written here.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use terse_interop::compile::built_by_cargo;
use terse_interop::peer::wolfssl;

/// A GET of `/.well-known/core?rt=brski.rv` (RFC 7252, 3; RFC 6690, 4): confirmable, with a token of one byte. The program sends
/// whole lines, so that an elective option without meaning (RFC 7252, 5.4.1), 65000, ends it with a line feed.
const REQUEST: &[u8] = b"\x41\x01\x00\x07\x2a\xbb.well-known\x04core\x4brt=brski.rv\xe1\xfc\xcc\n";

/// The end of the response: the link of the resource.
const LINK: &[u8] = b"</b/rv>;rt=brski.rv;ct=836";

/// A process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `terse` in a folder, with arguments that are separated by spaces.
fn terse(program: &Path, folder: &Path, arguments: &str) {
    let output = Command::new(program).args(arguments.split(' ')).current_dir(folder).output().expect("terse runs");
    assert!(output.status.success(), "terse {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the first line with this prefix, without it.
fn line_with(prefix: &str, output: impl BufRead) -> String {
    let mut lines = output.lines().map(|line| line.expect("a line"));
    lines.find_map(|line| line.strip_prefix(prefix).map(str::to_owned)).unwrap_or_else(|| panic!("no line {prefix}"))
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
    let run = |arguments: &str| terse(&program, folder.path(), arguments);
    run("masa init --out maker --name localhost --listen 127.0.0.1:0");
    run("masa make-idevid WI-3005 --config maker/masa.toml --out devices");
    run("registrar init --out plant --name registrar.plant.example --manufacturer-ca maker/ca/ca.pem \
         --listen 127.0.0.1:0 --coaps 127.0.0.1:0 --jpy 127.0.0.1:0");
    let mut command = Command::new(&program);
    command.args(["registrar", "--config", "plant/registrar.toml"]).current_dir(folder.path());
    let mut registrar = Running(command.stdout(Stdio::piped()).spawn().expect("a registrar"));
    // It stays open: a registrar that can say nothing ends.
    let mut output = BufReader::new(registrar.0.stdout.take().expect("its output"));
    let address = line_with("coaps ", &mut output);
    let port = address.rsplit(':').next().expect("a port");

    // AES-128 in GCM, CCM, and CCM with tags of 8 bytes.
    for suite in ["1301", "1304", "1305"] {
        let mut command = wolfssl::program().expect("it was here before");
        command.arg("client").args(words(port, suite)).current_dir(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = Running(command.spawn().expect("wolfSSL's program"));
        let mut input = client.0.stdin.take().expect("its input");
        input.write_all(REQUEST).expect("a request");
        let mut answer = client.0.stdout.take().expect("its output");
        let mut received = Vec::new();
        while !received.ends_with(LINK) {
            let mut byte = [0];
            if answer.read(&mut byte).expect("a byte") == 0 {
                let mut said = String::new();
                let _ = client.0.stderr.take().expect("what it says").read_to_string(&mut said);
                panic!("{suite}: {received:02x?}, {said}");
            }
            received.push(byte[0]);
        }
        // An acknowledgement with the message ID and the token of the request: 2.05 (RFC 7252, 5.2.1).
        assert_eq!(received[..5], [0x61, 0x45, 0x00, 0x07, 0x2a], "{suite}");
        drop(input);
        let status = client.0.wait().expect("an end");
        let agreed = line_with("suite ", BufReader::new(client.0.stderr.take().expect("what it says")));
        assert!(status.success() && agreed == suite, "{agreed}");
    }
}
