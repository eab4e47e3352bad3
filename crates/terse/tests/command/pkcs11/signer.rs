//! The key in a process of its own, behind the socket of `p11-kit server`: it hangs, goes away and comes back.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::hsm::{self, Hsm, is_there, library, spy};
use super::place::Place;
use super::{CA, Service, run};
use crate::common::{SAFETY_LIMIT, connect, lines};

/// The signer process, which serves the token at `signer.sock`.
struct Signer(Child);

impl Signer {
    fn start(place: &Place) -> Self {
        let socket = place.path("signer.sock");
        let _ = fs::remove_file(&socket); // of one that was killed
        let mut command = Command::new("p11-kit");
        command.args(["server", "--foreground", "--provider"]).arg(hsm::module().unwrap()).arg("--name").arg(&socket);
        command.arg("pkcs11:token=plant").stdout(Stdio::piped()).process_group(0); // each client has a process
        place.hsm.configure(&mut command);
        let mut child = command.spawn().unwrap();
        let first = lines(child.stdout.take().unwrap()).recv_timeout(SAFETY_LIMIT).expect("p11-kit starts");
        assert!(first.contains("P11_KIT_SERVER_ADDRESS"), "{first}");
        Self(child)
    }

    /// Sends a signal to the signer and the processes for its clients.
    fn signal(&self, signal: &str) {
        let group = format!("-{}", self.0.id());
        let sent = Command::new("kill").args([signal, "--", &group]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        self.signal("-KILL");
        let _ = self.0.wait();
    }
}

/// Returns a place whose CA has its key behind a signer, if p11-kit is here, and the client's module.
fn place() -> Option<(Place, PathBuf)> {
    let client = library("pkcs11/p11-kit-client.so");
    let there = is_there(client.is_some() && Command::new("p11-kit").arg("--help").output().is_ok(), "p11-kit");
    let (hsm, client) = (Hsm::new()?, client.filter(|_| there)?);
    let place = Place::new(hsm);
    place.import(CA, "domain-ca");
    place.name_key(CA, "token=plant;object=domain-ca", hsm::PIN);
    name_module(&place, &client);
    Some((place, client))
}

fn name_module(place: &Place, module: &std::path::Path) {
    let uri = format!("pkcs11:token=plant;object=domain-ca?module-path={}&pin-source=pin", module.display());
    place.write_uri(CA, &uri);
}

fn with_signer(place: &Place, mut command: Command) -> Command {
    command.env("P11_KIT_SERVER_ADDRESS", format!("unix:path={}", place.path("signer.sock").display()));
    command
}

fn serve(place: &Place) -> Service {
    Service::start_with(with_signer(place, place.command("registrar --config plant/registrar.toml")))
}

/// Asks for the health of the registrar.
fn is_well(address: &str) -> bool {
    let mut stream = connect(address);
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.starts_with("HTTP/1.1 200 ")
}

#[test]
fn a_signer_that_hangs_or_is_away_holds_up_nobody_and_is_found_again() {
    let Some((place, _)) = place() else { return };
    let path = place.path("plant/registrar.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("health = \"127.0.0.1:0\"\n{text}")).unwrap();
    // Without the signer nothing starts, and the message says why.
    let check = || run(with_signer(&place, place.command("registrar check --config plant/registrar.toml")));
    check().refused(1, &["intermediate1.key-uri: ", "has no token", "start what is behind the module"]);
    let signer = Signer::start(&place);
    assert_eq!(check().code, Some(0));
    let registrar = serve(&place);
    let health = registrar.line();
    let health = health.trim().strip_prefix("health ").unwrap().to_owned();
    place.joins("WI-3005", &registrar.address);

    // It hangs: more devices are told to come again than signatures can be under way, and others are served.
    signer.signal("-STOP");
    let pledges: Vec<_> =
        (3006..3011).map(|serial| place.pledge(&format!("WI-{serial}"), &registrar.address)).collect();
    for _ in &pledges {
        registrar.log_until("the key of the CA does not answer in time");
    }
    let another = place.pledge("WI-3011", &registrar.address);
    registrar.log_until("a device gets a voucher serial_number=\"WI-3011\"");
    assert!(is_well(&health));
    signer.signal("-CONT");
    for pledge in pledges.into_iter().chain([another]) {
        pledge.joins();
    }

    // It is gone, and comes back as another process.
    drop(signer);
    let pledge = place.pledge("WI-3012", &registrar.address);
    let log = registrar.log_until("the key of the CA does not sign");
    assert!(log.contains("start what is behind the module") && !log.contains(hsm::PIN), "{log}");
    assert!(is_well(&health));
    let _signer = Signer::start(&place);
    pledge.joins();
}

/// The list is not signed in time, which the log says, and a signature of before the revocation gives no new certificate.
#[test]
fn what_is_revoked_while_the_signer_hangs_is_not_renewed() {
    let Some((place, _)) = place() else { return };
    let signer = Signer::start(&place);
    let registrar = serve(&place);
    place.joins("WI-3005", &registrar.address);
    let ldevid = || {
        let devices = place.registrar("devices --json").objects();
        let device = devices.iter().find(|device| device["serial_number"] == "WI-3005").unwrap();
        device["ldevid"].as_str().unwrap().to_owned()
    };
    let before = ldevid();
    signer.signal("-STOP");
    let _renewal = place.renew("WI-3005", &registrar.address);
    registrar.log_until("the key of the CA does not answer in time");
    place.ok("registrar revoke WI-3005 --config plant/registrar.toml");
    place.ok("registrar accept WI-3005 --config plant/registrar.toml");
    let log = registrar.log_until("the list of revoked certificates cannot be brought up to date");
    assert!(log.contains("the key of the CA does not answer in time"), "{log}");
    signer.signal("-CONT");
    place.joins("WI-3006", &registrar.address); // its signature comes after the late ones
    assert_eq!(ldevid(), before);
}

#[test]
fn a_registrar_ends_although_its_signer_hangs() {
    let Some((place, _)) = place() else { return };
    let signer = Signer::start(&place);
    let registrar = serve(&place);
    signer.signal("-STOP");
    let _pledge = place.pledge("WI-3005", &registrar.address);
    registrar.log_until("the key of the CA does not answer in time");
    assert_eq!(registrar.terminate(), Some(0));
}

#[test]
fn a_pin_that_was_changed_is_tried_once_while_the_registrar_serves() {
    let (Some((place, client)), Some(spy)) = (place(), spy()) else { return };
    name_module(&place, &spy);
    let signer = Signer::start(&place);
    let log = place.path("spy.log");
    let mut command = with_signer(&place, place.command("registrar --config plant/registrar.toml"));
    command.env("PKCS11SPY", client).env("PKCS11SPY_OUTPUT", &log);
    let registrar = Service::start_with(command);
    place.joins("WI-3005", &registrar.address);
    assert_eq!(hsm::logins(&log), 1);

    drop(signer);
    place.hsm.tool("--change-pin --new-pin 918273");
    let _signer = Signer::start(&place);
    let pledge = place.pledge("WI-3006", &registrar.address);
    for part in ["which was tried once", "is not tried again", "is not tried again"] {
        registrar.log_until(part);
    }
    assert_eq!(hsm::logins(&log), 2);
    place.write_pin("918273");
    assert!(registrar.hang_up().contains("was read again"));
    pledge.joins();
}
