//! An EST server that is down, slow, or answers what it should not; and what is wrong in its configuration.

use std::sync::Arc;

use terse_brski::est::{CsrAttributes, encode_body};
use terse_pki::{LeafOptions, Subject};

use super::est_server::{stored, with_est};
use super::scripted_est::{EstScript, ScriptedEst, write_crl};
use super::world::{Device, Pledge, SERIAL, ahead, authority, certificate, refused, text, validity};
use crate::deadline::Deadline;
use crate::vacant::Vacant;

const CERTS_ONLY: &str = "application/pkcs7-mime; smime-type=certs-only";

/// Sends a new certification request. It must be refused so, and the same again, without another request to the server.
async fn refused_twice(est: &ScriptedEst, device: &Device, pledge: &mut Pledge, status: u16, part: &str) {
    let request = device.certification_request(&CsrAttributes::default());
    let before = est.requests().len();
    let answer = pledge.enroll("simpleenroll", &request).await;
    refused(&answer, status, part);
    assert!(!answer.body.contains(&0x1b));
    assert_eq!(pledge.enroll("simpleenroll", &request).await, answer);
    assert_eq!(est.requests().len(), before + 1);
}

#[tokio::test]
async fn what_an_est_server_answers_has_its_status() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let answer = |body: &[u8]| EstScript::Answer(CERTS_ONLY, body.into());
    let unusable = "sent nothing that can be used";
    for (script, status, part) in [
        (EstScript::Status(400, "no such key"), 400, "it says: no such key"),
        (EstScript::Status(403, "not yours"), 403, "it says: not yours"),
        // A pledge would take that for an attack.
        (EstScript::Status(401, "who are you?"), 403, "it says: who are you?"),
        (EstScript::Status(404, "nothing here"), 502, "it says: nothing here"),
        (EstScript::Status(500, "broken"), 502, "it says: broken"),
        (EstScript::Status(302, ""), 502, "status 302"),
        (EstScript::Status(204, ""), 502, "status 204"),
        (EstScript::Status(400, "\u{1b}[2J"), 400, "status 400"),
        (EstScript::Answer("text/html", b"<html>".to_vec()), 502, unusable),
        (answer(b""), 502, unusable),
        (answer(b"!"), 502, unusable),
        (answer(&encode_body(b"garbage")), 502, unusable),
        (answer(&[b'A'; 40_000]), 502, unusable),
        (EstScript::Certificates(est.certificates()), 502, unusable),
    ] {
        est.script(script);
        refused_twice(&est, &device, &mut pledge, status, part).await;
    }
    assert_eq!(stored(&world).await, 0);
    assert!(world.operator().await.devices().await.unwrap()[0].ldevid.is_none());
    // After a while it is asked again.
    let request = device.certification_request(&CsrAttributes::default());
    est.script(EstScript::Status(403, "not yet"));
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "not yet");
    registrar.stop().await;
    est.script(EstScript::Honest);
    let registrar = world.start_at(ahead(61)).await;
    certificate(&device.connect(&registrar).await.enroll("simpleenroll", &request).await);
    registrar.stop().await;
}

#[tokio::test]
async fn a_certificate_that_was_not_requested_is_refused() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let other_key = est.ca().issue(&LeafOptions::new("WI-3005", validity())).unwrap().leaf().clone();
    let admin = Some(Subject::common_name("admin").unwrap());
    for script in [
        EstScript::Certificates(vec![other_key]),
        EstScript::Issue(admin, vec![], None),
        EstScript::Issue(None, vec!["broker.plant.example".into()], None),
        EstScript::Issue(None, vec![], Some(Arc::new(authority("Another")))),
        // One with the same name, and another key.
        EstScript::Issue(None, vec![], Some(Arc::new(authority("Plant")))),
    ] {
        est.script(script);
        refused_twice(&est, &device, &mut pledge, 502, "sent nothing that can be used").await;
    }
    assert_eq!(stored(&world).await, 0);
    registrar.stop().await;
}

#[tokio::test]
async fn a_certificate_that_the_device_has_is_sent_again_if_there_is_no_new_one() {
    let (world, est) = with_est(", crl = \"est-crl.pem\"").await;
    let crl = world.folder.path().join("registrar/est-crl.pem");
    let other = est.ca().issue(&LeafOptions::new("other", validity())).unwrap().leaf().clone();
    write_crl(&est.ca(), &[other], &crl);
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let first = device.enrol(&registrar).await;
    let mut member = device.connect_with(&registrar, &first).await;
    let request = || device.certification_request(&CsrAttributes::default());
    // A set has no order.
    est.script(EstScript::After(first.clone()));
    let second = certificate(&member.enroll("simplereenroll", &request()).await);
    assert_ne!(second, first);
    assert_eq!(stored(&world).await, 2);
    est.script(EstScript::Certificates(vec![first.clone()]));
    let again = request();
    assert_eq!(certificate(&member.enroll("simplereenroll", &again).await), first);
    assert_eq!(stored(&world).await, 2);
    assert_eq!(member.enroll_status(true).await.status, 200);
    assert_eq!(world.operator().await.devices().await.unwrap()[0].enroll_status, Some(true), "of the first one");
    // The server is not asked for it again and again.
    let asked = est.requests().len();
    refused(&member.enroll("simplereenroll", &again).await, 502, "sent nothing that can be used");
    assert_eq!(est.requests().len(), asked);
    // A revoked one is no use.
    est.script(EstScript::Certificates(vec![second.clone()]));
    write_crl(&est.ca(), &[second], &crl);
    refused(&member.enroll("simplereenroll", &request()).await, 502, "sent nothing that can be used");
    registrar.stop().await;
}

#[tokio::test]
async fn an_est_server_that_cannot_answer_now_is_asked_the_same_again() {
    for (script, seconds) in [
        (EstScript::Later(503, "40"), 40),
        (EstScript::Later(429, "40"), 40),
        (EstScript::Status(504, ""), 30),
        (EstScript::Status(202, ""), 30),
        (EstScript::Later(202, "Fri, 31 Dec 2027 23:59:59 GMT"), 30),
        (EstScript::Later(202, "0"), 1),
        (EstScript::Later(202, "18446744073709551615"), 3_600),
        (EstScript::Later(503, "345600"), 3_600),
    ] {
        let (world, est) = with_est("").await;
        let registrar = world.start().await;
        let device = world.device(SERIAL);
        let mut pledge = device.join(&registrar).await;
        let request = device.certification_request(&CsrAttributes::default());
        est.script(script.clone());
        let answer = pledge.enroll("simpleenroll", &request).await;
        assert_eq!((answer.status, answer.retry_after), (202, Some(seconds)), "{script:?}");
        registrar.stop().await;
        est.script(EstScript::Honest);
        let registrar = world.start_at(ahead(seconds + 1)).await;
        let mut pledge = device.connect(&registrar).await;
        certificate(&pledge.enroll("simpleenroll", &request).await);
        let requests = est.requests();
        assert_eq!(requests.len(), 2, "{script:?}");
        assert_eq!(requests[0].body, requests[1].body);
        registrar.stop().await;
    }
}

#[tokio::test]
async fn an_est_server_that_takes_too_long_is_asked_again() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.join(&registrar).await;
    registrar.stop().await;
    world.change("masa_seconds = 60", "masa_seconds = 60\nest_seconds = 1");
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    est.script(EstScript::Slow);
    let request = device.certification_request(&CsrAttributes::default());
    let answer = pledge.enroll("simpleenroll", &request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(30)));
    assert!(text(&answer).contains("does not answer"), "{}", text(&answer));
    registrar.stop().await;
    est.script(EstScript::Honest);
    world.change("\nest_seconds = 1", "");
    let registrar = world.start_at(ahead(31)).await;
    certificate(&device.connect(&registrar).await.enroll("simpleenroll", &request).await);
    registrar.stop().await;
}

#[tokio::test]
async fn an_est_server_that_is_down_keeps_devices_waiting() {
    let (world, est) = with_est("").await;
    let nobody = Vacant::new();
    let gone = nobody.address.to_string();
    world.change(&est.address.to_string(), &gone);
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let voucher = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&voucher).await.status, 200);
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    let answer = pledge.until_decided("/.well-known/est/cacerts").await;
    refused(&answer, 503, "has given no CA certificates yet");
    assert_eq!(answer.retry_after, Some(30));
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 503, "has given no CA certificates yet");
    registrar.stop().await;
    // It is there.
    world.change(&gone, &est.address.to_string());
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 200);
    certificate(&pledge.enroll("simpleenroll", &request).await);
    registrar.stop().await;
}

#[tokio::test]
async fn a_certificate_of_a_ca_whose_clock_is_ahead_is_taken() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    for (seconds, status) in [(40, 200), (1_000, 502)] {
        est.script(EstScript::Begins(seconds));
        let request = device.certification_request(&CsrAttributes::default());
        let answer = pledge.enroll("simpleenroll", &request).await;
        assert_eq!(answer.status, status, "{}", text(&answer));
    }
    assert_eq!(stored(&world).await, 1);
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_that_is_rejected_while_the_est_server_takes_its_time_gets_no_certificate() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    est.script(EstScript::Slow);
    let request = device.certification_request(&CsrAttributes::default());
    let rejected = async {
        est.until_requested().await;
        world.operator().await.reject(SERIAL, None).await.unwrap();
        est.release(1);
    };
    let (mut answer, ()) = tokio::join!(pledge.enroll("simpleenroll", &request), rejected);
    // On a busy machine it may take longer than a device is kept waiting.
    let deadline = Deadline::new();
    while answer.status == 202 {
        deadline.wait(text(&answer)).await;
        answer = pledge.enroll("simpleenroll", &request).await;
    }
    refused(&answer, 406, "rejected");
    assert_eq!((est.issued(), stored(&world).await, world.count("passed_on").await), (1, 0, 0));
    world.operator().await.accept(SERIAL, None).await.unwrap();
    est.script(EstScript::Honest);
    certificate(&pledge.enroll("simpleenroll", &request).await);
    registrar.stop().await;
}
