//! The length of chains: what the command makes, path validation takes.

use crate::common::{Pki, run, terse};

#[test]
fn the_longest_chain_works_in_a_handshake() {
    let pki = Pki::new(); // for its directory
    let pki_command = |words: &str| {
        let outcome = run(pki.command("pki", words));
        assert_eq!(outcome.code, Some(0), "{words}: {outcome:#?}");
    };
    pki_command("init --chain 8 --out @long");
    pki_command("issue broker.plant.example --server --ca @long --out @long");
    pki_command("issue sensor17.plant.example --client --ca @long --out @long");
    let server = pki.command(
        "server --listen 127.0.0.1:0 --json --require-client-cert --client-ca @long/ca.pem",
        "--cert @long/broker.plant.example.pem --key @long/broker.plant.example.key --max-connections 1",
    );
    let server = crate::common::Server::start(server);
    let client = format!("client --connect {} --server-name broker.plant.example --ca @long/ca.pem", server.address);
    let credential = "--cert @long/sensor17.plant.example.pem --key @long/sensor17.plant.example.key --json";
    let report = run(pki.command(&client, credential)).object();
    assert_eq!(report["signatures_verified"], 7, "{report}");
    assert_eq!(server.report()["signatures_verified"], 7);
    let report = run(pki.command("compare --certificates p256x8 --mode full --runs 1 --tls 1.3 --json", ""));
    assert!(!report.objects().is_empty());
}

#[test]
fn a_longer_chain_is_refused_by_its_option() {
    let folder = tempfile::tempdir().unwrap();
    for (words, reason) in [
        ("pki init --chain 9 --out new", "2..=8"),
        ("masa init --chain 9 --out new", "2..=8"),
        ("demo --chain 9", "2..=8"),
        ("compare --certificates p256x9", "from 2 to 8"),
        ("compare --server-certificates p256x9", "from 2 to 8"),
    ] {
        let mut command = terse();
        command.args(words.split_whitespace()).current_dir(folder.path());
        let outcome = run(command);
        assert_eq!(outcome.code, Some(2), "{words}: {outcome:#?}");
        assert!(outcome.stderr.contains(reason), "{words}: {}", outcome.stderr);
    }
    assert!(!folder.path().join("new").exists());
}
