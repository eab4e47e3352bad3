//! A MASA that is killed, at each moment that matters; a database that fails; clients that are slow, big or meaningless.

use std::sync::Arc;

use terse_brski::http::VOUCHER_CMS_JSON;
use terse_brski::voucher::MAX_LEN;
use terse_onboard::client::Outgoing;
use terse_onboard::masa::MasaService;
use terse_tls::ServerAddress;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use super::scene::{Scene, refused, send, soon, voucher};

/// A MASA in a runtime of its own, which can be killed at any moment with all that it does.
struct Killable {
    runtime: tokio::runtime::Runtime,
    address: core::net::SocketAddr,
    _stop: watch::Sender<bool>,
}

impl Killable {
    async fn start(scene: &Scene, change: impl FnOnce(MasaService) -> MasaService) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = scene.config.clone();
        let opened = runtime.spawn(async move {
            let listener = TcpListener::bind(config.listen).await.unwrap();
            (MasaService::open(&config).await.unwrap(), listener)
        });
        let (service, listener) = soon(opened).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_stop, stopped) = watch::channel(false);
        runtime.spawn(change(service).serve(listener, stopped));
        Self { runtime, address, _stop }
    }

    fn kill(self) {
        self.runtime.shutdown_background();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_commit_the_same_request_gets_the_stored_voucher() {
    let scene = Scene::new().await;
    let request = scene.request("a nonce");
    let masa = Killable::start(&scene, |service| service).await;
    let mut connection = scene.connect(masa.address, None).await;
    let request_again = voucher(&request);
    let asked = tokio::spawn(async move { send(&mut connection, request_again).await });
    // The entry is there as soon as the transaction was committed; whether the answer was sent by then is left to chance.
    soon(async {
        while scene.log().await.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    masa.kill();
    let lost = soon(asked).await.unwrap();

    let masa = scene.start().await;
    let answer = scene.ask(masa.address, &request).await;
    assert_eq!(answer.status, 200);
    assert_eq!(scene.log().await.len(), 1);
    if let Ok(first) = lost {
        assert_eq!(first, answer);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_commit_nothing_has_happened() {
    let scene = Scene::new().await;
    let request = scene.request("a nonce");
    let began = Arc::new(Notify::new());
    let masa = Killable::start(&scene, |service| {
        let began = began.clone();
        service.with_voucher_signer(Arc::new(move |_, _| {
            began.notify_one();
            Box::pin(core::future::pending())
        }))
    });
    let masa = masa.await;
    let mut connection = scene.connect(masa.address, None).await;
    let request_again = voucher(&request);
    let asked = tokio::spawn(async move { send(&mut connection, request_again).await });
    soon(began.notified()).await;
    masa.kill();
    soon(asked).await.unwrap().unwrap_err();
    assert_eq!(scene.log().await, []);

    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &request).await.status, 200);
    assert_eq!(scene.log().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signer_that_fails_leaves_no_trace() {
    let scene = Scene::new().await;
    let masa = scene.start_with(|service| {
        let fail = || core::future::ready(Err(terse_tls::crypto::CryptoError::SigningFailed));
        service.with_voucher_signer(Arc::new(move |_, _| Box::pin(fail())))
    });
    let masa = masa.await;
    let answer = scene.ask(masa.address, &scene.request("a nonce")).await;
    refused(&answer, 503, "could not be signed");
    assert_eq!(scene.log().await, []);
    let records = scene.store().await.devices(super::scene::SERIAL).await.unwrap();
    assert_eq!(records[0].device.owner, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_nothing_is_answered_but_that() {
    let scene = Scene::new().await;
    let mut store = None;
    let masa = scene.start_with(|service| {
        store = Some(service.store().clone());
        service
    });
    let masa = masa.await;
    let mut connection = scene.connect(masa.address, None).await;
    let health = Outgoing { path: "/health", ..Outgoing::default() };
    let healthy = send(&mut connection, health.clone()).await.unwrap();
    assert_eq!((healthy.status, healthy.body.as_slice()), (200, b"ok\n".as_slice()));
    store.unwrap().close().await;
    refused(&send(&mut connection, health).await.unwrap(), 503, "the database does not answer");
    let answer = scene.ask(masa.address, &scene.request("a nonce")).await;
    refused(&answer, 503, "the database does not answer");
    assert_eq!(answer.retry_after, Some(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_is_refused_by_its_length() {
    let scene = Scene::new().await;
    let masa = scene.start().await;
    for len in [MAX_LEN + 1, 1 << 20] {
        let answer = scene.ask(masa.address, &vec![0x30; len]).await;
        refused(&answer, 413, "longer than 16384 bytes");
    }
    // As long as a request may be, it is looked at.
    refused(&scene.ask(masa.address, &vec![0x30; MAX_LEN]).await, 403, "the registrar's signature is refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_refused_and_the_connection_goes_on() {
    let scene = Scene::new().await;
    let masa = scene.start().await;
    let mut connection = scene.connect(masa.address, None).await;
    let request = scene.request("a nonce");
    for cut in [0, 1, 40, request.len() / 2, request.len() - 1] {
        let answer = send(&mut connection, voucher(&request[..cut])).await.unwrap();
        refused(&answer, 403, "the registrar's signature is refused");
    }
    // The content, and the signature at the end. Certificates that are not on the path may be any.
    let content = scene.fields(&scene.domain, "a nonce").to_json();
    let is_content = |window: &[u8]| window.starts_with(b"{\"ietf-voucher-request");
    let start = request.windows(22).position(is_content).unwrap();
    for at in (start..start + content.len()).step_by(97).chain(request.len() - 60..request.len()) {
        let mut request = request.clone();
        request[at] ^= 0x20;
        let answer = send(&mut connection, voucher(&request)).await.unwrap();
        refused(&answer, 403, "the registrar's signature is refused");
    }
    assert_eq!(scene.log().await, []);
    assert_eq!(send(&mut connection, voucher(&request)).await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_holds_up_nobody() {
    let mut scene = Scene::new().await;
    scene.config.limits.body_seconds = 1;
    let masa = scene.start().await;
    let transport = TcpStream::connect(masa.address).await.unwrap();
    let server = ServerAddress::new("localhost".try_into().unwrap(), masa.address.port());
    let mut slow = scene.connector(None).connect(server, transport).await.unwrap();
    let head = format!(
        "POST /.well-known/brski/requestvoucher HTTP/1.1\r\nhost: localhost\r\ncontent-type: {VOUCHER_CMS_JSON}\r\n\
         content-length: 1000\r\n\r\n0123456789"
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    slow.flush().await.unwrap();
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    let mut answer = Vec::new();
    soon(slow.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.ends_with("the request came too slowly; send it again\n"), "{answer}");
}
