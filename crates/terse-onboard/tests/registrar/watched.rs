//! What an operator sees of a registrar: its metrics, and what it depends on.

use terse_brski::artefact::Format;
use terse_brski::coap::{Code, Resource};
use terse_brski::est::CsrAttributes;
use terse_net::Clock;
use terse_onboard::client::Outgoing;
use terse_onboard::registrar::{Service, check};

use super::coaps_pledge::How;
use super::exposition::{Scrape, get};
use super::scripted_masa::Script;
use super::world::{Device, Pledge, Running, SERIAL, World, ahead, now};
use crate::deadline::Deadline;

impl World {
    /// The same domain, whose registrar is watched.
    fn watched(self) -> Self {
        self.change("listen = \"127", "health = \"127.0.0.1:0\"\nmetrics = true\nlisten = \"127");
        self
    }
}

async fn scrape(registrar: &Running) -> Scrape {
    Scrape::of(registrar.health.unwrap()).await
}

fn requests(resource: &str, status: &str, transport: &str) -> String {
    format!("terse_requests_total{{resource=\"{resource}\",status=\"{status}\",transport=\"{transport}\"}}")
}

#[tokio::test]
async fn every_metric_is_documented_and_every_documented_one_is_there() {
    let world = World::new().await.watched();
    let registrar = world.start().await;
    scrape(&registrar).await.check_documented("registrar");
    registrar.stop().await;
}

#[tokio::test]
async fn what_devices_do_is_counted() {
    let world = World::new().await.watched();
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    for _ in 0..2 {
        assert_eq!(pledge.request_voucher(&request).await.status, 200);
    }
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    assert_eq!(pledge.until_decided("/.well-known/est/cacerts").await.status, 200);
    let request = device.certification_request(&CsrAttributes::default());
    let ldevid = super::world::certificate(&pledge.enroll("simpleenroll", &request).await);
    let mut member = device.connect_with(&registrar, &ldevid).await;
    assert_eq!(member.enroll_status(false).await.status, 200);
    assert_eq!(member.enroll("simplereenroll", &request).await.status, 200);

    let scrape = scrape(&registrar).await;
    for (series, value) in [
        (requests("requestvoucher", "2xx", "https").as_str(), 2.0),
        (&requests("voucher_status", "2xx", "https"), 1.0),
        (&requests("simpleenroll", "2xx", "https"), 1.0),
        (&requests("requestvoucher", "2xx", "coaps"), 0.0),
        ("terse_request_duration_seconds_count{resource=\"requestvoucher\"}", 2.0),
        ("terse_vouchers_total{outcome=\"issued\"}", 1.0),
        ("terse_vouchers_total{outcome=\"repeated\"}", 1.0),
        ("terse_masa_requests_total{kind=\"voucher\",outcome=\"voucher\"}", 1.0),
        ("terse_masa_request_duration_seconds_count{kind=\"voucher\"}", 1.0),
        ("terse_certificates_issued_total{kind=\"enrolment\"}", 1.0),
        ("terse_certificates_issued_total{kind=\"renewal\"}", 1.0),
        ("terse_telemetry_failures_total{topic=\"enrolment\"}", 1.0),
        ("terse_telemetry_failures_total{topic=\"voucher\"}", 0.0),
        ("terse_connections_open{transport=\"https\"}", 2.0),
        ("terse_database_up", 1.0),
        ("terse_database_errors_total", 0.0),
        ("terse_devices_waiting{reason=\"join\"}", 0.0),
        ("terse_ldevids_ending{days=\"30\"}", 0.0),
        ("terse_audit_logs_missing", 0.0),
    ] {
        assert_eq!(scrape.value(series), value, "{series}");
    }
    // A request that looks for the log while the answer is stored asks for it once more.
    let logs = scrape.value("terse_masa_requests_total{kind=\"audit-log\",outcome=\"good\"}");
    assert!((1.0..=2.0).contains(&logs), "{logs}");
    let start = scrape.value("process_start_time_seconds");
    assert!((start - now().as_secs() as f64).abs() < 600.0, "{start}");
    for certificate in ["registrar", "chain", "domain-ca"] {
        let end = scrape.value(&format!("terse_certificate_end_timestamp_seconds{{certificate=\"{certificate}\"}}"));
        assert!(end > start, "{certificate}: {end}");
    }
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_over_coaps_is_counted_by_its_transport() {
    let world = World::new().await.watched().with_coaps();
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(Format::CoseCbor);
    let mut pledge = device.connect_coaps(registrar.coaps.unwrap(), How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    let answer = pledge.request_voucher(&request).await;
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
    let refused = pledge.enroll(Resource::SimpleReenroll, b"no request").await;
    assert_eq!(refused.code, Code::FORBIDDEN, "{:?}", refused.diagnostic());
    let scrape = scrape(&registrar).await;
    assert_eq!(scrape.value(&requests("requestvoucher", "2xx", "coaps")), 1.0);
    assert_eq!(scrape.value(&requests("simplereenroll", "4xx", "coaps")), 1.0);
    assert_eq!(scrape.value("terse_refusals_total{reason=\"no-voucher-status\"}"), 1.0);
    assert_eq!(scrape.value("terse_connections_open{transport=\"coaps\"}"), 1.0);
    assert_eq!(scrape.value("terse_connections_open{transport=\"https\"}"), 0.0);
    registrar.stop().await;
}

#[tokio::test]
async fn strangers_make_no_series_and_no_name_of_theirs_is_there() {
    let world = World::new().await.watched();
    let registrar = world.start().await;
    let before = scrape(&registrar).await;
    let stranger = Device::new(&super::world::authority("Stranger"), "EVIL-1");
    let mut pledge = stranger.connect(&registrar).await;
    let request = stranger.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 403);
    for path in ["/EVIL-1", "/.well-known/brski/EVIL-1", "/.well-known/est/cacerts", "/metrics"] {
        let mut pledge = stranger.connect(&registrar).await; // some answers close it
        assert!(pledge.send(Outgoing { path, ..Outgoing::default() }).await.status >= 400, "{path}");
    }
    let mut nobody = tokio::net::TcpStream::connect(registrar.address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut nobody, b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let deadline = Deadline::new();
    while scrape(&registrar).await.value("terse_handshake_failures_total{transport=\"https\"}") < 1.0 {
        deadline.wait("no handshake has failed").await;
    }
    let after = scrape(&registrar).await;
    assert_eq!(before.names(), after.names());
    assert!(!format!("{after:?}").contains("EVIL"));
    assert_eq!(after.value(&requests("other", "4xx", "https")), 3.0);
    assert_eq!(after.value("terse_refusals_total{reason=\"unknown-manufacturer\"}"), 1.0);
    registrar.stop().await;
}

#[tokio::test]
async fn devices_that_need_attention_are_counted() {
    let world = World::with("devices = \"ask\"\nserial_numbers = [\"WI-3005\"]").await.watched();
    let registrar = world.start().await;
    world.device(SERIAL).enrol(&registrar).await;
    let waiting = world.device("WI-3006");
    for _ in 0..2 {
        let mut pledge = waiting.connect(&registrar).await;
        let request = waiting.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 202);
    }
    let seen = scrape(&registrar).await;
    assert_eq!(seen.value("terse_devices_waiting{reason=\"join\"}"), 1.0, "one device, however often it asks");
    assert_eq!(seen.value("terse_devices_waiting{reason=\"audit-log\"}"), 0.0);
    assert_eq!(seen.value(&requests("requestvoucher", "202", "https")), 2.0);
    registrar.stop().await;
    // An LDevID is valid for 365 days.
    for (days, in_week, in_month) in [(334, 0.0, 0.0), (336, 0.0, 1.0), (359, 1.0, 1.0), (366, 0.0, 0.0)] {
        let registrar = world.start_at(ahead(days * 86_400)).await;
        let seen = scrape(&registrar).await;
        assert_eq!(seen.value("terse_ldevids_ending{days=\"7\"}"), in_week, "after {days} days");
        assert_eq!(seen.value("terse_ldevids_ending{days=\"30\"}"), in_month, "after {days} days");
        registrar.stop().await;
    }
}

#[tokio::test]
async fn metrics_are_there_only_where_they_are_configured() {
    let world = World::new().await;
    world.change("listen = \"127", "health = \"127.0.0.1:0\"\nlisten = \"127");
    let registrar = world.start().await;
    assert_eq!(get(registrar.health.unwrap(), "/metrics").await.status, "404");
    assert_eq!(get(registrar.health.unwrap(), "/health").await.status, "200");
    registrar.stop().await;

    world.change("health = \"127.0.0.1:0\"", "metrics = true");
    let Err(error) = Service::open(&world.config(), Clock::new()).await else { panic!("metrics have no address") };
    assert!(error.to_string().contains("metrics = true needs health"), "{error}");
    world.change("metrics = true", "metrics = true\nhealth = \"[::]:0\"");
    let warnings = check(&world.config(), Clock::new()).await.unwrap();
    assert!(
        warnings.iter().any(|warning| warning.contains("everybody who reaches it can read /metrics")),
        "{warnings:?}"
    );
}

async fn dependencies(registrar: &Running) -> (String, serde_json::Value) {
    let answer = get(registrar.health.unwrap(), "/health/dependencies").await;
    assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[tokio::test]
async fn each_dependency_says_how_it_is() {
    let world = World::new().await.watched();
    let registrar = world.start().await;
    let (status, json) = dependencies(&registrar).await;
    assert_eq!(status, "200");
    let expected = serde_json::json!({ "status": "ok", "dependencies": [
        { "name": "database", "ok": true },
        { "name": "masa", "manufacturer": "maker", "ok": null, "seen": null },
        { "name": "audit-logs", "ok": null, "missing": 0 },
    ] });
    assert_eq!(json, expected, "nobody was asked yet");

    let device = world.device(SERIAL);
    let mut pledge: Pledge = device.connect(&registrar).await;
    world.masa.go().await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    let (status, json) = dependencies(&registrar).await;
    assert_eq!(
        (status.as_str(), &json["status"], &json["dependencies"][1]["ok"]),
        ("503", &"failing".into(), &false.into())
    );
    assert_eq!(get(registrar.health.unwrap(), "/health").await.status, "200", "a load balancer keeps it");
    let seen = scrape(&registrar).await;
    assert_eq!(seen.value("terse_masa_requests_total{kind=\"voucher\",outcome=\"unreachable\"}"), 1.0);

    world.masa.come_back().await;
    pledge.until_voucher(&request).await;
    let (status, json) = dependencies(&registrar).await;
    assert_eq!((status.as_str(), &json["dependencies"][1]["ok"]), ("200", &true.into()));
    assert!(json["dependencies"][1]["seen"].as_u64().unwrap().abs_diff(now().as_secs()) < 600);
    registrar.stop().await;
}

#[tokio::test]
async fn a_masa_that_refuses_is_reached() {
    let world = World::new().await.watched();
    world.masa.script(Script::Status(404, "no such device"));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 404);
    assert_eq!(dependencies(&registrar).await.0, "200");
    let seen = scrape(&registrar).await;
    assert_eq!(seen.value("terse_masa_requests_total{kind=\"voucher\",outcome=\"refused\"}"), 1.0);
    assert_eq!(seen.value("terse_refusals_total{reason=\"masa\"}"), 1.0);
    assert_eq!(seen.value("terse_vouchers_total{outcome=\"issued\"}"), 0.0);
    registrar.stop().await;
}

#[tokio::test]
async fn a_database_that_fails_is_seen() {
    let world = World::new().await.watched();
    let registrar = world.start().await;
    let database = world.database().await;
    sqlx::query("ALTER TABLE joinings RENAME TO gone").execute(&database).await.unwrap();
    let (status, json) = dependencies(&registrar).await;
    assert_eq!((status.as_str(), &json["dependencies"][0]["ok"]), ("503", &false.into()));
    assert_eq!(json["dependencies"][2]["missing"], serde_json::Value::Null);
    let seen = scrape(&registrar).await;
    assert_eq!(seen.value("terse_database_up"), 0.0);
    assert!(seen.value("terse_database_errors_total") > 0.0);
    sqlx::query("ALTER TABLE gone RENAME TO joinings").execute(&database).await.unwrap();
    registrar.stop().await;
}
