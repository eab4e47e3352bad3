//! Without BoringSSL, these tests check that the file of disabled tests is sound, and that the shim follows the runner.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use glob::Pattern;
use serde_json::Value;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};

/// Every pattern is valid and has a reason, and every error of BoringSSL's is mapped.
#[test]
fn config() {
    let config: Value = serde_json::from_str(include_str!("../config.json")).unwrap();
    let disabled = config["DisabledTests"].as_object().unwrap();
    assert!(disabled.len() > 100);
    for (pattern, reason) in disabled {
        assert!(Pattern::new(pattern).is_ok(), "{pattern}");
        let (kind, reason) = reason.as_str().unwrap().split_once(": ").unwrap();
        assert!(["absent", "otherwise"].contains(&kind), "{pattern}");
        assert!(reason.len() > 5, "{pattern}");
        assert!(!Pattern::new(pattern).unwrap().matches("Basic-Client-TLS-Sync"), "{pattern}");
    }
    for (pattern, other) in config["TestErrorMap"].as_object().unwrap() {
        assert!(Pattern::new(pattern).is_ok(), "{pattern}");
        let text = |key: &str| other[key].as_str().unwrap_or_default();
        assert!(text("Reason").len() > 5, "{pattern}");
        assert!(!text("Error").is_empty() || !text("LocalError").is_empty(), "{pattern}");
        assert!(other.as_object().unwrap().keys().all(|key| ["Error", "LocalError", "Reason"].contains(&&**key)));
    }
    for (error, ours) in config["ErrorMap"].as_object().unwrap() {
        let ours = ours.as_array().unwrap();
        assert!(!ours.is_empty(), "{error}");
        assert!(ours.iter().all(|ours| ours.as_str().unwrap().len() > 5), "{error}");
    }
}

#[test]
fn unknown_flags_are_not_implemented() {
    for flags in [
        &["-no-such-flag"][..],
        &["-port", "1", "-enable-channel-id"],
        &["-on-resume-no-such-flag", "value"],
        &["-curves", "25"], // P-521
        &["-max-version", "770"],
        &["-dtls", "-max-version", "65279"], // DTLS 1.0
    ] {
        assert_eq!(code(Command::new(SHIM).args(flags)), Some(89), "{flags:?}");
    }
    assert_eq!(code(Command::new(SHIM).args(["-port", "none"])), Some(1));
    let output = Command::new(SHIM).arg("-is-handshaker-supported").output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"No\n".to_vec()));
}

/// A client connects to a server twice: with a full handshake, then resumed. Both check their expectations.
#[test]
fn client_against_server() {
    let files = Files::new();
    for (version, slow) in [("771", false), ("771", true), ("772", false), ("772", true)] {
        let mut both =
            vec!["-expect-version", version, "-max-version", version, "-resume-count", "1", "-check-close-notify"];
        both.extend(slow.then_some("-async"));
        let client = [&both[..], &["-trust-cert", &files.root, "-host-name", "test"]].concat();
        let server = ["-server", "-cert-file", &files.chain, "-key-file", &files.key, "-expect-server-name", "test"];
        let server = [&both[..], &server, &["-shim-shuts-down"]].concat();
        assert_eq!(meet(&client, &server, 2), [0, 0], "{version} {slow}");
    }
}

/// A client connects to a server over datagrams, which the relay passes on unchanged.
#[test]
fn client_against_server_over_datagrams() {
    let files = Files::new();
    let extras = [&[][..], &["-async"], &["-mtu", "100"]];
    for (version, extra) in ["65277", "65276"].into_iter().flat_map(|version| extras.map(|extra| (version, extra))) {
        let both = ["-dtls", "-max-version", version, "-expect-version", version, "-resume-count", "1"];
        let both = [&both[..], &["-check-close-notify"], extra].concat();
        let client = [&both[..], &["-trust-cert", &files.root, "-host-name", "test"]].concat();
        let server = ["-server", "-cert-file", &files.chain, "-key-file", &files.key, "-expect-server-name", "test"];
        let server = [&both[..], &server, &["-shim-shuts-down"]].concat();
        assert_eq!(meet(&client, &server, 2), [0, 0], "{version} {extra:?}");
    }
}

/// Over datagrams, only the runner lets time pass.
#[test]
fn the_runner_tells_the_time() {
    const MILLISECOND: u64 = 1_000_000;
    let expect = |milliseconds: u64| [b"E", &(milliseconds * MILLISECOND).to_be_bytes()[..]].concat();
    let pass = |milliseconds: u64| [b"T", &(milliseconds * MILLISECOND).to_be_bytes()[..]].concat();
    let (mut shim, mut stream) = alone(&["-dtls", "-mtu", "1000"]);
    let hello = datagram(&mut stream);
    for (timeout, again) in [(400, 1), (800, 2), (1600, 3)] {
        stream.write_all(&[expect(timeout), pass(timeout - 1)].concat()).unwrap();
        assert_eq!(byte(&mut stream), b't');
        stream.write_all(&pass(1)).unwrap();
        assert_eq!(byte(&mut stream), b't');
        let repeated = datagram(&mut stream);
        assert_eq!(repeated[11..], hello[11..]);
        assert_eq!(repeated[10], again, "the number of the record");
    }
    stream.write_all(&expect(3100)).unwrap();
    assert_eq!(ended(&mut shim, stream), 1, "it is 3200");

    let (mut shim, mut stream) = alone(&["-dtls", "-initial-timeout-duration-ms", "250"]);
    datagram(&mut stream);
    stream.write_all(&[expect(250), pass(250)].concat()).unwrap();
    assert_eq!(byte(&mut stream), b't');
    datagram(&mut stream);
    // The timeout was doubled: for a runner that expects the first value again, time passes twice as fast.
    stream.write_all(&[expect(500), expect(250), pass(249)].concat()).unwrap();
    assert_eq!(byte(&mut stream), b't');
    stream.write_all(&pass(1)).unwrap();
    assert_eq!(byte(&mut stream), b't');
    datagram(&mut stream);
    stream.write_all(&[b"E", &u64::MAX.to_be_bytes()[..]].concat()).unwrap();
    assert_eq!(ended(&mut shim, stream), 1, "there is a timeout");

    let (mut shim, mut stream) = alone(&["-dtls"]);
    datagram(&mut stream);
    stream.write_all(&expect(200)).unwrap();
    assert_eq!(ended(&mut shim, stream), 1, "nothing was doubled yet");
}

/// Commands of the runner that Terse does not have are unimplemented.
#[test]
fn commands_that_are_not_implemented() {
    for command in [b'M', b'U'] {
        let (mut shim, mut stream) = alone(&["-dtls"]);
        datagram(&mut stream);
        stream.write_all(&[command, 0, 0, 1, 44]).unwrap();
        assert_eq!(ended(&mut shim, stream), 89, "{command}");
    }
}

/// An unmet expectation is a failure.
#[test]
fn expectations_fail() {
    let files = Files::new();
    let client = ["-trust-cert", &files.root, "-shim-writes-first", "-shim-shuts-down"];
    let server = ["-server", "-cert-file", &files.chain, "-key-file", &files.key];
    assert_eq!(meet(&client, &server, 1), [0, 0]);
    for expectation in [
        &["-expect-version", "771"][..],
        &["-expect-cipher", "4867"],
        &["-expect-curve-id", "24"],
        &["-expect-alpn", "foo"],
        &["-expect-hrr"],
        &["-expect-peer-signature-algorithm", "2055"],
        &["-expect-selected-credential", "0"],
        &["-expect-peer-certificate-type", "2"],
        &["-expect-no-peer-cert"],
        &["-expect-accept-early-data"],
        &["-expect-early-data-reason", "accept"],
        &["-verify-fail"],
    ] {
        let client = [&client[..], expectation].concat();
        assert_eq!(meet(&client, &server, 1)[0], 1, "{expectation:?}");
    }
    let never = [&client[..], &["-handshake-never-done"]].concat();
    assert_eq!(meet(&never, &server, 1)[0], 90);
}

const SHIM: &str = env!("CARGO_BIN_EXE_bogo-shim");

fn code(command: &mut Command) -> Option<i32> {
    command.output().unwrap().status.code()
}

/// Returns a shim that is a client, and the runner's end of its socket.
fn alone(flags: &[&str]) -> (Child, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let shim = Command::new(SHIM).args(["-port", &port]).args(flags).stderr(Stdio::null()).spawn().unwrap();
    let mut stream = listener.accept().unwrap().0;
    stream.read_exact(&mut [0; 8]).unwrap();
    (shim, stream)
}

fn byte(stream: &mut TcpStream) -> u8 {
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    byte[0]
}

fn datagram(stream: &mut TcpStream) -> Vec<u8> {
    assert_eq!(byte(stream), b'P');
    let mut len = [0; 4];
    stream.read_exact(&mut len).unwrap();
    let mut datagram = vec![0; u32::from_be_bytes(len) as usize];
    stream.read_exact(&mut datagram).unwrap();
    datagram
}

/// Closes the runner's end, and returns the shim's exit code.
fn ended(shim: &mut Child, mut stream: TcpStream) -> i32 {
    stream.shutdown(Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    shim.wait().unwrap().code().unwrap()
}

/// Connects two shims, which are both clients of TCP, by a relay. Returns their exit codes.
fn meet(client: &[&str], server: &[&str], connections: usize) -> [i32; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let start = |flags: &[&str], id: &str| {
        let common = ["-port", &port, "-shim-id", id];
        Command::new(SHIM).args(common).args(flags).stderr(Stdio::null()).spawn().unwrap()
    };
    let shims = [start(client, "1"), start(server, "2")];
    let accepting = thread::spawn(move || {
        for _ in 0..connections {
            let mut both = [0, 1].map(|_| {
                let mut stream = listener.accept().unwrap().0;
                let mut id = [0; 8];
                stream.read_exact(&mut id).unwrap();
                (u64::from_le_bytes(id), stream)
            });
            both.sort_by_key(|(id, _)| *id);
            let [(1, client), (2, server)] = both else { panic!("not one of each") };
            carry(client, server);
        }
    });
    let codes = shims.map(|mut shim: Child| shim.wait().unwrap().code().unwrap());
    drop(accepting); // it may wait for connections that never come
    codes
}

fn carry(client: TcpStream, server: TcpStream) {
    for (mut from, mut to) in [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)] {
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

struct Files {
    _directory: tempfile::TempDir,
    root: String,
    chain: String,
    key: String,
}

impl Files {
    fn new() -> Self {
        let always = Validity { not_before: 0, not_after: 4_102_444_800 };
        let authority = Authority::new(&AuthorityOptions::new("p256x2".parse().unwrap(), always)).unwrap();
        let leaf = authority.issue(&LeafOptions::new("test", always)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (root, chain) = (write("root", &authority.root_pem()), write("chain", &leaf.chain_pem()));
        let key = write("key", &leaf.key_pem());
        Self { _directory: directory, root, chain, key }
    }
}
