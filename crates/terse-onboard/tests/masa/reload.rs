//! A MASA takes a changed configuration while it serves.

use terse_onboard::masa::{MasaConfig, MasaReloader, MasaService};

use super::scene::{Domain, Running, Scene, refused};

async fn start(scene: &Scene) -> (Running, MasaReloader) {
    let service = MasaService::open(&scene.config).await.unwrap();
    let reloader = service.reloader();
    let masa = scene.serve(service).await;
    // It serves from its first answer on.
    assert_eq!(scene.ask(masa.address, b"no request").await.status, 403);
    (masa, reloader)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_policy_counts_for_the_next_request_and_vouchers_stay() {
    let mut scene = Scene::new().await;
    let (masa, reloader) = start(&scene).await;
    let request = scene.request("a nonce");
    let first = scene.ask(masa.address, &request).await;
    assert_eq!(first.status, 200);
    let rival = Domain::new("Rival");
    let asked = scene.request_of(&rival, "a nonce");
    refused(&scene.ask(masa.address, &asked).await, 403, "belongs to another domain");
    scene.config.policy.claims = terse_brski::masa::Claims::Always;
    assert_eq!(reloader.reload(&scene.config).unwrap(), [""; 0]);
    assert_eq!(scene.ask(masa.address, &request).await, first);
    assert_eq!(scene.ask(masa.address, &asked).await.status, 200);
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_changes_nothing_and_what_waits_is_named() {
    let mut scene = Scene::new().await;
    let (masa, reloader) = start(&scene).await;
    let key = scene.config.voucher_signer.key.clone();
    scene.config.voucher_signer.key = scene.directory.path().join("nowhere.key");
    let error = reloader.reload(&scene.config).unwrap_err();
    assert!(error.to_string().contains("nowhere.key"), "{error}");
    scene.config.voucher_signer.key = key;
    scene.config.health = Some("127.0.0.1:1".parse().unwrap());
    scene.config.limits.connections = 5;
    let path = scene.directory.path().join("masa/masa.toml");
    let text = std::fs::read_to_string(&path).unwrap() + "\n[pages]\nlisten = \"127.0.0.1:3\"\n";
    scene.config.pages = MasaConfig::parse(&path, &text).unwrap().pages;
    assert_eq!(reloader.reload(&scene.config).unwrap(), ["health", "pages", "limits.connections"]);
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_connections_see_a_new_certificate() {
    let mut scene = Scene::new().await;
    let (masa, reloader) = start(&scene).await;
    let mut old = scene.connect(masa.address, None).await;
    // The device's certificate is of the same CA. Only its name is not that of the server.
    let device = scene.directory.path().join("device");
    scene.config.tls.chain = device.join("WI-3005.pem");
    scene.config.tls.key = device.join("WI-3005.key");
    reloader.reload(&scene.config).unwrap();
    assert!(scene.try_connect(masa.address, None).await.is_err(), "the new certificate has no name of the server");
    let request = super::scene::voucher(&scene.request("a nonce"));
    assert_eq!(super::scene::send(&mut old, request).await.unwrap().status, 200, "the old connection goes on");
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_before_it_serves_counts_from_its_first_request_on() {
    let mut scene = Scene::new().await;
    let service = MasaService::open(&scene.config).await.unwrap();
    let reloader = service.reloader();
    let key = scene.config.voucher_signer.key.clone();
    scene.config.voucher_signer.key = scene.directory.path().join("nowhere.key");
    assert!(reloader.reload(&scene.config).unwrap_err().to_string().contains("nowhere.key"));
    scene.config.voucher_signer.key = key;
    scene.config.policy.claims = terse_brski::masa::Claims::SalesList;
    assert_eq!(reloader.reload(&scene.config).unwrap(), [""; 0]);
    let masa = scene.serve(service).await;
    refused(&scene.ask(masa.address, &scene.request("a nonce")).await, 403, "not sold to this domain");
    masa.stop().await;
}
