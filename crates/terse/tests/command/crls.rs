//! Files of `--crl` change while the programs run: cached and resumed connections of revoked certificates end, and no
//! others.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Outcome, Pki, Server, now, validity};
use terse_pki::Revocation;

const CHECKING: &str = "--client-ca @ca.pem --require-client-cert --crl @leaves.crl --echo";
const DEVICE: &str = "--cert @client.pem --key @client.key --send hello --expect 5";

/// Writes the CRL of the CA that issues leaves. It revokes the certificate of `revoked`, if there is one.
fn write_crl(pki: &Pki, revoked: Option<&str>) {
    let leaf = |name: &str| terse_net::files::read_certificates(pki.path(&format!("{name}.pem"))).unwrap().remove(0);
    let revoked: Vec<_> = revoked.iter().map(|name| Revocation::new(&leaf(name), now()).unwrap()).collect();
    let crl = pki.authority.crl(1, &revoked, validity()).unwrap();
    pki.write("leaves.crl", &terse_pki::to_pem("X509 CRL", &crl));
}

/// Asserts that a client was served in this mode.
#[track_caller]
fn served(server: &Server, outcome: &Outcome, mode: &str) {
    assert_eq!((outcome.object()["mode"].as_str(), server.report()["mode"].as_str()), (Some(mode), Some(mode)));
}

#[track_caller]
fn refused(server: &Server, outcome: &Outcome) {
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let report = server.report();
    assert!(report["error"].as_str().unwrap().contains("was revoked"), "{report}");
    assert_eq!(report["fallback"], "certificate revoked");
}

#[test]
fn a_server_ends_what_a_changed_file_revokes() {
    for transport in ["", "--dtls --tls 1.2", "--dtls --tls 1.3"] {
        for (kept, mode) in [("--cache-file @client.cache", "compact"), ("--resume-file @client.sessions", "resumed")] {
            let pki = Pki::new();
            pki.issue("other", &terse_pki::LeafOptions::new("other.plant.example", validity()));
            write_crl(&pki, None);
            let server = pki.server(&format!("{CHECKING} {transport}"));
            let connect = || pki.client(&server, &format!("{DEVICE} {kept} {transport}"));
            served(&server, &connect(), "full");
            served(&server, &connect(), mode);
            write_crl(&pki, Some("other"));
            served(&server, &connect(), mode);
            write_crl(&pki, Some("client"));
            refused(&server, &connect());
            write_crl(&pki, None);
            connect().object();
            server.report();
            served(&server, &connect(), mode);
        }
    }
}

/// Each program makes one connection: the cache file has all that it must know of the intermediate CA.
#[test]
fn programs_of_one_connection_use_the_cache_as_well() {
    let pki = Pki::new();
    write_crl(&pki, None);
    let current = Arc::new(Mutex::new(String::new()));
    let address = relay(current.clone(), |_| {}); // both are at one port
    for expected in ["full", "compact", "compact"] {
        let server = pki.server(&format!("{CHECKING} --cache-file @server.cache"));
        current.lock().unwrap().clone_from(&server.address);
        let client = pki.client_at(&address, &format!("{DEVICE} --crl @leaves.crl --cache-file @client.cache"));
        served(&server, &client, expected);
    }
}

#[test]
fn a_file_that_is_damaged_or_gone_is_reported_once() {
    let pki = Pki::new();
    write_crl(&pki, None);
    let mut server = pki.server(CHECKING);
    let connect = || pki.client(&server, &format!("{DEVICE} --cache-file @client.cache"));
    served(&server, &connect(), "full");
    for damage in ["no CRL", "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n"] {
        pki.write("leaves.crl", damage);
        served(&server, &connect(), "compact");
        served(&server, &connect(), "compact");
    }
    fs::remove_file(pki.path("leaves.crl")).unwrap();
    served(&server, &connect(), "compact");
    served(&server, &connect(), "compact");
    write_crl(&pki, Some("client"));
    refused(&server, &connect());
    let stderr = server.end();
    let reports: Vec<_> = stderr.lines().filter(|line| line.contains("its last CRLs stay in force")).collect();
    assert_eq!(reports.len(), 3, "{stderr}");
    assert!(reports.iter().all(|line| line.contains("leaves.crl")), "{stderr}");
}

/// A file that is damaged at the start is an error.
#[test]
fn a_program_does_not_start_with_a_damaged_file() {
    let pki = Pki::new();
    write_crl(&pki, None);
    pki.write("second.crl", "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n");
    let server = pki.server("");
    pki.client(&server, "--crl @leaves.crl --crl @second.crl").refused(1, &["second.crl"]);
}

/// Starts a relay between client and server, which calls `on_connection` once the client has read its files.
fn relay(server: Arc<Mutex<String>>, mut on_connection: impl FnMut(usize) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for (number, client) in (1..).zip(listener.incoming().map_while(Result::ok)) {
            on_connection(number);
            let address = server.lock().unwrap().clone();
            let Ok(server) = TcpStream::connect(address) else { return };
            let pairs =
                [(&client, &server), (&server, &client)].map(|(a, b)| (a.try_clone().unwrap(), b.try_clone().unwrap()));
            for (from, to) in pairs {
                thread::spawn(move || copy(from, to));
            }
        }
    });
    address
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut chunk = [0; 4096];
    while let Ok(len @ 1..) = from.read(&mut chunk) {
        if to.write_all(&chunk[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn a_client_that_repeats_looks_at_its_file_each_time() {
    let pki = Pki::new();
    write_crl(&pki, None);
    let server = pki.server("--client-ca @ca.pem --require-client-cert --echo");
    let pki = Arc::new(pki);
    let files = pki.clone();
    let address = relay(Arc::new(Mutex::new(server.address.clone())), move |number| match number {
        1 => write_crl(&files, Some("client")),
        2 => write_crl(&files, None),
        _ => write_crl(&files, Some("server")),
    });
    let outcome = pki.client_at(&address, &format!("{DEVICE} --crl @leaves.crl --repeat 5"));
    outcome.refused(1, &["broker.plant.example was revoked"]);
    let lines = outcome.lines();
    let modes: Vec<_> = lines.iter().map(|line| line["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["full", "compact", "compact", "full"], "{outcome:#?}");
    assert_eq!(lines[3]["fallback"], "certificate revoked");
}
