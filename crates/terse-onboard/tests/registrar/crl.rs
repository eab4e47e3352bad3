//! The list of revoked certificates that the registrar's own CA signs.

use std::fs;
use std::net::SocketAddr;

use pki_types::{CertificateDer, CertificateRevocationListDer};
use terse_brski::est::CsrAttributes;
use terse_net::Clock;
use terse_onboard::client::Incoming;
use terse_onboard::registrar::{OperatorError, Revoker, Service};
use terse_pki::{Authority, Revocation, RevocationReason, Validity};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use x509_cert::crl::CertificateList;
use x509_cert::der::Decode as _;

use super::exposition::Scrape;
use super::world::{Device, Running, SERIAL, World, ahead, certificate, now, refused};
use crate::deadline::{Deadline, soon};

const DAY: u64 = 86_400;

const PATH: &str = "/crl/domain.crl";

impl World {
    /// The same domain with further keys in `[enrolment]`, whose list is served.
    fn with_list(self, keys: &str) -> Self {
        self.change("ca = \"ca\"", &format!("ca = \"ca\"\ncrl_listen = \"127.0.0.1:0\"\n{keys}"));
        self
    }

    fn ca(&self) -> Authority {
        Authority::load(&self.folder.path().join("registrar/ca")).unwrap()
    }

    /// Reads a list as those do who verify certificates by it.
    fn listed(&self, crl: &[u8]) -> List {
        let crl = CertificateRevocationListDer::from(crl.to_vec());
        let (issuer, entries) = self.ca().read_crl(&crl).unwrap();
        assert_eq!(issuer, 1, "the CA that issues");
        let list = <CertificateList>::from_der(&crl).unwrap().tbs_cert_list;
        let extensions = list.crl_extensions.unwrap();
        let number = extensions.iter().find(|one| one.extn_id.to_string() == "2.5.29.20").unwrap();
        let [2, _, digits @ ..] = number.extn_value.as_bytes() else { panic!("no INTEGER") };
        let number = digits.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let next_update = list.next_update.unwrap().to_date_time().unix_duration().as_secs();
        List { entries, number, next_update }
    }
}

/// What a list says.
struct List {
    entries: Vec<Revocation>,
    number: u64,
    next_update: u64,
}

impl List {
    fn has(&self, certificate: &CertificateDer<'_>) -> bool {
        let wanted = Revocation::new(certificate, 0).unwrap();
        self.entries.iter().any(|entry| entry.same_certificate(&wanted))
    }
}

/// An answer of the listener.
struct Answer {
    status: String,
    head: String,
    body: Vec<u8>,
}

/// Sends a request, and returns what comes until the connection ends.
async fn send(address: SocketAddr, request: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(request.as_bytes()).await; // it may be cut off
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await;
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().to_owned();
    Some(Answer { status, head: head.to_ascii_lowercase(), body: answer[end + 4..].to_vec() })
}

async fn get(address: SocketAddr, method: &str, path: &str, fields: &str) -> Answer {
    send(address, &format!("{method} {path} HTTP/1.1\r\nHost: plant\r\n{fields}\r\n")).await.unwrap()
}

/// The list as it is served.
async fn served(registrar: &Running) -> Vec<u8> {
    let answer = get(registrar.crl.unwrap(), "GET", PATH, "").await;
    assert_eq!(answer.status, "200", "{}", answer.head);
    answer.body
}

/// The list once it has a certificate.
async fn served_with(world: &World, registrar: &Running, certificate: &CertificateDer<'_>) -> Vec<u8> {
    let deadline = Deadline::new();
    loop {
        let crl = served(registrar).await;
        let list = world.listed(&crl);
        if list.has(certificate) {
            return crl;
        }
        deadline.wait((list.number, list.entries.len())).await;
    }
}

async fn renewal(device: &Device, registrar: &Running, ldevid: &CertificateDer<'static>) -> Incoming {
    let mut member = device.connect_with(registrar, ldevid).await;
    let request = device.certification_request(&CsrAttributes::default());
    member.enroll("simplereenroll", &request).await
}

#[tokio::test]
async fn a_revoked_device_is_refused_at_once_and_listed() {
    let world = World::new().await.with_list("");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let (ldevid, other) = (device.enrol(&registrar).await, world.device("WI-3006").enrol(&registrar).await);
    let first = world.listed(&served(&registrar).await);
    assert!(first.entries.is_empty() && first.next_update > now().as_secs() + 7 * DAY - 600);
    let renewed = certificate(&renewal(&device, &registrar, &ldevid).await);

    let operator = world.operator().await;
    assert!(matches!(operator.revoker(), Revoker::Registrar(..)));
    assert_eq!(operator.certificates(SERIAL, "maker").await.unwrap(), 2);
    let reason = Some(RevocationReason::KeyCompromise);
    let revoked = operator.revoke(SERIAL, Some("maker"), reason).await.unwrap();
    assert!(
        operator.devices().await.unwrap().iter().all(|device| device.is_revoked == (device.serial_number == SERIAL))
    );
    assert_eq!((&*revoked.manufacturer, revoked.revoked, revoked.earlier, revoked.foreign), ("maker", 2, 0, 0));
    assert_eq!(operator.certificates(SERIAL, "maker").await.unwrap(), 0);
    for ldevid in [&ldevid, &renewed] {
        refused(&renewal(&device, &registrar, ldevid).await, 403, "the certificate of the device was revoked");
    }
    let mut pledge = device.connect(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "an LDevID of the device is revoked");
    let again = operator.revoke(SERIAL, None, None).await.unwrap();
    assert_eq!((again.revoked, again.earlier), (0, 2));

    let crl = served_with(&world, &registrar, &renewed).await;
    let list = world.listed(&crl);
    assert!(list.has(&ldevid) && !list.has(&other) && list.entries.len() == 2);
    assert!(list.entries.iter().all(|entry| entry.reason() == reason));
    assert!(list.number > first.number, "{} after {}", list.number, first.number);
    let signed = operator.crl().await.unwrap();
    assert_eq!((&signed.der, signed.number, signed.next_update), (&crl, list.number, list.next_update));

    // An operator may let it in again; what is revoked stays so.
    world.operator_at(ahead(60)).await.accept(SERIAL, None).await.unwrap();
    let anew = certificate(&pledge.enroll("simpleenroll", &request).await);
    certificate(&renewal(&device, &registrar, &anew).await);
    refused(&renewal(&device, &registrar, &ldevid).await, 403, "revoked");
    registrar.stop().await;
}

#[tokio::test]
async fn replicas_serve_the_same_list_and_refuse_what_one_has_revoked() {
    let world = World::new().await.with_list("");
    let (one, other) = (world.start().await, world.start().await);
    assert_eq!(served(&one).await, served(&other).await);
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&one).await;
    certificate(&renewal(&device, &other, &ldevid).await);
    world.operator().await.revoke(SERIAL, None, None).await.unwrap();
    for registrar in [&one, &other] {
        refused(&renewal(&device, registrar, &ldevid).await, 403, "the certificate of the device was revoked");
    }
    let lists = [served_with(&world, &one, &ldevid).await, served_with(&world, &other, &ldevid).await];
    assert_eq!(lists[0], lists[1]);
    assert_eq!(world.count("crls").await, 1);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_list_is_signed_anew_at_half_its_time() {
    let world = World::new().await.with_list("crl_days = 8");
    let mut lists = Vec::new();
    for days in [0, 3, 5] {
        let registrar = world.start_at(ahead(days * DAY)).await;
        lists.push(served(&registrar).await);
        registrar.stop().await;
    }
    assert_eq!(lists[0], lists[1]);
    let [first, last] = [0, 2].map(|place| world.listed(&lists[place]));
    assert!(last.number > first.number);
    assert!((first.next_update + 4 * DAY..first.next_update + 6 * DAY).contains(&last.next_update));
}

#[tokio::test]
async fn what_is_revoked_is_listed_until_after_its_end() {
    let world = World::new().await.with_list("days = 10\ncrl_days = 2");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    world.operator().await.revoke(SERIAL, None, None).await.unwrap();
    registrar.stop().await;
    for (days, is_listed, rows) in [(9, true, 1), (11, true, 1), (13, true, 0), (15, false, 0)] {
        let registrar = world.start_at(ahead(days * DAY)).await;
        assert_eq!(world.listed(&served(&registrar).await).has(&ldevid), is_listed, "after {days} days");
        // The chores are done in between.
        world.until_count("revoked", rows).await;
        let mut pledge = device.connect(&registrar).await;
        let request = device.certification_request(&CsrAttributes::default());
        refused(&pledge.enroll("simpleenroll", &request).await, 403, "an LDevID of the device is revoked");
        registrar.stop().await;
    }
}

#[tokio::test]
async fn what_crl_pem_lists_is_listed_and_a_late_crl_pem_stops_no_renewal() {
    let world = World::new().await.with_list("");
    let registrar = world.start().await;
    let (device, other) = (world.device(SERIAL), world.device("WI-3006"));
    let (ldevid, good) = (device.enrol(&registrar).await, other.enrol(&registrar).await);
    let (ca, folder) = (world.ca(), world.folder.path().join("registrar/ca"));
    let (begin, end) = (now().as_secs() - DAY, now().as_secs() - 3_600);
    ca.revoke(&folder, std::slice::from_ref(&ldevid), Validity { not_before: begin, not_after: end }).unwrap();
    refused(&renewal(&device, &registrar, &ldevid).await, 403, "the certificate of the device was revoked");
    certificate(&renewal(&other, &registrar, &good).await);
    let crl = served_with(&world, &registrar, &ldevid).await;
    assert_eq!(world.listed(&crl).entries.len(), 1);
    registrar.stop().await;
    // Another replica may have no such file.
    fs::remove_file(folder.join("crl.pem")).unwrap();
    let registrar = world.start().await;
    refused(&renewal(&device, &registrar, &ldevid).await, 403, "the certificate of the device was revoked");
    let mut pledge = device.connect(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "an LDevID of the device is revoked");
    assert_eq!(served(&registrar).await, crl);
    registrar.stop().await;
}

#[tokio::test]
async fn the_listener_answers_the_list_and_nothing_else() {
    let world = World::new().await.with_list("");
    let registrar = world.start().await;
    let address = registrar.crl.unwrap();
    let answer = get(address, "GET", PATH, "").await;
    let number = world.listed(&answer.body).number;
    for field in [
        "content-type: application/pkix-crl".to_owned(),
        format!("content-length: {}", answer.body.len()),
        format!("etag: \"{number}\""),
        "cache-control: max-age=60".to_owned(),
    ] {
        assert!(answer.head.lines().any(|line| line == field), "{field:?} in {:?}", answer.head);
    }
    let head = get(address, "HEAD", PATH, "").await;
    assert_eq!((head.status.as_str(), head.body.len()), ("200", 0));
    assert!(head.head.contains(&format!("content-length: {}", answer.body.len())), "{}", head.head);
    for (known, status) in [
        (format!("\"{number}\""), "304"),
        (format!("\"1\", W/\"{number}\""), "304"),
        ("*".into(), "304"),
        ("\"1\"".into(), "200"),
        (format!("{number}"), "200"),
    ] {
        let answer = get(address, "GET", PATH, &format!("If-None-Match: {known}\r\n")).await;
        assert_eq!(answer.status, status, "{known}");
        assert_eq!(answer.body.is_empty(), status == "304");
    }
    for (method, path, fields, status) in [
        ("POST", PATH, "Content-Length: 0\r\n", "405"),
        ("GET", "/", "", "404"),
        ("GET", "/crl/", "", "404"),
        ("GET", "/crl/other.crl", "", "404"),
        ("GET", "/health", "", "404"),
        ("GET", "/metrics", "", "404"),
        ("GET", "/.well-known/est/cacerts", "", "404"),
    ] {
        assert_eq!(get(address, method, path, fields).await.status, status, "{method} {path}");
    }
    assert_eq!(send(address, "garbage\r\n\r\n").await.unwrap().status, "400");
    // A head that does not end is cut off.
    let long = format!("GET {PATH} HTTP/1.1\r\nX: {}", "a".repeat(100_000));
    assert!(send(address, &long).await.is_none_or(|answer| answer.status == "431"));

    // Those that say nothing have a number of connections, and make room for others of the same address.
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(address).await.unwrap());
        assert_eq!(get(address, "GET", PATH, "").await.status, "200");
    }
    drop(silent);
    registrar.stop().await;
}

#[tokio::test]
async fn while_no_list_can_be_stored_the_last_one_goes_on() {
    let world = World::new().await.with_list("");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    let crl = served(&registrar).await;
    let database = world.database().await;
    sqlx::query("ALTER TABLE crls RENAME TO gone").execute(&database).await.unwrap();
    certificate(&renewal(&device, &registrar, &ldevid).await);
    assert_eq!(served(&registrar).await, crl);
    let second = world.start().await;
    let answer = get(second.crl.unwrap(), "GET", PATH, "").await;
    assert_eq!(answer.status, "503", "it has none");
    certificate(&renewal(&device, &second, &ldevid).await);
    second.stop().await;
    registrar.stop().await;
    sqlx::query("ALTER TABLE gone RENAME TO crls").execute(&database).await.unwrap();
    let registrar = world.start().await;
    assert_eq!(served(&registrar).await, crl);
    registrar.stop().await;
}

#[tokio::test]
async fn an_ldevid_says_where_the_list_is_only_if_that_is_configured() {
    let url = "http://registrar.plant.example:8080/crl/domain.crl";
    let says = |certificate: &CertificateDer<'_>| certificate.windows(url.len()).any(|part| part == url.as_bytes());
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    assert!(registrar.crl.is_none() && !says(&ldevid));
    registrar.stop().await;
    let world = world.with_list(&format!("crl_url = \"{url}\""));
    let registrar = world.start().await;
    let renewed = certificate(&renewal(&device, &registrar, &ldevid).await);
    assert!(says(&renewed) && says(&world.device("WI-3006").enrol(&registrar).await));
    registrar.stop().await;
}

#[tokio::test]
async fn a_reload_keeps_the_list_and_another_address_waits() {
    let world = World::new().await.with_list("");
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let crl = served(&registrar).await;
    let database = world.database().await;
    sqlx::query("ALTER TABLE crls RENAME TO gone").execute(&database).await.unwrap();
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    assert_eq!(served(&registrar).await, crl, "it is not read again");
    world.change("crl_listen = \"127.0.0.1:0\"", "crl_listen = \"127.0.0.2:0\"");
    assert_eq!(reloader.reload().unwrap(), ["enrolment.crl_listen"]);
    assert_eq!(served(&registrar).await, crl);
    sqlx::query("ALTER TABLE gone RENAME TO crls").execute(&database).await.unwrap();
    registrar.stop().await;
}

/// So an operator has a list that lasts as long as the certificates of a CA that is about to be replaced.
#[tokio::test]
async fn a_list_of_more_days_is_signed_at_a_reload_and_stays_with_fewer() {
    let world = World::new().await.with_list("crl_days = 7");
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let first = world.listed(&served(&registrar).await).next_update;
    world.change("crl_days = 7", "crl_days = 400");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    let deadline = Deadline::new();
    let longer = loop {
        let end = world.operator().await.crl().await.unwrap().next_update;
        if end != first {
            break end;
        }
        deadline.wait(end).await;
    };
    assert!((first + 392 * DAY..first + 394 * DAY).contains(&longer));
    world.change("crl_days = 400", "crl_days = 7");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    registrar.stop().await;
    let registrar = world.start().await; // it looks whether the list is due
    assert_eq!(world.listed(&served(&registrar).await).next_update, longer);
    registrar.stop().await;
}

#[tokio::test]
async fn the_end_of_the_list_is_measured() {
    let world = World::new().await.with_list("crl_days = 30");
    world.change(
        "listen = \"127.0.0.1:0\"\nnames",
        "health = \"127.0.0.1:0\"\nmetrics = true\nlisten = \"127.0.0.1:0\"\nnames",
    );
    let registrar = world.start().await;
    let end = world.listed(&served(&registrar).await).next_update;
    let scrape = Scrape::of(registrar.health.unwrap()).await;
    assert_eq!(scrape.value("terse_crl_end_timestamp_seconds{issuer=\"domain-ca\"}"), end as f64);
    registrar.stop().await;
}

#[tokio::test]
async fn what_is_wrong_about_the_list_is_said() {
    let keys = |keys: &'static str| async move {
        let world = World::new().await.with_list(keys);
        let Err(error) = Service::open(&world.config(), Clock::new()).await else { panic!("{keys}") };
        error.to_string()
    };
    assert!(keys("crl_days = 0").await.contains("crl_days is 0"));
    assert!(
        keys("crl_url = \"https://plant.example/crl\"").await.contains("crl_url: \"https://plant.example/crl\" is no")
    );
    let world = World::new().await.with_list("");
    world.change("ca = \"ca\"", "est_server = { url = \"https://est.example\", anchors = \"manufacturer-ca.pem\" }");
    let Err(error) = Service::open(&world.config(), Clock::new()).await else { panic!("two CAs") };
    assert!(error.to_string().contains("crl_listen and crl_url are for a CA of the registrar"), "{error}");
}

#[tokio::test]
async fn an_operator_revokes_what_the_own_ca_has_issued() {
    let world = World::new().await.with_list("");
    let registrar = world.start().await;
    let operator = world.operator().await;
    assert!(matches!(operator.revoke(SERIAL, None, None).await, Err(OperatorError::Unknown(_))));
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let none = operator.revoke(SERIAL, None, None).await.unwrap();
    assert_eq!((none.revoked, none.earlier, none.foreign), (0, 0, 0));
    let request = device.certification_request(&CsrAttributes::default());
    certificate(&pledge.enroll("simpleenroll", &request).await); // it is not kept out
    assert!(matches!(operator.revoke(SERIAL, Some("other"), None).await, Err(OperatorError::Unknown(_))));
    registrar.stop().await;

    // Another CA takes its place, and an EST server that of this one.
    let ca = world.folder.path().join("registrar/ca");
    super::world::authority("Next").save(&ca, true).unwrap();
    let foreign = world.operator().await.revoke(SERIAL, None, None).await.unwrap();
    assert_eq!((foreign.revoked, foreign.earlier, foreign.foreign), (0, 0, 1));
    assert!(matches!(world.operator().await.crl().await, Err(OperatorError::NoCrl)));
    world.change(
        "ca = \"ca\"\ncrl_listen = \"127.0.0.1:0\"",
        "est_server = { url = \"https://est.example\", anchors = \"manufacturer-ca.pem\" }",
    );
    let operator = world.operator().await;
    assert_eq!(operator.revoker(), &Revoker::EstServer);
    assert!(matches!(operator.revoke(SERIAL, None, None).await, Err(OperatorError::OtherCa)));
}
