//! How the registrar and an EST server know each other, what the configuration says of that, and the CA certificates.

use terse_brski::est::{CsrAttributes, decode_body, decode_certs_only};
use terse_net::Clock;
use terse_onboard::registrar::{Service, check};
use terse_pki::LeafOptions;

use super::est_server::with_est;
use super::scripted_est::{EstScript, ScriptedEst};
use super::world::{Device, Running, SERIAL, World, ahead, authority, certificate, refused, validity};
use crate::deadline::Deadline;

const CERTS_ONLY: &str = "application/pkcs7-mime; smime-type=certs-only";

#[tokio::test]
async fn the_last_ca_certificates_count_until_others_come() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    registrar.stop().await;
    let old = est.certificates();
    let leaf = est.ca().issue(&LeafOptions::new("WI-3005", validity())).unwrap().leaf().clone();
    let intermediate = est.ca().certificates().find(|one| *one != est.ca().root()).cloned();
    let answer = |body: &[u8]| EstScript::Answer(CERTS_ONLY, body.into());
    for (hours, script) in [
        EstScript::Status(500, ""),
        EstScript::Later(202, "5"),
        answer(b"garbage"),
        answer(&[b'A'; 40_000]),
        EstScript::Answer("text/html", b"<html>".to_vec()),
        EstScript::Certificates(vec![leaf]),
        EstScript::Certificates(intermediate.into_iter().collect()),
    ]
    .into_iter()
    .enumerate()
    {
        est.script_ca_certificates(script.clone());
        let before = est.ca_requests().len();
        let registrar = world.start_at(ahead(7_200 * (hours as u64 + 1))).await;
        // The registrar asks by itself.
        est.until_ca_requested(before + 1).await;
        let mut member = device.connect_with(&registrar, &ldevid).await;
        for _ in 0..2 {
            let answer = member.get("/.well-known/est/cacerts").await;
            assert_eq!(answer.status, 200, "{script:?}");
            let der = decode_body(&answer.body, "cacerts").unwrap();
            assert_eq!(decode_certs_only(&der).unwrap(), old, "{script:?}");
        }
        assert_eq!(est.ca_requests().len(), before + 1, "not more than once in a minute");
        registrar.stop().await;
    }
}

#[tokio::test]
async fn a_new_ca_is_known_at_once_when_it_issues() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    assert_eq!(est.ca_requests().len(), 1);
    est.replace_ca(authority("Plant 2"));
    let request = device.certification_request(&CsrAttributes::default());
    certificate(&pledge.enroll("simpleenroll", &request).await);
    assert_eq!(est.ca_requests().len(), 2);
    let answer = pledge.get("/.well-known/est/cacerts").await;
    let der = decode_body(&answer.body, "cacerts").unwrap();
    assert_eq!(decode_certs_only(&der).unwrap(), est.certificates());
    registrar.stop().await;
}

#[tokio::test]
async fn a_new_ca_that_one_registrar_knows_is_known_to_the_other_ones() {
    let (world, est) = with_est("").await;
    let registrars = [world.start().await, world.start().await];
    let device = world.device(SERIAL);
    device.join(&registrars[0]).await;
    let mut second = device.connect(&registrars[1]).await;
    assert_eq!(second.get("/.well-known/est/cacerts").await.status, 200);
    est.replace_ca(authority("Plant 2"));
    let request = device.certification_request(&CsrAttributes::default());
    let mut pledge = device.connect(&registrars[0]).await;
    let ldevid = certificate(&pledge.enroll("simpleenroll", &request).await);
    let mut member = device.connect_with(&registrars[1], &ldevid).await;
    assert_eq!(member.get("/.well-known/est/cacerts").await.status, 200);
    certificate(&member.enroll("simplereenroll", &request).await);
    for registrar in registrars {
        registrar.stop().await;
    }
}

#[tokio::test]
async fn a_new_ca_is_known_also_if_its_certificates_were_asked_for_just_before() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.enrol(&registrar).await;
    registrar.stop().await;
    est.script_ca_certificates(EstScript::Slow);
    let registrar = world.start_at(ahead(7_200)).await;
    let mut pledge = device.connect(&registrar).await;
    est.until_ca_requested(2).await;
    est.replace_ca(authority("Plant 2"));
    let released = async {
        let deadline = Deadline::new();
        while est.issued() < 2 {
            deadline.wait(est.issued()).await;
        }
        for _ in 0..1_000 {
            tokio::task::yield_now().await; // so that the registrar looks at the certificate before
        }
        est.release(2);
    };
    let request = device.certification_request(&CsrAttributes::default());
    let (answer, ()) = tokio::join!(pledge.enroll("simpleenroll", &request), released);
    certificate(&answer);
    assert_eq!(est.ca_requests().len(), 3);
    registrar.stop().await;
}

#[tokio::test]
async fn an_est_server_under_another_name_or_ca_gets_no_request() {
    let world = World::new().await;
    let est = ScriptedEst::start("est.plant.example").await;
    est.configure(&world, "");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    no_ca_certificates(&device, &registrar).await;
    registrar.stop().await;
    let (world, est_2) = with_est("").await;
    std::fs::write(world.folder.path().join("registrar/est-ca.pem"), authority("Another").root_pem()).unwrap();
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    no_ca_certificates(&device, &registrar).await;
    registrar.stop().await;
    assert!(est.ca_requests().is_empty() && est_2.ca_requests().is_empty());
}

async fn no_ca_certificates(device: &Device, registrar: &Running) {
    let mut pledge = device.connect(registrar).await;
    let voucher = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&voucher).await.status, 200);
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    refused(&pledge.until_decided("/.well-known/est/cacerts").await, 503, "has given no CA certificates yet");
}

#[tokio::test]
async fn the_registrar_authenticates_itself_as_it_is_configured() {
    let further = ", chain = \"client.pem\", key = \"client.key\", user = \"plant\", password_file = \"password\"";
    let (world, est) = with_est(further).await;
    let folder = world.folder.path().join("registrar");
    let client = est.ca().issue(&LeafOptions::new("client", validity())).unwrap();
    std::fs::write(folder.join("client.pem"), client.chain_pem()).unwrap();
    std::fs::write(folder.join("client.key"), client.key_pem().as_bytes()).unwrap();
    std::fs::write(folder.join("password"), "secret\n").unwrap();
    let url = format!("https://{}", est.address);
    world.change(&url, &format!("{url}/plant/devices/"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for (file, mode) in [("registrar.key", 0o600), ("client.key", 0o644), ("password", 0o644)] {
            std::fs::set_permissions(folder.join(file), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let warnings = check(&world.config(), Clock::new()).await.unwrap();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("client.key") && warnings[1].contains("password"), "{warnings:?}");
    }
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.enrol(&registrar).await;
    let (requests, ca_requests) = (est.requests(), est.ca_requests());
    assert_eq!(ca_requests[0].path, "/plant/devices/cacerts");
    assert_eq!(requests[0].path, "/plant/devices/simpleenroll");
    for one in requests.iter().chain(&ca_requests) {
        assert_eq!(one.authorization.as_deref(), Some("Basic cGxhbnQ6c2VjcmV0"));
        assert!(!one.is_ra, "it is another certificate");
    }
    registrar.stop().await;
}

#[tokio::test]
async fn a_wrong_configuration_is_found_before_the_start() {
    let (world, est) = with_est("").await;
    let good = std::fs::read_to_string(world.config()).unwrap();
    let url = format!("https://{}", est.address);
    let other = authority("Another").issue(&LeafOptions::new("client", validity())).unwrap();
    std::fs::write(world.folder.path().join("registrar/other.pem"), other.chain_pem()).unwrap();
    std::fs::write(world.folder.path().join("registrar/garbage.pem"), "garbage").unwrap();
    let with = |further: &str| ("\"est-ca.pem\"", format!("\"est-ca.pem\", {further}"));
    for ((from, to), part) in [
        (("est_server =", "ca = \"ca\"\nest_server =".to_owned()), "remove one"),
        (("\nest_server", "\n# est_server".to_owned()), "needs ca"),
        (("est_server =", "days = 30\nest_server =".to_owned()), "remove days"),
        ((&url, url.replace("https", "http")), "is no https URL"),
        ((&url, format!("{url}/a?b")), "is no https URL"),
        (("\"est-ca.pem\"", "\"none.pem\"".to_owned()), "none.pem"),
        (("\"est-ca.pem\"", "\"garbage.pem\"".to_owned()), "garbage.pem"),
        (with("chain = \"other.pem\""), "give both"),
        (with("user = \"plant\""), "give both"),
        (with("user = \"a:b\""), "colon"),
        (with("chain = \"other.pem\", key = \"registrar.key\""), "other.pem"),
        (with("crl = \"none.pem\""), "there are no CRLs"),
        (with("crl = \"garbage.pem\""), "garbage.pem"),
        (with("colour = 1"), "colour"),
        (("masa_seconds = 60", "est_seconds = 61".to_owned()), "est_seconds"),
        (("masa_seconds = 60", "est_connections = 0".to_owned()), "est_connections"),
    ] {
        std::fs::write(world.config(), &good).unwrap();
        world.change(from, &to);
        let error = check(&world.config(), Clock::new()).await.unwrap_err().to_string();
        assert!(error.contains(part), "{part:?} is not in {error:?}");
        assert!(Service::open(&world.config(), Clock::new()).await.is_err());
    }
    std::fs::write(world.config(), &good).unwrap();
    check(&world.config(), Clock::new()).await.unwrap();
}
