//! `terse compare` is compared with a real kernel: the packets of `terse client` and `terse server` in two network
//! namespaces are captured, for the simulator's certificates, versions, modes and MTUs.
//!
//! The test needs root, to make the namespaces, and Debian's iproute2, ethtool and tcpdump. Without them it says so and
//! is skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

mod agreement;
mod namespaces;
mod traffic;

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::common::{CLIENT, Patience, SAFETY_LIMIT, SERVER, Server, lines, run, terse};
use agreement::Agreement;
use namespaces::{Background, End, INTERFACE, Link};
use serde_json::Value;
use traffic::Traffic;

const MTUS: [u16; 3] = [1500, 576, 127];
const VERSIONS: [&str; 2] = ["1.2", "1.3"];
const MODES: [&str; 4] = ["full", "bithac", "compact", "resumed"];

/// The algorithms that `terse compare` chooses for RSA certificates of its own.
const ALGORITHMS: &str = "--suite TLS_AES_128_GCM_SHA256 --suite TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 --group x25519 \
                          --sigalg rsa_pss_rsae_sha256 --sigalg rsa_pkcs1_sha256";

/// The most attempts at a connection that agrees: on a busy machine an acknowledgement may be late, so that TCP
/// retransmits.
const ATTEMPTS: usize = 5;

#[test]
fn the_simulator_agrees_with_the_kernel() {
    if let Err(reason) = Link::new(1500) {
        let required = std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1");
        assert!(!required, "no link between two network namespaces, which needs root: {reason}");
        println!("skipped: no link between two network namespaces, which needs root: {reason}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pki = directory.path();
    make_certificates(pki);
    let mut simulated = simulate(pki).into_iter();
    let mut differing = Vec::new();
    println!("kernel / simulator\n{}", agreement::HEADING);
    for version in VERSIONS {
        for mtu in MTUS {
            let link = Link::new(mtu).unwrap();
            for mode in MODES {
                let simulated = simulated.next().expect("a row of terse compare");
                let met = agreement(&link, pki, (version, mode), &simulated);
                println!("{}", met.row(&format!("TLS {version}"), mtu, mode));
                differing.extend(
                    met.difference().map(|difference| format!("TLS {version} {mode}, MTU {mtu}: {difference}")),
                );
            }
        }
    }
    assert!(differing.is_empty(), "the simulator does not send what the kernel sends:\n{}", differing.join("\n"));
}

/// Returns a real connection that agrees with `simulated`, or the last attempt.
fn agreement<'s>(link: &Link, pki: &Path, (version, mode): (&str, &str), simulated: &'s Traffic) -> Agreement<'s> {
    let mut met = Agreement { real: connect(link, pki, version, mode), simulated };
    for _ in 1..ATTEMPTS {
        if met.difference().is_none() {
            break;
        }
        met.real = connect(link, pki, version, mode);
    }
    met
}

/// A chain of three, as in BiTHaC, V-A.
fn make_certificates(pki: &Path) {
    let out = pki.to_str().unwrap();
    let terse = |words: &str| {
        let mut command = terse();
        command.args(words.split_whitespace());
        assert_eq!(run(command).code, Some(0), "{words}");
    };
    terse(&format!("pki init --algorithm rsa2048 --chain 3 --out {out}"));
    for name in [SERVER, CLIENT] {
        terse(&format!("pki issue {name} --ca {out} --out {out}"));
    }
}

/// Returns the simulator's connections of all versions, MTUs and modes, in this order.
fn simulate(pki: &Path) -> Vec<Traffic> {
    let file = pki.join("compare.pcapng");
    let (pki, pcapng) = (pki.display(), file.display());
    let mut command = terse();
    let options = format!(
        "compare --cert {pki}/{SERVER}.pem --key {pki}/{SERVER}.key --ca {pki}/ca.pem --server-name {SERVER} \
         --client-cert {pki}/{CLIENT}.pem --client-key {pki}/{CLIENT}.key {ALGORITHMS} --transport stream --runs 1 \
         --link ethernet --json --pcapng {pcapng}"
    );
    command.args(options.split_whitespace());
    command.args(VERSIONS.iter().flat_map(|version| ["--tls", version]));
    command.args(MODES.iter().flat_map(|mode| ["--mode", mode]));
    command.args(MTUS.iter().flat_map(|mtu| ["--mtu".to_owned(), mtu.to_string()]));
    let rows = run(command).objects();
    let captures = Traffic::of_compare(&file);
    assert_eq!((rows.len(), captures.len()), (VERSIONS.len() * MODES.len() * MTUS.len(), rows.len()));
    for (row, capture) in rows.iter().zip(&captures) {
        agreement::assert_describes(row, capture);
    }
    captures
}

/// Makes a real connection, after another where the mode needs one.
fn connect(link: &Link, pki: &Path, version: &str, mode: &str) -> Traffic {
    let kept = tempfile::tempdir().unwrap();
    let (files, directory) = (pki.display(), kept.path().display());
    let (cache, tickets) = match (mode, version) {
        ("resumed", "1.2") => ("off".to_owned(), "--stateful-tickets"),
        ("resumed", _) => ("off".to_owned(), ""),
        ("full", _) => ("off".to_owned(), "--no-tickets"),
        (cached, _) => (cached.to_owned(), "--no-tickets"),
    };
    let shared = format!("--tls {version} --cache {cache} --json");
    let in_namespace = |end, options: &str| {
        let mut command = link.command(end, env!("CARGO_BIN_EXE_terse"));
        let algorithms: Vec<_> = ALGORITHMS.split_whitespace().collect();
        let of_version = algorithms
            .chunks(2)
            .filter(|option| option[0] != "--suite" || option[1].contains("ECDHE") == (version == "1.2"));
        command.args(options.split_whitespace()).args(shared.split_whitespace()).args(of_version.flatten());
        command
    };
    let server = Server::start(in_namespace(
        End::Server,
        &format!(
            "server --listen {}:8883 --cert {files}/{SERVER}.pem --key {files}/{SERVER}.key --client-ca {files}/ca.pem \
             --require-client-cert --reply {REPLY} {tickets}",
            namespaces::SERVER
        ),
    ));
    let keeps = match mode {
        "full" => String::new(),
        "resumed" => format!("--resume-file {directory}/sessions"),
        _ => format!("--cache-file {directory}/cache"),
    };
    let client = || {
        let command = in_namespace(
            End::Client,
            &format!(
                "client --connect {} --server-name {SERVER} --ca {files}/ca.pem --cert {files}/{CLIENT}.pem \
                 --key {files}/{CLIENT}.key --send {REQUEST} --expect {} {keeps}",
                server.address,
                REPLY.len()
            ),
        );
        let report = run(command).object();
        server.report();
        report
    };
    if mode != "full" {
        client();
    }
    let file = kept.path().join("packets.pcap");
    let _tcpdump = Background(record(link, &file));
    let report: Value = client();
    assert_eq!(report["mode"], mode, "{report}");
    let patience = Patience::new();
    loop {
        let traffic = Traffic::of_tcpdump(&file);
        if traffic.is_over {
            return traffic;
        }
        patience.wait(traffic);
    }
}

/// Starts tcpdump, and waits until it listens.
fn record(link: &Link, file: &Path) -> std::process::Child {
    let mut command: Command = link.command(End::Client, "tcpdump");
    command.args(["-i", INTERFACE, "-U", "--immediate-mode", "-Z", "root", "-w"]).arg(file).arg("tcp");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = lines(child.stderr.take().unwrap());
    let mut said = Vec::new();
    while !said.last().is_some_and(|line: &String| line.contains("listening on")) {
        let line = lines.recv_timeout(SAFETY_LIMIT);
        said.push(line.unwrap_or_else(|error| panic!("tcpdump does not listen: {error}: {said:?}")));
    }
    thread::spawn(move || lines.into_iter().for_each(drop));
    child
}

/// The messages have the lengths of those of `terse compare`: 14 and 22 bytes.
const REQUEST: &str = "temperature=21";
const REPLY: &str = "noted:temperature=21:1";
