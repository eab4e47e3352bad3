//! What an operator sees of a MASA: its metrics, and what it depends on.

use std::net::SocketAddr;
use std::sync::Arc;

use terse_onboard::client::Outgoing;
use terse_onboard::masa::{MasaConfig, MasaService};

use super::exposition::{Scrape, get};
use super::scene::{Domain, Running, Scene, send};

/// Starts the MASA of a scene with a listener for health, and with metrics.
async fn start(scene: &mut Scene, change: impl FnOnce(MasaService) -> MasaService) -> (Running, SocketAddr) {
    scene.config.health = Some("127.0.0.1:0".parse().unwrap());
    scene.config.metrics = true;
    let mut service = change(MasaService::open(&scene.config).await.unwrap());
    let health = service.listen_for_health(&scene.config).await.unwrap().unwrap();
    (scene.serve(service).await, health)
}

fn requests(resource: &str, status: &str) -> String {
    format!("terse_requests_total{{resource=\"{resource}\",status=\"{status}\",transport=\"https\"}}")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_documented_and_every_documented_one_is_there() {
    let mut scene = Scene::new().await;
    let (masa, health) = start(&mut scene, |service| service).await;
    Scrape::of(health).await.check_documented("masa");
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_registrars_ask_is_counted_and_makes_no_series() {
    let mut scene = Scene::new().await;
    let (masa, health) = start(&mut scene, |service| service).await;
    let before = Scrape::of(health).await;
    let request = scene.request("a nonce");
    for _ in 0..2 {
        assert_eq!(scene.ask(masa.address, &request).await.status, 200);
    }
    assert_eq!(scene.ask_audit_log(masa.address, &request).await.status, 200);
    let rival = Domain::new("Rival");
    assert_eq!(scene.ask(masa.address, &scene.request_of(&rival, "a nonce")).await.status, 403);
    let mut connection = scene.connect(masa.address, None).await;
    for path in ["/EVIL-1", "/metrics", "/health"] {
        send(&mut connection, Outgoing { path, ..Outgoing::default() }).await.unwrap();
    }
    let after = Scrape::of(health).await;
    for (series, value) in [
        (requests("requestvoucher", "2xx").as_str(), 2.0),
        (&requests("requestvoucher", "4xx"), 1.0),
        (&requests("requestauditlog", "2xx"), 1.0),
        (&requests("health", "2xx"), 1.0),
        (&requests("other", "4xx"), 2.0),
        ("terse_request_duration_seconds_count{resource=\"requestvoucher\"}", 3.0),
        ("terse_vouchers_total{outcome=\"issued\"}", 1.0),
        ("terse_vouchers_total{outcome=\"repeated\"}", 1.0),
        ("terse_refusals_total{reason=\"claimed\"}", 1.0),
        ("terse_voucher_signer_failures_total", 0.0),
        ("terse_database_up", 1.0),
    ] {
        assert_eq!(after.value(series), value, "{series}");
    }
    assert_eq!(before.names(), after.names());
    assert!(!format!("{after:?}").contains("EVIL"));
    let start = after.value("process_start_time_seconds");
    for certificate in ["masa", "voucher-signer", "idevid-ca"] {
        let end = after.value(&format!("terse_certificate_end_timestamp_seconds{{certificate=\"{certificate}\"}}"));
        assert!(end > start, "{certificate}: {end}");
    }
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_signer_that_fails_is_seen() {
    let mut scene = Scene::new().await;
    let failing = |service: MasaService| {
        service.with_voucher_signer(Arc::new(|_, _| {
            Box::pin(async { Err(terse_tls::crypto::CryptoError::SigningFailed) })
        }))
    };
    let (masa, health) = start(&mut scene, failing).await;
    let answer = get(health, "/health/dependencies").await;
    assert_eq!(answer.status, "200");
    let unknown = "{\"dependencies\":[{\"name\":\"database\",\"ok\":true},{\"name\":\"voucher-signer\",\"ok\":null,\"seen\":null}],\
                   \"status\":\"ok\"}";
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&answer.body).unwrap(),
        serde_json::from_str::<serde_json::Value>(unknown).unwrap()
    );
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 503);
    let answer = get(health, "/health/dependencies").await;
    assert_eq!(answer.status, "503");
    let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((&json["status"], &json["dependencies"][1]["ok"]), (&"failing".into(), &false.into()));
    assert_eq!(Scrape::of(health).await.value("terse_voucher_signer_failures_total"), 1.0);
    assert_eq!(get(health, "/health").await.status, "200", "a load balancer keeps it");
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_need_an_address() {
    let mut scene = Scene::new().await;
    scene.config.metrics = true;
    let refused = |config: MasaConfig| async move {
        let Err(error) = MasaService::open(&config).await else { panic!("metrics have no address") };
        assert!(error.to_string().contains("metrics = true needs health"), "{error}");
    };
    refused(scene.config.clone()).await;
    assert!(scene.config.check().await.unwrap_err().to_string().contains("metrics = true needs health"));
    scene.config.health = Some("0.0.0.0:0".parse().unwrap());
    let warnings = scene.config.check().await.unwrap().warnings;
    assert!(
        warnings.iter().any(|warning| warning.contains("everybody who reaches it can read /metrics")),
        "{warnings:?}"
    );
}
