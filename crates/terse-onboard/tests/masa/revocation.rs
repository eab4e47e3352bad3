//! CRLs that registrars' certificates name are fetched, kept, and only asked for when it matters.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CrlDistributionPoint, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};
use terse_aws_lc::PROVIDER;
use terse_net::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;

use super::scene::{Domain, Party, Scene, now, refused};

/// A web server with one body, which counts its requests.
async fn web(body: Vec<u8>) -> (u16, Arc<AtomicUsize>) {
    web_of(Arc::new(Mutex::new(body))).await
}

/// A web server whose body a test changes.
async fn web_of(body: Arc<Mutex<Vec<u8>>>) -> (u16, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    let routes = Router::new().fallback(async move |request: Request| {
        assert_eq!(request.uri().path(), "/plant.crl");
        count.fetch_add(1, Ordering::SeqCst);
        body.lock().unwrap().clone()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = hyper_util::service::TowerToHyperService::new(routes.clone());
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(hyper_util::rt::TokioIo::new(stream), service));
        }
    });
    (port, requests)
}

/// A CA with a CRL, and the registrars that it issues.
struct Ca(Issuer<'static, KeyPair>, CertificateParams);

const REGISTRAR: u64 = 4711;

impl Ca {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Plant");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self(Issuer::new(params.clone(), KeyPair::generate().unwrap()), params)
    }

    fn crl(&self, revoked: &[u64]) -> Vec<u8> {
        let at = |seconds: u64| std::time::SystemTime::UNIX_EPOCH + core::time::Duration::from_secs(seconds);
        let revoked_certs = revoked.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: at(now() - 60).into(),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: at(now() - 60).into(),
            next_update: at(now() + 86_400).into(),
            crl_number: SerialNumber::from(1u64),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.0).unwrap().der().to_vec()
    }

    /// Returns a registrar whose certificate names a CRL at this port.
    fn domain(&self, port: u16) -> Domain {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["registrar.plant.example".into()]).unwrap();
        params.serial_number = Some(SerialNumber::from(REGISTRAR));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 28])];
        params.crl_distribution_points =
            vec![CrlDistributionPoint { uris: vec![format!("http://127.0.0.1:{port}/plant.crl")] }];
        let leaf = params.signed_by(&key, &self.0).unwrap().der().clone();
        let root = self.1.self_signed(self.0.key()).unwrap().der().clone();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let registrar = Party { chain: vec![leaf, root], key: PROVIDER.load_key(&key).unwrap() };
        Domain { registrar, ..Domain::new("Plant") }
    }
}

async fn scene() -> Scene {
    let mut scene = Scene::new().await;
    scene.config.revocation.private_addresses = true;
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_that_is_not_revoked_gets_vouchers_and_its_crl_is_kept() {
    let (scene, ca) = (scene().await, Ca::new());
    let (port, requests) = web(ca.crl(&[1, 2])).await;
    let domain = ca.domain(port);
    let masa = scene.start().await;
    for nonce in ["a nonce", "another nonce"] {
        let answer = scene.ask(masa.address, &scene.request_of(&domain, nonce)).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_that_is_revoked_gets_none() {
    let (scene, ca) = (scene().await, Ca::new());
    let (port, _) = web(ca.crl(&[REGISTRAR])).await;
    let masa = scene.start().await;
    let answer = scene.ask(masa.address, &scene.request_of(&ca.domain(port), "a nonce")).await;
    refused(&answer, 403, "a certificate of the registrar is revoked");
    assert_eq!(scene.log().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_that_was_revoked_since_gets_no_repeat() {
    let (scene, ca) = (scene().await, Ca::new());
    let body = Arc::new(Mutex::new(ca.crl(&[])));
    let (port, requests) = web_of(body.clone()).await;
    let request = scene.request_of(&ca.domain(port), "a nonce");
    let masa = scene.start().await;
    let first = scene.ask(masa.address, &request).await;
    assert_eq!(first.status, 200);
    // The CRL that was fetched is good for an hour.
    *body.lock().unwrap() = ca.crl(&[REGISTRAR]);
    assert_eq!(scene.ask(masa.address, &request).await, first);
    assert_eq!(requests.load(Ordering::SeqCst), 1);
    masa.stop().await;

    let masa = scene.start().await;
    refused(&scene.ask(masa.address, &request).await, 403, "a certificate of the registrar is revoked");
    assert_eq!(requests.load(Ordering::SeqCst), 2);
    masa.stop().await;
    // As for the first voucher, a CRL that cannot be had decides nothing in the registrar's favour, and is not fetched again
    // and again.
    *body.lock().unwrap() = b"<html>".to_vec();
    let masa = scene.start().await;
    for _ in 0..2 {
        let answer = scene.ask(masa.address, &request).await;
        refused(&answer, 403, "make the CRL or OCSP responder that they name reachable");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    assert_eq!(scene.log().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_valid_crl_the_policy_decides() {
    let (mut scene, ca) = (scene().await, Ca::new());
    let foreign = Ca::new().crl(&[]);
    let long = vec![0x30; 1 << 20];
    for body in [b"<html>".to_vec(), foreign, long] {
        let (port, requests) = web(body).await;
        let masa = scene.start().await;
        let answer = scene.ask(masa.address, &scene.request_of(&ca.domain(port), "a nonce")).await;
        refused(&answer, 403, "make the CRL or OCSP responder that they name reachable");
        assert_eq!(requests.load(Ordering::SeqCst), 1);
        masa.stop().await;
    }
    scene.config.policy.unknown_revocation_is_accepted = true;
    let (port, _) = web(b"<html>".to_vec()).await;
    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &scene.request_of(&ca.domain(port), "a nonce")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_fetched_from_the_own_network_nor_for_who_is_refused_in_any_case() {
    let (mut scene, ca) = (scene().await, Ca::new());
    let (port, requests) = web(ca.crl(&[])).await;
    let domain = ca.domain(port);
    let masa = scene.start().await;
    // Another domain has the device.
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    refused(&scene.ask(masa.address, &scene.request_of(&domain, "a nonce")).await, 403, "belongs to another domain");
    masa.stop().await;

    scene.config.revocation.private_addresses = false;
    scene.config.policy.claims = terse_brski::masa::Claims::Always;
    let masa = scene.start().await;
    let answer = scene.ask(masa.address, &scene.request_of(&domain, "a nonce")).await;
    refused(&answer, 403, "cannot be learned");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_fetched_for_a_device_that_has_had_its_vouchers_today() {
    let (mut scene, ca) = (scene().await, Ca::new());
    scene.config.policy.claims = terse_brski::masa::Claims::Always;
    scene.config.limits.vouchers_per_device_and_day = 1;
    let (port, requests) = web(ca.crl(&[])).await;
    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    let answer = scene.ask(masa.address, &scene.request_of(&ca.domain(port), "a nonce")).await;
    refused(&answer, 429, "too many vouchers for this device");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}
