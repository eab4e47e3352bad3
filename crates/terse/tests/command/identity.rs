//! Identity keys through the command line: the generator's files, handshakes without certificates, and what is refused.

use core::time::Duration;
use std::fs;
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};

use crate::common::{CLIENT, Outcome, Patience, Pki, SERVER, Server, run};
use serde_json::Value;

const DEVICE: &str = "eui64:0200000000000017";

/// Runs `terse pkg` with `options`.
fn pkg(pki: &Pki, options: &str) -> Outcome {
    run(pki.command("pkg --json", options))
}

/// A generator, and the keys of a server and a client.
fn world(algorithm: &str) -> Pki {
    let pki = Pki::with_chain("ed25519x2");
    pkg(&pki, &format!("init --algorithm {algorithm} --out @pkg")).object();
    extract(&pki, &format!("dns:{SERVER}"), "server.id", "");
    extract(&pki, DEVICE, "client.id", "");
    pki
}

fn extract(pki: &Pki, identity: &str, file: &str, options: &str) {
    pkg(pki, &format!("extract {identity} --pkg @pkg --out @{file} {options}")).object();
}

fn server(pki: &Pki, options: &str) -> Server {
    let always = "server --listen 127.0.0.1:0 --echo --json --identity-key @server.id";
    Server::start(pki.command(always, options))
}

fn client(pki: &Pki, server: &Server, options: &str) -> Outcome {
    let always = format!(
        "client --connect {} --server-name {SERVER} --json --send x --expect 1 --identity-key @client.id",
        server.address
    );
    run(pki.command(&always, options))
}

#[track_caller]
fn check(client: &Value, report: &Value) {
    for (object, peer) in [(client, format!("dns:{SERVER}")), (report, DEVICE.to_owned())] {
        assert_eq!(object["mode"], "identity");
        assert_eq!(object["peer"]["authenticated_by"], "identity");
        let name = object["peer"]["name"].as_str().unwrap();
        assert!(name.starts_with(&format!("{peer} (authority ")), "{name}");
        assert!(object["sent"]["messages"]["Certificate"].is_null());
        assert!(object["sent"]["messages"]["CertificateVerify"].is_null());
    }
}

#[test]
fn both_algorithms_over_streams_and_datagrams() {
    for algorithm in ["id3dh-ristretto255", "id3dh-bls12381"] {
        let pki = world(algorithm);
        for transport in ["", "--dtls"] {
            let server = server(&pki, transport);
            for crypto in ["", "--crypto rustcrypto"] {
                let client = client(&pki, &server, &format!("{transport} {crypto}")).object();
                check(&client, &server.report());
            }
        }
    }
}

/// docs/identity.md: the public parts are sent once.
#[test]
fn an_identity_file_saves_the_public_parts_from_one_run_to_the_next() {
    let pki = world("id3dh-ristretto255");
    let server = server(&pki, "--identity-file @server.peers");
    let hello = |options: &str| {
        let client = client(&pki, &server, options).object();
        check(&client, &server.report());
        [&client["sent"]["messages"]["ClientHello"], &client["received"]["messages"]["ServerHello"]]
            .map(|len| len.as_u64().unwrap())
    };
    let first = hello("--identity-file @client.peers");
    let second = hello("--identity-file @client.peers");
    assert_eq!([first[0] - 32, first[1] - 32], second);
    // What is damaged is reported, and asked for again.
    let mut bytes = fs::read(pki.path("client.peers")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(pki.path("client.peers"), bytes).unwrap();
    assert_eq!(hello("--identity-file @client.peers"), first);
    // The key file can have the public part of the server.
    extract(&pki, DEVICE, "client2.id", &format!("--with dns:{SERVER}"));
    fs::copy(pki.path("client2.id"), pki.path("client.id")).unwrap();
    assert_eq!(hello(""), [first[0], second[1]]);
}

#[test]
fn whoever_is_denied_is_refused_from_the_next_connection_on() {
    let pki = world("id3dh-ristretto255");
    pkg(&pki, "deny device:other --pkg @pkg").object();
    let server = server(&pki, "--deny @pkg/denied.txt");
    client(&pki, &server, "").object();
    server.report();
    pkg(&pki, &format!("deny {DEVICE} --pkg @pkg")).object();
    client(&pki, &server, "").refused(1, &["access_denied", "denied identities"]);
    assert!(server.report()["error"].as_str().unwrap().contains("denied"));
    pkg(&pki, &format!("deny {DEVICE} --remove --pkg @pkg")).object();
    client(&pki, &server, "").object();
}

#[test]
fn keys_of_another_epoch_or_generator_are_refused_until_the_server_has_one() {
    let pki = world("id3dh-ristretto255");
    let old = server(&pki, "");
    pkg(&pki, "rotate --pkg @pkg --days 30").object();
    extract(&pki, DEVICE, "client.id", "--force");
    client(&pki, &old, "").refused(1, &["unknown_ca", "identity authority and epoch"]);
    assert!(old.report()["error"].as_str().unwrap().contains("terse pkg extract"));
    extract(&pki, &format!("dns:{SERVER}"), "new.id", "");
    let both = server(&pki, "--identity-key @new.id");
    client(&pki, &both, "").object();
    pkg(&pki, "rekey --pkg @pkg").object();
    extract(&pki, DEVICE, "client.id", "--force");
    client(&pki, &both, "").refused(1, &["unknown_ca"]);
}

#[test]
fn certificates_are_fallen_back_on_only_with_a_ca() {
    let pki = world("id3dh-ristretto255");
    let certified = pki.server("--echo");
    let options = "--ca @ca.pem";
    let fallen = client(&pki, &certified, options).object();
    assert_eq!((&fallen["mode"], &fallen["peer"]["name"]), (&"full".into(), &SERVER.into()));
    client(&pki, &certified, "").refused(1, &[]);
    // A client without an identity needs a certificate, or permission.
    let identified = server(&pki, "--cert @server.pem --key @server.key");
    let plain = format!("client --connect {} --server-name {SERVER} --ca @ca.pem --json", identified.address);
    run(pki.command(&plain, "")).refused(1, &["missing_extension", "identity key"]);
    let options = "--cert @server.pem --key @server.key --client-ca @ca.pem --require-client-cert";
    let identified = server(&pki, options);
    let plain = format!("client --connect {} --server-name {SERVER} --ca @ca.pem --json", identified.address);
    let certified = run(pki.command(&plain, "--cert @client.pem --key @client.key")).object();
    assert_eq!(certified["mode"], "full");
    assert_eq!(identified.report()["peer"]["name"], CLIENT);
    let anonymous = server(&pki, "--cert @server.pem --key @server.key --allow-anonymous");
    let plain = format!("client --connect {} --server-name {SERVER} --ca @ca.pem --json", anonymous.address);
    run(pki.command(&plain, "")).object();
}

#[test]
fn the_server_has_the_identity_that_is_expected() {
    let pki = world("id3dh-ristretto255");
    extract(&pki, "device:broker", "device.id", "");
    let always = "server --listen 127.0.0.1:0 --echo --json --identity-key @device.id";
    let server = Server::start(pki.command(always, ""));
    client(&pki, &server, "--peer-identity device:broker").object();
    client(&pki, &server, "--peer-identity device:other").refused(1, &["identity"]);
    client(&pki, &server, "--peer-identity other").refused(2, &["dns:NAME"]);
    let nameless = format!("client --connect {} --json --identity-key @client.id", server.address);
    run(pki.command(&nameless, "")).refused(1, &["say which identity", "--peer-identity"]);
}

#[test]
fn a_secret_can_be_encrypted() {
    let pki = Pki::with_chain("ed25519x2");
    pki.write("good", "correct horse\n");
    pki.write("bad", "battery staple\n");
    let init = "init --algorithm id3dh-bls12381 --out @pkg --passphrase-file @good";
    pkg(&pki, init).object();
    let text = fs::read_to_string(pki.path("pkg/pkg.pem")).unwrap();
    assert!(text.starts_with("-----BEGIN ENCRYPTED TERSE PKG SECRET-----"));
    pkg(&pki, "public --pkg @pkg").refused(1, &["--passphrase-file"]);
    pkg(&pki, "public --pkg @pkg --passphrase-file @bad").refused(1, &["passphrase is wrong"]);
    let before = pkg(&pki, "public --pkg @pkg --passphrase-file @good").object();
    assert_eq!((&before["algorithm"], &before["epoch"]), (&"id3dh-bls12381".into(), &1.into()));
    pkg(&pki, "rotate --pkg @pkg --passphrase-file @good").object();
    assert!(fs::read_to_string(pki.path("pkg/pkg.pem")).unwrap().contains("ENCRYPTED"));
    let after = pkg(&pki, "public --pkg @pkg --passphrase-file @good").object();
    assert_eq!(after["epoch"], 2);
    assert_ne!(after["authority"], before["authority"]);
}

/// RFC 7468, 2: files with keys, secrets and lists are read as editors leave them.
#[test]
fn files_are_read_as_editors_leave_them() {
    type Edit = fn(&str) -> String;
    let pki = world("id3dh-ristretto255");
    pki.write("pass", "\u{feff}correct horse\r\n");
    pkg(&pki, "init --out @encrypted --passphrase-file @pass").object();
    let files = ["client.id", "pkg/pkg.pem", "encrypted/pkg.pem"];
    let files = files.map(|file| (file, fs::read_to_string(pki.path(file)).unwrap()));
    let server = server(&pki, "");
    let edits: [(&str, Edit); 4] = [
        ("blanks at line ends", |pem| pem.replace('\n', " \n")),
        ("blank lines at the end", |pem| format!("{pem}\n\n")),
        ("a byte order mark, and other line ends", |pem| format!("\u{feff}{}", pem.replace('\n', "\r\n"))),
        ("text around it", |pem| {
            format!("of the device in the cellar, not ENCRYPTED TERSE PKG SECRET\n{pem}until May\n")
        }),
    ];
    for (what, edit) in edits {
        for (file, pem) in &files {
            pki.write(file, &edit(pem));
        }
        let outcome = client(&pki, &server, "");
        assert_eq!(outcome.code, Some(0), "{what}: {outcome:#?}");
        check(&outcome.object(), &server.report());
        pkg(&pki, "public --pkg @pkg").object();
        pkg(&pki, "public --pkg @encrypted --passphrase-file @pass").object();
    }
    pki.write("denied", &format!("\u{feff}# lost in May\r\n\r\n  dns:{SERVER} \t\r\n\r\n"));
    let refused = client(&pki, &server, "--deny @denied");
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    pki.write("pkg/pkg.pem", &files[1].1[..files[1].1.len() / 2]);
    pkg(&pki, "public --pkg @pkg").refused(1, &["pkg.pem", "ends within a PEM block"]);
    pki.write("encrypted/pkg.pem", &files[2].1[..files[2].1.len() / 2]);
    pkg(&pki, "public --pkg @encrypted --passphrase-file @pass").refused(1, &["pkg.pem", "ends within a PEM block"]);
}

/// A file cannot make its reader work for minutes.
#[test]
fn a_secret_with_too_many_iterations_is_refused() {
    let pki = Pki::with_chain("ed25519x2");
    pki.write("good", "correct horse\n");
    pkg(&pki, "init --out @pkg --passphrase-file @good").object();
    let text = fs::read(pki.path("pkg/pkg.pem")).unwrap();
    let (label, mut der) = pem_rfc7468::decode_vec(&text).unwrap();
    // INTEGER 600,000, and 8,388,607 in its place.
    let (iterations, more) = ([2, 3, 0x09, 0x27, 0xc0], [2, 3, 0x7f, 0xff, 0xff]);
    let place = der.windows(5).position(|window| window == iterations).unwrap();
    der[place..place + 5].copy_from_slice(&more);
    let text = pem_rfc7468::encode_string(label, pem_rfc7468::LineEnding::LF, &der).unwrap();
    pki.write("pkg/pkg.pem", &text);
    pkg(&pki, "public --pkg @pkg --passphrase-file @good").refused(1, &["5,000,000 iterations"]);
}

#[cfg(unix)]
#[test]
fn secrets_are_for_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let pki = world("id3dh-ristretto255");
    for (file, mode) in [("pkg/pkg.pem", 0o600), ("client.id", 0o600), ("pkg/parameters.pem", 0o644)] {
        assert_eq!(fs::metadata(pki.path(file)).unwrap().permissions().mode() & 0o777, mode, "{file}");
    }
}

#[test]
fn wrong_use_is_explained() {
    let pki = world("id3dh-ristretto255");
    pkg(&pki, "init --out @pkg").refused(1, &["exists"]);
    pkg(&pki, "init --algorithm rsa").refused(2, &["id3dh-ristretto255"]);
    pkg(&pki, "public --pkg @nowhere").refused(1, &["terse pkg init"]);
    pkg(&pki, "extract sensor --pkg @pkg").refused(2, &["dns:NAME"]);
    pkg(&pki, "extract eui64:12 --pkg @pkg").refused(2, &["16 hexadecimal digits"]);
    pkg(&pki, &format!("extract {DEVICE} --pkg @pkg --out @client.id")).refused(1, &["exists"]);
    pkg(&pki, &format!("extract {DEVICE} --pkg @pkg --with nobody")).refused(2, &["no such file"]);
    pkg(&pki, "deny device:x --remove --pkg @pkg").refused(1, &["not on the list"]);
    let always = "client --connect 127.0.0.1:1 --json --identity-key @client.id";
    run(pki.command(always, "--tls 1.2")).refused(2, &["--tls 1.3"]);
    pki.write("key.psk", &"0".repeat(64));
    run(pki.command(always, "--psk-identity a --psk-file @key.psk")).refused(2, &["--psk-identity"]);
    run(pki.command(always, "--hedge")).refused(2, &["--ca"]);
    run(pki.command(always, "--identity-key @server.id")).refused(2, &["once"]);
    run(pki.command("client --connect 127.0.0.1:1 --identity-key @ca.pem", "")).refused(1, &["TERSE IDENTITY KEY"]);
    run(pki.command("client --connect 127.0.0.1:1 --identity-key @pkg/pkg.pem", ""))
        .refused(1, &["TERSE IDENTITY KEY"]);
    pki.write("bad.txt", "device:x\nsensor\n");
    run(pki.command(always, "--deny @bad.txt")).refused(1, &["line 2", "dns:NAME"]);
    let key = fs::read_to_string(pki.path("client.id")).unwrap();
    pki.write("cut.id", &key[..key.len() - 60]);
    run(pki.command("client --connect 127.0.0.1:1 --identity-key @cut.id", "")).refused(1, &["cut.id"]);
}

/// Passes everything on between a client and `server`, one connection, and counts the bytes in both directions.
struct Relay {
    address: String,
    bytes: std::thread::JoinHandle<usize>,
}

impl Relay {
    fn tcp(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = server.to_owned();
        let bytes = std::thread::spawn(move || {
            let client = listener.accept().unwrap().0;
            let server = TcpStream::connect(server).unwrap();
            let count = |mut from: TcpStream, mut to: TcpStream| {
                std::thread::spawn(move || {
                    let bytes = std::io::copy(&mut from, &mut to).unwrap_or_default() as usize;
                    let _ = to.shutdown(Shutdown::Write); // it may be gone already
                    bytes
                })
            };
            let up = count(client.try_clone().unwrap(), server.try_clone().unwrap());
            let down = count(server, client);
            up.join().unwrap() + down.join().unwrap()
        });
        Self { address, bytes }
    }

    /// Ends when so many bytes have passed, and nothing more came for a while.
    fn udp(server: &str, expected: usize) -> Self {
        let (front, back) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = front.local_addr().unwrap().to_string();
        back.connect(server).unwrap();
        let bytes = std::thread::spawn(move || {
            let (mut bytes, mut client, mut quiet) = (0, None, 0);
            let mut buffer = [0; 2048];
            for socket in [&front, &back] {
                socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            }
            let patience = Patience::new();
            while bytes < expected || quiet < 25 {
                patience.wait(bytes);
                quiet += 1;
                if let Ok((len, from)) = front.recv_from(&mut buffer) {
                    (client, quiet) = (Some(from), 0);
                    bytes += back.send(&buffer[..len]).unwrap();
                }
                if let (Ok(len), Some(client)) = (back.recv(&mut buffer), client) {
                    quiet = 0;
                    bytes += front.send_to(&buffer[..len], client).unwrap();
                }
            }
            bytes
        });
        Self { address, bytes }
    }
}

/// The bytes of docs/identity.md, counted by somebody outside: those of the handshake, and of close_notify in both
/// directions.
#[test]
fn a_relay_counts_the_bytes_of_the_page() {
    for (algorithm, expected) in
        [("id3dh-ristretto255", [394, 330, 817, 721]), ("id3dh-bls12381", [362, 362, 769, 769])]
    {
        let pki = Pki::with_chain("ed25519x2");
        pkg(&pki, &format!("init --algorithm {algorithm} --out @pkg")).object();
        extract(&pki, "device:broker01", "server.id", "");
        extract(&pki, DEVICE, "client.id", "");
        let always = "--tls 1.3 --suite TLS_AES_128_GCM_SHA256 --json";
        for (transport, expected) in [("", &expected[..2]), ("--dtls", &expected[2..])] {
            // A busy machine sends nothing twice then.
            let patient = if transport.is_empty() { "" } else { "--initial-timeout 30000" };
            // An alert in its record: 24 bytes of TLS 1.3; in DTLS 1.3 the header has 2 bytes, and there is no version.
            let close = if transport.is_empty() { 24 } else { 21 };
            let server = Server::start(pki.command(
                "server --listen 127.0.0.1:0 --identity-key @server.id --identity-file @server.peers",
                &format!("{always} {transport} {patient}"),
            ));
            for expected in expected {
                let all = *expected as usize + 2 * close;
                let relay =
                    if transport.is_empty() { Relay::tcp(&server.address) } else { Relay::udp(&server.address, all) };
                let client = format!(
                    "client --connect {} --identity-key @client.id --identity-file @client.peers{} {always} {transport} {patient} \
                     --peer-identity device:broker01",
                    relay.address,
                    transport.trim()
                );
                let object = run(pki.command(&client, "")).object();
                let [sent, received] = ["sent", "received"].map(|way| object[way]["record_bytes"].as_u64().unwrap());
                assert_eq!(sent + received, *expected, "{algorithm} {transport}: {object}");
                assert_eq!(relay.bytes.join().unwrap(), all, "{algorithm} {transport}");
            }
        }
    }
}
