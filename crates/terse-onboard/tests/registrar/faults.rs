//! What goes wrong in between: an end at the wrong moment, a database that fails, floods, and time that passes.

use std::sync::Arc;

use sqlx::Row as _;
use terse_brski::est::CsrAttributes;
use terse_brski::http::{JSON, VOUCHER_CMS_JSON};
use terse_onboard::client::Outgoing;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::scripted_masa::Script;
use super::world::{LIMITS, SERIAL, World, ahead, certificate, refused, text};
use crate::deadline::{Deadline, soon};

#[tokio::test]
async fn an_end_between_request_and_voucher_loses_neither() {
    let world = World::new().await;
    world.change("hold_milliseconds = 30000", "hold_milliseconds = 1");
    world.masa.script(Script::Slow);
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    registrar.stop().await;
    // The MASA issues the voucher, and the registrar is not there to take it.
    world.masa.release();
    let deadline = Deadline::new();
    while world.masa.issued() == 0 {
        deadline.wait(world.masa.arrived()).await;
    }
    world.masa.script(Script::Honest);
    world.change("hold_milliseconds = 1", "hold_milliseconds = 30000");
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.request_voucher(&request).await.status, 202, "it may still be under way");
    registrar.stop().await;
    let registrar = world.start_at(ahead(120)).await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    let requests = world.masa.requests();
    assert_eq!((requests.len(), world.masa.issued()), (2, 1));
    assert_eq!(requests[0], requests[1]);
    registrar.stop().await;
}

#[tokio::test]
async fn a_database_that_fails_is_said_and_nothing_is_answered_from_memory() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let database = world.database().await;
    sqlx::query("ALTER TABLE requests RENAME TO gone").execute(&database).await.unwrap();
    sqlx::query("ALTER TABLE joinings RENAME TO gone_too").execute(&database).await.unwrap();
    let health = pledge.get("/health").await;
    refused(&health, 503, "database");
    assert_eq!(health.retry_after, Some(10));
    let request = device.voucher_request(&pledge);
    refused(&pledge.request_voucher(&request).await, 503, "database");
    refused(&pledge.voucher_status(true).await, 503, "database");
    assert!(world.masa.requests().is_empty(), "what is not stored is not sent");
    sqlx::query("ALTER TABLE gone_too RENAME TO joinings").execute(&database).await.unwrap();
    sqlx::query("ALTER TABLE gone RENAME TO requests").execute(&database).await.unwrap();
    assert_eq!(pledge.get("/health").await.status, 200);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_load_balancer_asks_for_the_health_without_a_certificate() {
    let world = World::new().await;
    world.change("listen = ", "health = \"127.0.0.1:0\"\nlisten = ");
    let registrar = world.start().await;
    let health = async || {
        let mut stream = tokio::net::TcpStream::connect(registrar.health.unwrap()).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: plant\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        soon(stream.read_to_string(&mut answer)).await.unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(health().await, "200");
    let database = world.database().await;
    sqlx::query("ALTER TABLE joinings RENAME TO gone").execute(&database).await.unwrap();
    let until_health = async |status: &str| {
        let deadline = Deadline::new();
        while health().await != status {
            deadline.wait(format_args!("the status is not {status}")).await; // the last look counts for a second
        }
    };
    until_health("503").await;
    sqlx::query("ALTER TABLE gone RENAME TO joinings").execute(&database).await.unwrap();
    until_health("200").await;
    registrar.stop().await;
    world.change("health = \"127.0.0.1:0\"", "health = \"nowhere\"");
    let service = terse_onboard::registrar::Service::open(&world.config(), terse_net::Clock::new()).await.unwrap();
    let Err(error) = service.listen().await else { panic!("it listens nowhere") };
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[tokio::test]
async fn a_database_of_a_later_version_is_refused() {
    let world = World::new().await;
    world.start().await.stop().await;
    let database = world.database().await;
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 SELECT 9999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
    sqlx::query(later).execute(&database).await.unwrap();
    let error = terse_onboard::registrar::Service::open(&world.config(), terse_net::Clock::new()).await;
    let Err(error) = error else { panic!("it was opened") };
    assert!(error.to_string().contains("of a newer version (9999)"), "{error}");
}

/// 456 messages of one device in 5 s were 1.3 MB of log, and as many transactions.
#[tokio::test]
async fn a_flood_of_status_messages_is_refused() {
    let world = World::new().await;
    let registrar = world.start().await;
    let mut pledge = world.device(SERIAL).join(&registrar).await;
    let (mut taken, mut refused) = (1, 0); // the message with which it has joined
    for _ in 0..60 {
        let answer = pledge.enroll_status(false).await;
        match answer.status {
            200 => taken += 1,
            429 => refused += 1,
            other => panic!("{other}: {}", text(&answer)),
        }
    }
    assert!(refused > 0, "all of them were taken");
    assert_eq!(world.count("telemetry").await, taken.min(32), "nothing is stored of a message that is refused");
    // Another device is not concerned.
    world.device("WI-3006").join(&registrar).await;
    registrar.stop().await;
}

#[tokio::test]
async fn the_messages_of_a_device_are_bounded() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    assert_eq!(pledge.enroll_status(false).await.status, 200);
    let database = world.database().await;
    for number in 3..42_i64 {
        let one = "INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention) \
                   SELECT idevid, $1, received, topic, sender, status, reason, needs_attention FROM telemetry WHERE number = 2";
        sqlx::query(one).bind(number).execute(&database).await.unwrap();
    }
    // One of a later version is kept for people, and changes nothing.
    let later = br#"{"version":2,"status":true,"reason":"new","colour":"red"}"#;
    assert_eq!(pledge.post("/.well-known/brski/enrollstatus", JSON, later).await.status, 200);
    let rows = sqlx::query("SELECT number, reason, needs_attention FROM telemetry ORDER BY number DESC");
    let rows = rows.fetch_all(&database).await.unwrap();
    assert_eq!(rows.len(), 32);
    assert_eq!((rows[0].get::<i64, _>(0), rows[0].get::<&str, _>(1), rows[0].get::<i64, _>(2)), (42, "new", 1));
    assert_eq!(world.operator().await.devices().await.unwrap()[0].enroll_status, Some(false));
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_has_so_many_certificates_a_day() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    for _ in 0..32 {
        certificate(&pledge.enroll("simpleenroll", &device.certification_request(&CsrAttributes::default())).await);
    }
    let one_more = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &one_more).await, 429, "tomorrow");
    registrar.stop().await;
}

#[tokio::test]
async fn an_expired_certificate_is_not_repeated_and_not_renewed() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    let ldevid = certificate(&pledge.enroll("simpleenroll", &request).await);
    registrar.stop().await;
    let registrar = world.start_at(ahead(400 * 86_400)).await;
    let mut member = device.connect_with(&registrar, &ldevid).await;
    refused(&member.enroll("simplereenroll", &request).await, 403, "expired");
    refused(&member.get("/.well-known/est/csrattrs").await, 403, "expired");
    let mut pledge = device.connect(&registrar).await;
    assert_ne!(certificate(&pledge.enroll("simpleenroll", &request).await), ldevid);
    registrar.stop().await;
}

#[tokio::test]
async fn what_a_pledge_accepts_counts() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let long = "a/b, ".repeat(300);
    for (accept, status) in [
        ("application/voucher-jws+json", 406),
        ("text/html", 415),
        (long.as_str(), 431),
        ("application/voucher-jws+json, application/voucher-cms+json", 200),
    ] {
        let mut pledge_2 = device.connect(&registrar).await;
        let body = Some(device.voucher_request(&pledge));
        let path = "/.well-known/brski/requestvoucher";
        let (content_type, accept) = (Some(VOUCHER_CMS_JSON), Some(accept));
        let outgoing = Outgoing { body, path, content_type, accept, ..Outgoing::default() };
        assert_eq!(pledge_2.send(outgoing).await.status, status);
    }
    // The MASA is told the same.
    let expected = "application/voucher-jws+json, application/voucher-cms+json";
    assert_eq!(world.masa.accepts(), [Some(expected.to_owned())]);
    assert_eq!(pledge.get("/health").await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn an_address_has_half_of_the_connections_and_makes_room_for_itself_and_loses_one_that_asks_too_much() {
    let world = World::new().await;
    world.change("requests_at_once = 1000000", "requests_at_once = 3\nrequests_per_second = 1\nconnections = 3");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let (mut one, mut other) = (device.connect(&registrar).await, device.connect(&registrar).await);
    assert_eq!(one.get("/health").await.status, 200);
    assert_eq!(other.get("/health").await.status, 200);
    assert_eq!(device.health_from("127.0.0.2", &registrar).await, Some(200), "another address");
    // Two of three are taken.
    assert_eq!(device.health_from("127.0.0.1", &registrar).await, Some(200), "a newcomer");
    let outgoing = || Outgoing { path: "/health", ..Outgoing::default() };
    one.https.send(outgoing(), LIMITS).await.expect_err("it was idle longest");

    other.until_too_many().await;
    other.https.send(outgoing(), LIMITS).await.unwrap_err();
    registrar.stop().await;
}

#[tokio::test]
async fn late_audit_logs_of_manufacturers_that_are_gone_do_not_hold_up_others() {
    let world = World::new().await;
    world.masa.script_audits(Script::Status(503, "not now"));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
    let database = world.database().await;
    for number in 0..16 {
        let other = "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_tried) \
                     SELECT $1, 'X', 'gone', request, begun, audit, 0 FROM joinings WHERE serial_number = $2";
        sqlx::query(other).bind(vec![number; 32]).bind(SERIAL).execute(&database).await.unwrap();
    }
    world.masa.script_audits(Script::Honest);
    // Each start asks for sixteen logs at most, those that have waited longest.
    for (minutes, others, own) in [(2, 16, "requested"), (3, 16, "good")] {
        let registrar = world.start_at(ahead(60 * minutes)).await;
        let operator = world.operator().await;
        let deadline = Deadline::new();
        loop {
            let devices = operator.devices().await.unwrap();
            let of_others = devices.iter().filter(|one| one.manufacturer == "gone" && one.audit_reason.is_some());
            if of_others.count() == others && devices.iter().any(|one| one.serial_number == SERIAL && one.audit == own)
            {
                break;
            }
            deadline.wait(&devices).await;
        }
        registrar.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_devices_join_at_once() {
    let world = World::new().await;
    let registrar = Arc::new(world.start().await);
    let mut devices = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (device, registrar) = (world.device(&format!("D-{number}")), registrar.clone());
        devices.spawn(async move {
            let ldevid = device.enrol(&registrar).await;
            assert_eq!(device.connect_with(&registrar, &ldevid).await.enroll_status(true).await.status, 200);
            ldevid
        });
    }
    let mut certificates: Vec<Vec<u8>> = devices.join_all().await.iter().map(|one| one.to_vec()).collect();
    certificates.sort();
    certificates.dedup();
    assert_eq!(certificates.len(), 100);
    assert_eq!((world.masa.requests().len(), world.masa.issued()), (100, 100));
    let reports = world.operator().await.devices().await.unwrap();
    assert!(reports.iter().all(|report| report.enroll_status == Some(true) && report.audit == "good"));
    assert_eq!(reports.len(), 100);
}
