//! OCSP responses are stapled through the command line: by a server, for clients that require one, and from files that
//! change.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{self, Pki};
use serde_json::json;
use terse_pki::pki_types::CertificateDer;
use terse_pki::pki_types::pem::PemObject;
use terse_pki::{OcspOptions, OcspStatus};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Writes a response about the first certificate of `name.pem` to `name.ocsp`.
fn respond(pki: &Pki, name: &str, status: OcspStatus) {
    let leaf = CertificateDer::from_pem_file(pki.path(&format!("{name}.pem"))).unwrap();
    let options = OcspOptions { status, ..OcspOptions::good(now() - 3_600, 7) };
    fs::write(pki.path(&format!("{name}.ocsp")), pki.authority.ocsp_response(&leaf, &options).unwrap()).unwrap();
}

/// Sets a later time of modification: a second write within the same tick of the clock would not be seen.
fn touch(path: &Path, seconds: u64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(seconds)).unwrap();
}

#[test]
fn a_server_staples_and_a_client_insists() {
    let pki = Pki::new();
    respond(&pki, "server", OcspStatus::Good);
    for link in ["", "--dtls "] {
        for version in ["1.3", "1.2"] {
            let server = pki.server(&format!("{link}--tls {version} --echo --staple @server.ocsp"));
            let device = format!("{link}--tls {version} --send hello --expect 5");
            let objects = pki.client(&server, &format!("{device} --require-staple --repeat 3")).objects();
            let modes: Vec<_> = objects.iter().map(|object| object["mode"].as_str().unwrap()).collect();
            assert_eq!(modes, ["full", "compact", "compact"], "{link}{version}");
            assert!(objects.iter().all(|object| object["peer"]["staple"] == "good"), "{objects:?}");
            let object = pki.client(&server, &device).object();
            assert_eq!(object["peer"].get("staple"), None, "{object}");
        }
    }
}

#[test]
fn what_is_missing_is_explained() {
    let pki = Pki::new();
    let server = pki.server("--echo");
    let device = "--send hello --expect 5";
    let outcome = pki.client(&server, &format!("{device} --require-staple"));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("is missing, and one is required; have it staple one"), "{outcome:?}");
    assert_eq!(pki.client(&server, &format!("{device} --ask-staple")).object()["error"], json!(null));
}

/// Connects until the server has seen the change: over datagrams it looks about once a second.
fn eventually(pki: &Pki, server: &common::Server, options: &str, is_due: impl Fn(&common::Outcome) -> bool) {
    for _ in 0..1_000 {
        let outcome = pki.client(server, options);
        if is_due(&outcome) {
            return;
        }
    }
    panic!("the server never sees the change");
}

#[test]
fn a_file_that_changes_is_read_again() {
    let pki = Pki::new();
    for (link, start) in [("", 10), ("--dtls ", 110)] {
        respond(&pki, "server", OcspStatus::Good);
        let mut server = pki.server(&format!("{link}--echo --staple @server.ocsp"));
        let device = format!("{link}--send hello --expect 5 --require-staple");
        let is_good = |outcome: &common::Outcome| outcome.code == Some(0);
        let is_revoked = |outcome: &common::Outcome| outcome.code == Some(1) && outcome.stderr.contains("was revoked");
        assert_eq!(pki.client(&server, &device).object()["peer"]["staple"], "good");

        respond(&pki, "server", OcspStatus::Revoked(now() - 60));
        touch(&pki.path("server.ocsp"), start);
        eventually(&pki, &server, &device, is_revoked);
        respond(&pki, "server", OcspStatus::Good);
        touch(&pki.path("server.ocsp"), start + 10);
        eventually(&pki, &server, &device, is_good);

        // A file that cannot be used is reported, and the last response stays.
        fs::write(pki.path("server.ocsp"), b"half of a file").unwrap();
        touch(&pki.path("server.ocsp"), start + 20);
        for _ in 0..3 {
            assert!(is_good(&pki.client(&server, &device)));
        }
        if link.is_empty() {
            let stderr = server.end();
            assert_eq!(stderr.matches("the last good one is sent until it is out of date").count(), 1, "{stderr}");
        }
    }
}

#[test]
fn a_client_staples_where_the_server_insists() {
    let pki = Pki::new();
    respond(&pki, "client", OcspStatus::Good);
    let server = pki.server("--tls 1.3 --client-ca @ca.pem --require-client-cert --require-staple --echo");
    let device = "--cert @client.pem --key @client.key --send hello --expect 5";
    let objects = pki.client(&server, &format!("{device} --staple @client.ocsp --repeat 2")).objects();
    assert!(objects.iter().all(|object| object["error"].is_null()), "{objects:?}");
    for _ in 0..2 {
        assert_eq!(server.report()["peer"]["staple"], "good");
    }
    let outcome = pki.client(&server, device);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("bad_certificate_status_response"), "{outcome:?}");
}

#[test]
fn wrong_files_are_found_at_the_start() {
    let pki = Pki::new();
    respond(&pki, "client", OcspStatus::Good);
    fs::write(pki.path("garbage.ocsp"), b"garbage").unwrap();
    for (file, problem) in [
        ("client.ocsp", "is about another certificate"),
        ("garbage.ocsp", "is not a successful one in DER"),
        ("nowhere.ocsp", "cannot be read"),
    ] {
        let options = format!("--listen 127.0.0.1:0 --cert @server.pem --key @server.key --staple @{file}");
        let outcome = common::run(pki.command("server", &options));
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(file) && outcome.stderr.contains(problem), "{outcome:?}");
    }
    let outcome = common::run(
        pki.command("server", "--listen 127.0.0.1:0 --cert @server.pem --key @server.key --require-staple"),
    );
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}

/// The command alone leads from a CA in a directory to a connection.
#[test]
fn the_ca_of_the_command_answers_for_its_certificates() {
    let pki = Pki::new();
    let terse = |words: &str| common::run(pki.command(words, ""));
    assert_eq!(terse("pki init --out @plant").code, Some(0));
    assert_eq!(terse(&format!("pki issue {} --ca @plant --out @", common::SERVER)).code, Some(0));
    let (certificate, response) = (format!("@{}.pem", common::SERVER), format!("@{}.ocsp", common::SERVER));
    assert_eq!(terse(&format!("pki ocsp {certificate} --ca @plant")).code, Some(0));
    let serve = || {
        let options = format!("--cert {certificate} --key @{}.key --staple {response} --reply hi", common::SERVER);
        common::Server::start(pki.command("server --listen 127.0.0.1:0 --json", &options))
    };
    let connect = |server: &common::Server| {
        let always = format!("client --connect {} --server-name {} --ca @plant/ca.pem", server.address, common::SERVER);
        common::run(pki.command(&always, "--require-staple --expect 2 --json"))
    };
    assert_eq!(connect(&serve()).object()["peer"]["staple"], "good");

    assert_eq!(terse(&format!("pki revoke {certificate} --ca @plant")).code, Some(0));
    assert_eq!(terse(&format!("pki ocsp {certificate} --ca @plant")).code, Some(0));
    connect(&serve()).refused(1, &["was revoked"]);
    terse("pki ocsp @client.pem --ca @plant").refused(1, &["client.pem", "was not issued by this CA"]);
}
