//! Vouchers that are fetched in advance, and a MASA that is gone when the device comes (RFC 8995, 3.1 and 7.3).

use sqlx::Row as _;
use terse_brski::cms::Signed;
use terse_brski::digest::public_key_sha256;
use terse_brski::http::VOUCHER_CMS_JSON;
use terse_brski::masa::LogEntry;
use terse_brski::voucher::{Assertion, Pin, Voucher};
use terse_net::Clock;
use terse_onboard::registrar::{FetchError, FetchOptions, Fetched, OperatorError, Rejection, fetch};
use terse_pki::Authority;

use super::scripted_masa::{NONCELESS_LIFETIME, Script};
use super::world::{Device, PROVIDER, SERIAL, World, ahead, authority, now, refused};
use crate::deadline::{Deadline, soon};

async fn fetch_for(world: &World, serial: &str) -> Result<Fetched, FetchError> {
    fetch(&world.config(), Clock::new(), &FetchOptions::new(serial.into())).await
}

fn voucher(body: &[u8]) -> Voucher {
    Voucher::from_json(&Signed::verify(&PROVIDER, body, &[]).unwrap().content).unwrap()
}

/// What somebody else has had in the name of this domain.
fn forged(world: &World, seconds: u64, nonce: Option<&str>) -> LogEntry {
    let root = Authority::load(&world.folder.path().join("registrar/ca")).unwrap().root().clone();
    LogEntry {
        date: ahead(seconds).now().unix.unwrap(),
        domain_id: terse_brski::certificate::domain_id(&PROVIDER, &root).unwrap(),
        key: public_key_sha256(&PROVIDER, &root).unwrap(),
        nonce: nonce.map(|nonce| terse_brski::voucher::Nonce::new(nonce.as_bytes()).unwrap()),
        assertion: Assertion::Logged,
    }
}

#[tokio::test]
async fn a_device_joins_with_a_fetched_voucher_when_the_masa_is_gone() {
    let world = World::new().await;
    world.masa.know_customer();
    let fetched = fetch_for(&world, SERIAL).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((fetched.manufacturer.as_str(), fetched.audit.as_str()), ("maker", "good"));
    let end = fetched.expires_on.unwrap();
    assert!(end.abs_diff(now().as_secs() + NONCELESS_LIFETIME) < 600 || end < now().as_secs() + NONCELESS_LIFETIME);
    world.masa.go().await;

    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    let answer = pledge.request_voucher(&request).await;
    assert_eq!((answer.status, answer.content_type.as_deref()), (200, Some(VOUCHER_CMS_JSON)));
    let fields = voucher(&answer.body);
    assert_eq!((fields.serial_number.as_str(), fields.nonce), (SERIAL, None));
    let domain = Authority::load(&world.folder.path().join("registrar/ca")).unwrap();
    assert_eq!(fields.pins, [Pin::Certificate(domain.root().clone())]);
    assert_eq!(pledge.request_voucher(&request).await, answer, "the same request has the same voucher");
    // EST opens by the log that came with the voucher.
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 200);
    let report = &world.operator().await.devices().await.unwrap()[0];
    assert_eq!((report.audit.as_str(), report.voucher_status), ("good", Some(true)));

    // The voucher can be used again, as for a device that was reset; and another device has none.
    device.enrol(&registrar).await;
    let other = world.device("WI-3006");
    let mut pledge = other.connect(&registrar).await;
    let request = other.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    registrar.stop().await;
    assert_eq!((world.masa.requests().len(), world.masa.issued()), (1, 1));
}

#[tokio::test]
async fn a_masa_that_is_there_is_asked_and_what_it_refuses_is_refused() {
    let world = World::new().await;
    world.masa.know_customer();
    fetch_for(&world, SERIAL).await.unwrap();
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    world.masa.script(Script::Status(403, "stolen"));
    let request = device.voucher_request(&pledge);
    refused(&pledge.request_voucher(&request).await, 403, "stolen");
    world.masa.script(Script::Status(503, "not now"));
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    world.masa.script(Script::Honest);
    // With a nonce, and the log has the voucher without one that this domain has asked for.
    let mut pledge = device.join(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert!(voucher(&pledge.request_voucher(&request).await.body).nonce.is_some());
    registrar.stop().await;
}

#[tokio::test]
async fn vouchers_in_the_name_of_this_domain_that_it_did_not_fetch_are_found() {
    for (seconds, nonce) in [(0, None), (7_200, None), (0, Some("whose"))] {
        let world = World::new().await;
        world.masa.know_customer();
        world.masa.log(SERIAL, forged(&world, seconds, nonce));
        let fetched = fetch_for(&world, SERIAL).await.unwrap();
        assert_eq!(fetched.audit, "bad");
        assert!(fetched.audit_reason.unwrap().contains("did not request"));
        // The device gets the voucher, and no certificate before an operator has decided.
        world.masa.go().await;
        let registrar = world.start().await;
        let device = world.device(SERIAL);
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 200);
        assert_eq!(pledge.voucher_status(true).await.status, 200);
        refused(&pledge.get("/.well-known/est/cacerts").await, 403, "earlier owners");
        world.operator().await.accept(SERIAL, None).await.unwrap();
        assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 200);
        // With the same voucher and the same log it is accepted still.
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 200);
        assert_eq!(pledge.voucher_status(true).await.status, 200);
        assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 200);
        registrar.stop().await;
    }
}

#[tokio::test]
async fn an_old_good_log_does_not_replace_a_newer_bad_one() {
    let world = World::new().await;
    world.masa.know_customer();
    assert_eq!(fetch_for(&world, SERIAL).await.unwrap().audit, "good");
    world.masa.log(SERIAL, forged(&world, 0, Some("whose")));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let mut is_first = true;
    let operator = world.operator().await;
    loop {
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 200);
        assert_eq!(pledge.voucher_status(true).await.status, 200);
        refused(&pledge.until_decided("/.well-known/est/cacerts").await, 403, "earlier owners");
        let report = &operator.devices().await.unwrap()[0];
        assert_eq!(report.audit, "bad");
        assert!(report.audit_reason.as_ref().unwrap().contains("did not request"));
        if !is_first {
            break;
        }
        is_first = false;
        world.masa.go().await; // and it gets the voucher that was fetched
    }
    operator.accept(SERIAL, None).await.unwrap();
    assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_log_that_does_not_come_with_the_voucher_comes_when_the_masa_is_back() {
    let world = World::new().await;
    world.masa.know_customer();
    world.masa.script_audits(Script::Status(503, "not now"));
    let fetched = fetch_for(&world, SERIAL).await.unwrap();
    assert_eq!((fetched.audit.as_str(), fetched.audit_reason.as_deref()), ("requested", Some("the MASA answers 503")));
    world.masa.script_audits(Script::Honest);
    world.masa.go().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 202);
    world.masa.come_back().await;
    pledge.until_decided("/.well-known/est/cacerts").await;
    assert_eq!(world.operator().await.devices().await.unwrap()[0].audit, "good");
    registrar.stop().await;
}

#[tokio::test]
async fn what_cannot_be_used_is_not_stored() {
    let world = World::new().await;
    let error = fetch_for(&world, SERIAL).await.unwrap_err().to_string();
    assert!(error.contains("it says: "), "not a customer: {error}");
    world.masa.know_customer();
    // A voucher for another device.
    fetch_for(&world, "WI-3006").await.unwrap();
    let database = world.database().await;
    let row = sqlx::query("SELECT voucher FROM fetched WHERE voucher IS NOT NULL").fetch_one(&database).await.unwrap();
    let other = row.get::<Vec<u8>, _>(0);
    for (script, part) in [
        (Script::Answer(VOUCHER_CMS_JSON, other), "another serial number"),
        (Script::Answer(VOUCHER_CMS_JSON, b"garbage".to_vec()), "signature"),
        (Script::Answer("text/html", b"<html>".to_vec()), "no voucher"),
        (Script::Status(404, "unknown device"), "it says: unknown device"),
        (Script::Status(503, "not now"), "run the same command again"),
    ] {
        world.masa.script(script);
        let error = fetch_for(&world, SERIAL).await.unwrap_err().to_string();
        assert!(error.contains(part), "{part:?}: {error}");
    }
    let vouchers = world.operator().await.fetched_vouchers().await.unwrap();
    assert_eq!(vouchers.iter().map(|one| one.serial_number.as_str()).collect::<Vec<_>>(), ["WI-3006"]);
    // One that is there stays, and the operator is told.
    world.masa.script(Script::Status(403, "stolen"));
    for (serial, has_earlier) in [(SERIAL, false), ("WI-3006", true)] {
        let error = fetch_for(&world, serial).await.unwrap_err().to_string();
        assert!(error.ends_with("it says: stolen"), "{error}");
        assert_eq!(error.contains("stays usable"), has_earlier, "{error}");
    }
    assert_eq!(world.operator().await.fetched_vouchers().await.unwrap(), vouchers);
    world.masa.script(Script::Status(503, "not now"));
    fetch_for(&world, SERIAL).await.unwrap_err();
    // What the MASA had no answer for is the same request.
    world.masa.script(Script::Honest);
    fetch_for(&world, SERIAL).await.unwrap();
    let requests = world.masa.requests();
    assert_eq!(requests[requests.len() - 1], requests[requests.len() - 2]);
    world.masa.go().await;
    let error = fetch_for(&world, "WI-3007").await.unwrap_err().to_string();
    assert!(error.contains("takes no connection"), "{error}");
}

#[tokio::test]
async fn a_device_has_one_voucher_and_few_requests_a_day() {
    let world = World::new().await;
    world.masa.know_customer();
    for _ in 0..16 {
        fetch_for(&world, SERIAL).await.unwrap();
    }
    let error = fetch_for(&world, SERIAL).await.unwrap_err();
    assert!(matches!(error, FetchError::TooMany), "{error}");
    let vouchers = world.operator().await.fetched_vouchers().await.unwrap();
    assert_eq!(vouchers.len(), 1);
    assert_eq!(vouchers[0].audit, "good", "each was requested");
    // Those of one second say the same, and are one to the MASA.
    assert_eq!(world.masa.requests().len(), 16);
}

#[tokio::test]
async fn pledges_that_wait_for_a_masa_take_no_place_of_one_with_a_fetched_voucher() {
    let world = World::new().await;
    world.change("hold_milliseconds = 30000", "hold_milliseconds = 2000\nmasa_connections = 2");
    world.masa.know_customer();
    fetch_for(&world, SERIAL).await.unwrap();
    world.masa.go().await;
    let registrar = std::sync::Arc::new(world.start().await);
    let probing = world.device("WI-3006");
    let mut pledge = probing.connect(&registrar).await;
    let request = probing.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.retry_after, Some(1));
    // It comes back, and says nothing.
    let silent = world.masa.listen_silently().await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let probe = tokio::spawn(async move { pledge.request_voucher(&request).await.status });
    let _connection = soon(silent.accept()).await.unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..4 {
        let (device, registrar) = (world.device(&format!("D-{number}")), registrar.clone());
        waiting.spawn(async move {
            let mut pledge = device.connect(&registrar).await;
            let request = device.voucher_request(&pledge);
            pledge.request_voucher(&request).await.status
        });
    }
    tokio::time::sleep(std::time::Duration::from_millis(500)).await; // so that they have come
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    assert_eq!(waiting.join_all().await, [202; 4]);
    assert_eq!(probe.await.unwrap(), 202);
}

#[tokio::test]
async fn an_expired_voucher_is_not_used_and_removed() {
    let world = World::new().await;
    world.masa.know_customer();
    fetch_for(&world, SERIAL).await.unwrap();
    world.masa.go().await;
    let clock = || ahead(NONCELESS_LIFETIME + 60);
    assert_eq!(world.operator().await.fetched_vouchers().await.unwrap().len(), 1);
    assert!(world.operator_at(clock()).await.fetched_vouchers().await.unwrap().is_empty());
    let registrar = world.start_at(clock()).await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    let database = world.database().await;
    let deadline = Deadline::new();
    loop {
        let row = sqlx::query("SELECT COUNT(*), COUNT(voucher), COUNT(registrar_request) FROM fetched");
        let row = row.fetch_one(&database).await.unwrap();
        // That it was asked for is remembered: the audit log names it.
        assert_eq!(row.get::<i64, _>(0), 1);
        let left = (row.get::<i64, _>(1), row.get::<i64, _>(2));
        if left == (0, 0) {
            break;
        }
        deadline.wait(left).await;
    }
    registrar.stop().await;
}

#[tokio::test]
async fn a_rejected_device_has_no_voucher() {
    let world = World::with("devices = \"ask\"").await;
    world.masa.know_customer();
    fetch_for(&world, SERIAL).await.unwrap();
    world.masa.go().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202, "an operator is asked");
    let operator = world.operator().await;
    operator.reject(SERIAL, None).await.unwrap();
    refused(&pledge.request_voucher(&request).await, 406, "rejected");
    let again = device.voucher_request(&pledge);
    refused(&pledge.request_voucher(&again).await, 406, "rejected");
    let error = fetch_for(&world, SERIAL).await.unwrap_err();
    assert!(matches!(error, FetchError::Rejected), "{error}");
    operator.accept(SERIAL, None).await.unwrap();
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn the_voucher_of_a_device_that_has_not_asked_can_be_withdrawn() {
    let world = World::new().await;
    world.masa.know_customer();
    fetch_for(&world, SERIAL).await.unwrap();
    let operator = world.operator().await;
    let unknown = operator.reject(SERIAL, Some("other")).await.unwrap_err();
    assert!(matches!(unknown, OperatorError::Unknown(_)), "{unknown}");
    let withdrawn = Rejection::Withdrawn("maker".into());
    assert_eq!(operator.reject(SERIAL, None).await.unwrap(), withdrawn);
    assert!(operator.fetched_vouchers().await.unwrap().is_empty());
    assert!(matches!(operator.reject(SERIAL, None).await, Err(OperatorError::Unknown(_))));
    world.masa.go().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    registrar.stop().await;
    // It was asked for, and the audit log may have it: the device can join when the MASA is back.
    world.masa.come_back().await;
    let registrar = world.start().await;
    device.join(&registrar).await;
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_of_another_issuer_has_no_voucher() {
    let world = World::new().await;
    let other = authority("Other");
    let anchors = world.maker.root_pem() + &other.root_pem();
    std::fs::write(world.folder.path().join("registrar/manufacturer-ca.pem"), anchors).unwrap();
    world.masa.know_customer();
    let error = fetch_for(&world, SERIAL).await.unwrap_err();
    assert!(matches!(error, FetchError::Issuers(2)), "{error}");
    let mut options = FetchOptions::new(SERIAL.into());
    options.idevid_issuer = Some(world.folder.path().join("maker.pem"));
    fetch(&world.config(), Clock::new(), &options).await.unwrap();
    world.masa.go().await;
    let registrar = world.start().await;
    for (device, status) in [(Device::new(&other, SERIAL), 202), (world.device(SERIAL), 200)] {
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, status);
    }
    registrar.stop().await;
}

#[tokio::test]
async fn an_operator_is_told_what_is_missing() {
    let world = World::new().await;
    let failed =
        async |options: FetchOptions| fetch(&world.config(), Clock::new(), &options).await.unwrap_err().to_string();
    for serial in ["", "a\u{7}b", &"a".repeat(65)] {
        assert!(failed(FetchOptions::new(serial.into())).await.contains("serial number"), "{serial:?}");
    }
    let mut options = FetchOptions::new(SERIAL.into());
    options.manufacturer = Some("other".into());
    assert!(failed(options.clone()).await.contains("--manufacturer with one of: maker"));
    options.manufacturer = Some("maker".into());
    options.idevid_issuer = Some(world.folder.path().join("none.pem"));
    assert!(failed(options.clone()).await.contains("none.pem"));
    world.change(&format!("masa_url = \"{}\"", world.masa.address), "");
    options.idevid_issuer = None;
    assert!(failed(options).await.contains("where the MASA of the device is"));
}
